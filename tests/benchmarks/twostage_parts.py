"""Two-stage without one of its parts: a simpler function or constant replaces the part."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np

from dpviz.data.dataset import Dataset
from dpviz.data.samples import load_sample, sample
from dpviz.grid.domain import Domain
from dpviz.metrics.matching import dsg_c
from dpviz.privacy.mechanisms import Accountant, Level
from dpviz.privacy.noise_source import SeededNoise
from dpviz.wavecluster.budget_share import SHARES, Choice
from dpviz.wavecluster.deconvolution import Released
from dpviz.wavecluster.likely_cells import LIKELY, likely_cells
from dpviz.wavecluster.methods.twostage import FINER, ROUGH
from dpviz.wavecluster.parameters import Config
from dpviz.wavecluster.pipeline import Source
from dpviz.wavecluster.random_field import neighbours
from dpviz.wavecluster.smoothing import Smoothed, smoothed
from dpviz.wavecluster.truth import Truth, run
from tests.conftest import reference_file

# -- data and score ----------------------------------------------------------------------------


def _core(name: str, grid: int, density: float) -> Truth:
    """True run on a set of the papers; the domain is the range of its data."""
    points = np.loadtxt(reference_file(f"{name}.csv"), delimiter=",")
    data = Dataset(name="", points=points)
    return Truth(Source.build(data, grid, data.bounds(from_data=True)), _config(grid, density))


def _sample(name: str) -> Truth:
    """True run on a sample data set, with its own grid and density."""
    facts = sample(name)
    source = Source.build(load_sample(name), facts.grid)
    return Truth(source, _config(facts.grid, facts.density))


def _config(grid: int, density: float) -> Config:
    return Config(method="twostage", grid=grid, density=density)


def _broad(grid: int, density: float) -> Truth:
    """True run on few records of two broad Gaussians, from a fixed seed."""
    rng = np.random.default_rng(0)
    points = rng.normal(rng.choice([0.3, 0.7], (2_000, 1)), 0.1, (2_000, 2)).clip(0, 1)
    data = Dataset(name="", points=points, domain=Domain(((0.0, 1.0),) * 2))
    return Truth(Source.build(data, grid), _config(grid, density))


def _many(grid: int, density: float) -> Truth:
    """True run on few records of 25 Gaussians side by side, from a fixed seed."""
    rng = np.random.default_rng(0)
    centres = (np.argwhere(np.ones((5, 5))) + 0.5) / 5
    points = rng.normal(centres[rng.integers(0, 25, 5_000)], 0.03).clip(0, 1)
    data = Dataset(name="", points=points, domain=Domain(((0.0, 1.0),) * 2))
    return Truth(Source.build(data, grid), _config(grid, density))


def draw(truth: Truth, epsilon: float, seed: int) -> float:
    """DSG_C of one run."""
    config = Config(
        method="twostage", grid=truth.config.grid, density=truth.config.density, epsilon=epsilon
    )
    found = run(truth.source, config, SeededNoise(seed)).stages
    return dsg_c(truth.stages.labels, found.labels)


DATA: Mapping[str, Callable[[], Truth]] = {
    "DS1": partial(_core, "ds1", 64, 0.58),
    "DS2": partial(_core, "ds2", 40, 0.10),
    "Gaussians": partial(_sample, "gaussians"),
    "Spirals": partial(_sample, "spirals"),
    "Broad Gaussians": partial(_broad, 32, 0.5),
    "Many Gaussians": partial(_many, 64, 0.5),
}


# -- replacements of a part --------------------------------------------------------------------


def _once(counts: Any, config: Config, accountant: Accountant) -> Any:
    """Release all counts with the whole budget, and do not release the number of zeros."""
    gradual = accountant.gradual(counts, [Level(ROUGH, config.epsilon)], sensitivity=1)
    rate = 1 / gradual.scales[0]
    released = Released(
        noisy=gradual.noisy, rate=np.full(counts.shape, rate),
        low=np.zeros(counts.shape, dtype=bool), zeros=0.0, zeros_rate=0.0,
        rough=gradual.noisy, rough_rate=rate,
    )  # fmt: skip
    return released, config, {}


def _independent(counts: Any, config: Config, accountant: Accountant) -> Any:
    """Rough counts with the smallest share; finer counts with new noise for the rest of ε."""
    share = SHARES[0]
    parts = (share * config.epsilon, (1 - share) * config.epsilon)
    rough, finer = (
        accountant.gradual(counts, [Level(step, part)], sensitivity=1)
        for step, part in zip((ROUGH, FINER), parts, strict=True)
    )
    rates = [1 / one.scales[0] for one in (rough, finer)]
    low = rough.noisy < _limit(counts.size, rates[1]) / rates[0]
    weights = np.square(rates) / np.square(rates).sum()
    both = np.round(weights[0] * rough.noisy + weights[1] * finer.noisy)
    zeros = float((counts[low] == 0).sum() + accountant.noise.laplace("zeros", 1 / rates[1], ()))
    released = Released(
        noisy=np.where(low, rough.noisy, both),
        rate=np.where(low, rates[0], math.hypot(*rates)),
        low=low, zeros=zeros, zeros_rate=rates[1], rough=rough.noisy, rough_rate=rates[0],
    )  # fmt: skip
    return released, config, {}


def _limit(cells: int, rest: float) -> float:
    return min(max(math.log(max(cells * rest**2, 1e-9)), 2.0), 4.0)


def _fixed(noisy: Any, rate: float, density: float) -> Choice:
    """A fixed share, whatever the counts are."""
    number = SHARES.index(0.65)
    return Choice(number, _limit(noisy.size, 0.35 * rate) / (0.65 * rate))


def _alone(shape: tuple[int, ...]) -> Any:
    """No cell has neighbours."""
    near, weights = neighbours(shape)
    return np.full_like(near, -1), weights


def _likely_alone(chance: Any, expected: float, *coarse: Any) -> Any:
    """The cells whose own probability is high, whatever number of cells is expected."""
    return likely_cells(chance, float((chance >= LIKELY).sum()), *coarse)


def _untrusted(released: Released) -> Smoothed:
    """Smoothed counts with zero trust."""
    return smoothed(released)._replace(risk=1e30)


def _all_joined(order: Any, weak: Any, *_: Any) -> Any:
    """All cells, even if they join clusters."""
    found = np.zeros(weak.shape, dtype=bool)
    found[order] = True
    return found


_CELLS = "dpviz.wavecluster.likely_cells"
_FIELD, _METHOD = "dpviz.wavecluster.random_field", "dpviz.wavecluster.methods.twostage"
_ESTIMATE = "dpviz.wavecluster.significant"

#: For each part: its name, the name of its replacement, and the replaced attributes.
PARTS: tuple[tuple[str, str, Mapping[str, Any]], ...] = (
    (
        "Number of empty cells",
        "one release of all counts with the whole budget",
        {f"{_METHOD}:release": _once},
    ),
    (
        "Nested noise",
        "independent noise on rough and finer counts, for 40% and 60% of the budget",
        {f"{_METHOD}:release": _independent},
    ),
    (
        "Share from noisy counts",
        "65% of the budget for rough counts",
        {f"{_METHOD}:choose_share": _fixed},
    ),
    (
        "Neighbours in the prior",
        "one prior for all cells",
        {f"{_FIELD}:neighbours": _alone},
    ),
    (
        "Pooled counts where there is doubt",
        "single counts alone",
        {f"{_ESTIMATE}:CLEAR": math.inf},
    ),
    (
        "Pooled counts alone where clusters are broad",
        "both together",
        {f"{_ESTIMATE}:BROAD": -math.inf},
    ),
    (
        "Smoothed counts",
        "the chances alone",
        {f"{_ESTIMATE}:smoothed": _untrusted},
    ),
    (
        "Gaps where a join is doubtful",
        "all these cells, whatever they join",
        {f"{_CELLS}:grown": _all_joined},
    ),
    (
        "Gaps on saddles",
        "joins whatever lies on both sides",
        {f"{_CELLS}:SADDLE": 0.0},
    ),
    (
        "Fewer cells where they do harm",
        "as many cells as doubt and expectation ask for",
        {f"{_CELLS}:RIGHT": 0.0},
    ),
    (
        "Number of cells to expect",
        "the likely cells alone",
        {f"{_ESTIMATE}:likely_cells": _likely_alone, f"{_CELLS}:SURROUNDINGS": 0.0},
    ),
)
