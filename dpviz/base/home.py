"""Folder of this user: budgets and bundles of the app, notes about budget files."""

from __future__ import annotations

import os
import stat
from contextlib import suppress
from pathlib import Path

from dpviz.base.errors import InputError

#: Where the folder is, unless the environment names another one.
FOLDER_VARIABLE, FOLDER = "DPVIZ_HOME", "~/.dpviz"


def home() -> Path:
    """Folder of this user; it need not exist yet.

    Raises InputError where there is no such folder, or another one in every working directory.
    """
    given = os.environ.get(FOLDER_VARIABLE) or FOLDER
    try:
        folder = Path(given).expanduser()
    except RuntimeError:
        raise InputError(
            f"{FOLDER_VARIABLE} = {given}: that home folder does not exist; set {FOLDER_VARIABLE} "
            "to a folder of your own."
        ) from None
    if not folder.is_absolute():
        raise InputError(
            f"{FOLDER_VARIABLE} = {given} is another folder wherever the app is started: give the "
            "whole path."
        )
    return folder


def home_folder(name: str) -> Path:
    """Make a folder in this user's folder, and return it; no other user can look into either.

    A folder of this user that is there already keeps its rights, since the environment may name
    one that serves others too; only the one that is ours by its name, ``~/.dpviz``, is closed.

    Raises InputError as :func:`home`, and OSError where it can't be made.
    """
    folder = home()
    if not _made(folder) and not os.environ.get(FOLDER_VARIABLE):
        tighten(folder)
    if not _made(folder / name):
        tighten(folder / name)
    return folder / name


def _made(folder: Path) -> bool:
    """Make a folder for its user alone; whether it was not there."""
    try:
        folder.mkdir(mode=0o700, parents=True)
    except FileExistsError:
        return False
    folder.chmod(0o700)  # A umask may have taken the owner's rights too.
    return True


def tighten(path: Path) -> None:
    """Take the rights of all others off a file or folder, where it is ours."""
    with suppress(OSError):
        found = path.stat()
        if found.st_mode & 0o077 and found.st_uid == getattr(os, "geteuid", lambda: None)():
            path.chmod(stat.S_IMODE(found.st_mode) & ~0o077)
