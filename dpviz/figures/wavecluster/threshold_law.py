"""The choice of the density threshold: sorted coefficients, distribution, and an explanation."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dpviz.base.arrays import Floats
from dpviz.base.numbers import counted, equals, readable
from dpviz.figures.panels import NO_NOISE
from dpviz.figures.wavecluster.picture import WaveClusterPicture
from dpviz.privacy.mechanisms import interval_weights
from dpviz.wavecluster.methods.privthrem import STEP, candidates
from dpviz.wavecluster.pipeline import Run, Stages
from dpviz.wavecluster.threshold import positive_values

#: Probability that may be outside the plot, on each side.
_TAIL = 2.5e-3


@dataclass(frozen=True, kw_only=True, eq=False)
class SortedList:
    """Positive coefficients of one run by rank, the largest first, and the threshold for them."""

    values: Floats
    stages: Stages

    @classmethod
    def of(cls, stages: Stages) -> SortedList:
        """Sort the coefficients of a run."""
        # The means over samples have more positive coefficients than most samples have.
        most = stages.threshold.positive
        return cls(values=positive_values(stages.average)[::-1][:most], stages=stages)

    @property
    def ends(self) -> tuple[int, int, int]:
        """Last significant rank, last rank that is not pruned, and last rank of the list."""
        m, threshold = self.values.size, self.stages.threshold
        significant = int(np.count_nonzero(self.values >= threshold.value))
        return significant, max(m - threshold.pruned, significant), m


@dataclass(frozen=True, kw_only=True, eq=False)
class Law:
    """Probabilities with which the exponential mechanism samples the threshold of one run."""

    # The mechanism uses the same weights. Intervals of length 0 are left out.

    low: Floats  # interval i is (low[i], high[i]]; the intervals are in ascending order, shape (m,)
    high: Floats
    #: Lowest and highest rank, in the true L, of a threshold in each interval, shape (m,).
    first: Floats
    last: Floats
    probability: Floats  # probability of each interval, shape (m,); the sum is 1

    @classmethod
    def of(cls, true: Stages, run: Run | None) -> Law | None:
        """Distribution of a run's threshold; None if no exponential mechanism samples it."""
        spends = () if run is None else run.ledger
        scale = next((spend.scale for spend in spends if spend.step == STEP), None)
        if run is None or scale is None:
            return None
        edges, ranks, scores = candidates(true.average, run.stages.average, run.config)
        weights = interval_weights(edges, scores, scale)
        real = np.diff(edges) > 0
        return cls(
            low=edges[:-1][real],
            high=edges[1:][real],
            first=ranks[real],
            last=ranks[real],
            probability=weights[real] / weights.sum(),
        )

    def joined(self, most: int) -> Law:
        """Join neighbouring intervals, so that at most `most` intervals remain."""
        step = -(-self.low.size // most)
        starts = np.arange(0, self.low.size, step)
        ends = np.append(starts[1:], self.low.size) - 1
        return Law(
            low=self.low[starts],
            high=self.high[ends],
            first=self.first[ends],
            last=self.last[starts],
            probability=np.add.reduceat(self.probability, starts),
        )

    def holding(self, value: float) -> int:
        """Position of the interval that contains a value; for larger values, the last position."""
        return min(int(np.searchsorted(self.high, value)), self.high.size - 1)

    @property
    def view(self) -> tuple[float, float]:
        """Range of values that leaves out 0.5% of the probability in the tails."""
        below = np.cumsum(self.probability)
        start = int(np.searchsorted(below, _TAIL))
        end = min(int(np.searchsorted(below, 1 - _TAIL)), below.size - 1)
        return float(self.low[start]), float(self.high[end])


def explain(picture: WaveClusterPicture) -> str:
    """Explain both thresholds: one sentence for the true threshold, several for the private one."""
    p = picture.truth.config.density
    true, private = (stages.threshold for stages in picture.stages)
    first = f"True run: {_positive(true.positive)}. " + _cut(
        p, "k", "d", true.k or 0, true.positive, true.value
    )
    if private.sampled:
        return f"{first} {_sampled(p, picture.private)}"
    name = picture.private_title
    name = "Run with noise" if name != NO_NOISE else f"Run with {name}"
    begin = f"{name}: {_positive(private.positive)}. "
    if private.estimate is not None:
        half = write_signed(round(private.estimate / 2), ",")
        begin += (
            f"Z′ = {write_signed(private.estimate, '.4g')} is the noisy number of cells that are "
            f"not positive. Half of Z′, rounded, is {half}; the method prunes the "
            f"{private.pruned:,} smallest values. "
        )
    law = Law.of(picture.true, picture.run)
    if law is None:
        rest = private.positive - private.pruned
        return f"{first} {begin}" + _cut(p, "k′", "d′", private.k or 0, rest, private.value)
    at = law.holding(private.value)
    share = law.probability[at]
    return (
        f"{first} {begin}"
        f"d′ {equals(private.value, 4)} is sampled from (0, {readable(law.high[-1], 4)}], "
        "which the true values split into intervals. The interval of d′, "
        f"({readable(law.low[at], 4)}, {readable(law.high[at], 4)}], has rank k′ = "
        f"{law.last[at]:.0f} in the true L and the probability "
        f"{format(share, '.1%' if share >= 0.001 else '.1g')}."
    )


def write_signed(value: float, form: str) -> str:
    """Write a number that may be negative, with a typographic minus sign."""
    return format(value, form).replace("-", "−")


def _sampled(p: float, private: Stages) -> str:
    threshold, cells = private.threshold, int(private.significant.sum())
    found = (
        "No cell differs clearly from the noise, so no cell is significant."
        if not cells
        else f"k′ = ⌈(1 − {p:.2f}) · {threshold.positive:,}⌉ = {threshold.k:,}, d′ = "
        f"{readable(threshold.value, 4)} is the median threshold. {counted(cells, 'cell')} "
        f"{'is' if cells == 1 else 'are'} significant: those that are significant in the most "
        "samples, without doubtful cells."
    )
    return (
        f"Run with noise: samples of the subband, given all that was released, have "
        f"{_positive(threshold.positive)} in the median. {found} The bars are means over the "
        "samples, so no threshold on them gives exactly these cells."
    )


def _positive(m: int) -> str:
    return f"{m:,} positive coefficient{'' if m == 1 else 's'}"


def _cut(p: float, k_sign: str, d_sign: str, k: int, m: int, value: float) -> str:
    if not k:
        return "So no cell is significant."
    return (
        f"{k_sign} = ⌈(1 − {p:.2f}) · {m:,}⌉ = {k:,}, and the value of rank {k:,} is {d_sign} = "
        f"{readable(value, 4)}."
    )
