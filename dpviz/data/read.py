"""Read tables, and grids of counts, from files, uploads and objects in memory.

Whatever the bytes, the only error is :class:`~dpviz.errors.InputError`, with one
sentence that names the place and the way out. Parsing is left to pyarrow and NumPy;
pickled content is never loaded.
"""

from __future__ import annotations

import csv
import gzip
import io
import math
import os
import re
import warnings
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO, Literal, TypeAlias

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
from numpy.typing import NDArray

from dpviz.data.dataset import Dataset
from dpviz.data.table import (
    COMMA_NUMBER,
    MISSING,
    NUMBER,
    Table,
    Unreadable,
    is_numeric,
    listed,
    numbers_from_text,
    shown,
)
from dpviz.domain import MAX_CELLS, Domain
from dpviz.errors import InputError

Source: TypeAlias = (
    "str | os.PathLike[str] | bytes | bytearray | memoryview | BinaryIO | pd.DataFrame "
    "| pa.Table | NDArray[np.generic]"
)

#: Larger files are refused, before and after unpacking.
MAX_BYTES = 200 * 2**20

#: What may separate the fields of a row; the first wins where several fit.
DELIMITERS = {",": "comma", ";": "semicolon", "\t": "tab", "|": "pipe"}

#: Wider tables are refused: handling them takes minutes.
MAX_COLUMNS = 10_000

#: Total of the largest grid: beyond it floats skip whole numbers.
MAX_COUNT = 2**53

_HEAD = 2**18
_NPY, _PARQUET, _GZIP = b"\x93NUMPY", b"PAR1", b"\x1f\x8b"

#: Cells of a column, by its position, as the source has them.
_Written: TypeAlias = "Callable[[int], Iterable[object]]"

Kind: TypeAlias = Literal["text", "npy", "parquet"]
_KINDS: dict[str, Kind] = {
    ".csv": "text",
    ".tsv": "text",
    ".txt": "text",
    ".npy": "npy",
    ".parquet": "parquet",
    ".pq": "parquet",
}
_WHOLE = {pa.int64(): pd.Int64Dtype(), pa.uint64(): pd.UInt64Dtype()}


def read_table(
    source: Source,
    *,
    name: str | None = None,
    header: bool | str | None = None,
    max_bytes: int | None = None,
    unreadable: Unreadable = "refuse",
) -> Table:
    """Read named columns; :meth:`Table.select` makes points of them.

    Parameters
    ----------
    source
        Path, bytes, binary file object, pandas DataFrame, pyarrow Table, or NumPy
        array (n, d). Files are CSV (``.csv``, ``.tsv``, ``.txt``; separated by
        commas, semicolons, tabs or pipes), ``.npy`` or Parquet (``.parquet``,
        ``.pq``), each also with ``.gz``; without a known ending the content decides.
    name
        What to call the data, and how bytes without a file name end; by default the
        name of the file.
    header
        Whether the first row of a CSV file holds names; by default it does unless
        all of its fields are numbers. With ``unreadable="missing"`` it does by default,
        and text is the first line that the file lacks.
    max_bytes
        Limit to the size of a file, also after unpacking (:data:`MAX_BYTES`).
    unreadable
        ``"missing"``, for a release: nothing that stands in one record decides whether, or how,
        the others are read; see Notes.

    Raises
    ------
    InputError
        Where the source can't be read or holds no row of a table.

    Notes
    -----
    With ``unreadable="missing"`` the first line of a CSV file is public: it names the columns, and
    tells their number and the separator. Every other line is a row. A line with more or fewer
    fields, or with a quotation mark that is not closed in it, counts as missing; so does a cell
    with bytes that are no UTF-8. A line break inside quotes ends a row as any other: give text with
    line breaks as Parquet. There may be no row at all.

    Public too, and so a reason to refuse: the kind and size of the file, the types of the columns
    of Parquet and NumPy files, and whether those files are whole.
    """
    if isinstance(header, str) and unreadable == "refuse":
        raise InputError(f'header = "{shown(header)}" goes with unreadable = "missing" alone.')
    table = _read(source, name, header, max_bytes, unreadable)
    if not len(table.frame) and unreadable == "refuse":
        raise InputError(
            f"{shown(table.name)} has no row: give a table with one row of numbers per record."
        )
    return table


def _read(
    source: Source,
    name: str | None,
    header: bool | str | None,
    max_bytes: int | None,
    unreadable: Unreadable,
) -> Table:
    """Read a table, which may have no row."""
    if isinstance(source, np.ndarray):
        return _from_array(source, name or "data")
    if isinstance(source, pd.DataFrame):
        return _table(source, name or "data")
    if isinstance(source, pa.Table):
        return _from_arrow(source, name or "data")
    limit = MAX_BYTES if max_bytes is None else max_bytes
    file = _File.load(source, name, limit, headless=isinstance(header, str))
    if file.kind == "npy":
        return _from_array(_npy(file), file.name)
    if file.kind == "parquet":
        return _from_arrow(_parquet(file), file.name)
    if isinstance(header, str) or unreadable == "missing":
        return _from_lines(file, header)
    return _from_text(file, header)


def read_counts(
    source: Source,
    *,
    name: str | None = None,
    domain: Domain | None = None,
    max_bytes: int | None = None,
    any_total: bool = False,
) -> Dataset:
    """Read a ready grid of counts: how many records lie in every cell.

    Parameters
    ----------
    source
        As in :func:`read_table`: an array of two or more axes, or a table without
        header whose rows run along the first axis.
    name
        What to call the data, by default the name of the file.
    domain
        Box that the grid covers; by default ``(0, side)`` on every axis.
    max_bytes
        Limit to the size of a file (:data:`MAX_BYTES`).
    any_total
        For a release, which must not tell of one record: whether all counts may be 0, and
        large ones are cut to 2**53 / cells, by which their total stays exact.

    Returns
    -------
    Dataset
        With ``counts`` as int64.

    Raises
    ------
    InputError
        Where the source can't be read, a cell is no whole number of at least 0, an
        axis has fewer than 2 cells, there are more than ``MAX_CELLS`` cells, the
        total is 0 or not below 2**53 (unless any will do), or the domain has another
        dimension.
    """
    limit = MAX_BYTES if max_bytes is None else max_bytes
    name, cells, rows = _grid(source, name, limit)
    counts = _cut_counts(cells, name) if any_total else _whole_numbers(cells, name, rows)
    sides = tuple((0.0, float(side)) for side in counts.shape)
    if domain is not None and domain.ndim != counts.ndim:
        raise InputError(
            f"the domain has {domain.ndim} axes but {shown(name)} has {counts.ndim}: "
            "give one lo,hi pair per axis."
        )
    return Dataset(name=name, counts=counts, domain=domain or Domain(sides))


@dataclass(frozen=True)
class _File:
    """Unpacked bytes, and what they are."""

    name: str
    kind: Kind
    data: bytes
    limit: int

    @classmethod
    def load(cls, source: object, name: str | None, limit: int, *, headless: bool = False) -> _File:
        """Read and unpack, never more than ``limit`` bytes.

        The first bytes of a file without a header are of a record, and tell nothing.
        """
        own, data = _raw(source, limit)
        name = name or own or "data"
        stem, ending = os.path.splitext((own or name).lower())
        packed = data.startswith(_GZIP) and not (headless and ending != ".gz")
        if ending == ".gz":
            if not packed:
                raise InputError(
                    f"{shown(name)} is no gzip file although its name ends in .gz: compress it "
                    "again, or remove the ending."
                )
            ending = os.path.splitext(stem)[1]
        if packed:
            data = _unpacked(data, name, limit)
        if headless:
            return cls(name, _KINDS.get(ending, "text"), data, limit)
        if not data.strip():
            raise InputError(
                f"{shown(name)} is empty: give a file with one row of numbers per record."
            )
        return cls(name, _KINDS.get(ending) or _sniffed(data), data, limit)


def _sniffed(data: bytes) -> Kind:
    """Kind of a file whose name doesn't tell, from its first bytes."""
    if data.startswith(_NPY):
        return "npy"
    return "parquet" if data.startswith(_PARQUET) else "text"


def _raw(source: object, limit: int) -> tuple[str | None, bytes]:
    """File name, where there is one, and the bytes as they are stored."""
    if isinstance(source, bytes | bytearray | memoryview):
        own, data = None, bytes(source)
    elif isinstance(source, str | os.PathLike):
        path = Path(source)
        own = path.name
        try:
            with path.open("rb") as file:
                size = os.fstat(file.fileno()).st_size
                if size > limit:
                    raise InputError(_too_large(own, _megabytes(size), limit))
                data = file.read(limit + 1)
        except (OSError, ValueError) as error:  # ValueError: NUL in the name
            raise InputError(_unreadable(str(source), error)) from None
    elif hasattr(source, "read"):
        own = getattr(source, "name", None)
        own = Path(own).name if isinstance(own, str) else None
        try:
            # An upload may have been read before: take it from its beginning.
            data = source.getvalue() if hasattr(source, "getvalue") else source.read(limit + 1)
        except (OSError, ValueError) as error:
            raise InputError(_unreadable(own or "data", error)) from None
        if isinstance(data, str):
            raise InputError(f"{shown(own or 'data')} is open as text: open it in binary mode.")
    else:
        raise InputError(
            f"a table can't be read from {shown(type(source).__name__)}: give a path, bytes, "
            "a binary file, a DataFrame, a pyarrow table or an array."
        )
    if len(data) > limit:
        raise InputError(_too_large(own or "data", f"more than {_megabytes(limit)}", limit))
    return own, data


def _unreadable(name: str, error: Exception) -> str:
    """Sentence for a file that can't be opened or read."""
    # The end of a long path tells more than its beginning.
    place = shown(name if len(name) <= 80 else "..." + name[-77:], 80)
    if isinstance(error, FileNotFoundError):
        return f"{place} does not exist: check the path."
    if isinstance(error, IsADirectoryError):
        return f"{place} is a directory: name a file in it."
    reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    return f"{place} can't be read ({shown(reason, 80)}): check the file and its rights."


def _megabytes(size: int) -> str:
    """Size in the unit that reads best."""
    return f"{size / 2**20:,.4g} MB" if size >= 2**20 else f"{size:,} bytes"


def _too_large(name: str, size: str, limit: int) -> str:
    """Sentence for a file over the limit."""
    return (
        f"{shown(name)} has {size}; the limit is {_megabytes(limit)}: "
        "give fewer rows, or only the columns that are needed."
    )


def _unpacked(data: bytes, name: str, limit: int) -> bytes:
    """Unpack gzip, stopping right after ``limit`` bytes."""
    try:
        with gzip.GzipFile(fileobj=io.BytesIO(data)) as file:
            unpacked = file.read(limit + 1)
    except (OSError, EOFError, zlib.error):
        raise InputError(
            f"{shown(name)} is a damaged gzip file, perhaps cut off: transfer or compress it again."
        ) from None
    if len(unpacked) > limit:
        raise InputError(_too_large(name, f"more than {_megabytes(limit)} unpacked", limit))
    return unpacked


# --- text ---------------------------------------------------------------------------


@dataclass(frozen=True)
class _Layout:
    """Where the rows of a text file start and what their fields are."""

    delimiter: str
    names: list[str]
    header: bool
    body: int  # offset of the first data row in the bytes
    first_row: int  # its number in the file, from 1
    notes: tuple[str, ...]
    doubtful: tuple[int, ...] = ()  # columns whose name may be a value: nobody said that


def _from_text(file: _File, header: bool | None) -> Table:
    """Read CSV and its relatives."""
    _check_text(file)
    file, spaced = _without_runs_of_spaces(file)
    layout = _layout(file, header)
    cells, index, written = _rows(file, layout)
    if not len(index):
        raise InputError(
            f"{shown(file.name)} holds only a header: add at least one row of numbers below it."
        )
    frame = _frame([_series(column) for column in cells.columns], layout.names)
    start = int(index[0])  # blank lines below the header move the first row, not the index
    if index[-1] - start >= len(index):
        frame.index = pd.Index(index - start)
    return _table(
        frame,
        file.name,
        first_row=layout.first_row + start,
        decimal_comma=layout.delimiter != ",",
        notes=(*spaced, *layout.notes),
        doubtful=layout.doubtful,
        written=written,
    )


def _from_lines(file: _File, header: bool | str | None) -> Table:
    """Read CSV so that no line has a say in how the others are read: every cell is text."""
    if header is False:
        raise InputError(
            f"{shown(file.name)} is to be read without a line of names, but a record must not tell "
            "how many columns there are, and what separates them: put such a line first, or give "
            'it as the header, for example "x,y".'
        )
    data = file.data.removeprefix(b"\xef\xbb\xbf")
    data = data.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    first = header
    if not isinstance(first, str):
        blank = re.match(rb"(?:[^\S\n]*\n)*", data)
        head, _, data = data[blank.end() if blank else 0 :].partition(b"\n")
        _check_text(replace(file, data=head))
        first = head.decode()
    delimiter, names = _named(first, file.name, spaces=isinstance(header, str))
    if delimiter == " ":
        data = b"\n".join(b",".join(line.split()) for line in data.split(b"\n"))
    mark = "," if delimiter == " " else delimiter
    layout = _Layout(mark, [""] * len(names), header=True, body=0, first_row=1, notes=())
    body = _mended(data, mark, len(names))
    cells = (
        _parse(pa.py_buffer(body), layout, file.name, [], text=True).columns
        if body
        else [pa.array([], type=pa.string())] * len(names)
    )
    unique = _unique(names)
    return Table(
        name=file.name,
        frame=_frame([column.to_pandas() for column in cells], unique),
        doubtful=tuple(
            name
            for name, field in zip(unique, names, strict=True)
            if header is None and _may_be_a_value(field)
        ),
        decimal_comma=delimiter in DELIMITERS and delimiter != ",",
    )


def _named(line: str, name: str, *, spaces: bool) -> tuple[str, list[str]]:
    """Separator and fields of the line that names the columns; it may be a run of spaces."""
    try:
        found = {
            mark: next(csv.reader([line], delimiter=mark, strict=True), []) for mark in DELIMITERS
        }
    except csv.Error:
        raise InputError(
            f"{shown(name)} has a line of names that can't be read: close every quotation mark, "
            "and give short names."
        ) from None
    width = max(map(len, found.values()))
    marks = [mark for mark, fields in found.items() if len(fields) == width]
    if width == 1 and spaces and len(line.split()) > 1:
        return " ", line.split()
    if width > 1 < len(marks):
        words = " as well as by ".join(f"{DELIMITERS[mark]}s" for mark in marks)
        raise InputError(
            f"{shown(name)} has a line of names that is separated by {words}: remove one of them "
            "from the names."
        )
    _check_width(width, name)
    return marks[0], found[marks[0]]


def _mended(data: bytes, mark: str, width: int) -> bytes:
    """Lines of ``width`` fields: one that has other fields, or can't be told, becomes an empty row.

    Parameters
    ----------
    data
        Lines that end in a newline each, but perhaps the last.
    """
    if not data.strip(b"\n"):
        return b""
    if not data.endswith(b"\n"):
        data += b"\n"
    marks = np.frombuffer(data, np.uint8)
    ends = np.flatnonzero(marks == ord("\n")) + 1
    starts = np.concatenate(([0], ends[:-1]))
    odd = np.add.reduceat(marks == ord(mark), starts, dtype=np.intp) != width - 1
    odd |= np.logical_or.reduceat((marks == ord('"')) | (marks > 127), starts)
    parts, upto = [], 0
    for number in np.flatnonzero(odd).tolist():
        start, end = int(starts[number]), int(ends[number])
        parts += [data[upto:start], _row(data[start : end - 1], mark, width)]
        upto = end
    return b"".join([*parts, data[upto:]]) if parts else data


def _row(line: bytes, mark: str, width: int) -> bytes:
    """One line of ``width`` fields, each in quotes; they are empty where the line can't be told."""
    try:
        text = line.decode(errors="replace")
        fields = next(csv.reader([text], delimiter=mark, strict=True), [])
    except csv.Error:
        fields = []
    if len(fields) != width:
        fields = [""] * width
    return (mark.join('"' + field.replace('"', '""') + '"' for field in fields) + "\n").encode()


def _without_runs_of_spaces(file: _File) -> tuple[_File, tuple[str, ...]]:
    """Turn a table of numbers set apart by spaces, as benchmark sets come, into CSV."""
    first = next((line for line in file.data[:_HEAD].splitlines() if line.strip()), b"")
    fields = first.decode(errors="replace").split(" ")
    numbers = [field for field in fields if field]
    if len(numbers) < 2 or not all(_is_number(field, ",") for field in numbers):
        return file, ()
    data = re.sub(rb" +", b",", re.sub(rb"(?m)^ +| +(?=\r?$)", b"", file.data))
    return replace(file, data=data), ("Runs of spaces are read as separators.",)


def _check_text(file: _File) -> None:
    """Refuse what is no UTF-8 text."""
    data, name = file.data, shown(file.name)
    if data.startswith(b"PK\x03\x04"):
        raise InputError(
            f"{name} is a spreadsheet or a zip archive: save the sheet as CSV in UTF-8 first."
        )
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise InputError(f"{name} is UTF-16 text: save it as CSV in UTF-8.")
    if (place := data.find(b"\0")) >= 0:
        raise InputError(
            f"{name} is no text, line {_line(data, place)} has a NUL byte: save the table as CSV "
            "in UTF-8, or give the file its right ending (.npy, .parquet, .gz)."
        )
    if data.isascii():
        return
    try:
        data.decode()
    except UnicodeDecodeError as error:
        raise InputError(
            f"{name} is no UTF-8 text, line {_line(data, error.start)} has the byte "
            f"0x{data[error.start]:02x}: save the table as CSV in UTF-8, or give the file its "
            "right ending (.npy, .parquet, .gz)."
        ) from None


def _line(data: bytes, place: int) -> int:
    """Return the number, from 1, of the line around a byte."""
    return data.count(b"\n", 0, place) + 1


def _layout(file: _File, header: bool | None) -> _Layout:
    """Find separator and header in the first lines."""
    start = 3 if file.data.startswith(b"\xef\xbb\xbf") else 0
    head = file.data[start : start + _HEAD]
    if len(head) == _HEAD:  # whole lines only
        head = head[: max(head.rfind(b"\n"), head.rfind(b"\r")) + 1]
    lines = list(io.StringIO(head.decode(), newline=""))
    blank = next((count for count, line in enumerate(lines) if line.strip()), len(lines))
    if blank == len(lines):
        raise InputError(
            f"{shown(file.name)} has no row within the first {_HEAD // 1024} KB: "
            "give one line per record."
        )
    delimiter = max(DELIMITERS, key=lambda mark: _fit(lines[blank:], mark))
    first, used = _first_record(lines[blank:], delimiter, file.name)
    _check_width(len(first), file.name)
    numeric = all(_is_number(field, delimiter) for field in first)
    has_names = not numeric if header is None else header
    notes = []
    if numeric and header is None:
        notes.append("The first row holds only numbers, so it is read as data, not as a header.")
    skipped = blank + (used if has_names else 0)
    return _Layout(
        delimiter=delimiter,
        names=first if has_names else [""] * len(first),
        header=has_names,
        body=start + len("".join(lines[:skipped]).encode()),
        first_row=blank + 1 + has_names,
        notes=tuple(notes),
        doubtful=tuple(
            axis
            for axis, field in enumerate(first)
            if header is None and has_names and _may_be_a_value(field)
        ),
    )


def _may_be_a_value(field: str) -> bool:
    """Tell whether a name may as well be the value of a first record: a number, a date, nothing."""
    field = field.strip()
    return (
        field in MISSING
        or field.lower() in ("inf", "infinity")
        or not re.search(r"^[^\W\d_]", field)  # no letter in front
    )


def _first_record(lines: list[str], delimiter: str, name: str) -> tuple[list[str], int]:
    """Fields of the first record, and the number of lines that it takes."""
    reader = csv.reader(lines, delimiter=delimiter)
    try:
        fields = next(reader)
    except csv.Error:
        raise InputError(
            f"{shown(name)} has a first row with more than 128 KB in a field: "
            "give short names or numbers, and close every quotation mark."
        ) from None
    if 1 < reader.line_num == len(lines) and "".join(lines).count('"') % 2:
        raise InputError(
            f"{shown(name)} has a quotation mark in its first row that is never closed: "
            "close or remove it."
        )
    return fields, reader.line_num


def _fit(lines: list[str], delimiter: str) -> tuple[float, float, int]:
    """How well a separator splits the lines: evenly first, then into numbers, then into many."""
    try:
        records = [row for row in islice(csv.reader(lines, delimiter=delimiter), 100) if row]
    except csv.Error:
        return 0.0, 0.0, 0
    width, even = Counter(map(len, records)).most_common(1)[0]
    if width < 2:
        return 0.0, 0.0, 0
    fields = [field for row in records for field in row]
    numbers = sum(_is_number(field, delimiter) for field in fields)
    return even / len(records), numbers / len(fields), width


def _is_number(field: str, delimiter: str) -> bool:
    """Tell whether a field is a number, NaN included, as it would be read."""
    field = field.strip()
    return (
        re.search(NUMBER, field, re.ASCII) is not None
        or field.lower().lstrip("+-") == "nan"
        or (delimiter != "," and re.search(COMMA_NUMBER, field, re.ASCII) is not None)
    )


def _rows(file: _File, layout: _Layout) -> tuple[pa.Table, NDArray[np.intp], _Written]:
    """Parse the rows; the index counts them from 0, with gaps for blank lines.

    Last comes a function that returns the text of all cells of a column.
    """
    if not re.compile(rb"\S").search(file.data, layout.body):
        return pa.table({}), np.arange(0), lambda axis: []
    body = pa.py_buffer(file.data)[layout.body :]
    blank: list[int] = []
    cells = _parse(body, layout, file.name, blank)
    index = np.delete(np.arange(len(cells) + len(blank)), blank)
    # An empty line comes out as a row without values, as a line of separators does. How
    # many of them are empty lines shows in a second parse that skips those; which of them
    # doesn't matter, they look the same.
    kept_rows = np.ones(len(cells), dtype=bool)
    missing = np.flatnonzero(_all_null(cells))
    if len(missing):
        kept = len(_parse(body, layout, file.name, [], skip_empty=True))
        kept_rows[missing[: len(cells) - kept]] = False
        index = index[kept_rows]
        cells = cells.filter(pa.array(kept_rows))

    def written(axis: int) -> list[str]:
        texts = _parse(body, layout, file.name, [], text=axis)
        return texts.column(0).filter(pa.array(kept_rows)).to_pylist()  # type: ignore[no-any-return]

    return cells, index, written


def _all_null(cells: pa.Table) -> NDArray[np.bool_]:
    """Mask of the rows in which every value is missing."""
    mask = np.ones(len(cells), dtype=bool)
    for column in cells.columns:
        if not column.null_count:
            return np.zeros(len(cells), dtype=bool)
        mask &= column.is_null().to_numpy()
    return mask


def _parse(
    body: pa.Buffer,
    layout: _Layout,
    name: str,
    blank: list[int],
    skip_empty: bool = False,
    text: int | bool = False,
) -> pa.Table:
    """Parse rows of equal length; append the positions of lines of white space to ``blank``.

    With ``text``, the columns as they are written: all, or the one at that position.
    """
    names = [str(number) for number in range(len(layout.names))]
    texts = names if text is True else [] if text is False else [str(text)]
    only = "0" if skip_empty else None if isinstance(text, bool) else str(text)
    wrong: list[pyarrow.csv.InvalidRow] = []

    def handle(row: pyarrow.csv.InvalidRow) -> str:
        if not row.text.strip():
            blank.append(row.number - 1)
            return "skip"
        wrong.append(row)
        return "error"

    try:
        return pyarrow.csv.read_csv(
            pa.BufferReader(body),
            read_options=pyarrow.csv.ReadOptions(
                use_threads=False,  # otherwise invalid rows come without their number
                block_size=min(len(body) + 1, 2**31 - 1),  # records may be of any length
                column_names=names,
            ),
            parse_options=pyarrow.csv.ParseOptions(
                delimiter=layout.delimiter,
                newlines_in_values=True,
                ignore_empty_lines=skip_empty,
                invalid_row_handler=handle,
            ),
            convert_options=pyarrow.csv.ConvertOptions(
                null_values=["", *MISSING],
                strings_can_be_null=not texts,
                column_types=dict.fromkeys(texts, pa.string()),
                true_values=[],
                false_values=[],
                include_columns=None if only is None else [only],
            ),
        )
    except pa.ArrowException as error:
        reason = (
            _ragged(wrong[0], layout)
            if wrong
            else f"{shown(name)} can't be read as CSV: {shown(error, 150)}."
        )
        raise InputError(reason) from None


def _ragged(row: pyarrow.csv.InvalidRow, layout: _Layout) -> str:
    """Sentence for a row with too many or too few fields."""
    mark = DELIMITERS[layout.delimiter]
    if row.text.count('"') % 2:
        way_out = "close the quotation mark that is open."
    elif row.expected_columns == 1:
        way_out = f"separate all rows alike; these fields are separated by a {mark}."
    elif row.actual_columns < row.expected_columns:
        way_out = f"add the missing {mark}."
    elif mark == "comma":
        way_out = "quote text with a comma; with decimal commas, separate by semicolons."
    else:
        way_out = f"remove a {mark}, or put quotes around text that contains one."
    return (
        f"row {layout.first_row + row.number - 1} has {row.actual_columns:,} "
        f"field{'s' * (row.actual_columns != 1)} where the "
        f"{'header' if layout.header else 'first row'} has {row.expected_columns:,}: {way_out}"
    )


# --- binary formats -------------------------------------------------------------------


def _npy(file: _File) -> NDArray[np.generic]:
    """Read an array without ever unpickling; the values are not copied."""
    name, data = shown(file.name), file.data
    if not data.startswith(_NPY):
        raise InputError(f"{name} is no .npy file: write one array with numpy.save.")
    stream = io.BytesIO(data)
    formats = np.lib.format
    try:
        with warnings.catch_warnings():  # about headers of old or damaged files
            warnings.simplefilter("ignore")
            first_version = formats.read_magic(stream)[0] == 1
            # Version 3 differs from 2 only in how field names are encoded.
            read = formats.read_array_header_1_0 if first_version else formats.read_array_header_2_0
            shape, fortran, dtype = read(stream)
    except Exception:  # NumPy evaluates the header as a Python literal: many errors are possible
        raise InputError(
            f"{name} has a damaged .npy header: write it again with numpy.save."
        ) from None
    if dtype.hasobject:
        raise InputError(
            f"{name} holds pickled Python objects, which are never loaded: convert the array to "
            "numbers and save it again."
        )
    size = math.prod(shape) * dtype.itemsize
    if min(shape, default=0) < 0 or stream.tell() + size > len(data):
        raise InputError(
            f"{name} is cut off, {_megabytes(max(size, 0))} of values are announced but "
            f"{_megabytes(len(data) - stream.tell())} are there: transfer or save it again."
        )
    if len(shape) > 32:
        raise InputError(f"{name} has shape {shown(shape)}: give rows and columns of numbers.")
    if not size:
        return np.empty(shape, dtype)
    values = np.frombuffer(data, dtype, count=math.prod(shape), offset=stream.tell())
    return values.reshape(shape, order="F" if fortran else "C")


def _from_array(array: NDArray[Any], name: str) -> Table:
    """Make a table of an array (n, d), or of the fields of a structured array (n,)."""
    if array.dtype.names and array.ndim == 1:
        fields = {field: array[field] for field in array.dtype.names}
        flat = {field: _field(values) for field, values in fields.items()}
        return _of_columns(flat, name)
    if array.ndim != 2 or not array.shape[1]:
        raise InputError(
            f"{shown(name)} has shape {shown(array.shape)}: give an array of two axes, one row "
            "per record and one column per value."
        )
    plain = _native(array, name)
    return _table(pd.DataFrame(plain, copy=False), name, named=False)


def _native(array: NDArray[np.generic], name: str) -> NDArray[np.generic]:
    """Return real numbers in a type that pandas computes with."""
    if array.dtype.kind not in "iuf":
        raise InputError(
            f"{shown(name)} has values of type {shown(array.dtype)}: convert them to whole or "
            "floating-point numbers."
        )
    if isinstance(array, np.ma.MaskedArray):
        array = np.ma.filled(array.astype(np.float64), np.nan)
    if array.dtype.kind != "f":
        return array.astype(array.dtype.newbyteorder("="), copy=False)
    with np.errstate(all="ignore"):  # a wider float may overflow: that gives an infinity
        return array.astype(np.float64, copy=False)


def _field(values: NDArray[np.generic]) -> pd.Series | None:
    """One field of a structured array, where it is a column of numbers or text."""
    if values.ndim != 1:
        return None
    if values.dtype.kind in "iuf":
        return pd.Series(_native(values, ""))
    try:
        if values.dtype.kind == "S":
            values = np.strings.decode(values.astype(np.bytes_), "latin-1")
        return _series(pa.chunked_array([pa.array(values.tolist())]))
    except (pa.ArrowException, ValueError, TypeError, SystemError):  # the last: no Unicode
        return None


def _parquet(file: _File) -> pa.Table:
    """Read a Parquet file into memory, unless that would take far more than its limit."""
    try:
        reader = pyarrow.parquet.ParquetFile(pa.BufferReader(file.data))
        cells = reader.metadata.num_rows * reader.metadata.num_columns
        table = reader.read() if 2 * cells <= file.limit else None
        names = None if table is None else table.column_names
    except Exception:  # damaged files raise errors of many kinds, MemoryError among them
        raise InputError(
            f"{shown(file.name)} is no whole Parquet file, perhaps cut off: transfer or write it "
            "again."
        ) from None
    if names is None:
        raise InputError(_too_large(file.name, f"{cells:,} cells", file.limit))
    return table


def _from_arrow(table: pa.Table, name: str) -> Table:
    """Make a table of the flat columns of an Arrow table."""
    _check_width(table.num_columns, name)
    names = _unique(table.column_names)
    return _of_columns(
        {column: _series(cells) for column, cells in zip(names, table.columns, strict=True)}, name
    )


def _series(column: pa.ChunkedArray) -> pd.Series | None:
    """Numbers, truth values or text (dates become text) in pandas; None for anything else."""
    types, kind = pa.types, column.type
    try:
        # Text of a damaged file may be no UTF-8; a date out of range is just odd text.
        column.validate(full=not types.is_temporal(kind))
        if types.is_dictionary(kind):
            column = column.cast(kind.value_type)
            kind = column.type
        if types.is_decimal(kind) or types.is_null(kind):
            column = column.cast(pa.float64())
        elif types.is_temporal(kind):
            column = column.cast(pa.string())
        elif not (
            types.is_integer(kind)
            or types.is_floating(kind)
            or types.is_boolean(kind)
            or types.is_string(kind)
            or types.is_large_string(kind)
            or types.is_string_view(kind)
        ):
            return None
        # Long numbers, used as identifiers, would lose digits as floats.
        return column.to_pandas(types_mapper=_WHOLE.get if column.null_count else None)
    except (pa.ArrowException, ValueError, TypeError):
        return None


# --- tables ---------------------------------------------------------------------------


def _of_columns(columns: dict[str, pd.Series | None], name: str) -> Table:
    """Make a table of the columns that could be read; a note names the others."""
    flat = {column: cells for column, cells in columns.items() if cells is not None}
    others = [column for column in columns if column not in flat]
    notes = (f"Left out, for they hold neither numbers nor text: {listed(others)}.",)
    if columns and not flat:
        raise InputError(f"{shown(name)} has no column of numbers: {listed(others)} can't be read.")
    return _table(_frame(list(flat.values()), list(flat)), name, notes=notes if others else ())


def _frame(columns: Sequence[pd.Series], names: Sequence[str]) -> pd.DataFrame:
    """Put columns side by side without copying them."""
    frame = pd.DataFrame(dict(enumerate(columns)), copy=False)
    frame.columns = pd.Index(names, dtype=object)
    return frame


def _table(
    frame: pd.DataFrame,
    name: str,
    *,
    first_row: int = 1,
    named: bool = True,
    decimal_comma: bool = False,
    notes: tuple[str, ...] = (),
    doubtful: tuple[int, ...] = (),
    written: _Written | None = None,
) -> Table:
    """Give columns unique names and turn text into numbers where every cell is one."""
    if not frame.shape[1]:
        raise InputError(
            f"{shown(name)} has no column: give a table with one row of numbers per record."
        )
    _check_width(frame.shape[1], name)
    names = _unique([str(column) if named else "" for column in frame.columns])
    columns, commas = [], []
    for column, (_, cells) in zip(names, frame.items(), strict=True):
        comma = False
        if not is_numeric(cells):
            cells, comma = numbers_from_text(cells, decimal_comma)
        columns.append(cells)
        if comma:
            commas.append(column)
    if commas:
        notes = (*notes, f"Decimal commas are read as points (3,14 as 3.14) in {listed(commas)}.")
    source, frame = frame, _frame(columns, names)
    return Table(
        name=name,
        frame=frame,
        first_row=first_row,
        notes=notes,
        doubtful=tuple(names[axis] for axis in doubtful),
        written=written or (lambda axis: source.iloc[:, axis]),
    )


def _check_width(columns: int, name: str) -> None:
    """Refuse more columns than anybody chooses from."""
    if columns > MAX_COLUMNS:
        raise InputError(
            f"{shown(name)} has {columns:,} columns; the limit is {MAX_COLUMNS:,}: "
            "give only the columns that are needed."
        )


def _unique(names: Sequence[str]) -> list[str]:
    """Printable names, none empty and none twice."""
    taken: dict[str, int] = {}  # how often each name was wanted
    unique = []
    for number, raw in enumerate(names, start=1):
        name = "".join(char if char.isprintable() else " " for char in raw)
        name = wanted = " ".join(name.split()) or f"column {number}"
        while name in taken:
            taken[wanted] += 1
            name = f"{wanted} ({taken[wanted]})"
        taken[name] = 1
        unique.append(name)
    return unique


# --- counts ---------------------------------------------------------------------------


def _grid(
    source: Source, name: str | None, limit: int
) -> tuple[str, NDArray[np.generic], Table | None]:
    """Name, values, and the table that they come from, where it was none of NumPy's arrays."""
    if isinstance(source, np.ndarray):
        return name or "data", source, None
    if isinstance(source, pd.DataFrame | pa.Table):
        table = read_table(source, name=name)
    else:
        file = _File.load(source, name, limit)
        if file.kind == "npy":
            return file.name, _npy(file), None
        parquet = file.kind == "parquet"
        table = (
            _from_arrow(_parquet(file), file.name) if parquet else _from_text(file, header=False)
        )
    return table.name, _matrix(table), table


def _matrix(table: Table) -> NDArray[np.float64]:
    """All columns as floats (rows, columns)."""
    _check_cells(table.frame.shape, table.name)
    way_out = "a grid of counts holds whole numbers only and has no header"
    return np.column_stack([table.numbers(axis, way_out) for axis in range(table.frame.shape[1])])


def _check_cells(shape: tuple[int, ...], name: str) -> None:
    """Refuse shapes that are no grid."""
    sides = " x ".join(f"{side:,}" for side in shape)
    if len(shape) < 2 or min(shape) < 2:
        raise InputError(
            f"{shown(name)} has {shown(sides) or 'a single'} cells: a grid of counts needs two or "
            "more axes with at least 2 cells each."
        )
    if math.prod(shape) > MAX_CELLS:
        raise InputError(
            f"{shown(name)} has {shown(sides)} = {math.prod(shape):,} cells, more than the "
            f"{MAX_CELLS:,} that fit into memory: merge cells."
        )


def _whole_numbers(cells: NDArray[np.generic], name: str, rows: Table | None) -> NDArray[np.int64]:
    """Return the counts as integers, or say which cell is no count."""
    values = _native(cells, name)
    _check_cells(values.shape, name)
    with np.errstate(invalid="ignore"):  # signalling NaN
        whole = (values >= 0) & (values < MAX_COUNT)  # type: ignore[operator]
        if values.dtype.kind == "f":
            whole &= values == np.floor(values)
    if not whole.all():
        place = np.unravel_index(int(whole.argmin()), whole.shape)
        raise InputError(
            f"{_place(place, rows)} holds {values[place]:g}: counts are whole numbers "
            "from 0 to 2**53; correct the cell."
        )
    counts = np.array(values, dtype=np.int64, order="C")
    # The sum of integers might wrap around; the sum of floats is close enough to tell.
    if counts.sum(dtype=np.float64) > 2 * MAX_COUNT or int(counts.sum()) >= MAX_COUNT:
        raise InputError(f"{shown(name)} has counts whose sum is not below 2**53: rescale them.")
    if not counts.any():
        raise InputError(f"{shown(name)} has counts that are all 0: give at least one record.")
    return counts


def _cut_counts(cells: NDArray[np.generic], name: str) -> NDArray[np.int64]:
    """Return the counts as integers, large ones cut; that one is no count is said of none."""
    values = _native(cells, name)
    _check_cells(values.shape, name)
    with np.errstate(invalid="ignore"):  # signalling NaN
        whole = values >= 0  # type: ignore[operator]
        if values.dtype.kind == "f":
            whole &= np.isfinite(values) & (values == np.floor(values))
    # No record makes a count negative or broken, so this tells of none.
    if not whole.all():
        raise InputError(
            f"{shown(name)} holds a cell that is no count: counts are whole numbers from 0; "
            "explore the grid to see which cell it is."
        )
    most = MAX_COUNT // values.size
    return np.array(np.minimum(values, most), dtype=np.int64, order="C")


def _place(place: tuple[np.intp, ...], rows: Table | None) -> str:
    """Say where a cell is, counted from 1."""
    if rows is not None:
        return f"row {rows.row(int(place[0]))}, column {place[1] + 1}"
    if len(place) == 2:
        return f"row {place[0] + 1}, column {place[1] + 1}"
    return f"cell {', '.join(str(index + 1) for index in place)}"
