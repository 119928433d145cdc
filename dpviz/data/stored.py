"""Records that stay where they are stored: files that every pass reads anew, part by part.

A part is what one task reads: a file, some row groups of a large Parquet file, or an array. What a
pass finds is added up over the parts, see :mod:`dpviz.engine`; so the memory that it takes hangs
on the tables alone, not on the number of records.
"""

from __future__ import annotations

import glob
import io
import os
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import Any, BinaryIO, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.fs
import pyarrow.parquet as pq
from numpy.typing import ArrayLike, NDArray

from dpviz.data.dataset import position_of
from dpviz.data.geographic import check_bounds
from dpviz.data.reading.files import MAX_BYTES
from dpviz.data.reading.kinds import LARGEST, MISSING, holds_numbers, plain, readable
from dpviz.data.source import ADDRESS, PATTERN, each_once, local_path, store_origin
from dpviz.domain import Domain
from dpviz.engine.tables import Part
from dpviz.errors import InputError, listed, shown
from dpviz.formats import FORMATS
from dpviz.numbers import counted
from dpviz.privacy.origin import Origin, origins

Floats = NDArray[np.float64]

#: Records that a pass has in memory at once, for each thread.
CHUNK = 2**16

#: Bytes that a reader of Parquet asks for at once, from a disk and over a network.
BUFFER, FAR_BUFFER = 2**18, 2**20

#: Rows of a Parquet file from which on its row groups are several parts.
PART_ROWS = 2**22

#: Endings of files in a folder; others are left alone.
ENDINGS = (".parquet", ".pq", ".csv", ".tsv", ".txt", ".csv.gz", ".tsv.gz", ".txt.gz")

_PARQUET = (".parquet", ".pq")

_DAMAGED = "is no whole Parquet file, perhaps cut off"

#: Bytes of a text file in which its columns are found.
_HEAD = 2**18

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
    """

    name: str
    columns: tuple[str, ...]
    parts: tuple[Part, ...]
    domain: Domain | None = None
    dropped: int = 0
    notes: tuple[str, ...] = ()
    unit: str | None = None
    origins: tuple[Origin, ...] = ()

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
        with _no_traceback(str(path), "is no whole array of numbers"):
            # Its pages are read when they are needed, and need not stay in memory.
            found = _of_arrays(np.load(path, mmap_mode="r"), columns, name or path.name)
        found = replace(found, origins=origins(path))
    elif isinstance(source, str):
        found = _of_files(source, columns, name, leave_out)
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

    def chunks(self) -> Iterator[tuple[Floats, int]]:
        """Finite records (m, d) chunk by chunk, with the number of those left out."""
        return map(_finite, self.rows())

    def rows(self) -> Iterator[Floats]:
        """All records (m, d) chunk by chunk, NaN where a number is missing."""
        return map(as_points, self.batches(self.columns))

    def check(self) -> None:
        """Raise InputError where the file has changed."""
        if _mark(self.path) != self.mark:
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
        with _no_traceback(self.path, _DAMAGED), _opened(self.path) as file:
            facts = pq.read_metadata(file)
        groups = range(facts.num_row_groups) if self.groups is None else self.groups
        return sum(facts.row_group(group).num_rows for group in groups)

    def batches(self, columns: Sequence[str]) -> Iterator[list[pa.Array]]:
        """Cells of some columns, rows by rows."""
        size = FAR_BUFFER if ADDRESS.match(self.path) else BUFFER
        with (
            _no_traceback(self.path, _DAMAGED),
            _opened(self.path) as file,
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
    delimiter
        Separator of the fields.
    skipped
        Lines before the first record.
    decimal
        Sign before the decimals.
    leave_out
        Whether what can't be read counts as missing.
    """

    delimiter: str
    skipped: int
    decimal: str = "."
    leave_out: bool = False

    def rows_at_most(self) -> int:
        """A field and a line break take two bytes; packed text is a tenth as large, about."""
        return self.mark[0] * (10 if self.path.lower().endswith(".gz") else 1) // 2 + 1

    def batches(self, columns: Sequence[str]) -> Iterator[list[pa.Array]]:
        """Cells of some columns, rows by rows: numbers of the chosen ones, text of others."""
        # Names may be repeated: columns are told apart by their numbers.
        every = [str(number) for number in range(len(self.names))]
        wanted = [str(self.names.index(column)) for column in columns]
        kinds = [pa.string()] * len(columns) if self.leave_out else self._kinds(columns)
        read = pyarrow.csv.ReadOptions(
            use_threads=False, skip_rows=self.skipped, column_names=every
        )
        convert = pyarrow.csv.ConvertOptions(
            include_columns=wanted,
            column_types=dict(zip(wanted, kinds, strict=True)),
            null_values=["", *MISSING],
            strings_can_be_null=True,
            decimal_point=self.decimal,
        )
        # Later rows may have line breaks in quotes, too: else their halves became records.
        parse = pyarrow.csv.ParseOptions(delimiter=self.delimiter, newlines_in_values=True)
        ragged = 0

        def skip(row: pyarrow.csv.InvalidRow) -> str:
            nonlocal ragged
            ragged += bool(row.text.strip())
            return "skip"

        if self.leave_out:
            parse.invalid_row_handler = skip
        with (
            _no_traceback(self.path, "can't be read as rows of numbers"),
            _opened(self.path) as file,
            pyarrow.csv.open_csv(file, read, parse, convert) as reader,
        ):
            for batch in reader:
                for begin in range(0, len(batch), CHUNK):
                    few = batch.slice(begin, CHUNK)
                    cells = [few[number] for number in wanted]
                    yield self._cell_by_cell(columns, cells) if self.leave_out else cells
        if ragged:
            yield [pa.nulls(ragged, kind) for kind in self._kinds(columns)]

    def _kinds(self, columns: Sequence[str]) -> list[pa.DataType]:
        """Types of the cells of some columns."""
        return [pa.float64() if column in self.columns else pa.string() for column in columns]

    def _cell_by_cell(self, columns: Sequence[str], cells: list[pa.Array]) -> list[pa.Array]:
        """The same cells, those of chosen columns as numbers, NaN where one holds none."""
        from dpviz.data.reading.cells import as_numbers

        style: Any = "point" if self.delimiter == "," else "either"
        return [
            pa.array(as_numbers(one, style)[0]) if column in self.columns else one
            for column, one in zip(columns, cells, strict=True)
        ]


# -- finding files -----------------------------------------------------------------------------


def _of_files(
    source: str, columns: Sequence[str | int] | None, name: str | None, leave_out: bool
) -> Stored:
    """Parts of a file, a folder or a pattern."""
    folder, paths, inner = _paths(source)
    notes: tuple[str, ...] = ()
    if ADDRESS.match(source):
        files = tuple(map(_remote_origin, paths))
    else:
        paths, files, notes = each_once(paths)
    if inner:
        many = f"{len(inner):,} folders in it are" if len(inner) > 1 else "1 folder in it is"
        notes += (
            f"Of {shown(source, 120)} the files are read, and {many} left out ({listed(inner)}): "
            f"{_way_into(source)}.",
        )
    first, *others = (_opened_part(path) for path in paths)
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


def _paths(source: str) -> tuple[tuple[Origin, ...], list[str], list[str]]:
    """Folder that is named, if one is, files to read by their names, and folders beside them."""
    if ADDRESS.match(source):
        return _remote_paths(source)
    folder: tuple[Origin, ...] = ()
    inner: list[str] = []
    if os.path.isdir(source):
        with _no_traceback(source, "can't be listed"):
            names = os.listdir(source)
        paths = {name: os.path.join(source, name) for name in sorted(names)}
        found = [path for name, path in paths.items() if _is_data(name) and os.path.isfile(path)]
        inner = [
            name for name, path in paths.items() if not _is_hidden(name) and os.path.isdir(path)
        ]
        folder, what = origins(source), "folder"
    elif os.path.exists(source):
        return (), [_absolute(source)], []
    else:
        found, what = sorted(filter(os.path.isfile, glob.glob(source, recursive=True))), "pattern"
        if not PATTERN.search(source):
            raise InputError(f'"{shown(source, 120)}" does not exist: check the path.')
    if not found:
        raise InputError(
            f'the {what} "{shown(source, 120)}" has no file to read: give Parquet or CSV files '
            f"({', '.join(ENDINGS[:5])}){f', or {_way_into(source)}' * bool(inner)}."
        )
    return folder, list(map(_absolute, found)), inner


def _way_into(source: str) -> str:
    """How the folders in a folder are read: stores have no patterns."""
    if ADDRESS.match(source):
        return "name each folder by itself to read it"
    pattern = f"{glob.escape(source.rstrip('/'))}/**/*.parquet"
    return f'read them by a pattern for their files, such as "{shown(pattern, 160)}"'


def _absolute(path: str) -> str:
    """Path for workers, whose working folder may be another; ".." after a link leads elsewhere."""
    folder, name = os.path.split(path)
    return os.path.join(os.path.realpath(folder), name)


def _is_data(name: str) -> bool:
    """Tell whether a file of a folder has records, by its name; programs hide files of theirs."""
    return name.lower().endswith(ENDINGS) and not _is_hidden(name)


def _is_hidden(name: str) -> bool:
    """Tell whether a program has made a file or folder for itself."""
    return name.startswith((".", "_"))


def _remote_paths(source: str) -> tuple[tuple[Origin, ...], list[str], list[str]]:
    """Folder of a store that is named, if one is, files to read, and folders beside them."""
    system, place = _system(source)
    scheme = source[: source.index("://") + 3]
    with _no_traceback(source, "can't be listed"):
        facts = system.get_file_info(place)
        if facts.type == pyarrow.fs.FileType.File:
            return (), [source], []
        if facts.type == pyarrow.fs.FileType.Directory:
            listed_ = system.get_file_info(pyarrow.fs.FileSelector(place))
            found = sorted(
                one.path for one in listed_
                if one.is_file and _is_data(one.base_name)
            )  # fmt: skip
            inner = sorted(
                one.base_name for one in listed_
                if one.type == pyarrow.fs.FileType.Directory and not _is_hidden(one.base_name)
            )  # fmt: skip
            if found:
                files = [scheme + path.lstrip("/") for path in found]
                return (_remote_origin(source),), files, inner
    raise InputError(
        f"{shown(source, 120)} has no file to read: give a Parquet or CSV file, or a folder of "
        "them; files in its folders are not read, and stores have no patterns."
    )


def _remote_origin(address: str) -> Origin:
    """Origin in a store."""
    return store_origin(address, _system(address)[1])


def _opened_part(
    path: str,
) -> tuple[ParquetPart | TextPart, tuple[str, ...], tuple[str, ...] | None]:
    """A part for a whole file, the names of its columns, and of those that may hold numbers.

    The latter are None for a text without rows.
    """
    if FORMATS.get(Path(path).suffix.lower(), "text") not in ("text", "parquet"):
        raise InputError(
            f"{shown(path, 120)} can't be read part by part: write it as Parquet or CSV, or read "
            "the single file into memory."
        )
    with _no_traceback(path, "can't be opened"):
        mark = _mark(path)
    if path.lower().endswith(_PARQUET):
        with (
            _no_traceback(path, _DAMAGED),
            _opened(path) as file,
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
    # Parquet files are counted without what reading text takes.
    from dpviz.data.reading.table import unique_names
    from dpviz.data.reading.text import check_text, layout_of

    with _no_traceback(path, "can't be read as text"), _opened(path) as file:
        head = file.read(_HEAD)
    if not head.strip():
        raise InputError(f"{shown(path, 120)} is empty: give files with one row per record.")
    if len(head) == _HEAD:  # whole lines only
        head = head[: head.rfind(b"\n") + 1] or head
    check_text(head, path)
    layout = layout_of(head, Path(path).name, None)
    names = tuple(unique_names(layout.names))
    found = {
        decimal: _numeric_fields(head[layout.body :], names, layout.delimiter, decimal)
        for decimal in ".,"
        if decimal != layout.delimiter
    }
    decimal = max(found, key=lambda one: len(found[one]))
    _check_decimals(path, head[layout.body :], names, layout.delimiter, found)
    part = TextPart(
        path=path, columns=names, mark=mark, names=names, delimiter=layout.delimiter,
        skipped=head[: layout.body].count(b"\n"), decimal=decimal,
    )  # fmt: skip
    return part, names, found[decimal] if head[layout.body :].strip() else None


def _check_decimals(
    path: str,
    rows: bytes,
    names: tuple[str, ...],
    delimiter: str,
    found: dict[str, tuple[str, ...]],
) -> None:
    """Refuse a text whose first rows may be read in two ways, a thousandfold apart.

    Raises
    ------
    InputError
        If as many columns have decimal points as decimal commas, or all numbers of a column with
        commas may have a thousand set apart.
    """
    if len(found) < 2:
        return
    points, commas = ([one for one in found[a] if one not in found[b]] for a, b in (".,", ",."))
    if points and len(points) == len(commas):
        raise InputError(
            f'{shown(path, 120)} has points in the numbers of "{shown(points[0])}" and commas in '
            f'those of "{shown(commas[0])}": write all numbers with decimal points.'
        )
    if len(commas) <= len(points):
        return
    from dpviz.data.reading.cells import UNCLEAR

    text = pyarrow.csv.read_csv(
        io.BytesIO(rows),
        pyarrow.csv.ReadOptions(use_threads=False, column_names=list(names)),
        pyarrow.csv.ParseOptions(delimiter=delimiter, newlines_in_values=True),
        pyarrow.csv.ConvertOptions(column_types=dict.fromkeys(names, pa.string())),
    )
    for name in commas:
        cells = [cell for cell in text[name].to_pylist() if cell]
        marked = [cell for cell in cells if "," in cell]
        if marked and all(re.search(UNCLEAR, cell) for cell in marked):
            raise InputError(
                f'column "{shown(name)}" of {shown(path, 120)} holds "{shown(marked[0])}": its '
                "comma may be a decimal mark, or set thousands apart; write its numbers with "
                "decimal points."
            )


def _numeric_fields(
    rows: bytes, names: tuple[str, ...], delimiter: str, decimal: str
) -> tuple[str, ...]:
    """Columns that hold numbers in the first rows of a text."""
    if not rows.strip():
        return names
    try:
        table = pyarrow.csv.read_csv(
            io.BytesIO(rows),
            pyarrow.csv.ReadOptions(
                use_threads=False, column_names=[str(number) for number in range(len(names))]
            ),
            pyarrow.csv.ParseOptions(delimiter=delimiter, newlines_in_values=True),
            pyarrow.csv.ConvertOptions(null_values=["", *MISSING], decimal_point=decimal),
        )
    except pa.ArrowInvalid:
        return names  # the pass says which row
    kinds = table.schema.types
    return tuple(
        name
        for name, kind in zip(names, kinds, strict=True)
        if holds_numbers(kind) or pa.types.is_null(kind)
    )


def _split(part: ParquetPart | TextPart) -> Iterator[Part]:
    """Parts of a file: several of a large Parquet file, in the order of its rows."""
    if not isinstance(part, ParquetPart):
        yield part
        return
    with _no_traceback(part.path, _DAMAGED):
        with _opened(part.path) as file:
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


@contextmanager
def _opened(path: str) -> Iterator[BinaryIO | pa.NativeFile]:
    """Bytes of a file, unpacked where its name ends in .gz."""
    packing = "gzip" if path.lower().endswith(".gz") else None
    if ADDRESS.match(path):
        system, inner = _system(path)
        # Parquet jumps to its footer.
        is_parquet = path.lower().endswith(_PARQUET)
        file: Any = (
            system.open_input_file(inner)
            if is_parquet
            else system.open_input_stream(inner, compression=packing)
        )
    else:
        os.stat(path)  # its error is in plain words
        file = pa.input_stream(path, compression=packing) if packing else pa.OSFile(path)
    with file:
        yield file


def _mark(path: str) -> tuple[int, int]:
    """Size and time of the last change of a file."""
    if not ADDRESS.match(path):
        facts = os.stat(path)
        return facts.st_size, facts.st_mtime_ns
    system, inner = _system(path)
    told = system.get_file_info(inner)
    if told.type == pyarrow.fs.FileType.NotFound:
        raise FileNotFoundError(2, os.strerror(2), path)
    return told.size or 0, told.mtime_ns or 0


@lru_cache(8)
def _system_of(scheme: str) -> Any:
    """Store of fsspec for a scheme that pyarrow does not know."""
    try:
        import fsspec
        from fsspec.implementations.local import LocalFileSystem
    except ImportError:
        raise InputError(
            f'addresses that start with "{shown(scheme)}://" need a package that is not '
            "installed: pip install fsspec, and the one for this store."
        ) from None
    try:
        store = fsspec.filesystem(scheme)
        if isinstance(store, LocalFileSystem):
            raise ValueError("its files are on this computer, so give their path")
    except (ValueError, ImportError) as error:
        raise InputError(
            f'no store is known for "{shown(scheme)}://": {shown(str(error), 160)}.'
        ) from None
    return pyarrow.fs.PyFileSystem(pyarrow.fs.FSSpecHandler(store))


def _system(path: str) -> tuple[Any, str]:
    """File system of an address, and the path inside it."""
    try:
        found: tuple[Any, str] = pyarrow.fs.FileSystem.from_uri(path)
        return found
    except (pa.ArrowInvalid, NotImplementedError, ImportError):
        scheme, inner = path.split("://", 1)
        return _system_of(scheme), inner
    except OSError as error:
        raise InputError(
            f"the store of {shown(path, 120)} does not answer ({shown(str(error), 160)}): check "
            "the address, and the network."
        ) from None


@contextmanager
def _no_traceback(path: str, problem: str) -> Iterator[None]:
    """Turn an error of a reader into a sentence that names the file."""
    try:
        yield
    except OSError as error:
        if not error.strerror:  # of the decoder, not of the disk
            raise InputError(_with_reason(path, problem, error)) from None
        raise InputError(
            f"{shown(path, 120)} can't be read: {shown(error.strerror, 160)}; all machines that "
            "read need it at the same path."
        ) from error
    except (pa.ArrowException, ValueError, EOFError) as error:
        if isinstance(error, InputError):
            raise
        cell = re.search(r"CSV column #(\d+).*invalid value '(.*)'", str(error), re.DOTALL)
        if cell:
            raise InputError(
                f'{shown(path, 120)} has a cell that is no number, "{shown(cell[2])}", in column '
                f"{int(cell[1]) + 1}: choose other columns, write numbers with a point, such as "
                "3.14, or leave such rows out (--leave-out on the command line)."
            ) from None
        ragged = re.search(r"Row #(\d+): Expected (\d+) columns, got (\d+)", str(error))
        if ragged:
            row, wanted, got = map(int, ragged.groups())
            raise InputError(
                f"row {row} of {shown(path, 120)} has {counted(got, 'field')} where others have "
                f"{wanted:,}: correct it, or leave such rows out "
                "(--leave-out on the command line)."
            ) from None
        raise InputError(_with_reason(path, problem, error)) from None


def _with_reason(path: str, problem: str, error: Exception) -> str:
    """Sentence on a file, with the first line of what the reader said."""
    said = str(error).partition("\n")[0].rstrip(".") or type(error).__name__
    if "pickle" in said:  # NumPy goes on with advice that is not safe
        said = "it holds objects of Python, which are never loaded"
    return f"{shown(path, 120)} {problem} ({shown(said, 160)}): write it again, or leave it out."


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
