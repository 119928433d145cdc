"""The ``run`` command: true and private runs of one method on one data set, with scores."""

from __future__ import annotations

import argparse
from dataclasses import asdict
from pathlib import Path
from typing import Any

from dpviz.base.errors import InputError, shown
from dpviz.base.lazy import pandas as pd
from dpviz.base.numbers import counted
from dpviz.commands.options import check_options, check_repeats, config_of
from dpviz.commands.options import neighbours as neighbours_of
from dpviz.commands.output import metric_lines, progress, spend_lines, spread, timed, write_table
from dpviz.commands.source import (
    capped,
    columns_report,
    columns_words,
    domain_of,
    engine_for,
    load,
    note_of,
    stored_data,
)
from dpviz.data.cities import exchanged
from dpviz.data.dataset import Dataset
from dpviz.data.stored import Stored
from dpviz.families import CARDS, family_of
from dpviz.family.claim import claim, variant_words
from dpviz.family.comparison import Comparison, Report
from dpviz.family.trial import Configuration
from dpviz.grid.counts import load_loops
from dpviz.privacy.explain import explain_guess, promises_little


def run_command(given: argparse.Namespace) -> tuple[Report, str]:
    """Run one method; return the report and its readable text."""
    check_options(given)
    if given.labels and not Path(given.labels).resolve().parent.is_dir():
        raise InputError(
            f"--labels {shown(given.labels, 120)}: that folder does not exist; create it first."
        )
    check_repeats(given.repeats)
    config, family = config_of(given), family_of(given.method)
    seconds: dict[str, float] = {}
    with stored_data(given) as opened, engine_for(given) as engine:
        with timed(seconds, "read"):
            data = opened or capped(load(given), given)
        domain = domain_of(given.domain, data, engine)
        if isinstance(data, Dataset) and data.points is not None:
            with timed(seconds, "load"):
                load_loops(data.points)
        with timed(seconds, family.preparing):
            material = (
                family.stored(data, config, domain, given.outside, engine)
                if isinstance(data, Stored)
                else family.material(data, config, domain, given.outside)
            )
            comparison = family.comparison(family.trial(material, config), given.outside)
        return _run(given, config, data, comparison, seconds)


def _run(
    given: argparse.Namespace,
    config: Configuration,
    data: Dataset | Stored,
    comparison: Comparison,
    seconds: dict[str, float],
) -> tuple[Report, str]:
    with timed(seconds, "true"):
        comparison.true()
    card = CARDS[config.method]
    seeds = [given.seed + repeat for repeat in range(given.repeats)] if card.spends else []
    with timed(seconds, "private"):
        draws: list[Any] = [comparison.draw(seed) for seed in progress(seeds, "drawn")]
    with timed(seconds, "metrics"):
        comparison = comparison.beyond(draws)
        pairs = list(zip(draws, seeds, strict=True))
        scores = [comparison.scores(one, seed) for one, seed in progress(pairs, "scored")]
    if given.labels and isinstance(data, Dataset) and data.points is not None:
        frame = pd.DataFrame(data.points, columns=list(data.columns))
        frame["true_cluster"] = comparison.label(data.points, None)
        if draws:
            frame["private_cluster"] = comparison.label(data.points, draws[0])
        write_table(frame, given.labels)
    report = {
        "note": note_of(given),
        "claim": asdict(claim(card, config, comparison.material.domain)),
        "data": _data_report(data, comparison),
        "config": {
            **comparison.settings(),
            "domain": comparison.material.domain.bounds,
            "domain_declared": comparison.material.domain.declared,
            "outside": given.outside,
            "seed": given.seed,
        },
        "true": comparison.true(),
        "private": [
            {"seed": seed, **comparison.summary(one, row)}
            for (one, seed), row in zip(pairs, scores, strict=True)
        ],
        "metrics": {
            name: spread([row[name] for row in scores]) for name in (scores[0] if scores else ())
        },
        "ledger": [asdict(spend) for spend in draws[0].ledger] if draws else [],
        "unspent": draws[0].ledger.unspent(config.epsilon) if draws else 0.0,
        "seconds": seconds,
    }
    return report, _as_text(given, report, comparison, columns_words(data))


def _data_report(data: Dataset | Stored, comparison: Comparison) -> Report:
    dropped, notes = comparison.material.dropped, comparison.notes()
    if isinstance(data, Dataset):
        dropped, notes = data.dropped, [*data.notes, *notes]
        if data.points is not None and (said := exchanged(data.columns, data.points)):
            notes.append(said)
    else:
        if dropped:
            notes = [f"Left out: {dropped:,} rows with a missing or infinite value.", *notes]
        dropped, notes = data.dropped + dropped, [*data.notes, *notes]
    return {
        "name": data.name,
        "n": comparison.material.n,
        **columns_report(data),
        "outside": comparison.material.n_outside,
        "dropped": dropped,
        "notes": notes,
    }


def _promise(given: argparse.Namespace, config: Report) -> str:
    if not promises_little(config["epsilon"]):
        return "private"
    neighbours, persons = neighbours_of(given), given.unit is not None
    return (
        "the proof holds, but promises little ("
        f"{explain_guess(config['epsilon'], neighbours, persons=persons)})"
    )


def _as_text(given: argparse.Namespace, report: Report, comparison: Comparison, words: str) -> str:
    data, config, verdict = report["data"], report["config"], report["claim"]
    card = CARDS[config["method"]]
    variant = variant_words(config["variant"], private=verdict["private"])
    budget = f", epsilon {config['epsilon']:g}, {variant}" if card.spends else ""
    return "\n".join(
        [
            f"{data['name']}: {words}; {counted(data['n'], 'record')}, "
            f"{data['outside']:,} outside the domain",
            f"{card.title}{budget}",
            *comparison.text(report),
            *metric_lines(report["metrics"]),
            *spend_lines(report["ledger"]),
            *([f"unspent  epsilon {report['unspent']:.4g}"] if report["unspent"] else []),
            *(f"note     {note}" for note in data["notes"]),
            f"{_promise(given, config) if verdict['private'] else 'NOT private'}: "
            f"{verdict['reason']}",
            report["note"],
        ]
    )
