"""A family of methods: everything that the rest of the program needs from it, in one object."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

from dpviz.data.dataset import Dataset
from dpviz.data.samples import Sample
from dpviz.family.card import VariantName
from dpviz.family.comparison import Comparison
from dpviz.family.method import Method
from dpviz.family.parameter import CHOOSE, PRIVATE, Parameter
from dpviz.family.score import Score
from dpviz.family.trial import Trial
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


@dataclass(frozen=True, kw_only=True, eq=False)
class Family:
    """A family of methods.

    Parameters
    ----------
    name, title
        Key in JSON and links to pages; name for people.
    config
        Class of its configurations; keyword arguments are the parameters.
    parameters, methods, scores
        What it offers; scores and methods by name.
    first
        Default method on a screen.
    quick
        Scores that cost at most as much as a draw.
    leading
        Most informative scores, in the order of the menus.
    swept
        Default scores of a sweep, in the order of the table's columns. Those against known
        classes, here and above, are for data with classes.
    slow_times
        Factor on the time of a draw if all scores are computed.
    grows
        Whether a draw takes longer on more records.
    many_columns
        Whether the screen offers more than two columns.
    found
        Attribute of its estimators with the main result.
    fits_counts
        Whether its estimators fit a grid of counts.
    searched
        Pairs of parameters over which a map may be searched.
    moves_truth
        Parameters that the true clustering depends on.
    material
        ``material(dataset, config, domain, outside, secure=False)``: data as the methods read it;
        a release (``secure``) must accept any records. Without a domain, that of
        :func:`dpviz.family.run_domain.run_domain`.
    stored
        ``stored(source, config, domain, outside, engine, secure=False)``: the same for records
        that stay where they are stored, read by an engine.
    preparing
        Name of the step that builds the material, among the timed steps.
    trial, comparison
        ``trial(material, config)``, ``comparison(trial, outside)``.
    material_settings
        Settings of a configuration that the material depends on, as a key for caches.
    true_settings
        Settings of a configuration that the true run depends on, as a key for caches.
    given_by_data
        Parameters of a material that the data determine, by name.
    released
        ``released(run, domain)``: result of a private run as ``release.json`` has it.
    suited
        Parameters that suit a sample set.
    defaults
        ``defaults(method, variant)``: choices that a method sets when it is chosen.
    finds_number
        Whether its methods find the number of clusters, and so can invent some.
    choosing
        Parameters that a method can choose under privacy: see :data:`.parameter.CHOOSE`.
    from_public
        ``from_public(config, records, ndim)``: parameters that follow from public facts alone,
        the number of records and of columns, and the settings of a configuration.
    """

    name: str
    title: str
    config: Callable[..., Any]
    parameters: tuple[Parameter, ...]
    methods: Mapping[str, Method]
    scores: Mapping[str, Score]
    first: str
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
    material: Callable[..., Any]
    stored: Callable[..., Any]
    preparing: str
    trial: Callable[[Any, Any], Trial]
    comparison: Callable[[Any, Outside], Comparison]
    material_settings: Callable[[Any], Any]
    true_settings: Callable[[Any], Any]
    given_by_data: Callable[[Any], dict[str, Any]]
    released: Callable[[Any, Domain], dict[str, Any]]
    suited: Callable[[Sample], dict[str, Any]]
    defaults: Callable[[str, VariantName], dict[str, Any]]
    finds_number: bool
    choosing: tuple[str, ...] = ()
    from_public: Callable[[Any, int, int], dict[str, Any]] = lambda config, records, ndim: {}

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

    def choices(self, config: Any) -> dict[str, Any]:
        """Parameters of a configuration that its method has, but epsilon, with their values.

        Those that the method chooses itself are not among them.
        """
        card, left_out = self.methods[config.method].card, self.chosen(config)
        return {
            one.name: getattr(config, one.name)
            for one in self.own
            if card.parameter(one.name) and one.name not in left_out
        }

    def chosen(self, config: Any) -> tuple[str, ...]:
        """Parameters that a configuration leaves to its method to choose under privacy."""
        return self.choosing if getattr(config, CHOOSE.name, None) == PRIVATE else ()

    def run(self, material: Any, config: Any, accountant: Accountant) -> Any:
        """Run the configured method once."""
        return self.methods[config.method].run(material, config, accountant)

    def build(
        self, dataset: Dataset, config: Any, domain: Domain | None, outside: Outside
    ) -> Trial:
        """Combine data and configuration.

        Raises
        ------
        InputError
            Where they do not fit together.
        """
        return self.trial(self.material(dataset, config, domain, outside), config)

    def seconds(self, method: str, records: int, scores: Collection[str]) -> float:
        """Estimate the seconds of a draw of a method with some scores."""
        seconds = self.methods[method].seconds
        if self.grows:
            seconds *= max(LEAST_TIME, records / USUAL_RECORDS)
        return seconds * (self.slow_times if set(scores) - set(self.quick) else 1)
