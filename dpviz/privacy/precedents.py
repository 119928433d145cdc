"""Promises of published uses of differential privacy: most are not comparable, as each says."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from dpviz.base.tables import read_rows


@dataclass(frozen=True, kw_only=True)
class Precedent:
    """One published use of differential privacy: epsilon with its period, unit, how it differs."""

    who: str
    year: int
    epsilon: str
    unit: str
    differs: str
    source: str


#: Ordered by year, the newest last.
PRECEDENTS = read_rows(Path(__file__).with_suffix(".toml"), Precedent)
