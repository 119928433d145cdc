"""Explanation of epsilon in words, for the privacy unit that it protects: a record or a person."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path

from dpviz.base.numbers import written_out
from dpviz.base.tables import read_rows
from dpviz.privacy.ledger import Neighbours

#: Above this epsilon the factor e^epsilon has no practical meaning.
_SPEAKING = math.log(1e6)

#: A promise is called little if a certainty may exceed this percentage, from a prior of 50%.
LITTLE = 90.0

#: Number of records of one person in the example for the case that the unit is a record.
_SEVERAL = 3


def surest(epsilon: float) -> float:
    """Largest posterior that a unit took part, from a prior of 1/2: e^epsilon / (1 + e^epsilon)."""
    return 1 / (1 + math.exp(-epsilon))


def percent_at_most(share: float) -> float:
    """Share in percent with one decimal, rounded up, so that a text with "at most" is true."""
    return math.ceil(1000 * share) / 10


def promises_little(epsilon: float) -> bool:
    """Whether a valid proof promises little, judged by the percentage that the sentences show."""
    return percent_at_most(surest(epsilon)) > LITTLE


def surest_words(epsilon: float) -> str:
    """Largest certainty from a prior of 1/2: "73.2% sure at most"; a caller must name the unit."""
    shown = percent_at_most(surest(epsilon))
    # The certainty is below 100%, so don't print "100%".
    return f"{shown:g}% sure at most" if shown < 100 else "next to certain"


def guess_words(epsilon: float, unit: str) -> str:
    """How often a guess on one unit can be right: a clause after "who" that a newspaper can print.

    The number of guesses is rounded up, so the clause is true. It holds if the unit is in the data
    with probability 1/2.
    """
    return (
        f"guesses by a coin whether {unit} is in the data is right 50 times in 100; with this "
        f"result, {_right(epsilon)}"
    )


def scale_words(epsilon: float) -> str:
    """Compare an epsilon with a scale, with other epsilons, and with several such releases."""
    others = [f"{_right(one)} with ε {one:g}" for one in (0.1, 1, 3, 10)]
    more = [f"{_right(many * epsilon)} after {many}" for many in (2, 5, 10)]
    return (
        "By a usual scale (Ponomareva and others, “How to DP-fy ML”, 2023: up to 1 strong, up to "
        f"10 reasonable, above 10 weak to none), it is {_level(epsilon)}.{_little(epsilon)} For "
        f"comparison, this guess is right {', '.join(others)}. After several releases of the same "
        f"data, each with ε {written_out(epsilon)}, it is right {', '.join(more)}."
    )


def limit_words(total: float, spent: float) -> str:
    """How much is left of a lifetime budget."""
    left = round(total - spent, 9)
    return (
        f"The owner's limit for all releases of these data is ε {written_out(total)}; "
        f"{written_out(left) if left > 0 else 'nothing'} is left."
    )


def all_spent_words(total: float) -> str:
    """What a reader can guess if a lifetime budget is spent; follows :func:`scale_words`."""
    return (
        f"If all of it is spent, this guess can be right {_right(total)}: by the scale above, "
        f"{_level(total)}.{_little(total)}"
    )


def _level(epsilon: float) -> str:
    return "strong" if epsilon <= 1 else "reasonable" if epsilon <= 10 else "weak to none"


def _little(epsilon: float) -> str:
    return (
        f" dpviz calls this little protection, because the guess can be right more than {LITTLE:g} "
        "times in 100."
    ) * promises_little(epsilon)


def _right(epsilon: float) -> str:
    right = math.ceil(percent_at_most(surest(epsilon)))
    return f"at most {right} times in 100" if right < 100 else "nearly always"


def _records(neighbours: Neighbours) -> str:
    if neighbours.cap > 1:
        return f"up to {neighbours.cap} records of yours"
    return "one record of yours"


def explain_guess(epsilon: float, neighbours: Neighbours, *, persons: bool = False) -> str:
    """Clause that says how certain a guess about one unit can be; see :func:`explain_epsilon`."""
    on = "whether you took part" if persons else f"on {_records(neighbours)}"
    return f"a guess {on}: {surest_words(epsilon)}"


def explain_surest(epsilon: float, neighbours: Neighbours, *, persons: bool = False) -> str:
    """Explain epsilon by the largest certainty that a unit took part, from a prior of 1/2."""
    unit = (
        "you are" if persons else f"{_records(neighbours)} {'are' if neighbours.cap > 1 else 'is'}"
    )
    said = (
        f"An observer who knows everything else, and thinks it 50 : 50 whether {unit} in the data, "
        f"is {surest_words(epsilon)} after the release."
    )
    if persons or neighbours.cap > 1:
        return said
    together = surest_words(_SEVERAL * epsilon)
    three = "For three records that are in the data together, or not at all, this observer is"
    return f"{said} {three} {together}."


def times_at_most(epsilon: float) -> str:
    """Value of e^epsilon, rounded up so that a text with "at most" is true; it is above 1."""
    digits = 2 if epsilon < math.log(100) else 0
    if epsilon < 0.1:
        digits += math.ceil(-math.log10(epsilon))
    return f"{math.ceil(math.exp(epsilon) * 10**digits) / 10**digits:,.{digits}f}"


def _factor(epsilon: float) -> str:
    if epsilon > _SPEAKING:
        return "more than a million"
    return f"at most {times_at_most(epsilon)}"


def _compared(neighbours: Neighbours, *, persons: bool) -> tuple[str, str]:
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
    """Explain in words how much the data of one unit (a person or a record) can change."""
    compared, holds = _compared(neighbours, persons=persons)
    if not persons and neighbours.cap == 1:
        holds = f"; for three records of yours, {_factor(_SEVERAL * epsilon)} times"
    may = "may be" if epsilon > _SPEAKING else "is"
    said = f"ε = {written_out(epsilon)}: any result {may} {_factor(epsilon)} times as likely"
    little = f" That promises little: {explain_guess(epsilon, neighbours, persons=persons)}."
    return f"{said} {compared}{holds}.{little * promises_little(epsilon)}"


@dataclass(frozen=True, kw_only=True)
class Precedent:
    """One published use of differential privacy: epsilon with its period, unit, and differences."""

    who: str
    year: int
    epsilon: str
    unit: str
    differs: str
    source: str


#: Ordered by year, the newest last.
PRECEDENTS = read_rows(Path(__file__).with_name("precedents.toml"), Precedent)
