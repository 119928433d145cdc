"""Descriptions of the noised steps: short for the screen, longer for the report."""

from __future__ import annotations

from typing import NamedTuple


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
    "threshold": _Words("", "the limit from which on a block is dense"),
    "records": _RECORDS,
    "cells: records": _RECORDS,
    "start: records": _RECORDS,
    "contours: records": _RECORDS,
    "cells": _Words("noisy grid", _CELLS),
    "start": _Words("noisy grid of the start", f"{_CELLS}, from which the start was drawn"),
    "contours": _Words("noisy grid of contours", _CELLS),
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
}


def short_words(step: str) -> str:
    """Name of a step for newcomers."""
    return _STEPS[step].short or step if step in _STEPS else step


def long_words(step: str) -> str:
    """Noised quantity of a step, by the longest known prefix of its name; may be empty."""
    known = [start for start in _STEPS if step == start or step.startswith(f"{start} ")]
    return _STEPS[max(known, key=len)].long if known else ""
