"""Common properties of the techniques of Chen, Yu, Chirkova; our interpretations of the paper."""

from __future__ import annotations

from collections.abc import Mapping

from dpviz.privacy.mechanisms import Accountant
from dpviz.wavecluster.parameters import Config

#: Our choices in places where the paper is ambiguous, for all variants unless stated otherwise.
READINGS = (
    "The paper does not define the bounds of the feature space. By default, the published variants "
    "use the range of the data, from the smallest to the largest value of each column.",
    "The paper prints k = (1 - p)|L|, which is usually not a whole number. We round k up, which "
    "gives k = 144, as in the paper, for the data set DS2.",
    "Different sections of the paper keep the values that reach the p-th percentile, the k largest "
    "values, or the values above the k-th value. Here the percentile is the k-th largest value, "
    "and all values that reach it are significant.",
    "The paper does not define adjacent cells. Here cells that share an edge or a corner are "
    "adjacent, which gives the paper's numbers of clusters.",
    "In the paper, sides are even and the level is 1. Other sides are padded with empty cells at "
    "the end, and coefficients of asymmetric wavelets are moved to the cells of largest weight.",
)

#: Note on the sensitivities of the techniques that read the true coefficients.
OTHER_WAVELETS = (
    "The paper gives the sensitivity only for Haar. Here the sensitivity is computed from the grid "
    "and the wavelet, for any wavelet."
)

#: Reason why the paper's proofs (section 5.1) fail if a record is modified.
MODIFIED: Mapping[str, str] = {
    "replace_one": (
        "According to the paper, a modified record changes one count. In fact, such a record "
        "changes two counts, and the noise hides only one of these changes."
    )
}


def hide_one_change(accountant: Accountant, config: Config) -> None:
    """Let a published variant hide one changed count, even if a record is replaced (as printed)."""
    if config.variant == "published":
        accountant.hide(config.neighbours.cap)
