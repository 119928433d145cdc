"""The ``figures`` command: reproduce the papers' figures as tables."""

from __future__ import annotations

import argparse
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from dpviz.base.ending import say
from dpviz.base.errors import InputError, reason, shown
from dpviz.base.lazy import pandas as pd
from dpviz.commands.options import check_common, check_repeats, neighbours
from dpviz.commands.output import write_table
from dpviz.commands.sweep import check_out, data_line, data_report, draw, not_private, read_subject
from dpviz.experiments.illustrations import FIGURES, ILLUSTRATIONS, Picture, figure
from dpviz.experiments.presets import (
    NONE_PRINTED,
    PRESETS,
    Figure,
    Preset,
    figure_table,
    plans,
    rank_table,
)
from dpviz.experiments.sweep import Plan, Subject, rows_of
from dpviz.family.claim import EXPLORATION, MADE_UP
from dpviz.family.comparison import Report
from dpviz.wavecluster.methods import NOISE_FREE
from dpviz.wavecluster.parameters import Config
from dpviz.wavecluster.pipeline import Source
from dpviz.wavecluster.scores import RANK
from dpviz.wavecluster.truth import Truth, true_config

_SETTINGS = {"grid": int, "density": float, "clusters": int, "classes": str, "name": str}

RANKS = "k_table.csv"


def figures_command(given: argparse.Namespace) -> tuple[Report, str]:
    """Compute the figures; return the report and its readable text."""
    started = time.perf_counter()
    chosen = [figure(name) for name in dict.fromkeys(given.names)]
    if not chosen:
        raise InputError(f"NAME is missing: choose from {', '.join(FIGURES)}.")
    presets = [PRESETS[one.name] for one in chosen if one.name in PRESETS]
    check_out(given.out, "the folder to write, for example --out figures")
    check_common(given, presets[0].methods if presets else ())
    if given.repeats is not None:
        check_repeats(given.repeats)
    if given.data and not presets:
        raise InputError(f"--data: {', '.join(given.names)} has its own data; leave it out.")
    subjects = [_subject(given, data) for data in given.data or ()]
    drawn = plans(
        presets,
        subjects or None,
        repeats=given.repeats,
        seed=given.seed,
        variant=given.variant,
        neighbours=neighbours(given),
    )
    folder = _folder(given.out)
    files = _write(given, presets, drawn, folder) if presets else {}
    for name in (one.name for one in chosen if one.name in ILLUSTRATIONS):
        table = ILLUSTRATIONS[name].table(repeats=given.repeats, seed=given.seed)
        files[f"{name}.csv"] = table
        write_table(table, str(folder / f"{name}.csv"))
    if RANKS in files and "printed" not in files[RANKS]:
        say(f"note: {NONE_PRINTED}")
    rows = files.get("rows.csv", pd.DataFrame())
    notes = [*rows.attrs.get("notes", []), *_stand_ins(given, chosen), *not_private(drawn.values())]
    notes += [f"not private: {one.name}: {one.fails}" for one in chosen if isinstance(one, Picture)]
    report: Report = {
        "note": EXPLORATION if given.data else MADE_UP,
        "figures": [
            {name: getattr(one, name) for name in ("name", "title", "paper", "caption")}
            | {"file": f"{one.name}.csv"}
            for one in chosen
        ],
        "rows": len(rows),
        "out": given.out,
        "files": list(files),
        "seconds": round(time.perf_counter() - started, 3),
        "notes": notes,
        "data": [data_report(one) for one in subjects],
    }
    text = _as_text(report, files.get(RANKS))
    return report, "\n".join([*map(data_line, subjects), text])


def _write(
    given: argparse.Namespace, presets: Sequence[Preset], drawn: Mapping[str, Plan], folder: Path
) -> dict[str, pd.DataFrame]:
    table = draw(given, list(dict.fromkeys(drawn.values())), folder / "rows.csv")
    files = {"rows.csv": table}
    for one in presets:
        rows = rows_of(table, drawn[one.name])
        files[f"{one.name}.csv"] = figure_table(one, rows)
        if RANK in one.scores:
            true = _true_runs(drawn[one.name], set(rows["data"]))
            files[RANKS] = rank_table(rows, true, one.axis)
    for name, frame in files.items():
        if name != "rows.csv":
            write_table(frame, str(folder / name))
    return files


def _stand_ins(given: argparse.Namespace, chosen: Sequence[Figure]) -> list[str]:
    names = {
        one.stand_in_title(name)
        for one in chosen
        if isinstance(one, Preset) and not given.data
        for name in one.samples
    }
    how = "--data FILE:name=DS1 uses the paper's own data."
    return [f"{'; '.join(sorted(names))}. {how}"] if names else []


def _as_text(report: Report, ranks: pd.DataFrame | None) -> str:
    lines = [
        f"{report['rows']:,} rows in {report['seconds']:.1f} seconds; in {report['out']}: "
        + ", ".join(report["files"])
    ]
    for one in report["figures"]:
        lines += [f"{one['name']}  {one['title']} ({one['paper']})", f"       {one['caption']}"]
        if one["name"] in ILLUSTRATIONS:
            lines += [ILLUSTRATIONS[one["name"]].text]
    if ranks is not None:
        lines += _rank_lines(ranks)
    lines += [f"note     {note}" for note in report["notes"]]
    return "\n".join([*lines, report["note"]])


def _rank_lines(ranks: pd.DataFrame) -> list[str]:
    wide = ranks.pivot_table("mean", ["data", "method", "k"], "epsilon", sort=False)
    printed = ranks.dropna(subset="printed") if "printed" in ranks else ranks[:0]
    missed = ranks[ranks["inside"] < ranks["promised"]]
    inside = ranks.groupby("method", sort=False)["inside"].mean().dropna()
    return [
        "k' (mean) by epsilon",
        wide.to_string(float_format="{:.1f}".format, na_rep=""),
        *(
            f"paper: {one.data}, {one.method}, epsilon {one.epsilon:g}: k' {one.printed:g}"
            for one in printed.itertuples()
        ),
        "share of the draws inside the bounds of Theorems 4 to 6 (uses true data, don't publish): "
        + ", ".join(f"{method} {share:.1%}" for method, share in inside.items()),
        *(
            f"less than promised: {one.data}, {one.method}, epsilon {one.epsilon:g}: "
            f"{one.inside:.0%} of {one.draws} draws, {one.promised:.0%} promised"
            for one in missed.itertuples()
        ),
    ]


def _true_runs(plan: Plan, names: set[str]) -> dict[str, Truth]:
    found = {}
    for one in plan.subjects:
        if one.name in names:
            config = Config(**plan.parameters(one, NOISE_FREE))
            source = Source.build(one.dataset, config.grid, one.bounds(plan.variant), one.outside)
            found[one.name] = Truth(source, true_config(config))
    return found


def _subject(given: argparse.Namespace, text: str) -> Subject:
    """Data set from ``FILE:grid=64:density=0.58``; settings after the file are optional."""
    path, settings = _split(text)
    name, classes = settings.pop("name", None), settings.pop("classes", given.classes)
    asked = {**vars(given), "data": path, "classes": classes}
    return read_subject(argparse.Namespace(**asked), name, settings)


def _split(text: str) -> tuple[str, dict[str, Any]]:
    rest, settings = text, dict[str, Any]()
    while ":" in rest and "=" in rest.rpartition(":")[2]:
        rest, _, setting = rest.rpartition(":")
        key, _, value = setting.partition("=")
        if key not in _SETTINGS:
            raise InputError(
                f"--data {shown(text, 120)}: {shown(key)} is unknown; choose from "
                f"{', '.join(_SETTINGS)}."
            )
        try:
            settings[key] = _SETTINGS[key](value)
        except ValueError:
            raise InputError(
                f'--data {shown(text, 120)}: {key} = "{shown(value)}" must be a number.'
            ) from None
    return rest, settings


def _folder(out: str) -> Path:
    folder = Path(out)
    try:
        folder.mkdir(exist_ok=True)
    except OSError as error:
        raise InputError(
            f"--out {shown(out, 120)}: can't be created ({reason(error)}): name another folder."
        ) from None
    return folder
