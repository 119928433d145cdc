"""The only module that imports all families."""

from __future__ import annotations

from typing import Any

from dpviz.data.dataset import Dataset
from dpviz.data.samples import Sample
from dpviz.family.card import Card
from dpviz.family.family import Family
from dpviz.family.parameter import Parameter, check_option
from dpviz.family.score import Score
from dpviz.family.trial import Configuration, Trial
from dpviz.grid.domain import Domain, Outside
from dpviz.kmeans.family import FAMILY as KMEANS
from dpviz.wavecluster.family import FAMILY as WAVECLUSTER

#: Families by name, in the order of the menus.
FAMILIES: dict[str, Family] = {family.name: family for family in (WAVECLUSTER, KMEANS)}

#: Cards of all methods, by name.
CARDS: dict[str, Card] = {
    name: method.card for family in FAMILIES.values() for name, method in family.methods.items()
}

#: All scores by name. A name that two families share has the same meaning in both families.
SCORES: dict[str, Score] = {
    name: family.scores[name] for family in FAMILIES.values() for name in family.telling
}

#: Parameters of all families by name; all families share epsilon.
PARAMETERS: dict[str, Parameter] = {
    one.name: one for family in FAMILIES.values() for one in family.parameters
}


def family_of(method: str) -> Family:
    """Return the family of a method; an unknown method raises InputError."""
    check_option("method", method, CARDS)
    return FAMILIES[CARDS[method].family]


def score_of(name: str) -> Score:
    """Return the description of a score; the description of an unknown score is only a name."""
    return SCORES.get(name) or Score(name=name, title=name, compute=lambda one: one[name])


def settings_of(known: Sample) -> dict[str, Any]:
    """Names and values of the parameters that suit a sample set."""
    return {
        name: value for family in FAMILIES.values() for name, value in family.suited(known).items()
    }


def trial_of(
    dataset: Dataset, config: Configuration, domain: Domain | None = None, outside: Outside = "clip"
) -> Trial:
    """Combine data with a configuration of any family.

    Raises
    ------
    InputError
        If data, configuration and domain do not match.
    """
    return family_of(config.method).build(dataset, config, domain, outside)
