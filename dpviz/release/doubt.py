"""Clusters of a release that data without clusters could show, judged by released numbers only.

The document of a release has its method, parameters and noisy numbers. They tell what the same
method would publish of data without clusters. This module draws such null sets many times, from
fixed seeds: it reads no record, and the same document always gives the same answer. So it is
post-processing, and spends nothing.

In all null sets, records come in groups at one place, larger ones than are said to be no cluster:
``GROUP`` records, or as many as a person may have.

* **Cells**: the null set is fitted to the release. A block of it has a level, that of the middle
  record, times a share of its row and one of its column. So it also covers rounded values, a slope
  along an axis and records that were moved to the border. The shares are medians over strips of the
  grid: a cluster in less than half of the strips hardly changes them. By as much as their scatter
  is chance they are moved to their mean, or, where strips have few records, to the share of all
  strips together: medians hardly show few records. A cluster raises that share, so among few
  records it passes less often. A cluster is beyond doubt if it, or its fullest block, stands out
  from such a fit to the release by more than all clusters of all 59 null sets do, each from its own
  fit.
* **Centres**: one kind of null set has as many records as the release, evenly spread. In it centres
  are about in the middle of their areas, and have about the areas' shares of the records. The other
  kind has no record. A centre is beyond doubt if the centres are, in all, farther from that than in
  all of 90 even null sets, and if it has more records than all centres of 90 empty ones. Which of
  them has a cluster around it, centres and numbers alone don't tell. Without numbers of records,
  none is judged.

False alarms: if a null set is true, a release and its R null sets have one law, so the release has
the largest of R + 1 values with probability 1 / (R + 1): any cluster of cells passes for real with
probability at most 2 / 60 (two values are tried), that is 3.3%, which leaves room for a fit that is
not the truth. Null sets of centres are the same for
all releases with the same settings and about as many records: 90 of them keep the rate of a value
below 5% for 99% of settings (0.95^90 = 1%). All this takes the fit, the noisy number of records,
and parameters that the method chose, as they are. What that does is measured, not proved:
``tests/benchmarks/nulls.py`` counts how often data without clusters pass.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import cKDTree

from dpviz.data.dataset import Dataset
from dpviz.families import CARDS, FAMILIES, PARAMETERS
from dpviz.family.trial import Configuration
from dpviz.grid.domain import Domain
from dpviz.privacy.ledger import Neighbours
from dpviz.privacy.noise_source import SeededNoise
from dpviz.release.seeded import seeded_run
from dpviz.release.tables import block_sums, cells_of_blocks

Document = Mapping[str, Any]
Floats = NDArray[np.float64]

#: At most this share of releases of data without clusters has one that passes for real.
LEVEL = 0.05

#: Records at one place that are no cluster, where a person may not have more. Null sets have so
#: many times as many: medians of few groups are inexact.
GROUP, MORE = 5, 1.6

#: Null sets of each kind, by the kind of result.
DRAWS = {"cells": 59, "centers": 90}

#: Strips per axis over which a row's share is a median; a strip counts if it has this part of the
#: mean strip's records, or more.
STRIPS, LEAST = 8, 0.25

#: Groups of records for each row of a strip below which medians show few of them.
FEW = 4

#: Standard deviation of normal values over their median distance from the median; variance of a
#: median of normal values over that of their mean.
WIDE, MEDIAN = 1.4826, 1.57

#: Evenly spread places by which centres and their areas are compared.
PLACES = 4096

#: Records of an even null set at most. With more of them in the release, epsilon is raised instead:
#: noise is as small against the records.
MOST_RECORDS, MOST_EPSILON = 20_000, 1e6

#: Steps whose share of the budget a run on a given grid would spend on other steps.
_CHOICE = "choice of "


def doubt(document: Document, null_sets: int | None = None) -> dict[str, Any] | None:
    """Judge the clusters of a release.

    Parameters
    ----------
    null_sets
        How many of each kind are drawn at most; by default as many as keep ``LEVEL``. Fewer are
        quicker, to test whether it works at all.

    Returns
    -------
    dict or None
        ``clusters``: numbers of the doubtful ones, from 1; ``level``: at most this share of
        releases of data without clusters has one that passes for real; ``how``: the rule, and what
        "without clusters" means. None where the method publishes no number of records to judge by.
    """
    result = document["result"]
    if result["counts"] is None:
        return None
    judge, how = (_cells, _of_cells) if result["kind"] == "cells" else (_centers, _of_centers)
    sure = judge(document, null_sets)
    return {
        "clusters": (np.flatnonzero(~sure) + 1).tolist(),
        "level": LEVEL,
        "how": how(document),
    }


# -- cells ---------------------------------------------------------------------------------


def _cells(document: Document, null_sets: int | None) -> NDArray[np.bool_]:
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
    found: NDArray[np.bool_] = np.any(seen > most, axis=1)
    return found


def fitted(blocks: Floats, room: Floats, group: int) -> Floats:
    """Records of each block without clusters: a level times shares of its row, its column, ...

    Parameters
    ----------
    blocks
        Noisy numbers of records, shape (b, ...).
    room
        Cells of each block, of the same shape: padding has none.
    group
        Records at one place.
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
    """Share of each row of an axis in the records, over strips across the rows."""
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
    """How far each cluster, and its fullest block, stands out from a fit, shape (clusters, 2)."""
    blocks, labels = _blocks(result), np.array(result["labels"]).ravel()
    fit = fitted(blocks, _room(result), group)
    more, variance = (blocks - fit).ravel(), (group * fit + chance).ravel() + 1
    number = result["clusters"] + 1
    whole = np.bincount(labels, more, number) / np.sqrt(np.bincount(labels, variance, number) + 1)
    fullest = np.full(number, -np.inf)
    np.maximum.at(fullest, labels, more / np.sqrt(variance))
    return np.column_stack([whole, fullest])[1:]


def _blocks(result: Mapping[str, Any]) -> Floats:
    """Noisy number of records of each block of cells, in the shape of the labels."""
    counts = np.array(result["counts"], dtype=float)
    return block_sums(counts, [result["block"]] * counts.ndim)


def _room(result: Mapping[str, Any]) -> Floats:
    """Number of cells of each block; the last ones may have fewer."""
    return _blocks({**result, "counts": np.ones(np.shape(result["counts"]))})


def _of_cells(document: Document) -> str:
    one = np.ndim(document["result"]["counts"]) == 1
    level = "everywhere" if one else "in each row and column of the grid"
    spread = "are spread evenly" if one else "differ in number by row and column alone"
    # Its own cells follow the records: those on few lines don't show as a product of shares.
    card = CARDS[document["method"]["name"]]
    rounded = "values rounded to few steps, " * card.lays_own_cells
    return (
        f"From released numbers alone, the same settings were run {DRAWS['cells']} times on data "
        f"without clusters, with about as many records {level} as here: a cluster is doubtful if "
        "neither it nor its fullest block stands out more than all clusters did there. Where "
        f"records {spread}, with at most {_group(document)} at one place, a cluster passes for "
        f"real in at most {LEVEL:.0%} of releases, as measured with two columns and 200 to 5,000 "
        f"records. More records at one place, {rounded}a coast, the edge of a city or a slanting "
        "street may pass for a cluster." + _moved(document)
    )


# -- centres -------------------------------------------------------------------------------


def _centers(document: Document, null_sets: int | None) -> NDArray[np.bool_]:
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
        # A method that stopped before its first iteration has no numbers.
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
    """How unlike those of evenly spread records centres are, in two values, shape (2,).

    Parameters
    ----------
    result
        Centres and numbers of records.
    bounds
        Of the domain, shape (d, 2).

    Returns
    -------
    numpy.ndarray
        Mean squared distance of the centres from the middles of their areas, where all sides of
        the domain have length 1, weighted by area; and the part of the records that would have to
        be elsewhere for each area to have its share of them.
    """
    if result["counts"] is None:
        return np.zeros(2)
    counts = np.array(result["counts"], dtype=float).clip(0)
    low, high = bounds.T
    centers = (np.array(result["centers"], dtype=float) - low) / (high - low)
    places = SeededNoise(0).generator("places").random((PLACES, len(low)))
    owner = cKDTree(centers).query(places)[1]
    areas = np.bincount(owner, minlength=len(centers))
    sums = np.stack([np.bincount(owner, one, len(centers)) for one in places.T], axis=1)
    middles = sums / np.maximum(areas, 1)[:, None]
    far = (areas * ((middles - centers) ** 2).sum(axis=1)).sum() / PLACES
    shares = counts / max(float(counts.sum()), 1e-9)
    return np.array([far, np.abs(shares - areas / PLACES).sum() / 2])


def _rounded(records: float) -> int:
    """Number of records in steps of about 9%: the noisy one is no more exact than that."""
    return round(2 ** (round(8 * np.log2(records)) / 8)) if records >= 1 else 0


def _of_centers(document: Document) -> str:
    return (
        f"From released numbers alone, the same settings were run {DRAWS['centers']} times on no "
        "record, and as often on about as many evenly spread records: a centre is doubtful if one "
        "got as many records from none; and all are, if their places and numbers are no more "
        "uneven than those of evenly spread records. Where records are spread evenly, with at most "
        f"{_group(document)} at one place, or there is none, a centre passes for real in at most "
        f"{LEVEL:.0%} of releases. A slope, a coast or an empty part of the domain may pass for "
        "clusters. Which centres have a cluster around them, this can't tell." + _moved(document)
    )


# -- both ----------------------------------------------------------------------------------


def _group(document: Document) -> int:
    """Records at one place that are no cluster."""
    return max(GROUP, int(document["privacy"]["cap"]))


def _drawn(document: Document) -> int:
    """Records at one place in the null sets."""
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
    """Results of so many null sets, with so many times the release's epsilon."""
    family = FAMILIES[document["method"]["family"]]
    domain = Domain(tuple((float(lo), float(hi)) for lo, hi in document["domain"]["bounds"]))
    config = _config(document)
    config = replace(config, epsilon=min(config.epsilon * more, MOST_EPSILON))
    for seed in range(draws):
        dataset = data(SeededNoise(seed).generator("null set"), domain)
        material = family.material(dataset, config, domain, "clip", secure=True)
        yield family.released(seeded_run(family, material, config, seed), domain)


def _config(document: Document) -> Configuration:
    """Configuration of the run, from the public choices in the document."""
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
