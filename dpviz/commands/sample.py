"""List the sample sets, or write a sample set to a file."""

from __future__ import annotations

import argparse
from dataclasses import asdict

from dpviz.base.errors import InputError
from dpviz.base.lazy import pandas as pd
from dpviz.commands.output import write_table
from dpviz.data.samples import load_sample, sample, sample_names
from dpviz.family.comparison import Report


def sample_command(given: argparse.Namespace) -> tuple[Report, str]:
    """List the sample sets, or write a sample set to a file."""
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
