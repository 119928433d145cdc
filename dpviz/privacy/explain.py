"""Explanation of epsilon in words: its meaning for one person."""

from __future__ import annotations

import math

from dpviz.privacy.ledger import Neighbours

#: Above this epsilon a factor has no practical meaning.
_SPEAKING = math.log(1e6)


def surest(epsilon: float) -> float:
    """Largest chance with which anybody can tell that one took part, who held it for even before.

    Bayes' rule with a prior of 1/2 and the largest likelihood ratio: e^epsilon / (1 + e^epsilon).
    """
    return 1 / (1 + math.exp(-epsilon))


def percent_at_most(share: float) -> float:
    """Percent of a share with one digit, rounded up: a text that says "at most" stays true."""
    return math.ceil(1000 * share) / 10


def surest_words(epsilon: float) -> str:
    """How sure anybody can get, from even odds: "73.2% sure at most"."""
    shown = percent_at_most(surest(epsilon))
    # 100% would be more than it is.
    return f"{shown:g}% sure at most" if shown < 100 else "next to certain"


def explain_surest(epsilon: float, neighbours: Neighbours) -> str:
    """Explain epsilon in words: how sure anybody can get of one's part, from even odds."""
    most = surest_words(epsilon)
    who = "you took part" if neighbours.relation == "add_remove" else "a record is yours"
    return (
        f"Who holds it for 50 : 50 whether {who} is {most} after the release, "
        "whatever else is known."
    )


def times_at_most(epsilon: float) -> str:
    """e^epsilon, rounded up: a text that says "at most" stays true; with a digit beyond 1."""
    digits = 2 if epsilon < math.log(100) else 0
    if epsilon < 0.1:
        digits += math.ceil(-math.log10(epsilon))
    return f"{math.ceil(math.exp(epsilon) * 10**digits) / 10**digits:,.{digits}f}"


def explain_epsilon(epsilon: float, neighbours: Neighbours, *, persons: bool = False) -> str:
    """Explain epsilon in words: how much one person's participation can change.

    Parameters
    ----------
    epsilon
        Whole budget.
    neighbours
        Relation, and the records of one privacy unit.
    persons
        Whether this unit is a person.
    """
    if epsilon > _SPEAKING:
        return f"ε = {epsilon:.6g}: more than a million times as likely, so hardly any protection."
    with_you = (
        "with you as without you"
        if neighbours.relation == "add_remove"
        else "with you as with another in your place"
    )
    records = f"for up to {neighbours.cap} records of yours"
    if neighbours.cap == 1:
        records = "for one record of yours"
        if persons:
            records = "for you as a person, of whom one record at most takes part"
    return (
        f"ε = {epsilon:.6g}: any result is at most e^{epsilon:.6g} = {times_at_most(epsilon)} "
        f"times as likely {with_you}, {records}."
    )
