"""Records that stay where they are stored: files that every pass reads anew, part by part.

A part is what one task reads: a file, some row groups of a large Parquet file, or an array. What a
pass finds is added up over the parts, see :mod:`dpviz.data.engine`; so the memory that it takes
depends on the tables alone, not on the number of records.
"""

from __future__ import annotations

import codecs
import os
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import ArrayLike, NDArray

from dpviz.base.errors import InputError, listed, shown
from dpviz.base.formats import FORMATS
from dpviz.base.numbers import counted
from dpviz.data.dataset import position_of
from dpviz.data.engine.tables import Part
from dpviz.data.geographic import check_bounds
from dpviz.data.listing import (
    ENDINGS,
    PARQUET,
    mark_of,
    no_traceback,
    opened,
    paths_of,
    remote_origin,
    way_into,
)
from dpviz.data.reading.files import MAX_BYTES
from dpviz.data.reading.kinds import LARGEST, holds_numbers, plain, readable
from dpviz.data.source import ADDRESS, PATTERN, each_once, local_path
from dpviz.grid.domain import Domain
from dpviz.privacy.origin import Origin, origins

# Parquet files are counted without what reading text takes.
if TYPE_CHECKING:
    from dpviz.data.explore.rows import Options
    from dpviz.data.explore.text import Form
    from dpviz.data.reading.cells import Style
    from dpviz.data.reading.table import Table

Floats = NDArray[np.float64]

#: Records that a pass has in memory at once, for each thread.
CHUNK = 2**16

#: Bytes that a reader of Parquet asks for at once, from a disk and over a network.
BUFFER, FAR_BUFFER = 2**18, 2**20

#: Rows of a Parquet file from which on its row groups are several parts.
PART_ROWS = 2**22

_DAMAGED = "is no whole Parquet file, perhaps cut off"

#: Bytes of a text file in which its columns are found, and bytes that are read together.
_HEAD, _BLOCK = 2**18, 2**23

Where: TypeAlias = (
    "str | os.PathLike[str] | NDArray[np.generic] | Sequence[ArrayLike] | Iterator[ArrayLike] "
    "| Callable[[], Iterable[ArrayLike]]"
)


@dataclass(frozen=True, kw_only=True, eq=False)
class Stored:
    """Records in parts, read anew by every pass.

    Parameters
    ----------
    name
        What to call the data on the screen.
    columns
        Names of the chosen columns, one per axis.
    parts
        Where the records are, in the order in which sums are added.
    domain
        Public bounds, if somebody declared them.
    dropped
        Rows left out before there were parts, for lack of a person or a number.
    notes
        Sentences about changes made on the way, for the screen.
    unit
        Column of the persons of whom each has few records, if they were capped.
    origins
        Files, and their folder, that are read.
    aside
        Columns left aside, where nobody has named the chosen ones.
    """

    name: str
    columns: tuple[str, ...]
    parts: tuple[Part, ...]
    domain: Domain | None = None
    dropped: int = 0
    notes: tuple[str, ...] = ()
    unit: str | None = None
    origins: tuple[Origin, ...] = ()
    aside: tuple[str, ...] | None = None

    @property
    def ndim(self) -> int:
        """Number of columns."""
        return len(self.columns)


def is_stored(source: object) -> bool:
    """Tell whether a path names what stays where it is.

    That is a folder, a pattern, a place in an object store, or a file too large for the memory.
    """
    if not isinstance(source, str | os.PathLike):
        return False
    text = local_path(os.fspath(source))
    if ADDRESS.match(text) or os.path.isdir(text):
        return True
    if os.path.isfile(text):
        is_known = text.lower().endswith((*ENDINGS, ".npy"))
        return is_known and os.path.getsize(text) > MAX_BYTES
    return "\0" not in text and bool(PATTERN.search(text)) and not os.path.exists(text)


def stored(
    source: Where,
    columns: Sequence[str | int] | None = None,
    *,
    name: str | None = None,
    domain: Domain | None = None,
    leave_out: bool = False,
    options: Options | None = None,
) -> Stored:
    """Open records that stay where they are.

    Parameters
    ----------
    source
        A Parquet, CSV or TSV file (text also gzipped); a folder of such files, without hidden
        ones (a dot or underscore in front), or a pattern such as ``"trips/2024-*.parquet"``, read
        in the order of their names; a path of an object store, ``"s3://bucket/folder"``, as far as
        pyarrow or fsspec knows it; a .npy file. Also an array (n, d); a list of such arrays; an
        iterator of them, for a single pass; or a function that returns a new iterator, for as
        many passes as wanted.
    columns
        By name or by number from 1; by default all columns of numbers.
    name
        What to call the data, by default the name of the file or folder.
    domain
        Declared bounds of the chosen columns, in their order.
    leave_out
        Whether rows of text count as missing where a cell is no number, or fields are too many or
        too few: for exploring.

    options
        What a person says about text files.

    Raises
    ------
    InputError
        Where nothing can be read, files have other columns than the first one, or a chosen column
        holds no numbers.

    Notes
    -----
    Rows without a finite number within ±1e300 in each chosen column are left out, and counted.
    """
    if isinstance(source, str | os.PathLike):
        source = local_path(os.fspath(source))
    if isinstance(source, str) and source.lower().endswith(".npy"):
        path = Path(source)
        with no_traceback(str(path), "is no whole array of numbers"):
            # Its pages are read when they are needed, and need not stay in memory.
            found = _of_arrays(np.load(path, mmap_mode="r"), columns, name or path.name)
        found = replace(found, origins=origins(path))
    elif isinstance(source, str):
        found = _of_files(source, columns, name, leave_out, options)
    else:
        found = _of_arrays(source, columns, name or "data")
    if domain is not None:
        domain.check_ndim(found.ndim, "chosen column", shown(found.name))
        check_bounds(found.columns, domain)
    return replace(found, domain=domain)


# -- files -----------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class FilePart:
    """A file, as it was when it was opened.

    Parameters
    ----------
    path
        Path or address, the same on every machine that reads.
    columns
        Names of the chosen columns.
    mark
        Size and time of the last change.
    names
        All columns of the file.
    """

    path: str
    columns: tuple[str, ...]
    mark: tuple[int, int]
    names: tuple[str, ...]

    @property
    def title(self) -> str:
        """Name of the file."""
        return self.path

    def batches(self, columns: Sequence[str]) -> Iterator[list[pa.Array]]:
        """Cells of some columns, rows by rows."""
        raise NotImplementedError

    def rows_at_most(self) -> int:
        """Upper limit to the number of rows, without reading them."""
        raise NotImplementedError

    def head(self) -> Table:
        """First rows, to propose columns by."""
        from dpviz.data.reading.cells import TableCells
        from dpviz.data.reading.table import named_table

        part: Any = replace(self, leave_out=True) if isinstance(self, TextPart) else self
        first = next(part.batches(self.columns), [pa.nulls(0, pa.float64()) for _ in self.columns])
        cells = TableCells([pa.chunked_array([plain(one)]) for one in first])
        return named_table(self.title, self.columns, cells)

    def chunks(self) -> Iterator[tuple[Floats, int]]:
        """Finite records (m, d) chunk by chunk, with the number of those left out."""
        return map(_finite, self.rows())

    def rows(self) -> Iterator[Floats]:
        """All records (m, d) chunk by chunk, NaN where a number is missing."""
        return map(as_points, self.batches(self.columns))

    def check(self) -> None:
        """Raise InputError where the file has changed."""
        if mark_of(self.path) != self.mark:
            raise InputError(
                f"{shown(self.path, 120)} has changed since it was opened: open the data again "
                "when nobody writes to it."
            )


@dataclass(frozen=True, kw_only=True)
class ParquetPart(FilePart):
    """A Parquet file, or some of its row groups.

    Parameters
    ----------
    groups
        Numbers of the row groups; None for all.
    """

    groups: tuple[int, ...] | None = None

    def rows_at_most(self) -> int:
        """Number of rows, as the footer tells."""
        with no_traceback(self.path, _DAMAGED), opened(self.path) as file:
            facts = pq.read_metadata(file)
        groups = range(facts.num_row_groups) if self.groups is None else self.groups
        return sum(facts.row_group(group).num_rows for group in groups)

    def batches(self, columns: Sequence[str]) -> Iterator[list[pa.Array]]:
        """Cells of some columns, rows by rows."""
        size = FAR_BUFFER if ADDRESS.match(self.path) else BUFFER
        with (
            no_traceback(self.path, _DAMAGED),
            opened(self.path) as file,
            # A small buffer takes a quarter of the memory of whole column chunks.
            pq.ParquetFile(file, buffer_size=size, pre_buffer=False) as table,
        ):
            groups = range(table.num_row_groups) if self.groups is None else self.groups
            for batch in table.iter_batches(
                CHUNK, row_groups=list(groups), columns=list(columns), use_threads=False
            ):
                yield [batch[column] for column in columns]


@dataclass(frozen=True, kw_only=True)
class TextPart(FilePart):
    """A text file, parsed block by block.

    Parameters
    ----------
    form
        How its rows are written, and the line of the first record.
    encoding
        Name of its encoding.
    readings
        For each column the style of its numbers, and whether they are tidied before.
    missing
        Cells that stand for no value, besides the usual ones.
    leave_out
        Whether what can't be read counts as missing.
    """

    form: Form
    encoding: str
    readings: tuple[tuple[Style, bool], ...]
    missing: tuple[str, ...] = ()
    leave_out: bool = False

    def rows_at_most(self) -> int:
        """A field and a line break take two bytes; packed text is a tenth as large, about."""
        return self.mark[0] * (10 if self.path.lower().endswith(".gz") else 1) // 2 + 1

    def batches(self, columns: Sequence[str]) -> Iterator[list[pa.Array]]:
        """Cells of some columns, rows by rows: numbers of the chosen ones, text of others."""
        from dpviz.data.explore.cells import marks_of
        from dpviz.data.explore.text import parsed

        axes = [self.names.index(column) for column in columns]
        missing = marks_of(self.missing)
        ragged = 0
        with no_traceback(self.path, "can't be read as rows of numbers"), opened(self.path) as file:
            lines = _lines(file, self.encoding, self.form.line)
            for batch in parsed(lines, self.form, axes, self._floats(columns)):
                if batch.wrong and not self.leave_out:
                    line, _, many = batch.wrong[0]
                    raise InputError(
                        f"row {line} of {shown(self.path, 120)} has {counted(many, 'field')} where "
                        f"others have {self.form.width:,}: correct it, or leave such rows out "
                        "(--leave-out on the command line)."
                    )
                ragged += len(batch.wrong)
                for begin in range(0, len(batch.rows), CHUNK):
                    few = batch.rows.slice(begin, CHUNK).columns
                    yield [
                        self._numbers(column, axis, cells, missing, batch.numbers, begin)
                        if column in self.columns
                        else cells
                        for column, axis, cells in zip(columns, axes, few, strict=True)
                    ]
        if ragged:
            kinds = [pa.float64() if one in self.columns else pa.string() for one in columns]
            yield [pa.nulls(ragged, kind) for kind in kinds]

    def _floats(self, columns: Sequence[str]) -> dict[int, str]:
        """Decimal mark of each chosen column, where all have the same and nothing else to tidy."""
        axes = [self.names.index(column) for column in columns if column in self.columns]
        marks = {("point", False): ".", ("comma", False): ","}
        found = {axis: marks.get(self.readings[axis], "") for axis in axes}
        one = len({*found.values()}) == 1 and "" not in found.values()
        return found if one and not self.missing else {}

    def _numbers(
        self,
        column: str,
        axis: int,
        cells: pa.Array,
        missing: pa.Array,
        numbers: Callable[[], NDArray[np.int64]],
        begin: int,
    ) -> pa.Array:
        """Cells as numbers, NaN where one holds none."""
        from dpviz.data.explore.cells import tidied
        from dpviz.data.reading.cells import as_numbers

        if pa.types.is_floating(cells.type):
            return cells
        style, tidy = self.readings[axis]
        cells = tidied(cells, missing) if tidy or self.missing else cells
        values, wrong = as_numbers(cells, style)
        if wrong.any() and not tidy:  # a mark for no value that the first rows lack
            values, wrong = as_numbers(tidied(cells, missing), style)
        if wrong.any() and not self.leave_out:
            at = int(wrong.argmax())
            raise InputError(
                f"row {numbers()[begin + at]} of {shown(self.path, 120)} has a cell that is no "
                f'number, "{shown(cells[at].as_py())}", in column "{shown(column)}": choose other '
                "columns, correct the cell, or leave such rows out (--leave-out on the command "
                "line)."
            )
        return pa.array(values)


def _lines(file: Any, encoding: str, line: int) -> Iterator[bytes]:
    """Whole lines of a text in UTF-8, some at a time, from one of them on."""
    from dpviz.data.explore.text import newlines

    decode = codecs.getincrementaldecoder(encoding)("replace").decode
    rest, skip, first = b"", line - 1, True
    while True:
        block = file.read(_BLOCK)
        more = decode(block, not block).encode() if encoding != "utf-8" else block
        text = rest + (more.removeprefix(codecs.BOM_UTF8) if first else more)
        first = False
        if block and text.endswith(b"\r"):  # half of a line break, perhaps
            text, rest = text[:-1], b"\r"
        else:
            rest = b""
        text = newlines(text)
        end = text.rfind(b"\n") + 1 if block else len(text)
        text, rest = text[:end], text[end:] + rest
        while skip and text:
            at = text.find(b"\n") + 1 or len(text)
            text, skip = text[at:], skip - 1
        if not block:
            text = text.rstrip(b"\x1a")
        if text:
            yield text
        if not block:
            return


# -- finding files -----------------------------------------------------------------------------


def _of_files(
    source: str,
    columns: Sequence[str | int] | None,
    name: str | None,
    leave_out: bool,
    options: Options | None,
) -> Stored:
    """Parts of a file, a folder or a pattern."""
    folder, paths, inner = paths_of(source)
    notes: tuple[str, ...] = ()
    if ADDRESS.match(source):
        files = tuple(map(remote_origin, paths))
    else:
        paths, files, notes = each_once(paths)
    if inner:
        many = f"{len(inner):,} folders in it are" if len(inner) > 1 else "1 folder in it is"
        notes += (
            f"Of {shown(source, 120)} the files are read, and {many} left out ({listed(inner)}): "
            f"{way_into(source)}.",
        )
    first, *others = (_opened_part(path, options) for path in paths)
    known = first[1]
    # A file without rows doesn't tell which columns hold numbers.
    numeric = next((one[2] for one in (first, *others) if one[2] is not None), known)
    chosen = (
        [known.index(one) for one in numeric if one in known]
        if columns is None
        else [position_of(one, known, paths[0]) for one in columns]
    )
    if not chosen:
        raise InputError(
            f"{shown(paths[0], 120)} has no column of numbers: name the columns to read, or give "
            "another file."
        )
    names = tuple(known[axis] for axis in chosen)
    if len(set(names)) != len(names):
        raise InputError(f"columns = {listed(names)}: name each column once.")
    parts: list[Part] = []
    for path, (part, there, numbers) in zip(paths, [first, *others], strict=True):
        if leave_out and isinstance(part, TextPart):
            part, numbers = replace(part, leave_out=True), None
        for column in names:
            if column not in there:
                other = Path(paths[0]).name
                raise InputError(
                    f'{shown(path, 120)} has no column "{shown(column)}", which {shown(other)} '
                    "has: give files with the same columns."
                )
            if numbers is not None and column not in numbers:
                text = isinstance(part, TextPart)
                way_out = ", or leave out rows without one (--leave-out)" if text else ""
                choose = f"choose from {listed(numbers)}" if numbers else "give another file"
                raise InputError(
                    f'column "{shown(column)}" of {shown(path, 120)} holds no numbers: '
                    f"{choose}{way_out}."
                )
        parts += _split(replace(part, columns=names))
    title = name or Path(re.split(r"[*?\[]", source)[0].rstrip("/\\")).name or source
    return Stored(
        name=title, columns=names, parts=tuple(parts), notes=notes, origins=(*folder, *files)
    )


def _opened_part(
    path: str, options: Options | None
) -> tuple[ParquetPart | TextPart, tuple[str, ...], tuple[str, ...] | None]:
    """A part for a whole file, the names of its columns, and of those that may hold numbers.

    The latter are None for a text without rows.
    """
    if FORMATS.get(Path(path).suffix.lower(), "text") not in ("text", "parquet"):
        raise InputError(
            f"{shown(path, 120)} can't be read part by part: write it as Parquet or CSV, or read "
            "the single file into memory."
        )
    with no_traceback(path, "can't be opened"):
        mark = mark_of(path)
    if path.lower().endswith(PARQUET):
        with (
            no_traceback(path, _DAMAGED),
            opened(path) as file,
        ):
            schema = pq.read_schema(file)
        names = tuple(schema.names)
        if len(set(names)) < len(names):
            twice = next(one for one in names if names.count(one) > 1)
            raise InputError(
                f'{shown(path, 120)} has several columns "{shown(twice)}": write it with other '
                "names."
            )
        numeric = tuple(
            one.name for one in schema
            if readable(one.type) and (holds_numbers(one.type) or pa.types.is_decimal(one.type))
        )  # fmt: skip
        return ParquetPart(path=path, columns=names, mark=mark, names=names), names, numeric
    return _opened_text(path, mark, options)


def _opened_text(
    path: str, mark: tuple[int, int], options: Options | None
) -> tuple[TextPart, tuple[str, ...], tuple[str, ...] | None]:
    """The same of a text."""
    from dpviz.data.explore.cells import ArrowCells
    from dpviz.data.explore.heading import headed
    from dpviz.data.explore.rows import Options
    from dpviz.data.explore.tables import degrees_of
    from dpviz.data.explore.text import decoded, encoding_of, form_of, read_text
    from dpviz.data.reading.table import unique_names

    options = options or Options()
    title = Path(path).name
    with no_traceback(path, "can't be read as text"), opened(path) as file:
        head = file.read(_HEAD)
    if not head.strip():
        raise InputError(f"{shown(path, 120)} is empty: give files with one row per record.")
    encoding = options.encoding or encoding_of(head, title)
    if len(head) == _HEAD and encoding.startswith(("utf-8", "cp")):  # whole lines only
        head = head[: max(head.rfind(b"\n"), head.rfind(b"\r")) + 1] or head
    form = form_of(decoded(head, title, encoding)[0], title, options)
    rows, heading = headed(read_text(head, title, options), options)
    names = tuple(unique_names(heading.names))
    cells = ArrowCells(
        rows.columns,
        numbers=rows.numbers,
        missing=options.missing,
        commas=rows.commas,
        degrees=degrees_of(names),
    )
    kinds = [cells.kind(axis) for axis in range(len(names))]
    numeric = tuple(
        name for name, kind in zip(names, kinds, strict=True)
        if kind not in ("text", "unclear", *(() if options.header is False else ("nothing",)))
    )  # fmt: skip
    part = TextPart(
        path=path, columns=names, mark=mark, names=names, encoding=encoding,
        form=replace(form, line=cells.row(0) if rows.rows else form.line + heading.above),
        readings=tuple(map(cells.reading, range(len(names)))), missing=options.missing,
    )  # fmt: skip
    unclear = [name for name, kind in zip(names, kinds, strict=True) if kind == "unclear"]
    if unclear:
        raise InputError(
            f'column "{shown(unclear[0])}" of {shown(path, 120)} holds numbers whose point or '
            "comma may be a decimal mark, or set thousands apart: write them with decimal points."
        )
    return part, names, numeric if rows.rows else None


def _split(part: ParquetPart | TextPart) -> Iterator[Part]:
    """Parts of a file: several of a large Parquet file, in the order of its rows."""
    if not isinstance(part, ParquetPart):
        yield part
        return
    with no_traceback(part.path, _DAMAGED):
        with opened(part.path) as file:
            facts = pq.read_metadata(file)
        sizes = [facts.row_group(group).num_rows for group in range(facts.num_row_groups)]
    groups: list[int] = []
    rows = 0
    for group, size in enumerate(sizes):
        groups.append(group)
        rows += size
        if rows >= PART_ROWS and group + 1 < len(sizes):
            yield replace(part, groups=tuple(groups))
            groups, rows = [], 0
    yield replace(part, groups=tuple(groups) if len(groups) < len(sizes) else None)


def as_points(columns: Sequence[pa.Array]) -> Floats:
    """Records (m, d) of columns of numbers; NaN where one is missing."""
    points = np.empty((len(columns[0]), len(columns)))
    for axis, column in enumerate(columns):
        numbers = plain(column)
        if numbers.type != pa.float64():
            numbers = numbers.cast(pa.float64(), safe=False)
        if numbers.null_count:
            numbers = numbers.fill_null(np.nan)
        # Not to_numpy, which loads pandas.
        points[:, axis] = np.from_dlpack(numbers)
    return points


def whole_rows(points: Floats) -> NDArray[np.bool_] | None:
    """Mask (m,) of the rows with a finite number in each column; None where all have."""
    # Mostly all rows have: one pass without another array tells.
    if not points.size or max(abs(points.max()), abs(points.min())) <= LARGEST:
        return None
    known = np.ones(len(points), dtype=bool)
    for axis in range(points.shape[1]):
        known &= np.abs(points[:, axis]) <= LARGEST
    return known


def _finite(points: Floats) -> tuple[Floats, int]:
    """Rows with a finite number in each column, and how many have none."""
    known = whole_rows(points)
    return (points, 0) if known is None else (points[known], int((~known).sum()))


# -- arrays ----------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class ArrayPart:
    """Records in memory.

    Parameters
    ----------
    title
        Name for messages.
    points
        Shape (n, d), of any type of numbers.
    """

    title: str
    points: NDArray[np.generic]

    def chunks(self) -> Iterator[tuple[Floats, int]]:
        """Finite records (m, d) chunk by chunk, with the number of those left out."""
        return map(_finite, self.rows())

    def rows(self) -> Iterator[Floats]:
        """All records (m, d) chunk by chunk."""
        for begin in range(0, len(self.points), CHUNK):
            few = self.points[begin : begin + CHUNK]
            yield np.ascontiguousarray(few, dtype=np.float64)

    def check(self) -> None:
        """Nothing can have changed."""


@dataclass(eq=False)
class IteratorPart:
    """Arrays that come one after the other.

    Parameters
    ----------
    title
        Name for messages.
    begin
        Returns the arrays, anew for every pass.
    axes
        Chosen columns by position; None for all.
    ndim
        Number of columns of every array.
    passes
        Most passes; None for any number.
    """

    title: str
    begin: Callable[[], Iterable[ArrayLike]]
    axes: tuple[int, ...] | None
    ndim: int
    passes: int | None = None
    _begun: int = field(default=0, init=False)

    def chunks(self) -> Iterator[tuple[Floats, int]]:
        """Finite records (m, d) chunk by chunk, with the number of those left out."""
        return map(_finite, self.rows())

    def rows(self) -> Iterator[Floats]:
        """All records (m, d) chunk by chunk."""
        if self._begun == self.passes:
            raise InputError(
                f"{shown(self.title)} is an iterator, which can be read once, and this takes more "
                "passes: give a function that returns a new iterator."
            )
        self._begun += 1
        for number, values in enumerate(self.begin(), 1):
            points = _points(values, f"array {number:,} of {self.title}")
            if points.shape[1] != self.ndim:
                raise InputError(
                    f"array {number:,} of {shown(self.title)} has {points.shape[1]} columns and "
                    f"the first one {self.ndim}: give arrays with the same columns."
                )
            chosen = points if self.axes is None else points[:, self.axes]
            yield from ArrayPart(self.title, chosen).rows()

    def check(self) -> None:
        """Nobody can tell."""


def _of_arrays(source: Any, columns: Sequence[str | int] | None, name: str) -> Stored:
    """Parts of arrays or of an iterator."""
    if callable(source) or isinstance(source, Iterator):
        return _of_iterator(source, columns, name)
    if not isinstance(source, np.ndarray | Sequence):
        raise InputError(
            f"source is of type {type(source).__name__}: give a path, an array (n, d), a list of "
            "arrays, or a function that returns an iterator of them."
        )
    many = [source] if isinstance(source, np.ndarray) else list(source)
    tables = [_points(one, name) for one in many]
    if not tables:
        raise InputError(f"{shown(name)} has no array: give at least one.")
    if len({table.shape[1] for table in tables}) > 1:
        raise InputError(
            f"{shown(name)} has arrays of different columns: give arrays with the same columns."
        )
    axes, names = _axes(tables[0].shape[1], columns, name)
    parts = tuple(
        ArrayPart(
            name if len(tables) == 1 else f"array {number:,} of {name}",
            table if axes == list(range(table.shape[1])) else table[:, axes],
        )
        for number, table in enumerate(tables, 1)
    )
    return Stored(name=name, columns=names, parts=parts)


def _of_iterator(source: Any, columns: Sequence[str | int] | None, name: str) -> Stored:
    """One part, whose columns the first array tells."""
    if callable(source):
        first, begin, passes = next(iter(source()), None), source, None
    else:
        first, passes = next(source, None), 1

        def begin() -> Iterator[ArrayLike]:
            assert first is not None  # noqa: S101 - refused below
            yield first
            yield from source

    if first is None:
        raise InputError(f"{shown(name)} has no array: give at least one.")
    ndim = _points(first, name).shape[1]
    axes, names = _axes(ndim, columns, name)
    part = IteratorPart(name, begin, None if len(axes) == ndim else tuple(axes), ndim, passes)
    return Stored(name=name, columns=names, parts=(part,))


def _points(values: ArrayLike, name: str) -> NDArray[np.generic]:
    """Array of records (n, d), or InputError; numbers keep their type until they are read."""
    points: NDArray[np.generic]
    if isinstance(values, np.ma.MaskedArray):
        values = np.ma.filled(values.astype(float), np.nan)  # Hidden values are missing.
    try:
        points = np.asarray(values)
        if points.dtype.kind not in "iuf":
            points = points.astype(float)
    except (TypeError, ValueError):
        raise InputError(f"{shown(name)} holds no numbers: give arrays of them.") from None
    if points.ndim != 2 or not points.shape[1]:
        raise InputError(
            f"{shown(name)} has shape {points.shape}: give one row per record and one column per "
            "axis."
        )
    return points


def _axes(
    ndim: int, columns: Sequence[str | int] | None, name: str
) -> tuple[list[int], tuple[str, ...]]:
    """Chosen columns of arrays, by position from 0, and their names."""
    known = tuple(f"column {axis + 1}" for axis in range(ndim))
    if columns is None:
        return list(range(ndim)), known
    axes = [position_of(one, known, name) for one in columns]
    return axes, tuple(known[axis] for axis in axes)
