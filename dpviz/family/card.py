"""The card of a method: facts for users. Every module of a method has one card."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from functools import cache
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_args

from dpviz.base.errors import InputError, shown

if TYPE_CHECKING:
    from dpviz.family.parameter import Parameter

VariantName = Literal["sound", "published"]
VARIANTS: tuple[VariantName, ...] = get_args(VariantName)

#: Reason of every variant without noise.
NOT_PRIVATE = "There is no noise: the result can reveal every single record."

#: Fields of a card that are not for users.
_FOR_PROGRAM = (
    "splits", "post_processes", "decides", "needs_all_records", "lays_own_cells", "theorem",
    "coarser",
)  # fmt: skip


def check_variant(name: str) -> None:
    """Raise InputError if a variant is unknown."""
    if name not in VARIANTS:
        raise InputError(f'variant = "{shown(name)}" is unknown: choose sound or published.')


@dataclass(frozen=True, kw_only=True)
class Variant:
    """One version of a method, and whether its privacy claim holds.

    ``private`` is about runs with a declared domain, the default relation and default parameters;
    :func:`dpviz.family.claim.claim` judges a single run. ``reason`` is a proof sketch, or says why
    the claim fails even with a declared domain. ``fails`` has relations and values for which the
    claim fails, with reasons.
    """

    name: VariantName
    private: bool
    reason: str
    fails: Mapping[str, str] = field(default_factory=dict, hash=False)

    @property
    def text(self) -> str:
        """The claim in words: "private" or "not private", the reason, and the exceptions."""
        word = "private" if self.private else "not private"
        if self.private and self.name == "published":
            word = "private with a declared domain, but the default domain is the range of the data"
        return " ".join([f"{word}. {self.reason}", *dict.fromkeys(self.fails.values())])


@dataclass(frozen=True, kw_only=True)
class Card:
    """Description of a method: how it works, its source and its privacy promise.

    ``name`` is the key on the command line and in links. ``estimator`` is the name of the class.
    ``origin`` is the number of the paper's file, an author, or ``"ours"``. ``deviations`` are
    differences between code and paper, with reasons; ``errata`` are errors with their section.

    Only the program uses these fields: ``splits`` (text instead of the slider of alpha),
    ``post_processes`` (the last centres move without data), ``decides`` (noisy numbers decide which
    steps run), ``needs_all_records`` (all records must be in memory), ``lays_own_cells`` (cells
    depend on records), ``theorem`` (number of the theorem about the threshold), and ``coarser``
    (text about steps that are coarser for very many records).
    """

    name: str
    family: str
    title: str
    estimator: str
    summary: str
    paper: str
    algorithm: str
    origin: str
    variants: tuple[Variant, ...]
    parameters: tuple[Parameter, ...]
    deviations: tuple[str, ...] = ()
    errata: tuple[str, ...] = ()
    splits: str = ""
    post_processes: bool = False
    decides: bool = False
    needs_all_records: bool = False
    lays_own_cells: bool = False
    theorem: int | None = None
    coarser: str = ""

    def variant(self, name: str) -> Variant:
        """Return the variant of that name, or the first variant if there is no such variant."""
        named = (variant for variant in self.variants if variant.name == name)
        return next(named, self.variants[0])

    def taken(self, name: str) -> str:
        """Name of the variant that runs; an unknown name is returned (other code refuses it)."""
        return self.variant(name).name if name in VARIANTS else name

    def parameter(self, name: str) -> Parameter | None:
        """Return the parameter of that name; None if the method does not have it."""
        return next((one for one in self.parameters if one.name == name), None)

    @property
    def source(self) -> str:
        """Paper and algorithm of the method, in words."""
        if self.origin == "ours":
            return f"{self.algorithm}, {self.paper}"
        return f"{self.paper}, {self.algorithm}"

    @property
    def named(self) -> str:
        """Title with the paper's first author and year, shortened to fit into the box of a list."""
        found = re.match(r"(\w+)[^;]*? (\d{4})", self.paper)
        sources = (f"{found[1]} {found[2]}", found[1]) if found else (self.origin,)
        names = (f"{self.title} · {source}" for source in sources)
        return next((name for name in names if len(name) <= 27), self.title)

    @property
    def spends(self) -> bool:
        """Whether the method spends a privacy budget."""
        return self.parameter("epsilon") is not None

    @property
    def facts(self) -> dict[str, Any]:
        """Facts for users as plain values; each parameter has its name, default and range."""
        listed = [
            {name: getattr(one, name) for name in ("name", "default", "low", "high")}
            for one in self.parameters
        ]
        facts = asdict(replace(self, parameters=())) | {"parameters": listed}
        return {name: value for name, value in facts.items() if name not in _FOR_PROGRAM}


def card_of(file: str, parameters: tuple[Parameter, ...], **numbers: object) -> Card:
    """Card of the method in a file, whose words are in the TOML file beside it.

    In a text, ``{NAME}`` is replaced by one of the ``numbers``, or by a text of ``shared.toml`` in
    the same folder. A text that is only the name of a shared text, or of a list, is replaced, too.
    """
    path = Path(file).with_suffix(".toml")
    shared = _words(path.with_name("shared.toml"))

    class Names(dict[str, Any]):
        def __missing__(self, name: str) -> Any:
            return filled(shared[name])

    def filled(value: Any) -> Any:
        if isinstance(value, dict):
            return {name: filled(one) for name, one in value.items()}
        if isinstance(value, list):
            parts = map(filled, value)
            return tuple(chain(*(part if isinstance(part, tuple) else (part,) for part in parts)))
        if value in shared:
            return filled(shared[value])
        return value.format_map(Names(numbers)) if isinstance(value, str) else value

    words = filled(_words(path))
    words["variants"] = tuple(Variant(**one) for one in words["variants"])
    return Card(name=path.stem, family=path.parents[1].name, parameters=parameters, **words)


@cache
def _words(path: Path) -> dict[str, Any]:
    return tomllib.loads(path.read_text(encoding="utf-8"))
