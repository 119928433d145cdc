"""A method, as the rest of the program uses it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from dpviz.family.card import Card
from dpviz.family.parameter import check_option


@dataclass(frozen=True, kw_only=True)
class Method:
    """A method's card, and the function ``run(material, config, accountant)`` that runs it.

    ``seconds`` is the rough time of a draw on 30,000 records, ``unit`` the lattice that a release
    draws its noise on: 1 for whole numbers. ``surprise(true, private)`` says why a private result
    is not what a person expects of the true one; empty where it is.
    """

    card: Card
    run: Callable[[Any, Any, Any], Any]
    seconds: float
    unit: float
    surprise: Callable[[Any, Any], str] | None = None


def registry(modules: Sequence[Any], *, seconds: float, unit: float) -> dict[str, Method]:
    """Methods of modules by name; a module's ``SECONDS`` and ``UNIT`` override the family's."""
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
    """Raise InputError where no method of that name is among the choices."""
    check_option("method", name, choices)
