"""Controls and the link: the URL contains every control, and all its values are checked."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import streamlit as st

from dpviz.errors import InputError, shown

#: Seconds during which the browser may still send a replaced link.
_LATE = 5.0


class CorrectedError(InputError):
    """A value of a link is out of range; holds the nearest allowed value."""

    def __init__(self, message: str, instead: Any) -> None:
        super().__init__(message)
        self.instead = instead


@dataclass(frozen=True)
class Control:
    """One control of a page.

    Parameters
    ----------
    default
        Value if the link has none.
    parse
        Reads the value from the link's text; raises InputError (or ValueError) if it is invalid.
    """

    default: Any
    parse: Callable[[str], Any]


class UrlState:
    """Values of a page's controls, stored in the session and mirrored in the URL.

    Streamlit drops a widget's value when the user leaves its page; the values here stay.

    Parameters
    ----------
    page
        Prefix of the session's entries.
    controls
        Controls by their name in the link.
    """

    def __init__(self, page: str, controls: Mapping[str, Control]) -> None:
        self._page = page
        self._controls = controls
        empty: dict[str, Any] = {
            "values": {},
            "replaced": [],
            "changes": {},
            "written": None,
            "notes": [],
            "epoch": 0,
        }
        store = st.session_state.setdefault(f"{page}:state", empty)
        self._store: dict[str, Any] = store
        # The page's last known values: if the session has another value, the program set it.
        self._values: dict[str, Any] = store["values"]
        self.fresh = False
        self._read()

    def _read(self) -> None:
        """Read the link when it is new; report its errors."""
        link = {name: text for name, text in st.query_params.items() if name in self._controls}
        is_new = bool(link) and link != self._store["written"]
        # The browser then receives the valid link again.
        self._late = is_new and self._is_late(link)
        is_new &= not self._late
        if self._values and not is_new:
            return
        self.fresh = True
        self._store["notes"] = []
        self._store["given"] = set(link)
        for name, control in self._controls.items():
            value = control.default
            if name in link:
                try:
                    value = control.parse(link[name])
                except CorrectedError as error:
                    value = error.instead
                    self._store["notes"].append(f"{error}; {_used(value)}")
                except InputError as error:
                    # The error messages of the library quote the whole value.
                    problem = str(error).replace(link[name] or "\n", shown(link[name])).rstrip(".")
                    self._store["notes"].append(f"{problem}; {_used(value)}")
                except ValueError:
                    problem = f'{name} = "{shown(link[name])}" can\'t be read'
                    self._store["notes"].append(f"{problem}; {_used(value)}")
            self.set(name, value)

    def _is_late(self, link: Mapping[str, str]) -> bool:
        """Whether a link was replaced very recently: a click in the meantime still sends it."""
        now = time.monotonic()
        replaced = [one for one in self._store["replaced"] if now - one[0] < _LATE]
        self._store["replaced"] = replaced
        return any(one[1] == link for one in replaced)

    @property
    def page(self) -> str:
        """Prefix of the session's entries."""
        return self._page

    @property
    def notes(self) -> list[str]:
        """Errors of the link; empty after a control is moved."""
        notes: list[str] = self._store["notes"]
        return notes

    def correct(self, name: str, value: Any, note: str) -> None:
        """Replace a control's value from the link, and add a note with the reason."""
        self.set(name, value)
        self._store["notes"].append(note)

    @property
    def given(self) -> set[str]:
        """Names of the controls that the link contains."""
        given: set[str] = self._store.get("given", set())
        return given

    def key(self, name: str) -> str:
        """Session entry of a control's value; the key of its live slider."""
        return f"{self._page}:{name}"

    def widget(self, name: str, initial: str = "value") -> dict[str, Any]:
        """Arguments for the native widget of a control: its key and its initial value.

        If the program sets the value of a widget's key, Streamlit sends it to the browser once.
        A run that is interrupted, or followed by another at once, loses it; sending it again may
        undo a choice that the user made meanwhile. So a control that the program sets gets a new
        widget, which starts with that value.

        Parameters
        ----------
        name
            Name of the control.
        initial
            Name of the widget's argument for its initial value.
        """
        value = self.get(name)
        return {"key": self._widget_key(name), initial: value}

    def choice(self, name: str, options: Sequence[Any]) -> dict[str, Any]:
        """Arguments for the select box or radio buttons of a control; see :meth:`widget`."""
        arguments = self.widget(name)
        position = list(options).index(arguments.pop("value"))
        return {**arguments, "options": options, "index": position}

    def _widget_key(self, name: str) -> str:
        """Key of a control's native widget: a new one for each value that the program sets."""
        return f"{self._page}:{name}@{self._store['changes'].get(name, 0)}"

    def set(self, name: str, value: Any) -> None:
        """Set a control's value from the program."""
        if name in self._values:
            self.get(name)
        st.session_state[self.key(name)] = value
        self._follow_program(name)

    def get(self, name: str) -> Any:
        """Return the value of a control: its widget's value if it has a widget."""
        if st.session_state.setdefault(self.key(name), self._values[name]) != self._values[name]:
            self._follow_program(name)
        elif self._widget_key(name) in st.session_state:
            value = st.session_state[self._widget_key(name)]
            st.session_state[self.key(name)] = self._values[name] = value
        return self._values[name]

    def _follow_program(self, name: str) -> None:
        """Use a value that the program put into the session entry, with a new widget."""
        value = st.session_state[self.key(name)]
        if name in self._values and self._values[name] != value:
            self._store["changes"][name] = self._store["changes"].get(name, 0) + 1
        self._values[name] = value

    def __contains__(self, name: str) -> bool:
        """Whether the page has this control."""
        return name in self._controls

    def write(self) -> None:
        """Write all values to the URL; only settled values, because browsers limit the rate."""
        link, written = self.link(), self._store["written"]
        if link == written and not self._late and st.query_params.to_dict():
            return
        if written is not None:
            self._store["notes"] = []
        if written not in (None, link):
            self._store["replaced"].append((time.monotonic(), written))
        st.query_params.from_dict(link)
        self._store["written"] = link

    def link(self) -> dict[str, str]:
        """Values of all controls as text for a link."""
        texts = {name: format_value(self.get(name)) for name in self._controls}
        return {name: text for name, text in texts.items() if text}

    @property
    def epoch(self) -> int:
        """Number of resets: part of the keys of widgets that a reset must recreate."""
        return int(self._store["epoch"])

    def reset(self) -> None:
        """Reset all controls to their defaults."""
        self._store["epoch"] += 1
        for name, control in self._controls.items():
            self.set(name, control.default)


def following(
    base: str, value: Any, keep: Callable[[Any], object], options: Sequence[Any] | None = None
) -> dict[str, Any]:
    """Arguments for a native widget of a value that is stored elsewhere; see UrlState.widget.

    Parameters
    ----------
    base
        Prefix of the keys of its widgets.
    value
        The stored value.
    keep
        Stores the user's choice; a choice that it does not store is undone.
    options
        Options of a select box or radio buttons.
    """
    number = st.session_state.get(f"{base}:changes", 0)
    if st.session_state.get(f"{base}@{number}", value) != value:
        number += 1
        st.session_state[f"{base}:changes"] = number
    key = f"{base}@{number}"
    arguments = {"key": key, "on_change": lambda: keep(st.session_state[key])}
    if options is None:
        return {**arguments, "value": value}
    return {**arguments, "options": options, "index": list(options).index(value)}


def _used(value: Any) -> str:
    """End of a correction: the value that is used instead."""
    return f"{format_value(value) or 'the default'} is used."


def format_value(value: Any) -> str:
    """Text of a value in a link."""
    if value is None:
        return ""
    if isinstance(value, tuple):
        return ",".join(map(format_value, value))
    return repr(value).removesuffix(".0") if isinstance(value, float) else str(value)


def number(
    name: str, low: float, high: float, check: Callable[[float], Any]
) -> Callable[[str], float]:
    """Parser of a number: checked by the library's rule, then clipped to the slider's range."""

    def parse(text: str) -> float:
        try:
            value = float(text)
        except ValueError:
            raise InputError(f'{name} = "{shown(text)}" is not a number.') from None
        check(value)
        if not low <= value <= high:
            reach = f"{name} = {value:g} is beyond the slider, which reaches from {low} to {high}"
            raise CorrectedError(reach, float(min(max(value, low), high)))
        return value

    return parse


def whole(name: str, low: int, high: int) -> Callable[[str], int]:
    """Parser of a whole number in a range."""

    def parse(text: str) -> int:
        try:
            value = int(text)
        except ValueError:
            raise InputError(f'{name} = "{shown(text)}" is not a whole number.') from None
        if value > high:
            raise CorrectedError(f"{name} = {shown(text)} is more than the highest, {high}", high)
        if value < low:
            raise InputError(f"{name} = {shown(text)} must lie between {low} and {high}.")
        return value

    return parse


def sides(name: str, low: int, high: int) -> Callable[[str], int | tuple[int, ...]]:
    """Parser of cells per axis: one whole number, or one for each of the two columns ("64,32")."""
    side = whole(name, low, high)

    def parse(text: str) -> int | tuple[int, ...]:
        parts = text.split(",")
        if len(parts) == 1:
            return side(text)
        if len(parts) > 2:
            raise InputError(
                f'{name} = "{shown(text)}" has {len(parts)} numbers: give one, or one for each of '
                "the two columns."
            )
        found, beyond = [], None
        for part in parts:
            try:
                found.append(side(part))
            except CorrectedError as error:
                found.append(error.instead)
                beyond = error
        if beyond:
            raise CorrectedError(str(beyond), tuple(found))
        return tuple(found)

    return parse


def choice(name: str, options: Sequence[str]) -> Callable[[str], str]:
    """Parser of one of several names."""

    def parse(text: str) -> str:
        if text not in options:
            first = ", ".join(options[:12]) + (" and others" if len(options) > 12 else "")
            raise InputError(f'{name} = "{shown(text)}" is unknown: choose one of {first}.')
        return text

    return parse
