"""In or out? A coin decides whether one person is in the data; a player guesses from the result.

The result comes from a method of the library on one of the two neighbouring data sets of an
audit's scenario. No player of a mechanism that is epsilon-private guesses right more often, in
the long run, than e^epsilon / (1 + e^epsilon): Bayes' rule with even odds. The likelihood ratio
of all noisy answers decides as well as any rule can; it plays along.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from dpviz.audit.bounds import share_bounds
from dpviz.audit.runs import ScenarioRuns
from dpviz.audit.scenarios import Scenario, find
from dpviz.base.tables import read_rows

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
    telling
        Name of one number of the result, of which a class sees a histogram.
    measure
        Which number that is: the person's square, the fullest square of the map, or the largest
        coordinate of the centres.
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
    telling: str
    measure: Literal["square", "fullest", "farthest"]
    person: tuple[float, float]
    leak: str = ""

    def see(self, run: Any) -> Seen:
        """What the player sees of a run: the map, or the centres and the last counts of them."""
        if self.measure == "farthest":
            return Seen(centres=run.centers, counts=run.iterations[-1].counts)
        return Seen(cells=run.stages.counts)

    def number(self, seen: Seen) -> float:
        """Telling number of a result."""
        if seen.centres is not None:
            return float(seen.centres.max())
        assert seen.cells is not None  # noqa: S101 - what has no centres is a map
        column, row = self.person
        largest = self.measure == "fullest"
        return float(seen.cells.max() if largest else seen.cells[int(column), int(row)])

    @property
    def audited(self) -> Scenario:
        """The audit's scenario."""
        return find(self.method, self.variant, self.scenario)

    @property
    def private(self) -> bool:
        """Whether the mechanism keeps its promise."""
        return self.audited.private


#: All mechanisms to play against, by name; the easiest to understand first.
CASES = {one.name: one for one in read_rows(Path(__file__).with_name("cases.toml"), Case)}


@dataclass(frozen=True, kw_only=True, eq=False)
class Round:
    """One draw: what the player sees, and what stays hidden until the guess.

    Parameters
    ----------
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

    The same seed and number give the same draw. A game takes a secret seed.
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
    """What the player and the rule said, and the truth: whether the person was in."""

    said: bool
    rule: bool
    joined: bool

    @property
    def right(self) -> bool:
        """Whether the player was right."""
        return self.said == self.joined


class Game:
    """One player against one mechanism: the open draw, and both scores. The seed is secret."""

    def __init__(self, case: Case, epsilon: float, seed: int, first: int = 0) -> None:
        self.case, self.epsilon = case, epsilon
        self._seed = seed
        self.round = draw(case, epsilon, seed, first)
        self.you, self.rule = Tally(), Tally()
        self.last: Answer | None = None

    def guess(self, number: int, said: bool) -> Answer | None:
        """Take a guess on the draw that the player saw, and draw anew.

        None where that draw is no longer open: a second click must not count for the next one.
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
        self.rule = self.rule.plus(self.round.rule == self.round.joined)
        self.round = draw(self.case, self.epsilon, self._seed, self.round.number + 1)
