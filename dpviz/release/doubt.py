"""Find doubtful clusters, and the errors of numbers and places, from released numbers only.

The document of a release contains its method, parameters and noisy numbers. These parts suffice to
run the same method on data without clusters. This module draws many data sets without clusters
(null sets), from fixed seeds. The module reads no record, and the same document always gives the
same answer. So it is post-processing and spends no budget. The page privacy.md of the documentation
says how null sets are made, when a cluster is beyond doubt, and why at most ``LEVEL`` of releases
give a false alarm. ``tests/benchmarks/nulls.py`` measures this share.
``tests/benchmarks/coverage.py`` measures how often the bands of :func:`accuracy` hold.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

from dpviz.base.arrays import Floats, Ints, Mask
from dpviz.base.lazy import optimize, spatial
from dpviz.data.dataset import Dataset
from dpviz.families import CARDS, FAMILIES, PARAMETERS
from dpviz.grid.domain import Domain
from dpviz.privacy.noise_source import SeededNoise
from dpviz.release.formatting import number
from dpviz.release.request import config_of
from dpviz.release.seeded import seeded_run
from dpviz.release.tables import block_sums, cells_of_blocks, counting_step

Document = Mapping[str, Any]
#: Among releases of data without clusters, at most this share has a cluster that passes as real.
LEVEL = 0.05

#: Up to ``GROUP`` records at one place (or the cap per person, if it is larger) are no cluster.
#: Groups in null sets are ``MORE`` times as large, because medians of few groups are inexact.
GROUP, MORE = 5, 1.6

#: Number of null sets of each kind, by the kind of result.
DRAWS = {"cells": 59, "centers": 90}

#: The share of a row is the median over about ``STRIPS`` strips. A strip is used if it has at least
#: ``LEAST`` times as many records as the mean strip.
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

#: Share of releases in which all bands of a release hold together.
SURE = 0.95

#: Number of data sets like the release. A cluster that is found in all of them is found with
#: probability ``SURE`` or more, with 95% confidence.
ALIKE = 59

#: Smallest size of a cluster that is tried, factor from one size to the next, and number of sizes.
_SMALLEST, _GROWTH, _SIZES = 5, 1.5, 10

#: Part of the permitted rate of wrong bands that is used for centres. A measured share of true
#: bands differs from the real share by chance; with this reserve, it is also above ``SURE``.
_RATE = 0.6

#: First words of the names of steps that choose the grid; null sets spend nothing on these steps.
_CHOICE = "choice of "


def doubt(document: Document, null_sets: int | None = None) -> dict[str, Any] | None:
    """Judge the clusters of a release; None if the method publishes no numbers of records.

    ``clusters``: numbers of the doubtful clusters, from 1. ``level``: among releases of data
    without clusters, at most this share has a cluster that passes as real. ``how``: the rule, and
    the meaning of "without clusters". ``null_sets``: largest number of null sets of each kind; the
    default number keeps ``LEVEL``. A smaller number is faster, but only shows that the judgement
    runs without an error.
    """
    result = document["result"]
    if result["counts"] is None:
        return None
    if result["kind"] == "areas":
        sure, said = _areas(document)
    else:
        judge, how = (_cells, _of_cells) if result["kind"] == "cells" else (_centers, _of_centers)
        sure, said = judge(document, null_sets), how(document)
    return {"clusters": (np.flatnonzero(~sure) + 1).tolist(), "level": LEVEL, "how": said}


def _areas(document: Document) -> tuple[Mask, str]:
    """Find clusters with a count that noise alone gives in at most ``LEVEL`` of releases."""
    result, scale = document["result"], document["privacy"]["ledger"][0]["scale"]
    number = len(result["counts"])
    # Discrete Laplace noise is at least t with probability q^t / (1 + q), where q = exp(-1/scale).
    q = math.exp(-1 / scale)
    least = max(math.ceil(-scale * math.log(LEVEL * (1 + q) / number)), 1)
    sure = np.zeros(result["clusters"] + 1, dtype=bool)
    sure[np.array(result["labels"])[np.array(result["counts"]) >= least]] = True
    return sure[1:], (
        f"A cluster is more than noise if one of its areas has a count of at least {least:,}. If "
        f"no area has records, at most {LEVEL:.0%} of releases have such a count. This does not "
        "show that records are uneven: areas have different counts even if people are everywhere."
    )


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
    return np.asarray(np.any(seen > most, axis=1))


def fitted(blocks: Floats, room: Floats, group: int) -> Floats:
    """Records of each block, without clusters: a level times the shares of its row, its column, ...

    ``blocks`` (b, ...) has noisy numbers of records. ``room`` has the same shape, and the number of
    cells of each block (0 for padding). Each place has ``group`` records.
    """
    shape = np.ones(())
    for axis in range(blocks.ndim):
        shape = np.multiply.outer(shape, _shares(np.moveaxis(blocks, axis, 0), room, axis, group))
    each = np.divide(blocks, shape, out=np.zeros(blocks.shape), where=shape > 0).ravel()
    order = np.argsort(each)
    middle = np.searchsorted(shape.ravel()[order].cumsum(), shape.sum() / 2)
    level = max(float(each[order[middle]]), 0.0)
    # The median of a Poisson number is at most log 2 below its mean.
    return np.asarray(shape * (level + group * np.log(2) / float((shape**2).sum())))


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
    return _blocks({**result, "counts": np.ones(np.shape(result["counts"]))})


def _beyond(document: Document) -> str:
    total = max(float(f"{np.sum(document['result']['counts']):.2g}"), 0.0)
    beyond = not 200 <= total <= 5_000
    return f" (this release has about {number(total)}, which was not measured)" * beyond


def _of_cells(document: Document) -> str:
    one = np.ndim(document["result"]["counts"]) == 1
    level = "everywhere" if one else "in each row and column of the grid"
    uneven = "are uneven only from row to row and from column to column"
    spread = "are spread evenly" if one else uneven
    # If the method chooses the cells, the cells follow the records, so records on few lines don't
    # look like a product of shares.
    card = CARDS[document["method"]["name"]]
    rounded = "values rounded to few steps, " * card.lays_own_cells
    return (
        f"From released numbers only, the same settings were run {DRAWS['cells']} times on data "
        f"without clusters, with about as many records {level} as here. A cluster is doubtful if "
        "neither it nor its fullest block stands out more than all clusters did in these runs. If "
        f"records {spread}, with at most {_group(document)} at one place, a false cluster passes "
        f"as real in at most {LEVEL:.0%} of releases. This was measured on tables with two columns "
        f"and 200 to 5,000 records{_beyond(document)}. More records at one place, {rounded}a "
        "coast, the edge of a city or a slanting street may pass as a cluster." + _moved(document)
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

    First: the mean squared distance of the centres from the middles of their areas, weighted by
    area. Here all sides of the domain (bounds (d, 2)) have length 1. Second: the share of the
    records that must move to make the records of each area proportional to its size.
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


# -- how exact it is -----------------------------------------------------------------------


def accuracy(document: Document, draws: int | None = None) -> dict[str, Any] | None:
    """Bands of numbers and places of the released clusters; None if no band is known.

    ``counts``: smallest and largest number of records of each cluster. ``places``: mean place of
    the cluster's records (``at``), and the largest error of this place in each column (``within``);
    None if the place is not known. ``missed``: number of records that a cluster in one block (with
    the sides ``block``) needs to be found; absent if this number is not known. ``level``: share of
    releases in which all bands of one kind hold together. ``how``: meaning of the bands. ``draws``:
    number of data sets like the release.
    """
    result = document["result"]
    if result["counts"] is None:
        return None
    if result["kind"] == "centers":
        return _accuracy_of_centers(document)
    if result["kind"] == "areas":
        return _accuracy_of_areas(document)
    # If the method chooses the cells, records inside a cell may be spread in any way.
    if CARDS[document["method"]["name"]].lays_own_cells:
        return None
    return _accuracy_of_cells(document, draws or ALIKE)


def _accuracy_of_areas(document: Document) -> dict[str, Any] | None:
    """Bands that hold for all sets of areas together, also for sets that noise has chosen."""
    result, step = document["result"], counting_step(document)
    if step is None:
        return None
    counts, labels = np.array(result["counts"]), np.array(result["labels"])
    # Laplace noise exceeds t scales with probability e^-t, and in some of m areas with at most m
    # e^-t. Rounding up makes this bound valid for discrete Laplace noise, too.
    error = math.ceil(float(step["scale"]) * math.log(len(counts) / (1 - SURE)))
    bands = []
    for cluster in range(1, result["clusters"] + 1):
        own = labels == cluster
        whole, wide = float(counts[own].sum()), error * int(own.sum())
        bands.append([max(math.floor(whole - wide), 0), max(math.ceil(whole + wide), 0)])
    how = (
        "The bands follow from the size of the noise of each area, so they hold for any areas "
        "that are joined to a cluster. A number is the number of records in the areas of its "
        "cluster."
    )
    return _stated(bands, [None] * len(bands), how)


def _stated(counts: list[Any], places: list[Any], how: str, **more: Any) -> dict[str, Any]:
    return {"level": SURE, "counts": counts, "places": places, **more, "how": how}


def _accuracy_of_cells(document: Document, draws: int) -> dict[str, Any]:
    result, number = document["result"], document["result"]["clusters"]
    counts = np.array(result["counts"], dtype=float)
    labels = cells_of_blocks(np.array(result["labels"]), result)
    like = _Like(document)
    bounds = np.array(document["domain"]["bounds"], dtype=float)
    low, sides = bounds[:, 0], (bounds[:, 1] - bounds[:, 0]) / counts.shape
    found = None
    for size in like.sizes:
        rows = []
        for made, spot, drawn in like.draws(draws, size):
            if spot is not None and not np.array(drawn["labels"])[spot]:
                break
            rows.append(_errors(labels, number, made, drawn))
        else:
            # Real data differ from made-up data, so the next larger size is published.
            found = math.ceil(size * _GROWTH) or None
            break
    wide = _wide(np.array(rows))
    at = _middles(labels, counts, number)
    whole = np.bincount(labels.ravel(), counts.ravel(), number + 1)[1:]
    doubts = set(document.get("doubtful", {}).get("clusters", ()))
    bands = [
        [
            0 if one in doubts else max(math.floor(value - error), 0),
            max(math.ceil(value + error), 0),
        ]
        for one, (value, error) in enumerate(zip(whole, wide[:, 0], strict=True), start=1)
    ]
    # The records of a cell may be anywhere in the cell, or in its block if blocks were counted. No
    # place is known if the cluster may have no record.
    blocks = cells_of_blocks(_blocks(result) / _room(result), result)
    half = result["block"] / 2 if np.allclose(blocks, counts, atol=1e-6) else 0.5
    places = [
        {"at": (low + sides * middle).tolist(), "within": (sides * (error + half)).tolist()}
        if band[0]
        else None
        for middle, error, band in zip(at, wide[:, 1:], bands, strict=True)
    ]
    how = (
        f"From released numbers only, the same settings were run {draws} times on made-up "
        "data like the released clusters. The bands are so wide that those of all clusters "
        f"held together in at least {SURE:.0%} of these runs. A number is the number of "
        "records in the area of its cluster; a place is the mean place of these records."
    )
    if not found:
        return _stated(bands, places, how)
    how += (
        f" A cluster of {math.floor(found / _GROWTH):,} records in one block, apart from "
        "others, was among the clusters in all these runs; real data differ from made-up "
        f"data, so {found:,} is stated."
    )
    missed = {"records": found, "block": (sides * result["block"]).tolist()}
    return _stated(bands, places, how, missed=missed)


class _Like:
    """Made-up data like a release: its clusters, and between them records spread by the fit."""

    def __init__(self, document: Document) -> None:
        result = document["result"]
        doubts = document.get("doubtful", {}).get("clusters", ())
        labels, room = np.array(result["labels"]), _room(result)
        sure = (labels > 0) & ~np.isin(labels, list(doubts))
        self._document, self._result = document, result
        # Beside a cluster are blocks that missed the threshold by chance.
        near = _grown(sure)
        self._counts = np.rint(np.array(result["counts"], dtype=float)).clip(0).astype(np.int64)
        self._near = cells_of_blocks(near.astype(int), result) > 0
        self._between = cells_of_blocks(fitted(_blocks(result), room, 1) / room, result)
        self._free = np.argwhere((room == room.max()) & ~_grown(near))

    @property
    def sizes(self) -> list[int]:
        """Numbers of records to try for one more cluster; the last number, 0, is for no cluster."""
        if not len(self._free):
            return [0]
        ndim, block = self._counts.ndim, self._result["block"]
        first = max((self._result["threshold"] or 0.0) * block ** (ndim / 2), _SMALLEST)
        return [*(math.ceil(first * _GROWTH**step) for step in range(_SIZES)), 0]

    def draws(
        self, number: int, size: int
    ) -> Iterator[tuple[Ints, tuple[int, ...] | None, Mapping[str, Any]]]:
        """Counts, the block with one more cluster of ``size`` records, and the result."""
        made: list[tuple[Ints, tuple[int, ...] | None]] = []

        def data(generator: np.random.Generator, domain: Domain) -> Dataset:
            counts = np.where(self._near, self._counts, generator.poisson(self._between))
            spot = None
            if size:
                spot = tuple(self._free[generator.integers(len(self._free))].tolist())
                block = self._result["block"]
                part = counts[tuple(slice(at * block, (at + 1) * block) for at in spot)]
                more = generator.multinomial(size, np.full(part.size, 1 / part.size))
                part += more.reshape(part.shape)
            made.append((counts, spot))
            return Dataset(name="like the release", counts=counts, domain=domain)

        for drawn in _nulls(self._document, data, number):
            yield (*made[-1], drawn)


def _grown(blocks: Mask) -> Mask:
    from scipy.ndimage import binary_dilation

    return np.asarray(binary_dilation(blocks, np.ones((3,) * blocks.ndim)))


def _errors(labels: Ints, number: int, made: Ints, drawn: Mapping[str, Any]) -> Floats:
    """Errors of numbers and places (in cells) in one draw, shape (2, clusters, 1 + d).

    The first part is for the areas of the released clusters. The second part is for the clusters of
    the draw that share most records with them; NaN if no cluster shares a record.
    """
    counts = np.array(drawn["counts"], dtype=float)
    again = cells_of_blocks(np.array(drawn["labels"]), drawn)
    many = int(drawn["clusters"])
    both = np.bincount(
        (labels * (many + 1) + again).ravel(), made.ravel(), (number + 1) * (many + 1)
    ).reshape(number + 1, many + 1)[1:]
    both[:, 0] = 0
    best = np.where(both.max(axis=1, initial=0) > 0, both.argmax(axis=1), -1)
    rows = []
    for areas, total in ((labels, number), (again, many)):
        whole = np.bincount(areas.ravel(), (counts - made).ravel(), total + 1)[1:]
        moved = _middles(areas, counts, total) - _middles(areas, made, total)
        rows.append(np.column_stack([whole, moved]))
    nothing = np.full((1, 1 + made.ndim), np.nan)
    rows[1] = np.concatenate([nothing, rows[1]])[np.maximum(best, 0)]
    return np.array(rows)


def _middles(areas: Ints, counts: Floats | Ints, number: int) -> Floats:
    """Mean place (in cells) of the records of each area (number, d); NaN if there is no record."""
    weights = np.asarray(counts, dtype=float).clip(0).ravel()
    whole = np.bincount(areas.ravel(), weights, number + 1)[1:]
    sums = [
        np.bincount(areas.ravel(), weights * (axis.ravel() + 0.5), number + 1)[1:]
        for axis in np.indices(areas.shape)
    ]
    return np.asarray(np.stack(sums, axis=1) / np.where(whole > 0, whole, np.nan)[:, None])


def _wide(errors: Floats) -> Floats:
    """Widths of bands, shape (clusters, 1 + d), from errors (draws, 2, clusters, 1 + d).

    All widths of one kind (numbers, or places) are the same multiple of the usual errors. This
    multiple is so large that all widths hold in one more draw with probability ``SURE``.
    """
    known, errors = np.isfinite(errors).sum(axis=(0, 1)), np.nan_to_num(errors)
    size = np.sqrt((errors**2).sum(axis=(0, 1)) / np.maximum(known, 1))
    by_size = np.abs(errors) / np.maximum(size, 1e-9)
    place = min(math.ceil(SURE * (len(errors) + 1)), len(errors)) - 1
    most = (part.max(axis=(1, 2, 3), initial=0.0) for part in (by_size[..., :1], by_size[..., 1:]))
    times = [float(np.sort(one)[place]) for one in most]
    return np.asarray(size * np.array([times[0], *[times[1]] * (errors.shape[-1] - 1)]))


def _accuracy_of_centers(document: Document) -> dict[str, Any] | None:
    result, card = document["result"], CARDS[document["method"]["name"]]
    step = counting_step(document)
    if step is None:
        return None
    scale, counts = float(step["scale"]), result["counts"]
    number, d = len(counts), len(document["domain"]["bounds"])
    # Laplace noise exceeds t scales with probability e^-t; this may happen for each cluster.
    rate = _RATE * (1 - SURE) / number
    error = scale * math.log(1 / rate)
    bands = [[max(math.floor(one - error), 0), max(math.ceil(one + error), 0)] for one in counts]
    # The mean is s/n, and the centre c is (s + e)/(n + f) with noise e, f. So the mean minus c is
    # (c f - e)/n, where |c| is at most 1, and n is at least its lower bound. This bound is
    # one-sided; it gets a fifth of the rate. Two noises together exceed t scales with probability
    # (1 + t/2) e^-t.
    least = scale * math.log(1 / (2 * rate / 5))
    times = optimize.brentq(lambda t: (1 + t / 2) * math.exp(-t) - 0.8 * rate / d, 0.0, 1e3)
    bounds = np.array(document["domain"]["bounds"], dtype=float)
    geometry = document["parameters"].get("geometry")
    # Length of one scaled unit in each column: a cube is 1 unit wide, a box is 2 units wide.
    units = (bounds[:, 1] - bounds[:, 0]) / (1 if geometry == "cube" else 2)
    # Records outside the ball were moved to its surface, and post-processing moves centres.
    known = geometry != "l1" and not card.post_processes
    places = [
        {"at": list(at), "within": (units * scale * times / (one - least)).tolist()}
        if known and one > least
        else None
        for at, one in zip(result["centers"], counts, strict=True)
    ]
    how = (
        "The bands follow from the size of the noise. A number counts the records "
        "that were nearest to the centre in the last step, before it moved to its place; the "
        "place is the mean of these records."
    )
    return _stated(bands, places, how)


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
    family = FAMILIES[document["method"]["family"]]
    domain = Domain(tuple((float(lo), float(hi)) for lo, hi in document["domain"]["bounds"]))
    ledger, unknown = document["privacy"]["ledger"], document["parameters"].keys() - PARAMETERS
    chosen = sum(spend["epsilon"] for spend in ledger if spend["step"].startswith(_CHOICE))
    epsilon = min((document["privacy"]["epsilon"] - chosen) * more, MOST_EPSILON)
    config = config_of(document, epsilon, unknown)
    for seed in range(draws):
        dataset = data(SeededNoise(seed).generator("null set"), domain)
        material = family.material(dataset, config, domain, "clip", secure=True)
        yield family.released(seeded_run(family, material, config, seed), domain)
