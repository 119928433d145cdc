"""True and private runs of one method, as plain values and text for the ``run`` command."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from dpviz.base.arrays import Floats, Labels
from dpviz.family.score import OF_CLASSES
from dpviz.grid.domain import Outside

Report = dict[str, Any]


@dataclass(frozen=True, eq=False)
class Comparison(ABC):
    """True and private runs of one method on one data set; each family adds its own report."""

    trial: Any
    outside: Outside

    @property
    def material(self) -> Any:
        """Data in the form that the methods read."""
        return self.trial.material

    def settings(self) -> Report:
        """All public choices."""
        return asdict(self.trial.config)

    @property
    def class_scores(self) -> tuple[str, ...]:
        """Names of the scores that compare clusters with known classes; empty without classes."""
        return tuple(name for name in OF_CLASSES if name in self.trial.score_names)

    def beyond(self, draws: Sequence[Any]) -> Comparison:
        """Return this comparison with a true run that is at least as good as every draw."""
        return self

    @abstractmethod
    def notes(self) -> list[str]:
        """Notes for users on unexpected properties of these data."""

    @abstractmethod
    def true(self) -> Report:
        """Main numbers of the true run."""

    def draw(self, seed: int) -> Any:
        """One private run."""
        return self.trial.draw(seed)

    @abstractmethod
    def scores(self, one: Any, seed: int) -> dict[str, float]:
        """All scores that compare one draw with the true run."""

    @abstractmethod
    def summary(self, one: Any, scores: dict[str, float]) -> Report:
        """Main numbers of one draw."""

    @abstractmethod
    def label(self, points: Floats, one: Any | None) -> Labels:
        """Cluster of every point in a draw, or in the true run (None); -1: noise, or left out."""

    @abstractmethod
    def text(self, report: Report) -> list[str]:
        """Lines for human readers with the settings and the main numbers of a report."""


def class_text(true: Report) -> str:
    """Scores that compare the true run with known classes, as text for the end of a line."""
    return "".join(f"  {name} {true[name]:.4g}" for name in OF_CLASSES if name in true)


def first_draws(lines: list[str], most: int = 10) -> list[str]:
    """Return the first ``most`` lines, and a line with the number of the other draws."""
    if len(lines) <= most:
        return lines
    return [*lines[:most], f"         ... and {len(lines) - most} more draws"]
