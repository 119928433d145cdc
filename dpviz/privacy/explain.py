"""Explanation of epsilon in words: its meaning for one person."""

from __future__ import annotations

import math

from dpviz.privacy.ledger import Neighbours

#: Above this epsilon a factor has no practical meaning.
_SPEAKING = math.log(1e6)


def explain_epsilon(epsilon: float, neighbours: Neighbours) -> str:
    """Explain epsilon in words: how much one person's participation can change.

    Parameters
    ----------
    epsilon
        Whole budget.
    neighbours
        Relation, and the records of one privacy unit.
    """
    if epsilon > _SPEAKING:
        return f"ε = {epsilon:.6g}: more than a million times as likely, so hardly any protection."
    # Rounded up, because the text is "at most"; with one digit of the excess over 1.
    digits = 2 if epsilon < math.log(100) else 0
    if epsilon < 0.1:
        digits += math.ceil(-math.log10(epsilon))
    times = f"{math.ceil(math.exp(epsilon) * 10**digits) / 10**digits:,.{digits}f}"
    with_you = (
        "with you as without you"
        if neighbours.relation == "add_remove"
        else "with you as with another in your place"
    )
    records = "one record" if neighbours.cap == 1 else f"up to {neighbours.cap} records"
    return (
        f"ε = {epsilon:.6g}: any result is at most e^{epsilon:.6g} = {times} times as likely "
        f"{with_you}, for {records} of yours."
    )
