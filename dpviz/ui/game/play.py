"""The screens of the game: of a player, and of a teacher whose class plays in a room."""

from __future__ import annotations

import html
import math
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

import streamlit as st

from dpviz.base.errors import InputError
from dpviz.base.numbers import counted
from dpviz.figures.game import result_picture, score_figure, telling_bars
from dpviz.privacy.explain import percent_at_most, surest, times_at_most
from dpviz.teaching.game.rooms import Room, Rooms
from dpviz.teaching.game.rules import CASES, CONFIDENCE, Answer, Case, Game, Tally
from dpviz.ui.messages import errors_shown, plain_text, show_caption
from dpviz.ui.session.address import class_link, client
from dpviz.ui.session.leave import absence
from dpviz.ui.session.state import UrlState
from dpviz.ui.widgets.assets import style
from dpviz.ui.widgets.class_panel import class_panel
from dpviz.ui.widgets.share import qr_code
from dpviz.ui.widgets.show import show_panels, theme_mode
from dpviz.ui.widgets.stamp import MADE_UP

STYLE = style("game")

_SIDES = ("out", "in")


def drawn(game: Game, guess: Callable[[int, bool], Any]) -> None:
    """Show the current draw with its two buttons, and the result of the last guess."""
    # Only published numbers are sent to the browser. After a wrong guess, the same draw stays until
    # the player goes on. ``guess`` gets the draw's number, and True if the player says "in".
    now = game.round
    st.markdown(plain_text(game.case.story))
    show_panels(
        result_picture(game.case, game.epsilon, game.missed or now.seen, theme_mode()),
        MADE_UP,
        key="game:figure",
        base_name="dpviz in or out",
        about="game",
    )
    # The keys contain the draw's number, so that a second click does not count for the next draw.
    with st.container(horizontal=True, key="game-buttons"):
        if game.missed:
            st.button(
                "Next draw",
                key=f"game:next {now.number}",
                on_click=game.go_on,
                type="primary",
                icon=":material/arrow_forward:",
                width="stretch",
                shortcut="n",
            )
        for said, icon in (
            () if game.missed else ((True, ":material/person:"), (False, ":material/person_off:"))
        ):
            st.button(
                f"The person is {_SIDES[said]}",
                key=f"game:{_SIDES[said]} {now.number}",
                on_click=guess,
                args=(now.number, said),
                type="primary",
                icon=icon,
                width="stretch",
                shortcut=_SIDES[said][0],
            )
    answered(
        game.last, "This is the draw that you guessed." if game.missed else "Above is a new draw."
    )


def answered(last: Answer | None, above: str) -> None:
    """Show the result of the last guess, and what is above; before a guess, explain the game."""
    if last is None:
        text = "Guess as often as you like: after each guess the coin and the noise are new."
    else:
        mark = ("wrong", "Wrong") if not last.right else ("right", "Right")
        rule = f"{_SIDES[last.rule]}{', too' if last.rule == last.said else ''}"
        text = (
            f'<b class="{mark[0]}">{mark[1]}</b> The person was <b class="then">'
            f"{_SIDES[last.joined]}</b>; the best rule said {rule}. {above}"
        )
    st.html(f'<p class="dpv-answer" role="status">{text}</p>')


def scores(rows: Sequence[tuple[str, Tally]], case: Case, epsilon: float, *, key: str) -> None:
    """Show each player's share of correct guesses, and the limit with its meaning."""
    limit = surest(epsilon)
    show_panels(
        score_figure(rows, limit, f"Right guesses · ε {epsilon:g}", theme_mode()),
        MADE_UP,
        key=key,
        base_name="dpviz in or out score",
        about="game score",
    )
    lines = [score_in_words(name, tally) for name, tally in rows]
    lines.append(limit_in_words(rows, case, epsilon))
    st.html("".join(f'<p class="dpv-score">{html.escape(line)}</p>' for line in lines))


def score_in_words(name: str, tally: Tally) -> str:
    """A player's number of correct guesses, and the likely share in the long run."""
    start = name[0].upper() + name[1:]
    if not tally.guesses:
        return f"{start}: no guess yet."
    low, high = tally.band()
    return (
        f"{start}: {tally.right:,} of {tally.guesses:,} right, {tally.share:.1%}. In the long run: "
        f"{math.floor(100 * low)}% to {math.ceil(100 * high)}% ({CONFIDENCE:.0%} sure)."
    )


def limit_in_words(rows: Sequence[tuple[str, Tally]], case: Case, epsilon: float) -> str:
    """Sentence on the limit, and on a share of correct guesses that is above it."""
    # The number is rounded up, because the text says "at most".
    most = f"{percent_at_most(surest(epsilon)):g}%"
    formula = f"e^{epsilon:g} / (1 + e^{epsilon:g}) ≤ {most}"
    above = [name for name, tally in rows if tally.above(surest(epsilon))]
    if not case.private:
        said = (
            f"A method that keeps its promise of ε = {epsilon:g} to one record has a limit of "
            f"{formula}."
        )
        if above:
            said += " A share is above this limit, so this method does not keep its promise."
        return said
    said = f"In the long run no player's share can be above the limit for one record: {formula}."
    if above:
        said += " A share above the limit is luck: the share falls if you play longer."
    return said


def reasons(case: Case, epsilon: float) -> None:
    """Explain why there is a limit, or how a player can beat a leaking method."""
    private = case.private
    with st.expander("Why is there a limit?" if private else "How can it be beaten?"):
        if private:
            st.markdown(
                f"Noise hides the person, who has one record: whatever is published is at most "
                f"e^{epsilon:g} ≤ {times_at_most(epsilon)} times as likely with the person as "
                "without, and the other way round. So even the best guess is sometimes wrong. To "
                "hide three records equally well, three times the noise would be needed."
            )
        else:
            st.markdown(f"**By this:** {plain_text(case.leak)}")
            st.markdown(
                f"**What the method's card says:** {plain_text(case.audited.verdict.reason)}"
            )
        st.markdown(
            "**The best rule** computes how likely the published numbers are with the person and "
            "without, and names the more likely answer (the likelihood ratio). It knows both data "
            "sets and the distribution of the noise; no other rule is right more often. Some "
            "methods add more noise than they must: then even the best rule stays below the limit."
        )
        st.page_link(
            "pages/audit.py",
            label="Measure it on the Audit page",
            icon=":material/policy:",
            query_params={
                "method": case.method,
                "variant": case.variant,
                "scenario": case.scenario,
                "claim": f"{epsilon:g}",
            },
        )


#: Seconds between updates of the teacher's screen; seconds until a closed page has left its room.
_EVERY, _GONE = 1.0, 5.0

#: Session entries: code and token of the seat, the teacher's choices, the room that this session
#: opened, and the room that this session opened before it.
_SEAT, _CHOSEN = "game:seat", "game:chosen"
_OPENED, _ENDED = "game:opened", "game:ended"


_mount_top = st.components.v2.component(
    "dpviz_from_the_top",
    js="""const done = new Set()
export default ({ data: [code] }) => {
  if (done.has(code)) return
  done.add(code)
  document.querySelector('[data-testid=stMain]')?.scrollTo(0, 0)
}""",
)


def from_the_top(code: str) -> None:
    """Scroll to the top once for each room, because the button that opens a room is far below."""
    _mount_top(key="game:top", data=[code], height=1)


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
            "on the teacher's screen to play."
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
            "three hours. The address of this page is for you; give the class the link "
            "above."
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
@errors_shown()
def _live(code: str) -> None:
    room = rooms().find(code)
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
        key="game:histogram figure",
        base_name="dpviz in or out class",
        about="game class",
    )
    rows = (("class", score.everybody), ("best rule", score.rule))
    scores(rows, case, epsilon, key="game:class score")
