"""What all pages share: icon, spacing, link and errors."""

from __future__ import annotations

import gc
import html
from collections.abc import Callable
from contextlib import nullcontext
from typing import Any, TypeVar

import streamlit as st

from dpviz.base.errors import InputError
from dpviz.ui import FRONTEND
from dpviz.ui.data.not_taken import OF_THEIR_OWN, show_not_taken
from dpviz.ui.messages import NothingLoadedError, errors_shown, show_corrections, show_error
from dpviz.ui.session.address import ask_no_host, check_settings
from dpviz.ui.session.job import CROWD, PAGES, PLACES
from dpviz.ui.session.leave import forget_when_left, sessions
from dpviz.ui.session.state import UrlState, opened
from dpviz.ui.widgets.assets import component, plotly_url, style
from dpviz.ui.widgets.share import share_panel

State = TypeVar("State", bound=UrlState)

_mount_frame, _mount_keyboard = component("frame"), component("keyboard")

#: Local files, because Streamlit loads its named icons from an outside host.
ICON = str(FRONTEND / "icon.svg")
LOGO = str(FRONTEND / "logo.svg")

#: Spacing, and the style of the readouts.
STYLE = style("page")


_ENTERED, _SHOWN = "app:entered", "app:shown"


def run_page(name: str, page_state: Callable[[], State], build: Callable[[State], None]) -> None:
    """Run a page: read its controls from the link, show errors of the link, draw the content.

    ``name`` is that of its file in ``pages/``, without the ending.
    """
    _start_by_app(name)
    state = page_state()
    share_panel(state, frame=name != "release")
    show_corrections(state.notes)
    if name in OF_THEIR_OWN:
        show_not_taken(state)
    with errors_shown():
        try:
            build(state)
        except NothingLoadedError as error:
            error.show()
            state.write()
        finally:
            state.tell()  # what is changed after a run that stopped early is a change, too


@st.fragment
def live_part(draw: Callable[..., bool], state: UrlState, *given: Any) -> None:
    """Draw a part of a page that its own controls redraw while the rest of the page stays.

    ``draw`` returns True when the user holds no slider. Only then are the values written to the
    link.
    """
    crowd = sessions() > CROWD
    with errors_shown(), PAGES, PLACES.taken() if crowd else nullcontext():
        if draw(state, *given):
            state.write()


def enter() -> None:
    """Record that the app's frame is drawn; ``app.py`` calls this before any page."""
    ask_no_host()
    try:
        check_settings()
    except InputError as error:
        show_error(error)
        st.stop()
    st.session_state[_ENTERED] = True
    forget_when_left()


def _start_by_app(path: str) -> None:
    """Start the page of a path through ``app.py`` if Streamlit did not.

    Until a first session calls ``st.navigation``, a new server runs only the page's own file
    for a link to that page, in Streamlit's own frame. Any call ends that mode.
    """
    if st.session_state.get(_SHOWN) != path:
        st.session_state[_SHOWN] = path
        opened(path)
    if _ENTERED not in st.session_state:
        places = [
            st.Page(lambda: None, title="dpviz", default=True),
            st.Page(lambda: None, title=path, url_path=path),
        ]
        st.navigation(places, position="hidden")
        st.rerun()


def show_title(title: str) -> None:
    """Show the page's title as its first heading; where the navigation shows it, unseen."""
    st.html(f'<h1 class="dpv-title">{html.escape(title)}</h1>')


def frame() -> None:
    """Make the browser fetch plotly.js early, and lead the focus of a keyboard."""
    _mount_frame(key="frame", data=plotly_url(), height=1)
    _mount_keyboard(key="keyboard", height=1)
    _ask_after_reconnect()


@st.fragment(run_every=86_400)
def _ask_after_reconnect() -> None:
    """Make the browser ask for a run whenever it reconnects; draw nothing.

    Without a fragment that repeats itself, Streamlit's browser asks for one only if the last run
    was a fragment's. A new session without a run, after a restart of the server or a long sleep,
    does not know the fragment of a slider, and ignores it without a word.
    """


@st.cache_resource(show_spinner=False)
def freeze_loaded_objects(page: str) -> bool:
    """Exclude the objects that a page loaded from garbage collection, once per process and page.

    Walking the objects of the imported libraries takes 100 ms and blocks the browser; these objects
    are never freed anyway.
    """
    gc.collect()
    gc.freeze()
    return True
