"""WaveCluster explorer: controls -> configuration -> run -> figures, true beside private."""

import streamlit as st

from dpviz.errors import InputError
from dpviz.ui.data_panel import NothingLoadedError
from dpviz.ui.wavecluster import controls, draw, page_state, run_both

state = page_state()
for note in state.notes:
    st.warning(note, icon=":material/link_off:")
try:
    with st.sidebar:
        choices = controls(state)
    draw(state, choices, run_both(choices))
except NothingLoadedError as error:
    st.info(str(error), icon=":material/upload_file:")
except InputError as error:
    st.error(str(error), icon=":material/error:")
if state.settled:
    state.write()
