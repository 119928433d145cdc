"""The data panel of every page: sample sets and own tables, columns, domain."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import streamlit as st

from dpviz.data.dataset import Dataset
from dpviz.data.reading.proposal import first_columns
from dpviz.data.reading.read import read_counts, read_table, sheets_of
from dpviz.data.reading.table import Table, Unreadable
from dpviz.data.samples import Sample, sample, sample_names
from dpviz.data.units import cap_records
from dpviz.domain import Domain, Outside
from dpviz.errors import InputError, shown
from dpviz.families import FAMILIES
from dpviz.figures.ground import PLAIN, Ground
from dpviz.formats import ACCEPTED
from dpviz.privacy.ledger import RELATIONS, Neighbours
from dpviz.reproduce import columns_of, columns_option
from dpviz.ui.cache import sample_data
from dpviz.ui.domain_panel import domain_panel, linked_columns_key
from dpviz.ui.leave import forget_when_left
from dpviz.ui.messages import show_caption, show_error
from dpviz.ui.page import NothingLoadedError
from dpviz.ui.protection_panel import Unit, protection_panel
from dpviz.ui.state import Control, UrlState, choice, following

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
    sheet
        Sheet of an Excel file with several, or None.
    ground
        What maps of these two stand on.
    """

    dataset: Dataset
    domain: Domain
    outside: Outside
    neighbours: Neighbours
    complete: Dataset
    sample: Sample | None
    unit: str | None = None
    axes: tuple[int, int] = (0, 1)
    sheet: str | None = None
    ground: Ground = PLAIN

    @property
    def title(self) -> str:
        """Name of the data on the screen."""
        return self.sample.title if self.sample else self.dataset.name

    @property
    def is_sample(self) -> bool:
        """Whether this is a sample set (public, shared between sessions)."""
        return self.sample is not None


def data_controls(default: str, *, many: bool = False) -> dict[str, Control]:
    """Controls of the panel, as in the link.

    Parameters
    ----------
    default
        Initial sample set.
    many
        Whether more than two columns may be clustered.
    """
    names = (*sample_names(), UPLOAD)
    return {
        "data": Control(default, choice("data", names)),
        # Columns of own data; empty for the proposed columns, and for no class column.
        "columns": Control("", lambda text: columns_option(columns_of(text))),
        "classes": Control("", str),
        # Empty until a person chooses: then the variant does.
        "domain": Control("", partial(_parse_domain, many=many)),
        "outside": Control("clip", choice("outside", ("clip", "drop"))),
        "neighbours": Control("add_remove", choice("neighbours", RELATIONS)),
    }


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


def data_panel(state: UrlState, *, many: bool = False, named: bool = False) -> ActiveData:
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
        if state.get("data") != UPLOAD:
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
    linked = tuple(columns_of(state.get("columns")))
    own = facts = None
    if name != UPLOAD:
        facts = sample(name)
        if state.fresh:
            take_sample(state, facts, but=state.given)
    else:
        if state.fresh and linked:
            st.session_state[linked_columns_key(state)] = linked
            if not named:
                _session_data().linked[many] = linked
        if state.fresh and not named:
            _session_data().linked_classes = state.get("classes") or None
        own = own_data(many, named=named)
    dataset = sample_data(name) if own is None else own.current
    is_table = own is not None and dataset.counts is None
    state.set("columns", columns_option(dataset.columns) if is_table else "")
    if "classes" in state:
        state.set("classes", dataset.classes.column if is_table and dataset.classes else "")
    left, right = st.columns(2)
    with left:
        identity = dataset.digest if own is None else own.identity
        shown_axes = own.axes if own else (0, 1)
        domain = domain_panel(state, dataset, identity, look=not named, axes=shown_axes)
    with right:
        neighbours = protection(state, own)
    active = ActiveData(
        dataset=dataset,
        domain=domain,
        outside=state.get("outside"),
        neighbours=neighbours,
        complete=own.complete if own else dataset,
        unit=own.unit.column if own else None,
        sample=facts,
        sheet=own.sheet if own else None,
        axes=shown_axes,
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
        return protection_panel(state, own.unit, own.table.columns)
    return protection_panel(state, None, ())


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
        Its privacy unit.
    classes
        Column of known classes, or None.
    axes
        Positions of the two columns that are shown.
    sheet
        Sheet of an Excel file with several, or None.
    """

    token: object = None
    taken_from: object = None
    loaded: int = 0
    picked: dict[bool, tuple[str, str, str]] = field(default_factory=dict)
    offered: dict[bool, tuple[str, str]] = field(default_factory=dict)
    linked: dict[bool, tuple[str, ...]] = field(default_factory=dict)
    linked_classes: str | None = None
    links: int = 0
    named: list[str] = field(default_factory=list)
    table: Table | Dataset | None = None
    shown: Dataset | None = None
    whole: Dataset | None = None
    identity: str = ""
    unit: Unit = field(default_factory=Unit)
    classes: str | None = None
    axes: tuple[int, int] = (0, 1)
    chosen: object = None
    error: str = ""
    sheet: str | None = None

    @property
    def current(self) -> Dataset:
        """Data on the screen; no person has more records than the cap."""
        assert self.shown is not None  # noqa: S101 - own_data made sure
        return self.shown

    @property
    def complete(self) -> Dataset:
        """The same data with all records."""
        return self.whole or self.current


def _session_data(key: str = "own") -> OwnData:
    own: OwnData = st.session_state.setdefault(key, OwnData())
    return own


def own_data(many: bool, *, named: bool = False) -> OwnData:
    """Show upload, format and columns of own data; return the data.

    Parameters
    ----------
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
    own = _session_data()
    if named:
        unit, own = own.unit, _session_data("own:released")
        own.unit = unit
    # Entering the page again creates new widgets; they start with their last values.
    counted, first_line = st.session_state.get("own:format", (False, "automatic"))
    as_counts = st.toggle(
        "The file is a grid of counts",
        value=counted,
        key="own:counts",
        help="A matrix of records per cell.",
    )
    uploaded = st.file_uploader(
        ACCEPTED,
        key="own:file",
        max_upload_size=UPLOAD_LIMIT // 2**20,
    )
    header = st.segmented_control(
        "First line",
        tuple(_HEADER),
        default=first_line,
        key="own:header",
        required=True,
        disabled=as_counts,
    )
    st.session_state["own:format"] = (as_counts, header)
    # The box is then empty, too: the last readable file stays.
    file = uploaded or st.session_state.get("own:upload")
    first: bool | str | None = _HEADER[str(header)]
    if named and file is not None and first is False and not as_counts:
        line = st.text_input(
            "Header",
            key="own:line",
            placeholder="x,y",
            help="The first line that the file lacks: names of all columns, separated as its "
            "fields are. No record must tell how many there are.",
        )
        first = line.strip() or False
    sheet, failed = (None, "") if file is None else _sheet(file, named)
    token = None if file is None else (file.file_id, as_counts, first, sheet)
    if token != own.token:
        own.token, own.error = token, failed
    if file is not None and token != own.taken_from and not own.error:
        forget_when_left()
        try:
            own.table = _read(file, as_counts, first, named, sheet)
            own.sheet = sheet
            own.loaded += 1
            own.picked, own.offered, own.named = {}, {}, []
            own.taken_from = token
            st.session_state["own:upload"] = file
        except InputError as error:
            own.error = str(error)
    failure = own.error
    if own.table is not None:
        try:
            _choose(own, many, named)
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
        raise NothingLoadedError("Load a file on the left, or choose a sample set.")
    return own


#: Argument of the reader for each choice of the first line.
_HEADER = {"automatic": None, "names": True, "data": False}


def _sheet(uploaded: Any, released: bool) -> tuple[str | None, str]:
    """Let a person choose the sheet of an Excel file with several; return it, or an error.

    For a release, sheets without data are among them: which ones hold any hangs on the records.
    """
    key = f"own:sheets:{released}"
    known = st.session_state.get(key)
    if known is None or known[0] != uploaded.file_id:
        try:
            unreadable: Unreadable = "missing" if released else "refuse"
            names = sheets_of(
                uploaded, name=uploaded.name, max_bytes=UPLOAD_LIMIT, unreadable=unreadable
            )
            known = (uploaded.file_id, names, "")
        except InputError as error:
            known = (uploaded.file_id, (), str(error))
        st.session_state[key] = known
    _, names, failed = known
    if len(names) < 2:
        return None, failed
    chosen = st.session_state.setdefault("own:sheet", {})
    current = chosen.get(uploaded.file_id)
    sheet = st.selectbox(
        "Sheet",
        **following(
            f"{key}:{uploaded.file_id}",
            current if current in names else names[0],
            partial(chosen.__setitem__, uploaded.file_id),
            names,
        ),
        help="The file has several sheets; one of them is the table.",
    )
    return sheet, ""


def _read(
    uploaded: Any,
    as_counts: bool,
    header: bool | str | None,
    released: bool,
    sheet: str | None,
) -> Table | Dataset:
    """Read an uploaded file as points or as counts."""
    name, limit = uploaded.name, UPLOAD_LIMIT
    if as_counts:
        grid = read_counts(uploaded, name=name, max_bytes=limit, any_total=released, sheet=sheet)
        if grid.ndim < 2:
            raise InputError(
                f"{shown(name)} is a grid with one axis, and the screen shows two: give another "
                "one, or use the command line."
            )
        return grid
    unreadable: Unreadable = "missing" if released else "refuse"
    return read_table(
        uploaded,
        name=name,
        header=header,
        max_bytes=limit,
        unreadable=unreadable,
        sheet=sheet,
    )


def _choose(own: OwnData, many: bool, named: bool) -> None:
    """Use the chosen columns of the table as the data on the screen."""
    table = own.table
    if not isinstance(table, Table):
        own.shown, own.whole, own.axes = table, table, (0, 1)
        own.identity = table.digest if table else ""
        own.unit = Unit()
        return
    wide = len(table.columns) > 2
    classes = None if named else _known_classes(own, table)
    numeric = table.columns if named else table.numeric_columns
    numeric = tuple(name for name in numeric if name != classes)
    used, shown = (
        _named(own, table, many)
        if named and wide
        else _proposed(own, table, many, numeric, classes)
    )
    if not named and wide:
        _class_box(own, table)
    unit = own.unit.column if own.unit.column in table.columns else None
    selection = (own.loaded, shown, used, unit, own.unit.cap, classes)
    if selection != own.chosen:
        unreadable: Unreadable = "missing" if named else "refuse"
        whole = table.select(used, unit=unit, classes=classes, least=2, unreadable=unreadable)
        own.shown = whole if unit is None else cap_records(whole, own.unit.cap)
        own.whole = whole
        # Typed bounds stay when the privacy unit changes.
        own.identity = f"{own.loaded} {whole.columns}"
        own.axes = (used.index(shown[0]), used.index(shown[1])) if used else (0, 1)
        own.chosen = selection


def _known_classes(own: OwnData, table: Table) -> str | None:
    """Return the class column: that of a new link, or the chosen one, if the table has it."""
    if own.linked_classes is not None:
        if own.linked_classes in table.columns:
            own.classes = own.linked_classes
        own.linked_classes = None
    if own.classes not in table.columns:
        own.classes = None
    return own.classes


def _class_box(own: OwnData, table: Table) -> None:
    """Choice of the column with known classes."""
    options = (None, *table.columns)

    def keep(at: int) -> None:
        own.classes = options[at]
        if any(own.classes in picked for picked in own.picked.values()):
            # Classes are no coordinates: other columns are proposed, by new widgets.
            own.picked = {}
            own.links += 1

    st.selectbox(
        "Class column",
        **following("own:classes", options.index(own.classes), keep, range(len(options))),
        format_func=lambda at: options[at] or "none",
        help="Known classes, to score true and private clusters against. They show on your screen "
        "only: no run reads them, and no release has them.",
    )


def _named(own: OwnData, table: Table, many: bool) -> tuple[list[str], tuple[str, str]]:
    """Let a person name the columns to cluster; the screen shows the first two."""
    used = st.multiselect(
        "Columns",
        table.columns,
        default=own.named,
        key=f"own:columns:{own.loaded}",
        placeholder="name them",
        help="Nothing is proposed here: which columns hold numbers throughout depends on every "
        "record.",
    )
    own.named = used
    if len(used) < 2 or (len(used) > 2 and not many):
        raise InputError(f"Name {'two or more' if many else 'two'} columns on the left.")
    return used, (used[0], used[1])


def _take_linked(own: OwnData, table: Table, many: bool, numeric: tuple[str, ...]) -> None:
    """Choose the columns of a link, with new widgets, if the table has them."""
    names = own.linked.pop(many, ())
    if len(names) == 2 and set(names) <= set(table.columns):
        own.picked[many] = (names[0], names[1], "shown")
    elif many and len(names) > 2 and set(names) == set(numeric):
        own.picked[many] = (names[0], names[1], "all")
    else:
        return
    own.links += 1


def _proposed(
    own: OwnData, table: Table, many: bool, numeric: tuple[str, ...], classes: str | None
) -> tuple[list[str] | None, tuple[str, str]]:
    """Choose from numeric columns; return those to cluster and the two to show."""
    columns = table.columns
    others = [name for name in columns if name != classes]
    first = numeric[0] if numeric else others[0]
    # A column that is no number says so itself, which helps more than one column twice.
    second = next((name for name in reversed(others) if name != first), first)
    left, right = st.columns(2)
    # A choice belongs to its page and file: another file may not have that column. Streamlit
    # drops it when the user leaves the page, so it is stored here, too.
    _take_linked(own, table, many, numeric)
    first, second, every = own.picked.get(many, (first, second, "shown"))
    # The column of persons is no axis, unless somebody chose it as one.
    ours = many not in own.picked or (
        own.offered.get(many) == (first, second) and own.unit.column in (first, second)
    )
    if ours and len(numeric) > 1:
        offer = first_columns(table, numeric, but=(own.unit.column or "",))
        own.links += own.offered.get(many, offer) != offer
        first, second = own.offered[many] = offer
    suffix = f"{'many' if many else 'two'}:{own.loaded}:{own.links}"
    across = left.selectbox("Across", columns, index=columns.index(first), key=f"own:x:{suffix}")
    up = right.selectbox("Upwards", columns, index=columns.index(second), key=f"own:y:{suffix}")
    if across == up and len(columns) > 1:
        raise InputError(f'columns = "{across}" twice: choose two different columns.')
    used = [across, up] if len(columns) > 1 else None
    if many and used and len(numeric) > 2:
        every = st.segmented_control(
            "Cluster on",
            ("shown", "all"),
            format_func={"shown": "two shown", "all": f"all {len(numeric)} numeric"}.__getitem__,
            default=every,
            key=f"own:every:{suffix}",
            required=True,
        )
    own.picked[many] = (across, up, every)
    if used and every == "all":
        used = [*numeric, *(name for name in used if name not in numeric)]
    return used, (across, up)
