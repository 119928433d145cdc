"""Release: declared domain, budget, review, one secure draw, a bundle to download."""

import streamlit as st

from dpviz.errors import InputError
from dpviz.ui.data_panel import NothingLoadedError
from dpviz.ui.messages import show_corrections, show_error, show_info
from dpviz.ui.page import through_app
from dpviz.ui.release import data_of, method_panel, page_state, wish_of
from dpviz.ui.release_view import budget_bar, bundle, confirm, introduction, payer, stop_by

through_app("release")
state = page_state()
show_corrections(state.notes)
try:
    with st.sidebar:
        active = data_of(state)
    introduction()
    if not bundle():
        st.markdown("##### What")
        method_panel(state)
        title = st.text_input("Title of the report (optional)", key="release:title")
        wish = wish_of(state, active, title)
        refused = stop_by(state, wish)
        st.markdown("##### Who pays")
        source, total = payer(wish)
        budget_bar(source, total, wish.request.config.epsilon)
        if not refused:
            st.markdown("##### Release")
            confirm(wish, source, total)
    state.write()
except NothingLoadedError as error:
    introduction()
    show_info(error, icon=":material/upload_file:")
    state.write()
except InputError as error:
    show_error(error)
