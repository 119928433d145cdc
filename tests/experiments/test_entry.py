"""Entries of the benchmark: equal seeds, verdicts that are seldom chance, faults that end soon."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from dpviz.base.errors import InputError
from dpviz.data.samples import load_sample, sample_names
from dpviz.experiments import entry
from dpviz.experiments.benchmark import to_best
from dpviz.experiments.entry import ENTRY, enter, usual_sets
from dpviz.kmeans.records import Records
from dpviz.kmeans.truth import KMeansTruth

COPY = """
from dataclasses import replace
from dpviz.kmeans.methods.dplloyd import CARD, run

CARD = replace(CARD, name="copy")
"""

ESTIMATOR = """
import os, time
import numpy as np


class Means:
    def __init__(self, n_clusters, epsilon, random_state=None, how=""):
        self.n_clusters, self.epsilon, self.how = n_clusters, epsilon, how

    def fit(self, X):
        assert 0 <= X.min() <= X.max() <= 1
        if self.how == "hangs" and self.epsilon == 0.5:
            time.sleep(100)
        if self.how == "dies" and self.epsilon == 0.5:
            os._exit(3)
        if self.how == "raises":
            raise ValueError("no way")
        more = {"many": 1, "none": -self.n_clusters, "one": 1 - self.n_clusters}
        shape = self.n_clusters + more.get(self.how, 0), X.shape[1] + (self.how == "wide")
        self.cluster_centers_ = np.full(shape, np.nan if self.how == "nan" else 0.5)
"""


@pytest.fixture
def means(tmp_path):
    (tmp_path / "means.py").write_text(ESTIMATOR, encoding="utf-8")
    return f"{tmp_path / 'means.py'}:Means"


def test_a_copy_of_our_method_has_its_numbers_and_no_verdict(tmp_path):
    (tmp_path / "copy.py").write_text(COPY, encoding="utf-8")
    how = {"sets": ["tiny4"], "epsilons": [1.0], "methods": ["dplloyd"]}
    first = enter(str(tmp_path / "copy.py"), secret=7, draws=9, **how)
    table = first.table.set_index(["data", "seed"])
    ours, own = (table[table["method"] == name] for name in ("dplloyd", ENTRY))
    pd.testing.assert_frame_equal(ours.drop(columns="method"), own.drop(columns="method"))
    assert [cell.verdict for cell in first.cells] == ["open"]
    again = enter(str(tmp_path / "copy.py"), secret=first.secret, draws=9, **how)
    pd.testing.assert_frame_equal(first.table, again.table)


def test_seeds_are_new_without_a_secret(means):
    how = {"sets": ["tiny4"], "epsilons": [1.0], "methods": ["dplloyd"], "draws": 2}
    one, other = (enter(means, **how) for _ in range(2))
    assert one.secret != other.secret
    assert not set(one.table["seed"]) & set(other.table["seed"])


def test_fewer_centres_are_compared_with_the_best_k_centres(means):
    found = enter(means, sets=["tiny8"], given={"how": "one"}, methods=["dprefine"], draws=8)
    data = load_sample("tiny8")
    cells = {cell.epsilon: cell for cell in found.cells}
    assert [*cells] == [0.1, 0.5, 1, 2]
    clusters = max(entry.sample("tiny8").clusters, 2)
    truth = KMeansTruth(Records.build(data, data.domain), clusters)
    middle = (data.domain.lows + data.domain.highs) / 2
    assert cells[1.0].median == pytest.approx(truth.nicv(middle[None]) / truth.errors[1], rel=1e-3)
    # The best of one centre is far worse, so one centre would be nearly perfect beside it.
    assert truth.at(1).errors[1] > 2 * truth.errors[1]
    assert found.table["nicv_ratio"].min() >= 1
    assert cells[2.0].better == ("dprefine",)
    assert cells[2.0].verdict == "lost"


@pytest.mark.parametrize(
    ("how", "said"),
    [
        ("dies", "exit status 3"),
        pytest.param(
            "hangs", "did not end within 1 s",
            marks=pytest.mark.exhaustive(reason="a process that dies is the same, daily"),
        ),
    ],
)  # fmt: skip
def test_a_draw_without_an_end_is_worse_than_all_others(means, how, said):
    found = enter(
        means, sets=["tiny4"], epsilons=[0.5, 1.0], given={"how": how}, methods=["dplloyd"],
        seconds=1, draws=8,
    )  # fmt: skip
    first, second = found.cells
    assert (first.failed, second.failed) == (8, 0)
    assert (first.verdict, first.median) == ("lost", np.inf)
    assert any(said in note and "tiny4 at epsilon 0.5" in note for note in found.notes)


@pytest.mark.some(2)
@pytest.mark.parametrize(
    ("how", "said"),
    [
        ("raises", r"ValueError: no way \(means.py, line 17\)"),
        ("many", "3 centres, more than K = 2"),
        ("none", r"shape \(0, 2\)"),
        ("wide", r"shape \(2, 3\)"),
        ("nan", "not finite"),
    ],
)
def test_an_entry_without_any_result_is_refused(means, how, said):
    given = {"sets": ["tiny4"], "epsilons": [1.0], "methods": ["dplloyd"], "draws": 1}
    with pytest.raises(InputError, match=said):
        enter(means, given={"how": how}, **given)


def test_an_entry_may_not_change_the_true_clusters(tmp_path):
    (tmp_path / "copy.py").write_text(COPY, encoding="utf-8")
    path = str(tmp_path / "copy.py")
    with pytest.raises(InputError, match="change the true clusters"):
        enter(path, sets=["tiny4"], given={"clusters": 3}, draws=1)
    found = enter(
        path, sets=["tiny4"], epsilons=[1], given={"iterations": 1}, methods=["dplloyd"], draws=1
    )
    assert "1 draws are too few" in found.notes[0]


# -- verdicts ---------------------------------------------------------------------------------


def verdict(own, *others, lower=True):
    rows = [
        {"method": name, "seed": seed, "score": value}
        for name, values in zip((ENTRY, "a", "b"), (own, *others), strict=False)
        for seed, value in enumerate(values)
    ]
    cell = entry._cell(pd.DataFrame(rows), "set", 1.0, "score", lower=lower)
    return cell.verdict, cell.better


def test_a_win_is_over_each_method_and_a_loss_to_one():
    low, high = np.arange(10.0), np.arange(10.0) + 1
    assert verdict(low, high, high) == ("won", ())
    assert verdict(low) == ("open", ())  # no method of ours ran
    assert verdict(low, high, low) == ("open", ())
    assert verdict(high, low, high) == ("lost", ("a",))
    assert verdict(low, high, high, lower=False) == ("lost", ("a", "b"))
    assert verdict(np.full(10, np.inf), np.full(10, np.inf), high) == ("lost", ("b",))
    # Seven draws have one order with a probability of 1 in 64.
    assert verdict(low[:7], high[:7]) == ("open", ())
    # For a loss to one of two methods, 9 draws are needed.
    assert verdict(high[:8], low[:8], high[:8]) == ("open", ())


def test_chance_seldom_gives_a_verdict():
    rng = np.random.default_rng(0)
    found = [verdict(*rng.random((3, 10)))[0] for _ in range(300)]
    # With a probability of 1% of a verdict, 10 or more of 300 have a probability of 0.1%.
    assert sum(one != "open" for one in found) < 10


def test_no_ratio_is_below_1():
    rows = pd.DataFrame(
        {
            "data": ["a", "a", "b", "b"],
            "nicv": [0.2, 0.3, 0.0, np.nan],
            "nicv_ratio": [1.0, 3.0, 1.0, np.nan],
        }
    )
    assert to_best(rows)["nicv_ratio"].tolist()[:3] == pytest.approx([2.0, 3.0, 1.0])


def test_usual_sets_are_all_but_the_largest():
    assert {*sample_names()} - {*usual_sets()} == {"checkins"}
