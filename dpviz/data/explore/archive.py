"""Zip archives: names and bytes of the files inside, within a limit."""

from __future__ import annotations

import io
import lzma
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager

from dpviz.base.errors import InputError, listed, shown
from dpviz.data.reading.files import ZIP, refusing, too_large

#: Limits on the number of files, and on unpacked bytes: packing shrinks tables to a tenth.
_FILES, _TIMES, _MORE = 20_000, 40, 2**26

#: Endings of table formats that are zip archives themselves.
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
    """All bytes of one file in an archive, up to a limit; InputError if this file is an archive."""
    most = most or _TIMES * len(data) + _MORE
    with _opened(data, name) as (archive, entries):
        if which not in entries:
            names = listed(entries)
            raise InputError(f'"{shown(which)}" is not in {shown(name)}: choose from {names}.')
        if entries[which].flag_bits & 1:
            raise InputError(
                f"{shown(name)} is protected by a password: pack it again without a password."
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
    if data.count(b"PK\x01\x02") > _FILES:
        raise InputError(
            f"{shown(name)} is an archive of more than {_FILES:,} files: give the table alone."
        )
    said = (
        f"{shown(name)} is not a whole zip archive or workbook, perhaps cut off or packed in an "
        "unusual way: save or pack it again."
    )
    with refusing(said, *_DAMAGE), zipfile.ZipFile(io.BytesIO(data)) as archive:
        # Python 3.11 can't determine whether an entry without a name is a folder.
        found = [one for one in archive.infolist() if one.filename and not one.is_dir()]
        # If two files have the same name, some programs read the first file and some the last.
        if len({one.filename.lower() for one in found}) < len(found):
            raise zipfile.BadZipFile
        yield archive, {one.filename: one for one in found}
