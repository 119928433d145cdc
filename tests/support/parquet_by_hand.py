"""Make Parquet files byte by byte, with footers and pages that no library would write."""

from __future__ import annotations

import gzip
from dataclasses import dataclass

INT32, DOUBLE, BYTE_ARRAY = 1, 5, 6
PLAIN, RLE_DICTIONARY, DELTA_BYTE_ARRAY = 0, 8, 7

#: A value in Thrift's compact protocol: the number of its type, and its bytes.
Value = tuple[int, bytes]


def varint(number: int) -> bytes:
    """Code of a non-negative whole number, with seven bits per byte."""
    parts = bytearray()
    while number > 127:
        parts.append(number & 127 | 128)
        number >>= 7
    return bytes([*parts, number])


def whole(number: int) -> bytes:
    return varint(2 * number if number >= 0 else -2 * number - 1)


def i32(number: int) -> Value:
    return 5, whole(number)


def i64(number: int) -> Value:
    return 6, whole(number)


def text(data: bytes) -> Value:
    return 8, varint(len(data)) + data


def several(values: list[Value]) -> Value:
    kind = values[0][0] if values else 12
    return 9, bytes([0xF0 | kind]) + varint(len(values)) + b"".join(data for _, data in values)


def struct(fields: dict[int, Value]) -> Value:
    """Fields by their numbers."""
    data, last = b"", 0
    for number, (kind, value) in sorted(fields.items()):
        data += bytes([(number - last) << 4 | kind]) + value
        last = number
    return 12, data + b"\0"


def page(
    data: bytes,
    values: int,
    encoding: int = PLAIN,
    *,
    dictionary: bool = False,
    says: int | None = None,
) -> bytes:
    """Page and header, compressed by gzip; ``says`` is a false uncompressed size in the header."""
    packed = gzip.compress(data, mtime=0)
    facts = {1: i32(values), 2: i32(encoding)}
    fields = {
        1: i32(2 if dictionary else 0),
        2: i32(len(data) if says is None else says),
        3: i32(len(packed)),
        7 if dictionary else 5: struct(facts if dictionary else facts | {3: i32(3), 4: i32(3)}),
    }
    return struct(fields)[1] + packed


def same_entry(values: int) -> bytes:
    """Data of a page in which every value is the first entry of the dictionary."""
    return b"\x01" + varint(values << 1) + b"\0"


@dataclass
class Column:
    """A column of one row group: its pages, and their size according to the footer."""

    name: bytes
    kind: int
    pages: list[bytes]
    dictionary: bool = False
    says: int = 1000


def parquet(columns: list[Column], rows: int) -> bytes:
    """File with one row group."""
    body = b"PAR1"
    nodes, chunks = [struct({4: text(b"schema"), 5: i32(len(columns))})], []
    for column in columns:
        node = {1: i32(column.kind), 3: i32(0), 4: text(column.name)}
        nodes.append(struct(node | ({6: i32(0)} if column.kind == BYTE_ARRAY else {})))
        data, first = b"".join(column.pages), len(body)
        facts = {
            1: i32(column.kind),
            2: several([i32(PLAIN), i32(RLE_DICTIONARY)]),
            3: several([text(column.name)]),
            4: i32(2),  # gzip
            5: i64(rows),
            6: i64(column.says),
            7: i64(len(data)),
            9: i64(first + len(column.pages[0]) * column.dictionary),
        }
        if column.dictionary:
            facts[11] = i64(first)
        chunks.append(struct({2: i64(first), 3: struct(facts)}))
        body += data
    group = struct({1: several(chunks), 2: i64(1000), 3: i64(rows)})
    return _footed(body, nodes, rows, [group])


def _footed(body: bytes, nodes: list[Value], rows: int, groups: list[Value]) -> bytes:
    facts = {1: i32(1), 2: several(nodes), 3: i64(rows), 4: several(groups)}
    footer = struct(facts)[1]
    return body + footer + len(footer).to_bytes(4, "little") + b"PAR1"


def wide(columns: int) -> bytes:
    """File with this number of columns, and no rows."""
    leaf = struct({1: i32(INT32), 3: i32(0), 4: text(b"c")})
    return _footed(b"PAR1", [struct({4: text(b"s"), 5: i32(columns)})] + [leaf] * columns, 0, [])


def deep(levels: int) -> bytes:
    """File with one column, nested to this depth, and no rows."""
    level = struct({3: i32(0), 4: text(b"s"), 5: i32(1)})
    leaf = struct({1: i32(INT32), 3: i32(0), 4: text(b"c")})
    return _footed(b"PAR1", [level] * levels + [leaf], 0, [])
