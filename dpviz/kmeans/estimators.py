"""The k-means family as scikit-learn estimators: ``fit``, ``labels_``, ``predict``.

Each constructor has only parameters, and only those of its method; ``fit`` checks everything.
The estimators are for exploration: noise comes from a seed, and ``labels_``, ``inertia_`` and
``n_points_outside_`` come from the true points. Do not publish anything that they return;
``claim_`` states whether the mechanism itself would be private with noise that nobody can
repeat.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpviz.family.estimator import Estimator, PrivateParameters
from dpviz.family.parameter import Choose
from dpviz.kmeans.family import FAMILY
from dpviz.kmeans.grid import Cells
from dpviz.kmeans.parameters import Start, Temperature
from dpviz.kmeans.passes import nearest
from dpviz.kmeans.records import Records
from dpviz.kmeans.schedule import Schedule
from dpviz.kmeans.space import Geometry, Space

__all__ = [
    "GUPT",
    "ContourDPKMeans",
    "DPKMeansMapReduce",
    "DPKMeansPlusPlus",
    "DPKMeansUp",
    "DPLloyd",
    "DPRefine",
    "EUGkM",
    "Hybrid",
    "MCMCKMeans",
    "PrivGene",
    "TrueKMeans",
]


@dataclass(kw_only=True, eq=False, repr=False)
class _KMeansEstimator(Estimator):
    """Common part of all estimators; the subclasses add parameters."""

    _family = FAMILY

    n_clusters: int = 8

    def _store(self, material: Records) -> None:
        run = self.run_
        self.cluster_centers_ = run.centers
        self.inertia_ = material.wcss(None, run.centers)
        self.n_iter_ = len(run.iterations)
        self.path_ = list(run.path)
        self.kept_centers_ = run.kept_centers

    def _label(self, points: NDArray[np.float64]) -> NDArray[np.int32]:
        """Nearest centres of points (n, d); -1 for those that are dropped."""
        space = Space(self.domain_)
        labels = nearest(space.scale(points), space.scale(self.cluster_centers_))
        if self.outside_ == "drop":
            labels[~self.domain_.contains(points)] = -1
        return labels


class TrueKMeans(_KMeansEstimator):
    """k-means without noise, the best that a search finds; not private.

    Parameters
    ----------
    n_clusters
        K, number of clusters; at most as many as records.
    domain
        ``"data"`` (range of the points), ``"lo,hi;lo,hi"``, pairs, or a Domain. Distances
        are those of the domain scaled to a cube.
    outside
        ``"clip"`` or ``"drop"`` points outside the domain.

    Attributes
    ----------
    cluster_centers_
        Centres, shape (K, d), in the units of X, ordered by their first coordinate.
    labels_
        Row of the nearest centre on the scaled domain, shape (n,); -1 = dropped.
    inertia_
        Sum of squared distances to the nearest centres in the units of X, over the records
        that take part: inside the domain, dropped or moved to its border, see ``outside``.
        If the domain is not a cube, the nearest centre can differ from the one on the scaled
        domain.
    n_points_outside_
        Points outside the domain.
    domain_, claim_, ledger_
        Bounds; whether the mechanism is private, with the reason; its spends, here empty.

    Examples
    --------
    >>> import numpy as np
    >>> blobs = np.concatenate([np.full((50, 2), 0.2), np.full((50, 2), 0.8)])
    >>> model = TrueKMeans(n_clusters=2, domain="0,1;0,1").fit(blobs)
    >>> model.cluster_centers_.round(3).tolist()
    [[0.2, 0.2], [0.8, 0.8]]
    >>> model.predict([[0.1, 0.3], [0.9, 0.6]]).tolist()
    [0, 1]
    """

    _method = "kmeans"


@dataclass(kw_only=True, eq=False, repr=False)
class _PrivateKMeans(PrivateParameters, _KMeansEstimator):
    """A method that spends a budget."""


@dataclass(kw_only=True, eq=False, repr=False)
class _LloydKMeans(_PrivateKMeans):
    """Parameters of the methods that are noisy Lloyd iterations."""

    iterations: int | None = None
    start: Start | None = None
    schedule: Schedule | None = None
    geometry: Geometry | None = None


class DPLloyd(_LloydKMeans):
    """Lloyd's iteration with noisy counts and sums (Blum, Dwork, McSherry, Nissim 2005).

    Parameters
    ----------
    n_clusters, domain, outside
        As in :class:`TrueKMeans`; more clusters than records are allowed.
    epsilon
        Whole privacy budget.
    iterations
        T, noisy updates of the centres. None, here and below, means the method's default.
    start
        ``"sphere_packing"``, ``"random"``, ``"records"``, ``"partition"``, ``"kmeans++"`` or
        ``"utility_plus"``.
    schedule
        Budget of the iterations: ``"uniform"`` or ``"halving"``.
    geometry
        Where the scaled records lie: ``"box"``, ``"cube"`` or ``"l1"``.
    variant
        ``"sound"`` or ``"published"``.
    neighbours
        ``"add_remove"`` or ``"replace_one"``.
    cap
        Most points of a person, with ``fit(X, units=...)``.
    random_state
        Seed of the noise; None uses new noise in every fit, which is still not for publishing:
        a release has secure noise.

    Attributes
    ----------
    cluster_centers_, labels_, inertia_, domain_, n_points_outside_
        As in :class:`TrueKMeans`.
    n_iter_
        Number of noisy iterations; 0 if the method has none.
    path_
        Centres (K, d) from the start on, one array more than iterations; empty if the method
        has none.
    kept_centers_
        How often a centre did not move because its update was unusable.
    ledger_
        Budget of each step.
    claim_
        Whether the mechanism is private as configured, with the reason (the default
        ``domain="data"`` is not).

    Examples
    --------
    >>> import numpy as np
    >>> blobs = np.concatenate([np.full((5000, 2), 0.2), np.full((5000, 2), 0.8)])
    >>> model = DPLloyd(n_clusters=2, domain="0,1;0,1", random_state=0).fit(blobs)
    >>> model.cluster_centers_.round(2).tolist()
    [[0.2, 0.2], [0.8, 0.8]]
    >>> model.n_iter_, model.ledger_.epsilon, model.claim_.private
    (5, 1.0, True)
    """

    _method = "dplloyd"


class DPKMeansPlusPlus(_LloydKMeans):
    """Noisy Lloyd iterations from a k-means++ start (Hu, Yang, Bai 2019, Algorithm 2).

    Parameters and attributes as in :class:`DPLloyd`.
    """

    _method = "dpkmeanspp"


class DPKMeansUp(_LloydKMeans):
    """Noisy Lloyd iterations from an improved start (Hu, Yang, Bai 2019, Algorithm 3).

    Parameters and attributes as in :class:`DPLloyd`.
    """

    _method = "dpkmeansup"


class DPKMeansMapReduce(_LloydKMeans):
    """Noisy means of a partition, then noisy iterations until they rest (Zhang et al. 2018).

    Parameters and attributes as in :class:`DPLloyd`; ``iterations`` is the maximum number.
    """

    _method = "dpkmeans_mapreduce"


class ContourDPKMeans(_LloydKMeans):
    """Noisy iterations, more budget to well separated clusters (Zhang, Liu, Wang 2018).

    Parameters and attributes as in :class:`DPKMeansMapReduce`.
    """

    _method = "contour"


@dataclass(kw_only=True, eq=False, repr=False)
class MCMCKMeans(_LloydKMeans):
    """DPLloyd, then k-means on the likeliest data set (Lee, Kifer 2016, section 3).

    Parameters as in :class:`DPLloyd`, and ``temperature`` of the Markov chain: ``"printed"``
    or ``"posterior"``. Attributes as in :class:`DPLloyd`; ``path_`` is that of DPLloyd, before
    the chain, and its rows have a different order.
    """

    _method = "mcmc"

    temperature: Temperature | None = None


@dataclass(kw_only=True, eq=False, repr=False)
class EUGkM(_PrivateKMeans):
    """k-means on the noisy counts of a uniform grid (Su, Cao, Li, Bertino, Jin 2016).

    Parameters as in :class:`DPLloyd`, without iterations, start, schedule and geometry; and
    ``cells``, the rule for the number of cells: ``"su"`` or ``"refined"``; and ``choose``:
    ``"given"``, or ``"private"``: K is chosen from the noisy counts, and ``n_clusters`` is not
    read. Attributes as in :class:`DPLloyd`.

    Examples
    --------
    >>> import numpy as np
    >>> blobs = np.concatenate([np.full((5000, 2), place) for place in (0.1, 0.5, 0.9)])
    >>> model = EUGkM(choose="private", domain="0,1;0,1", random_state=0).fit(blobs)
    >>> len(model.cluster_centers_), model.ledger_.epsilon
    (3, 1.0)
    """

    _method = "eugkm"

    cells: Cells | None = None
    choose: Choose | None = None


@dataclass(kw_only=True, eq=False, repr=False)
class Hybrid(_PrivateKMeans):
    """EUGkM, then one noisy Lloyd iteration if its error is small enough (Su et al. 2016).

    Parameters as in :class:`GUPT`, and ``geometry`` as in :class:`DPLloyd`. Attributes as
    there.
    """

    _method = "hybrid"

    geometry: Geometry | None = None


class GUPT(_PrivateKMeans):
    """Noisy average of the centres of disjoint blocks of the records (Mohan et al. 2012).

    Parameters as in :class:`DPLloyd`, without iterations, start, schedule and geometry.
    Attributes as there.
    """

    _method = "gupt"


@dataclass(kw_only=True, eq=False, repr=False)
class PrivGene(_PrivateKMeans):
    """Centres bred under the exponential mechanism (Zhang J. et al. 2013).

    Parameters and attributes as in :class:`GUPT`, and ``iterations``: generations, which
    select centres instead of updating them, so that ``n_iter_`` is 0. The published variant
    computes their number from the number of records, at most ``iterations``.
    """

    _method = "privgene"

    iterations: int | None = None


@dataclass(kw_only=True, eq=False, repr=False)
class DPRefine(_PrivateKMeans):
    """Noisy grid, or tree of residual steps, k-means on it, and residual steps (ours).

    Parameters and attributes as in :class:`EUGkM`, without ``cells``; there is one variant,
    ``"sound"``.
    """

    _method = "dprefine"

    choose: Choose | None = None
