"""The ``sweep`` command: many draws for several methods and budgets, in one table."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from dpviz.base.ending import say
from dpviz.base.errors import InputError, shown
from dpviz.base.lazy import pandas as pd
from dpviz.commands.options import check_common, check_repeats, given_of, neighbours
from dpviz.commands.output import progress_line
from dpviz.commands.source import (
    capped,
    columns_report,
    columns_words,
    domain_of,
    engine_for,
    known_sample,
    load,
    note_of,
    stored_data,
)
from dpviz.data.counted import counted
from dpviz.data.dataset import Dataset
from dpviz.data.engine.tables import Engine
from dpviz.data.stored import Stored
from dpviz.experiments.sweep import Plan, Subject, failing_words, run_sweep
from dpviz.families import PARAMETERS, family_of, settings_of
from dpviz.family.comparison import Report
from dpviz.family.run_domain import stored_domain

_LISTS = {
    "methods": "privqt,privthr", "epsilons": "0.5,1", "scores": "dsg_c", "values": "0.5,0.9",
}  # fmt: skip


def sweep_command(given: argparse.Namespace) -> tuple[Report, str]:
    """Compute all draws of a sweep; return the report and its readable text."""
    for name, example in _LISTS.items():
        if getattr(given, name) == []:
            raise InputError(f"--{name} is empty: name 1 or more, for example --{name} {example}.")
    check_out(given.out, "the file to write, for example --out sweep.csv")
    check_common(given, given.methods)
    check_repeats(given.repeats)
    started = time.perf_counter()
    subject = read_subject(given)
    plan = Plan(
        subjects=(subject,),
        methods=tuple(given.methods),
        epsilons=tuple(given.epsilons),
        seeds=tuple(range(given.seed, given.seed + given.repeats)),
        variant=given.variant,
        neighbours=neighbours(given),
        # The plan decides which methods an option of a family applies to.
        options=given_of(given, [name for name in PARAMETERS if name != "epsilon"]),
        scores=None if given.scores is None else tuple(given.scores),
        axis=given.axis,
        values=tuple(given.values or ()),
    )
    table = draw(given, [plan], Path(given.out))
    notes = [*subject.dataset.notes, *table.attrs["notes"], *not_private([plan])]
    report = {
        "note": note_of(given),
        "data": data_report(subject),
        "rows": len(table),
        "out": given.out,
        "seconds": round(time.perf_counter() - started, 3),
        "notes": notes,
    }
    text = [
        data_line(subject),
        f"{len(table):,} rows written to {given.out} in {report['seconds']:.1f} seconds",
    ]
    return report, "\n".join([*text, *(f"note     {note}" for note in notes), report["note"]])


def data_line(subject: Subject) -> str:
    """Name and columns of a data set, for the first line of a report."""
    return f"{subject.name}: {columns_words(subject.dataset)}"


def data_report(subject: Subject) -> Report:
    """Return name, size and columns for JSON, and notes on how the data were read."""
    data = subject.dataset
    return {"name": subject.name, "n": data.n, **columns_report(data), "notes": data.notes}


def not_private(plans: Iterable[Plan]) -> list[str]:
    """Sentences that name the methods of the plans that are not private."""
    failing: dict[tuple[str, str], str] = {}
    for plan in plans:
        failing |= plan.failing()
    return [f"not private: {words}" for words in failing_words(failing)]


def check_out(out: str, what: str) -> None:
    """Raise InputError if the output has no name."""
    if not out.strip():
        raise InputError(f"--out is empty: name {what}.")


def draw(given: argparse.Namespace, plans: Sequence[Plan], out: Path) -> pd.DataFrame:
    """Compute all rows of plans in one table; after Ctrl-C, explain how to continue."""
    try:
        table = run_sweep(
            *plans, jobs=given.jobs, out=out, resume=given.resume, progress=progress_line("draws")
        )
    except KeyboardInterrupt:
        if sys.stderr.isatty():
            say("")  # end the progress line
        raise KeyboardInterrupt(
            "finished draws are kept, and the same command with --resume continues"
        ) from None
    if table.empty:
        raise InputError(table.attrs["notes"][0])
    return table


def read_subject(
    given: argparse.Namespace, name: str | None = None, settings: dict[str, Any] | None = None
) -> Subject:
    """Read DATA as a subject of a sweep; stored data are counted only once on the grid."""
    known = known_sample(given)
    with stored_data(given) as opened, engine_for(given) as engine:
        if opened:
            for note in opened.notes:
                say(f"note: {note.removesuffix('.')}")
            data, domain = _on_grid(given, opened, engine), None
        else:
            data = load(given)
            data, domain = capped(data, given), domain_of(given.domain, data)
    return Subject(
        name=name or data.name,
        title=known.title if known else data.name,
        dataset=data,
        domain=domain,
        outside=given.outside,
        settings=(settings_of(known) if known else {}) | (settings or {}),
    )


def _on_grid(given: argparse.Namespace, source: Stored, engine: Engine) -> Dataset:
    for method in given.methods:
        if not family_of(method).fits_counts:
            raise InputError(
                f"--methods {method}: a sweep reads {shown(source.name)} once, as counts of a "
                "grid, but that method needs records; use the command run, or name a single file."
            )
    grid = PARAMETERS["grid"].default if given.grid is None else given.grid
    domain = domain_of(given.domain, source, engine)
    bounds = stored_domain(source, given.variant, engine, domain)
    return counted(source, grid, bounds, given.outside, engine)
