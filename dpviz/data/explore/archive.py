"""Zip archives: names and bytes of the files in them, within a limit."""

from __future__ import annotations

import io
import lzma
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager

from dpviz.base.errors import InputError, listed, shown
from dpviz.data.reading.files import ZIP, refusing, too_large

#: Most files in an archive, whose list is held in memory. It may unpack to a multiple of its size,
#: plus a constant: tables shrink to a tenth or so, and archives made as bombs to a thousandth.
_FILES, _TIMES, _MORE = 20_000, 40, 2**26

#: Endings of tables that are archives themselves.
_PACKED = (".xlsx", ".xlsm", ".xlsb", ".ods", ".npz", ".kmz", ".shz")

_DAMAGE = (
    zipfile.BadZipFile, zlib.error, lzma.LZMAError, NotImplementedError, RuntimeError, EOFError,
    OSError, ValueError, OverflowError,
)  # fmt: skip


def members(data: bytes, name: str) -> tuple[str, ...]:
    """Names of the files in an archive, without folders."""
    with _opened(data, name) as (_, entries):
        return tuple(entries)


def member(data: bytes, name: str, which: str, most: int | None = None) -> bytes:
    """All bytes of one file of an archive, which is none itself; up to a limit."""
    most = most or _TIMES * len(data) + _MORE
    with _opened(data, name) as (archive, entries):
        if which not in entries:
            names = listed(entries)
            raise InputError(f'"{shown(which)}" is not in {shown(name)}: choose from {names}.')
        if entries[which].flag_bits & 1:
            raise InputError(
                f"{shown(name)} is protected by a password: pack it again without one."
            )
        with archive.open(entries[which]) as stream:
            whole = stream.read(most + 1)
    if len(whole) > most:
        raise too_large(name, most)
    if whole.startswith(ZIP) and not which.lower().endswith(_PACKED):
        raise InputError(
            f"{shown(name)} holds another archive, {shown(which)}: unpack it, and give the table."
        )
    return whole


@contextmanager
def _opened(data: bytes, name: str) -> Iterator[tuple[zipfile.ZipFile, dict[str, zipfile.ZipInfo]]]:
    """An archive and its files by name; whatever fails becomes one sentence."""
    if data.count(b"PK\x01\x02") > _FILES:
        raise InputError(
            f"{shown(name)} is an archive of more than {_FILES:,} files: give the table alone."
        )
    said = (
        f"{shown(name)} is no whole zip archive or workbook, perhaps cut off or packed in an "
        "unusual way: save or pack it again."
    )
    with refusing(said, *_DAMAGE), zipfile.ZipFile(io.BytesIO(data)) as archive:
        # Python 3.11 can't tell whether one without a name is a folder.
        found = [one for one in archive.infolist() if one.filename and not one.is_dir()]
        # Programs differ in which of two files of one name they read.
        if len({one.filename.lower() for one in found}) < len(found):
            raise zipfile.BadZipFile
        yield archive, {one.filename: one for one in found}
