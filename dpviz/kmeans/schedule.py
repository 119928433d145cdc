"""How a budget is split over iterations."""

from __future__ import annotations

from fractions import Fraction
from typing import Literal

Schedule = Literal["uniform", "halving"]

SCHEDULES: tuple[Schedule, ...] = ("uniform", "halving")


def budgets(
    schedule: Schedule, epsilon: float, steps: int, *, whole: bool = True
) -> tuple[float, ...]:
    """Budget of each step; they sum to ``epsilon``, or with halving to less if not ``whole``.

    ``"uniform"``: epsilon / steps each. ``"halving"``: epsilon / 2^t in step t = 1, 2, ... (Dwork
    2011; Hu et al., section 4.2); ``whole``: the last step takes whatever is left. As printed it
    gets epsilon / 2^t like the others, and as much again stays unspent.
    """
    if schedule == "uniform":
        shares = [epsilon / steps] * (steps - 1)
        # In fractions: rounded sums would leave the last step a unit too much or too little.
        return (*shares, float(Fraction(epsilon) - sum(map(Fraction, shares))))
    # Halves are exact in binary, so the last one twice is just what is left.
    shares = [epsilon / 2**step for step in range(1, steps)]
    return (*shares, epsilon / 2 ** (steps - 1 if whole else steps))
