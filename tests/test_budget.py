"""The lifetime budget: never overspent, by nobody, whatever crashes; and readable refusals."""

from __future__ import annotations

import contextlib
import json
import math
import os
import random
import sqlite3
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dpviz.errors import InputError, PrivacyRefusal
from dpviz.privacy import budget as module
from dpviz.privacy.budget import Budget, Entry

posix = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs processes as POSIX has them")

WHAT = {"method": "privqt", "grid": 64}


@pytest.fixture
def budget(tmp_path: Path) -> Budget:
    return Budget(tmp_path / "budget.db")


def sentence(error: pytest.ExceptionInfo[Exception]) -> str:
    """The message, checked to be one sentence on one line."""
    text = str(error.value)
    assert text.endswith(".")
    assert text.isprintable()
    return text


# -- accounts ------------------------------------------------------------------------------


def test_a_release_debits_and_is_then_marked(budget: Budget) -> None:
    account = budget.open("visits", 1.0)
    assert (account.id, account.total, account.spent, account.entries) == ("visits", 1.0, 0.0, ())
    entry = budget.debit("visits", 0.3, WHAT)
    assert (entry.source, entry.epsilon, entry.what) == ("visits", 0.3, WHAT)
    assert (entry.state, budget.open("visits").entries) == ("debited", (entry,))
    marked = budget.mark(entry)
    (account,) = budget.datasets()
    assert account.entries == (marked,)
    assert (marked.state, account.spent, account.remaining) == ("released", 0.3, 0.7)
    assert marked.time.endswith("+00:00")


def test_a_crash_before_the_mark_keeps_the_debit(budget: Budget) -> None:
    budget.open("visits", 1.0)
    budget.debit("visits", 0.75, WHAT)
    with pytest.raises(PrivacyRefusal):
        budget.debit("visits", 0.5, WHAT)
    assert Budget(budget.path).open("visits").remaining == 0.25


def test_debits_are_forced_to_the_disk(budget: Budget) -> None:
    # No kill of a process can show that: the system keeps what it was handed. A write-ahead log
    # would keep the newest debits in a second file, which a copy may lack.
    budget.open("visits", 1.0)
    with budget._transaction() as log:
        assert log.connection.execute("PRAGMA synchronous").fetchone() == (3,)  # EXTRA
        assert log.connection.execute("PRAGMA journal_mode").fetchone() == ("delete",)


def test_a_refusal_tells_what_remains(budget: Budget) -> None:
    budget.open("visits", 1)
    budget.debit("visits", 0.7, WHAT)
    with pytest.raises(PrivacyRefusal) as error:
        budget.debit("visits", 0.300001, WHAT)
    assert sentence(error) == (
        "epsilon = 0.300001 is more than what is left: 0.3 of the lifetime budget 1 of source "
        '"visits".'
    )
    assert len(budget.open("visits").entries) == 1


def test_the_last_part_is_granted_and_none_beyond(budget: Budget) -> None:
    budget.open("visits", 1.0)
    budget.debit("visits", 0.5, WHAT)
    with pytest.raises(PrivacyRefusal, match=r"0\.500001 is more than what is left: 0\.5 of"):
        budget.debit("visits", 0.500001, WHAT)
    # Less than a micro-epsilon is rounded off, and said so in what is granted.
    assert budget.debit("visits", 0.5000009, WHAT).epsilon == 0.5


def test_the_first_use_sets_the_total_for_good(budget: Budget) -> None:
    budget.open("visits", 1.0)
    assert budget.open("visits", 1).total == budget.open("visits").total == 1.0
    for other in (2.0, 0.999999, 1.000001):
        with pytest.raises(PrivacyRefusal, match="a lifetime budget of 1, which stays: a total of"):
            budget.open("visits", other)
    assert budget.open("visits").total == 1.0


def test_sources_do_not_share_a_budget(budget: Budget) -> None:
    for number, name in enumerate(["visits", "Visit s", "trips, 2026 (é)"], start=1):
        budget.open(name, number)
        budget.debit(name, number, WHAT)
    assert [(one.id, one.spent) for one in budget.datasets()] == [
        ("visits", 1.0), ("Visit s", 2.0), ("trips, 2026 (é)", 3.0),
    ]  # fmt: skip


def test_what_looks_the_same_is_the_same_source(budget: Budget) -> None:
    budget.open("caf\u00e9", 1.0)
    budget.debit(" cafe\u0301 ", 1.0, WHAT)
    assert budget.open("café").remaining == 0


@pytest.mark.parametrize(
    "name", ["", "  ", "a\nb", "a\0b", "x" * 201, "\ud800", "a\u200bb", 7, None]
)
def test_names_that_name_nothing_are_refused(budget: Budget, name: str) -> None:
    budget.open("visits", 1.0)
    for call in (lambda: budget.open(name, 1.0), lambda: budget.debit(name, 0.1, WHAT)):
        with pytest.raises(InputError, match="source = ") as error:
            call()
        sentence(error)
    assert [one.id for one in budget.datasets()] == ["visits"]


@pytest.mark.parametrize(
    "value", [0, -1, 1e-7, 1e7, math.nan, math.inf, True, "0.1", None, 10**400, 0.5j]
)
def test_budgets_that_are_none_are_refused(budget: Budget, value: float) -> None:
    budget.open("visits", 1.0)
    with pytest.raises(InputError, match="epsilon") as error:
        budget.debit("visits", value, WHAT)
    sentence(error)
    if value is not None:
        with pytest.raises(InputError, match="total"):
            budget.open("other", value)
    assert [(one.id, one.spent) for one in budget.datasets()] == [("visits", 0.0)]


def test_only_known_sources_can_be_debited(budget: Budget) -> None:
    budget.open("visits", 1.0)
    for call in (lambda: budget.debit("visit", 0.1, WHAT), lambda: budget.open("visit")):
        with pytest.raises(InputError, match='source "visit" has no lifetime budget in') as error:
            call()
        sentence(error)


@pytest.mark.parametrize(
    "what",
    [{"a": math.nan}, {"a": object()}, {(1, 2): 3}, 7, None, {"a": "x" * 100_001}],
    ids=["nan", "object", "tuple", "number", "none", "long"],
)
def test_parameters_that_json_can_not_hold_are_refused(budget: Budget, what: dict) -> None:
    budget.open("visits", 1.0)
    with pytest.raises(InputError, match="what = ") as error:
        budget.debit("visits", 0.1, what)
    sentence(error)
    assert budget.open("visits").spent == 0


def test_only_own_entries_can_be_marked(budget: Budget, tmp_path: Path) -> None:
    budget.open("visits", 1.0)
    entry = budget.debit("visits", 0.1, WHAT)
    other = Budget(tmp_path / "other.db")
    other.open("visits", 1.0)
    with pytest.raises(InputError, match='has no entry 1 of source "visits"') as error:
        other.mark(entry)
    sentence(error)


# -- sums ----------------------------------------------------------------------------------


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> None:
    """Nothing is forced to the disk: for tests of arithmetic with many debits."""
    connect = sqlite3.connect

    class Careless(sqlite3.Connection):
        def execute(self, sql: str, *given: object) -> sqlite3.Cursor:
            return super().execute(sql.replace("synchronous = EXTRA", "synchronous = OFF"), *given)

    monkeypatch.setattr(
        sqlite3, "connect", lambda *args, **options: connect(*args, **options, factory=Careless)
    )


def floor(epsilon: float) -> Fraction:
    """Whole micro-epsilon of the decimal that was typed."""
    return Fraction(int(Fraction(repr(epsilon)) * 10**6), 10**6)


def spent(entries: tuple[Entry, ...]) -> Fraction:
    """Exact sum of the decimals that were granted."""
    return sum((Fraction(repr(entry.epsilon)) for entry in entries), Fraction())


@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize("shares", [2, 3, 6, 7, 9, 10, 11, 13, 49])
@pytest.mark.parametrize("total", [1.0, 0.3, 8.7])
def test_equal_shares_use_up_a_budget_and_no_more(
    budget: Budget, total: float, shares: int
) -> None:
    budget.open("visits", total)
    share = floor(total / shares)
    for _ in range(shares):
        assert Fraction(repr(budget.debit("visits", total / shares, WHAT).epsilon)) == share
    # Rounding left a micro-epsilon a share at most: it can be spent, and nothing beyond.
    left = Fraction(repr(total)) - shares * share
    assert Fraction(repr(budget.find("visits").remaining)) == left <= Fraction(shares, 10**6)
    if left:
        budget.debit("visits", float(left), WHAT)
    with pytest.raises(PrivacyRefusal, match="what is left"):
        budget.debit("visits", 1e-6, WHAT)
    account = budget.open("visits")
    assert spent(account.entries) == Fraction(repr(total)) == Fraction(repr(account.spent))


@pytest.mark.usefixtures("quick")
@settings(
    max_examples=50,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
    derandomize=True,
)
@given(
    total=st.floats(1e-6, 1e6),
    shares=st.lists(st.floats(1e-7, 1.5), min_size=1, max_size=12),
)
def test_whatever_fits_is_granted_and_nothing_else(total: float, shares: list[float]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        budget = Budget(Path(folder) / "budget.db")
        whole = budget.open("visits", total).total
        assert floor(total) == Fraction(repr(whole))
        granted = Fraction()
        for share in shares:
            epsilon = max(share * total, 1e-6)
            if epsilon > 1e6:
                continue
            try:
                entry = budget.debit("visits", epsilon, WHAT)
            except PrivacyRefusal:
                assert granted + floor(epsilon) > floor(total)
                continue
            assert Fraction(repr(entry.epsilon)) == floor(epsilon)
            granted += floor(epsilon)
            assert granted <= floor(total)
        account = budget.open("visits")
        # The floats that come out are the decimals themselves.
        assert spent(account.entries) == granted == Fraction(repr(account.spent))
        assert floor(total) - granted == Fraction(repr(account.remaining))


# -- more than one process -----------------------------------------------------------------


def run(script: str, *arguments: object) -> str:
    """Output of a Python program in a process of its own."""
    program = [sys.executable, "-W", "error", "-c", script, *map(str, arguments)]
    done = subprocess.run(program, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_another_process_sees_a_spend_at_once(budget: Budget) -> None:
    budget.open("visits", 1.0)
    script = (
        "import sys; from dpviz.privacy.budget import Budget; b = Budget(sys.argv[1]); "
        "print(b.open('visits').remaining); b.debit('visits', 0.5, {})"
    )
    budget.debit("visits", 0.25, WHAT)
    assert run(script, budget.path).strip() == "0.75"
    assert budget.open("visits").remaining == 0.25


def test_threads_do_not_overspend_together(budget: Budget) -> None:
    budget.open("visits", 0.5)
    granted: list[float] = []

    def release() -> None:
        with contextlib.suppress(PrivacyRefusal):
            granted.append(budget.debit("visits", 0.1, WHAT).epsilon)

    threads = [threading.Thread(target=release) for _ in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert granted == [0.1] * 5


RACE = """
import os, sys
from dpviz.errors import PrivacyRefusal
from dpviz.privacy.budget import Budget

# All wait for one byte: none starts before the last one is there.
ready, go = os.pipe()
for _ in range(100):
    if not os.fork():
        os.close(go)
        os.read(ready, 1)
        try:
            budget = Budget(sys.argv[1])
            budget.open("visits", 1.0)
            budget.debit("visits", 0.04, {"process": os.getpid()})
        except PrivacyRefusal:
            os._exit(3)
        except BaseException as error:
            print(repr(error), file=sys.stderr, flush=True)
            os._exit(1)
        os._exit(0)
os.close(ready)
os.close(go)
codes = [os.waitstatus_to_exitcode(os.wait()[1]) for _ in range(100)]
print(codes.count(0), codes.count(3))
"""


@posix
def test_a_hundred_processes_never_overspend_together(budget: Budget) -> None:
    # The file is new: they also race to make it.
    assert run(RACE, budget.path).split() == ["25", "75"]
    (account,) = budget.datasets()
    assert (account.spent, account.remaining, len(account.entries)) == (1.0, 0.0, 25)
    assert len({entry.what["process"] for entry in account.entries}) == 25


KILL = """
import json, os, random, signal, sys, time
from pathlib import Path
from dpviz.privacy.budget import Budget

folder, releases = Path(sys.argv[1]), int(sys.argv[2])
budget = Budget(folder / "budget.db")
budget.open("visits", 100.0)

def release():
    entry = budget.debit("visits", 0.25, {"secret": random.random()})
    draft = folder / f"{os.getpid()}.draft"
    draft.write_text(json.dumps({"epsilon": entry.epsilon, "what": entry.what}))
    os.replace(draft, folder / f"{entry.id}.released")
    budget.mark(entry)

started = time.perf_counter()
for _ in range(5):
    release()
usual = (time.perf_counter() - started) / 5
killed = 0
for _ in range(releases):
    child = os.fork()
    if not child:
        try:
            release()
        except BaseException as error:
            print(repr(error), file=sys.stderr, flush=True)
            os._exit(1)
        os._exit(0)
    time.sleep(random.uniform(0, 2 * usual))
    os.kill(child, signal.SIGKILL)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    assert code in (0, -signal.SIGKILL), code
    killed += code != 0
print(killed)
"""


@posix
def test_kills_at_random_points_lose_budget_and_never_privacy(tmp_path: Path) -> None:
    killed = int(run(KILL, tmp_path, 200))
    assert killed >= 5  # else they came too late to tell anything
    account = Budget(tmp_path / "budget.db").open("visits")
    entries = {entry.id: entry for entry in account.entries}
    released = sorted(tmp_path.glob("*.released"))
    assert 205 - killed <= len(released) <= len(entries) <= 205
    for path in released:
        entry = entries[int(path.stem)]
        assert json.loads(path.read_text()) == {"epsilon": entry.epsilon, "what": entry.what}
    marked = {number for number, entry in entries.items() if entry.state == "released"}
    assert marked <= {int(path.stem) for path in released}
    assert account.spent == 0.25 * len(entries)
    with contextlib.closing(sqlite3.connect(tmp_path / "budget.db")) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]


# -- files that can't be used --------------------------------------------------------------


def refused(path: Path, *parts: str) -> None:
    """Every call is refused with one sentence that holds these parts."""
    budget = Budget(path)
    entry = Entry(id=1, source="a", epsilon=1, what={}, state="debited", time="")
    for call in (
        lambda: budget.open("visits", 1.0),
        lambda: budget.debit("visits", 0.1, WHAT),
        lambda: budget.mark(entry),
        budget.datasets,
    ):
        with pytest.raises(InputError) as error:
            call()
        assert all(part in sentence(error) for part in parts), str(error.value)
        assert "Traceback" not in str(error.value)


def test_a_folder_is_refused(tmp_path: Path) -> None:
    refused(tmp_path, "is a folder: name a file in it")


def test_a_file_that_is_not_there_is_made_by_a_total_alone(budget: Budget) -> None:
    for call in (
        lambda: budget.open("visits"),
        lambda: budget.debit("visits", 0.1, WHAT),
        budget.datasets,
    ):
        with pytest.raises(InputError, match="does not exist: check the path") as error:
            call()
        sentence(error)
    assert not budget.path.exists()


def test_a_path_without_its_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="can't be opened: its folder has to exist") as error:
        Budget(tmp_path / "none" / "budget.db").open("visits", 1.0)
    sentence(error)
    (tmp_path / "file").touch()
    with pytest.raises(InputError, match="can't be opened") as error:
        Budget(tmp_path / "file" / "budget.db").open("visits", 1.0)
    sentence(error)


@pytest.mark.parametrize("name", ["", "a\0b"])
def test_names_of_no_file_are_refused(name: str) -> None:
    with pytest.raises(InputError, match="empty or has a zero byte"):
        Budget(name)


@pytest.mark.parametrize("name", ["x" * 300, "\ud800.db"])
def test_names_that_the_system_refuses_are_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(InputError, match=r"budget file .* can't be opened") as error:
        Budget(tmp_path / name).open("visits", 1.0)
    sentence(error)


def test_strange_names_are_names(tmp_path: Path) -> None:
    path = tmp_path / "50% a?b#c & é.db"
    Budget(path).open("visits", 1.0)
    assert path.is_file()
    assert Budget(str(path)).open("visits").total == 1.0


def test_a_file_of_something_else_is_refused_and_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "table.csv"
    path.write_text("x,y\n1,2\n" * 200)
    before = path.read_bytes()
    refused(path, "table.csv", "is no budget file: name another one")
    assert path.read_bytes() == before


def test_a_database_of_another_program_is_refused_and_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "other.db"
    with contextlib.closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE sources (id)")
    refused(path, "is no budget file")
    with contextlib.closing(sqlite3.connect(path)) as connection:
        assert connection.execute("SELECT name FROM sqlite_master").fetchall() == [("sources",)]


def test_an_empty_file_can_become_a_budget_file(budget: Budget) -> None:
    budget.path.touch()
    assert budget.datasets() == []
    assert budget.open("visits", 1.0).remaining == 1.0


def test_a_file_of_a_newer_version_is_refused(budget: Budget) -> None:
    budget.open("visits", 1.0)
    with contextlib.closing(sqlite3.connect(budget.path)) as connection:
        connection.execute("PRAGMA user_version = 3")
    refused(budget.path, "newer version of this program")


def test_a_file_that_another_program_holds_is_said_to_be_held(
    budget: Budget, monkeypatch: pytest.MonkeyPatch
) -> None:
    budget.open("visits", 1.0)
    monkeypatch.setattr(module, "PATIENCE", 0.05)
    with contextlib.closing(sqlite3.connect(budget.path)) as connection:
        connection.execute("BEGIN IMMEDIATE")
        refused(budget.path, "is held by another program: try again")
    assert budget.debit("visits", 1.0, WHAT).epsilon == 1.0


@contextlib.contextmanager
def nobody() -> Iterator[None]:
    """Without the rights of the superuser, whom no file is closed to."""
    if os.geteuid():
        yield
        return
    os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(0)


@posix
def test_a_file_or_folder_without_rights_is_refused() -> None:
    with tempfile.TemporaryDirectory() as name:
        folder, path = Path(name), Path(name) / "budget.db"
        Budget(path).open("visits", 1.0)
        path.chmod(0o444)
        folder.chmod(0o555)
        with nobody():
            # Who may read it may see what was spent.
            budget = Budget(path)
            assert [one.id for one in budget.datasets()] == ["visits"]
            with pytest.raises(InputError, match="can't be written: check its rights") as error:
                budget.debit("visits", 0.1, WHAT)
            sentence(error)
            with pytest.raises(InputError, match="can't be opened: its folder has to") as error:
                Budget(folder / "new.db").open("visits", 1.0)
            sentence(error)
        folder.chmod(0o000)
        with nobody():
            refused(path, "can't be opened")
        folder.chmod(0o755)
    with pytest.raises(InputError):
        Budget(path).datasets()


FULL = """
import resource, signal, sys
from dpviz.errors import InputError
from dpviz.privacy.budget import Budget

budget = Budget(sys.argv[1])
budget.open("visits", 1.0)
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
try:
    budget.debit("visits", 0.5, {})
except InputError as error:
    print(error)
"""


@posix
def test_what_can_not_be_written_is_not_granted(budget: Budget) -> None:
    assert "can't be read or written" in run(FULL, budget.path)
    assert budget.open("visits").spent == 0


def test_damage_ends_in_a_sentence(tmp_path: Path) -> None:
    whole = Budget(tmp_path / "whole.db")
    for number in range(3):
        whole.open(f"visits {number}", 50.0)
        for _ in range(12):
            whole.debit(f"visits {number}", 0.5, {"text": "x" * 300})
    data = whole.path.read_bytes()
    rng, damaged = random.Random(0), Budget(tmp_path / "damaged.db")
    sentences = set()
    for _ in range(250):
        broken = bytearray(data)
        for _ in range(rng.choice([1, 4, 64])):
            broken[rng.randrange(len(broken))] = rng.randrange(256)
        if rng.random() < 0.3:
            del broken[rng.randrange(1, len(broken)) :]
        damaged.path.write_bytes(broken)
        for call in (
            damaged.datasets,
            lambda: damaged.debit("visits 1", 0.5, WHAT),
            lambda: damaged.open("visits 2"),
        ):
            try:
                call()
            except (InputError, PrivacyRefusal) as error:
                sentences.add(str(error).partition('damaged.db" ')[2])
    assert all(text.isprintable() for text in sentences)
    assert any(one.startswith("is damaged: put its newest copy back") for one in sentences)
    assert "is no budget file: name another one, or a new one." in sentences


def test_a_truncated_file_is_said_to_be_damaged(budget: Budget) -> None:
    budget.open("visits", 1.0)
    data = budget.path.read_bytes()
    budget.path.write_bytes(data[: len(data) // 2])
    refused(budget.path, "is damaged: put its newest copy back")


def test_a_long_path_is_named_by_its_end(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"\.\.\..*deep/none\.db") as error:
        Budget(tmp_path / ("deep" * 30) / "none.db").datasets()
    sentence(error)
