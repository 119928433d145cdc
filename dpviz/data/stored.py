"""Records that remain in their files or arrays: every pass reads them again, part by part.

A part is a file, some row groups of a large Parquet file, or an array. The memory of a pass depends
only on the size of its tables (see :mod:`dpviz.data.engine`), not on the number of records.
"""

from __future__ import annotations

import codecs
import glob
import os
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpviz.base.arrays import Floats, Mask
from dpviz.base.errors import InputError, listed, shown
from dpviz.base.formats import FORMATS
from dpviz.base.lazy import parquet as pq
from dpviz.base.lazy import pyarrow as pa
from dpviz.base.numbers import counted
from dpviz.data.dataset import position_of, positions_of
from dpviz.data.engine.tables import Part
from dpviz.data.geographic import check_bounds
from dpviz.data.listing import ENDINGS, PARQUET, mark_of, no_traceback, opened, paths_of
from dpviz.data.reading.files import MAX_BYTES
from dpviz.data.reading.kinds import LARGEST, holds_numbers, plain, readable
from dpviz.data.source import ADDRESS, PATTERN, local_path
from dpviz.grid.domain import Domain
from dpviz.privacy.origin import Origin, origins

# Counting Parquet files takes less memory if the modules for text are not imported.
if TYPE_CHECKING:
    from dpviz.data.explore.rows import Options
    from dpviz.data.explore.text import Batch, Form
    from dpviz.data.reading.cells import Style
    from dpviz.data.reading.table import Table

#: Number of records that each thread of a pass has in memory at a time.
CHUNK = 2**16

#: Number of bytes that the Parquet reader requests at a time, from a disk and over a network.
BUFFER, FAR_BUFFER = 2**18, 2**20

#: Parquet files with more rows than this are split into several parts by row groups.
PART_ROWS = 2**22

_DAMAGED = "is not a whole Parquet file, perhaps cut off"

#: Number of first bytes of a text file that decide its columns, and number of bytes per block.
_HEAD, _BLOCK = 2**18, 2**23

Where: TypeAlias = (
    "str | os.PathLike[str] | NDArray[np.generic] | Sequence[ArrayLike] | Iterator[ArrayLike] "
    "| Callable[[], Iterable[ArrayLike]]"
)


@dataclass(frozen=True, kw_only=True, eq=False)
class Stored:
    """Records in parts. Every pass reads them again."""

    name: str  # for the screen
    columns: tuple[str, ...]  # the chosen columns, one per axis
    parts: tuple[Part, ...]  # sums are added in this order
    domain: Domain | None = None  # public bounds, if declared
    dropped: int = 0  # rows that were left out before the first pass
    notes: tuple[str, ...] = ()  # sentences about earlier steps
    unit: str | None = None  # column of persons, if records per person were capped
    origins: tuple[Origin, ...] = ()  # the files that are read, and their folder
    aside: tuple[str, ...] | None = None  # columns not proposed; None if the user chose

    @property
    def ndim(self) -> int:
        """Number of columns."""
        return len(self.columns)


def is_stored(source: object) -> bool:
    """Whether a path is a folder, a pattern, an address in a store, or too large for memory."""
    if not isinstance(source, str | os.PathLike):
        return False
    text = local_path(os.fspath(source))
    if ADDRESS.match(text) or os.path.isdir(text):
        return True
    if os.path.isfile(text):
        return text.lower().endswith((*ENDINGS, ".npy")) and os.path.getsize(text) > MAX_BYTES
    return "\0" not in text and bool(PATTERN.search(text)) and not os.path.exists(text)


def stored(
    source: Where,
    columns: Sequence[str | int] | None = None,
    *,
    name: str | None = None,
    domain: Domain | None = None,
    unit: str | None = None,
    leave_out: bool = False,
    options: Options | None = None,
) -> Stored:
    """Open records, but do not read them into memory.

    Parameters
    ----------
    source
        A Parquet, CSV or TSV file (text may be gzipped); a folder of such files, except hidden
        files (which start with a dot or underscore); a pattern such as ``"trips/2024-*.parquet"``;
        an address in an object store that pyarrow or fsspec knows, such as
        ``"s3://bucket/folder"``; or a .npy file. Several files are read in the order of their
        names. The source may also be an array (n, d), a list of such arrays, an iterator of arrays
        for a single pass, or a function that returns a new iterator for each of any number of
        passes.
    columns
        By name or by number from 1; by default all columns that contain numbers.
    name
        Title of the data, by default the name of the file or folder.
    domain
        Declared bounds of the chosen columns, in their order.
    unit
        Column of persons. By default, this column is not among the ``columns``.
    leave_out
        For exploring only: whether to leave out unreadable rows of text. A row is unreadable if a
        cell is not a number, or if there are too many or too few fields.
    options
        The user's options for text files.

    Raises
    ------
    InputError
        If no file can be read, a file has other columns than the first file, or a chosen column
        does not contain numbers.

    Notes
    -----
    A row is left out, and counted, unless each chosen column has a finite number within ±1e300.
    """
    if isinstance(source, str | os.PathLike):
        source = local_path(os.fspath(source))
    if isinstance(source, str) and source.lower().endswith(".npy"):
        path = Path(source)
        with no_traceback(str(path), "is not a whole array of numbers"):
            # The file is memory-mapped: its pages are read on demand and need not remain in memory.
            found = _of_arrays(np.load(path, mmap_mode="r"), columns, name or path.name)
        found = replace(found, origins=origins(path))
    elif isinstance(source, str):
        found = _of_files(source, columns, name, unit, leave_out, options)
    else:
        found = _of_arrays(source, columns, name or "data")
    if domain is not None:
        domain.check_ndim(found.ndim, "chosen column", shown(found.name))
        check_bounds(found.columns, domain)
    return replace(found, domain=domain)


class _Rows:
    def rows(self) -> Iterator[Floats]:
        raise NotImplementedError

    def chunks(self) -> Iterator[tuple[Floats, int]]:
        """Chunks of finite records (m, d), each with its number of records that were left out."""
        for points in self.rows():
            known = whole_rows(points)
            yield (points, 0) if known is None else (points[known], int((~known).sum()))

    def check(self) -> None:
        """Raise InputError if a file has changed. Changes of arrays are not detected."""


# -- files -----------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class FilePart(_Rows):
    """A file in its state when it was opened. All machines read this file from the same path."""

    path: str
    columns: tuple[str, ...]  # the chosen ones
    mark: tuple[int, int]  # size, and time of the last change
    names: tuple[str, ...]  # of all columns
    rows_at_most: int
    leave_out: bool = False  # whether unreadable cells and rows of text count as missing

    @property
    def title(self) -> str:
        """Name of the file."""
        return self.path

    def batches(self, columns: Sequence[str]) -> Iterator[list[pa.Array]]:
        """Cells of some columns in batches of rows; the chosen columns are numbers."""
        raise NotImplementedError

    def head(self) -> Table:
        """First rows, which are used to propose columns."""
        from dpviz.data.reading.cells import TableCells
        from dpviz.data.reading.table import named_table

        batches = replace(self, leave_out=True).batches(self.columns)
        first = next(batches, [pa.nulls(0, pa.float64()) for _ in self.columns])
        cells = TableCells([pa.chunked_array([plain(one)]) for one in first])
        return named_table(self.title, self.columns, cells)

    def rows(self) -> Iterator[Floats]:
        """All records (m, d) chunk by chunk, NaN where a number is missing."""
        return map(as_points, self.batches(self.columns))

    def check(self) -> None:
        """Raise InputError if the file has changed."""
        if mark_of(self.path) != self.mark:
            raise InputError(
                f"{shown(self.path, 120)} has changed since it was opened: open the data again "
                "when nobody writes to it."
            )


@dataclass(frozen=True, kw_only=True)
class ParquetPart(FilePart):
    """Some row groups of a Parquet file, given by their numbers."""

    groups: tuple[int, ...]

    def batches(self, columns: Sequence[str]) -> Iterator[list[pa.Array]]:
        """Cells of some columns in batches of rows."""
        size = FAR_BUFFER if ADDRESS.match(self.path) else BUFFER
        with (
            no_traceback(self.path, _DAMAGED),
            opened(self.path) as file,
            # A small buffer takes a quarter of the memory that whole column chunks take. Columns
            # are read as dictionaries, because Arrow can't convert some texts to the type of a
            # stored dictionary.
            pq.ParquetFile(
                file, read_dictionary=list(columns), buffer_size=size, pre_buffer=False
            ) as table,
        ):
            for batch in table.iter_batches(
                CHUNK, row_groups=list(self.groups), columns=list(columns), use_threads=False
            ):
                yield [batch[column] for column in columns]


@dataclass(frozen=True, kw_only=True)
class TextPart(FilePart):
    """A text file, parsed block by block."""

    form: Form  # starts at the line of the first record
    encoding: str
    readings: tuple[tuple[Style, bool], ...]  # style of each column, and whether to tidy its cells
    missing: tuple[str, ...] = ()

    def batches(self, columns: Sequence[str]) -> Iterator[list[pa.Array]]:
        """Cells of some columns in batches of rows: chosen columns as numbers, others as text."""
        from dpviz.data.explore.text import parsed

        axes = [self.names.index(column) for column in columns]
        chosen = [self.names.index(column) for column in columns if column in self.columns]
        ragged = 0
        with no_traceback(self.path, "can't be read as rows of numbers"), opened(self.path) as file:
            lines = _lines(file, self.encoding, self.form.line)
            for batch in parsed(lines, self.form, axes, self.floats(chosen)):
                if batch.wrong and not self.leave_out:
                    line, _, many = batch.wrong[0]
                    usual = f"where others have {self.form.width:,}: correct it"
                    raise self._refusal(line, f"{counted(many, 'field')} {usual}")
                ragged += len(batch.wrong)
                for begin in range(0, len(batch.rows), CHUNK):
                    few = batch.rows.slice(begin, CHUNK).columns
                    yield [
                        self._numbers(axis, cells, batch, begin) if axis in chosen else cells
                        for axis, cells in zip(axes, few, strict=True)
                    ]
        if ragged:
            kinds = [pa.float64() if axis in chosen else pa.string() for axis in axes]
            yield [pa.nulls(ragged, kind) for kind in kinds]

    def floats(self, axes: Sequence[int]) -> dict[int, str]:
        """Decimal mark of each column; {} if marks differ or cells must be tidied first."""
        marks = {("point", False): ".", ("comma", False): ","}
        found = {axis: marks.get(self.readings[axis], "") for axis in axes}
        alike = len({*found.values()}) == 1 and "" not in found.values()
        return found if alike and not self.missing else {}

    def _numbers(self, axis: int, cells: pa.Array, batch: Batch, begin: int) -> pa.Array:
        from dpviz.data.explore.cells import marks_of, tidied
        from dpviz.data.reading.cells import as_numbers

        if pa.types.is_floating(cells.type):
            return cells
        (style, tidy), missing = self.readings[axis], marks_of(self.missing)
        cells = tidied(cells, missing) if tidy or self.missing else cells
        values, wrong = as_numbers(cells, style)
        if wrong.any() and not tidy:  # a missing-value mark that the first rows do not have
            values, wrong = as_numbers(tidied(cells, missing), style)
        if wrong.any() and not self.leave_out:
            at = int(wrong.argmax())
            cell, column = shown(cells[at].as_py()), shown(self.names[axis])
            raise self._refusal(
                batch.numbers()[begin + at],
                f'a cell that is not a number, "{cell}", in column "{column}": choose other '
                "columns, correct the cell",
            )
        return pa.array(values)

    def _refusal(self, row: int, what: str) -> InputError:
        way_out = "or leave such rows out (--leave-out on the command line)"
        return InputError(f"row {row} of {shown(self.path, 120)} has {what}, {way_out}.")


def _lines(file: Any, encoding: str, line: int) -> Iterator[bytes]:
    """Read a text from the line ``line`` on; yield blocks of whole lines in UTF-8."""
    from dpviz.data.explore.text import newlines

    decode = codecs.getincrementaldecoder(encoding)("replace").decode
    rest, skip = b"", line - 1
    for number, block in enumerate(chain(iter(lambda: file.read(_BLOCK), b""), [b""])):
        text = rest + (block if encoding == "utf-8" else decode(block, not block).encode())
        if not number:
            text = text.removeprefix(codecs.BOM_UTF8)
        # The last character may be the first half of a line break \r\n.
        end = max(text.rfind(b"\n"), text.rfind(b"\r", 0, -1)) + 1 if block else len(text)
        text, rest = newlines(text[:end]), text[end:]
        if skip:
            *gone, text = text.split(b"\n", skip)
            skip -= len(gone)
            text = b"" if skip else text
        if not block:
            text = text.rstrip(b"\x1a")
        if text:
            yield text


# -- finding files -----------------------------------------------------------------------------

#: For each known text: the bytes above its first record, its part, and its numeric columns.
_Known: TypeAlias = "dict[bytes, tuple[TextPart, tuple[str, ...]]]"


def _of_files(
    source: str,
    columns: Sequence[str | int] | None,
    name: str | None,
    unit: str | None,
    leave_out: bool,
    options: Options | None,
) -> Stored:
    paths, files, notes = paths_of(source)
    try:
        parts, names = _parts_of(paths, columns, unit, leave_out, options)
    except InputError as error:
        endings = Counter(Path(path).suffix for path in paths)
        if len(endings) == 1 or not os.path.isdir(source):
            raise
        pattern = os.path.join(glob.escape(source), f"*{endings.most_common(1)[0][0]}")
        way_out = f'for some of the files, give a pattern such as "{pattern}"'
        raise InputError(f"{str(error).rstrip('.')}; {way_out}.") from None
    title = name or Path(re.split(r"[*?\[]", source)[0].rstrip("/\\")).name or source
    return Stored(name=title, columns=names, parts=parts, notes=notes, origins=files)


def _parts_of(
    paths: Sequence[str],
    columns: Sequence[str | int] | None,
    unit: str | None,
    leave_out: bool,
    options: Options | None,
) -> tuple[tuple[Part, ...], tuple[str, ...]]:
    texts: _Known = {}
    found = [_opened_parts(path, options, texts) for path in paths]
    known = found[0][0][0].names
    # A file without rows does not show which columns contain numbers.
    numeric = next((one for _, one in found if one is not None), known)
    owner = None if unit is None else known[position_of(unit, known, paths[0])]
    default = [one for one in numeric if one in known and one != owner]
    wanted = default if columns is None else columns
    names = tuple(known[axis] for axis in positions_of(wanted, known, paths[0]))
    if not names:
        raise InputError(
            f"{shown(paths[0], 120)} has no column of numbers: name the columns to read, or give "
            "another file."
        )
    parts: list[Part] = []
    for path, (some, numbers) in zip(paths, found, strict=True):
        lacking = [one for one in names if one not in some[0].names]
        if lacking:
            raise InputError(
                f'{shown(path, 120)} has no column "{shown(lacking[0])}", which '
                f"{shown(Path(paths[0]).name)} has: give files with the same columns."
            )
        is_text = isinstance(some[0], TextPart)
        wrong = [one for one in names if numbers is not None and one not in numbers]
        if wrong and not (is_text and leave_out):
            choose = f"choose from {listed(numbers)}" if numbers else "give another file"
            way_out = ", or leave out rows without a number (--leave-out)" if is_text else ""
            raise InputError(
                f'column "{shown(wrong[0])}" of {shown(path, 120)} holds no numbers: '
                f"{choose}{way_out}."
            )
        parts += [replace(one, columns=names, leave_out=leave_out) for one in some]
    return tuple(parts), names


def _opened_parts(
    path: str, options: Options | None, known: _Known
) -> tuple[Sequence[ParquetPart | TextPart], tuple[str, ...] | None]:
    """Parts of a file, and names of its numeric columns; None for a text file without rows."""
    if FORMATS.get(Path(path).suffix.lower(), "text") not in ("text", "parquet"):
        raise InputError(
            f"{shown(path, 120)} can't be read part by part: write it as Parquet or CSV, or read "
            "the single file into memory."
        )
    with no_traceback(path, "can't be opened"):
        mark = mark_of(path)
    if not path.lower().endswith(PARQUET):
        part, numeric = _opened_text(path, mark, options, known)
        return [part], numeric
    with no_traceback(path, _DAMAGED), opened(path) as file:
        facts = pq.read_metadata(file)
        schema = facts.schema.to_arrow_schema()
    names = tuple(schema.names)
    if len(set(names)) < len(names):
        twice = next(one for one in names if names.count(one) > 1)
        raise InputError(
            f'{shown(path, 120)} has several columns "{shown(twice)}": rename some of them.'
        )
    numeric = tuple(
        one.name for one in schema
        if readable(one.type) and (holds_numbers(one.type) or pa.types.is_decimal(one.type))
    )  # fmt: skip
    sizes = [facts.row_group(group).num_rows for group in range(facts.num_row_groups)]
    parts = [
        ParquetPart(
            path=path, columns=names, mark=mark, names=names, groups=tuple(groups),
            rows_at_most=sum(sizes[group] for group in groups),
        )
        for groups in _bundles(sizes)
    ]  # fmt: skip
    return parts, numeric


def _bundles(sizes: Sequence[int]) -> Iterator[range]:
    begin = rows = 0
    for end, size in enumerate(sizes, 1):
        rows += size
        if rows >= PART_ROWS and end < len(sizes):
            yield range(begin, end)
            begin, rows = end, 0
    yield range(begin, len(sizes))


def _opened_text(
    path: str, mark: tuple[int, int], options: Options | None, known: _Known
) -> tuple[TextPart, tuple[str, ...] | None]:
    """Part and numeric columns of a text file; files with the same start share the result."""
    from dpviz.data.explore.cells import ArrowCells
    from dpviz.data.explore.heading import headed
    from dpviz.data.explore.rows import Options
    from dpviz.data.explore.text import decoded, encoding_of, form_of, rows_of
    from dpviz.data.reading.table import unique_names

    options = options or Options()
    title = Path(path).name
    with no_traceback(path, "can't be read as text"), opened(path) as file:
        head = file.read(_HEAD)
    if not head.strip():
        raise InputError(f"{shown(path, 120)} is empty: give files with one row per record.")
    encoding = options.encoding or encoding_of(head, title)
    if len(head) == _HEAD and encoding.startswith(("utf-8", "cp")):  # only whole lines
        head = head[: max(head.rfind(b"\n"), head.rfind(b"\r")) + 1] or head
    # A field and a line break take at least two bytes. Packing shrinks text to about a tenth.
    most = mark[0] * (10 if path.lower().endswith(".gz") else 1) // 2 + 1
    for above, (other, numeric) in known.items():
        is_alike = encoding == "utf-8" and head.startswith(above)
        if is_alike and _goes_on_like(other, numeric, head[len(above) :]):
            return replace(other, path=path, mark=mark, rows_at_most=most), numeric
    text, _ = decoded(head, title, encoding)
    form = form_of(text, title, options)
    rows, heading = headed(rows_of(text, form), options)
    names = tuple(unique_names(heading.names))
    cells = ArrowCells(rows, names, options.missing)
    kinds = dict(zip(names, map(cells.kind, range(len(names))), strict=True))
    if unclear := [name for name, kind in kinds.items() if kind == "unclear"]:
        raise InputError(
            f'column "{shown(unclear[0])}" of {shown(path, 120)} holds numbers whose point or '
            "comma may be a decimal mark, or a thousands separator: write them with decimal points."
        )
    others = {"text"} if options.header is False else {"text", "nothing"}
    numeric = tuple(name for name, kind in kinds.items() if kind not in others)
    line = cells.row(0) if rows.rows else form.line + heading.above
    part = TextPart(
        path=path, columns=names, mark=mark, names=names, rows_at_most=most,
        form=replace(form, line=line), encoding=encoding,
        readings=tuple(map(cells.reading, range(len(names)))), missing=options.missing,
    )  # fmt: skip
    if not rows.rows:
        return part, None
    known.setdefault(b"".join(head.splitlines(keepends=True)[: line - 1]), (part, numeric))
    return part, numeric


def _goes_on_like(part: TextPart, numeric: Sequence[str], text: bytes) -> bool:
    from dpviz.data.explore.text import newlines, parsed

    floats = part.floats([part.names.index(one) for one in numeric])
    if {*floats.values()} != {"."}:  # other marks may have another meaning in another text
        return False
    batches = list(parsed([newlines(text)], part.form, [*floats], floats))
    return not any(one.wrong for one in batches) and all(
        pa.types.is_floating(cells.type) and cells.null_count < len(cells)
        for one in batches
        for cells in one.rows.columns
    )


def as_points(columns: Sequence[pa.Array]) -> Floats:
    """Records (m, d) from columns of numbers; NaN if a number is missing."""
    points = np.empty((len(columns[0]), len(columns)))
    for axis, column in enumerate(columns):
        numbers = plain(column)
        if numbers.type != pa.float64():
            numbers = numbers.cast(pa.float64(), safe=False)
        if numbers.null_count:
            numbers = numbers.fill_null(np.nan)
        # Use from_dlpack, because to_numpy loads pandas.
        points[:, axis] = np.from_dlpack(numbers)
    return points


def whole_rows(points: Floats) -> Mask | None:
    """Mask (m,) of the rows with a finite number in each column; None if these are all rows."""
    # In most cases, all rows have finite numbers. This check allocates no array.
    if not points.size or max(abs(points.max()), abs(points.min())) <= LARGEST:
        return None
    known = np.ones(len(points), dtype=bool)
    for axis in range(points.shape[1]):
        known &= np.abs(points[:, axis]) <= LARGEST
    return known


# -- arrays ----------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class ArrayPart(_Rows):
    """Records in memory: ``points`` (n, d) with any numeric type."""

    title: str
    points: NDArray[np.generic]

    def rows(self) -> Iterator[Floats]:
        """All records (m, d) chunk by chunk."""
        for begin in range(0, len(self.points), CHUNK):
            few = self.points[begin : begin + CHUNK]
            yield np.ascontiguousarray(few, dtype=np.float64)


@dataclass(eq=False)
class IteratorPart(_Rows):
    """Arrays with ``ndim`` columns from an iterator; ``begin`` returns an iterator for a pass."""

    title: str
    begin: Callable[[], Iterable[ArrayLike]]
    axes: list[int]  # positions of the chosen columns
    ndim: int
    passes: int | None  # None for any number of passes
    _begun: int = field(default=0, init=False)

    def rows(self) -> Iterator[Floats]:
        """All records (m, d) chunk by chunk."""
        if self._begun == self.passes:
            raise InputError(
                f"{shown(self.title)} is an iterator, which can be read only once, but more "
                "passes are needed: give a function that returns a new iterator."
            )
        self._begun += 1
        for number, values in enumerate(self.begin(), 1):
            points = _points(values, f"array {number:,} of {self.title}", self.ndim)
            yield from ArrayPart(self.title, _chosen(points, self.axes)).rows()


def _of_arrays(source: Any, columns: Sequence[str | int] | None, name: str) -> Stored:
    """Make parts of arrays, or one part of an iterator. The first array determines the columns."""
    arrays, passes = source, None
    begin: Callable[[], Iterable[ArrayLike]] | None = None
    if callable(source):
        arrays, begin = [*islice(source(), 1)], source
    elif isinstance(source, Iterator):
        arrays = [*islice(source, 1)]
        begin, passes = lambda: chain(arrays, source), 1
    elif isinstance(source, np.ndarray):
        arrays = [source]
    elif not isinstance(source, Sequence):
        raise InputError(
            f"source is of type {type(source).__name__}: give a path, an array (n, d), a list of "
            "arrays, or a function that returns an iterator of them."
        )
    if not len(arrays):
        raise InputError(f"{shown(name)} has no array: give at least one array.")
    ndim = _points(arrays[0], name).shape[1]
    known = tuple(f"column {axis + 1}" for axis in range(ndim))
    axes = positions_of(known if columns is None else columns, known, name)
    titles = [f"array {number:,} of {name}" for number in range(1, len(arrays) + 1)]
    parts: list[Part] = [
        ArrayPart(title, _chosen(_points(one, title, ndim), axes))
        for title, one in zip(titles if len(arrays) > 1 else [name], arrays, strict=True)
    ]
    if begin is not None:
        parts = [IteratorPart(name, begin, axes, ndim, passes)]
    return Stored(name=name, columns=tuple(known[axis] for axis in axes), parts=tuple(parts))


def _points(values: ArrayLike, name: str, ndim: int | None = None) -> NDArray[np.generic]:
    """Convert to an array of records (n, d) or raise InputError; keep the numeric type."""
    points: NDArray[np.generic]
    if isinstance(values, np.ma.MaskedArray):
        values = np.ma.filled(values.astype(float), np.nan)  # Masked values are missing.
    try:
        points = np.asarray(values)
        if points.dtype.kind not in "iuf":
            points = points.astype(float)
    except (TypeError, ValueError):
        raise InputError(f"{shown(name)} holds no numbers: give arrays of numbers.") from None
    if points.ndim != 2 or not points.shape[1]:
        raise InputError(
            f"{shown(name)} has shape {points.shape}: give one row per record and one column per "
            "axis."
        )
    if ndim not in (None, points.shape[1]):
        raise InputError(
            f"{shown(name)} has {points.shape[1]} columns, but the first array has {ndim}: "
            "give arrays with the same columns."
        )
    return points


def _chosen(points: NDArray[np.generic], axes: list[int]) -> NDArray[np.generic]:
    return points if axes == list(range(points.shape[1])) else points[:, axes]
