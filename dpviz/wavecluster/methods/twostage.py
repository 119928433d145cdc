"""Two-stage, ours: nested releases of block counts (by :func:`release`), then post-processing."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np

from dpviz.base.arrays import Floats, Ints
from dpviz.family.card import card_of
from dpviz.grid.counts import block_sums
from dpviz.privacy.mechanisms import Accountant, Level
from dpviz.wavecluster.budget_share import SHARES, choose_share
from dpviz.wavecluster.choice import with_density
from dpviz.wavecluster.components import connected_components, unblocked
from dpviz.wavecluster.deconvolution import Released
from dpviz.wavecluster.parameters import Config, takes
from dpviz.wavecluster.pipeline import Run, Source, Stages, transform
from dpviz.wavecluster.threshold import Threshold
from dpviz.wavecluster.wavelet import check_level, rank_of, sums_blocks

#: Names of the steps on the ledger.
ROUGH, FINER, LAST = "rough counts", "finer counts", "dense and empty cells"

#: Approximate time of a draw in seconds, on 64 x 64 cells.
SECONDS = 0.05

CARD = card_of(__file__, takes("twostage", "epsilon"))


def run(source: Source, config: Config, accountant: Accountant) -> Run:
    """Release counts in two stages, and estimate the significant cells from the releases.

    For Haar these are counts of blocks, and the average subband is a multiple of them. For other
    wavelets they are counts of cells, and samples of them are transformed: see
    :func:`~dpviz.wavecluster.random_field.likely_counts`. The run's counts and subband are
    conditional means.
    """
    check_level(config.level, source.shape)
    whole = sums_blocks(config.wavelet)
    counts = block_sums(source.counts, config.level) if whole else source.counts
    released, config, worth = release(counts, config, accountant)
    room = block_sums(np.ones(source.shape), config.level) if whole else np.ones(counts.shape)
    released = replace(released, room=room)
    gain = 2.0 ** (-config.level * counts.ndim / 2)
    # Import here, because the import of compiled loops is slow.
    from dpviz.wavecluster.random_field import sweeps_of
    from dpviz.wavecluster.significant import estimate

    found = estimate(
        released,
        config.density,
        accountant.noise.generator("samples"),
        (lambda blocks: gain * blocks) if whole else partial(_subbands, config=config),
        pools=whole,
        hurried=source.hurried,
    )
    sweeps, most = (sweeps_of(counts.size, hurried=one) for one in (source.hurried, False))
    sketch = f"sketch from {sweeps:,} of {most:,} sweeps" if sweeps < most else ""
    mean = unblocked(found.mean / room, source.shape, config.level) if whole else found.mean
    # More digits would only make a release longer.
    mean = np.round(mean, 3)
    labels, n_clusters = connected_components(found.mask)
    threshold = Threshold(
        k=rank_of(config.density, found.positive) if n_clusters else 0,
        value=found.threshold,
        positive=found.positive,
        nonpositive=found.mask.size - found.positive,
        sampled=True,
    )
    stages = Stages(
        counts=mean,
        average=transform(mean, config),
        threshold=threshold,
        labels=labels,
        n_clusters=n_clusters,
        wavelet=config.wavelet,
        level=config.level,
        evidence=found.evidence,
    )
    return Run(config=config, stages=stages, ledger=accountant.ledger, worth=worth, sketch=sketch)


def release(
    counts: Ints, config: Config, accountant: Accountant
) -> tuple[Released, Config, dict[float, float]]:
    """Spend the budget on counts; one record changes one count by 1. Only this step reads data.

    If p is chosen, the rough counts give a first p for the choice of the share, and all releases
    give the final p. Returns releases, configuration with the final p, and worth of each p.
    """
    epsilon = config.epsilon
    steps = (ROUGH, *(FINER for _ in SHARES[1:]), LAST)
    shares = (*SHARES, 1.0)
    levels = [Level(step, share * epsilon) for step, share in zip(steps, shares, strict=True)]
    gradual = accountant.gradual(counts, levels, sensitivity=1)
    rate = np.full(counts.shape, 1 / gradual.scales[0])
    first, _ = _with_density(config, accountant, gradual.noisy, rate)
    choice = choose_share(gradual.noisy, 1 / gradual.scales[-1], first.density)
    noisy = accountant.finer(gradual, choice.share) if choice.share else gradual.noisy
    low, rough = noisy < choice.limit, noisy
    finest, zeros = accountant.split(gradual, ~low, float((counts[low] == 0).sum()))
    noisy = noisy.copy()
    noisy[~low] = finest
    # If no count is low, all counts have the finest release, and the number of zeros is only noise.
    told, rough = (choice.share, rough) if low.any() else (len(SHARES), noisy)
    rate = np.where(low, 1 / gradual.scales[choice.share], 1 / gradual.scales[-1])
    config, worth = _with_density(config, accountant, noisy, rate)
    rest = gradual.levels[-1].epsilon - gradual.levels[told].epsilon
    released = Released(
        noisy=noisy,
        rate=rate,
        low=low,
        zeros=float(zeros),
        zeros_rate=rest / accountant.neighbours.multiplier,
        rough=rough,
        rough_rate=1 / gradual.scales[told],
    )
    return released, config, worth


def _with_density(
    config: Config, accountant: Accountant, noisy: Floats, rate: Floats
) -> tuple[Config, dict[float, float]]:
    whole = sums_blocks(config.wavelet)
    gain = 2.0 ** (-config.level * noisy.ndim / 2)

    def average(counts: Floats) -> Floats:
        return gain * counts if whole else transform(counts, config)

    def redrawn(generator: np.random.Generator) -> Floats:
        stop = -np.expm1(-rate)
        return average((generator.geometric(stop) - generator.geometric(stop)).astype(float))

    subband = average(noisy)
    # Share of the zero counts that noise makes negative; about half for other wavelets than Haar.
    negative = np.exp(-rate) / (1 + np.exp(-rate)) if whole else np.full(subband.shape, 0.5)
    filled = subband.size - float((1 / np.maximum(negative, 1e-9)[subband < 0]).sum())

    def rank(density: float) -> int:
        return rank_of(density, max(round(filled), 1))

    return with_density(config, accountant, subband, rank, redrawn)


def _subbands(samples: Floats, config: Config) -> Floats:
    from dpviz.wavecluster.random_field import likely_counts

    return np.array([transform(one, config) for one in likely_counts(samples)])
