"""Which epsilons a view shows side by side."""

from __future__ import annotations

from dpviz.family.parameter import EPSILON

#: Ratio of two neighbouring epsilons.
_RATIO = 5.0


def three_epsilons(chosen: float) -> tuple[float, float, float]:
    """Return the chosen epsilon, and two others, about a ratio of 5 apart, in ascending order.

    The others have one digit, so that they can be said. The chosen one is in the middle, unless an
    epsilon would be outside of the slider's range.
    """
    least, most = EPSILON.reach
    first = 0 if chosen / _RATIO < least else 2 if chosen * _RATIO > most else 1
    low, middle, high = (
        chosen if step == first else float(f"{chosen * _RATIO ** (step - first):.1g}")
        for step in range(3)
    )
    return low, middle, high
