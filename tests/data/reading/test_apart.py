"""Uploads are read in a separate process: the tables are the same, and the limits are effective."""

from __future__ import annotations

import errno
import os
import signal
import sys
from collections.abc import Iterator
from threading import Event, Thread

import numpy as np
import psutil
import pytest

from dpviz.base.errors import InputError
from dpviz.base.work import Cancelled
from dpviz.data.dataset import Classes, Dataset
from dpviz.data.reading import apart, reader
from dpviz.data.reading.apart import Upload
from dpviz.data.reading.proposal import first_columns
from dpviz.data.reading.read import parts, read_counts, read_table
from dpviz.data.reading.table import Unreadable
from dpviz.data.reading.watch import watching
from dpviz.grid.domain import Domain
from tests.support.files import sheet, workbook

if sys.platform == "win32":
    pytest.skip("limits of processes are those of Unix", allow_module_level=True)

CSV = (
    "who,lon,lat,kind\n"
    + "".join(f"p{i % 7},{i % 13 + 0.5},{i % 17 - 0.25},{'ab'[i % 2]}\n" for i in range(200))
    + ",1.5,2.5,a\nü ñ,nan,3,b\n"
).encode()
MOST = 2**20


@pytest.fixture(autouse=True)
def nothing_left() -> Iterator[None]:
    """End all readers after a test, so that the next test starts new readers."""
    yield
    apart.dismiss()
    for one in tuple(apart._READERS):
        one.end()


def upload(data: bytes, name: str = "survey.csv") -> Upload:
    return Upload(name, len(data), lambda: data, MOST)


def planted(monkeypatch: pytest.MonkeyPatch, body: str) -> None:
    """Replace the reading of a table by this code in every reader."""
    lines = apart._START.rpartition("; main()")[0]
    plant = f"\nfrom dpviz.data.reading import reader\ndef table(self, **how):\n    {body}\n"
    monkeypatch.setattr(apart, "_START", f"{lines}{plant}reader.QUESTIONS['table'] = table\nmain()")


def same(one: Dataset, other: Dataset) -> None:
    assert one.digest == other.digest
    for name in ("name", "columns", "domain", "dropped", "notes", "doubtful"):
        assert getattr(one, name) == getattr(other, name)
    if other.units is None:
        assert one.units is None
    else:
        assert one.units is not None
        assert one.units.dtype == other.units.dtype
        assert one.units.tolist() == other.units.tolist()


@pytest.mark.some(1)
@pytest.mark.parametrize("unreadable", ["refuse", "missing"])
def test_a_table_is_the_same_as_here(unreadable: Unreadable) -> None:
    file = upload(CSV)
    away, here = (
        file.table(unreadable=unreadable),
        read_table(CSV, name="survey.csv", unreadable=unreadable),
    )
    assert file.parts() == ()
    assert (away.name, away.columns, away.rows, away.notes) == (
        here.name, here.columns, here.rows, here.notes,
    )  # fmt: skip
    assert away.numeric_columns == here.numeric_columns
    names = list(here.numeric_columns)
    assert away.first_columns(names) == first_columns(here, names)
    for more in ({}, {"unit": "who"}, {"classes": "kind"}, {"unit": "who", "classes": "kind"}):
        how = {"least": 2, "unreadable": unreadable, **more}
        same(away.select(("lon", "lat"), **how), here.select(("lon", "lat"), **how))  # type: ignore[arg-type]
    grid = b"1,2,3\n4,5,6\n"
    same(upload(grid, "g.csv").counts(sheet=None), read_counts(grid, name="g.csv"))


def test_sheets_and_sentences_come_from_there() -> None:
    rows = [["x", "y"], [1, 2], [3, 4]]
    book = workbook({"one": sheet(rows), "two": sheet(rows)})
    file = upload(book, "book.xlsx")
    assert file.parts() == parts(book, name="book.xlsx") == ("one", "two")
    with pytest.raises(InputError, match=r"book\.xlsx.*sheet"):
        file.table()
    assert file.table(sheet="two").columns == ("x", "y")
    with pytest.raises(InputError, match=r"is empty: give a file"):
        upload(b" \n", "empty.csv").table()


def test_arrays_of_all_types_travel() -> None:
    units = (
        np.array(["a", "", "ü"], dtype=object), np.array([1, 2, 2**62]), np.array([0.5, 1, 2]),
        np.array([2**63, 1, 2], np.uint64), np.array([True, False, True]),
        np.array([], dtype=object),
    )  # fmt: skip
    for one in units:
        sent = Dataset(
            name="a", points=np.zeros((len(one), 2)), units=one, domain=Domain(((0, 1), (0, 2))),
            classes=Classes(column="c", names=("x",), codes=np.zeros(len(one), np.intp)),
        )  # fmt: skip
        head, arrays = reader.packed(sent)
        got = apart.data_set(head, arrays)
        same(got, sent)
        assert got.classes is not None
        assert got.classes.names == ("x",)


#: Possible harm of a file to its reader, and the expected message.
BOMBS = {
    "time": ("while True: pass", "needs more than 0 s of CPU time"),
    "memory": ("return list(bytes(2**20) for _ in range(2**20))", "does not fit into the memory"),
    "one block": ("return len(bytes(2**36))", "does not fit into the memory"),
    "abort": ("import os; os.abort()", "stopped the program that reads it"),
    "exit": ("import os; os._exit(0)", "stopped the program that reads it"),
    "no file": (
        "import tempfile; tempfile.TemporaryFile(buffering=0).write(bytes(99999))",
        "stopped the program that reads it",
    ),
}


@pytest.mark.daily("one block", "no file")
@pytest.mark.parametrize("bomb", BOMBS)
def test_a_bomb_is_one_sentence_and_the_next_file_is_read(
    bomb: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    body, sentence = BOMBS[bomb]
    if bomb == "time":
        monkeypatch.setattr(apart, "SECONDS", 0.0)
    apart.dismiss()
    with monkeypatch.context() as patch:
        planted(patch, body)
        with pytest.raises(InputError, match=rf"survey\.csv .*{sentence}.*: give fewer"):
            upload(CSV).table()
    if bomb == "time":
        monkeypatch.setattr(apart, "SECONDS", 30.0)
        apart.dismiss()
        assert upload(CSV).table().rows == 202


@pytest.mark.parametrize(
    "said",
    [
        b"[1, 2, 3]\n",
        b"no JSON\n",
        b'[{"answer": 1}, [["<f8", [9999999999]]]]\n',
        b'[{"answer": 1}, [["<f8", [-1]]]]\n',
        b'[{"answer": 1}, [["|O", [1]]]]\n12345678',
        b'[{"answer": {"name": "a"}}, []]\n',
        b'[{"other": 1}, []]\n',
        b'[{"answer": 1}, [["<f8", [3]]]]\ncut off',
        b"[" * 50_000 + b"\n",
    ],
)
def test_whatever_a_reader_says_is_one_sentence(
    said: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    apart.dismiss()
    monkeypatch.setattr(apart, "_START", f"import os; os.read(0, 99); os.write(1, {said!r})")
    with pytest.raises(InputError, match="stopped the program that reads it"):
        upload(CSV).counts()


def test_what_is_printed_is_no_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    apart.dismiss()
    planted(monkeypatch, "print('[{\"answer\": 7}, []]', flush=True); raise self._no('x')")
    with pytest.raises(InputError, match="stopped the program"):
        upload(CSV).table()


def test_a_reader_ends_when_nobody_asks_and_comes_back(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(apart, "IDLE", 0.05)
    file = upload(CSV)
    table = file.table()
    assert file._reader is not None
    first = file._reader.pid
    for _ in range(200):
        if not psutil.pid_exists(first):
            break
        assert file._idle is not None
        file._idle.join(0.05)
    assert not psutil.pid_exists(first)
    assert table.select(("lon", "lat")).n == 201
    assert file._reader is None or file._reader.pid != first


#: A reader that reports progress for minutes.
SLOW = (
    "import time, dpviz.data.reading.watch as w\n"
    "    for at in range(9999): w.passed(at, 9999); time.sleep(0.01)"
)


def test_reading_can_be_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    apart.dismiss()
    planted(monkeypatch, SLOW)
    seen: list[int] = []
    file = upload(CSV)
    noting = watching(lambda done, total: seen.append(done), lambda: len(seen) > 1)
    with pytest.raises(Cancelled), noting:
        file.table()
    assert len(seen) == 2
    assert file._reader is None


def test_a_file_that_nobody_wants_any_longer_holds_up_nobody(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    apart.dismiss()
    with monkeypatch.context() as patch:
        planted(patch, SLOW)
        file, begun, failed = upload(CSV), Event(), []

        def ask() -> None:
            with watching(lambda done, total: begun.set(), lambda: False):
                try:
                    file.table()
                except InputError as error:
                    failed.append(error)

        asking = Thread(target=ask)
        asking.start()
        assert begun.wait(30)
        file.stop()
        asking.join(10)
        assert not asking.is_alive()
        assert len(failed) == 1
    # The screen may still show the file: the next question reads the file again.
    apart.dismiss()
    assert file.table().rows == 202


def test_a_system_without_room_for_a_reader_is_one_sentence(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def full(*_: object, **__: object) -> None:
        raise BlockingIOError(errno.EAGAIN, "Resource temporarily unavailable")

    apart.dismiss()
    with monkeypatch.context() as patch:
        patch.setattr(apart.subprocess, "Popen", full)
        apart.prepare()
        with pytest.raises(InputError, match=r"survey\.csv can't be read.*try again"):
            upload(CSV).table()


def test_the_interrupt_of_a_terminal_is_for_the_program_alone() -> None:
    file = upload(CSV)
    assert file.table().rows == 202
    assert file._reader is not None
    os.kill(file._reader.pid, signal.SIGINT)
    assert file.table(unreadable="missing").rows == 202
    assert file._reader.alive


def test_a_reader_that_is_slow_to_end_was_at_no_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    apart.dismiss()
    monkeypatch.setattr(apart, "_LAST", 0.01)
    said = "os.write(1, b'no JSON\\n'); time.sleep(60)"
    monkeypatch.setattr(apart, "_START", f"import os, time; os.read(0, 99); {said}")
    with pytest.raises(InputError, match="stopped the program that reads it"):
        upload(CSV).table()


def test_readers_end_with_the_program() -> None:
    one = apart._Reader()
    apart._end_all()
    assert not one.alive
    assert os.getpid() != one.pid
