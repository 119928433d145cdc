"""Common properties of the techniques of Chen, Yu, Chirkova; our interpretations of the paper."""

from __future__ import annotations

from collections.abc import Mapping

from dpviz.privacy.mechanisms import Accountant
from dpviz.wavecluster.parameters import Config

#: Our choices in places where the paper is ambiguous, for all variants unless stated otherwise.
READINGS = (
    "The paper does not say where the feature space ends: the published variants take the range of "
    "the data, from the smallest to the largest value of each column, unless bounds are stated.",
    "The paper prints k = (1 - p)|L|, which is seldom whole: it is rounded up, which gives the "
    "k = 144 that the paper reports for its set DS2.",
    "The paper keeps the values that reach the p-th percentile, then the top k, then those above "
    "the k-th: here the k-th largest is the percentile, and all values that reach it are "
    "significant.",
    "The paper does not say which cells are adjacent: those that share an edge or a corner, which "
    "gives its numbers of clusters.",
    "The paper's sides are even and its level is 1: other sides are padded with empty cells at "
    "their end, and coefficients of asymmetric wavelets are moved to the cells that weigh most.",
)

#: Note on the sensitivities of the techniques that read the true coefficients.
OTHER_WAVELETS = (
    "The paper gives the sensitivity for Haar alone, and for other wavelets only what it depends "
    "on: it is computed from the wavelet and the grid."
)

#: Reason why the paper's proofs (section 5.1) fail if a record is modified.
MODIFIED: Mapping[str, str] = {
    "replace_one": (
        "The paper counts a modified record as one changed count; it changes two, and the noise "
        "hides one."
    )
}


def hide_one_change(accountant: Accountant, config: Config) -> None:
    """Let a published variant hide one changed count, even if a record is replaced, as printed."""
    if config.variant == "published":
        accountant.hide(config.neighbours.cap)
