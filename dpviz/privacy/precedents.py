"""What published uses of differential privacy promised: their epsilon, unit and source.

Figures as their makers published them. Most are not comparable as they stand: other units of
protection, a delta, a budget that starts anew each day or month, or noise on the device.
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
        As published; with its period where it is no lifetime budget.
    unit
        Whom or what it protects.
    differs
        Why it does not compare with a pure epsilon of a lifetime.
    """

    who: str
    year: int
    epsilon: str
    unit: str
    differs: str
    source: str


#: Newest last.
PRECEDENTS = read_rows(Path(__file__).with_suffix(".toml"), Precedent)
