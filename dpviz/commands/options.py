"""Options that several commands share: definitions, checks and the resulting configuration."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

from dpviz.base.errors import InputError, shown
from dpviz.commands.reproduce import columns_of
from dpviz.commands.source import known_sample
from dpviz.data.engine.choice import ENGINES
from dpviz.experiments.sweep import MOST_SEED
from dpviz.families import CARDS, FAMILIES, family_of
from dpviz.family.method import check_method
from dpviz.family.trial import Configuration
from dpviz.privacy.ledger import RELATIONS, Neighbours

#: Maximum number of draws of one setting.
MOST_REPEATS = 100_000

T = TypeVar("T")


def typed(kind: Callable[[str], T], problem: str) -> Callable[[str], T]:
    """Type of an option; the error for an unreadable text starts with this text."""

    def parse(text: str) -> T:
        try:
            return kind(text)
        except ValueError:
            raise argparse.ArgumentTypeError(f'"{shown(text)}" {problem}') from None

    return parse


def listed(kind: Callable[[str], T]) -> Callable[[str], list[T]]:
    """Type of an option: values separated by commas."""
    return typed(
        lambda text: [kind(one.strip()) for one in text.split(",") if one.strip()],
        "is no list of numbers: write them with commas, such as 0.1,0.5,1",
    )


WHOLE = typed(int, "is not a whole number")
REAL = typed(float, "is not a number")

#: Options of several commands: placeholder, help, type, and other arguments of argparse.
_SHARED: dict[str, tuple[str | None, str, Callable[[str], Any], dict[str, Any]]] = {
    "missing": (
        "A,B",
        'cells that stand for no value, besides the usual ones: "-,NA"',
        lambda text: tuple(one.strip() for one in columns_of(text) if one.strip()),
        {},
    ),
    "skip": ("N", "lines above the names to leave out; found out unless told", WHOLE, {}),
    "encoding": ("E", "of text, for example cp1252; found out unless told", str, {}),
    "part": (
        "NAME",
        "sheet, layer, array, or file of an archive; needed where several hold data",
        str,
        {"aliases": ("sheet", "layer", "array")},
    ),
    "columns": ("A,B", "names or numbers", columns_of, {}),
    "domain": ("D", '"lo,hi;lo,hi", or data: unless told, published takes data', str, {}),
    "outside": (None, "clip or drop points outside", str, {"default": "clip"}),
    "unit": ("COLUMN", "column that tells persons apart", str, {}),
    "classes": ("COLUMN", "column of known classes to score clusters against", str, {}),
    "cap": ("M", "most records of a person", WHOLE, {}),
    "neighbours": (None, " or ".join(RELATIONS), str, {"default": "add_remove"}),
    "seed": ("N", "first seed", WHOLE, {"default": 0}),
    "variant": ("V", "sound or published", str, {"default": "sound"}),
    "method": ("M", ", ".join(CARDS), str, {"required": True}),
    "engine": (None, " or ".join(ENGINES), str, {"default": "local"}),
    "scheduler": ("ADDRESS", "of Dask, for --engine dask", str, {}),
    "jobs": ("J", "processes; 1", WHOLE, {"default": 1}),
}
#: Options on how a file for exploring is read.
READING = ("no-header", "missing", "skip", "encoding", "part")
_FLAGS = {
    "counts": "DATA is a grid of counts",
    "no-header": "the first line (after --skip) is data",
    "leave-out": "rows with something else than a number are left out",
    "resume": "go on with what an interrupted sweep left behind",
    "json": "print one JSON object",
}


def share(parser: argparse.ArgumentParser, *names: str, **changes: Any) -> None:
    """Add options that several commands share; `changes` overrides arguments of argparse."""
    for name in names:
        if name in _FLAGS:
            flag(parser, name, _FLAGS[name])
        else:
            metavar, text, kind, more = _SHARED[name]
            option(parser, name, metavar, text, **{"kind": kind, **more, **changes})


def said(parser: argparse.ArgumentParser, **helps: str) -> None:
    """Change what options mean, where a command takes them otherwise than the others."""
    for one in parser._actions:
        one.help = helps.get(one.dest, one.help)


def option(
    parser: argparse.ArgumentParser | argparse._ArgumentGroup,
    name: str,
    metavar: str | None,
    help: str,
    kind: Callable[[str], Any] = str,
    aliases: Iterable[str] = (),
    **more: Any,
) -> None:
    """Add an option with a value, and other spellings of it; for its type see :func:`typed`."""
    spellings = (f"--{one}" for one in (name, *aliases))
    parser.add_argument(*spellings, metavar=metavar, help=help, type=kind, **more)


def flag(parser: argparse.ArgumentParser, name: str, help: str) -> None:
    """Add an option without a value."""
    parser.add_argument(f"--{name}", action="store_true", help=help)


def check_common(given: argparse.Namespace, methods: Iterable[str]) -> None:
    """Refuse options that are invalid for any data and parameters."""
    for method in methods:
        check_method(method, CARDS)
    if given.cap is not None and given.unit is None:
        raise InputError(
            f"--cap {given.cap} needs --unit: name the column that tells persons apart."
        )
    if given.unit is not None and given.cap is None:
        raise InputError(
            f"--unit {shown(given.unit)} needs --cap: say how many records of a person count."
        )
    if not 0 <= given.seed <= MOST_SEED:
        raise InputError(
            f"--seed {shown(given.seed)}: give a whole number from 0 to {MOST_SEED:,}."
        )


def check_options(given: argparse.Namespace) -> None:
    """Refuse options that are invalid for any data."""
    check_common(given, [given.method])
    _check_family(given)


def check_repeats(repeats: int) -> None:
    """Raise InputError if the number of draws is below 1 or too large."""
    if not 1 <= repeats <= MOST_REPEATS:
        raise InputError(f"--repeats {repeats}: ask for 1 to {MOST_REPEATS:,} draws.")


def _check_family(given: argparse.Namespace) -> None:
    """Refuse options of another family."""
    own = family_of(given.method)
    for family in FAMILIES.values():
        values = given_of(given, [one.name for one in family.own if one.name not in own.by_name])
        for name, value in values.items() if family is not own else ():
            text = ",".join(map(str, value)) if isinstance(value, tuple) else value
            raise InputError(
                f"--{name} {shown(text)} goes with {family.title} methods, and {given.method} is "
                "none of them: leave it out."
            )


def config_of(given: argparse.Namespace) -> Configuration:
    """Public choices of the run; a sample set provides defaults for missing ones."""
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
    """Relation and unit from the options."""
    return Neighbours(relation=given.neighbours, cap=1 if given.cap is None else given.cap)


def given_of(given: argparse.Namespace, names: Iterable[str]) -> dict[str, Any]:
    """Return those of these options that were given, with their values."""
    values = {name: getattr(given, name) for name in names}
    return {name: value for name, value in values.items() if value is not None}
