"""Write a file completely or not at all: if the disk is full, the old file stays."""

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
    """Open a new binary file, which replaces the file ``path`` at the end.

    Links are followed; devices and pipes are written directly. ``part`` is the new file on the same
    disk, by default hidden and beside ``path``. After any error (OSError), ``path`` is unchanged.
    """
    target = os.path.realpath(path)
    with suppress(FileNotFoundError):
        os.stat(target)  # A circle of links raises OSError here.
    if os.path.exists(target) and not os.path.isfile(target):
        with open(target, "wb") as file:
            yield file
        return
    # The name is short, so that it is valid even if ``path`` has the longest possible name.
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
