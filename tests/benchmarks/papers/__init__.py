"""Measurements for the table of the papers: each row names a function of these modules."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module

from dpviz.papers.row import Measured, Row
from tests.benchmarks.papers.lab import Lab


def function_of(row: Row) -> Callable[..., Measured]:
    """Function that a row names; for example, ``chen.rise`` is the function ``rise`` in chen.py."""
    module, _, name = row.measure.partition(".")
    found: Callable[..., Measured] = getattr(import_module(f"{__name__}.{module}"), name)
    return found


def measure(row: Row, lab: Lab) -> Measured:
    """Measure the number of a row."""
    return function_of(row)(lab=lab, **row.given)
