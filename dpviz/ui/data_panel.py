"""The data panel of every page: sample sets and own tables, columns, domain."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import streamlit as st

from dpviz.data.dataset import Dataset
from dpviz.data.reading.proposal import first_columns
from dpviz.data.reading.read import read_counts, read_table
from dpviz.data.reading.table import Table, Unreadable
from dpviz.data.samples import Sample, sample, sample_names
from dpviz.data.units import cap_records
from dpviz.domain import Domain, Outside
from dpviz.errors import InputError, shown
from dpviz.families import FAMILIES
from dpviz.privacy.ledger import RELATIONS, Neighbours
from dpviz.reproduce import columns_of, columns_option
from dpviz.ui.cache import sample_data
from dpviz.ui.domain_panel import domain_panel
from dpviz.ui.leave import forget_when_left
from dpviz.ui.messages import show_caption, show_error
from dpviz.ui.page import NothingLoadedError
from dpviz.ui.protection_panel import MOST_RECORDS, protection_panel
from dpviz.ui.state import Control, UrlState, choice, following, whole

UPLOAD = "own"
UPLOAD_LIMIT = 100 * 2**20


@dataclass(frozen=True, kw_only=True, eq=False)
class ActiveData:
    """The data on the screen.

    Parameters
    ----------
    dataset
        The columns to cluster, two or more; or a grid of counts.
    domain
        Current bounds.
    outside
        Treatment of points outside the bounds.
    neighbours
        Current neighbour relation and cap.
    complete
        Own data with all records of each person, if the privacy unit is a person.
    unit
        Column that identifies persons, or None.
    sample
        Description of the sample set, or None for own data.
    axes
        Positions of the two columns that are shown.
    """

    dataset: Dataset
    domain: Domain
    outside: Outside
    neighbours: Neighbours
    complete: Dataset
    sample: Sample | None
    unit: str | None = None
    axes: tuple[int, int] = (0, 1)

    @property
    def title(self) -> str:
        """Name of the data on the screen."""
        return self.sample.title if self.sample else self.dataset.name

    @property
    def is_sample(self) -> bool:
        """Whether this is a sample set (public, shared between sessions)."""
        return self.sample is not None


#: Controls of own data alone; they stay as they are while sample sets are looked at.
_OF_OWN_DATA = ("format", "columns", "classes", "unit", "cap")


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
        "format": Control("", choice("format", tuple(_FORMATS))),
        # Columns of own data, the two shown ones first; empty until they are proposed or named.
        "columns": Control("", lambda text: columns_option(columns_of(text))),
        "classes": Control("", str),
        # Column of persons, empty for records; None for one record of each.
        "unit": Control("", str),
        "cap": Control(None, whole("cap", 1, MOST_RECORDS)),
        # Empty until a person chooses: then the variant does.
        "domain": Control("", partial(_parse_domain, many=many)),
        "outside": Control("clip", choice("outside", ("clip", "drop"))),
        "neighbours": Control("add_remove", choice("neighbours", RELATIONS)),
    }
    return {name: replace(one, shared=True) for name, one in controls.items()}


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


def data_panel(state: DataState, *, many: bool = False, named: bool = False) -> ActiveData:
    """Show the panel; return the data on the screen.

    Parameters
    ----------
    state
        Has the controls of :func:`data_controls`; those of :func:`take_sample` follow the data.
    many
        Whether more than two columns may be clustered; the screen shows two in any case.
    named
        As for :func:`own_data`.

    Raises
    ------
    InputError
        If own data can't be read: one sentence for the screen.
    """

    def changed() -> None:
        state.set("domain", "")
        if not state.has_own_data:
            take_sample(state, sample(state.get("data")))

    titles = {name: sample(name).title for name in sample_names()} | {UPLOAD: "Own data …"}
    st.selectbox(
        "Data",
        **state.choice("data", (*sample_names(), UPLOAD)),
        format_func=titles.__getitem__,
        on_change=changed,
        help="A sample set, or a table of your own. Nothing leaves this computer.",
    )
    name = state.get("data")
    own = facts = None
    if state.has_own_data:
        own = own_data(state, many=many, named=named)
    else:
        facts = sample(name)
        if state.fresh:
            take_sample(state, facts, but=state.given)
    dataset = sample_data(name) if own is None else own.current
    left, right = st.columns(2)
    with left:
        identity = dataset.digest if own is None else own.identity
        domain = domain_panel(state, dataset, identity, look=not named)
    with right:
        neighbours = protection(state, own)
    active = ActiveData(
        dataset=dataset,
        domain=domain,
        outside=state.get("outside"),
        neighbours=neighbours,
        complete=own.complete if own else dataset,
        unit=own.unit if own else None,
        sample=facts,
        axes=own.axes if own else (0, 1),
    )
    show_caption(
        f"Active: {active.title} · {dataset.n:,} records · "
        f"{'declared domain' if domain.declared else 'domain from the data'}"
        + (f" · {len(dataset.classes.names)} classes" if dataset.classes else ""),
        help=facts.description if facts else None,
    )
    for note in dataset.notes:
        show_caption(note)
    return active


def protection(state: UrlState, own: OwnData | None) -> Neighbours:
    """Show who is protected; only an own table has a column of persons."""
    if own and isinstance(own.table, Table):
        return protection_panel(state, own.table.columns)
    return protection_panel(state, None)


@dataclass
class OwnData:
    """Own data of a session: the last valid table stays until another one is read.

    Attributes
    ----------
    table
        The data that was read: a table or a grid of counts.
    identity
        Value that changes with file and columns; typed bounds belong to one identity.
    unit
        Column that identifies persons, or None.
    axes
        Positions of the two columns that are shown.
    """

    token: object = None
    taken_from: object = None
    loaded: int = 0
    #: Columns that a person has just chosen, until they are found to be usable.
    asked: tuple[str, ...] = ()
    table: Table | Dataset | None = None
    shown: Dataset | None = None
    whole: Dataset | None = None
    identity: str = ""
    unit: str | None = None
    axes: tuple[int, int] = (0, 1)
    chosen: object = None
    error: str = ""

    @property
    def current(self) -> Dataset:
        """Data on the screen; no person has more records than the cap."""
        assert self.shown is not None  # noqa: S101 - own_data made sure
        return self.shown

    @property
    def complete(self) -> Dataset:
        """The same data with all records."""
        return self.whole or self.current


#: Session entries: own data, how a release reads it, the last file, and whose the settings are.
_OWN, _RELEASED, _FILE, _SETTINGS_OF = "own", "own:released", "own:upload", "own:settings of"


def own_data(state: DataState, *, many: bool, named: bool = False) -> OwnData:
    """Show upload, format and columns of own data; return the data.

    Parameters
    ----------
    state
        Has the controls of :func:`data_controls`.
    many
        Whether more than two columns may be clustered.
    named
        True for a release: a person names the columns of a wider table, and unreadable values
        count as missing. Otherwise the panel proposes the numeric columns. Which columns are
        numeric depends on every record, so a release must not propose them.

    Raises
    ------
    NothingLoadedError
        If no file is uploaded yet, or no column is named.
    """
    own: OwnData = st.session_state.setdefault(_RELEASED if named else _OWN, OwnData())
    if state.fresh or state.followed:
        own.asked = ()
    kind = state.get("format")
    as_counts = kind == _COUNTS
    st.toggle(
        "The file is a grid of counts",
        **following("own:counts", as_counts, lambda on: state.set("format", _COUNTS if on else "")),
        help="A matrix of records per cell.",
    )
    uploaded = st.file_uploader(
        "CSV, TSV, Parquet or .npy, also gzipped",
        key="own:file",
        max_upload_size=UPLOAD_LIMIT // 2**20,
    )
    lines = [name for name in _FORMATS if name != _COUNTS]
    st.segmented_control(
        "First line",
        lines,
        **following(
            "own:header", "" if as_counts else kind, partial(state.set, "format"), initial="default"
        ),
        format_func=lambda name: name or "automatic",
        required=True,
        disabled=as_counts,
    )
    # The box is empty after a bad file and on another page: the last readable file stays.
    file = uploaded or st.session_state.get(_FILE)
    first: bool | str | None = _FORMATS[kind]
    if named and file is not None and first is False:
        line = st.text_input(
            "Header",
            key="own:line",
            placeholder="x,y",
            help="The first line that the file lacks: names of all columns, separated as its "
            "fields are. No record must tell how many there are.",
            persist_state="session",
        )
        first = line.strip() or False
    token = None if file is None else (file.file_id, as_counts, first)
    if token != own.token:
        own.token, own.error = token, ""
    if file is not None and token != own.taken_from and not own.error:
        forget_when_left()
        try:
            own.table = _read(file, as_counts, first, named)
            own.loaded += 1
            own.asked = ()
            own.taken_from = token
            st.session_state[_FILE] = file
            # Settings that came by a link, or stayed after a reload, wait for the first file.
            if st.session_state.setdefault(_SETTINGS_OF, file.file_id) != file.file_id:
                st.session_state[_SETTINGS_OF] = file.file_id
                for name in ("columns", "classes", "domain"):
                    if name in state:
                        state.set(name, "")
        except InputError as error:
            own.error = str(error)
    if own.table is not None and uploaded is None:
        show_caption(f"Loaded: {_described(own.table)}. Choose another file to replace it.")
    failure = own.error
    if own.table is not None:
        try:
            _choose(state, own, many, named)
        except InputError as error:
            if named:
                if own.error:
                    show_error(own.error)
                raise NothingLoadedError(str(error)) from None
            failure = failure or str(error)
    if failure:
        still = ""
        if own.shown:
            still = f" Still on the screen: {own.shown.name}, {' and '.join(own.shown.columns)}."
        show_error(failure + still)
    if own.shown is None:
        columns = columns_of(state.get("columns"))
        raise NothingLoadedError(
            "Choose the file of your data again on the left: a reload forgets it, but keeps its "
            f"columns {' and '.join(columns[:2])} and all other settings."
            if columns
            else "Load a file on the left, or choose a sample set."
        )
    return own


def _described(table: Table | Dataset) -> str:
    """Name and columns of a table."""
    columns = table.columns
    names = f"{', '.join(columns[:_MOST_NAMES])}{' …' if len(columns) > _MOST_NAMES else ''}"
    return f"{table.name}, {len(columns):,} columns: {names}"


#: Columns that are named where a file is.
_MOST_NAMES = 12

_COUNTS = "counts"

#: Argument of the reader for each format.
_FORMATS = {"": None, "names": True, "data": False, _COUNTS: None}


def _read(
    uploaded: Any, as_counts: bool, header: bool | str | None, released: bool
) -> Table | Dataset:
    """Read an uploaded file as points or as counts."""
    name, limit = uploaded.name, UPLOAD_LIMIT
    if as_counts:
        grid = read_counts(uploaded, name=name, max_bytes=limit, any_total=released)
        if grid.ndim < 2:
            raise InputError(
                f"{shown(name)} is a grid with one axis, and the screen shows two: give another "
                "one, or use the command line."
            )
        return grid
    unreadable: Unreadable = "missing" if released else "refuse"
    return read_table(uploaded, name=name, header=header, max_bytes=limit, unreadable=unreadable)


def _choose(state: DataState, own: OwnData, many: bool, named: bool) -> None:
    """Use the chosen columns of the table as the data on the screen."""
    table = own.table
    if not isinstance(table, Table):
        own.shown, own.whole, own.axes = table, table, (0, 1)
        own.identity = table.digest if table else ""
        own.unit = None
        return
    for name in ("classes", "unit"):
        if name in state and state.get(name) not in ("", *table.columns):
            state.set(name, "")
    wide = len(table.columns) > 2
    classes = None if named else state.get("classes") or None
    used, shown = (
        _named(state, own, table, many)
        if named and wide
        else _proposed(state, own, table, many, named, classes)
    )
    if not named and wide:
        _class_box(state, table)
    unit, cap = state.get("unit") or None, state.get("cap") or 1
    selection = (own.loaded, shown, used, unit, cap, classes)
    if selection != own.chosen:
        unreadable: Unreadable = "missing" if named else "refuse"
        whole = table.select(used, unit=unit, classes=classes, least=2, unreadable=unreadable)
        own.shown = whole if unit is None else cap_records(whole, cap)
        own.whole, own.unit = whole, unit
        # Typed bounds stay when the privacy unit changes.
        own.identity = f"{own.loaded} {whole.columns}"
        own.axes = (used.index(shown[0]), used.index(shown[1])) if used else (0, 1)
        own.chosen = selection
    if not (named and wide):
        _set_columns(state, list(dict.fromkeys([*shown, *(used or ())])))
        own.asked = ()


def _class_box(state: DataState, table: Table) -> None:
    """Choice of the column with known classes."""
    options = ("", *table.columns)
    st.selectbox(
        "Class column",
        # By position: the name of a column may be anything.
        **following(
            "own:classes",
            options.index(state.get("classes")),
            lambda at: state.set("classes", options[at]),
            range(len(options)),
        ),
        format_func=lambda at: options[at] or "none",
        help="Known classes, to score true and private clusters against. They show on your screen "
        "only: no run reads them, and no release has them.",
    )


def _named(
    state: DataState, own: OwnData, table: Table, many: bool
) -> tuple[list[str], tuple[str, str]]:
    """Let a person name the columns to cluster; the screen shows the first two."""
    names = columns_of(state.get("columns"))
    names = names if set(names) <= set(table.columns) else []

    def keep(names: list[str]) -> None:
        state.set("columns", columns_option(names))
        state.set("domain", "")

    st.multiselect(
        "Columns",
        table.columns,
        **following(f"own:columns:{own.loaded}", names, keep, initial="default"),
        placeholder="name them",
        help="Nothing is proposed here: which columns hold numbers throughout depends on every "
        "record. Columns that were chosen on another page stay chosen: if that was by what the "
        "data showed, the choice lies outside of the proof.",
    )
    if len(names) < 2 or (len(names) > 2 and not many):
        raise InputError(f"Name {'two or more' if many else 'two'} columns on the left.")
    return names, (names[0], names[1])


def _proposed(
    state: DataState, own: OwnData, table: Table, many: bool, named: bool, classes: str | None
) -> tuple[list[str] | None, tuple[str, str]]:
    """Choose from numeric columns; return those to cluster and the two to show."""
    columns = table.columns
    numeric = columns if named else table.numeric_columns
    numeric = tuple(name for name in numeric if name != classes)
    names = own.asked or tuple(columns_of(state.get("columns")))
    fits = len(names) > 1 and set(names) <= set(columns)
    if not own.asked and (not fits or classes in names):
        names = _first(state, table, numeric, [name for name in columns if name != classes])
    across, up = names[0], names[1] if len(names) > 1 else names[0]
    every = many and len(names) > 2 and set(numeric) <= set(names)

    def ask(across: str, up: str, every: bool) -> None:
        own.asked = (across, up, *(name for name in numeric if name not in (across, up) and every))

    base = f"{'many' if many else 'two'}:{own.loaded}"
    left, right = st.columns(2)
    # Who takes the column of the other axis swaps both.
    left.selectbox(
        "Across",
        **following(
            f"own:x:{base}",
            across,
            lambda name: ask(name, across if name == up else up, every),
            columns,
        ),
    )
    right.selectbox(
        "Upwards",
        **following(
            f"own:y:{base}",
            up,
            lambda name: ask(up if name == across else across, name, every),
            columns,
        ),
    )
    if many and len(columns) > 1 and len(numeric) > 2:
        st.segmented_control(
            "Cluster on",
            ("shown", "all"),
            **following(
                f"own:every:{base}",
                "all" if every else "shown",
                lambda which: ask(across, up, which == "all"),
                initial="default",
            ),
            format_func={"shown": "two shown", "all": f"all {len(numeric)} numeric"}.__getitem__,
            required=True,
        )
    used = [across, up] if len(columns) > 1 else None
    if used and every:
        used = [*numeric, *(name for name in used if name not in numeric)]
    return used, (across, up)


def _first(
    state: DataState, table: Table, numeric: Sequence[str], others: Sequence[str]
) -> tuple[str, ...]:
    """Columns of a table that nobody has chosen from, or not from this one."""
    if len(numeric) > 1:
        return first_columns(table, numeric, but=(state.get("unit"),))
    return (numeric[0] if numeric else others[0], others[-1])


def _set_columns(state: DataState, names: Sequence[str]) -> None:
    """Store the columns on the screen; bounds that were typed for others go."""
    before = columns_of(state.get("columns"))
    # All columns are clustered in the order of the table, whichever two are shown.
    same = before == list(names) if len(names) < 3 else set(before) == set(names)
    if before and not same:
        state.set("domain", "")
    state.set("columns", columns_option(names))
