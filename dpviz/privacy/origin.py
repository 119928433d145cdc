"""Where records were read: files and folders, told apart by what they are, not by their names."""

from __future__ import annotations

import os
import stat
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

#: Names that the system gives to open files.
_OPEN = Path("/proc/self/fd")


@dataclass(frozen=True)
class Origin:
    """A file, a folder, or a place in a store, that records were read from.

    Parameters
    ----------
    path
        Path without links, or address in a store; "" if it is not known.
    number
        Device and number on it, the same for all names of a file; "" if there is none.
    """

    path: str
    number: str = ""

    @property
    def folder(self) -> str:
        """Path of the folder."""
        return os.path.dirname(self.path)

    def is_there(self) -> bool:
        """Whether this path still leads to this file."""
        found = origins(self.path) if self.path else ()
        return any(one.number == self.number for one in found)


def origins(*sources: object) -> tuple[Origin, ...]:
    """Origins of paths and open files; pipes and objects in memory have none.

    A path that leads nowhere has one, too: the file may have been there a moment ago.
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
    # Some file systems number nothing.
    return Origin(real, f"{facts.st_dev}:{facts.st_ino}" if facts.st_ino else "")


def _handle(source: object) -> int | None:
    """Number of an open file; None if there is no file behind it."""
    with suppress(AttributeError, OSError, ValueError):
        return int(source.fileno())  # type: ignore[attr-defined]
    return None
