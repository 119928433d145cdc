"""Common parts of all pages: icon, spacing, link and errors."""

from __future__ import annotations

import gc
import html
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from typing import Any, TypeVar

import streamlit as st

from dpviz.base.errors import InputError
from dpviz.families import FAMILIES
from dpviz.ui import FRONTEND
from dpviz.ui.data.not_taken import OF_THEIR_OWN, show_not_taken
from dpviz.ui.messages import (
    NothingLoadedError,
    errors_shown,
    plain_text,
    show_corrections,
    show_error,
)
from dpviz.ui.session.address import ask_no_host, check_settings
from dpviz.ui.session.classroom import OPEN_TO_GUESTS, is_guest, refuse_guests
from dpviz.ui.session.job import CROWD, PAGES, PLACES
from dpviz.ui.session.leave import forget_when_left, sessions
from dpviz.ui.session.state import UrlState, opened
from dpviz.ui.widgets.assets import component, plotly_url, style
from dpviz.ui.widgets.embed import embedded
from dpviz.ui.widgets.share import share_panel

State = TypeVar("State", bound=UrlState)

_mount_frame, _mount_keyboard = component("frame"), component("keyboard")

#: These are local files, because Streamlit loads its named icons from an outside host.
ICON = str(FRONTEND / "icon.svg")
LOGO = str(FRONTEND / "logo.svg")

#: Button of the stage: one large picture, for explorers with epsilon and the sentence.
_STAGE = (
    '<button type="button" class="dpv-stage" title="Large picture, key F. Its keys are shown when '
    'it opens">Present</button><p class="dpv-keys">'
    '<span class="dpv-moves"><i>→ or Page Down: more ε · </i><i>← or Page Up: less ε · </i>'
    "<i>N: redraw · </i></span>"
    '<span class="dpv-steps"><i>→ or Page Down: next step · </i><i>← or Page Up: back · </i></span>'
    '<span class="dpv-scores"><i>→ or Page Down: next score · </i><i>← or Page Up: back · </i>'
    "</span><i>Esc: leave · </i><i>?: these keys</i></p>"
)

KEYS = {
    ", .": "less ε, more ε",
    "n": "redraw the noise",
    "f": "large picture (Present)",
    "PageUp PageDown": "move ε or show the next score while Present is on; step of a lesson",
    "?": "show the keys again while Present is on",
    "k j": "step of a lesson, back and next",
    "Escape": "end Present, close a note",
}

STYLE, _ALONE = style("page"), style("alone")

#: Paths of the pages with a side bar.
WITH_SIDE_BAR = ("", *FAMILIES, "compare")

_ENTERED, _SHOWN, _LAST = "app:entered", "app:shown", "app:last"


def run_page(name: str, page_state: Callable[[], State], build: Callable[[State], None]) -> None:
    """Run the page ``pages/name.py``: read the link's controls, show its errors, draw the page."""
    _start_by_app(name)
    with errors_shown():
        if name not in OPEN_TO_GUESTS:
            refuse_guests("This page is")
        _run(name, page_state, build)


def _run(name: str, page_state: Callable[[], State], build: Callable[[State], None]) -> None:
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
            state.tell()  # also shares changes of a run that stopped early


@st.fragment
def live_part(draw: Callable[..., bool], state: UrlState, *given: Any) -> None:
    """Draw a part of a page; its controls redraw only this part."""
    # ``draw`` returns False while the user drags a slider; then values are not written to the link.
    crowd = sessions() > CROWD
    with errors_shown(), PAGES, PLACES.taken() if crowd else nullcontext(), state.drawn():
        if draw(state, *given):
            state.write()


def enter() -> None:
    """Record that the app's frame is drawn; ``app.py`` calls this before it shows anything."""
    ask_no_host()
    try:
        check_settings()
    except InputError as error:
        frame()
        show_error(error)
        st.stop()
    st.session_state[_ENTERED] = True
    forget_when_left()


def _start_by_app(path: str) -> None:
    # Until a session first calls ``st.navigation``, a new server handles a link to a page by
    # running only the page's file, without ``app.py``. Any call of ``st.navigation`` ends this
    # mode.
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


def navigate(doors: Mapping[str, Mapping[str, str]]) -> tuple[Any, str]:
    """Show the navigation; return the requested page and its title."""
    # ``doors`` are names of links, with the files in ``pages/`` and their titles; the last door is
    # a menu. The first page has the empty path, and its name as a second path for people who type.
    *names, menu = doors
    if is_guest():
        names = [name for name in names if set(OPEN_TO_GUESTS).intersection(doors[name])]
    titles = {page: title for pages in doors.values() for page, title in pages.items()}
    first = next(iter(titles))

    def pages(shown: Mapping[str, str], path: str = "") -> list[Any]:
        """All pages; pages in ``shown`` have a link; ``path`` is the first page's path."""
        seen = {path, *titles} - {"" if path else first}
        return [
            st.Page(
                f"pages/{one or first}.py",
                title=shown.get(one or first, "hidden"),
                url_path=one or "first",
                default=not one,
                visibility="visible" if (one or first) in shown and one in seen else "hidden",
            )
            for one in ("", *titles)
        ]

    # Streamlit marks only the link of the requested page, so each door has a link to its page that
    # was open last. The first call finds the requested page.
    path = st.navigation(pages({}), position="hidden").url_path
    here = path or first
    if here in WITH_SIDE_BAR and not embedded():
        st.sidebar.html("<i></i>")  # a side bar that came later would move the page
    door = next(name for name, behind in doors.items() if here in behind)
    last: dict[str, str] = st.session_state.setdefault(_LAST, {})
    last[door] = here
    shown = {last.get(name, next(iter(doors[name]))): name for name in names}
    page = st.navigation(pages(shown, path if path == first else ""), position="top")
    if not embedded():
        behind = doors[door] if len(doors[door]) > 1 and door != menu else {}
        staged = here in (*FAMILIES, "learn", "compare")  # as in frame.js
        if behind or staged:
            with st.container(key="behind", horizontal=True):
                for name, title in behind.items():
                    st.page_link(
                        page if name == here else f"pages/{name}.py", label=plain_text(title)
                    )
                if staged:
                    st.html(_STAGE)
        with st.container(key="reference"), st.popover("Reference", key=f"reference {here}"):
            for name, title in doors[menu].items():
                st.page_link(f"pages/{name}.py", label=plain_text(title))
            st.html(_keys())
    return page, titles[here]


def _keys() -> str:
    rows = "".join(
        f"<dt>{' '.join(f'<kbd>{key}</kbd>' for key in keys.split())}</dt><dd>{what}</dd>"
        for keys, what in KEYS.items()
    )
    return f'<section class="dpv-key-list"><b>Keys</b><dl>{rows}</dl></section>'


def show_title(title: str, path: str) -> None:
    """Show the page's title as first heading; the heading is hidden if the navigation shows it."""
    # The side bar of the previous page would stay until the run ends, and then move this page.
    # The style has no :has(), because the browser would then check the page after each change.
    alone = "" if path in WITH_SIDE_BAR else _ALONE
    st.html(f'<h1 class="dpv-title">{html.escape(title)}</h1>{alone}')


def frame() -> None:
    """Make the browser load plotly.js early, and manage the keyboard focus."""
    _mount_frame(key="frame", data=plotly_url(), height=1)
    _mount_keyboard(key="keyboard", height=1)
    _ask_after_reconnect()


@st.fragment(run_every=86_400)
def _ask_after_reconnect() -> None:
    """Make the browser ask for a run of the page whenever it reconnects; draw nothing.

    If no fragment of a page repeats, the browser asks for a run only if the last run was the run of
    a fragment. After a restart of the server or a long sleep, the new session has run nothing. It
    does not know the fragments of sliders, so it ignores their changes without a message.
    """


@st.cache_resource(show_spinner=False)
def freeze_loaded_objects(page: str) -> bool:
    """Exclude the objects that a page loaded from garbage collection, once per process and page."""
    # A collection takes 100 ms for the objects of imported libraries, and meanwhile the page waits.
    # These objects are never freed anyway.
    gc.collect()
    gc.freeze()
    return True
