"""Power of the audit, which searches for too little noise in every step of each sound method.

``tests.benchmarks.audit_steps`` measures ``steps.json``. Noise is halved or removed in one step;
the ledger still shows the full noise. All steps change by the maximum amount at the same time. So
half the noise in a step with a share s costs 1 + s at the claim 1. The score is the log-likelihood
ratio of all answers of the mechanism as implemented: no score is stronger.

If halved noise is not found, a second audit tests the step alone: earlier answers are from one run
on the first data set, and the loss of the step must not exceed its share.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from dpviz.audit.planted import HALF, NONE
from dpviz.base.lazy import pandas as pd
from dpviz.base.tables import read_rows
from dpviz.families import CARDS

#: File with the results.
FILE = Path(__file__).with_name("steps.json")

#: Claim of all rows. Number of runs on each data set, for each factor that multiplies the noise.
CLAIM = 1.0
RUNS = {HALF: 20_000, NONE: 2_000}

#: Names of the bugs for users, by the factor on the noise.
BUGS = {HALF: "noise halved", NONE: "noise left out"}

#: A loss that exceeds the claim by less than this number can't be distinguished from it.
NEAR = 0.12

Reason = Literal["small share", "many numbers", "moves little"]

#: Reasons why some bugs are not found, as texts for users.
REASONS: dict[Reason, str] = {
    "small share": (
        f"the step's share of the budget is so small that the true ε stays below {CLAIM + NEAR:g}, "
        "too near the claim"
    ),
    "many numbers": (
        "the full true ε is visible only in runs where many noisy numbers are extreme at the same "
        "time, and there are too few such runs"
    ),
    "moves little": "we know no two data sets for which the step changes by the maximum amount",
}


@dataclass(frozen=True, kw_only=True)
class StepResult:
    """Result of an audit of one bug (``factor``) in one step.

    ``pair_loss``: largest loss of a run on the two data sets; None if it has no limit. ``bound``:
    lower bound on epsilon, 99% confidence. ``alone`` is this bound for the step alone, if halved
    noise is not found together with other steps; ``alone_share`` is the step's budget.
    """

    method: str
    variant: str
    options: Mapping[str, Any]
    step: str
    share: float
    factor: float
    pair_loss: float | None
    bound: float
    runs: int
    alone: float | None = None
    alone_share: float | None = None

    @property
    def largest_loss(self) -> float:
        """Loss with the bug at the claim 1, if all steps change by the maximum amount."""
        if self.factor == NONE:
            return math.inf
        return CLAIM * (1 - self.share + self.share / self.factor)

    @property
    def found(self) -> bool:
        """Whether the bound is above the claim."""
        return self.bound > CLAIM or self.found_alone

    @property
    def found_alone(self) -> bool:
        """Whether the bound for the step alone is above the budget of the step."""
        if self.alone is None or self.alone_share is None:
            return False
        return self.alone > self.alone_share

    @property
    def reason(self) -> Reason | None:
        """Reason why the bug is not found; None if it is found."""
        if self.found:
            return None
        if self.largest_loss <= CLAIM + NEAR:
            return "small share"
        moves = self.pair_loss is None or self.pair_loss > 0.97 * self.largest_loss
        return "many numbers" if moves else "moves little"


def table() -> tuple[StepResult, ...]:
    """Return the measured results, in the order in which they were measured."""
    return read_rows(FILE, StepResult)


def frame(rows: Sequence[StepResult]) -> pd.DataFrame:
    """Return the results as a table for users: one row per step, both bugs in one row."""
    left_out = {_step(row): row for row in rows if row.factor == NONE}
    return pd.DataFrame(
        [
            {
                "method": CARDS[row.method].title,
                "variant": row.variant,
                "options": ", ".join(f"{name} {value}" for name, value in row.options.items()),
                "step": row.step,
                "share of ε": row.share,
                "noise halved": "found" if row.found else "out of sight",
                "true ε, at most": row.largest_loss,
                "measured ε, at least": row.bound,
                "runs": row.runs,
                "share of the step alone": row.alone_share,
                "measured ε of the step alone, at least": row.alone,
                "why out of sight": row.reason or "",
                "noise left out": "found" if left_out[_step(row)].found else "out of sight",
                "then measured ε, at least": left_out[_step(row)].bound,
                "then runs": left_out[_step(row)].runs,
            }
            for row in rows
            if row.factor == HALF
        ]
    )


def _step(row: StepResult) -> tuple[str, str, str]:
    return row.method, str(row.options), row.step
