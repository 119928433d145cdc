"""Files of this computer, which the user gives by their paths; they are not copied."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

from dpviz.base.errors import InputError, reason, shown
from dpviz.data.reading.files import MAX_BYTES


class LocalFile(os.PathLike[str]):
    """A file on this computer with the attributes of uploads; ``file_id`` changes with the file."""

    def __init__(self, path: Path) -> None:
        known = path.stat()
        self._path, self.name, self.size = path, path.name, known.st_size
        self.file_id = f"{path} {known.st_size} {known.st_mtime_ns}"

    def __fspath__(self) -> str:
        """The path."""
        return str(self._path)


def local_file(text: str, title: str = "") -> LocalFile | None:
    """File at a typed path, or None if the text is empty; an InputError begins with ``title``."""
    if not text.strip():
        return None
    path, begin = Path(text.strip()), f"{title}: " if title else ""
    try:
        with suppress(RuntimeError):  # an unknown user name means that there is no such file
            path = path.expanduser()
        if not path.is_file():
            raise InputError(
                f"{begin}there is no file {shown(path, 80)} on this computer: give its whole path."
            )
        found = LocalFile(path)
    except (OSError, ValueError) as error:
        if isinstance(error, InputError):
            raise
        raise InputError(
            f"{begin}{shown(path, 80)} can't be read ({reason(error)}): check the path and your "
            "rights to read the file."
        ) from None
    if found.size > MAX_BYTES:
        raise InputError(
            f"{begin}{shown(path.name)} has more than {MAX_BYTES // 2**30} GB, too much for "
            "memory: use the command line, which does not load the whole file."
        )
    return found
