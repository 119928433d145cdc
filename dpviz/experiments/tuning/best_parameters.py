"""The best pair of two parameters, and a map of a score over both."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, cast

import numpy as np

from dpviz.base.arrays import Floats, Ints
from dpviz.base.cached import cached_property
from dpviz.base.display import Displayed
from dpviz.base.errors import InputError, shown
from dpviz.base.work import IsCancelled, Progress, Work
from dpviz.data.dataset import Dataset
from dpviz.experiments.tuning.common import (
    BETTER,
    SEEDS,
    SHARE,
    check_share,
    check_spends,
    checked_seeds,
    score_at,
)
from dpviz.families import CARDS, SCORES, family_of, trial_of
from dpviz.family.score import Better, check_scores, scores_for
from dpviz.family.trial import Configuration, Trial
from dpviz.grid.domain import Domain, Outside

Cell = tuple[int, int]

#: Scores that compare clusters of points; the two clusterings may have different grids.
POINT_SCORES = tuple(name for name, score in SCORES.items() if score.of_table)

#: Parameters whose smaller values cost less.
_FRUGAL = {"grid", "iterations"}


@dataclass(frozen=True, kw_only=True, eq=False)
class ParameterMap(Displayed):
    """A score over two parameters: a ``share`` of the draws, or more, reach ``reached`` (A, B).

    ``values`` ascend and include those of ``config``; all cells have the same ``seeds``.
    """

    config: Configuration
    score: str
    share: float
    names: tuple[str, str]
    values: tuple[tuple[float, ...], tuple[float, ...]]
    reached: Floats
    seeds: tuple[int, ...]

    @cached_property
    def current(self) -> Cell:
        """Cell of the settings in ``config``."""
        first, second = (
            values.index(getattr(self.config, name))
            for name, values in zip(self.names, self.values, strict=True)
        )
        return first, second

    @cached_property
    def best(self) -> Cell:
        """Cell of the best choice; epsilon stays as in ``config``, because it is a cost."""
        given = [axis for axis, name in enumerate(self.names) if name == "epsilon"]
        cells = (cast(Cell, cell) for cell in np.ndindex(*self.reached.shape))
        return self._best_of(
            cell for cell in cells if all(cell[axis] == self.current[axis] for axis in given)
        )

    @property
    def best_values(self) -> dict[str, float]:
        """The two parameters at the best cell."""
        pairs = zip(self.names, self.values, self.best, strict=True)
        return {name: values[place] for name, values, place in pairs}

    @property
    def best_at(self) -> tuple[int, ...]:
        """If epsilon is the first parameter: best index of the second parameter at each epsilon."""
        if self.names[0] != "epsilon":
            return ()
        rows, columns = map(range, self.reached.shape)
        return tuple(self._best_of((row, column) for column in columns)[1] for row in rows)

    def _best_of(self, cells: Iterable[Cell]) -> Cell:
        sign = 1 if BETTER[self.score] == "<=" else -1
        frugal = [axis for axis, name in enumerate(self.names) if name in _FRUGAL]

        def rank(cell: Cell) -> tuple[float, ...]:
            worth = sign * float(self.reached[cell])
            distance = sum(abs(a - b) for a, b in zip(cell, self.current, strict=True))
            worst_if_nan = math.inf if math.isnan(worth) else worth
            return (worst_if_nan, *(cell[axis] for axis in frugal), distance)

        return min(cells, key=rank)


def best_parameters(
    dataset: Dataset,
    config: Configuration,
    score: str,
    over: Mapping[str, Sequence[float]],
    *,
    domain: Domain | None = None,
    outside: Outside = "clip",
    seeds: Sequence[int] = SEEDS,
    share: float = SHARE,
    progress: Progress | None = None,
    cancelled: IsCancelled | None = None,
) -> ParameterMap:
    """Map a score over two parameters, and find the best pair.

    A cell has the score that ``share`` of the draws reach: a choice that is only sometimes good is
    not good. Of equal scores, the coarser grid wins, then fewer iterations, then the pair nearer to
    ``config``. Data and domain are as for :func:`dpviz.families.trial_of`. ``over`` has values of
    two parameters in :func:`searched`; the values of ``config`` are added. Raises InputError if
    score, parameters and data don't fit. For exploring only: see ``TUNING``.

    The true clustering changes with g and p, and a grid of one cell has no errors. So if g or p is
    searched, all runs are compared with the point labels of the true run at ``config``, by one of
    ``POINT_SCORES``; scores against known classes use the classes.
    """
    names, values = _axes(dataset, config, over)
    check_share(share)
    if score not in BETTER:
        raise InputError(
            f'score = "{shown(score)}" has no better direction: choose from {", ".join(BETTER)}.'
        )
    seeds = checked_seeds(seeds)
    score_of: Callable[[dict[str, Any], int], float]
    if family_of(config.method).moves_truth & set(names):
        classed = dataset.classes is not None
        check_scores((score,), scores_for(POINT_SCORES, SCORES, classed=classed))
        score_of = _against_points(dataset, config, domain, outside, score)
    else:
        trial = trial_of(dataset, config, domain, outside)
        check_scores((score,), trial.score_names)
        score_of = partial(score_at, trial, score)
    reached = np.empty([len(one) for one in values])
    work = Work(reached.size * len(seeds), "draws", progress, cancelled)
    for cell in np.ndindex(*reached.shape):
        changes = {name: one[place] for name, one, place in zip(names, values, cell, strict=True)}
        drawn = [score_of(changes, seed) for seed in work.over(seeds)]
        reached[cell] = _reached(np.array(drawn), BETTER[score], share)
    return ParameterMap(
        config=config,
        score=score,
        share=share,
        names=names,
        values=values,
        reached=reached,
        seeds=seeds,
    )


def _axes(
    dataset: Dataset, config: Configuration, over: Mapping[str, Sequence[float]]
) -> tuple[tuple[str, str], tuple[tuple[float, ...], tuple[float, ...]]]:
    check_spends(config)
    card = CARDS[config.method]
    known = [name for name in searched(config.method) if card.parameter(name)]
    if len(known) < 2:
        raise InputError(
            f"method = {config.method} has no two parameters to search: choose another method, "
            "such as privthr or dplloyd."
        )
    if len(over) != 2 or not set(over) <= set(known):
        raise InputError(
            f"over = {', '.join(over) or 'nothing'}: choose two parameters of {card.name}, from "
            f"{', '.join(known)}."
        )
    if "grid" in over and dataset.counts is not None:
        raise InputError(
            "grid can't be searched on a grid of counts, whose cells are fixed: leave it out."
        )
    values = []
    for name, tried in over.items():
        now = getattr(config, name)
        if isinstance(now, tuple):
            raise InputError(
                f"grid = {','.join(map(str, now))}: the search needs one number for all axes: "
                "give one."
            )
        values.append(tuple(sorted({*tried, now})))
    first, second = over
    return (first, second), (values[0], values[1])


def _reached(values: Floats, sign: Better, share: float) -> float:
    """Score that a share of the draws reaches; a draw without a score is treated as the worst."""
    ordered = np.sort(values) if sign == "<=" else -np.sort(-values)
    return float(ordered[max(0, math.ceil(share * ordered.size - 1e-9) - 1)])


def _against_points(
    dataset: Dataset, config: Configuration, domain: Domain | None, outside: Outside, score: str
) -> Callable[[dict[str, Any], int], float]:
    family, of_table = family_of(config.method), SCORES[score].of_table
    assert of_table is not None  # noqa: S101 - one of POINT_SCORES
    first = family.build(dataset, config, domain, outside)
    reference = first.material.classes if SCORES[score].of_classes else first.label(None)
    built: dict[Any, tuple[Trial, Callable[[Any], Ints]]] = {}

    def score_of(changes: dict[str, Any], seed: int) -> float:
        changed = replace(config, **changes)
        key = family.material_settings(changed)
        if key not in built:
            trial = family.build(dataset, changed, domain, outside)
            built[key] = trial, trial.tables(reference)
        trial, table_of = built[key]
        return of_table(table_of(trial.at(**changes).draw(seed)))

    return score_of


def searched(method: str) -> tuple[str, ...]:
    """Parameters of a method's family that can be searched."""
    return tuple(dict.fromkeys(name for pair in family_of(method).searched for name in pair))
