"""WaveCluster explorer: controls -> configuration -> run -> figures, true beside private."""

import streamlit as st

from dpviz.errors import InputError
from dpviz.ui.data_panel import ActiveData, NothingLoadedError
from dpviz.ui.messages import show_corrections, show_error, show_info
from dpviz.ui.page import through_app
from dpviz.ui.state import UrlState
from dpviz.ui.wavecluster import choices_of, page_state, run_both, settings
from dpviz.ui.wavecluster_view import draw


@st.fragment
def live(state: UrlState, active: ActiveData) -> None:
    """Everything that follows a dragged slider; the rest of the page stands still."""
    choices = choices_of(state, active)
    try:
        draw(state, choices, run_both(choices))
    except InputError as error:
        show_error(error)
    if choices.settled:
        state.write()


through_app("wavecluster")
state = page_state()
show_corrections(state.notes)
try:
    with st.sidebar:
        active = settings(state)
    live(state, active)
except NothingLoadedError as error:
    show_info(error, icon=":material/upload_file:")
    state.write()
except InputError as error:
    show_error(error)
