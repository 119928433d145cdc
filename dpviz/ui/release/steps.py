"""The five steps of a release: which step is shown, and which steps are done."""

from __future__ import annotations

from collections.abc import Collection
from functools import partial

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from dpviz.ui.messages import plain_text, show_caption, show_error
from dpviz.ui.session.state import UrlState, following

TITLES = ("File", "Where", "Who is protected", "Rehearse", "Sign")
FILE, WHERE, WHO, REHEARSE, SIGN = range(1, 6)

#: Session entries: the largest number of a step that the user has opened; the step in which the
#: user pressed Next before it was done.
_FARTHEST, _PRESSED = "release:farthest", "release:pressed next"


def farthest(state: UrlState) -> int:
    """Largest number of a step that the user has opened."""
    return int(st.session_state.setdefault(_FARTHEST, asked_step(state) or FILE))


def go_to(state: UrlState, step: int) -> None:
    """Show a step in the next run."""
    st.session_state[_FARTHEST] = max(farthest(state), step)
    state.set("step", step)


def asked_step(state: UrlState) -> int:
    """Step that the user chose; 0 before the first choice.

    The link contains this step, so that the step is open again after a lost connection.
    """
    return int(state.get("step") or 0)


def step_now(state: UrlState, *, placed: bool, asked: bool, own: bool) -> int:
    """Number of the step to show, for data that are loaded.

    A link opens the first step that has something to do; after that only the user changes the step.
    ``asked`` says that the question of the step "Who is protected" has no answer.
    """
    farthest(state)  # steps before the step of a link were not opened, so they are not done
    if not asked_step(state):
        linked = WHERE if not placed else WHO if asked else REHEARSE if own else SIGN
        state.set("step", linked if state.given else FILE)
    return asked_step(state)


def show_steps(
    state: UrlState,
    place: DeltaGenerator,
    now: int,
    done: Collection[int],
    why: str,
    *,
    told: bool = False,
) -> bool:
    """Show the row of steps, with Previous and Next; ``why`` says why the step is not done.

    Next can always be pressed: the browser first sends the text in a text box, then the press.
    Returns whether the user pressed Next before the step was done. If the step itself shows the
    reason (``told``), the reason is not repeated here.
    """
    go = partial(go_to, state)
    pressed = bool(st.session_state.pop(_PRESSED, None) == now)
    if pressed and not why:
        go(now + 1)
        st.rerun()
    with place:
        with st.container(horizontal=True, vertical_alignment="center"):
            st.segmented_control(
                "Steps of the release",
                range(1, len(TITLES) + 1),
                **following("release:steps", now, go, initial="default"),
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
                on_click=partial(go, now - 1),
            )
            st.button(
                "Next",
                key="release:next",
                icon=":material/arrow_forward:",
                type="primary",
                disabled=now == SIGN,
                on_click=lambda: st.session_state.update({_PRESSED: now}) if why else go(now + 1),
                help=plain_text(why) or None,
            )
        later = [title for step, title in enumerate(TITLES, 1) if step not in (*done, now)]
        words = f" Still to do: {', '.join(later)}." if later else ""
        if pressed and not told:
            show_error(why)
        said = "" if pressed or told else why
        show_caption(f"Step {now} of {len(TITLES)}: {TITLES[now - 1]}.{words} {said}".rstrip())
    return pressed


def panels() -> list[DeltaGenerator]:
    """One place for each step, in the order of the steps."""
    return [st.container(key=f"release-step-{step}") for step in range(1, len(TITLES) + 1)]


def show_only(step: int) -> None:
    """Hide the places of all other steps.

    Their widgets stay in the page, so no choice is lost. Keyboard and screen reader can't reach
    them.
    """
    # Their wrappers are hidden, too, because they would keep the gaps between the places.
    hidden = [
        f"[data-testid=stLayoutWrapper]:has(>.st-key-release-step-{one})"
        for one in range(1, len(TITLES) + 1)
        if one != step
    ]
    st.html(f"<style>{', '.join(hidden)} {{ display: none; }}</style>")
