"""The functions and results of the app on the command line, for scripts, classes and checks.

With ``--json``, standard output has exactly one JSON object. Exit status: 0 success, 2 invalid
input, 3 refused for privacy, 1 other.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Sequence
from typing import Any, NoReturn

from dpviz import __version__
from dpviz.base.ending import ended_by, put
from dpviz.base.errors import InputError, shown
from dpviz.base.errors import listed as quoted
from dpviz.commands.commands import commands, fill_lists


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return the exit status."""
    try:
        words = _joined(sys.argv[1:] if arguments is None else arguments)
        given = _parser(words).parse_args(words)
        report, text = given.act(given)
        if given.json:
            from dpviz.base.serialize import jsonable

            text = json.dumps(jsonable(report), allow_nan=False)
        put(text)
    except (Exception, KeyboardInterrupt) as error:
        return ended_by(error)
    return 0


class _Parser(argparse.ArgumentParser):
    def parse_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Quote unknown arguments in the error message."""
        given, others = self.parse_known_args(args, namespace)
        if others:
            self.error(f"unrecognized arguments: {quoted(others)}")
        return given

    def error(self, message: str) -> NoReturn:
        """Raise InputError instead of printing the usage."""
        raise InputError(f"{shown(message, 800)}; see {self.prog} --help.")

    def format_help(self) -> str:
        """Load the lists of the help texts only when they are shown."""
        fill_lists(self)
        return super().format_help()

    def _print_message(self, message: str, file: Any = None) -> None:
        put(message.rstrip())


def _joined(arguments: Sequence[str]) -> list[str]:
    """Allow values that begin with "-": ``--domain "-180,180;-90,90"``, ``--missing "-,NA"``."""
    joined: list[str] = []
    for argument in arguments:
        previous = joined[-1] if joined else ""
        is_value = argument[:1] == "-" and argument[1:2] in set("0123456789.")
        is_value |= previous == "--missing" and not re.match("--[a-z]", argument)
        if is_value and previous.startswith("--") and "=" not in previous:
            joined[-1] = f"{previous}={argument}"
        else:
            joined.append(argument)
    return joined


def _parser(words: Sequence[str] | None = None) -> argparse.ArgumentParser:
    parser = _Parser(
        prog="dpviz",
        description="Find clusters in 2-D data with differential privacy, and see what the privacy "
        "costs: scores compare these clusters with clusters without noise. Begin with: "
        "dpviz run gaussians --method privthr",
    )
    parser.add_argument(
        "--version", action="version", version=f"dpviz {__version__}", help="print the version"
    )
    parts = parser.add_subparsers(required=True, metavar="COMMAND")
    for one in commands():
        part = parts.add_parser(
            one.name,
            help=one.description,
            description=one.description,
            epilog=f"example: python -m dpviz {one.example}",
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        if words is None or one.name in words:
            one.add(part)
    return parser


def parsers() -> dict[str, argparse.ArgumentParser]:
    """Parsers of all commands by name, for the documentation."""
    (parts,) = (one for one in _parser()._actions if isinstance(one.choices, dict))
    found: dict[str, argparse.ArgumentParser] = dict(parts.choices or {})
    for one in found.values():
        fill_lists(one)
    return found
