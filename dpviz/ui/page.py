"""What all pages share: icon, spacing, link and errors."""

from __future__ import annotations

import gc
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import streamlit as st

from dpviz.errors import InputError
from dpviz.ui.assets import plotly_url
from dpviz.ui.messages import errors_shown, show_corrections, show_info
from dpviz.ui.state import UrlState

State = TypeVar("State", bound=UrlState)

_FRONTEND = Path(__file__).parent / "frontend"
_mount_ahead = st.components.v2.component(
    "dpviz_fetch_ahead", js=(_FRONTEND / "fetch_ahead.js").read_text(encoding="utf-8")
)

#: Files of our own: Streamlit's named icons come from an outside host.
ICON = str(_FRONTEND / "icon.svg")
LOGO = str(_FRONTEND / "logo.svg")

#: Spacing, and the looks of the readouts.
STYLE = f"<style>{(_FRONTEND / 'page.css').read_text(encoding='utf-8')}</style>"


_ENTERED, _SHOWN = "app:entered", "app:shown"


class NothingLoadedError(InputError):
    """Own data was chosen, but there is no file yet."""


def run_page(name: str, page_state: Callable[[], State], build: Callable[[State], None]) -> None:
    """Run a page: its controls from the link, what was wrong with them, and its content.

    Parameters
    ----------
    name
        Name of the page's file in ``pages/``, without the ending.
    page_state
        Returns the page's controls.
    build
        Draws the page. InputError becomes a sentence on the screen.
    """
    _start_by_app(name)
    state = page_state()
    show_corrections(state.notes)
    with errors_shown():
        try:
            build(state)
        except NothingLoadedError as error:
            show_info(error, icon=":material/upload_file:")
            state.write()


@st.fragment
def live_part(draw: Callable[..., bool], state: UrlState, *given: Any) -> None:
    """Draw a part of a page, which its own controls draw anew while the rest stands still.

    Parameters
    ----------
    draw
        Called with `state` and `given`; returns whether no slider is held. Then the values go
        into the link.
    state
        Controls of the page.
    given
        Whatever else is drawn from.
    """
    with errors_shown():
        if draw(state, *given):
            state.write()


def enter() -> None:
    """Note that the app's frame is drawn; called by ``app.py`` before any page."""
    st.session_state[_ENTERED] = True


def _start_by_app(path: str) -> None:
    """Start the page of a path by ``app.py`` where Streamlit did not.

    Until a first session has called ``st.navigation``, a link to a page makes a new server
    run that page's file alone, in a frame of Streamlit's own. Any call ends that mode.
    """
    if st.session_state.get(_SHOWN) != path:
        # A link from another page is none that came late.
        st.session_state[_SHOWN] = path
        st.session_state.get(f"{path}:state", {}).get("replaced", []).clear()
    if _ENTERED not in st.session_state:
        places = [
            st.Page(lambda: None, title="dpviz", default=True),
            st.Page(lambda: None, title=path, url_path=path),
        ]
        st.navigation(places, position="hidden")
        st.rerun()


def fetch_ahead() -> None:
    """Have the browser fetch plotly.js before the first figure asks for it."""
    _mount_ahead(key="fetch_ahead", data=plotly_url(), height=1)


@st.cache_resource(show_spinner=False)
def freeze_loaded_objects(page: str) -> bool:
    """Take what a page has loaded out of garbage collection, once per process and page.

    Streamlit collects all generations after every run. Walking the objects of the imported
    libraries takes 100 ms, during which nothing reaches the browser; they never go anyway.
    """
    gc.collect()
    gc.freeze()
    return True
