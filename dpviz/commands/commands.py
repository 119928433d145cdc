"""Commands and their arguments as data; the module of a command is imported when it runs."""

from __future__ import annotations

import argparse
import csv
import io
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from dpviz.base.errors import shown
from dpviz.base.tables import read_beside

if TYPE_CHECKING:
    from dpviz.family.comparison import Report

T = TypeVar("T")


def columns_option(names: Iterable[str]) -> str:
    """Format names for ``--columns``; names with a comma are quoted, as in a CSV file."""
    text = io.StringIO()
    csv.writer(text, lineterminator="").writerow(names)
    return text.getvalue()


def columns_of(option: str) -> list[str]:
    """Inverse of :func:`columns_option`; raises ValueError if the text has several lines."""
    try:
        return next(csv.reader([option]), [])
    except csv.Error as error:
        raise ValueError(str(error)) from None


def _typed(read: Callable[[str], T], problem: str) -> Callable[[str], T]:
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
    """A command: ``does`` names its module (below ``dpviz``) and function; ``example`` is a call.

    It ``takes`` arguments by name, its ``own`` or shared. Arguments of all commands that read data
    come first, parameters of all methods last.
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
            (self.own[name] if name in self.own else table.shared[name]).add(parser, name)
        if not self.has_parameters:
            return
        from dpviz.families import FAMILIES

        added = {"epsilon"}
        for family in FAMILIES.values():
            group = parser.add_argument_group(f"{family.title} methods")
            for one in family.parameters:
                if one.name not in added:
                    added.add(one.name)
                    option = Argument(help=one.usage, value=one.metavar, type=one.kind)
                    option.add(group, one.name)


@dataclass(frozen=True)
class _Table:
    of_data: tuple[str, ...]
    shared: Mapping[str, Argument]
    commands: tuple[Command, ...]


@cache
def _table() -> _Table:
    found: _Table = read_beside(__file__, _Table)
    return found


def commands() -> tuple[Command, ...]:
    """All commands, in the order of the help."""
    return _table().commands


def fill_lists(parser: argparse.ArgumentParser) -> None:
    """Replace names in braces in the help texts by lists, for example of the methods."""
    for one in parser._actions:
        if one.help and "{" in one.help:
            from dpviz.commands.options import LISTS

            one.help = one.help.format(**LISTS)
