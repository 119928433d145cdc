"""The address of plotly.js, which this server hands out from the installed plotly package."""

from __future__ import annotations

from importlib import resources
from importlib.metadata import version
from pathlib import Path

import streamlit as st
from streamlit.components.v1 import declare_component

#: Folder of plotly.js. Served from where it is: nothing is written at a start.
_FOLDER = Path(str(resources.files("plotly").joinpath("package_data")))

_served = declare_component("plotly", path=_FOLDER)


def plotly_url() -> str:
    """Return the address of plotly.js on this server; it changes with the version of plotly."""
    base = str(st.get_option("server.baseUrlPath") or "").strip("/")
    path = f"/{base}/component/{_served.name}/plotly.min.js?{version('plotly')}"
    return path.replace("//", "/")
