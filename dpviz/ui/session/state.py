"""Controls and the link: the URL contains every control, and every value is checked.

Streamlit's ``bind="query-params"`` adds no step to the browser's history, ignores invalid values,
and does not work with live sliders. A link or another page can't set values that ``persist_state``
keeps. So this module stores the controls; other values use ``persist_state``.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, TypeVar

import streamlit as st
from streamlit.runtime.scriptrunner import get_script_run_ctx

from dpviz.base.errors import InputError, shown
from dpviz.base.numbers import written_out

#: Session entry: values that all pages share, by the names of their controls.
_WORKING = "app:working"

MAX_SEED = 2**31 - 1

_NOTHING = object()

T = TypeVar("T")


class CorrectedError(InputError):
    """A value of a link is out of range; ``instead`` is the nearest value in the range."""

    def __init__(self, message: str, instead: Any) -> None:
        super().__init__(message)
        self.instead = instead


@dataclass(frozen=True)
class Control:
    """One control of a page; ``parse`` reads its value from the link's text, or raises InputError.

    Other pages take over the value of a ``shared`` control. ``first`` is the value of a visit
    without a link; None means the default value.
    """

    default: Any
    parse: Callable[[str], Any]
    shared: bool = False
    first: Any = None

    @property
    def initial(self) -> Any:
        """Value of a visit without a link."""
        return self.default if self.first is None else self.first


@dataclass
class _Store:
    values: dict[str, Any] = field(default_factory=dict)
    #: Names in the link, all links so far, and the last link that was written.
    given: set[str] = field(default_factory=set)
    seen: set[frozenset[tuple[str, str]]] = field(default_factory=set)
    written: dict[str, str] | None = None
    read: bool = False
    opened: bool = False
    #: Controls that have had a native widget; to look for a widget that does not exist is slow.
    native: set[str] = field(default_factory=set)
    #: Controls that have had a live slider, which changes their values in the middle of a run.
    live: set[str] = field(default_factory=set)
    #: How often the program has set each control.
    changes: dict[str, int] = field(default_factory=dict)
    adapted: set[str] = field(default_factory=set)
    notes: list[str] = field(default_factory=list)
    epoch: int = 0
    told: dict[str, Any] | None = None  # values that were last shared with the other pages
    #: The user's choices on the compare page, while a figure of a paper replaces them.
    own: dict[str, Any] = field(default_factory=dict)
    figure: bool = False


class UrlState:
    """Values of a page's controls in session and URL; they stay after the user leaves the page."""

    def __init__(self, page: str, controls: Mapping[str, Control]) -> None:
        self.page = page  # its name, the prefix of its session entries
        self._controls = controls
        self._store = store = _store_of(page)
        # While a part of the page is drawn: controls that have been read. Not in the store, because
        # the next run of the page may begin before this part stops.
        self._known: set[str] | None = None
        # The page's last known values; if a value in the session differs, the program has set it.
        self._values = store.values
        #: Controls whose shared values this page can't show, so it has other values.
        self.adapted = store.adapted
        self.notes = store.notes  # errors in the link; empty after the user has moved a control
        self.fresh = False
        #: Whether the page was just opened without a link; then it takes the values of other pages.
        self.entered = False
        #: Controls that other pages set, and controls that change here as a result.
        self.agreed: set[str] = set()
        self.followed: set[str] = set()
        by_link, was_opened = self._read(), store.opened
        store.opened = False
        if was_opened and not by_link:
            self._follow()
        elif not self.fresh:
            self.tell()

    def _read(self) -> bool:
        link = {name: text for name, text in self._asked().items() if name in self._controls}
        store, mark = self._store, frozenset(link.items())
        # A click may carry the previous link, so a known link is new only after Back or Forward.
        is_new = bool(link) and (_moved_in_history() or mark not in store.seen)
        # After such a click the browser receives the current link again.
        self._late = bool(link) and not is_new and link != store.written
        if self._values and not is_new:
            return False
        self.fresh = True
        self.notes.clear()
        # Values of a link are shared with the other pages, but default values are not.
        store.told = {} if link else None
        store.given, store.written, store.read = set(link), link or None, True
        store.seen.add(mark)
        for name, control in self._controls.items():
            value = control.default if link else control.initial
            if name in link:
                try:
                    value = control.parse(link[name])
                except CorrectedError as error:
                    value = error.instead
                    problem = str(error).removesuffix(".")
                    self.notes.append(f"{problem}; {_used(value)}")
                except InputError as error:
                    # The library's message quotes the whole value, so the value is shortened.
                    problem = str(error).replace(link[name] or "\n", shown(link[name])).rstrip(".")
                    self.notes.append(f"{problem}; {_used(value)}")
                except ValueError:
                    problem = f'{name} = "{shown(link[name])}" can\'t be read'
                    self.notes.append(f"{problem}; {_used(value)}")
            self.set(name, value)
        return is_new

    def _asked(self) -> Mapping[str, str]:
        return st.query_params.to_dict()

    def told(self) -> dict[str, Any]:
        """Values that this page shares with the other pages."""
        return {name: self.get(name) for name, one in self._controls.items() if one.shared}

    def taken(self, working: Mapping[str, Any]) -> dict[str, Any]:
        """Values of the other pages (`working`) that this page takes over."""
        return {
            name: working[name]
            for name, one in self._controls.items()
            if one.shared and name in working
        }

    def takes(self, name: str, value: Any) -> bool:
        """Whether a control accepts a value."""
        try:
            self._controls[name].parse(format_value(value))
        except (InputError, ValueError):
            return False
        return True

    def _follow(self) -> None:
        self.entered = True
        for name, value in self.taken(working()).items():
            control = self._controls[name]
            self.agreed.add(name)
            text = format_value(value)
            try:
                wanted = control.parse(text) if text else control.default
            except CorrectedError as error:
                wanted = error.instead
            except (InputError, ValueError):
                wanted = control.default
            if wanted != self.get(name):
                self.set(name, wanted)
                self.followed.add(name)
        # Nothing is shared, so other pages keep the values that this page can't show.
        self._store.told = None

    def tell(self) -> None:
        """Share this page's changes with the other pages."""
        told, before = self.told(), self._store.told
        self._store.told = told
        if before is None:
            return
        news = {
            name: told[name] for name in told if name not in before or before[name] != told[name]
        }
        if news:
            self.spread(news)

    def spread(self, news: Mapping[str, Any]) -> None:
        """Store changes where the other pages read them."""
        working().update(news)

    def adapt(self, name: str, value: Any) -> None:
        """Set a control to a value that this page can show; other pages keep their values."""
        self.set(name, value)
        self.adapted.add(name)
        told = self._store.told
        if told and name in told:
            told[name] = value

    def correct(self, name: str, value: Any, note: str) -> None:
        """Replace the value that a link gave to a control, and add a note with the reason."""
        self.set(name, value)
        self.notes.append(note)

    @property
    def given(self) -> set[str]:
        """Names of the controls that the link contains."""
        return self._store.given

    @property
    def chosen(self) -> set[str]:
        """Names of the controls that the link or another page has set."""
        return self.given | self.agreed

    def key(self, name: str) -> str:
        """Session entry of a control's value; it is also the key of the control's live slider."""
        self._store.live.add(name)
        return self._entry(name)

    def _entry(self, name: str) -> str:
        return f"{self.page}:{name}"

    def widget(self, name: str, initial: str = "value") -> dict[str, Any]:
        """Arguments for the native widget of a control: its key and its initial value."""
        # If the program sets the value of a widget's key, Streamlit sends this value to the browser
        # only once. The value is lost if the run is interrupted, and a second sending may undo a
        # newer choice of the user. So a control that the program sets gets a new widget.
        self._store.native.add(name)
        value = self.get(name)
        return {"key": self._widget_key(name), initial: value}

    def choice(self, name: str, options: Sequence[Any]) -> dict[str, Any]:
        """Arguments for a control's select box or radio buttons; see :meth:`widget`."""
        arguments = self.widget(name)
        position = list(options).index(arguments.pop("value"))
        return {**arguments, "options": options, "index": position}

    def _widget_key(self, name: str) -> str:
        return f"{self.page}:{name}@{self._store.changes.get(name, 0)}"

    def set(self, name: str, value: Any) -> None:
        """Set a control's value from the program."""
        self.adapted.discard(name)
        if name in self._values:
            self.get(name)
        st.session_state[self._entry(name)] = value
        self._follow_program(name)

    def get(self, name: str) -> Any:
        """Return the value of a control; if it has a widget, this is the widget's value."""
        session, store, known = st.session_state, self._store, self._values[name]
        # Access the session rarely: each access takes a lock, and a run reads a hundred values.
        if self._known is not None and name not in store.live:
            if name in self._known:
                return known
            self._known.add(name)
        stored = session.get(self._entry(name), _NOTHING)
        if stored is _NOTHING:
            session[self._entry(name)] = known
        elif stored != known:
            self._follow_program(name)
            return self._values[name]
        value = session.get(self._widget_key(name), known) if name in store.native else known
        if value is not known:
            session[self._entry(name)] = self._values[name] = value
        return value

    @contextmanager
    def drawn(self) -> Iterator[None]:
        """During a block that draws, read each value from the session only once."""
        self._known = set()
        try:
            yield
        finally:
            self._known = None

    def _follow_program(self, name: str) -> None:
        """Use the value that the program stored in the session entry; make a new widget for it."""
        value = st.session_state[self._entry(name)]
        if name in self._values and self._values[name] != value:
            self._store.changes[name] = self._store.changes.get(name, 0) + 1
        self._values[name] = value

    def __contains__(self, name: str) -> bool:
        """Whether the page has this control."""
        return name in self._controls

    def write(self) -> None:
        """Write all values to the URL; call it rarely, because browsers limit the writes."""
        link, written = self.link(), self._store.written
        was_read, self._store.read = self._store.read, False
        self.tell()
        if link == written and not self._late and st.query_params.to_dict():
            return
        if not was_read:
            self.notes.clear()
        st.query_params.from_dict(link)
        self._store.written = link
        self._store.seen.add(frozenset(link.items()))

    def link(self) -> dict[str, str]:
        """Values of all controls as text for a link."""
        return {name: text for name in self._controls if (text := format_value(self.get(name)))}

    @property
    def epoch(self) -> int:
        """Number of resets; it is part of the keys of widgets that a reset must recreate."""
        return self._store.epoch

    def reset(self) -> None:
        """Reset all controls to the values of a first visit."""
        self._store.epoch += 1
        for name, control in self._controls.items():
            self.set(name, control.initial)


def _store_of(page: str) -> _Store:
    store: _Store = st.session_state.setdefault(f"{page}:state", _Store())
    return store


def working() -> dict[str, Any]:
    """Values that the user chose on any page, by the names of their controls."""
    found: dict[str, Any] = st.session_state.setdefault(_WORKING, {})
    return found


def latest(entry: str, key: Hashable, make: Callable[[], T]) -> T:
    """Return what the session stores for a key; make it again if the key has changed."""
    known: tuple[Hashable, T] | None = st.session_state.get(entry)
    if known is None or known[0] != key:
        known = st.session_state[entry] = (key, make())
    return known[1]


def opened(page: str) -> None:
    """Record that a page was opened, so it reads a link, or takes the values of the other pages."""
    store = _store_of(page)
    store.seen.clear()
    store.opened = True


def _moved_in_history() -> bool:
    context = get_script_run_ctx(suppress_warning=True)
    return context is not None and context.is_history_navigation


def following(
    base: str,
    value: Any,
    keep: Callable[[Any], object],
    options: Sequence[Any] | None = None,
    initial: str = "value",
) -> dict[str, Any]:
    """Arguments for a native widget whose value is stored elsewhere; see UrlState.widget."""
    # If ``keep`` does not store the user's choice, this choice is undone. Select boxes and
    # radio buttons need ``options``. ``initial`` is the name of the argument for the initial value.
    number = st.session_state.get(f"{base}:changes", 0)
    shown = st.session_state.get(f"{base}@{number}", value)
    if shown != value:
        st.session_state[f"{base}:replaced"] = (number, shown)
        number += 1
        st.session_state[f"{base}:changes"] = number
    key = f"{base}@{number}"

    def changed() -> None:
        found = st.session_state[key]
        # The browser may send a replaced widget's value once more; this is no choice of the user.
        # After a change of titles the browser sends an old title, which becomes None.
        sent_again = st.session_state.get(f"{base}:replaced") == (number, found)
        if not sent_again and (options is None or found in options):
            keep(found)

    arguments = {"key": key, "on_change": changed}
    if options is None:
        return {**arguments, initial: value}
    return {**arguments, "options": options, "index": list(options).index(value)}


def _used(value: Any) -> str:
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
    """Parser of a number; the parser checks the library's rule and the slider's range."""

    def parse(text: str) -> float:
        try:
            value = float(text)
        except ValueError:
            raise InputError(f'{name} = "{shown(text)}" is not a number: give one.') from None
        check(value)
        if not low <= value <= high:
            given, *ends = map(written_out, (value, low, high))
            reach = f"{name} = {given} is outside the slider's range, {' to '.join(ends)}."
            raise CorrectedError(reach, float(min(max(value, low), high)))
        return value

    return parse


def budget(name: str, low: float, high: float) -> Callable[[str], float]:
    """Parser of a privacy budget."""

    def check(value: float) -> None:
        if not (math.isfinite(value) and value > 0):
            ends = f"{written_out(low)} to {written_out(high)}"
            raise InputError(
                f"{name} = {value:g} is not a usable privacy budget: give a number from {ends}."
            )

    return number(name, low, high, check)


def whole(name: str, low: int, high: int) -> Callable[[str], int]:
    """Parser of a whole number in a range."""

    def parse(text: str) -> int:
        try:
            value = int(text)
        except ValueError:
            raise InputError(
                f'{name} = "{shown(text)}" is not a whole number: give one from {low:,} to '
                f"{high:,}."
            ) from None
        if value > high:
            raise CorrectedError(
                f"{name} = {shown(text)} is more than the highest, {high:,}.", high
            )
        if value < low:
            raise InputError(f"{name} = {shown(text)} must be between {low:,} and {high:,}.")
        return value

    return parse


def sides(name: str, low: int, high: int) -> Callable[[str], int | tuple[int, ...]]:
    """Parser of cells per axis: one number for both columns, or one for each column ("64,32")."""
    side = whole(name, low, high)

    def parse(text: str) -> int | tuple[int, ...]:
        parts = text.split(",")
        if len(parts) == 1:
            return side(text)
        if len(parts) > 2:
            raise InputError(
                f'{name} = "{shown(text)}" has {len(parts)} numbers: give one number, or a '
                "number for each of the two columns."
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
            named = [*filter(None, options)]
            first = ", ".join(named[:12]) + (" and others" if len(named) > 12 else "")
            raise InputError(f'{name} = "{shown(text)}" is unknown: choose one of {first}.')
        return text

    return parse
