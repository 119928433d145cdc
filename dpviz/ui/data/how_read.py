"""How a file of own data is read: fields for the user's settings, and notes on what was guessed."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import streamlit as st

from dpviz.base.errors import InputError, shown
from dpviz.base.formats import RELEASED, TYPED, format_of
from dpviz.base.replace import replacing
from dpviz.commands.commands import columns_of
from dpviz.data.conversion import as_csv, free_name
from dpviz.data.dataset import Dataset
from dpviz.data.reading.apart import UploadedTable
from dpviz.data.reading.table import Table
from dpviz.ui.data.local_file import LocalFile
from dpviz.ui.data.state import COUNTS, FORMATS, READING, DataState
from dpviz.ui.messages import show_caption, show_error
from dpviz.ui.session.state import following
from dpviz.ui.session.uploads import MOST

#: Content of the first line of a file of points, for each value of the control "format".
_FIRST_LINES = {"": "auto", "names": "names", "data": "data"}

#: Placeholder of an empty field: the reader finds the setting in the file.
_FOUND = "found"


@dataclass(frozen=True, kw_only=True)
class How:
    """Settings of :func:`~dpviz.data.reading.read.read_table`; the reader adds missing settings."""

    counts: bool = False
    header: bool | str | None = None
    part: str | None = None
    skip: int | None = None
    missing: tuple[str, ...] = ()
    encoding: str | None = None

    @property
    def options(self) -> dict[str, Any]:
        """Arguments for the reader of tables; they can be written as JSON."""
        given = {name: value for name, value in vars(self).items() if name != "counts"}
        return {name: value for name, value in given.items() if value not in (None, ())}


FOUND = How()


def how_of(state: DataState, part: str | None) -> How:
    """Settings from the controls for reading a file on the exploring pages."""
    kind = state.get("format")
    if kind == COUNTS:
        return How(counts=True, part=part)
    missing = (one.strip() for one in columns_of(state.get("missing")))
    return How(
        header=FORMATS[kind],
        part=part,
        skip=state.get("skip"),
        missing=tuple(one for one in missing if one),
        encoding=state.get("encoding").strip() or None,
    )


def forget_how(state: DataState) -> None:
    """Reset the controls, so that the reader finds all settings in the file again."""
    for name, value in READING.items():
        state.set(name, value)


def first_line(state: DataState) -> None:
    """Show the control for the content of the first line."""
    kind = state.get("format")
    st.segmented_control(
        "First line",
        tuple(_FIRST_LINES),
        **following(
            "own:header",
            "" if kind == COUNTS else kind,
            partial(state.set, "format"),
            initial="default",
        ),
        format_func=_FIRST_LINES.__getitem__,
        required=True,
        disabled=kind == COUNTS,
    )


def how_panel(
    state: DataState,
    name: str,
    table: Table | UploadedTable | None,
    data: Dataset | None,
    *,
    failed: bool,
) -> None:
    """Show fields and notes in an expander, which is open if something was guessed or left out."""
    kind = format_of(name)
    notes = data.notes if data else table.notes if table else ()
    more = table is not None and len(notes) > len(table.notes)
    fields = kind not in TYPED
    said = any(state.get(one) != value for one, value in READING.items())
    if not fields and not notes:
        return
    opened = failed or more or said or (table is not None and table.guessed)
    with st.expander("How the file is read", expanded=opened, icon=":material/rule:"):
        for note in notes:
            show_caption(note)
        if fields:
            _fields(state, is_text=kind in (None, "text", "zip"))


def _fields(state: DataState, *, is_text: bool) -> None:
    first_line(state)
    left, right = st.columns(2)
    left.number_input(
        "Skip lines",
        min_value=0,
        max_value=10**6,
        step=1,
        placeholder=_FOUND,
        **following("own:skip", state.get("skip"), partial(state.set, "skip")),
        help="Number of lines, or of rows of a sheet, above the names.",
    )
    right.text_input(
        "No value",
        placeholder="-, 999",
        **following("own:missing", state.get("missing"), partial(state.set, "missing")),
        help="Texts that mean a missing value, separated by commas. Empty cells, NA, n/a, -, ? and "
        "similar texts always mean a missing value.",
    )
    if is_text:
        st.text_input(
            "Encoding",
            placeholder=_FOUND,
            **following("own:encoding", state.get("encoding"), partial(state.set, "encoding")),
            help="For example utf-8, cp1252, utf-16 or shift-jis.",
        )


def not_released(name: str, how: How) -> str:
    """Say why a release reads a file differently from exploring; "" if there is no difference."""
    way_out = "save the table that exploring shows as CSV, and load this CSV instead."
    if (format_of(name) or "text") not in RELEASED:
        return (
            f"A release reads only CSV, Parquet and .npy, and {shown(name)} has another format: "
            f"{way_out}"
        )
    said = {
        "lines to skip": how.skip, "texts for a missing value": how.missing,
        "an encoding": how.encoding,
    }  # fmt: skip
    named = [words for words, value in said.items() if value]
    if not named:
        return ""
    return f"A release can't use {' or '.join(named)}, as for {shown(name)} here: {way_out}"


def offer_csv(
    file: Any, table: Table | UploadedTable | Dataset, use: Callable[[LocalFile], None]
) -> None:
    """Offer the explored table as CSV: a download, or a file for ``use`` beside a local file."""
    icon, key = ":material/save_as:", "own:save"
    if not isinstance(table, UploadedTable) and isinstance(file, LocalFile):
        st.button(
            "Save as CSV",
            key=key,
            icon=icon,
            on_click=partial(_save_beside, file, table, use),
            help="All columns, in a new file beside this file. dpviz then loads the new file "
            "instead.",
        )
        if error := st.session_state.pop(f"{key}:error", ""):
            show_error(error)
        return
    st.download_button(
        "Save as CSV",
        partial(table.csv, MOST) if isinstance(table, UploadedTable) else partial(as_csv, table),
        free_name(file.name),
        "text/csv",
        key=key,
        on_click="ignore",
        icon=icon,
        help="All columns; then load the saved file here.",
    )


def _save_beside(file: LocalFile, table: Table | Dataset, use: Callable[[LocalFile], None]) -> None:
    folder = Path(file).parent
    try:
        path = folder / free_name(file.name, set(os.listdir(folder)))
        with replacing(path) as stream:
            stream.write(as_csv(table))
        use(LocalFile(path))
    except (OSError, InputError) as error:
        st.session_state["own:save:error"] = f"No CSV file was written: {error}"
