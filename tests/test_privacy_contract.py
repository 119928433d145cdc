"""The contract of every private method: each step costs exactly one person's change.

A method runs on a data set D and on all its neighbours D' in a small family. In every run, the
mechanisms return the answers of D. So the requests to the mechanisms differ only by the changes of
the persons. The test compares the largest change with the sensitivities on the ledger.
"""

from __future__ import annotations

import math
import operator
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, cached_property, reduce
from itertools import combinations_with_replacement
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.spatial.distance import cdist

from dpviz.audit.transcript import HIDDEN
from dpviz.base.errors import PrivacyRefusal
from dpviz.data.dataset import Dataset
from dpviz.data.units import cap_records
from dpviz.families import CARDS
from dpviz.grid.domain import Domain
from dpviz.kmeans.methods import METHODS as KMEANS
from dpviz.kmeans.parameters import DEFAULTS, STARTS, KMeansConfig
from dpviz.kmeans.records import Records
from dpviz.kmeans.space import GEOMETRIES
from dpviz.privacy.ledger import RELATIONS, Ledger, Neighbours, Relation
from dpviz.privacy.mechanisms import Accountant, k_norm
from dpviz.privacy.noise_source import SeededNoise
from dpviz.wavecluster.methods import METHODS as WAVECLUSTER
from dpviz.wavecluster.parameters import SYNOPSES, Config
from dpviz.wavecluster.pipeline import Source
from dpviz.wavecluster.wavelet import average_subband
from tests.support.replaying import Recorder, Request, on_the_line
from tests.support.tiers import daily

pytestmark = pytest.mark.usefixtures("quick_after_the_mechanisms")

CAPS = (1, 2, 5)
EPSILONS = (0.1, 1.0, 7.3)

#: Budget of the runs on neighbours; it is enough for grids of several cells.
EPSILON = 4.0

WAVELETS = (("haar", 1), ("haar", 2), ("db2", 1), ("db2", 2), ("bior2.2", 1), ("bior2.2", 2))

#: For at most 125 coefficients and this p, the target k is the number of positive coefficients. So
#: the score of a threshold x is the number of coefficients between 0 and x.
DENSITY = 0.001

#: For each level, number of cells between two records of a person: their responses don't overlap.
APART = {1: 8, 2: 20}

#: The wavelet whose score changes most if coefficients also fall below zero. Then counts, and the
#: cell where one more record moves two coefficients below zero and one above a threshold.
FALLING = ("bior2.2", 1)
TILE, TILE_CELL = (1, 1, 0, 0, 0, 1), 0

DOMAIN = Domain(((-1.0, 3.0), (0.0, 2.0)))

#: Positions of persons' records, in coordinates from 0 to 1: three corners, and one inside.
CORNERS = ((1.0, 1.0), (0.0, 0.0), (0.0, 1.0), (0.3, 0.6))

#: Two records of a block, each a centre. If a third record is in a corner on the left, it becomes
#: the first centre, and the two records share a centre: a change far above half the bound.
PAIR = ((1.0, 0.05), (1.0, 0.95))


@dataclass(frozen=True, kw_only=True, eq=False)
class Case:
    """A private way to run a method, a data set D, and possible positions of a person's records.

    For WaveCluster, ``base`` has counts and ``places`` has cells; for k-means, both have records.
    """

    method: str
    variant: Any = "sound"
    options: dict[str, Any] = field(default_factory=dict)
    base: NDArray[Any]
    places: tuple[Any, ...]
    columns: int = 2

    def __str__(self) -> str:
        words = [self.method, *(str(value) for value in self.options.values())]
        words += [] if self.variant == "sound" else [self.variant]
        words += [] if self.columns == 2 else [f"{self.columns} columns"]
        return "-".join([*words, "x".join(map(str, self.base.shape))])

    def config(self, epsilon: float, unit: Neighbours) -> Config | KMeansConfig:
        kind = Config if self.method in WAVECLUSTER else KMeansConfig
        return kind(
            method=self.method,
            variant=self.variant,
            epsilon=epsilon,
            neighbours=unit,
            **self.options,
        )

    def run(self, accountant: Accountant, epsilon: float, person: Sequence[int] = ()) -> Any:
        """Run on D plus the records of one more person."""
        config = self.config(epsilon, accountant.neighbours)
        if isinstance(config, Config):
            counts = self.base.copy()
            for place in person:
                counts[self.places[place]] += 1
            source = Source.build(Dataset(name="", counts=counts), counts.shape)
            return WAVECLUSTER[self.method].run(source, config, accountant)
        joined = [self.places[place] for place in person]
        unit_points = np.vstack([self.base, np.reshape(joined, (-1, 2))])
        points = DOMAIN.lows + unit_points * (DOMAIN.highs - DOMAIN.lows)
        # Further columns repeat the two columns.
        repeated = np.arange(self.columns) % 2
        domain = Domain(tuple(DOMAIN.bounds[axis] for axis in repeated))
        records = Records.build(Dataset(name="", points=points[:, repeated]), domain)
        return KMEANS[self.method].run(records, config, accountant)

    @property
    def adaptive(self) -> bool:
        """Whether the requests depend on the noise, and therefore also on the unit."""
        return self.method in ("twostage", "dprefine")

    @cached_property
    def own_draws(self) -> bool:
        """Whether each record chooses a set or block at random, so that results depend on it."""
        noise = Asked(0)
        self.run(Accountant(noise, EPSILON), EPSILON)
        return not noise.asked.isdisjoint(HIDDEN)


# -- cases: every private variant, with every start, geometry, synopsis and some wavelets -----


def wavelet_cases(method: str, variant: str) -> Iterator[Case]:
    """One plane for each wavelet and level; responses to a person's records do not overlap."""
    for wavelet, level in WAVELETS:
        options = {"wavelet": wavelet, "level": level, "density": DENSITY}
        apart = APART[level]
        shape = (apart, apart * max(CAPS))
        row, column = most_raising(wavelet, level, shape)
        yield Case(
            method=method,
            variant=variant,
            options=options,
            # Z of PrivTHR changes most without records; a rank, if all coefficients are equal.
            base=np.full(shape, int(method != "privthr")),
            places=tuple((row, column + apart * place) for place in range(max(CAPS))),
        )
    yield Case(
        method=method,
        variant=variant,
        options={"wavelet": FALLING[0], "level": FALLING[1], "density": DENSITY},
        base=np.tile(TILE, max(CAPS)),
        places=tuple(TILE_CELL + len(TILE) * place for place in range(max(CAPS))),
    )


def most_raising(wavelet: str, level: int, shape: tuple[int, ...]) -> tuple[int, ...]:
    """Cell of the first block in which a record raises the most coefficients; tries every cell."""

    def raised(cell: tuple[int, ...]) -> int:
        counts = np.zeros(shape)
        counts[cell] = 1
        return int((average_subband(counts, wavelet, level) > 0).sum())

    return max(np.ndindex((2**level,) * len(shape)), key=raised)


def staged_cases(method: str, variant: str) -> Iterator[Case]:
    """The planes of `wavelet_cases` with two dense places; persons are in dense and empty cells."""
    for case in wavelet_cases(method, variant):
        base = np.zeros_like(case.base)
        for place in case.places[:2]:
            base[place] = 1000
        yield replace(case, base=base, places=case.places[:3])


def synopsis_cases(method: str) -> Iterator[Case]:
    base = np.random.default_rng(0).poisson(1.0, (8, 8))
    for synopsis in SYNOPSES:
        places = ((0, 0), (7, 7), (0, 7), (5, 2))
        yield Case(method=method, options={"synopsis": synopsis}, base=base, places=places)


def kmeans_cases(method: str, variant: str) -> Iterator[Case]:
    """Every start with the default geometry, and every geometry with the default start."""
    known = DEFAULTS[method]
    fixed = {"clusters": 2} | ({"iterations": 2} if "iterations" in known else {})
    # Both options are always given, because a case is judged by its options.
    usual = {name: known[name] for name in ("start", "geometry") if name in known}
    choices = [usual] + [
        usual | {name: one}
        for name, offered in (("start", STARTS), ("geometry", GEOMETRIES))
        for one in offered
        if one != usual.get(name, one) and one not in CARDS[method].variant(variant).fails
    ]
    base = np.random.default_rng(1).random((40, 2))
    for choice in choices:
        yield Case(
            method=method,
            variant=variant,
            options=fixed | choice,
            base=base,
            places=CORNERS,
        )
    if method == "dprefine":
        # 2000 records are enough for residual steps, also after the tree for six columns. 300
        # records give a grid of the box in six columns, and a grid of a projection in nine columns.
        # 40 records give a plain grid.
        many = np.random.default_rng(2).random((2000, 2))
        for columns, n in ((2, 2000), (6, 2000), (6, 300), (6, 40), (9, 300)):
            yield Case(method=method, options=fixed, base=many[:n], places=CORNERS, columns=columns)
    if method == "gupt":  # few enough records for one block
        yield Case(method=method, options=fixed, base=np.array(PAIR), places=CORNERS)


def all_cases() -> Iterator[Case]:
    for name, card in CARDS.items():
        for variant in card.variants:
            if variant.private and card.family == "kmeans":
                yield from kmeans_cases(name, variant.name)
            elif variant.private and name == "baseline":
                yield from synopsis_cases(name)
            elif variant.private and name == "twostage":
                yield from staged_cases(name, variant.name)
            elif variant.private:
                yield from wavelet_cases(name, variant.name)


CASES = tuple(all_cases())


# -- bounds only: all other sensitivities must occur as changes -----------------------------------


@dataclass(frozen=True, kw_only=True)
class Bound:
    """A step whose change is always less than its sensitivity here, with the reason."""

    step: str
    why: str
    relations: tuple[Relation, ...] = RELATIONS
    where: Callable[[Case], bool] = lambda _: True

    def covers(self, case: Case, relation: Relation, step: str) -> bool:
        return (
            re.fullmatch(self.step, step) is not None
            and relation in self.relations
            and self.where(case)
        )


EXCHANGE: tuple[Relation, ...] = ("replace_one",)

BOUNDS = (
    Bound(
        step="centers",
        why="all centres of a block would have to move from corner to opposite corner",
    ),
    Bound(
        step=r"generation \d+, choice \d+",
        why="WCSS changes by the squared diagonal where all centres lie in one corner alone",
    ),
    Bound(
        step="(.*: )?records|depth 0",
        why="who comes makes up for who leaves: a number changes by m where 2m are paid for",
        relations=EXCHANGE,
    ),
    Bound(
        step="coefficients",
        why="sums over both places of the exchanged records don't change",
        relations=EXCHANGE,
    ),
    Bound(
        step="nonpositive",
        why="on an empty grid records raise as many coefficients when they come as when they go",
        relations=EXCHANGE,
    ),
    Bound(
        step="threshold",
        why="here all records move the score the same way, so coming makes up for leaving",
        relations=EXCHANGE,
    ),
    Bound(
        step=r"iteration \d+",
        why="of the cube's corners one has norm d, and both records would have to lie there",
        relations=EXCHANGE,
        where=lambda case: case.options.get("geometry") == "cube",
    ),
    Bound(
        step="threshold",
        why="equal coefficients can only rise past it; the line of tiles reaches it instead",
        where=lambda case: (
            case.base.ndim == 2 and (case.options["wavelet"], case.options["level"]) == FALLING
        ),
    ),
)


# -- recording ----------------------------------------------------------------------------------


class Asked(SeededNoise):
    """Noise source that stores the names of the requested generators."""

    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        self.asked: set[str] = set()

    def generator(self, step: str) -> np.random.Generator:
        self.asked.add(step)
        return super().generator(step)


class Heard(SeededNoise):
    """Noise source that stores the step and the scale of each request."""

    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        self.draws: list[tuple[str, float | None]] = []

    def laplace(self, step: str, scale: float, shape: tuple[int, ...]) -> NDArray[np.float64]:
        self.draws.append((step, scale))
        return super().laplace(step, scale, shape)

    def gumbel(self, step: str, scale: float, shape: tuple[int, ...]) -> NDArray[np.float64]:
        self.draws.append((step, scale))
        return super().gumbel(step, scale, shape)

    def k_norm(
        self, step: str, scale: float, shape: tuple[int, int], ball: int
    ) -> NDArray[np.float64]:
        self.draws.append((step, scale))
        return super().k_norm(step, scale, shape, ball)

    def uniform(self, step: str, shape: tuple[int, ...]) -> NDArray[np.float64]:
        self.draws.append((step, None))
        return super().uniform(step, shape)


class OwnDraws(np.random.Generator):
    """Random choices of sets, but all records from number ``first`` on get the same set."""

    def __init__(self, generator: np.random.Generator, first: int, own: int) -> None:
        super().__init__(generator.bit_generator)
        self.first, self.own = first, own

    def integers(self, high: Any, **options: Any) -> Any:
        drawn = super().integers(high, **options)
        drawn[self.first :] = self.own % high
        return drawn


class Moderate(SeededNoise):
    """Noise of scale 1 for every request, so answers do not depend on unit and relation.

    If ``own`` is given, the records from number ``first`` on get this set, not random sets.
    """

    def __init__(self, first: int = 0, own: int | None = None) -> None:
        super().__init__(3)
        self.first, self.own = first, own

    def laplace(self, step: str, scale: float, shape: tuple[int, ...]) -> NDArray[np.float64]:
        return super().laplace(step, 1.0, shape)

    def gumbel(self, step: str, scale: float, shape: tuple[int, ...]) -> NDArray[np.float64]:
        return super().gumbel(step, 1.0, shape)

    def k_norm(
        self, step: str, scale: float, shape: tuple[int, int], ball: int
    ) -> NDArray[np.float64]:
        return super().k_norm(step, 1.0, shape, ball)

    def generator(self, step: str) -> np.random.Generator:
        found = super().generator(step)
        if self.own is None or step not in ("sets", "blocks"):
            return found
        return OwnDraws(found, self.first, self.own)


# -- changes by persons -------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True, eq=False)
class Family:
    """Inputs of all requests, per person: a run on D plus the person uses the answers of D.

    ``sizes`` are the persons' numbers of records, shape (persons,); the first size is 0. ``handed``
    has an array (persons, values) for each request.
    """

    sizes: NDArray[np.int64]
    handed: tuple[NDArray[np.float64], ...]
    answers: tuple[Any, ...]


@cache
def family_of(case: Case, unit: Neighbours | None = None) -> Family:
    """Run a method on D plus each person who has up to 5 records at the places."""
    persons = [
        (person, own)
        for size in range((unit.cap if unit else max(CAPS)) + 1)
        for person in combinations_with_replacement(range(len(case.places)), size)
        for own in ((None, 0, 1) if case.own_draws and size else (None,))
    ]
    runs = []
    answers = None
    for person, own in persons:
        noise = Moderate(len(case.base), own)
        recorder = Recorder(noise, EPSILON, unit, answers=answers)
        case.run(recorder, EPSILON, person)
        answers = answers or [request.answer for request in recorder.requests]
        runs.append(recorder)
    for one in runs:  # the budget of each step is public
        assert one.ledger.spends == runs[0].ledger.spends
    return Family(
        sizes=np.array([len(person) for person, _ in persons]),
        handed=tuple(
            side_by_side(requests) for requests in zip(*(one.requests for one in runs), strict=True)
        ),
        answers=tuple(answers),
    )


#: Mechanisms whose cost depends on the L1 norm of the change of their input.
LISTS = ("laplace", "gradual", "finer", "split")


#: Mechanisms of nested releases; another test checks their distribution.
NESTED = ("gradual", "finer", "split")


def side_by_side(requests: Sequence[Request]) -> NDArray[np.float64]:
    """Values of one request in the runs on all data sets, shape (data sets, values)."""
    if requests[0].kind == "interval":
        return on_the_line(requests)
    return np.array([request.values.ravel() for request in requests])


def largest_change(
    values: NDArray[np.float64], sizes: NDArray, request: Request, unit: Neighbours
) -> float:
    """Largest change in all neighbours: L1 norm of values, K-norm of rows, or change of a score."""
    finite = np.isfinite(values)
    assert (finite == finite[0]).all()  # a chosen candidate is excluded in every run
    values = np.where(finite, values, 0.0)[sizes <= unit.cap]
    # Either a person joins D, or a person replaces another person, and may have no usable record.
    before = values[:1] if unit.relation == "add_remove" else values
    if request.kind == "k_norm":
        changes = (before[:, None] - values).reshape(-1, request.values.shape[1])
        norms = k_norm(changes, int(request.ball or 0))
        return float(norms.reshape(-1, len(request.values)).sum(axis=1).max())
    metric = "cityblock" if request.kind in LISTS else "chebyshev"
    return float(cdist(before, values, metric).max())


def each_unit(test: Any) -> Any:
    """Parametrize over cases, relations and caps; every day, test only the cap of two records."""
    for name, choices in (("cap", daily(CAPS, lambda cap: cap == 2)), ("relation", RELATIONS)):
        test = pytest.mark.parametrize(name, choices)(test)
    return pytest.mark.parametrize("case", CASES, ids=str)(test)


# -- the contract -----------------------------------------------------------------------------


@pytest.mark.some(24)
@each_unit
def test_sensitivities_are_what_a_person_changes_most(
    case: Case, relation: Relation, cap: int
) -> None:
    unit = Neighbours(relation=relation, cap=cap)
    family = family_of(case, unit if case.adaptive else None)
    recorder = Recorder(Moderate(), EPSILON, unit, answers=family.answers)
    case.run(recorder, EPSILON)
    if relation in CARDS[case.method].variant(case.variant).fails:
        request, handed = recorder.requests[0], family.handed[0]
        assert largest_change(handed, family.sizes, request, unit) == 2 * cap
        assert [spend.sensitivity for spend in request.spends] == [cap]
        return
    for request, handed in zip(recorder.requests, family.handed, strict=True):
        # The input must not depend on the unit, because otherwise the family would change.
        if request.kind != "interval":
            np.testing.assert_array_equal(request.values.ravel(), handed[0])
        # Rows with separate budgets have a common sensitivity, which is for all rows together.
        (sensitivity,) = {spend.sensitivity for spend in request.spends}
        change = largest_change(handed, family.sizes, request, unit)
        assert 0 < change <= sensitivity * (1 + 1e-9), request.step
        only = [bound.why for bound in BOUNDS if bound.covers(case, relation, request.step)]
        reached = math.isclose(change, sensitivity, rel_tol=1e-9)
        assert reached != bool(only), (
            f"{request.step}: a change of {change} at most, sensitivity {sensitivity}, {only}: "
            "BOUNDS says why a sensitivity is not reached"
        )
        if request.monotone:  # all scores decrease; otherwise half the noise would not be enough
            assert (handed[1:] <= handed[0]).all()


@pytest.mark.some(24)
@each_unit
def test_each_step_gets_the_noise_that_its_spend_buys(
    case: Case, relation: Relation, cap: int
) -> None:
    unit = Neighbours(relation=relation, cap=cap)
    for seed, epsilon in enumerate(EPSILONS):
        noise = Heard(seed)
        recorder = Recorder(noise, epsilon, unit)
        ledger = case.run(recorder, epsilon).ledger
        requests, heard = recorder.requests, noise.draws
        assert abs(total(ledger) - epsilon) <= 1e-9
        assert abs(ledger.epsilon - epsilon) <= 1e-9
        assert ledger.neighbours == unit
        # All noise is on the ledger, and every entry belongs to a mechanism.
        assert ledger.spends == sum((request.spends for request in requests), ())
        assert [step for step, _ in heard] == reduce(operator.iadd, map(drawn_by, requests), [])
        scales = dict(heard)
        spent = 0.0
        for request in requests:
            if request.kind in NESTED:
                spent = assert_nested(request, spent)
            else:
                assert_paid(request)
                assert_noisy(request, scales[request.step], SeededNoise(seed))


def total(ledger: Ledger) -> float:
    """Sum over steps; a step with parallel costs counts with its largest cost."""
    costs: dict[str, list[float]] = defaultdict(list)
    for spend in ledger:
        costs[spend.step].append(spend.epsilon)
        assert (len(costs[spend.step]) == 1) or spend.composition == "parallel"
    return math.fsum(max(one) for one in costs.values())


def assert_paid(request: Request) -> None:
    """Check that the ledger has the noise scales of the mechanism for this request."""
    factor = 1 if request.kind in ("laplace", "k_norm") or request.monotone else 2
    for spend in request.spends:
        assert spend.step == request.step
        assert spend.scale == pytest.approx(factor * spend.sensitivity / spend.epsilon, rel=1e-12)


def drawn_by(request: Request) -> list[str]:
    """Streams of noise that a mechanism uses, one for each of its random draws."""
    if request.kind != "gradual":
        return [] if request.kind == "finer" else [request.step]
    last = request.levels - 1
    levels = [f"{request.step}, level {number}" for number in range(last, -1, -1)]
    coins = [[], *([f"{level}, coins"] for level in levels[1:])]
    return [one for level, more in zip(levels, coins, strict=True) for one in (level, *more)]


def assert_nested(request: Request, spent: float) -> float:
    """Check that a nested release has the scale for its total budget; return this total."""
    first, *beside = request.spends
    assert {spend.step for spend in request.spends} == {request.step}
    spent += first.epsilon
    assert first.scale == pytest.approx(first.sensitivity / spent, rel=1e-12)
    for spend in beside:  # the number of a split
        assert spend.scale == pytest.approx(spend.sensitivity / spend.epsilon, rel=1e-12)
        assert spend.epsilon == first.epsilon
    return spent


def assert_noisy(request: Request, heard: float | None, noise: SeededNoise) -> None:
    """Check that the answer is the input plus noise of the scale on the ledger."""
    scales = np.array([spend.scale for spend in request.spends])
    values, step = request.values, request.step
    if request.kind == "laplace":
        unit = noise.laplace(step, 1.0, values.shape)
        scaled = unit * (scales[:, None] if len(scales) > 1 else scales[0])
        np.testing.assert_allclose(request.answer, values + scaled, rtol=1e-9, atol=1e-12)
        # If rows have separate budgets, the noise is scaled afterwards.
        assert heard == (scales[0] if len(scales) == 1 else 1.0)
    elif request.kind == "k_norm":
        unit = noise.k_norm(step, 1.0, values.shape, int(request.ball or 0))
        np.testing.assert_allclose(request.answer, values + scales[0] * unit, rtol=1e-9)
        assert heard == scales[0]
    elif request.kind == "choose":
        assert [heard] == scales
        assert request.answer == np.argmax(values + noise.gumbel(step, scales[0], values.shape))
    else:
        chances = np.diff(request.edges) * np.exp((values - values.max()) / scales[0])
        below = np.cumsum(chances) / chances.sum()
        pick = noise.uniform(step, (2,))[0]
        assert request.answer[0] == np.searchsorted(below, pick, side="right")


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("cap", daily(CAPS, lambda cap: cap == 2))
def test_half_of_the_budget_is_refused(relation: Relation, cap: int) -> None:
    for case in CASES:
        accountant = Accountant(SeededNoise(0), 0.5, Neighbours(relation=relation, cap=cap))
        with pytest.raises(PrivacyRefusal, match=r"but only .* of 0\.5 is left"):
            case.run(accountant, 1.0)
        assert accountant.ledger.epsilon <= 0.5 * (1 + 1e-9), case


def test_cases_cover_every_method_that_spends() -> None:
    spending = {name for name, card in CARDS.items() if card.spends}
    assert {case.method for case in CASES} == spending
    assert spending == {*WAVECLUSTER, *KMEANS} - {"wavecluster", "kmeans"}


def test_every_bound_is_met_somewhere() -> None:
    steps = {
        (case, spend.step)
        for case in CASES
        for spend in case.run(Accountant(SeededNoise(0), 1.0), 1.0).ledger
    }
    for bound in BOUNDS:
        assert any(bound.covers(case, bound.relations[0], step) for case, step in steps), bound.step


@pytest.mark.parametrize("cap", CAPS)
def test_a_person_who_joins_brings_as_many_records_as_the_unit_says(cap: int) -> None:
    # So data that are computed from the records change at most as much as the tests above assume.
    rng = np.random.default_rng(cap)
    units = np.append(rng.integers(0, 9, 40), [99] * 7)
    everybody = Dataset(name="", points=rng.integers(0, 9, (47, 2)) / 8, units=units)
    others = Dataset(name="", points=everybody.points[:40], units=units[:40])
    with_one, without = (
        Counter(map(tuple, np.column_stack([kept.points, kept.units]).tolist()))
        for kept in (cap_records(everybody, cap, seed=5), cap_records(others, cap, seed=5))
    )
    assert not without - with_one
    joined = with_one - without
    assert joined.total() == cap <= Neighbours(cap=cap).multiplier
    assert {unit for *_, unit in joined} == {99}
