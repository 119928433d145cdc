"""In or out? A coin decides whether one person is in the data; a player guesses from the result.

A method computes the result on one of an audit's two neighbouring data sets. If it is
epsilon-private, the share of right guesses is at most e^epsilon / (1 + e^epsilon) in the long run,
for every player, by Bayes' rule with even odds. The best rule compares the likelihoods of all noisy
answers on the same draws.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal

import numpy as np

from dpviz.audit.bounds import share_bounds
from dpviz.audit.runs import ScenarioRuns
from dpviz.audit.scenarios import Scenario, find
from dpviz.base.arrays import Floats
from dpviz.base.tables import read_rows

#: Levels of difficulty: epsilon, from hard to easy.
LEVELS = (0.5, 1.0, 2.0, 4.0)

CONFIDENCE = 0.95

#: Key of the coin's random stream; the noise streams of the two data sets have the keys 0 and 1.
_COIN = 2


@dataclass(frozen=True, kw_only=True, eq=False)
class Seen:
    """The part of a run that a player sees: its private result."""

    cells: Floats | None = None  # noisy counts of a map's squares (columns, rows)
    centres: Floats | None = None  # noisy centres in the unit square, (k, 2)
    counts: Floats | None = None  # noisy numbers of persons per centre, (k,)


@dataclass(frozen=True, kw_only=True)
class Case:
    """One mechanism to play against."""

    name: str  # key in links
    title: str
    method: str  # method, variant and scenario name a scenario of the audit
    variant: str
    scenario: str
    story: str  # public knowledge: both data sets, and the kind of result
    telling: str  # name of the number that reveals most; a class sees its histogram
    #: This number: count of the person's square, largest count, or largest coordinate of centres.
    measure: Literal["square", "fullest", "farthest"]
    person: tuple[float, float]  # square on a map, or position in the unit square
    leak: str = ""  # how a player can beat a mechanism that does not keep its promise

    def see(self, run: Any) -> Seen:
        """Return the visible result of a run: the map, or the centres with their last counts."""
        if self.measure == "farthest":
            return Seen(centres=run.centers, counts=run.iterations[-1].counts)
        return Seen(cells=run.stages.counts)

    def number(self, seen: Seen) -> float:
        """Return the number in a result that ``telling`` names."""
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


#: All mechanisms of the game by name, from easy to hard to understand.
CASES = {one.name: one for one in read_rows(Path(__file__).with_name("cases.toml"), Case)}


@dataclass(frozen=True, kw_only=True, eq=False)
class Round:
    """One draw: the visible result, and the facts that are hidden until the guess."""

    number: int
    seen: Seen
    joined: bool  # whether the coin put the person into the data
    ratio: float  # log-likelihood of all noisy answers with the person, minus without the person

    @property
    def rule(self) -> bool:
        """Guess of the likelihood-ratio rule; "out" (False) if both are equally likely."""
        return self.ratio > 0


def draw(case: Case, epsilon: float, seed: int, number: int) -> Round:
    """Toss the coin, run the mechanism on the chosen data set, and compute the likelihood ratio."""
    # The same seed and number give the same draw. A game uses a secret seed.
    joined = bool(np.random.default_rng((seed, _COIN, number)).integers(2))
    runs = _runs(case, epsilon)
    run, recorder = runs.record(int(joined), seed, number)
    return Round(
        number=number, seen=case.see(run), joined=joined, ratio=runs.ratio(int(joined), recorder)
    )


@lru_cache(maxsize=2 * len(CASES) * len(LEVELS))
def _runs(case: Case, epsilon: float) -> ScenarioRuns:
    return ScenarioRuns(case.audited, epsilon)


@dataclass(frozen=True)
class Tally:
    """Number of correct guesses, and number of all guesses."""

    right: int = 0
    guesses: int = 0

    def plus(self, right: bool) -> Tally:
        """Return the tally with one more guess."""
        return Tally(self.right + right, self.guesses + 1)

    @property
    def share(self) -> float:
        """Share of the guesses that are correct; NaN before the first guess."""
        return self.right / self.guesses if self.guesses else float("nan")

    def band(self, confidence: float = CONFIDENCE) -> tuple[float, float]:
        """Clopper-Pearson confidence band for the share in the long run."""
        if not self.guesses:
            return 0.0, 1.0
        return share_bounds(self.right, self.guesses, (1 - confidence) / 2)

    def above(self, share: float) -> bool:
        """Whether the whole band is above a share, so that luck hardly explains the result."""
        return self.band()[0] > share


@dataclass(frozen=True, kw_only=True)
class Answer:
    """The guesses of the player and of the rule, and whether the person was in the data."""

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
        self.missed: Seen | None = None

    def guess(self, number: int, said: bool) -> Answer | None:
        """Record a guess on the open draw, and start the next; None if the draw is not open."""
        # This check ignores a second click, which would be a guess on the next draw.
        if number != self.round.number:
            return None
        self.last = Answer(said=said, rule=self.round.rule, joined=self.round.joined)
        self.you = self.you.plus(self.last.right)
        self.missed = None if self.last.right else self.round.seen
        self._rule_too()
        return self.last

    def go_on(self) -> None:
        """Show the open draw instead of the last draw, on which the guess was wrong."""
        self.missed = None

    def let_rule_play(self, rounds: int) -> None:
        """Let only the rule play some rounds; the player's score does not change."""
        for _ in range(rounds):
            self._rule_too()

    def _rule_too(self) -> None:
        self.rule = self.rule.plus(self.round.rule == self.round.joined)
        self.round = draw(self.case, self.epsilon, self._seed, self.round.number + 1)
