"""The data panel of all pages: sample sets and own tables, columns, domain."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

import streamlit as st

from dpviz.base.errors import listed
from dpviz.base.numbers import counted
from dpviz.data.dataset import Dataset
from dpviz.data.reading.unread import NamedRows
from dpviz.data.samples import Sample, sample, sample_names
from dpviz.figures.ground import PLAIN, Ground
from dpviz.grid.domain import Domain, Outside
from dpviz.privacy.ledger import Neighbours
from dpviz.ui.data.domain_panel import domain_panel
from dpviz.ui.data.how_read import FOUND, How
from dpviz.ui.data.own_data import check_unit, own_data
from dpviz.ui.data.own_states import OwnData
from dpviz.ui.data.protection_panel import protection_panel
from dpviz.ui.data.rows import show_notes
from dpviz.ui.data.state import UPLOAD, DataState, data_names, take_sample
from dpviz.ui.messages import show_caption, show_info
from dpviz.ui.session.address import where_files_go
from dpviz.ui.session.cache import sample_data
from dpviz.ui.session.classroom import is_guest
from dpviz.ui.session.state import UrlState, following
from dpviz.ui.widgets.stamp import DECLARED, MADE_UP, Stamp


@dataclass(frozen=True, kw_only=True, eq=False)
class ActiveData:
    """The data on the screen: a grid of counts, or the columns to cluster.

    ``complete`` has all records of each person. ``axes`` are the positions of the two columns that
    are shown. If the bounds span the data, ``far`` has the rows that are far from all other rows,
    and a box around the other rows.
    """

    dataset: Dataset
    domain: Domain
    outside: Outside
    neighbours: Neighbours
    complete: Dataset
    sample: Sample | None
    unit: str | None = None
    axes: tuple[int, int] = (0, 1)
    how: How = FOUND
    ground: Ground = PLAIN
    far: tuple[NamedRows, Domain] | None = None
    declared_public: bool = False

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


def data_panel(state: DataState, *, many: bool = False, named: bool = False) -> ActiveData:
    """Show the panel; return the data on the screen.

    ``many`` and ``named``: see :func:`own_data`. InputError if own data can't be read.
    """

    def changed() -> None:
        state.set("domain", "")
        if not state.has_own_data:
            take_sample(state, sample(state.get("data")))

    titles = {name: sample(name).title for name in sample_names()} | {UPLOAD: "Own data …"}
    st.selectbox(
        "Data",
        **state.choice("data", data_names()),
        format_func=titles.__getitem__,
        on_change=changed,
        help="A sample set."
        if is_guest()
        else f"A sample set, or a table of your own. {where_files_go()}",
    )
    name = state.get("data")
    own = facts = None
    if state.has_own_data:
        own = own_data(state, many=many, named=named)
    else:
        facts = sample(name)
        if state.fresh:
            take_sample(state, facts, but=state.chosen)
    dataset = sample_data(name) if own is None else own.current
    left, right = st.columns(2)
    with left:
        identity = dataset.digest if own is None else own.identity
        shown_axes = own.axes if own else (0, 1)
        far = own.far[1] if own and own.far else None
        domain = domain_panel(state, dataset, identity, look=not named, axes=shown_axes, far=far)
    with right:
        # Columns that the user has named as coordinates are not offered as the column of persons.
        neighbours = protection(state, own, but=dataset.columns if named else ())
    if own and named:
        check_unit(state, own)
    # A release is for data that need protection, so its page has no switch for public data.
    declared = own is not None and not named and public_switch(state, own)
    active = ActiveData(
        dataset=dataset,
        domain=domain,
        outside=state.get("outside"),
        neighbours=neighbours,
        complete=own.complete if own else dataset,
        unit=own.unit if own else None,
        sample=facts,
        how=own.loaded.token[1] if own else FOUND,
        axes=shown_axes,
        far=own.far if own and not domain.declared else None,
        declared_public=declared,
    )
    show_caption(
        f"Active: {active.title} · {counted(dataset.n, 'record')} · "
        f"{'declared domain' if domain.declared else 'domain from the data'}"
        + (f" · {len(dataset.classes.names)} classes" if dataset.classes else ""),
        help=facts.description if facts else None,
    )
    show_notes(state, dataset, said=own is not None and not named and dataset.counts is None)
    if named and dataset.dropped:
        show_caption("The explorers name the rows that can't be read.")
    if named and own and own.unit is None and (others := _persons(own, dataset.columns)):
        show_info(
            "Each record is protected separately: for a person with three records, e^(3ε) replaces "
            "e^ε. Can a person have several records? Then name the column of persons under "
            f"Protects: {listed(others, 40)}.",
            ":material/shield_person:",
        )
    return active


def public_switch(state: UrlState, own: OwnData) -> bool:
    """Show the switch for data without protection; return whether it is on for these data."""
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


def _persons(own: OwnData, but: Collection[str]) -> list[str]:
    return [one for one in own.loaded.columns if one not in but]


def protection(state: UrlState, own: OwnData | None, but: Collection[str] = ()) -> Neighbours:
    """Show who is protected; only own tables have columns of persons, but not the columns `but`."""
    if own and own.loaded.columns:
        return protection_panel(state, _persons(own, but))
    return protection_panel(state, None)
