"""Many draws of one setting: a band for every score, and a map that shows where the draws agree."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpviz.base.cached import cached_property
from dpviz.base.display import Displayed
from dpviz.base.errors import InputError
from dpviz.base.numbers import counted
from dpviz.base.work import IsCancelled, Progress, Work
from dpviz.family.score import Score, check_scores
from dpviz.family.trial import Trial
from dpviz.metrics.bands import Band, band

#: Largest number of draws that a page offers.
MOST_DRAWS = 500


@dataclass(frozen=True, kw_only=True, eq=False)
class Draws(Displayed):
    """Many draws of one setting: values (R,) of each score, for R seeds.

    ``chance``: probability that each cell is significant (WaveCluster), or that each watched record
    (m,) changes its cluster (k-means). ``centers`` (R, K, d) has NaN for missing centres; it is
    None for WaveCluster.
    """

    seeds: tuple[int, ...]
    scores: dict[str, NDArray[np.float64]]
    chance: NDArray[np.float64]
    centers: NDArray[np.float64] | None = None

    @cached_property
    def bands(self) -> dict[str, Band]:
        """Median and band of each score of which at least one draw has a value."""
        return {one: band(all_) for one, all_ in self.scores.items() if not np.isnan(all_).all()}

    def rank_words(self, seed: int, score: Score) -> str:
        """Sentence with the rank of one draw among all; empty if the draw has no rank."""
        if seed not in self.seeds or score.name not in self.scores or score.better is None:
            return ""
        values = self.scores[score.name] * (1 if score.better == ">=" else -1)
        own = values[self.seeds.index(seed)]
        if np.isnan(own):
            return ""
        worse, better = int((values < own).sum()), int((values > own).sum())
        others = counted(len(self.seeds) - 1, "other draw")
        rank = f"better than {worse} of the {others}, and worse than {better}"
        return f"By {score.title}, the draw of seed {seed} is {rank}."


def many_draws(
    trial: Trial,
    seeds: Sequence[int],
    names: Sequence[str],
    *,
    progress: Progress | None = None,
    cancelled: IsCancelled | None = None,
) -> Draws:
    """Run a setting with many seeds; InputError if a score is unknown, or there is no seed."""
    check_scores(names, trial.score_names)
    if not seeds:
        raise InputError("seeds are missing: ask for 1 or more draws.")
    values = np.empty((len(names), len(seeds)))
    affected: NDArray[np.float64] = np.zeros(())
    centers = []
    work = Work(len(seeds), "draws", progress, cancelled)
    for number, seed in enumerate(work.over(seeds)):
        one = trial.draw(seed)
        found = trial.scores(one, seed, names)
        values[:, number] = [found[name] for name in names]
        affected = affected + trial.affected(one)
        places = trial.centers(one)
        if places is not None:
            centers.append(places)
    most = max(map(len, centers), default=0)
    padded = [
        np.pad(one, ((0, most - len(one)), (0, 0)), constant_values=np.nan) for one in centers
    ]
    return Draws(
        seeds=tuple(seeds),
        scores=dict(zip(names, values, strict=True)),
        chance=affected / len(seeds),
        centers=np.array(padded) if padded else None,
    )
