"""Read tables, and grids of counts, from files, uploads and objects in memory.

Whatever the bytes, the only error is :class:`~dpviz.errors.InputError`, with one
sentence that names the place and the way out. Parsing is left to pyarrow and NumPy;
pickled content is never loaded.
"""

from __future__ import annotations

import gzip
import io
import math
import os
import re
import warnings
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, BinaryIO, Literal, TypeAlias

import numpy as np
import pandas as pd
import pyarrow as pa
from numpy.typing import NDArray

from dpviz.data.dataset import Dataset
from dpviz.data.reading.arrow import ArrowCells, readable
from dpviz.data.reading.parquet import MAGIC, ParquetCells
from dpviz.data.reading.table import (
    Cells,
    Table,
    Unreadable,
    as_text,
    enough_memory,
    is_numeric,
    megabytes,
)
from dpviz.data.reading.text import (
    TextCells,
    check_text,
    check_width,
    layout_of,
    lines_alone,
    without_runs_of_spaces,
)
from dpviz.domain import MAX_CELLS, Domain
from dpviz.errors import InputError, listed, shown

Source: TypeAlias = (
    "str | os.PathLike[str] | bytes | bytearray | memoryview | BinaryIO | pd.DataFrame "
    "| pa.Table | NDArray[np.generic]"
)

#: Larger files are refused: all bytes are held in memory.
MAX_BYTES = 2 * 2**30

#: Memory that reading a file may take: so many times its size, and so much more. A small file may
#: unpack to anything, and more than this is nobody's table.
_TIMES, _MORE = 4, 2**30

#: Part of that for the block that is being parsed, and what else comes and goes.
_WORKING = 2**27

#: Total of the largest grid: beyond it floats skip whole numbers.
MAX_COUNT = 2**53

_NPY, _GZIP = b"\x93NUMPY", b"\x1f\x8b"

#: Bytes in which the header of a .npy file ends; NumPy refuses longer ones.
_NPY_HEADER = 2**17

#: Rows of an array that are looked at together.
_ROWS = 2**16

Kind: TypeAlias = Literal["text", "npy", "parquet"]
_KINDS: dict[str, Kind] = {
    ".csv": "text",
    ".tsv": "text",
    ".txt": "text",
    ".npy": "npy",
    ".parquet": "parquet",
    ".pq": "parquet",
}


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
        Reading takes at most four times the size of a file and 1 GB of memory.
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
    of Parquet and NumPy files, and whether those files are whole. Rows that would not fit into the
    memory for a file of its size are refused without telling how many there are.
    """
    if isinstance(header, str) and unreadable == "refuse":
        raise InputError(f'header = "{shown(header)}" goes with unreadable = "missing" alone.')
    with enough_memory(name or "the table"):
        table = _read(source, name, header, max_bytes, unreadable)
    if not table.rows and unreadable == "refuse":
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
        return _from_frame(source, name or "data")
    if isinstance(source, pa.Table):
        return _from_arrow(source, name or "data")
    limit = MAX_BYTES if max_bytes is None else max_bytes
    file = _File.load(source, name, limit, headless=isinstance(header, str))
    if file.kind == "npy":
        return _from_array(_npy(file), file.name, file.memory)
    if file.kind == "parquet":
        return _from_parquet(file)
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
        As in :func:`read_table`: an array of one or more axes, or a table without
        header whose rows run along the first axis (the only one, if it has one column).
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
    with enough_memory(name or "the grid"):
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
    """Unpacked bytes, what they are, and how much memory their values may take."""

    name: str
    kind: Kind
    data: bytes
    memory: int

    @classmethod
    def load(cls, source: object, name: str | None, limit: int, *, headless: bool = False) -> _File:
        """Read and unpack, never more than ``limit`` bytes.

        Without a header the first bytes belong to a record, so the kind of file must not be read
        off them.
        """
        own, data = _raw(source, limit)
        memory = _TIMES * len(data) + _MORE
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
            data = _unpacked(data, name, min(limit, memory // 2))
        memory -= len(data) + _WORKING
        if headless:
            return cls(name, _KINDS.get(ending, "text"), data, memory)
        if not re.search(rb"\S", data):
            raise InputError(
                f"{shown(name)} is empty: give a file with one row of numbers per record."
            )
        return cls(name, _KINDS.get(ending) or _sniffed(data), data, memory)


def _sniffed(data: bytes) -> Kind:
    """Kind of a file whose name doesn't tell, from its first bytes."""
    if data.startswith(_NPY):
        return "npy"
    return "parquet" if data.startswith(MAGIC) else "text"


def _raw(source: object, limit: int) -> tuple[str | None, bytes]:
    """File name, where there is one, and the bytes as they are stored."""
    if isinstance(source, bytes | bytearray | memoryview):
        own, data = None, bytes(source)
    elif isinstance(source, str | os.PathLike):
        own = Path(source).name
        size = 0
        try:
            with Path(source).open("rb") as file:
                size = os.fstat(file.fileno()).st_size
                data = _at_most(file.read, limit) if size <= limit else b""
        except (OSError, ValueError) as error:  # ValueError: NUL in the name
            raise InputError(_unreadable(str(source), error)) from None
        if size > limit:
            raise InputError(_too_large(own, megabytes(size), limit))
    elif hasattr(source, "read"):
        own = getattr(source, "name", None)
        own = Path(own).name if isinstance(own, str) else None
        try:
            # An upload may have been read before: take it from its beginning.
            data = (
                source.getvalue() if hasattr(source, "getvalue") else _at_most(source.read, limit)
            )
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
        raise InputError(_too_large(own or "data", f"more than {megabytes(limit)}", limit))
    return own, data


def _at_most(read: Callable[[int], Any], limit: int) -> Any:
    """Read to the end, or just beyond ``limit`` bytes, without room for more than is there."""
    stream = io.BytesIO()
    while stream.tell() <= limit and (piece := read(min(2**24, limit + 1 - stream.tell()))):
        if isinstance(piece, str):
            return piece
        stream.write(piece)
    return stream.getvalue()


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


def _too_large(name: str, size: str, limit: int) -> str:
    """Sentence for a file over the limit."""
    return (
        f"{shown(name)} has {size}; the limit is {megabytes(limit)}: give fewer rows, for example "
        "a random sample of them."
    )


def _unpacked(data: bytes, name: str, limit: int) -> bytes:
    """Unpack gzip, stopping right after ``limit`` bytes."""
    try:
        with gzip.GzipFile(fileobj=io.BytesIO(data)) as file:
            unpacked: bytes = _at_most(file.read, limit)
    except (OSError, EOFError, zlib.error):
        raise InputError(
            f"{shown(name)} is a damaged gzip file, perhaps cut off: transfer or compress it again."
        ) from None
    if len(unpacked) > limit:
        raise InputError(_too_large(name, f"more than {megabytes(limit)} unpacked", limit))
    return unpacked


# --- arrays and frames ----------------------------------------------------------------


def _npy(file: _File) -> NDArray[np.generic]:
    """Read an array without ever unpickling; the values are not copied."""
    name, data = shown(file.name), file.data
    if not data.startswith(_NPY):
        raise InputError(f"{name} is no .npy file: write one array with numpy.save.")
    stream = io.BytesIO(data[:_NPY_HEADER])
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
    # True is a whole number for Python, and a header may announce any number of digits.
    if any(type(side) is not int or not 0 <= side < 2**63 for side in shape):
        raise InputError(
            f"{name} has a .npy header whose shape is none: write it again with numpy.save."
        )
    room = math.prod(max(side, 1) for side in shape) * max(dtype.itemsize, 1)
    if dtype.subdtype or not dtype.itemsize or len(shape) > 32 or room >= 2**63:
        raise InputError(f"{name} has shape {shown(shape)}: give rows and columns of numbers.")
    start, size = stream.tell(), math.prod(shape) * dtype.itemsize
    if start + size > len(data):
        raise InputError(
            f"{name} is cut off, its header announces shape {shown(shape)} but only "
            f"{megabytes(len(data) - start)} of values are there: transfer or save it again."
        )
    if not size:
        return np.empty(shape, dtype)
    values = np.frombuffer(data, dtype, count=math.prod(shape), offset=start)
    return values.reshape(shape, order="F" if fortran else "C")


def _from_array(array: NDArray[Any], name: str, memory: int | None = None) -> Table:
    """Make a table of an array (n, d), or of the fields of a structured array (n,)."""
    if array.dtype.names and array.ndim == 1:
        names = array.dtype.names
        flat = [axis for axis, field in enumerate(names) if _is_field(array[field])]
        cells = _ArrayCells([array[names[axis]] for axis in flat], len(array))
        return _table(name, names, cells, flat=flat, memory=memory)
    if array.ndim != 2 or not array.shape[1]:
        raise InputError(
            f"{shown(name)} has shape {shown(array.shape)}: give an array of two axes, one row "
            "per record and one column per value."
        )
    _check_real(array, name)
    check_width(array.shape[1], name)
    columns = [array[:, axis] for axis in range(array.shape[1])]
    return _table(name, [""] * len(columns), _ArrayCells(columns, len(array)), memory=memory)


def _check_real(array: NDArray[np.generic], name: str) -> None:
    """Refuse values that are no real numbers."""
    if array.dtype.kind not in "iuf":
        raise InputError(
            f"{shown(name)} has values of type {shown(array.dtype)}: convert them to whole or "
            "floating-point numbers."
        )


def _native(array: NDArray[Any]) -> NDArray[Any]:
    """Return real numbers in a type that Arrow and pandas compute with."""
    if isinstance(array, np.ma.MaskedArray):
        array = np.ma.filled(array.astype(np.float64), np.nan)
    if array.dtype.kind != "f":
        return array.astype(array.dtype.newbyteorder("="), copy=False)
    with np.errstate(all="ignore"):  # a wider float may overflow: that gives an infinity
        return array.astype(np.float64, copy=False)


class _ArrayCells(Cells):
    """Columns of an array, or fields of a structured one.

    Parameters
    ----------
    columns
        One array (n,) for each.
    rows
        n.
    """

    def __init__(self, columns: list[NDArray[Any]], rows: int) -> None:
        self._columns, self.rows = columns, rows
        widest = max((column.dtype.itemsize for column in columns), default=1)
        self._step = max(1, min(_ROWS, 2**26 // max(widest, len(columns))))

    def blocks(self, axes: Sequence[int]) -> Iterator[list[pa.Array]]:
        """Successive rows of some columns."""
        for start in range(0, self.rows, self._step):
            yield [_cells(self._columns[axis][start : start + self._step]) for axis in axes]


def _is_field(values: NDArray[Any]) -> bool:
    """Tell whether a field of a structured array is a column of numbers or text."""
    if values.ndim != 1 or values.dtype.kind not in "iufbSUMmO":
        return False
    step = max(1, 2**22 // max(values.dtype.itemsize, 1))
    try:
        _cells(values[:1])
        if values.dtype.kind == "U":  # a damaged file may hold what is no character
            for start in range(0, len(values), step):
                _cells(values[start : start + step])
    except (pa.ArrowException, ValueError, TypeError, SystemError):  # the last: no Unicode
        return False
    return True


def _cells(values: NDArray[Any]) -> pa.Array:
    """Values (m,) of an array as Arrow's."""
    kind = values.dtype.kind
    if kind in "iuf":
        return pa.array(_native(values))
    if kind == "O":
        return _frame_cells(pd.Series(values))
    if kind == "S":
        values = np.strings.decode(values.astype(np.bytes_), "latin-1")
    texts = values.astype(str).tolist()
    gone = np.isnat(values) if kind in "Mm" else None
    return pa.array(texts, type=pa.large_string(), mask=gone)


class _FrameCells(Cells):
    """Columns of a pandas DataFrame."""

    def __init__(self, frame: pd.DataFrame) -> None:
        self._frame, self.rows = frame, len(frame)

    def blocks(self, axes: Sequence[int]) -> Iterator[list[pa.Array]]:
        """All rows of some columns at once: they are in memory."""
        if self.rows:
            yield [_frame_cells(self._frame.iloc[:, axis]) for axis in axes]

    def written(self, axis: int) -> Iterator[pd.Series]:
        """Cells as pandas has them."""
        yield self._frame.iloc[:, axis]


def _frame_cells(column: pd.Series) -> pa.Array:
    """Numbers or text of a column."""
    if is_numeric(column):
        with np.errstate(all="ignore"):  # a wider float may overflow: that gives an infinity
            return pa.array(column.to_numpy(dtype=np.float64, na_value=np.nan))
    try:
        cells = pa.array(column, type=pa.large_string(), from_pandas=True)
    except (pa.ArrowException, TypeError, ValueError):  # mixed types
        gone = column.isna()
        texts = [None if skip else as_text(cell) for cell, skip in zip(column, gone, strict=True)]
        cells = pa.array(texts, type=pa.large_string())
    return cells.combine_chunks() if isinstance(cells, pa.ChunkedArray) else cells


# --- tables ---------------------------------------------------------------------------


def _from_text(file: _File, header: bool | None) -> Table:
    """Read CSV and its relatives."""
    check_text(file.data, file.name)
    data, spaced = without_runs_of_spaces(file.data)
    layout = layout_of(data, file.name, header)
    cells = TextCells(data, layout, file.name, judge=True)
    if not cells.rows:
        raise InputError(
            f"{shown(file.name)} holds only a header: add at least one row of numbers below it."
        )
    notes = (*spaced, *layout.notes)
    names = _unique(layout.names)
    commas = [names[axis] for axis, kind in cells.kinds.items() if kind == "comma"]
    if commas:
        notes = (*notes, f"Decimal commas are read as points (3,14 as 3.14) in {listed(commas)}.")
    return replace(
        _table(file.name, names, cells, memory=file.memory),
        first_row=layout.first_row,
        notes=notes,
        doubtful=tuple(names[axis] for axis in layout.doubtful),
        kinds=cells.kinds,
    )


def _from_lines(file: _File, header: bool | str | None) -> Table:
    """Read CSV so that no line has a say in how the others are read: every cell is text."""
    data, layout = lines_alone(file.data, file.name, header)
    # Every line has as many fields as the first, so only that one counts.
    cells = TextCells(data, layout, file.name, judge=False)
    names = _unique(layout.names)
    return replace(
        _table(file.name, names, cells, memory=file.memory),
        doubtful=tuple(names[axis] for axis in layout.doubtful),
        decimal_comma=layout.delimiter != ",",
    )


def _from_parquet(file: _File) -> Table:
    """Make a table of the flat columns of a Parquet file."""
    cells = ParquetCells(file.data, file.name, file.memory)
    return _table(file.name, cells.names, cells, flat=cells.flat, memory=file.memory)


def _from_arrow(table: pa.Table, name: str) -> Table:
    """Make a table of the flat columns of an Arrow table."""
    check_width(table.num_columns, name)
    flat = [axis for axis, field in enumerate(table.schema) if readable(field.type)]
    return _table(name, table.column_names, ArrowCells(table.select(flat)), flat=flat)


def _from_frame(frame: pd.DataFrame, name: str) -> Table:
    """Make a table of a pandas DataFrame."""
    check_width(frame.shape[1], name)
    return _table(name, [str(column) for column in frame.columns], _FrameCells(frame))


def _table(
    name: str,
    columns: Sequence[str],
    cells: Cells,
    *,
    flat: Sequence[int] | None = None,
    memory: int | None = None,
) -> Table:
    """Give columns unique names; only those at the positions ``flat`` have cells."""
    unique = _unique(columns)
    flat = range(len(unique)) if flat is None else flat
    others = listed(unique[axis] for axis in sorted({*range(len(unique))} - {*flat}))
    if not flat:
        raise InputError(
            f"{shown(name)} has no column of numbers: {others} can't be read."
            if others
            else f"{shown(name)} has no column: give a table with one row of numbers per record."
        )
    note = f"Left out, for they hold neither numbers nor text: {others}."
    table = Table(
        name=name,
        columns=tuple(unique[axis] for axis in flat),
        cells=cells,
        notes=(note,) if others else (),
        memory=memory,
    )
    table.check_memory(1)
    return table


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
        table = _from_parquet(file) if parquet else _from_text(file, header=False)
    return table.name, _matrix(table), table


def _matrix(table: Table) -> NDArray[np.float64]:
    """All columns as floats (rows, columns); one column is one axis."""
    shape = (table.rows, len(table.columns))
    _check_cells(shape[: 1 + (shape[1] > 1)], table.name)
    way_out = "a grid of counts holds whole numbers only and has no header"
    matrix = np.empty(shape)
    start = 0
    for values in table.numbers(range(shape[1]), way_out):
        matrix[start : start + len(values)] = values
        start += len(values)
    return matrix if shape[1] > 1 else matrix[:, 0]


def _check_cells(shape: tuple[int, ...], name: str) -> None:
    """Refuse shapes that are no grid."""
    sides = " x ".join(f"{side:,}" for side in shape)
    if min(shape, default=0) < 2:
        raise InputError(
            f"{shown(name)} has {shown(sides) or 'a single'} cells: a grid of counts needs at "
            "least 2 cells on each axis."
        )
    if math.prod(shape) > MAX_CELLS:
        raise InputError(
            f"{shown(name)} has {shown(sides)} = {math.prod(shape):,} cells, more than the "
            f"{MAX_CELLS:,} that fit into memory: merge cells."
        )


def _grid_values(cells: NDArray[np.generic], name: str) -> NDArray[Any]:
    """Real numbers of a grid that fits into memory."""
    _check_real(cells, name)
    _check_cells(cells.shape, name)
    return _native(cells)


def _whole_numbers(cells: NDArray[np.generic], name: str, rows: Table | None) -> NDArray[np.int64]:
    """Return the counts as integers, or say which cell is no count."""
    values = _grid_values(cells, name)
    with np.errstate(invalid="ignore"):  # signalling NaN
        whole = (values >= 0) & (values < MAX_COUNT)
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
    values = _grid_values(cells, name)
    with np.errstate(invalid="ignore"):  # signalling NaN
        whole = values >= 0
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
        return f"row {rows.row(int(place[0]))}, column {place[-1] + 1 if len(place) > 1 else 1}"
    if len(place) == 2:
        return f"row {place[0] + 1}, column {place[1] + 1}"
    return f"cell {', '.join(str(index + 1) for index in place)}"
