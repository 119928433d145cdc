"""A method as the rest of the program knows it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Generic, TypeVar

from dpviz.errors import InputError
from dpviz.family.card import Card
from dpviz.privacy.mechanisms import Accountant

S = TypeVar("S")
C = TypeVar("C")
R = TypeVar("R")


@dataclass(frozen=True)
class Method(Generic[S, C, R]):
    """A method's card and the function that runs it on its family's kind of source."""

    card: Card
    run: Callable[[S, C, Accountant], R]


def check_method(name: str, choices: Mapping[str, object]) -> None:
    """Raise InputError where no method of that name is among the choices."""
    if name not in choices:
        raise InputError(f'method = "{name}" is unknown: choose one of {", ".join(choices)}.')
