"""Goal seek against plain definitions; maps and the null set; the panel that asks for them."""

import math
import threading
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from streamlit.testing.v1 import AppTest

from dpviz.data.dataset import Dataset
from dpviz.data.samples import load_sample
from dpviz.errors import InputError
from dpviz.experiments import goal as goals
from dpviz.experiments.draws import DrawsCancelled
from dpviz.experiments.goal import (
    BETTER,
    GRID,
    POINT_SCORES,
    TUNING,
    Goal,
    Target,
    best_parameters,
    null_clusters,
    smallest_epsilon,
)
from dpviz.families import FAMILIES, SCORES, trial_of
from dpviz.kmeans.config import KMeansConfig
from dpviz.metrics import matching
from dpviz.noise import SeededNoise
from dpviz.wavecluster.config import Config
from dpviz.wavecluster.methods import METHODS as WAVECLUSTER
from dpviz.wavecluster.pipeline import Source
from dpviz.wavecluster.truth import Truth, run, true_config
from tests.wavecluster.test_reference import GRIDS

SEEDS = tuple(range(3, 23))
PATIENCE = 60


@pytest.fixture(scope="module")
def incomes():
    return load_sample("incomes")


@pytest.fixture(scope="module")
def gaussians():
    return load_sample("gaussians")


def plain_answer(met: list[bool]) -> int | None:
    """First place from which on all are met, in the words of the definition."""
    return next((place for place in range(len(met)) if all(met[place:])), None)


# ---- the grid and the two ways to search it


def test_the_grid_has_ten_budgets_a_decade_to_three_digits():
    assert (GRID[0], GRID[10], GRID[20], GRID[30]) == (0.01, 0.1, 1.0, 10.0)
    assert len(GRID) == 31
    assert all(float(f"{epsilon:.3g}") == epsilon for epsilon in GRID)
    np.testing.assert_allclose(np.diff(np.log10(GRID)), 0.1, atol=0.003)


@given(st.lists(st.booleans(), min_size=1, max_size=40))
def test_trying_every_budget_is_the_plain_definition(met):
    assert goals._first_of_all(met.__getitem__, len(met)) == plain_answer(met)


@given(st.integers(1, 40), st.integers(0, 40), st.data())
def test_halving_agrees_where_the_share_wavers_only_near_its_target(n, first, data):
    first = min(first, n)
    near = data.draw(st.lists(st.booleans(), min_size=3, max_size=3))
    # Unmet, a stretch of three that may go either way, met for good.
    met = ([False] * first + near + [True] * n)[:n]
    asked = []

    def ask(place):
        asked.append(place)
        return met[place]

    found = goals._first_by_halves(ask, n)
    assert found == plain_answer(met)


@given(st.lists(st.booleans(), min_size=1, max_size=40))
def test_halving_never_answers_with_a_budget_that_fails(met):
    found = goals._first_by_halves(met.__getitem__, len(met))
    assert (found is None) == (not met[-1])
    if found is not None:
        assert all(met[found : found + 4])


# ---- smallest epsilon against a sweep


def swept(dataset, config, target, seeds, epsilons):
    """Shares of draws that meet a target, by a sweep that knows nothing of goal seek."""
    rows = []
    for epsilon in epsilons:
        trial = trial_of(dataset, replace(config, epsilon=epsilon))
        values = [trial.scores(trial.draw(s), s, (target.score,))[target.score] for s in seeds]
        met = [v <= target.value if target.sign == "<=" else v >= target.value for v in values]
        rows.append(sum(met) / len(met))
    return rows


@pytest.mark.parametrize("name", ["ds1", "ds2"])
@pytest.mark.parametrize(
    ("method", "target"),
    [
        ("privthr", Target("dsg_c", "<=", 0.2)),
        ("privthrem", Target("dsg_c", "<=", 0.2)),
        ("privthrem", Target("f_measure", ">=", 0.9)),
        ("privqt", Target("dsg_c", "<=", 0.2)),
    ],
    ids=str,
)
def test_goal_seek_agrees_with_a_sweep(reference, name, method, target):
    grid, density = GRIDS[name]
    config = Config(method=method, grid=grid, density=density)
    data = reference(name)
    shares = swept(data, config, target, SEEDS, GRID)
    place = plain_answer([share >= 0.9 for share in shares])
    found = smallest_epsilon(data, config, target, seeds=SEEDS, search="every")
    np.testing.assert_allclose(found.shares, shares)
    assert found.epsilon == (None if place is None else GRID[place])
    halved = smallest_epsilon(data, config, target, seeds=SEEDS, search="bisect")
    assert halved.tried.sum() < len(GRID) / 2
    np.testing.assert_allclose(halved.shares[halved.tried], np.array(shares)[halved.tried])
    assert (halved.epsilon is None) == (found.epsilon is None)
    if found.epsilon is not None:
        assert abs(GRID.index(halved.epsilon) - place) <= 1


@pytest.mark.parametrize(
    ("method", "target"),
    [
        ("dplloyd", Target("nicv_ratio", "<=", 1.2)),
        ("eugkm", Target("f_measure", ">=", 0.95)),
        ("eugkm", Target("nicv_ratio", "<=", 0.5)),
        ("hybrid", Target("displacement", "<=", 0.02)),
    ],
    ids=str,
)
def test_goal_seek_of_slow_methods_agrees_with_a_sweep(incomes, method, target):
    config, seeds = KMeansConfig(method=method, clusters=2), SEEDS[:10]
    found = smallest_epsilon(incomes, config, target, seeds=seeds)
    assert found.tried.sum() < len(GRID) / 2
    plain = smallest_epsilon(incomes, config, target, seeds=seeds, search="every")
    assert plain.tried.all()
    places = [math.inf if g.epsilon is None else GRID.index(g.epsilon) for g in (found, plain)]
    assert places[0] == places[1] or abs(places[0] - places[1]) <= 1


def test_every_budget_has_the_draws_of_the_same_seeds(incomes):
    config = Config(method="privthr", grid=16, density=0.5)
    target = Target("dsg_c", "<=", 0.3)
    goal = smallest_epsilon(incomes, config, target, seeds=(5, 2), epsilons=(2.0, 0.5))
    assert goal.epsilons == (0.5, 2.0)
    truth = Truth(Source.build(incomes, 16), true_config(config))
    for row, epsilon in enumerate(goal.epsilons):
        for column, seed in enumerate((5, 2)):
            one = run(truth.source, replace(config, epsilon=epsilon), SeededNoise(seed)).stages
            expected = matching.dsg_c(truth.stages.labels, one.labels)
            assert goal.values[row, column] == expected
    assert goal.bands[0.5].median == np.median(goal.values[0])


def test_the_share_that_is_asked_for_decides(gaussians):
    config = Config(method="privthr", grid=64, density=0.58)
    ask = partial(smallest_epsilon, gaussians, config, Target("dsg_c", "<=", 0.3), seeds=SEEDS)
    answers = [ask(share=share).epsilon for share in (0.5, 0.9, 1.0)]
    assert None not in answers
    assert answers == sorted(answers)
    assert answers[0] < answers[-1]


def test_a_domain_and_points_outside_reach_the_data(incomes):
    config, target = Config(method="privthr", grid=16, density=0.5), Target("ami", ">=", 0.3)
    half = replace(incomes.domain, bounds=((0, 5000), (0, 4000)))
    values = [
        smallest_epsilon(
            incomes, config, target, domain=domain, outside=outside, seeds=(1,), epsilons=(0.3,)
        ).values[0, 0]
        for domain, outside in ((None, "clip"), (half, "clip"), (half, "drop"))
    ]
    assert len(set(values)) == 3


# ---- what is said of it


def goal_of(rows, epsilon, epsilons=(0.5, 1.0, 2.0, 4.0), tried=None):
    """Goal with given scores for four draws."""
    return Goal(
        target=Target("dsg_c", "<=", 0.2),
        share=0.75,
        epsilons=epsilons,
        seeds=(0, 1, 2, 3),
        values=np.array(rows, dtype=float),
        tried=np.ones(len(rows), dtype=bool) if tried is None else np.array(tried),
        epsilon=epsilon,
    )


BAD, GOOD, HALF = [1, 1, 1, 1], [0.1, 0.2, 0.1, 1], [0.1, 0.1, 1, 1]


def test_shares_and_bands_are_those_of_the_draws_that_were_made():
    goal = goal_of([BAD, [math.nan] * 4, GOOD, GOOD], 2.0, tried=(True, False, True, True))
    np.testing.assert_array_equal(goal.shares, [0, math.nan, 0.75, 0.75])
    assert list(goal.bands) == [0.5, 2.0, 4.0]
    assert goal.early == ()
    assert goal.says == (
        "ε = 2 met DSG_C ≤ 0.2 in 3 of 4 draws (with 95% confidence, 19% to 100% of all possible "
        "draws do). At every larger budget that was tried, 75% or more of the draws met it too."
    )


@pytest.mark.parametrize(
    ("met", "n", "low", "high"), [(45, 50, 78, 97), (50, 50, 92, 100), (180, 200, 84, 94)]
)
def test_the_answer_says_how_sure_it_is(met, n, low, high):
    """Exact bounds: at each, so many draws or more extreme ones come once in 40."""
    goal = goal_of([[0.1] * met + [1.0] * (n - met)], 0.5, epsilons=(0.5,))
    goal = replace(goal, seeds=tuple(range(n)))
    assert f"met DSG_C ≤ 0.2 in {met} of {n} draws" in goal.says
    assert f"(with 95% confidence, {low}% to {high}% of all possible draws do)" in goal.says
    assert "enough" not in goal.says
    # Rounded outwards: at the ends that are told it is rarer still, a percent further in not.
    for ends, rarer in (((low, high), True), ((low + 1, high - 1), False)):
        assert (stats.binom.sf(met - 1, n, ends[0] / 100) <= 0.025) == rarer
        if met < n:
            assert (stats.binom.cdf(met, n, ends[1] / 100) <= 0.025) == rarer


def test_a_way_that_is_not_steady_is_told():
    goal = goal_of([GOOD, BAD, GOOD, GOOD], 2.0)
    assert goal.early == (0.5,)
    assert "not steady: ε = 0.5 met it too" in goal.says
    gone = goal_of([BAD, GOOD, GOOD, HALF], None)
    assert gone.early == (1.0, 2.0)
    assert "met in 3 of 4 draws at ε = 1, but not at every larger budget up to ε = 4" in gone.says


@pytest.mark.parametrize(
    ("rows", "epsilon", "said"),
    [
        ([BAD, HALF, BAD, BAD], None, "the best is 2 of 4 draws, at ε = 1."),
        ([BAD] * 4, None, "DSG_C ≤ 0.2 is met in no draw"),
        ([GOOD] * 4, 0.5, "It is the smallest that was tried; less may do."),
        ([BAD, BAD, BAD, GOOD], 4.0, "It is the largest that was tried."),
    ],
)
def test_the_ends_of_the_grid_are_told(rows, epsilon, said):
    assert said in goal_of(rows, epsilon).says


def test_a_draw_without_a_score_meets_nothing():
    values = np.array([math.nan, 0.1, math.inf])
    assert Target("dsg_c", "<=", 0.2).met(values).tolist() == [False, True, False]
    assert Target("dsg_c", ">=", 0.2).met(values).tolist() == [False, False, True]


# ---- best parameters


@given(
    st.lists(st.sampled_from([0.1, 0.2, 0.2, 0.5, 1, math.inf, math.nan]), min_size=1),
    st.sampled_from([0.5, 0.75, 0.9, 1.0]),
    st.sampled_from(["<=", ">="]),
)
def test_the_number_on_the_map_is_what_that_share_of_draws_reaches(values, share, sign):
    values = np.array(values)
    found = goals._kept(values, sign, share)
    needed = share * values.size - 1e-9
    if math.isnan(found):
        assert (~np.isnan(values)).sum() < needed
        return
    reached = values <= found if sign == "<=" else values >= found
    better = values < found if sign == "<=" else values > found
    assert reached.sum() >= needed > better.sum()


def test_a_cell_of_epsilon_and_alpha_is_held_against_the_true_run(incomes):
    config = Config(method="privthr", grid=16, density=0.5, epsilon=0.7, alpha=0.6)
    over = {"epsilon": (2.0, 0.2), "alpha": (0.9, 0.3)}
    found = best_parameters(incomes, config, "dsg_c", over, seeds=SEEDS)
    assert found.values == ((0.2, 0.7, 2.0), (0.3, 0.6, 0.9))
    assert found.current == (1, 1)
    assert not found.fixed
    trial = trial_of(incomes, replace(config, epsilon=2.0, alpha=0.3))
    drawn = sorted(trial.scores(trial.draw(s), s, ("dsg_c",))["dsg_c"] for s in SEEDS)
    assert found.kept[2, 0] == drawn[17]  # 18 of 20 are no worse
    # More budget is better, but it is not the search's to give away.
    assert found.kept[2].min() < found.kept[1].min()
    assert found.best == (1, int(np.argmin(found.kept[1])))
    assert found.found["epsilon"] == 0.7
    assert found.best_at[found.best[0]] == found.best[1]
    assert all(
        found.kept[row, best] == found.kept[row].min() for row, best in enumerate(found.best_at)
    )


def test_cells_of_other_grids_are_held_against_the_points_clusters_at_the_setting(gaussians):
    config = Config(method="privthr", grid=64, density=0.58, epsilon=1.0)
    over = {"grid": (2, 32, 45), "density": (0.3,)}
    for score in ("f_measure", "ari"):
        found = best_parameters(gaussians, config, score, over, seeds=(4,))
        source = Source.build(gaussians, 64)
        reference = source.label(source.points, Truth(source, true_config(config)).stages) + 1
        for row, grid in enumerate(found.values[0]):
            for column, density in enumerate(found.values[1]):
                other = Source.build(gaussians, grid)
                one = replace(config, grid=grid, density=density)
                labels = other.label(other.points, run(other, one, SeededNoise(4)).stages) + 1
                table = matching.contingency(reference, labels)
                assert found.kept[row, column] == pytest.approx(POINT_SCORES[score](table))
        assert found.fixed
        # In a single cell nothing can differ from the truth of that grid: it must not win.
        trivial = trial_of(gaussians, replace(config, grid=2, density=0.3))
        assert (
            trial_of(gaussians, trivial.config).scores(trivial.draw(4), 4, (score,))[score] > 0.99
        )
        assert found.found["grid"] != 2
        assert found.kept[0].max() < 0.3


def test_equal_cells_go_to_the_coarser_grid_then_to_what_is_near():
    names, values = ("grid", "density"), ((16, 32, 64), (0.2, 0.4, 0.6))
    base = goals.ParameterMap(
        config=Config(grid=32, density=0.4),
        score="f_measure",
        share=0.9,
        names=names,
        values=values,
        kept=np.full((3, 3), 0.5),
        seeds=(0,),
        best=(0, 0),
    )
    every = list(np.ndindex(3, 3))
    assert goals._best(base, every) == (0, 1)
    better = np.full((3, 3), 0.5)
    better[2, 0] = 0.6
    assert goals._best(replace(base, kept=better), every) == (2, 0)
    better[0] = math.nan
    better[2, 0] = 0.5
    assert goals._best(replace(base, kept=better), every) == (1, 1)
    assert goals._best(replace(base, kept=better, score="dsg_c"), every) == (1, 1)


def test_iterations_of_k_means(incomes):
    config = KMeansConfig(method="dplloyd", clusters=2, epsilon=0.2, iterations=5)
    over = {"epsilon": (1.0,), "iterations": (1, 3)}
    found = best_parameters(incomes, config, "nicv_ratio", over, seeds=(1, 2))
    trial = trial_of(incomes, replace(config, iterations=3))
    worst = max(trial.scores(trial.draw(s), s, ("nicv_ratio",))["nicv_ratio"] for s in (1, 2))
    assert found.kept[0, 1] == pytest.approx(worst)
    assert found.kept.shape == (2, 3)


# ---- null set


def test_invented_clusters_are_counted_on_fresh_points_that_all_techniques_share():
    config = Config(method="privthrem", grid=32, density=0.6, epsilon=0.5, alpha=0.3)
    null = null_clusters(config, 2_000, seeds=(7, 8, 9))
    assert list(null.clusters) == list(WAVECLUSTER)
    for column, seed in enumerate((7, 8, 9)):
        points = SeededNoise(seed).generator("null set").uniform(0, 1, (2_000, 2))
        source = Source.build(Dataset(name="", points=points), 32, goals.Domain(((0, 1), (0, 1))))
        for method in WAVECLUSTER:
            alpha = 0.3 if method == "privthrem" else None
            one = replace(config, method=method, alpha=alpha)
            expected = run(source, one, SeededNoise(seed)).stages.n_clusters
            assert null.clusters[method][column] == expected
    assert len(set(null.clusters["wavecluster"])) > 1
    assert null.bands["privqt"].median == np.median(null.clusters["privqt"])


def test_the_place_of_the_box_does_not_matter_but_the_budget_does():
    config = Config(grid=32, density=0.6, epsilon=0.5)
    first = null_clusters(config, 2_000, seeds=(1, 2))
    box = goals.Domain(((-8.0, 8.0), (0.0, 4.0)))
    moved = null_clusters(config, 2_000, seeds=(1, 2), domain=box)
    for name, values in first.clusters.items():
        # Baseline rounds to a lattice and may put a point on the other side of an edge.
        np.testing.assert_allclose(moved.clusters[name], values, atol=2 * (name == "baseline"))
    other = null_clusters(replace(config, epsilon=0.01), 2_000, seeds=(1, 2))
    np.testing.assert_array_equal(other.clusters["wavecluster"], first.clusters["wavecluster"])
    assert (other.clusters["privqt"] != first.clusters["privqt"]).any()


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
        (lambda d: seek(d, WAVE, seeds=()), "seeds = (): ask for 1 or more"),
        (lambda d: seek(d, WAVE, epsilons=()), "epsilons = (): give one or more"),
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
            'score = "dsg_c" is unknown: choose from f_measure, ari, ami',
        ),
        (
            lambda d: best(d, WAVE, "clusters", {"epsilon": (), "alpha": ()}),
            'score = "clusters" is neither good nor bad',
        ),
        (
            lambda d: best(d, MEANS, "nicv_ratio", {"epsilon": (), "iterations": ()}),
            "choose two parameters of eugkm, from epsilon.",
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
        (lambda d: null_clusters(WAVE, 5, seeds=()), "seeds = ()"),
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
    (lambda d, **more: null_clusters(WAVE, 50, (1, 2), **more), 10),
)


@pytest.mark.parametrize(("search", "total"), SEARCHES)
def test_progress_counts_every_draw_and_cancel_stops_at_once(incomes, search, total):
    seen = []
    search(incomes, progress=lambda *counted: seen.append(counted))
    assert list(dict.fromkeys(seen)) == [(done + 1, total) for done in range(total)]
    seen.clear()
    with pytest.raises(DrawsCancelled, match=f"stopped after 2 of {total} draws"):
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
    assert set(BETTER) < {name for one in FAMILIES.values() for name in one.scores}
    assert set(POINT_SCORES) < set(BETTER)


# ---- the panel


def explorer(page: str, own: bool) -> None:
    """An explorer that has nothing but the panel."""
    import importlib

    import streamlit as st

    from dpviz.data.samples import load_sample, sample
    from dpviz.privacy.ledger import Neighbours
    from dpviz.ui.data_panel import ActiveData
    from dpviz.ui.goal import goal_panel

    explorer = importlib.import_module(f"dpviz.ui.{page}")
    state = explorer.page_state()
    facts = sample("gaussians")
    data = load_sample("gaussians")
    active = ActiveData(
        dataset=data,
        domain=data.domain,
        outside="clip",
        neighbours=Neighbours(),
        complete=data,
        sample=None if own else facts,
    )
    st.session_state["shown"] = {name: state.get(name) for name in state.link()}
    goal_panel(state, active, explorer.config_of(state, active))
    state.write()


@pytest.fixture
def panel():
    """Open the panel of an explorer."""

    def open_panel(page="wavecluster", own=False, opened=True, **values):
        test = AppTest.from_function(explorer, default_timeout=PATIENCE, args=(page, own))
        for name, value in values.items():
            test.query_params[name] = str(value)
        test.session_state[f"{page}:goal"] = opened
        return ran(test.run())

    yield open_panel
    for thread in threading.enumerate():
        if thread.name == "dpviz job":
            thread.join(PATIENCE)
            assert not thread.is_alive()


def ran(test):
    assert not test.exception, test.exception
    return test


def press(test, label):
    """Press a button, and wait for what it begins."""
    (button,) = (one for one in test.button if one.label.startswith(label))
    ran(button.click().run())
    for name in ("epsilon", "map", "null"):
        key = f"{explorer_page(test)}:goal {name} job"
        if key in test.session_state:
            assert test.session_state[key].wait(PATIENCE)
            assert test.session_state[key].error == ""
    return ran(test.run())


def run_of(test):
    """Run that the answer on the screen is about, as the title of its figure names it."""
    found = (f"{explorer_page(test)}:goal {part} found" for part in ("epsilon", "map"))
    (kept,) = (key for key in found if key in test.session_state)
    return test.session_state[kept][0][0]


def explorer_page(test):
    return "kmeans" if "kmeans:state" in test.session_state else "wavecluster"


def choose_part(test, part):
    (group,) = (one for one in test.button_group if ":goal@" in one.key)
    return ran(group.set_value(part).run())


def few_draws(test):
    (box,) = (one for one in test.number_input if one.label == "Draws at each setting")
    return ran(box.set_value(10).run())


LINK = {"g": 64, "p": 0.58, "epsilon": 3}


def test_nothing_is_there_until_the_panel_is_opened(panel):
    assert not panel(opened=False).button


def test_the_smallest_budget_is_found_and_taken_over(panel, gaussians):
    test = few_draws(panel(**LINK))
    press(test, "Find the smallest")
    config = Config(method="privthr", grid=64, density=0.58)
    goal = smallest_epsilon(gaussians, config, Target("dsg_c", "<=", 0.2), seeds=range(10))
    assert goal.epsilon not in (None, 3)
    assert any(goal.says in one.value for one in test.markdown)
    # The picture tells which run it is, and its table stands below it.
    assert run_of(test) == "Fifteen Gaussians · PrivTHR · α 0.90 · g 64 · p 0.58 · haar level 1"
    (rows,) = (one.value for one in test.dataframe)
    assert rows["ε"].tolist() == list(GRID)
    np.testing.assert_array_equal(rows["share of draws that meet the target"], goal.shares)
    press(test, f"Take over ε = {goal.epsilon:.3g}")
    assert test.session_state["shown"]["epsilon"] == goal.epsilon
    assert not any("Found with other settings" in one.value for one in test.caption)
    # Another target: what was found stays, and says so.
    (target,) = (one for one in test.number_input if one.label.startswith("Target"))
    ran(target.set_value(0.4).run())
    assert any("Found with other settings" in one.value for one in test.caption)


def test_alpha_is_chosen_at_the_budget_of_the_slider(panel):
    test = few_draws(choose_part(panel(**LINK, alpha=0.07), "map"))
    press(test, "Draw the map")
    (said,) = (one.value for one in test.markdown if one.value.startswith("**Best: ε = 3, α = "))
    assert run_of(test) == "Fifteen Gaussians · PrivTHR · g 64 · p 0.58 · haar level 1"
    (rows,) = (one.value for one in test.dataframe)
    assert {"ε", "α", "DSG_C reached in 90% of draws", "best"} < set(rows.columns)
    press(test, "Take over α")
    assert f"α = {test.session_state['shown']['alpha']:.3g}**" in said
    assert test.session_state["shown"]["epsilon"] == 3
    assert not any("Found with other settings" in one.value for one in test.caption)


def test_grid_and_density_offer_scores_of_points_alone(panel):
    test = choose_part(panel(**LINK), "map")
    (pair,) = (one for one in test.selectbox if one.label == "Best")
    ran(pair.set_value("grid-density").run())
    (score,) = (one for one in test.selectbox if one.label == "Score")
    assert score.options == ["F-measure", "ARI", "AMI"]
    assert any("point by point" in one.value for one in test.caption)
    without_alpha = choose_part(panel(**LINK, method="privqt"), "map")
    (pair,) = (one for one in without_alpha.selectbox if one.label == "Best")
    assert pair.options == ["g and p"]


def test_the_null_set_needs_no_private_method(panel):
    test = few_draws(choose_part(panel(**LINK, method="wavecluster"), "null"))
    press(test, "Count invented")
    assert any("PrivTHREM" in set(one.value["method"]) for one in test.dataframe)
    null = test.session_state["wavecluster:goal null found"][1]
    assert (null.n, len(null.seeds), null.config.grid) == (30_000, 10, 64)
    assert any("spends no budget" in one.value for one in choose_part(test, "epsilon").info)


def test_own_data_is_told_what_tuning_costs_and_offered_a_look_alike(panel):
    assert not any(one.value == TUNING for one in panel().markdown)
    test = panel(own=True, g=20, p=0.3)
    assert any(one.value == TUNING for one in test.markdown)
    (look,) = (one for one in test.selectbox if one.label == "Look-alike")
    ran(look.set_value("spirals").run())
    press(test, "Tune on this one")
    shown = test.session_state["shown"]
    assert (shown["data"], shown["g"], shown["p"]) == ("spirals", 40, 0.1)


def test_a_search_of_k_means_can_be_stopped(panel):
    test = panel("kmeans", k=15)
    assert len(test.button_group[0].options) == 2
    (button,) = (one for one in test.button if one.label == "Find the smallest ε")
    ran(button.click().run())
    asked = test.session_state["kmeans:goal epsilon job"].about
    assert asked[0] == "Fifteen Gaussians · DPLloyd · K 15 · T 5 · sphere packing · uniform"
    (stop,) = (one for one in test.button if one.label == "Stop searching")
    ran(stop.click().run())
    job = test.session_state["kmeans:goal epsilon job"]
    assert job.wait(PATIENCE)
    assert job.cancelled
    assert job.result is None
    assert not any(one.label.startswith("Take over") for one in ran(test.run()).button)
