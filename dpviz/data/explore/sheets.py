"""Read sheets of workbooks (.xlsx, .xlsm, .xlsb, .xls, .ods) as rows, with calamine.

The library allocates memory for all cells up to the last cell. For damaged files it may wait
endlessly or crash its process. So it runs in a separate process with limits.
"""

from __future__ import annotations

import io
import re
from collections.abc import Sequence
from contextlib import closing
from datetime import datetime, timedelta
from functools import reduce
from itertools import islice
from typing import Any, TypeAlias

import numpy as np
import python_calamine as calamine

from dpviz.base.errors import InputError, listed, shown
from dpviz.base.lazy import compute as pc
from dpviz.base.lazy import pyarrow as pa
from dpviz.base.numbers import counted
from dpviz.data.explore.archive import member, members
from dpviz.data.explore.heading import kind_of
from dpviz.data.explore.rows import Options, Rows
from dpviz.data.reading import apart
from dpviz.data.reading.apart import Upload, stored
from dpviz.data.reading.cells import BLOCK_ROWS, check_width
from dpviz.data.reading.files import ZIP, File
from dpviz.data.reading.watch import passed

#: Limit of cells of an .xlsx sheet from A1 to the last cell, plus one per byte of the file.
_CELLS = 2**25

#: Columns of a sheet; then sentences, or the names of the sheets.
Answer: TypeAlias = "tuple[list[pa.ChunkedArray], list[str]]"

_ENCRYPTED = "EncryptedPackage".encode("utf-16-le")
_NUMBERS = {float, int}
_SHEET = (calamine.SheetVisibleEnum.Visible, calamine.SheetTypeEnum.WorkSheet)

#: A cell with content, and a cell whose formula has no stored result.
_FULL = re.compile(rb'<c r=["\']([A-Z]{1,3})(\d{1,7})["\'][^<>]*(?<!/)>(?!</c>)')
_UNRESOLVED = re.compile(rb'<c r="(\w+)"(?: s="\d+")?><f>[^<]*</f>(?:<v></v>|<v ?/>)?</c>')


def sheet_names(file: File) -> tuple[str, ...]:
    """Names of the sheets that contain cells, without hidden sheets."""
    return tuple(_asked(file, only_names=True)[1])


def read_sheet(file: File, options: Options) -> Rows:
    """Read the rows of one sheet: ``options.part``, or the only sheet that contains cells."""
    columns, notes = _asked(file, part=options.part, skip=options.skip or 0)
    numbers = columns.pop()
    return Rows(columns=columns, numbers=numbers.to_numpy, notes=tuple(notes), written=True)


def _asked(file: File, **asked: Any) -> Answer:
    if apart.limited:
        return sheet_answer(file.data, file.name, **asked)
    with closing(Upload(file.name, len(file.data), lambda: file.data, 0)) as upload:
        return upload.ask(lambda _, arrays: stored(arrays[0]), "sheet", **asked)


def sheet_answer(
    data: bytes, name: str, part: str | None = None, skip: int = 0, *, only_names: bool = False
) -> Answer:
    """Columns of a sheet as text, then row numbers; and sentences, or only the names of sheets."""
    notes = _looked_at(data, name)
    try:
        book = calamine.CalamineWorkbook.from_filelike(io.BytesIO(data))
        names = [one.name for one in book.sheets_metadata if (one.visible, one.typ) == _SHEET]
        if part is None and len(names) > 1:
            names = [one for one in names if book.get_sheet_by_name(one).start]
        if only_names:
            return [], names
        part = names[0] if part is None and len(names) == 1 else part
        if names and part not in book.sheet_names:
            wrong = f'sheet = "{shown(part)}" does not exist, and ' if part is not None else ""
            raise InputError(
                f"{wrong}{shown(name)} has {counted(len(names), 'sheet')}: name the sheet to read, "
                f"{listed(names)} (--sheet on the command line)."
            )
        sheet = book.get_sheet_by_name(part) if part in book.sheet_names else None
        if sheet is None or sheet.start is None:
            raise InputError(
                f"{shown(name)} has no sheet with data: give one row of numbers for each record."
            )
        check_width(sheet.width, name)
        columns, left = _columns(sheet, skip)
    except BaseException as error:
        # A panic of the library (written in Rust) is a BaseException.
        if not isinstance(error, calamine.CalamineError) and "Panic" not in type(error).__name__:
            raise
        what, then = "is not a workbook that can be read", ""
        if isinstance(error, calamine.PasswordError) or _ENCRYPTED in data:
            what, then = "is protected by a password", "remove the password, "
        elif new := re.search(r"error value '(#[\w/!?]{1,20})'", str(error)):
            what, then = f"has a cell with the error {new[1]}", "clear such cells, "
        raise InputError(
            f"{shown(name)} {what}: open it in a spreadsheet program, {then}and save it again as "
            ".xlsx, or the sheet as CSV in UTF-8."
        ) from None
    if merged := len(sheet.merged_cell_ranges or ()):
        notes += (f"{counted(merged, 'merged area')}: only the first cell of each is filled.",)
    return columns, [*notes, *left]


def _looked_at(data: bytes, name: str) -> tuple[str, ...]:
    """Refuse an .xlsx file with a cell far from all others; find formulas without a result."""
    found = None
    for part in members(data, name) if data.startswith(ZIP) else ():
        if not part.startswith("xl/worksheets/") or not part.endswith(".xml"):
            continue
        xml = member(data, name, part)
        full = _FULL.findall(xml, max(xml.rfind(b"<row"), 0))
        letters, row = full[-1] if full else (b"", b"0")
        column = reduce(lambda number, letter: 26 * number + letter - 64, letters, 0)
        if column * int(row) > _CELLS + len(data):
            raise InputError(
                f"{shown(name)} has a cell far from the others, {(letters + row).decode()}: delete "
                "its row and column in a spreadsheet program, or save the table as CSV."
            )
        found = found or (_UNRESOLVED.search(xml) if b"</f>" in xml else None)
    first = found[1].decode() if found else ""
    said = f"Formulas have no result, as in {first}: open the file in a spreadsheet program and "
    return (f"{said}save it again.",) if first else ()


def _columns(sheet: calamine.CalamineSheet, skip: int) -> Answer:
    """Columns of the largest table in a sheet, then its row numbers; and sentences for the user."""
    rows, step = sheet.iter_rows(), max(1, min(BLOCK_ROWS, 2**22 // sheet.width))
    skip = max(skip, (sheet.start or (0, 0))[0])
    for _ in islice(rows, skip):
        pass
    parts = [[pa.array([], pa.large_string())] * sheet.width]
    while block := [*islice(rows, step)]:
        parts.append([_texts(cells) for cells in zip(*block, strict=True)])
        passed(skip + sum(len(one[0]) for one in parts), sheet.total_height)
    columns = [pa.chunked_array(one) for one in zip(*parts, strict=True)]
    filled = np.stack([column.is_valid().to_numpy() for column in columns], axis=1)
    columns = [column for axis, column in enumerate(columns) if filled[:, axis].any()]
    places, notes = np.flatnonzero(filled.any(axis=1)), []
    # An empty row ends a table if the next row contains only text, that is, names or remarks.
    starts = [
        at for at in (np.flatnonzero(np.diff(places) > 1) + 1).tolist()[:200]
        if {kind_of(str(one[places[at]].as_py() or "")) for one in columns} <= {"", "text"}
    ]  # fmt: skip
    if starts:
        tables = np.split(places, starts)
        kept = max(tables, key=lambda one: int(filled[one].sum()))
        left = [f"{skip + one[0] + 1} to {skip + one[-1] + 1}" for one in tables if one is not kept]
        places, notes = kept, [f"Rows outside the table are left out: {listed(left)}."]
    if len(places) < len(filled):
        columns = [column.take(pa.array(places)) for column in columns]
    return [*columns, pa.chunked_array([places + skip + 1])], notes


def _texts(cells: Sequence[Any]) -> pa.Array:
    numbers = np.array([cell if type(cell) in _NUMBERS else np.nan for cell in cells], np.float64)
    # Spreadsheet programs keep 15 digits. Larger numbers may be rounded, so write an exponent.
    whole = (np.trunc(numbers) == numbers) & (np.abs(numbers) < 1e15)
    in_digits = pa.array(np.where(whole, numbers, 0).astype(np.int64)).cast(pa.large_string())
    others = pa.array(numbers, from_pandas=True).cast(pa.large_string())
    found = pc.if_else(pa.array(whole), in_digits, others)
    if {*map(type, cells)} <= _NUMBERS:
        return found
    return pc.coalesce(found, pa.array([*map(_text, cells)], pa.large_string()))


def _text(cell: Any) -> str | None:
    if isinstance(cell, datetime):
        near = cell + timedelta(milliseconds=500) if cell.year < 9999 else cell
        return near.isoformat(" ", "seconds").removesuffix(" 00:00:00")
    return None if cell == "" or type(cell) in _NUMBERS else str(cell)
