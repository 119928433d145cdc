"""Draws and scores for the table of the papers, on the reference data of :mod:`tests.conftest`.

What several rows need is measured once.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from dpviz.data.dataset import Dataset
from dpviz.experiments.paper_sets import PAPER_SETS
from dpviz.families import CARDS, family_of
from dpviz.metrics.matching import f_measure
from dpviz.papers.row import Measured
from tests.conftest import reference_file

T = TypeVar("T")
Floats = NDArray[np.float64]

#: Parameters that suit each reference set.
SETS: dict[str, dict[str, Any]] = {
    name: dict(PAPER_SETS[name].settings)
    for name in ("ds1", "ds2", "ds3", "s1", "unbalance", "birch3", "blood", "gamma")
} | {"abalone": {"clusters": 3}}

#: File of each reference set, and its column of classes.
FILES = {
    "ds1": ("ds1.csv", None),
    "ds2": ("ds2.csv", None),
    "ds3": ("ds3.csv", None),
    "s1": ("s1.csv.gz", "label"),
    "unbalance": ("unbalance.csv.gz", "label"),
    "birch3": ("birch3.csv.gz", None),
    "blood": ("blood.csv.gz", "donated"),
    "gamma": ("gamma.csv.gz", "class"),
    "abalone": ("abalone.csv.gz", "sex"),
}

#: Scores that are computed together, since one draw serves all of them.
_TOGETHER = (
    ("k", "clusters", "dsg_c", "f_measure"),
    ("ocm", "two_ce"),
    ("wcss", "nicv", "f_measure"),
    ("zhang_f",),
)


@dataclass(frozen=True, eq=False)
class Reference:
    """A data set of a paper, with the known class of each record where there is one."""

    dataset: Dataset
    classes: NDArray[np.intp] | None = None


def load(name: str) -> Reference:
    """Reference set of a name, with its classes.

    Sets with classes are shuffled: some files list class by class, and a method that cuts the list
    in pieces would get the answer from the order.
    """
    file, column = FILES[name]
    table = pd.read_csv(reference_file(file), header=0 if file.endswith(".gz") else None)
    if column is None:
        return Reference(Dataset(name=name, points=table.to_numpy(dtype=float)))
    table = table.sample(frac=1, random_state=0)
    points = table.drop(columns=column).to_numpy(dtype=float)
    classes = pd.factorize(table[column], sort=True)[0].astype(np.intp)
    return Reference(Dataset(name=name, points=points), classes)


class Lab:
    """Draws and scores on reference data, each computed once.

    Parameters
    ----------
    most
        Upper limit on the draws of each point, for a quick check; None for none.
    load
        Returns the reference set of a name in ``SETS``.
    """

    def __init__(self, most: int | None = None, load: Callable[[str], Reference] = load) -> None:
        self._load = load
        self.most = most
        self._kept: dict[Hashable, Any] = {}

    def kept(self, key: Hashable, build: Callable[[], T]) -> T:
        """Return what does not change, built once."""
        if key not in self._kept:
            self._kept[key] = build()
        found: T = self._kept[key]
        return found

    def limited(self, draws: int) -> int:
        """Number of draws, limited for a quick check."""
        return draws if self.most is None else min(draws, self.most)

    def data(self, name: str) -> Reference:
        """Reference set of a name."""
        return self.kept(("data", name), lambda: self._load(name))

    def trial(self, data: str, method: str, epsilon: float = 1.0, **options: Any) -> Any:
        """Trial of a method on a reference set, as published, on the range of the data."""
        card, family = CARDS[method], family_of(method)
        own = {name: value for name, value in SETS[data].items() if card.parameter(name)}
        given = {"variant": "published", **own, **options}
        config = family.config(method=method, epsilon=epsilon, **given)
        key = ("truth", data, family.name, family.true_settings(config))
        first: Any = self.kept(
            key, lambda: family.build(self.data(data).dataset, config, None, "clip")
        )
        return replace(first, config=config)

    def scores(self, data: str, method: str, score: str, draws: int, **options: Any) -> Floats:
        """Score of each of the first seeds, shape (draws,)."""
        trial = self.trial(data, method, **options)
        known = trial.score_names
        names = next(
            (group for group in _TOGETHER if score in group and set(group) <= set(known)), (score,)
        )
        key = ("scores", data, names, trial.config)
        found: dict[str, list[float]] = self.kept(key, lambda: {name: [] for name in names})
        for seed in range(len(found[score]), draws):
            drawn = trial.scores(trial.draw(seed), seed, names)
            for name in names:
                found[name].append(drawn[name])
        return np.array(found[score][:draws])

    def mean(self, data: str, method: str, score: str, draws: int, **options: Any) -> Measured:
        """Mean of a score over the first seeds."""
        values = self.scores(data, method, score, self.limited(draws), **options)
        return averaged(values, ", ".join([titled(data), CARDS[method].title, *_said(options)]))

    def class_f(self, data: str, method: str, draws: int, **options: Any) -> Floats:
        """F-measure of each of the first seeds against the known classes, shape (draws,)."""
        trial = self.trial(data, method, **options)
        classes = self.data(data).classes
        if classes is None:
            raise ValueError(f"{data} has no classes")
        key = ("classes", data, trial.config)
        found: list[float] = self.kept(key, list)
        table = trial.tables(classes)
        found.extend(float(f_measure(table(trial.draw(seed)))) for seed in range(len(found), draws))
        return np.array(found[:draws])


def averaged(values: Sequence[float] | Floats, how: str) -> Measured:
    """Mean of draws, with their number beside what they are of."""
    return Measured.mean(values, f"{how}, {len(values)} draws")


def least(found: Iterable[Measured]) -> Measured:
    """The smallest of several numbers."""
    return min(found, key=lambda one: one.value)


def largest(found: Iterable[Measured]) -> Measured:
    """The largest of several numbers."""
    return max(found, key=lambda one: one.value)


def gap(low: Floats, high: Floats, how: str) -> Measured:
    """Mean of ``high`` minus mean of ``low``, drawn with different noise."""
    sd = math.hypot(low.std(ddof=1), high.std(ddof=1)) if min(low.size, high.size) > 1 else 0.0
    return Measured(
        value=float(high.mean() - low.mean()), sd=sd, draws=low.size, how=f"{how}, {low.size} draws"
    )


def ratio(above: Floats, under: Floats, how: str) -> Measured:
    """Mean of one score over that of another, drawn with different noise."""
    value, sd = float(above.mean() / under.mean()), 0.0
    if min(above.size, under.size) > 1:
        sd = value * math.hypot(*(one.std(ddof=1) / one.mean() for one in (above, under)))
    return Measured(value=value, sd=sd, draws=above.size, how=f"{how}, {above.size} draws")


def space_of_trial(trial: Any) -> Any:
    """Space in which a trial of k-means computes."""
    from dpviz.kmeans.lloyd import space_of

    return space_of(trial.material, trial.config)


def titled(data: str) -> str:
    """Name of a reference set for people."""
    return data.upper() if len(data) < 4 else data.capitalize()


def _said(options: dict[str, Any]) -> list[str]:
    """Settings for people."""
    signs = {"epsilon": "ε", "alpha": "α"}
    given = {"epsilon": 1.0} | options
    return [
        f"{signs.get(name, name)} {value:g}" if isinstance(value, float) else f"{name} {value}"
        for name, value in given.items()
    ]


# -- measures of several papers -----------------------------------------------------------------


def loss(method: str, variant: str, scenario: str, runs: int, lab: Lab) -> Measured:
    """Lower bound on the privacy loss at claim 1."""
    from dpviz.audit import audit

    # A bound needs many runs, in a quick check too.
    runs = runs if lab.most is None else min(runs, 1000)
    found = audit(method, variant, runs=runs, scenario=scenario)
    # An audit that finds nothing proves nothing.
    proof = "" if found.violated else "; the proof is on the card"
    return Measured(
        value=found.epsilon_lower,
        sd=None,
        draws=runs,
        how=f"audit of {CARDS[method].title} ({variant}), {scenario}, {runs:,} runs on each of "
        f"two data sets, 99% confidence{proof}",
    )


def fact(data: str, what: str, lab: Lab) -> Measured:
    """Records n, columns d or classes K of a set."""
    reference = lab.data(data)
    classes = 0 if reference.classes is None else len(np.unique(reference.classes))
    value = {"n": reference.dataset.n, "d": reference.dataset.ndim, "K": classes}[what]
    return Measured(value=float(value), how=titled(data))


def preset_fact(preset: str, what: str, lab: Lab) -> Measured:
    """Draws of a point, or the lowest or highest epsilon, of a preset."""
    from dpviz.experiments.presets import PRESETS

    one = PRESETS[preset]
    value = {"draws": one.repeats, "low": min(one.epsilons), "high": max(one.epsilons)}[what]
    return Measured(value=float(value), how=f"preset {preset}")
