"""The ``sweep`` command: many draws over methods and budgets, written as one table."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

from dpviz.commands.options import check_options, check_repeats
from dpviz.commands.source import capped, domain_of, known_sample, load
from dpviz.ending import say
from dpviz.errors import InputError, shown
from dpviz.experiments.sweep import MOST_SEED, Plan, Subject, run_sweep, settings_of
from dpviz.families import FAMILIES, PARAMETERS
from dpviz.family.claim import EXPLORATION
from dpviz.family.comparison import Report
from dpviz.privacy.ledger import Neighbours

T = TypeVar("T")


#: Options that list something, with an example.
_LISTS = {"methods": "privqt,privthr", "epsilons": "0.5,1", "scores": "dsg_c"}


def add_sweep(parser: argparse.ArgumentParser) -> None:
    """Options of the command's own; those of the data and of both families come beside them."""
    parser.add_argument(
        "--methods", required=True, type=_listed(str), metavar="A,B", help="methods to compare"
    )
    parser.add_argument(
        "--epsilons", required=True, type=_listed(float), metavar="E,E", help="whole budgets"
    )
    parser.add_argument("--variant", default="sound", metavar="V", help="sound or published")
    scores = dict.fromkeys(name for family in FAMILIES.values() for name in family.scores)
    parser.add_argument(
        "--scores",
        type=_listed(str),
        metavar="S,S",
        help=f"the cheap ones unless told; of {', '.join(scores)}",
    )
    parser.add_argument("--out", required=True, metavar="FILE", help="csv or parquet file to write")
    add_work(parser, repeats=10)


def add_work(parser: argparse.ArgumentParser, repeats: int | None) -> None:
    """Options on how much to draw, and how."""
    told = "as in the paper unless told" if repeats is None else f"{repeats} unless told"
    parser.add_argument(
        "--repeats", type=whole, default=repeats, metavar="R", help=f"draws of each; {told}"
    )
    parser.add_argument("--jobs", type=whole, default=1, metavar="J", help="processes; 1")
    parser.add_argument(
        "--resume", action="store_true", help="go on with what an interrupted sweep left behind"
    )


def sweep_command(given: argparse.Namespace) -> tuple[Report, str]:
    """Draw all that is asked for; returns the report and its text for people."""
    for name, example in _LISTS.items():
        if getattr(given, name) == []:
            raise InputError(f"--{name} is empty: name 1 or more, for example --{name} {example}.")
    check_out(given.out, "the file to write, for example --out sweep.csv")
    for method in given.methods:
        check_common(given, method)
    check_repeats(given.repeats)
    seeds = range(given.seed, given.seed + given.repeats)
    started = time.perf_counter()
    plan = Plan(
        subjects=(read_subject(given, None, {}),),
        methods=tuple(given.methods),
        epsilons=tuple(given.epsilons),
        seeds=tuple(seeds),
        variant=given.variant,
        neighbours=neighbours(given),
        options=_chosen(given),
        scores=None if given.scores is None else tuple(given.scores),
    )
    with taken_up_again():
        table = run_sweep(
            plan,
            jobs=given.jobs,
            out=Path(given.out),
            resume=given.resume,
            progress=progress_line(),
        )
    notes = table.attrs["notes"]
    if table.empty:
        raise InputError(notes[0])
    report = {
        "note": EXPLORATION,
        "rows": len(table),
        "out": given.out,
        "seconds": round(time.perf_counter() - started, 3),
        "notes": notes,
    }
    text = [f"{len(table):,} rows written to {given.out} in {report['seconds']:.1f} seconds"]
    return report, "\n".join([*text, *(f"note     {note}" for note in notes), EXPLORATION])


def check_common(given: argparse.Namespace, method: str) -> None:
    """Refuse what is wrong whatever the data, for one of several methods."""
    if not 0 <= given.seed <= MOST_SEED:
        raise InputError(
            f"--seed {shown(given.seed)}: give a whole number from 0 to {MOST_SEED:,}."
        )
    # Which of the methods an option of a family goes with, the plan looks after.
    others = dict.fromkeys((*PARAMETERS, "classes"))
    check_options(argparse.Namespace(**{**vars(given), **others, "method": method}))


def check_out(out: str, what: str) -> None:
    """Raise InputError where there is no name of what is to be written."""
    if not out.strip():
        raise InputError(f"--out is empty: name {what}.")


@contextmanager
def taken_up_again() -> Iterator[None]:
    """Let Ctrl-C say how to go on."""
    try:
        yield
    except KeyboardInterrupt:
        if sys.stderr.isatty():
            say("")  # the line on progress is not at its end
        raise KeyboardInterrupt(
            "finished draws are kept, and the same command with --resume goes on"
        ) from None


def neighbours(given: argparse.Namespace) -> Neighbours:
    """Relation and unit from the options."""
    return Neighbours(relation=given.neighbours, cap=1 if given.cap is None else given.cap)


def read_subject(given: argparse.Namespace, name: str | None, settings: dict[str, Any]) -> Subject:
    """Data set that DATA names, under a name, or its own; a sample brings its parameters."""
    known = known_sample(given)
    data, _ = load(argparse.Namespace(**{**vars(given), "labels": None, "classes": None}))
    return Subject(
        name=name or data.name,
        title=known.title if known else data.name,
        dataset=capped(data, given),
        domain=domain_of(given.domain, data),
        outside=given.outside,
        settings=(settings_of(known) if known else {}) | settings,
    )


def progress_line() -> Callable[[int, int], None] | None:
    """Line on a terminal that says how far the work is; None where nobody would see it."""
    return _progress if sys.stderr.isatty() else None


def _progress(done: int, total: int) -> None:
    """Write the line anew."""
    end = "\n" if done == total else ""
    say(f"\r{done:,} of {total:,} draws", end=end)


def _chosen(given: argparse.Namespace) -> dict[str, Any]:
    """Parameters that were given."""
    values = {name: getattr(given, name) for name in PARAMETERS if name != "epsilon"}
    return {name: value for name, value in values.items() if value is not None}


def _listed(kind: Callable[[str], T]) -> Callable[[str], list[T]]:
    """Type of an option: values between commas, or a sentence that says so."""

    def parse(text: str) -> list[T]:
        try:
            return [kind(one.strip()) for one in text.split(",") if one.strip()]
        except ValueError:
            raise argparse.ArgumentTypeError(
                f'"{text}" is no list of numbers: write them with commas, such as 0.1,0.5,1'
            ) from None

    return parse


def whole(text: str) -> int:
    """Type of an option: a whole number, or a sentence that says so."""
    try:
        return int(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f'"{text}" is not a whole number') from None


def names(text: str) -> Sequence[str]:
    """Type of an option: names between commas."""
    return _listed(str)(text)
