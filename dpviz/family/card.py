"""The facts about a method that people read: one card in every method file."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Family = Literal["wavecluster", "kmeans"]
VariantName = Literal["sound", "published"]

#: Reason of every variant without noise.
NOT_PRIVATE = "No noise anywhere: the result tells everything, down to a single record."


@dataclass(frozen=True, kw_only=True)
class Variant:
    """One way to build a method, and whether its privacy claim holds.

    ``reason`` is a proof sketch where ``private`` is true, else why the claim fails.
    """

    name: VariantName
    private: bool
    reason: str


@dataclass(frozen=True, kw_only=True)
class Parameter:
    """A control of a method: its default and the range that the screen offers."""

    name: str
    default: float | int | str | None
    low: float | int | None = None
    high: float | int | None = None


@dataclass(frozen=True, kw_only=True)
class Card:
    """What a method is, where it comes from and what it promises.

    Parameters
    ----------
    name
        Key on the command line and in links.
    family
        ``"wavecluster"`` or ``"kmeans"``.
    title
        Name on the screen.
    estimator
        Class in :mod:`dpviz.wavecluster.estimators`.
    summary
        One or two sentences on how it works.
    paper, algorithm
        Authors and year; number of the algorithm in that paper.
    origin
        File number of the paper in our collection, an author, or ``"ours"``.
    variants, parameters
        See :class:`Variant`, :class:`Parameter`.
    deviations
        Where the code differs from the paper, and why.
    """

    name: str
    family: Family
    title: str
    estimator: str
    summary: str
    paper: str
    algorithm: str
    origin: str
    variants: tuple[Variant, ...]
    parameters: tuple[Parameter, ...]
    deviations: tuple[str, ...] = ()

    def variant(self, name: str) -> Variant:
        """Return the variant of that name."""
        return next(variant for variant in self.variants if variant.name == name)

    def parameter(self, name: str) -> Parameter | None:
        """Return the parameter of that name, or None where the method has none."""
        return next((one for one in self.parameters if one.name == name), None)

    @property
    def spends(self) -> bool:
        """Whether the method takes a privacy budget at all."""
        return self.parameter("epsilon") is not None
