"""The answers of a run's mechanisms, and the likelihood of these answers on another data set.

Their log-likelihood ratio is the strongest score. It is computed for the mechanism as implemented,
with planted mistakes. Scales from the ledger would hide the mistakes that the audit searches for.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpviz.audit.planted import Bug
from dpviz.base.arrays import Floats, Mask
from dpviz.privacy.ledger import Neighbours
from dpviz.privacy.mechanisms import Accountant, Gradual, Level, Numbers, k_norm
from dpviz.privacy.noise_source import NoiseSource

#: At this scale two-sided geometric noise is 0, except with probability about e^-1000.
_NO_NOISE = 1e-3

#: Steps whose random choices a release does not show: the block or set of each record.
HIDDEN = ("blocks", "sets")


class _Built(Accountant):
    """Accountant of a mechanism as implemented; its ledger shows the claimed scales."""

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
        scale = super()._spend(step, *given)
        return scale * self._bug.of(step) if self._bug else scale

    def _scales(self, levels: Sequence[Level], sensitivity: float) -> list[float]:
        """Real scales of nested releases. A mistake changes what a step adds to 1 / scale."""
        scales = super()._scales(levels, sensitivity)
        if self._bug is None:
            return scales
        added = np.diff(1 / np.array(scales), prepend=0.0)
        built = 1 / np.cumsum(
            [one / self._bug.of(step) for one, (step, _) in zip(added, levels, strict=True)]
        )
        # Below this scale whole numbers get no noise, but methods divide by the variance.
        return list(np.maximum(built, _NO_NOISE).tolist())


class Recorder(_Built):
    """Accountant that records all answers; with ``answers_only``, a run ends if nothing is left."""

    def __init__(self, *given: Any, answers_only: bool = False) -> None:
        super().__init__(*given)
        self.answers: list[Any] = []
        self.answers_only = answers_only


#: Part of a mechanism's result that is recorded.
ANSWERS: dict[str, Callable[[Any], Any]] = {
    **dict.fromkeys(
        ("laplace", "laplace_disjoint", "finer", "split", "k_norm", "choose"), lambda found: found
    ),
    "gradual": lambda found: found.noisy,  # the coarsest release
    "interval": lambda found: found[1],  # the point, without its interval
}


def _recording(name: str) -> Callable[..., Any]:
    mechanism, answer = getattr(_Built, name), ANSWERS[name]

    @wraps(mechanism)
    def record(recorder: Recorder, *given: Any, **named: Any) -> Any:
        found = mechanism(recorder, *given, **named)
        recorder.answers.append(answer(found))
        if recorder.answers_only and recorder.ledger.epsilon >= recorder.budget * (1 - 1e-9):
            raise TranscriptEnd
        return found

    return record


for _name in ANSWERS:
    setattr(Recorder, _name, _recording(_name))


class Replay(_Built):
    """Accountant that returns the answers of another run and sums their log-likelihoods.

    The method ends after the last answer. Hidden choices of the ``noise`` are sampled again.
    """

    def __init__(self, answers: Sequence[Any], noise: NoiseSource, *given: Any) -> None:
        super().__init__(_Attacker(noise), *given)
        self.log_likelihood = 0.0
        self._remaining = list(answers)

    def _add_laplace(self, step: str, exact: Floats, scale: float) -> Floats:
        return self._add_disjoint(step, exact, np.array(scale))

    def _add_disjoint(self, step: str, values: Floats, scales: Floats) -> Floats:
        answer: Floats = self._remaining.pop(0)
        if answer.shape != values.shape:
            self._add(-np.inf)
        scales = np.full(values.shape, scales)
        self._add(-float((np.abs(answer - values) / scales + np.log(2 * scales)).sum()))
        return answer

    def gradual(
        self, values: NDArray[np.number], levels: Sequence[Level], *, sensitivity: float
    ) -> Gradual:
        """Return the coarsest answer; :meth:`finer` and :meth:`split` return the finer answers.

        Only the likelihood of a value's finest release depends on this value.
        """
        found = super().gradual(values, levels, sensitivity=sensitivity)
        self._add(_geometric(found.noisy - values.astype(float), found.scales[0]))
        return found

    def _chain(self, *_: object) -> tuple[Floats, ...]:
        return (self._remaining.pop(0),)

    def finer(self, gradual: Gradual, level: int) -> Floats:
        """Return the answer; its probability replaces the probability of the coarser release."""
        self._spend_on(gradual, level, "sequential")
        answer: Floats = self._remaining.pop(0)
        self._replace(gradual, np.ones(answer.shape, dtype=bool), answer, level)
        gradual.known, gradual.noisy = level, answer
        return answer

    def split(self, gradual: Gradual, where: Mask, numbers: Numbers) -> tuple[Floats, Floats]:
        """Return the answers: finer releases of some values, noisy numbers for the other values."""
        last = len(gradual.levels) - 1
        part = self._spend_on(gradual, last, "parallel")
        step = gradual.levels[last].step
        scale = self._spend(step, gradual.sensitivity, part, 1.0, "parallel")
        finest, noisy = self._remaining.pop(0)
        self._replace(gradual, where, finest, last, -float(np.abs(noisy - numbers).sum()) / scale)
        gradual.closed = True
        return finest, noisy

    def _replace(
        self, gradual: Gradual, where: Mask, finer: Floats, level: int, beside: float = 0.0
    ) -> None:
        exact: Floats = gradual.values[where].astype(float)
        known = gradual.noisy[where]
        # The kernels between levels and the constants of densities are equal on all data sets.
        log = _geometric(finer.ravel() - exact, gradual.scales[level])
        self._add(log - _geometric(known - exact, gradual.scales[gradual.known]) + beside)

    def _add_k_norm(self, step: str, values: Floats, scale: float, ball: int) -> Floats:
        """If the norm grows by one scale, the density falls by the factor e."""
        answer: Floats = self._remaining.pop(0)
        if answer.shape != values.shape:
            self._add(-np.inf)
        self._add(-float(k_norm(answer - values, ball).sum() / scale))
        return answer

    def _highest(self, step: str, scores: Floats, scale: float) -> int:
        answer = int(self._remaining.pop(0))
        self._add(scores[answer] / scale - _log_sum(scores / scale))
        return answer

    def _point(self, step: str, edges: Floats, scores: Floats, scale: float) -> tuple[int, float]:
        answer = float(self._remaining.pop(0))
        index = int(np.searchsorted(edges, answer)) - 1
        if not 0 <= index < len(scores):
            self._add(-np.inf)
        self._add(scores[index] / scale - _log_sum(scores / scale, np.diff(edges)))
        return index, answer

    def _add(self, log: float) -> None:
        self.log_likelihood += log
        if not self._remaining or log == -np.inf:
            raise TranscriptEnd


class TranscriptEnd(Exception):  # noqa: N818 - an intended end, not an error
    """Ends a run: all answers are used, or one answer is impossible."""


def log_likelihood(run: Callable[[Accountant], object], replay: Replay) -> float:
    """Log-likelihood of a replay's answers on the data of ``run``; -infinity if impossible."""
    try:
        run(replay)
    except TranscriptEnd:
        return replay.log_likelihood
    # The method ended before it used all answers, so it can't give these answers.
    return -np.inf


def _geometric(noise: Floats, scale: float) -> float:
    return float((math.log(math.tanh(0.5 / scale)) - np.abs(noise) / scale).sum())


def _log_sum(logs: Floats, weights: Floats | None = None) -> float:
    if weights is not None:
        # The largest logarithm may have the weight 0.
        logs = logs[weights > 0] + np.log(weights[weights > 0])
    highest = logs.max()
    return float(highest + np.log(np.exp(logs - highest).sum()))


class _Attacker:
    """An attacker's knowledge of choices: the visible choices, and a guess for hidden choices."""

    def __init__(self, noise: NoiseSource) -> None:
        self._noise = noise

    def laplace(self, step: str, *given: Any, **named: Any) -> Floats:
        raise AssertionError(f"a replay draws no noise, but {step} asked for noise")

    gumbel = uniform = k_norm = laplace

    def generator(self, step: str) -> np.random.Generator:
        """Stream of the run; a hidden step always gets the same stream."""
        hidden = step in HIDDEN and step not in getattr(self._noise, "public", ())
        return np.random.default_rng(0) if hidden else self._noise.generator(step)
