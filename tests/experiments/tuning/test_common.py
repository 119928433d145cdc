"""All searches: invalid input, progress and cancelling."""

import math
from dataclasses import replace

import numpy as np
import pytest

from dpviz.base.errors import InputError
from dpviz.base.work import Cancelled
from dpviz.data.dataset import Dataset
from dpviz.data.samples import load_sample
from dpviz.experiments.tuning.best_parameters import POINT_SCORES, best_parameters
from dpviz.experiments.tuning.common import BETTER
from dpviz.experiments.tuning.null_set import null_clusters
from dpviz.experiments.tuning.smallest_epsilon import (
    GRID,
    Target,
    smallest_epsilon,
)
from dpviz.families import FAMILIES, SCORES
from dpviz.kmeans.parameters import KMeansConfig
from dpviz.wavecluster.parameters import Config


@pytest.fixture(scope="module")
def incomes():
    return load_sample("incomes")


# ---- wrong input, progress, cancel

WAVE = Config(method="privthr", grid=16, density=0.5)
MEANS = KMeansConfig(method="eugkm", clusters=2)


@pytest.mark.parametrize(
    ("search", "said"),
    [
        (lambda d: Target("dsg_c", "<", 0.2), 'sign = "<" is unknown'),
        (lambda d: Target("dsg_c", "<=", math.nan), "target = nan: give a finite number"),
        (lambda d: seek(d, replace(WAVE, method="wavecluster")), "wavecluster spends no budget"),
        (lambda d: seek(d, replace(WAVE, method="nothing")), 'method = "nothing" is unknown'),
        (lambda d: seek(d, WAVE, share=0), "share = 0: give a share"),
        (lambda d: seek(d, WAVE, seeds=()), "seeds are missing: ask for 1 or more"),
        (lambda d: seek(d, WAVE, epsilons=()), "epsilons are missing: give one or more"),
        (lambda d: seek(d, WAVE, score="nicv"), 'score = "nicv" is unknown'),
        (lambda d: best(d, WAVE, "dsg_c", {"epsilon": (1,)}), "choose two parameters of privthr"),
        (
            lambda d: best(
                d, replace(WAVE, method="privqt"), "dsg_c", {"epsilon": (), "alpha": ()}
            ),
            "choose two parameters of privqt, from epsilon, grid, density",
        ),
        (
            lambda d: best(d, WAVE, "dsg_c", {"grid": (8,), "density": (0.2,)}),
            'score = "dsg_c" is unknown: choose from f_measure, class_f, ari, ami, class_ari',
        ),
        (
            lambda d: best(d, WAVE, "clusters", {"epsilon": (), "alpha": ()}),
            'score = "clusters" has no better direction',
        ),
        (
            lambda d: best(d, MEANS, "nicv_ratio", {"epsilon": (), "iterations": ()}),
            "method = eugkm has no two parameters to search: choose another method",
        ),
        (
            lambda d: best(
                Dataset(name="c", counts=np.ones((8, 8), dtype=np.int64)),
                WAVE,
                "f_measure",
                {"grid": (8,), "density": (0.2,)},
            ),
            "grid can't be searched on a grid of counts",
        ),
        (lambda d: null_clusters(WAVE, 0), "n = 0: give one or more records"),
        (lambda d: null_clusters(WAVE, 5, seeds=()), "seeds are missing"),
    ],
)
def test_wrong_input_is_one_sentence(incomes, search, said):
    with pytest.raises(InputError) as caught:
        search(incomes)
    assert said in str(caught.value)
    assert str(caught.value).endswith(".")


def seek(data, config, score="dsg_c", **more):
    return smallest_epsilon(data, config, Target(score, "<=", 0.2), **more)


def best(data, config, score, over):
    return best_parameters(data, config, score, over, seeds=(1,))


SEARCHES = (
    (lambda d, **more: seek(d, WAVE, seeds=(1, 2), epsilons=(0.1, 1.0, 3.0), **more), 6),
    (
        lambda d, **more: best_parameters(
            d, WAVE, "f_measure", {"grid": (8,), "density": (0.2, 0.7)}, seeds=(1, 2), **more
        ),
        12,
    ),
    (lambda d, **more: null_clusters(WAVE, 50, (1, 2), **more), 12),
)


@pytest.mark.parametrize(("search", "total"), SEARCHES)
def test_progress_counts_every_draw_and_cancel_stops_at_once(incomes, search, total):
    seen = []
    search(incomes, progress=lambda *counted: seen.append(counted))
    assert list(dict.fromkeys(seen)) == [(done + 1, total) for done in range(total)]
    seen.clear()
    with pytest.raises(Cancelled, match=f"stopped after 2 of {total} draws"):
        search(
            incomes,
            progress=lambda *counted: seen.append(counted),
            cancelled=lambda: len(seen) == 2,
        )


def test_halving_ends_with_all_that_it_set_out_to_do(incomes):
    seen = []
    seek(incomes, MEANS, "nicv_ratio", seeds=(1,), progress=lambda *counted: seen.append(counted))
    assert seen[-1][0] == seen[-1][1] < len(GRID)
    assert [done for done, _ in seen[:-1]] == list(range(1, len(seen)))


def test_every_score_with_a_better_side_belongs_to_a_family_and_has_a_name():
    assert set(BETTER) <= set(SCORES)
    assert set(BETTER) < {name for family in FAMILIES.values() for name in family.scores}
    assert set(POINT_SCORES) < set(BETTER)
