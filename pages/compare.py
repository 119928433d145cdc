"""Compare: scores over epsilon with bands, for any methods and data sets."""

import streamlit as st

from dpviz.errors import InputError
from dpviz.ui.compare import page_state, settings
from dpviz.ui.compare_view import results
from dpviz.ui.messages import show_corrections, show_error
from dpviz.ui.page import through_app

through_app("compare")
state = page_state()
show_corrections(state.notes)
try:
    with st.sidebar:
        wish = settings(state)
    results(state, wish)
except InputError as error:
    show_error(error)
