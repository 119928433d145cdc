"""Compare a private choice of K with the K that is best on the true records: for the owner only."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dpviz.base.arrays import Floats, Indices
from dpviz.kmeans.choose_clusters import ClusterChoice
from dpviz.kmeans.passes import fit
from dpviz.kmeans.records import Records
from dpviz.kmeans.space import Space

#: Largest number of records of a mean silhouette; with more records, it uses a sample.
_MOST = 10_000


@dataclass(frozen=True, kw_only=True, eq=False)
class ChoicePrice:
    """A private choice, and the silhouette of the true records around the centres of each K."""

    choice: ClusterChoice
    silhouettes: Floats

    @property
    def best(self) -> int:
        """The K with the largest silhouette of the true records."""
        return int(self.choice.tried[np.argmax(self.silhouettes)])

    @property
    def ratio(self) -> float:
        """Silhouette at the chosen K divided by the largest silhouette: 1 if the choice is best."""
        chosen = self.silhouettes[self.choice.tried == self.choice.clusters]
        return float(chosen[0] / self.silhouettes.max())


def choice_price(records: Records, choice: ClusterChoice) -> ChoicePrice | None:
    """Compare a private choice of K with the best K; return None if no K was tried."""
    if not len(choice.tried) or not records.n:
        return None
    scaled = records.scaled(Space(records.domain))[sample_of(records.n)]
    found = [silhouette(scaled, centers) for centers in choice.centers]
    return ChoicePrice(choice=choice, silhouettes=np.array(found))


def sample_of(n: int) -> slice | Indices:
    """Return the indices of a mean silhouette's records; all calls return the same indices."""
    if n <= _MOST:
        return slice(None)
    return np.random.default_rng(0).choice(n, _MOST, replace=False)


def silhouette(scaled: Floats, centers: Floats) -> float:
    """Return the mean simplified silhouette of records (n, d) around centres (K, d)."""
    return float(fit(scaled, centers).contours.sum() / len(scaled))
