"""Epsilon in words: what it means for one person."""

from __future__ import annotations

import math

from dpviz.privacy.ledger import Neighbours


def odds(epsilon: float, neighbours: Neighbours) -> str:
    """Epsilon in words: what one person's taking part can change.

    Parameters
    ----------
    epsilon
        Whole budget.
    neighbours
        Relation, and the records of one privacy unit.
    """
    factor = math.exp(min(epsilon, 700))
    times = f"{factor:.2f}" if factor < 2 else f"{factor:.1f}" if factor < 100 else f"{factor:,.0f}"
    with_you = (
        "with you as without you"
        if neighbours.relation == "add_remove"
        else "with you as with another in your place"
    )
    records = "one record" if neighbours.cap == 1 else f"up to {neighbours.cap} records"
    return (
        f"ε = {epsilon:.3g}: any result is at most e^{epsilon:.3g} = {times} times as likely "
        f"{with_you}, for {records} of yours."
    )
