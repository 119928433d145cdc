"""A method, in the form that the rest of the program uses."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from dpviz.family.card import Card
from dpviz.family.parameter import check_option


@dataclass(frozen=True, kw_only=True)
class Method:
    """A method's card, and the function ``run(material, config, accountant)`` that runs it.

    ``seconds`` is the approximate time of a draw on 30,000 records. ``unit`` is the step of the
    lattice from which a release samples its noise: 1 for whole numbers.
    ``surprise(true, private)`` explains why a private result differs from what a person expects
    after the true result; it is empty if the result is not surprising.
    """

    card: Card
    run: Callable[[Any, Any, Any], Any]
    seconds: float
    unit: float
    surprise: Callable[[Any, Any], str] | None = None


def registry(modules: Sequence[Any], *, seconds: float, unit: float) -> dict[str, Method]:
    """Methods of modules, by name; ``SECONDS`` and ``UNIT`` of a module replace the defaults."""
    return {
        module.CARD.name: Method(
            card=module.CARD,
            run=module.run,
            seconds=getattr(module, "SECONDS", seconds),
            unit=getattr(module, "UNIT", unit),
            surprise=getattr(module, "surprise", None),
        )
        for module in modules
    }


def check_method(name: str, choices: Mapping[str, object]) -> None:
    """Raise InputError if the choices have no method of this name."""
    check_option("method", name, choices)
