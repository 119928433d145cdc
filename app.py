"""dpviz: see what privacy costs. Start with ``streamlit run app.py``."""

import streamlit as st

from dpviz.ui.page import ICON, LOGO, STYLE, fetch_ahead, settle_memory

st.set_page_config(page_title="dpviz", page_icon=ICON, layout="wide")
st.logo(LOGO)
st.html(STYLE)
fetch_ahead()

PAGES = [
    st.Page("pages/wavecluster.py", title="WaveCluster", icon=":material/grid_on:", default=True),
]
st.navigation(PAGES, position="top").run()
settle_memory()
