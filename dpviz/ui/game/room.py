"""Rooms on the screen: the store of rooms, a player's seat, and the teacher's screen."""

from __future__ import annotations

import html
from collections.abc import Callable
from contextlib import suppress

import streamlit as st

from dpviz.base.errors import InputError
from dpviz.base.numbers import counted
from dpviz.figures.game import telling_bars
from dpviz.teaching.game.rooms import Room, Rooms
from dpviz.teaching.game.rules import CASES, Case
from dpviz.ui.game.play import reasons, scores
from dpviz.ui.messages import plain_text, show_caption, show_error
from dpviz.ui.session.address import class_link, client
from dpviz.ui.session.leave import absence
from dpviz.ui.session.state import UrlState
from dpviz.ui.widgets.class_panel import class_panel
from dpviz.ui.widgets.share import qr_code
from dpviz.ui.widgets.show import show_panels, theme_mode
from dpviz.ui.widgets.stamp import MADE_UP

#: Seconds between two updates of the teacher's screen; seconds until a closed page has left.
_EVERY, _GONE = 1.0, 5.0

#: Session entries: code and token of the seat, the teacher's choices, the room that this session
#: opened, and the room that this session opened before it.
_SEAT, _CHOSEN = "game:seat", "game:chosen"
_OPENED, _ENDED = "game:opened", "game:ended"


_mount_top = st.components.v2.component(
    "dpviz_from_the_top",
    js="""const done = new Set()
export default ({ data }) => {
  if (done.has(data)) return
  done.add(data)
  document.querySelector('[data-testid=stMain]')?.scrollTo(0, 0)
}""",
)


def from_the_top(code: str) -> None:
    """Scroll to the top once for each room, because the button that opens a room is far below."""
    _mount_top(key="game:top", data=code, height=1)


@st.cache_resource(show_spinner=False)
def rooms() -> Rooms:
    """All rooms of this server; a room ends at the latest when the server ends."""
    return Rooms()


def open_room(case: Case, epsilon: float) -> Room:
    """Open a room, and end this session's earlier room; InputError if too many rooms are open."""
    before = opened_room()
    room = rooms().open(case, epsilon, instead=before, client=client())
    st.session_state[_OPENED] = room.code
    st.session_state[_ENDED] = before.code if before else ""
    return room


def opened_room() -> Room | None:
    """The room that this session has opened; None if there is no such room or it has ended."""
    code = st.session_state.get(_OPENED)
    with suppress(InputError):
        return rooms().find(code) if code else None
    return None


def enter_room(room: Room) -> str:
    """Return the token of this session's seat; take a seat if the session has no seat."""
    seat: tuple[str, str] = st.session_state.get(_SEAT, ("", ""))
    if seat[0] != room.code or room.game(seat[1]) is None:
        seat = (room.code, room.join(absence(_GONE)))
        st.session_state[_SEAT] = seat
    return seat[1]


def teacher(
    state: UrlState,
    room: Room,
    controls: Callable[[UrlState], None],
    leave: Callable[[UrlState], None],
) -> None:
    """Show the teacher's screen; InputError if the link has a different key."""
    if state.get("key") != room.key:
        raise InputError(
            f"This is not the link of the teacher who opened room {room.code}: use the link "
            "below the teacher's QR code to play."
        )
    left, right = st.columns([4, 7], gap="medium")
    with left:
        st.html(f'<h2 class="dpv-room">Room <b>{html.escape(room.code)}</b></h2>')
        class_panel("game:class")
        st.html(qr_code(class_link({"room": room.code})))
        if ended := st.session_state.get(_ENDED):
            show_caption(f"Your earlier room {ended} has ended: only one room can be open.")
        _follow_choice(state, room, controls)
        st.button(
            "End the room",
            key="game:end",
            on_click=_end,
            args=(state, room, leave),
            icon=":material/close:",
        )
        show_caption(
            "A new choice resets all scores. The room keeps no names and ends automatically: two "
            "minutes after all players have left, after half an hour without a guess, and after "
            "three hours. The address of this page is for you; give the class the link below the "
            "code."
        )
    with right:
        _live(room.code)
        reasons(room.case, room.epsilon)
    state.write()


def _follow_choice(state: UrlState, room: Room, controls: Callable[[UrlState], None]) -> None:
    now = (room.code, room.case.name, f"{room.epsilon:g}")
    if st.session_state.get(_CHOSEN, ("",))[0] != room.code:
        # After a reload, the page shows the room's current choices, not the choices in its link.
        state.set("case", now[1])
        state.set("level", now[2])
        st.session_state[_CHOSEN] = now
    controls(state)
    chosen = (room.code, state.get("case"), state.get("level"))
    if chosen != st.session_state[_CHOSEN]:
        st.session_state[_CHOSEN] = chosen
        room.change(CASES[chosen[1]], float(chosen[2]))


def _end(state: UrlState, room: Room, leave: Callable[[UrlState], None]) -> None:
    rooms().end(room)
    leave(state)


@st.fragment(run_every=_EVERY)
def _live(code: str) -> None:
    try:
        room = rooms().find(code)
    except InputError as error:
        show_error(error)
        return
    room.watched()
    case, epsilon, score = room.case, room.epsilon, room.score()
    st.markdown(
        f"**{plain_text(counted(score.players, 'player'))}**, "
        f"{score.everybody.guesses:,} guesses · {plain_text(case.title)} · ε = {epsilon:g}"
    )
    st.markdown(plain_text(case.story))
    show_panels(
        telling_bars(score.without, score.joined, case.telling, theme_mode()),
        MADE_UP,
        key="game:histogram",
        base_name="dpviz in or out class",
        about="game class",
    )
    rows = (("class", score.everybody), ("best rule", score.rule))
    scores(rows, case, epsilon, key="game:class score")
