"""Files for the browser: components and styles of the front end; plotly.js."""

from __future__ import annotations

import json
from hashlib import blake2b
from importlib.metadata import distribution
from typing import Any

import streamlit as st
from streamlit.components.v1 import declare_component

from dpviz.ui import FRONTEND

_PLOTLY = distribution("plotly")
_VERSION = _PLOTLY.version

# plotly.js is served from plotly's folder. Importing plotly would be slow.
_served = declare_component("plotly", path=str(_PLOTLY.locate_file("plotly/package_data")))
_ours = declare_component("frontend", path=str(FRONTEND))

#: Script of a component: it loads the real script and style once in a page. Streamlit sends this
#: text with each change of the component, and the browser reads all of it again.
_LOADER = """const [script, style] = {urls}.map((url) => url && location.origin + url);
const text = style ? fetch(style).then((found) => found.text()) : "";
const [{{ default: render }}, rules] = await Promise.all([import(script), text]);
const sheet = new CSSStyleSheet();
sheet.replaceSync(rules);
export default (given) => {{
  const root = given.parentElement.getRootNode(), sheets = root.adoptedStyleSheets;
  if (!sheets.includes(sheet)) root.adoptedStyleSheets = [...sheets, sheet];
  return render(given);
}};
"""


def _url(served: Any, name: str, version: str) -> str:
    """Address of a file on this server; browsers keep the file until its version changes."""
    base = str(st.get_option("server.baseUrlPath") or "").strip("/")
    return f"/{base}/component/{served.name}/{name}?{version}".replace("//", "/")


def plotly_url() -> str:
    """Return the address of plotly.js on this server; it changes when plotly's version changes."""
    return _url(_served, "plotly.min.js", _VERSION)


def _own_url(name: str) -> str:
    file = FRONTEND / name
    if not file.is_file():
        return ""
    return _url(_ours, name, blake2b(file.read_bytes(), digest_size=8).hexdigest())


def ahead() -> str:
    """HTML that fetches the scripts of an explorer, which its page would ask for after a second."""
    own = map(_own_url, ("frame.js", "live_slider.js", "strip.js", "live_figure.js"))
    links = "".join(f'<link rel="modulepreload" href="{one}">' for one in own)
    return f'<link rel="preload" as="script" href="{plotly_url()}">{links}'


def component(name: str, **looks: Any) -> Any:
    """Return the component that has the script and the style with this name.

    If ``data`` are not bytes, the script gets them as the only entry of a list. Streamlit does not
    search a list for tables, so it does not import pandas.
    """
    urls = [_own_url(f"{name}.{kind}") for kind in ("js", "css")]
    loader = _LOADER.format(urls=json.dumps(urls, allow_nan=False))
    mount = st.components.v2.component(f"dpviz_{name}", js=loader, **looks)

    def show(*, data: Any = None, **more: Any) -> Any:
        return mount(data=data if isinstance(data, bytes) else [data], **more)

    return show


def style(name: str) -> str:
    """Return a style sheet as HTML."""
    return f"<style>{(FRONTEND / f'{name}.css').read_text(encoding='utf-8')}</style>"
