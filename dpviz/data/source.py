"""Identify the files that a path, pattern or address means, and read each file only once."""

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

#: Stores by scheme; other schemes may mean a local file or a part of another address.
STORES = {
    **{"s3": "s3", "s3a": "s3", "gs": "gs", "gcs": "gs", "az": "az", "abfs": "az", "abfss": "az"},
    **{"hdfs": "hdfs", "hf": "hf", "oci": "oci", "memory": "memory"},
}

PATTERN = re.compile(r"[*?\[]")

_OF_FILE = re.compile(r"(?:file|local)://(?:localhost)?(/[^?#]*)(.*)", re.IGNORECASE | re.DOTALL)


def local_path(named: str) -> str:
    """Path in a file:// address; names and store addresses stay; InputError for others."""
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
            f"{shown(named, 120)} is not a plain address of a file: {more}, or give the path."
        )
    path = os.fsdecode(unquote_to_bytes(os.fsencode(found[1])))
    # Remove the first slash of "/C:/folder" on Windows.
    return path[1:] if os.name == "nt" and re.match("/[A-Za-z]:", path) else path


def is_nameless(named: str) -> bool:
    """Whether a name is a pattern or a store address, which may mean other files elsewhere."""
    path = local_path(named)
    return bool(ADDRESS.match(path)) or (bool(PATTERN.search(path)) and not os.path.exists(path))


def store_origin(address: str, inner: str) -> Origin:
    """Origin of the ``address`` that the user typed; ``inner`` is its path in the store."""
    # All spellings have the same origin. Different files may share a budget, which is safe.
    store = STORES[address.split("://", 1)[0].lower()]
    place = posixpath.normpath("/" + unquote(re.split("[?#]", inner)[0])).lstrip("/")
    if store in ("az", "hf", "oci"):  # remove an account, a version or a namespace
        place = re.sub(r"@[^/]*|^[^/@]*\.core\.windows\.net/", "", place)
    bucket, *rest = re.sub("^[^/@]*@", "", place).split("/", 1)
    place = "/".join([bucket.lower(), *rest])
    return Origin(f"{store}://{place}".rstrip("/"))


def each_once(paths: Sequence[str]) -> tuple[list[str], tuple[Origin, ...], tuple[str, ...]]:
    """Files without repetition, under their first names; their origins; a note on other names."""
    # Otherwise a file with two links would count twice, and one record would matter twice.
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
