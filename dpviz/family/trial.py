"""One method at one setting on one data set, ready to be drawn and scored many times.

Only the seed varies; everything that does not depend on it is computed once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from dpviz.family.card import VariantName
from dpviz.privacy.ledger import Neighbours


class Configuration(Protocol):
    """Common fields of the configurations of all families, which are dataclasses."""

    __dataclass_fields__: ClassVar[dict[str, Any]]

    @property
    def method(self) -> str:
        """Name of the method."""
        ...

    @property
    def epsilon(self) -> float:
        """Whole privacy budget."""
        ...

    @property
    def variant(self) -> VariantName:
        """``"sound"`` or ``"published"``."""
        ...

    @property
    def neighbours(self) -> Neighbours:
        """Relation and privacy unit."""
        ...


class Trial(Protocol):
    """One method at one setting on one data set."""

    @property
    def config(self) -> Any:
        """Method and parameters."""
        ...

    @property
    def material(self) -> Any:
        """Data as the methods read them."""
        ...

    @property
    def score_names(self) -> tuple[str, ...]:
        """Scores that these data allow."""
        ...

    def at(self, **changes: Any) -> Self:
        """Return the trial at other settings, on the same true run."""
        ...

    def draw(self, seed: int) -> Any:
        """One private run."""
        ...

    def scores(self, one: Any, seed: int, names: Sequence[str]) -> dict[str, float]:
        """Score the draw of a seed."""
        ...

    def affected(self, one: Any) -> NDArray[np.bool_]:
        """Mask of the places that a draw changes: see the families."""
        ...

    def centers(self, one: Any) -> NDArray[np.float64] | None:
        """Centres of a draw, shape (K, d); None where it has none."""
        ...

    def true(self) -> dict[str, float]:
        """Scores of the true run that are not comparisons with it."""
        ...

    def label(self, one: Any | None) -> NDArray[np.int32]:
        """Cluster of every record in a draw, or in the true run, shape (n,)."""
        ...

    def tables(self, reference: NDArray[np.int32]) -> Callable[[Any], NDArray[np.int64]]:
        """Return the function from a draw to its contingency table with labels of the records."""
        ...
