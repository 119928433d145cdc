"""The contract of every private method: pays for each step, and just what a person can change.

A data set D and all its neighbours D' from a small family go through a method while the
mechanisms give everybody the answers of D. What the mechanisms are handed then differs by what
the persons changed alone: the brute force that the sensitivities on the ledger are held against.
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

#: Budget of the runs on neighbours: enough for grids of several cells.
EPSILON = 4.0

WAVELETS = (("haar", 1), ("haar", 2), ("db2", 1), ("db2", 2), ("bior2.2", 1), ("bior2.2", 2))

#: With at most 125 coefficients this p makes the target k the number of positive ones, so the score
#: of a threshold x is the number of coefficients between 0 and x.
DENSITY = 0.001

#: Cells that keep the responses to two records of a person apart, by level.
APART = {1: 8, 2: 20}

#: The wavelet where the score changes most by coefficients that fall below zero, too: counts and
#: the cell where one record more takes two below it and lifts the third over a threshold.
FALLING = ("bior2.2", 1)
TILE, TILE_CELL = (1, 1, 0, 0, 0, 1), 0

DOMAIN = Domain(((-1.0, 3.0), (0.0, 2.0)))

#: Where persons may have records, in coordinates from 0 to 1: three corners, and inside.
CORNERS = ((1.0, 1.0), (0.0, 0.0), (0.0, 1.0), (0.3, 0.6))

#: A block's two records, each a centre. With a third in a corner on the left, that one is a
#: centre, by its place the first, and the two share the other: far more than half the bound.
PAIR = ((1.0, 0.05), (1.0, 0.95))


@dataclass(frozen=True, kw_only=True, eq=False)
class Case:
    """A private way to run a method, a data set D, and where a person may have records.

    ``base`` are counts and ``places`` cells for WaveCluster; of k-means both are records.
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
        """Public parameters of a run."""
        kind = Config if self.method in WAVECLUSTER else KMeansConfig
        return kind(
            method=self.method,
            variant=self.variant,
            epsilon=epsilon,
            neighbours=unit,
            **self.options,
        )

    def run(self, accountant: Accountant, epsilon: float, person: Sequence[int] = ()) -> Any:
        """Run on D and the records of one more person."""
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
        # More columns repeat the two.
        repeated = np.arange(self.columns) % 2
        domain = Domain(tuple(DOMAIN.bounds[axis] for axis in repeated))
        records = Records.build(Dataset(name="", points=points[:, repeated]), domain)
        return KMEANS[self.method].run(records, config, accountant)

    @property
    def adaptive(self) -> bool:
        """Whether what is asked depends on the noise that is bought, and so on the unit."""
        return self.method in ("twostage", "dprefine")

    @cached_property
    def own_draws(self) -> bool:
        """Whether records draw a set or block, so that it matters which."""
        noise = Asked(0)
        self.run(Accountant(noise, EPSILON), EPSILON)
        return not noise.asked.isdisjoint(HIDDEN)


# -- cases: every private variant, with every start, geometry, synopsis and some wavelets -----


def wavelet_cases(method: str, variant: str) -> Iterator[Case]:
    """One plane for each wavelet and level; persons have records that don't meet in W."""
    for wavelet, level in WAVELETS:
        options = {"wavelet": wavelet, "level": level, "density": DENSITY}
        apart = APART[level]
        shape = (apart, apart * max(CAPS))
        row, column = most_raising(wavelet, level, shape)
        yield Case(
            method=method,
            variant=variant,
            options=options,
            # Z falls most from nothing, a rank where all coefficients are equal.
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
    """Cell of the first block where a record raises most coefficients, tried one by one."""

    def raised(cell: tuple[int, ...]) -> int:
        counts = np.zeros(shape)
        counts[cell] = 1
        return int((average_subband(counts, wavelet, level) > 0).sum())

    return max(np.ndindex((2**level,) * len(shape)), key=raised)


def staged_cases(method: str, variant: str) -> Iterator[Case]:
    """The same planes; two places are dense, so that persons are met there and in empty cells."""
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
    # Both are named always: what a case is judged by stands in its options.
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
        # Enough for residual steps, also where six columns take a tree instead of a grid; and few
        # enough for a grid of the box in six columns, of a projection in nine; the fewest take a
        # plain grid.
        many = np.random.default_rng(2).random((2000, 2))
        for columns, n in ((2, 2000), (6, 2000), (6, 300), (6, 40), (9, 300)):
            yield Case(method=method, options=fixed, base=many[:n], places=CORNERS, columns=columns)
    if method == "gupt":  # as few records make one block
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


# -- bounds only: everything else has to be reached -------------------------------------------


@dataclass(frozen=True, kw_only=True)
class Bound:
    """A step whose sensitivity is not reached by anybody here, and why."""

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


# -- listening in -----------------------------------------------------------------------------


class Asked(SeededNoise):
    """Noise source that keeps the names of the generators that are asked for."""

    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        self.asked: set[str] = set()

    def generator(self, step: str) -> np.random.Generator:
        self.asked.add(step)
        return super().generator(step)


class Heard(SeededNoise):
    """Noise source that keeps who asked for noise, of which law and scale."""

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
    """Draws of which the records from number ``first`` on all got one and the same."""

    def __init__(self, generator: np.random.Generator, first: int, own: int) -> None:
        super().__init__(generator.bit_generator)
        self.first, self.own = first, own

    def integers(self, high: Any, **options: Any) -> Any:
        drawn = super().integers(high, **options)
        drawn[self.first :] = self.own % high
        return drawn


class Moderate(SeededNoise):
    """Noise of scale 1 whatever is asked: answers are the same under every unit and relation.

    The records from number ``first`` on may get ``own`` instead of the sets that they draw.
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


# -- what persons change ----------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True, eq=False)
class Family:
    """D with each person of the family: what every request was handed, answers being D's.

    ``sizes`` are the persons' numbers of records, shape (persons,), the first being 0;
    ``handed`` has an array (persons, values) for each request.
    """

    sizes: NDArray[np.int64]
    handed: tuple[NDArray[np.float64], ...]
    answers: tuple[Any, ...]


@cache
def family_of(case: Case, unit: Neighbours | None = None) -> Family:
    """Hand a method D with every person of up to 5 records at the places."""
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
    for one in runs:  # what is spent on which step is public
        assert one.ledger.spends == runs[0].ledger.spends
    return Family(
        sizes=np.array([len(person) for person, _ in persons]),
        handed=tuple(
            side_by_side(requests) for requests in zip(*(one.requests for one in runs), strict=True)
        ),
        answers=tuple(answers),
    )


#: Mechanisms that are paid for by the L1 change of what they are handed.
LISTS = ("laplace", "gradual", "finer", "split")


#: Those of nested releases, whose law has a test of its own.
NESTED = ("gradual", "finer", "split")


def side_by_side(requests: Sequence[Request]) -> NDArray[np.float64]:
    """Values of one request on all data sets, shape (data sets, values)."""
    if requests[0].kind == "interval":
        return on_the_line(requests)
    return np.array([request.values.ravel() for request in requests])


def largest_change(
    values: NDArray[np.float64], sizes: NDArray, request: Request, unit: Neighbours
) -> float:
    """Change over all neighbours: L1 of noised values, K-norm of rows, or of one score."""
    finite = np.isfinite(values)
    assert (finite == finite[0]).all()  # a candidate taken before is out for everybody
    values = np.where(finite, values, 0.0)[sizes <= unit.cap]
    # Somebody comes to D; or leaves for somebody else, who may have no usable record.
    before = values[:1] if unit.relation == "add_remove" else values
    if request.kind == "k_norm":
        changes = (before[:, None] - values).reshape(-1, request.values.shape[1])
        norms = k_norm(changes, int(request.ball or 0))
        return float(norms.reshape(-1, len(request.values)).sum(axis=1).max())
    metric = "cityblock" if request.kind in LISTS else "chebyshev"
    return float(cdist(before, values, metric).max())


def each_unit(test: Any) -> Any:
    """Parametrize over cases, relations and caps; every day one cap, of more than one record."""
    for name, choices in (("cap", daily(CAPS, lambda cap: cap == 2)), ("relation", RELATIONS)):
        test = pytest.mark.parametrize(name, choices)(test)
    return pytest.mark.parametrize("case", CASES, ids=str)(test)


# -- the contract -----------------------------------------------------------------------------


@pytest.mark.some(40)
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
        # What is handed over knows nothing of the unit, or the family would be another one.
        if request.kind != "interval":
            np.testing.assert_array_equal(request.values.ravel(), handed[0])
        # Rows of their own budgets have one sensitivity, for all rows together.
        (sensitivity,) = {spend.sensitivity for spend in request.spends}
        change = largest_change(handed, family.sizes, request, unit)
        assert 0 < change <= sensitivity * (1 + 1e-9), request.step
        only = [bound.why for bound in BOUNDS if bound.covers(case, relation, request.step)]
        reached = math.isclose(change, sensitivity, rel_tol=1e-9)
        assert reached != bool(only), (
            f"{request.step}: a change of {change} at most, sensitivity {sensitivity}, {only}: "
            "BOUNDS says why a sensitivity is not reached"
        )
        if request.monotone:  # all scores fall, or half the noise would not do
            assert (handed[1:] <= handed[0]).all()


@pytest.mark.some(40)
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
        # No noise past the ledger, no spend past a mechanism.
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
    """Sum over steps, of which one in parallel costs its largest spend."""
    costs: dict[str, list[float]] = defaultdict(list)
    for spend in ledger:
        costs[spend.step].append(spend.epsilon)
        assert (len(costs[spend.step]) == 1) or spend.composition == "parallel"
    return math.fsum(max(one) for one in costs.values())


def assert_paid(request: Request) -> None:
    """Scales on the ledger are those of the mechanisms."""
    factor = 1 if request.kind in ("laplace", "k_norm") or request.monotone else 2
    for spend in request.spends:
        assert spend.step == request.step
        assert spend.scale == pytest.approx(factor * spend.sensitivity / spend.epsilon, rel=1e-12)


def drawn_by(request: Request) -> list[str]:
    """Streams that a mechanism draws from, one for each of its draws."""
    if request.kind != "gradual":
        return [] if request.kind == "finer" else [request.step]
    last = request.levels - 1
    levels = [f"{request.step}, level {number}" for number in range(last, -1, -1)]
    coins = [[], *([f"{level}, coins"] for level in levels[1:])]
    return [one for level, more in zip(levels, coins, strict=True) for one in (level, *more)]


def assert_nested(request: Request, spent: float) -> float:
    """Scales of nested releases are those of all that was spent on them; return this sum."""
    first, *beside = request.spends
    assert {spend.step for spend in request.spends} == {request.step}
    spent += first.epsilon
    assert first.scale == pytest.approx(first.sensitivity / spent, rel=1e-12)
    for spend in beside:  # the number of a split
        assert spend.scale == pytest.approx(spend.sensitivity / spend.epsilon, rel=1e-12)
        assert spend.epsilon == first.epsilon
    return spent


def assert_noisy(request: Request, heard: float | None, noise: SeededNoise) -> None:
    """The answer is that of the noise on the ledger, drawn anew."""
    scales = np.array([spend.scale for spend in request.spends])
    values, step = request.values, request.step
    if request.kind == "laplace":
        unit = noise.laplace(step, 1.0, values.shape)
        scaled = unit * (scales[:, None] if len(scales) > 1 else scales[0])
        np.testing.assert_allclose(request.answer, values + scaled, rtol=1e-9, atol=1e-12)
        # Rows of their own budgets are scaled afterwards.
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


@each_unit
def test_half_of_the_budget_is_refused(case: Case, relation: Relation, cap: int) -> None:
    accountant = Accountant(SeededNoise(0), 0.5, Neighbours(relation=relation, cap=cap))
    with pytest.raises(PrivacyRefusal, match=r"but only .* of 0\.5 is left"):
        case.run(accountant, 1.0)
    assert accountant.ledger.epsilon <= 0.5 * (1 + 1e-9)


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
    # Together with the family above: what follows from a data set of persons changes by as much.
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
