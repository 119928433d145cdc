"""Zip archives: the files in them, unpacked bit by bit and within a limit."""

from __future__ import annotations

import io
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager

from dpviz.data.reading.files import File, too_large
from dpviz.errors import InputError, shown

#: Most files in an archive: the list of them is held in memory.
_FILES = 20_000

#: An archive may unpack to a multiple of its size, plus a constant: sheets shrink to a tenth or so,
#: and archives made to fill the memory to a thousandth.
_TIMES, _MORE = 40, 2**26

#: Bytes that are unpacked together.
_PIECE = 2**16


class Archive:
    """Files of a zip archive.

    Parameters
    ----------
    file
        Has the bytes.

    Attributes
    ----------
    names
        Of the files, without folders.
    held
        Bytes that were unpacked and stay in memory.

    Raises
    ------
    InputError
        If it is no whole archive, is encrypted, or unpacks to far more than any table would.
    """

    def __init__(self, file: File) -> None:
        self._name = file.name
        self.limit = _TIMES * len(file.data) + _MORE
        self._unpacked = 0
        self.held = 0
        self._most_held = file.memory // 2
        if file.data.count(b"PK\x01\x02") > _FILES:
            raise InputError(
                f"{shown(file.name)} is an archive of more than {_FILES:,} files: give one with "
                "the table alone."
            )
        with self._refusing_damage():
            self._zip = zipfile.ZipFile(io.BytesIO(file.data))
        self._entries = {
            one.filename: one
            for one in self._zip.infolist()
            # Python 3.11 can't tell whether one without a name is a folder.
            if one.filename and not one.is_dir()
        }
        self.names = tuple(self._entries)

    def pieces(self, name: str) -> Iterator[bytes]:
        """Successive bytes of one file.

        Raises
        ------
        InputError
            If they are damaged or encrypted, or all that was read is too much.
        """
        entry = self._entries[name]
        if entry.flag_bits & 1:
            raise InputError(
                f"{shown(self._name)} is protected by a password: pack it again without one."
            )
        if entry.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            raise InputError(
                f"{shown(self._name)} is packed in an unusual way: pack it again as a plain zip "
                "archive."
            )
        with self._refusing_damage(), self._zip.open(entry) as stream:
            while piece := stream.read(_PIECE):
                self._unpacked += len(piece)
                if self._unpacked > self.limit:
                    raise too_large(self._name, self.limit)
                yield piece

    def whole(self, name: str) -> bytearray:
        """All bytes of one file.

        Raises
        ------
        InputError
            As for :meth:`pieces`, or if they do not fit into the memory for a file of its size.
        """
        data = bytearray()
        for piece in self.pieces(name):
            self.hold(len(piece))
            data += piece
        return data

    def hold(self, size: int) -> None:
        """Count bytes that stay in memory.

        Raises
        ------
        InputError
            If all of them are more than half of the memory for a file of its size.
        """
        self.held += size
        if self.held > self._most_held:
            raise too_large(self._name, self._most_held)

    @contextmanager
    def _refusing_damage(self) -> Iterator[None]:
        """Raise InputError, in one sentence, for damaged bytes."""
        try:
            yield
        except (
            zipfile.BadZipFile,
            zlib.error,
            EOFError,
            OSError,
            ValueError,
            NotImplementedError,
            RuntimeError,
            OverflowError,
        ) as error:
            if isinstance(error, InputError):
                raise
            raise InputError(
                f"{shown(self._name)} is no whole zip archive or .xlsx file, perhaps cut off: "
                "transfer or save it again."
            ) from None
