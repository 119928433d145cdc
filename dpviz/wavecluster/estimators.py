"""The methods as scikit-learn estimators: ``fit``, ``labels_``, ``predict``.

A constructor only stores parameters; ``fit`` checks everything. The estimators are for exploration:
noise comes from a seed, and ``labels_``, ``n_points_outside_`` and ``trace_`` come from the true
points. Do not publish any result of an estimator. ``claim_`` states whether the mechanism would be
private with noise that can't be reproduced.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import ArrayLike

from dpviz.base.arrays import Floats, Labels
from dpviz.data.reading.read import read_counts
from dpviz.family.estimator import DomainLike, Estimator, PrivateParameters, as_frame, domain_of
from dpviz.family.parameter import GIVEN, Choose
from dpviz.wavecluster.components import label_points
from dpviz.wavecluster.family import FAMILY
from dpviz.wavecluster.pipeline import Source

__all__ = ["Baseline", "PrivQT", "PrivTHR", "PrivTHREM", "TwoStage", "WaveCluster"]


@dataclass(kw_only=True, eq=False, repr=False)
class _WaveClusterEstimator(Estimator):
    _family = FAMILY

    grid: int | tuple[int, ...] = 64
    density: float = 0.5
    wavelet: str = "haar"
    level: int = 1

    def fit_counts(self, counts: ArrayLike, domain: DomainLike | None = None) -> Self:
        """Cluster a grid of counts, which are whole numbers from 0; this does not set ``labels_``.

        The grid covers the domain. Without a domain, coordinates are the numbers of the cells.
        """
        box = None if domain is None else domain_of(domain, np.empty((0, 0)))
        dataset = read_counts(np.asarray(as_frame(counts)), name="counts", domain=box)
        self.__dict__.pop("labels_", None)
        self.n_features_in_ = dataset.ndim
        self._fit(dataset, None, "clip")
        return self

    def _store(self, material: Source) -> None:
        stages = self.run_.stages
        self.level_ = self.config_.level
        self.shape_ = stages.counts.shape
        self.counts_ = stages.counts
        self.average_subband_ = stages.average
        self.threshold_ = stages.threshold.value
        self.significant_ = stages.significant
        self.label_grid_ = stages.labels
        self.n_clusters_ = stages.n_clusters
        self.decision_ = self.run_.decision
        self.trace_ = self.run_.trace

    def _label(self, points: Floats) -> Labels:
        return label_points(
            points, self.domain_, self.shape_, self.label_grid_, self.level_, self.outside_
        )


class WaveCluster(_WaveClusterEstimator):
    """WaveCluster without noise (Sheikholeslami, Chatterjee, Zhang 1998): not private.

    Parameters
    ----------
    grid
        Cells per axis: one number for all axes, or one number per axis.
    density
        p in (0, 1): share of the positive coefficients that are not significant.
    wavelet, level
        Discrete wavelet of PyWavelets; number of times that the wavelet is applied.
    domain
        ``"data"`` (range of the points), ``"lo,hi;lo,hi"``, pairs, or a Domain.
    outside
        ``"clip"`` or ``"drop"`` points outside the domain.

    Attributes
    ----------
    labels_
        Cluster of each fitted point from 0, shape (n,); -1 = noise.
    n_clusters_, significant_, label_grid_, threshold_
        Results on the grid of the average subband.
    counts_, average_subband_
        Counts and their average subband.
    ledger_
        Empty, because the method spends no budget and promises no privacy.

    Examples
    --------
    >>> import numpy as np
    >>> blobs = np.concatenate([np.full((50, 2), 0.2), np.full((50, 2), 0.8)])
    >>> model = WaveCluster(grid=8, density=0.1, domain="0,1;0,1").fit(blobs)
    >>> model.n_clusters_
    2
    """

    _method = "wavecluster"


@dataclass(kw_only=True, eq=False, repr=False)
class _PrivateEstimator(PrivateParameters, _WaveClusterEstimator):
    """A technique that spends a budget."""


@dataclass(kw_only=True, eq=False, repr=False)
class PrivQT(_PrivateEstimator):
    """Noisy counts, plain pipeline (Chen, Yu, Chirkova 2015, Algorithm 2).

    The parameters are as in :class:`WaveCluster`; more parameters are ``epsilon`` (whole budget),
    ``variant`` (``"sound"`` or ``"published"``), ``neighbours`` (``"add_remove"`` or
    ``"replace_one"``), ``cap`` (largest number of points per person, with ``fit(X, units=...)``)
    and ``random_state``. The attributes are as in :class:`WaveCluster`; ``claim_`` says whether the
    mechanism is private with these parameters, and the reason (the default ``domain="data"`` is not
    private). With ``choose="private"`` the technique chooses ``grid`` and ``density`` itself from
    noisy numbers; ``decision_`` describes the choice, and ``run_.config`` has the chosen values.
    """

    _method = "privqt"

    choose: Choose = GIVEN


@dataclass(kw_only=True, eq=False, repr=False)
class Baseline(_PrivateEstimator):
    """Synthetic points from a private synopsis (Chen, Yu, Chirkova 2015, Algorithm 1).

    Parameters and attributes are as in :class:`PrivQT`; ``synopsis`` is ``"adaptive_grid"``,
    ``"uniform_grid"``, ``"privelet"`` or ``"quadtree"``.
    """

    _method = "baseline"

    synopsis: str = "adaptive_grid"


@dataclass(kw_only=True, eq=False, repr=False)
class PrivTHR(_PrivateEstimator):
    """Noisy counts, refined threshold (Chen, Yu, Chirkova 2015, Algorithm 3).

    Parameters and attributes are as in :class:`PrivQT`; ``alpha`` is the share of epsilon for the
    counts (None for the paper's value, 0.9).
    """

    _method = "privthr"

    alpha: float | None = None
    choose: Choose = GIVEN


class PrivTHREM(PrivTHR):
    """Noisy counts, threshold by the exponential mechanism (the same paper, Algorithm 4).

    Parameters and attributes are as in :class:`PrivTHR`; the paper's ``alpha`` is 0.7.
    """

    _method = "privthrem"


@dataclass(kw_only=True, eq=False, repr=False)
class TwoStage(_PrivateEstimator):
    """Nested releases of block counts, and significant cells estimated from them (our method).

    Parameters and attributes are as in :class:`PrivQT`. ``counts_`` and ``average_subband_`` are
    conditional means given the releases. If nothing differs from the noise, ``n_clusters_`` is 0.
    """

    _method = "twostage"

    choose: Choose = GIVEN
