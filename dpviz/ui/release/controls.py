"""Controls of the release page, and the release that is made from the controls."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from typing import Any

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from dpviz.data.geographic import placed
from dpviz.data.samples import sample, sample_names
from dpviz.families import CARDS, FAMILIES, family_of
from dpviz.family.family import Family
from dpviz.family.parameter import CHOOSE, GIVEN, PRIVATE, Parameter
from dpviz.figures.looks import METHODS
from dpviz.grid.domain import Domain
from dpviz.release.rehearsal import MOST_RECORDS
from dpviz.release.request import Request
from dpviz.ui.data.panel import ActiveData
from dpviz.ui.data.state import (
    FIRST,
    OF_ONE_SET,
    UPLOAD,
    DataState,
    classes_words,
    data_controls,
    take_followed,
    without,
)
from dpviz.ui.messages import show_caption
from dpviz.ui.session.state import Control, UrlState, choice, whole, working
from dpviz.ui.widgets.first_method import show_first
from dpviz.ui.widgets.parameters import (
    boxes,
    choice_box,
    chosen,
    config_of,
    dragged,
    left_to_method,
    method_controls,
    take_defaults,
)

FIRST_METHOD = next(iter(FAMILIES.values())).first

#: Values in links that mean a rehearsal with wide or small made-up clusters, or a public file.
WIDE, SMALL, FILE = "wide", "small", "file"

#: Session entry: whether the page had own data when it was last drawn.
_OWN = "release:own"

#: Session entry: settings that were chosen on other pages while own data were in use.
_SEEN = "release:seen"


class ReleaseState(DataState):
    """Controls of the page."""

    def taken(self, working: Mapping[str, Any]) -> dict[str, Any]:
        """Values that this page takes over.

        For own data, the values of parameters that a method can choose itself are not taken over,
        because the user may have chosen them by looking at true results on other pages.
        """
        taken = super().taken(working)
        own = working.get("data", self.get("data")) == UPLOAD
        return without(taken, [CHOOSE.link] if own and taken.get(CHOOSE.link) == GIVEN else [])


def page_state() -> DataState:
    """All controls of the page, with values from the link or the session."""
    controls = data_controls(many=True)
    # Known classes are only for exploring. A release always leaves out unreadable rows.
    del controls["classes"], controls["rows"]
    for family in FAMILIES.values():
        controls |= method_controls(family, sample(FIRST))
    controls["method"] = Control(FIRST_METHOD, choice("method", METHODS), shared=True)
    # The step that is shown; None before the user has opened one.
    controls["step"] = Control(None, whole("step", 1, 5))
    # "no" if the owner says that no person has several records; "" before this answer.
    controls["several"] = Control("", choice("several", ("", "no")))
    # The public number of records, or of persons if persons are protected.
    for name in OF_ONE_SET:
        controls[name] = Control(None, whole(name, 1, MOST_RECORDS))
    # The clusters that the rehearsal expects: made-up clusters, the clusters of a public file, or
    # of a sample set; "" if the columns decide.
    controls["standin"] = Control("", choice("standin", ("", WIDE, SMALL, FILE, *sample_names())))
    state = ReleaseState("release", controls)
    take_followed(state, _family(state))
    if state.fresh:
        take_defaults(state, _family(state), but=state.chosen)
    _take_public(state)
    if state.has_own_data:
        followed: dict[str, Any] = st.session_state.setdefault(_SEEN, {})
        # A link of an explorer gives the values that were chosen there.
        same = {one for one in state.given if working().get(one, _SEEN) == state.get(one)}
        seen = state.followed | (same if state.fresh else set())
        followed |= {name: state.get(name) for name in seen}
    return state


def seen_settings(
    state: DataState, draft: ReleaseDraft, records: int
) -> dict[str, tuple[Any, str, str]]:
    """Settings of the plan that the user chose while true results were shown, by names in links.

    Each setting has its public value, and texts of the chosen value and of the public value. The
    public number of cells follows from public facts; other public values are the defaults.
    """
    request, family = draft.request, draft.request.family
    seen = st.session_state.get(_SEEN, {}) if state.has_own_data else {}
    config, first = request.config, family.by_name["epsilon"].default
    if seen.get("epsilon") == config.epsilon:  # the number of cells follows from epsilon
        config = replace(config, epsilon=first)
    ndim = len(draft.active.dataset.columns)
    public = family.from_public(config, records, ndim) if records else {}
    found = {"method": (FIRST_METHOD, CARDS[config.method].title, CARDS[FIRST_METHOD].title)}
    for one in (family.by_name[name] for name in ("epsilon", *request.parameters)):
        value = public.get(one.name, one.default)
        found[one.link] = value, one.text(state.get(one.link)), one.text(value)
    return {
        link: one
        for link, one in found.items()
        if link in seen and seen[link] == state.get(link) != one[0]
    }


def _take_public(state: DataState) -> None:
    """Start own data with choices that do not depend on other data sets.

    Choices of a link stay. Numbers that the user set on another page are kept, too. But the method
    chooses these values itself until the user decides on this page to use the kept numbers.
    """
    own = state.has_own_data
    if own and (not st.session_state.get(_OWN) or "method" in state.followed):
        usual = {CHOOSE.link: PRIVATE}
        for family in FAMILIES.values():
            choosing = [family.by_name[name] for name in family.choosing]
            usual |= {one.link: one.default for one in choosing}
        if not (state.fresh and state.given.intersection(usual)):
            for link, value in usual.items():
                if link not in state.agreed:
                    state.set(link, value)
    st.session_state[_OWN] = own


def public_persons(state: UrlState, active: ActiveData) -> int | None:
    """Public number of persons, if persons are protected; None before the user has typed it."""
    typed: int | None = state.get("persons")
    records = state.get("nhat") or 0
    # A link may have only the number of records.
    return typed or (max(1, round(records / active.neighbours.cap)) if records else None)


def public_records(state: UrlState, active: ActiveData) -> int:
    """Public number of records: the user's, or a sample set's; 0 for own data without a number.

    Own data never give this number. Each person counts with as many records as the cap allows.
    """
    found = state.get("nhat") or (active.sample.n if active.sample else 0)
    if active.unit is not None and state.get("persons"):
        found = state.get("persons") * active.neighbours.cap
    return min(int(found), MOST_RECORDS)  # a rehearsal has at most this many


def expected(state: UrlState, columns: Sequence[str]) -> str:
    """Clusters that the rehearsal expects; default: small clusters on a map, otherwise wide."""
    return state.get("standin") or (SMALL if placed(columns) else WIDE)


def _family(state: UrlState) -> Family:
    return family_of(state.get("method"))


@dataclass(frozen=True, kw_only=True, eq=False)
class ReleaseDraft:
    """The release that the page would make: its data and its public choices."""

    active: ActiveData
    request: Request
    #: The owner's words for registry, repository and ethics board.
    about: dict[str, str | list[str]]

    @property
    def fingerprint(self) -> tuple[object, ...]:
        """Value that changes whenever the user must review the release again."""
        data = self.active.complete
        return (self.request, str(self.about), data.digest, data.columns, self.active.unit)


def declared(state: UrlState, active: ActiveData) -> Domain | None:
    """Bounds that the user has declared, or that a sample set declares; None without such bounds.

    The box of a grid of counts is a proposal of the file; the user has not declared it.
    """
    proposed = active.dataset.counts is not None and state.get("domain") in ("", "declared")
    return None if proposed or not active.domain.declared else active.domain


def draft_of(
    state: DataState, active: ActiveData, title: str, about: dict[str, str | list[str]]
) -> ReleaseDraft:
    """Build the draft from all controls."""
    request = Request(
        config=config_of(state, _family(state), active.neighbours),
        domain=declared(state, active),
        outside=active.outside,
        unit=active.unit,
        one_record_each=state.has_own_data and state.get("several") == "no",
        title=title.strip(),
        date=date.today().isoformat(),
    )
    return ReleaseDraft(active=active, request=request, about=about)


def method_panel(state: DataState, columns: Sequence[str]) -> None:
    """Show method and parameters, with number boxes instead of sliders."""
    left, right = st.columns([2, 3])
    left.selectbox(
        "Method",
        **state.choice("method", METHODS),
        format_func=lambda name: f"{family_of(name).title}: {CARDS[name].named}",
        on_change=lambda: take_defaults(state, _family(state)),
    )
    card, family = CARDS[state.get("method")], _family(state)
    with right:
        of_ours = card.origin == "ours"
        first, _, rest = card.summary.removesuffix(".").partition(". ")
        source = card.source if of_ours else card.paper
        show_caption(f"{first}. ({source})", help=f"{rest}." if rest else None)
        show_first(card)
    free = left_to_method(state, card, family)
    # Epsilon is beside the rehearsal.
    used = [one for one in dragged(card, family) if one.name != "epsilon"]
    for column, one in _places(used):
        boxes(state, one, columns, column, disabled=one.name in free)
    if said := classes_words(state, [one.link for one in used if one.name not in free]):
        show_caption(said)
    for column, one in _places(chosen(card, family)):
        choice_box(state, one, column)


def _places(shown: list[Parameter]) -> Iterator[tuple[DeltaGenerator, Parameter]]:
    return zip(st.columns(max(len(shown), 4)), shown, strict=False)
