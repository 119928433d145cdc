"""Code that all searches share: defaults, checks, and draws at other settings."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dpviz.base.errors import InputError, check_number
from dpviz.families import CARDS, SCORES, family_of
from dpviz.family.parameter import check_option
from dpviz.family.score import Better
from dpviz.family.trial import Configuration, Trial

#: Warning for users about the privacy cost of a search on the true data.
TUNING = (
    "Tuning on true data costs privacy: parameters that were chosen by looking at the data reveal "
    "something about the data, and no ledger counts this. Instead, tune on similar public data, "
    "and use the values found there."
)

#: Default seeds, and the default share of the draws that must meet a target.
SEEDS = tuple(range(50))
SHARE = 0.9

#: Scores that can be tuned; for each, whether larger or smaller is better.
BETTER: dict[str, Better] = {name: one.better for name, one in SCORES.items() if one.better}


def checked_seeds(seeds: Sequence[int]) -> tuple[int, ...]:
    """Return the seeds; raise InputError if there are no seeds."""
    if not seeds:
        raise InputError("seeds are missing: ask for 1 or more draws.")
    return tuple(seeds)


def check_share(share: float) -> None:
    """Raise InputError if the share of the draws is not in (0, 1]."""
    if not 0 < check_number("share", share) <= 1:
        raise InputError(f"share = {share:g}: give a share of the draws, for example 0.9.")


def check_spends(config: Configuration) -> None:
    """Raise InputError for a method that is unknown or has no budget."""
    check_option("method", config.method, CARDS)
    if not CARDS[config.method].spends:
        private = [name for name, card in CARDS.items() if card.spends]
        raise InputError(
            f"method = {config.method} spends no budget, so there is nothing to search: choose "
            f"one of {', '.join(private)}."
        )


def score_at(trial: Trial, name: str, changes: dict[str, Any], seed: int) -> float:
    """Score of the draw with a seed at changed settings, compared with the same true run."""
    changed = trial.at(**changes)
    return changed.scores(changed.draw(seed), seed, (name,))[name]


def is_slow(trial: Trial, score: str) -> bool:
    """Whether one draw with its score takes more than a few milliseconds."""
    return family_of(trial.config.method).grows or SCORES[score].redraws
