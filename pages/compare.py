"""Compare: scores over epsilon with bands, for any methods and data sets."""

import streamlit as st

from dpviz.errors import InputError
from dpviz.ui.compare import page_state, settings
from dpviz.ui.compare_view import results
from dpviz.ui.page import through_app

through_app("compare")
state = page_state()
if state.notes:
    st.warning("\n\n".join(("This link was corrected.", *state.notes)), icon=":material/link_off:")
try:
    with st.sidebar:
        wish = settings(state)
    results(state, wish)
except InputError as error:
    st.error(str(error), icon=":material/error:")
