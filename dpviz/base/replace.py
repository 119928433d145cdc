"""Write a file completely or not at all: on a full disk the one that was there stays."""

from __future__ import annotations

import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import BinaryIO


@contextmanager
def replacing(
    path: str | os.PathLike[str], part: str | os.PathLike[str] | None = None
) -> Iterator[BinaryIO]:
    """Open a new file for bytes, which takes the place of ``path`` at the end.

    A link leads to its file. Bytes go straight to what is no file, such as ``/dev/stdout`` or a
    pipe. Until the end they are in ``part``, on the same disk; else in a new hidden file beside it.
    Raises OSError if it can't be written; neither then nor after any other error is anything
    changed.
    """
    target = os.path.realpath(path)
    with suppress(FileNotFoundError):
        os.stat(target)  # Links in a circle lead to no file.
    if os.path.exists(target) and not os.path.isfile(target):
        with open(target, "wb") as file:
            yield file
        return
    # A short name: one beside a file with the longest possible name must be possible, too.
    part = part or os.path.join(os.path.dirname(target), f".{secrets.token_hex(8)}.part")
    try:
        with open(part, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        if os.path.exists(target):
            shutil.copymode(target, part)
        os.replace(part, target)
    finally:
        with suppress(OSError):
            os.unlink(part)
