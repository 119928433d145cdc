"""Scenarios of an audit: a mechanism, two neighbouring data sets, and the scores to compare."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from dpviz.audit import data, planted, scores
from dpviz.audit.noise import RunNoise
from dpviz.audit.planted import Bug
from dpviz.base.cached import cached_property
from dpviz.base.errors import InputError, shown
from dpviz.base.tables import read_beside
from dpviz.families import CARDS, family_of
from dpviz.family.card import VariantName
from dpviz.family.claim import Claim, claim
from dpviz.family.parameter import check_option
from dpviz.family.trial import Configuration
from dpviz.privacy.ledger import Neighbours, Relation
from dpviz.privacy.noise_source import NoiseSource, SeededNoise


@dataclass(frozen=True, kw_only=True)
class Scenario:
    """One mechanism on two neighbouring data sets (``pair`` of a claim), with scores to compare.

    ``name`` is the key on the command line, equal for both variants of a case. ``runs`` on each
    data set show the effect in less than half a minute. ``planted``: a mistake on purpose.
    ``noise`` may have a known seed or public choices. ``sides``: words after "of runs".
    """

    name: str
    method: str
    variant: VariantName
    description: str
    pair: Callable[[float], tuple[Any, Any]]
    groups: tuple[str, ...]
    runs: int = 20_000
    options: Mapping[str, Any] = field(default_factory=dict)
    relation: Relation = "add_remove"
    planted: bool = False
    bug: Bug | None = None
    run: Callable[..., Any] | None = None
    noise: Callable[..., NoiseSource] = RunNoise
    sides: tuple[str, str] = ("without", "with the person")

    def config(self, claim: float) -> Configuration:
        """Public parameters, with the claim as the budget."""
        given: dict[str, Any] = {
            "method": self.method,
            "variant": self.variant,
            "epsilon": claim,
            "neighbours": Neighbours(relation=self.relation),
            **self.options,
        }
        config: Configuration = family_of(self.method).config(**given)
        return config

    @cached_property
    def verdict(self) -> Claim:
        """Claim for the method's runs in this scenario; a planted mistake does not change it."""
        return claim(CARDS[self.method], self.config(1.0), self.pair(1.0)[1].domain)

    @property
    def private(self) -> bool:
        """Whether the mechanism really is as private as claimed."""
        return not self.planted and self.verdict.private


def scenarios(method: str | None = None, variant: str | None = None) -> tuple[Scenario, ...]:
    """All scenarios, or the scenarios of a method or variant; planted mistakes are last."""
    if method in CARDS and variant in _VARIANTS:
        variant = CARDS[method].variant(variant).name
    known = (*_DESIGNED, *_plain(), *_PLANTED)
    return tuple(
        one for one in known if method in (None, one.method) and variant in (None, one.variant)
    )


def find(method: str, variant: str, name: str | None = None) -> Scenario:
    """Return a scenario by name, or the first of a method and variant; InputError lists choices."""
    check_option("method", method, CARDS)
    if not CARDS[method].spends:
        raise InputError(f"method = {method} takes no privacy budget: there is no claim to audit.")
    offered = scenarios(method, variant)
    if not offered:
        raise InputError(f'variant = "{shown(variant)}" is unknown: choose sound or published.')
    if name is None:
        return offered[0]
    for one in offered:
        if one.name == name:
            return one
    known = ", ".join(one.name for one in offered)
    raise InputError(
        f'scenario = "{shown(name)}" is unknown for {method} {variant}: choose from {known}.'
    )


# -- the file ------------------------------------------------------------------------------

_VARIANTS: tuple[VariantName, ...] = ("published", "sound")

#: Common names for groups of scores: everything that a run of a family releases.
_RELEASES = {"cells": scores.WAVECLUSTER_RELEASES, "centers": scores.KMEANS_RELEASES}


@dataclass(frozen=True, kw_only=True)
class _Entry:
    """Scenarios in ``scenarios.toml``; ``published`` and ``sound`` replace fields for a variant."""

    methods: tuple[str, ...]
    name: str
    description: str
    pair: str
    of: Mapping[str, Any] = field(default_factory=dict)
    variants: tuple[VariantName, ...] = _VARIANTS
    groups: tuple[str, ...] = (scores.LIKELIHOOD,)
    runs: int = 20_000
    options: Mapping[str, Any] = field(default_factory=dict)
    relation: Relation = "add_remove"
    sides: tuple[str, ...] = ("without", "with the person")
    public: tuple[str, ...] = ()
    published: Mapping[str, Any] = field(default_factory=dict)
    sound: Mapping[str, Any] = field(default_factory=dict)
    run: str | None = None
    steps: str = "*"
    factor: float = 1.0

    def scenario(self, method: str, variant: VariantName, *, mistake: bool = False) -> Scenario:
        pair = getattr(data, self.pair)
        noise = partial(RunNoise, public=self.public) if self.public else RunNoise
        without, joined = self.sides
        return Scenario(
            name=self.name,
            method=method,
            variant=variant,
            description=f"Planted: {self.description}." if mistake else self.description,
            pair=partial(pair, **self.of) if self.of else pair,
            groups=tuple(one for group in self.groups for one in _RELEASES.get(group, (group,))),
            runs=self.runs,
            options=self.options,
            relation=self.relation,
            planted=mistake,
            bug=None if self.factor == 1 else Bug(self.steps, self.factor),
            run=None if self.run is None else getattr(planted, self.run),
            # An attacker who knows the seed also knows the noise.
            noise=SeededNoise if self.run == "known_seed" else noise,
            sides=(without, joined),
        )


@dataclass(frozen=True, kw_only=True)
class _File:
    designed: tuple[_Entry, ...]
    planted: tuple[_Entry, ...]


_FILE: _File = read_beside(__file__, _File)


_DESIGNED = tuple(
    replace(entry, **getattr(entry, variant)).scenario(method, variant)
    for entry in _FILE.designed
    for method in entry.methods
    for variant in entry.variants
)


def _plain() -> tuple[Scenario, ...]:
    """Methods without a designed scenario, also those of a file, get the simplest scenario."""
    spending = {name for name, card in CARDS.items() if card.spends}
    return tuple(
        Scenario(
            name="first-record",
            method=method,
            variant=variant.name,
            description="There is nobody; one person joins.",
            pair=partial(data.first_of_all, method),
            groups=(scores.LIKELIHOOD,),
            runs=10_000,
        )
        for method in sorted(spending - {one.method for one in _DESIGNED})
        for variant in CARDS[method].variants
    )


_PLANTED = tuple(
    entry.scenario(method, "sound", mistake=True)
    for entry in _FILE.planted
    for method in entry.methods
)
