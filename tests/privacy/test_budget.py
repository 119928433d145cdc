"""The lifetime budget is not overspent, even after crashes; refusals are readable."""

from __future__ import annotations

import contextlib
import json
import math
import os
import random
import shutil
import signal
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

from dpviz.base.errors import InputError, PrivacyRefusal
from dpviz.privacy import budget_log as account
from dpviz.privacy import lifetime_budget as module
from dpviz.privacy.budget_log import Entry, Log
from dpviz.privacy.lifetime_budget import Budget

posix = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs processes as POSIX has them")

WHAT = {"method": "privqt", "grid": 64}


@pytest.fixture
def budget(tmp_path: Path) -> Budget:
    return Budget(tmp_path / "budget.db")


def sentence(error: pytest.ExceptionInfo[Exception]) -> str:
    text = str(error.value)
    assert text.endswith(".")
    assert text.isprintable()
    return text


# -- accounts ------------------------------------------------------------------------------


def test_persons_of_a_numbered_column_go_on_with_what_is_left(budget: Budget) -> None:
    """An older version stored the column's number, which users can no longer give."""
    alike = ("unit_column",)
    budget.debit("visits", 0.3, {**WHAT, "unit_column": "1"}, total=1.0, alike=alike)
    with pytest.raises(PrivacyRefusal) as refused:
        budget.debit("visits", 0.1, {**WHAT, "unit_column": "who"}, alike=alike)
    said = sentence(refused)
    assert "an older version stored the number of that column" in said
    assert "name a new source, with a total of at most 0.7, which is left here" in said
    budget.debit("visits by who", 0.7, {**WHAT, "unit_column": "who"}, total=0.7, alike=alike)
    with pytest.raises(PrivacyRefusal, match="use the same value") as refused:
        budget.debit("visits by who", 0.1, {**WHAT, "unit_column": "device"}, alike=alike)
    assert "older version" not in sentence(refused)


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
    # A test that kills a process can't show this, because the system keeps the written data. A
    # write-ahead log would keep the newest debits in a second file, which a copy may lack.
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
    # Epsilon is rounded down to whole micro-epsilon, and the granted epsilon shows this.
    assert budget.debit("visits", 0.5000009, WHAT).epsilon == 0.5


def test_the_first_use_sets_the_total_for_good(budget: Budget) -> None:
    budget.open("visits", 1.0)
    assert budget.open("visits", 1).total == budget.open("visits").total == 1.0
    for other in (2.0, 0.999999, 1.000001):
        with pytest.raises(PrivacyRefusal, match="budget of 1, which can't change: a total of"):
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
    """Don't force writes to the disk, for tests of arithmetic with many debits."""
    connect = sqlite3.connect

    class Careless(sqlite3.Connection):
        def execute(self, sql: str, *given: object) -> sqlite3.Cursor:
            return super().execute(sql.replace("synchronous = EXTRA", "synchronous = OFF"), *given)

    monkeypatch.setattr(
        sqlite3, "connect", lambda *args, **options: connect(*args, **options, factory=Careless)
    )


def floor(epsilon: float) -> Fraction:
    """Number of whole micro-epsilon in the decimal number that was typed."""
    return Fraction(int(Fraction(repr(epsilon)) * 10**6), 10**6)


def spent(entries: tuple[Entry, ...]) -> Fraction:
    return sum((Fraction(repr(entry.epsilon)) for entry in entries), Fraction())


def test_whole_micro_epsilon_stay_whole() -> None:
    rng = random.Random(0)
    for micro in [*range(1, 3000), *(rng.randrange(10**12) + 1 for _ in range(20_000))]:
        epsilon = float(f"{micro}e-6")
        assert account.micro("epsilon", epsilon) == micro
        assert account.granted(epsilon) == epsilon == account.micro("epsilon", epsilon) / 10**6
        assert Fraction(account.decimal(epsilon)) == Fraction(micro, 10**6)
        assert account.micro("epsilon", float(f"{micro}.9e-6")) == micro


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
    # Rounding left less than a micro-epsilon per share. This rest can be spent, but not more than
    # this rest.
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
        # The returned floats are exactly the decimal numbers.
        assert spent(account.entries) == granted == Fraction(repr(account.spent))
        assert floor(total) - granted == Fraction(repr(account.remaining))


# -- more than one process -----------------------------------------------------------------


def run(script: str, *arguments: object) -> str:
    program = [sys.executable, "-W", "error", "-c", script, *map(str, arguments)]
    done = subprocess.run(program, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_another_process_sees_a_spend_at_once(budget: Budget) -> None:
    budget.open("visits", 1.0)
    script = (
        "import sys; from dpviz.privacy.lifetime_budget import Budget; b = Budget(sys.argv[1]); "
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
from dpviz.base.errors import PrivacyRefusal
from dpviz.privacy.lifetime_budget import Budget

# All processes wait for one byte, so no process starts before the last process exists.
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
    # The file is new, so the processes also compete to create it.
    assert run(RACE, budget.path).split() == ["25", "75"]
    (account,) = budget.datasets()
    assert (account.spent, account.remaining, len(account.entries)) == (1.0, 0.0, 25)
    assert len({entry.what["process"] for entry in account.entries}) == 25


KILL = """
import json, os, random, signal, sys, time
from pathlib import Path
from dpviz.privacy.lifetime_budget import Budget

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
    assert killed >= 5  # otherwise the kills were too late to test anything
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
    """Every call is refused with one sentence that contains these parts."""
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
    with pytest.raises(InputError, match="can't be opened: its folder has to exist"):
        Budget(tmp_path / "none" / ".." / "budget.db").open("visits", 1.0)
    assert not list(tmp_path.iterdir())
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
    refused(path, "table.csv", "is not a budget file: name another file")
    assert path.read_bytes() == before


def test_a_database_of_another_program_is_refused_and_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "other.db"
    with contextlib.closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE sources (id)")
    refused(path, "is not a budget file")
    with contextlib.closing(sqlite3.connect(path)) as connection:
        assert connection.execute("SELECT name FROM sqlite_master").fetchall() == [("sources",)]


def test_an_empty_file_can_become_a_budget_file(budget: Budget) -> None:
    budget.path.touch()
    assert budget.datasets() == []
    assert budget.open("visits", 1.0).remaining == 1.0


@pytest.mark.parametrize(
    ("version", "said"),
    [(3, "newer version of dpviz: update dpviz"), (1, "no version that this"), (-1, "name a")],
)
def test_a_file_of_another_version_is_refused_and_left_alone(
    budget: Budget, version: int, said: str
) -> None:
    budget.open("visits", 1.0)
    with contextlib.closing(sqlite3.connect(budget.path)) as connection:
        connection.execute(f"PRAGMA user_version = {version}")
    before = budget.path.read_bytes()
    refused(budget.path, said)
    assert budget.path.read_bytes() == before


def test_a_file_that_another_program_holds_is_said_to_be_held(
    budget: Budget, monkeypatch: pytest.MonkeyPatch
) -> None:
    budget.open("visits", 1.0)
    monkeypatch.setattr(module, "PATIENCE", 0.05)
    with contextlib.closing(sqlite3.connect(budget.path)) as connection:
        connection.execute("BEGIN IMMEDIATE")
        refused(budget.path, "is locked by another program: try again")
    assert budget.debit("visits", 1.0, WHAT).epsilon == 1.0


@contextlib.contextmanager
def nobody() -> Iterator[None]:
    """Drop the rights of the superuser, who may open any file."""
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
            # Everyone who may read the file can see the spent epsilon.
            budget = Budget(path)
            assert [one.id for one in budget.datasets()] == ["visits"]
            with pytest.raises(InputError, match="can't be written: check perm") as error:
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
from dpviz.base.errors import InputError
from dpviz.privacy.lifetime_budget import Budget

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


def test_a_file_that_can_not_be_opened_is_closed(
    budget: Budget, monkeypatch: pytest.MonkeyPatch
) -> None:
    budget.open("visits", 1.0)
    connect, opened = sqlite3.connect, []

    class Unreadable(sqlite3.Connection):
        def execute(self, sql: str, *given: object) -> sqlite3.Cursor:
            raise UnicodeDecodeError("utf-8", b"\xff", 0, 1, "invalid start byte")

    def remembered(*args: object, **options: object) -> sqlite3.Connection:
        opened.append(connect(*args, **options, factory=Unreadable))
        return opened[-1]

    monkeypatch.setattr(sqlite3, "connect", remembered)
    with pytest.raises(InputError, match="is damaged"):
        budget.datasets()
    with pytest.raises(sqlite3.ProgrammingError, match="closed"):
        opened[0].total_changes  # noqa: B018 - it asks the connection


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
    assert any(one.startswith("is damaged: restore its newest copy") for one in sentences)
    assert "is not a budget file: name another file, or a new file." in sentences


def test_a_truncated_file_is_said_to_be_damaged(budget: Budget) -> None:
    budget.open("visits", 1.0)
    data = budget.path.read_bytes()
    budget.path.write_bytes(data[: len(data) // 2])
    refused(budget.path, "is damaged: restore its newest copy")


def test_a_long_path_is_named_by_its_end(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"\.\.\..*deep/none\.db") as error:
        Budget(tmp_path / ("deep" * 30) / "none.db").datasets()
    sentence(error)


# -- one file, one state -------------------------------------------------------------------


@posix
def test_a_hard_link_is_refused(budget: Budget, tmp_path: Path) -> None:
    # Each name has a separate journal, and SQLite would replay one journal over debits of the
    # other.
    budget.open("visits", 1.0)
    other = tmp_path / "other.db"
    other.hardlink_to(budget.path)
    for path in (budget.path, other):
        refused(path, "has 2 names (hard links): remove all but one.")
    other.unlink()
    assert budget.debit("visits", 1.0, WHAT).epsilon == 1.0


@posix
@pytest.mark.parametrize("change", ["link", "replace", "swap"])
def test_a_file_that_gets_another_name_while_it_is_in_use_is_refused(
    budget: Budget, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, change: str
) -> None:
    budget.open("visits", 1.0)
    copy = tmp_path / "copy.db"
    copy.write_bytes(budget.path.read_bytes())
    link = tmp_path / "link.db"
    link.symlink_to(budget.path)
    append = Log.append

    def changed(log: Log, *record: object) -> None:
        append(log, *record)  # type: ignore[arg-type]
        if change == "link":
            (tmp_path / "second.db").hardlink_to(budget.path)
        elif change == "replace":
            os.replace(copy, budget.path)
        else:
            link.unlink()
            link.symlink_to(copy)

    monkeypatch.setattr(Log, "append", changed)
    with pytest.raises(InputError, match="was moved, replaced or linked while it was") as error:
        Budget(link).debit("visits", 0.5, WHAT)
    sentence(error)
    monkeypatch.undo()
    if change == "link":
        (tmp_path / "second.db").unlink()
    # Nothing was debited, because the change was detected first.
    assert Budget(link).open("visits").spent == 0


@posix
def test_a_link_that_comes_with_the_commit_is_seen_too(
    budget: Budget, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    budget.open("visits", 1.0)
    connect = sqlite3.connect

    class Linking(sqlite3.Connection):
        def execute(self, sql: str, *given: object) -> sqlite3.Cursor:
            done = super().execute(sql, *given)
            if sql == "COMMIT":
                (tmp_path / "second.db").hardlink_to(budget.path)
            return done

    monkeypatch.setattr(
        sqlite3, "connect", lambda *args, **options: connect(*args, **options, factory=Linking)
    )
    with pytest.raises(InputError, match="may be debited nevertheless") as error:
        budget.debit("visits", 0.5, WHAT)
    sentence(error)


@posix
def test_symbolic_links_lead_to_one_file_and_one_journal(budget: Budget, tmp_path: Path) -> None:
    folder = tmp_path / "elsewhere"
    folder.mkdir()
    link = folder / "link.db"
    link.symlink_to(budget.path)
    Budget(link).open("visits", 1.0)  # the link has no target yet, and this call creates it
    assert budget.path.is_file()
    assert not budget.path.is_symlink()
    budget.debit("visits", 0.75, WHAT)
    assert Budget(link).open("visits").remaining == 0.25
    assert [one.name for one in folder.iterdir()] == ["link.db"]
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    with pytest.raises(InputError, match="can't be opened") as error:
        Budget(tmp_path / "loop").open("visits", 1.0)
    sentence(error)


@posix
def test_what_is_no_file_is_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")  # otherwise the call would wait for a reader forever
    refused(tmp_path / "pipe", "is not a regular file")


MOUNT = """
import subprocess, sys
from pathlib import Path
from dpviz.base.errors import InputError
from dpviz.privacy.lifetime_budget import Budget

folder = Path(sys.argv[1])
mounted, inside = folder / "mou nted#.db", folder / "inside"
mounted.touch()
inside.mkdir()
for what, where in ((folder / "budget.db", mounted), (folder, inside)):
    if subprocess.run(["mount", "--bind", what, where], capture_output=True).returncode:
        sys.exit("no right to mount")
print(Budget(inside / "budget.db").debit("visits", 0.5, {}).epsilon)
try:
    Budget(mounted).debit("visits", 0.5, {})
except InputError as error:
    print(error)
"""


@posix
def test_a_file_that_is_mounted_alone_is_refused(budget: Budget, tmp_path: Path) -> None:
    if not shutil.which("unshare"):
        pytest.skip("no namespace of mounts to try it in")
    budget.open("visits", 1.0)
    # A separate namespace removes the mounts when the process ends.
    program = ["unshare", "-rm", sys.executable, "-W", "error", "-c", MOUNT, str(tmp_path)]
    done = subprocess.run(program, capture_output=True, text=True, timeout=120, check=False)
    if "no right to mount" in done.stderr or "unshare" in done.stderr:
        pytest.skip("no right to mount")
    assert done.returncode == 0, done.stderr
    folder, file = done.stdout.splitlines()
    assert folder == "0.5"  # the journal is beside the file, for any name of the file
    assert 'mou nted#.db" is mounted without its folder' in file
    assert budget.open("visits").spent == 0.5


def test_mounts_are_told_by_their_names(monkeypatch: pytest.MonkeyPatch) -> None:
    line = b"63 43 254:0 /a /tmp/b\\134\\040c.db rw - ext4 /dev/vda rw"
    monkeypatch.setattr(Path, "read_bytes", lambda path: b"\n".join([b"", line]))
    assert module._is_mounted(Path("/tmp/b\\ c.db"))
    assert not module._is_mounted(Path("/tmp/b c.db"))


KILLED = """
import os, signal, sqlite3, sys
from dpviz.privacy.lifetime_budget import Budget

connect = sqlite3.connect

class Killed(sqlite3.Connection):
    def execute(self, sql, *given):
        done = super().execute(sql, *given)
        if sql == "COMMIT":
            os.kill(os.getpid(), signal.SIGKILL)  # The file is still open, nothing is drawn yet.
        return done

sqlite3.connect = lambda *args, **options: connect(*args, **options, factory=Killed)
Budget(sys.argv[1]).debit("visits", 0.75, {})
"""


@posix
def test_the_file_alone_is_whole_when_a_release_is_killed(budget: Budget, tmp_path: Path) -> None:
    budget.open("visits", 1.0)
    program = [sys.executable, "-c", KILLED, str(budget.path)]
    assert subprocess.run(program, check=False, timeout=120).returncode == -signal.SIGKILL
    assert [one.name for one in tmp_path.iterdir()] == ["budget.db"]
    copy = tmp_path / "copy.db"
    copy.write_bytes(budget.path.read_bytes())
    assert Budget(copy).open("visits").remaining == 0.25


@posix
def test_a_write_ahead_log_of_another_program_is_merged_when_that_is_done(
    budget: Budget, monkeypatch: pytest.MonkeyPatch
) -> None:
    budget.debit("visits", 0.5, WHAT, total=1.0)
    with (
        contextlib.closing(sqlite3.connect(budget.path)) as connection,
        monkeypatch.context() as patch,
    ):
        patch.setattr(module, "PATIENCE", 0.05)
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("SELECT * FROM log").fetchall()
        refused(budget.path, "is locked by another program")
    assert budget.open("visits").spent == 0.5
    # From now on no other file is needed.
    assert not list(budget.path.parent.glob("budget.db-*"))
    assert budget.path.read_bytes()[18:20] == b"\1\1"


# -- forged files and older copies ---------------------------------------------------------


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("DPVIZ_HOME", str(tmp_path / "home"))
    return tmp_path / "home"


def test_a_refused_debit_leaves_no_note(budget: Budget, home: Path) -> None:
    with pytest.raises(PrivacyRefusal):
        budget.debit("visits", 2.0, WHAT, total=1.0)
    assert not home.exists()


def released(budget: Budget) -> None:
    """Three sources with debits; some of the debits are released."""
    for name in ("visits", "trips", "homes"):
        budget.open(name, 1.0)
        for _ in range(2):
            budget.mark(budget.debit(name, 0.25, WHAT))
        budget.debit(name, 0.25, WHAT)


@pytest.mark.usefixtures("quick")
@pytest.mark.some(1000)
@pytest.mark.parametrize(
    "change",
    [
        "UPDATE log SET amount = 1 WHERE kind = 'debited'",
        "UPDATE log SET amount = 250001 WHERE number = 4",
        "UPDATE log SET amount = 99000000 WHERE kind = 'opened' AND source = 'homes'",
        "UPDATE log SET source = 'trips' WHERE number = 3",
        "UPDATE log SET text = '{}' WHERE number = 5",
        "UPDATE log SET time = '2020-01-01T00:00:00+00:00' WHERE number = 6",
        "UPDATE log SET kind = 'released' WHERE number = 19",
        "UPDATE log SET text = 'other' WHERE number = 1",
        "UPDATE log SET hash = 'x' || substr(hash, 2) WHERE number = 7",
        "UPDATE log SET amount = 250000.5 WHERE number = 3",
        "UPDATE log SET text = CAST(text AS BLOB) WHERE number = 3",
        "DELETE FROM log WHERE number = 3",
        "DELETE FROM log WHERE number > 15",
        "DELETE FROM log",
        "UPDATE log SET number = 100 WHERE number = 3",
        "UPDATE log SET number = -number",
        "INSERT INTO log SELECT 20, kind, source, amount, text, time, hash FROM log WHERE number=3",
        "UPDATE sqlite_sequence SET seq = 3",
        "DELETE FROM sqlite_sequence",
    ],
)
def test_a_forged_file_is_refused_whatever_is_noted(
    budget: Budget, home: Path, change: str
) -> None:
    released(budget)
    shutil.rmtree(home)
    with contextlib.closing(sqlite3.connect(budget.path, isolation_level=None)) as connection:
        connection.execute(change)
    refused(budget.path, "was changed by another program", "restore its newest copy, or name a")


@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize("table", ["x", "number, kind, source, amount, text, time, hash"])
def test_a_forged_table_ends_in_a_sentence(budget: Budget, table: str) -> None:
    budget.open("visits", 1.0)
    with contextlib.closing(sqlite3.connect(budget.path, isolation_level=None)) as connection:
        connection.execute("DROP TABLE log")
        connection.execute(f"CREATE TABLE log ({table})")
    with pytest.raises(InputError) as error:
        budget.datasets()
    sentence(error)


def forged(path: Path) -> None:
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("UPDATE log SET amount = amount / 2 WHERE number = 3")
        log = Log(connection)
        for number, *record, _ in connection.execute(account._RECORDS).fetchall():
            log.hashes.append(log._hash(record))
            connection.execute("UPDATE log SET hash = ? WHERE number = ?", (log.hashes[-1], number))


def test_an_older_or_rewritten_copy_is_noticed_by_the_note(
    budget: Budget, home: Path, tmp_path: Path
) -> None:
    budget.open("visits", 1.0)
    older = budget.path.read_bytes()
    budget.mark(budget.debit("visits", 0.75, WHAT))
    newest = budget.path.read_bytes()
    # Test the older copy under another name and under its own name.
    for path in (tmp_path / "copy.db", budget.path):
        path.write_bytes(older)
        refused(path, "is an older or a changed copy", "restore its newest copy, or name a new")
    budget.path.write_bytes(newest)
    forged(budget.path)
    refused(budget.path, "is an older or a changed copy")
    # The user can solve this with the newest copy, under any name.
    budget.path.unlink()
    moved = tmp_path / "moved.db"
    moved.write_bytes(newest)
    assert Budget(moved).open("visits").remaining == 0.25
    # Two copies can't both continue.
    budget.path.write_bytes(newest)
    Budget(moved).debit("visits", 0.25, WHAT)
    refused(budget.path, "is an older or a changed copy")


def test_two_copies_that_debit_the_same_in_one_second_do_not_both_go_on(
    budget: Budget, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(account, "_now", lambda: "2026-01-01T00:00:00Z")
    budget.open("visits", 1.0)
    copy = tmp_path / "copy.db"
    shutil.copy(budget.path, copy)
    # Each copy reads the note before the other copy writes the note.
    (note,) = (home / "heads").iterdir()
    before = note.read_bytes()
    budget.debit("visits", 1.0, WHAT)
    note.write_bytes(before)
    Budget(copy).debit("visits", 1.0, WHAT)
    # The note now matches only the second copy.
    refused(budget.path, "is an older or a changed copy")
    assert Budget(copy).open("visits").remaining == 0.0


def test_what_can_not_be_noticed_is_not(budget: Budget, home: Path) -> None:
    """As documented, anyone who removes or restores the note is trusted."""
    budget.open("visits", 1.0)
    older, note = budget.path.read_bytes(), next((home / "heads").iterdir())
    noted = note.read_bytes()
    budget.debit("visits", 0.75, WHAT)
    budget.path.write_bytes(older)
    note.write_bytes(noted)
    assert budget.open("visits").remaining == 1.0


@posix
def test_a_crash_before_the_note_locks_nobody_out(
    budget: Budget, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    budget.open("visits", 1.0)

    def crashed(budget: Budget, log: Log) -> None:
        if len(log.hashes) == 3:
            raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(Budget, "_note", crashed)
        with pytest.raises(KeyboardInterrupt):
            budget.debit("visits", 0.75, WHAT)
    assert budget.open("visits").remaining == 0.25
    # The last call wrote the note.
    (note,) = (home / "heads").iterdir()
    assert note.read_text().startswith("3 ")


@pytest.mark.parametrize("note", ["", "3", "0 " + "0" * 64, "x y\n", "\0" * 66, "3 " + "0" * 63])
def test_half_a_note_is_no_note(budget: Budget, home: Path, note: str) -> None:
    budget.open("visits", 1.0)
    (path,) = (home / "heads").iterdir()
    path.write_text(note)
    assert budget.debit("visits", 0.5, WHAT).epsilon == 0.5
    assert path.read_text().startswith("3 ")


@posix
@pytest.mark.parametrize("case", ["relative", "nobody's", "a file", "closed", "no heads"])
def test_without_a_home_releases_go_on_and_it_is_said(
    monkeypatch: pytest.MonkeyPatch, case: str
) -> None:
    with tempfile.TemporaryDirectory() as name:
        budget, home = Budget(Path(name) / "budget.db"), Path(name) / "home"
        monkeypatch.setenv("DPVIZ_HOME", str(home))
        unnoted(budget, home, monkeypatch, case)


def unnoted(budget: Budget, home: Path, monkeypatch: pytest.MonkeyPatch, case: str) -> None:
    if case == "relative":
        monkeypatch.setenv("DPVIZ_HOME", "here")
    elif case == "nobody's":
        monkeypatch.setenv("DPVIZ_HOME", "~nobody-of-that-name/x")
    elif case == "a file":
        home.touch()
    elif case == "no heads":
        home.mkdir()
        (home / "heads").touch()
    else:
        home.mkdir(mode=0)
        home.parent.chmod(0o777)
    with nobody() if case == "closed" else contextlib.nullcontext():
        budget.open("visits", 1.0)
        assert budget.debit("visits", 0.5, WHAT).epsilon == 0.5
    said = budget.unnoted
    assert said.startswith("an older copy of budget file")
    assert said.endswith(").")
    assert said.isprintable()
    assert "would not be noticed" in said
    if case == "closed":
        home.chmod(0o700)
    monkeypatch.setenv("DPVIZ_HOME", str(home.with_name("other")))
    assert budget.open("visits").remaining == 0.5
    assert budget.unnoted == ""


# -- rights --------------------------------------------------------------------------------


def rights(path: Path) -> int:
    return path.stat().st_mode & 0o777


@posix
@pytest.mark.parametrize("umask", [0o000, 0o022, 0o077, 0o777])
def test_only_its_user_may_read_what_the_budget_keeps(
    budget: Budget, home: Path, umask: int
) -> None:
    seen = []
    before = os.umask(umask)
    try:
        budget.open("visits", 1.0)
        with budget._transaction() as log:
            log.append("opened", "trips", 1)
            seen = [rights(one) for one in budget.path.parent.glob("budget.db*")]
    finally:
        os.umask(before)
    assert seen == [0o600, 0o600]
    (note,) = (home / "heads").iterdir()
    assert [rights(one) for one in (home, home / "heads", note)] == [0o700, 0o700, 0o600]


@posix
def test_wider_rights_are_taken_off_what_is_ours(
    budget: Budget, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    budget.open("visits", 1.0)
    budget.path.chmod(0o664)
    (home / "heads").chmod(0o755)
    home.chmod(0o755)
    budget.debit("visits", 0.5, WHAT)
    assert (rights(budget.path), rights(home / "heads")) == (0o600, 0o700)
    # A folder named by the environment variable may also be used for other purposes.
    assert rights(home) == 0o755
    monkeypatch.delenv("DPVIZ_HOME")
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / ".dpviz").mkdir(mode=0o755)
    budget.debit("visits", 0.25, WHAT)
    assert rights(tmp_path / ".dpviz") == 0o700
    # A file that belongs to another user keeps its rights.
    if os.geteuid() == 0:
        budget.path.chmod(0o644)
        os.chown(budget.path, 65534, -1)
        budget.open("visits")
        assert rights(budget.path) == 0o644
