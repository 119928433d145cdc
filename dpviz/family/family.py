"""A family of methods: one object with everything that the rest of the program needs from it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Hashable, Mapping
from typing import Any, Generic, Protocol, TypeAlias, TypeVar

from dpviz.base.arrays import Floats
from dpviz.base.cached import cached_property
from dpviz.base.errors import InputError
from dpviz.data.dataset import Dataset
from dpviz.data.engine.tables import Engine
from dpviz.data.samples import Sample
from dpviz.data.stored import Stored
from dpviz.family.card import Card, VariantName
from dpviz.family.comparison import Comparison
from dpviz.family.method import Method
from dpviz.family.parameter import CHOOSE, PRIVATE, Parameter
from dpviz.family.score import Score
from dpviz.family.trial import Configuration, Trial
from dpviz.grid.domain import Domain, Outside
from dpviz.privacy.mechanisms import Accountant

#: Number of records in the data on which the times of methods are measured.
USUAL_RECORDS = 30_000

#: Smallest time of a draw, even on few records, as a share of its usual time.
LEAST_TIME = 0.2


class Material(Protocol):
    """A data set in the form that the methods of a family read."""

    @property
    def domain(self) -> Domain:
        """Bounds of the data."""

    @property
    def n(self) -> int:
        """Number of records that are used."""

    @property
    def n_outside(self) -> int:
        """Number of points outside the domain."""

    @property
    def dropped(self) -> int:
        """Number of rows that the counting pass over stored records left out; otherwise 0."""


C = TypeVar("C", bound=Configuration)
M = TypeVar("M", bound=Material)
R = TypeVar("R")


class AbstractFamily(ABC, Generic[C, M, R]):
    """A family of methods, with its configurations, its material and its runs.

    ``first`` is the default method of a screen, which has to compile the functions ``code``, each
    "module:name"; ``compared`` are the methods of a comparison. ``quick`` are scores that take at
    most the time of a draw, ``leading`` the most informative scores in the order of menus,
    ``swept`` the scores of a sweep in the order of columns (scores against known classes only for
    data with classes). Computing all scores multiplies the time of a draw by ``slow_times``. If
    ``grows``, this time grows with data. If ``many_columns``, the screen offers more than two.
    ``found`` is the main result of estimators, ``searched`` are pairs of parameters with a map. The
    true clustering depends on the parameters ``moves_truth``. ``preparing`` is the timed step that
    builds the material. If ``finds_number``, methods determine the number of clusters. A method can
    choose the parameters ``choosing`` privately. The method ``on_areas`` can use public areas
    instead of cells.
    """

    name: str
    title: str
    config: type[C]
    parameters: tuple[Parameter, ...]
    methods: dict[str, Method]
    scores: Mapping[str, Score]
    first: str
    code: tuple[str, ...]
    compared: tuple[str, ...]
    quick: tuple[str, ...]
    leading: tuple[str, ...]
    swept: tuple[str, ...]
    slow_times: float
    grows: bool
    many_columns: bool
    found: str
    fits_counts: bool
    searched: tuple[tuple[str, str], ...]
    moves_truth: frozenset[str]
    preparing: str
    finds_number: bool
    choosing: tuple[str, ...]
    on_areas: str = ""

    @abstractmethod
    def material(
        self,
        dataset: Dataset,
        config: C,
        domain: Domain | None,
        outside: Outside,
        *,
        secure: bool = False,
    ) -> M:
        """Return data as methods read them; a release (``secure``) accepts any number of rows."""

    @abstractmethod
    def stored(
        self,
        source: Stored,
        config: C,
        domain: Domain | None,
        outside: Outside,
        engine: Engine,
        *,
        secure: bool = False,
    ) -> M:
        """Return stored records in the form that methods read; an engine reads them in passes."""

    @abstractmethod
    def trial(self, material: M, config: C) -> Trial:
        """Combine material and configuration, ready for many draws."""

    @abstractmethod
    def comparison(self, trial: Any, outside: Outside) -> Comparison:
        """Return the report of the ``run`` command on one of the family's trials."""

    @abstractmethod
    def released(self, run: R, domain: Domain) -> dict[str, Any]:
        """Return the result of a private run in the form of ``release.json``."""

    @abstractmethod
    def true_settings(self, config: C) -> Hashable:
        """Settings on which the true run depends, as a key for caches."""

    @abstractmethod
    def suited(self, sample: Sample) -> dict[str, Any]:
        """Parameters that suit a sample set."""

    @abstractmethod
    def defaults(self, method: str, variant: VariantName) -> dict[str, Any]:
        """Default values of a method, which are set when a user chooses the method."""

    def add(self, method: Method) -> None:
        """Add a method that is not in the package; other processes do not have it."""
        self.methods[method.card.name] = method

    def from_centers(self, config: C, centers: Floats) -> R:
        """Return a run with centres (K, d) of other code; InputError if there are no centres."""
        raise InputError(f"{self.title} methods have no centres: give a method as a file.")

    def material_settings(self, config: C) -> Hashable:
        """Settings on which the material depends, as a key for caches."""
        return None

    def given_by_data(self, material: M) -> dict[str, Any]:
        """Values of the parameters that the data determine, by name."""
        return {}

    def from_public(self, config: C, records: int, ndim: int) -> dict[str, Any]:
        """Values of parameters that only the settings and the size of the data determine."""
        return {}

    def merging(self, config: C, ndim: int) -> list[tuple[float, float]]:
        """Two distances for each axis, as shares of the axis, below which two places become one.

        Two places become one cluster if they are closer than the first share on every axis. They
        may become one cluster if they are closer than the second share on every axis. The list is
        empty if no cells decide the number of clusters.
        """
        return []

    def with_parameter(self, name: str) -> Card:
        """Card of the first method that has a parameter."""
        return next(one.card for one in self.methods.values() if one.card.parameter(name))

    @cached_property
    def by_name(self) -> dict[str, Parameter]:
        """Parameters by name."""
        return {one.name: one for one in self.parameters}

    @cached_property
    def own(self) -> tuple[Parameter, ...]:
        """Parameters except epsilon; the parameters that all methods have are first."""
        others = [one for one in self.parameters if one.name != "epsilon"]
        return tuple(sorted(others, key=lambda one: not self.has_everywhere(one)))

    def has_everywhere(self, parameter: Parameter) -> bool:
        """Return whether all methods have a parameter."""
        return all(method.card.parameter(parameter.name) for method in self.methods.values())

    @cached_property
    def telling(self) -> tuple[str, ...]:
        """Names of all scores, most informative first."""
        return tuple(dict.fromkeys((*self.leading, *self.scores)))

    def choices(self, config: C, *, on_areas: bool = False) -> dict[str, Any]:
        """Values of a method's parameters, except epsilon and those that it chooses by itself."""
        card, left_out = self.methods[config.method].card, self.chosen(config)
        return {
            one.name: getattr(config, one.name)
            for one in self.own
            if card.parameter(one.name) and one.name not in left_out
        }

    def about_areas(self) -> dict[str, str]:
        """Title, summary and proof of the method on areas; they replace those on its card."""
        return {}

    def chosen(self, config: C) -> tuple[str, ...]:
        """Parameters that the configured method chooses itself, privately."""
        return self.choosing if getattr(config, CHOOSE.name, None) == PRIVATE else ()

    def run(self, material: M, config: C, accountant: Accountant) -> R:
        """Run the configured method once."""
        run: R = self.methods[config.method].run(material, config, accountant)
        return run

    def build(self, dataset: Dataset, config: C, domain: Domain | None, outside: Outside) -> Trial:
        """Combine data and configuration; raise InputError if they can't be used together."""
        return self.trial(self.material(dataset, config, domain, outside), config)

    def seconds(self, method: str, records: int, scores: Collection[str]) -> float:
        """Estimate the seconds that one draw of a method and its scores take."""
        seconds = self.methods[method].seconds
        if self.grows:
            seconds *= max(LEAST_TIME, records / USUAL_RECORDS)
        return seconds * (self.slow_times if set(scores) - set(self.quick) else 1)


#: Type of any family, for the rest of the program.
Family: TypeAlias = AbstractFamily[Any, Any, Any]
