"""Pairs of neighbouring data sets on which anybody's code is audited: points in a public box.

A pair is made for one added record. If records are replaced, the new record replaces another
record, so both data sets have the same number of records.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from dpviz.audit import data
from dpviz.base.arrays import Floats
from dpviz.base.errors import InputError, shown
from dpviz.privacy.ledger import Relation

#: Bounds of every column.
Box = Sequence[tuple[float, float]]

#: Name of the pair that is as large as a small sample set.
MANY = "many"

#: Points (n, d) of the unit cube, the new record (d,), and its place in the list.
Made = tuple[Floats, Floats, int]


@dataclass(frozen=True)
class Pair:
    """A pair of data sets; ``make`` takes the number of columns. ``usual``: every audit uses it.

    ``few``: the first data set may be refused, because many programs need some records.
    """

    name: str
    description: str
    make: Callable[[int], Made]
    usual: bool = True
    few: bool = False

    def described(self, relation: Relation) -> str:
        """Description of both data sets."""
        if relation == "add_remove":
            return self.description
        return f"{self.description} It replaces another record."

    def points(self, box: Box, relation: Relation = "add_remove") -> tuple[Floats, Floats]:
        """Both data sets in the box, each with shape (n, d)."""
        rest, new, place = self.make(len(box))
        before = rest
        if relation == "replace_one":
            same = len(rest) == 0 or bool((rest[0] == new).all())
            before = np.insert(rest, place, 1 - new if same else rest[0], axis=0)
        low, high = np.asarray(box, dtype=float).T
        after = np.insert(rest, place, new, axis=0)
        one, other = (low + part * (high - low) for part in (before, after))
        return one, other


def _equal(number: int, place: float, new: float) -> Callable[[int], Made]:
    """So many equal records at a place of the diagonal; the new record is the last."""
    return lambda columns: (np.full((number, columns), place), np.full(columns, new), number)


def _two(
    size: int, new: float, width: float = 0.1, *, first: bool = False
) -> Callable[[int], Made]:
    """Two groups of a size; the new record, at a place of the diagonal, is the last or first."""

    def made(columns: int) -> Made:
        rng = np.random.default_rng(0)
        middles = np.repeat([0.2, 0.8], size)[:, None]
        points = middles + rng.uniform(-width, width, (2 * size, columns))
        return rng.permutation(points), np.full(columns, new), 0 if first else 2 * size

    return made


def _shifted(columns: int) -> Made:
    return np.arange(40)[:, None] % 2 * np.ones(columns), np.ones(columns), 0


def _of_method(make: Callable[[float], data.RecordPair]) -> Callable[[int], Made]:
    def made(columns: int) -> Made:
        _, joined = make(1.0)
        points = np.repeat(joined.points, 1 if joined.weights is None else joined.weights, axis=0)
        points = points[:, np.arange(columns) % points.shape[1]]
        return points[:-1], points[-1], len(points) - 1

    return made


_far = _equal(30, 0.0, 1.0)
_added = _two(20, 0.85)
_removed = _two(20, 0.15, first=True)
_largest = _two(10, 0.8, 0.0)
_halfway = _two(15, 0.5, 0.05)
_second = _equal(1, 0.0, 1.0)
_many = _two(10_000, 1.0)
_outside = _equal(30, 0.0, 1e3)

PAIRS = {
    one.name: one
    for one in (
        Pair("far", "30 records in one corner; one more is in the opposite corner.", _far),
        Pair("added", "Two groups of 20 records; one more in a group, last in the list.", _added),
        Pair("removed", "Two groups of 20 records; one more, first in the list.", _removed),
        Pair("duplicate", "20 equal records; one more equal record.", _equal(20, 0.25, 0.25)),
        Pair("largest", "Two groups of 10 records; one more makes a group the largest.", _largest),
        Pair("halfway", "Two groups of 15 records; one more is halfway between them.", _halfway),
        Pair("empty", "No record; one record in a corner.", _equal(0, 0.0, 1.0), few=True),
        Pair("second", "One record; one more in the opposite corner.", _second, few=True),
        Pair("shifted", "40 records, in turn in opposite corners; one more comes first.", _shifted),
        Pair(
            "far-groups",
            "Two tight groups of 500 records in one corner; one more is in the opposite corner.",
            _of_method(data.far_record),
        ),
        Pair(MANY, "Two groups of 10,000 records; one more is in a corner.", _many, usual=False),
        Pair("outside", "30 records in one corner; one more far outside the box.", _outside, False),
        Pair(
            "shifted-sets",
            "Sets of 5 records begin in opposite corners in turn; one more record is the last.",
            _of_method(data.shifted_sets),
            False,
        ),
        Pair(
            "shifted-blocks",
            "Blocks of 64 records in opposite corners in turn; one more record is the last.",
            _of_method(data.shifted_blocks),
            False,
        ),
        Pair(
            "opposite-end",
            "100 records in one corner; one more is in the opposite corner.",
            _of_method(data.opposite_end),
            False,
        ),
    )
}


def pairs(name: str | None = None, *, many: bool = False) -> tuple[Pair, ...]:
    """Usual pairs (with ``many`` records, too), or the pair with this name, or InputError."""
    if name is None:
        return tuple(one for one in PAIRS.values() if one.usual or (many and one.name == MANY))
    if name not in PAIRS:
        raise InputError(f'scenario = "{shown(name)}" is unknown: choose from {", ".join(PAIRS)}.')
    return (PAIRS[name],)
