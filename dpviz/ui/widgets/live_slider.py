"""A slider that reports its value while the user drags it.

``st.slider`` reports on release. This slider sends while the thumb moves, one message at a time. It
also reports whether the value is settled, so that slow views can wait until the thumb is released.
"""

from __future__ import annotations

import html
import math
import secrets
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Literal, NamedTuple

import streamlit as st
from streamlit.runtime.scriptrunner import get_script_run_ctx

from dpviz.ui.widgets.assets import component

_mount = component("live_slider")


class LiveValue(NamedTuple):
    """Value of a live slider; ``settled`` is False during a drag and while a key is pressed."""

    value: float
    settled: bool


class Choice(NamedTuple):
    """A choice in the menu of a slider's curve: name, label, titles of its values, chosen value."""

    name: str
    label: str
    titles: Mapping[str, str]
    value: str


@dataclass(frozen=True, kw_only=True)
class CurvePlace:
    """Place of a curve between a slider's label and its track.

    The component ``curve`` sends the curve with the slider's key. If ``always`` is False, the place
    is empty while the slider has no focus. A slider with ``choices`` has a menu; ``choose`` is
    called with the name of a choice and its new value. ``menu`` is the text of the menu's button.
    """

    always: bool = False
    menu: str = ""
    choices: Sequence[Choice] = ()
    choose: Callable[[str, str], None] = lambda name, value: None


#: Session entry: key of the slider that the user used last.
_FOCUSED = "live_slider:focused"


def focused_slider() -> str:
    """Key of the slider that the user used or focused last; "" if there is none."""
    return str(st.session_state.get(_FOCUSED, ""))


@dataclass(frozen=True)
class _Range:
    low: float
    high: float
    integer: bool

    def clamp(self, value: object) -> float | None:
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            return None
        return self.inside(value) if math.isfinite(value) else None

    def inside(self, value: float) -> float:
        within = min(self.high, max(self.low, float(value)))
        return float(round(within)) if self.integer else within


@dataclass
class _Link:
    passed: float
    returned: float
    seq: int = 0
    # The number is random, so that messages from before a reset of the session state are ignored.
    epoch: int = field(default_factory=partial(secrets.randbelow, 2**31))
    dragging: bool = False


def live_slider(
    label: str, *, key: str, value: float, low: float, high: float, step: float | None = None,
    scale: Literal["linear", "log"] = "linear", integer: bool = False, help: str | None = None,
    low_label: str = "", high_label: str = "", format: str | None = None, disabled: bool = False,
    play: bool = False, curve: CurvePlace | None = None,
) -> LiveValue:  # fmt: skip
    """Show a slider with a number box and return its value.

    The value is in ``st.session_state[key]``. To move the slider, set this entry before this call;
    to return to ``value`` (clipped to the range), delete the entry. If ``value`` changes, the
    slider moves, too. ``step`` is in decades on a log scale (default: 0.02); its default on a
    linear scale is 1 for integers, otherwise a hundredth of the range. Log values have three
    significant digits. ``format`` is ``%d``, ``%.2f`` or ``%.3g`` with any text around it. ``play``
    adds a button that moves the slider to its end step by step.
    """
    allowed = _Range(float(low), float(high), integer)
    start = allowed.inside(value)
    link: _Link = st.session_state.setdefault(f"{key}::link", _Link(start, start))
    _follow_program(key, link, start, allowed)
    spec = {
        "name": key.rsplit(":", 1)[-1],
        "label": label,
        "low": allowed.low,
        "high": allowed.high,
        "step": step,
        "scale": scale,
        "integer": integer,
        "help": help or "",
        "low_label": low_label,
        "high_label": high_label,
        "format": format or ("%d" if integer else "%.3g" if scale == "log" else "%g"),
        "disabled": disabled,
        "play": play,
        "curve": key if curve else "",
        "always": bool(curve and curve.always),
    }
    input_key = f"{key}::input"
    if not _receive(key, allowed):
        link.dragging = False  # the user left the page while holding the thumb
    run = get_script_run_ctx(suppress_warning=True)
    _mount(
        key=input_key,
        data={
            "spec": spec,
            "value": link.returned,
            "ack": link.seq,
            "epoch": link.epoch,
            "session": run.session_id if run else "",
            "menu": _menu(curve),
        },
        on_state_change=partial(_receive, key, allowed),
        **_choosing(key, input_key, curve),
    )
    return LiveValue(link.returned, not link.dragging)


def _menu(curve: CurvePlace | None) -> dict[str, str]:
    boxes = []
    for one in curve.choices if curve else ():
        options = "".join(
            f'<option value="{html.escape(value)}"{" selected" * (value == one.value)}>'
            f"{html.escape(title)}</option>"
            for value, title in one.titles.items()
        )
        boxes.append(
            f'<label>{html.escape(one.label)}<select name="{one.name}">{options}</select></label>'
        )
    return {"text": curve.menu if curve else "", "choices": "".join(boxes)}


def _choosing(slider: str, key: str, curve: CurvePlace | None) -> dict[str, Any]:
    if curve is None or not curve.choices:
        return {}

    def choose() -> None:
        """Use a choice from the browser's message, which may contain anything."""
        st.session_state[_FOCUSED] = slider
        chosen = _message(st.session_state.get(key), "choice")
        for one in curve.choices:
            if one.name == chosen.get("name") and chosen.get("value") in one.titles:
                curve.choose(one.name, str(chosen["value"]))

    return {"on_choice_change": choose}


def _follow_program(key: str, link: _Link, start: float, allowed: _Range) -> None:
    wanted = allowed.clamp(st.session_state.get(key, start))
    if wanted is None:
        wanted = start
    # An app may pass the last value that it received back to the slider; this is not a change.
    if wanted == link.returned and start not in (link.passed, link.returned):
        wanted = start
    link.passed = start
    if wanted != link.returned:
        link.returned = wanted
        link.dragging = False
        # Messages that were sent before this change contain the old epoch and are ignored.
        link.epoch += 1
    st.session_state[key] = link.returned


def _message(state: object, name: str = "state") -> Mapping[str, object]:
    inner = state.get(name) if isinstance(state, Mapping) else None
    return inner if isinstance(inner, Mapping) else {}


def _receive(key: str, allowed: _Range) -> bool:
    """Process the browser's newest message once; return whether there is any message."""
    link: _Link = st.session_state[f"{key}::link"]
    message = _message(st.session_state.get(f"{key}::input"))
    seq = message.get("seq")
    if not isinstance(seq, int) or isinstance(seq, bool) or seq <= link.seq:
        return bool(message)
    link.seq = seq
    if message.get("focused") is True:
        st.session_state[_FOCUSED] = key
    value = allowed.clamp(message.get("value"))
    if value is None or message.get("epoch") != link.epoch:
        return True
    if st.session_state.get(key) != link.returned:
        # In this run, the callback of a click (for example on Reset) ran first. The program's value
        # replaces the browser's value, because the browser sent its value before the click.
        return True
    link.returned = value
    link.dragging = message.get("dragging") is True
    st.session_state[key] = value
    return True
