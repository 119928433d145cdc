"""One file a method, and the registry that finds them by name."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from dpviz.config import Config
from dpviz.errors import InputError
from dpviz.methods import baseline, privqt, privthr, privthrem, wavecluster
from dpviz.methods.card import Card
from dpviz.pipeline import Run, Source
from dpviz.privacy.mechanisms import Accountant


@dataclass(frozen=True)
class Method:
    """A method's card and the function that runs it."""

    card: Card
    run: Callable[[Source, Config, Accountant], Run]


METHODS: dict[str, Method] = {
    module.CARD.name: Method(module.CARD, module.run)
    for module in (wavecluster, baseline, privqt, privthr, privthrem)
}


def method(name: str) -> Method:
    """Return the method of that name, or raise InputError with the choices."""
    if name not in METHODS:
        raise InputError(f'method = "{name}" is unknown: choose one of {", ".join(METHODS)}.')
    return METHODS[name]
