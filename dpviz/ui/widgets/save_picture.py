"""Buttons that save a figure of the page as PNG, SVG or PDF."""

from __future__ import annotations

from dpviz.ui.widgets.assets import component

_mount = component("save_picture")


def save_picture(figure: str, *, key: str) -> None:
    """Show the buttons for the figure with this key on the same page."""
    _mount(key=key, data=figure)
