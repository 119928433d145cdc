"""A public choice of a family: the single object that describes it everywhere.

Sliders, links, options of the command line, release boxes, titles, columns of sweeps, axes of
searches and the words of the report all come from here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from dpviz.base.errors import InputError, shown
from dpviz.base.numbers import readable
from dpviz.privacy.ledger import check_epsilon

#: A real number; a whole number; one of several names; cells per axis, one number or several.
Kind = Literal["number", "whole", "choice", "sides"]


@dataclass(frozen=True, kw_only=True)
class Parameter:
    """A public choice of a family.

    Parameters
    ----------
    name
        Field of the configuration, option on the command line, key in ``release.json``.
    label, sign, help
        On the screen: name of its control, short name in titles and on axes (empty if its value
        is enough), one or two sentences beside the control.
    kind
        Kind of its values.
    default
        Of the method on whose card it stands.
    low, high, step, log, ends, format
        Of its slider: range, step (None is continuous), whether equal distances are equal ratios,
        what the two ends mean, how values are written.
    options, words
        What a choice offers, and how options are written for people where it differs.
    check
        Raises InputError if a value (of a choice: a text) is wrong.
    link, column, python
        Its name in links, in tables of sweeps and in estimators; ``name`` where empty.
    metavar, usage
        On the command line: placeholder and help.
    report, meaning
        Name in the report of a release; description in the release's schema.
    limits
        Ends of the open interval that the library allows, where that is not the slider's range.
    titled
        Whether titles of figures name it: as a part of its own, right after the one before, or not.
    searched
        Values that a map of a score over parameters has on its axis.
    """

    name: str
    label: str
    sign: str = ""
    help: str = ""
    kind: Kind = "number"
    default: Any = None
    low: float | int | None = None
    high: float | int | None = None
    step: float | int | None = None
    log: bool = False
    ends: tuple[str, str] = ("", "")
    format: str | None = None
    options: tuple[str, ...] = ()
    words: Mapping[str, str] = field(default_factory=dict, hash=False)
    check: Callable[[Any], Any] | None = None
    link: str = ""
    column: str = ""
    python: str = ""
    metavar: str = ""
    usage: str = ""
    report: str = ""
    meaning: str = ""
    limits: tuple[float, float] | None = None
    titled: Literal["part", "joined", "no"] = "part"
    searched: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        """Fill in missing names with the parameter's name."""
        for place in ("link", "column", "python"):
            if not getattr(self, place):
                object.__setattr__(self, place, self.name)

    @property
    def schema(self) -> dict[str, Any]:
        """JSON Schema of its values in a release."""
        if self.kind == "sides":
            rule: dict[str, Any] = {
                "type": "array", "minItems": 1, "items": {"type": "integer", "minimum": self.low}
            }  # fmt: skip
        elif self.kind == "whole":
            rule = {"type": "integer", "minimum": self.low}
        elif self.kind == "number":
            rule = {"type": "number"}
            if self.limits:
                low, high = self.limits
                rule |= {"exclusiveMinimum": low, "exclusiveMaximum": high}
        elif self.check is None:
            rule = {"enum": list(self.options)}
        else:
            rule = {"type": "string", "minLength": 1}
        return {"description": self.meaning or f"{self.label}.", **rule}

    def value(self, given: Any) -> Any:
        """Value of a control as the configuration has it: whole numbers as such.

        Cells per axis are one number where all axes have the same.
        """
        if self.kind == "whole":
            return int(given)
        if self.kind == "sides":
            sides = tuple(map(int, given)) if isinstance(given, tuple) else (int(given),)
            return sides[0] if len(set(sides)) == 1 else sides
        return given

    def word(self, value: Any) -> str:
        """Value of a choice as people read it."""
        return self.words.get(value, str(value).replace("_", " "))

    def text(self, value: Any) -> str:
        """Value in a title: "g 64", "p 0.50", "sphere packing"."""
        if self.kind == "choice":
            return str(value).replace("_", " ")
        if self.kind == "sides":
            sides = value if isinstance(value, tuple) else (value,)
            value = sides[0] if len(set(sides)) == 1 else " x ".join(map(str, sides))
        elif self.kind == "number":
            value = self.format % value if self.format else readable(value, 4)
        return f"{self.sign} {value}".strip()


def check_option(name: str, value: object, options: Iterable[str]) -> None:
    """Raise InputError where a value is none of the options, which it lists."""
    options = tuple(options)
    if value not in options:
        raise InputError(
            f'{name} = "{shown(value)}" is unknown: choose one of {", ".join(options)}.'
        )


#: Values of ``CHOOSE``: parameters are as they are set, or the method chooses them itself.
Choose = Literal["given", "private"]

GIVEN: Choose = "given"
PRIVATE: Choose = "private"

#: Whether a method chooses parameters itself, from noisy numbers: the ledger counts that, and it
#: does not count what somebody learns who chooses them by looking at true results. Families that
#: have it say in its label and its help which parameters these are.
CHOOSE = Parameter(
    name="choose",
    label="Choose",
    kind="choice",
    options=(GIVEN, PRIVATE),
    words={GIVEN: "by hand", PRIVATE: "privately"},
    metavar="WHO",
    usage=(
        "given: parameters are as told; private: the method chooses them from noisy numbers "
        "(clusters; grid and density)"
    ),
    report="who chose what the data suggest",
    meaning=(
        "given: all parameters were chosen by hand. private: the method chose those that "
        "`chosen` lists from noisy numbers; the ledger holds what that cost."
    ),
    titled="no",
)

EPSILON = Parameter(
    name="epsilon",
    label="Privacy budget ε",
    sign="ε",
    help="Whole budget. Lower: less can be learned about anyone, and more noise.",
    default=1.0,
    low=0.01,
    high=10.0,
    log=True,
    ends=("more private", "more accurate"),
    check=check_epsilon,
    searched=(0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10),
)
