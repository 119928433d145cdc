"""Release noise: its distribution, its certificates, its budget; different in each run."""

from __future__ import annotations

import math
import subprocess
import sys
from dataclasses import replace
from fractions import Fraction
from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy import stats

from dpviz.base.errors import InputError, PrivacyRefusal
from dpviz.data.samples import load_sample
from dpviz.grid.domain import Domain
from dpviz.kmeans.methods import METHODS as KMEANS
from dpviz.kmeans.parameters import KMeansConfig
from dpviz.kmeans.passes import cluster_sums
from dpviz.kmeans.records import Records
from dpviz.kmeans.space import GEOMETRIES, Geometry, Space
from dpviz.privacy import secure as module
from dpviz.privacy.ledger import RELATIONS, Ledger, Neighbours
from dpviz.privacy.mechanisms import Accountant
from dpviz.privacy.noise_source import SeededNoise
from dpviz.privacy.secure import LATTICE, CertifiedSpend, SecureAccountant, on_lattice, on_line
from dpviz.wavecluster.methods import METHODS as WAVECLUSTER
from dpviz.wavecluster.parameters import SYNOPSES, Config
from dpviz.wavecluster.pipeline import Source
from tests.support.tiers import examples

#: Release noise has no seed, so each statistical test fails by chance with this probability.
FALSE_ALARM = 1e-6

quick = examples(40)

units = st.builds(Neighbours, relation=st.sampled_from(RELATIONS), cap=st.integers(1, 50))


def one_spend(accountant: SecureAccountant) -> CertifiedSpend:
    (spend,) = accountant.ledger
    assert isinstance(spend, CertifiedSpend)
    return spend


def fits(drawn: NDArray[np.integer], law: stats.rv_discrete) -> float:
    """P-value of whole numbers under their distribution; rare values are combined."""
    few = 20 / len(drawn)
    low, high = int(law.ppf(few)), int(law.isf(few))
    edges = np.arange(low, high + 1)
    chances = np.concatenate(([law.cdf(low)], law.pmf(edges[1:-1]), [law.sf(high - 1)]))
    seen = np.bincount(np.clip(drawn, low, high) - low, minlength=len(chances))
    return float(stats.chisquare(seen, chances * len(drawn)).pvalue)


# -- discrete Laplace ----------------------------------------------------------------------


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 3.0])
def test_released_counts_follow_the_discrete_laplace_law(epsilon: float) -> None:
    counts = np.arange(10_000).reshape(100, 100)
    noisy = SecureAccountant(epsilon).laplace("counts", counts, sensitivity=1, epsilon=epsilon)
    assert noisy.shape == counts.shape
    noise = (noisy - counts).astype(int)
    np.testing.assert_array_equal(noisy, counts + noise)
    assert fits(noise.ravel(), stats.dlaplace(epsilon)) > FALSE_ALARM
    # The noise of neighbouring cells is independent.
    assert stats.spearmanr(noise[:, :-1].ravel(), noise[:, 1:].ravel()).pvalue > FALSE_ALARM


def test_the_law_has_the_scale_of_its_neighbours() -> None:
    accountant = SecureAccountant(0.5, Neighbours(relation="replace_one", cap=3))
    noisy = accountant.laplace("counts", np.full(10_000, 4), sensitivity=2, epsilon=0.5)
    assert fits((noisy - 4).astype(int), stats.dlaplace(0.5 / 12)) > FALSE_ALARM
    assert (one_spend(accountant).sensitivity, one_spend(accountant).scale) == (12, 24)


def test_a_wrong_law_would_be_seen() -> None:
    drawn = stats.dlaplace(1.1).rvs(10_000, random_state=0)
    assert fits(drawn, stats.dlaplace(1.0)) < FALSE_ALARM
    rounded = np.rint(np.random.default_rng(0).laplace(size=10_000)).astype(int)
    assert fits(rounded, stats.dlaplace(1.0)) < FALSE_ALARM


def test_noise_on_a_fine_lattice_is_nearly_laplace() -> None:
    accountant = SecureAccountant(0.5, unit=LATTICE)
    noisy = accountant.laplace("sums", np.full(10_000, 0.25), sensitivity=3, epsilon=0.5)
    whole = noisy / LATTICE
    np.testing.assert_array_equal(whole, np.rint(whole))
    assert stats.kstest(noisy, stats.laplace(loc=0.25, scale=6).cdf).pvalue > FALSE_ALARM
    assert one_spend(accountant).scale == pytest.approx(6, rel=1e-12)


def test_noise_on_a_number_is_a_number() -> None:
    noisy = SecureAccountant(1.0).laplace("n", 7, sensitivity=1, epsilon=1.0)
    assert noisy.shape == ()
    assert float(noisy).is_integer()


def test_large_grids_fit() -> None:
    counts = np.zeros((256, 256), dtype=np.int64)
    noisy = SecureAccountant(1.0).laplace("counts", counts, sensitivity=1, epsilon=1.0)
    assert noisy.shape == counts.shape
    assert noisy.std() == pytest.approx(math.sqrt(stats.dlaplace(1.0).var()), rel=0.1)


def test_nothing_can_be_drawn_again() -> None:
    def draws() -> list[NDArray[np.float64]]:
        np.random.seed(0)  # noqa: NPY002 - no global seed may matter
        accountant = SecureAccountant(0.2)
        noisy = accountant.laplace("counts", np.zeros(200), sensitivity=1, epsilon=0.1)
        _, value = accountant.interval(
            "t", np.array([0.0, 1.0]), np.zeros(1), sensitivity=1, epsilon=0.1
        )
        start = accountant.noise.generator("start")
        again = accountant.noise.generator("start")
        return [noisy, np.array(value), start.random(9), again.random(9)]

    one, other = draws(), draws()
    assert not np.array_equal(one[0], other[0])
    for left, right in ((one[2], other[2]), (one[2], one[3]), (other[2], other[3])):
        assert not np.array_equal(left, right)
    values = {float(one[1]), float(other[1]), *(float(draws()[1]) for _ in range(4))}
    assert len(values) > 1


@pytest.mark.parametrize("law", ["laplace", "gumbel"])
def test_no_noise_is_drawn_past_the_accountant(law: str) -> None:
    noise = SecureAccountant(1.0).noise
    for draw in (lambda: getattr(noise, law)("x", 1.0, (2,)), lambda: noise.uniform("x", (2,))):
        with pytest.raises(PrivacyRefusal, match=r"step x draws noise without the accountant.*\.$"):
            draw()


# -- disjoint rows -------------------------------------------------------------------------


def test_each_disjoint_row_has_the_law_of_its_own_budget() -> None:
    shares = np.array([0.25, 1.0, 0.5])
    accountant = SecureAccountant(1.0)
    noisy = accountant.laplace_disjoint(
        "rows", np.full((3, 10_000), 7.0), sensitivity=2, epsilons=shares
    )
    for row, share in zip(noisy, shares, strict=True):
        assert fits((row - 7).astype(int), stats.dlaplace(share / 2)) > FALSE_ALARM
    assert [spend.epsilon for spend in accountant.ledger] == [0.25, 1.0, 0.5]
    # Rows depend on disjoint records, so only the largest budget is spent, also by the privacy
    # maps.
    assert accountant.ledger.epsilon == 1.0
    assert 1 - 1e-15 <= accountant.certified <= 1
    with pytest.raises(PrivacyRefusal):
        accountant.laplace("more", 0, sensitivity=1, epsilon=1e-6)


@pytest.mark.parametrize("wrong", [1.1, 0.0, -0.5, math.nan, math.inf])
def test_a_row_that_can_not_be_paid_for_takes_all_rows_along(wrong: float) -> None:
    accountant = SecureAccountant(1.0)
    accountant.laplace("before", 0, sensitivity=1, epsilon=0.1)
    before = accountant.ledger
    with pytest.raises(PrivacyRefusal, match="step rows asks for epsilon"):
        accountant.laplace_disjoint(
            "rows", np.zeros((3, 2)), sensitivity=1, epsilons=np.array([0.5, wrong, 0.7])
        )
    assert accountant.ledger == before


# -- permute and flip ----------------------------------------------------------------------


def permute_and_flip(scores: list[float], scale: float) -> list[float]:
    """Exact probabilities of the first candidate, in random order, whose coin shows heads.

    A coin shows heads with probability exp((score - best) / scale). The coin of the best candidate
    always shows heads, so the loop ends there at the latest.
    """
    chances = [math.exp((score - max(scores)) / scale) for score in scores]
    law, orders = [0.0] * len(scores), list(permutations(range(len(scores))))
    for order in orders:
        left = 1 / len(orders)
        for number in order:
            law[number] += left * chances[number]
            left *= 1 - chances[number]
    return law


@pytest.mark.some(1)
@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("monotone", [True, False])
def test_candidates_are_chosen_by_permute_and_flip(relation: str, monotone: bool) -> None:
    scores = np.array([-3, 0, -np.inf, 1, -8, 1])
    chosen = np.zeros(len(scores))
    for _ in range(1000):
        accountant = SecureAccountant(1.5, Neighbours(relation=relation))
        number = accountant.choose("c", scores, sensitivity=2, epsilon=1.5, monotone=monotone)
        chosen[number] += 1
    records = 2 if relation == "replace_one" else 1
    scale = 2 * records * (1 if monotone else 2) / 1.5
    assert chosen[2] == 0
    law = permute_and_flip([score for score in scores if score > -np.inf], scale)
    expected = 1000 * np.array(law)
    assert stats.chisquare(np.delete(chosen, 2), expected).pvalue > FALSE_ALARM
    spend = one_spend(accountant)
    assert spend.scale == pytest.approx(scale, rel=1e-12)
    assert (spend.sensitivity, spend.mechanism) == (2 * records, "permute and flip")


@quick
@given(
    steps=st.lists(st.sampled_from([0.0, 0.5, 1.0, 8.0]), max_size=12),
    neighbours=units,
)
def test_a_threshold_is_a_candidate_that_the_data_does_not_move(
    steps: list[float], neighbours: Neighbours
) -> None:
    edges = np.concatenate(([0.0], np.cumsum(steps), [sum(steps) + 0.5]))
    scores = -np.abs(np.arange(len(edges) - 1) - 2.0)
    accountant = SecureAccountant(1.0, neighbours)
    index, value = accountant.interval("threshold", edges, scores, sensitivity=1, epsilon=1.0)
    assert edges[index] < value <= edges[index + 1]
    assert value in on_line(0.0, edges[-1])
    spend = one_spend(accountant)
    assert spend.sensitivity == neighbours.multiplier
    assert spend.scale == pytest.approx(2 * neighbours.multiplier, rel=1e-12)


def test_thresholds_have_the_law_of_their_scores(monkeypatch: pytest.MonkeyPatch) -> None:
    # Four candidates, 1 to 4, in three intervals; one interval contains no candidate.
    monkeypatch.setattr(module, "CANDIDATES", 4)
    edges, scores = np.array([0.0, 2.5, 2.75, 3.5, 4.0]), np.array([0.0, 9.0, 2.0, 1.0])
    drawn = []
    for _ in range(1000):
        accountant = SecureAccountant(2.0)
        drawn.append(accountant.interval("t", edges, scores, sensitivity=1, epsilon=2.0))
    assert set(drawn) == {(0, 1.0), (0, 2.0), (2, 3.0), (3, 4.0)}
    seen = [drawn.count(one) for one in ((0, 1.0), (0, 2.0), (2, 3.0), (3, 4.0))]
    expected = 1000 * np.array(permute_and_flip([0, 0, 2, 1], 1.0))
    assert stats.chisquare(seen, expected).pvalue > FALSE_ALARM


@quick
@given(low=st.floats(-1e6, 1e6), width=st.floats(1e-3, 1e9))
def test_candidates_reach_from_end_to_end(low: float, width: float) -> None:
    line = on_line(low, low + width)
    assert len(line) == module.CANDIDATES
    assert low < line[0] <= line[-1] <= low + width
    assert line[-1] == pytest.approx(low + width)
    assert (np.diff(line) > 0).all()


@pytest.mark.parametrize("ends", [(0.0, 0.0), (1.0, 0.0), (0.0, math.inf), (math.nan, 1.0)])
def test_candidates_need_two_ends(ends: tuple[float, float]) -> None:
    with pytest.raises(InputError, match=r"^candidates = .* give a lower and a higher end\.$"):
        on_line(*ends)


# -- budget and certificate ----------------------------------------------------------------


@quick
@given(
    neighbours=units,
    sensitivity=st.integers(1, 1000),
    epsilon=st.floats(1e-6, 1e3),
    unit=st.sampled_from([1.0, 2.0**-10, LATTICE]),
)
def test_the_map_says_epsilon_and_never_more(
    neighbours: Neighbours, sensitivity: int, epsilon: float, unit: float
) -> None:
    accountant = SecureAccountant(epsilon, neighbours, unit=unit)
    accountant.laplace("counts", np.zeros(2), sensitivity=sensitivity, epsilon=epsilon)
    spend = one_spend(accountant)
    assert epsilon * (1 - 1e-15) <= spend.certified <= epsilon == spend.epsilon
    assert accountant.certified == spend.certified
    # The formula of the privacy map, without rounding.
    assert spend.sensitivity == sensitivity * neighbours.multiplier
    assert Fraction(spend.sensitivity) / Fraction(spend.scale) <= Fraction(spend.certified)
    assert spend.scale == pytest.approx(spend.sensitivity / epsilon, rel=1e-15)


def test_a_map_that_rounds_up_costs_a_hair_of_noise() -> None:
    accountant = SecureAccountant(0.7)
    accountant.laplace("counts", 0, sensitivity=1, epsilon=0.7)
    assert module._LAPLACE.build(1 / 0.7).map(1) > 0.7  # type: ignore[no-untyped-call]
    assert one_spend(accountant).certified == 0.7
    assert one_spend(accountant).scale == math.nextafter(1 / 0.7, 2)


@quick
@given(
    shares=st.lists(st.floats(1e-3, 1.0), min_size=1, max_size=6),
    budget=st.floats(1e-3, 1e3),
    data=st.data(),
)
def test_maps_never_exceed_the_budget(shares: list[float], budget: float, data: st.DataObject):
    accountant = SecureAccountant(budget)
    for number, share in enumerate(shares):
        epsilon = budget * share / sum(shares)
        kind = data.draw(st.sampled_from(["laplace", "rows", "choose", "interval"]))
        step = f"step {number}"
        if kind == "laplace":
            accountant.laplace(step, 1, sensitivity=1, epsilon=epsilon)
        elif kind == "rows":
            accountant.laplace_disjoint(
                step, np.eye(2), sensitivity=1, epsilons=np.array([epsilon, epsilon / 2])
            )
        elif kind == "choose":
            accountant.choose(step, np.arange(3.0), sensitivity=1, epsilon=epsilon)
        else:
            accountant.interval(
                step, np.array([0.0, 1.0]), np.zeros(1), sensitivity=1, epsilon=epsilon
            )
    assert accountant.ledger.epsilon == pytest.approx(budget, rel=1e-9)
    certified = Ledger(
        tuple(replace(spend, epsilon=spend.certified) for spend in accountant.ledger)
    )
    assert certified.epsilon == pytest.approx(budget, rel=1e-9)
    assert accountant.certified <= budget
    sequential = [Fraction(s.certified) for s in certified if s.composition == "sequential"]
    rows = [Fraction(s.certified) for s in certified if s.composition == "parallel"][::2]
    assert sum(sequential) + sum(rows) <= Fraction(budget)
    with pytest.raises(PrivacyRefusal):
        accountant.laplace("more", 0, sensitivity=1, epsilon=budget * 1e-6)


def test_a_map_that_says_something_else_is_believed(monkeypatch: pytest.MonkeyPatch) -> None:
    # If another version of OpenDP defined neighbours differently, no noise would be drawn.
    monkeypatch.setattr(module, "_LAPLACE", replace(module._LAPLACE, factor=0.5))
    accountant = SecureAccountant(1.0)
    with pytest.raises(PrivacyRefusal, match=r"OpenDP certifies epsilon 2 .* instead of 1\.$"):
        accountant.laplace("x", 0, sensitivity=1, epsilon=1.0)
    assert accountant.ledger.spends == ()


@quick
@given(st.fractions(min_value=0, max_value=10**6))
def test_what_is_certified_is_rounded_up(value: Fraction) -> None:
    near = module._above(value)
    assert Fraction(math.nextafter(near, -1)) < value <= Fraction(near)


def test_the_last_share_gives_way_to_rounding() -> None:
    # 0.1 + 0.2 is more than 0.3 in double precision. Both amounts are granted, but the certified
    # sum stays below 0.3.
    accountant = SecureAccountant(0.3)
    accountant.laplace("a", 0, sensitivity=1, epsilon=0.1)
    accountant.laplace("b", 0, sensitivity=1, epsilon=0.2)
    a, b = (spend.certified for spend in accountant.ledger)  # type: ignore[attr-defined]
    assert Fraction(a) + Fraction(b) <= Fraction(0.3) < Fraction(0.1) + Fraction(0.2)
    # The remaining budget is smaller than a rounding error, so nothing more is granted.
    with pytest.raises(PrivacyRefusal):
        accountant.laplace("c", 0, sensitivity=1, epsilon=1e-10)


@pytest.mark.parametrize("wrong", [1.1, 0.0, -1.0, math.nan, math.inf])
def test_over_budget_is_refused_and_spends_nothing(wrong: float) -> None:
    accountant = SecureAccountant(1.0)
    edges = np.array([0.0, 1.0])
    for call in (
        lambda: accountant.laplace("x", 0, sensitivity=1, epsilon=wrong),
        lambda: accountant.choose("x", np.zeros(2), sensitivity=1, epsilon=wrong),
        lambda: accountant.interval("x", edges, np.zeros(1), sensitivity=1, epsilon=wrong),
    ):
        with pytest.raises(PrivacyRefusal, match="step x asks for epsilon"):
            call()
    assert accountant.ledger.spends == ()


@pytest.mark.parametrize("budget", [0, -1, math.nan, math.inf, "1", True])
def test_a_budget_is_a_number(budget: float) -> None:
    with pytest.raises(InputError, match="epsilon = "):
        SecureAccountant(budget)


@pytest.mark.parametrize("unit", [0, -1, 0.3, 2.0, math.nan, math.inf])
def test_a_unit_is_a_power_of_two(unit: float) -> None:
    with pytest.raises(InputError, match="unit = "):
        SecureAccountant(1.0, unit=unit)


@pytest.mark.parametrize("value", [0.5, math.nan, math.inf, -math.inf, 1 + 2**-30])
def test_values_that_are_no_whole_numbers_are_refused_and_spend_nothing(value: float) -> None:
    accountant = SecureAccountant(1.0)
    values = np.array([1.0, value])
    for call in (
        lambda: accountant.laplace("x", values, sensitivity=1, epsilon=1.0),
        lambda: accountant.laplace_disjoint(
            "x", values[:, None], sensitivity=1, epsilons=np.ones(2)
        ),
        # A score of -infinity excludes a candidate.
        lambda: accountant.choose("x", np.abs(values), sensitivity=1, epsilon=1.0),
    ):
        with pytest.raises(PrivacyRefusal) as error:
            call()
        # The error does not contain the value.
        assert str(error.value) == (
            "step x can't be released: its values are not whole multiples of 1, and only whole "
            "multiples get secure noise."
        )
    assert accountant.ledger.spends == ()


@pytest.mark.parametrize("unit", [1.0, LATTICE])
def test_values_beyond_2_53_units_are_cut_and_never_refused(unit: float) -> None:
    """A refusal would reveal that a record makes a value reach the limit."""
    accountant = SecureAccountant(1.0, unit=unit)
    most = 2.0**53 * unit
    values = np.array([most - unit, most, 2 * most, -3 * most, 1e300])
    noisy = accountant.laplace("x", values, sensitivity=unit, epsilon=1.0)
    # The scale is 1 unit, so noise above 100 units has the probability e^-100.
    assert np.abs(noisy - np.clip(values, -most, most)).max() <= 100 * unit


@pytest.mark.parametrize(("sensitivity", "epsilon"), [(1e300, 1.0), (2**50, 1e-6)])
def test_noise_that_integers_can_not_hold_is_refused(sensitivity: float, epsilon: float) -> None:
    accountant = SecureAccountant(1.0)
    with pytest.raises(PrivacyRefusal, match=r"^step x needs noise of scale .*\.$"):
        accountant.laplace("x", 0, sensitivity=sensitivity, epsilon=epsilon)
    assert accountant.ledger.spends == ()


def test_a_fractional_sensitivity_is_rounded_up() -> None:
    accountant = SecureAccountant(1.0)
    accountant.laplace("x", 0, sensitivity=2.5, epsilon=1.0)
    assert (one_spend(accountant).sensitivity, one_spend(accountant).scale) == (3, 3)


def test_opendp_is_loaded_by_a_release_alone() -> None:
    script = (
        "import sys, dpviz.privacy.secure as s; a = s.SecureAccountant(1.0); "
        "assert not [m for m in sys.modules if m.startswith('opendp')]; "
        "a.laplace('x', 1, sensitivity=1, epsilon=1.0); assert 'opendp' in sys.modules"
    )
    subprocess.run([sys.executable, "-W", "error", "-c", script], check=True, timeout=60)


# -- counts and sums of k-means ------------------------------------------------------------


boxes = Domain(((-3.0, 7.0), (0.1, 0.3), (5.0, 1e6)))


@quick
@given(
    place=st.lists(
        st.floats(-1, 2) | st.sampled_from([0.0, 1.0, 0.1, 1 / 3]), min_size=3, max_size=3
    ),
    geometry=st.sampled_from(GEOMETRIES),
    seed=st.integers(0, 99),
)
def test_one_record_changes_counts_and_sums_by_the_sensitivity(
    place: list[float], geometry: Geometry, seed: int
) -> None:
    rng, space = np.random.default_rng(seed), Space(boxes, geometry)
    points = boxes.lows + rng.random((40, 3)) * (boxes.highs - boxes.lows)
    new = boxes.lows + np.clip(place, 0, 1) * (boxes.highs - boxes.lows)
    centers = space.scale(points[:4])
    tables = []
    for data in (points, np.vstack([points[:9], new, points[9:]])):
        table = Records(points=data, domain=boxes, cut=True).sums(space, centers) / LATTICE
        np.testing.assert_array_equal(table, np.rint(table))
        tables.append(table.astype(np.int64))
    assert np.abs(tables[1] - tables[0]).sum() <= space.sensitivity / LATTICE


def test_sums_on_the_lattice_are_exact_in_any_order() -> None:
    rng = np.random.default_rng(0)
    points = on_lattice(rng.uniform(-1, 1, (5000, 2)))
    found = cluster_sums(points, np.zeros((1, 2)))[0, 1:]
    exact = [sum(Fraction(x) for x in column) for column in points.T.tolist()]
    assert [Fraction(x) for x in found.tolist()] == exact
    np.testing.assert_array_equal(cluster_sums(points[::-1].copy(), np.zeros((1, 2)))[0, 1:], found)


def test_cutting_moves_no_record_far_and_none_outwards() -> None:
    rng = np.random.default_rng(0)
    points = np.vstack([rng.uniform(-1, 1, (1000, 4)), [[1, -1, 0, LATTICE / 2]]])
    cut = on_lattice(points)
    assert (np.abs(cut) <= np.abs(points)).all()
    assert (np.abs(cut - points) < 1e-6).all()
    np.testing.assert_array_equal(on_lattice(cut), cut)


def test_records_off_the_lattice_are_refused() -> None:
    sample = load_sample("gaussians")
    accountant = SecureAccountant(1.0, unit=LATTICE)
    with pytest.raises(PrivacyRefusal, match=r"step iteration 1 can't be released: its values are"):
        KMEANS["dplloyd"].run(
            Records.build(sample), KMeansConfig(method="dplloyd", clusters=3), accountant
        )


# -- the methods, unchanged ----------------------------------------------------------------


@pytest.fixture(scope="module")
def source() -> Source:
    return Source.build(load_sample("gaussians"), 32)


@pytest.fixture(scope="module")
def records() -> Records:
    built = Records.build(load_sample("gaussians"))
    return Records(points=built.points[:4000], domain=built.domain, cut=True)


def same_ledger(secure: SecureAccountant, plain: Accountant) -> None:
    """The release has the explorer's ledger, and its certificates do not exceed this ledger."""
    left = [(s.step, s.composition, s.sensitivity) for s in secure.ledger]
    assert left == [(s.step, s.composition, s.sensitivity) for s in plain.ledger]
    for one, other in zip(secure.ledger, plain.ledger, strict=True):
        assert isinstance(one, CertifiedSpend)
        assert one.certified <= one.epsilon
        if one.composition == "sequential":
            assert one.epsilon == pytest.approx(other.epsilon, rel=1e-12)
            assert one.scale == pytest.approx(other.scale, rel=1e-9)
    assert secure.ledger.epsilon == pytest.approx(secure.budget, rel=1e-9)
    assert secure.budget * (1 - 1e-9) <= secure.certified <= secure.budget


@pytest.mark.parametrize(
    ("method", "options"),
    [
        ("privqt", {}),
        ("privthr", {}),
        ("privthr", {"wavelet": "bior2.2", "level": 2}),
        ("privthrem", {}),
        ("privthrem", {"wavelet": "db2"}),
        *(("baseline", {"synopsis": synopsis}) for synopsis in SYNOPSES),
    ],
)
@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("unit", [1.0, LATTICE])
def test_wavecluster_techniques_run_unchanged(
    source: Source, method: str, options: dict, relation: str, unit: float
) -> None:
    unit_of = Neighbours(relation=relation)
    config = Config(method=method, epsilon=0.7, grid=32, neighbours=unit_of, **options)
    secure = SecureAccountant(0.7, unit_of, unit=unit)
    plain = Accountant(SeededNoise(0), 0.7, unit_of)
    run = WAVECLUSTER[method].run(source, config, secure)
    WAVECLUSTER[method].run(source, config, plain)
    assert run.stages.n_clusters > 0
    if options.get("synopsis") not in ("adaptive_grid", "privelet", "quadtree"):
        same_ledger(secure, plain)
    assert secure.ledger.epsilon == pytest.approx(0.7, rel=1e-9)
    assert 0.7 * (1 - 1e-9) <= secure.certified <= 0.7
    if method != "baseline" and unit == 1:
        np.testing.assert_array_equal(run.stages.counts, np.rint(run.stages.counts))


@pytest.mark.parametrize(
    "method",
    [
        "dplloyd",
        "dpkmeanspp",
        "dpkmeansup",
        "dpkmeans_mapreduce",
        "contour",
        "mcmc",
        "eugkm",
        "hybrid",
    ],
)
def test_k_means_methods_run_unchanged_on_cut_records(records: Records, method: str) -> None:
    config = KMeansConfig(method=method, clusters=5, epsilon=0.7)
    centers = []
    for _ in range(2):
        secure = SecureAccountant(0.7, unit=LATTICE)
        run = KMEANS[method].run(records, config, secure)
        assert run.centers.shape == (5, 2)
        assert records.domain.contains(run.centers).all()
        assert secure.ledger.epsilon == pytest.approx(0.7, rel=1e-9)
        assert 0.7 * (1 - 1e-9) <= secure.certified <= 0.7
        centers.append(run.centers)
    assert not np.array_equal(*centers)


@pytest.mark.parametrize("geometry", GEOMETRIES)
def test_dplloyd_spends_as_explored_and_finds_what_is_there(
    records: Records, geometry: Geometry
) -> None:
    config = KMeansConfig(method="dplloyd", clusters=5, epsilon=1e4, geometry=geometry)
    secure = SecureAccountant(1e4, unit=LATTICE)
    plain = Accountant(SeededNoise(0), 1e4)
    KMEANS["dplloyd"].run(records, config, secure)
    KMEANS["dplloyd"].run(records, config, plain)
    same_ledger(secure, plain)


def test_eugkm_needs_no_lattice(records: Records) -> None:
    secure = SecureAccountant(0.5)
    config = KMeansConfig(method="eugkm", clusters=5, epsilon=0.5)
    run = KMEANS["eugkm"].run(records, config, secure)
    assert run.centers.shape == (5, 2)
    assert [spend.step for spend in secure.ledger] == ["cells: records", "cells"]
