"""Commands and their options as data, checks of options, and the resulting configuration."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from importlib import import_module
from typing import Any, Literal, TypeVar

from dpviz.base.errors import InputError, shown
from dpviz.base.formats import ACCEPTED
from dpviz.base.tables import read_beside
from dpviz.commands.reproduce import columns_of
from dpviz.commands.source import known_sample
from dpviz.data.engine.choice import ENGINES
from dpviz.data.samples import sample_names
from dpviz.experiments.illustrations import FIGURES
from dpviz.experiments.sweep import MOST_SEED
from dpviz.families import CARDS, FAMILIES, family_of
from dpviz.family.comparison import Report
from dpviz.family.method import check_method
from dpviz.family.trial import Configuration
from dpviz.privacy.ledger import RELATIONS, Neighbours

#: Maximum number of draws of one setting.
MOST_REPEATS = 100_000

T = TypeVar("T")


def _typed(read: Callable[[str], T], problem: str) -> Callable[[str], T]:
    """Type of an option; ``problem`` ends the error message for an invalid value."""

    def parse(text: str) -> T:
        try:
            return read(text)
        except ValueError:
            raise argparse.ArgumentTypeError(f'"{shown(text)}" {problem}') from None

    return parse


def _list_of(read: Callable[[str], T]) -> Callable[[str], list[T]]:
    return _typed(
        lambda text: [read(one.strip()) for one in text.split(",") if one.strip()],
        "is not a list of numbers: separate the numbers with commas, such as 0.1,0.5,1",
    )


def _grid(text: str) -> int | tuple[int, ...]:
    sides = tuple(int(side) for side in text.split(","))
    return sides[0] if len(sides) == 1 else sides


#: Functions that read the value of an option, by the name of its type.
_TYPES: dict[str, Callable[[str], Any]] = {
    "text": str,
    "choice": str,
    "whole": _typed(int, "is not a whole number"),
    "real": _typed(float, "is not a number"),
    "number": _typed(float, "is not a number"),
    "sides": _typed(_grid, "is not a whole number of cells (64), or one number per axis (64,32)"),
    "names": _list_of(str),
    "reals": _list_of(float),
    "columns": columns_of,
    "marks": lambda text: tuple(one.strip() for one in columns_of(text) if one.strip()),
}

#: Lists that replace names in braces in help texts.
_LISTS = {
    "accepted": ACCEPTED,
    "engines": " or ".join(ENGINES),
    "figures": ", ".join(FIGURES),
    "methods": ", ".join(CARDS),
    "relations": " or ".join(RELATIONS),
    "released": ", ".join(card.name for card in CARDS.values() if card.spends),
    "samples": ", ".join(sample_names()),
    "scores": ", ".join(dict.fromkeys(name for one in FAMILIES.values() for name in one.scores)),
}


@dataclass(frozen=True, kw_only=True)
class Argument:
    """An argument or option of a command; names in braces in its help are replaced by lists."""

    help: str
    kind: Literal["option", "repeated option", "flag", "argument", "optional argument"] = "option"
    value: str | None = None
    type: str = "text"
    default: Any = None
    required: bool = False
    aliases: tuple[str, ...] = ()

    def add(self, parser: argparse.ArgumentParser | argparse._ArgumentGroup, name: str) -> None:
        """Add this argument to a parser, under this name."""
        more: dict[str, Any] = {"help": self.help}
        if self.kind == "flag":
            parser.add_argument(f"--{name}", action="store_true", **more)
            return
        more |= {"metavar": self.value, "type": _TYPES[self.type], "default": self.default}
        if self.kind == "argument":
            parser.add_argument(name, **more)
        elif self.kind == "optional argument":
            parser.add_argument(name, nargs="?", **more)
        else:
            names = [f"--{one}" for one in (name, *self.aliases)]
            action = "append" if self.kind == "repeated option" else "store"
            parser.add_argument(*names, action=action, required=self.required, **more)


@dataclass(frozen=True, kw_only=True)
class Command:
    """A command: ``does`` is its module below ``dpviz`` and function; ``example`` works.

    It takes named arguments, its own or shared; those of all commands that read data come first,
    parameters of all methods last.
    """

    name: str
    does: str
    description: str
    example: str
    takes: tuple[str, ...]
    own: Mapping[str, Argument] = field(default_factory=dict)
    reads_data: bool = False
    has_parameters: bool = False

    def run(self, given: argparse.Namespace) -> tuple[Report, str]:
        """Run the command. Modules of commands are imported only here."""
        module, _, name = self.does.partition(":")
        answer: tuple[Report, str] = getattr(import_module(f"dpviz.{module}"), name)(given)
        return answer

    def add(self, parser: argparse.ArgumentParser) -> None:
        """Add the command's arguments; shared arguments of other commands get no value."""
        table = _table()
        absent = {
            name.replace("-", "_"): False if one.kind == "flag" else None
            for name, one in table.shared.items()
        }
        parser.set_defaults(**absent, labels=None, act=self.run)
        for name in (*(table.of_data if self.reads_data else ()), *self.takes):
            one = self.own[name] if name in self.own else table.shared[name]
            replace(one, help=one.help.format(**_LISTS)).add(parser, name)
        if self.has_parameters:
            _add_parameters(parser)


@dataclass(frozen=True)
class _Table:
    of_data: tuple[str, ...]
    shared: Mapping[str, Argument]
    commands: tuple[Command, ...]


@cache
def _table() -> _Table:
    found: _Table = read_beside(__file__, _Table, "commands")
    return found


def commands() -> tuple[Command, ...]:
    """All commands, in the order of the help."""
    return _table().commands


def _add_parameters(parser: argparse.ArgumentParser) -> None:
    added = {"epsilon"}
    for family in FAMILIES.values():
        group = parser.add_argument_group(f"{family.title} methods")
        for one in family.parameters:
            if one.name not in added:
                added.add(one.name)
                Argument(help=one.usage, value=one.metavar, type=one.kind).add(group, one.name)


def check_common(given: argparse.Namespace, methods: Iterable[str]) -> None:
    """Refuse options that are invalid for any data and parameters."""
    for method in methods:
        check_method(method, CARDS)
    if given.cap is not None and given.unit is None:
        raise InputError(
            f"--cap {given.cap} needs --unit: name the column that identifies persons."
        )
    if given.unit is not None and given.cap is None:
        raise InputError(
            f"--unit {shown(given.unit)} needs --cap, the largest number of records per person."
        )
    if not 0 <= given.seed <= MOST_SEED:
        raise InputError(
            f"--seed {shown(given.seed)}: give a whole number from 0 to {MOST_SEED:,}."
        )


def check_options(given: argparse.Namespace) -> None:
    """Refuse options that are invalid for any data."""
    check_common(given, [given.method])
    own = family_of(given.method)
    for family in FAMILIES.values():
        values = given_of(given, [one.name for one in family.own if one.name not in own.by_name])
        for name, value in values.items() if family is not own else ():
            text = ",".join(map(str, value)) if isinstance(value, tuple) else value
            raise InputError(
                f"--{name} {shown(text)} applies only to {family.title} methods, but "
                f"{given.method} is not a {family.title} method: leave it out."
            )


def check_repeats(repeats: int) -> None:
    """Raise InputError if the number of draws is below 1 or too large."""
    if not 1 <= repeats <= MOST_REPEATS:
        raise InputError(f"--repeats {repeats}: ask for 1 to {MOST_REPEATS:,} draws.")


def config_of(given: argparse.Namespace) -> Configuration:
    """Public choices of the run; a sample set provides defaults for missing parameters."""
    known, family = known_sample(given), family_of(given.method)
    values = given_of(given, [one.name for one in family.own])
    config: Configuration = family.config(
        method=given.method,
        epsilon=given.epsilon,
        variant=family.methods[given.method].card.taken(given.variant),
        neighbours=neighbours(given),
        **((family.suited(known) if known else {}) | values),
    )
    return config


def neighbours(given: argparse.Namespace) -> Neighbours:
    """Neighbour relation and cap from the options."""
    return Neighbours(relation=given.neighbours, cap=1 if given.cap is None else given.cap)


def given_of(given: argparse.Namespace, names: Iterable[str]) -> dict[str, Any]:
    """Return the values of the options in ``names``, except options that the user did not give."""
    values = {name: getattr(given, name) for name in names}
    return {name: value for name, value in values.items() if value is not None}
