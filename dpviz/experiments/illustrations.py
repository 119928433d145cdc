"""Figures of the papers that are not sweeps: noise, a picture of clusters, and run times."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from dpviz.base.errors import InputError, shown
from dpviz.base.lazy import pandas as pd
from dpviz.base.tables import read_beside
from dpviz.data.samples import load_sample, sample
from dpviz.experiments.presets import PRESETS, Figure
from dpviz.experiments.worker_times import WorkerTimes, worker_times
from dpviz.families import CARDS
from dpviz.family.claim import why_not
from dpviz.grid.domain import Domain
from dpviz.metrics.bands import band
from dpviz.metrics.matching import matched_numbers
from dpviz.privacy.noise_source import SeededNoise
from dpviz.wavecluster.diagnosis import outcome
from dpviz.wavecluster.parameters import Config
from dpviz.wavecluster.pipeline import Run, Source
from dpviz.wavecluster.truth import Truth, run, true_config


@dataclass(frozen=True, kw_only=True, eq=False)
class NoiseFigure(Figure):
    """Mean absolute Laplace noise for several budgets."""

    epsilons: tuple[float, ...]
    sensitivity: float
    repeats: int

    @property
    def text(self) -> str:
        """Readable settings of the figure."""
        return f"       sensitivity {self.sensitivity:g}"

    def table(self, repeats: int | None = None, seed: int = 0) -> pd.DataFrame:
        """Sample the noise: mean, low and high of its size by epsilon, and expectation (law)."""
        seeds = range(seed, seed + (self.repeats if repeats is None else repeats))
        rows = []
        for epsilon in self.epsilons:
            scale = self.sensitivity / epsilon
            # Each budget has its own random stream; otherwise all means would have similar errors.
            step = f"noise at epsilon {epsilon:g}"
            sizes = [abs(float(SeededNoise(one).laplace(step, scale, ()))) for one in seeds]
            found = band(sizes)
            rows.append((epsilon, len(sizes), found.mean, found.low, found.high, scale))
        return pd.DataFrame(rows, columns=["epsilon", "draws", "mean", "low", "high", "law"])


@dataclass(frozen=True, kw_only=True, eq=False)
class Picture(Figure):
    """One draw of WaveCluster, compared with the true clusters."""

    sample: str
    settings: dict[str, Any] = field(default_factory=dict)
    seed: int = 0

    @property
    def config(self) -> Config:
        """Technique and parameters."""
        known = sample(self.sample)
        return Config(grid=known.grid, density=known.density, **self.settings)

    @property
    def link(self) -> dict[str, str]:
        """Parameters of the link that opens this figure in the explorer."""
        config = self.config
        values = {"data": self.sample, "domain": "data", "seed": self.seed, "g": config.grid}
        values |= {"p": config.density} | self.settings
        return {name: str(value) for name, value in values.items()}

    @property
    def text(self) -> str:
        """Readable command that computes the figure."""
        options = " ".join(f"--{name} {value}" for name, value in self.settings.items())
        return (
            f"       python -m dpviz run {self.sample} {options} --domain data --seed {self.seed}"
        )

    @property
    def fails(self) -> str:
        """The reason why this run is not private: the paper's domain is the range of the data."""
        return why_not(CARDS[self.config.method], self.config, None)

    def runs(self) -> tuple[Truth, Run]:
        """Return the true run and the draw, on the range of the data as in the paper."""
        config, dataset = self.config, load_sample(self.sample)
        assert dataset.points is not None  # noqa: S101 - a sample set of points
        source = Source.build(dataset, config.grid, Domain.from_data(dataset.points))
        return Truth(source, true_config(config)), run(source, config, SeededNoise(self.seed))

    def table(self, repeats: int | None = None, seed: int = 0) -> pd.DataFrame:
        """Return the fate and the match of each true cluster in the draw with the figure's seed."""
        truth, private = self.runs()
        numbers = matched_numbers(truth.stages.labels, private.stages.labels)
        rows = []
        for cluster in range(1, truth.stages.n_clusters + 1):
            found = outcome(truth.stages.labels, private.stages.labels, cluster)
            cells = int(np.count_nonzero(truth.stages.labels == cluster))
            others = " ".join(map(str, found.joined))
            rows.append(
                (cluster, cells, found.fate, int(numbers[found.match]), found.match_cells, others)
            )
        columns = ["cluster", "cells", "fate", "private cluster", "private cells", "joined with"]
        return pd.DataFrame(rows, columns=columns)


@dataclass(frozen=True, kw_only=True, eq=False)
class TimeFigure(Figure):
    """Times of runs on several workers: measurements, and a model for more workers."""

    over: Literal["records", "epsilon", "workers"]
    method: str = "contour"

    @property
    def text(self) -> str:
        """Readable results."""
        return "\n".join(f"       {one}" for one in self.sentences(worker_times()))

    def sentences(self, times: WorkerTimes) -> list[str]:
        """Describe the model and how the times were measured."""
        found = times.sentences(self.method)
        return found[-1:] if self.over == "epsilon" else found

    def table(self, repeats: int | None = None, seed: int = 0) -> pd.DataFrame:
        """Return times by variant, from ``tests.benchmarks.mapreduce`` and from the model."""
        every = {one.variant: one for one in (worker_times("published"), worker_times("sound"))}
        return pd.concat(map(self._frame, every.values()), ignore_index=True)

    def _frame(self, times: WorkerTimes) -> pd.DataFrame:
        if self.over == "epsilon":
            return times.epsilon_frame()
        if self.over == "workers":
            return times.speedup_frame(self.method)
        return times.records_frame(self.method)


@dataclass(frozen=True, kw_only=True)
class _Illustrations:
    pictures: tuple[Picture, ...]
    noise: tuple[NoiseFigure, ...]
    times: tuple[TimeFigure, ...]


_READ: _Illustrations = read_beside(__file__, _Illustrations)

#: Figures that are not sweeps, by name.
ILLUSTRATIONS = {one.name: one for one in _READ.pictures + _READ.noise + _READ.times}

FIGURES: dict[str, Figure] = dict(sorted({**PRESETS, **ILLUSTRATIONS}.items()))


def figure(name: str) -> Figure:
    """Return the figure with this name; otherwise raise InputError that lists the names."""
    if name not in FIGURES:
        raise InputError(f'figure "{shown(name)}" is unknown: choose from {", ".join(FIGURES)}.')
    return FIGURES[name]
