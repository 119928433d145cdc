"""In or out? A coin decides whether one person is in the data; a player guesses from the result.

The result comes from a method of the library on one of the two neighbouring data sets of an
audit's scenario. No player of a mechanism that is epsilon-private guesses right more often, in
the long run, than e^epsilon / (1 + e^epsilon): Bayes' rule with even odds. The likelihood ratio
of all noisy answers decides as well as any rule can; it plays along.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpviz.audit.bounds import share_bounds
from dpviz.audit.runs import ScenarioRuns
from dpviz.audit.scenarios import Scenario, find

Floats = NDArray[np.float64]

#: Levels of difficulty: epsilon, from hard to easy.
LEVELS = (0.5, 1.0, 2.0, 4.0)

#: Confidence of the band around a share of right guesses.
CONFIDENCE = 0.95

#: Key of the coin's stream; the noise of the two data sets has 0 and 1.
_COIN = 2


@dataclass(frozen=True, kw_only=True, eq=False)
class Seen:
    """What a player sees: the private result of a run, and nothing else.

    Parameters
    ----------
    cells
        Noisy counts of a map's squares, shape (columns, rows), or None.
    centres, counts
        Noisy centres in the unit square, shape (k, 2), with the noisy number of persons of
        each, shape (k,), or None.
    """

    cells: Floats | None = None
    centres: Floats | None = None
    counts: Floats | None = None


@dataclass(frozen=True, kw_only=True)
class Case:
    """One mechanism to play against.

    Parameters
    ----------
    name, title
        Key in links, and name for users.
    method, variant, scenario
        A scenario of the audit: the mechanism and its two data sets.
    story
        What everybody knows: both data sets, and what is published.
    see
        Run -> what the player sees.
    telling
        Name of one number of the result, of which a class sees a histogram.
    number
        That number.
    person
        Square of the person on a map, or place in the unit square.
    leak
        By what a leaking mechanism can be beaten; empty where it keeps its promise.
    """

    name: str
    title: str
    method: str
    variant: str
    scenario: str
    story: str
    see: Callable[[Any], Seen]
    telling: str
    number: Callable[[Seen], float]
    person: tuple[float, float]
    leak: str = ""

    @property
    def audited(self) -> Scenario:
        """The audit's scenario."""
        return find(self.method, self.variant, self.scenario)

    @property
    def private(self) -> bool:
        """Whether the mechanism keeps its promise."""
        return self.audited.private


def _cells(run: Any) -> Seen:
    """Noisy counts of a WaveCluster technique."""
    return Seen(cells=run.stages.counts)


def _centres(run: Any) -> Seen:
    """Noisy centres of a k-means method, with the counts of its last iteration."""
    return Seen(centres=run.centers, counts=run.iterations[-1].counts)


def _at(*cell: int) -> Callable[[Seen], float]:
    """Noisy count of a square."""

    def number(seen: Seen) -> float:
        assert seen.cells is not None  # noqa: S101 - a case of a map
        return float(seen.cells[cell])

    return number


def _fullest(seen: Seen) -> float:
    """Largest noisy count of all squares."""
    assert seen.cells is not None  # noqa: S101 - a case of a map
    return float(seen.cells.max())


def _farthest(seen: Seen) -> float:
    """Largest coordinate of all centres."""
    assert seen.centres is not None  # noqa: S101 - a case of centres
    return float(seen.centres.max())


_MAP = (
    "500 persons live close together at the bottom left of a map of 16 × 16 squares. The person "
    "would live alone at the top right. PrivQT publishes how many live in each square, with noise."
)
_GROUPS = (
    "1,000 persons stand in two tight groups at the bottom left. The person would stand alone at "
    "the top right. DPLloyd publishes two centres and how many persons belong to each, with noise."
)

#: All mechanisms to play against, by name; the easiest to understand first.
CASES: dict[str, Case] = {
    case.name: case
    for case in (
        Case(
            name="squares",
            title="Four squares (PrivQT)",
            method="privqt",
            variant="sound",
            scenario="first-record",
            story="A map of four squares. Without the person nobody lives there. With the person, "
            "one lives at the bottom left. PrivQT publishes how many live in each square, with "
            "noise.",
            see=_cells,
            telling="published number in the person's square",
            number=_at(0, 0),
            person=(0, 0),
        ),
        Case(
            name="map",
            title="Town map (PrivQT)",
            method="privqt",
            variant="sound",
            scenario="far-point",
            story=_MAP,
            see=_cells,
            telling="published number in the person's square",
            number=_at(15, 15),
            person=(15, 15),
        ),
        Case(
            name="map-published",
            title="Town map (PrivQT as published)",
            method="privqt",
            variant="published",
            scenario="far-point",
            story=_MAP,
            see=_cells,
            telling="largest published number of a square",
            number=_fullest,
            person=(15, 15),
            leak="The map ends where the data end. One person far away stretches it, and all "
            "others shrink into a corner. Noise on the numbers does not hide that.",
        ),
        Case(
            name="groups",
            title="Two groups (DPLloyd)",
            method="dplloyd",
            variant="sound",
            scenario="far-range",
            story=_GROUPS,
            see=_centres,
            telling="largest coordinate of a published centre",
            number=_farthest,
            person=(1, 1),
        ),
        Case(
            name="groups-published",
            title="Two groups (DPLloyd as published)",
            method="dplloyd",
            variant="published",
            scenario="far-range",
            story=_GROUPS,
            see=_centres,
            telling="largest coordinate of a published centre",
            number=_farthest,
            person=(1, 1),
            leak="Centres stay inside the range of the data. Without the person that range is the "
            "bottom left corner, with the person it is the whole square. Noise on the centres "
            "does not hide that.",
        ),
    )
}


@dataclass(frozen=True, kw_only=True, eq=False)
class Round:
    """One draw: what the player sees, and what stays hidden until the guess.

    Parameters
    ----------
    number
        Number of the draw.
    seen
        The private result.
    joined
        What the coin decided: whether the person is in.
    ratio
        Log-likelihood ratio of all noisy answers, in over out.
    """

    number: int
    seen: Seen
    joined: bool
    ratio: float

    @property
    def rule(self) -> bool:
        """What the likelihood-ratio rule says; where nothing tells, out."""
        return self.ratio > 0


def draw(case: Case, epsilon: float, seed: int, number: int) -> Round:
    """Toss the coin, run the mechanism on that data set, and let the rule decide.

    Parameters
    ----------
    case, epsilon
        The mechanism, and its whole budget.
    seed, number
        The same two give the same draw. A game takes a secret seed.
    """
    joined = bool(np.random.default_rng((seed, _COIN, number)).integers(2))
    runs = _runs(case, epsilon)
    run, recorder = runs.record(int(joined), seed, number)
    return Round(
        number=number,
        seen=case.see(run),
        joined=joined,
        ratio=runs.ratio(int(joined), recorder),
    )


@lru_cache(maxsize=2 * len(CASES) * len(LEVELS))
def _runs(case: Case, epsilon: float) -> ScenarioRuns:
    """Both data sets and the configuration, built once."""
    return ScenarioRuns(case.audited, epsilon)


@dataclass(frozen=True)
class Tally:
    """Right guesses and all guesses."""

    right: int = 0
    guesses: int = 0

    def plus(self, right: bool) -> Tally:
        """Return the tally with one more guess."""
        return Tally(self.right + right, self.guesses + 1)

    @property
    def share(self) -> float:
        """Share of right guesses; NaN before the first."""
        return self.right / self.guesses if self.guesses else float("nan")

    def band(self, confidence: float = CONFIDENCE) -> tuple[float, float]:
        """Clopper-Pearson band in which the share in the long run lies."""
        if not self.guesses:
            return 0.0, 1.0
        return share_bounds(self.right, self.guesses, (1 - confidence) / 2)

    def above(self, share: float) -> bool:
        """Whether the whole band lies above a share: luck alone hardly explains it."""
        return self.band()[0] > share


@dataclass(frozen=True, kw_only=True)
class Answer:
    """What comes out after a guess.

    Parameters
    ----------
    said, rule, joined
        What the player and the rule said, and the truth: whether the person was in.
    """

    said: bool
    rule: bool
    joined: bool

    @property
    def right(self) -> bool:
        """Whether the player was right."""
        return self.said == self.joined


class Game:
    """One player against one mechanism: the open draw, and both scores.

    Parameters
    ----------
    case, epsilon
        The mechanism, and its whole budget.
    seed
        Secret seed of all draws.
    first
        Number of the first draw.
    """

    def __init__(self, case: Case, epsilon: float, seed: int, first: int = 0) -> None:
        self.case, self.epsilon = case, epsilon
        self._seed = seed
        self.round = draw(case, epsilon, seed, first)
        self.you, self.rule = Tally(), Tally()
        self.last: Answer | None = None

    def guess(self, number: int, said: bool) -> Answer | None:
        """Take a guess and draw anew; None where that draw is no longer open.

        Parameters
        ----------
        number
            Draw that the player saw: a second click on it must not count for the next one.
        said
            Whether the player says that the person is in.
        """
        if number != self.round.number:
            return None
        self.last = Answer(said=said, rule=self.round.rule, joined=self.round.joined)
        self.you = self.you.plus(self.last.right)
        self._rule_too()
        return self.last

    def let_rule_play(self, rounds: int) -> None:
        """Play rounds by the rule alone; the player's score stays."""
        for _ in range(rounds):
            self._rule_too()

    def _rule_too(self) -> None:
        """Count the rule's guess on the open draw, and open the next one."""
        self.rule = self.rule.plus(self.round.rule == self.round.joined)
        self.round = draw(self.case, self.epsilon, self._seed, self.round.number + 1)
