"""What all pages share: icon and spacing."""

from __future__ import annotations

import gc
from pathlib import Path

import streamlit as st

#: A file of our own: Streamlit's named icons come from an outside host.
ICON = str(Path(__file__).parent / "frontend" / "icon.svg")

#: Less empty space above and beside: a whole explorer fits into 1280 x 720.
STYLE = """<style>
[data-testid="stMainBlockContainer"]{padding:3.4rem 1.6rem 1.5rem;max-width:none}
[data-testid="stSidebarHeader"]{height:2.2rem;padding-bottom:0;margin-bottom:0}
[data-testid="stSidebarUserContent"]{padding-top:.2rem;padding-bottom:1rem}
[data-testid="stSidebar"] [data-testid="stVerticalBlock"]{gap:.65rem}
[data-testid="stMain"] [data-testid="stVerticalBlock"]{gap:.6rem}
[data-testid="stHeader"]{height:3rem;min-height:3rem}
</style>"""


@st.cache_resource(show_spinner=False)
def settle_memory() -> bool:
    """Take what is loaded out of garbage collection, once per process.

    Streamlit collects all generations after every run. Walking the objects of the imported
    libraries takes 100 ms, during which nothing reaches the browser; they never go anyway.
    """
    gc.collect()
    gc.freeze()
    return True
