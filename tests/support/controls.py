"""Find a control of a page in AppTest."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any


def control(widgets: Iterable[Any], key: str) -> Any:
    """Return the widget of a control; its key changes when the program sets its value ("key@1").

    Parameters
    ----------
    widgets
        Such as ``test.selectbox``.
    key
        Page and name: "wavecluster:method".
    """
    (found,) = (one for one in widgets if (one.key or "").partition("@")[0] == key)
    return found


def source_box(widgets: Iterable[Any]) -> Any:
    """Return the box that asks for the name of a data source; its key has the data's name."""
    (found,) = (one for one in widgets if one.label == "Name of the data source")
    return found
