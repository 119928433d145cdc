"""The same functions and numbers as the screen, for scripts, classes and checks.

With ``--json`` exactly one JSON object goes to standard output, everything else to
standard error. Exit status: 0 done, 2 wrong input, 3 refused for privacy, 1 anything else.
"""

from __future__ import annotations

import argparse
import io
import json
import re
import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict
from importlib import import_module
from typing import Any, NoReturn

import pandas as pd

from dpviz import __version__
from dpviz.base.ending import ended_by, hush
from dpviz.base.errors import InputError, reason, shown
from dpviz.base.errors import listed as quoted
from dpviz.base.formats import ACCEPTED
from dpviz.base.serialize import jsonable
from dpviz.commands.options import READING, REAL, WHOLE, flag, listed, option, said, share, typed
from dpviz.commands.output import write_table
from dpviz.data.samples import load_sample, sample, sample_names
from dpviz.experiments.illustrations import FIGURES
from dpviz.families import CARDS, FAMILIES
from dpviz.family.comparison import Report
from dpviz.family.parameter import Kind


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; returns the exit status."""
    try:
        given = _parser().parse_args(_joined(sys.argv[1:] if arguments is None else arguments))
        report, text = given.command(given)
        _print(json.dumps(jsonable(report), allow_nan=False) if given.json else text)
    except (Exception, KeyboardInterrupt) as error:
        return ended_by(error)
    return 0


def _print(text: str) -> None:
    """Print a result, on terminals of any encoding; a full disk is no fault of the command."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")
    try:
        print(text, flush=True)
    except BrokenPipeError:
        raise
    except OSError as error:
        hush()
        raise InputError(
            f"the command is done, but its result can't be printed ({reason(error)})."
        ) from None


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
    """List the sample sets, or write one."""
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
    """Argument parser whose complaints are one sentence."""

    def parse_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Name each argument that no option takes, in quotes."""
        given, others = self.parse_known_args(args, namespace)
        if others:
            self.error(f"unrecognized arguments: {quoted(others)}")
        return given

    def error(self, message: str) -> NoReturn:
        """Raise instead of printing the usage."""
        raise InputError(f"{shown(message, 800)}; see {self.prog} --help.")

    def _print_message(self, message: str, file: Any = None) -> None:
        """Print help and version as any other result."""
        _print(message.rstrip())


def _joined(arguments: Sequence[str]) -> list[str]:
    """Let values begin with a minus sign: ``--domain "-180,180;-90,90"``, ``--missing "-,NA"``."""
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


def _grid(text: str) -> int | tuple[int, ...]:
    """``64`` or ``64,32``."""
    sides = tuple(int(side) for side in text.split(","))
    return sides[0] if len(sides) == 1 else sides


_SIDES = typed(_grid, "is not a whole number of cells or one per axis (64 or 64,32)")
_TYPES: dict[Kind, Any] = {"number": REAL, "whole": WHOLE, "choice": str, "sides": _SIDES}


def _parser() -> argparse.ArgumentParser:
    """Parser of all commands."""
    parser = _Parser(
        prog="dpviz",
        description="Find clusters in 2-D data with differential privacy, and see what the privacy "
        "costs: beside the clusters without noise, with scores. Begin with: "
        "dpviz run gaussians --method privthr",
    )
    parser.add_argument(
        "--version", action="version", version=f"dpviz {__version__}", help="print the version"
    )
    commands = parser.add_subparsers(required=True, metavar="COMMAND")

    listing = _command(commands, "methods", methods_command, "list all methods", "methods --json")
    share(listing, "json")

    sets = _command(
        commands, "sample", sample_command, "write a sample set", "sample spirals --out spirals.csv"
    )
    sets.add_argument("name", nargs="?", metavar="NAME", help=", ".join(sample_names()))
    flag(sets, "list", "list the sample sets")
    option(sets, "out", "FILE", "csv or parquet file to write")
    share(sets, "json")

    running = _command(
        commands,
        "run",
        _late("commands.run", "run_command"),
        "true and private clusters of one data set, with scores",
        "run spirals --method privthr --epsilon 1 --repeats 10",
    )
    _add_common(running)
    option(running, "epsilon", "E", "whole budget", REAL, default=1.0)
    option(running, "repeats", "R", "draws", WHOLE, default=1)
    option(running, "labels", "FILE", "write the points with their clusters")
    share(running, "method", "variant")
    share(running, "classes", "leave-out")
    _add_families(running)

    sweeping = _command(
        commands,
        "sweep",
        _late("commands.sweep", "sweep_command"),
        "draws over methods and budgets, as one table",
        "sweep spirals --methods privqt,privthr --epsilons 0.5,1 --repeats 10 --out sweep.csv",
    )
    _add_common(sweeping)
    option(sweeping, "methods", "A,B", "methods to compare", listed(str), required=True)
    option(sweeping, "epsilons", "E,E", "whole budgets", listed(float), required=True)
    option(sweeping, "axis", "P", "parameter that runs, epsilon unless told", default="epsilon")
    option(sweeping, "values", "V,V", "values of that parameter", listed(float))
    share(sweeping, "variant")
    scores = ", ".join(dict.fromkeys(name for one in FAMILIES.values() for name in one.scores))
    option(sweeping, "scores", "S,S", f"the cheap ones unless told; of {scores}", listed(str))
    option(sweeping, "out", "FILE", "csv or parquet file to write", required=True)
    option(sweeping, "repeats", "R", "draws of each; 10 unless told", WHOLE, default=10)
    share(sweeping, "classes", "leave-out", "jobs", "resume")
    _add_families(sweeping)

    drawing = _command(
        commands,
        "figures",
        _late("commands.figures", "figures_command"),
        "the papers' figures, as tables",
        "figures 000-5,000-6,000-8 --jobs 2 --out figures",
    )
    drawing.add_argument("names", type=listed(str), metavar="NAME[,NAME]", help=", ".join(FIGURES))
    option(
        drawing,
        "data",
        "DATA",
        "in place of the sample sets: a file or sample set, with what goes with it "
        "(points.csv:grid=64:density=0.58:clusters=15:classes=kind:name=mine); give it once for "
        "each",
        action="append",
    )
    share(drawing, "columns", kind=listed(str))
    share(drawing, *READING)
    share(drawing, "classes", "leave-out", "domain", "outside", "neighbours")
    option(drawing, "variant", "V", "sound or published; published unless told")
    share(drawing, "seed")
    option(drawing, "out", "FOLDER", "folder to write", required=True)
    option(drawing, "repeats", "R", "draws of each; as in the paper unless told", WHOLE)
    share(drawing, "jobs", "resume", "json")
    # A figure compares methods on points; what only single runs can take stays out.
    drawing.set_defaults(counts=False, unit=None, cap=None, grid=None, engine=None, scheduler=None)

    reading = _command(
        commands,
        "papers",
        _late("commands.papers", "papers_command"),
        "what the papers say line by line, and what comes out",
        "papers 000 --state differs",
    )
    reading.add_argument("number", nargs="?", metavar="NUMBER", help="000, 002, 003 or 004; or all")
    option(reading, "state", "S", "only rows in this state, for example differs")
    share(reading, "json")

    auditing = _command(
        commands,
        "audit",
        _late("commands.audit", "audit_command"),
        "is it really private? a lower bound on the real epsilon, measured",
        "audit privqt --variant published --runs 2000",
    )
    auditing.add_argument("method", metavar="METHOD", help="a method that spends a budget")
    share(auditing, "variant")
    option(auditing, "claim", "E", "claimed epsilon", REAL, default=1.0)
    option(auditing, "runs", "N", "on each data set; as many as needed unless told", WHOLE)
    option(auditing, "scenario", "NAME", "pair of data sets; the first one unless told")
    option(auditing, "seed", "N", "of all runs", WHOLE, default=0)
    flag(auditing, "list", "list the scenarios of the method")
    flag(auditing, "steps", "show which planted bugs are found in which step")
    share(auditing, "json")

    releasing = _command(
        commands,
        "release",
        _late("commands.release", "release_command"),
        "one secure release, debited from a lifetime budget first",
        "release gaussians --method privthrem --epsilon 1 --budget-file budget.db --total 3 "
        "--out released",
    )
    _add_common(releasing)
    option(releasing, "epsilon", "E", "to debit", REAL, required=True)
    option(releasing, "budget-file", "FILE", "lifetime budgets (SQLite)", required=True)
    option(releasing, "source", "ID", "name of the data source; that of DATA unless told")
    option(releasing, "total", "E", "lifetime budget, at the source's first release", REAL)
    option(releasing, "out", "FOLDER", "new folder to write", required=True)
    option(releasing, "header", "LINE", 'the first line that DATA lacks, for example "x,y"')
    option(releasing, "title", "T", "of the report", default="")
    share(releasing, "method", "variant")
    _add_families(releasing)
    released = [card.name for card in CARDS.values() if card.spends]
    said(
        releasing,
        seed="ignored: nobody can repeat a release",
        domain='"lo,hi;lo,hi", known without the data; data is refused',
        variant="sound; published is refused",
        method=", ".join(released),
    )

    converting = _command(
        commands,
        "convert",
        _late("commands.convert", "convert_command"),
        "write what exploring shows of any file as CSV or Parquet, which a release reads",
        "convert sample_data/checkins.parquet checkins.csv",
    )
    converting.add_argument("data", metavar="FILE", help=f"{ACCEPTED}; - for standard input")
    converting.add_argument("out", metavar="OUT", help="csv or parquet file to write")
    share(converting, "columns", *READING, "leave-out", "json")
    said(converting, columns="names or numbers; all unless told")

    budget = _command(
        commands,
        "budget",
        _late("commands.release", "budget_command"),
        "lifetime budget of each data source: spent, left, entries",
        "budget budget.db",
    )
    budget.add_argument("file", metavar="FILE", help="the budget file")
    share(budget, "json")

    app = _command(
        commands,
        "app",
        _late("server.start", "app_command"),
        "open the explorer in a browser",
        "app --port 8600",
    )
    option(app, "port", "N", "to serve it on; unless told, the next free one from 8501 on", WHOLE)
    option(app, "address", "A", "to listen on; this computer alone (localhost) unless told")
    option(app, "hosts", "H,H", "names by which others come, where they may")
    flag(app, "no-browser", "only serve it, open no browser")
    return parser


def parsers() -> dict[str, argparse.ArgumentParser]:
    """Parsers of all commands by name, as the documentation reads them."""
    (commands,) = (one for one in _parser()._actions if isinstance(one.choices, dict))
    return dict(commands.choices or {})


def _add_families(parser: argparse.ArgumentParser) -> None:
    """Options of all families; what is not given stays None."""
    added = {"epsilon"}
    for family in FAMILIES.values():
        group = parser.add_argument_group(f"{family.title} methods")
        for one in family.parameters:
            if one.name not in added:
                added.add(one.name)
                option(group, one.name, one.metavar, one.usage, _TYPES[one.kind])


def _late(module: str, name: str) -> Callable[[argparse.Namespace], tuple[Report, str]]:
    """Return a command that imports its module when it runs, so that others start sooner."""

    def command(given: argparse.Namespace) -> tuple[Report, str]:
        answer: tuple[Report, str] = getattr(import_module(f"dpviz.{module}"), name)(given)
        return answer

    return command


def _command(
    commands: Any,
    name: str,
    command: Callable[[argparse.Namespace], tuple[Report, str]],
    description: str,
    example: str,
) -> argparse.ArgumentParser:
    """Add a command; its help ends with an example that runs."""
    parser: argparse.ArgumentParser = commands.add_parser(
        name,
        help=description,
        description=description,
        epilog=f"example: python -m dpviz {example}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.set_defaults(command=command, json=False, classes=None, labels=None, leave_out=False)
    return parser


def _add_common(parser: argparse.ArgumentParser) -> None:
    """Options of every command that reads data."""
    parser.add_argument(
        "data",
        metavar="DATA",
        help=f"a file ({ACCEPTED}), - for standard input, a folder of Parquet or CSV files, a "
        "pattern or an address of such files, or a sample set: " + ", ".join(sample_names()),
    )
    share(parser, "counts", "columns", *READING)
    share(parser, "domain", "outside", "unit", "cap")
    share(parser, "neighbours", "seed", "json", "engine", "scheduler")
