"""Buttons that save a figure of the page as PNG, SVG or PDF."""

from __future__ import annotations

import streamlit as st

from dpviz.ui import FRONTEND

_mount = st.components.v2.component(
    "dpviz_save_picture",
    js=(FRONTEND / "save_picture.js").read_text(encoding="utf-8"),
    css=(FRONTEND / "save_picture.css").read_text(encoding="utf-8"),
)


def save_picture(figure: str, *, key: str) -> None:
    """Show the buttons.

    Parameters
    ----------
    figure
        Key of a :func:`dpviz.ui.widgets.live_figure.live_figure` on the same page.
    key
        Name of the element.
    """
    _mount(key=key, data=figure)
