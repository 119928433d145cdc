"""The view for slides and course pages: ``?embed=true`` shows only picture, sentence and epsilon.

In this view Streamlit removes its tool bar and its padding, and this module hides side bar and
navigation. :mod:`dpviz.server` allows only this view in frames of other sites. The view makes no
releases; otherwise another site could make users click an invisible release button.
"""

from __future__ import annotations

import streamlit as st

from dpviz.ui.widgets.assets import style

#: Style of the view: it hides parts of the page and sets the spacing.
EMBED_STYLE = style("embed")

#: Smallest height of a figure in pixels; share of the frame's height that a figure gets.
HEIGHT, SHARE = 220, 0.58


def embedded() -> bool:
    """Whether the page is shown in a slide or a course page."""
    return bool(st.context.is_embedded)
