"""Parquet files; only the chosen columns are decoded.

A few bytes of such a file may represent any number of values, and the sizes in its footer may be
false. So rows are decoded in small batches, text stays in dictionaries, and the page headers are
read first: each contains the size of its page, which the decoder uses.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager

import pyarrow as pa
import pyarrow.parquet

from dpviz.data.reading.cells import (
    BLOCK_ROWS,
    MAX_COLUMNS,
    Cells,
    TooLargeError,
    check_width,
)
from dpviz.data.reading.files import PARQUET, File, megabytes
from dpviz.data.reading.kinds import exact, holds_text, plain, readable
from dpviz.data.reading.table import Table, named_table
from dpviz.errors import InputError, shown

#: Longest footer: in memory it takes up to twenty times as much.
_FOOTER = 2**25

#: Deepest schema: the decoder calls itself for every level.
_DEPTH = 50

#: Maximum number of pages to check for one selection.
_PAGES = 200_000

#: Share of the memory limit for one unpacked page; smaller if the decoder stores an address for
#: each cell. For text the decoder holds a whole row group.
_PAGE_SHARE, _TEXT_SHARE = 4, 12

#: Parquet's number for text that is stored as a difference from the previous text.
_DELTA_BYTE_ARRAY = 7

#: Fields of a page header: the unpacked and packed size, the entries of a dictionary, and the
#: encoding, which is in one of two places.
_UNPACKED, _PACKED, _ENTRIES, _ENCODINGS = (2,), (3,), (7, 1), ((5, 2), (8, 4))
_IN_HEADER = {_UNPACKED, _PACKED, _ENTRIES, *_ENCODINGS}


def read_parquet(file: File) -> Table:
    """Make a table of the columns of a Parquet file that are not nested."""
    cells = _ParquetCells(file.data, file.name, file.memory)
    return named_table(file.name, cells.names, cells, flat=cells.flat, memory=file.memory)


class _DamagedError(Exception):
    """The bytes are not valid Parquet."""


class _Thrift:
    """Reader of Thrift's compact protocol, the format of footers and page headers."""

    def __init__(self, data: bytes, place: int, end: int) -> None:
        self.data, self.place, self.end = data, place, end

    def byte(self) -> int:
        """One byte."""
        if self.place >= self.end:
            raise _DamagedError
        self.place += 1
        return self.data[self.place - 1]

    def varint(self) -> int:
        """Whole number of at least 0."""
        number = 0
        for shift in range(0, 70, 7):
            byte = self.byte()
            number |= (byte & 127) << shift
            if byte < 128:
                return number
        raise _DamagedError

    def whole(self) -> int:
        """Whole number with a sign."""
        number = self.varint()
        return -(number // 2) - 1 if number % 2 else number // 2

    def size(self) -> tuple[int, int]:
        """Number of elements of a list, and their type."""
        byte = self.byte()
        return (byte >> 4 if byte < 0xF0 else self.varint()), byte & 15

    def fields(self) -> Iterator[tuple[int, int]]:
        """Numbers and types of a struct's fields; the caller reads or skips their values."""
        number = 0
        while byte := self.byte():
            number = number + (byte >> 4) if byte >> 4 else self.whole()
            yield number, byte & 15

    def numbers(
        self, wanted: Collection[tuple[int, ...]], inside: tuple[int, ...] = ()
    ) -> dict[tuple[int, ...], int]:
        """Read whole numbers from a struct or a nested struct, by their field numbers."""
        found: dict[tuple[int, ...], int] = {}
        for number, kind in self.fields():
            place = (*inside, number)
            if kind == 12 and not inside:
                found |= self.numbers(wanted, place)
            elif kind == 5 and place in wanted:
                found[place] = self.whole()
            else:
                self.skip(kind)
        return found

    def skip(self, kind: int, depth: int = 0) -> None:
        """Skip a value."""
        if depth > _DEPTH:
            raise _DamagedError
        if kind in (1, 2):  # a truth value: its type holds it
            return
        if kind == 3:
            self.byte()
        elif kind in (4, 5, 6):
            self.varint()
        elif kind == 7:
            self.place += 8
        elif kind == 8:  # bytes after their number
            size = self.varint()
            self.place += size
        elif kind in (9, 10):
            size, inner = self.size()
            for _ in range(size):
                self.skip(3 if inner in (1, 2) else inner, depth + 1)
        elif kind == 12:
            for _, inner in self.fields():
                self.skip(inner, depth + 1)
        else:  # maps are in neither
            raise _DamagedError
        if self.place > self.end:
            raise _DamagedError


@contextmanager
def _refusing_damage(name: str) -> Iterator[None]:
    """Raise InputError, in one sentence, for a damaged file; it may raise many kinds of errors."""
    try:
        yield
    except (InputError, MemoryError):
        raise
    except Exception:
        raise InputError(
            f"{shown(name)} is no whole Parquet file, perhaps cut off: transfer or write it again."
        ) from None


def _leaves(data: bytes, name: str) -> list[int | None]:
    """Position, among all columns, of each column of the table; None if it is nested."""
    size = int.from_bytes(data[-8:-4], "little")
    if data[:4] != PARQUET or data[-4:] != PARQUET or not 0 < size <= len(data) - 12:
        raise _DamagedError
    if size > _FOOTER:
        raise InputError(
            f"{shown(name)} has a footer of {megabytes(size)}: write it again with fewer columns, "
            "or with more rows in each row group."
        )
    thrift = _Thrift(data, len(data) - 8 - size, len(data) - 8)
    for number, kind in thrift.fields():
        if number == 2 and kind == 9:
            return _tree(thrift, name)
        thrift.skip(kind)
    raise _DamagedError


def _tree(thrift: _Thrift, name: str) -> list[int | None]:
    """Read the schema: a list of all nodes, each before its children."""
    nodes, _ = thrift.size()
    leaves: list[int | None] = []
    left = [1]  # children to come, by depth
    position = 0
    for _ in range(nodes):
        children = thrift.numbers({(5,)}).get((5,), 0)
        while left and not left[-1]:
            left.pop()
        if not left or children < 0:
            raise _DamagedError
        if len(left) == 1:
            check_width(children, name)
        left[-1] -= 1
        if len(left) == 2:
            leaves.append(None if children else position)
        position += not children
        left.append(children)
        if len(left) > _DEPTH or position > MAX_COLUMNS:
            raise InputError(
                f"{shown(name)} has columns nested more than {_DEPTH} levels deep, or more than "
                f"{MAX_COLUMNS:,} with the nested ones: give a table of flat columns."
            )
    return leaves


class _ParquetCells(Cells):
    """Columns of a Parquet file.

    Parameters
    ----------
    data
        The whole file.
    name
        What to call it in messages.
    memory
        Bytes that decoding may take.

    Attributes
    ----------
    names
        Of all columns of the table.
    flat
        Positions, among these, of the columns that hold numbers or text.

    Raises
    ------
    InputError
        If it is not Parquet, or has too many columns.
    """

    def __init__(self, data: bytes, name: str, memory: int) -> None:
        self._data, self._name, self._memory = data, name, memory
        with _refusing_damage(name):
            leaves = _leaves(data, name)
            self._file = pyarrow.parquet.ParquetFile(pa.BufferReader(data))
            schema, parquet = self._file.schema_arrow, self._file.schema
            flat = [leaf for leaf in leaves if leaf is not None]
            texts = {leaf for leaf in flat if parquet.column(leaf).physical_type == "BYTE_ARRAY"}
            if texts:
                self._file = pyarrow.parquet.ParquetFile(
                    pa.BufferReader(data),
                    read_dictionary=[parquet.column(leaf).path for leaf in flat if leaf in texts],
                )
            self.rows = self._file.metadata.num_rows
            if len(schema) != len(leaves) or self.rows < 0:
                raise _DamagedError
        self.names: list[str] = schema.names
        #: Position in the file of each column with numbers or text and a consistent type.
        columns = {}
        for axis, leaf in enumerate(leaves):
            kind = schema.field(axis).type
            value = kind.value_type if pa.types.is_dictionary(kind) else kind
            if leaf is not None and readable(kind) and (leaf in texts) == holds_text(value):
                columns[axis] = leaf
        self.flat, self._leaves = list(columns), list(columns.values())

    def blocks(self, axes: Sequence[int]) -> Iterator[list[pa.Array]]:
        """Successive rows of some columns."""
        for columns in self._batches(axes):
            yield [plain(column) for column in columns]

    def written(self, axis: int) -> Iterator[pa.Array]:
        """Successive cells of a column."""
        return (exact(columns[0]) for columns in self._batches([axis]))

    def _batches(self, axes: Sequence[int]) -> Iterator[list[pa.Array]]:
        """Successive rows of some columns, of their own types."""
        leaves = [self._leaves[axis] for axis in axes]
        order = sorted(leaves)
        rows = pages = 0
        with _refusing_damage(self._name):
            for group in range(self._file.num_row_groups):
                if not self._file.metadata.row_group(group).num_rows:  # there may be no page then
                    continue
                for axis, leaf in zip(axes, leaves, strict=True):
                    column = self.names[self.flat[axis]]
                    pages += self._check_pages(group, leaf, column, _PAGES - pages)
                for batch in self._file.reader.iter_batches(
                    BLOCK_ROWS, row_groups=[group], column_indices=order, use_threads=False
                ):
                    rows += len(batch)
                    if rows > self.rows or batch.num_columns != len(leaves):
                        raise _DamagedError
                    columns = dict(zip(order, batch.columns, strict=True))
                    yield [columns[leaf] for leaf in leaves]
            if rows != self.rows:
                raise _DamagedError

    def _check_pages(self, group: int, leaf: int, column: str, most: int) -> int:
        """Refuse pages that would fill the memory; return the number of pages."""
        chunk = self._file.metadata.row_group(group).column(leaf)
        start, size = chunk.data_page_offset, chunk.total_compressed_size
        if chunk.has_dictionary_page and 0 < chunk.dictionary_page_offset < start:
            start = chunk.dictionary_page_offset
        if min(start, size) < 0 or start + size > len(self._data):
            raise _DamagedError
        text, share = chunk.physical_type == "BYTE_ARRAY", _PAGE_SHARE
        if "BYTE_ARRAY" in chunk.physical_type:  # of any length, or of a fixed one
            share = _TEXT_SHARE
        thrift = _Thrift(self._data, start, start + size)
        pages = largest = total = 0
        while thrift.place < thrift.end:
            header = thrift.numbers(_IN_HEADER)
            packed, unpacked = header.get(_PACKED, -1), header.get(_UNPACKED, -1)
            entries = header.get(_ENTRIES, 0)
            # Every entry of a dictionary has a byte or more.
            if min(packed, unpacked, entries) < 0 or entries > unpacked:
                raise _DamagedError
            thrift.place += packed
            pages += 1
            largest, total = max(largest, unpacked), total + unpacked
            if text and _DELTA_BYTE_ARRAY in (header.get(place) for place in _ENCODINGS):
                raise TooLargeError(
                    f'column "{shown(column)}" of {shown(self._name)} holds text in the encoding '
                    "DELTA_BYTE_ARRAY, which is not read: write it with a dictionary, as pyarrow "
                    "does by default."
                )
            if pages > most:
                raise InputError(
                    f"{shown(self._name)} has more than {_PAGES:,} pages in the chosen columns: "
                    "write it again with larger pages, or choose fewer columns."
                )
        needed = total if text else largest
        if needed > self._memory // share:
            raise TooLargeError(
                f'column "{shown(column)}" of {shown(self._name)} takes more than '
                f"{megabytes(self._memory // share)} unpacked in one "
                f"{'row group' if text else 'page'}, the limit for a file of its size: write it "
                "again with smaller row groups."
            )
        return pages
