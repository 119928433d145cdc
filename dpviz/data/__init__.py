"""Readers of tables and count grids, and the sample sets."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dpviz.data.points import read as read


def __getattr__(name: str) -> Any:
    """Import :func:`read` only at its first use, because it loads pandas and Arrow."""
    if name == "read":
        return import_module("dpviz.data.points").read
    raise AttributeError(f"module 'dpviz.data' has no attribute {name!r}")
