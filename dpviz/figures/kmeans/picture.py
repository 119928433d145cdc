"""Data from which all panels of a k-means run are drawn: the true run and a private run."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpviz.base.cached import cached_property
from dpviz.data.geographic import map_axes
from dpviz.family.parameter import GIVEN
from dpviz.figures.ground import PLAIN, Ground
from dpviz.figures.marks import base_layout
from dpviz.figures.raster import RecordRaster
from dpviz.figures.theme import Mode
from dpviz.grid.domain import Domain
from dpviz.kmeans.family import FAMILY
from dpviz.kmeans.passes import nearest
from dpviz.kmeans.run import Centers, KMeansRun
from dpviz.kmeans.trial import KMeansTrial
from dpviz.kmeans.truth import KMeansTruth, run_kmeans
from dpviz.metrics.centers import placement
from dpviz.privacy.noise_source import SeededNoise


@dataclass(frozen=True, kw_only=True, eq=False)
class KMeansPicture:
    """Data behind all panels."""

    truth: KMeansTruth  # clustering without noise, and its records
    left: KMeansRun  # run in the left panel: the true run, or the method itself without noise
    #: The private run, in the order of :meth:`dpviz.kmeans.truth.KMeansTruth.numbered`.
    private: KMeansRun
    raster: RecordRaster  # records on the lattice of the screen
    columns: Sequence[str]
    #: Iteration that is shown: 0 shows the start; the last iteration or None shows the result.
    step: int | None = None
    mode: Mode = "light"
    title: str = ""
    left_title: str = "true"  # headings of the two panels
    private_title: str = "private"
    ground: Ground = PLAIN
    #: Whether the private panel shows records and true centres, which no release contains.
    with_points: bool = False
    #: Makes a run of the same method, with the same seed, at another epsilon; or None.
    again: Callable[[float], KMeansRun] | None = None

    @property
    def shown_domain(self) -> Domain:
        """Bounds of the two shown columns."""
        return self.truth.records.domain.select(self.raster.axes)

    @property
    def shown_columns(self) -> list[str]:
        """Names of the two shown columns."""
        return [self.columns[axis] for axis in self.raster.axes]

    @cached_property
    def before(self) -> KMeansRun:
        """The run before post-processing, matched to the true clusters."""
        return self.unprocessed(self.private)

    def unprocessed(self, run: KMeansRun) -> KMeansRun:
        """Return a run before its post-processing, matched to the true clusters."""
        if run.before is None:
            return run
        return self.truth.numbered(replace(run, centers=run.before, before=None, chain=None))

    @cached_property
    def path(self) -> tuple[Centers, ...]:
        """Centres of the private run from start to result; empty for methods without iterations."""
        return self.path_of(self.private)

    def numbers_of(self, centers: Centers) -> NDArray[np.intp]:
        """Number, and therefore colour, of each centre of a result, shape (K,)."""
        # Number k if the centre belongs to true cluster k, else a number that no cluster has.
        scale, place = self.truth.space.scale, np.arange(len(centers))
        own = placement(scale(self.truth.centers), scale(centers)).owner == place
        return np.where(own, place + 1, len(self.truth.centers) + np.cumsum(~own))

    def names_of(self, numbers: NDArray[np.intp]) -> list[str]:
        """Numbers in words: "9", or "+16" if no true cluster has the number."""
        return [f"{'+' * (one > len(self.truth.centers))}{one}" for one in numbers.tolist()]

    def path_of(self, run: KMeansRun) -> tuple[Centers, ...]:
        """Path of a run, including its result after post-processing."""
        path = self.unprocessed(run).path
        return path if run.before is None else (*path, run.centers)

    @property
    def shown_step(self) -> int:
        """Position on the path that is shown; the last position is the result."""
        last = max(len(self.path) - 1, 0)
        return last if self.step is None else min(self.step, last)

    def is_result(self, run: KMeansRun, step: int) -> bool:
        """Whether a step shows a run's result."""
        # If the left run has more iterations than the private run, both results are shown together.
        return step >= min(max(len(self.path) - 1, 0), len(self.path_of(run)))

    def centers_at(self, run: KMeansRun, step: int) -> Centers:
        """Centres of a run at a step."""
        return run.centers if self.is_result(run, step) else self.path_of(run)[step]

    def numbers_at(self, run: KMeansRun, step: int) -> NDArray[np.intp]:
        """Numbers of a run's centres at a step: those of its result, see :meth:`numbers_of`."""
        end = run if self.is_result(run, step) else self.unprocessed(run)
        return self.numbers_of(end.centers)

    @property
    def up_to_step(self) -> KMeansRun:
        """The private run as far as the shown step; the run itself if this step is its result."""
        run, step = self.private, self.shown_step
        if self.is_result(run, step):
            return run
        made = self.before.iterations[:step]
        centers = self.centers_at(run, step)
        return replace(run, centers=centers, iterations=made, before=None, chain=None)

    def regions_of(self, centers: Centers, side: int) -> NDArray[np.int32]:
        """Nearest centre of each cell of a square lattice over both shown columns."""
        scaled = self.truth.space.scale(centers)[:, list(self.raster.axes)]
        axis = (2 * np.arange(side) + 1) / side - 1
        lattice = np.stack(np.meshgrid(axis, axis, indexing="ij"), axis=-1).reshape(-1, 2)
        return nearest(lattice, scaled).reshape(side, side)

    def noisy_at(self, step: int) -> NDArray[Any] | None:
        """Noisy numbers of records of private centres at a step; None if no release has them."""
        iterations = self.unprocessed(self.private).iterations
        if 0 < step <= len(iterations) and step < len(self.path) - 1:
            return iterations[step - 1].counts
        if step < len(self.path) - 1:
            return None
        released = FAMILY.released(self.private, self.truth.records.domain)
        counts: NDArray[Any] | None = released["counts"]
        return counts

    def layout(self, **more: Any) -> dict[str, Any]:
        """Return a layout without axes."""
        kept = f"{self.raster.axes}{self.shown_domain}{self.title.partition(' · ')[0]}"
        # Keep the zoom if the data, the columns and the domain stay the same.
        return base_layout(self.title, (48, 12, 46, 38), uirevision=kept, **more)


def picture_of(
    trial: KMeansTrial, run: KMeansRun, columns: Sequence[str], title: str, mode: Mode
) -> KMeansPicture:
    """Build the picture of a private run next to the true run; longitude is the horizontal axis."""
    truth = trial.truth.beyond(run.centers)
    records = truth.records

    def again(epsilon: float) -> KMeansRun:
        config = run.config
        given = replace(config, epsilon=epsilon, choose=config.choose and GIVEN)
        return truth.numbered(run_kmeans(records, given, SeededNoise(0)))

    return KMeansPicture(
        truth=truth,
        left=truth.run,
        private=truth.numbered(run),
        raster=RecordRaster.of_records(records.points, records.domain, map_axes(columns)),
        columns=columns,
        mode=mode,
        title=title,
        again=again if run.ledger.spends else None,
    )
