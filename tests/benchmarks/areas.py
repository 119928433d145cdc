"""Are clusters of areas as good as clusters of cells? False and missed areas, on three cities.

``python -m tests.benchmarks.areas`` takes a minute, and writes ``areas.json`` in the folder of this
file. It needs checkouts of the repositories below (see ``sets.py``), and the package h3 for
hexagons; sets that are missing are skipped. Areas are public: neighbourhoods by
codeforgermany/click_that_hood, or H3 cells over the same city. A row is a table of records with
areas, at one p and one epsilon. It has the number of significant areas without noise, and the mean
numbers of false and missed areas over 30 seeds, always compared with the same rule on true counts:

* ``areas``: noisy counts of areas, with the whole epsilon, and the number of negative counts as the
  correction of the threshold (``dpviz.wavecluster.areas``).
* ``paid``: the same, but PrivTHR's noisy number of empty areas, for a tenth of epsilon.
* ``pairs``: means of pairs of neighbouring areas (Haar on a graph), compared with single areas.
* ``densities``: records per surface, instead of records.
* ``recut``: noisy counts of about as many cells, divided among areas by surface.
* ``recut without noise``: true counts of the same cells, so all errors come from dividing.
* ``cells``: PrivTHR on a grid with about as many blocks, compared with true blocks.

Other rows (``side``) are about counts of areas from noisy counts of side x side cells, by
``dpviz.release.recut``: the shares of areas whose true number is in the band of noise alone, and
between the bounds (5 seeds); and medians over areas of the true number, the error and the width.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import shapely

from dpviz.base.errors import InputError
from dpviz.base.serialize import jsonable
from dpviz.data.dataset import Dataset
from dpviz.data.strict.areas import areas_of, hexagons
from dpviz.grid.areas import Areas
from dpviz.grid.counts import quantize
from dpviz.grid.domain import axis_edges
from dpviz.privacy.mechanisms import Accountant
from dpviz.privacy.noise_source import SeededNoise
from dpviz.release.recut import bands
from dpviz.wavecluster.areas import threshold_of
from dpviz.wavecluster.family import FAMILY
from dpviz.wavecluster.methods.privthr import pruned_threshold
from dpviz.wavecluster.parameters import Config
from dpviz.wavecluster.pipeline import Source, cluster
from dpviz.wavecluster.threshold import density_threshold
from tests.benchmarks.sets import MissingError, OfRepository, contents, folder

TABLE = Path(__file__).with_name("areas.json")
HOODS = "codeforgermany/click_that_hood"
SEEDS, EPSILONS, DENSITIES, ALPHA = 30, (0.1, 0.5, 1.0), (0.5, 0.8), 0.9
SIDES, FEW_SEEDS = (16, 64, 128), 5

NEW_YORK = ("bronx", "brooklyn", "manhattan", "queens", "staten-island")

#: Records, files of neighbourhoods, and resolution of hexagons, by name.
CITIES: dict[str, tuple[OfRepository, tuple[str, ...], int]] = {
    "pickups": (
        OfRepository(
            "uber-common/deck.gl-data",
            "examples/screen-grid/uber-pickup-locations.json",
            columns=(0, 1),
        ),
        NEW_YORK,
        8,
    ),
    "animals": (
        OfRepository("plotly/datasets", "311_Animals_short.csv", columns=("Longitude", "Latitude")),
        NEW_YORK,
        7,
    ),
    "bicycles": (
        OfRepository(
            "uber-common/deck.gl-data",
            "examples/layer-browser/sf.bike.parking.json",
            columns=(0, 1),
            places="COORDINATES",
        ),
        ("san-francisco",),
        8,
    ),
}

Mask = np.ndarray[Any, Any]
Pairs = dict[str, tuple[Mask, Mask]]


def main() -> None:
    """Measure all rows, write the table, and print it."""
    rows = [row for name in CITIES for row in _rows(name)]
    TABLE.write_text("[\n" + ",\n".join(json.dumps(jsonable(one)) for one in rows) + "\n]\n")
    for row in rows:
        if "side" in row:
            print(row)
            continue
        wrong = "; ".join(
            f"{rule} {one['false']:.1f} + {one['missed']:.1f} of {one['true']}"
            for rule, one in row["rules"].items()
        )
        print(f"{row['set']}, {row['areas']} {row['kind']}, p {row['p']}, "
              f"epsilon {row['epsilon']}: {wrong}")  # fmt: skip


def _rows(name: str) -> Iterator[dict[str, Any]]:
    source, files, resolution = CITIES[name]
    try:
        points = source.read(folder(None)).points
        features: list[Any] = []
        for file in files:
            features += json.loads(contents(folder(None), HOODS, f"public/data/{file}.geojson"))[
                "features"
            ]
        hoods = areas_of({"features": features}, name)
        kinds = {"neighbourhoods": hoods, "hexagons": _over(hoods, resolution)}
    except (MissingError, InputError) as error:
        print(f"{name} is skipped: {error}")
        return
    assert points is not None
    for kind, areas in kinds.items():
        for side in SIDES if kind == "neighbourhoods" else ():
            for epsilon in EPSILONS:
                yield {"set": name, "kind": kind, "areas": len(areas), "side": side,
                       "epsilon": epsilon, **_bands(points, areas, side, epsilon)}  # fmt: skip
        for p in DENSITIES:
            for epsilon in EPSILONS:
                yield {"set": name, "kind": kind, "areas": len(areas), "p": p, "epsilon": epsilon,
                       "rules": _measured(_draws(points, areas, p, epsilon))}  # fmt: skip


def _over(hoods: Areas, resolution: int) -> Areas:
    """Hexagons that touch a neighbourhood."""
    found, city = hexagons(resolution, hoods.domain), shapely.union_all(hoods.polygons)
    kept = np.flatnonzero(shapely.intersects(city, found.polygons))
    return Areas(*(tuple(each[at] for at in kept) for each in (found.names, found.polygons)))


def _bands(points: Any, areas: Areas, side: int, epsilon: float) -> dict[str, float]:
    """How often the bands of counts of areas contain the true number, and how wide they are."""
    true, box = areas.count(points), areas.domain
    counts, _ = quantize(points, box, side, outside="drop")
    borders = [axis_edges(lo, hi, side) for lo, hi in box.bounds]
    found = []
    for seed in range(FEW_SEEDS):
        noise = np.random.default_rng(seed).laplace(0, 1 / epsilon, counts.shape)
        count, error, low, high = bands(areas, borders, counts + noise, 1 / epsilon).T
        found.append([
            np.mean(np.abs(count - true) <= error), np.mean((low <= true) & (true <= high)),
            np.median(np.abs(count - true)), np.median(high - low),
        ])  # fmt: skip
    noise_holds, bounds_hold, error, width = np.mean(found, axis=0).round(3)
    return {"noise_holds": noise_holds, "bounds_hold": bounds_hold, "records": np.median(true),
            "error": error, "width": width}  # fmt: skip


def _measured(draw: Callable[[int], Pairs]) -> dict[str, dict[str, float]]:
    found: dict[str, list[tuple[int, int, int]]] = {}
    for seed in range(SEEDS):
        for rule, (private, true) in draw(seed).items():
            sums = (private & ~true).sum(), (true & ~private).sum(), true.sum()
            found.setdefault(rule, []).append(tuple(map(int, sums)))  # type: ignore[arg-type]
    return {
        rule: {
            "false": round(float(np.mean([one[0] for one in all_])), 2),
            "missed": round(float(np.mean([one[1] for one in all_])), 2),
            "true": all_[0][2],
        }
        for rule, all_ in found.items()
    }


def _draws(points: Any, areas: Areas, p: float, epsilon: float) -> Callable[[int], Pairs]:
    counts = areas.count(points).astype(float)
    surface = _surfaces(areas)
    pairs = _matched(areas, surface)

    def dense(values: Any) -> Mask:
        return np.asarray(values >= density_threshold(values, p).value)

    box = areas.domain
    side = 2 * max(round(np.sqrt(len(areas)) / 2), 1)
    inside = Dataset(name="", points=points[box.contains(points)], domain=box)
    coarse, fine = (Source.build(inside, size, box) for size in (side, 2 * side))
    edges = [axis_edges(lo, hi, side) for lo, hi in box.bounds]
    area, cell, share = areas.shares(edges)
    covered = np.bincount(cell, share, side * side)

    def divided(cells: Any) -> Any:
        """Values of areas from cells, of which all records are on land that belongs to areas."""
        part = share / covered[cell] * np.ravel(cells)[cell]
        return np.bincount(area, part, len(areas))

    config = Config(method="privthr", density=p, epsilon=epsilon, grid=2 * side, alpha=ALPHA)
    true_cells = cluster(fine.counts, config).significant

    def draw(seed: int) -> Pairs:
        rng = np.random.default_rng(seed)
        q = np.exp(-epsilon)
        whole = rng.geometric(1 - q, len(areas)) - rng.geometric(1 - q, len(areas))
        noisy = counts + whole
        less = counts + rng.laplace(0, 1 / (ALPHA * epsilon), len(areas))
        empty = (counts == 0).sum() + rng.laplace(0, 1 / ((1 - ALPHA) * epsilon))
        cells = coarse.counts + rng.laplace(0, 1 / epsilon, coarse.shape)
        paired = np.bincount(pairs, noisy)
        records = divided(cells)
        # Noise of divided counts says nothing about empty areas, so the true number is used.
        kept = records >= np.sort(records)[-max(int(dense(counts).sum()), 1)]
        run = FAMILY.run(fine, config, Accountant(SeededNoise(seed), epsilon))
        negative = 2.0 * int((noisy < 0).sum())
        return {
            "areas": (noisy >= threshold_of(noisy, p).value, dense(counts)),
            "paid": (less >= pruned_threshold(less, p, float(empty)).value, dense(counts)),
            "pairs": ((paired >= threshold_of(paired, p).value)[pairs], dense(counts)),
            "densities": (
                noisy / surface >= pruned_threshold(noisy / surface, p, negative).value,
                dense(counts / surface),
            ),
            "recut": (kept, dense(counts)),
            "recut without noise": (dense(divided(coarse.counts)), dense(counts)),
            "cells": (run.stages.significant.ravel(), true_cells.ravel()),
        }

    return draw


def _surfaces(areas: Areas) -> Any:
    """Surfaces of areas in degrees, on the equal-area cylinder."""

    def flat(at: Any) -> Any:
        return np.column_stack([at[:, 0], np.degrees(np.sin(np.radians(at[:, 1])))])

    return shapely.area(shapely.transform(areas.polygons, flat))


def _matched(areas: Areas, surface: Any) -> Any:
    """Number of the pair of each area (m,): the smallest neighbours first; some areas are alone."""
    one, other = areas.neighbours.T
    group, number = np.full(len(areas), -1), 0
    for at in np.argsort(surface[one] + surface[other], kind="stable"):
        if group[one[at]] < 0 and group[other[at]] < 0:
            group[one[at]] = group[other[at]] = number
            number += 1
    alone = np.flatnonzero(group < 0)
    group[alone] = number + np.arange(len(alone))
    return group


if __name__ == "__main__":
    main()
