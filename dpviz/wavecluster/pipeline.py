"""The five steps of WaveCluster, for true and private runs: a technique replaces or adds a step.

Points -> counts -> average subband -> significant cells -> clusters -> labels.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from dpviz.base.arrays import Floats, Indices, Ints, Labels, Mask
from dpviz.base.cached import cached_property
from dpviz.base.lru import LRUCache
from dpviz.data.dataset import Dataset
from dpviz.grid.areas import Areas
from dpviz.grid.counts import WeightedPoints, cell_centres, laid_out, quantize, weighted_cells
from dpviz.grid.domain import Domain, Outside, check_outside, flat_cells, grid_shape
from dpviz.privacy.ledger import Ledger
from dpviz.wavecluster.components import connected_components, label_points
from dpviz.wavecluster.evidence import Evidence
from dpviz.wavecluster.parameters import Config
from dpviz.wavecluster.threshold import Threshold, density_threshold, significant_cells
from dpviz.wavecluster.wavelet import average_subband, check_level, detail_subbands, sums_blocks

#: Approximate number of cells of the public lattice to which each record is rounded for synopses,
#: so that a change of the budget needs no pass. It refines the grid, whose counts stay exact.
LATTICE_CELLS = 2**20

#: Number of other grids of a source that stay in memory.
_MOST_GRIDS = 16


@dataclass(frozen=True, kw_only=True, eq=False)
class Crossed:
    """Number of records of each pair of label and flat cell that has records; arrays (m,)."""

    label: Indices
    cell: Indices
    records: Indices


@dataclass(frozen=True, kw_only=True, eq=False)
class Source:
    """A data set with one domain and grid, in the form that the methods read; not private.

    True counts M (g, ...); later changes of sliders need no new pass. ``gather`` returns the points
    that take part, for methods that need more than counts; ``locate`` returns only positions. With
    ``areas``, counts (m,) are those of areas. ``classes`` (n,) are for scores. ``fixed`` data were
    given as counts. ``recount`` counts stored records on another grid (None in memory); a pass left
    out ``dropped`` rows. If ``hurried``, a method that samples may take fewer steps on a large
    grid, for a picture while a slider moves.
    """

    counts: Ints
    domain: Domain
    n_outside: int = 0
    gather: Callable[[], Floats]
    locate: Callable[[], WeightedPoints] | None = None
    areas: Areas | None = None
    classes: Indices | None = None
    fixed: bool = False
    recount: Callable[[tuple[int, ...]], Ints] | None = None
    dropped: int = 0
    hurried: bool = False

    @classmethod
    def build(
        cls,
        dataset: Dataset,
        grid: int | tuple[int, ...],
        domain: Domain | None = None,
        outside: Outside = "clip",
        *,
        empty: bool = False,
    ) -> Source:
        """Count a data set on a grid. Data given as counts have their own grid and box.

        Default domain: the declared domain, or the range of the points (not private). ``empty``
        allows a domain without points: a release must not reveal that. Raises InputError if grid,
        domain and data are not compatible.
        """
        check_outside(outside)
        if dataset.counts is not None:
            counts, box = dataset.counts, dataset.bounds(domain)
            grid_shape(counts.shape, counts.ndim)
            return cls(
                counts=counts,
                domain=box,
                gather=lambda: laid_out(counts, box),
                locate=lambda: weighted_cells(counts, box),
                fixed=True,
            )
        points = dataset.points
        assert points is not None  # noqa: S101 - a Dataset has counts or points
        if (areas := dataset.areas) is not None:
            counts = areas.count(points)
            return cls(counts=counts, domain=areas.domain, areas=areas, gather=lambda: points)
        domain = dataset.bounds(domain)
        counts, n_outside = quantize(points, domain, grid, outside=outside)
        if not empty:
            dataset.check_some_inside(domain, n_outside)

        def gather() -> Floats:
            if not n_outside:
                return points
            if outside == "drop":
                return points[domain.contains(points)]
            return np.clip(points, domain.lows, domain.highs)

        classes = None if empty or dataset.classes is None else dataset.classes.codes
        if classes is not None and n_outside and outside == "drop":
            classes = classes[domain.contains(points)]
        return cls(
            counts=counts, domain=domain, n_outside=n_outside, gather=gather, classes=classes
        )

    @property
    def shape(self) -> tuple[int, ...]:
        """Cells per axis."""
        return self.counts.shape

    @property
    def holds_out(self) -> bool:
        """Whether some records can be left out of a run and used to score its result."""
        return self.n > 1 and self.recount is None

    def notices(self, level: int) -> list[str]:
        """Notes for users on unexpected properties of this grid."""
        said = []
        step = 2**level
        padded = [str(side + -side % step) for side in self.shape if side % step]
        if padded:
            said.append(
                f"Sides that are not multiples of {step} are padded with empty cells at their "
                f"end, to {' and '.join(padded)} cells."
            )
        if self.n < self.counts.size:
            said.append(
                f"There are fewer records ({self.n:,}) than cells ({self.counts.size:,}). With few "
                "records per cell, noise hides more; a coarser grid helps."
            )
        if self.n_outside:
            said.append(f"{self.n_outside:,} points lie outside the domain.")
        return said

    def refined(self, most: int) -> Ints:
        """Count the records on the finest refinement of the grid, at most ``most`` cells a side."""
        factor = max(1, most // max(self.shape))
        if factor == 1:
            return self.counts
        return quantize(self.points, self.domain, tuple(side * factor for side in self.shape))[0]

    @cached_property
    def n(self) -> int:
        """Number of records that take part."""
        return int(self.counts.sum())

    @cached_property
    def points(self) -> Floats:
        """Points that take part, inside the domain, shape (n, d)."""
        return self.gather()

    def turned(self) -> Source:
        """Return the same records with the two columns exchanged."""
        return replace(
            self,
            counts=np.ascontiguousarray(self.counts.T),
            domain=self.domain.select((1, 0)),
            gather=lambda: np.ascontiguousarray(self.points[:, ::-1]),
            locate=None,
        )

    def crossed(self, labels: NDArray[np.int32 | np.intp]) -> Crossed:
        """Count the records of each label (n,), from 0, in each cell; one pass over the points."""
        total = self.counts.size
        cells = flat_cells(self.points, self.domain, self.shape)
        pairs, records = np.unique(labels.astype(np.intp) * total + cells, return_counts=True)
        return Crossed(label=pairs // total, cell=pairs % total, records=records)

    @cached_property
    def crossed_classes(self) -> Crossed:
        """Records of each known class in each cell, for all draws, levels and densities."""
        assert self.classes is not None  # noqa: S101 - only used with known classes
        return self.crossed(self.classes)

    def label(self, points: Floats, stages: Stages, outside: Outside = "clip") -> Labels:
        """Cluster of every point from 0, or -1 for noise, shape (n,)."""
        return label_points(points, self.domain, self.shape, stages.labels, stages.level, outside)

    def on_grid(self, grid: int | tuple[int, ...]) -> Source:
        """Return the same records on another grid; data given as counts keep their grid."""
        shape = grid_shape(grid, len(self.shape))
        if self.fixed or shape == self.shape:
            return self

        def build() -> Source:
            if self.recount:
                return replace(self, counts=self.recount(shape))
            counts, points = quantize(self.points, self.domain, shape)[0], self.points
            return replace(self, counts=counts, gather=lambda: points, locate=None)

        return self._others.get(shape, build)

    @cached_property
    def _others(self) -> LRUCache:
        return LRUCache(_MOST_GRIDS)

    @property
    def lattice(self) -> tuple[int, ...] | None:
        """Cells per axis of the lattice to which records are rounded; None if no lattice fits.

        It depends only on the grid, not on n: else one more record would move all other records.
        """
        factor = int(LATTICE_CELLS ** (1 / len(self.shape)) + 1e-9) // max(self.shape)
        return tuple(side * factor for side in self.shape) if factor else None

    @cached_property
    def positions(self) -> WeightedPoints:
        """Positions of the records, rounded to the lattice."""
        if self.locate:
            return self.locate()
        if self.lattice is None:
            return WeightedPoints(points=self.points)
        if self.recount:
            counts = self.recount(self.lattice)
        else:
            counts, _ = quantize(self.points, self.domain, self.lattice)
        filled = np.flatnonzero(counts)
        centres = cell_centres(filled, self.lattice, self.domain)
        return WeightedPoints(points=centres, weights=counts.ravel()[filled])

    def counted(self, shape: tuple[int, ...]) -> Ints:
        """Counts on another grid over the same domain, from the rounded positions."""
        positions = self.positions
        return quantize(positions.points, self.domain, shape, weights=positions.weights)[0]


#: Notices for releases that show no cluster or no structure.
_NOTHING = (
    "Nothing found: the released counts do not differ clearly from noise. More records, a larger ε "
    "or a coarser grid may show something."
)
_NOT_LIKELY = (
    "Nothing found: the released counts differ clearly from noise, but no single cell is likely "
    "enough to be significant. More records, a larger ε or a coarser grid may show some cells."
)
_EVEN = (
    "Nothing found: the released counts show records, but no more structure than evenly spread "
    "records have."
)
_UNCLEAR = (
    "Read the clusters with care: the released counts show no more structure than evenly spread "
    "records have. There are too few records, or there is too much noise, to show a weak "
    "structure. More records, a larger ε or a coarser grid may show more."
)


@dataclass(frozen=True, kw_only=True, eq=False)
class Stages:
    """All stages of one run of the pipeline, true or private.

    ``counts`` are M or M' (g, ...). ``average`` is the subband W or W' with one cell per block, and
    ``labels`` have its shape (0: not significant). ``evidence`` says if releases show structure.
    """

    counts: NDArray[np.number]
    average: Floats
    threshold: Threshold
    labels: Labels
    n_clusters: int
    wavelet: str
    level: int
    evidence: Evidence | Literal["untested"] = "untested"

    def turned(self) -> Stages:
        """Return the same stages with the two columns exchanged."""
        return replace(self, counts=self.counts.T, average=self.average.T, labels=self.labels.T)

    @property
    def significant(self) -> Mask:
        """Mask of the significant cells."""
        return self.labels > 0

    @cached_property
    def cluster_sizes(self) -> Ints:
        """Number of cells of each cluster, largest cluster first."""
        return np.bincount(self.labels.ravel(), minlength=self.n_clusters + 1)[1:]

    @property
    def notices(self) -> list[str]:
        """Notes for users on the result of a private run."""
        if not self.threshold.sampled:
            return []
        said = []
        if not self.n_clusters:
            why = {"even": _EVEN, "structure": _NOT_LIKELY, "unclear": _NOT_LIKELY}
            said.append(why.get(self.evidence, _NOTHING))
        elif self.evidence == "unclear":
            said.append(_UNCLEAR)
        if not sums_blocks(self.wavelet):
            said.append(
                "With other wavelets than Haar, PrivTHR can find more of the true cells of thin or "
                "sparse data."
            )
        return said

    @property
    def about_counts(self) -> str:
        """Note for users if private counts and coefficients are estimated means."""
        if not self.threshold.sampled:
            return ""
        equal = " All cells of a block are equal, so the subbands of details are 0."
        return (
            "Private counts and coefficients are means, estimated from the released counts; they "
            "are not noisy counts." + equal * sums_blocks(self.wavelet)
        )

    @cached_property
    def details(self) -> tuple[dict[str, Floats], ...]:
        """Detail subbands of every level, the finest first, with keys "ad", "da", "dd" in 2-D."""
        return detail_subbands(self.counts, self.wavelet, self.level)


def transform(counts: NDArray[np.number], config: Config) -> Floats:
    """Average subband of counts, with the wavelet and level of a configuration."""
    return average_subband(counts, config.wavelet, check_level(config.level, counts.shape))


def cluster(
    counts: NDArray[np.number],
    config: Config,
    *,
    average: Floats | None = None,
    threshold: Threshold | None = None,
) -> Stages:
    """Run the steps after quantizing to M or M', except those whose results are given."""
    if average is None:
        average = transform(counts, config)
    if threshold is None:
        threshold = density_threshold(average, config.density)
    labels, n_clusters = connected_components(significant_cells(average, threshold.value))
    return Stages(
        counts=counts,
        average=average,
        threshold=threshold,
        labels=labels,
        n_clusters=n_clusters,
        wavelet=config.wavelet,
        level=config.level,
    )


@dataclass(frozen=True, kw_only=True, eq=False)
class Leaves:
    """Boxes of a synopsis from 0 to 1 (m, d), and their noisy numbers of records (m,)."""

    low: Floats
    size: Floats
    records: Floats

    def turned(self) -> Leaves:
        """Return the same boxes with the two columns exchanged."""
        return replace(self, low=self.low[:, ::-1], size=self.size[:, ::-1])


@dataclass(frozen=True, kw_only=True, eq=False)
class Run:
    """One run of a method: its stages, its spent budget, and its secret numbers.

    ``trace`` has numbers from the true data (Z, the rank of PrivTHREM's threshold): never for a
    release. ``decision`` and ``worth`` describe g and p that the technique chose. ``leaves`` are
    those of a synopsis, ``areas`` those of a run on areas. ``sketch`` says which part of the steps
    a hurried run took, or is empty.
    """

    config: Config
    stages: Stages
    ledger: Ledger
    trace: dict[str, float] = field(default_factory=dict)
    decision: str = ""
    worth: Mapping[float, float] = field(default_factory=dict)
    leaves: Leaves | None = None
    sketch: str = ""
    areas: Areas | None = None

    def turned(self) -> Run:
        """Return the same run with the two columns exchanged."""
        leaves = self.leaves and self.leaves.turned()
        return replace(self, stages=self.stages.turned(), leaves=leaves)

    @property
    def k(self) -> int:
        """Rank of the threshold: k, or k' of a private run."""
        rank = self.stages.threshold.k
        return int(self.trace["rank"]) if rank is None else rank
