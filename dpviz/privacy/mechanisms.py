"""The mechanisms that all methods use; each call records its own spend.

Those of a release, whose noise nobody can repeat, are in :mod:`dpviz.privacy.secure`.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
from numpy.typing import NDArray

from dpviz.errors import PrivacyRefusal
from dpviz.noise_source import NoiseSource
from dpviz.privacy.ledger import Composition, Ledger, Neighbours, Spend


class Accountant:
    """Adds noise only with a spend on the ledger, and refuses spends over budget.

    Parameters
    ----------
    noise
        Source of the randomness.
    epsilon
        Whole budget of the run.
    neighbours
        Relation and unit; callers give sensitivities for one record added or removed,
        and the mechanisms multiply them for other neighbours.
    """

    def __init__(
        self, noise: NoiseSource, epsilon: float, neighbours: Neighbours | None = None
    ) -> None:
        self.noise = noise
        self.budget = epsilon
        self.neighbours = neighbours or Neighbours()
        self._spends: list[Spend] = []
        self._changed = self.neighbours.multiplier

    @property
    def ledger(self) -> Ledger:
        """Spends so far."""
        return Ledger(tuple(self._spends), self.neighbours)

    def hide(self, changed: int) -> None:
        """Give all further steps the noise for ``changed`` records, whatever neighbours differ by.

        For variants as printed whose paper counts other changes than its neighbours make: their
        claim then fails, and their card says so.
        """
        self._changed = changed

    def laplace(
        self,
        step: str,
        values: NDArray[np.number] | float,
        *,
        sensitivity: float,
        epsilon: float,
        composition: Composition = "sequential",
    ) -> NDArray[np.float64]:
        """Laplace mechanism (Dwork 2006): values + Lap(sensitivity / epsilon) each.

        Parameters
        ----------
        step
            Name on the ledger and of the noise stream.
        values
            Array or number whose L1 change between neighbours that differ in one
            record is at most ``sensitivity``.
        epsilon
            Share of the budget.

        Raises
        ------
        PrivacyRefusal
            If the budget does not suffice.
        """
        scale = self._spend(step, sensitivity, epsilon, 1.0, composition)
        exact = np.asarray(values, dtype=float)
        return exact + self.noise.laplace(step, scale, exact.shape)

    def laplace_disjoint(
        self,
        step: str,
        values: NDArray[np.float64],
        *,
        sensitivity: float,
        epsilons: NDArray[np.float64],
    ) -> NDArray[np.float64]:
        """Laplace mechanism on rows that depend on disjoint records.

        Row k gets Lap(sensitivity / epsilon_k) noise on each value. The total cost is the
        largest of the budgets (parallel composition), even if neighbours differ in m records
        of different rows: each row's scale is m times as large, so they cost
        sum m_k epsilon_k / m with sum m_k = m.

        Parameters
        ----------
        values
            Shape (K, m): one record changes one row, by at most ``sensitivity`` in L1.
        epsilons
            Budget of each row, shape (K,).
        """
        with self._all_or_nothing():
            scales = [
                self._spend(step, sensitivity, float(epsilon), 1.0, "parallel")
                for epsilon in epsilons
            ]
        unit = self.noise.laplace(step, 1.0, values.shape)
        noisy: NDArray[np.float64] = values + np.array(scales)[:, None] * unit
        return noisy

    def choose(
        self,
        step: str,
        scores: NDArray[np.float64],
        *,
        sensitivity: float,
        epsilon: float,
        monotone: bool = False,
    ) -> int:
        """Exponential mechanism over a list of public candidates, by the Gumbel trick.

        Parameters
        ----------
        scores
            Shape (m,), higher is better; one record changes none by more than
            ``sensitivity``.
        monotone
            Whether an added record moves all scores in the same direction: then half the noise
            suffices. Exchanging a record is removing one and adding one, each at half the
            budget, so half the noise suffices there, too.

        Returns
        -------
        int
            Number of the chosen candidate.
        """
        factor = 1.0 if monotone else 2.0
        scale = self._spend(step, sensitivity, epsilon, factor, "sequential")
        return int(np.argmax(scores + self.noise.gumbel(step, scale, scores.shape)))

    def interval(
        self,
        step: str,
        edges: NDArray[np.float64],
        scores: NDArray[np.float64],
        *,
        sensitivity: float,
        epsilon: float,
    ) -> tuple[int, float]:
        """Exponential mechanism (McSherry, Talwar 2007) over a line split into intervals.

        Parameters
        ----------
        edges
            Ascending, shape (m + 1,): interval i reaches from edge i to edge i + 1.
        scores
            Shape (m,), higher is better; one record changes the score of no point by
            more than ``sensitivity``.

        Returns
        -------
        index, value
            The interval (private: it reveals the rank in the true data) and a point
            drawn uniformly from it.
        """
        scale = self._spend(step, sensitivity, epsilon, 2.0, "sequential")
        cumulated = np.cumsum(interval_weights(edges, scores, scale))
        pick, place = self.noise.uniform(step, (2,))
        index = int(np.searchsorted(cumulated, pick * cumulated[-1], side="right"))
        # Rounding must not reach the lower end, which belongs to the interval below.
        low, high = edges[index], edges[index + 1]
        return index, float(max(high - place * (high - low), np.nextafter(low, np.inf)))

    @contextmanager
    def _all_or_nothing(self) -> Iterator[None]:
        """Undo all spends if one is refused: nothing was drawn, so nothing was spent."""
        before = len(self._spends)
        try:
            yield
        except PrivacyRefusal:
            del self._spends[before:]
            raise

    def _spend(
        self, step: str, sensitivity: float, epsilon: float, factor: float, composition: Composition
    ) -> float:
        """Record a spend and return the noise scale that it pays for."""
        if not (math.isfinite(epsilon) and epsilon > 0):
            raise PrivacyRefusal(
                f"step {step} asks for epsilon {epsilon:g}: only a finite number greater than 0 "
                "can be spent."
            )
        if not (math.isfinite(sensitivity) and sensitivity > 0):
            raise PrivacyRefusal(
                f"step {step} has sensitivity {sensitivity:g}: noise needs a finite number "
                "greater than 0."
            )
        changed = sensitivity * self._changed
        spend = Spend(
            step=step,
            epsilon=epsilon,
            sensitivity=changed,
            scale=factor * changed / epsilon,
            composition=composition,
        )
        after = Ledger((*self._spends, spend), self.neighbours)
        if after.epsilon > self.budget * (1 + 1e-9):
            raise PrivacyRefusal(
                f"step {step} asks for epsilon {epsilon:g}, but only "
                f"{self.budget - self.ledger.epsilon:g} of {self.budget:g} is left."
            )
        self._spends.append(spend)
        return spend.scale


def interval_weights(
    edges: NDArray[np.float64], scores: NDArray[np.float64], scale: float
) -> NDArray[np.float64]:
    """Weights of the intervals in :meth:`Accountant.interval`: length * exp(score / scale).

    Parameters
    ----------
    edges, scores
        As there, shape (m + 1,) and (m,).
    scale
        Noise scale of the spend: 2 * sensitivity / epsilon.

    Returns
    -------
    numpy.ndarray
        Shape (m,), in proportion to the probabilities; the largest is 1.
    """
    with np.errstate(divide="ignore"):
        logs = np.log(np.diff(edges)) + scores / scale
    weights: NDArray[np.float64] = np.exp(logs - logs.max())
    return weights
