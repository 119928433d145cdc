"""List the files that the user names by a path, a folder, a pattern, or an address in a store."""

from __future__ import annotations

import glob
import os
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from functools import lru_cache
from typing import Any, BinaryIO

from dpviz.base.errors import InputError, listed, shown
from dpviz.base.lazy import pyarrow as pa
from dpviz.data.reading.files import out_of_reach, refusing
from dpviz.data.source import ADDRESS, PATTERN, each_once, store_origin
from dpviz.privacy.origin import Origin, origins

#: File name endings that are read from a folder; other files are ignored.
ENDINGS = (".parquet", ".pq", ".csv", ".tsv", ".txt", ".csv.gz", ".tsv.gz", ".txt.gz")

PARQUET = (".parquet", ".pq")

#: Prefixes of files that programs create for their own use.
_HIDDEN = (".", "_")


def paths_of(source: str) -> tuple[list[str], tuple[Origin, ...], tuple[str, ...]]:
    """Paths of the files to read, sorted; origins of the files and their folder; and notes."""
    is_far = bool(ADDRESS.match(source))
    entries = _entries(source) if is_far or os.path.isdir(source) else None
    folder: tuple[Origin, ...] = ()
    found, inner = [source], []
    if entries is not None:
        folder = (_far_origin(source),) if is_far else origins(source)
        entries = sorted(one for one in entries if not one[0].startswith(_HIDDEN))
        files_in = (path for _, path, kind in entries if kind == "file")
        found = [path for path in files_in if path.lower().endswith(ENDINGS)]
        inner = [name for name, _, kind in entries if kind == "folder"]
    elif not is_far and not os.path.exists(source):
        if not PATTERN.search(source):
            raise InputError(f'"{shown(source, 120)}" does not exist: check the path.')
        found = sorted(filter(os.path.isfile, glob.glob(source, recursive=True)))
    pattern = shown(f"{glob.escape(source.rstrip('/'))}/**/*.parquet", 160)
    way = f'read these files by a pattern, such as "{pattern}"'
    way = "name each folder separately to read it" if is_far else way
    if not found:
        more = f", or {way}" if inner else ""
        if is_far:
            more = "; files in its folders are not read, and stores have no patterns"
        raise InputError(
            f'"{shown(source, 120)}" has no file to read: give Parquet or CSV files '
            f"({', '.join(ENDINGS[:5])}){more}."
        )
    notes: tuple[str, ...] = ()
    if is_far:
        files = tuple(map(_far_origin, found))
    else:
        found, files, notes = each_once(list(map(_absolute, found)))
    if inner:
        many = f"{len(inner):,} folders in it are" if len(inner) > 1 else "1 folder in it is"
        left = f"{many} left out ({listed(inner)})"
        notes += (f"The files in {shown(source, 120)} are read, and {left}: {way}.",)
    return found, (*folder, *files), notes


def _entries(folder: str) -> list[tuple[str, str, str]] | None:
    """Name, path and kind of each entry; None if ``folder`` is a single file in a store."""
    with no_traceback(folder, "can't be listed"):
        if not ADDRESS.match(folder):
            places = ((name, os.path.join(folder, name)) for name in os.listdir(folder))
            return [
                (name, path, "file" if os.path.isfile(path) else "folder" * os.path.isdir(path))
                for name, path in places
            ]
        system, place = _system(folder)
        named = {pa.fs.FileType.File: "file", pa.fs.FileType.Directory: "folder"}
        kind = named.get(system.get_file_info(place).type)
        some = system.get_file_info(pa.fs.FileSelector(place)) if kind == "folder" else []
        scheme = folder[: folder.index("://") + 3]
        found = [
            (one.base_name, scheme + one.path.lstrip("/"), named.get(one.type, "")) for one in some
        ]
        return None if kind == "file" else found


def _far_origin(address: str) -> Origin:
    return store_origin(address, _system(address)[1])


def _absolute(path: str) -> str:
    """Absolute path, because workers may have another current folder; resolves links first."""
    folder, name = os.path.split(path)
    return os.path.join(os.path.realpath(folder), name)


@contextmanager
def opened(path: str) -> Iterator[BinaryIO | pa.NativeFile]:
    """Open a file, and unpack it if its name ends in .gz."""
    packing = "gzip" if path.lower().endswith(".gz") else None
    file: Any
    if not ADDRESS.match(path):
        os.stat(path)  # raises an error with a clear message
        file = pa.input_stream(path, compression=packing) if packing else pa.OSFile(path)
    else:
        system, inner = _system(path)
        if path.lower().endswith(PARQUET):  # random access, for the footer
            file = system.open_input_file(inner)
        else:
            file = system.open_input_stream(inner, compression=packing)
    with file:
        yield file


def mark_of(path: str) -> tuple[int, int]:
    """Size of a file, and time of its last change."""
    if not ADDRESS.match(path):
        facts = os.stat(path)
        return facts.st_size, facts.st_mtime_ns
    system, inner = _system(path)
    told = system.get_file_info(inner)
    if told.type == pa.fs.FileType.NotFound:
        raise FileNotFoundError(2, os.strerror(2), path)
    return told.size or 0, told.mtime_ns or 0


@lru_cache(8)
def _system_of(scheme: str) -> Any:
    try:
        import fsspec
        from fsspec.implementations.local import LocalFileSystem
    except ImportError:
        raise InputError(
            f'addresses that start with "{shown(scheme)}://" need a package that is not '
            "installed: pip install fsspec, and the package for this store."
        ) from None
    try:
        store = fsspec.filesystem(scheme)
        if isinstance(store, LocalFileSystem):
            raise ValueError("its files are on this computer, so give their path")
    except (ValueError, ImportError) as error:
        raise InputError(
            f'no store is known for "{shown(scheme)}://": {shown(str(error), 160)}.'
        ) from None
    return pa.fs.PyFileSystem(pa.fs.FSSpecHandler(store))


def _system(path: str) -> tuple[Any, str]:
    try:
        found: tuple[Any, str] = pa.fs.FileSystem.from_uri(path)
        return found
    except (pa.ArrowInvalid, NotImplementedError, ImportError):
        scheme, inner = path.split("://", 1)
        return _system_of(scheme), inner
    except OSError as error:
        raise InputError(
            f"the store of {shown(path, 120)} does not answer ({shown(str(error), 160)}): check "
            "the address, and the network."
        ) from None


def no_traceback(path: str, problem: str) -> AbstractContextManager[None]:
    """Replace an error of a reader by an InputError whose message names the file."""

    def sentence(error: Exception) -> str:
        if isinstance(error, OSError) and error.strerror:  # from the disk, not from the decoder
            return out_of_reach(path, error)
        said = str(error).partition("\n")[0].rstrip(".") or type(error).__name__
        if "pickle" in said:  # NumPy's message recommends something unsafe
            said = "it contains Python objects, which are never loaded"
        return (
            f"{shown(path, 120)} {problem} ({shown(said, 160)}): write it again, or leave it out."
        )

    return refusing(sentence, OSError, pa.ArrowException, ValueError, EOFError)
