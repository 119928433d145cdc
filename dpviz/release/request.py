"""The request of a release: only public choices, checked before any budget is spent."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Any

from dpviz.base.errors import InputError, PrivacyRefusal, shown
from dpviz.families import CARDS, family_of
from dpviz.family.card import Card
from dpviz.family.claim import claim
from dpviz.family.family import Family
from dpviz.family.trial import Configuration
from dpviz.grid.domain import Domain, Outside, check_outside

#: A longer title would not fit on the report.
_LONGEST_TITLE = 200

_DATE = re.compile(r"\d{4}-\d\d-\d\d")


@dataclass(frozen=True, kw_only=True)
class Request:
    """All choices of a release that do not depend on the data.

    Raises InputError if the title is too long for one line, or if there is a cap but no unit
    column.
    """

    #: Method, budget, neighbours and parameters, for either family.
    config: Configuration
    #: Bounds of the columns; None if no bounds are declared.
    domain: Domain | None
    outside: Outside = "clip"
    #: Column that identifies persons, if the privacy unit is a person; None if the unit is a
    #: record.
    unit: str | None = None
    #: The owner's title in the bundle; may be empty.
    title: str = ""
    #: Day of the release, as YYYY-MM-DD; "" if the bundle has no date. It is set before the run, so
    #: it does not show how long the run takes.
    date: str = ""

    def __post_init__(self) -> None:
        """Check the values that the other classes don't check."""
        check_outside(self.outside)
        if len(self.title) > _LONGEST_TITLE or not (self.title or " ").isprintable():
            raise InputError(
                f'title = "{shown(self.title)}" must be one line of up to {_LONGEST_TITLE} '
                "characters that can be printed."
            )
        if self.date and not _DATE.fullmatch(self.date):
            raise InputError(f'date = "{shown(self.date)}" is no date: write it as 2026-01-31.')
        if self.config.neighbours.cap > 1 and not self.persons:
            raise InputError(
                f"cap = {self.config.neighbours.cap} needs a unit column: name the column that "
                "identifies persons."
            )

    @property
    def persons(self) -> bool:
        """Whether the privacy unit is a person."""
        return self.unit is not None

    @property
    def family(self) -> Family:
        """Family of the method."""
        return family_of(self.config.method)

    @property
    def card(self) -> Card:
        """Card of the method."""
        return CARDS[self.config.method]

    @property
    def parameters(self) -> dict[str, Any]:
        """Public parameters of the method, without budget and neighbours."""
        return self.family.choices(self.config)

    @property
    def what(self) -> dict[str, Any]:
        """Content of the entry in the lifetime budget."""
        neighbours = self.config.neighbours
        return {
            "method": self.config.method,
            **self.parameters,
            "domain": str(self.domain),
            "neighbours": neighbours.relation,
            "unit": "person" if self.persons else "record",
            "unit_column": self.unit,
            "cap": neighbours.cap,
        }

    def granted(self, epsilon: float) -> Request:
        """Return the same request with the budget that was debited."""
        return replace(self, config=replace(self.config, epsilon=epsilon))

    def check(self) -> None:
        """Raise PrivacyRefusal, with the reason, if this request must not be released."""
        said = refusal(self.card, self.config, self.domain)
        if said:
            raise PrivacyRefusal(said)


def refusal(card: Card, config: Configuration, domain: Domain | None) -> str:
    """Sentence that says why a run can't be released with a valid proof; empty if it can."""
    if not card.spends:
        return f"{card.title} has no noise, so its result is not released: choose a private method."
    verdict = claim(card, config, domain)
    if config.variant != "sound":
        why = "" if verdict.private else f" {verdict.reason}"
        return f"{card.title} as published is not released: use the sound variant.{why}"
    if domain is None or not domain.declared:
        return (
            "The domain is not declared: bounds from the data reveal its smallest and largest "
            "values, so declare bounds that are known without the data, for every column "
            "(open the step Where on the screen, or give --domain on the command line)."
        )
    return "" if verdict.private else f"{card.title} is not released: {verdict.reason}"
