"""Origins of records: files and folders, recognized even if they are renamed."""

from __future__ import annotations

import os
import stat
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

#: Folder in which the system lists open files.
_OPEN = Path("/proc/self/fd")


@dataclass(frozen=True)
class Origin:
    """A file, a folder, or an address in a store, from which records were read.

    Parameters
    ----------
    path
        Path without links, or address in a store; "" if unknown.
    number
        Device, and number of the file on it: the same for all names of a file; "" if there is no
        number.
    """

    path: str
    number: str = ""

    @property
    def folder(self) -> str:
        """Path of the folder that contains the file."""
        return os.path.dirname(self.path)

    def is_there(self) -> bool:
        """Whether the path still leads to the same file."""
        found = origins(self.path) if self.path else ()
        return any(one.number == self.number for one in found)


def origins(*sources: object) -> tuple[Origin, ...]:
    """Origins of paths and open files; pipes and objects in memory are left out.

    A path to a missing file also has an origin, because the file may have existed a moment ago.
    """
    return tuple(found for one in sources if (found := _origin(one)) is not None)


def _origin(source: object) -> Origin | None:
    if isinstance(source, str | os.PathLike):
        path = source
    else:
        handle, path = _handle(source), getattr(source, "name", "")
        if handle is None:
            return None
        if (_OPEN / str(handle)).exists():
            path = _OPEN / str(handle)
        source = handle
    real = ""
    with suppress(OSError, ValueError, TypeError):
        real = os.path.realpath(path) if path else ""
    try:
        facts = os.stat(source)
    except (OSError, ValueError):
        return Origin(real) if real else None
    if not (stat.S_ISREG(facts.st_mode) or stat.S_ISDIR(facts.st_mode)):
        return None
    # Some file systems don't number their files.
    return Origin(real, f"{facts.st_dev}:{facts.st_ino}" if facts.st_ino else "")


def _handle(source: object) -> int | None:
    with suppress(AttributeError, OSError, ValueError):
        return int(source.fileno())  # type: ignore[attr-defined]
    return None
