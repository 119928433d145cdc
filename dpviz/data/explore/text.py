"""Convert text to rows of fields: find its encoding, separator and first row."""

from __future__ import annotations

import codecs
import csv
import re
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from typing import NamedTuple, TypeAlias

import numpy as np

from dpviz.base.arrays import Ints
from dpviz.base.errors import InputError, shown
from dpviz.base.lazy import pyarrow as pa
from dpviz.base.numbers import counted
from dpviz.data.explore.rows import Options, Rows
from dpviz.data.reading.cells import COMMA_NUMBER, NUMBER, check_width, looks_grouped
from dpviz.data.reading.files import File
from dpviz.data.reading.kinds import MISSING
from dpviz.data.reading.unread import NAMED, NamedRows
from dpviz.data.reading.watch import passed
from dpviz.data.words import WORDS

#: Field separators and their names, the first is preferred. A space means white space.
MARKS = {
    ",": "comma", ";": "semicolon", "\t": "tab", "|": "pipe", "\x1f": "double colon",
    "^": "caret", " ": "space",
}  # fmt: skip

#: Number of bytes and of lines at the start of a text that decide its form.
_HEAD, _LINES = 2**18, 400

#: Smallest share of lines that must have the same number of fields for a separator.
_MOSTLY = 0.9

#: Largest number of lines of one quoted record, and of lines below a table.
_LONGEST, _MOST_BELOW = 10_000, 10

_BLOCK = 2**23

_COMMENT = re.compile(r"\s*(#|//|%|--|!|[-+=|_:*\s]+$)")

_POINT, _COMMA = re.compile(NUMBER, re.ASCII), re.compile(COMMA_NUMBER, re.ASCII)

#: Further characters, besides blanks and tabs, that str.split treats as white space.
_OTHER_SPACE = re.compile(rb"[\v\f\x1c-\x1f]")

UNIT = re.compile("|".join(WORDS["units"]), re.IGNORECASE)

#: Text that may be a unit if the cells next to it are units.
SHORT = re.compile(r"[A-Za-zµμ°%]{1,4}[23²³]?")

#: Line that some spreadsheet programs write to specify the separator.
_SEP_LINE = re.compile(r'\s*"?sep=([\t -~]|\\t)"?\s*', re.IGNORECASE)

#: A line with a quotation mark that is not closed, and a later line that closes it.
_OPENED = re.compile(r'(?:^|.*[,;\t|])\s*"(?:[^"]|"")*')
_CLOSED = re.compile(r'(?:[^"]|"")*"\s*(?:$|[,;\t|].*)')


def read_text(file: File, options: Options) -> Rows:
    """Read rows of fields; InputError if the file is not text or has no rows."""
    data, notes = decoded(file.data, file.name, options.encoding)
    return rows_of(data, form_of(data, file.name, options), notes)


def rows_of(data: bytes, form: Form, notes: tuple[str, ...] = ()) -> Rows:
    """Read rows of fields from a decoded text whose form is known."""
    found = list(parsed(_blocks(data, form.start), form)) or [_batch(range(form.width))]
    last = next((one.numbers()[-1] for one in reversed(found) if len(one.rows)), 0)
    ragged, said = _ragged([row for one in found for row in one.wrong], form, int(last))
    if opened := [line for one in found for line in one.opened]:
        where = ", ".join(map(str, opened[:3])) + (" and others" if len(opened) > 3 else "")
        lines = f"line{'s' * (len(opened) > 1)} {where}"
        said += (f"A quotation mark is never closed in {lines}, so it is read as text.",)
    return Rows(
        columns=pa.Table.from_batches([one.rows for one in found]).columns,
        names=form.names,
        numbers=lambda: np.concatenate([one.numbers() for one in found]),
        notes=(*notes, *form.notes, *said),
        ragged=ragged,
        commas=form.mark != ",",
    )


def _blocks(data: bytes, start: int) -> Iterator[bytes]:
    while start < len(data):
        end = data.find(b"\n", start + _BLOCK) + 1 or len(data)
        yield data[start:end]
        passed(end, len(data))
        start = end


# -- bytes to UTF-8 ----------------------------------------------------------------------


def decoded(data: bytes, name: str, encoding: str | None) -> tuple[bytes, tuple[str, ...]]:
    """Return the text in UTF-8 with newlines between lines, and a note about its encoding."""
    found = encoding or encoding_of(data, name)
    notes: tuple[str, ...] = ()
    if found != "utf-8" or not _is_utf8(data):
        try:
            data = data.decode(found, "replace").encode()
        except (LookupError, ValueError):
            raise InputError(
                f'encoding = "{shown(found)}" does not fit {shown(name)}: name an encoding '
                "such as utf-8, cp1252 or utf-16."
            ) from None
        damaged = "Damaged characters are shown as \ufffd."
        said = damaged if found == "utf-8" else f"Read in the encoding {found}."
        notes = (said,) if encoding in (None, "utf-8") else ()
    data = data.removeprefix(codecs.BOM_UTF8)
    # Old programs end a text with this character.
    tail = data[-64:]
    if mark := re.search(rb"\x1a\s*\Z", tail):
        data = data[: mark.start() - len(tail)]
    return newlines(data), notes


def newlines(data: bytes) -> bytes:
    """Replace all kinds of line breaks by newlines."""
    return data.replace(b"\r\n", b"\n").replace(b"\r", b"\n") if b"\r" in data else data


def encoding_of(data: bytes, name: str) -> str:
    """Guess the encoding of a text; InputError if the data are not text."""
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return "utf-16"
    if b"\0" in data[:_HEAD]:
        # In UTF-16 without a byte order mark, every second byte of plain text is 0.
        odd = [data[at:_HEAD:2].count(b"\0") / (len(data[at:_HEAD:2]) or 1) for at in (0, 1)]
        if max(odd) < 0.4 or min(odd) > 0.1:
            line = data.count(b"\n", 0, data.find(b"\0")) + 1
            raise InputError(
                f"{shown(name)} is not text, line {line} has a NUL byte: save the table as CSV in "
                "UTF-8, or give the file the right ending."
            )
        return "utf-16-le" if odd[1] > odd[0] else "utf-16-be"
    return "utf-8" if _is_utf8(data) else _guessed(data)


def _is_utf8(data: bytes) -> bool:
    """Decode in parts to save memory."""
    parts = (data[at : at + 2**20] for at in range(0, len(data), 2**20))
    try:
        deque(() if data.isascii() else codecs.iterdecode(parts, "utf-8"), maxlen=0)
    except UnicodeDecodeError:
        return False
    return True


def _guessed(data: bytes) -> str:
    found = re.finditer(rb"[^\s,;|]*[\x80-\xff]\S*", data)
    words = b" ".join(one[0] for one in islice(found, 2000))[:_HEAD]
    damaged = words.decode("utf-8", "replace").count("\ufffd")
    if damaged * 10 < sum(byte > 127 for byte in words):
        return "utf-8"
    # cp1252 lacks some bytes, and words of only accented letters are from another alphabet.
    text = words.decode("cp1252", "replace")
    letters = re.findall(r"[^\W\d_]+", text)
    signs = [one.isalpha() for one in text if not one.isascii()]
    foreign = sum(len(word) > 1 and not re.search("[A-Za-z]", word) for word in letters)
    if "\ufffd" not in text and 2 * foreign <= len(letters) and sum(signs) > 0.7 * len(signs):
        return "cp1252"
    from charset_normalizer import from_bytes

    best = from_bytes(words).best()
    return best.encoding if best is not None else "cp1252"


# -- find the table and its separator -------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class Form:
    """Form of the rows of a text."""

    mark: str  # between fields; a space means a run of white space
    width: int  # number of fields in most rows
    start: int  # offset of the first row in the bytes
    line: int  # number of the first row's line, from 1
    names: list[str] | None = None  # if their line has another number of fields than the rows
    quote: str = '"'
    notes: tuple[str, ...] = ()


def form_of(data: bytes, name: str, options: Options) -> Form:
    """Find separator, width and first row of a text from its first lines."""
    is_free = options.skip is None
    begin = _first_text(data) if options.skip is None else _below(data, options.skip)
    gone, head = data.count(b"\n", 0, begin), data[begin : begin + _HEAD]
    if len(data) - begin > _HEAD:  # only whole lines
        head = head[: head.rfind(b"\n") + 1]
        if not head:
            raise InputError(
                f"{shown(name)} has {_HEAD:,} bytes or more in line {gone + 1}: give a table whose "
                "first lines are shorter."
            )
    lines = _unbroken(head.decode(errors="replace").split("\n")[:_LINES])
    known, skip, notes = None, 0, []
    if is_free and (sep := _SEP_LINE.fullmatch(lines[0])):
        known, skip = sep[1].replace("\\t", "\t"), 1
    rest = [one.replace("::", "\x1f") for one in lines[skip:]]
    written = [one for one in rest if one.strip()]
    if not written:
        where = f" below line {gone + skip}" if gone + skip else ""
        raise InputError(f"{shown(name)} has no row{where}: give one line of numbers per record.")
    quote = "'" if _in_apostrophes(written[:50]) else '"'
    mark = known or _mark(written, name, quote)
    widths = [len(split(one, mark, quote)) if one.strip() else 0 for one in rest]
    width = _usual([one for one in widths if one])
    check_width(width, name)
    first = _first(rest, widths, width) if is_free else int(widths[0] != width)
    first = next(at for at in range(first, len(rest)) if rest[at].strip())
    names, above = None, first
    if options.header is not False:
        names, above = _names_above(rest, widths, width, first, mark, quote)
    if not is_free and names is None:
        first = above = 0
    if is_free and (many := sum(bool(one.strip()) for one in rest[:above])):
        is_ = "is" if many == 1 else "are"
        notes.append(f"{counted(many, 'line')} above the table {is_} skipped.")
    before = "".join(f"{one}\n" for one in lines[: skip + first])
    if mark not in ",;\t|":
        notes.append(f"Fields are separated by {MARKS.get(mark, shown(mark))}s.")
    return Form(
        mark=mark, width=width, start=begin + len(before.encode()),
        line=gone + before.count("\n") + 1, names=names, quote=quote, notes=tuple(notes),
    )  # fmt: skip


def _first_text(data: bytes) -> int:
    found = re.search(rb"\S", data)
    return data.rfind(b"\n", 0, found.start()) + 1 if found else 0


def _below(data: bytes, lines: int) -> int:
    at = 0
    for _ in range(min(lines, data.count(b"\n") + 1)):
        at = data.find(b"\n", at) + 1 or len(data)
    return at


def _unbroken(lines: list[str]) -> list[str]:
    found: list[str] = []
    at = 0
    while at < len(lines):
        end = at
        if lines[at].count('"') % 2 and _OPENED.fullmatch(lines[at]):
            end = next((k for k in range(at + 1, len(lines)) if lines[k].count('"') % 2), at)
            end = end if _CLOSED.fullmatch(lines[end]) else at
        found.append("\n".join(lines[at : end + 1]))
        at = end + 1
    return found


def split(line: str, mark: str, quote: str = '"') -> list[str]:
    """Fields of one line; a quotation mark that is not closed is an ordinary character."""
    fields = _strictly(line, mark, quote) if quote in line else []
    return fields or line.split(None if mark == " " else mark)


def _strictly(text: str, mark: str, quote: str) -> list[str]:
    """Fields of a record; [] if a quotation mark is not closed, or closed inside a field."""
    rows = csv.reader([text], delimiter=mark, quotechar=quote, skipinitialspace=True, strict=True)
    try:
        found = next(rows, [])
    except csv.Error:
        return []
    return [one for one in found if one] if mark == " " else found


def _in_apostrophes(lines: list[str]) -> bool:
    quoted = [re.search(r"(?:^|[,;\t|])\s*'[^']*'\s*(?:$|[,;\t|])", one) for one in lines]
    return 2 * sum(map(bool, quoted)) > len(quoted) and not any('"' in one for one in lines)


def _usual(widths: list[int]) -> int:
    several = [one for one in widths if one > 1]
    some = several if several and 3 * len(several) >= len(widths) else widths
    return Counter(some).most_common(1)[0][0]


def _mark(lines: list[str], name: str, quote: str) -> str:
    fits = {mark: _fit(lines, mark, quote) for mark in MARKS}

    def other(fine: Callable[[_Fit], bool]) -> str:
        some = [mark for mark, fit in fits.items() if fine(fit)]
        return max(some, key=fits.__getitem__, default=best)

    def has_decimals(mark: str) -> bool:
        """Whether at least half of the rows with a comma in a field have a decimal number in it."""
        rows = [[one for one in split(line, mark) if "," in one] for line in lines[1:100]]
        numbers = [any(_COMMA.search(one.strip()) for one in row) for row in rows if row]
        return 2 * sum(numbers) >= len(numbers) > 0

    if re.search(r"\.(tsv|tab)(\.\w+)?\Z", name, re.IGNORECASE) and fits["\t"].even >= 0.5:
        return "\t"
    if fits["\t"].even >= _MOSTLY:  # tabs are also white space
        del fits[" "]
    best = max(fits, key=fits.__getitem__)
    if not fits[best].first:  # the last field may contain two numbers
        even, _, _, width = fits[best]
        best = other(lambda fit: fit.first and fit.even >= even and fit.width > width)
    if best == " ":  # spaces may be inside words or degrees
        apart = ", " if has_decimals(" ") else " "
        fits = {mark: fit for mark, fit in fits.items() if mark not in apart}
        best = other(lambda fit: fit.first and fit.even >= _MOSTLY)
    if best == ",":
        least = _MOSTLY * fits[","].even
        fits = {mark: fit for mark, fit in fits.items() if mark not in ", " and has_decimals(mark)}
        best = other(lambda fit: fit.even > 0 and fit.even >= least)
    return best


class _Fit(NamedTuple):
    """Quality of a separator, the most important value first."""

    even: float = 0.0
    numbers: float = 0.0
    first: bool = False
    width: int = 0


def _fit(lines: list[str], mark: str, quote: str) -> _Fit:
    rows = [split(one, mark, quote) for one in lines[:_LINES]]
    width = _usual([len(one) for one in rows])
    if width < 2:
        return _Fit()
    flags = "".join("01"[len(row) == width] for row in rows)
    rows = rows[flags.find(max(re.findall("1*", flags), key=len)) :]  # start at the longest run
    fields = [field for row in rows[1:] or rows if len(row) == width for field in row]
    even = sum(len(row) == width for row in rows) / len(rows)
    numbers = sum(may_be_number(field, mark) for field in fields) / (len(fields) or 1)
    if mark == " " and (not numbers or even < _MOSTLY):  # words of a sentence
        return _Fit()
    return _Fit(round(even, 1), round(numbers, 2), flags[0] == "1", width)


def may_be_number(field: str, mark: str) -> bool:
    """Return whether a field is NaN or a number, which may have thousands separators."""
    field = field.strip()
    plain = field.replace("\u2212", "-")
    return (
        _POINT.search(plain) is not None
        or plain.lower().lstrip("+-") == "nan"
        or (mark != "," and plain[-1:] != "," and bool(_COMMA.search(plain)))
        or looks_grouped(field)
    )


def _first(lines: list[str], widths: list[int], width: int) -> int:
    for at, found in enumerate(widths):
        below = [one for one in widths[at : at + 12] if one][:8]
        if found == width and sum(one == width for one in below) * 10 >= 7 * len(below):
            # A comment may have as many fields as a row, but "#id,lon,lat" is not a comment.
            if (
                re.match(r"\s*(#|//|%|--|!)+\s", lines[at])
                and " " in lines[at].strip("#/%-! ")
                and widths[at + 1 : at + 2] == [width]
                and not _COMMENT.match(lines[at + 1])
            ):
                continue
            return at
    return next(at for at, one in enumerate(widths) if one)


def _names_above(
    lines: list[str], widths: list[int], width: int, first: int, mark: str, quote: str
) -> tuple[list[str] | None, int]:
    """Names above the rows (maybe one name less than fields), or None; position of first line."""
    if not first or not widths[first - 1]:
        return None, first
    line = lines[first - 1]
    bare = re.sub(r"^\s*[#%/!]+\s*", "", line)
    line = bare if len(split(bare, mark, quote)) == width else line
    names = [one.strip() for one in split(line, mark, quote)]
    if len(names) == 1:  # with another separator
        others = [split(line, one, quote) for one in MARKS]
        names = next((one for one in others if len(one) == width), names)
    while len(names) > width and not names[-1]:
        names.pop()
    below = [split(one, mark, quote) for one in lines[first : first + 50] if one.strip()]
    below = [row for row in below if len(row) == width]
    are_names = (
        width > 1 < len(names) == len({*names} - {""})
        and not any(may_be_number(one, mark) for one in names)
        # If the first of these rows contains names, the line above this row does not contain names.
        and any(may_be_number(one, mark) for one in below[0])
    )
    whole = all(re.fullmatch(r"\s*-?\d*\s*", one) for row in below for one in row)
    if are_names and width > len(names) + 1 and mark == "," and whole:
        raise InputError(
            f"line {first + 1} has {width} fields below {len(names)} names: commas are both "
            "decimal marks and separators; separate the fields by semicolons."
        )
    if not are_names or not width - 1 <= len(names) <= width:
        return None, first
    if len(names) < width:
        names = ["", *names] if any(row[-1].strip() for row in below) else [*names, ""]
    return names, first - 1


# -- rows ----------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class Batch:
    """Rows from successive lines."""

    rows: pa.RecordBatch
    numbers: Callable[[], Ints]  # line number of each row, from 1
    wrong: Sequence[Wrong] = ()
    opened: Sequence[int] = ()  # lines with a quotation mark that is never closed


#: Number of characters of a row that decide whether it is a comment.
_SHORT = 120

#: Line number, text and number of fields of a row whose number of fields is not usual.
Wrong: TypeAlias = tuple[int, str, int]


def parsed(
    blocks: Iterable[bytes],
    form: Form,
    axes: Sequence[int] | None = None,
    floats: dict[int, str] | None = None,
) -> Iterator[Batch]:
    """Parse blocks of whole lines in UTF-8; yield all columns, or the columns ``axes``."""
    # The columns ``floats`` have the same decimal mark. They become floats in each block in which
    # all their cells are numbers. Otherwise, and in all other columns, cells are text.
    line, rest = form.line, b""
    axes = range(form.width) if axes is None else axes
    blocks = iter(blocks)
    block = next(blocks, None)
    while block is not None:
        following = next(blocks, None)
        block = rest + block
        if form.mark == "\x1f":
            block = block.replace(b"::", b"\x1f")
        if (regular := _regular(block, form)) is not None:
            rest = b""
            try:
                yield _at_once(regular, form, line, axes, floats or {})
            except pa.ArrowInvalid:
                yield _at_once(regular, form, line, axes, {})
        else:
            batch, rest = _line_by_line(block, form, line, axes, last=following is None)
            yield batch
        line += _breaks(block) - _breaks(rest)
        block = following


def _breaks(block: bytes) -> int:
    """Number of line breaks; this is three times as fast as bytes.count."""
    return int(np.count_nonzero(np.frombuffer(block, np.uint8) == ord("\n")))


def _regular(block: bytes, form: Form) -> bytes | None:
    """The block in a form that pyarrow reads correctly; None if it must be read line by line."""
    if form.quote != '"':
        return None
    if form.mark != " ":
        return block if _is_plain(block, form.mark) else None
    if b'"' in block or not block.isascii() or _OTHER_SPACE.search(block):
        return None
    block = block.replace(b"\t", b" ")
    while b"  " in block:
        block = block.replace(b"  ", b" ")
    return block.replace(b"\n ", b"\n").replace(b" \n", b"\n").strip(b" ")


def _is_plain(block: bytes, mark: str) -> bool:
    """Whether every quotation mark is at a border of a field and is closed in the same line."""
    if b'"' not in block:
        return True
    signs = np.frombuffer(b"\n%b\n" % block, np.uint8)
    marks = signs == ord('"')
    many = np.add.reduceat(marks, np.flatnonzero(signs == ord("\n")), dtype=np.intp)
    quotes = np.flatnonzero(marks)
    is_opening = (np.arange(len(quotes)) - np.repeat(np.cumsum(many) - many, many)) % 2 == 0
    before, after = signs[quotes - 1], signs[quotes + 1]
    beside = np.where(is_opening, before, after)
    fine = (before == ord('"')) | (after == ord('"'))
    fine |= (beside == ord("\n")) | (beside == ord(mark))
    return bool(fine.all() and not (many % 2).any())


def _at_once(
    block: bytes, form: Form, line: int, axes: Sequence[int], floats: dict[int, str]
) -> Batch:
    """Rows of a block in which no record contains a line break; pyarrow parses them together."""
    wrong: list[Wrong] = []

    def skip(row: pa.csv.InvalidRow) -> str:
        wrong.append((row.number or 0, row.text[:_SHORT], row.actual_columns))
        return "skip"

    if form.width == 1:  # a blank line would be a row
        block = re.sub(rb"(?m)^[ \t]+$", b"", block)
    if not block.strip():
        return _batch(axes)
    names = [str(axis) for axis in range(form.width)]
    table = pa.csv.read_csv(
        pa.BufferReader(block),
        pa.csv.ReadOptions(  # threads lose the numbers of invalid rows
            use_threads=False, block_size=len(block) + 1, column_names=names
        ),
        pa.csv.ParseOptions(delimiter=form.mark, invalid_row_handler=skip),
        pa.csv.ConvertOptions(
            column_types=dict.fromkeys(names, pa.string())
            | {str(axis): pa.float64() for axis in floats},
            null_values=["", *MISSING],
            strings_can_be_null=False,
            decimal_point=next(iter(floats.values()), "."),
            include_columns=[str(axis) for axis in axes],
        ),
    )
    [rows] = table.combine_chunks().to_batches() or [_batch(axes).rows]
    if not wrong and len(rows) == _breaks(block) + (not block.endswith(b"\n")):  # no blank lines
        numbers = partial(np.arange, line, line + len(table), dtype=np.int64)
        return Batch(rows=rows, numbers=numbers)
    gone = [number - 1 for number, _, _ in wrong]
    every = _lines(block, line, [])[gone].tolist()
    wrong = [(at, text, many) for at, (_, text, many) in zip(every, wrong, strict=True)]
    return Batch(rows=rows, numbers=partial(_lines, block, line, gone), wrong=wrong)


def _batch(
    axes: Sequence[int], rows: Sequence[list[str]] = (), numbers: Sequence[int] = ()
) -> Batch:
    columns = [pa.array([row[axis] for row in rows], pa.string()) for axis in axes]
    found = np.array(numbers, dtype=np.int64)
    batch = pa.record_batch(columns, names=[str(axis) for axis in axes])
    return Batch(rows=batch, numbers=lambda: found)


def _lines(block: bytes, first: int, gone: list[int]) -> Ints:
    ends = np.flatnonzero(np.frombuffer(block, np.uint8) == ord("\n"))
    sizes = np.diff(ends, prepend=-1, append=len(block)) - 1
    return np.delete(np.flatnonzero(sizes > 0), gone) + first


def _line_by_line(
    block: bytes, form: Form, first: int, axes: Sequence[int], *, last: bool
) -> tuple[Batch, bytes]:
    """Rows of any block, and the last lines if their record continues in the next block."""
    lines = block.decode(errors="replace").split("\n")
    rows: list[list[str]] = []
    numbers: list[int] = []
    wrong: list[Wrong] = []
    opened: list[int] = []
    at = 0
    while at < len(lines):
        line, begin = lines[at], at
        at += 1
        if not line.strip():
            continue
        if line.count(form.quote) % 2 == 0:
            fields = split(line, form.mark, form.quote)
        elif not last and begin + _LONGEST > len(lines):
            at = begin
            break
        elif end := _end(lines, begin, form):
            line, at = "\n".join(lines[begin : end + 1]), end + 1
            fields = _strictly(line, form.mark, form.quote)
        else:
            opened.append(first + begin)
            fields = line.split(None if form.mark == " " else form.mark)
            fields = [one.strip(form.quote) for one in fields]
        if len(fields) == form.width:
            rows.append(fields)
            numbers.append(first + begin)
        else:
            wrong.append((first + begin, line[:_SHORT], len(fields)))
    rest = "\n".join(lines[at:]).encode() if not last else b""
    return replace(_batch(axes, rows, numbers), wrong=wrong, opened=opened), rest


def _end(lines: list[str], begin: int, form: Form) -> int:
    """Last line of a record with several lines; 0 if the lines are separate records."""
    alone = len(lines[begin].split(form.mark)) == form.width
    for end in range(begin + 1, min(begin + _LONGEST, len(lines))):
        is_record = len(split(lines[end], form.mark, form.quote)) == form.width
        if lines[end].count(form.quote) % 2:
            whole = _strictly("\n".join(lines[begin : end + 1]), form.mark, form.quote)
            return end if len(whole) == form.width and not (alone and is_record) else 0
        if is_record and form.width > 1:
            return 0
    return 0


def _ragged(wrong: list[Wrong], form: Form, last: int) -> tuple[NamedRows, tuple[str, ...]]:
    written = [one for one in wrong if one[1].strip()]
    above = [one for one in written if one[0] <= last]
    below = written[len(above) :]
    words = not any(may_be_number(split(one[1], form.mark)[0], ";") for one in below)
    if not last or not words or len(below) > _MOST_BELOW:
        above, below = written, []
    rows = [one for one in above if not _COMMENT.match(one[1])]
    # Ignore a row of units in aligned columns, in which some fields are blank.
    if rows and rows[0][0] == form.line + 1 and form.mark == " " and rows[0][2] < form.width:
        units = [one.strip() for one in split(rows[0][1], form.mark)]
        if all(UNIT.fullmatch(one) or SHORT.fullmatch(one) for one in units):
            rows = rows[int(not any(may_be_number(one, form.mark) for one in units)) :]
    left = {" of comments between the rows": len(above) - len(rows), " below the table": len(below)}
    notes = [f"{counted(many, 'line')}{which} left out." for which, many in left.items() if many]
    usual = f" where most have {form.width:,}"
    first = [(line, "", counted(many, "field") + usual) for line, _, many in rows[:NAMED]]
    return NamedRows(rows=len(rows), first=tuple(first)), tuple(notes)
