"""A score: its name, its meaning, and the function that computes it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from dpviz.errors import InputError
from dpviz.metrics import matching

Better = Literal["<=", ">="]
Compute = Callable[[Any], float]


@dataclass(frozen=True, kw_only=True)
class Score:
    """A number that measures the quality or the size of a draw.

    Parameters
    ----------
    name
        Key in tables, links and JSON.
    title
        Name on the screen.
    compute
        Returns the score of a family's ``Evaluation`` of one draw.
    best
        Score of a result equal to the true one, in words; empty if there is no single number.
    better
        ``"<="`` where less is better, ``">="`` where more is; None where the true value is best.
    log
        Whether its values span powers of ten.
    target
        Default bound in a search for parameters.
    redraws
        Whether it needs draws on parts of the data, so that it costs many draws.
    of_table
        Function of the contingency table of two clusterings, if it needs nothing else.
    of_classes
        Whether it compares with known classes, so that only data with classes have it.
    """

    name: str
    title: str
    compute: Compute
    best: str = ""
    better: Better | None = None
    log: bool = False
    target: float = 1.0
    redraws: bool = False
    of_table: Callable[[NDArray[np.int64]], float] | None = None
    of_classes: bool = False

    @property
    def axis(self) -> str:
        """Name with the best value."""
        return f"{self.title} ({self.best})" if self.best else self.title


def lower_is_better(
    name: str, title: str, compute: Compute, target: float, *, redraws: bool = False
) -> Score:
    """A distance from the true result."""
    return Score(
        name=name, title=title, compute=compute, best="0 is equal", better="<=", target=target,
        redraws=redraws,
    )  # fmt: skip


def ratio_to_true(name: str, title: str, compute: Compute, target: float) -> Score:
    """An error over that of the true result."""
    return Score(
        name=name, title=title, compute=compute, best="1 is equal", better="<=", log=True,
        target=target,
    )  # fmt: skip


def higher_is_better(name: str, title: str, compute: Compute, target: float) -> Score:
    """A similarity with the true result."""
    return Score(
        name=name, title=title, compute=compute, best="1 is equal", better=">=", target=target
    )


def table_likeness(
    name: str, title: str, function: Callable[[NDArray[np.int64]], float], target: float
) -> Score:
    """A similarity computed from the contingency table of two clusterings."""
    return Score(
        name=name,
        title=title,
        compute=lambda one: function(one.table),
        best="1 is equal",
        better=">=",
        target=target,
        of_table=function,
    )


def _class_likeness(
    name: str, title: str, function: Callable[[NDArray[np.int64]], float], target: float
) -> Score:
    """A similarity with the known classes."""
    return Score(
        name=name,
        title=f"{title} (classes)",
        compute=lambda one: function(one.class_table),
        best="1 is equal",
        better=">=",
        target=target,
        of_table=function,
        of_classes=True,
    )


#: Scores against known classes, of every family: the ``Evaluation`` of a draw has ``class_table``,
#: the records by class and by private cluster.
CLASS_SCORES = (
    # Hu, Yang, Bai 2019, equations 13 to 16.
    _class_likeness("class_f", "F", matching.f_measure, target=0.9),
    _class_likeness("class_ari", "ARI", matching.adjusted_rand, target=0.8),
    _class_likeness("class_ami", "AMI", matching.adjusted_mutual_information, target=0.8),
)

#: Their names.
OF_CLASSES = tuple(score.name for score in CLASS_SCORES)


def scores_for(
    names: Iterable[str], scores: Mapping[str, Score], *, classed: bool
) -> tuple[str, ...]:
    """Those of some scores that data have with known classes (``classed``), or without."""
    return tuple(name for name in names if classed or not scores[name].of_classes)


def check_scores(names: Sequence[str], known: Sequence[str]) -> None:
    """Raise InputError where a score is unknown, with the choices."""
    for name in names:
        if name not in known:
            raise InputError(f'score = "{name}" is unknown: choose from {", ".join(known)}.')
