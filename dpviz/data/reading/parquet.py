"""Parquet files, of which only the columns that somebody chose are decoded.

A few bytes of such a file may stand for any number of values, and what its footer says of sizes
may be false. So rows are decoded in small batches, text stays in dictionaries, and every page says
its size in a header of its own, which is read first: the decoder goes by it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NoReturn

import pyarrow as pa
import pyarrow.parquet

from dpviz.data.reading.arrow import plain, readable
from dpviz.data.reading.table import Cells, TooLargeError, holds_text, megabytes
from dpviz.data.reading.text import MAX_COLUMNS, check_width
from dpviz.errors import InputError, shown

MAGIC = b"PAR1"

#: Longest footer: in memory it takes up to twenty times as much.
_FOOTER = 2**25

#: Deepest schema: the decoder calls itself for every level.
_DEPTH = 50

#: Most pages that are looked at for one selection.
_PAGES = 200_000

#: Share of the memory limit that one page may take unpacked; less where the decoder keeps an
#: address for each cell. Of text it keeps all of a row group.
_PAGE_SHARE, _TEXT_SHARE = 4, 12

_ROWS = 2**16

#: Parquet's number for text that is stored by what it has in common with the text before.
_DELTA_BYTE_ARRAY = 7


class _DamagedError(Exception):
    """What is there is no Parquet."""


class _Thrift:
    """Reader of Thrift's compact protocol, in which footers and page headers are written."""

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
        """Numbers and types of a struct's fields; whoever asks reads or skips their values."""
        number = 0
        while byte := self.byte():
            number = number + (byte >> 4) if byte >> 4 else self.whole()
            yield number, byte & 15

    def skip(self, kind: int, depth: int = 0) -> None:
        """Go past a value."""
        if depth > _DEPTH:
            raise _DamagedError
        if kind in (1, 2):  # a truth value, told by its type
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


@dataclass(frozen=True)
class _Page:
    """What the header of a page says."""

    packed: int
    unpacked: int
    entries: int  # of a dictionary
    encoding: int


def _page(thrift: _Thrift) -> _Page:
    """Read the header of a page; the page follows."""
    found = {(2, 0): -1, (3, 0): -1, (5, 2): 0, (8, 4): 0, (7, 1): 0}
    for number, kind in thrift.fields():
        if kind == 12 and number in (5, 7, 8):  # of a data page, a dictionary, a data page again
            for inner, one in thrift.fields():
                if (number, inner) in found and one == 5:
                    found[number, inner] = thrift.whole()
                else:
                    thrift.skip(one)
        elif (number, 0) in found and kind == 5:
            found[number, 0] = thrift.whole()
        else:
            thrift.skip(kind)
    page = _Page(found[3, 0], found[2, 0], found[7, 1], found[5, 2] or found[8, 4])
    # Every entry of a dictionary has a byte or more.
    if min(page.packed, page.unpacked, page.entries) < 0 or page.entries > page.unpacked:
        raise _DamagedError
    return page


def _leaves(data: bytes, name: str) -> list[int | None]:
    """Position, among all columns, of each column of the table; None where it is nested."""
    size = int.from_bytes(data[-8:-4], "little")
    if data[:4] != MAGIC or data[-4:] != MAGIC or not 0 < size <= len(data) - 12:
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
        children = 0
        for number, kind in thrift.fields():
            if number == 5 and kind == 5:
                children = thrift.whole()
            else:
                thrift.skip(kind)
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


class ParquetCells(Cells):
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
        Where it is none, or has too many columns.
    """

    def __init__(self, data: bytes, name: str, memory: int) -> None:
        self._data, self._name, self._memory = data, name, memory
        try:
            leaves = _leaves(data, name)
            self._file = pyarrow.parquet.ParquetFile(pa.BufferReader(data))
            schema = self._file.schema_arrow
            physical = [self._file.schema.column(leaf) for leaf in _known(leaves)]
            texts = [one.path for one in physical if one.physical_type == "BYTE_ARRAY"]
            if texts:
                self._file = pyarrow.parquet.ParquetFile(
                    pa.BufferReader(data), read_dictionary=texts
                )
            self.rows = self._file.metadata.num_rows
        except (InputError, MemoryError):
            raise
        except Exception:  # damaged files raise errors of many kinds
            self._damaged()
        if len(schema) != len(leaves) or self.rows < 0:
            self._damaged()
        self.names: list[str] = schema.names
        self.flat = [
            axis
            for axis, leaf in enumerate(leaves)
            if leaf is not None and self._readable(schema.field(axis).type, leaf)
        ]
        self._leaves = [leaves[axis] or 0 for axis in self.flat]

    def _readable(self, kind: pa.DataType, leaf: int) -> bool:
        """Tell whether a column holds numbers or text, and is as large as it looks."""
        value = kind.value_type if pa.types.is_dictionary(kind) else kind
        text = self._file.schema.column(leaf).physical_type == "BYTE_ARRAY"
        return readable(kind) and text == holds_text(value)

    def _damaged(self) -> NoReturn:
        raise InputError(
            f"{shown(self._name)} is no whole Parquet file, perhaps cut off: transfer or write it "
            "again."
        ) from None

    def blocks(self, axes: Sequence[int]) -> Iterator[list[pa.Array]]:
        """Successive rows of some columns."""
        leaves = [self._leaves[axis] for axis in axes]
        order = sorted(leaves)
        rows = pages = 0
        for group in range(self._file.num_row_groups):
            if not self._file.metadata.row_group(group).num_rows:  # there may be no page then
                continue
            try:
                for axis, leaf in zip(axes, leaves, strict=True):
                    pages += self._check_pages(
                        group, leaf, self.names[self.flat[axis]], _PAGES - pages
                    )
                batches = self._file.reader.iter_batches(
                    _ROWS, row_groups=[group], column_indices=order, use_threads=False
                )
                for batch in batches:
                    rows += len(batch)
                    if rows > self.rows or batch.num_columns != len(leaves):
                        raise _DamagedError
                    columns = dict(zip(order, batch.columns, strict=True))
                    yield [plain(columns[leaf]) for leaf in leaves]
            except (InputError, MemoryError):
                raise
            except Exception:  # damaged files raise errors of many kinds
                self._damaged()
        if rows != self.rows:
            self._damaged()

    def _check_pages(self, group: int, leaf: int, column: str, most: int) -> int:
        """Refuse pages that would fill the memory; returns how many there are."""
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
            page = _page(thrift)
            thrift.place += page.packed
            pages += 1
            largest, total = max(largest, page.unpacked), total + page.unpacked
            if text and page.encoding == _DELTA_BYTE_ARRAY:
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


def _known(leaves: list[int | None]) -> list[int]:
    """Positions of the columns that are not nested."""
    return [leaf for leaf in leaves if leaf is not None]
