"""Rows of other formats as text, which the reader of text then reads like any other."""

from __future__ import annotations

import re
from collections.abc import Sequence

from dpviz.data.reading.cells import check_width
from dpviz.data.reading.files import too_large

#: Separator of the fields. None is left inside them.
TAB = "\t"

#: What would end a field or a row, or is no text.
_BREAKS = re.compile(r"[\t\r\n\0]")

#: What a field without tabs may have that has to be written otherwise.
_SPECIAL = re.compile(r'["\r\n\0]')

#: Characters that are joined and encoded together.
_BUFFER = 2**20


class Lines:
    """Text of one line for each row; later rows may be wider, earlier ones are then filled up.

    Parameters
    ----------
    name
        What to call the data in messages.
    limit
        Most bytes of the text; more raise InputError.
    """

    def __init__(self, name: str, limit: int) -> None:
        self._name, self._limit = name, limit
        self._size = self._waiting = 0
        self._rows: list[str] = []
        #: Text of successive rows of one width, with that width.
        self._done: list[tuple[int, bytearray]] = [(0, bytearray())]

    @property
    def width(self) -> int:
        """Number of fields of the widest row."""
        return self._done[-1][0]

    def add(self, fields: Sequence[str]) -> None:
        """Append a row; a row of empty fields becomes an empty line."""
        if len(fields) > self.width:
            self._settle()
            check_width(len(fields), self._name)
            self._done.append((len(fields), bytearray()))
        size = sum(map(len, fields))
        if self._size + self._waiting + size > self._limit:
            raise too_large(self._name, self._limit)
        text = ""
        if size:
            text = _line(fields) + TAB * (self.width - len(fields))
        # A line of nothing but white space is no row.
        self._rows.append("" if text.isspace() else text)
        self._waiting += len(text) + 1
        if self._waiting >= _BUFFER:
            self._settle()

    def skip(self, rows: int) -> None:
        """Append empty lines, which keep the numbers of the rows after them."""
        self._settle()
        self._grow(b"\n" * rows)

    def _settle(self) -> None:
        """Turn the rows so far into bytes."""
        if self._rows:
            self._grow(("\n".join(self._rows) + "\n").encode(errors="replace"))
            self._rows, self._waiting = [], 0

    def _grow(self, text: bytes) -> None:
        self._size += len(text)
        if self._size > self._limit:
            raise too_large(self._name, self._limit)
        self._done[-1][1].extend(text)

    def text(self) -> bytes:
        """All rows in UTF-8, each with as many fields as the widest, except for empty lines."""
        self._settle()
        parts = []
        for width, rows in self._done:
            more = TAB.encode() * (self.width - width)
            if more:
                self._size += rows.count(b"\n") * len(more)
                if self._size > self._limit:
                    raise too_large(self._name, self._limit)
            parts.append(re.sub(rb"(?<=[^\n])\n", more + b"\n", rows) if more else rows)
        return b"".join(parts)


def _line(fields: Sequence[str]) -> str:
    """Text of a row."""
    text = TAB.join(fields)
    # Looked at all at once: most rows need nothing, and some have ten thousand fields.
    plain = not _SPECIAL.search(text) and text.count(TAB) == len(fields) - 1
    return text if plain else TAB.join(map(_field, fields))


def _field(text: str) -> str:
    """Text of one field without breaks, in quotation marks if it has one of them."""
    if _BREAKS.search(text):
        text = _BREAKS.sub(" ", text)
    return '"' + text.replace('"', '""') + '"' if '"' in text else text
