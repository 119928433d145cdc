"""Descriptions of the noised steps: short names for the screen, longer texts for the report."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from dpviz.base.numbers import readable
from dpviz.base.tables import read_beside
from dpviz.privacy.ledger import Spend, composed


@dataclass(frozen=True, kw_only=True)
class _Words:
    long: str
    short: str = ""


#: Texts by the first words of the steps' names.
_STEPS: Mapping[str, _Words] = read_beside(__file__, Mapping[str, _Words])


def short_words(step: str) -> str:
    """Name of a step that a newcomer understands."""
    return _STEPS[step].short or step if step in _STEPS else step


def grouped(spends: Iterable[Spend]) -> list[list[Spend]]:
    """Group the spends that are shown together: parallel spends, and choices of a generation."""
    groups: dict[object, list[Spend]] = {}
    for number, spend in enumerate(spends):
        whole, _, part = spend.step.partition(", ")
        same = whole if part else number
        key = spend.step if spend.composition == "parallel" else same
        groups.setdefault(key, []).append(spend)
    return list(groups.values())


def group_words(spends: Sequence[Spend]) -> str:
    """Name of a group of :func:`grouped` for newcomers: "generation 1, choice 1 to choice 10"."""
    first, last = short_words(spends[0].step), spends[-1].step
    return first if spends[0].step == last else f"{first} to {last.partition(', ')[2]}"


def group_epsilon(spends: Sequence[Spend]) -> float:
    """Budget of a group of :func:`grouped`."""
    return composed(((spend, spend.epsilon) for spend in spends), 0.0)


def together_words(spends: Iterable[Spend]) -> str:
    """Words on scales that belong to the budgets of several spends; may be empty."""
    found = {readable(one.scale): readable(one.together) for one in spends if one.together}
    return "".join(
        f" ({scale}: for this and the coarser counts together, ε {whole})"
        for scale, whole in found.items()
    )


def long_words(step: str) -> str:
    """Noised quantity of a step, from the longest known prefix of the step's name; may be empty."""
    known = [start for start in _STEPS if step == start or step.startswith(f"{start} ")]
    return _STEPS[max(known, key=len)].long if known else ""
