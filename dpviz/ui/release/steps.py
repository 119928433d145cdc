"""The five steps of a release: which step is shown, and which steps are done."""

from __future__ import annotations

from collections.abc import Collection
from functools import partial

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from dpviz.ui.messages import plain_text, show_caption
from dpviz.ui.session.state import UrlState, following

TITLES = ("File", "Where", "Who is protected", "Rehearse", "Sign")
FILE, WHERE, WHO, REHEARSE, SIGN = range(1, 6)

#: Session entries: the step that the user chose, and the largest number of these steps.
_NOW, _FARTHEST = "release:step", "release:farthest"


def go_to(step: int) -> None:
    """Show a step in the next run."""
    st.session_state[_NOW] = step
    st.session_state[_FARTHEST] = max(farthest(), step)


def farthest() -> int:
    """Largest number of a step that the user has opened."""
    return int(st.session_state.get(_FARTHEST, FILE))


def asked_step() -> int:
    """Step that the user chose; 0 before the first choice."""
    return int(st.session_state.get(_NOW, 0))


def step_now(state: UrlState, *, placed: bool, asked: bool, own: bool) -> int:
    """Number of the step to show, for data that are loaded.

    A link opens the first step that has something to do; after that only the user changes the step.
    ``asked``: the question of the step "Who is protected" has no answer.
    """
    if not asked_step():
        linked = WHERE if not placed else WHO if asked else REHEARSE if own else SIGN
        # Steps before it were not opened, so they are not done.
        st.session_state[_NOW] = linked if state.given else FILE
    return asked_step()


def show_steps(place: DeltaGenerator, now: int, done: Collection[int], why: str) -> None:
    """Show the row of steps, with Previous and Next; ``why``: reason why the step is not done."""
    with place:
        with st.container(horizontal=True, vertical_alignment="center"):
            st.segmented_control(
                "Steps of the release",
                range(1, len(TITLES) + 1),
                **following("release:steps", now, go_to, initial="default"),
                format_func=lambda step: plain_text(
                    f"{step} {TITLES[step - 1]}{' ✓' * (step in done)}"
                ),
                required=True,
                label_visibility="collapsed",
            )
            st.button(
                "Previous",
                key="release:previous",
                icon=":material/arrow_back:",
                disabled=now == FILE,
                on_click=partial(go_to, now - 1),
            )
            st.button(
                "Next",
                key="release:next",
                icon=":material/arrow_forward:",
                type="primary",
                disabled=now == SIGN or bool(why),
                on_click=partial(go_to, now + 1),
                help=plain_text(why) or None,
            )
        later = [title for step, title in enumerate(TITLES, 1) if step not in (*done, now)]
        words = f" Still to do: {', '.join(later)}." if later else ""
        show_caption(f"Step {now} of {len(TITLES)}: {TITLES[now - 1]}.{words} {why}".rstrip())


def panels() -> list[DeltaGenerator]:
    """One place for each step, in the order of the steps."""
    return [st.container(key=f"release-step-{step}") for step in range(1, len(TITLES) + 1)]


def show_only(step: int) -> None:
    """Hide the places of all other steps.

    Their widgets stay in the page, so no choice is lost; neither keyboard nor screen reader reaches
    them.
    """
    hidden = [f".st-key-release-step-{one}" for one in range(1, len(TITLES) + 1) if one != step]
    st.html(f"<style>{', '.join(hidden)} {{ display: none; }}</style>")
