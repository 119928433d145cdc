"""One method with fixed settings on one data set: only the seed varies between draws."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar, Protocol, Self

from dpviz.base.arrays import Floats, Ints, Labels, Mask
from dpviz.family.card import VariantName
from dpviz.privacy.ledger import Neighbours


class Configuration(Protocol):
    """Common fields of the configurations of all families; each configuration is a dataclass."""

    __dataclass_fields__: ClassVar[dict[str, Any]]

    @property
    def method(self) -> str:
        """Name of the method."""

    @property
    def epsilon(self) -> float:
        """Whole privacy budget."""

    @property
    def variant(self) -> VariantName:
        """``"sound"`` or ``"published"``."""

    @property
    def neighbours(self) -> Neighbours:
        """Relation and privacy unit."""


class Trial(Protocol):
    """One method with fixed settings on one data set."""

    @property
    def config(self) -> Any:
        """Method and parameters."""

    @property
    def material(self) -> Any:
        """Data in the form that the methods read."""

    @property
    def score_names(self) -> tuple[str, ...]:
        """Scores that these data allow."""

    def at(self, **changes: Any) -> Self:
        """Return a trial with other settings and the same true run."""

    def draw(self, seed: int) -> Any:
        """One private run."""

    def scores(self, one: Any, seed: int, names: Sequence[str]) -> dict[str, float]:
        """Compute these scores of one draw; ``seed`` is the seed of the draw."""

    def affected(self, one: Any) -> Mask:
        """Mask of the significant cells of a draw, or of the records that change their cluster."""

    def centers(self, one: Any) -> Floats | None:
        """Centres of a draw, shape (K, d); None if the family has no centres."""

    def true(self) -> dict[str, float]:
        """Scores of the true run, except the scores that compare a draw with the true run."""

    def label(self, one: Any | None) -> Labels:
        """Cluster of every record in a draw, or in the true run (None), shape (n,)."""

    def tables(self, reference: Labels) -> Callable[[Any], Ints]:
        """Return a function that makes the contingency table of a draw with these record labels."""
