"""Split a budget over iterations."""

from __future__ import annotations

from fractions import Fraction
from typing import Literal

Schedule = Literal["uniform", "halving"]

SCHEDULES: tuple[Schedule, ...] = ("uniform", "halving")


def budgets(
    schedule: Schedule, epsilon: float, steps: int, *, whole: bool = True
) -> tuple[float, ...]:
    """Return the budget of each step. The budgets sum to ``epsilon``, or to less if not ``whole``.

    ``"halving"``: epsilon / 2^t in step t = 1, 2, ... (Dwork 2011; Hu et al., section 4.2). If
    ``whole``, the last step gets the rest; otherwise, as in the papers, the rest is not spent.
    """
    if schedule == "uniform":
        shares = [epsilon / steps] * (steps - 1)
        # These are fractions, because rounded sums would make the last step too large or too small.
        return (*shares, float(Fraction(epsilon) - sum(map(Fraction, shares))))
    # Halves are exact in binary, so twice the last half is exactly the remaining budget.
    shares = [epsilon / 2**step for step in range(1, steps)]
    return (*shares, epsilon / 2 ** (steps - 1 if whole else steps))
