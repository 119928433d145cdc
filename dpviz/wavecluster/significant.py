"""Significant cells from released counts: the chance of each, by single counts and pooled ones.

Samples of the true counts, given the noisy ones, tell how likely each cell is to be significant.
Where noise hides single counts, pooled ones tell more; both together tell most.

Post-processing alone: nothing here reads data, and any other estimate is as private.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import special

from dpviz.base.arrays import Floats
from dpviz.wavecluster.deconvolution import Released
from dpviz.wavecluster.evidence import Evidence, evidence
from dpviz.wavecluster.likely_cells import LIKELY, doubt_of, likely_cells
from dpviz.wavecluster.pooled import pooled, spread, starts
from dpviz.wavecluster.random_field import field_samples, sweeps_of
from dpviz.wavecluster.smoothing import smoothed
from dpviz.wavecluster.wavelet import ZERO, rank_of

#: Standard deviations that the rank is moved back by, so that an uncertain one adds no cells.
BACK = 0.5

#: Doubt from which on pooled counts have a say, and that from which on they have their whole one.
CLEAR, DOUBTFUL = 0.2, 0.5

#: Logarithm of the number of cells that pooled counts expect, over that of single ones: below the
#: first pooled counts see next to nothing, and have no say; up to the second the clusters are
#: broad, and pooled counts tell all; up to the third they have their whole say, beyond the fourth
#: none, since the clusters are narrower than pools.
HOLLOW, BROAD, ALIKE, NARROW = -0.7, -0.15, 0.05, 0.25

#: Whole say of pooled counts: their share in the log odds of a cell.
SHARE = 0.6

#: Chances as near to 0 or 1 as that are not told apart: less than what one of the samples tells.
#: A cell that no sample holds for significant is none where pooled counts give it less than the
#: second.
LEAST, UNLIKELY = 0.005, 0.05

Transform = Callable[[Floats], Floats]


@dataclass(frozen=True, kw_only=True, eq=False)
class Chances:
    """What samples tell of the cells.

    ``chance`` is that of each cell of the subband of being significant; ``expected`` the number of
    significant cells to expect, from the law of all counts. Number of positive coefficients and
    threshold are medians over the samples.
    """

    chance: Floats
    expected: float
    positive: int
    threshold: float

    @property
    def doubt(self) -> float:
        """Doubt about the cells; also that all are likely, and far fewer expected."""
        if not self.chance.any():
            return 0.0
        likely = max(int((self.chance >= LIKELY).sum()), 1)
        return max(doubt_of(self.chance), min(math.log(likely / max(self.expected, 1e-9)), 1.0))


@dataclass(frozen=True, kw_only=True, eq=False)
class Estimate:
    """Significant cells, and what goes with them.

    Parameters
    ----------
    mask, evidence
        Significant cells of the subband; none of them where the releases show no structure
        although they would. What the releases show.
    mean
        Mean of the counts given the releases, shape of the releases.
    positive, threshold
        Number of positive coefficients and threshold in the subband, medians over the samples of
        single counts; infinity where nothing was found.
    """

    mask: NDArray[np.bool_]
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
) -> Estimate:
    """Significant cells given what was released of counts (g, ...).

    ``transform`` leads from samples of the counts, shape (m, g, ...), to those of the subband whose
    cells are wanted. ``pools``: whether pooled counts may have a say, not where the wavelet blurs
    the counts anyway.
    """
    samples, filled = field_samples(released, density, generator)
    single = chances(samples, samples, filled, density, transform)
    shown = evidence(released, generator)
    mean = samples.mean(axis=0)
    risk = float(samples.var(axis=0).mean())
    del samples
    mask = np.zeros(single.chance.shape, dtype=bool)
    if shown not in ("even", "noise"):
        pool = pools and not released.low.any() and single.doubt > CLEAR
        wide = pooled_chances(released, density, generator, transform) if pool else None
        if wide is not None and HOLLOW < narrowness(single, wide) < BROAD:
            mask = likely_cells(wide.chance, wide.expected)
        else:
            # Only where structure shows: smoothed enough, evenly spread records are one cluster.
            coarse = smoothed(released)
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
    """Chances of the subband's cells by samples of the counts, shape (m, g, ...).

    ``counts`` are those that were drawn, the same or pooled ones, of which ``filled`` are filled by
    their law.
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
        # Samples hide small counts, of which the law of all counts knows. With other wavelets than
        # Haar, coefficients are also positive where cells are empty: there it tells too many.
        expected *= filled * len(counts) / max(float((counts > 0).sum()), 1.0)
    return Chances(
        chance=chance,
        expected=expected,
        positive=int(np.median(positive)),
        threshold=float(np.median(thresholds)),
    )


def pooled_chances(
    released: Released, density: float, generator: np.random.Generator, transform: Transform
) -> Chances | None:
    """Chances by samples of pooled counts, mean over all places where pools can begin.

    None where the grid is too small for pools.
    """
    shape, sweeps = released.noisy.shape, sweeps_of(released.noisy.size)
    found: list[Chances] = []
    for start in starts(shape):
        # All pools together take as long as single counts.
        sums, filled = field_samples(pooled(released, start), density, generator, sweeps)
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
    """How many more cells pooled counts expect than single ones do, as a logarithm.

    The pools that a narrow cluster touches are mostly empty, and count as a whole. Of records that
    noise hides from single counts, these can't tell how few cells hold them.
    """
    return math.log(max(wide.expected, 1e-9) / max(single.expected, 1e-9))


def both(single: Chances, wide: Chances | None) -> tuple[Floats, float]:
    """Chances by single and by pooled counts, and the smaller one of their expected numbers.

    Log odds are averaged: both look at the same releases, so they must not be added. Pooled counts
    weigh the more, the more doubt there is, and the less, the narrower the clusters. They have no
    say where they see next to nothing, or where there are none.
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
