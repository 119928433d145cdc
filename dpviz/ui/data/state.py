"""Controls of the data, which all pages share: data set, columns, domain, privacy unit."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import streamlit as st

from dpviz.base.errors import InputError, shown
from dpviz.commands.commands import columns_of, columns_option
from dpviz.data.dataset import Classes
from dpviz.data.samples import Sample, sample, sample_names
from dpviz.families import CARDS, FAMILIES, PARAMETERS, settings_of
from dpviz.family.family import Family
from dpviz.family.parameter import CHOOSE
from dpviz.grid.domain import Domain
from dpviz.privacy.ledger import RELATIONS
from dpviz.ui.session.classroom import is_guest
from dpviz.ui.session.state import Control, UrlState, choice, latest, whole, working
from dpviz.ui.widgets.parameters import take_defaults

UPLOAD = "own"

FIRST = "gaussians"

#: Methods of a first visit to the compare page, by family; their runs take seconds.
FIRST_METHODS = {family.name: family.compared for family in FAMILIES.values()}

MOST_RECORDS = 1000

COUNTS = "counts"

#: Value of the control "rows" that leaves out rows without a number in a chosen column.
READABLE = "readable"

#: Argument ``header`` of the reader for each format.
FORMATS = {"": None, "names": True, "data": False, COUNTS: None}

#: Controls for reading own data; with these values, the reader finds the settings in the file.
READING = {"skip": None, "missing": "", "encoding": ""}

#: Controls that only own data have; they keep their values while sample sets are shown.
_OF_OWN_DATA = (
    "format", "sheet", *READING, "rows", "columns", "classes", "unit", "several", "persons", "cap",
    "unprotected",
)  # fmt: skip

#: Public numbers of records and of persons; each belongs to one data set.
OF_ONE_SET = ("nhat", "persons")

#: Names of shared values: the methods chosen last, the method explored last, and those methods of
#: the last explorer that the Compare page has not taken over yet.
METHODS_CHOSEN, EXPLORED, TO_COMPARE = "methods", "explored", "to compare"

#: Session entries: the file and the declared bounds of its columns; the file alone.
_BOUNDS, _FILE = "app:domain:bounds", "own:settings of"


#: The parameter K; session entry with the classes from which K started, and this value of K.
_CLUSTERS, _CLASSES = PARAMETERS["clusters"], "own:classes:k"


def suited_links() -> tuple[str, ...]:
    """Controls of the parameters that suit a data set: g, p and K."""
    return tuple(PARAMETERS[name].link for name in settings_of(sample(FIRST)))


def choose_of(method: str) -> str:
    """Name of the shared value which says who chooses the parameters of a family's methods."""
    return f"{CHOOSE.link} {CARDS[method].family}"


class DataState(UrlState):
    """Controls of a page that has data."""

    #: Where the file and the columns are; on a phone and a small laptop the side bar is closed.
    place = "in the side bar (if it is closed, » at the top left opens it)"

    @property
    def has_own_data(self) -> bool:
        """Whether own data is chosen."""
        return bool(self.get("data") == UPLOAD)

    def link(self) -> dict[str, str]:
        """Values of all controls as text for a link."""
        link = super().link()
        return link if self.has_own_data else without(link, _OF_OWN_DATA)

    def told(self) -> dict[str, Any]:
        """Values that this page shares with the other pages."""
        told = super().told()
        if not self.has_own_data:
            told = without(told, _OF_OWN_DATA)
        if "method" in told:
            method = told.pop("method")
            told[METHODS_CHOSEN] = (method,)
            told[choose_of(method)] = told.pop(CHOOSE.link)
        return told

    def spread(self, news: Mapping[str, Any]) -> None:
        """Store changes for the other pages; bounds, g, p and K apply to one data set only."""
        if "data" in news:
            of_data, told = ("domain", *suited_links()), self.told()
            for name in of_data:
                working().pop(name, None)
            news = {name: told[name] for name in of_data if name in told} | dict(news)
        super().spread(news)

    def tell(self) -> None:
        """Share this page's changes, and the method if the page is an explorer."""
        super().tell()
        if self.page in FAMILIES:
            shown = working()[EXPLORED] = self.get("method")
            # Compare takes these methods only if the user chose a second method for the curve.
            second = self.get("with")
            working()[TO_COMPARE] = (shown, second) if second != "none" else ()

    def taken(self, working: Mapping[str, Any]) -> dict[str, Any]:
        """Values that this page takes over; bounds are never used for another data set."""
        if working.get("data", self.get("data")) != self.get("data"):
            working = {"domain": "", **working}
        taken = super().taken(working)
        # If the columns are unknown, bounds can't be assigned to them.
        typed = taken.get("domain", "")
        if typed != self.get("domain") and typed.count(";") > 1 and not _bounds():
            taken["domain"] = ""
        return taken | self._method(working)

    def _method(self, working: Mapping[str, Any]) -> dict[str, Any]:
        if "method" not in self:
            return {}
        here, found = self.get("method"), {}
        fitting = [one for one in methods_of(working, self) if self.takes("method", one)]
        if fitting:
            here = found["method"] = here if here in fitting else fitting[0]
        if choose_of(here) in working:
            found[CHOOSE.link] = working[choose_of(here)]
        return found


def methods_of(working: Mapping[str, Any], state: UrlState) -> Sequence[str]:
    """Methods that the user chose, and on a new page the method that was explored last."""
    explored = [working[EXPLORED]] if state.fresh and EXPLORED in working else []
    return [*working.get(METHODS_CHOSEN, ()), *explored]


def _bounds() -> dict[str, tuple[float, float]]:
    return latest(_BOUNDS, st.session_state.get(_FILE), dict[str, tuple[float, float]])


def note_bounds(columns: Iterable[str], domain: Domain) -> None:
    """Store the declared bounds of these columns."""
    _bounds().update(zip(columns, domain.bounds, strict=True))


def noted_bounds(column: str) -> tuple[float, ...]:
    """Declared bounds of a column of own data; empty if they are unknown."""
    return _bounds().get(column, ())


def bounds_of(columns: Sequence[str]) -> str:
    """Declared bounds of these columns, as in a link; "" if bounds of a column are unknown."""
    known = _bounds()
    if not set(columns) <= set(known):
        return ""
    return str(Domain(tuple(known[name] for name in columns)))


def restore_bounds(state: UrlState, columns: Sequence[str]) -> None:
    """After a change of columns, use their declared bounds, or "" if some bounds are unknown."""
    if state.get("domain") != "data":
        state.set("domain", bounds_of(columns) if columns else "")


def without(texts: dict[str, Any], names: Collection[str]) -> dict[str, Any]:
    """All values, without the values of the given names."""
    return {name: text for name, text in texts.items() if name not in names}


def data_names() -> tuple[str, ...]:
    """Sample sets, and own data if the visitor is not a guest."""
    return (*sample_names(), *(() if is_guest() else (UPLOAD,)))


def data_controls(*, many: bool) -> dict[str, Control]:
    """Controls of the panel, as in the link, for a :class:`DataState`."""
    controls = {
        "data": Control(FIRST, choice("data", data_names())),
        # Format of the file; "" is a file of points whose first line may be names or data.
        "format": Control("", choice("format", tuple(FORMATS))),
        # Sheet, layer, array or member of an archive; "" means the first of them.
        "sheet": Control("", str),
        # Number of lines above the names; texts that mean a missing value; encoding of the text.
        "skip": Control(None, whole("skip", 0, 10**6)),
        "missing": Control("", lambda text: columns_option(columns_of(text))),
        "encoding": Control("", str),
        # "" uses all rows, which must be readable; READABLE leaves out unreadable rows.
        "rows": Control("", choice("rows", ("", READABLE))),
        # Columns, beginning with the shown columns; empty until columns are proposed or named.
        "columns": Control("", lambda text: columns_option(columns_of(text))),
        "classes": Control("", str),
        # Column of persons; empty if records are protected. Cap: None means one record per person.
        "unit": Control("", str),
        "cap": Control(None, whole("cap", 1, MOST_RECORDS)),
        # Digest of data that their owner has declared public; other data are not public.
        "unprotected": Control("", _parse_digest),
        # The domain: while it is empty, the variant decides.
        "domain": Control("", partial(_parse_domain, many=many)),
        "outside": Control("clip", choice("outside", ("clip", "drop"))),
        "neighbours": Control("add_remove", choice("neighbours", RELATIONS)),
    }
    return {name: replace(one, shared=True) for name, one in controls.items()}


def _parse_digest(text: str) -> str:
    if text.strip("0123456789abcdef") or len(text) > 32:
        raise InputError(
            f'unprotected = "{shown(text)}" is not a digest: declare the data public again.'
        )
    return text


def _parse_domain(text: str, *, many: bool) -> str:
    """Check a domain in a link: "declared", "data", bounds, or "" if the variant decides."""
    if text in ("", "declared", "data"):
        return text
    domain = Domain.parse(text)
    if domain.ndim != 2 and not many:
        raise InputError(f'domain = "{shown(text)}" is not for two columns: write lo,hi;lo,hi.')
    return str(domain)


def take_sample(state: UrlState, facts: Sample, but: Collection[str] = ()) -> None:
    """Set a page's controls to the parameters of a sample set."""
    for name, value in settings_of(facts).items():
        link = PARAMETERS[name].link
        if link in state and link not in but:
            state.set(link, value)


def take_own(state: UrlState, before: Sample, but: Collection[str] = ()) -> None:
    """Reset the parameters that still have the values of the previous sample set."""
    # Values that the user chose stay. Records decide no value here, so a release may use them.
    for name, value in settings_of(before).items():
        one = PARAMETERS[name]
        if one.link in state and one.link not in but and state.get(one.link) == value:
            state.set(one.link, one.default)


def keeps_own(state: UrlState) -> str:
    """Sentence which says that g, p and K are starting values; "" if the user changed one."""
    found = [one for one in PARAMETERS.values() if one.link in suited_links() and one.link in state]
    if not found or any(state.get(one.link) != one.default for one in found):
        return ""
    *first, last = [one.text(one.default) for one in found]
    return f"{', '.join(first)} and {last} are starting values for any data, not chosen for yours."


def take_classes(state: UrlState, file: int, classes: Classes | None) -> None:
    """Let K start at the number of known classes, unless the user has chosen K."""
    # The classes are in the data, so a release says where this K comes from.
    known = (file, classes and classes.names)
    if classes is None or st.session_state.get(_CLASSES, (None, 0))[0] == known:
        return
    link, number = _CLUSTERS.link, max(len(classes.names), 2)
    chosen = state.get(link) if link in state else working().get(link, _CLUSTERS.default)
    starts = chosen == _CLUSTERS.default and link not in state.given
    st.session_state[_CLASSES] = (known, number if starts else 0)
    if starts and link not in state:
        working()[link] = number
    elif starts and state.takes(link, number):
        state.set(link, number)


def from_classes(state: DataState) -> str:
    """Sentence on a page whose K is the number of known classes; "" for any other K."""
    link, (_, number) = _CLUSTERS.link, st.session_state.get(_CLASSES, (None, 0))
    if not number or link not in state or state.get(link) != number or not state.get("classes"):
        return ""
    return f"{_CLUSTERS.text(number)} is the number of classes of your data."


def classes_words(state: DataState, used: Collection[str]) -> str:
    """Sentence for a release whose K is from classes, or ""; it reads the parameters ``used``."""
    link, (_, number) = _CLUSTERS.link, st.session_state.get(_CLASSES, (None, 0))
    if link not in used or not state.has_own_data or state.get(link) != number:
        return ""
    return (
        f"K {number} was taken from the classes of your data on another page; the proof does not "
        "cover such a choice. Would you have chosen it anyway?"
    )


def take_followed(state: UrlState, family: Family) -> None:
    """Set the parameters for data or a method from another page; values chosen there stay."""
    if "data" in state.followed and state.get("data") != UPLOAD:
        take_sample(state, sample(state.get("data")), but=state.agreed)
    if {"method", "variant"} & state.followed:
        take_defaults(state, family, but=state.agreed - {"variant"})
