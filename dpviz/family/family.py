"""A family of methods: everything that the rest of the program needs from it, in one object."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Hashable, Mapping
from functools import cached_property
from typing import Any, Generic, Protocol, TypeAlias, TypeVar

from dpviz.data.dataset import Dataset
from dpviz.data.engine.tables import Engine
from dpviz.data.samples import Sample
from dpviz.data.stored import Stored
from dpviz.family.card import VariantName
from dpviz.family.comparison import Comparison
from dpviz.family.method import Method
from dpviz.family.parameter import CHOOSE, PRIVATE, Parameter
from dpviz.family.score import Score
from dpviz.family.trial import Configuration, Trial
from dpviz.grid.domain import Domain, Outside
from dpviz.privacy.mechanisms import Accountant

#: Records of the data on which the seconds of methods are measured.
USUAL_RECORDS = 30_000

#: On few records a draw still takes this share of its usual time.
LEAST_TIME = 0.2


class Material(Protocol):
    """A data set as the methods of a family read it."""

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

    @property
    def dropped(self) -> int:
        """Rows left out by the pass that counted stored records; else 0."""
        ...


#: A family's configurations, its material and its runs.
C = TypeVar("C", bound=Configuration)
M = TypeVar("M", bound=Material)
R = TypeVar("R")


class AbstractFamily(ABC, Generic[C, M, R]):
    """A family of methods, with its configurations, its material and its runs.

    Attributes
    ----------
    name, title
        Key in JSON and links to pages; name for people.
    config
        Class of its configurations; keyword arguments are the parameters.
    parameters, methods, scores
        What it offers; scores and methods by name.
    first, compared
        Default method on a screen; methods that a comparison begins with, whose draws are quick.
    quick, leading
        Scores that cost at most as much as a draw; most informative ones, in the order of the
        menus.
    swept
        Default scores of a sweep, in the order of the table's columns. Those against known
        classes, here and above, are for data with classes.
    slow_times, grows
        Factor on the time of a draw if all scores are computed; whether a draw takes longer on more
        records.
    many_columns
        Whether the screen offers more than two columns.
    found, fits_counts
        Of its estimators: attribute with the main result; whether they fit a grid of counts.
    searched, moves_truth
        Pairs of parameters over which a map may be searched; parameters that the true clustering
        depends on.
    preparing
        Name of the step that builds the material, among the timed steps.
    finds_number
        Whether its methods find the number of clusters, and so can invent some.
    choosing
        Parameters that a method can choose under privacy: see :data:`.parameter.CHOOSE`.
    """

    name: str
    title: str
    config: type[C]
    parameters: tuple[Parameter, ...]
    methods: Mapping[str, Method]
    scores: Mapping[str, Score]
    first: str
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
        """Return data as the methods read them; a release (``secure``) must accept any records.

        Without a domain, that of :func:`dpviz.family.run_domain.run_domain`.
        """

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
        """Return records that stay where they are stored, read by an engine, in the same form."""

    @abstractmethod
    def trial(self, material: M, config: C) -> Trial:
        """Combine material and configuration, ready for many draws."""

    @abstractmethod
    def comparison(self, trial: Any, outside: Outside) -> Comparison:
        """Return what the ``run`` command reports of one of its trials."""

    @abstractmethod
    def released(self, run: R, domain: Domain) -> dict[str, Any]:
        """Return the result of a private run as ``release.json`` has it."""

    @abstractmethod
    def true_settings(self, config: C) -> Hashable:
        """Settings of a configuration that the true run depends on, as a key for caches."""

    @abstractmethod
    def suited(self, sample: Sample) -> dict[str, Any]:
        """Parameters that suit a sample set."""

    @abstractmethod
    def defaults(self, method: str, variant: VariantName) -> dict[str, Any]:
        """Choices that a method sets when it is chosen."""

    def material_settings(self, config: C) -> Hashable:
        """Settings of a configuration that the material depends on, as a key for caches."""
        return None

    def given_by_data(self, material: M) -> dict[str, Any]:
        """Parameters that the data of a material determine, by name."""
        return {}

    def from_public(self, config: C, records: int, ndim: int) -> dict[str, Any]:
        """Parameters that follow from settings and the numbers of records and columns alone."""
        return {}

    def parameter(self, name: str) -> Parameter:
        """Return the parameter of that name."""
        return self.by_name[name]

    @cached_property
    def by_name(self) -> dict[str, Parameter]:
        """Parameters by name."""
        return {one.name: one for one in self.parameters}

    @cached_property
    def own(self) -> tuple[Parameter, ...]:
        """Parameters but epsilon: those that every method has, then those that some have."""
        others = [one for one in self.parameters if one.name != "epsilon"]
        return tuple(sorted(others, key=lambda one: not self.has_everywhere(one)))

    def has_everywhere(self, parameter: Parameter) -> bool:
        """Whether all methods have a parameter."""
        return all(method.card.parameter(parameter.name) for method in self.methods.values())

    @cached_property
    def telling(self) -> tuple[str, ...]:
        """Names of all scores, most informative first."""
        return tuple(dict.fromkeys((*self.leading, *self.scores)))

    def choices(self, config: C) -> dict[str, Any]:
        """Parameters of a configuration that its method has, but epsilon, with their values.

        Those that the method chooses itself are not among them.
        """
        card, left_out = self.methods[config.method].card, self.chosen(config)
        return {
            one.name: getattr(config, one.name)
            for one in self.own
            if card.parameter(one.name) and one.name not in left_out
        }

    def chosen(self, config: C) -> tuple[str, ...]:
        """Parameters that a configuration leaves to its method to choose under privacy."""
        return self.choosing if getattr(config, CHOOSE.name, None) == PRIVATE else ()

    def run(self, material: M, config: C, accountant: Accountant) -> R:
        """Run the configured method once."""
        run: R = self.methods[config.method].run(material, config, accountant)
        return run

    def build(self, dataset: Dataset, config: C, domain: Domain | None, outside: Outside) -> Trial:
        """Combine data and configuration; InputError where they do not fit together."""
        return self.trial(self.material(dataset, config, domain, outside), config)

    def seconds(self, method: str, records: int, scores: Collection[str]) -> float:
        """Estimate the seconds of a draw of a method with some scores."""
        seconds = self.methods[method].seconds
        if self.grows:
            seconds *= max(LEAST_TIME, records / USUAL_RECORDS)
        return seconds * (self.slow_times if set(scores) - set(self.quick) else 1)


#: Any family, as the rest of the program uses it.
Family: TypeAlias = AbstractFamily[Any, Any, Any]
