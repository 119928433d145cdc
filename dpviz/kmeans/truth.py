"""True and private results of the k-means family: the noise-free optimum, private runs, scores."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from dpviz.base.arrays import Ints, Labels
from dpviz.base.cached import cached_property
from dpviz.base.numbers import counted
from dpviz.family.parameter import check_option
from dpviz.grid.domain import Domain
from dpviz.kmeans.lloyd import restored
from dpviz.kmeans.methods import METHODS, NOISE_FREE
from dpviz.kmeans.parameters import KMeansConfig
from dpviz.kmeans.passes import nearest
from dpviz.kmeans.records import Records
from dpviz.kmeans.run import Centers, KMeansRun
from dpviz.kmeans.scores import OF_CENTERS, SCORES
from dpviz.kmeans.space import Space
from dpviz.metrics import centers as of_centers
from dpviz.metrics.matching import contingency
from dpviz.privacy.ledger import Ledger
from dpviz.privacy.mechanisms import Accountant
from dpviz.privacy.noise_source import NoiseSource, SeededNoise, Silenced


def run_kmeans(records: Records, config: KMeansConfig, noise: NoiseSource) -> KMeansRun:
    """Run the configured method once; raise InputError if method or data are invalid."""
    check_option("method", config.method, METHODS)
    accountant = Accountant(noise, config.epsilon, config.neighbours)
    result: KMeansRun = METHODS[config.method].run(records, config, accountant)
    return result


@dataclass(frozen=True, eq=False)
class KMeansTruth:
    """The noise-free k-means clustering of records; from ``start``, or the best that is found."""

    records: Records
    clusters: int
    start: Centers | None = None

    @cached_property
    def run(self) -> KMeansRun:
        """The true run: the result of the search, or of k-means from the start."""
        config = KMeansConfig(method=NOISE_FREE, clusters=self.clusters)
        if self.start is None:
            return run_kmeans(self.records, config, SeededNoise(0))
        centers = self.records.descended(self.space, self.space.scale(self.start))
        return restored(KMeansRun(config=config, centers=centers, ledger=Ledger()), self.space)

    def at(self, clusters: int) -> KMeansTruth:
        """Return the truth with another number of clusters, for a private run that chose K."""
        if clusters == self.clusters:
            return self
        key = ("truth", clusters)
        return self.records.kept(key, lambda: KMeansTruth(self.records, clusters))

    def beyond(self, centers: Centers) -> KMeansTruth:
        """Return the truth with this number of centres, improved if ``centers`` are better.

        So the error of ``centers`` divided by the truth's error is 1 or more.
        """
        if len(centers) != self.clusters:
            return self.at(len(centers)).beyond(centers)
        close = self.errors[1] * (1 - _CLOSE) - self._rounding
        return self if self.nicv(centers) >= close else replace(self, start=centers)

    @cached_property
    def in_units(self) -> KMeansTruth:
        """k-means in the units of the data; this truth itself if the domain has equal sides."""
        domain = self.records.domain
        side = float((domain.highs - domain.lows).max())
        cube = Domain(tuple((low, low + side) for low, _ in domain.bounds))
        if np.allclose(cube.highs, domain.highs, rtol=0, atol=_ROUNDING * side):
            return self
        return KMeansTruth(self.records.within(cube), self.clusters)

    @property
    def in_ball(self) -> KMeansTruth:
        """k-means of the records projected into the unit L1 ball, in the units of the data."""
        ball = Space(self.records.domain, "l1")
        return self.records.kept(
            ("in ball", self.clusters),
            lambda: KMeansTruth(self.records.drawn_in(ball), self.clusters),
        )

    @property
    def centers(self) -> Centers:
        """True centres (K, d), in the units of the data."""
        return self.run.centers

    @property
    def fewer(self) -> str:
        """A sentence if the true run has fewer than K clusters (centres would be equal); or ""."""
        found = len(self.centers)
        if found >= self.clusters:
            return ""
        said = f"so K of the true run is {found}."
        if self.errors[1] > self._rounding:  # the search looked at a sample
            return f"Further centres would be equal to other centres, {said}"
        points = counted(found, "distinct point")
        return f"There {'is' if found == 1 else 'are'} only {points}, {said}"

    @property
    def space(self) -> Space:
        """The scaled box in which records are assigned to centres."""
        return Space(self.records.domain)

    def assign(self, centers: Centers) -> Labels:
        """Nearest centre of every record on the scaled domain, shape (n,)."""
        return nearest(self.records.scaled(self.space), self.space.scale(centers))

    @cached_property
    def labels(self) -> Labels:
        """Cluster of every record in the true run, shape (n,)."""
        return self.assign(self.centers)

    def wcss(self, centers: Centers) -> float:
        """Within-cluster sum of squares of centres (K, d), in the units of the data."""
        return self.records.wcss(None, centers)

    def nicv(self, centers: Centers) -> float:
        """WCSS per record on data scaled to [0, 1]^d (Su et al. 2016; Hu et al., eq. 17)."""
        # The side of the scaled box is 2, so squares are four times the squares in the unit cube.
        scaled = self.records.wcss(self.space, self.space.scale(centers))
        return scaled / 4 / self.records.n

    @cached_property
    def errors(self) -> tuple[float, float]:
        """WCSS and NICV of the true centres."""
        return self.wcss(self.centers), self.nicv(self.centers)

    def matched(self, run: KMeansRun) -> KMeansRun:
        """Return a run whose cluster k is matched to true cluster k (Hungarian method)."""
        true = self.at(len(run.centers)).centers
        _, order = of_centers.match(self.space.scale(true), self.space.scale(run.centers))
        others = np.setdiff1d(np.arange(len(run.centers)), order)
        return run.reordered(np.concatenate([order, others]))

    def numbered(self, run: KMeansRun) -> KMeansRun:
        """Return a run for pictures: its cluster k is the nearest that belongs to true cluster k.

        Unlike in :meth:`matched`, a true cluster without a centre does not shift the numbers of
        other clusters.
        """
        scale = self.space.scale
        true = self.at(len(run.centers)).centers
        return run.reordered(of_centers.owners_first(scale(true), scale(run.centers)))

    def scores(self, run: KMeansRun, names: tuple[str, ...] = OF_CENTERS) -> dict[str, float]:
        """Scores of a private run that depend only on its centres; ratios are to :meth:`beyond`."""
        one = Evaluation(self.beyond(run.centers), run)
        return {name: float(SCORES[name].compute(one)) for name in names}

    def ratio_to(self, truth: KMeansTruth, centers: Centers) -> float:
        """NICV of centres divided by a truth's NICV; an error from rounding alone is set to 0."""
        error = truth.nicv(centers) if self.nicv(centers) > self._rounding else 0.0
        return ratio(error, truth.errors[1] if self.errors[1] > self._rounding else 0.0)

    @property
    def _rounding(self) -> float:
        return self.records.domain.ndim * _ROUNDING**2

    def against_silenced(self, run: KMeansRun, noise: NoiseSource) -> float:
        """F-measure between a run and the same method without noise (Zhang, Liu, Wang 2018)."""
        silent = run_kmeans(self.records, run.config, Silenced(noise))
        one, other = Evaluation(self, silent), Evaluation(self, run)
        table = self.records.crossed(self.space, one, other)
        return of_centers.matched_f_measure(table)


@dataclass(frozen=True, eq=False)
class Evaluation:
    """A private run and a true run that is not worse; scores share cached parts."""

    truth: KMeansTruth
    run: KMeansRun
    seed: int = 0

    @property
    def centers(self) -> Centers:
        """Private centres (K, d)."""
        return self.run.centers

    @cached_property
    def labels(self) -> Labels:
        """Private cluster of each record, shape (n,)."""
        if self.run is self.truth.run:
            return self.truth.labels
        return self.truth.assign(self.centers)

    @property
    def broken(self) -> int:
        """Number of true clusters that do not have exactly one near private centre."""
        scale, true = self.truth.space.scale, self.truth.centers
        return len(true) - of_centers.placement(scale(true), scale(self.centers)).one_each

    @cached_property
    def table(self) -> Ints:
        """Number of records per pair of true and private cluster."""
        return self.truth.records.crossed(self.truth.space, self.truth, self)

    @cached_property
    def class_table(self) -> Ints:
        """Number of records per pair of known class and private cluster."""
        classes = self.truth.records.classes
        assert classes is not None  # noqa: S101 - only data with classes have these scores
        return contingency(classes, self.labels)

    @property
    def space_ratio(self) -> float:
        """WCSS divided by the best k-means' WCSS, on the records as the method projects them."""
        truth = self.truth.in_ball if self.run.config.geometry == "l1" else self.truth
        return truth.ratio_to(truth.beyond(self.centers), self.centers)

    @property
    def displacement(self) -> float:
        """Mean distance of matched centres on data scaled to [0, 1]^d."""
        scale = self.truth.space.scale
        # The side of the scaled box is 2.
        return of_centers.displacement(scale(self.truth.centers), scale(self.centers)) / 2

    @property
    def silhouette(self) -> float:
        """Mean simplified silhouette of the private clusters."""
        truth = self.truth
        scaled = truth.space.scale(self.centers)
        return float(truth.records.silhouettes(truth.space, scaled).mean())


#: Largest rounding error of centres of equal records, as a share of the domain's sides.
_ROUNDING = 16 * float(np.finfo(float).eps)

#: Relative difference below which errors are treated as equal.
_CLOSE = 1e-9


def ratio(value: float, reference: float) -> float:
    """Ratio to the true run: 1 if both are 0, infinite if only the reference is 0."""
    if reference > 0:
        return value / reference
    return 1.0 if value == 0 else float("inf")
