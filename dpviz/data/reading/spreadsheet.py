"""Excel workbooks (.xlsx): one sheet becomes lines of text.

The parts are read as a stream by expat, so a sheet takes the memory of its text alone. Only values
are read: of formulas the result that the file holds, of dates the date. No entity, link or macro is
followed.
"""

from __future__ import annotations

import posixpath
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any
from xml.parsers import expat

from dpviz.data.reading.archive import Archive
from dpviz.data.reading.cells import MAX_COLUMNS, check_width, float_text
from dpviz.data.reading.files import File
from dpviz.data.reading.lines import TAB, Lines
from dpviz.data.reading.text import is_number, names_of
from dpviz.data.reading.unread import Slips
from dpviz.errors import InputError, listed, shown
from dpviz.numbers import counted

WORKBOOK = "xl/workbook.xml"

#: Most rows of a sheet, as in Excel.
MAX_ROWS = 2**20

#: Most different texts and formats: they are held in memory.
_SHARED = 2**22

#: Longest name or value of an element.
_TOKEN = 2**20

#: Numbers of Excel's own formats for dates and times (ECMA-376 Part 1, 18.8.30).
_DATES = {*range(14, 23), *range(27, 37), *range(45, 48), *range(50, 59)}

#: What is no letter for a date in the code of a format: text, colours, signs set apart.
_LITERAL = re.compile(r'"[^"]*"|\[[^\]]*\]|[\\_*].')

#: Of every release: no cell may tell what another one means.
_COMMAS = (
    "In a release a comma in a cell of text is a decimal mark: write numbers without thousands "
    "separators."
)

_REFERENCE = re.compile(r"([A-Z]{1,3})([0-9]{1,7})")

#: Digits of a number that Excel keeps.
_DIGITS = 15


@dataclass(frozen=True)
class Sheet:
    """A sheet of a workbook: its name, its file in the archive, and whether it is hidden."""

    name: str
    part: str
    hidden: bool


class _DamagedError(Exception):
    """The parts do not fit together, or are no XML."""


class Workbook:
    """The sheets of a workbook.

    Parameters
    ----------
    archive
        With the parts of the workbook.
    name
        What to call it in messages.
    """

    def __init__(self, archive: Archive, name: str) -> None:
        self._archive, self.name = archive, name
        self._texts: list[str] = []
        self._dated: list[bool] = []
        self._from_1904 = False
        self._parts: dict[str, tuple[str, str]] = {}
        self.sheets: list[Sheet] = []
        relations = "xl/_rels/workbook.xml.rels"
        self._parse(relations, self._relation)
        self._parse(WORKBOOK, self._entry)

    def names(self, *, empty: bool) -> list[str]:
        """Names of the sheets that are not hidden, of ``empty`` ones, too, if wanted."""
        shown_ones = [one for one in self.sheets if not one.hidden]
        return [one.name for one in shown_ones if empty or self._has_data(one)]

    def _has_data(self, sheet: Sheet) -> bool:
        class _FoundError(Exception):
            pass

        def start(tag: str, _: dict[str, str]) -> None:
            if tag in ("v", "is"):
                raise _FoundError

        try:
            self._parse(sheet.part, start)
        except _FoundError:
            return True
        return False

    def sheet(self, name: str) -> Sheet:
        """Sheet of a name, hidden ones included.

        Raises
        ------
        InputError
            If there is none.
        """
        for one in self.sheets:
            if one.name == name:
                return one
        raise InputError(
            f'sheet = "{shown(name)}" is not in {shown(self.name)}: choose from '
            f"{listed(one.name for one in self.sheets)}."
        )

    def rows(
        self, sheet: Sheet, merged: list[str], *, released: bool = False, named: bool = False
    ) -> Iterator[tuple[int, dict[int, str]]]:
        """Successive rows with cells: number from 1, and text by position of the column.

        The places of merged cells are known when all rows are read. A formula without a result is
        None in place of its text. In a release (``released``) cells beyond the widest table are
        left out of records, to which the first row belongs where the names are given (``named``).
        """
        reader = _Rows(self._texts, self._dated, self._from_1904, merged, self.name)
        reader.drops, reader.named = released, named
        parser = _parser(reader.start, reader.end, reader.said)
        with _refusing_damage(self.name):
            for _ in _fed(parser, self._pieces(sheet.part)):
                yield from reader.taken()

    def _relation(self, tag: str, given: dict[str, str]) -> None:
        if tag == "Relationship":
            kind = given.get("Type", "").rpartition("/")[2]
            target = posixpath.normpath(posixpath.join("/xl", given.get("Target", ""))).lstrip("/")
            self._parts[given.get("Id", "")] = (kind, target)

    def _entry(self, tag: str, given: dict[str, str]) -> None:
        if tag == "workbookPr":
            self._from_1904 = given.get("date1904") in ("1", "true")
        if tag == "sheet":
            place = next((value for key, value in given.items() if key.endswith(":id")), "")
            kind, part = self._parts.get(place, ("", ""))
            if kind == "worksheet" and part in self._archive.names:
                hidden = given.get("state", "visible") != "visible"
                self.sheets.append(Sheet(given.get("name", ""), part, hidden))

    def read_shared(self) -> None:
        """Read the texts and formats that all sheets share; rows need them."""
        by_kind = dict(self._parts.values())
        texts: list[str] = []
        said: list[str] = []
        inside = [False, False]  # of a text, of its pronunciation

        def start(tag: str, _: dict[str, str]) -> None:
            if tag == "si":
                said.clear()
            inside[0] |= tag == "t"
            inside[1] |= tag == "rPh"

        def end(tag: str) -> None:
            if tag == "si":
                texts.append("".join(said))
                if len(texts) > _SHARED:
                    raise InputError(
                        f"{shown(self.name)} has more than {_SHARED:,} different texts: save the "
                        "sheet as CSV in UTF-8."
                    )
            inside[0] &= tag != "t"
            inside[1] &= tag != "rPh"

        def text(piece: str) -> None:
            if inside[0] and not inside[1]:
                self._archive.hold(sys.getsizeof(piece))
                said.append(piece)

        if by_kind.get("sharedStrings") in self._archive.names:
            self._parse(by_kind["sharedStrings"], start, end, text)
        self._texts = texts
        codes: dict[str, str] = {}
        cells = [False]

        def style(tag: str, given: dict[str, str]) -> None:
            if tag == "numFmt" and len(codes) < _SHARED:
                codes[given.get("numFmtId", "")] = given.get("formatCode", "")
            cells[0] |= tag == "cellXfs"
            if tag == "xf" and cells[0] and len(self._dated) < _SHARED:
                number = given.get("numFmtId", "0")
                code = _LITERAL.sub("", codes.get(number, "")).split(";")[0].lower()
                own = number.isdecimal() and len(number) < 5 and int(number) in _DATES
                self._dated.append(own or (bool(re.search("[ymdhs]", code)) and code != "general"))

        def style_end(tag: str) -> None:
            cells[0] &= tag != "cellXfs"

        if by_kind.get("styles") in self._archive.names:
            self._parse(by_kind["styles"], style, style_end)

    def _pieces(self, part: str) -> Iterator[bytes]:
        if part not in self._archive.names:
            raise _DamagedError
        return self._archive.pieces(part)

    def _parse(
        self,
        part: str,
        start: Callable[[str, dict[str, str]], None],
        end: Callable[[str], None] | None = None,
        text: Callable[[str], None] | None = None,
    ) -> None:
        """Read one part."""
        parser = _parser(start, end, text)
        with _refusing_damage(self.name):
            for _ in _fed(parser, self._pieces(part)):
                pass


class _Rows:
    """Handlers that make rows of the events of a sheet."""

    def __init__(
        self,
        texts: Sequence[str],
        dated: Sequence[bool],
        from_1904: bool,
        merged: list[str],
        name: str,
    ) -> None:
        self._texts, self._dated, self._merged, self._name = texts, dated, merged, name
        self._start = datetime(1904, 1, 1) if from_1904 else datetime(1899, 12, 30)
        self._rows: list[tuple[int, dict[int, str]]] = []
        self._number = 0
        self._cells: dict[int, str] = {}
        self._at = -1
        self._kind = self._style = ""
        self._said: list[str] = []
        self._taking = self._spoken = self._computed = False
        #: Whether cells beyond the widest table are dropped from records, not refused; whether
        #: there is a row of names before the next one.
        self.drops = self.named = False

    def taken(self) -> list[tuple[int, dict[int, str]]]:
        """Rows that ended since the last call."""
        rows, self._rows = self._rows, []
        return rows

    def start(self, tag: str, given: dict[str, str]) -> None:
        """Start an element."""
        if tag == "c":
            self._at += 1
            place = given.get("r")
            if place is not None:
                self._at = _column(place)
            if self._at >= MAX_COLUMNS and not (self.drops and self.named):
                check_width(self._at + 1, self._name)
            self._kind, self._style = given.get("t", "n"), given.get("s", "")
            self._said, self._computed = [], False
        elif tag in ("v", "t"):
            self._taking = not self._spoken
        elif tag == "f":
            self._computed = True
        elif tag == "row":
            row = given.get("r")
            number = self._number + 1 if row is None else _whole(row)
            if number <= self._number or number > MAX_ROWS:
                raise _DamagedError
            self._number, self._cells, self._at = number, {}, -1
        elif tag == "rPh":
            self._spoken = True
        elif tag == "mergeCell" and len(self._merged) < _SHARED:
            self._merged.append(given.get("ref", ""))

    def end(self, tag: str) -> None:
        """End an element."""
        if tag in ("v", "t"):
            self._taking = False
        elif tag == "c":
            try:
                text = self._text("".join(self._said))
            except _DamagedError:
                if not (self.drops and self.named):
                    raise
                text = ""  # one record decides nothing
            if text and self._at < MAX_COLUMNS:
                self._cells[self._at] = text
        elif tag == "row" and self._cells:
            self._rows.append((self._number, self._cells))
            self.named = True
        elif tag == "rPh":
            self._spoken = False

    def said(self, text: str) -> None:
        """Take text between elements."""
        if self._taking:
            self._said.append(text)

    def _text(self, value: str) -> str:
        """Text of a cell."""
        kind = self._kind
        if kind == "n":
            if not value and self._computed:
                return NO_RESULT
            if self._style and value:
                style = _whole(self._style)
                if style < len(self._dated) and self._dated[style]:
                    return self._date(value)
            return _number(value)
        if kind == "s":
            place = _whole(value) if value else -1
            if place >= len(self._texts):
                raise _DamagedError
            return self._texts[place] if value else ""
        if kind == "b":
            return {"1": "True", "0": "False"}.get(value, "")
        return "" if kind == "e" else value

    def _date(self, value: str) -> str:
        """Date or time of a number of days; what is none stays a number."""
        try:
            days = float(value)
            start = self._start
            # Excel takes 1900 for a leap year: days before its 29 February count from one later.
            if start.year == 1899 and days < 60:
                start += timedelta(days=1)
            moment = start + timedelta(seconds=round(days * 86_400))
        except (ValueError, OverflowError):
            return value
        if 0 <= days < 1:
            return f"{moment:%H:%M:%S}"
        return moment.date().isoformat() if days == int(days) else moment.isoformat(" ")


#: Text of a formula that was never computed; no cell can hold it.
NO_RESULT = "\x01"


def _number(text: str) -> str:
    """Text of a number; with an exponent where Excel may have rounded it to its 15 digits."""
    if len(text) <= 15 and text.isascii() and text.isdigit():
        return text
    try:
        return float_text(float(text), most=10**_DIGITS)
    except ValueError:
        return text


def _whole(text: str) -> int:
    """Whole number of a few digits."""
    if not (text.isascii() and text.isdigit() and len(text) < 9):
        raise _DamagedError
    return int(text)


def _column(place: str) -> int:
    """Position of the column, from 0, of a cell such as B7."""
    found = _REFERENCE.fullmatch(place)
    if not found:
        raise _DamagedError
    number = 0
    for letter in found[1]:
        number = 26 * number + ord(letter) - 64
    return number - 1


def column_letters(position: int) -> str:
    """Letters of a column at a position from 0, as a spreadsheet names it: A, B, ..., Z, AA."""
    letters = ""
    number = position + 1
    while number:
        number, rest = divmod(number - 1, 26)
        letters = chr(65 + rest) + letters
    return letters


def _fed(parser: Any, pieces: Iterator[bytes]) -> Iterator[None]:
    """Parse piece by piece; a name or value that goes on and on would be read again each time."""
    size = 0
    for piece in pieces:
        parser.Parse(piece, False)
        size += len(piece)
        if size - parser.CurrentByteIndex > _TOKEN:
            raise _DamagedError
        yield
    parser.Parse(b"", True)
    yield


def _parser(
    start: Callable[[str, dict[str, str]], None],
    end: Callable[[str], None] | None,
    text: Callable[[str], None] | None,
) -> Any:
    """Parser that refuses documents that define entities."""
    parser = expat.ParserCreate()
    parser.buffer_text = True

    def started(tag: str, given: dict[str, str]) -> None:
        start(tag.rpartition(":")[2], given)

    def ended(tag: str) -> None:
        assert end is not None  # noqa: S101
        end(tag.rpartition(":")[2])

    def refuse(*_: object) -> None:
        raise _DamagedError

    parser.StartElementHandler = started
    parser.EndElementHandler = ended if end else None
    parser.CharacterDataHandler = text
    parser.StartDoctypeDeclHandler = refuse
    return parser


@contextmanager
def _refusing_damage(name: str) -> Iterator[None]:
    """Raise InputError, in one sentence, where the parts are no workbook."""
    try:
        yield
    except InputError:
        raise
    except (_DamagedError, expat.ExpatError, ValueError, LookupError):  # also of a foreign encoding
        raise InputError(
            f"{shown(name)} is no workbook that can be read: open it in a spreadsheet program and "
            "save it again as .xlsx, or the sheet as CSV in UTF-8."
        ) from None


def sheet_as_text(
    file: File,
    archive: Archive,
    sheet: str | None,
    header: bool | str | None,
    released: bool,
    *,
    lenient: bool = False,
) -> File:
    """Make lines of text of one sheet.

    Parameters
    ----------
    sheet
        Name; None for the only one that holds anything.
    header
        As for :func:`~dpviz.data.reading.read.read_table`.
    released
        No record may tell which sheet is read, how many columns there are, or whether it is
        refused.
    lenient
        Whether a few formulas without results are cells without numbers, and a few cells beside
        the named columns are left out, as in a release.

    Raises
    ------
    InputError
        If the sheet has to be named, or is no table: cells beside the named columns, merged cells
        among the names, formulas without results.
    """
    book = Workbook(archive, file.name)
    chosen = _chosen(book, sheet, released)
    book.read_shared()
    lines = Lines(file.name, (file.memory - archive.held) // 2)
    where = f'sheet "{shown(chosen.name)}" of {shown(file.name)}'
    merged: list[str] = []
    slips = Slips(allowed=lenient)
    first = before = rows = beside = 0
    names: list[str] = []
    if isinstance(header, str):
        names = names_of(header, file.name)
        lines.add(names)
    open_width = False  # whether rows may be wider than the first one
    for number, cells in book.rows(
        chosen, merged, released=released, named=isinstance(header, str)
    ):
        if not first:
            first = number
            width = max(cells) + 1
            row = [cells.get(at, "") for at in range(width)]
            numeric = all(is_number(text, ",") for text in row if text)
            # A grid of counts has no names.
            open_width = header is False or (not released and header is None and numeric)
            names = names or row
        if NO_RESULT in cells.values():
            at = next(at for at, text in cells.items() if text == NO_RESULT)
            error = InputError(
                f"row {number}, column {column_letters(at)} of {where} holds a formula without its "
                "result: open the file in a spreadsheet program and save it again."
            )
            is_grid = released and header is False
            if number == first and not (is_grid or isinstance(header, str)):
                raise error
            if not released:
                slips.add(error)
            held = "" if released else "formula without a result"
            cells = {at: held if text == NO_RESULT else text for at, text in cells.items()}
        wide = max(cells) + 1
        if not open_width and wide > len(names):
            if not released:
                at = min(at for at in cells if at >= len(names))
                error = InputError(
                    f"row {number}, column {column_letters(at)} of {where} holds "
                    f'"{shown(cells[at])}", but row {first}, the first one, names no such column: '
                    "give every column a name there, and remove titles above the names."
                )
                slips.add(error)
                beside += 1
            wide = len(names)
        if number > before + 1:
            lines.skip(number - before - 1)
        lines.add([cells.get(at, "") for at in range(wide)])
        before = number
        rows += 1
    slips.check(rows)
    _check_merged(merged, first, where, named=not open_width and not isinstance(header, str))
    notes = (_COMMAS,) if released else ()
    if beside:
        notes = (f"Cells beside the named columns are left out in {counted(beside, 'row')}.",)
    return replace(file, format="text", data=lines.text(), separator=TAB, notes=notes)


def _chosen(book: Workbook, sheet: str | None, released: bool) -> Sheet:
    """Sheet to read."""
    if sheet is not None:
        return book.sheet(sheet)
    # Which sheets hold anything hangs on the records.
    names = book.names(empty=released)
    if len(names) > 1:
        raise InputError(
            f"{shown(book.name)} has {len(names):,} sheets: name the one to read, {listed(names)} "
            "(sheet in Python, --sheet on the command line, Sheet on the screen)."
        )
    if not names:
        raise InputError(
            f"{shown(book.name)} has no sheet with data: give one row of numbers for each record."
        )
    return book.sheet(names[0])


def _check_merged(merged: Sequence[str], first: int, where: str, *, named: bool) -> None:
    """Refuse cells that are merged across columns in the row of names."""
    for place in merged if named else ():
        corners = [_REFERENCE.fullmatch(corner) for corner in place.split(":")]
        if len(corners) != 2 or not (corners[0] and corners[1]):
            continue
        top, bottom = int(corners[0][2]), int(corners[1][2])
        if top <= first <= bottom and corners[0][1] != corners[1][1]:
            raise InputError(
                f"{where} has merged cells among the names of its columns, {shown(place)}: split "
                "them and give every column a name of its own, or remove the title above."
            )
