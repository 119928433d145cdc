"""Conditions on facts of a run: "private_clusters < true_clusters and epsilon <= 1"."""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass

from dpviz.base.errors import InputError, shown

_SIGNS = {
    "==": operator.eq,
    "!=": operator.ne,
    "<=": operator.le,
    ">=": operator.ge,
    "<": operator.lt,
    ">": operator.gt,
}
#: Number of significant digits of a fact in a text, if the fact is not a whole number.
DIGITS = 3

_PART = re.compile(r"\s*([\w.]+)\s*(==|!=|<=|>=|<|>)\s*([\w.]+)\s*")


@dataclass(frozen=True)
class Condition:
    """A condition: all comparisons (left side, sign, right side) must be true."""

    parts: tuple[tuple[str | float, str, str | float], ...]

    @property
    def names(self) -> set[str]:
        """Names of the facts in the comparisons."""
        sides = [side for left, _, right in self.parts for side in (left, right)]
        return {side for side in sides if isinstance(side, str)}

    def holds(self, facts: Mapping[str, float]) -> bool:
        """Whether all comparisons are true; a comparison with a missing value is false."""
        # Facts are rounded as in texts: a noise scale of 1.996 is written as 2.
        return all(
            not (math.isnan(one) or math.isnan(other)) and _SIGNS[sign](one, other)
            for left, sign, right in self.parts
            for one, other in [(_value(left, facts), _value(right, facts))]
        )


def parse_condition(text: str, known: Collection[str]) -> Condition:
    """Read comparisons that "and" joins; InputError if they can't be read, or a fact is unknown."""
    parts = []
    for piece in re.split(r"\band\b", text):
        found = _PART.fullmatch(piece)
        if found is None:
            raise InputError(
                f'the condition "{shown(piece.strip())}" can\'t be read: write a fact, one of '
                f"{' '.join(_SIGNS)}, and a fact or a number."
            )
        left, sign, right = found.groups()
        parts.append((_side(left, known), sign, _side(right, known)))
    return Condition(tuple(parts))


def check_fact(name: str, known: Collection[str]) -> str:
    """Return the name of a fact, or raise InputError if no fact has this name."""
    if name not in known:
        raise InputError(f'there is no fact "{shown(name)}": choose from {", ".join(known)}.')
    return name


def _side(text: str, known: Collection[str]) -> str | float:
    try:
        return float(text)
    except ValueError:
        return check_fact(text, known)


def _value(side: str | float, facts: Mapping[str, float]) -> float:
    if not isinstance(side, str):
        return side
    value = float(facts.get(side, math.nan))
    return value if value.is_integer() else float(f"{value:.{DIGITS}g}")
