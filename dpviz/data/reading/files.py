"""Bytes of files and uploads: reading within a limit, unpacking, and format detection."""

from __future__ import annotations

import gzip
import io
import os
import re
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dpviz.errors import InputError, reason, shown
from dpviz.formats import FORMATS, Format

#: Larger files are refused: all bytes are held in memory.
MAX_BYTES = 2 * 2**30

#: Memory limit for reading a file: a multiple of its size, plus a constant. A small file may unpack
#: to any size, and no real table needs more than this.
_TIMES, _MORE = 4, 2**30

#: Part of that for the current block and other temporary data.
_WORKING = 2**27

#: First bytes of the formats.
NPY, PARQUET, GZIP, ZIP = b"\x93NUMPY", b"PAR1", b"\x1f\x8b", b"PK\x03\x04"

#: First bytes of Office files before 2007, and of encrypted ones of today.
_OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"

#: How GeoJSON starts, as far as that tells it from other text.
_GEOJSON = re.compile(rb'\s*\{\s*"(type|features|geometry|crs|name|bbox)"\s*:')


@dataclass(frozen=True)
class File:
    """Unpacked bytes, their format, and how much memory their values may take.

    Text that was made of another format has one known ``separator``, and ``notes``.
    """

    name: str
    format: Format
    data: bytes
    memory: int
    separator: str | None = None
    notes: tuple[str, ...] = ()


def load(
    source: object,
    name: str | None,
    limit: int,
    *,
    headerless: bool = False,
    released: bool = False,
) -> File:
    """Read and unpack, never more than ``limit`` bytes.

    Without a header the first bytes belong to a record, so they must not decide the format. A
    release of a format without a line of names may have no record at all.
    """
    own_name, data = _stored_bytes(source, limit)
    memory = _TIMES * len(data) + _MORE
    name = name or own_name or "data"
    stem, ending = os.path.splitext((own_name or name).lower())
    packed = data.startswith(GZIP) and not (headerless and ending != ".gz")
    if ending == ".gz":
        if not packed:
            raise InputError(
                f"{shown(name)} is no gzip file although its name ends in .gz: compress it "
                "again, or remove the ending."
            )
        ending = os.path.splitext(stem)[1]
    if packed:
        data = _unpacked(data, name, min(limit, memory // 2))
    memory -= len(data) + _WORKING
    if data.startswith(_OLE) and (ending in (".xls", ".xlsx", ".xlsm") or not headerless):
        raise InputError(_of_old_office(data, name))
    form = FORMATS.get(ending, "text")
    if ending not in FORMATS and not headerless:
        starts: dict[bytes, Format] = {NPY: "npy", PARQUET: "parquet", ZIP: "zip"}
        form = next((kind for start, kind in starts.items() if data.startswith(start)), form)
        form = "geojson" if _GEOJSON.match(data, 0, 2**16) else form
    if not (headerless or (released and form == "geojson") or re.search(rb"\S", data)):
        raise InputError(f"{shown(name)} is empty: give a file with one row of numbers per record.")
    return File(name, form, data, memory)


def _of_old_office(data: bytes, name: str) -> str:
    """Sentence for an Excel file that is encrypted, or older than 2007."""
    if "EncryptedPackage".encode("utf-16-le") in data:
        return (
            f"{shown(name)} is protected by a password: open it in a spreadsheet program, remove "
            "the password and save it again as .xlsx."
        )
    return (
        f"{shown(name)} is an old Excel file (.xls): open it in a spreadsheet program and save it "
        "as .xlsx, or as CSV in UTF-8."
    )


def _stored_bytes(source: object, limit: int) -> tuple[str | None, bytes]:
    """File name, if there is one, and the stored bytes."""
    if isinstance(source, bytes | bytearray | memoryview):
        own_name, data = None, bytes(source)
    elif isinstance(source, str | os.PathLike):
        own_name, size = Path(source).name, 0
        with _unreadable(str(source)), Path(source).open("rb") as file:
            size = os.fstat(file.fileno()).st_size
            data = _at_most(file.read, limit) if size <= limit else b""
        if size > limit:
            raise _too_large(own_name, "", limit)
    elif hasattr(source, "read"):
        own_name = getattr(source, "name", None)
        own_name = Path(own_name).name if isinstance(own_name, str) else None
        # An upload may have been read before: rewind it.
        whole = getattr(source, "getvalue", None)
        with _unreadable(own_name or "data"):
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
        raise _too_large(own_name or "data", "", limit)
    return own_name, data


def _at_most(read: Callable[[int], Any], limit: int) -> Any:
    """Read to the end, or just beyond ``limit`` bytes, without allocating more than needed."""
    stream = io.BytesIO()
    while stream.tell() <= limit and (piece := read(min(2**24, limit + 1 - stream.tell()))):
        if isinstance(piece, str):
            return piece
        stream.write(piece)
    return stream.getvalue()


@contextmanager
def _unreadable(name: str) -> Iterator[None]:
    """Raise InputError, in one sentence, if a file can't be opened or read."""
    try:
        yield
    except (OSError, ValueError) as error:  # ValueError: NUL in the name, or the file is closed
        # The end of a long path is more informative than its start.
        place = shown(name if len(name) <= 80 else "..." + name[-77:], 80) or "this folder"
        if isinstance(error, FileNotFoundError):
            said = "does not exist: check the path"
        elif isinstance(error, IsADirectoryError):
            said = "is a directory: name a file in it"
        else:
            said = f"can't be read ({reason(error)}): check the file and its rights"
        raise InputError(f"{place} {said}.") from None


def too_large(name: str, limit: int) -> InputError:
    """Return the error for a file that takes more than ``limit`` bytes when it is unpacked."""
    return _too_large(name, " unpacked", limit)


def _too_large(name: str, unpacked: str, limit: int) -> InputError:
    """Sentence for a file over the limit."""
    return InputError(
        f"{shown(name)} has more than {megabytes(limit)}{unpacked}, the limit: give fewer rows, "
        "for example a random sample of them."
    )


def _unpacked(data: bytes, name: str, limit: int) -> bytes:
    """Unpack gzip, stopping right after ``limit`` bytes."""
    try:
        with gzip.GzipFile(fileobj=io.BytesIO(data)) as file:
            unpacked: bytes = _at_most(file.read, limit)
    except (OSError, EOFError, zlib.error):
        raise InputError(
            f"{shown(name)} is a damaged gzip file, perhaps cut off: transfer or compress it again."
        ) from None
    if len(unpacked) > limit:
        raise too_large(name, limit)
    return unpacked


def megabytes(size: int) -> str:
    """Size in the unit that reads best."""
    if size >= 2**40:
        return f"over {2**20:,} MB"
    return f"{size / 2**20:,.4g} MB" if size >= 2**20 else f"{size:,} bytes"


@contextmanager
def enough_memory(name: str) -> Iterator[None]:
    """Raise InputError, in one sentence, if the memory does not suffice."""
    try:
        yield
    except MemoryError:
        raise InputError(
            f"{shown(name)} does not fit into the memory that is free: give fewer rows, or only "
            "the columns that are needed."
        ) from None
