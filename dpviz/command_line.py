"""The same functions and numbers as the screen, for scripts, classes and checks.

With ``--json`` exactly one JSON object goes to standard output, everything else to
standard error. Exit status: 0 done, 2 wrong input, 3 refused for privacy, 1 anything else.
"""

from __future__ import annotations

import argparse
import io
import json
import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict
from typing import Any, NoReturn

import pandas as pd

from dpviz.commands.audit import audit_command
from dpviz.commands.figures import add_figures, figures_command
from dpviz.commands.output import write_table
from dpviz.commands.release import budget_command, release_command
from dpviz.commands.run import run_command
from dpviz.commands.sweep import add_sweep, sweep_command
from dpviz.data.samples import load_sample, sample, sample_names
from dpviz.ending import ended_by, hush
from dpviz.errors import InputError
from dpviz.families import CARDS, FAMILIES
from dpviz.family.comparison import Report
from dpviz.family.parameter import Kind
from dpviz.privacy.ledger import RELATIONS
from dpviz.reproduce import columns_of
from dpviz.serialize import jsonable


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
            f"the command is done, but its result can't be printed ({error.strerror})."
        ) from None


# -- commands ----------------------------------------------------------------------------


def methods_command(given: argparse.Namespace) -> tuple[Report, str]:
    """List all methods with their variants and parameters."""
    width = max(map(len, CARDS))
    lines = []
    for card in CARDS.values():
        lines.append(f"{card.name:<{width}}  {card.title}: {card.summary}")
        lines.append(f"{'':<{width}}  {card.paper}, {card.algorithm}")
        for variant in card.variants:
            verdict = "private" if variant.private else "not private"
            lines.append(f"{'':<{width}}  {variant.name}: {verdict}. {variant.reason}")
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

    def error(self, message: str) -> NoReturn:
        """Raise instead of printing the usage."""
        raise InputError(f"{message}; see {self.prog} --help.")

    def print_help(self, file: Any = None) -> None:
        """Print the help as any other result."""
        _print(self.format_help().rstrip())


def _joined(arguments: Sequence[str]) -> list[str]:
    """Let values begin with a minus sign: ``--domain "-180,180;-90,90"``."""
    joined: list[str] = []
    for argument in arguments:
        previous = joined[-1] if joined else ""
        is_value = argument[:1] == "-" and argument[1:2] in set("0123456789.")
        if is_value and previous.startswith("--") and "=" not in previous:
            joined[-1] = f"{previous}={argument}"
        else:
            joined.append(argument)
    return joined


def _number(kind: Callable[[str], Any], name: str) -> Callable[[str], Any]:
    """Type of an option: a number, or a sentence that says so."""

    def parse(text: str) -> Any:
        try:
            return kind(text)
        except ValueError:
            raise argparse.ArgumentTypeError(f'"{text}" is not {name}') from None

    return parse


def _grid(text: str) -> int | tuple[int, ...]:
    """``64`` or ``64,32``."""
    sides = tuple(int(side) for side in text.split(","))
    return sides[0] if len(sides) == 1 else sides


_WHOLE = _number(int, "a whole number")
_REAL = _number(float, "a number")
_SIDES = _number(_grid, "a whole number of cells or one per axis (64 or 64,32)")
_TYPES: dict[Kind, Any] = {"number": _REAL, "whole": _WHOLE, "choice": str, "sides": _SIDES}


def _parser() -> argparse.ArgumentParser:
    """Parser of all commands."""
    parser = _Parser(prog="dpviz", description="Differentially private clustering, measured.")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")

    listing = _command(commands, "methods", methods_command, "list all methods", "methods --json")
    listing.add_argument("--json", action="store_true", help="print one JSON object")

    sets = _command(
        commands, "sample", sample_command, "write a sample set", "sample spirals --out spirals.csv"
    )
    sets.add_argument("name", nargs="?", metavar="NAME", help=", ".join(sample_names()))
    sets.add_argument("--list", action="store_true", help="list the sample sets")
    sets.add_argument("--out", metavar="FILE", help="csv or parquet file to write")
    sets.add_argument("--json", action="store_true", help="print one JSON object")

    running = _command(
        commands,
        "run",
        run_command,
        "true and private clusters of one data set, with scores",
        "run spirals --method privthr --epsilon 1 --repeats 10",
    )
    _add_common(running)
    running.add_argument("--epsilon", type=_REAL, default=1.0, metavar="E", help="whole budget")
    running.add_argument("--repeats", type=_WHOLE, default=1, metavar="R", help="draws")
    running.add_argument("--labels", metavar="FILE", help="write the points with their clusters")
    _add_methods(running)
    _add_classes(running)

    sweeping = _command(
        commands,
        "sweep",
        sweep_command,
        "draws over methods and budgets, as one table",
        "sweep spirals --methods privqt,privthr --epsilons 0.5,1 --repeats 10 --out sweep.csv",
    )
    _add_common(sweeping)
    add_sweep(sweeping)
    _add_families(sweeping)

    drawing = _command(
        commands,
        "figures",
        figures_command,
        "the papers' figures, as tables",
        "figures 000-5,000-6,000-8 --jobs 2 --out figures",
    )
    add_figures(drawing)

    auditing = _command(
        commands,
        "audit",
        audit_command,
        "is it really private? a lower bound on the real epsilon, measured",
        "audit privqt --variant published --runs 2000",
    )
    auditing.add_argument("method", metavar="METHOD", help="a method that spends a budget")
    auditing.add_argument("--variant", default="sound", metavar="V", help="sound or published")
    auditing.add_argument("--claim", type=_REAL, default=1.0, metavar="E", help="claimed epsilon")
    auditing.add_argument(
        "--runs", type=_WHOLE, metavar="N", help="on each data set; as many as needed unless told"
    )
    auditing.add_argument(
        "--scenario", metavar="NAME", help="pair of data sets; the first one unless told"
    )
    auditing.add_argument("--seed", type=_WHOLE, default=0, metavar="N", help="of all runs")
    auditing.add_argument("--list", action="store_true", help="list the scenarios of the method")
    auditing.add_argument(
        "--steps", action="store_true", help="show which planted bugs are found in which step"
    )
    auditing.add_argument("--json", action="store_true", help="print one JSON object")

    releasing = _command(
        commands,
        "release",
        release_command,
        "one secure release, debited from a lifetime budget first",
        "release gaussians --method privthrem --epsilon 1 --budget-file budget.db --total 3 "
        "--out released",
    )
    _add_common(releasing)
    releasing.add_argument("--epsilon", type=_REAL, required=True, metavar="E", help="to debit")
    releasing.add_argument(
        "--budget-file", required=True, metavar="FILE", help="lifetime budgets (SQLite)"
    )
    releasing.add_argument(
        "--source", metavar="ID", help="name of the data source; that of DATA unless told"
    )
    releasing.add_argument(
        "--total", type=_REAL, metavar="E", help="lifetime budget, at the source's first release"
    )
    releasing.add_argument("--out", required=True, metavar="FOLDER", help="new folder to write")
    releasing.add_argument(
        "--header", metavar="LINE", help='the first line that DATA lacks, for example "x,y"'
    )
    releasing.add_argument("--title", default="", metavar="T", help="of the report")
    _add_methods(releasing)
    releasing.set_defaults(classes=None, labels=None)

    budget = _command(
        commands,
        "budget",
        budget_command,
        "lifetime budget of each data source: spent, left, entries",
        "budget budget.db",
    )
    budget.add_argument("file", metavar="FILE", help="the budget file")
    budget.add_argument("--json", action="store_true", help="print one JSON object")
    return parser


def _add_methods(parser: argparse.ArgumentParser) -> None:
    """Options that name a method, and those of both families."""
    parser.add_argument("--method", required=True, metavar="M", help=", ".join(CARDS))
    parser.add_argument("--variant", default="sound", metavar="V", help="sound or published")
    _add_families(parser)


def _add_classes(parser: argparse.ArgumentParser) -> None:
    """Known classes, which only scores know what to do with."""
    parser.add_argument(
        "--classes", metavar="COLUMN", help="column of known classes to score k-means against"
    )


def _add_families(parser: argparse.ArgumentParser) -> None:
    """Options of all families; what is not given stays None."""
    for family in FAMILIES.values():
        group = parser.add_argument_group(f"{family.title} methods")
        for one in family.parameters:
            if one.name != "epsilon":
                group.add_argument(
                    f"--{one.name}", type=_TYPES[one.kind], metavar=one.metavar, help=one.usage
                )


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
    parser.set_defaults(command=command, json=False)
    return parser


def _add_common(parser: argparse.ArgumentParser) -> None:
    """Options of every command that reads data."""
    parser.add_argument(
        "data",
        metavar="DATA",
        help="csv, tsv, parquet or npy file, - for standard input, or a sample set: "
        + ", ".join(sample_names()),
    )
    parser.add_argument("--counts", action="store_true", help="DATA is a grid of counts")
    parser.add_argument("--columns", type=columns_of, metavar="A,B", help="names or numbers")
    parser.add_argument("--no-header", action="store_true", help="the first line is data")
    parser.add_argument("--domain", metavar="D", help='"lo,hi;lo,hi", or data')
    parser.add_argument("--outside", default="clip", help="clip or drop points outside")
    parser.add_argument("--unit", metavar="COLUMN", help="column that tells persons apart")
    parser.add_argument("--cap", type=_WHOLE, metavar="M", help="most records of a person")
    parser.add_argument("--neighbours", default="add_remove", help=" or ".join(RELATIONS))
    parser.add_argument("--seed", type=_WHOLE, default=0, metavar="N", help="first seed")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
