"""The first three steps of a release: the file, the place, and who is protected."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import streamlit as st

from dpviz.base.errors import listed, shown
from dpviz.base.numbers import counted
from dpviz.data.cities import city_words
from dpviz.data.dataset import Dataset
from dpviz.data.geographic import axes_words, in_degrees, map_axes, placed
from dpviz.data.samples import Sample, sample, sample_names
from dpviz.figures.where import where_map
from dpviz.grid.domain import Domain
from dpviz.privacy.ledger import Neighbours
from dpviz.ui.data.domain_panel import cut_out, declared_panel, outside_radio
from dpviz.ui.data.map_panel import rounded_box
from dpviz.ui.data.own_data import check_unit, own_data
from dpviz.ui.data.own_file import file_boxes
from dpviz.ui.data.own_states import OwnData, memory_of
from dpviz.ui.data.panel import ActiveData, changed_data
from dpviz.ui.data.protection_panel import ask_several, neighbours_of, relation_radio
from dpviz.ui.data.rows import show_left_out
from dpviz.ui.data.state import FIRST, OF_ONE_SET, UPLOAD, DataState, take_sample
from dpviz.ui.messages import show_caption, show_warning, warn_owner
from dpviz.ui.session.address import where_files_go
from dpviz.ui.session.cache import sample_data
from dpviz.ui.session.classroom import is_guest
from dpviz.ui.session.state import following, latest
from dpviz.ui.widgets.live_figure import live_figure
from dpviz.ui.widgets.show import theme_mode


@dataclass(frozen=True, kw_only=True, eq=False)
class FileChoice:
    """The data of the first step: own data, or a sample set."""

    dataset: Dataset
    own: OwnData | None
    facts: Sample | None

    @property
    def unread(self) -> str:
        """Sentence if the file that the user chose last is not the active file; otherwise ""."""
        memory = memory_of(released=True)
        if self.own is None or memory.loaded is None or memory.tried == memory.loaded.token:
            return ""
        return (
            f"The file that you chose last is not read: {self.dataset.name} is still active. "
            "Choose another file, or remove the one that is not read."
        )

    @property
    def identity(self) -> str:
        """Key of the bounds that the user types for these data."""
        return self.own.identity if self.own else self.dataset.digest

    @property
    def unit_columns(self) -> list[str] | None:
        """Columns that may identify persons; None if the data have no such columns."""
        if self.own is None or not self.own.loaded.columns:
            return None
        # Columns that the user has named as coordinates are not offered.
        return [one for one in self.own.loaded.columns if one not in self.dataset.columns]


def file_step(state: DataState, *, many: bool) -> FileChoice:
    """Show the choice of the data; return them. InputError if own data can't be read."""

    def choose(kind: str) -> None:
        state.set("data", UPLOAD if kind == UPLOAD else FIRST)
        changed_data(state)

    left, right = st.columns([3, 2], gap="medium")
    with left:
        chosen = _choose(state, choose, many=many)
    _forget_answers(state, chosen)
    data = chosen.dataset
    title = chosen.facts.title if chosen.facts else data.name
    with right:
        if chosen.unread:
            show_warning(chosen.unread)
        show_caption(
            f"Active: {title} · {counted(data.n, 'record')} · columns {' and '.join(data.columns)}",
            help=chosen.facts.description if chosen.facts else None,
        )
        for note in data.notes:
            show_caption(note)
        show_left_out(data)
    return chosen


#: Session entry: the data for which the user answered the questions of this page.
_ANSWERED = "release:answered for"


def _forget_answers(state: DataState, chosen: FileChoice) -> None:
    """Forget answers on persons and public numbers, but no link's, if other data were loaded."""
    loaded = memory_of(released=True).loaded
    now = chosen.facts.name if chosen.facts else loaded and loaded.token[0]
    if st.session_state.get(_ANSWERED, now) != now and not state.fresh:
        state.set("several", "")
        for name in OF_ONE_SET:
            state.set(name, None)
    st.session_state[_ANSWERED] = now


def _choose(state: DataState, choose: Callable[[str], None], *, many: bool) -> FileChoice:
    st.segmented_control(
        "Data",
        (UPLOAD, "sample"),
        **following(
            "release:kind", UPLOAD if state.has_own_data else "sample", choose, initial="default"
        ),
        format_func={UPLOAD: "Own data", "sample": "A made-up sample set"}.__getitem__,
        required=True,
        help=where_files_go(),
    )
    if state.has_own_data:
        own = own_data(state, many=many, named=True)
        return FileChoice(dataset=own.current, own=own, facts=None)
    titles = {name: sample(name).title for name in sample_names()}
    st.selectbox(
        "Sample set",
        **state.choice("data", tuple(titles)),
        format_func=titles.__getitem__,
        on_change=lambda: changed_data(state),
        help="Nobody is in these data: try a release with them.",
    )
    if not is_guest():
        file_boxes(lambda: choose(UPLOAD))
    facts = sample(state.get("data"))
    if state.fresh:
        take_sample(state, facts, but=state.chosen)
    return FileChoice(dataset=sample_data(facts.name), own=None, facts=facts)


def where_step(state: DataState, chosen: FileChoice, *, drawn: bool) -> Domain:
    """Show the choice of the bounds: by city, by drawing, by typing; return the bounds.

    The map is only made if ``drawn`` is True. It shows no record.
    """
    columns, degrees = chosen.dataset.columns, bool(placed(chosen.dataset.columns))
    left, right = st.columns([2, 3] if degrees else [1, 1], gap="medium")
    with left:
        domain = declared_panel(state, chosen.dataset, chosen.identity)
        outside_radio(state)
        if domain.declared and (names := _of_the_range(chosen, domain)):
            warn_owner(
                f"The bounds of {listed(names)} are exactly the smallest and the largest value in "
                "your file. If you took them from the file, they reveal its extreme records: type "
                "bounds that you know without the file."
            )
    if chosen.dataset.ndim != 2:
        return domain
    with right:
        if degrees and drawn and chosen.dataset.counts is None:
            _draw_box(state, columns, domain)
        if domain.declared:
            show_caption(place_words(columns, domain))
        elif degrees:
            show_caption("Choose a city, draw a box on the map, or type both pairs of bounds.")
    return domain


def place_words(columns: tuple[str, ...], domain: Domain) -> str:
    """Sentences on the axes, and on the city in the bounds; "" if nothing is known."""
    words = axes_words(columns, domain.bounds)
    return f"{words} {city_words(columns, domain.bounds)}".strip()


def _of_the_range(chosen: FileChoice, domain: Domain) -> list[str]:
    """Columns of own data whose bounds are exactly the range of the file; only for the owner."""
    if chosen.own is None or (points := chosen.own.complete.points) is None or not len(points):
        return []
    key = chosen.own.complete.digest
    ends = latest("release:range", key, lambda: [*zip(points.min(0), points.max(0), strict=True)])
    found = zip(chosen.dataset.columns, domain.bounds, ends, strict=True)
    return [name for name, bounds, range_ in found if bounds == range_]


def _draw_box(state: DataState, columns: tuple[str, ...], domain: Domain) -> None:
    known = domain.declared and in_degrees(columns, domain.bounds)
    axes = map_axes(columns)
    across = [columns[axis] for axis in axes]
    panels = where_map(across, domain.select(axes) if known else None, theme_mode())
    box = live_figure(
        panels.spec(),
        key="release:place figure",
        height=panels.height,
        alt=panels.alt,
        base_name="dpviz domain",
        boxable=True,
    )
    if box:
        # The map shows no record, so the box reveals nothing about the data.
        cut_out(state, str(rounded_box(box["x"], box["y"]).select(axes)))
        st.rerun()


def who_step(state: DataState, chosen: FileChoice) -> tuple[Neighbours, str]:
    """Show the choice of who is protected; return relation and cap, and what is missing (or "").

    InputError if the file has no column of the chosen persons.
    """
    columns = chosen.unit_columns
    missing = ask_several(state, columns)
    if own := chosen.own:
        check_unit(state, own)
        for note in chosen.dataset.notes:
            if "of each person" in note:
                show_caption(f"Only you see this: {note}")
    with st.expander("More: what may differ between two data sets"):
        relation_radio(state)
    return neighbours_of(state, columns), missing


def own_value_each_row(active: ActiveData) -> str:
    """Sentences for the owner if no two rows have the same person; otherwise "".

    A number of the row, such as a receipt number, does not identify persons. The values can't show
    whether each person has one row.
    """
    units = active.complete.units
    if not active.unit or units is None or len(units) < 2:
        return ""
    key = (active.complete.digest, active.unit)
    if not latest("release:own value", key, lambda: len(np.unique(units)) == len(units)):
        return ""
    return (
        f"Each row has its own value of {shown(active.unit)}. If it is a number of the row, such "
        "as a receipt number, it identifies no person, and a person with several rows is protected "
        "less. If each person has one row, this is right."
    )
