"""Explanation of epsilon in words: its meaning for whom it protects, a record or a person."""

from __future__ import annotations

import math

from dpviz.privacy.ledger import Neighbours

#: Above this epsilon a factor has no practical meaning.
_SPEAKING = math.log(1e6)

#: Percent from which on a promise is little: as sure a guess may be, from even odds.
LITTLE = 90.0

#: Where the unit is a record, a person with so many is the example.
_SEVERAL = 3


def surest(epsilon: float) -> float:
    """Largest chance with which anybody can tell that a unit took part, who held it for even.

    Bayes' rule with a prior of 1/2 and the largest likelihood ratio: e^epsilon / (1 + e^epsilon).
    """
    return 1 / (1 + math.exp(-epsilon))


def percent_at_most(share: float) -> float:
    """Percent of a share with one digit, rounded up: a text that says "at most" stays true."""
    return math.ceil(1000 * share) / 10


def promises_little(epsilon: float) -> bool:
    """Whether a proof that holds promises little: by the percentage that the sentences show."""
    return percent_at_most(surest(epsilon)) > LITTLE


def surest_words(epsilon: float) -> str:
    """How sure anybody can get, from even odds: "73.2% sure at most".

    It is true of one unit: whoever shows it says of which, as :func:`explain_guess` does.
    """
    shown = percent_at_most(surest(epsilon))
    # 100% would be more than it is.
    return f"{shown:g}% sure at most" if shown < 100 else "next to certain"


def _records(neighbours: Neighbours) -> str:
    """The records of one privacy unit that is no person."""
    if neighbours.cap > 1:
        return f"up to {neighbours.cap} records of yours"
    return "one record of yours"


def explain_guess(epsilon: float, neighbours: Neighbours, *, persons: bool = False) -> str:
    """Half a sentence on how sure a guess about one unit can get; see :func:`explain_epsilon`."""
    on = "whether you took part" if persons else f"on {_records(neighbours)}"
    return f"a guess {on}: {surest_words(epsilon)}"


def explain_surest(epsilon: float, neighbours: Neighbours, *, persons: bool = False) -> str:
    """Explain epsilon in words: how sure anybody can get of a unit's part, from even odds."""
    unit = (
        "you are" if persons else f"{_records(neighbours)} {'are' if neighbours.cap > 1 else 'is'}"
    )
    said = (
        f"Who knows all else, and thinks it 50 : 50 whether {unit} in the data, is "
        f"{surest_words(epsilon)} after the release."
    )
    if persons or neighbours.cap > 1:
        return said
    together = surest_words(_SEVERAL * epsilon)
    return f"{said} Of three that are in it together, or not at all: {together}."


def times_at_most(epsilon: float) -> str:
    """e^epsilon, rounded up: a text that says "at most" stays true; with a digit beyond 1."""
    digits = 2 if epsilon < math.log(100) else 0
    if epsilon < 0.1:
        digits += math.ceil(-math.log10(epsilon))
    return f"{math.ceil(math.exp(epsilon) * 10**digits) / 10**digits:,.{digits}f}"


def _factor(epsilon: float) -> str:
    if epsilon > _SPEAKING:
        return "more than a million"
    return f"at most e^{epsilon:.6g} = {times_at_most(epsilon)}"


def _compared(neighbours: Neighbours, *, persons: bool) -> tuple[str, str]:
    """What is compared: the data with the unit, and its neighbours; and what the unit holds."""
    added, cap = neighbours.relation == "add_remove", neighbours.cap
    if persons:
        many = f"{cap} records of yours at most take" if cap > 1 else "one record of yours at most"
        other = "without you" if added else "with another in your place"
        return f"with you as {other}", f"; {many}{' part' if cap > 1 else ' takes part'}"
    other = "without it" if added else "with another in its place"
    if cap > 1:
        other = "without them" if added else "with others in their place"
    return f"with {_records(neighbours)} as {other}", ""


def explain_epsilon(epsilon: float, neighbours: Neighbours, *, persons: bool = False) -> str:
    """Explain epsilon in words: how much the part of one privacy unit can change.

    With ``persons`` the unit is a person; else it is a record, and a person may have several.
    """
    compared, holds = _compared(neighbours, persons=persons)
    if not persons and neighbours.cap == 1:
        holds = f"; for three records of yours, {_factor(_SEVERAL * epsilon)} times"
    may = "may be" if epsilon > _SPEAKING else "is"
    said = f"ε = {epsilon:.6g}: any result {may} {_factor(epsilon)} times as likely {compared}"
    little = f" That promises little: {explain_guess(epsilon, neighbours, persons=persons)}."
    return f"{said}{holds}.{little * promises_little(epsilon)}"
