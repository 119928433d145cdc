"""Tables in text: CSV and similar formats, parsed by pyarrow in blocks.

The bytes stay unparsed; a column is parsed on request. So a table takes only the memory of its
file, one block and the requested columns.
"""

from __future__ import annotations

import codecs
import csv
import io
import re
from collections import Counter, deque
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import islice

import numpy as np
import pyarrow as pa
import pyarrow.csv
from numpy.typing import NDArray

from dpviz.data.reading.cells import (
    COMMA_NUMBER,
    NUMBER,
    Cells,
    GroupDetector,
    Kind,
    KindDetector,
    check_width,
    looks_grouped,
)
from dpviz.data.reading.files import File
from dpviz.data.reading.kinds import MISSING
from dpviz.data.reading.table import Table, named_table
from dpviz.data.reading.unread import FEW, NAMED, NO_ROWS, NamedRows
from dpviz.data.reading.watch import passed
from dpviz.errors import InputError, listed, reason, shown
from dpviz.numbers import counted

#: Possible separators of the fields of a row; if several fit, the first is used.
DELIMITERS = {",": "comma", ";": "semicolon", "\t": "tab", "|": "pipe"}

_HEAD = 2**18

#: Spaces at the start and at the end of a line. Each run of spaces is scanned only once.
_MARGINS = re.compile(rb"(?m)^ ++|(?<! ) ++(?=\r?$)")

#: Bytes per parsed block: the minimum for few columns, the maximum for many. A longer record needs
#: a longer block.
_BLOCK, _WIDE_BLOCK = 2**23, 2**25


#: Of every release of a file with another separator than a comma: no cell may tell what another
#: one means.
_COMMAS = (
    "In a release a comma is a decimal mark in files separated by {mark}s: write numbers without "
    "thousands separators."
)


@dataclass(frozen=True, kw_only=True)
class Layout:
    """Where the rows of a text file start and what their fields are.

    Attributes
    ----------
    delimiter
        Separator of the fields.
    names
        Names of the columns; empty if the file has none.
    header
        Whether a line of the file contains the names.
    body
        Offset of the first data row in the bytes.
    first_row
        Its number in the file, from 1, if there are no blank lines before it.
    notes
        Sentences about changes made on reading.
    typed
        Whether the text was made of a format that tells numbers from text.
    ragged
        Number of lines that were left out for another number of fields.
    """

    delimiter: str
    names: list[str]
    header: bool
    body: int = 0
    first_row: int = 1
    notes: tuple[str, ...] = ()
    typed: bool = False
    ragged: int = 0


#: Maximum number of skipped lines of spaces or tabs; empty lines do not count. And of rows of
#: another number of fields that a person may leave out.
_MOST_BLANK = _MOST_RAGGED = 100_000


class TextCells(Cells):
    """Rows of equal length in a text; lines of only white space are not rows.

    Parameters
    ----------
    data
        Text in UTF-8.
    layout
        Of its rows.
    name
        What to call it in messages.
    detect_kinds
        Whether to detect the kinds of the columns, as :attr:`kinds`; otherwise each cell is
        read independently.
    skip_ragged
        Whether to leave out a few rows that have more or fewer fields than the layout.

    Attributes
    ----------
    ragged
        The rows left out.

    Raises
    ------
    InputError
        If other rows have more or fewer fields than the layout.
    """

    def __init__(
        self,
        data: bytes,
        layout: Layout,
        name: str,
        *,
        detect_kinds: bool,
        skip_ragged: bool = False,
    ) -> None:
        self._skip_ragged, self.ragged = skip_ragged, NO_ROWS
        self._body = pa.py_buffer(data)[layout.body :]
        self._layout, self._name = layout, name
        self._empty = re.compile(rb"\S").search(data, layout.body) is None
        self._block = min(max(_BLOCK, 2**14 * len(layout.names)), _WIDE_BLOCK)
        if layout.delimiter != ",":
            self.style = "either"
        while not self._scan(detect_kinds=detect_kinds):
            self._block *= 8

    def _find_ragged(self, rows: int) -> NamedRows:
        """Name the rows that were skipped, or refuse them where they are not few."""
        if rows > min(FEW * self.rows, _MOST_RAGGED):
            self._skip_ragged = False
            deque(self._parsed([0]), maxlen=0)
        found: list[pyarrow.csv.InvalidRow] = []
        for _ in self._parsed([0], skipped=[], ragged=found):
            if len(found) >= NAMED:
                break
        first = [(self._layout.first_row + one.number - 1, "", _fields(one)) for one in found]
        return NamedRows(rows=rows, first=tuple(first[:NAMED]))

    def _scan(self, *, detect_kinds: bool) -> bool:
        """Check all rows; return False if a record is longer than a block."""
        axes = range(len(self._layout.names) if detect_kinds else 1)
        commas = self._layout.delimiter != ","
        detectors = [KindDetector(commas=commas) for _ in axes if detect_kinds]
        self.rows = self._skipped = 0
        try:
            for columns in self.blocks(axes):
                self.rows += len(columns[0])
                for detector, column in zip(detectors, columns, strict=False):
                    detector.add(column)
        except _StraddlingError:
            return False
        if self._skipped:
            self.ragged = self._find_ragged(self._skipped)
        for axis, one in enumerate(detectors):
            self.kinds[axis] = kind = one.kind
            if kind == "text" and looks_grouped(one.odd):
                self.kinds[axis] = self._grouping(axis)
            elif kind == "comma" and one.unclear:
                self.kinds[axis] = "unclear"
        if not self._layout.typed and {"comma", "points", "spaces,", "quotes,"} & {
            *self.kinds.values()
        }:  # then a point may set thousands apart
            for axis, one in enumerate(detectors):
                if one.kind == "point" and one.unclear and one.marked:
                    self.kinds[axis] = "unclear"
        return True

    def _grouping(self, axis: int) -> Kind:
        """Kind of a column with a cell that looks as if thousands were set apart."""
        detector = GroupDetector(typed=self._layout.typed)
        for (column,) in self.blocks([axis]):
            if not detector.add(column):
                break
        return detector.kind

    def blocks(self, axes: Sequence[int]) -> Iterator[list[pa.Array]]:
        """Successive rows of some columns as text, null where a value is missing."""
        for batch in self._parsed(axes):
            yield batch.columns

    def written(self, axis: int) -> Iterator[pa.Array]:
        """Successive cells of a column as in the file, none of them null."""
        return (batch.column(0) for batch in self._parsed([axis], as_written=True))

    def row_numbers(self, positions: Sequence[int]) -> list[int]:
        """Numbers in the file, from 1, of rows at ascending positions, which have values.

        A second parse includes empty lines, as rows without values. So the rank of a row among
        the rows with values gives its line.
        """
        every = range(len(self._layout.names))
        ranks: list[int] = []
        rank = start = 0
        for batch in self._parsed(every) if positions else ():
            known = _has_value(batch)
            for position in positions[len(ranks) :]:
                if position >= start + len(batch):
                    break
                ranks.append(rank + int(np.count_nonzero(known[: position - start])))
            if len(ranks) == len(positions):
                break
            rank += int(np.count_nonzero(known))
            start += len(batch)
        skipped: list[int] = []
        places: list[int] = []
        rank = start = 0
        for batch in self._parsed(every, skipped=skipped) if positions else ():
            found = np.flatnonzero(_has_value(batch))
            for one in ranks[len(places) :]:
                if one >= rank + len(found):
                    break
                places.append(start + int(found[one - rank]))
            if len(places) == len(ranks):
                break
            rank += len(found)
            start += len(batch)
        for line in sorted(skipped):
            places = [place + (line <= place) for place in places]
        return [self._layout.first_row + place for place in places]

    def _parsed(
        self,
        axes: Sequence[int],
        *,
        as_written: bool = False,
        skipped: list[int] | None = None,
        ragged: list[pyarrow.csv.InvalidRow] | None = None,
    ) -> Iterator[pa.RecordBatch]:
        """Parse some columns block by block.

        With ``skipped``, empty lines become rows without values, and the positions of other
        lines that are no rows are appended to it; with ``ragged``, rows that are skipped.
        """
        if self._empty:
            return
        names = [str(axis) for axis in range(len(self._layout.names))]
        wrong: list[pyarrow.csv.InvalidRow] = []
        places = [] if skipped is None else skipped
        white = 0

        def handle(row: pyarrow.csv.InvalidRow) -> str:
            nonlocal white
            blank = not row.text.strip()
            if (blank and white <= _MOST_BLANK) or (self._skip_ragged and not blank):
                white += blank
                self._skipped += not blank
                places.append(row.number - 1)
                if ragged is not None and not blank:
                    ragged.append(row)
                return "skip"
            wrong.append(row)
            return "error"

        body = pa.BufferReader(self._body)
        try:
            for batch in pyarrow.csv.open_csv(
                body,
                read_options=pyarrow.csv.ReadOptions(
                    use_threads=False,  # otherwise invalid rows come without their number
                    block_size=min(self._block, len(self._body) + 1, 2**31 - 1),
                    column_names=names,
                ),
                parse_options=pyarrow.csv.ParseOptions(
                    delimiter=self._layout.delimiter,
                    newlines_in_values=True,
                    ignore_empty_lines=skipped is None,
                    invalid_row_handler=handle,
                ),
                convert_options=pyarrow.csv.ConvertOptions(
                    null_values=["", *MISSING],
                    strings_can_be_null=not as_written,
                    column_types=dict.fromkeys(names, pa.string()),
                    include_columns=[str(axis) for axis in axes],
                ),
            ):
                passed(body.tell(), self._body.size)
                yield batch
        except pa.ArrowInvalid as error:
            if white > _MOST_BLANK:
                raise InputError(
                    f"{shown(self._name)} has more than {_MOST_BLANK:,} lines of nothing but "
                    "spaces or tabs: remove them."
                ) from None
            if wrong and skipped is None:  # its number counts empty lines: parse them too
                deque(self._parsed([0], skipped=[]), maxlen=0)
            if wrong:
                raise InputError(_ragged(wrong[0], self._layout)) from None
            if "straddl" in str(error) and self._block <= len(self._body):
                raise _StraddlingError from None
            raise InputError(
                f"{shown(self._name)} can't be read as CSV ({reason(error)}): save the table again "
                "as CSV in UTF-8."
            ) from None


class _StraddlingError(Exception):
    """A record is longer than a block."""


def _has_value(batch: pa.RecordBatch) -> NDArray[np.bool_]:
    """Mask (n,) of the rows with at least one value."""
    return np.asarray(np.any([np.asarray(one.is_valid()) for one in batch.columns], axis=0))


def _ragged(row: pyarrow.csv.InvalidRow, layout: Layout) -> str:
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
        f"row {layout.first_row + row.number - 1} has {_fields(row)} where the "
        f"{'header' if layout.header else 'first row'} has {row.expected_columns:,}: {way_out}"
    )


def _fields(row: pyarrow.csv.InvalidRow) -> str:
    """Number of fields of a row, in words."""
    return counted(row.actual_columns, "field")


def read_text(file: File, header: bool | None, *, skip_ragged: bool = False) -> Table:
    """Read CSV and similar formats; a few ragged rows may be left out."""
    check_text(file.data, file.name)
    data, notes = file.data, file.notes
    if file.separator is None:
        data, notes = without_runs_of_spaces(data)
    layout = layout_of(data, file.name, header, file.separator)
    cells = TextCells(data, layout, file.name, detect_kinds=True, skip_ragged=skip_ragged)
    if not cells.rows:
        raise InputError(
            f"{shown(file.name)} holds only a header: add at least one row of numbers below it."
        )
    table = named_table(
        file.name,
        layout.names,
        cells,
        memory=file.memory,
        notes=(*notes, *layout.notes),
        doubtful=_doubtful(layout, header),
        ragged=cells.ragged,
    )
    return replace(table, notes=(*table.notes, *_of_marks(table)))


def _of_marks(table: Table) -> Iterator[str]:
    """Sentences about columns with decimal commas or thousands set apart."""
    found: dict[Kind, list[str]] = {}
    for axis, kind in sorted(table.cells.kinds.items()):
        kind = kind if kind in ("comma", "unclear", "point", "text", "nothing") else "commas"
        found.setdefault(kind, []).append(table.columns[axis])
    if "comma" in found:
        yield f"Decimal commas are read as points (3,14 as 3.14) in {listed(found['comma'])}."
    if "commas" in found:
        yield (
            f"Numbers are read without the signs between thousands in {listed(found['commas'])}; a "
            "release reads each cell by itself, so write them without such signs before one."
        )
    if "unclear" in found:
        yield (
            "Not taken for numbers, since they may have thousands set apart or three decimals: "
            f"{listed(found['unclear'])}."
        )


def read_lines(file: File, header: bool | str | None) -> Table:
    """Read CSV for a release: no line affects how others are read, and every cell is text."""
    data, layout = independent_lines(file.data, file.name, header, file.separator)
    # Every line has as many fields as the first, so no row is refused.
    cells = TextCells(data, layout, file.name, detect_kinds=False)
    notes = file.notes
    if file.separator is None and cells.style == "either":  # the line of names alone tells
        notes = (*notes, _COMMAS.format(mark=DELIMITERS[layout.delimiter]))
    return named_table(
        file.name,
        layout.names,
        cells,
        memory=file.memory,
        notes=notes,
        doubtful=_doubtful(layout, header),
        ragged=NamedRows(rows=layout.ragged),
    )


def check_text(data: bytes, name: str) -> None:
    """Refuse text that is not UTF-8."""
    name = shown(name)
    if data.startswith(b"PK\x03\x04"):
        raise InputError(
            f"{name} is a spreadsheet or a zip archive: give the file its right ending (.xlsx, "
            ".zip), or save the sheet as CSV in UTF-8."
        )
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise InputError(f"{name} is UTF-16 text: save it as CSV in UTF-8.")
    if (place := data.find(b"\0")) >= 0:
        kind, byte = "text", "a NUL byte"
    elif (place := _no_utf8(data)) >= 0:
        kind, byte = "UTF-8 text", f"the byte 0x{data[place]:02x}"
    else:
        return
    line = data.count(b"\n", 0, place) + 1
    raise InputError(
        f"{name} is no {kind}, line {line} has {byte}: save the table "
        "as CSV in UTF-8, or give the file its right ending (.xlsx, .npy, .parquet, .gz)."
    )


def _no_utf8(data: bytes) -> int:
    """Position of the first byte that is not UTF-8, or -1; decodes in parts to save memory."""
    view, start = memoryview(b"" if data.isascii() else data), 0
    while start < len(view):
        piece = view[start : start + 2**20]
        try:
            start += codecs.utf_8_decode(piece, "strict", start + len(piece) == len(view))[1]
        except UnicodeDecodeError as error:
            return start + error.start
    return -1


#: A number with a decimal comma between digits: "1," may end with a separator.
_WITH_COMMA = re.compile(r"[+-]?\d+,\d+([eE][+-]?\d+)?", re.ASCII)


def without_runs_of_spaces(data: bytes) -> tuple[bytes, tuple[str, ...]]:
    """Convert a table of numbers separated by spaces, as in benchmark sets, to CSV."""
    first = next((line for line in data[:_HEAD].splitlines() if line.strip()), b"")
    fields = [field for field in first.decode(errors="replace").split(" ") if field]
    commas = [bool(_WITH_COMMA.fullmatch(field)) for field in fields]
    known = (comma or is_number(field, ",") for field, comma in zip(fields, commas, strict=True))
    if len(fields) < 2 or not all(known):
        return data, ()
    separator = b";" if any(commas) else b","
    parts, before, end = [], b"\n", 0
    while end < len(data):
        # No run of spaces and no line ending crosses the border of two parts.
        start, end = end, _end_of_part(data, end + 2**22)
        lines = _MARGINS.sub(b"", before + data[start:end])
        parts.append(re.sub(rb" +", separator, lines)[1:])
        before = data[end - 1 : end]
    return b"".join(parts), ("Runs of spaces are read as separators.",)


def _end_of_part(data: bytes, place: int) -> int:
    """First position from ``place`` on that is not inside a run of spaces or a line ending."""
    found = re.compile(rb"[^ \r]").search(data, place - 1)
    return found.end() if found else len(data)


def layout_of(data: bytes, name: str, header: bool | None, separator: str | None = None) -> Layout:
    """Find the separator, unless it is known, and the header in the first lines."""
    start = 3 if data.startswith(b"\xef\xbb\xbf") else 0
    head = data[start : start + _HEAD]
    if len(head) == _HEAD:  # whole lines only
        head = head[: max(head.rfind(b"\n"), head.rfind(b"\r")) + 1]
    lines = list(io.StringIO(head.decode(), newline=""))
    blank = next((count for count, line in enumerate(lines) if line.strip()), len(lines))
    if blank == len(lines):
        raise InputError(
            f"{shown(name)} has no row within the first {_HEAD // 1024} KB: "
            "give one line per record."
        )
    delimiter = separator or _separator(lines[blank:], name)
    first, used = _first_record(lines[blank:], delimiter, name)
    check_width(len(first), name)
    # Where the separator is known, a first row may be shorter than others.
    written = first if separator is None else [field for field in first if field.strip()]
    numeric = all(_may_be_number(field, delimiter) for field in written)
    notes = []
    if header is None:
        header = not (numeric or _is_record(written, lines[blank + used :], delimiter))
        if not header:
            what = "only numbers" if numeric else "numbers where the others do"
            notes.append(f"The first row holds {what}, so it is read as data, not as a header.")
    skipped = blank + (used if header else 0)
    return Layout(
        delimiter=delimiter,
        names=first if header else [""] * len(first),
        header=header,
        body=start + len("".join(lines[:skipped]).encode()),
        first_row=blank + 1 + header,
        notes=tuple(notes),
        typed=separator is not None,
    )


def _is_record(first: list[str], lines: list[str], delimiter: str) -> bool:
    """Tell whether a first row has numbers where the next rows have, and one with decimals.

    Whole numbers may be names, such as years.
    """
    with suppress(csv.Error):
        rows = [row for row in islice(csv.reader(lines, delimiter=delimiter), 100) if row]
        rows = [row for row in rows if len(row) == len(first)]
        columns = list(zip(*rows, strict=True))
        return (
            bool(rows)
            and any(map(_has_decimals, first))
            and all(
                is_number(field, delimiter)
                == (2 * sum(is_number(one, delimiter) for one in column) > len(column))
                for field, column in zip(first, columns, strict=True)
            )
        )
    return False


def _has_decimals(field: str) -> bool:
    """Tell whether a field is a number with a decimal mark."""
    return re.fullmatch(r"\s*[-+]?\d*[.,]\d+\s*", field, re.ASCII) is not None


def _doubtful(layout: Layout, header: bool | str | None) -> list[int]:
    """Positions of names that may be values (a number, a date, nothing), not given by a person."""
    if header is not None or not layout.header:
        return []
    return [
        axis
        for axis, field in enumerate(map(str.strip, layout.names))
        if field in MISSING
        or field.lower() in ("inf", "infinity")
        or not re.search(r"^[^\W\d_]", field)  # no letter in front
    ]


def _first_record(lines: list[str], delimiter: str, name: str) -> tuple[list[str], int]:
    """Fields of the first record, and its number of lines."""
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


def _separator(lines: list[str], name: str) -> str:
    """Separator of the fields: the mark that fits best.

    Where a comma fits and is the decimal mark of numbers between another mark that fits, that one
    separates: ``52,52;Berlin;13,40`` has three fields, not three others.
    """
    fits = {mark: _fit(lines, mark) for mark in DELIMITERS}
    if re.search(r"\.(tsv|tab)(\.gz)?\Z", name, re.IGNORECASE) and fits["\t"][0] >= _MOSTLY:
        return "\t"
    best = max(fits, key=fits.__getitem__)
    if best != ",":
        return best
    least = _MOSTLY * fits[","][0]
    others = [
        mark for mark, fit in fits.items()
        if mark != "," and fit[0] and fit[0] >= least and _has_decimal_commas(lines, mark)
    ]  # fmt: skip
    return max(others, key=fits.__getitem__, default=best)


#: Share of the rows that makes a mark fit.
_MOSTLY = 0.9


def _has_decimal_commas(lines: list[str], delimiter: str) -> bool:
    """Tell whether half of the rows with a comma in a field have a number with a decimal comma."""
    with suppress(csv.Error):
        rows = [
            [field.strip() for field in row if "," in field]
            for row in islice(csv.reader(lines, delimiter=delimiter), 1, 100)
        ]
        with_comma = [row for row in rows if row]
        numbers = [any(re.search(COMMA_NUMBER, one, re.ASCII) for one in row) for row in with_comma]
        return 2 * sum(numbers) >= len(with_comma) > 0
    return False


def _fit(lines: list[str], delimiter: str) -> tuple[float, float, int]:
    """Quality of a separator: first equal field counts, then numeric fields, then many fields."""
    with suppress(csv.Error):
        records = [row for row in islice(csv.reader(lines, delimiter=delimiter), 100) if row]
        width, even = Counter(map(len, records)).most_common(1)[0]
        fields = [field for row in records for field in row]
        if width > 1:
            numbers = sum(_may_be_number(field, delimiter) for field in fields)
            return even / len(records), numbers / len(fields), width
    return 0.0, 0.0, 0


def is_number(field: str, delimiter: str) -> bool:
    """Tell whether a field is a number, NaN included, as it would be read."""
    field = field.strip()
    return (
        re.search(NUMBER, field, re.ASCII) is not None
        or field.lower().lstrip("+-") == "nan"
        or (delimiter != "," and re.search(COMMA_NUMBER, field, re.ASCII) is not None)
    )


def _may_be_number(field: str, delimiter: str) -> bool:
    """Tell whether a field is a number, perhaps one whose thousands are set apart."""
    return is_number(field, delimiter) or looks_grouped(field.strip())


def independent_lines(
    data: bytes, name: str, header: bool | str | None, separator: str | None = None
) -> tuple[bytes, Layout]:
    """Rows of a text and their layout; no line affects how the others are read.

    Every line is a row, unless its number of fields differs from the line of names or is unclear.
    """
    if header is False:
        raise InputError(
            f"{shown(name)} is to be read without a line of names, but a record must not tell "
            "how many columns there are, and what separates them: put such a line first, or give "
            'it as the header, for example "x,y".'
        )
    data = data.removeprefix(b"\xef\xbb\xbf").replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    first, start = header, 0
    if not isinstance(first, str):
        written = re.search(rb"\S", data)
        start = data.rfind(b"\n", 0, written.start()) + 1 if written else len(data)
        end = data.find(b"\n", start) + 1 or len(data)
        check_text(data[start:end], name)
        first, start = data[start:end].decode().removesuffix("\n"), end
    delimiter, names = _named(first, name, spaces=isinstance(header, str), separator=separator)
    mark = "," if delimiter == " " else delimiter
    parts, ragged = [], 0
    while start < len(data):
        end = data.find(b"\n", start + _BLOCK) + 1 or len(data)
        lines = data[start:end]
        if delimiter == " ":
            lines = b"\n".join(b",".join(line.split()) for line in lines.split(b"\n"))
        lines, others = _lines_of_width(lines, mark, len(names))
        parts.append(lines)
        ragged += others
        start = end
    return b"".join(parts), Layout(delimiter=mark, names=names, header=True, ragged=ragged)


def names_of(header: str, name: str) -> list[str]:
    """Names in a header that a person gave."""
    return _named(header, name, spaces=True)[1]


def _named(
    line: str, name: str, *, spaces: bool, separator: str | None = None
) -> tuple[str, list[str]]:
    """Separator and fields of the line that names the columns; it may be a run of spaces."""
    found = {}
    for mark in DELIMITERS if separator is None else (separator,):
        # With a mark that does not separate, the whole line is one field, maybe a too long one.
        with suppress(csv.Error):
            found[mark] = next(csv.reader([line], delimiter=mark, strict=True), [])
    if not found:
        raise InputError(
            f"{shown(name)} has a line of names that can't be read: close every quotation mark, "
            "and give short names."
        )
    width = max(map(len, found.values()))
    marks = [mark for mark, fields in found.items() if len(fields) == width]
    if width == 1 and spaces and len(line.split()) > 1:
        return " ", line.split()
    if marks == [","]:
        marks = [mark for mark, fields in found.items() if len(fields) > 1] or marks
    elif "," in marks and width > 1:
        marks.remove(",")  # of a name such as "height, in m": a decimal mark below
    if width > 1 < len(marks):
        words = " as well as by ".join(f"{DELIMITERS[mark]}s" for mark in marks)
        raise InputError(
            f"{shown(name)} has a line of names that is separated by {words}: remove one of them "
            "from the names."
        )
    check_width(width, name)
    return marks[0], found[marks[0]]


def _lines_of_width(data: bytes, mark: str, width: int) -> tuple[bytes, int]:
    """Lines of ``width`` fields; lines with another or an unclear number of fields are left out.

    The second part is the number of these, without blank lines.

    Parameters
    ----------
    data
        Lines that end in a newline; the last one may lack it.
    """
    if not data.endswith(b"\n"):
        data += b"\n"
    if _no_utf8(data) >= 0:
        # No line changes another one: invalid UTF-8 never extends past a line break.
        data = data.decode(errors="replace").encode()
    signs = np.frombuffer(data, np.uint8)
    ends = np.flatnonzero(signs == ord("\n")) + 1
    starts = np.concatenate(([0], ends[:-1]))
    sizes = ends - starts
    separators, odd = signs == ord(mark), np.zeros(len(ends), dtype=bool)
    if b'"' in data:
        inside, doubtful = _quoted(signs, starts, sizes, mark)
        separators &= ~inside
        odd = np.logical_or.reduceat(doubtful, starts)
    keep = odd | (np.add.reduceat(separators, starts, dtype=np.intp) == width - 1)
    others = 0 if keep.all() else int((np.logical_or.reduceat(signs > 32, starts) & ~keep).sum())
    data = signs[np.repeat(keep, sizes)].tobytes()
    ends = np.cumsum(sizes[keep])
    parts, upto = [], 0
    for end, size in zip(ends[odd[keep]].tolist(), sizes[odd].tolist(), strict=True):
        row = _row(data[end - size : end - 1], mark, width)
        others += not row
        parts += [data[upto : end - size], row]
        upto = end
    return b"".join([*parts, data[upto:]]), others


def _quoted(
    signs: NDArray[np.uint8], starts: NDArray[np.intp], sizes: NDArray[np.intp], mark: str
) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Masks of the signs inside quotation marks, and of the marks that need a detailed check.

    The latter are not around a whole field, or are not closed in their line.
    """
    quotes = signs == ord('"')
    before = np.cumsum(quotes, dtype=np.int32) - quotes
    inside = (before - np.repeat(before[starts], sizes)) % 2 == 1
    border = quotes | (signs == ord(mark)) | (signs == ord("\n"))
    opened = np.concatenate(([True], border[:-1]))
    closed = np.concatenate((border[1:], [True]))
    doubtful = quotes & ~np.where(inside, closed, opened)
    # A line break inside quotation marks: the last mark is not closed.
    return inside, doubtful | (inside & (signs == ord("\n")))


def _row(line: bytes, mark: str, width: int) -> bytes:
    """Line of ``width`` quoted fields, or nothing if their number differs or is unclear."""
    try:
        fields = next(csv.reader([line.decode()], delimiter=mark, strict=True), [])
    except csv.Error:  # depends only on this line
        fields = []
    if len(fields) != width:
        return b""
    return (mark.join('"' + field.replace('"', '""') + '"' for field in fields) + "\n").encode()
