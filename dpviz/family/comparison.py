"""True and private runs of one method as plain values and lines of text: what ``run`` prints."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from dpviz.domain import Domain

Report = dict[str, Any]

#: Numbers of the known classes, shape (n,), where a column of them was named.
Classes = NDArray[np.intp] | None


class Comparison(Protocol):
    """True and private runs of one method on one data set."""

    @property
    def domain(self) -> Domain:
        """Bounds of the data."""
        ...

    @property
    def n(self) -> int:
        """Number of records that take part."""
        ...

    @property
    def n_outside(self) -> int:
        """Points outside the domain."""
        ...

    def settings(self) -> Report:
        """All public choices."""
        ...

    def notes(self) -> list[str]:
        """What a person may not expect of these data."""
        ...

    def beyond(self, draws: Sequence[Any]) -> Self:
        """Return the same with a true run that no draw is better than."""
        ...

    def true(self) -> Report:
        """Key figures of the true run."""
        ...

    def draw(self, seed: int) -> Any:
        """One private run."""
        ...

    def scores(self, one: Any, seed: int) -> dict[str, float]:
        """All scores of one draw that compare it with the true run."""
        ...

    def summary(self, one: Any, scores: dict[str, float]) -> Report:
        """Key figures of one draw."""
        ...

    def label(self, points: NDArray[np.float64], one: Any | None) -> NDArray[np.intp]:
        """Cluster of every point in a draw, or in the true run; -1 = noise, or left out."""
        ...

    def text(self, report: Report) -> list[str]:
        """Choices and key figures for people."""
        ...


def first_draws(lines: list[str], most: int = 10) -> list[str]:
    """As many lines as a person reads, and how many draws more there are."""
    if len(lines) <= most:
        return lines
    return [*lines[:most], f"         ... and {len(lines) - most} more draws"]
