"""The ``figures`` command: reproduce the papers' figures as tables."""

from __future__ import annotations

import argparse
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from dpviz.commands.options import check_common, check_repeats, neighbours
from dpviz.commands.output import write_table
from dpviz.commands.sweep import check_out, draw, read_subject
from dpviz.ending import say
from dpviz.errors import InputError
from dpviz.experiments.presets import (
    NONE_PRINTED,
    PRESETS,
    Preset,
    figure_table,
    plans,
    preset,
    rank_table,
)
from dpviz.experiments.sweep import Plan, Subject, rows_of
from dpviz.family.claim import EXPLORATION
from dpviz.family.comparison import Report
from dpviz.wavecluster.parameters import Config
from dpviz.wavecluster.pipeline import Source, Stages
from dpviz.wavecluster.scores import RANK
from dpviz.wavecluster.truth import Truth, true_config

#: Settings that may follow the name of a data set, with their types.
_SETTINGS = {"grid": int, "density": float, "clusters": int, "name": str}

#: File of k' beside k.
RANKS = "k_table.csv"


def figures_command(given: argparse.Namespace) -> tuple[Report, str]:
    """Draw the figures; return the report and its text for people."""
    started = time.perf_counter()
    presets = [preset(name) for name in dict.fromkeys(given.names)]
    if not presets:
        raise InputError(f"NAME is missing: choose from {', '.join(PRESETS)}.")
    check_out(given.out, "the folder to write, for example --out figures")
    check_common(given, presets[0].methods)
    if given.repeats is not None:
        check_repeats(given.repeats)
    drawn = plans(
        presets,
        [_subject(given, data) for data in given.data] if given.data else None,
        repeats=given.repeats,
        seed=given.seed,
        variant=given.variant,
        neighbours=neighbours(given),
    )
    files = _write(given, presets, drawn, _folder(given.out))
    if RANKS in files and files[RANKS]["printed"].isna().all():
        say(f"note: {NONE_PRINTED}")
    report = _report(given, presets, files, round(time.perf_counter() - started, 3))
    return report, _as_text(report, files.get(RANKS))


def _write(
    given: argparse.Namespace, presets: Sequence[Preset], drawn: Mapping[str, Plan], folder: Path
) -> dict[str, pd.DataFrame]:
    """Draw all rows and write the tables; return them by file name."""
    table = draw(given, list(dict.fromkeys(drawn.values())), folder / "rows.csv")
    files = {"rows.csv": table}
    for one in presets:
        rows = rows_of(table, drawn[one.name])
        files[f"{one.name}.csv"] = figure_table(one, rows)
        if RANK in one.scores:
            files[RANKS] = rank_table(rows, _true_runs(drawn[one.name], set(rows["data"])))
    for name, frame in files.items():
        if name != "rows.csv":
            write_table(frame, str(folder / name))
    return files


def _report(
    given: argparse.Namespace,
    presets: Sequence[Preset],
    files: dict[str, pd.DataFrame],
    seconds: float,
) -> Report:
    """Report on the drawn rows and the written files."""
    rows = files["rows.csv"]
    return {
        "note": EXPLORATION,
        "figures": [
            {name: getattr(one, name) for name in ("name", "title", "paper", "caption")}
            | {"file": f"{one.name}.csv"}
            for one in presets
        ],
        "rows": len(rows),
        "out": given.out,
        "files": list(files),
        "seconds": seconds,
        "notes": rows.attrs["notes"],
    }


def _as_text(report: Report, ranks: pd.DataFrame | None) -> str:
    """Report for people."""
    lines = [
        f"{report['rows']:,} rows in {report['seconds']:.1f} seconds; in {report['out']}: "
        + ", ".join(report["files"])
    ]
    for one in report["figures"]:
        lines += [f"{one['name']}  {one['title']} ({one['paper']})", f"       {one['caption']}"]
    if ranks is not None:
        lines += _rank_lines(ranks)
    lines += [f"note     {note}" for note in report["notes"]]
    return "\n".join([*lines, report["note"]])


def _rank_lines(ranks: pd.DataFrame) -> list[str]:
    """Means of k' by epsilon, and the values printed in the paper."""
    wide = ranks.pivot_table("mean", ["data", "method", "k"], "epsilon", sort=False)
    printed = ranks.dropna(subset="printed")
    return [
        "k' (mean) by epsilon",
        wide.to_string(float_format="{:.1f}".format, na_rep=""),
        *(
            f"paper: {one.data}, {one.method}, epsilon {one.epsilon:g}: k' {one.printed:g}"
            for one in printed.itertuples()
        ),
    ]


def _true_runs(plan: Plan, names: set[str]) -> dict[str, tuple[int, Stages]]:
    """Records and true run of the named data sets, with the parameters of the plan."""
    found = {}
    for one in plan.subjects:
        if one.name in names:
            config = Config(**plan.parameters(one, "wavecluster"))
            source = Source.build(one.dataset, config.grid, one.bounds(plan.variant), one.outside)
            found[one.name] = source.n, Truth(source, true_config(config)).stages
    return found


def _subject(given: argparse.Namespace, text: str) -> Subject:
    """Data set from ``FILE:grid=64:density=0.58``; everything after the file is optional."""
    path, settings = _split(text)
    name = settings.pop("name", None)
    return read_subject(argparse.Namespace(**{**vars(given), "data": path}), name, settings)


def _split(text: str) -> tuple[str, dict[str, Any]]:
    """Split the name of a data set from the settings at its end."""
    rest, settings = text, dict[str, Any]()
    while ":" in rest and "=" in rest.rpartition(":")[2]:
        rest, _, setting = rest.rpartition(":")
        key, _, value = setting.partition("=")
        if key not in _SETTINGS:
            raise InputError(
                f"--data {text}: {key} is unknown; choose from {', '.join(_SETTINGS)}."
            )
        try:
            settings[key] = _SETTINGS[key](value)
        except ValueError:
            raise InputError(f'--data {text}: {key} = "{value}" is not a number.') from None
    return rest, settings


def _folder(out: str) -> Path:
    """Output folder; created if its parent exists."""
    folder = Path(out)
    try:
        folder.mkdir(exist_ok=True)
    except OSError as error:
        raise InputError(f"--out {out}: no folder can be made there ({error}).") from None
    return folder
