"""Audit: one person's story, claimed against measured epsilon, and what soundness costs."""

import streamlit as st

from dpviz.errors import InputError
from dpviz.ui.audit import claims, page_state, sight, story
from dpviz.ui.cost_panel import cost_overview
from dpviz.ui.messages import show_corrections, show_error
from dpviz.ui.page import through_app
from dpviz.ui.state import UrlState


@st.fragment
def part(show, state: UrlState) -> None:
    """One part of the page, drawn anew by its own controls alone."""
    try:
        settled = show(state)
    except InputError as error:
        show_error(error)
        return
    if settled:
        state.write()


through_app("audit")
state = page_state()
show_corrections(state.notes)
part(story, state)
part(claims, state)
sight()
cost_overview()
