"""Files that a person names: a path, a folder, a pattern, or an address in a store."""

from __future__ import annotations

import glob
import os
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from typing import Any, BinaryIO

import pyarrow as pa
import pyarrow.fs

from dpviz.base.errors import InputError, shown
from dpviz.data.source import ADDRESS, PATTERN, store_origin
from dpviz.privacy.origin import Origin, origins

#: Endings of files in a folder; others are left alone.
ENDINGS = (".parquet", ".pq", ".csv", ".tsv", ".txt", ".csv.gz", ".tsv.gz", ".txt.gz")

PARQUET = (".parquet", ".pq")


def paths_of(source: str) -> tuple[tuple[Origin, ...], list[str], list[str]]:
    """Folder that is named, if one is, files to read by their names, and folders beside them."""
    if ADDRESS.match(source):
        return _remote_paths(source)
    folder: tuple[Origin, ...] = ()
    inner: list[str] = []
    if os.path.isdir(source):
        with no_traceback(source, "can't be listed"):
            names = os.listdir(source)
        paths = {name: os.path.join(source, name) for name in sorted(names)}
        found = [path for name, path in paths.items() if _is_data(name) and os.path.isfile(path)]
        inner = [
            name for name, path in paths.items() if not _is_hidden(name) and os.path.isdir(path)
        ]
        folder, what = origins(source), "folder"
    elif os.path.exists(source):
        return (), [_absolute(source)], []
    else:
        found, what = sorted(filter(os.path.isfile, glob.glob(source, recursive=True))), "pattern"
        if not PATTERN.search(source):
            raise InputError(f'"{shown(source, 120)}" does not exist: check the path.')
    if not found:
        raise InputError(
            f'the {what} "{shown(source, 120)}" has no file to read: give Parquet or CSV files '
            f"({', '.join(ENDINGS[:5])}){f', or {way_into(source)}' * bool(inner)}."
        )
    return folder, list(map(_absolute, found)), inner


def way_into(source: str) -> str:
    """How the folders in a folder are read: stores have no patterns."""
    if ADDRESS.match(source):
        return "name each folder by itself to read it"
    pattern = f"{glob.escape(source.rstrip('/'))}/**/*.parquet"
    return f'read them by a pattern for their files, such as "{shown(pattern, 160)}"'


def _absolute(path: str) -> str:
    """Path for workers, whose working folder may be another; ".." after a link leads elsewhere."""
    folder, name = os.path.split(path)
    return os.path.join(os.path.realpath(folder), name)


def _is_data(name: str) -> bool:
    """Tell whether a file of a folder has records, by its name; programs hide files of theirs."""
    return name.lower().endswith(ENDINGS) and not _is_hidden(name)


def _is_hidden(name: str) -> bool:
    """Tell whether a program has made a file or folder for itself."""
    return name.startswith((".", "_"))


def _remote_paths(source: str) -> tuple[tuple[Origin, ...], list[str], list[str]]:
    """Folder of a store that is named, if one is, files to read, and folders beside them."""
    system, place = _system(source)
    scheme = source[: source.index("://") + 3]
    with no_traceback(source, "can't be listed"):
        facts = system.get_file_info(place)
        if facts.type == pyarrow.fs.FileType.File:
            return (), [source], []
        if facts.type == pyarrow.fs.FileType.Directory:
            listed_ = system.get_file_info(pyarrow.fs.FileSelector(place))
            found = sorted(
                one.path for one in listed_
                if one.is_file and _is_data(one.base_name)
            )  # fmt: skip
            inner = sorted(
                one.base_name for one in listed_
                if one.type == pyarrow.fs.FileType.Directory and not _is_hidden(one.base_name)
            )  # fmt: skip
            if found:
                files = [scheme + path.lstrip("/") for path in found]
                return (remote_origin(source),), files, inner
    raise InputError(
        f"{shown(source, 120)} has no file to read: give a Parquet or CSV file, or a folder of "
        "them; files in its folders are not read, and stores have no patterns."
    )


def remote_origin(address: str) -> Origin:
    """Origin in a store."""
    return store_origin(address, _system(address)[1])


@contextmanager
def opened(path: str) -> Iterator[BinaryIO | pa.NativeFile]:
    """Bytes of a file, unpacked where its name ends in .gz."""
    packing = "gzip" if path.lower().endswith(".gz") else None
    if ADDRESS.match(path):
        system, inner = _system(path)
        # Parquet jumps to its footer.
        is_parquet = path.lower().endswith(PARQUET)
        file: Any = (
            system.open_input_file(inner)
            if is_parquet
            else system.open_input_stream(inner, compression=packing)
        )
    else:
        os.stat(path)  # its error is in plain words
        file = pa.input_stream(path, compression=packing) if packing else pa.OSFile(path)
    with file:
        yield file


def mark_of(path: str) -> tuple[int, int]:
    """Size and time of the last change of a file."""
    if not ADDRESS.match(path):
        facts = os.stat(path)
        return facts.st_size, facts.st_mtime_ns
    system, inner = _system(path)
    told = system.get_file_info(inner)
    if told.type == pyarrow.fs.FileType.NotFound:
        raise FileNotFoundError(2, os.strerror(2), path)
    return told.size or 0, told.mtime_ns or 0


@lru_cache(8)
def _system_of(scheme: str) -> Any:
    """Store of fsspec for a scheme that pyarrow does not know."""
    try:
        import fsspec
        from fsspec.implementations.local import LocalFileSystem
    except ImportError:
        raise InputError(
            f'addresses that start with "{shown(scheme)}://" need a package that is not '
            "installed: pip install fsspec, and the one for this store."
        ) from None
    try:
        store = fsspec.filesystem(scheme)
        if isinstance(store, LocalFileSystem):
            raise ValueError("its files are on this computer, so give their path")
    except (ValueError, ImportError) as error:
        raise InputError(
            f'no store is known for "{shown(scheme)}://": {shown(str(error), 160)}.'
        ) from None
    return pyarrow.fs.PyFileSystem(pyarrow.fs.FSSpecHandler(store))


def _system(path: str) -> tuple[Any, str]:
    """File system of an address, and the path inside it."""
    try:
        found: tuple[Any, str] = pyarrow.fs.FileSystem.from_uri(path)
        return found
    except (pa.ArrowInvalid, NotImplementedError, ImportError):
        scheme, inner = path.split("://", 1)
        return _system_of(scheme), inner
    except OSError as error:
        raise InputError(
            f"the store of {shown(path, 120)} does not answer ({shown(str(error), 160)}): check "
            "the address, and the network."
        ) from None


@contextmanager
def no_traceback(path: str, problem: str) -> Iterator[None]:
    """Turn an error of a reader into a sentence that names the file."""
    try:
        yield
    except OSError as error:
        if not error.strerror:  # of the decoder, not of the disk
            raise InputError(_with_reason(path, problem, error)) from None
        raise InputError(
            f"{shown(path, 120)} can't be read: {shown(error.strerror, 160)}; all machines that "
            "read need it at the same path."
        ) from error
    except (pa.ArrowException, ValueError, EOFError) as error:
        if isinstance(error, InputError):
            raise
        raise InputError(_with_reason(path, problem, error)) from None


def _with_reason(path: str, problem: str, error: Exception) -> str:
    """Sentence on a file, with the first line of what the reader said."""
    said = str(error).partition("\n")[0].rstrip(".") or type(error).__name__
    if "pickle" in said:  # NumPy goes on with advice that is not safe
        said = "it holds objects of Python, which are never loaded"
    return f"{shown(path, 120)} {problem} ({shown(said, 160)}): write it again, or leave it out."
