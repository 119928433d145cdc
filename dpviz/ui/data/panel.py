"""The data panel of all pages: sample sets and own tables, columns, domain."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import streamlit as st

from dpviz.base.numbers import counted
from dpviz.data.dataset import Dataset
from dpviz.data.reading.unread import NamedRows
from dpviz.data.samples import Sample, sample, sample_names
from dpviz.figures.ground import PLAIN, Ground
from dpviz.grid.domain import Domain, Outside
from dpviz.privacy.ledger import Neighbours
from dpviz.ui.data.domain_panel import domain_panel
from dpviz.ui.data.how_read import FOUND, How
from dpviz.ui.data.own_data import own_data
from dpviz.ui.data.own_states import OwnData
from dpviz.ui.data.protection_panel import protection_panel
from dpviz.ui.data.rows import show_notes
from dpviz.ui.data.state import (
    FIRST,
    UPLOAD,
    DataState,
    data_names,
    keeps_own,
    take_own,
    take_sample,
)
from dpviz.ui.messages import show_caption
from dpviz.ui.session.address import where_files_go
from dpviz.ui.session.cache import sample_data
from dpviz.ui.session.classroom import is_guest
from dpviz.ui.session.state import UrlState, following
from dpviz.ui.widgets.stamp import DECLARED, MADE_UP, Stamp

#: Session entry: name of the sample set that was on the screen last.
_SAMPLE = "app:sample"


@dataclass(frozen=True, kw_only=True, eq=False)
class ActiveData:
    """The data on the screen: a grid of counts, or the columns to cluster."""

    dataset: Dataset
    domain: Domain
    outside: Outside
    neighbours: Neighbours
    complete: Dataset  # all records of each person
    sample: Sample | None
    unit: str | None = None
    axes: tuple[int, int] = (0, 1)  # positions of the two shown columns
    how: How = FOUND
    ground: Ground = PLAIN
    #: If the bounds span the data: rows far from all others, and a box around the others.
    far: tuple[NamedRows, Domain] | None = None
    declared_public: bool = False

    @classmethod
    def of(
        cls,
        state: UrlState,
        dataset: Dataset,
        own: OwnData | None,
        sample: Sample | None,
        domain: Domain,
        neighbours: Neighbours,
    ) -> ActiveData:
        """Own data or a sample set, with the choices of a page."""
        more: dict[str, Any] = {}
        if own:
            far = None if domain.declared else own.far
            more = {"unit": own.unit, "axes": own.axes, "how": own.loaded.token[1], "far": far}
        return cls(
            dataset=dataset,
            domain=domain,
            outside=state.get("outside"),
            neighbours=neighbours,
            complete=own.complete if own else dataset,
            sample=sample,
            **more,
        )

    @property
    def title(self) -> str:
        """Name of the data on the screen."""
        return self.sample.title if self.sample else self.dataset.name

    @property
    def is_sample(self) -> bool:
        """Whether the data is a sample set (public, shared between sessions)."""
        return self.sample is not None

    @property
    def public(self) -> Stamp | None:
        """Note on pictures of public data; None if the data need protection."""
        return MADE_UP if self.is_sample else DECLARED if self.declared_public else None


def changed_data(state: DataState) -> None:
    """Set the controls that depend on the data set, after a change of the data set."""
    state.set("domain", "")
    if state.has_own_data:
        take_own(state, _sample_before())
    else:
        take_sample(state, sample(state.get("data")))


def _sample_before() -> Sample:
    return sample(st.session_state.get(_SAMPLE, FIRST))


def data_panel(state: DataState, *, many: bool) -> ActiveData:
    """Show the panel of the explorers; return the data on the screen, or raise InputError."""
    titles = {name: sample(name).title for name in sample_names()} | {UPLOAD: "Own data …"}
    st.selectbox(
        "Data",
        **state.choice("data", data_names()),
        format_func=titles.__getitem__,
        on_change=partial(changed_data, state),
        help="A sample set."
        if is_guest()
        else f"A sample set, or a table of your own. {where_files_go()}",
    )
    own = facts = None
    if state.has_own_data:
        if state.fresh:
            take_own(state, _sample_before(), but=state.chosen)
        own = own_data(state, many=many)
    else:
        facts = sample(state.get("data"))
        st.session_state[_SAMPLE] = facts.name
        if state.fresh:
            take_sample(state, facts, but=state.chosen)
    dataset = sample_data(state.get("data")) if own is None else own.current
    left, right = st.columns(2)
    with left:
        identity = dataset.digest if own is None else own.identity
        axes = own.axes if own else (0, 1)
        far = own.far[1] if own and own.far else None
        domain = domain_panel(state, dataset, identity, axes=axes, far=far)
    with right:
        neighbours = protection(state, own)
    active = ActiveData.of(state, dataset, own, facts, domain, neighbours)
    active = replace(active, declared_public=own is not None and public_switch(state, own))
    show_caption(
        f"Active: {active.title} · {counted(dataset.n, 'record')} · "
        f"{'declared domain' if domain.declared else 'domain from the data'}"
        + (f" · {len(dataset.classes.names)} classes" if dataset.classes else ""),
        help=facts.description if facts else None,
    )
    if own and (said := keeps_own(state)):
        show_caption(said)
    show_notes(state, dataset, said=own is not None and dataset.counts is None)
    return active


def public_switch(state: UrlState, own: OwnData) -> bool:
    """Show the switch that declares these data public; return whether the switch is on."""
    digest = own.current.digest
    declared = bool(state.get("unprotected") == digest)
    st.toggle(
        "These data are public",
        **following(
            f"own:unprotected:{digest}",
            declared,
            lambda on: state.set("unprotected", digest if on else ""),
        ),
        help="You declare that anybody may see every record of these columns, so they need no "
        "protection. Then pictures and files of these pages may be shown to others. Other columns "
        "or another file need a new declaration. A release still protects its records.",
    )
    return declared


def protection(state: UrlState, own: OwnData | None) -> Neighbours:
    """Show who is protected; only own tables have columns of persons."""
    return protection_panel(state, own.loaded.columns or None if own else None)
