"""What the techniques of Chen, Yu, Chirkova have in common as printed."""

from __future__ import annotations

from collections.abc import Mapping

from dpviz.privacy.mechanisms import Accountant
from dpviz.wavecluster.parameters import Config

#: Why the proofs of the paper (Theorems 1 to 3) fail where a record is modified.
MODIFIED: Mapping[str, str] = {
    "replace_one": (
        "The paper counts a modified record as one changed count; it changes two, and the noise "
        "hides one."
    )
}


def hide_one_change(accountant: Accountant, config: Config) -> None:
    """As printed, also a record that is replaced changes one count by 1; sound ones hide two."""
    if config.variant == "published":
        accountant.hide(config.neighbours.cap)
