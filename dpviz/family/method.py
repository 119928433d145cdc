"""A method, in the form that the rest of the program uses."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from importlib import import_module
from typing import Any

from dpviz.family.card import Card


@dataclass(frozen=True, kw_only=True)
class Method:
    """A method's card, and the function ``run(material, config, accountant)`` that runs it.

    A draw on 30,000 records takes ``seconds``. The noise of a release is on a lattice with this
    ``unit``. ``surprise(true, private)`` returns a text about an unexpected difference, or "".
    """

    card: Card
    run: Callable[[Any, Any, Any], Any]
    seconds: float
    unit: float
    surprise: Callable[[Any, Any], str] | None = None


def _run(module: Any, material: Any, config: Any, accountant: Any) -> Any:
    """Run a method in a variant that its card has, because the claim is about this variant."""
    variant = module.CARD.taken(config.variant)
    own = config if variant == config.variant else replace(config, variant=variant)
    return module.run(material, own, accountant)


def registry(
    package: str, names: Sequence[str], *, seconds: float, unit: float
) -> dict[str, Method]:
    """Methods of the modules of a package; a module may have its own ``SECONDS`` and ``UNIT``."""
    modules = {name: import_module(f"{package}.{name}") for name in names}
    return {name: method_of(one, seconds=seconds, unit=unit) for name, one in modules.items()}


def method_of(module: Any, *, seconds: float, unit: float) -> Method:
    """Return the method of a module, which has a ``CARD`` and ``run``."""
    return Method(
        card=module.CARD,
        run=partial(_run, module),
        seconds=getattr(module, "SECONDS", seconds),
        unit=getattr(module, "UNIT", unit),
        surprise=getattr(module, "surprise", None),
    )
