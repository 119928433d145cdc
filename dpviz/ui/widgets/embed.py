"""The view for slides and course pages: ``?embed=true`` shows picture, readouts and epsilon alone.

Streamlit itself takes its tool bar and its padding away there; side bar and navigation are hidden
here. :mod:`dpviz.server` lets only this view be framed, and a release is not made in it: nobody is
led to press a button that they don't see.
"""

from __future__ import annotations

import streamlit as st

from dpviz.ui.widgets.assets import style

#: What the view hides, and its spacing.
EMBED_STYLE = style("embed")

#: Least height of a figure in pixels, and its share of the frame's height.
HEIGHT, SHARE = 220, 0.58


def embedded() -> bool:
    """Whether the page is shown in a slide or a course page."""
    return bool(st.context.is_embedded)
