"""Whatever the bytes, reading gives data or an InputError: one sentence, no warning."""

from __future__ import annotations

import gzip
import io
import random
import warnings
from collections import Counter

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

from dpviz.data.read import read_counts, read_table
from dpviz.errors import InputError

ENDINGS = ["", "csv", "tsv", "txt", "npy", "parquet", "csv.gz", "npy.gz", "dat"]
INPUTS = 2_000
PARTS = 8

ALPHABET = [
    *"0123456789.,;|\t \"\n\r'+-eE_#%=\\/",
    *("\r\n", '""', '","', "\n\n", "nan", "inf", "1e999", "0x1F", "NA", "1_0", "\x1b[31m", "\x85"),
    *("\u2028", "\u202e", "²", "٣", "é", "\ufeff", "\U0010ffff", "true", "1,5", "9" * 25, "x" * 99),
    *("2020-01-01", "1;2\n", "3,4\n", "5\t6\n"),
]


def _seeds() -> list[bytes]:
    """Return valid files of every format, to be damaged."""
    points = np.random.default_rng(1).normal(size=(12, 3))
    text = "\n".join(",".join(map(repr, row)) for row in points.tolist()).encode()
    table = pa.table(
        {
            "x": points[:, 0],
            "n": pa.array([1, None] * 6),
            "label": ["ä", "b"] * 6,
            "code": pa.array(["u", "v"] * 6).dictionary_encode(),
            "day": pa.array(range(12), type=pa.date32()),
            "time": pa.array(range(12), type=pa.timestamp("ns", tz="UTC")),
            "list": [[1.0], []] * 6,
        }
    )
    files = [text, b"a,b,c\n" + text, b"a;b;c\n" + text.replace(b",", b";").replace(b".", b",")]
    files.append(b'name,x,y\n"q\n""r""",1,2\n\ns,3,\n')
    files.append(b"1,2,3\n4,5,6\n")
    for compression in ("NONE", "SNAPPY", "ZSTD"):
        stream = io.BytesIO()
        pyarrow.parquet.write_table(table, stream, compression=compression)
        files.append(stream.getvalue())
    structured = np.zeros(5, dtype=[("x", "f8"), ("t", "U2"), ("s", "S2"), ("é", "i4")])
    for array in (points, points.astype(">f4").T, structured, np.arange(24).reshape(2, 3, 4)):
        stream = io.BytesIO()
        np.save(stream, array)
        files.append(stream.getvalue())
    return files + [gzip.compress(file, mtime=0) for file in files]


def _damaged(seed: bytes, rng: random.Random) -> bytes:
    """Change, insert, remove, double or cut off a few bytes."""
    data = bytearray(seed)
    # Headers and footers hold the traps, so much of the damage goes there.
    edge = rng.choice([len(data), len(data), 24, 130])
    for _ in range(rng.choice([1, 1, 1, 2, 5])):
        place = rng.randrange(min(edge, len(data)) or 1)
        place = rng.choice([place, len(data) - 1 - place])
        copied = bytes(data[place : place + rng.randrange(30)])
        piece = rng.choice([bytes([rng.randrange(256)]), b"\0", b"\xff" * 4, b'"', b"\n", b"9"])
        piece = rng.choice([b"", b"7", b",", copied, piece, piece])
        cut = rng.choice([0, len(piece), len(piece), rng.randrange(9)])
        data[place : place + cut] = piece
    return bytes(data[: rng.randrange(len(data) + 1)] if rng.random() < 0.05 else data)


def _inputs(part: int) -> list[bytes]:
    """Return one part of the inputs, always the same."""
    rng = random.Random(part)
    seeds = _seeds()
    inputs = []
    for number in range(INPUTS // PARTS):
        match number % 5:
            case 0:
                inputs.append(rng.randbytes(rng.choice([0, 1, 2, 5, 30, 300, 3000])))
            case 1:
                length = rng.choice([1, 3, 10, 50, 500])
                inputs.append("".join(rng.choices(ALPHABET, k=length)).encode())
            case 2:  # unpacks well, but to damaged content
                inputs.append(gzip.compress(_damaged(rng.choice(seeds), rng), mtime=0))
            case _:
                inputs.append(_damaged(rng.choice(seeds), rng))
    return inputs


def _complaint(message: str) -> str:
    """Return what is wrong with the form of a message."""
    if not message.endswith(".") or not message.isprintable():
        return "is not one sentence on one line"
    return "is too long" if len(message) > 300 else ""


def _outcome(data: bytes, name: str | None, counts: bool) -> str:
    """Read, with every warning an error; check what comes out."""
    try:
        dataset = read_counts(data, name=name) if counts else read_table(data, name=name).select()
    except InputError as error:
        complaint = _complaint(str(error))
        assert not complaint, (complaint, str(error), name, data)  # noqa: PT017
        return "refused"
    except Exception as error:
        raise AssertionError((name, counts, data)) from error
    _check(dataset)
    return "read"


@pytest.mark.parametrize("part", range(PARTS))
def test_only_input_errors_come_out(part):
    outcomes: Counter[str] = Counter()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for data in _inputs(part):
            for ending in ENDINGS:
                name = f"file.{ending}" if ending else None
                for counts in (False, True):
                    outcomes[_outcome(data, name, counts)] += 1
    # Inputs that are all refused at the door would test little.
    assert outcomes["read"] > 100
    assert outcomes["refused"] > 100


def _check(dataset):
    """Whatever was read keeps what a Dataset promises."""
    assert all(not _complaint(note) for note in dataset.notes), dataset.notes
    assert len(set(dataset.columns)) == dataset.ndim >= 2
    if dataset.points is not None:
        assert len(dataset.points) >= 1
        assert np.isfinite(dataset.points).all()
    else:
        assert dataset.counts.min() >= 0
        assert dataset.n > 0
