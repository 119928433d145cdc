"""The game's page for one player or for a class: a random run, two buttons and the score."""

from __future__ import annotations

import secrets
from contextlib import suppress
from functools import partial

import streamlit as st

from dpviz.base.errors import InputError
from dpviz.privacy.ledger import Neighbours
from dpviz.teaching.game.rooms import MOST_GUESSES, MOST_PLAYERS, checked_code, checked_key
from dpviz.teaching.game.rules import CASES, LEVELS, Game
from dpviz.ui.game import play
from dpviz.ui.messages import show_caption, show_error, show_info
from dpviz.ui.page import live_part
from dpviz.ui.session.state import Control, UrlState, choice
from dpviz.ui.widgets.epsilon_panel import epsilon_panel
from dpviz.ui.widgets.show import segments

#: Names of the levels, by the values that the levels have in links.
_NAMES = dict(zip(("Hard", "Medium", "Easy", "Very easy"), LEVELS, strict=True))
LEVEL_TITLES = {f"{level:g}": f"{name}: ε = {level:g}" for name, level in _NAMES.items()}
CASE_TITLES = {name: case.title for name, case in CASES.items()}

_INTRODUCTION = (
    "A coin decides, in secret, whether **one person** with one record is in the data. You see "
    "what a method publishes about the data. **Is the person in?** However clever you are, your "
    "share of right guesses can't stay above a limit that ε sets. This is the promise of "
    "differential privacy."
)

#: Widths of the controls for mechanism, level and meaning of epsilon in a row.
_ROW = (5, 7, 3)

#: Number of rounds that the rule plays after a click on the button "Let the rule play".
_MORE = 100

_SOLO, _TYPED = "game:solo", "game:typed"


def page_state() -> UrlState:
    """All controls of the page, with values from the link or the session."""
    return UrlState(
        "game",
        {
            "case": Control("squares", choice("case", tuple(CASES))),
            "level": Control("1", choice("level", tuple(LEVEL_TITLES))),
            "room": Control("", checked_code),
            "key": Control("", checked_key),
        },
    )


def build(state: UrlState) -> None:
    """Show the page of a single player, of a player in a room, or of a room's teacher."""
    st.html(play.STYLE)
    code = state.get("room")
    if not code:
        live_part(_alone, state)
        _class_panel(state)
        return
    try:
        room = play.rooms().find(code)
        play.from_the_top(code)
        if state.get("key"):
            play.teacher(state, room, partial(_controls, narrow=True), _leave)
        else:
            play.enter_room(room)
            live_part(_in_room, state, code)
            st.button("Leave the room", key="game:leave", on_click=_leave, args=(state,))
    except InputError as error:
        show_error(error)
        st.button("Play alone", key="game:alone", on_click=_leave, args=(state,))
        state.write()


def _alone(state: UrlState) -> bool:
    st.markdown(_INTRODUCTION)
    _controls(state)
    game = _solo(state)
    left, right = st.columns([6, 5], gap="medium")

    def restart() -> None:
        st.session_state[_SOLO].pop((state.get("case"), state.get("level")), None)

    with left:
        play.drawn(game, game.guess)
    with right:
        play.scores(
            (("you", game.you), ("best rule", game.rule)), game.case, game.epsilon, key="game:score"
        )
        with st.container(horizontal=True):
            st.button(
                f"Let the rule play {_MORE} more",
                key="game:more",
                on_click=game.let_rule_play,
                args=(_MORE,),
                icon=":material/smart_toy:",
            )
            st.button("Start again", key="game:again", on_click=restart)
    play.reasons(game.case, game.epsilon)
    return True


def _controls(state: UrlState, *, narrow: bool = False) -> None:
    left, right, last = (st,) * 3 if narrow else st.columns(_ROW, vertical_alignment="bottom")
    left.selectbox(
        "Play against",
        **state.choice("case", tuple(CASES)),
        format_func=CASE_TITLES.__getitem__,
        help="The methods are the same as on the other pages, but the data are made up. Methods as "
        "published in their papers may leak.",
    )
    segments(state, "level", "Level", LEVEL_TITLES, right)
    with last.container():
        epsilon_panel(float(state.get("level")), Neighbours())


def _solo(state: UrlState) -> Game:
    games: dict[tuple[str, str], Game] = st.session_state.setdefault(_SOLO, {})
    chosen = (state.get("case"), state.get("level"))
    if chosen not in games:
        case, level = chosen
        games[chosen] = Game(CASES[case], float(level), secrets.randbits(64))
    return games[chosen]


def _class_panel(state: UrlState) -> None:
    st.header("Play with a class", anchor="class")
    st.markdown(
        "Open a room, and show the class its code. Everybody plays on their own device, without "
        f"a name; your screen adds up all guesses. A room holds {MOST_PLAYERS:d} players."
    )
    if before := play.opened_room():
        show_caption(f"Your room {before.code} is open: it ends when you open another room.")
    left, right = st.columns(2, gap="medium", vertical_alignment="bottom")
    if left.button("Open a room", key="game:open", icon=":material/groups:"):
        room = play.open_room(CASES[state.get("case")], float(state.get("level")))
        state.set("room", room.code)
        state.set("key", room.key)
        st.rerun()
    with (
        right.form("game:join", border=False),
        st.container(horizontal=True, vertical_alignment="bottom"),
    ):
        typed = st.text_input("Room code", key=_TYPED, max_chars=12)
        if st.form_submit_button("Join", key="game:join it"):
            _join(state, typed)


def _join(state: UrlState, typed: str) -> None:
    code = checked_code(typed)
    if not code:
        raise InputError("Type the room code that the teacher's screen shows.")
    state.set("room", play.rooms().find(code).code)
    state.set("key", "")
    st.rerun()


def _leave(state: UrlState) -> None:
    state.set("room", "")
    state.set("key", "")


def _in_room(state: UrlState, code: str) -> bool:
    room = play.rooms().find(code)
    token = play.enter_room(room)
    game = room.game(token)
    if game is None:
        raise InputError("Another player has got your seat in the room: load this page again.")

    def guess(number: int, said: bool) -> None:
        # If the room has ended meanwhile, the next run of the page shows the error.
        with suppress(InputError):
            play.rooms().find(code).guess(token, number, said)

    show_caption(f"Room {code} · {game.case.title} · ε = {game.epsilon:g}")
    left, right = st.columns([6, 5], gap="medium")
    with left:
        if game.you.guesses >= MOST_GUESSES:
            play.answered(game.last, "")
            show_info(f"You made {MOST_GUESSES:,} guesses, the limit of a room: well played.")
        else:
            play.drawn(game, guess)
    with right:
        play.scores((("you", game.you),), game.case, game.epsilon, key="game:score")
    return True
