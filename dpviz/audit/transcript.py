"""What a run's mechanisms answered, and how likely these answers are on another data set.

The log-likelihood ratio of all answers is the most telling score there is of a mechanism whose
output is computed from them: no threshold on any other number does better. It is that of the
mechanism as it is built, planted mistakes included: whoever attacks has its code, as an auditor
has, so a secret mistake protects nobody, and scales read off the ledger would hide just what is
looked for.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from dpviz.audit.planted import Bug
from dpviz.noise_source import NoiseSource
from dpviz.privacy.ledger import Composition, Neighbours
from dpviz.privacy.mechanisms import Accountant

Floats = NDArray[np.float64]
T = TypeVar("T")

#: Steps whose choices a release does not show: which record went where.
HIDDEN = ("blocks", "sets")


class _Built(Accountant):
    """Accountant of a mechanism as it is built: its ledger shows what is claimed.

    Parameters
    ----------
    noise, epsilon, neighbours
        As for :class:`Accountant`.
    bug
        What is wrong with the noise, if anything.
    """

    def __init__(
        self,
        noise: NoiseSource,
        epsilon: float,
        neighbours: Neighbours | None = None,
        bug: Bug | None = None,
    ) -> None:
        super().__init__(noise, epsilon, neighbours)
        self._bug = bug

    def _spend(self, step: str, *given: Any) -> float:
        """Record the spend; return the scale that the noise really has."""
        scale = super()._spend(step, *given)
        return scale * self._bug.of(step) if self._bug else scale


class Recorder(_Built):
    """Accountant that records the answers of all mechanisms, in order.

    Parameters
    ----------
    given
        Noise, epsilon, neighbours and bug, as for the base class.
    answers_only
        Whether to end the method with :class:`TranscriptEnd` once the budget is spent: what
        follows is computed from the answers alone.
    """

    def __init__(self, *given: Any, answers_only: bool = False) -> None:
        super().__init__(*given)
        self.answers: list[Any] = []
        self._answers_only = answers_only

    def laplace(self, *given: Any, **named: Any) -> Floats:
        """Laplace mechanism, its answer recorded."""
        return self._record(super().laplace(*given, **named))

    def laplace_disjoint(self, *given: Any, **named: Any) -> Floats:
        """Laplace mechanism on disjoint rows, its answer recorded."""
        return self._record(super().laplace_disjoint(*given, **named))

    def choose(self, *given: Any, **named: Any) -> int:
        """Exponential mechanism, its answer recorded."""
        return self._record(super().choose(*given, **named))

    def interval(self, *given: Any, **named: Any) -> tuple[int, float]:
        """Exponential mechanism over a line; the point is an answer, its interval is not."""
        index, value = super().interval(*given, **named)
        return index, self._record(value)

    def _record(self, answer: T) -> T:
        """Record an answer; end after the last one if nothing else is needed."""
        self.answers.append(answer)
        if self._answers_only and self.ledger.epsilon >= self.budget * (1 - 1e-9):
            raise TranscriptEnd
        return answer


class Replay(_Built):
    """Accountant that gives the answers of another run and adds up how likely they are.

    It ends the method with :class:`TranscriptEnd` after the last answer: what follows is computed
    from the answers alone.

    Parameters
    ----------
    answers
        Of a :class:`Recorder`.
    noise
        Of the run that gave them; choices that it hides are drawn anew.
    given
        Epsilon, neighbours and bug of that run.
    """

    def __init__(self, answers: Sequence[Any], noise: NoiseSource, *given: Any) -> None:
        super().__init__(_Attacker(noise), *given)
        self.log_likelihood = 0.0
        self._remaining = list(answers)

    def laplace(
        self,
        step: str,
        values: NDArray[np.number] | float,
        *,
        sensitivity: float,
        epsilon: float,
        composition: Composition = "sequential",
    ) -> Floats:
        """Give the answer; its density is Laplace's around the values."""
        scale = self._spend(step, sensitivity, epsilon, 1.0, composition)
        exact = np.asarray(values, dtype=float)
        return self._noisy(exact, np.full(exact.shape, scale))

    def laplace_disjoint(
        self, step: str, values: Floats, *, sensitivity: float, epsilons: Floats
    ) -> Floats:
        """Give the answer; its density is Laplace's, of another scale in each row."""
        scales = [
            self._spend(step, sensitivity, float(epsilon), 1.0, "parallel") for epsilon in epsilons
        ]
        return self._noisy(values, np.repeat(scales, values.shape[1]).reshape(values.shape))

    def choose(
        self,
        step: str,
        scores: Floats,
        *,
        sensitivity: float,
        epsilon: float,
        monotone: bool = False,
    ) -> int:
        """Give the answer; chances are proportional to exp(score / scale)."""
        scale = self._spend(step, sensitivity, epsilon, 1.0 if monotone else 2.0, "sequential")
        answer = int(self._remaining.pop(0))
        self._add(scores[answer] / scale - _log_sum(scores / scale))
        return answer

    def interval(
        self, step: str, edges: Floats, scores: Floats, *, sensitivity: float, epsilon: float
    ) -> tuple[int, float]:
        """Give the answer; densities are proportional to exp(score / scale)."""
        scale = self._spend(step, sensitivity, epsilon, 2.0, "sequential")
        answer = float(self._remaining.pop(0))
        index = int(np.searchsorted(edges, answer)) - 1
        if not 0 <= index < len(scores):
            self._add(-np.inf)
        self._add(scores[index] / scale - _log_sum(scores / scale, np.diff(edges)))
        return index, answer

    def _noisy(self, exact: Floats, scales: Floats) -> Floats:
        """Give the next answer as a noisy version of the values."""
        answer: Floats = self._remaining.pop(0)
        if answer.shape != exact.shape:
            self._add(-np.inf)
        self._add(-float((np.abs(answer - exact) / scales + np.log(2 * scales)).sum()))
        return answer

    def _add(self, log: float) -> None:
        """Count an answer's likelihood; end where nothing more can change the sum."""
        self.log_likelihood += log
        if not self._remaining or log == -np.inf:
            raise TranscriptEnd


class TranscriptEnd(Exception):  # noqa: N818 - a wanted end, not an error
    """All answers have been given, or one of them is impossible."""


def log_likelihood(run: Callable[[Accountant], object], replay: Replay) -> float:
    """Log-likelihood of a replay's answers on the data that ``run`` reads.

    It is -infinity where a run on this data can't give them.
    """
    try:
        run(replay)
    except TranscriptEnd:
        return replay.log_likelihood
    # The method ended without asking for all of the answers.
    return -np.inf


def _log_sum(logs: Floats, weights: Floats | None = None) -> float:
    """Logarithm of the (weighted) sum of numbers that are given by their logarithms."""
    if weights is not None:
        # The largest of them may weigh nothing.
        logs = logs[weights > 0] + np.log(weights[weights > 0])
    highest = logs.max()
    return float(highest + np.log(np.exp(logs - highest).sum()))


class _Attacker:
    """Choices as whoever attacks knows them: those that are shown, and a guess at the hidden."""

    def __init__(self, noise: NoiseSource) -> None:
        self._noise = noise

    def laplace(self, step: str, *given: Any, **named: Any) -> Floats:
        """Fail: a replay never draws noise."""
        raise AssertionError(f"a replay draws no noise, but {step} asked for some")

    gumbel = uniform = laplace

    def generator(self, step: str) -> np.random.Generator:
        """Stream of the run, or where it is hidden always the same one."""
        hidden = step in HIDDEN and step not in getattr(self._noise, "public", ())
        return np.random.default_rng(0) if hidden else self._noise.generator(step)
