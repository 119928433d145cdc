"""What scores are called, and how to read them: one table for charts, panels and searches."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Better = Literal["<=", ">="]


@dataclass(frozen=True, kw_only=True)
class Score:
    """What a score is called, and how to read it.

    Parameters
    ----------
    title
        Name on the screen.
    best
        What a result like the true one scores, in words; empty where that is no one number.
    better
        ``"<="`` where less is better, ``">="`` where more is; None where the true value is best.
    log
        Whether its values span powers of ten.
    """

    title: str
    best: str = ""
    better: Better | None = None
    log: bool = False

    @property
    def axis(self) -> str:
        """Name with what is best."""
        return f"{self.title} ({self.best})" if self.best else self.title


def _error(title: str) -> Score:
    """A distance from the true result."""
    return Score(title=title, best="0 is equal", better="<=")


def _ratio(title: str) -> Score:
    """An error over that of the true result."""
    return Score(title=title, best="1 is equal", better="<=", log=True)


def _likeness(title: str) -> Score:
    """How like the true result something is."""
    return Score(title=title, best="1 is equal", better=">=")


SCORES: dict[str, Score] = {
    "dsg_c": _error("DSG_C"),
    "nicv_ratio": _ratio("NICV / true"),
    "wcss_ratio": _ratio("WCSS / least"),
    "f_measure": _likeness("F-measure"),
    "clusters": Score(title="Clusters"),
    "significant": Score(title="Significant cells"),
    "k": Score(title="k′"),
    "noise_points": Score(title="Noise points"),
    "displacement": _error("Displacement"),
    "kept_centers": Score(title="Kept places"),
    "ocm": _error("OCM"),
    "two_ce": _error("2CE"),
    "ari": _likeness("ARI"),
    "ami": _likeness("AMI"),
    "wcss": Score(title="WCSS", log=True),
    "nicv": Score(title="NICV", log=True),
    "contour": Score(title="Simplified silhouette"),
    "zhang_f": _likeness("F against noise-free"),
}


def score_of(name: str) -> Score:
    """How to read a score; its bare name where nothing is known of it."""
    return SCORES.get(name, Score(title=name))
