"""Controls of privacy budgets on the audit page."""

from __future__ import annotations

import math

from dpviz.errors import InputError
from dpviz.ui.state import Control, number


def budget_control(name: str, low: float, high: float) -> Control:
    """Control of a budget of 1: a link may go beyond the slider, but not to zero or infinity."""

    def check(value: float) -> None:
        if not (math.isfinite(value) and value > 0):
            raise InputError(
                f"{name} = {value:g} is no usable privacy budget: give a number from {low:g} "
                f"to {high:g}."
            )

    return Control(1.0, number(name, low, high, check))
