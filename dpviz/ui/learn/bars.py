"""Bars that a lesson shows beside its text, from the shown run or from many similar runs."""

from __future__ import annotations

import html
import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from dpviz.base.numbers import counted, readable
from dpviz.family.parameter import GIVEN
from dpviz.metrics.matching import dsg_c
from dpviz.privacy.noise_source import SeededNoise
from dpviz.ui.learn.facts import DRAWS, Look
from dpviz.wavecluster.truth import run

#: Numbers of clusters from this number on are in the same row.
_MOST_CLUSTERS = 5

#: Sizes of noise from this size on are in the same row.
_MOST_NOISE = 8

#: Shares of the budget that are tried for the counts; number of draws for each share.
_SHARES, _EACH = tuple(tenth / 10 for tenth in range(1, 10)), 20

#: Number of rows into which the range between a theorem's bounds is divided.
_ROWS = 6


@dataclass(frozen=True, kw_only=True)
class Bars:
    """A row of bars for each label; ``title`` says what the lengths mean."""

    title: str
    rows: Sequence[tuple[str, Sequence[float]]]
    names: Sequence[str] = ()  # names of the bars, if a row has several
    here: str = ""  # label of the row with the run on the screen

    def html(self) -> str:
        """HTML of a table with bars, which is readable on a screen, on a phone and on paper."""
        most = max((value for _, values in self.rows for value in values), default=0.0) or 1.0
        keys = "".join(
            f'<span><i class="dpv-b{number}"></i>{html.escape(name)}</span>'
            for number, name in enumerate(self.names)
        )
        rows = "".join(
            f"<tr{_MARK if label == self.here else ''}><th scope=row>{html.escape(label)}</th><td>"
            + "".join(
                f'<div><i class="dpv-b{number}" style="width:{70 * value / most:.1f}%"></i>'
                f"{readable(value, 2)}</div>"
                for number, value in enumerate(values)
            )
            + "</td></tr>"
            for label, values in self.rows
        )
        return (
            f'<table class="dpv-bars"><caption>{html.escape(self.title)}{keys}</caption>'
            f"<tbody>{rows}</tbody></table>"
        )


_MARK = ' class="dpv-here"'


def with_and_without(look: Look) -> Bars:
    """Distribution of the number of clusters with and without the sample set's person."""
    found = [Counter(min(number, _MOST_CLUSTERS) for number in one) for one in look.outcomes]
    labels = {number: counted(number, "cluster") for number in sorted({*found[0], *found[1]})}
    if _MOST_CLUSTERS in labels:
        labels[_MOST_CLUSTERS] = f"{_MOST_CLUSTERS} or more clusters"
    return Bars(
        title=f"Number of results, in {DRAWS} draws each",
        names=("with Sam", "without Sam"),
        rows=[(label, [one[number] for one in found]) for number, label in labels.items()],
    )


def noise(look: Look) -> Bars:
    """Distribution of the noise's absolute value, at the current epsilon and at half of it."""
    scale = look.ledger.spends[0].scale
    ends = np.array([*range(_MOST_NOISE + 1), math.inf])
    shares = [100 * -np.diff(np.exp(-ends / size)) for size in (scale, 2 * scale)]
    labels = [f"{low} to {low + 1}" for low in range(_MOST_NOISE)] + [f"{_MOST_NOISE} or more"]
    return Bars(
        title="Size of the noise, % of draws",
        names=("this epsilon", "half of it"),
        rows=[(label, list(pair)) for label, *pair in zip(labels, *shares, strict=True)],
    )


def split(look: Look) -> Bars:
    """Average share of wrong cells, for several shares of the budget spent on the counts."""
    truth, config = look.runs.truth, replace(look.settings.config, choose=GIVEN)
    rows = []
    for share in _SHARES:
        tried = replace(config, alpha=share)
        wrong = [
            dsg_c(truth.stages.labels, run(truth.source, tried, SeededNoise(seed)).stages.labels)
            for seed in range(_EACH)
        ]
        rows.append((readable(share), [float(np.mean(wrong))]))
    here = min(_SHARES, key=lambda share: abs(share - config.alpha))
    return Bars(
        title=f"Wrong cells per true cell, for each alpha, mean of {_EACH} draws",
        rows=rows,
        here=readable(here),
    )


def ranks(look: Look) -> Bars:
    """Distribution of the number of blocks that are kept in the draws, with a theorem's bounds."""
    config = replace(look.settings.config, choose=GIVEN)
    source = look.runs.truth.source
    found = [run(source, config, SeededNoise(seed)).k for seed in range(DRAWS)]
    low, high = look.bounds.ends
    ends = np.unique(np.linspace(low, high + 1, _ROWS + 1).round().astype(int))
    labels = [f"{first} to {after - 1}" for first, after in pairwise(ends)]
    labels = [f"fewer than {low}", *labels, f"more than {high}"]
    row = np.searchsorted(ends, [*found, look.runs.private.k], side="right")
    counts = np.bincount(row[:-1], minlength=len(labels))
    return Bars(
        title=f"Number of blocks kept, in {DRAWS} results",
        rows=[(label, [int(one)]) for label, one in zip(labels, counts, strict=True)],
        here=labels[int(row[-1])],
    )


BARS: dict[str, Callable[[Look], Bars]] = {
    "with_and_without": with_and_without,
    "noise": noise,
    "split": split,
    "ranks": ranks,
}
