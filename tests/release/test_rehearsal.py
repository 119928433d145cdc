"""Rehearsals predict what releases of the same plan give, and read no record of the owner."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dpviz.base.errors import InputError
from dpviz.base.work import Cancelled
from dpviz.data.cities import box_around, cities, city_width
from dpviz.data.dataset import Dataset
from dpviz.data.samples import load_sample, sample
from dpviz.families import FAMILIES
from dpviz.grid.domain import Domain
from dpviz.metrics.matching import contingency
from dpviz.privacy.ledger import Neighbours
from dpviz.release.rehearsal import (
    FIRST,
    PICTURES,
    Rehearsal,
    StandIn,
    _matched,
    changed,
    made_up,
    merging_words,
    of_sample,
    other_plans,
    rehearse,
)
from dpviz.release.request import Request
from dpviz.release.seeded import seeded_run
from dpviz.wavecluster.wavelet import average_subband

BOX = Domain(((2.0, 3.0), (48.0, 49.0)))

#: All methods of both families that can be released.
METHODS = [
    (family, name)
    for family, one in FAMILIES.items()
    for name, method in one.methods.items()
    if method.card.spends
]


def plan(family: str = "wavecluster", cap: int = 1, **given: Any) -> Request:
    config = FAMILIES[family].config(
        **{"method": "privthrem", "epsilon": 1.0, **given}, neighbours=Neighbours(cap=cap)
    )
    return Request(config=config, domain=BOX, unit="person" if cap > 1 else None)


def tried(request: Request, records: int = 20_000, *, small: bool = False) -> Rehearsal:
    return rehearse(request, made_up(BOX, records, small=small), draws=20)


@pytest.mark.exhaustive(reason="other tests of this file rehearse plans and read what they say")
def test_a_fine_grid_at_a_high_cap_invents_and_a_coarse_one_without_does_not() -> None:
    fine = tried(plan(grid=64, density=0.58, cap=3)).plan
    coarse = tried(plan(grid=16, density=0.8, epsilon=4.0)).plan
    assert np.median(fine.found.invented) >= 5
    assert np.median(fine.nothing) >= 5
    assert np.median(coarse.found.invented) <= 2
    assert (fine.found.invented <= fine.found.reported).all()
    assert f"about {np.median(fine.found.invented):.0f} invented clusters" in fine.sentence
    assert "5% to 95% of 20 draws" in fine.sentence
    assert "other clusters may be invented" in fine.on_nothing


def test_scattered_records_ask_for_a_larger_p() -> None:
    """A tenth of the generated records is scattered and fills half of the non-empty cells."""
    by_hand = tried(plan(method="privqt", grid=64, density=0.58))
    private = tried(plan(method="privqt", choose="private"))
    assert by_hand.change == "p 0.9"
    assert (
        by_hand.advice
        == "Recommended: p 0.9 — expect about 0 invented of 5, and 0 of 5 lost, cut or joined."
    )
    assert private.best is private.plan


def test_the_size_of_clusters_is_chosen_and_the_advice_is_for_it_alone() -> None:
    """Five hot spots fill few cells, so most cells of the densest fifth have scattered records."""
    request = plan(method="privqt", grid=50, density=0.9)
    wide, small = tried(request), tried(request, small=True)
    assert wide.best is wide.plan
    assert wide.advice == "The plan in use is the recommended one."
    assert small.change.endswith("p 0.99")
    assert small.stand_in == "5 small made-up clusters"
    assert np.median(small.plan.found.invented) > np.median(wide.plan.found.invented)


def fixed(request: Request, stand_in: StandIn, **how: Any) -> Rehearsal:
    """Rehearse a plan, then the recommended plan; check that the same plan is recommended again."""
    first = rehearse(request, stand_in, **how)
    assert first.best is not None
    again = rehearse(first.best.request, stand_in, **how)
    assert again.best is again.plan, (first.advice, again.advice)
    # Right after a plan is chosen, the page shows the same results as a new rehearsal would.
    assert first.taken.plan.sentence == again.plan.sentence
    assert first.taken.plan.on_nothing == again.plan.on_nothing
    assert first.taken.advice == again.advice
    assert again.advice.startswith("The plan in use is the recommended one")
    return first


@pytest.mark.exhaustive(reason="tests/ui/test_release.py takes a recommended plan daily")
@pytest.mark.parametrize("small", [False, True])
@pytest.mark.parametrize("epsilon", [0.3, 1.0, 4.0])
@pytest.mark.parametrize("method", METHODS, ids=lambda one: one[1])
def test_what_is_recommended_stays_recommended_once_it_is_taken(
    method: tuple[str, str], epsilon: float, small: bool
) -> None:
    family, name = method
    request = plan(family, method=name, epsilon=epsilon)
    fixed(request, made_up(BOX, 1_000, small=small), draws=8)


@pytest.mark.exhaustive(reason="advice on a plan of a city is tested daily")
@given(
    method=st.sampled_from(["baseline", "privqt", "privthr", "privthrem"]),
    grid=st.sampled_from([8, 16, 33, 64, (32, 16)]),
    density=st.sampled_from([0.3, 0.5, 0.77, 0.9, 0.98]),
    choose=st.sampled_from(["given", "private"]),
    epsilon=st.sampled_from([0.2, 1.0, 5.0]),
    records=st.sampled_from([200, 800, 20_000]),
    small=st.booleans(),
    counted=st.booleans(),
)
@settings(max_examples=6, deadline=None, suppress_health_check=list(HealthCheck))
def test_advice_is_a_fixpoint_of_any_plan(
    method: str, records: int, small: bool, counted: bool, **given: Any
) -> None:
    if not FAMILIES["wavecluster"].methods[method].card.parameter("choose"):
        given["choose"] = "given"
    request = plan(method=method, **given)
    fixed(request, made_up(BOX, records, small=small), draws=6, counted=counted)


def read(request: Request) -> tuple[Any, ...]:
    """Parts of a plan that a run uses, without g and p if the run chooses both itself."""
    config, by_hand = request.config, request.config.choose == "given"
    return config.method, config.choose, *((config.grid, config.density) if by_hand else ())


def test_plans_that_are_tried_keep_the_budget_and_the_cells_of_counts() -> None:
    request = plan(grid=64, density=0.58, cap=2)
    every = [one for group in other_plans(request, 20_000) for one in group]
    assert {one.config.epsilon for one in every} == {1.0}
    assert {one.config.neighbours for one in every} == {request.config.neighbours}
    assert {one.config.method for one in every} == {"privthrem", "twostage"}
    # The list contains all plans that would be tried for any of these plans.
    said = {read(one) for one in every}
    for one in every:
        assert {read(other) for group in other_plans(one, 20_000) for other in group} <= said
    counted = [one for group in other_plans(request, 20_000, counted=True) for one in group]
    assert {one.config.grid for one in counted} == {64}
    assert {one.config.choose for one in counted} == {"given"}
    three = FAMILIES["kmeans"].config(method="gupt", clusters=3)
    (group,) = other_plans(Request(config=three, domain=BOX), 20_000)
    assert [(one.config.method, one.config.clusters) for one in group] == [("dprefine", 3)]


def test_a_plan_is_named_by_what_changes() -> None:
    request = plan(grid=64, density=0.5)

    def named(**given: Any) -> str:
        return changed(request, replace(request, config=replace(request.config, **given)))

    assert named(density=0.96) == "p 0.96"
    assert named(grid=50, density=0.96) == "g 50, p 0.96"
    assert named(choose="private") == "“Choose g and p: privately”"
    assert named(method="twostage", density=0.9) == "Two-stage, p 0.9"


@pytest.mark.exhaustive(reason="a fine grid with much noise is tested daily")
def test_more_noise_is_seen_by_the_rehearsal() -> None:
    one, ten = (
        tried(plan(method="privqt", grid=64, density=0.9, cap=cap)).plan.found.again.mean()
        for cap in (1, 20)
    )
    assert one > ten


def test_a_first_look_comes_after_a_few_draws_with_pictures_and_agrees_with_the_rest() -> None:
    seen: list[Rehearsal] = []
    done: list[int] = []
    at: list[int] = []

    def see(found: Rehearsal) -> None:
        seen.append(found)
        at.append(done[-1])

    last = rehearse(
        plan(grid=32), made_up(BOX, 2_000), seen=see, progress=lambda now, _: done.append(now)
    )
    assert at[:3] == [1, FIRST, PICTURES]
    assert "(the first 1 draw:" in seen[0].plan.sentence
    assert "the first 5 draws" in seen[1].plan.sentence
    assert (seen[1].advice, seen[1].plan.on_nothing) == ("", "")
    assert [len(one.plan.found.drawn) for one in seen[:3]] == [1, FIRST, PICTURES]
    assert "5% to 95% of 50 draws" in seen[3].plan.sentence
    assert len(last.plan.found.drawn) == PICTURES
    assert (last.plan.found.invented[:FIRST] == seen[1].plan.found.invented).all()
    for one, invented in zip(last.plan.found.drawn, last.plan.found.invented, strict=False):
        assert (~one.real).sum() == invented
    # No plan is run twice, so the progress bar reaches exactly its end.
    assert sorted(set(done)) == list(dict.fromkeys(done))


def test_a_rehearsal_repeats_itself() -> None:
    request = plan(grid=32)
    one, other = tried(request), tried(request)
    assert (one.plan.sentence, one.advice) == (other.plan.sentence, other.advice)


def test_k_means_is_rehearsed_by_clusters_that_are_found() -> None:
    found = tried(plan("kmeans", method="dplloyd", clusters=5, epsilon=2.0)).plan
    assert found.sentence.startswith("Expect about ")
    assert "clusters to be found" in found.sentence
    assert "invented" not in found.sentence
    assert found.nothing.size == 0
    for one, again in zip(found.found.drawn, found.found.again, strict=False):
        assert one.real.sum() == again


@pytest.mark.parametrize("density", [0.3, 0.97])
def test_a_sample_set_stands_in_with_its_own_true_clusters(density: float) -> None:
    facts, dataset = sample("gaussians"), load_sample("gaussians")
    request = plan(method="privqt", grid=facts.grid, density=density)
    found = rehearse(request, of_sample(facts, dataset, request, 5_000), draws=5)
    # The true clusters of the sample set, for any p in the plan.
    assert found.plan.found.true == facts.clusters
    assert found.records == 5_000
    many = Request(
        config=FAMILIES["kmeans"].config(method="dplloyd", clusters=3),
        domain=Domain(((0, 1), (0, 1), (0, 1))),
    )
    with pytest.raises(InputError, match="has 2 columns, and the release has 3"):
        of_sample(facts, dataset, many, 5_000)


def test_made_up_data_follow_from_public_numbers_alone() -> None:
    one, other = made_up(BOX, 500), made_up(Domain(((0.0, 1.0), (0.0, 1.0))), 500)
    assert one.dataset.n == 500
    assert BOX.contains(one.dataset.points).all()
    assert np.allclose(one.dataset.points - [2, 48], other.dataset.points)
    assert set(one.labels) == {-1, 0, 1, 2, 3, 4}
    assert one.places.shape == (5, 2)
    assert BOX.contains(one.places).all()


@pytest.mark.exhaustive(reason="another test rehearses hot spots of a city daily")
@pytest.mark.parametrize("small", [False, True])
def test_near_places_are_rehearsed_and_a_finer_grid_keeps_them_apart(small: bool) -> None:
    """Every second cluster lies near the one before it, inside the box, but does not overlap it."""
    stand_in = made_up(BOX, 20_000, small=small)
    spreads = [
        stand_in.dataset.points[stand_in.labels == one].std(axis=0).mean() for one in range(5)
    ]
    apart = np.linalg.norm(stand_in.places[:, None] - stand_in.places, axis=2)
    for one, other in ((0, 1), (2, 3)):
        assert 2.5 < apart[one, other] / (spreads[one] + spreads[other]) < 3.5
    assert (apart[4][:4] > apart[0, 1]).all()
    found = rehearse(plan(grid=16, density=0.9), stand_in, draws=4)
    assert found.best.request.config.grid > 16
    assert np.median(found.best.found.lost) < np.median(found.plan.found.lost)


def test_three_hot_spots_of_a_city_are_three_by_public_facts_alone() -> None:
    """Rides begin at three places 3 to 6 km apart; box, grid and p read no record."""
    spots = np.array([(12.375, 51.340), (12.345, 51.318), (12.430, 51.355)])
    random = np.random.default_rng(0)
    rides = spots[random.integers(0, 3, 2_500)] + random.normal(
        scale=(0.006, 0.0036), size=(2_500, 2)
    )
    rides[::10] = random.uniform((12.28, 51.29), (12.48, 51.40), (250, 2))
    city = cities()["Leipzig, Sachsen, Germany"]
    box = box_around(city, city_width(city))
    request = Request(
        config=replace(plan(method="twostage", choose="private").config), domain=box, outside="drop"
    )
    best = rehearse(request, made_up(box, 10_000, small=True), draws=4).best
    family, config = request.family, best.request.config
    material = family.material(Dataset(name="rides", points=rides), config, box, "drop")
    right = 0
    for seed in range(10):
        found = family.released(seeded_run(family, material, config, seed), box)
        labels = np.array(found["labels"])
        cells = ((spots - box.lows) / (box.highs - box.lows) * labels.shape).astype(int)
        right += sorted(labels[tuple(cells.T)]) == [1, 2, 3] and found["clusters"] == 3
    assert right >= 9


@given(
    wavelet=st.sampled_from(["haar", "db2", "bior2.2", "coif1"]),
    level=st.integers(1, 2),
    side=st.integers(16, 48),
    first=st.floats(0, 1, exclude_max=True),
    second=st.floats(0, 1, exclude_max=True),
)
def test_the_distance_at_which_two_places_become_one_is_right(
    wavelet: str, level: int, side: int, first: float, second: float
) -> None:
    """Blocks of nearer places touch. Places beyond the second distance raise no touching blocks."""
    family, cells = FAMILIES["wavecluster"], [int(side * at) for at in (first, second)]
    config = family.config(method="privqt", grid=side, wavelet=wavelet, level=level)
    (near, far), *_ = family.merging(config, 2)
    distance, number = abs(first - second), -(-side // 2**level)
    if distance < near:
        assert abs(cells[0] // 2**level - cells[1] // 2**level) <= 1
    if far <= distance <= 1 - far - 2**level / side:  # the transform is periodized
        one, other = (
            np.flatnonzero(average_subband(np.eye(side)[cell], wavelet, level) > 0)
            for cell in cells
        )
        gaps = np.abs(one[:, None] - other)
        assert np.minimum(gaps, number - gaps).min() > 1


def test_the_words_on_near_places_have_the_unit_of_the_columns() -> None:
    request = replace(plan(grid=50), domain=Domain(((12.266, 12.554), (51.245, 51.425))))
    assert merging_words(request, ("lon", "lat"), 1) == (
        "Two places closer than about 800 m become one; up to about 2.3 km they may, and noise "
        "can join farther ones."
    )
    assert merging_words(request, ("age", "pay"), 1) == (
        "Two places become one if they differ by less than about 0.012 in age and 0.0072 in pay; "
        "up to about 0.023 and 0.014 they may, and noise can join farther ones."
    )
    private = replace(request, config=replace(request.config, choose="private"))
    coarse, fine = (merging_words(private, ("lon", "lat"), n) for n in (100, 10**6))
    assert coarse != fine
    means = plan("kmeans", method="dplloyd", clusters=3)
    assert merging_words(means, ("lon", "lat"), 1) == ""


def counts(true: Any, found: Any) -> tuple[int, int]:
    table = contingency(np.array(true) + 1, np.array(found) + 1)
    real, again, _ = _matched(table, 1, of_cells=True)
    return int(real.sum()), int(again.sum())


def test_clusters_are_matched_one_to_one() -> None:
    true = np.array([0, 0, 0, 0, 1, 1, 1, 1, -1, -1])
    assert counts(true, true) == (2, 2)
    # One found cluster covers both true clusters. The found cluster matches one true cluster, which
    # is half of the found cluster.
    assert counts(true, np.where(true >= 0, 0, -1)) == (1, 1)
    # A found cluster of records in no true cluster matches nothing.
    assert counts(true, [0, 0, 0, 0, -1, -1, -1, -1, 1, 1]) == (1, 1)
    assert counts(true, np.full(10, -1)) == (0, 0)
    # Scattered records in a found cluster make it less similar to the true cluster.
    assert counts([0, 0, -1, -1, -1], [0] * 5) == (1, 0)


def test_a_rehearsal_stops_when_asked() -> None:
    with pytest.raises(Cancelled):
        rehearse(plan(grid=16), made_up(BOX, 100), draws=5, cancelled=lambda: True)


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.exhaustive(reason="one method of each family is rehearsed daily")
def test_all_methods_can_be_rehearsed(family: str) -> None:
    for name, method in FAMILIES[family].methods.items():
        if method.card.spends:
            found = rehearse(plan(family, method=name), made_up(BOX, 300), draws=2)
            assert found.plan.sentence.endswith(".")
            assert found.advice.endswith(".")


def test_a_cluster_inside_a_larger_one_is_joined_and_not_lost() -> None:
    # Rows: no cluster, then true clusters; columns: no cluster, then clusters of the draw.
    table = np.array([[50, 0, 0], [0, 100, 0], [10, 80, 0], [70, 0, 20], [0, 0, 30]])
    real, again, joined = _matched(table, 1, of_cells=True)
    assert real.tolist() == [True, True]
    assert again.tolist() == [True, False, False, True]
    assert joined.tolist() == [False, True, False, False]
