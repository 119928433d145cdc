"""Random attacks on the budget file, from fixed seeds: no source spends more than its total.

Processes debit one file under several names. At the same time other code kills these processes,
fills the disk, replaces the file by older copies, links it, damages it or edits it. The sum of all
grants of all processes stays within the total, every grant is in the remaining file, and every
refusal is one sentence.
"""

from __future__ import annotations

import contextlib
import os
import random
import shutil
import signal
import sqlite3
import sys
import time
import traceback
from collections.abc import Callable
from pathlib import Path

import pytest

from dpviz.base.errors import InputError, PrivacyRefusal
from dpviz.privacy.budget_log import MICRO, Account
from dpviz.privacy.lifetime_budget import Budget

resource = pytest.importorskip("resource", reason="needs processes as POSIX has them")

#: Several spellings of one source, and one name that is refused.
NAMES = ("visits", "Visits ", "VISITS", "\uff56isits", "v\u0456sits")


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("DPVIZ_HOME", str(tmp_path / "home"))
    return tmp_path / "home"


def accounts(path: Path) -> list[Account] | None:
    """Accounts in a file; None if the file is refused with a sentence."""
    try:
        return Budget(path).datasets()
    except InputError as error:
        said(error)
        return None


def said(error: Exception) -> None:
    assert str(error).isprintable()
    assert str(error).endswith(".")


def debiting(paths: list[Path], grants: int, seed: int, seconds: float) -> int:
    """Make debits in a separate process, which writes grants to a pipe; return its process id."""
    child = os.fork()
    if child:
        return child
    try:  # pragma: no cover - another process
        rng = random.Random(seed)
        if rng.random() < 0.3:  # simulates a full disk
            resource.setrlimit(resource.RLIMIT_FSIZE, (rng.choice([300, 5000, 9000, 20_000]),) * 2)
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            micro = rng.randrange(1, 60_000)
            try:
                entry = Budget(rng.choice(paths)).debit(rng.choice(NAMES), micro / MICRO, {})
                os.write(grants, b"%d %d\n" % (entry.id, micro))
            except (InputError, PrivacyRefusal) as error:
                said(error)
    except BaseException:
        traceback.print_exc()
        sys.stderr.flush()
        os._exit(1)
    os._exit(0)


class Attacker:
    """Moves, replaces and links the file while other processes use it."""

    def __init__(self, folder: Path, rng: random.Random) -> None:
        self.rng, self.folder = rng, folder
        self.file, self.link = folder / "budget.db", folder / "link.db"
        self.number = 0

    def name(self, kind: str) -> Path:
        self.number += 1
        return self.folder / f"{kind}-{self.number}.db"

    def snapshot(self) -> None:
        shutil.copy(self.file, self.name("copy"))

    def copy(self) -> Path:
        copies = sorted(self.folder.glob("copy-*.db"))
        return self.rng.choice([*copies, self.file])

    def older_copy_in_its_place(self) -> None:
        copy = self.name("new")
        shutil.copy(self.copy(), copy)
        os.rename(self.file, self.name("copy"))
        os.rename(copy, self.file)

    def symlink_elsewhere(self) -> None:
        new = self.name("link")
        new.symlink_to(self.copy())
        os.replace(new, self.link)

    def hard_link(self) -> None:
        other = self.name("hard")
        other.hardlink_to(self.file)
        time.sleep(self.rng.uniform(0, 0.02))
        other.unlink()

    def wide_rights(self) -> None:
        self.file.chmod(0o666)

    def act(self) -> None:
        actions: list[Callable[[], None]] = [
            self.snapshot, self.older_copy_in_its_place, self.symlink_elsewhere, self.hard_link,
            self.wide_rights,
        ]  # fmt: skip
        with contextlib.suppress(FileNotFoundError):
            self.rng.choice(actions)()

    def settle(self) -> bool:
        """Restore a valid file, as an owner would; return whether there is a valid file."""
        for path in sorted(self.folder.glob("*.db")):
            if not path.is_symlink() and accounts(path) is not None:
                os.replace(path, self.file)
                return True
        return False


@pytest.mark.daily("1")
@pytest.mark.parametrize("seed", range(4))
def test_no_race_pays_out_a_total_twice(tmp_path: Path, seed: int) -> None:
    rng = random.Random(seed)
    folder = tmp_path / "attacked"
    folder.mkdir()
    attacker = Attacker(folder, rng)
    first = Budget(attacker.file).debit("visits", 0.01, {}, total=1.0)
    attacker.symlink_elsewhere()
    read, write = os.pipe()
    os.set_blocking(read, False)
    granted = {first.id: 10_000}
    for part in range(4):
        paths = [attacker.file, attacker.link, *sorted(folder.glob("copy-*.db"))[-1:]]
        children = [debiting(paths, write, 100 * seed + 10 * part + one, 0.4) for one in range(4)]
        while children:
            if rng.random() < 0.5:
                attacker.act()
            time.sleep(rng.uniform(0, 0.03))
            if rng.random() < 0.05:
                os.kill(rng.choice(children), signal.SIGKILL)
            for child in list(children):
                ended, status = os.waitpid(child, os.WNOHANG)
                if ended:
                    children.remove(child)
                    assert os.waitstatus_to_exitcode(status) in (0, -signal.SIGKILL)
        with contextlib.suppress(BlockingIOError):
            for line in os.read(read, 2**16).splitlines():
                number, micro = map(int, line.split())
                assert number not in granted, "one entry was granted twice"
                granted[number] = micro
        assert sum(granted.values()) <= MICRO
        # A crash may leave no valid file. Then nothing more can be spent.
        if not attacker.settle():
            break
        (account,) = accounts(attacker.file) or []
        kept = {entry.id: round(entry.epsilon * MICRO) for entry in account.entries}
        assert granted.items() <= kept.items()
    os.close(read)
    os.close(write)


def filled(path: Path) -> list[Account]:
    budget = Budget(path)
    for name in ("visits", "trips"):
        budget.open(name, 5.0)
        for number in range(4):
            entry = budget.debit(name, 0.5, {"number": number, "text": "x" * 200})
            if number % 2:
                budget.mark(entry)
    return budget.datasets()


@pytest.mark.parametrize("noted", [True, False])
def test_a_damaged_file_is_refused_or_says_the_same(
    tmp_path: Path, home: Path, noted: bool
) -> None:
    """150 files with changed, moved or missing bytes, from seed 0."""
    whole, damaged = tmp_path / "whole.db", tmp_path / "damaged.db"
    told, rng, refused = filled(whole), random.Random(0), 0
    data = whole.read_bytes()
    for _ in range(150):
        broken = bytearray(data)
        kind = rng.randrange(4)
        if kind == 0:
            for _ in range(rng.choice([1, 3, 30])):
                broken[rng.randrange(len(broken))] = rng.randrange(256)
        elif kind == 1:
            del broken[rng.randrange(1, len(broken)) :]
        elif kind == 2:
            page = rng.randrange(len(broken) // 4096) * 4096
            other = rng.randrange(len(broken) // 4096) * 4096
            broken[page : page + 4096] = broken[other : other + 4096]
        else:
            at, length = rng.randrange(len(broken)), rng.choice([8, 100, 4096])
            broken[at : at + length] = bytes(len(broken[at : at + length]))
        damaged.write_bytes(broken)
        if not noted:
            shutil.rmtree(home, ignore_errors=True)
        found = accounts(damaged)
        assert found in (None, told)
        refused += found is None
    assert refused > 50


def test_an_edited_file_is_refused(tmp_path: Path, home: Path) -> None:
    """100 edits of one value or row each, from seed 0, without a note to compare with."""
    whole, edited = tmp_path / "whole.db", tmp_path / "edited.db"
    filled(whole)
    shutil.rmtree(home)
    data, rng = whole.read_bytes(), random.Random(0)
    columns = ("number", "kind", "source", "amount", "text", "time", "hash")
    values = (0, 1, -1, 250_000, 2**40, "opened", "debited", "released", "trips", "{}", "", b"x")
    for _ in range(100):
        edited.write_bytes(data)
        with contextlib.closing(sqlite3.connect(edited, isolation_level=None)) as connection:
            rows = connection.execute("SELECT * FROM log ORDER BY number").fetchall()
            row, column = rng.choice(rows), rng.randrange(len(columns))
            if rng.random() < 0.3:
                connection.execute("DELETE FROM log WHERE number >= ?", (row[0],))
            else:
                value = rng.choice([*values, rng.choice(rows)[column]])
                with contextlib.suppress(sqlite3.IntegrityError):
                    connection.execute(
                        f"UPDATE log SET {columns[column]} = ? WHERE number = ?", (value, row[0])
                    )
            same = connection.execute("SELECT * FROM log ORDER BY number").fetchall() == rows
        assert (accounts(edited) is not None) == same
