"""Find the row of column names, and rows that are not records: units, totals, repeated names."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from dpviz.base.errors import listed, shown
from dpviz.base.lazy import compute as pc
from dpviz.base.lazy import pyarrow as pa
from dpviz.base.numbers import counted
from dpviz.data.explore.cells import MARKS
from dpviz.data.explore.rows import Options, Rows
from dpviz.data.explore.text import SHORT, UNIT, may_be_number
from dpviz.data.reading.kinds import MISSING, holds_text
from dpviz.data.words import WORDS

#: Number of rows that decide the kinds of columns, and largest number of rows above records.
_LOOKED_AT, _MOST_ABOVE = 200, 10

#: A column has a kind if at least this share of its cells has this kind.
_MOSTLY = 0.7

#: First cell of a row of totals below all records.
_TOTAL = re.compile("|".join(WORDS["totals"]), re.IGNORECASE)

_MONEY = re.compile(r"[€$£%\s]+$|^[€$£]\s*")
_DATE = re.compile(r"\d{4}[-/.]\d\d?[-/.]\d\d?|\d\d?[-/.]\d\d?[-/.]\d{2,4}|\d\d?:\d\d")
_PLACE = re.compile(
    r"(SRID=\d+;)?\s*(MULTI)?POINT\b|\(\s*[-+]?\d|[-+]?\d{1,3}(\.\d+)?\s*[°º]|0[01]0[12]0000",
    re.IGNORECASE,
)


@dataclass(frozen=True, kw_only=True)
class Heading:
    """Names of the columns, and the rows above the first record."""

    names: list[str]  # empty where a column has no name
    above: int  # number of rows above the first record
    given: bool  # whether a row or the format provides the names
    notes: tuple[str, ...] = ()  # about guesses


def kind_of(cell: str) -> str:
    """Kind of a cell: a number, a date, a place, other text, or "" for a missing value."""
    cell = cell.strip()
    if not cell or cell in MISSING or cell in MARKS:
        return ""
    if may_be_number(_MONEY.sub("", cell), ";"):
        return "number"
    if _PLACE.match(cell):
        return "place"
    return "date" if _DATE.match(cell) else "text"


def headed(rows: Rows, options: Options) -> tuple[Rows, Heading]:
    """Find the column names; remove rows that are not records: units, totals, repeated names."""
    sample = _sample(rows.columns)
    if rows.names is not None or options.header is False or not sample:
        given = rows.names is not None
        names = rows.names or [""] * len(rows.columns)
        units = int(given and len(sample) > 1 and _are_units(sample[0], _column_kinds(sample)))
        heading = Heading(names=names, above=units, given=given, notes=_said_units(sample[:units]))
    else:
        heading = _heading(sample, sure=options.header is True)
    start = heading.above
    columns = [column.slice(start) for column in rows.columns]
    gone, said = _no_records(columns, heading) if rows.rows > start else ([], ())
    if gone:
        kept = np.ones(rows.rows - start, dtype=bool)
        kept[gone] = False
        columns = [column.filter(pa.array(kept)) for column in columns]

    def remaining() -> np.ndarray:
        numbers = rows.numbers() if rows.numbers else np.arange(1, rows.rows + 1, dtype=np.int64)
        return np.delete(numbers[start:], gone)

    found = replace(rows, columns=columns, numbers=remaining, names=heading.names)
    return found, replace(heading, notes=(*heading.notes, *said))


def _sample(columns: Sequence[pa.ChunkedArray]) -> list[list[str]]:
    few = [column.slice(0, _LOOKED_AT) for column in columns]
    texts = [
        column.fill_null("")
        if holds_text(column.type)
        else pc.if_else(column.is_valid(), "0.5", "")
        for column in few
    ]
    return [list(row) for row in zip(*(one.to_pylist() for one in texts), strict=True)]


def _column_kinds(sample: list[list[str]]) -> list[str]:
    body = sample[min(len(sample) // 2, 20) :]
    kinds = []
    for column in zip(*body, strict=True):
        found = [kind for kind in map(kind_of, column) if kind]
        usual = max(set(found), key=found.count, default="text")
        kinds.append(usual if found.count(usual) >= _MOSTLY * len(found) else "text")
    return kinds


def _fit(row: list[str], kinds: list[str]) -> tuple[int, int]:
    found = [
        kind_of(cell) == kind for cell, kind in zip(row, kinds, strict=True)
        if kind != "text" and kind_of(cell)
    ]  # fmt: skip
    return sum(found), len(found) - sum(found)


def _heading(sample: list[list[str]], *, sure: bool) -> Heading:
    kinds = _column_kinds(sample)
    width = len(kinds)
    if not sure and _is_record(sample, kinds):
        what = "only numbers" if {*kinds} == {"number"} else "values like the rows below"
        said = f"The first row holds {what}, so it is read as data, not as a header."
        return Heading(names=[""] * width, above=0, given=False, notes=(said,))
    for above in range(1, min(_MOST_ABOVE + 1, len(sample) - 1)):
        right, wrong = _fit(sample[above], kinds)
        filled = sum(bool(cell.strip()) for cell in sample[above])
        if right or (not wrong and 2 * filled >= width and not _is_rule(sample[above])):
            break
    else:
        above = 1
    rules = [at for at, row in enumerate(sample[:above]) if _is_rule(row)]
    rules = rules if len(rules) < above else []
    sample = [row for at, row in enumerate(sample) if at not in rules]
    above -= len(rules)
    whole = [all(map(str.strip, row)) and len(set(row)) == width for row in sample[:above]]
    at = whole.index(True) if True in whole else 0
    if any(whole) and at + 1 < above and not _are_units(sample[at + 1], kinds):
        above = at + 1
    elif not any(whole):
        cells = [sum(bool(cell.strip()) for cell in row) for row in sample[:above]]
        at = cells.index(max(cells))
        above = above if at + 1 == above or _are_units(sample[at + 1], kinds) else at + 1
    names = [cell.strip() for cell in sample[at]]
    names[0] = re.sub(r"^[#%]+\s*(?=\w)", "", names[0])
    skipped = [f"Reading skips {counted(at, 'line')} above the names."] if at else []
    notes = (*skipped, *_said_units(sample[at + 1 : above]))
    return Heading(names=names, above=above + len(rules), given=True, notes=notes)


def _is_record(sample: list[list[str]], kinds: list[str]) -> bool:
    first = sample[0]
    right, wrong = _fit(first, kinds)
    if wrong or not right:
        return False
    cells = [(cell.strip(), kind) for cell, kind in zip(first, kinds, strict=True)]
    numbers = [cell for cell, kind in cells if kind == "number" and kind_of(cell)]
    whole = [int(one) for one in numbers if re.fullmatch(r"\d{1,9}", one)]
    if len(whole) < len(numbers) or any(kind in ("date", "place") for _, kind in cells):
        return True
    # Numbers 0, 1, 2 ... or 1, 2, 3 ... are names from a program if cells below have decimals.
    below = [cell for row in sample[1:21] for cell in row]
    in_order = whole in (list(range(len(whole))), list(range(1, len(whole) + 1)))
    decimals = sum(bool(re.fullmatch(r"\s*[-+]?\d*[.,]\d+\s*", cell)) for cell in below)
    blank = any(
        not cell and sample[1:] and sample[1][at].strip() for at, (cell, _) in enumerate(cells)
    )
    if len(numbers) > 1 and in_order and (blank or decimals * 2 > len(below)):
        return False
    return len(numbers) == len(first) or not all(1900 <= one <= 2100 for one in whole)


def _is_rule(row: list[str]) -> bool:
    return all(re.fullmatch(r"[-:=_ ]*", cell) for cell in row)


def _are_units(row: list[str], kinds: list[str]) -> bool:
    odd = [
        cell.strip() for cell, kind in zip(row, kinds, strict=True)
        if kind == "number" and kind_of(cell)
    ]  # fmt: skip
    if not odd or any(kind_of(cell) == "number" for cell in odd):
        return False
    known = [UNIT.fullmatch(one) is not None for one in odd]
    may_be = [one or SHORT.fullmatch(cell) for one, cell in zip(known, odd, strict=True)]
    return 2 * sum(known) >= len(odd) or (len(odd) > 1 and all(may_be))


def _said_units(rows: list[list[str]]) -> tuple[str, ...]:
    cells = listed([cell for row in rows for cell in row if cell.strip()], 60)
    return (f"A line of units below the names is skipped: {cells}.",) if rows else ()


def _no_records(
    columns: list[pa.ChunkedArray], heading: Heading
) -> tuple[list[int], tuple[str, ...]]:
    """Positions of rows with repeated names or final totals, and sentences about these rows."""
    gone: list[int] = []
    notes = []
    named = next((at for at, name in enumerate(heading.names) if name), None)
    if heading.given and named is not None and holds_text(columns[named].type):
        trimmed = pc.utf8_trim_whitespace(columns[named])
        same = pc.equal(trimmed, heading.names[named]).fill_null(False)
        places = np.flatnonzero(same.to_numpy())
        if len(places) and len(places) * 4 <= len(trimmed):
            gone = [at for at in places.tolist() if _row(columns, at) == heading.names]
        if gone:
            many = counted(len(gone), "line")
            repeat, are = ("repeats", "is") if len(gone) == 1 else ("repeat", "are")
            notes.append(f"{many} {repeat} the names, and {are} left out.")
    rows = len(columns[0])
    for last in range(rows - 1, max(rows - 4, 0), -1):
        first = next(filter(None, _row(columns, last)), "")
        if last in gone or not _TOTAL.fullmatch(first):
            break
        notes.append(f'The last row says "{shown(first)}", and is left out.')
        gone.append(last)
    return gone, tuple(notes)


def _row(columns: Sequence[pa.ChunkedArray], at: int) -> list[str]:
    cells = [column[at].as_py() for column in columns]
    return ["" if cell is None else str(cell).strip() for cell in cells]
