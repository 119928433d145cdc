"""Columns of own data: exploring pages propose them; for a release, the user names them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from itertools import permutations

import streamlit as st

from dpviz.base.errors import InputError, shown
from dpviz.commands.commands import columns_of, columns_option
from dpviz.data.dataset import Dataset
from dpviz.data.geographic import lon_first, placed
from dpviz.data.reading.apart import UploadedTable
from dpviz.data.reading.far import HALF, box_without_far, longitude
from dpviz.data.reading.proposal import first_columns
from dpviz.data.reading.table import Unreadable
from dpviz.data.reading.unread import NamedRows
from dpviz.data.units import cap_records
from dpviz.families import FAMILIES
from dpviz.grid.domain import Domain
from dpviz.ui.data.own_file import shared
from dpviz.ui.data.own_states import AnyTable, ColumnChoice, Loaded, Memory, OwnData, memory_of
from dpviz.ui.data.state import READABLE, DataState, from_classes, restore_bounds, take_classes
from dpviz.ui.messages import show_caption, show_error
from dpviz.ui.session.state import following, working
from dpviz.ui.session.uploads import check_size

#: Session entry: number of the last file whose columns were proposed by their names.
_BY_NAME = "own:columns by name"


def choose_columns(
    state: DataState, memory: Memory, loaded: Loaded, *, many: bool, named: bool
) -> OwnData:
    """Show the choice of columns; return their data, or raise InputError if there are none."""
    table = loaded.data
    if isinstance(table, Dataset):
        return OwnData(
            loaded=loaded,
            number=loaded.number,
            request=None,
            current=table,
            complete=table,
            identity=table.digest,
        )
    if "classes" in state and state.get("classes") not in ("", *table.columns):
        state.set("classes", "")
    _put_longitude_first(state)
    unit = state.get("unit")
    # A release keeps the unit and does not run, because it would protect less (see check_unit).
    if unit not in ("", *table.columns) and not named:
        state.set("unit", "")
        show_error(f"Protects is a record now: {no_unit(table, unit)}.")
    wide = len(table.columns) > 2
    classes = None if named else state.get("classes") or None
    leave_out = not named and state.get("rows") == READABLE
    used, shown = (
        _named(state, loaded, table, many)
        if named and wide
        else _proposed(state, memory, table, many, classes, leave_out=leave_out, named=named)
    )
    if not named and wide:
        _class_box(state, table)
    unit, cap = state.get("unit"), state.get("cap") or 1
    unit = unit if unit in table.columns else None
    turn = not named and _turns(state, used or ())
    request = (loaded.number, shown, used, unit, cap, classes, leave_out, turn)
    own = memory.shown
    if own is None or request != own.request:
        unreadable: Unreadable = "missing" if named else "leave out" if leave_out else "refuse"
        select = partial(
            table.select,
            used,
            unit=unit,
            classes=classes,
            least=2,
            unreadable=unreadable,
            turn=turn,
        )
        key = (table, tuple(used or ()), unit, classes, unreadable, turn)
        whole = shared().get(key, select) if loaded.local else select()
        if not loaded.local:
            check_size(whole.name, (whole.points, whole.counts))
        own = OwnData(
            loaded=loaded,
            number=loaded.number,
            request=request,
            current=whole if unit is None else cap_records(whole, cap),
            complete=whole,
            # The identity does not contain the unit, so typed bounds stay when the unit changes.
            identity=f"{loaded.number} {whole.columns}",
            unit=unit,
            axes=(used.index(shown[0]), used.index(shown[1])) if used else (0, 1),
            far=None if named else _far(table, whole),
        )
    if not named:
        take_classes(state, loaded.number, own.current.classes)
        if sentence := from_classes(state):
            show_caption(sentence)
    if not (named and wide):
        names = list(dict.fromkeys([*shown, *(used or ())]))
        _set_columns(state, names, used or names, asked=bool(memory.choice.asked))
        memory.forget_asked()
    return own


def by_name(columns: Sequence[str]) -> list[str]:
    """Longitude and latitude by their names; empty unless exactly one pair of columns fits."""
    pairs = [two for two in permutations(columns, 2) if placed(two) == "lonlat"]
    return list(pairs[0]) if len(pairs) == 1 else []


def _turns(state: DataState, columns: Sequence[str]) -> bool:
    typed, across = state.get("domain"), longitude(columns)
    if across is None or typed in ("", "data", "declared"):
        return True
    bounds = Domain.parse(typed).bounds
    return len(bounds) != len(columns) or bounds[across][1] > HALF


def _far(table: AnyTable, data: Dataset) -> tuple[NamedRows, Domain] | None:
    assert data.points is not None  # noqa: S101 - a table has points
    box = box_without_far(data.points, data.columns)
    return None if box is None else (table.outside(data.columns, box.bounds), box)


def no_unit(table: AnyTable, unit: str) -> str:
    """Sentence which says that a table does not have the column of persons."""
    return f'{shown(table.name)} has no column "{shown(unit)}" that identifies persons'


def _class_box(state: DataState, table: AnyTable) -> None:
    options = ("", *table.columns)
    st.selectbox(
        "Class column",
        # Options are positions, because any text may be the name of a column.
        **following(
            "own:classes",
            options.index(state.get("classes")),
            lambda at: state.set("classes", options[at]),
            range(len(options)),
        ),
        format_func=lambda at: options[at] or "none",
        help="Known classes, with which scores compare true and private clusters. Only your screen "
        "shows them: no run reads them, and no release contains them.",
    )


def _named(
    state: DataState, loaded: Loaded, table: AnyTable, many: bool
) -> tuple[list[str], tuple[str, str]]:
    names = columns_of(state.get("columns"))
    names = names if set(names) <= set(table.columns) else []
    # Names of columns are public. The user may remove this proposal.
    if not names and st.session_state.get(_BY_NAME) != loaded.number:
        st.session_state[_BY_NAME] = loaded.number
        if names := by_name(table.columns):
            state.set("columns", columns_option(names))

    def used(names: Sequence[str]) -> list[str]:
        # If there are more than two columns, all pages use the order of the table, also for bounds.
        return [*names] if len(names) == 2 else [name for name in table.columns if name in names]

    def keep(names: list[str]) -> None:
        names = lon_first(names)
        state.set("columns", columns_option(names))
        restore_bounds(state, used(names))

    st.multiselect(
        "Columns",
        table.columns,
        **following(f"own:columns:{loaded.number}", names, keep, initial="default"),
        placeholder="name them",
        help="Only columns named longitude and latitude are proposed, because every record "
        "decides which columns hold only numbers. Columns that were chosen on another page stay "
        "chosen.",
    )
    if names and set(memory_of(released=False).choice.looked) == set(names):
        show_caption(
            f"{' and '.join(names)} were proposed on another page, which looks at the data; the "
            "proof does not cover such a choice. Would you have named these columns anyway?"
        )
    if len(names) < 2 or (len(names) > 2 and not many):
        raise InputError(
            f"Name {'two or more' if many else 'two'} columns under Columns: the columns to "
            "cluster, such as longitude and latitude."
        )
    return used(names), (names[0], names[1])


def _proposed(
    state: DataState,
    memory: Memory,
    table: AnyTable,
    many: bool,
    classes: str | None,
    *,
    leave_out: bool,
    named: bool,
) -> tuple[list[str] | None, tuple[str, str]]:
    columns, choice = table.columns, memory.choice
    usable = {*(columns if named else table.numeric_columns)} - {classes}
    nearly = {*(() if named else table.nearly_numeric)} - {classes}
    offered = tuple(name for name in columns if name in usable | nearly)
    numeric = tuple(name for name in columns if name in (usable | nearly if leave_out else usable))
    names = tuple(lon_first(choice.asked or columns_here(state, many)))
    fits = len(names) > 1 and set(names) <= set(columns)
    # The column of persons is not an axis, unless the user chose it as an axis.
    misfit = classes in names or (names == choice.proposed and state.get("unit") in names)
    if not choice.asked and (not fits or misfit):
        others = [name for name in columns if name != classes]
        names = tuple(lon_first(_first(state, table, offered, others)))
        memory.choice = replace(choice, proposed=names, looked=names)
    across, up = names[0], names[1] if len(names) > 1 else names[0]
    every = many and len(names) > 2 and set(numeric) <= set(names)

    def ask(across: str, up: str, every: bool) -> None:
        asked = (across, up, *(name for name in numeric if name not in (across, up) and every))
        memory.choice = ColumnChoice(asked=asked, looked=asked if every else ())

    base = f"{'many' if many else 'two'}:{memory.count}"

    def choose(axis: int, name: str) -> None:
        pair = [across, up]
        if name == pair[1 - axis]:  # the column of the other axis: both axes are swapped
            pair.reverse()
        pair[axis] = name
        ask(pair[0], pair[1], every)

    for axis, place in enumerate(st.columns(2)):
        base_key, keep = f"own:{'xy'[axis]}:{base}", partial(choose, axis)
        place.selectbox(
            "Upwards" if axis else "Across",
            **following(base_key, (across, up)[axis], keep, columns),
        )
    if lon_first((up, across)) == [across, up]:
        axes = ("longitude", "latitude") if placed((across, up)) else ("x", "y")
        show_caption(f"As on every map, {axes[0]} is shown across and {axes[1]} upwards.")
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


def columns_here(state: DataState, many: bool) -> tuple[str, ...]:
    """Chosen columns; a page for many columns restores columns that other pages can't show."""
    wider = working().get("columns", "") if many and "columns" in state.adapted else ""
    return tuple(columns_of(wider or state.get("columns")))


def _first(
    state: DataState, table: AnyTable, numeric: Sequence[str], others: Sequence[str]
) -> tuple[str, ...]:
    if len(numeric) > 1:
        but = (state.get("unit"),)
        if isinstance(table, UploadedTable):
            return table.first_columns(numeric, but)
        return first_columns(table, numeric, but)
    first = numeric[0] if numeric else others[0]
    # If only one column is numeric, the error names the second column that is added here.
    return first, next((name for name in reversed(others) if name != first), first)


def _put_longitude_first(state: DataState) -> None:
    names = columns_of(state.get("columns"))
    turned = lon_first(names)
    if turned == names:
        return
    state.set("columns", columns_option(turned))
    # Bounds of more than two columns are in the order of the table, so they stay.
    if len(names) > 2:
        return
    domain = state.get("domain")
    if domain not in ("", "declared", "data"):
        state.set("domain", str(Domain.parse(domain).select((1, 0))))
    for one in (one for family in FAMILIES.values() for one in family.parameters):
        if one.kind == "sides" and one.link in state:
            value = state.get(one.link)
            if isinstance(value, tuple) and len(value) == 2:
                state.set(one.link, value[::-1])


def _set_columns(
    state: DataState, names: Sequence[str], used: Sequence[str], *, asked: bool
) -> None:
    before = columns_of(state.get("columns"))
    if not asked and before[:2] == list(names)[:2]:
        # Only the number of columns changes: other pages keep all columns, and the bounds stay.
        keep = state.adapt if len(names) < len(before) else state.set
        keep("columns", columns_option(names))
        return
    # If there are more than two columns, they are clustered in the order of the table.
    same = before == list(names) if len(names) < 3 else set(before) == set(names)
    if before and not same:
        restore_bounds(state, used)
    state.set("columns", columns_option(names))
