"""Controls of the data on the screen, the same on all pages: data set, columns, domain, unit."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

from dpviz.data.samples import Sample, sample, sample_names
from dpviz.domain import Domain
from dpviz.errors import InputError, shown
from dpviz.families import FAMILIES
from dpviz.privacy.ledger import RELATIONS
from dpviz.reproduce import columns_of, columns_option
from dpviz.ui.state import Control, UrlState, choice, whole

UPLOAD = "own"

#: Upper limit of the records of a person; further ones are left out.
MOST_RECORDS = 1000

COUNTS = "counts"

#: Rows with something else than a number are left out.
READABLE = "readable"

#: Argument of the reader for each format.
FORMATS = {"": None, "names": True, "data": False, COUNTS: None}

#: Controls of own data alone; they stay as they are while sample sets are looked at.
_OF_OWN_DATA = ("format", "sheet", "rows", "columns", "classes", "unit", "cap", "unprotected")


class DataState(UrlState):
    """Controls of a page that has data."""

    @property
    def has_own_data(self) -> bool:
        """Whether own data is chosen."""
        return bool(self.get("data") == UPLOAD)

    def link(self) -> dict[str, str]:
        """Values of all controls as text for a link."""
        link = super().link()
        return link if self.has_own_data else _without(link, _OF_OWN_DATA)

    def told(self) -> dict[str, Any]:
        """Values that the other pages take over."""
        told = super().told()
        return told if self.has_own_data else _without(told, _OF_OWN_DATA)

    def taken(self, working: Mapping[str, Any]) -> dict[str, Any]:
        """Values that this page takes over; bounds never go from one data set to another."""
        other = working.get("data", self.get("data")) != self.get("data")
        return super().taken({"domain": "", **working} if other else working)


def _without(texts: dict[str, Any], names: Collection[str]) -> dict[str, Any]:
    return {name: text for name, text in texts.items() if name not in names}


def data_controls(default: str, *, many: bool = False) -> dict[str, Control]:
    """Controls of the panel, as in the link: those of a :class:`DataState`.

    Parameters
    ----------
    default
        Initial sample set.
    many
        Whether more than two columns may be clustered.
    """
    names = (*sample_names(), UPLOAD)
    controls = {
        "data": Control(default, choice("data", names)),
        # How the file is read: "" for points with an automatic first line.
        "format": Control("", choice("format", tuple(FORMATS))),
        # Of an Excel file; empty for the first.
        "sheet": Control("", str),
        # Which rows of own data: all, each of which must be readable, or the readable ones.
        "rows": Control("", choice("rows", ("", READABLE))),
        # Columns of own data, the two shown ones first; empty until they are proposed or named.
        "columns": Control("", lambda text: columns_option(columns_of(text))),
        "classes": Control("", str),
        # Column of persons, empty for records; None for one record of each.
        "unit": Control("", str),
        "cap": Control(None, whole("cap", 1, MOST_RECORDS)),
        # Digest of the data that their owner has declared public: it says nothing of others.
        "unprotected": Control("", _parse_digest),
        # Empty until a person chooses: then the variant does.
        "domain": Control("", partial(_parse_domain, many=many)),
        "outside": Control("clip", choice("outside", ("clip", "drop"))),
        "neighbours": Control("add_remove", choice("neighbours", RELATIONS)),
    }
    return {name: replace(one, shared=True) for name, one in controls.items()}


def _parse_digest(text: str) -> str:
    """Check a digest in a link."""
    if text.strip("0123456789abcdef") or len(text) > 32:
        raise InputError(
            f'unprotected = "{shown(text)}" is no digest: declare the data public again.'
        )
    return text


def _parse_domain(text: str, *, many: bool) -> str:
    """Check a domain in a link: declared, data, or "lo,hi;lo,hi"; empty follows the variant."""
    if text in ("", "declared", "data"):
        return text
    domain = Domain.parse(text)
    if domain.ndim != 2 and not many:
        raise InputError(f'domain is "{shown(text)}": the screen shows two columns, lo,hi;lo,hi.')
    return str(domain)


def take_sample(state: UrlState, facts: Sample, but: Collection[str] = ()) -> None:
    """Set a page's controls to the parameters of a sample set."""
    for family in FAMILIES.values():
        for name, value in family.suited(facts).items():
            link = family.parameter(name).link
            if link in state and link not in but:
                state.set(link, value)


def take_followed_sample(state: UrlState) -> None:
    """Set a page's controls to the parameters of a sample set that was chosen on another page."""
    if "data" in state.followed and state.get("data") != UPLOAD:
        take_sample(state, sample(state.get("data")))
