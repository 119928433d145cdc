"""What a person names, as the files that are read: each one once, whatever its names."""

from __future__ import annotations

import os
import posixpath
import re
from collections.abc import Sequence
from urllib.parse import unquote, unquote_to_bytes

from dpviz.base.errors import InputError, shown
from dpviz.privacy.origin import Origin, origins

#: A path in an object store, such as "s3://bucket/folder".
ADDRESS = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*)://")

#: Stores that are read, by how their addresses start; several starts may lead to one store. Other
#: addresses may lead to files of this computer, or to a part of another address.
STORES = {
    **{"s3": "s3", "s3a": "s3", "gs": "gs", "gcs": "gs", "az": "az", "abfs": "az", "abfss": "az"},
    **{"hdfs": "hdfs", "hf": "hf", "oci": "oci", "memory": "memory"},
}

#: A pattern of names.
PATTERN = re.compile(r"[*?\[]")

#: An address of a file of this computer.
_OF_FILE = re.compile(r"(?:file|local)://(?:localhost)?(/[^?#]*)(.*)", re.IGNORECASE | re.DOTALL)


def local_path(named: str) -> str:
    """Path that the address of a file of this computer stands for; anything else as it is.

    Raises InputError for such an address with more than a path, and for those of unknown stores.
    """
    start = ADDRESS.match(named)
    if not start or start[1].lower() in STORES:
        return named
    if start[1].lower() not in ("file", "local"):
        raise InputError(
            f'addresses that start with "{shown(start[1], 40)}://" are not read: give the path of '
            f"a file or folder, or an address in a store ({', '.join(STORES)})."
        )
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


def store_origin(address: str, inner: str) -> Origin:
    """Origin of an ``address`` as typed; ``inner`` is its path in the file system of the store.

    It is the same for all spellings of an address, options and askers, and may be for different
    places: these then share a budget, which is the safe side.
    """
    store = STORES[address.split("://", 1)[0].lower()]
    place = posixpath.normpath("/" + unquote(re.split("[?#]", inner)[0])).lstrip("/")
    if store in ("az", "hf", "oci"):  # an account, a version, a namespace
        place = re.sub(r"@[^/]*|^[^/@]*\.core\.windows\.net/", "", place)
    bucket, *rest = re.sub("^[^/@]*@", "", place).split("/", 1)
    place = "/".join([bucket.lower(), *rest])
    return Origin(f"{store}://{place}".rstrip("/"))


def each_once(paths: Sequence[str]) -> tuple[list[str], tuple[Origin, ...], tuple[str, ...]]:
    """Each file by its first name, what tells the files apart, and a note on the other names.

    Records of a file with several hard or symbolic links would count twice, and so would what one
    of them changes.
    """
    kept: dict[str, tuple[str, Origin]] = {}
    others = []
    for path in paths:
        (origin,) = origins(path) or (Origin(path),)
        first, _ = kept.setdefault(origin.number or origin.path, (path, origin))
        if first != path:
            others.append((path, first))
    files, apart = zip(*kept.values(), strict=True) if kept else ((), ())
    if not others:
        return [*files], apart, ()
    path, first = map(os.path.basename, others[0])
    more = f", and {len(others) - 1:,} more names are" if len(others) > 1 else " is"
    note = (
        f"{shown(path)}{more} left out: another name of {shown(first)}, whose records count once."
    )
    return [*files], apart, (note,)
