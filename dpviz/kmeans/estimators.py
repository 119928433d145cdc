"""The k-means family as scikit-learn estimators: ``fit``, ``labels_``, ``predict``.

Each constructor has only the parameters of its method; ``fit`` checks all parameters.
The estimators are for exploration: the noise depends on a seed, and ``labels_``, ``inertia_`` and
``n_points_outside_`` are computed from the true points. Do not publish their results. ``claim_``
states whether the mechanism itself would be private with noise that nobody can repeat.
"""

from __future__ import annotations

from dataclasses import dataclass

from dpviz.base.arrays import Floats, Labels
from dpviz.family.estimator import Estimator, PrivateParameters
from dpviz.family.parameter import Choose
from dpviz.kmeans.family import FAMILY
from dpviz.kmeans.parameters import Cells, Start, Temperature
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
    _family = FAMILY

    n_clusters: int = 8

    def _store(self, material: Records) -> None:
        run = self.run_
        self.cluster_centers_ = run.centers
        self.inertia_ = material.wcss(None, run.centers)
        self.n_iter_ = len(run.iterations)
        self.path_ = list(run.path)
        self.kept_centers_ = run.kept_centers

    def _label(self, points: Floats) -> Labels:
        space = Space(self.domain_)
        labels = nearest(space.scale(points), space.scale(self.cluster_centers_))
        if self.outside_ == "drop":
            labels[~self.domain_.contains(points)] = -1
        return labels


class TrueKMeans(_KMeansEstimator):
    """k-means without noise: the best result of a search. Not private.

    Parameters
    ----------
    n_clusters
        K, number of clusters; at most the number of records.
    domain
        ``"data"`` (range of the points), ``"lo,hi;lo,hi"``, pairs, or a Domain. Distances are
        measured in the domain scaled to a cube.
    outside
        ``"clip"`` or ``"drop"`` points outside the domain.

    Attributes
    ----------
    cluster_centers_
        Centres, shape (K, d), in the units of X, ordered by their first coordinate.
    labels_
        Row of the nearest centre on the scaled domain, shape (n,); -1 for a dropped point.
    inertia_
        Sum of squared distances to the nearest centres, in the units of X. Points outside the
        domain are left out or moved to its border first, see ``outside``. If the domain is not
        a cube, the nearest centre can differ from the nearest centre on the scaled domain.
    n_points_outside_
        Number of points outside the domain.
    domain_, claim_, ledger_
        Bounds of the domain; whether the mechanism is private, and why; spent budget (here none).

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
        T, number of noisy updates of the centres. In all parameters, None means the default.
    start
        ``"sphere_packing"``, ``"random"``, ``"records"``, ``"partition"``, ``"kmeans++"`` or
        ``"utility_plus"``.
    schedule
        Split of the budget over the iterations: ``"uniform"`` or ``"halving"``.
    geometry
        Shape that contains the scaled records: ``"box"``, ``"cube"`` or ``"l1"``.
    variant
        ``"sound"`` or ``"published"``.
    neighbours
        ``"add_remove"`` or ``"replace_one"``.
    cap
        Maximum number of points of a person, with ``fit(X, units=...)``.
    random_state
        Seed of the noise. If None, every ``fit`` has new noise. Even results with new noise must
        not be published, because only a release has secure noise.

    Attributes
    ----------
    cluster_centers_, labels_, inertia_, domain_, n_points_outside_
        As in :class:`TrueKMeans`.
    n_iter_
        Number of noisy iterations; 0 if the method has none.
    path_
        Centres (K, d) at the start and after each iteration; empty if the method has no iterations.
    kept_centers_
        Number of updates that were unusable, so that a centre did not move.
    ledger_
        Budget of each step.
    claim_
        Whether the mechanism is private with these parameters, and why (with the default
        ``domain="data"`` it is not).

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

    Parameters and attributes are as in :class:`DPLloyd`.
    """

    _method = "dpkmeanspp"


class DPKMeansUp(_LloydKMeans):
    """Noisy Lloyd iterations from an improved start (Hu, Yang, Bai 2019, Algorithm 3).

    Parameters and attributes are as in :class:`DPLloyd`.
    """

    _method = "dpkmeansup"


class DPKMeansMapReduce(_LloydKMeans):
    """Noisy means of a partition, then noisy iterations to convergence (Zhang et al. 2018).

    Parameters and attributes are as in :class:`DPLloyd`; ``iterations`` is the maximum number.
    """

    _method = "dpkmeans_mapreduce"


class ContourDPKMeans(_LloydKMeans):
    """Noisy iterations with more budget for well separated clusters (Zhang, Liu, Wang 2018).

    Parameters and attributes are as in :class:`DPKMeansMapReduce`.
    """

    _method = "contour"


@dataclass(kw_only=True, eq=False, repr=False)
class MCMCKMeans(_LloydKMeans):
    """DPLloyd, then k-means on the likeliest data set (Lee, Kifer 2016, section 3).

    Parameters are as in :class:`DPLloyd`, plus ``temperature`` of the Markov chain: ``"printed"``
    or ``"posterior"``. Attributes are as in :class:`DPLloyd`; ``path_`` has the centres of DPLloyd
    before the chain, in a different order.
    """

    _method = "mcmc"

    temperature: Temperature | None = None


@dataclass(kw_only=True, eq=False, repr=False)
class EUGkM(_PrivateKMeans):
    """k-means on the noisy counts of a uniform grid (Su, Cao, Li, Bertino, Jin 2016).

    Parameters are as in :class:`DPLloyd`, except iterations, start, schedule and geometry. There
    are two more parameters. ``cells`` is the rule for the number of cells: ``"su"`` or
    ``"refined"``. ``choose`` is ``"given"`` or ``"private"``; with ``"private"``, K is chosen from
    the noisy counts, and ``n_clusters`` is ignored. Attributes are those of :class:`DPLloyd`.

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

    Parameters are as in :class:`GUPT`, and ``geometry`` is as in :class:`DPLloyd`. Attributes are
    those of :class:`DPLloyd`.
    """

    _method = "hybrid"

    geometry: Geometry | None = None


class GUPT(_PrivateKMeans):
    """Noisy average of the centres of disjoint blocks of the records (Mohan et al. 2012).

    Parameters are as in :class:`DPLloyd`, except iterations, start, schedule and geometry.
    Attributes are those of :class:`DPLloyd`.
    """

    _method = "gupt"


@dataclass(kw_only=True, eq=False, repr=False)
class PrivGene(_PrivateKMeans):
    """Centres bred with the exponential mechanism (Zhang J. et al. 2013).

    Parameters and attributes are as in :class:`GUPT`, and ``iterations`` is the number of
    generations. A generation selects centres and does not update them, so ``n_iter_`` is 0. The
    published variant computes the number of generations from the number of records, up to
    ``iterations``.
    """

    _method = "privgene"

    iterations: int | None = None


@dataclass(kw_only=True, eq=False, repr=False)
class DPRefine(_PrivateKMeans):
    """k-means on a noisy grid or on a tree of residual steps, then residual steps (ours).

    Parameters and attributes are as in :class:`EUGkM`, but there is no ``cells``. The only variant
    is ``"sound"``.
    """

    _method = "dprefine"

    choose: Choose | None = None
