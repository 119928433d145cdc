"""The request of a release: only public choices, checked before any budget is spent."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from datetime import date
from typing import Any

from dpviz.base.errors import InputError, PrivacyRefusal, shown
from dpviz.families import CARDS, FAMILIES, family_of
from dpviz.family.card import Card
from dpviz.family.claim import claim
from dpviz.family.family import Family
from dpviz.family.parameter import CHOOSE, PRIVATE
from dpviz.family.trial import Configuration
from dpviz.grid.areas import Areas
from dpviz.grid.domain import Domain, Outside, check_outside
from dpviz.privacy.ledger import Neighbours

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
    #: Column that identifies persons if the privacy unit is a person, otherwise None.
    unit: str | None = None
    #: Whether the owner was asked, and declared, that no person has several records.
    one_record_each: bool = False
    #: The owner's title in the bundle; may be empty.
    title: str = ""
    #: Public areas in which records are counted, instead of cells; then ``domain`` is their box,
    #: and records in no area are left out.
    areas: Areas | None = None
    #: Day of the release, as YYYY-MM-DD; "" if the bundle has no date. It is set before the run, so
    #: it does not show how long the run takes.
    date: str = ""

    def __post_init__(self) -> None:
        """Check the values that the other classes don't check."""
        check_outside(self.outside)
        if self.areas is not None:
            self._check_areas(self.areas)
        if len(self.title) > _LONGEST_TITLE or not (self.title or " ").isprintable():
            raise InputError(
                f'title = "{shown(self.title)}" must be one line of up to {_LONGEST_TITLE} '
                "characters that can be printed."
            )
        if self.date and not _is_date(self.date):
            raise InputError(f'date = "{shown(self.date)}" is no date: write it as 2026-01-31.')
        if self.config.neighbours.cap > 1 and not self.persons:
            raise InputError(
                f"cap = {self.config.neighbours.cap} needs a unit column: name the column that "
                "identifies persons."
            )

    def _check_areas(self, areas: Areas) -> None:
        method = self.family.on_areas
        if self.config.method != method:
            others = [one.on_areas for one in FAMILIES.values() if one.on_areas]
            raise InputError(
                f"method = {self.config.method} can't run on areas: choose {', '.join(others)}."
            )
        if self.family.chosen(self.config):
            raise InputError("choose = private needs a grid: leave it out, and set p (density).")
        if self.domain not in (None, areas.domain):
            raise InputError(
                f'domain = "{self.domain}" is not the box of the areas: leave it out, because the '
                "areas are the bounds."
            )
        object.__setattr__(self, "domain", areas.domain)
        object.__setattr__(self, "outside", "drop")

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
        return self.family.choices(self.config, on_areas=self.areas is not None)

    @property
    def what(self) -> dict[str, Any]:
        """Content of the entry in the lifetime budget."""
        neighbours = self.config.neighbours
        return {
            "method": self.config.method,
            **self.parameters,
            **({} if self.areas is None else {"areas": len(self.areas)}),
            "domain": str(self.domain),
            "neighbours": neighbours.relation,
            "unit": "person" if self.persons else "record",
            "unit_column": self.unit,
            "cap": neighbours.cap,
        }

    @classmethod
    def of(cls, document: Mapping[str, Any], unit: str | None = None) -> Request:
        """Request of a released document, which does not name the column of persons: ``unit``."""
        domain, chosen = document["domain"], document.get("chosen", {})
        config = config_of(
            document,
            document["privacy"]["epsilon"],
            chosen.get("parameters", ()),
            **({CHOOSE.name: PRIVATE} if chosen else {}),
        )
        # Where records were counted before, no point is outside.
        outside: Outside = "clip" if domain["outside"] == "counted" else domain["outside"]
        areas, bounds = None, Domain(tuple(map(tuple, domain["bounds"])), declared=True)
        if document["result"]["kind"] == "areas":
            from shapely.geometry import shape

            result = document["result"]
            areas = Areas(tuple(result["names"]), tuple(map(shape, result["polygons"])))
        return cls(config=config, domain=None if areas else bounds, outside=outside, unit=unit,
                   title=document["title"], date=document.get("date", ""), areas=areas)  # fmt: skip

    def granted(self, epsilon: float) -> Request:
        """Return the same request with the budget that was debited."""
        return replace(self, config=replace(self.config, epsilon=epsilon))

    def check(self) -> None:
        """Raise PrivacyRefusal, with the reason, if this request must not be released."""
        said = refusal(self.card, self.config, self.domain)
        if said:
            raise PrivacyRefusal(said)


def config_of(
    document: Mapping[str, Any], epsilon: float, left_out: Collection[str] = (), **more: Any
) -> Configuration:
    """Configuration of a released document with another budget, without some parameters."""
    method, privacy = document["method"], document["privacy"]
    values = {
        name: tuple(value) if isinstance(value, list) else value
        for name, value in document["parameters"].items()
        if name not in left_out
    }
    config: Configuration = family_of(method["name"]).config(
        method=method["name"],
        epsilon=epsilon,
        variant=method["variant"],
        neighbours=Neighbours(relation=privacy["neighbours"], cap=privacy["cap"]),
        **values | more,
    )
    return config


def _is_date(text: str) -> bool:
    try:
        return bool(_DATE.fullmatch(text) and date.fromisoformat(text))
    except ValueError:
        return False


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
