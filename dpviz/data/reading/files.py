"""Bytes of files and uploads: read them within a limit, unpack them, and detect the format."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import os
import re
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from dpviz.base.errors import InputError, reason, shown
from dpviz.base.formats import FORMATS, RELEASED, Format
from dpviz.data.words import TABLES

#: Largest size of a file, which is limited because all bytes are kept in memory.
MAX_BYTES = 2 * 2**30

#: Memory limit for reading a file: a multiple of its size plus a constant. A part of the constant
#: is for the current block. A small file may unpack to any size, but real tables stay within the
#: limit.
_TIMES, _MORE, _WORKING = 4, 2**30, 2**27

#: First bytes of the formats, and the byte order mark at the start of some UTF-8 files.
NPY, PARQUET, ZIP = b"\x93NUMPY", b"PAR1", b"PK\x03\x04"
_OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
BOM = b"\xef\xbb\xbf"
_STARTS: tuple[tuple[bytes, Format], ...] = (
    (NPY, "npy"), (PARQUET, "parquet"), (ZIP, "zip"), (b"ARROW1\0\0", "feather"),
    (b"FEA1", "feather"), (b"SQLite format 3\0", "layer"), (b"fgb\x03fgb", "layer"),
    (_OLE, "sheet"),
)  # fmt: skip

#: First bytes of packed files, their endings and names, and the functions that unpack them.
_PACKED: tuple[tuple[bytes, str, str, Callable[..., Any]], ...] = (
    (b"\x1f\x8b", ".gz", "gzip", gzip.open),
    (b"BZh", ".bz2", "bzip2", bz2.open),
    (b"\xfd7zXZ\0", ".xz", "xz", lzma.open),
)

#: First characters of JSON and of XML, and XML elements that contain places.
_JSON = re.compile(rb'(\xef\xbb\xbf)?\s*(\x1e\s*)?(\{\s*"|\[\s*\{\s*")')
_XML = re.compile(rb"(\xef\xbb\xbf)?\s*<(\?xml|!--|gpx|kml|\w+:FeatureCollection)", re.IGNORECASE)
_PLACES = re.compile(rb"<(gpx|kml|(\w+:)?FeatureCollection)[\s>]")


@dataclass(frozen=True)
class File:
    """Unpacked bytes, their format, and the memory limit for their values."""

    name: str
    format: Format
    data: bytes
    memory: int | None


def load(
    source: object,
    name: str | None,
    limit: int,
    *,
    released: bool = False,
    headerless: bool = False,
) -> File:
    """Read and unpack a file, but never more than ``limit`` bytes."""
    # For a release, the first bytes may decide the format, because the header line is public.
    # Without such a line (``headerless``), only the name decides.
    own_name, data = _stored_bytes(source, limit)
    memory = _TIMES * len(data) + _MORE
    name = name or own_name or "data"
    stem, ending = os.path.splitext((own_name or name).lower())
    for start, packing, word, unpack in _PACKED:
        if ending == packing and not data.startswith(start):
            raise InputError(
                f"{shown(name)} is not a {word} file although its name ends in {packing}: pack it "
                "again, or remove the ending."
            )
        if data.startswith(start) and (ending == packing or not headerless):
            most = min(limit, memory // 2)
            said = f"{shown(name)} is a damaged {word} file, perhaps cut off: transfer or pack it "
            kinds = (OSError, EOFError, zlib.error, lzma.LZMAError, ValueError)
            with refusing(f"{said}again.", *kinds), unpack(io.BytesIO(data)) as file:
                data = _at_most(file.read, most)
            if len(data) > most:
                raise too_large(name, limit if most == limit else None)
            if ending == packing:
                ending = os.path.splitext(stem)[1]
            break
    memory -= len(data) + _WORKING
    form = FORMATS.get(ending, "text")
    if released:
        starts = (kind for start, kind in _STARTS if kind in RELEASED and data.startswith(start))
        form = form if headerless or ending in FORMATS else next(starts, form)
    else:
        form = _format(data, form, ending in FORMATS, name)
        if not re.search(rb"\S", data):
            raise InputError(
                f"{shown(name)} is empty: give a file with one row of numbers per record."
            )
    return File(name, form, data, memory)


def _format(data: bytes, form: Format, is_named: bool, name: str) -> Format:
    """Decide the format by ending and first bytes; InputError if the file is not a table."""
    head = data[:1024]
    for start, kind in _STARTS:
        if data.startswith(start) and form not in (kind, "layer", "sheet", "npz"):
            return kind
    if form == "sheet" and not head.startswith((ZIP, _OLE)):
        form = "text"  # some programs use this ending for CSV
    is_marked = head.startswith(tuple(start for start, kind in _STARTS))
    for other in [] if is_marked else TABLES["others"]:
        if re.match(other["start"].encode(), head, re.IGNORECASE | re.DOTALL):
            raise InputError(f"{shown(name)} is {other['what']}, not a table: {other['way']}.")
    if form != "text":
        return form
    if _XML.match(head):
        if not _PLACES.search(data, 0, 4096):
            raise InputError(
                f"{shown(name)} is an XML file of unknown form: save its table as CSV."
            )
        return "layer"
    return "json" if not is_named and _JSON.match(head) else "text"


def _stored_bytes(source: object, limit: int) -> tuple[str | None, bytes]:
    own_name = None
    if isinstance(source, bytes | bytearray | memoryview):
        data = bytes(source)
    elif isinstance(source, str | os.PathLike):
        own_name = Path(source).name
        with refusing(partial(_unreadable, str(source)), *_FAILED), Path(source).open("rb") as file:
            if os.fstat(file.fileno()).st_size > limit:
                raise too_large(own_name, limit, "")
            data = _at_most(file.read, limit)
    elif hasattr(source, "read"):
        path = getattr(source, "name", None)
        own_name = Path(path).name if isinstance(path, str) else None
        # An upload may have been read before, so go back to its start.
        whole = getattr(source, "getvalue", None)
        with refusing(partial(_unreadable, own_name or "data"), *_FAILED):
            data = whole() if whole else _at_most(source.read, limit)
        if isinstance(data, str):
            raise InputError(
                f"{shown(own_name or 'data')} is open as text: open it in binary mode."
            )
    else:
        raise InputError(
            f"a table can't be read from {shown(type(source).__name__)}: give a path, bytes, "
            "a binary file, a DataFrame, a pyarrow table or an array."
        )
    if len(data) > limit:
        raise too_large(own_name or "data", limit, "")
    return own_name, data


def _at_most(read: Callable[[int], Any], limit: int) -> Any:
    """Read to the end, or one byte beyond ``limit``; use no memory for a second copy."""
    stream = io.BytesIO()
    while stream.tell() <= limit and (piece := read(min(2**24, limit + 1 - stream.tell()))):
        if isinstance(piece, str):
            return piece
        stream.write(piece)
    return stream.getvalue()


#: Errors of opening and reading; ValueError if the name contains NUL or the file is closed.
_FAILED = (OSError, ValueError)


@contextmanager
def refusing(said: str | Callable[[Exception], str], *kinds: type[Exception]) -> Iterator[None]:
    """Replace errors of some types by an InputError with a one-sentence message."""
    try:
        yield
    except (InputError, MemoryError):
        raise
    except kinds as error:
        raise InputError(said if isinstance(said, str) else said(error)) from None


def out_of_reach(path: str, error: BaseException) -> str:
    """Return the error message for a file that can't be read from a disk or a store."""
    return (
        f"{shown(path, 120)} can't be read: {reason(error)}; all machines that read this file need "
        "it at the same path."
    )


def _unreadable(name: str, error: Exception) -> str:
    # Shorten a long path at its start, because its end is more informative.
    place = shown(name if len(name) <= 80 else "..." + name[-77:], 80) or "this folder"
    if isinstance(error, FileNotFoundError):
        return f"{place} does not exist: check the path."
    if isinstance(error, IsADirectoryError):
        return f"{place} is a directory: name a file in it."
    return f"{place} can't be read ({reason(error)}): check the file and its permissions."


def too_large(name: str, limit: int | None, unpacked: str = " unpacked") -> InputError:
    """Error for a file of more than ``limit`` bytes; None if each record changes the limit."""
    most = "a file of its size may have" if limit is None else megabytes(limit)
    return InputError(
        f"{shown(name)} has more than {most}{unpacked}, the limit: give fewer rows, "
        "for example a random sample of them."
    )


def megabytes(size: int) -> str:
    """Format a size in a suitable unit."""
    if size >= 2**40:
        return f"over {2**20:,} MB"
    return f"{size / 2**20:,.4g} MB" if size >= 2**20 else f"{size:,} bytes"


@contextmanager
def enough_memory(name: str) -> Iterator[None]:
    """Raise InputError if there is not enough memory."""
    try:
        yield
    except MemoryError:
        raise InputError(
            f"{shown(name)} does not fit into the memory that is free: give fewer rows, or only "
            "the columns that are needed."
        ) from None
