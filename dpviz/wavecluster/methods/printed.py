"""Common properties of the published techniques of Chen, Yu, Chirkova."""

from __future__ import annotations

from dpviz.privacy.mechanisms import Accountant
from dpviz.wavecluster.parameters import Config


def hide_one_change(accountant: Accountant, config: Config) -> None:
    """Let a published variant hide one changed count, even if a record is replaced (as printed)."""
    if config.variant == "published":
        accountant.hide(config.neighbours.cap)
