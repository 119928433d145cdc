"""Origins of records: files and folders, recognized even if they are renamed or copied."""

from __future__ import annotations

import hashlib
import hmac
import os
import stat
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

#: Folder in which the system lists open files.
_OPEN = Path("/proc/self/fd")

#: Begin of the number of a file's content.
_CONTENT = "content:"


@dataclass(frozen=True)
class Origin:
    """A file, a folder, or an address in a store, from which records were read.

    ``path`` has no links, and is "" if it is unknown. ``number`` is the device and the file's
    number there (the same for all names of the file), or a hash of the file's content (the same for
    all copies), or "". A path without a folder is the name of an upload.
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

    @property
    def is_content(self) -> bool:
        """Whether this is the content of a file."""
        return self.number.startswith(_CONTENT)

    def keyed(self, key: bytes) -> Origin:
        """The same content as a code, which says nothing about the content without the key.

        The code ends with a mark of the key (:func:`mark`), the same for all contents.
        """
        return _content(hmac.digest(key, self.number.encode(), "sha256").hex() + mark(key))


def mark(key: bytes) -> str:
    """Sixteen characters that distinguish this key from others, and say nothing else about it."""
    return hmac.digest(key, b"mark", "sha256").hex()[:16]


def content(data: bytes | memoryview) -> Origin:
    """Origin that is the same for all files with these bytes."""
    return _content(hashlib.sha256(data).hexdigest())


def _content(code: str) -> Origin:
    return Origin("", f"{_CONTENT}{code}")


def origins(*sources: object) -> tuple[Origin, ...]:
    """Origins of paths (also to missing files) and open files, but not of pipes and objects."""
    return tuple(found for one in sources if (found := _origin(one)) is not None)


def _origin(source: object) -> Origin | None:
    if isinstance(source, str | os.PathLike):
        path = source
    else:
        try:
            handle = int(source.fileno())  # type: ignore[attr-defined]
        except (AttributeError, OSError, ValueError):
            return None
        path = getattr(source, "name", "")
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
