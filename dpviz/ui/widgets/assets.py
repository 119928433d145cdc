"""Files for the browser: components and styles of the front end; plotly.js."""

from __future__ import annotations

from importlib.metadata import distribution
from typing import Any

import streamlit as st
from streamlit.components.v1 import declare_component

from dpviz.ui import FRONTEND

_PLOTLY = distribution("plotly")
_VERSION = _PLOTLY.version

# plotly.js is served from plotly's folder. Importing plotly would be slow.
_served = declare_component("plotly", path=str(_PLOTLY.locate_file("plotly/package_data")))


def plotly_url() -> str:
    """Return the address of plotly.js on this server; it changes when plotly's version changes."""
    base = str(st.get_option("server.baseUrlPath") or "").strip("/")
    path = f"/{base}/component/{_served.name}/plotly.min.js?{_VERSION}"
    return path.replace("//", "/")


def component(name: str, **looks: Any) -> Any:
    """Return the component that has the script and the style with this name.

    If ``data`` are not bytes, the script gets them as the only entry of a list. Streamlit does not
    search a list for tables, so it does not import pandas.
    """
    files = [FRONTEND / f"{name}.{kind}" for kind in ("js", "css")]
    texts: dict[str, Any] = {
        one.suffix[1:]: one.read_text(encoding="utf-8") for one in files if one.exists()
    }
    mount = st.components.v2.component(f"dpviz_{name}", **texts, **looks)

    def show(*, data: Any = None, **more: Any) -> Any:
        return mount(data=data if isinstance(data, bytes) else [data], **more)

    return show


def style(name: str) -> str:
    """Return a style sheet as HTML."""
    return f"<style>{(FRONTEND / f'{name}.css').read_text(encoding='utf-8')}</style>"
