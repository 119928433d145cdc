"""The documentation in the app: the list of pages, and the site, built at the first visit."""

from __future__ import annotations

import atexit
import shutil
import tempfile
from pathlib import Path

import streamlit as st
from streamlit.components.v1 import declare_component

from dpviz.docs.page import GROUPS
from dpviz.docs.site import build as build_site
from dpviz.docs.site import pages
from dpviz.ui.messages import docs_link, plain_text
from dpviz.ui.session.state import Control, UrlState, choice

_FOLDER = Path(tempfile.mkdtemp(prefix="dpviz-docs-"))
atexit.register(shutil.rmtree, _FOLDER, ignore_errors=True)

#: Streamlit serves the files in the folder of a component, so a component serves the site.
_served = declare_component("docs", path=str(_FOLDER))

_leave_for = st.components.v2.component(
    "dpviz_leave_for",
    js="export default ({ data }) => { if (data) window.location.replace(data); };",
)


def page_state() -> UrlState:
    """State with the requested page; if no page is requested, the list is shown."""
    return UrlState("docs", {"page": Control("", choice("page", ("", *pages())))})


def build(state: UrlState) -> None:
    """Go to a page, or show the list of all pages."""
    state.write()
    page = state.get("page")
    if page:
        _site()
        st.html(f'<p>The page is <a href="{site_address(page)}">here</a>.</p>')
        _leave_for(key="docs:leave", data=site_address(page), height=1)
        return
    st.markdown(
        "Tutorials, the proof of each method, all settings, commands and formats. Pages open in "
        "their own window, and have a search over all pages."
    )
    for group, column in zip(GROUPS, st.columns(len(GROUPS)), strict=True):
        column.markdown(_listed(group))


def _listed(group: str) -> str:
    listed = [one for one in pages().values() if one.group == group]
    links = "\n".join(f"* {docs_link(one.path, one.title)}" for one in listed)
    return f"**{plain_text(group)}**\n\n{links}"


def site_address(page: str) -> str:
    """Address of a page on this server."""
    base = str(st.get_option("server.baseUrlPath") or "").strip("/")
    return f"/{base}/component/{_served.name}/{page}.html".replace("//", "/")


@st.cache_resource(show_spinner="Building the documentation, once for this server ...")
def _site() -> int:
    return build_site(_FOLDER)
