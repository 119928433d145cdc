"""Use only released numbers to find clusters that data without clusters could also show.

The document of a release contains its method, parameters and noisy numbers. These parts suffice to
run the same method on data without clusters. This module draws many data sets without clusters
(null sets), from fixed seeds. The module reads no record, and the same document always gives the
same answer. So it is post-processing and spends no budget. The page privacy.md of the documentation
says how null sets are made, when a cluster is beyond doubt, and why at most ``LEVEL`` of releases
give a false alarm; ``tests/benchmarks/nulls.py`` measures it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from dpviz.base.arrays import Floats, Mask
from dpviz.base.lazy import spatial
from dpviz.data.dataset import Dataset
from dpviz.families import CARDS, FAMILIES, PARAMETERS
from dpviz.family.trial import Configuration
from dpviz.grid.domain import Domain
from dpviz.privacy.ledger import Neighbours
from dpviz.privacy.noise_source import SeededNoise
from dpviz.release.seeded import seeded_run
from dpviz.release.tables import block_sums, cells_of_blocks

Document = Mapping[str, Any]
#: Among releases of data without clusters, at most this share has a cluster that passes as real.
LEVEL = 0.05

#: Largest number of records at one place that are not a cluster, unless one person may have more.
#: Groups in null sets are larger by the second factor, because medians of few groups are inexact.
GROUP, MORE = 5, 1.6

#: Number of null sets of each kind, by the kind of result.
DRAWS = {"cells": 59, "centers": 90}

#: Number of strips per axis over which the share of a row is a median. A strip is used if it has at
#: least this part of the records of the mean strip.
STRIPS, LEAST = 8, 0.25

#: Below this number of groups per row of a strip, medians hardly show the records.
FEW = 4

#: For normal values: standard deviation divided by the median distance from the median; variance of
#: the median divided by the variance of the mean.
WIDE, MEDIAN = 1.4826, 1.57

#: Number of evenly spread places that are used to compare centres with their areas.
PLACES = 4096

#: Maximum number of records of a null set with evenly spread records. If the release has more
#: records, epsilon is raised instead, so that the noise keeps its size relative to the number of
#: records.
MOST_RECORDS, MOST_EPSILON = 20_000, 1e6

#: First words of the names of steps that choose the grid; null sets spend nothing on these steps.
_CHOICE = "choice of "


def doubt(document: Document, null_sets: int | None = None) -> dict[str, Any] | None:
    """Judge the clusters of a release; None if the method publishes no numbers of records.

    ``clusters``: numbers of the doubtful clusters, from 1. ``level``: among releases of data
    without clusters, at most this share has a cluster that passes as real. ``how``: the rule, and
    the meaning of "without clusters". ``null_sets``: at most so many of each kind; by default the
    number that keeps ``LEVEL``. A smaller number is faster, and only tests whether the judgement
    works at all.
    """
    result = document["result"]
    if result["counts"] is None:
        return None
    judge, how = (_cells, _of_cells) if result["kind"] == "cells" else (_centers, _of_centers)
    sure = judge(document, null_sets)
    return {"clusters": (np.flatnonzero(~sure) + 1).tolist(), "level": LEVEL, "how": how(document)}


# -- cells ---------------------------------------------------------------------------------


def _cells(document: Document, null_sets: int | None) -> Mask:
    result, group = document["result"], _drawn(document)
    blocks, room = _blocks(result), _room(result)
    fit = fitted(blocks, room, group)
    chance = (WIDE * float(np.median(np.abs(blocks - fit)))) ** 2
    cells = cells_of_blocks(fit / room, result)

    def data(generator: np.random.Generator, domain: Domain) -> Dataset:
        counts = group * generator.poisson(cells / group)
        return Dataset(name="no cluster", counts=counts, domain=domain)

    seen = _outstanding(result, group, chance)
    most = np.zeros(2)
    for null in _nulls(document, data, null_sets or DRAWS["cells"]):
        if not (seen > most).any():
            break
        most = np.maximum(most, _outstanding(null, group, chance).max(axis=0, initial=0.0))
    found: Mask = np.any(seen > most, axis=1)
    return found


def fitted(blocks: Floats, room: Floats, group: int) -> Floats:
    """Records of each block, without clusters: a level times the shares of its row, its column, ...

    Blocks (b, ...) have noisy numbers of records, and ``room``, in the same shape, their numbers of
    cells: a block of padding has none. ``group`` records are at one place.
    """
    shape = np.ones(())
    for axis in range(blocks.ndim):
        shape = np.multiply.outer(shape, _shares(np.moveaxis(blocks, axis, 0), room, axis, group))
    each = np.divide(blocks, shape, out=np.zeros(blocks.shape), where=shape > 0).ravel()
    order = np.argsort(each)
    middle = np.searchsorted(shape.ravel()[order].cumsum(), shape.sum() / 2)
    level = max(float(each[order[middle]]), 0.0)
    # The median of a Poisson number is at most log 2 below its mean.
    found: Floats = shape * (level + group * np.log(2) / float((shape**2).sum()))
    return found


def _shares(slabs: Floats, room: Floats, axis: int, group: int) -> Floats:
    """Share of the records in each row of an axis, from strips across the rows."""
    cells = room.sum(axis=tuple(other for other in range(room.ndim) if other != axis))
    even: Floats = cells / cells.sum()
    per_axis = round(STRIPS ** (1 / max(slabs.ndim - 1, 1)))
    for other in range(1, slabs.ndim):
        side = slabs.shape[other]
        parts = min(per_axis, side)
        slabs = np.add.reduceat(slabs, np.arange(parts) * side // parts, axis=other)
    strips = slabs.reshape(len(slabs), -1)
    whole = strips.sum(axis=0)
    if strips.shape[1] == 1 or whole.mean() <= 0:
        return even
    strips = (strips / even[:, None])[:, full := whole >= LEAST * whole.mean()] / whole[full]
    middle = np.median(strips, axis=1)
    apart = WIDE * np.median(np.abs(strips - middle[:, None]), axis=1)
    chance = MEDIAN * float((apart**2).mean()) / strips.shape[1]
    kept = max(1 - chance / max(float(middle.var()), 1e-300), 0.0)
    rest: float | Floats = max(float(even @ middle), 1e-9)
    if whole[full].mean() < FEW * group * len(even):
        rest = rest * (strips @ whole[full]).clip(0) / whole[full].sum()
    found: Floats = even * (kept * middle + (1 - kept) * rest).clip(0)
    return found / found.sum() if found.any() else even


def _outstanding(result: Mapping[str, Any], group: int, chance: float) -> Floats:
    """Standardized excess of each cluster, and of its fullest block, over a fit: (clusters, 2)."""
    blocks, labels = _blocks(result), np.array(result["labels"]).ravel()
    fit = fitted(blocks, _room(result), group)
    more, variance = (blocks - fit).ravel(), (group * fit + chance).ravel() + 1
    number = result["clusters"] + 1
    whole = np.bincount(labels, more, number) / np.sqrt(np.bincount(labels, variance, number) + 1)
    fullest = np.full(number, -np.inf)
    np.maximum.at(fullest, labels, more / np.sqrt(variance))
    return np.column_stack([whole, fullest])[1:]


def _blocks(result: Mapping[str, Any]) -> Floats:
    counts = np.array(result["counts"], dtype=float)
    return block_sums(counts, [result["block"]] * counts.ndim)


def _room(result: Mapping[str, Any]) -> Floats:
    """Number of cells of each block; the last blocks may have fewer cells."""
    return _blocks({**result, "counts": np.ones(np.shape(result["counts"]))})


def _of_cells(document: Document) -> str:
    one = np.ndim(document["result"]["counts"]) == 1
    level = "everywhere" if one else "in each row and column of the grid"
    spread = "are spread evenly" if one else "differ in number only by row and column"
    # If the method chooses the cells, the cells follow the records, so records on few lines don't
    # look like a product of shares.
    card = CARDS[document["method"]["name"]]
    rounded = "values rounded to few steps, " * card.lays_own_cells
    return (
        f"From released numbers only, the same settings were run {DRAWS['cells']} times on data "
        f"without clusters, with about as many records {level} as here. A cluster is doubtful if "
        "neither it nor its fullest block stands out more than all clusters did in these runs. If "
        f"records {spread}, with at most {_group(document)} at one place, a cluster passes as real "
        f"in at most {LEVEL:.0%} of releases, as measured with two columns and 200 to 5,000 "
        f"records. More records at one place, {rounded}a coast, the edge of a city or a slanting "
        "street may pass as a cluster." + _moved(document)
    )


# -- centres -------------------------------------------------------------------------------


def _centers(document: Document, null_sets: int | None) -> Mask:
    result = document["result"]
    bounds = np.array(document["domain"]["bounds"], dtype=float)
    counts = np.array(result["counts"], dtype=float)
    group, records = _drawn(document), _rounded(float(counts.sum()))
    number = min(records, MOST_RECORDS)

    def none(generator: np.random.Generator, domain: Domain) -> Dataset:
        return Dataset(name="no record", points=np.empty((0, domain.ndim)))

    def even(generator: np.random.Generator, domain: Domain) -> Dataset:
        places = generator.uniform(domain.lows, domain.highs, (-(-number // group), domain.ndim))
        return Dataset(name="no cluster", points=np.repeat(places, group, axis=0))

    sure = counts > 0
    for null in _nulls(document, none, null_sets or DRAWS["centers"]):
        if not sure.any():
            return sure
        # A method that stopped before its first iteration has no numbers of records.
        sure &= counts > np.max(null["counts"] if null["counts"] is not None else 0, initial=0.0)
    if not records:
        return np.zeros(len(counts), dtype=bool)
    seen = uneven(result, bounds)
    most = np.zeros(2)
    for null in _nulls(document, even, null_sets or DRAWS["centers"], records / number):
        if not (sure.any() and (seen > most).any()):
            break
        most = np.maximum(most, uneven(null, bounds))
    return sure & (seen > most).any()


def uneven(result: Mapping[str, Any], bounds: Floats) -> Floats:
    """Two distances between the centres and the centres of evenly spread records, shape (2,).

    First, the mean squared distance of the centres from the middles of their areas, weighted by
    area, where all sides of the domain (bounds (d, 2)) have length 1. Second, the share of the
    records that would have to move so that each area has its share.
    """
    if result["counts"] is None:
        return np.zeros(2)
    counts = np.array(result["counts"], dtype=float).clip(0)
    low, high = bounds.T
    centers = (np.array(result["centers"], dtype=float) - low) / (high - low)
    places = SeededNoise(0).generator("places").random((PLACES, len(low)))
    owner = spatial.cKDTree(centers).query(places)[1]
    areas = np.bincount(owner, minlength=len(centers))
    sums = np.stack([np.bincount(owner, one, len(centers)) for one in places.T], axis=1)
    middles = sums / np.maximum(areas, 1)[:, None]
    far = (areas * ((middles - centers) ** 2).sum(axis=1)).sum() / PLACES
    shares = counts / max(float(counts.sum()), 1e-9)
    return np.array([far, np.abs(shares - areas / PLACES).sum() / 2])


def _rounded(records: float) -> int:
    """Number of records, rounded to steps of about 9%, because the noisy number is not exact."""
    return round(2 ** (round(8 * np.log2(records)) / 8)) if records >= 1 else 0


def _of_centers(document: Document) -> str:
    return (
        f"From released numbers only, the same settings were run {DRAWS['centers']} times without "
        "any record, and as often with about as many evenly spread records as here. A centre is "
        "doubtful if some centre got as many records in a run without any record. All centres are "
        "doubtful if their places and numbers are not more uneven than for evenly spread "
        f"records. If records are spread evenly, with at most {_group(document)} at one place, or "
        f"there is no record, a centre passes as real in at most {LEVEL:.0%} of releases. A slope, "
        "a coast or an empty part of the domain may pass as clusters. This test can't show which "
        "centres have a cluster around them." + _moved(document)
    )


# -- both ----------------------------------------------------------------------------------


def _group(document: Document) -> int:
    return max(GROUP, int(document["privacy"]["cap"]))


def _drawn(document: Document) -> int:
    return round(MORE * _group(document))


def _moved(document: Document) -> str:
    moved = bool(document["domain"]["outside"] == "clip")
    return " Records that were moved to the border may make clusters there." * moved


def _nulls(
    document: Document,
    data: Callable[[np.random.Generator, Domain], Dataset],
    draws: int,
    more: float = 1.0,
) -> Iterator[Mapping[str, Any]]:
    """Results of ``draws`` null sets, with ``more`` times the epsilon of the release."""
    family = FAMILIES[document["method"]["family"]]
    domain = Domain(tuple((float(lo), float(hi)) for lo, hi in document["domain"]["bounds"]))
    config = _config(document)
    config = replace(config, epsilon=min(config.epsilon * more, MOST_EPSILON))
    for seed in range(draws):
        dataset = data(SeededNoise(seed).generator("null set"), domain)
        material = family.material(dataset, config, domain, "clip", secure=True)
        yield family.released(seeded_run(family, material, config, seed), domain)


def _config(document: Document) -> Configuration:
    privacy, parameters = document["privacy"], document["parameters"]
    chosen = sum(
        spend["epsilon"] for spend in privacy["ledger"] if spend["step"].startswith(_CHOICE)
    )
    config: Configuration = FAMILIES[document["method"]["family"]].config(
        method=document["method"]["name"],
        variant=document["method"]["variant"],
        epsilon=privacy["epsilon"] - chosen,
        neighbours=Neighbours(relation=privacy["neighbours"], cap=privacy["cap"]),
        **{
            name: tuple(value) if isinstance(value, list) else value
            for name, value in parameters.items()
            if name in PARAMETERS
        },
    )
    return config
