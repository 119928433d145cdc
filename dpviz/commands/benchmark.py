"""The ``benchmark`` command: compare anybody's method or estimator with our methods."""

from __future__ import annotations

import argparse
import math
import os
import shlex
from dataclasses import asdict

from dpviz.base.errors import InputError, shown
from dpviz.commands.audit import parameter_of
from dpviz.commands.output import progress_line, write_table
from dpviz.commands.sweep import check_out
from dpviz.data.samples import sample
from dpviz.experiments.benchmark import title_of
from dpviz.experiments.entry import EPSILONS, Cell, Standing, enter
from dpviz.families import score_of
from dpviz.family.comparison import Report


def benchmark_command(given: argparse.Namespace) -> tuple[Report, str]:
    """Compare an entry with our methods; return cells with verdicts, and a readable table."""
    if not (given.method.endswith(".py") or ":" in given.method):
        raise InputError(
            f'METHOD "{shown(given.method, 120)}": give FILE.py of a method, or MODULE:CLASS or '
            "FILE.py:CLASS of an estimator."
        )
    if given.out is not None:
        check_out(given.out, "the file to write, for example --out draws.csv")
        if not given.out.endswith((".csv", ".parquet")):
            raise InputError(
                f'--out "{shown(given.out, 120)}": name a file that ends in .csv or .parquet.'
            )
        # The draws take minutes, so check first whether the folder can be written.
        if not os.access(os.path.dirname(given.out) or ".", os.W_OK):
            raise InputError(
                f'--out "{shown(given.out, 120)}" can\'t be written: choose another file.'
            )
    found = enter(
        given.method,
        sets=given.sets,
        epsilons=EPSILONS if given.epsilons is None else given.epsilons,
        draws=given.repeats,
        secret=given.secret,
        methods=given.methods,
        given=dict(map(parameter_of, given.set or ())),
        seconds=given.seconds,
        memory=given.memory,
        jobs=given.jobs,
        progress=progress_line("draws"),
    )
    if given.out is not None:
        write_table(found.table, given.out)
    report: Report = {
        "entry": given.method,
        "title": found.title,
        "family": found.family,
        "score": found.score,
        "secret": found.secret,
        **{name: found.count(name) for name in ("won", "lost", "open")},
        "cells": [asdict(cell) for cell in found.cells],
        "out": given.out,
        "notes": found.notes,
    }
    return report, _as_text(given, found)


def _as_text(given: argparse.Namespace, found: Standing) -> str:
    ours = [*dict.fromkeys(name for cell in found.cells for name in cell.medians)]
    sign = score_of(found.score)
    better = "smaller" if sign.better == "<=" else "larger"
    head = ["data", "epsilon", "entry", *map(title_of, ours), "verdict"]
    rows = [head, *(_row(cell, ours) for cell in found.cells)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    table = [
        "  ".join(
            one.ljust(width) if at in (0, len(head) - 1) else one.rjust(width)
            for at, (one, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]
    total, draws = len(found.cells), found.cells[0].draws
    # An audit of a method's file has the default parameters.
    options = [word for one in given.set or () for word in ("--set", one)]
    words = ["dpviz", "audit", given.method, *options * (":" in given.method), "--claim", "1"]
    return "\n".join(
        [
            f"{found.title}: median {sign.title} of {draws:,} draws; {better} is better",
            *table,
            f"{found.count('won')} of {total} cells won against each of these methods, "
            f"{found.count('lost')} lost against one of them, {found.count('open')} open (sign "
            "test over draws, 99% confidence for each cell)",
            *(f"note     {note}" for note in found.notes),
            "note     The sample sets are public: constants of all methods may have been chosen "
            "on them.",
            f"again    --secret {found.secret}",
            f"privacy  not measured here: {shlex.join(words)}",
        ]
    )


def _row(cell: Cell, ours: list[str]) -> list[str]:
    lost = f" against {', '.join(map(title_of, cell.better))}" if cell.better else ""
    numbers = [cell.median, *(cell.medians.get(name, math.nan) for name in ours)]
    described = sample(cell.data)
    return [
        f"{cell.data} ({described.n:,} x {len(described.columns)})",
        f"{cell.epsilon:g}",
        *(f"{one:.4g}" for one in numbers),
        cell.verdict + lost + (f", {cell.failed} failed" if cell.failed else ""),
    ]
