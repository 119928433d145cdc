"""Many draws of one setting: every score as a band, and what the draws agree on, as a map."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from dpviz.errors import InputError
from dpviz.family.score import check_scores
from dpviz.family.trial import Trial
from dpviz.metrics.bands import Band, band

#: Most draws that the screen offers.
MOST_DRAWS = 500

#: Told how many of how many draws are done.
Progress = Callable[[int, int], None]

#: Asked after each draw whether to stop.
Cancel = Callable[[], bool]


class DrawsCancelled(Exception):  # noqa: N818 - a wish, no fault
    """The draws were stopped before they were done."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Draws:
    """Many draws of one setting.

    Parameters
    ----------
    seeds
        Of the draws, in order.
    scores
        Values of each score, shape (R,), by its name.
    chance
        Share of the draws that touch each place: of the subband's shape the probability that
        a cell is significant; for k-means, shape (m,), the probability that a watched record
        changes its cluster.
    centers
        Centres of every draw, shape (R, K, d); None for WaveCluster.
    """

    seeds: tuple[int, ...]
    scores: dict[str, NDArray[np.float64]]
    chance: NDArray[np.float64]
    centers: NDArray[np.float64] | None = None

    @cached_property
    def bands(self) -> dict[str, Band]:
        """Median and band of each score."""
        return {name: band(values) for name, values in self.scores.items()}


def many_draws(
    trial: Trial,
    seeds: Sequence[int],
    names: Sequence[str],
    *,
    progress: Progress | None = None,
    cancelled: Cancel | None = None,
) -> Draws:
    """Draw a setting with many seeds.

    Parameters
    ----------
    trial
        Method, setting and data.
    seeds
        One draw each, at least one.
    names
        Scores of ``trial.score_names``.
    progress, cancelled
        Told and asked after each draw.

    Raises
    ------
    InputError
        Where a score is unknown, or there is no seed.
    DrawsCancelled
        Where it was stopped.
    """
    check_scores(names, trial.score_names)
    if not seeds:
        raise InputError("seeds = (): ask for 1 or more draws.")
    values = np.empty((len(names), len(seeds)))
    touched: NDArray[np.float64] | None = None
    centers = []
    for number, seed in enumerate(seeds):
        if cancelled and cancelled():
            raise DrawsCancelled(f"stopped after {number} of {len(seeds)} draws")
        one = trial.draw(seed)
        found = trial.scores(one, seed, names)
        values[:, number] = [found[name] for name in names]
        mask = trial.affected(one).astype(float)
        touched = mask if touched is None else touched + mask
        places = trial.centers(one)
        if places is not None:
            centers.append(places)
        if progress:
            progress(number + 1, len(seeds))
    assert touched is not None  # noqa: S101 - there is a seed
    return Draws(
        seeds=tuple(seeds),
        scores=dict(zip(names, values, strict=True)),
        chance=touched / len(seeds),
        centers=np.array(centers) if centers else None,
    )
