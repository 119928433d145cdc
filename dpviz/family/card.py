"""The facts about a method for users: one card in every method file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal, get_args

from dpviz.base.errors import InputError, shown

if TYPE_CHECKING:
    from dpviz.family.parameter import Parameter

VariantName = Literal["sound", "published"]

#: Reason of every variant without noise.
NOT_PRIVATE = "No noise anywhere: the result tells everything, down to a single record."

#: Fields of a card that no user reads.
_FOR_PROGRAM = (
    "post_processes", "decides", "needs_all_records", "lays_own_cells", "theorem", "coarser",
)  # fmt: skip


def check_variant(name: str) -> None:
    """Raise InputError where a variant is unknown."""
    if name not in get_args(VariantName):
        raise InputError(f'variant = "{shown(name)}" is unknown: choose sound or published.')


@dataclass(frozen=True, kw_only=True)
class Variant:
    """One way to build a method, and whether its privacy claim holds.

    Parameters
    ----------
    name
        ``"sound"`` or ``"published"``.
    private
        Whether its steps keep the promise under a declared domain, the default relation and
        the default parameters; :func:`dpviz.family.claim.claim` judges a run with its own.
    reason
        A proof sketch where ``private`` is true, else why the claim fails. An undeclared domain
        is not among these reasons: the claim adds it.
    fails
        Relations, and values of parameters, with which the claim fails (for a variant that is not
        private: fails once more), each with the reason.
    """

    name: VariantName
    private: bool
    reason: str
    fails: Mapping[str, str] = field(default_factory=dict, hash=False)

    @property
    def text(self) -> str:
        """The claim in words: "private", or "not private", the reason, and where it fails."""
        word = "private" if self.private else "not private"
        if self.private and self.name == "published":
            word = "private under a declared domain, but by default the domain is read off the data"
        return " ".join([f"{word}. {self.reason}", *dict.fromkeys(self.fails.values())])


@dataclass(frozen=True, kw_only=True)
class Card:
    """What a method is, where it comes from and what it promises.

    Parameters
    ----------
    name, family, title
        Key on the command line and in links; name of its family; name on the screen.
    estimator
        Class in the family's ``estimators``.
    summary
        One or two sentences on how it works.
    paper, algorithm, origin
        Authors and year, or "no paper"; number of the algorithm in that paper, or "our own method";
        file number of the paper in our collection, an author, or ``"ours"``.
    variants, parameters
        See :class:`Variant`; parameters of the family that the method takes, with its defaults.
    deviations, errata
        Where the code differs from the paper, and why; where the paper's own numbers or claims are
        off, with the section and the right number.
    post_processes
        Whether it moves the centres of its last iteration once more, without the data. This and
        what follows is for the program: :attr:`facts` leaves it out.
    decides
        Whether it chooses among its steps by noisy numbers, and says so in a run's ``decision``.
    needs_all_records
        Whether it clusters the records themselves, and can't read stored ones in passes.
    lays_own_cells
        Whether it counts records in cells of its own, which follow the records.
    theorem
        Number of the paper's theorem about its threshold; None where there is none.
    coarser
        What it does more coarsely on a sample of very many records, in words.
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
    post_processes: bool = False
    decides: bool = False
    needs_all_records: bool = False
    lays_own_cells: bool = False
    theorem: int | None = None
    coarser: str = ""

    def variant(self, name: str) -> Variant:
        """Return the variant of that name; a method of our own has one, whatever is asked for."""
        named = (variant for variant in self.variants if variant.name == name)
        return next(named, self.variants[0])

    def taken(self, name: str) -> str:
        """Name of the variant that is run; an unknown one is left for others to refuse."""
        return self.variant(name).name if name in get_args(VariantName) else name

    def parameter(self, name: str) -> Parameter | None:
        """Return the parameter of that name, or None where the method has none."""
        return next((one for one in self.parameters if one.name == name), None)

    @property
    def source(self) -> str:
        """Where it comes from, in words."""
        if self.origin == "ours":
            return f"{self.algorithm}, {self.paper}"
        return f"{self.paper}, {self.algorithm}"

    @property
    def spends(self) -> bool:
        """Whether the method takes a privacy budget at all."""
        return self.parameter("epsilon") is not None

    @property
    def facts(self) -> dict[str, Any]:
        """The card for users as plain values; a parameter as its name, default and range."""
        listed = [
            {name: getattr(one, name) for name in ("name", "default", "low", "high")}
            for one in self.parameters
        ]
        facts = asdict(replace(self, parameters=())) | {"parameters": listed}
        return {name: value for name, value in facts.items() if name not in _FOR_PROGRAM}
