"""True beside private for the k-means family: the noise-free optimum, private runs, scores."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from dpviz.kmeans.config import KMeansConfig
from dpviz.kmeans.passes import contour_coefficients, nearest, wcss
from dpviz.kmeans.records import Records
from dpviz.kmeans.run import Centers, KMeansRun
from dpviz.kmeans.space import Space
from dpviz.methods import KMEANS, check_method
from dpviz.metrics import centers as of_centers
from dpviz.metrics import matching
from dpviz.noise import NoiseSource, Silenced
from dpviz.privacy.mechanisms import Accountant

#: Scores that need nothing but the centres of the private run.
QUICK = ("wcss", "nicv", "wcss_ratio", "nicv_ratio", "f_measure", "displacement")

#: All scores, in the order in which they are shown.
SCORES = (*QUICK, "contour", "ari", "ami")


def run_kmeans(records: Records, config: KMeansConfig, noise: NoiseSource) -> KMeansRun:
    """Run the configured method once.

    Raises
    ------
    InputError
        Where the method does not exist or does not fit the data.
    """
    check_method(config.method, KMEANS)
    accountant = Accountant(noise, config.epsilon, config.neighbours)
    return KMEANS[config.method].run(records, config, accountant)


@dataclass(frozen=True, eq=False)
class KMeansTruth:
    """The noise-free k-means clustering of some records, and what scoring needs of it.

    Parameters
    ----------
    records
        Data under its domain.
    clusters
        K.
    """

    records: Records
    clusters: int

    @cached_property
    def run(self) -> KMeansRun:
        """The true run: the best of several by scikit-learn."""
        config = KMeansConfig(method="kmeans", clusters=self.clusters)
        return KMEANS["kmeans"].run(self.records, config, Accountant(_Nothing(), 1.0))

    @property
    def centers(self) -> Centers:
        """True centres (K, d), in the units of the data."""
        return self.run.centers

    @property
    def space(self) -> Space:
        """The scaled box in which records are assigned to centres."""
        return Space(self.records.domain)

    def assign(self, centers: Centers) -> NDArray[np.int32]:
        """Nearest centre of every record on the scaled domain, shape (n,)."""
        return nearest(self.records.scaled(self.space), self.space.scale(centers))

    @cached_property
    def labels(self) -> NDArray[np.int32]:
        """Cluster of every record in the true run."""
        return self.assign(self.centers)

    def wcss(self, centers: Centers) -> float:
        """Within-cluster sum of squares of centres (K, d), in the units of the data."""
        return wcss(self.records.points, centers)

    def nicv(self, centers: Centers) -> float:
        """WCSS per record on data scaled to [0, 1]^d (Su et al. 2016; Hu et al., eq. 17)."""
        # Scaled coordinates span 2, so their squares are four times those of the unit cube.
        scaled = wcss(self.records.scaled(self.space), self.space.scale(centers))
        return scaled / 4 / self.records.n

    @cached_property
    def errors(self) -> tuple[float, float]:
        """WCSS and NICV of the true centres."""
        return self.wcss(self.centers), self.nicv(self.centers)

    def matched(self, run: KMeansRun) -> KMeansRun:
        """Return a run whose cluster k is the one matched to true cluster k (Hungarian)."""
        _, order = of_centers.match(self.space.scale(self.centers), self.space.scale(run.centers))
        return run.reordered(order)

    def scores(self, run: KMeansRun, names: tuple[str, ...] = SCORES) -> dict[str, float]:
        """Scores of a private run.

        ``wcss_ratio`` and ``nicv_ratio`` are relative to the true run; ``f_measure`` (Hu et
        al., eq. 13-16), ``ari`` and ``ami`` hold its clusters against the true ones;
        ``displacement`` is the mean distance of matched centres on data scaled to [0, 1]^d;
        ``contour`` the mean contour coefficient of its clusters.
        """
        centers = run.centers
        table = matching.contingency(self.labels, self.assign(centers))
        error, spread = self.wcss(centers), self.nicv(centers)
        true_error, true_spread = self.errors
        scaled = self.space.scale(centers)
        compute = {
            "wcss": lambda: error,
            "nicv": lambda: spread,
            "wcss_ratio": lambda: self._ratio(error, true_error, spread),
            "nicv_ratio": lambda: self._ratio(spread, true_spread, spread),
            "f_measure": lambda: matching.f_measure(table),
            "displacement": lambda: (
                of_centers.displacement(self.space.scale(self.centers), scaled) / 2
            ),
            "contour": lambda: float(
                contour_coefficients(self.records.scaled(self.space), scaled).mean()
            ),
            "ari": lambda: matching.adjusted_rand(table),
            "ami": lambda: matching.adjusted_mutual_information(table),
        }
        return {name: compute[name]() for name in names}

    def _ratio(self, error: float, true_error: float, spread: float) -> float:
        """Ratio of an error to the true run's; a NICV that is rounding alone counts as 0."""
        rounding = self.records.domain.ndim * _ROUNDING**2
        return ratio(
            error if spread > rounding else 0.0, true_error if self.errors[1] > rounding else 0.0
        )

    def against_classes(self, run: KMeansRun, classes: NDArray[np.intp]) -> float:
        """F-measure of a run's clusters against classes (n,) that are known (Hu et al.)."""
        return matching.f_measure(matching.contingency(classes, self.assign(run.centers)))

    def against_silenced(self, run: KMeansRun, noise: NoiseSource) -> float:
        """F-measure of a run against the same method without noise (Zhang, Liu, Wang 2018)."""
        silent = run_kmeans(self.records, run.config, Silenced(noise))
        table = matching.contingency(self.assign(silent.centers), self.assign(run.centers))
        return of_centers.matched_f_measure(table)


#: Centres of equal records are off by this much of the domain's sides at most.
_ROUNDING = 16 * float(np.finfo(float).eps)


def ratio(value: float, reference: float) -> float:
    """Ratio to the true run: 1 where both are 0, infinite where only the reference is."""
    if reference > 0:
        return value / reference
    return 1.0 if value == 0 else float("inf")


class _Nothing:
    """Noise source of the true run, which asks for none."""

    def laplace(self, step: str, scale: float, shape: tuple[int, ...]) -> NDArray[np.float64]:
        raise AssertionError("the true run asks for no noise")

    gumbel = laplace

    def uniform(self, step: str, shape: tuple[int, ...]) -> NDArray[np.float64]:
        raise AssertionError("the true run asks for no noise")

    def generator(self, step: str) -> np.random.Generator:
        raise AssertionError("the true run asks for no noise")
