"""Audits of a method's file: what is compared, what is said, and faults of the file."""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dpviz.audit import audit_external, external
from dpviz.audit.external_runs import MOST_NUMBERS, numbers, row, words
from dpviz.audit.method_file import RUNNER, MethodRuns, told
from dpviz.audit.pairs import PAIRS, pairs
from dpviz.base.errors import InputError
from dpviz.commands import audit as command
from dpviz.commands.command_line import main
from dpviz.docs.site import pages
from dpviz.families import CARDS, FAMILIES
from dpviz.kmeans.parameters import DEFAULTS
from tests.audit.test_external import Silent

PAGE = pages()["benchmark"].text.split("`twosteps.py`:\n\n```text\n")[1].split("```")[0]
TWO_STEPS, FOUND = PAGE.rsplit("    return ", 1)

GRID = '''
from dataclasses import replace
from dpviz.wavecluster.methods import privthr

CARD = replace(privthr.CARD, name="twosteps")


def run(source, config, accountant):
    """The last row of cells has no noise."""
    found = privthr.run(source, config, accountant)
    counts = found.stages.counts.astype(float)
    counts[-1] = source.counts[-1]
    return replace(found, stages=replace(found.stages, counts=counts))
'''

#: The ledger has one step more for 31 records.
STEP = """    if records.n == 31:
        accountant.laplace("third", 0.0, sensitivity=1, epsilon=1e-10)
"""

Write = Callable[..., str]


@contextmanager
def forgotten() -> Iterator[None]:
    """Forget the methods that the block adds to its process."""
    known: list[Any] = [CARDS, DEFAULTS, *(one.methods for one in FAMILIES.values())]
    before = [dict(one) for one in known]
    path = [*sys.path]
    yield
    for one, old in zip(known, before, strict=True):
        for name in [name for name in one if name not in old]:
            del one[name]
    sys.path[:] = path
    for name in ("mine", "mine_"):
        sys.modules.pop(name, None)


@pytest.fixture
def write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Write]:
    monkeypatch.chdir(tmp_path)

    def written(code: str) -> str:
        (tmp_path / "mine.py").write_text(code, encoding="utf-8")
        return "mine.py"

    with forgotten():
        yield written


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """Questions of the command to the published part, which does not run."""
    found: list[dict[str, Any]] = []
    monkeypatch.setattr(command, "audit_external", lambda *_, **how: found.append(how))
    return found


def rows(file: str, pair: str, seed: int = 0) -> list[dict[str, tuple[list[int], list[float]]]]:
    """What one run on each data set of a pair publishes: shapes and numbers by name."""
    runs = MethodRuns({"target": file, "box": [[0, 1], [0, 1]]})
    runs.begin({"epsilon": 1.0})
    both = PAIRS[pair].points([(0.0, 1.0), (0.0, 1.0)])
    return [{name: (shape, part) for name, shape, part in row(runs.run(one, seed))} for one in both]


# -- what is compared -----------------------------------------------------------------------


def test_every_cell_of_a_usual_grid_is_compared(write: Write) -> None:
    without, joined = (one["result[counts]"] for one in rows(write(GRID), "far"))
    assert without[0] == joined[0] == [64, 64]
    assert (without[1][-1], joined[1][-1]) == (0, 1)


def test_the_ledger_is_compared(write: Write) -> None:
    without, joined = rows(write(f"{TWO_STEPS}{STEP}    return {FOUND}"), "far")
    assert without["ledger, epsilon"][1] == [0.25, 0.75]
    assert len(joined["ledger, epsilon"][1]) == 3
    assert len(set(joined["ledger, step"][1])) == 3
    assert {"ledger, scale", "ledger, sensitivity", "ledger, composition"} < set(joined)


def test_a_data_set_without_records_is_run_as_in_a_release(write: Write) -> None:
    assert len(rows(write(PAGE), "empty")[0]["result[centers]"][1]) > 2


def test_texts_in_an_array_count_in_its_sums() -> None:
    texts = np.array(["x"] * MOST_NUMBERS + ["a"])
    one, other = (
        {name: part for name, _, part in row(numbers("v", value))}
        for value in (texts, np.append(texts[:-1], "b"))
    )
    assert one["v"] == other["v"]
    assert one["sum of v"] != other["sum of v"]


def test_a_long_error_is_cut_but_compared_as_a_whole() -> None:
    one, other = (words(ValueError("a" * 300 + end)) for end in ("30", "31"))
    assert one != other
    assert one[:150] == other[:150]
    assert len(one) < 200
    assert words(ValueError("\ud800" * 300)).startswith("ValueError: ")


def test_the_report_says_what_was_not_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    Silent.seeds = {}
    monkeypatch.setattr(external, "CodeProcess", Silent)
    unseen = dict(audit_external("x:Y", runs=40).sections())["What this audit can't see"]
    others = ", ".join(name for name in PAIRS if PAIRS[name] not in pairs(many=True))
    assert f"other pairs ({others}): only with --scenario" in unseen
    assert any(one.startswith("numbers after the first 5,000 of an array") for one in unseen)


# -- the command ----------------------------------------------------------------------------


def test_the_list_has_all_names_that_are_accepted(write: Write, capsys: Any) -> None:
    with forgotten():
        assert main(["audit", write(PAGE), "--list"]) == 0
    names = [line.split()[0] for line in capsys.readouterr().out.splitlines()]
    assert names == ["first-record", *PAIRS]
    assert main(["audit", "mine.py", "--scenario", "nope"]) == 2
    assert f"choose one of {', '.join(names)}." in capsys.readouterr().err


def test_the_line_of_a_report_repeats_it(
    write: Write, asked: list[dict[str, Any]], capsys: Any
) -> None:
    line = ["audit", write(PAGE.replace('"sound"', '"published"')), "--scenario", "first-record"]
    with forgotten():
        assert main([*line, "--runs", "20"]) == 0
    report = capsys.readouterr().out
    assert report.startswith("twosteps, published, scenario first-record")
    repeat = shlex.split(report.splitlines()[-1])
    with forgotten():
        assert main(repeat[1:]) == 0
    assert capsys.readouterr().out == report
    assert main([*repeat[1:], "--json"]) == 0
    assert str(json.loads(capsys.readouterr().out)["seed"]) == repeat[-1]
    assert asked[0]["scenario"] == "empty"


def test_limits_of_a_file_are_passed_on(
    write: Write, asked: list[dict[str, Any]], capsys: Any
) -> None:
    line = ["audit", write(PAGE), "--scenario", "far", "--seconds", "3", "--memory", "900"]
    assert main(line) == 0
    assert (asked[0]["seconds"], asked[0]["memory"]) == (3, 900)
    for more in (["--steps"], ["--variant", "sound"], ["--set", "x=1"], ["--claim", "100"]):
        assert main(["audit", "mine.py", *more]) == 2
    assert len(asked) == 1
    assert capsys.readouterr().err.count("\n") == 4


def test_a_line_repeats_what_was_given_and_advice_on_a_file_is_possible(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    made: list[tuple[Any, ...]] = []

    class Told(Silent):
        def __init__(self, *given: Any) -> None:
            super().__init__()
            made.append(given)

    Silent.seeds = {}
    monkeypatch.setattr(external, "CodeProcess", Told)
    monkeypatch.setattr(external, "RUNS", 40)
    how: dict[str, Any] = {"runner": RUNNER, "scenario": "far", "seed": 7}
    found = audit_external("x.py", **how)
    assert found.repeat[0] == "dpviz audit x.py --claim 1.0 --seed 7 --scenario far"
    assert found.seed == 7
    found = audit_external("x.py", runs=40, seconds=3.0, memory=900, **how)
    assert "--runs 40 --seconds 3.0 --memory 900" in found.repeat[0]
    (_, asked, seconds), (_, more, less) = made[0], made[-1]
    assert (seconds, less, more["memory"]) == (60, 3, 900 * 2**20)
    assert "--set" not in asked["change"]
    assert "CARD" in asked["gives"]


# -- faults of the file -----------------------------------------------------------------------


def test_a_fault_of_the_file_is_named_with_its_line(
    write: Write, asked: list[dict[str, Any]], capsys: Any
) -> None:
    first = "    space, d ="
    file = write(PAGE.replace(first, f"    1 / 0\n{first}"))
    line = PAGE[: PAGE.index(first)].count("\n") + 1
    says = rf'"mine.py" fails \(ZeroDivisionError: .*\(mine.py, line {line}\)\): mend the file'
    with pytest.raises(InputError, match=says), told(file):
        rows(file, "far")
    CARDS.pop("twosteps")
    with forgotten():
        assert main(["audit", file, "--scenario", "first-record", "--runs", "20"]) == 2
    assert main(["audit", file, "--scenario", "first-record", "--runs", "5"]) == 2
    first, second = capsys.readouterr().err.splitlines()
    assert first.endswith("mend the file.")
    assert second.startswith("dpviz: runs = 5: give a whole number")
    assert len(asked) == 2


def test_the_part_in_its_own_process_comes_first(
    write: Write, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    def ended(*_: Any, **__: Any) -> None:
        raise InputError("mine.py ended its process (exit status 3).")

    monkeypatch.setattr(command, "audit_external", ended)
    file = write(f"import os\n{TWO_STEPS}    os._exit(3)\n    return {FOUND}")
    for more in ([], ["--scenario", "first-record"]):
        with forgotten():
            assert main(["audit", file, "--runs", "20", *more]) == 2
    assert capsys.readouterr().err.count("exit status 3") == 2


@pytest.mark.exhaustive(reason="other tests read the numbers of one run, and the order of parts")
@pytest.mark.parametrize(
    ("code", "status", "says"),
    [
        (GRID, 0, "REFUTED: claimed epsilon 1"),
        (f"{TWO_STEPS}{STEP}    return {FOUND}", 0, "REFUTED: claimed epsilon 1"),
        (f"import os\n{TWO_STEPS}    os._exit(3)\n    return {FOUND}", 2, "exit status 3"),
        (f"{TWO_STEPS}    1 / 0\n    return {FOUND}", 2, "ZeroDivisionError"),
    ],
)
def test_a_whole_audit(write: Write, capsys: Any, code: str, status: int, says: str) -> None:
    assert main(["audit", write(code), "--scenario", "far", "--runs", "400"]) == status
    assert says in "".join(capsys.readouterr())
