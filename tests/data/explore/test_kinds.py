"""The one list of kinds of files, and what is no table: it is called what it is."""

from __future__ import annotations

import bz2
import gzip
import lzma
import pickle
import zipfile
from io import BytesIO

import pytest

from dpviz.base.errors import InputError
from dpviz.base.formats import ACCEPTED, FORMATS, KINDS, RELEASED
from dpviz.data.reading.read import read_table

TEXT = b"lon,lat\n13.5,52.5\n13.25,52.25\n"


def test_the_kinds_of_files_are_listed_once() -> None:
    assert sorted(FORMATS) == sorted(ending for one in KINDS for ending in one.endings)
    assert all(one.title in ACCEPTED for one in KINDS)
    assert {*FORMATS.values()} >= RELEASED


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"<!DOCTYPE html>\n<html><body>404</body></html>", "a web page"),
        (b"\n<html lang='de'>\n", "a web page"),
        (b"version https://git-lfs.github.com/spec/v1\noid sha256:1\nsize 9\n", "git lfs pull"),
        (b"%PDF-1.7\n%\xe2\xe3\xcf\xd3\n", "a PDF document"),
        (pickle.dumps([(1.5, 2.5)]), "a pickle of Python"),
        (pickle.dumps({"x": [1]}, protocol=2), "a pickle of Python"),
        (b"{\\rtf1\\ansi lon lat}", "RTF"),
        (b"\x89HDF\r\n\x1a\n", "HDF5"),
        (b"\x89PNG\r\n\x1a\n", "a picture"),
        (b"7z\xbc\xaf'\x1c", "unpack it"),
        (b"<?xml version='1.0'?><note>lon</note>", "an XML file of unknown form"),
        (b"\x7fELF\x02\x01\x01", "a program"),
    ],
    ids=range(12),
)
@pytest.mark.parametrize("name", ["points.csv", "points", "points.dat"])
def test_what_is_no_table_is_called_what_it_is(data: bytes, said: str, name: str) -> None:
    with pytest.raises(InputError, match=said) as caught:
        read_table(data, name=name)
    assert str(caught.value).startswith(f"{name} is ")


def zipped(**files: bytes) -> bytes:
    stream = BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return stream.getvalue()


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("a.csv.gz", gzip.compress(TEXT)), ("a.csv.bz2", bz2.compress(TEXT)),
        ("a.csv.xz", lzma.compress(TEXT)), ("a.csv", gzip.compress(TEXT)),
        ("a", lzma.compress(TEXT)),
        ("a.zip", zipped(**{"a.csv": TEXT})), ("a", zipped(**{"folder/a.txt": TEXT})),
        ("a.zip", zipped(**{"a.csv": TEXT, "__MACOSX/._a.csv": b"\0", "README.md": b"# no"})),
        ("a.zip", zipped(**{"a.csv.gz": gzip.compress(TEXT)})),
    ],
    ids=range(9),
)  # fmt: skip
def test_packed_files_are_read_like_the_file_inside(name: str, data: bytes) -> None:
    assert read_table(data, name=name).select().points.tolist() == [[13.5, 52.5], [13.25, 52.25]]


def test_of_several_files_in_an_archive_one_is_named() -> None:
    data = zipped(**{"a.csv": TEXT, "b.csv": TEXT.replace(b"13.5", b"14.5")})
    with pytest.raises(InputError, match=r'"a\.csv", "b\.csv"'):
        read_table(data, name="both.zip")
    assert read_table(data, name="both.zip", part="b.csv").select().points[0, 0] == 14.5
    with pytest.raises(InputError, match="holds another archive"):
        read_table(zipped(**{"inner.zip": zipped(**{"a.csv": TEXT})}), name="a.zip")
