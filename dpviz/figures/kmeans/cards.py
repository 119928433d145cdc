"""Cards of the stages of a k-means run, in the order of the method."""

from __future__ import annotations

import re

import numpy as np
from numpy.typing import NDArray

from dpviz.base.numbers import counted
from dpviz.figures.kmeans.centres import places_of
from dpviz.figures.kmeans.picture import KMeansPicture
from dpviz.figures.stages import (
    MOST,
    StageCard,
    Thumbnail,
    Thumbnails,
    of_labels,
    of_values,
    with_marks,
)
from dpviz.kmeans.family import FAMILY
from dpviz.kmeans.run import KMeansRun

#: Share of a cluster's colour in its region.
_PALE = 0.45


def cards(picture: KMeansPicture) -> list[StageCard]:
    """Return a card for each stage of both runs."""
    run, true, made = picture.private, len(picture.truth.centers), len(picture.private.centers)
    last = len(picture.path) - 1
    records = counted(picture.truth.records.n, "record")
    return [
        StageCard(
            name="records",
            fact=records,
            said=f"{records}; {'a noisy grid' if run.grid else 'nothing'} of them is released",
            parameters=("cells",),
            thumbnails=_records(picture),
        ),
        _start(picture, last),
        _iterations(picture, last),
        StageCard(
            name="centres",
            fact=counted(made, "centre"),
            said=f"{counted(made, 'centre')}, {true:,} true",
            parameters=("clusters", "temperature"),
            thumbnails=_regions(picture, max(last, 0)),
        ),
    ]


def stage_of(picture: KMeansPicture) -> str:
    """Stage of the map of the regions at the shown step."""
    last = len(picture.path) - 1
    if last < 1 or picture.shown_step == last:
        return "centres"
    return "iterations" if picture.shown_step else "start"


def _start(picture: KMeansPicture, last: int) -> StageCard:
    own = ("clusters", "start")
    if last < 1:
        return _missing(picture, "start", own)
    given = picture.private.config.start
    how = FAMILY.by_name["start"].word(given) if given else "the method's own"
    return StageCard(
        name="start",
        fact=how,
        said=f"{counted(len(picture.path[0]), 'centre')} from {how}",
        parameters=own,
        thumbnails=_regions(picture, 0),
    )


def _iterations(picture: KMeansPicture, last: int) -> StageCard:
    own = ("iterations", "epsilon", "schedule")
    if last < 1:
        return _missing(picture, "iterations", own)
    number = len(picture.private.iterations)
    shown = picture.shown_step if 0 < picture.shown_step < last else None
    fact = f"{shown} of {number}" if shown else counted(number, "iteration")
    return StageCard(
        name="iterations",
        fact=fact,
        said=f"iteration {fact}" if shown else fact,
        parameters=own,
        thumbnails=_regions(picture, shown or 1),
    )


def _missing(picture: KMeansPicture, name: str, parameters: tuple[str, ...]) -> StageCard:
    run = picture.private
    method = FAMILY.methods[run.config.method].card
    steps = {spend.step for spend in run.ledger}
    from_grid = run.grid is not None or "rough cells" in steps
    # The same words as in the sentence on the method's decisions.
    residual = re.search(r"\w+ (last )?residual steps?(?=:)", run.decision)
    if not method.spends:
        fact, said = "the best of many", "many starts run to their end, and the best is shown"
    elif method.parameter("iterations"):
        fact, said = "many sets compete", "each generation has many sets of centres"
    elif name == "iterations" and residual:
        fact = residual[0].lower()
        said = f"{fact} after the start; the run keeps only the last centres"
    elif from_grid:
        fact, said = "made from the grid", "centres are made from a noisy grid"
    elif "root" in steps:
        fact, said = "from a noisy tree", "noisy means split level by level into the centres"
    elif residual:
        fact, said = "places without data", "the centres are far from each other and use no data"
    else:
        fact, said = "none: one shot", "the method makes its centres in one shot"
    return StageCard(
        name=name, fact=fact, said=said, parameters=parameters, missing=True, offer=True
    )


def _records(picture: KMeansPicture) -> Thumbnails:
    counts, grid = picture.raster.counts, picture.private.grid

    def draw(cells: NDArray[np.number]) -> Thumbnail:
        filled = cells[cells > 0]
        return of_values(cells, float(np.quantile(filled, 0.97)) if filled.size else 1.0, mode)

    mode = picture.mode
    step = counts.shape[0] // MOST
    true = draw(counts.reshape(MOST, step, MOST, step).sum(axis=(1, 3)))
    if grid is None or grid.ndim != 2:
        return true, None
    return true, draw(np.transpose(grid.weights.reshape(grid.shape), picture.raster.axes))


def _regions(picture: KMeansPicture, step: int) -> Thumbnails:
    return _map(picture, picture.left, step), _map(picture, picture.private, step)


def _map(picture: KMeansPicture, run: KMeansRun, step: int) -> Thumbnail:
    centers, mode = picture.centers_at(run, step), picture.mode
    labels = np.zeros((MOST, MOST), np.intp)
    if picture.truth.records.domain.ndim == 2:
        labels = picture.numbers_at(run, step)[picture.regions_of(centers, MOST)]
    drawn, domain = of_labels(labels, int(labels.max()), mode, _PALE), picture.shown_domain
    places = np.stack(places_of(picture, centers), axis=-1)
    share = (places - domain.lows) / (domain.highs - domain.lows)
    return with_marks(drawn, np.clip((MOST * share).astype(np.intp), 0, MOST - 1), mode)
