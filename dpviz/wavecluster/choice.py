"""Private choice of grid g and density p, which Chen, Yu, Chirkova (section 8) leave open.

g is ``8 (n epsilon)^(1/5)`` cells per axis; the number n of records gets a share ``RECORDS_SHARE``
of epsilon. The best p separates records, loses few records, and would find the same clusters again.
Noisy counts, which are published in any case, determine p: see :func:`worth_of_densities`.

Proof: one record changes n by one, so Lap(1 / (share epsilon)) hides the record. All later steps
run on the grid that follows from the noisy n, with the remaining epsilon (sequential, adaptive
composition). Everything else is post-processing.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from dpviz.base.arrays import Floats, Labels
from dpviz.base.errors import InputError
from dpviz.family.parameter import PRIVATE
from dpviz.metrics.matching import contingency, f_measure
from dpviz.privacy.ledger import SMALLEST_EPSILON
from dpviz.privacy.mechanisms import Accountant
from dpviz.wavecluster.components import connected_components
from dpviz.wavecluster.pipeline import Run, Source, transform
from dpviz.wavecluster.threshold import significant_cells
from dpviz.wavecluster.wavelet import ZERO

if TYPE_CHECKING:
    from dpviz.wavecluster.parameters import Config

Method = Callable[[Source, "Config", Accountant], Run]

#: Name of the step on the ledger.
STEP = "choice of the grid"

#: Share of epsilon for the number of records n. A rough n is enough, because g grows with n^(1/5).
RECORDS_SHARE = 0.03

#: Cells per axis in two dimensions if n epsilon is 1, and power of n epsilon.
_SIDE, _GROWTH = 8.0, 0.2
#: Largest number of cells per axis, as for the slider of g.
_FINEST = 256

#: Candidates for p.
DENSITIES = tuple(step / 20 for step in range(1, 20))

#: How often records and noise are sampled again; power of F (2 to 8 gave equal choices).
_REDRAWS, _POWER = 4, 4

#: Sum of the weights of all records, which are rounded to whole numbers for the score tables.
_WHOLE = 10**6


def chosen_grid(records: float, epsilon: float, ndim: int, level: int) -> int:
    """Cells per axis for a noisy number of records: at least two blocks, and only whole blocks.

    In two dimensions ``8 (n epsilon)^(1/5)``; in other dimensions the total number is the same.
    """
    side = math.pow(_SIDE * math.pow(max(records * epsilon, 1.0), _GROWTH), 2 / ndim)
    block = 1 << level
    return block * min(max(round(side / block), 2), max(_FINEST // block, 2))


def on_chosen_grid(run: Method) -> Method:
    """Let a technique run on a privately chosen grid if the configuration requires this."""

    def run_there(source: Source, config: Config, accountant: Accountant) -> Run:
        if config.choose != PRIVATE:
            return run(source, config, accountant)
        there, left = source, config.epsilon
        if not source.fixed:
            share = RECORDS_SHARE * config.epsilon
            # Round down, so that the sum of both parts is at most the budget.
            left = math.nextafter(config.epsilon - share, 0)
            if left < SMALLEST_EPSILON:
                raise InputError(
                    f"epsilon = {config.epsilon:g} is too small for a private choice of g and p, "
                    f"which takes {RECORDS_SHARE:.0%} of epsilon: give a larger epsilon or choose "
                    "g and p yourself."
                )
            records = accountant.laplace(STEP, float(source.n), sensitivity=1, epsilon=share)
            side = chosen_grid(float(records), config.epsilon, len(source.shape), config.level)
            there = source.on_grid(side)
        done = run(there, replace(config, grid=there.shape, epsilon=left), accountant)
        chosen = replace(done.config, epsilon=config.epsilon)
        return replace(done, config=chosen, decision=decision(chosen, source.fixed))

    return run_there


def decision(config: Config, fixed: bool) -> str:
    """Explain in one or two sentences how g and p of a run were chosen, and the cost."""
    density = (
        f"p = {config.density:g} was chosen from noisy counts that the technique needs in any "
        "case, at no extra cost."
    )
    if fixed:
        return density
    grid = config.grid[0] if isinstance(config.grid, tuple) else config.grid
    return (
        f"g = {grid} was chosen from a noisy number of records, for "
        f"{RECORDS_SHARE:.0%} of epsilon. {density}"
    )


def with_density(
    config: Config,
    accountant: Accountant,
    average: Floats,
    rank: Callable[[float], int],
    redrawn: Callable[[np.random.Generator], Floats],
) -> tuple[Config, dict[float, float]]:
    """Choose p from a noisy average subband; return the configuration and the worth of each p.

    Without a private choice, the configuration is unchanged and there is no worth. ``rank``
    estimates, from noisy numbers, how many coefficients of W' are significant for a p; ``redrawn``
    samples the noise on W' again.
    """
    if config.choose != PRIVATE:
        return config, {}
    generator = accountant.noise.generator("choice of p")
    # A Haar coefficient is the number of records of a block / sqrt(number of its cells).
    scale = 2 ** (config.level * average.ndim / 2)
    blocks = average * scale
    full = np.maximum(blocks, 0)
    again = [
        blocks + generator.poisson(full) - full + redrawn(generator) * scale
        for _ in range(_REDRAWS)
    ]
    worth = worth_of_densities(blocks, again, [*map(rank, DENSITIES)])
    # On a tie, for example with only one cluster, the p with the most significant cells is chosen.
    return replace(config, density=max(worth, key=worth.__getitem__)), worth


def noisy_counts(
    source: Source, config: Config, accountant: Accountant, epsilon: float
) -> tuple[Floats, Floats, Callable[[np.random.Generator], Floats]]:
    """Add Laplace noise to all counts; return M', W', and a function that resamples its noise.

    In a published variant, all further steps hide one changed count, too.
    """
    hide_one_change(accountant, config)
    noisy = accountant.laplace("counts", source.counts, sensitivity=1, epsilon=epsilon)
    scale = accountant.ledger.spends[-1].scale

    def redrawn(generator: np.random.Generator) -> Floats:
        return transform(generator.laplace(0, scale, source.shape), config)

    return noisy, transform(noisy, config), redrawn


def hide_one_change(accountant: Accountant, config: Config) -> None:
    """Let a published variant hide one changed count, even if a record is replaced (as printed)."""
    if config.variant == "published":
        accountant.hide(config.neighbours.cap)


def worth_of_densities(
    blocks: Floats, again: Sequence[Floats], ranks: Sequence[int]
) -> dict[float, float]:
    """Rate each p by comparing its clusters on noisy counts with its clusters on resampled counts.

    Takes noisy and resampled records per block, and the number of significant blocks for each of
    ``DENSITIES``. The worth is the mean of ``F^4 * share * different`` for records in clusters of
    both results. ``F`` is the F-measure of both results. ``share`` is the share of these records in
    all records. ``different`` is the probability that two of them are in different clusters (Gini).
    """
    weights = np.maximum(blocks, 0) * (_WHOLE / max(float(blocks.sum()), 1.0))
    found = (_labels(each, ranks) for each in (blocks, *again))
    worth = [
        float(np.mean([_worth(one, other, weights) for other in others]))
        for one, *others in zip(*found, strict=True)
    ]
    return dict(zip(DENSITIES, worth, strict=True))


def _labels(blocks: Floats, ranks: Sequence[int]) -> Iterator[Labels]:
    ordered = np.sort(blocks, axis=None)
    for rank in ranks:
        value = max(float(ordered[-min(max(rank, 1), blocks.size)]), ZERO)
        yield connected_components(significant_cells(blocks, value))[0]


def _worth(one: Labels, other: Labels, weights: Floats) -> float:
    table = contingency(one, other, weights)[1:, 1:]
    total = int(table.sum())
    if not total:
        return 0.0
    same = (f_measure(table) + f_measure(table.T)) / 2
    sides = (table.sum(axis=0) / total, table.sum(axis=1) / total)
    different = 1 - sum(float((side**2).sum()) for side in sides) / 2
    return float(same**_POWER * min(total / _WHOLE, 1.0) * different)
