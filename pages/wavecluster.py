"""WaveCluster explorer: controls -> configuration -> run -> figures, true beside private."""

import streamlit as st

from dpviz.errors import InputError
from dpviz.ui.data_panel import Active, NothingLoadedError
from dpviz.ui.page import through_app
from dpviz.ui.state import UrlState
from dpviz.ui.wavecluster import choices_of, page_state, run_both, settings
from dpviz.ui.wavecluster_view import draw


@st.fragment
def live(state: UrlState, active: Active) -> None:
    """Everything that follows a dragged slider; the rest of the page stands still."""
    choices = choices_of(state, active)
    try:
        draw(state, choices, run_both(choices))
    except InputError as error:
        st.error(str(error), icon=":material/error:")
    if choices.settled:
        state.write()


through_app("wavecluster")
state = page_state()
if state.notes:
    st.warning("\n\n".join(("This link was corrected.", *state.notes)), icon=":material/link_off:")
try:
    with st.sidebar:
        active = settings(state)
    live(state, active)
except NothingLoadedError as error:
    st.info(str(error), icon=":material/upload_file:")
    state.write()
except InputError as error:
    st.error(str(error), icon=":material/error:")
