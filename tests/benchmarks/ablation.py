"""Measure the effect of each part of a method; write ``dpviz/experiments/ablations.json``.

    python -m tests.benchmarks.ablation [METHOD ...]

Without arguments, all methods are measured. Otherwise only the named methods are measured, and the
numbers of all other methods do not change. To leave a part out, the benchmark replaces a function
or constant of the method by a simpler version, because the method itself has no option for this.
"""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from pkgutil import resolve_name
from typing import Any

import numpy as np
import pandas as pd

from dpviz.data.dataset import Dataset
from dpviz.experiments.ablations import FILE, Ablation, parts
from dpviz.families import CARDS
from dpviz.grid.domain import Domain
from dpviz.kmeans.grid import grid_sides, onto_simplex
from dpviz.kmeans.parameters import KMeansConfig
from dpviz.kmeans.records import Records
from dpviz.kmeans.trial import KMeansTrial
from dpviz.privacy.mechanisms import Accountant
from tests.benchmarks import twostage_parts
from tests.benchmarks.utility import spread
from tests.conftest import reference_file

EPSILONS = (0.1, 0.5, 1.0)

#: Number of runs of each row, and first seed. No constant was chosen with these seeds.
DRAWS, FIRST_SEED = 20, 100


@dataclass(frozen=True, kw_only=True)
class Part:
    """A part of a method, and its replacement.

    Parameters
    ----------
    name, instead
        Texts that the app shows.
    changes
        Replacement of each ``"module:attribute"`` that leaves the part out.
    data
        Sets on which the part is measured; None for all.
    """

    name: str
    instead: str
    changes: Mapping[str, Any]
    data: tuple[str, ...] | None = None


@dataclass(frozen=True, kw_only=True)
class Method:
    """Plan for the measurement of a method's parts.

    Parameters
    ----------
    score
        Name of the score; a smaller score is better.
    data
        Functions that load the sets; the keys are the shown names of the sets.
    draw
        Takes the result of a loader, epsilon and a seed; returns the score of one run.
    parts
        All parts; one part at a time is left out.
    epsilons
        Budgets.
    """

    score: str
    data: Mapping[str, Callable[[], Any]]
    draw: Callable[[Any, float, int], float]
    parts: tuple[Part, ...]
    epsilons: tuple[float, ...] = EPSILONS


def main(names: list[str]) -> None:
    """Measure the named methods, or all methods, and write the results."""
    rows = [row for row in (parts() if FILE.exists() and names else ()) if row.method not in names]
    for method in names or METHODS:
        for row in measure(method):
            rows.append(row)
            print(row, file=sys.stderr, flush=True)
    order = list(CARDS)
    rows.sort(key=lambda row: order.index(row.method))
    lines = [json.dumps(asdict(row), separators=(",", ":"), ensure_ascii=False) for row in rows]
    FILE.write_text("[\n" + ",\n".join(lines) + "\n]\n", encoding="utf-8")


def measure(
    method: str,
    *,
    draws: int = DRAWS,
    only: tuple[str, str, float] | None = None,
) -> Iterator[Ablation]:
    """Result rows of all parts of a method.

    Parameters
    ----------
    only
        Part, set and budget of the only row to measure; None for all rows.
    """
    entry = METHODS[method]
    seeds = range(FIRST_SEED, FIRST_SEED + draws)
    loaded: dict[str, Any] = {}
    whole: dict[tuple[str, float], list[float]] = {}
    for part in entry.parts:
        for data in part.data or entry.data:
            for epsilon in entry.epsilons:
                if only is not None and only != (part.name, data, epsilon):
                    continue
                if data not in loaded:
                    loaded[data] = entry.data[data]()
                draw = partial(entry.draw, loaded[data], epsilon)
                if (data, epsilon) not in whole:
                    whole[data, epsilon] = [draw(seed) for seed in seeds]
                with changed(part.changes):
                    without = [draw(seed) for seed in seeds]
                yield Ablation(
                    method=method,
                    part=part.name,
                    instead=part.instead,
                    data=data,
                    score=entry.score,
                    epsilon=epsilon,
                    draws=draws,
                    whole=spread(whole[data, epsilon]),
                    without=spread(without),
                )


@contextmanager
def changed(changes: Mapping[str, Any]) -> Iterator[None]:
    """Replace attributes inside the ``with`` block."""
    kept = {name: resolve_name(name) for name in changes}
    try:
        for name, value in changes.items():
            _put(name, value)
        yield
    finally:
        for name, value in kept.items():
            _put(name, value)


def _put(name: str, value: Any) -> None:
    """Set ``"module:attribute"``, which may be an attribute of a class in the module."""
    module, path = name.split(":")
    *owner, last = path.split(".")
    setattr(resolve_name(":".join([module, ".".join(owner)]) if owner else module), last, value)


# -- DP-Refine ---------------------------------------------------------------------------------


def _trial(points: np.ndarray, clusters: int) -> KMeansTrial:
    """Data for runs on points; the domain is the range of the data."""
    low, high = points.min(axis=0), points.max(axis=0)
    domain = Domain(tuple(zip(low.tolist(), high.tolist(), strict=True)))
    records = Records.build(Dataset(name="", points=points), domain)
    return KMeansTrial.of(records, KMeansConfig(method="dprefine", clusters=clusters))


def _reference(name: str, clusters: int) -> KMeansTrial:
    table = pd.read_csv(Path(reference_file(f"{name}.csv.gz")))
    return _trial(table[["x", "y"]].to_numpy(float), clusters)


def _mixture(clusters: int, ndim: int, n: int) -> KMeansTrial:
    """Data for runs on Gaussians of deviation 0.1, whose centres are uniform in a box."""
    rng = np.random.default_rng(100 * ndim + clusters)
    middles = rng.uniform(-0.8, 0.8, (clusters, ndim))
    points = middles[rng.integers(clusters, size=n)] + rng.normal(0, 0.1, (n, ndim))
    return _trial(points, clusters)


def _ratio(trial: KMeansTrial, epsilon: float, seed: int) -> float:
    trial = trial.at(epsilon=epsilon)
    return trial.scores(trial.draw(seed), seed, ("nicv_ratio",))["nicv_ratio"]


def _whole_cells(records: np.ndarray, ndim: int, most: int) -> np.ndarray:
    return np.ones(len(records), dtype=np.int64)


def _independent(
    self: Accountant, values: np.ndarray, levels: Any, scales: list[float]
) -> tuple[np.ndarray, ...]:
    """Two independent noisy releases; their precision-weighted mean replaces the second release."""
    scales[1] = 1 / (1 / scales[1] - 1 / scales[0])
    first, second = (
        np.asarray(values, dtype=float) + self.noise.laplace(level.step, scale, values.shape)
        for level, scale in zip(levels, scales, strict=True)
    )
    one, other = (scale**-2 for scale in scales)
    scales[1] = (one + other) ** -0.5
    return first, (one * first + other * second) / (one + other)


def _projected(
    noisy: np.ndarray, variances: np.ndarray, ndim: int, total: float, generator: Any
) -> np.ndarray:
    """Nearest non-negative counts that have this total."""
    return onto_simplex(noisy, total)


def _projected_parts(
    noisy: np.ndarray, variance: float, sides: Any, firsts: Any, ndim: int, totals: Any, _: Any
) -> np.ndarray:
    """Nearest non-negative counts of the subcells of each cell that have the cell's total."""
    found = np.zeros(len(noisy))
    for cell in np.flatnonzero(sides > 1):
        rows = slice(firsts[cell], firsts[cell] + sides[cell] ** ndim)
        found[rows] = onto_simplex(noisy[rows], totals[cell])
    return found


#: Share of the budget for the counts when the residuals get Laplace noise.
_NUMBERS = 0.25


def _laplace(
    self: Accountant,
    step: str,
    values: np.ndarray,
    *,
    ball: int,
    sensitivity: float,
    epsilon: float,
) -> np.ndarray:
    """Laplace noise on each number: a residual of length 1 has an L1 norm of up to sqrt(d)."""
    scale = self._spend(step, sensitivity, epsilon, 1.0, "sequential")
    entries = values.shape[1] - ball
    share = _NUMBERS if ball else 1.0
    scales = np.full(values.shape[1], entries / share)
    if ball:
        scales[entries:] = math.sqrt(ball) / (1 - _NUMBERS)
    return values + self.noise.laplace(step, 1.0, values.shape) * scales * scale


def _su_side(records: float, clusters: int, ndim: int) -> int:
    """Cells per axis by the formula of Su et al., with ten records in each cell."""
    return grid_sides(records * clusters, 1.0, ndim, clusters, 10.0)[0]


_GRID = ("S1", "Unbalance")
_MANY = ("10 Gaussians in 10 columns", "8 Gaussians in 16 columns")

DPREFINE = Method(
    score="nicv_ratio",
    data={
        "S1": partial(_reference, "s1", 15),
        "Unbalance": partial(_reference, "unbalance", 8),
        "10 Gaussians in 10 columns": partial(_mixture, 10, 10, 20_000),
        "8 Gaussians in 16 columns": partial(_mixture, 8, 16, 10_000),
    },
    draw=_ratio,
    parts=(
        Part(
            name="Split cells",
            instead="a uniform grid",
            changes={"dpviz.kmeans.nested_grid:subcells": _whole_cells},
            data=_GRID,
        ),
        Part(
            name="Cells by our rule",
            instead="Su's rule for their number",
            changes={"dpviz.kmeans.nested_grid:grid_side": _su_side},
        ),
        Part(
            name="Nested noise",
            instead="independent noise on rough and fine counts",
            changes={"dpviz.privacy.mechanisms:Accountant._chain": _independent},
        ),
        Part(
            name="Likely counts",
            instead="a projection onto the simplex",
            changes={
                "dpviz.kmeans.nested_grid:denoised": _projected,
                "dpviz.kmeans.nested_grid:denoised_parts": _projected_parts,
            },
        ),
        Part(
            name="Mean of eight random ways to halve the grid",
            instead="one random way",
            changes={"dpviz.kmeans.denoise:PASSES": 1},
        ),
        Part(
            name="Seeds from a grid in many columns",
            instead="seeds from a tree",
            changes={"dpviz.kmeans.methods.dprefine:TREE_FROM": 0.0},
            data=_MANY,
        ),
        Part(
            name="Last residual steps",
            instead="the whole budget for the seeds",
            changes={
                "dpviz.kmeans.methods.dprefine:ENOUGH": math.inf,
                "dpviz.kmeans.methods.dprefine:ONE_STEP": math.inf,
            },
        ),
        Part(
            name="K-norm noise",
            instead="Laplace noise",
            changes={
                "dpviz.privacy.mechanisms:Accountant.k_norm": _laplace,
                "dpviz.kmeans.residual:length_variance": (
                    lambda ball, scale: 2 * ball * (math.sqrt(ball) / (1 - _NUMBERS) * scale) ** 2
                ),
                "dpviz.kmeans.residual:noise_deviation": (
                    lambda columns, scale: math.sqrt(2) * 2 / _NUMBERS * scale
                ),
                "dpviz.kmeans.residual_tree:noise_deviation": (
                    lambda columns, scale: math.sqrt(2) * columns * scale
                ),
            },
        ),
        Part(
            name="Clip radius",
            instead="residuals as long as the box allows",
            changes={"dpviz.kmeans.residual:clip_radius": lambda *given: math.inf},
        ),
        Part(
            name="Swaps of centres",
            instead="k-means with starts alone",
            changes={
                "dpviz.kmeans.weighted:FEW_SWAPS": 0,
                "dpviz.kmeans.weighted:SWAPS": 0,
            },
        ),
    ),
)

# -- Two-stage ---------------------------------------------------------------------------------

TWOSTAGE = Method(
    score="dsg_c",
    data=twostage_parts.DATA,
    draw=twostage_parts.draw,
    # Pooled counts have an effect at small budgets.
    epsilons=(0.05, *EPSILONS),
    parts=tuple(
        Part(name=name, instead=instead, changes=changes)
        for name, instead, changes in twostage_parts.PARTS
    ),
)

METHODS: dict[str, Method] = {"twostage": TWOSTAGE, "dprefine": DPREFINE}


if __name__ == "__main__":
    main(sys.argv[1:])
