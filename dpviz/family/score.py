"""A score: its name, its meaning, and the function that computes it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

from dpviz.base.arrays import Ints
from dpviz.base.errors import InputError, shown
from dpviz.base.tables import read_beside
from dpviz.metrics import matching

Better = Literal["<=", ">="]
Grade = Literal["good", "fair", "poor"]
Compute = Callable[[Any], float]
OfTable = Callable[[Ints], float]


@dataclass(frozen=True, kw_only=True)
class Score:
    """A number that measures the quality or the size of a draw; a family's ``Evaluation`` has it.

    ``title`` is the name in the literature, ``plain`` is a name for other readers. ``best`` is the
    value, in words, of a result that equals the true result. ``better`` is None if the value of the
    true run is best. If ``log``, values span powers of ten. ``target`` is the default bound in a
    search. If ``redraws``, the score needs draws on parts of the data; ``of_table`` computes it
    from the contingency table alone. If ``of_classes``, it needs known classes. If ``percent``, the
    screen shows percentages.
    """

    name: str
    title: str
    compute: Compute
    plain: str = ""
    help: str = ""
    source: str = ""
    best: str = ""
    better: Better | None = None
    log: bool = False
    target: float = 1.0
    redraws: bool = False
    of_table: OfTable | None = None
    of_classes: bool = False
    percent: bool = False

    @property
    def label(self) -> str:
        """Plain name and title: "Cells wrong (DSG_C)"."""
        if not self.plain:
            return self.title
        return (
            f"{self.plain}: {self.title}" if "(" in self.title else f"{self.plain} ({self.title})"
        )

    @property
    def short(self) -> str:
        """Plain name only, for small places; the title if there is no plain name."""
        return self.plain or self.title

    @property
    def axis(self) -> str:
        """Plain name, title and best value."""
        return f"{self.label}, {self.best}" if self.best else self.label

    @property
    def about(self) -> str:
        """What the score measures, its best value, the limits of its marks, and the source."""
        best = f"{self.best[0].upper()}{self.best[1:]}." if self.best else ""
        source = f"Formula: {self.source}." if self.source else ""
        return " ".join(filter(None, (self.help, best, self._limits, source)))

    @property
    def _limits(self) -> str:
        if self.ideal is None or self.of_classes:
            return ""
        way = "up to" if self.better == "<=" else "from"
        limits = self.target, self._fair(self.ideal)
        good, fair = (f"{one:.0%}" if self.percent else f"{one:.3g}" for one in limits)
        return f"Marks: good {way} {good}, fair {way} {fair}."

    def _fair(self, ideal: float) -> float:
        # Round, so that a value at the limit in the help gets the mark that the help says.
        return round(ideal + 3 * (self.target - ideal), 9)

    @property
    def ideal(self) -> float | None:
        """Score of a result that equals the true result; None if there is no single number."""
        return float(self.best.partition(" ")[0]) if self.better else None

    def grade(self, value: float) -> Grade | None:
        """Grade a value: good up to ``target``, fair up to three times as far from the best value.

        None if the value of the true run is best, or if the score compares clusters with known
        classes, because the true run may not find the classes either.
        """
        if self.ideal is None or self.of_classes:
            return None
        away, good, fair = (
            abs(one - self.ideal) for one in (value, self.target, self._fair(self.ideal))
        )
        return "good" if away <= good else "fair" if away <= fair else "poor"


#: Fields of each kind of score: distance from the true result; error divided by the error of the
#: true result; similarity with the true result. A "number" is best if it equals the true number.
_KINDS: dict[str, dict[str, Any]] = {
    "distance": {"best": "0 is equal", "better": "<="},
    "ratio": {"best": "1 is equal", "better": "<=", "log": True},
    "likeness": {"best": "1 is equal", "better": ">="},
    "number": {},
}

#: Name of the score that counts the true clusters which a draw broke; every family has it.
BROKEN = "broken"

#: Scores that every family computes from a contingency table alone.
_OF_TABLE: dict[str, OfTable] = {
    "f_measure": matching.f_measure,
    "ari": matching.adjusted_rand,
    "ami": matching.adjusted_mutual_information,
    "class_f": matching.f_measure,
    "class_ari": matching.adjusted_rand,
    "class_ami": matching.adjusted_mutual_information,
}

#: Scores with the fields that a file gives.
_Fields = dict[str, dict[str, Any]]

_SHARED: _Fields = read_beside(__file__, _Fields)


def _score(name: str, own: Mapping[str, Any], compute: Compute | None = None) -> Score:
    fields = {**_SHARED.get(name.removeprefix("class_"), {}), **_SHARED.get(name, {}), **own}
    fields |= _KINDS[fields.pop("kind", "number")]
    of_classes, function = name.startswith("class_"), _OF_TABLE.get(name)
    if compute is None:
        assert function is not None  # noqa: S101 - all other scores have functions of their own
        compute = partial(_on_table, function, "class_table" if of_classes else "table")
    return Score(name=name, compute=compute, of_table=function, of_classes=of_classes, **fields)


def _on_table(function: OfTable, table: str, one: Any) -> float:
    return function(getattr(one, table))


#: Scores against known classes, from the ``class_table`` of an ``Evaluation``: records per pair.
CLASS_SCORES = tuple(_score(name, {}) for name in _SHARED if name.startswith("class_"))

#: Names of the scores that compare clusters with known classes.
OF_CLASSES = tuple(score.name for score in CLASS_SCORES)


def scores_of(file: str, **compute: Compute) -> dict[str, Score]:
    """Scores in the TOML file beside a module, in its order, then scores against known classes.

    ``compute`` has the functions of all scores that are not computed from a contingency table.
    """
    tables: _Fields = read_beside(file, _Fields)
    own = [_score(name, fields, compute.get(name)) for name, fields in tables.items()]
    return {one.name: one for one in (*own, *CLASS_SCORES)}


def scores_for(
    names: Iterable[str], scores: Mapping[str, Score], *, classed: bool
) -> tuple[str, ...]:
    """Keep the scores that the data allow; ``classed`` says whether they have known classes."""
    return tuple(name for name in names if classed or not scores[name].of_classes)


def check_scores(names: Sequence[str], known: Sequence[str]) -> None:
    """Raise InputError, with the choices, if a score is unknown."""
    for name in names:
        if name not in known:
            raise InputError(f'score = "{shown(name)}" is unknown: choose from {", ".join(known)}.')
