"""A score: its name, its meaning, and the function that computes it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from dpviz.errors import InputError

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


def check_scores(names: Sequence[str], known: Sequence[str]) -> None:
    """Raise InputError where a score is unknown, with the choices."""
    for name in names:
        if name not in known:
            raise InputError(f'score = "{name}" is unknown: choose from {", ".join(known)}.')
