"""Audits of anybody's code: planted bugs are found, sound code is not refuted, faults are told."""

from __future__ import annotations

import json
import math
import os
import shlex
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dpviz.audit import assert_private, audit_external, external
from dpviz.audit.bounds import FEWEST, best_event, highest, lower_bound, visible
from dpviz.audit.external import _table
from dpviz.audit.external_runs import MOST_NUMBERS, numbers, row
from dpviz.audit.pairs import PAIRS, pairs
from dpviz.base.errors import InputError
from dpviz.base.work import Cancelled
from dpviz.commands.command_line import main
from tests.audit import external_code
from tests.audit.external_code import MECHANISMS, LaplaceSum
from tests.audit.external_kmeans import BUGS
from tests.support import ROOT

FILE = external_code.__file__


def code(name: str) -> str:
    return f"{FILE}:{name}"


# -- bounds with delta, and power ----------------------------------------------------------


def test_delta_is_taken_from_the_larger_share() -> None:
    without, joined = np.zeros((2_000, 1)), np.zeros((2_000, 1))
    joined[::10] = 1  # a tenth of the runs show the record, which no epsilon allows
    assert lower_bound(without, joined).epsilon > 2.5
    assert 0 < lower_bound(without, joined, 0.05).epsilon < lower_bound(without, joined).epsilon
    assert lower_bound(without, joined, 0.1).epsilon == 0
    assert highest(2_000, 0.5) == pytest.approx(highest(2_000) + math.log(0.5), abs=0.01)


def leaky_response(rng: Any, n: int, epsilon: float, delta: float) -> tuple[Any, Any]:
    """The mechanism whose loss is exactly (epsilon, delta): all others can be made from it."""
    share = (1 - delta) / (1 + math.exp(epsilon))
    chances = np.array([delta, (1 - delta) - share, share, 0.0])
    return (rng.choice(4, size=(n, 1), p=one).astype(float) for one in (chances[::-1], chances))  # type: ignore[return-value]


@pytest.mark.parametrize(("epsilon", "delta"), [(1.0, 0.05), (0.5, 0.2)])
def test_a_bound_at_delta_is_seldom_above_the_exact_loss(epsilon: float, delta: float) -> None:
    rng = np.random.default_rng(1)
    bounds = [
        lower_bound(*leaky_response(rng, 1_000, epsilon, delta), delta).epsilon for _ in range(400)
    ]
    # With a probability of 1% of an alarm, 12 or more of 400 alarms have a probability of 0.1%.
    assert sum(bound > epsilon for bound in bounds) < 12
    assert np.median(bounds) > 0.3 * epsilon
    assert lower_bound(*leaky_response(rng, 4_000, epsilon, delta)).epsilon > epsilon


@pytest.mark.parametrize(("runs", "claim", "delta"), [(2_000, 1.0, 0.0), (1_000, 2.0, 0.05)])
def test_what_is_called_visible_is_found(runs: int, claim: float, delta: float) -> None:
    epsilon = visible(runs, claim, delta)
    assert epsilon is not None
    assert claim < epsilon < 3 * claim
    rng = np.random.default_rng(0)

    def found(real: float) -> int:
        pairs = (
            (rng.laplace(0, 1 / real, (runs, 1)), rng.laplace(1, 1 / real, (runs, 1)))
            for _ in range(100)
        )
        return sum(lower_bound(*pair, delta).epsilon > claim for pair in pairs)

    # POWER is a lower limit, though the event is chosen and not known.
    assert found(epsilon) >= 90
    assert found((claim + epsilon) / 2) < 90
    assert visible(FEWEST, 5.0) is None


# -- pairs of data sets ---------------------------------------------------------------------


@pytest.mark.parametrize("columns", [1, 2, 5])
@pytest.mark.parametrize("pair", PAIRS.values(), ids=PAIRS)
def test_every_pair_differs_by_one_record(pair: Any, columns: int) -> None:
    box = [(-2.0, 4.0 + column) for column in range(columns)]
    for relation in ("add_remove", "replace_one"):
        one, other = pair.points(box, relation)
        assert one.shape[1] == other.shape[1] == columns
        first, second = (Counter(map(tuple, part.tolist())) for part in (one, other))
        assert (second - first).total() == 1
        assert (first - second).total() == (relation == "replace_one")
        if pair.name != "outside":
            assert all(low <= part.min() for (low, _), part in zip(box, other.T, strict=True))
            assert all(part.max() <= high for (_, high), part in zip(box, other.T, strict=True))
    assert "outside" not in {one.name for one in pairs()}


# -- what is published ----------------------------------------------------------------------


def test_all_that_is_published_becomes_numbers() -> None:
    value = {"a": [1, None, "x"], "b": np.array([[1, 2], [3, 4]]), "c": 1 + 2j, "d": {3, 1}}
    found = dict(numbers("v", {**value, "e": [[1], [2, 3]], "f": object()}))
    assert found["v[a] 1"] == 1
    assert np.isnan(found["v[a] 2"])
    assert found["number of entries of v[a]"] == 3
    assert found["v[c]"].tolist() == [1, 2]
    assert found["v[d]"].tolist() == [1, 3]
    assert found["v[e] 2"].tolist() == [2, 3]
    assert not any(name.startswith("v[f]") for name in found)
    scores = {name: part for name, _, part in row(iter([("b", value["b"])]))}
    assert scores["sum of b"] == [4, 6]
    assert scores["number of entries of b"] == [2]
    (_, shape, part) = next(one for one in row(iter([("b", np.ones(9_999))])) if one[0] == "b")
    assert shape == [MOST_NUMBERS] == [len(part)]


def test_rows_of_different_lengths_and_errors_share_a_table() -> None:
    short, long = [("b", [1], np.array([1.0]))], [("b", [2], np.array([1.0, 2.0]))]
    names, without, joined = _table([[short, "ValueError: no"], [long, long]])
    assert names == ["error at the end of the run", "text of the error", "b 1", "b 2"]
    assert without[0, 2] == 1
    assert np.isnan(without[0, 3])
    assert without[1, 0] == 1
    assert joined[:, 3].tolist() == [2, 2]
    assert best_event(without[[0] * 30], joined[[0] * 30])[0] > 1  # a missing number is seen


# -- audits ----------------------------------------------------------------------------------


def found(name: str, bug: str | None, runs: int, **how: Any) -> Any:
    given = {**how.pop("given", {}), "bug": bug}
    return audit_external(code(name), given=given, runs=runs, **how)


class Silent:
    """A process without code: noise that depends on no record, and the seeds of all runs."""

    seeds: dict[str, list[int]]

    def __init__(self, *_: object) -> None:
        self.unseen: dict[str, str] = {}

    def __enter__(self) -> Silent:
        return self

    def __exit__(self, *_: object) -> None:
        """Nothing has to end."""

    def begin(self, *_: object) -> list[str]:
        return []

    def rows(self, points: Any, seeds: list[int], where: str) -> list[Any]:
        self.seeds.setdefault(where, []).extend(seeds)
        streams = (np.random.default_rng(seed) for seed in seeds)
        return [[("x", [50], stream.random(50))] for stream in streams]


def test_the_test_has_new_runs_with_seeds_of_their_own(monkeypatch: pytest.MonkeyPatch) -> None:
    Silent.seeds = {}
    monkeypatch.setattr(external, "CodeProcess", Silent)
    result = audit_external("no:code", runs=900)
    # With runs that were used for the choice, the best of 50 scores on 10 pairs would look private.
    assert result.epsilon_lower < 0.2
    first, *others = Silent.seeds.values()
    first[:40] = []  # the comparison of two processes
    seeds = [*first, *(seed for part in others for seed in part)]
    assert len(set(seeds)) == len(seeds) == 2 * (10 * 200 + 3 * 250 + 450)


@pytest.mark.exhaustive(reason="test_an_audit_of_a_class_in_a_test has one bug, daily")
@pytest.mark.parametrize(("bug", "runs"), BUGS.items(), ids=BUGS)
def test_every_planted_bug_of_kmeans_is_found(bug: str, runs: int) -> None:
    kmeans = FILE.replace("code", "kmeans")
    assert audit_external(f"{kmeans}:NoisyKMeans", given={"bug": bug}, runs=runs).violated


@pytest.mark.exhaustive(reason="test_an_audit_of_a_class_in_a_test has one bug, daily")
@pytest.mark.parametrize(("name", "bug", "runs"), [(*key, n) for key, n in MECHANISMS.items()])
def test_every_wrong_mechanism_is_found_and_not_without_its_bug(
    name: str, bug: str, runs: int
) -> None:
    result = found(name, bug, runs)
    assert result.violated
    assert result.epsilon_lower > 1
    assert not found(name, None, runs, scenario=result.scenario).violated


def test_an_audit_of_a_class_in_a_test() -> None:
    with pytest.raises(
        AssertionError, match=r"REFUTED: claimed epsilon 1, measured epsilon \d"
    ) as e:
        assert_private(LaplaceSum(epsilon=4.0), runs=400, scenario="far")
    assert "LaplaceSum(epsilon=4.0, bug=None)" in str(e.value)
    result = assert_private(LaplaceSum, claim=4.0, runs=100, scenario="far")
    assert result.parameters == {"epsilon": "4.0"}  # the claim is the budget
    assert result.repeat[0].startswith("dpviz audit tests.audit.external_code:LaplaceSum --set")
    assert result.repeat[0].endswith("--scenario far")


def test_a_fixed_seed_of_the_module_is_found_though_runs_differ() -> None:
    result = found("LaplaceSum", "seed of the module", 40, scenario="duplicate")
    assert (result.repeats, result.violated) == (True, True)
    assert "a new process repeats the noise" in result.text()


def test_an_audit_of_all_pairs_can_be_repeated_by_its_lines(capsys: Any) -> None:
    result = found("TinyNumbers", "noise", 100)
    assert result.violated
    assert {one.name for one in result.pairs} == {one.name for one in pairs()}
    assert result.unseen == {"printed text": "not read"}
    assert "× 10" in result.event  # numbers in a small unit are not rounded to zero
    assert result.markdown().startswith("# REFUTED")
    line, show = map(shlex.split, result.repeat)
    assert main(line[1:]) == 0
    assert capsys.readouterr().out.strip() == result.text()
    exec(show[2], {})
    assert len(capsys.readouterr().out.split("\n")) > 20


#: A script that audits its own class where it is also loaded for the audit.
SCRIPT = """
from sklearn.base import BaseEstimator
from dpviz.audit import assert_private
class Mine(BaseEstimator):
    def fit(self, X, y=None):
        return self
assert_private(Mine(), runs=100)
"""


def test_a_script_that_audits_itself_ends(tmp_path: Path) -> None:
    (tmp_path / "script.py").write_text(SCRIPT, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "script.py"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
        timeout=100,
    )
    assert done.returncode == 1
    assert 'put the call of the audit below `if __name__ == "__main__":`' in done.stderr


def test_an_object_without_parameters_is_told_to_give_its_class() -> None:
    class Plain:
        def fit(self, X: Any, y: Any = None) -> None: ...

    with pytest.raises(InputError, match="Plain has no get_params: give the class"):
        assert_private(Plain())


def test_a_known_number_of_records_is_private_if_records_are_replaced() -> None:
    given, how = {"known": True, "epsilon": 1.0}, {"runs": 400, "scenario": "empty"}
    assert not found("LaplaceMean", None, **how, given=given, relation="replace_one").violated


def test_a_class_is_given_if_the_estimator_needs_one() -> None:
    assert found("Classifier", "noise", 400, scenario="added").violated


@pytest.mark.parametrize(
    ("bug", "says"),
    [
        ("hangs", r"did not end within 1 s on data set 1 of the pair \"far\""),
        ("crashes", r"ended its process \(signal SIGSEGV\) on data set 1"),
        ("leaves", r"ended its process \(exit status 3\)"),
        ("memory", r"every run fails \(MemoryError: Unable to allocate 64"),
        ("raises", r"every run fails \(KeyError: 'x\\ny' \(external_code.py, line \d+\)\)"),
    ],
)
def test_code_that_fails_is_a_sentence(bug: str, says: str) -> None:
    with pytest.raises(InputError, match=says):
        found("Unfriendly", bug, 40, scenario="far", seconds=1)


def test_an_error_that_depends_on_a_record_shows_it() -> None:
    result = found("Unfriendly", "error for a record", 200, scenario="far")
    assert result.violated
    assert "error" in result.event
    assert "100 of 200 choosing runs on the pair far end with an error" in str(result.notes)


def test_a_refusal_of_fewer_records_shows_the_record_like_a_refusal_of_more() -> None:
    for bug in ("at least 31", "at most 30"):
        result = found("Unfriendly", bug, 200, scenario="far")
        assert result.violated
        assert result.event.startswith("error at the end of the run")
        assert "100 of 200 choosing runs on the pair far end with an error" in str(result.notes)
    assert found("Unfriendly", "at least 31", 200).scenario in ("far", "halfway")


def test_code_that_needs_records_is_told_that_its_answer_shows_some() -> None:
    usual = found("Unfriendly", "empty", 100)
    assert not usual.violated
    assert "empty" not in {one.name for one in usual.pairs}
    (note,) = (one for one in usual.notes if "of empty" in one)
    assert note.startswith("The code refuses the first data set of empty (ValueError: there is no")
    assert "accepts the second, so an answer shows that there are more records" in note
    assert found("Unfriendly", "empty", 200, scenario="empty").violated
    few = found("Unfriendly", "at least 31", 20, scenario="added")
    assert not few.violated
    both = found("Unfriendly", "at least 40", 20)
    assert "The code refuses both data sets of second: ValueError" in str(both.notes)


def test_cancelling_ends_the_code() -> None:
    with pytest.raises(Cancelled):
        found("LaplaceSum", None, 100, cancelled=lambda: True)


# -- the command -------------------------------------------------------------------------------

SUM = "import sys; x = open(sys.argv[1]).read().split()[1:]; print('there are', len(x), 'rows')"


def test_a_program_is_audited_by_what_it_prints(
    capsys: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "left").mkdir()
    monkeypatch.setattr("tempfile.tempdir", f"{tmp_path}/left")
    (tmp_path / "count.py").write_text(SUM)
    command = f"{sys.executable} {tmp_path}/count.py {{data}}"
    line = ["audit", "--command", command, "--runs", "20", "--scenario", "duplicate", "--json"]
    assert main(line) == 0
    report = json.loads(capsys.readouterr().out)
    assert report["violated"] is False  # 10 runs of the test are too few to show more than 0.6
    assert report["event"].endswith("0.0% without")
    assert report["event"].startswith("printed number 1 ")
    assert report["epsilon_lower"] == pytest.approx(report["highest"])
    assert not list((tmp_path / "left").iterdir())


def test_the_command_has_the_keys_of_the_contract(capsys: Any) -> None:
    line = ["audit", code("GaussianSum"), "--claim", "1,0.01", "--runs", "100", "--scenario", "far"]
    assert main([*line, "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert set(report) >= {"claim", "epsilon_lower", "confidence", "runs", "event", "scenario"}
    assert report["parameters"] == {"epsilon": "1.0", "delta": "0.01"}
    assert (report["violated"], report["delta"]) == (False, 0.01)
    assert main([*line, "--set", "bug=x", "--set", "epsilon=40", "--markdown"]) == 0
    assert "# REFUTED: claimed epsilon 1, delta 0.01" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ([], "METHOD is missing: give a method, FILE.py, MODULE:CLASS"),
        (["no.such:Class"], "can't be loaded (ModuleNotFoundError: No module named 'no'"),
        (["nothing.py:Class"], "can't be loaded (FileNotFoundError: there is no file nothing.py"),
        ([f"{FILE}:None"], "can't be loaded (AttributeError"),
        ([f"{FILE}:LaplaceSum", "--set", "x=1"], "no parameter x: choose from epsilon, bug"),
        ([f"{FILE}:LaplaceSum", "--set", "x"], '--set "x" has no value: give NAME=VALUE'),
        ([f"{FILE}:LaplaceSum", "--claim", "1,2,3"], '--claim "1,2,3": give epsilon, or epsilon'),
        ([f"{FILE}:LaplaceSum", "--claim", "1,2"], "delta = 2: give a number from 0"),
        ([f"{FILE}:LaplaceSum", "--scenario", "x"], 'scenario = "x" is unknown: choose from far'),
        ([f"{FILE}:LaplaceSum", "--steps"], "--steps applies only to methods of dpviz"),
        ([f"{FILE}:LaplaceSum", "--command", "true"], "give only one of both"),
        ([f"{FILE}:LaplaceSum", "--claim", ","], '--claim "": give epsilon, or epsilon and delta'),
        ([f"{FILE}:LaplaceSum", "--variant", "sound"], "--variant applies only to methods of dp"),
        ([f"{FILE}:LaplaceSum", "--neighbours", "x"], "add_remove or replace_one"),
        ([f"{FILE}:LaplaceSum", "--domain", "1,0"], "1,0"),
        (["privqt", "--seconds", "0"], "--seconds applies only to FILE.py, MODULE:CLASS"),
        (["privqt", "--no-header"], "--no-header applies only to MODULE:CLASS"),
        (["privqt", "--set", "x=1"], "--set applies only to MODULE:CLASS"),
        (["privqt", "--claim", "1,0.1"], '--claim "1,0.1": give one number'),
        (["--command", "no-such-program {data}"], "every run fails (FileNotFoundError"),
    ],
)
def test_wrong_lines_end_with_a_sentence(capsys: Any, line: list[str], says: str) -> None:
    assert main(["audit", *line, "--runs", "20"] if line else ["audit"]) == 2
    assert says in capsys.readouterr().err
