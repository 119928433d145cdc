"""Record the answers of a run's mechanisms, and replay these answers in another run.

If runs on two data sets get the same answers, only their requests can distinguish the data.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpviz.privacy.ledger import Spend
from dpviz.privacy.mechanisms import Accountant
from dpviz.privacy.secure import SecureAccountant


@dataclass(frozen=True, kw_only=True, eq=False)
class Request:
    """Input and answer of a mechanism, and the cost."""

    kind: str
    step: str
    values: NDArray[np.float64]
    answer: Any
    spends: tuple[Spend, ...]
    edges: NDArray[np.float64] | None = None
    monotone: bool = False
    ball: int | None = None
    levels: int = 0

    @property
    def disjoint(self) -> bool:
        """Whether the rows of the ledger depend on disjoint records."""
        return self.spends[0].composition == "parallel"


class Recorder(Accountant):
    """Accountant that stores all requests, and may replay the answers of another accountant."""

    def __init__(self, *given: Any, answers: Sequence[Any] | None = None, **options: Any) -> None:
        super().__init__(*given, **options)
        self.requests: list[Request] = []
        self.answers: Iterator[Any] | None = None if answers is None else iter(answers)

    def laplace(self, step: str, values: Any, **options: Any) -> Any:
        return self._keep("laplace", step, values, super().laplace, values, **options)

    def laplace_disjoint(self, step: str, values: Any, **options: Any) -> Any:
        return self._keep("laplace", step, values, super().laplace_disjoint, values, **options)

    def choose(self, step: str, scores: Any, **options: Any) -> Any:
        return self._keep("choose", step, scores, super().choose, scores, **options)

    def interval(self, step: str, edges: Any, scores: Any, **options: Any) -> Any:
        return self._keep("interval", step, scores, super().interval, edges, scores, **options)

    def k_norm(self, step: str, values: Any, **options: Any) -> Any:
        return self._keep("k_norm", step, values, super().k_norm, values, **options)

    def gradual(self, values: Any, levels: Any, **options: Any) -> Any:
        step, found = levels[0].step, super().gradual

        def coarsest(_: str, *given: Any, **named: Any) -> Any:
            nonlocal kept
            kept = found(*given, **named)
            return kept.noisy

        kept: Any = None
        noisy = self._keep("gradual", step, values, coarsest, values, levels, **options)
        kept.noisy = noisy
        return kept

    def finer(self, gradual: Any, level: int) -> Any:
        finer = super().finer
        step, values = gradual.levels[level].step, gradual.values
        gradual.noisy = self._keep("finer", step, values, lambda _: finer(gradual, level))
        return gradual.noisy

    def split(self, gradual: Any, where: Any, numbers: Any) -> Any:
        # A record may change a value or a number, so one budget covers both changes.
        values, split = np.append(gradual.values[where], numbers), super().split
        step = gradual.levels[-1].step
        return self._keep("split", step, values, lambda _: split(gradual, where, numbers))

    def _keep(
        self, kind: str, step: str, values: Any, ask: Any, *given: Any, **options: Any
    ) -> Any:
        values, before = np.array(values, dtype=float), len(self.ledger.spends)
        answer = ask(step, *given, **options)
        if self.answers is not None:
            fixed = next(self.answers)
            if kind in ("laplace", "choose"):
                assert np.shape(fixed) == np.shape(answer)
            # For an interval, only the value is an answer; the interval's number is not released.
            answer = (answer[0], fixed[1]) if kind == "interval" else fixed
        self.requests.append(
            Request(
                kind=kind,
                step=step,
                values=values,
                answer=answer,
                spends=self.ledger.spends[before:],
                edges=given[0] if kind == "interval" else None,
                monotone=options.get("monotone", False),
                ball=options.get("ball"),
                levels=len(given[1]) if kind == "gradual" else 0,
            )
        )
        return answer


class SecureRecorder(Recorder, SecureAccountant):
    """A recorder with the noise of a release."""


def on_the_line(requests: Sequence[Request]) -> NDArray[np.float64]:
    """Scores of one step at points of the line, shape (data sets, points).

    Interval i is from edge i (excluded) to edge i + 1 (included). Scores change only at edges, so
    all edges of the data sets and one point between each two edges are enough.
    """
    edges = np.unique(np.concatenate([request.edges for request in requests]))
    points = np.concatenate([edges[1:], (edges[1:] + edges[:-1]) / 2])
    return np.array(
        [request.values[np.searchsorted(request.edges, points) - 1] for request in requests]
    )
