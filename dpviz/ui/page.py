"""What all pages share: icon and spacing."""

from __future__ import annotations

import gc
from pathlib import Path

import streamlit as st

from dpviz.ui.assets import plotly_url

_FRONTEND = Path(__file__).parent / "frontend"
_mount_ahead = st.components.v2.component(
    "dpviz_fetch_ahead", js=(_FRONTEND / "fetch_ahead.js").read_text(encoding="utf-8")
)

#: Files of our own: Streamlit's named icons come from an outside host.
ICON = str(_FRONTEND / "icon.svg")
LOGO = str(_FRONTEND / "logo.svg")

#: Spacing, and the looks of the readouts.
STYLE = f"<style>{(_FRONTEND / 'page.css').read_text(encoding='utf-8')}</style>"


def fetch_ahead() -> None:
    """Have the browser fetch plotly.js before the first figure asks for it."""
    _mount_ahead(key="fetch_ahead", data=plotly_url(), height=1)


@st.cache_resource(show_spinner=False)
def settle_memory() -> bool:
    """Take what is loaded out of garbage collection, once per process.

    Streamlit collects all generations after every run. Walking the objects of the imported
    libraries takes 100 ms, during which nothing reaches the browser; they never go anyway.
    """
    gc.collect()
    gc.freeze()
    return True
