"""Grid g and density p chosen under privacy.

Chen, Yu and Chirkova leave it open (section 8) how users who don't know the data find the
parameters. Here g follows from a noisy number of records, and p from noisy counts that the
technique publishes anyway:

* **g**: more records, or more epsilon, carry a finer grid: ``8 (n epsilon)^(1/5)`` cells per axis.
  The number n of records gets a share ``RECORDS_SHARE`` of epsilon.
* **p**: the best p tells records apart, loses few of them, and would find the same clusters again.
  Each candidate is judged on noisy counts alone, which is free: see
  :func:`worth_of_densities`.

Proof: one record changes n by one, so Lap(1 / (share epsilon)) hides it, and all later steps run on
the grid that follows from the noisy n with the rest of epsilon (sequential, adaptive composition).
The rest is computed from noisy numbers that are already paid for (post-processing).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from dpviz.base.arrays import Floats
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

#: Step on the ledger.
STEP = "choice of the grid"

#: Share of epsilon for the number of records: g grows with its fifth root, so a rough one will do.
RECORDS_SHARE = 0.03

#: Cells per axis, in two dimensions, where one record at epsilon 1 is all there is.
_SIDE, _GROWTH = 8.0, 0.2
#: No grid is finer: as far as the slider of g goes.
_FINEST = 256

#: Candidates for p.
DENSITIES = tuple(step / 20 for step in range(1, 20))

#: How often records and noise are drawn again, and how much clusters that change are marked down:
#: between 2 and 8 the power makes no difference on the sets that were looked at.
_REDRAWS, _POWER = 4, 4

#: Whole numbers that the weights of all records add up to, for the tables of the scores.
_WHOLE = 10**6


def chosen_grid(records: float, epsilon: float, ndim: int, level: int) -> int:
    """Cells per axis for a noisy number of records.

    In two dimensions ``8 (n epsilon)^(1/5)``; in others as many cells in all. A multiple of
    2**level, so that blocks are whole, and at least two blocks per axis.
    """
    side = math.pow(_SIDE * math.pow(max(records * epsilon, 1.0), _GROWTH), 2 / ndim)
    block = 1 << level
    return block * min(max(round(side / block), 2), max(_FINEST // block, 2))


def on_chosen_grid(run: Method) -> Method:
    """Let a technique run on a grid that is chosen under privacy, where the configuration asks."""

    def run_there(source: Source, config: Config, accountant: Accountant) -> Run:
        if config.choose != PRIVATE:
            return run(source, config, accountant)
        there, left = source, config.epsilon
        if not source.fixed:
            share = RECORDS_SHARE * config.epsilon
            # Rounded down: what is left may not sum to more than the budget.
            left = math.nextafter(config.epsilon - share, 0)
            if left < SMALLEST_EPSILON:
                raise InputError(
                    f"epsilon = {config.epsilon:g} is too small for a private choice of g and p, "
                    f"which takes {RECORDS_SHARE:.0%} of it: give a larger epsilon or choose g "
                    "and p yourself."
                )
            records = accountant.laplace(STEP, float(source.n), sensitivity=1, epsilon=share)
            side = chosen_grid(float(records), config.epsilon, len(source.shape), config.level)
            there = source.on_grid(side)
        done = run(there, replace(config, grid=there.shape, epsilon=left), accountant)
        chosen = replace(done.config, epsilon=config.epsilon)
        return replace(done, config=chosen, decision=decision(chosen, source.fixed))

    return run_there


def decision(config: Config, fixed: bool) -> str:
    """How g and p of a run were chosen, and what that cost; one or two sentences."""
    density = (
        f"p = {config.density:g} was chosen from noisy counts, which the technique needs anyway: "
        "that cost nothing more."
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
    """Configuration with p chosen from a noisy average subband, and what each p is worth there.

    Unchanged, and empty, where the configuration does not ask for a choice. ``rank`` tells about
    how many coefficients of W' are significant for a p, from noisy numbers; ``redrawn`` draws the
    noise on W' again. The accountant gives randomness, and no budget: this is post-processing.
    """
    if config.choose != PRIVATE:
        return config, {}
    generator = accountant.noise.generator("choice of p")
    # Haar's coefficient is the number of records of a block over the root of its cells.
    scale = 2 ** (config.level * average.ndim / 2)
    blocks = average * scale
    full = np.maximum(blocks, 0)
    again = [
        blocks + generator.poisson(full) - full + redrawn(generator) * scale
        for _ in range(_REDRAWS)
    ]
    worth = worth_of_densities(blocks, again, [*map(rank, DENSITIES)])
    # On a tie, as where there is one cluster alone, most cells stay significant.
    return replace(config, density=max(worth, key=worth.__getitem__)), worth


def noisy_counts(
    source: Source, config: Config, accountant: Accountant, epsilon: float
) -> tuple[Floats, Floats, Callable[[np.random.Generator], Floats]]:
    """Laplace noise on all counts for ``epsilon``: M', its W', and the noise of W' drawn again."""
    noisy = accountant.laplace("counts", source.counts, sensitivity=1, epsilon=epsilon)
    scale = accountant.ledger.spends[-1].scale

    def redrawn(generator: np.random.Generator) -> Floats:
        return transform(generator.laplace(0, scale, source.shape), config)

    return noisy, transform(noisy, config), redrawn


def worth_of_densities(
    blocks: Floats, again: Sequence[Floats], ranks: Sequence[int]
) -> dict[float, float]:
    """Judge each p by what it finds on noisy counts, and on counts drawn again around them.

    Takes noisy numbers of records of every block, the same with records and noise drawn again, and
    the number of significant blocks for each of ``DENSITIES``. Returns the mean of
    ``F^4 * share * different`` for each of them, 0 to 1: the p with the highest is chosen.

    F is the F-measure between the clusters of both, of the records that are in clusters of both:
    would the same clusters come out again? ``share`` of the records are in clusters of both: noise
    should not be most of the data. Two of these records are in ``different`` clusters with this
    probability (Gini's index): one cluster of everything is stable, and tells nothing.
    """
    weights = np.maximum(blocks, 0) * (_WHOLE / max(float(blocks.sum()), 1.0))
    found = (_labels(each, ranks) for each in (blocks, *again))
    worth = [
        float(np.mean([_worth(one, other, weights) for other in others]))
        for one, *others in zip(*found, strict=True)
    ]
    return dict(zip(DENSITIES, worth, strict=True))


def _labels(blocks: Floats, ranks: Sequence[int]) -> Iterator[NDArray[np.int32]]:
    """Labels grids of so many of the densest blocks."""
    ordered = np.sort(blocks, axis=None)
    for rank in ranks:
        value = max(float(ordered[-min(max(rank, 1), blocks.size)]), ZERO)
        yield connected_components(significant_cells(blocks, value))[0]


def _worth(one: NDArray[np.int32], other: NDArray[np.int32], weights: Floats) -> float:
    """F^4 * share * different of two labels grids; see :func:`worth_of_densities`."""
    table = contingency(one, other, weights)[1:, 1:]
    total = int(table.sum())
    if not total:
        return 0.0
    same = (f_measure(table) + f_measure(table.T)) / 2
    sides = (table.sum(axis=0) / total, table.sum(axis=1) / total)
    different = 1 - sum(float((side**2).sum()) for side in sides) / 2
    return float(same**_POWER * min(total / _WHOLE, 1.0) * different)
