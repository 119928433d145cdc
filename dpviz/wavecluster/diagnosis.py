"""Follows a true cluster through the steps of a private run, to find why it is not kept.

:mod:`dpviz.wavecluster.fates` defines the fates. The stage of a cluster C is the first stage in
this list that applies. ``grid``: C has one or two cells and was not joined; or C is broken, shrunk
or lost, and a grid twice as fine, without noise, has several clusters with at least a quarter of
C's records each. ``components``: one cell in or beside C decides. If only this cell is private, C
is not kept; if only this cell is true, C is kept (``cell_stage`` moved the cell). ``counts``: with
the true threshold, C is not kept, even if each cell has only the noise of its own counts.
``subband``: C is not kept with noise of other cells, too, which Haar does not have. ``threshold``:
C is kept with all noise and the true threshold.

Thresholding and components also run with exchanged parts, see ``RUNS``. All this reads the true
data: it is for exploration, never for a release.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Literal

import numpy as np

from dpviz.base.arrays import Floats, Ints, Labels, Mask
from dpviz.base.cached import cached_property
from dpviz.base.lazy import ndimage
from dpviz.base.numbers import counted, readable, series
from dpviz.grid.counts import pad
from dpviz.privacy.noise_source import SeededNoise
from dpviz.wavecluster.components import connected_components, unblocked
from dpviz.wavecluster.fates import Fate, fates
from dpviz.wavecluster.parameters import Config
from dpviz.wavecluster.pipeline import Stages
from dpviz.wavecluster.threshold import significant_cells
from dpviz.wavecluster.truth import Truth, run
from dpviz.wavecluster.wavelet import average_subband

Stage = Literal["grid", "counts", "subband", "threshold", "components"]
RunName = Literal["private", "true_threshold", "true_cells", "twice_budget"]

#: The private run, and runs with one part exchanged.
RUNS: dict[RunName, str] = {
    "private": "the private run",
    "true_threshold": "the true threshold with the same noisy cells",
    "true_cells": "the noisy threshold with the true cells",
    "twice_budget": "twice the budget",
}

#: Number of draws in which kept clusters are counted.
DRAWS = 20

#: In clusters with at most this number of cells, one cell decides the fate.
FEW_CELLS = 2

#: Maximum number of clusters that a sentence names.
MOST_NAMED = 4

#: A cluster of the finer grid is a part of cluster C if it has at least this share of C's records.
PART = 0.25


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """The outcome for one true cluster in another result, in cells.

    ``match`` is the label of the cluster with most of its cells among clusters that are not
    invented, or 0. ``left`` of its cells are in ``pieces`` such clusters. ``joined`` true clusters
    have at least half as many cells in the match; ``swallowed`` have more than half of their own
    cells.
    """

    fate: Fate
    match: int = 0
    match_cells: int = 0
    overlap: float = 0.0
    left: int = 0
    pieces: int = 0
    joined: tuple[int, ...] = ()
    swallowed: tuple[int, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Diagnosis:
    """The outcome for a true cluster, the stage that caused it, and runs that would have kept it.

    ``at_stage`` is the outcome if stages up to this stage are private and later stages are true.
    ``finer_parts`` is the number of clusters on a grid twice as fine, or None. The ``cell`` bridges
    or cuts, and was moved at ``cell_stage``. At this stage, ``missed`` cells of the cluster are not
    significant, and ``invented`` cells beside it are significant. ``separation``: mean coefficient
    minus mean of the cells beside it; ``noise``: root mean square on all these cells.
    """

    cluster: int
    cells: int
    outcome: Outcome
    stage: Stage | None
    at_stage: Outcome
    runs: dict[RunName, Outcome]
    finer_parts: int | None
    cell: tuple[int, ...] | None
    cell_stage: Stage | None
    missed: int
    invented: int
    threshold: float
    private_threshold: float
    separation: float
    noise: float


@dataclass(frozen=True, kw_only=True, eq=False)
class RetainedDraws:
    """For each of ``RUNS``, number of draws that keep each true cluster, shape (n_clusters,)."""

    draws: int
    counts: dict[RunName, Ints]

    def of(self, name: RunName, cluster: int) -> int:
        """Number of draws in which a run keeps the cluster with this label."""
        return int(self.counts[name][cluster - 1])


@dataclass(frozen=True, kw_only=True, eq=False)
class Diagnostics:
    """A private run, the true run, and runs in which one part is exchanged, on the same grid.

    ``doubled`` is the draw with twice the budget. ``finer`` is the true run on a grid twice as
    fine, or None if only counts are known.
    """

    truth: Truth
    private: Stages
    doubled: Stages
    finer: Truth | None = None

    @property
    def true(self) -> Stages:
        """Stages of the true run."""
        return self.truth.stages

    @cached_property
    def labels(self) -> dict[RunName, Labels]:
        """Labels grid of each run in ``RUNS``."""
        true, private, doubled = self.true, self.private, self.doubled
        parts: dict[RunName, tuple[Stages, Stages]] = {
            "private": (private, private),
            "true_threshold": (private, true),
            "true_cells": (true, private),
            "twice_budget": (doubled, doubled),
        }
        # A run without exchanged parts keeps its labels, which may not follow from its threshold.
        return {
            name: cells.labels
            if cells is other
            else connected_components(significant_cells(cells.average, other.threshold.value))[0]
            for name, (cells, other) in parts.items()
        }

    @cached_property
    def retained(self) -> Mask:
        """Whether the private run keeps each true cluster, shape (n_clusters,)."""
        return retained(self.true.labels, self.private.labels)

    def diagnose(self, cluster: int) -> Diagnosis:
        """Diagnose the true cluster with this label, from 1."""
        runs = {
            name: outcome(self.true.labels, grid, cluster) for name, grid in self.labels.items()
        }
        inside = self.true.labels == cluster
        # Cells that touch the cluster at edges or corners.
        around = ndimage.binary_dilation(inside, np.ones((3,) * inside.ndim)) & ~inside
        near = inside | around
        error = (self.private.average - self.true.average)[near]
        beside = self.true.average[around]
        parts = self._finer_parts(inside)
        stage, cell = self._stage(cluster, runs["private"], parts, near)
        significant = self.private.significant
        cells = self._replaced.get(stage, significant) if stage else significant
        return Diagnosis(
            cluster=cluster,
            cells=int(inside.sum()),
            outcome=runs["private"],
            stage=stage,
            at_stage=self._outcome(cells, cluster),
            runs=runs,
            finer_parts=parts,
            cell=cell,
            cell_stage=self._moved_by(cell) if cell else None,
            missed=int((inside & ~cells).sum()),
            invented=int((around & cells).sum()),
            threshold=self.true.threshold.value,
            private_threshold=self.private.threshold.value,
            separation=float(
                self.true.average[inside].mean() - (beside.mean() if beside.size else 0.0)
            ),
            noise=float(np.sqrt(np.mean(error**2))),
        )

    def first_stage(self, cluster: int) -> Stage | None:
        """First stage at which a true cluster differs, as in :meth:`diagnose`; None if kept."""
        inside = self.true.labels == cluster
        near = ndimage.binary_dilation(inside, np.ones((3,) * inside.ndim))
        found = outcome(self.true.labels, self.private.labels, cluster)
        return self._stage(cluster, found, self._finer_parts(inside), near)[0]

    def _stage(
        self, cluster: int, found: Outcome, parts: int | None, near: Mask
    ) -> tuple[Stage | None, tuple[int, ...] | None]:
        if found.fate == "kept":
            return None, None
        came_apart = found.fate in ("broken", "shrunk", "lost")
        few = self.true.cluster_sizes[cluster - 1] <= FEW_CELLS and found.fate != "joined"
        if few or (came_apart and parts is not None and parts > 1):
            return "grid", None
        cell = self._deciding_cell(cluster, near)
        if cell is not None:
            return "components", cell
        for stage, cells in self._replaced.items():
            if self._outcome(cells, cluster).fate != "kept":
                return stage, None
        return "threshold", None

    def _outcome(self, cells: Mask, cluster: int) -> Outcome:
        return outcome(self.true.labels, connected_components(cells)[0], cluster)

    @cached_property
    def _replaced(self) -> dict[Stage, Mask]:
        d = self.true.threshold.value
        return {
            "counts": significant_cells(self._own_noise, d),
            "subband": significant_cells(self.private.average, d),
        }

    @cached_property
    def _own_noise(self) -> Floats:
        """True subband plus, in each cell, only the noise of its own block of counts."""
        step = 2**self.true.level
        noise = pad(self.private.counts - self.true.counts, self.true.level)
        weights = [_own_weights(self.true.wavelet, self.true.level, side) for side in noise.shape]
        band = self.true.average.copy()
        for phase in product(range(step), repeat=noise.ndim):
            weight = np.prod([row[at] for row, at in zip(weights, phase, strict=True)])
            band += weight * noise[tuple(slice(at, None, step) for at in phase)]
        # Round as the transform does, so that equal coefficients stay equal.
        return np.asarray(np.round(band, 9))

    def _moved_by(self, cell: tuple[int, ...]) -> Stage:
        private = self.private.significant[cell]
        found = (stage for stage, cells in self._replaced.items() if cells[cell] == private)
        return next(found, "threshold")

    def _deciding_cell(self, cluster: int, near: Mask) -> tuple[int, ...] | None:
        """Return the cell with the largest effect of all cells that bridge or cut."""
        true, private = self.true.significant, self.private.significant
        best, cell = 0.0, None
        for place in np.argwhere((private != true) & near):
            at = tuple(int(axis) for axis in place)
            if not _links(true, at) or self._outcome(_flipped(true, at), cluster).fate == "kept":
                continue
            found = self._outcome(_flipped(private, at), cluster)
            if found.fate == "kept" and found.overlap > best:
                best, cell = found.overlap, at
        return cell

    def _finer_parts(self, inside: Mask) -> int | None:
        if self.finer is None:
            return None
        records = self.finer.records * unblocked(inside, self.finer.stages.labels.shape)
        held = np.bincount(self.finer.stages.labels.ravel(), weights=records.ravel())[1:]
        return int(np.count_nonzero(held >= PART * records.sum())) if records.any() else 0


def diagnostics_of(
    truth: Truth, private: Stages, config: Config, seed: int, finer: Truth | None = None
) -> Diagnostics:
    """Combine the private run of a seed with all runs with which it is compared."""
    twice = replace(config, epsilon=2 * config.epsilon)
    doubled = run(truth.source, twice, SeededNoise(seed)).stages
    return Diagnostics(truth=truth, private=private, doubled=doubled, finer=finer)


def count_retained(truth: Truth, config: Config, seeds: Sequence[int]) -> RetainedDraws:
    """Count the draws that keep each true cluster, for each of ``RUNS``."""
    true = truth.stages
    counts = {name: np.zeros(true.n_clusters, dtype=np.int64) for name in RUNS}
    for seed in seeds:
        private = run(truth.source, config, SeededNoise(seed)).stages
        for name, labels in diagnostics_of(truth, private, config, seed).labels.items():
            counts[name] += retained(true.labels, labels)
    return RetainedDraws(draws=len(seeds), counts=counts)


def outcome(true: Labels, other: Labels, cluster: int) -> Outcome:
    """Outcome for one true cluster in another labels grid of the same shape."""
    found, inside = fates(true, other), true == cluster
    match = int(found.match[cluster - 1])
    if not match:
        return Outcome(fate="lost")
    held = np.bincount(other[inside], minlength=int(found.invented.max(initial=0)) + 1)
    held[[0, *found.invented]] = 0
    shared, matched = held[match], other == match
    rivals = np.bincount(true[matched], minlength=cluster + 1)
    rivals[[0, cluster]] = 0
    whole = np.bincount(true.ravel(), minlength=rivals.size)[: rivals.size]
    fate: Fate = found.of[cluster - 1].item()
    return Outcome(
        fate=fate,
        match=match,
        match_cells=int(matched.sum()),
        overlap=float(shared / (inside | matched).sum()),
        left=int(held.sum()),
        pieces=int(np.count_nonzero(held)),
        joined=tuple((np.flatnonzero(found.beside[cluster - 1]) + 1).tolist()),
        swallowed=tuple(np.flatnonzero(2 * rivals > whole).tolist()),
    )


def retained(true: Labels, other: Labels) -> Mask:
    """Whether another labels grid keeps each true cluster, shape (n_clusters,)."""
    return np.asarray(fates(true, other).of == "kept")


def in_words(diagnosis: Diagnosis, draws: RetainedDraws | None = None) -> str:
    """Explain the outcome for a cluster, its cause in numbers, and how often it is kept."""
    text = in_short(diagnosis) + _numbers_of(diagnosis)
    if draws:
        kept = draws.of("private", diagnosis.cluster)
        text += f" In {kept} of {draws.draws} draws it is kept."
    return text


def in_short(diagnosis: Diagnosis) -> str:
    """Explain the outcome for a cluster and its cause in a few short sentences."""
    if diagnosis.outcome.fate == "kept":
        return _cause(diagnosis) + _on_finer_grid(diagnosis.finer_parts)
    kept = diagnosis.runs["twice_budget"].fate == "kept"
    end = "With twice the budget it is kept." if kept else "Twice the budget does not keep it."
    return f"{_cause(diagnosis)} {end}"


def _numbers(labels: Sequence[int]) -> str:
    named = [str(label) for label in labels[:MOST_NAMED]]
    if len(labels) > MOST_NAMED:
        named.append(f"{len(labels) - MOST_NAMED} more")
    return f"cluster{'s' * (len(labels) > 1)} {series(named)}"


def _happened(found: Outcome, cells: int) -> str:
    if found.fate == "joined":
        return f"was joined with {_numbers(found.joined)}"
    swallowed = f" and swallowed {_numbers(found.swallowed)}" if found.swallowed else ""
    return {
        "grown": f"grew from {cells} to {found.match_cells} cells{swallowed}",
        "broken": f"fell into {found.pieces} pieces",
        "shrunk": f"shrank to {found.left} of {cells} cells",
        "lost": "vanished",
    }[found.fate]


def _cause(diagnosis: Diagnosis) -> str:
    found, cells = diagnosis.outcome, counted(diagnosis.cells, "cell")
    said = f"Cluster {diagnosis.cluster}"
    if found.fate == "kept":
        left = f"{found.left} of its {cells} {_are(found.left)} left"
        return f"{said} is kept: {left}, overlap {found.overlap:.2f}."
    said += f" {_happened(found, diagnosis.cells)}."
    if diagnosis.stage == "grid":
        if diagnosis.cells > FEW_CELLS:
            return f"{said} The grid is too coarse.{_on_finer_grid(diagnosis.finer_parts)}"
        return f"{said} It is so small ({cells}) that one cell decides."
    if diagnosis.stage == "components":
        return f"{said} One cell is the cause: {_MOVED[diagnosis.cell_stage]}."
    if diagnosis.stage == "threshold":
        d, private = _number(diagnosis.threshold), _number(diagnosis.private_threshold)
        return f"{said} The threshold is the cause: it is {private} with noise, {d} without."
    said += f" {_NOISE[diagnosis.stage]} is the cause."
    if diagnosis.at_stage.fate != found.fate:
        # The private threshold changed the picture once more.
        said += f" With the true threshold it {_happened(diagnosis.at_stage, diagnosis.cells)}."
    lost = f"{diagnosis.missed} of its {cells} {_are(diagnosis.missed)} lost"
    added = f"{diagnosis.invented} beside it {_are(diagnosis.invented)} added"
    return f"{said} Even with the true threshold, {lost}, and {added}."


def _numbers_of(diagnosis: Diagnosis) -> str:
    if diagnosis.stage not in _NOISE:
        return ""
    # The screen also shows the scale of the noise of a count.
    return (
        f" Noise moves the coefficients there by about {_number(diagnosis.noise)} (root mean "
        "square; the scale of a count's noise is another number). The cluster's coefficients are "
        f"{_number(diagnosis.separation)} above those beside it."
    )


def _are(number: int) -> str:
    return "is" if number == 1 else "are"


_NOISE: dict[Stage | None, str] = {
    "counts": "The noise in the counts",
    "subband": "Noise from other cells, which the wavelet spread,",
}

_MOVED: dict[Stage | None, str] = {
    "counts": "the noise in its counts moved it across the threshold",
    "subband": "noise from other cells, which the wavelet spread, moved it across the threshold",
    "threshold": "the private threshold decided differently",
}


def _on_finer_grid(parts: int | None) -> str:
    several = parts is not None and parts > 1
    return f" On a grid twice as fine, without noise, it is {parts} clusters." * several


def _number(value: float) -> str:
    return f"{value:,.0f}" if 100 <= abs(value) < 1e7 else readable(value)


def _own_weights(wavelet: str, level: int, side: int) -> Floats:
    """Weights of the counts of a block in the block's coefficient on one axis, (2**level,)."""
    step = 2**level
    middle = side // step // 2
    # The subband is rounded, so large counts are used, for which rounding has no effect.
    counts = 2.0**30 * np.eye(side)[middle * step : (middle + 1) * step]
    return np.array([average_subband(row, wavelet, level)[middle] for row in counts]) / 2.0**30


def _flipped(mask: Mask, cell: tuple[int, ...]) -> Mask:
    flipped = mask.copy()
    flipped[cell] = not flipped[cell]
    return flipped


def _links(significant: Mask, cell: tuple[int, ...]) -> bool:
    window = tuple(slice(max(at - 1, 0), at + 2) for at in cell)
    block = significant[window].copy()
    block[tuple(min(at, 1) for at in cell)] = False
    return connected_components(block)[1] > 1
