"""The ``rehearse`` command: what a planned release would show, on public data and without cost."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import Any

from dpviz.base.errors import InputError, shown
from dpviz.commands.options import check_options, config_of
from dpviz.commands.output import progress_line, spread
from dpviz.commands.source import known_sample, load
from dpviz.family.comparison import Report
from dpviz.grid.domain import Domain
from dpviz.release.rehearsal import (
    DRAWS,
    MOST_RECORDS,
    Forecast,
    PublicData,
    StandIn,
    made_up,
    merging_words,
    of_public,
    of_sample,
    rehearse,
)
from dpviz.release.request import Request


def rehearse_command(given: argparse.Namespace) -> tuple[Report, str]:
    """Rehearse a plan; return the expected results, and the same results as readable text."""
    has_file = given.data is not None
    if not has_file:
        given.data = ""
    check_options(given)
    for name, most in (("records", MOST_RECORDS), ("draws", DRAWS)):
        if not 1 <= getattr(given, name) <= most:
            raise InputError(
                f"--{name} {shown(getattr(given, name))}: give a number from 1 to {most:,}."
            )
    domain = None if given.domain in (None, "data") else Domain.parse(given.domain)
    if (known := known_sample(given)) is not None and domain is None:
        domain = known.domain
    plan = Request(config=config_of(given), domain=domain, outside=given.outside, unit=given.unit)
    plan.check()
    columns, stand_in = _stand_in(given, plan, has_file=has_file)
    done = rehearse(plan, stand_in, draws=given.draws, progress=progress_line("draws"))
    best = done.best
    assert best is not None  # noqa: S101 - rehearse has tried other plans
    merging = merging_words(best.request, columns, given.records) if columns else ""
    lines = [
        f"stand-in     {done.stand_in}, {done.records:,} records",
        f"plan         {_words(done.plan)}",
        f"recommended  {done.advice if best is done.plan else f'{done.change}: {_words(best)}'}",
        *([f"distance     {merging}"] if merging else []),
    ]
    report: Report = {
        "stand_in": done.stand_in,
        "records": done.records,
        "plan": _facts(done.plan),
        "recommended": _facts(best),
        "merging": merging,
    }
    return report, "\n".join(lines)


def _stand_in(
    given: argparse.Namespace, plan: Request, *, has_file: bool
) -> tuple[Sequence[str], StandIn]:
    if not has_file:
        assert plan.domain is not None  # noqa: S101 - the plan was checked
        columns = given.columns or ()
        if columns:
            plan.domain.check_ndim(len(columns), "column", "--columns")
        return columns, made_up(plan.domain, given.records, small=given.small)
    if given.small:
        raise InputError("--small applies only to made-up clusters: leave it or the file out.")
    # Persons matter only for the plan, because public data need no protection.
    data = load(argparse.Namespace(**vars(given) | {"unit": None, "cap": None}))
    known = known_sample(given)
    if data.counts is not None:
        raise InputError("a rehearsal needs records: give a table, not a grid of counts.")
    if known is not None:
        return data.columns, of_sample(known, data, plan, given.records)
    return data.columns, of_public(PublicData(dataset=data), plan, given.records)


def _words(forecast: Forecast) -> str:
    return f"{forecast.sentence} {forecast.on_nothing}".rstrip()


def _facts(forecast: Forecast) -> Report:
    found, request = forecast.found, forecast.request
    facts: dict[str, Any] = {"reported": found.reported, "found": found.again, "lost": found.lost}
    if request.family.finds_number:
        facts |= {"invented": found.invented, "on_nothing": forecast.nothing}
    return {
        "method": request.config.method,
        "parameters": request.parameters,
        "true": found.true,
        **{name: spread(values.tolist()) for name, values in facts.items() if values.size},
    }
