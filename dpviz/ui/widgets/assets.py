"""The address of plotly.js, which this server serves from the installed plotly package."""

from __future__ import annotations

from importlib.metadata import distribution

import streamlit as st
from streamlit.components.v1 import declare_component

_PLOTLY = distribution("plotly")
_VERSION = _PLOTLY.version

# Served in place: the start writes no file. Importing plotly would be slow.
_served = declare_component("plotly", path=str(_PLOTLY.locate_file("plotly/package_data")))


def plotly_url() -> str:
    """Return the address of plotly.js on this server; it changes with the version of plotly."""
    base = str(st.get_option("server.baseUrlPath") or "").strip("/")
    path = f"/{base}/component/{_served.name}/plotly.min.js?{_VERSION}"
    return path.replace("//", "/")
