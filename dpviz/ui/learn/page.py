"""The page of lessons: the text is on one side, and the explorer is beside the text."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from urllib.parse import parse_qsl

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from dpviz.base.errors import InputError, shown
from dpviz.teaching.lessons.parser import Known, Lesson, Step
from dpviz.teaching.lessons.shelf import shelf
from dpviz.ui.explorer.settings import RunSettings, draw_again
from dpviz.ui.learn.bars import BARS
from dpviz.ui.learn.facts import EXPLORERS, FACTS, Look, facts_of, texts
from dpviz.ui.learn.pictures import picture_of
from dpviz.ui.learn.step_state import start_of, step_state
from dpviz.ui.learn.texts import reveal_text, sheet, step_text
from dpviz.ui.messages import plain_text, show_caption, show_corrections, show_error
from dpviz.ui.session.address import class_link, is_local
from dpviz.ui.session.classroom import OPEN_TO_GUESTS, is_guest
from dpviz.ui.session.state import Control, UrlState, choice, following, whole
from dpviz.ui.widgets.assets import component
from dpviz.ui.widgets.class_panel import class_panel
from dpviz.ui.widgets.show import lazy_expander

#: Highest number of a step in a link; it is larger than the number of steps of any lesson.
_MOST_STEPS = 99

#: Session entries: the open step, the steps whose task is done, and the facts on the screen.
_OPEN, _DONE, _FACTS = "learn:open", "learn:done", "learn:facts"

_TEXT = "learn:text"

#: Session entry: a step and its bars; they do not change while a slider is dragged.
_BARS = "learn:bars"

KNOWN = Known(explorers=tuple(EXPLORERS), facts=FACTS, bars=tuple(BARS))

_mount_keys = component("lesson_keys")

#: Keys for the next and the previous step, also in lesson_keys.js.
NEXT_KEY, BACK_KEY = "j", "k"


def page_state() -> UrlState:
    """Lesson and step, from the link or the session."""
    lessons, _ = shelf(KNOWN)
    state = UrlState(
        "learn",
        {
            "lesson": Control(next(iter(lessons)), choice("lesson", tuple(lessons))),
            "step": Control(1, whole("step", 1, _MOST_STEPS)),
            "projector": Control("off", choice("projector", ("off", "on"))),
        },
    )
    if state.get("lesson") not in lessons:  # the lesson's file was removed meanwhile
        state.set("lesson", next(iter(lessons)))
        state.set("step", 1)
    last = len(lessons[state.get("lesson")].steps)
    if (step := state.get("step")) > last:
        state.correct("step", last, f"step = {step} is beyond the last step; {last} is used.")
    return state


@dataclass(frozen=True, eq=False)
class _Slots:
    text: DeltaGenerator
    again: DeltaGenerator
    reveal: DeltaGenerator

    def show(
        self, step: Step, facts: Mapping[str, str], bars: str, answer: str | None, *, done: bool
    ) -> None:
        text = step_text(step, facts, bars, done=done)
        self.text.html(text)
        st.session_state[_TEXT] = (step.title, text)
        if step.question:
            self.reveal.html(reveal_text(step, facts, answer))


def build(state: UrlState) -> None:
    """Show the lesson and the explorer."""
    lessons, faults = shelf(KNOWN)
    for fault in faults:
        show_error(fault)
    lesson = lessons[state.get("lesson")]
    number = int(state.get("step"))
    step = lesson.steps[number - 1]
    here = (lesson.name, number)
    anew = st.session_state.get(_OPEN) != here or state.fresh
    st.session_state[_OPEN] = here
    left, right = st.columns([1, 2] if state.get("projector") == "on" else [3, 7], gap="medium")
    with left:
        _choice(state, lessons)
        _steps(state, number, lessons)
        _projector(state)
        if number == 1:
            show_caption(f"What you learn: {lesson.after} You need: {lesson.needs}.")
        slots, answer = _question(step, here)
        # The key contains the step, so that the expander is closed on the next step.
        name = f"learn:settings:{lesson.name}:{number}"
        place = st.expander("Settings of the explorer", icon=":material/tune:", key=name)
        _page_link(step)
        _for_class(lesson)
    explorer = EXPLORERS[step.explorer]
    with right:
        beside = step_state(step, anew=anew)
        show_corrections(beside.notes)
        if step.wanted and "seed" in step.wanted.names:
            slots.again.button(
                "Throw again", icon=":material/casino:", on_click=lambda: draw_again(beside)
            )
        explorer.build(beside, place, partial(_follow, slots, step, here, answer))
    state.write()


def _follow(
    slots: _Slots, step: Step, here: tuple[str, int], answer: str | None, settings: RunSettings
) -> None:
    done: set[tuple[str, int]] = st.session_state.setdefault(_DONE, set())
    look = Look(settings, step.explorer)
    before, bars = st.session_state.get(_BARS, (None, ""))
    try:
        facts = facts_of(step, look)
        if settings.settled or before != here:
            bars = BARS[step.bars](look).html() if step.bars else ""
    except InputError:  # the explorer shows the error beside the text
        facts, bars = {}, ""
    st.session_state[_FACTS], st.session_state[_BARS] = facts, (here, bars)
    if step.wanted and settings.settled and step.wanted.holds(facts):
        done.add(here)
    slots.show(step, texts(facts), bars, answer, done=here in done)


def _choice(state: UrlState, lessons: Mapping[str, Lesson]) -> None:
    titles = {
        name: shown(f"{number}. {one.title} ({one.minutes} min)", 80)
        for number, (name, one) in enumerate(lessons.items(), 1)
    }
    st.selectbox(
        "Lesson",
        **state.choice("lesson", tuple(titles)),
        format_func=titles.__getitem__,
        on_change=lambda: state.set("step", 1),
    )


def _go(state: UrlState, lesson: str, step: int) -> None:
    state.set("lesson", lesson)
    state.set("step", step)


def _steps(state: UrlState, number: int, lessons: Mapping[str, Lesson]) -> None:
    here = state.get("lesson")
    last = len(lessons[here].steps)
    names = list(lessons)
    after = names[names.index(here) + 1 :]
    ends = number == last
    target = (after[0], 1) if ends and after else (here, number + 1)
    _mount_keys(key="learn:keys", height=1)
    row = st.container(horizontal=True, vertical_alignment="center", key="learn:steps")
    row.button(
        "Back",
        icon=":material/arrow_back:",
        disabled=number == 1,
        on_click=partial(_go, state, here, number - 1),
        key="learn:back",
        shortcut=BACK_KEY,
    )
    row.markdown(f"Step **{number:d}** of {last:d}", width="content")
    row.button(
        "Next lesson" if ends and after else "Next",
        icon=":material/arrow_forward:",
        type="primary",
        disabled=ends and not after,
        on_click=partial(_go, state, *target),
        key="learn:next",
        shortcut=NEXT_KEY,
    )


def _projector(state: UrlState) -> None:
    st.toggle(
        "Projector",
        **following(
            state.key("projector:switch"),
            state.get("projector") == "on",
            lambda on: state.set("projector", "on" if on else "off"),
        ),
        help="Large letters and few controls, for an audience. Keys for the steps: PageDown and "
        "PageUp, as clickers send them, or j and k; also space and the arrows, if no control has "
        "the focus.",
    )
    if state.get("projector") == "on":
        st.html('<span class="dpv-projector" hidden></span>')


def _question(step: Step, here: tuple[str, int]) -> tuple[_Slots, str | None]:
    title, before = st.session_state.get(_TEXT, ("", ""))
    # The previous text stays until facts are known, because a shorter page would scroll up.
    text = st.html(before if title == step.title else step_text(step, {}, done=False))
    again, answer = st.container(), None
    if step.question:
        position = st.radio(
            plain_text(step.question),
            range(len(step.answers)),
            index=None,
            format_func=lambda one: plain_text(step.answers[one]),
            key=f"learn:answer:{here[0]}:{here[1]}",
            persist_state="session",
        )
        answer = None if position is None else step.answers[position]
    return _Slots(text, again, st.html(reveal_text(step, {}, answer))), answer


def _page_link(step: Step) -> None:
    if step.page and not (is_guest() and step.page.partition("?")[0] not in OPEN_TO_GUESTS):
        name, _, query = step.page.partition("?")
        st.page_link(
            f"pages/{name}.py",
            label=plain_text(f"Open the page {name.capitalize()}"),
            icon=":material/open_in_new:",
            query_params=dict(parse_qsl(query)),
        )


def _for_class(lesson: Lesson) -> None:
    def draw() -> None:
        looks = [Look(start_of(step), step.explorer) for step in lesson.steps]
        facts, bars, pictures = [], [], []
        for step, look in zip(lesson.steps, looks, strict=True):
            facts.append(texts(facts_of(step, look)))
            bars.append(BARS[step.bars](look).html() if step.bars else "")
            # If several steps begin with the same run, only the first step has its picture.
            found = picture_of(look)
            pictures.append("" if found in pictures else found)
        links = [
            class_link({"lesson": lesson.name, "step": str(number)})
            for number in range(1, len(lesson.steps) + 1)
        ]
        class_panel("learn:class")
        first = " The sheets have the address for phones if you open the app for a class first."
        show_caption(
            "Open the saved file in a browser, and print it: A4." + first * is_local(links[0])
        )
        for name, title in (("worksheet", "Worksheet"), ("teacher", "Teacher's sheet")):
            page = sheet(lesson, facts, bars, pictures, links, teacher=name == "teacher")
            st.download_button(
                plain_text(title),
                page.encode(),
                file_name=f"dpviz-{lesson.name}-{name}.html",
                mime="text/html",
                key=f"learn:{name}",
                on_click="ignore",
                icon=":material/print:",
                width="stretch",
            )

    if not is_guest():  # the teacher's sheet has the answers
        lazy_expander("For a class", key="learn:sheets", draw=draw)
