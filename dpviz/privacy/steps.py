"""Descriptions of the noised steps: short for the screen, longer for the report."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from dpviz.privacy.ledger import Spend, composed


class _Words(NamedTuple):
    """Words for a step; empty if its name is clear enough."""

    short: str
    long: str


_CELLS = "number of records in the cells of a grid"
_RECORDS = _Words("number of records", "number of records in all")

#: Words by the first words of the steps' names.
_STEPS = {
    "counts": _Words("noisy counts", "number of records in every cell"),
    "nonpositive": _Words("number of empty cells Z", "number of blocks with no positive value"),
    "choice of the grid": _Words("", "number of records in all, from which the grid follows"),
    "threshold": _Words("", "the limit from which on a block is dense"),
    "records": _RECORDS,
    "cells: records": _RECORDS,
    "start: records": _RECORDS,
    "contours: records": _RECORDS,
    "cells": _Words("noisy grid", _CELLS),
    "start": _Words("noisy grid of the start", f"{_CELLS}, from which the start was drawn"),
    "contours": _Words("noisy grid of contours", _CELLS),
    "rough cells": _Words("rough counts of the grid", f"{_CELLS}, which tells what cells to split"),
    "fine cells": _Words(
        "fine counts of the grid",
        "number of records in cells that stay whole and in the subcells of others",
    ),
    "root": _Words("mean of all records", "number, sums and squares of all records"),
    "distances": _Words("", "number of records by their distance from the nearest centre"),
    "residuals": _Words("", "number, squares and residuals of the records nearest to each centre"),
    "partition": _Words(
        "means of the partition",
        "number and sums of the records of each set that a centre started from",
    ),
    "iteration": _Words("", "number and sums of the records nearest to each centre"),
    "generation": _Words("", "choice of the better sets of centres"),
    "centers": _Words(
        "centres of the blocks, added up",
        "sums of the centres that disjoint parts of the data have",
    ),
    "first level": _Words("", "number of records in the cells of a coarse grid"),
    "second level": _Words("", "number of records in the cells of a finer grid"),
    "grid": _Words("", _CELLS),
    "coefficients": _Words(
        "", "sums and differences of the numbers of records in the cells of a grid"
    ),
    "depth": _Words("", "number of records in the squares of one size"),
    "rough counts": _Words(
        "", "number of records in every cell, or block of cells, with much noise"
    ),
    "finer counts": _Words("", "the same with less noise"),
    "dense and empty cells": _Words(
        "",
        "the same with the least noise where there are many records; of the other cells, or "
        "blocks, how many are empty",
    ),
}


def short_words(step: str) -> str:
    """Name of a step for newcomers."""
    return _STEPS[step].short or step if step in _STEPS else step


def grouped(spends: Iterable[Spend]) -> list[list[Spend]]:
    """Spends that are shown as one: parallel ones of a step, and the choices of a generation."""
    groups: dict[object, list[Spend]] = {}
    for number, spend in enumerate(spends):
        whole, _, part = spend.step.partition(", ")
        same = whole if part else number
        key = spend.step if spend.composition == "parallel" else same
        groups.setdefault(key, []).append(spend)
    return list(groups.values())


def group_words(spends: Sequence[Spend]) -> str:
    """Name of a group of :func:`grouped` for newcomers: "generation 1, choice 1 to choice 10"."""
    first, last = short_words(spends[0].step), spends[-1].step
    return first if spends[0].step == last else f"{first} to {last.partition(', ')[2]}"


def group_epsilon(spends: Sequence[Spend]) -> float:
    """Budget of a group of :func:`grouped`."""
    return composed(((spend, spend.epsilon) for spend in spends), 0.0)


def long_words(step: str) -> str:
    """Noised quantity of a step, by the longest known prefix of its name; may be empty."""
    known = [start for start in _STEPS if step == start or step.startswith(f"{start} ")]
    return _STEPS[max(known, key=len)].long if known else ""
