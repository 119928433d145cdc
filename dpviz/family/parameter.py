"""A parameter of a family, which is a public choice: one object describes it everywhere."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from dpviz.base.errors import InputError, shown
from dpviz.base.numbers import readable
from dpviz.base.tables import read_beside
from dpviz.privacy.ledger import check_epsilon

#: Kinds of values: a real number; a whole number; one of several names; numbers of cells per axis.
Kind = Literal["number", "whole", "choice", "sides"]


@dataclass(frozen=True, kw_only=True)
class Parameter:
    """A public choice of a family, for configuration, screen, command line, files and figures.

    ``sign`` is a short name in titles and on axes. The slider is continuous if ``step`` is None;
    ``ends`` is the meaning of both ends. ``words`` are texts of options. ``check`` raises an
    InputError. ``link``, ``column`` and ``python`` are its names in links, tables and estimators
    (default: ``name``). ``metavar`` and ``usage`` are for the command line, ``report`` and
    ``meaning`` for a release and its schema. ``limits`` is the open interval of the library, if it
    is not the slider's; ``titled`` is the place in titles, ``searched`` are values of a map's axis.
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
        """Replace missing names by the parameter's name."""
        for place in ("link", "column", "python"):
            if not getattr(self, place):
                object.__setattr__(self, place, self.name)

    @property
    def reach(self) -> tuple[float, float]:
        """Both ends of the slider."""
        assert self.low is not None and self.high is not None  # noqa: PT018, S101 - a number
        return float(self.low), float(self.high)

    @property
    def schema(self) -> dict[str, Any]:
        """JSON Schema of the parameter's values in a release."""
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
        """Convert the value of a control for the configuration; equal sides become one number."""
        if self.kind == "whole":
            return int(given)
        if self.kind == "sides":
            sides = tuple(map(int, given)) if isinstance(given, tuple) else (int(given),)
            return sides[0] if len(set(sides)) == 1 else sides
        return given

    def word(self, value: Any) -> str:
        """Text of a choice for people."""
        return self.words.get(value, str(value).replace("_", " "))

    def text(self, value: Any) -> str:
        """Text of a value in a title: "g 64", "p 0.50", "sphere packing"."""
        if self.kind == "choice":
            return str(value).replace("_", " ")
        if self.kind == "sides":
            sides = value if isinstance(value, tuple) else (value,)
            value = sides[0] if len(set(sides)) == 1 else " x ".join(map(str, sides))
        elif self.kind == "number":
            value = self.format % value if self.format else readable(value, 4)
        return f"{self.sign} {value}".strip()


#: Fields of the parameters of all families, which a family may replace.
_SHARED: dict[str, dict[str, Any]] = read_beside(__file__, dict[str, dict[str, Any]])


def parameters_of(file: str, **more: Mapping[str, Any]) -> tuple[Parameter, ...]:
    """Parameters in the TOML file beside a module; ``more`` are fields that need code.

    In a usage, ``{options}`` is replaced by the list of the options.
    """
    found = []
    for name, own in read_beside(file, dict[str, dict[str, Any]]).items():
        fields = {**_SHARED.get(name, {}), **own, **more.get(name, {})}
        options = ", ".join(fields.get("options", ()))
        fields["usage"] = fields.get("usage", "").replace("{options}", options)
        given: dict[str, Any] = {
            key: tuple(one) if isinstance(one, list) else one for key, one in fields.items()
        }
        found.append(Parameter(name=name, **given))
    return tuple(found)


def check_option(name: str, value: object, options: Iterable[str]) -> None:
    """Raise InputError if a value is not one of the options; the message lists the options."""
    options = tuple(options)
    if value not in options:
        raise InputError(
            f'{name} = "{shown(value)}" is unknown: choose one of {", ".join(options)}.'
        )


#: Values of ``CHOOSE``: the user sets parameters, or the method chooses them itself.
Choose = Literal["given", "private"]

GIVEN: Choose = "given"
PRIVATE: Choose = "private"

EPSILON, CHOOSE = parameters_of(__file__, epsilon={"check": check_epsilon})
