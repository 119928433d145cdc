"""The view for slides and course pages: ``?embed=true`` shows only picture, readouts and epsilon.

Streamlit removes its tool bar and its padding in this view; this module hides side bar and
navigation. :mod:`dpviz.server` allows only this view in frames of other sites. It makes no
releases, so that no other site can make users click an invisible release button.
"""

from __future__ import annotations

import streamlit as st

from dpviz.ui.widgets.assets import style

#: Style of the view, which hides parts of the page and sets the spacing.
EMBED_STYLE = style("embed")

#: Smallest height of a figure in pixels, and the figure's share of the frame's height.
HEIGHT, SHARE = 220, 0.58


def embedded() -> bool:
    """Whether the page is shown in a slide or a course page."""
    return bool(st.context.is_embedded)
