"""What a person names, as the files that are read: each one once, whatever its names."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from urllib.parse import unquote_to_bytes

from dpviz.errors import InputError, shown
from dpviz.privacy.origin import Origin, origins

#: A path in an object store, such as "s3://bucket/folder".
ADDRESS = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://")

#: A pattern of names.
PATTERN = re.compile(r"[*?\[]")

#: An address of a file of this computer.
_OF_FILE = re.compile(r"(?:file|local)://(?:localhost)?(/[^?#]*)(.*)", re.IGNORECASE | re.DOTALL)


def local_path(named: str) -> str:
    """Path that the address of a file of this computer stands for; anything else as it is.

    Raises
    ------
    InputError
        If such an address has more in it than a path.
    """
    if not re.match("(file|local)://", named, re.IGNORECASE):
        return named
    found = _OF_FILE.match(named)
    if found is None or found[2]:
        more = f'leave "{shown(found[2])}" out' if found else "name no other computer"
        raise InputError(
            f"{shown(named, 120)} is no plain address of a file: {more}, or give the path."
        )
    path = os.fsdecode(unquote_to_bytes(os.fsencode(found[1])))
    # "/C:/folder" on Windows.
    return path[1:] if os.name == "nt" and re.match("/[A-Za-z]:", path) else path


def is_nameless(named: str) -> bool:
    """Tell whether this names no single file or folder: a pattern, or an address of a store.

    The same pattern in another folder has other files, and many addresses may lead to one store.
    """
    path = local_path(named)
    return bool(ADDRESS.match(path)) or (bool(PATTERN.search(path)) and not os.path.exists(path))


def each_once(paths: Sequence[str]) -> tuple[list[str], tuple[Origin, ...], tuple[str, ...]]:
    """Files without further names of the same one, by hard or symbolic links.

    Their records would count twice, and so would what one of them changes.

    Returns
    -------
    tuple
        The first name of each file, what tells the files apart, and a note on the others.
    """
    kept: dict[str, tuple[str, Origin]] = {}
    others = []
    for path in paths:
        (origin,) = origins(path) or (Origin(path),)
        first, _ = kept.setdefault(origin.number or origin.path, (path, origin))
        if first != path:
            others.append((path, first))
    notes: tuple[str, ...] = ()
    if others:
        path, first = others[0]
        more = f", and {len(others) - 1:,} more names are" if len(others) > 1 else " is"
        notes = (
            f"{shown(os.path.basename(path))}{more} left out: another name of "
            f"{shown(os.path.basename(first))}, whose records count once.",
        )
    return [path for path, _ in kept.values()], tuple(one for _, one in kept.values()), notes
