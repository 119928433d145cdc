"""Summarize raw rows of the benchmark, and write the file of summaries."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pandas as pd

from dpviz.base.replace import replacing
from dpviz.experiments.benchmark import (
    KEYS,
    LEADS,
    NUMBERS,
    SCORES,
    SERIES,
    Benchmark,
    Lead,
    lead,
)
from dpviz.families import FAMILIES
from dpviz.metrics.bands import band


def summarised(rows: pd.DataFrame) -> pd.DataFrame:
    """Cells of raw rows (one row per draw, with the columns of ``KEYS`` and of ``SCORES``)."""
    found = []
    for score in SCORES:
        if score not in rows:
            continue
        for key, values in rows.dropna(subset=[score]).groupby(list(KEYS), sort=True)[score]:
            numbers = {name: _short(one) for name, one in asdict(band(values)).items()}
            found.append(
                {**dict(zip(KEYS, key, strict=True)), "score": score, "draws": len(values)}
                | numbers
            )
    names = [*KEYS, "score", "draws", "mean", "median", "low", "high"]
    return pd.DataFrame(found, columns=names)


def _short(value: float) -> float:
    return float(f"{value:.4g}")


def write(benchmark: Benchmark, path: Path) -> None:
    """Write the summaries: one line for each set, and for each score, set, method and variant."""
    lines = [
        {**dict(zip(SERIES, key, strict=True)), **{name: part[name].tolist() for name in NUMBERS}}
        for key, part in benchmark.cells.groupby(list(SERIES), sort=True)
    ]
    parts: dict[str, list[Any]] = {
        "made": [benchmark.made],
        "notes": list(benchmark.notes),
        "sets": [asdict(one) for one in benchmark.sets.values()],
        "cells": lines,
    }
    text = ",\n".join(
        f'"{name}": [\n' + ",\n".join(_line(one) for one in entries) + "\n]"
        for name, entries in parts.items()
    )
    with replacing(path) as file:
        file.write(f"{{\n{text}\n}}\n".encode())
    leads = ",\n".join(_line(asdict(one)) for one in leads_of(benchmark))
    path.with_name(LEADS.name).write_text(f"[\n{leads}\n]\n", encoding="utf-8")


def leads_of(benchmark: Benchmark) -> list[Lead]:
    """Leads of the default methods that have results."""
    found = (lead(benchmark, one.name, one.first) for one in FAMILIES.values())
    return [one for one in found if one]


def _line(entry: Any) -> str:
    text = json.dumps(entry, separators=(",", ":"), ensure_ascii=False)
    return text.replace("Infinity", "null")
