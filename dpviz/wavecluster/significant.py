"""Significant cells from released counts: each cell's chance from single and from pooled counts.

Samples of the true counts show how likely each cell is. If noise hides single counts, pooled counts
show more; both together show the most.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from dpviz.base.arrays import Floats, Mask
from dpviz.base.lazy import special
from dpviz.wavecluster.deconvolution import Released
from dpviz.wavecluster.evidence import Evidence, evidence
from dpviz.wavecluster.likely_cells import LIKELY, doubt_of, likely_cells
from dpviz.wavecluster.pooled import pooled, spread, starts
from dpviz.wavecluster.random_field import field_samples, sweeps_of
from dpviz.wavecluster.smoothing import smoothed
from dpviz.wavecluster.wavelet import ZERO, rank_of

#: Standard deviations that are subtracted from the rank, so that doubt adds no cells.
BACK = 0.5

#: Doubt above which pooled counts have weight, and doubt from which they have full weight.
CLEAR, DOUBTFUL = 0.2, 0.5

#: Limits for :func:`narrowness`. Below HOLLOW, pooled counts show nearly no cells and have no
#: weight. Up to BROAD only they are used. Up to ALIKE their weight is full; above NARROW it is 0.
HOLLOW, BROAD, ALIKE, NARROW = -0.7, -0.15, 0.05, 0.25

#: Full weight of pooled counts: their share in the log odds of a cell.
SHARE = 0.6

#: Chances are in [LEAST, 1 - LEAST]: samples can't show less. A cell that is in no sample is left
#: out if pooled counts give a chance below UNLIKELY.
LEAST, UNLIKELY = 0.005, 0.05

Transform = Callable[[Floats], Floats]


@dataclass(frozen=True, kw_only=True, eq=False)
class Chances:
    """Results from samples of the counts: each cell's chance to be significant, and numbers.

    ``expected`` is the number of significant cells by the distribution of all counts. ``positive``
    (number of positive coefficients) and ``threshold`` are medians over the samples.
    """

    chance: Floats
    expected: float
    positive: int
    threshold: float

    @property
    def doubt(self) -> float:
        """Doubt about the cells: the larger of the usual doubt and a log ratio of at most 1."""
        if not self.chance.any():
            return 0.0
        likely = max(int((self.chance >= LIKELY).sum()), 1)
        return max(doubt_of(self.chance), min(math.log(likely / max(self.expected, 1e-9)), 1.0))


@dataclass(frozen=True, kw_only=True, eq=False)
class Estimate:
    """``mask`` of the subband's significant cells, empty if ``evidence`` is "even" or "noise".

    ``mean`` is the mean of the counts given the releases. ``positive`` (number of positive
    coefficients) and ``threshold`` (infinite if no cell is significant) are medians over samples.
    """

    mask: Mask
    evidence: Evidence
    mean: Floats
    positive: int
    threshold: float


def estimate(
    released: Released,
    density: float,
    generator: np.random.Generator,
    transform: Transform = lambda samples: samples,
    *,
    pools: bool = True,
    hurried: bool = False,
) -> Estimate:
    """Estimate the significant cells from the releases of counts (g, ...).

    ``transform`` maps samples of counts to samples of the subband (m, g, ...). ``pools``: whether
    pooled counts can be used; they are useless if the wavelet itself blurs. ``hurried``: take
    fewer samples on a large grid, and compare fewer widths.
    """
    samples, filled = field_samples(released, density, generator, hurried=hurried)
    single = chances(samples, samples, filled, density, transform)
    shown = evidence(released, generator, hurried=hurried)
    mean = samples.mean(axis=0)
    risk = float(samples.var(axis=0).mean())
    del samples
    mask = np.zeros(single.chance.shape, dtype=bool)
    if shown not in ("even", "noise"):
        pool = pools and not released.low.any() and single.doubt > CLEAR
        wide = (
            pooled_chances(released, density, generator, transform, hurried=hurried)
            if pool
            else None
        )
        if wide is not None and HOLLOW < narrowness(single, wide) < BROAD:
            mask = likely_cells(wide.chance, wide.expected)
        else:
            # Smoothed counts would make one cluster of evenly spread records.
            coarse = smoothed(released, hurried=hurried)
            trust = coarse.trust(risk) if shown == "structure" else 0.0
            chance, expected = both(single, wide)
            dense = transform(coarse.counts.clip(0)[None])[0]
            mask = likely_cells(chance, expected, dense, trust)
    return Estimate(
        mask=mask,
        evidence=shown,
        mean=mean,
        positive=single.positive,
        threshold=single.threshold if mask.any() else np.inf,
    )


def chances(
    cells: Floats, counts: Floats, filled: float, density: float, transform: Transform
) -> Chances:
    """Chances of the subband's cells from samples ``cells`` of the counts, shape (m, g, ...).

    ``counts`` are these samples, or sums over pools; ``filled`` is their expected number above 0.
    """
    bands = transform(cells)
    flat = bands.reshape(len(bands), -1)
    positive = (flat >= ZERO).sum(axis=1)
    ranks = np.array([rank_of(density, int(number)) for number in positive])
    moved = np.round(ranks - BACK * ranks.std()).clip(0).astype(int)
    thresholds = np.sort(flat, axis=1)[np.arange(len(flat)), -np.maximum(moved, 1)]
    significant = (flat >= np.maximum(thresholds, ZERO)[:, None]) & (moved > 0)[:, None]
    chance = significant.mean(axis=0).reshape(bands.shape[1:])
    expected = float(chance.sum())
    if bands.shape == cells.shape:
        # Samples miss small counts. Only for Haar: other wavelets make empty cells positive, too.
        expected *= filled * len(counts) / max(float((counts > 0).sum()), 1.0)
    return Chances(
        chance=chance,
        expected=expected,
        positive=int(np.median(positive)),
        threshold=float(np.median(thresholds)),
    )


def pooled_chances(
    released: Released,
    density: float,
    generator: np.random.Generator,
    transform: Transform,
    *,
    hurried: bool = False,
) -> Chances | None:
    """Chances from samples of pooled counts, over all positions of pools; None for a small grid."""
    shape, sweeps = released.noisy.shape, sweeps_of(released.noisy.size, hurried=hurried)
    found: list[Chances] = []
    for start in starts(shape):
        # All grids of pools together take as much time as the single counts.
        part = pooled(released, start)
        sums, filled = field_samples(part, density, generator, sweeps, hurried=hurried)
        found.append(chances(spread(sums, start, shape), sums, filled, density, transform))
    if not found:
        return None
    return Chances(
        chance=np.mean([one.chance for one in found], axis=0),
        expected=float(np.mean([one.expected for one in found])),
        positive=int(np.median([one.positive for one in found])),
        threshold=float(np.median([one.threshold for one in found])),
    )


def narrowness(single: Chances, wide: Chances) -> float:
    """Log of (number of cells expected from pooled counts / number from single counts).

    It is large for narrow clusters, because most cells of the pools that they touch are empty.
    """
    return math.log(max(wide.expected, 1e-9) / max(single.expected, 1e-9))


def both(single: Chances, wide: Chances | None) -> tuple[Floats, float]:
    """Combine the chances from single and pooled counts; return the smaller expected number.

    Log odds are averaged, not added, because both use the same releases. Pooled counts have more
    weight with more doubt, less for narrow clusters, and none if they show nearly no cells.
    """
    if wide is None or narrowness(single, wide) <= HOLLOW:
        return single.chance, single.expected
    doubt = (single.doubt - CLEAR) / (DOUBTFUL - CLEAR)
    room = (NARROW - narrowness(single, wide)) / (NARROW - ALIKE)
    weight = SHARE * float(np.clip(doubt, 0, 1) * np.clip(room, 0, 1))
    chance = single.chance
    if weight:
        odds = [special.logit(one.chance.clip(LEAST, 1 - LEAST)) for one in (single, wide)]
        chance = special.expit((1 - weight) * odds[0] + weight * odds[1])
        chance[(single.chance == 0) & (wide.chance < UNLIKELY)] = 0.0
    return chance, min(single.expected, wide.expected)
