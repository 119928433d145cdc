"""A score: its name, its meaning, and the function that computes it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from operator import attrgetter
from pathlib import Path
from typing import Any, Literal

from dpviz.base.arrays import Ints
from dpviz.base.errors import InputError, shown
from dpviz.base.tables import read_table_file
from dpviz.metrics import matching

Better = Literal["<=", ">="]
Grade = Literal["good", "fair", "poor"]
Compute = Callable[[Any], float]


@dataclass(frozen=True, kw_only=True)
class Score:
    """A number that measures the quality or the size of a draw, of a family's ``Evaluation``.

    ``title``: in the literature; ``plain``: for others. ``best``: in words, for a result equal to
    the true one; ``better``: None if the value of the true run is best. ``log``: spans powers of
    ten. ``target``: default bound in a search. ``redraws``: needs draws on parts of the data.
    ``of_table``: from the contingency table alone. ``of_classes``: needs known classes.
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
    of_table: Callable[[Ints], float] | None = None
    of_classes: bool = False

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
        """Text about what the score measures, its best value and the source of the formula."""
        best = f"{self.best[0].upper()}{self.best[1:]}." if self.best else ""
        source = f"Formula: {self.source}." if self.source else ""
        return " ".join(filter(None, (self.help, best, source)))

    @property
    def ideal(self) -> float | None:
        """Score of a result that equals the true result; None if there is no single number."""
        return float(self.best.partition(" ")[0]) if self.better else None

    def grade(self, value: float) -> Grade | None:
        """Grade a value: up to ``target`` is good, up to three times its distance is fair.

        None if the true run is best, or against known classes, which the true run may not find
        either.
        """
        if self.ideal is None or self.of_classes:
            return None
        away, good = abs(value - self.ideal), abs(self.target - self.ideal)
        return "good" if away <= good else "fair" if away <= 3 * good else "poor"


def _toward(best: str, better: Better, **more: Any) -> Callable[..., Score]:
    def score(name: str, title: str, compute: Compute, target: float, **words: Any) -> Score:
        return Score(
            name=name, title=title, compute=compute, target=target, best=best, better=better,
            **more, **words,
        )  # fmt: skip

    return score


#: Make a score from name, title, function and target: distance from the true result; error divided
#: by the error of the true result; similarity with the true result.
lower_is_better = _toward("0 is equal", "<=")
ratio_to_true = _toward("1 is equal", "<=", log=True)
higher_is_better = _toward("1 is equal", ">=")


def table_likeness(
    name: str, title: str, function: Callable[[Ints], float], target: float,
    *, of_classes: bool = False, **words: Any,
) -> Score:  # fmt: skip
    """Similarity of two clusterings, or of clusters and known classes, from a contingency table."""
    table = attrgetter("class_table" if of_classes else "table")
    return higher_is_better(
        name,
        f"{title} (classes)" if of_classes else title,
        lambda one: function(table(one)),
        target,
        of_table=function,
        of_classes=of_classes,
        **words,
    )


#: Name of the score that counts the true clusters which a draw broke; every family has it.
BROKEN = "broken"


def clusters_broken(compute: Compute, help: str) -> Score:
    """Score that counts the true clusters which a draw broke."""
    return lower_is_better(
        BROKEN, "Clusters broken", compute, 0.5, help=help, source="the rule of the headline"
    )


#: Texts for users about scores that measure how two clusterings agree, for every family.
OVERLAP: dict[str, Any] = {
    "plain": "Overlap",
    "help": "Best overlap of each true cluster with a private cluster, weighted by records.",
    "source": "Hu, Yang, Bai 2019, equations 13 to 16",
}
PAIRS_AGREE: dict[str, Any] = {
    "plain": "Pairs agree",
    "help": "Share of pairs of records that both results join or both separate, minus its value "
    "by chance.",
    "source": "adjusted Rand index, Hubert, Arabie 1985",
}
INFORMATION: dict[str, Any] = {
    "plain": "Shared information",
    "help": "Information that one result gives about the other, minus its value by chance.",
    "source": "adjusted mutual information, Vinh, Epps, Bailey 2010",
}

#: Scores against known classes, from the ``class_table`` of an ``Evaluation``: records per pair.
CLASS_SCORES = (
    table_likeness(
        "class_f",
        "F",
        matching.f_measure,
        target=0.9,
        of_classes=True,
        plain="Classes found",
        help="Best overlap of each known class with a cluster, weighted by records. The true run "
        "does not see the classes either, so private clusters may match them better by chance.",
        source=OVERLAP["source"],
    ),
    table_likeness(
        "class_ari", "ARI", matching.adjusted_rand, target=0.8, of_classes=True, **PAIRS_AGREE
    ),
    table_likeness(
        "class_ami",
        "AMI",
        matching.adjusted_mutual_information,
        target=0.8,
        of_classes=True,
        **INFORMATION,
    ),
)

#: Names of the scores that compare clusters with known classes.
OF_CLASSES = tuple(score.name for score in CLASS_SCORES)


def words_of(file: str) -> dict[str, dict[str, Any]]:
    """Plain name, help and source of scores, by name, from the TOML file beside a module."""
    return dict(read_table_file(Path(file).with_suffix(".toml"), Mapping[str, Mapping[str, str]]))


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
