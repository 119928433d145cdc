"""A small file with gigabytes of values takes at most 1.5 GB, or is refused with a message.

Each file is read in a separate process, together with the reader of an upload.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from dpviz.base.errors import InputError
from dpviz.data.reading.read import read_table
from dpviz.data.reading.table import Unreadable
from tests.support import parquet_by_hand as by_hand

if sys.platform != "linux":
    pytest.skip("only Linux tells how much memory was taken", allow_module_level=True)

MOST = 1500  # MB

ROOT = Path(__file__).parents[3]

#: Prints the largest memory of this process plus its readers, in MB, and the result.
SCRIPT = """
import os, sys, threading, time
import psutil
from dpviz.data.reading.apart import Upload
from dpviz.data.reading.read import read_table
from dpviz.data.units import cap_records
from dpviz.base.errors import InputError

path, where, columns, unit, classes = sys.argv[1:]
me, peak = psutil.Process(), [0]

def look():
    while True:
        size = 0
        for one in (me, *me.children()):
            try:
                size += one.memory_info().rss
            except psutil.Error:
                pass
        peak[0] = max(peak[0], size)
        time.sleep(0.002)

threading.Thread(target=look, daemon=True).start()
data = open(path, "rb").read()
try:
    if where == "upload":
        table = Upload("a.parquet", len(data), lambda: data, 2**30).table()
    else:
        table = read_table(data, name="a.parquet")
    found = table.select(columns.split(","), unit=unit or None, classes=classes or None)
    if unit:
        found.digest
        cap_records(found, 3)
    said = f"{found.n} rows"
except InputError as error:
    said = f"refused: {error}"
time.sleep(0.05)
print(peak[0] >> 20, said, flush=True)
os._exit(0)
"""


def repeated(rows: int) -> bytes:
    """Columns that repeat one value: two columns of numbers, one of persons, one of text."""
    entries = [(by_hand.DOUBLE, bytes(8))] * 3 + [(by_hand.BYTE_ARRAY, b"\2\0\0\0ab")]
    columns = [
        by_hand.Column(
            name,
            kind,
            [
                by_hand.page(entry, 1, dictionary=True),
                by_hand.page(by_hand.same_entry(rows), rows, by_hand.RLE_DICTIONARY),
            ],
            dictionary=True,
        )
        for name, (kind, entry) in zip((b"x", b"y", b"who", b"t"), entries, strict=True)
    ]
    return by_hand.parquet(columns, rows)


#: Rows (in millions), columns, persons, classes, and whether the file is read. The memory of
#: persons includes the text of each row, because the limit must not reveal whether texts are equal.
CASES = {
    "two": (50, "x,y", "", "", True),
    "all": (50, "x,y,who", "", "", False),
    "numbers-persons": (17, "x,y", "who", "", True),
    "text-persons": (7, "x,y", "t", "", True),
    "both": (12, "x,y", "who", "t", True),
    "classes": (34, "x,y", "", "t", True),
    "number-classes": (34, "x,y", "", "who", True),
    "too-many-persons": (50, "x,y", "t", "", False),
    "too-many-classes": (50, "x,y", "", "t", False),
}


@pytest.mark.exhaustive(reason="test_read.py refuses such files, and test_apart.py stops readers")
@pytest.mark.parametrize(
    ("where", "case"),
    [(where, case) for where in ("here", "upload") for case in CASES],
)
def test_a_small_file_takes_little_memory(where: str, case: str, tmp_path: Path) -> None:
    millions, columns, unit, classes, fits = CASES[case]
    path = tmp_path / "a.parquet"
    path.write_bytes(repeated(millions * 10**6))
    assert path.stat().st_size < 2**20
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, path, where, columns, unit, classes],
        capture_output=True, text=True, cwd=ROOT, check=False, timeout=600,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    peak, _, said = done.stdout.strip().partition(" ")
    assert int(peak) < MOST, (peak, said)
    assert said.startswith(f"{millions * 10**6} rows" if fits else "refused: a.parquet has more"), (
        said
    )


@pytest.mark.parametrize("unreadable", ["refuse", "missing"])
def test_a_file_of_fewer_than_no_rows_is_damaged(unreadable: Unreadable) -> None:
    column = by_hand.Column(b"x", by_hand.DOUBLE, [by_hand.page(bytes(8), 1)])
    data = by_hand.parquet([column], -1)
    with pytest.raises(InputError, match="not a whole Parquet file"):
        read_table(data, unreadable=unreadable).select(unreadable=unreadable)
