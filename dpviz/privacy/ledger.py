"""The ledger, which lists each cost of one run, and the definition of neighbouring data sets."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Literal, TypeVar

from dpviz.base.errors import InputError, check_number, is_whole, shown

Relation = Literal["add_remove", "replace_one"]
Composition = Literal["sequential", "parallel"]

Cost = TypeVar("Cost", float, Fraction)

RELATIONS: tuple[Relation, ...] = ("add_remove", "replace_one")

#: Unspent share of a budget that may be due to rounding.
_ROUNDING = 1e-9


@dataclass(frozen=True, kw_only=True)
class Neighbours:
    """Pairs of data sets whose output probabilities may differ by at most the factor e^epsilon.

    ``"add_remove"``: one data set has one privacy unit more; ``"replace_one"``: one unit is
    exchanged, and the number of units is public. ``cap``: maximum number of records of one unit.
    """

    relation: Relation = "add_remove"
    cap: int = 1

    def __post_init__(self) -> None:
        """Check the relation and the cap."""
        if self.relation not in RELATIONS:
            raise InputError(
                f'neighbours = "{shown(self.relation)}" is unknown: choose add_remove or '
                "replace_one."
            )
        if not (is_whole(self.cap) and self.cap >= 1):
            raise InputError(
                f"cap = {self.cap}: give a whole number of records per person, at least 1."
            )
        # A NumPy scalar is refused because its comparisons don't return Python booleans.
        object.__setattr__(self, "cap", int(self.cap))

    @property
    def multiplier(self) -> int:
        """Number of records in which neighbours differ; sensitivities are multiplied by it."""
        return self.cap * (2 if self.relation == "replace_one" else 1)


@dataclass(frozen=True, kw_only=True)
class Spend:
    """One use of the budget, recorded by the mechanism itself.

    ``sensitivity``: largest change between neighbours, in L1 or the K-norm. ``scale`` of the noise;
    for an exponential mechanism, the score difference that makes an outcome e times less likely.
    ``"sequential"`` spends add up. ``"parallel"`` spends of one step depend on disjoint records, so
    only the largest counts.
    """

    step: str
    epsilon: float
    sensitivity: float
    scale: float
    composition: Composition = "sequential"

    @property
    def together(self) -> float | None:
        """Budget of a finer nested release and all coarser releases; None for other spends."""
        whole = self.sensitivity / self.scale if self.scale else 0.0
        return whole if whole > self.epsilon * (1 + _ROUNDING) else None


@dataclass(frozen=True)
class Ledger:
    """All spends of one run, in order, for one relation and one privacy unit.

    Total epsilon: the sequential spends plus the largest of each step's parallel spends.
    """

    spends: tuple[Spend, ...] = ()
    neighbours: Neighbours = field(default_factory=Neighbours)

    def __iter__(self) -> Iterator[Spend]:
        """Spends in the order in which they were made."""
        return iter(self.spends)

    @property
    def epsilon(self) -> float:
        """Total spent budget."""
        return composed(((spend, spend.epsilon) for spend in self.spends), 0.0)

    def unspent(self, budget: float) -> float:
        """Part of a budget that was not spent; 0 if this part is only a rounding error."""
        rest = budget - self.epsilon
        return rest if rest > _ROUNDING * budget else 0.0


def composed(costs: Iterable[tuple[Spend, Cost]], nothing: Cost) -> Cost:
    """Total cost: the sum of all sequential spends and of each step's largest parallel spend."""
    total, largest = nothing, dict[str, Cost]()
    for spend, cost in costs:
        if spend.composition == "parallel":
            largest[spend.step] = max(cost, largest.get(spend.step, nothing))
        else:
            total += cost
    return total + sum(largest.values(), nothing)


#: Smallest valid budget.
SMALLEST_EPSILON = 1e-6


def check_epsilon(epsilon: float) -> float:
    """Return epsilon as a float, or raise InputError if it is not a valid budget."""
    check_number("epsilon", epsilon)
    if not SMALLEST_EPSILON <= epsilon <= 1e6:
        raise InputError(
            f"epsilon = {epsilon:g} is not a usable privacy budget: give a number greater than 0 "
            "(from 0.000001 to 1,000,000; 1 is a common choice)."
        )
    return float(epsilon)
