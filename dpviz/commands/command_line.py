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
from dataclasses import asdict
from typing import Any, NoReturn

from dpviz import __version__
from dpviz.base.ending import ended_by, put
from dpviz.base.errors import InputError, shown
from dpviz.base.errors import listed as quoted
from dpviz.base.lazy import pandas as pd
from dpviz.base.serialize import jsonable
from dpviz.commands.options import commands
from dpviz.commands.output import write_table
from dpviz.data.samples import load_sample, sample, sample_names
from dpviz.families import CARDS
from dpviz.family.comparison import Report


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return the exit status."""
    try:
        given = _parser().parse_args(_joined(sys.argv[1:] if arguments is None else arguments))
        report, text = given.act(given)
        put(json.dumps(jsonable(report), allow_nan=False) if given.json else text)
    except (Exception, KeyboardInterrupt) as error:
        return ended_by(error)
    return 0


# -- commands ----------------------------------------------------------------------------


def methods_command(given: argparse.Namespace) -> tuple[Report, str]:
    """List all methods with their variants and parameters."""
    width = max(map(len, CARDS))
    lines = []
    for card in CARDS.values():
        lines.append(f"{card.name:<{width}}  {card.title}: {card.summary}")
        lines.append(f"{'':<{width}}  {card.source}")
        lines += [f"{'':<{width}}  {variant.name}: {variant.text}" for variant in card.variants]
    return {"methods": [card.facts for card in CARDS.values()]}, "\n".join(lines)


def sample_command(given: argparse.Namespace) -> tuple[Report, str]:
    """List the sample sets, or write a sample set to a file."""
    if given.list or given.name is None:
        listed = [asdict(sample(name)) for name in sample_names()]
        text = "\n".join(f"{one['name']:<12} {one['n']:>9,}  {one['title']}" for one in listed)
        return {"samples": listed}, text
    if given.out is None:
        raise InputError("--out is missing: name the file to write, for example --out points.csv.")
    data = load_sample(given.name)
    write_table(pd.DataFrame(data.points, columns=list(data.columns)), given.out)
    report = {
        "name": data.name,
        "n": data.n,
        "columns": data.columns,
        "domain": data.domain.bounds if data.domain else None,
        "out": given.out,
    }
    return report, f"{data.n:,} points of {data.name} written to {given.out}"


# -- arguments ---------------------------------------------------------------------------


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


def _parser() -> argparse.ArgumentParser:
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
        one.add(part)
    return parser


def parsers() -> dict[str, argparse.ArgumentParser]:
    """Parsers of all commands by name, for the documentation."""
    (parts,) = (one for one in _parser()._actions if isinstance(one.choices, dict))
    return dict(parts.choices or {})
