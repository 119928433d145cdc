"""Promises of published uses of differential privacy: their epsilon, unit and source.

The numbers are as published. Most are not directly comparable, because of other units of
protection, a delta, a budget that starts again each day or month, or noise on the device.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from dpviz.base.tables import read_rows


@dataclass(frozen=True, kw_only=True)
class Precedent:
    """One published use of differential privacy.

    Parameters
    ----------
    epsilon
        As published, with its period unless it is a lifetime budget.
    unit
        The person or thing that is protected.
    differs
        Reason why this promise is not comparable with a pure epsilon for a lifetime.
    """

    who: str
    year: int
    epsilon: str
    unit: str
    differs: str
    source: str


#: Ordered by year, the newest last.
PRECEDENTS = read_rows(Path(__file__).with_suffix(".toml"), Precedent)
