"""The user's folder: it contains the app's budgets and bundles, and notes about budget files."""

from __future__ import annotations

import os
import stat
from contextlib import suppress
from pathlib import Path

from dpviz.base.errors import InputError

#: Environment variable that names the user's folder, and the default folder.
FOLDER_VARIABLE, FOLDER = "DPVIZ_HOME", "~/.dpviz"


def home() -> Path:
    """Return the user's folder, which may not exist; InputError if it is relative or unknown."""
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
            f"{FOLDER_VARIABLE} = {given} depends on the folder in which the app is started: give "
            "an absolute path."
        )
    return folder


def home_folder(name: str) -> Path:
    """Make a folder that others can't read, inside the user's folder, and return it.

    If the environment names an existing folder, its permissions stay, because others may use it.
    Raises InputError like :func:`home`, and OSError.
    """
    folder = home()
    if not _made(folder) and not os.environ.get(FOLDER_VARIABLE):
        tighten(folder)
    if not _made(folder / name):
        tighten(folder / name)
    return folder / name


def _made(folder: Path) -> bool:
    try:
        folder.mkdir(mode=0o700, parents=True)
    except FileExistsError:
        return False
    folder.chmod(0o700)  # A umask may have removed the owner's rights too.
    return True


def tighten(path: Path) -> None:
    """Remove the permissions of all other users from a file or folder if this user owns it."""
    with suppress(OSError):
        found = path.stat()
        if found.st_mode & 0o077 and found.st_uid == getattr(os, "geteuid", lambda: None)():
            path.chmod(stat.S_IMODE(found.st_mode) & ~0o077)
