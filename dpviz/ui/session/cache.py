"""Cache between redraws: data sets, their grids and true runs.

``st.cache_data`` hashes only a sample of a large array, so it may return the same result for two
grids that differ in one record. So keys here are digests of all values. All sessions share the
public sample sets; an upload stays in its own session.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass, fields
from functools import cache
from typing import Any, TypeVar

import streamlit as st

from dpviz.base.lru import LRUCache
from dpviz.data.dataset import Dataset
from dpviz.data.samples import load_sample
from dpviz.experiments.curve import Curve, curve_key
from dpviz.experiments.sweep import Plan, Subject
from dpviz.families import family_of
from dpviz.family.trial import Configuration
from dpviz.figures.raster import Raster, RecordRaster
from dpviz.grid.domain import Domain, Outside
from dpviz.kmeans.records import Records
from dpviz.kmeans.sketch import Sketch
from dpviz.kmeans.truth import KMeansTruth
from dpviz.ui.session.job import PLACES
from dpviz.ui.session.state import latest
from dpviz.wavecluster.parameters import Config
from dpviz.wavecluster.pipeline import Source
from dpviz.wavecluster.truth import Truth, true_config

T = TypeVar("T")


@cache  # st.cache_resource takes longer, and a change of a slider looks here several times
def _shared(name: str, size: int) -> LRUCache:
    return LRUCache(size)


#: Shared cache of seeded runs on sample sets, in cells or records: largest size of all runs
#: together, largest size of one run, and the size that counts for every smaller run. All runs take
#: about 50 MB, which is enough for two pages with fifty values of epsilon.
_RUNS, _MOST, _LEAST = 2**21, 2**15, 2**12


def run_of(
    request: Hashable,
    draw: Callable[[], T],
    *,
    size: int,
    is_sample: bool,
    more: Callable[[T], int] = lambda _: 0,
) -> T:
    """Return a seeded run, which depends only on ``request``; sessions share runs on sample sets.

    ``size`` is the run's number of cells or records; large runs are not cached. ``more`` returns
    the size of parts whose number is known only after the run.
    """
    if not is_sample or size > _MOST:
        return draw()

    def weight(run: T) -> int:
        return max(size + more(run), _LEAST)

    return _shared("runs", _RUNS).get_once(request, draw, weight=weight, waiting=PLACES.given_on)


#: Largest number of parts of pages that are kept; the largest parts have 0.2 MB.
_PARTS = 256


def part_of(
    picture: Any, name: Hashable, draw: Callable[[], T], *, size: int, is_sample: bool
) -> T:
    """Return a part of a page that depends only on ``picture``; sessions share it as its run.

    The part must not be changed. It must not keep the picture, which belongs to a session.
    """
    if not (is_sample and size <= _MOST) or picture.ground.own:
        return draw()
    # ``again`` belongs to a session; its runs depend on the private run, and on whether a slider is
    # dragged, which ``name`` says.
    parts = (getattr(picture, one.name) for one in fields(picture) if one.name != "again")
    return _shared("parts", _PARTS).get((name, *parts), draw)


#: Largest numbers of curves: on sample sets, which sessions share; on the own data of a session.
_CURVES, _OWN_CURVES = 200, 20


def curve_of(plan: Plan, *, is_sample: bool) -> Curve:
    """Return the curve of a plan with all points so far; sessions share curves on sample sets."""
    kept = _shared("curves", _CURVES)
    if not is_sample:
        # A curve keeps its data in memory, so curves of other data are forgotten.
        digest = plan.subjects[0].dataset.digest
        kept = latest("curves", digest, lambda: LRUCache(_OWN_CURVES))
    return kept.get(curve_key(plan), lambda: Curve(plan))


@st.cache_resource(show_spinner=False)
def sample_data(name: str) -> Dataset:
    """Return a sample set; all sessions share one copy."""
    return load_sample(name)


def _recent(is_sample: bool) -> LRUCache:
    if is_sample:
        return _shared("recent", 24)
    recent: LRUCache = st.session_state.setdefault("recent", LRUCache(6))
    return recent


@dataclass(frozen=True, eq=False)
class Grid:
    """Counts and raster of a data set; if they are stored, the points are not read again."""

    source: Source
    raster: Raster


def grid_of(
    dataset: Dataset,
    grid: int | tuple[int, ...],
    domain: Domain | None,
    outside: Outside,
    *,
    is_sample: bool,
) -> Grid:
    """Return counts and raster of a data set; if they are cached, the points are not read."""

    def build() -> Grid:
        source = Source.build(dataset, grid, domain, outside)
        return Grid(source, Raster.of_source(source))

    return _recent(is_sample).get(("grid", dataset.digest, grid, domain, outside), build)


def records_of(
    dataset: Dataset, domain: Domain | None, outside: Outside, *, is_sample: bool
) -> Records:
    """Return the records of a data set under its domain."""
    key = ("records", dataset.digest, domain, outside)
    return _recent(is_sample).get(key, lambda: Records.build(dataset, domain, outside))


def raster_of(records: Records, axes: tuple[int, int], *, is_sample: bool) -> RecordRaster:
    """Return counts of the records on the lattice of screen pixels."""
    return _recent(is_sample).get(
        ("raster", records, axes),
        lambda: RecordRaster.of_records(records.points, records.domain, axes),
    )


def sketch_of(records: Records, *, few: bool, is_sample: bool) -> Sketch:
    """Return a sketch of records; ``few`` is for a run before any code is compiled."""
    key = ("sketch", records, few)
    return _recent(is_sample).get(key, lambda: Sketch.of(records, few=few))


def kmeans_truth_of(records: Records, clusters: int, *, is_sample: bool) -> KMeansTruth:
    """Return the noise-free clustering of records."""
    key = ("kmeans truth", records, clusters)
    return _recent(is_sample).get(key, lambda: KMeansTruth(records, clusters))


def true_scores_of(subject: Subject, config: Configuration, *, is_sample: bool) -> dict[str, float]:
    """Return the scores of the noise-free run that do not compare this run with another run."""
    family = family_of(config.method)
    dataset, outside = subject.dataset, subject.outside
    bounds = subject.bounds(config.variant)
    key = ("true scores", dataset.digest, bounds, outside, family.name)
    return _recent(is_sample).get(
        (*key, family.true_settings(config)),
        lambda: family.build(dataset, config, bounds, outside).true(),
    )


def truth_of(
    dataset: Dataset, config: Config, domain: Domain | None, outside: Outside, *, is_sample: bool
) -> tuple[Grid, Truth]:
    """Return a data set on the grid of a configuration, and its noise-free run there."""
    grid = grid_of(dataset, config.grid, domain, outside, is_sample=is_sample)
    config = true_config(config)
    # The key contains the grid itself, so no later grid can get the same identity.
    key = ("truth", grid, config)
    return grid, _recent(is_sample).get(key, lambda: Truth(grid.source, config))
