"""Draws and scores for the table of the papers, from the reference data of :mod:`tests.conftest`.

Random numbers are kept in lists with one number per seed. The lists are stored in one file per
paper. So a row can be computed again quickly, and a seed gives the same number again.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import pandas as pd
import pytest
from numpy.typing import NDArray
from scipy.stats import beta, t

from dpviz.data.dataset import Dataset
from dpviz.experiments.paper_sets import PAPER_SETS
from dpviz.families import CARDS, family_of
from dpviz.metrics.matching import f_measure
from dpviz.papers.row import CONFIDENCE, Measured
from tests.benchmarks.sets import VARIABLE, MissingError, OfRepository, folder
from tests.conftest import reference_file

T = TypeVar("T")
Floats = NDArray[np.float64]

#: Parameters that suit each reference set.
SETS: dict[str, dict[str, Any]] = {
    name: dict(PAPER_SETS[name].settings)
    for name in (
        "ds1",
        "ds2",
        "ds3",
        "s1",
        "unbalance",
        "birch3",
        "blood",
        "gamma",
        "adult",
        "lifesci",
    )
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

#: Sets that are read from checkouts of public repositories (:mod:`tests.benchmarks.sets`): the
#: repository, the files that make up the set, and the columns.
CHECKED_OUT: dict[str, tuple[str, tuple[str, ...], tuple[int, ...]]] = {
    "adult": (
        "jbrownlee/Datasets",
        ("adult-train.csv", "adult-test.csv"),
        (0, 2, 4, 10, 11, 12),
    ),
    "lifesci": ("prashmohan/GUPT", ("samples/komarix/ds1.10.csv",), tuple(range(10))),
}

#: Scores that are computed together, because one draw is enough for all of them.
_TOGETHER = (
    ("k", "clusters", "dsg_c", "f_measure"),
    ("ocm", "two_ce"),
    ("wcss", "nicv", "f_measure"),
    ("zhang_f",),
)


@dataclass(frozen=True, eq=False)
class Reference:
    """A data set of a paper, with the known class of each record if the set has classes."""

    dataset: Dataset
    classes: NDArray[np.intp] | None = None


def load(name: str) -> Reference:
    """Reference set of a name, with its classes.

    Sets with classes are shuffled, because some files are sorted by class, and a method that splits
    the list into blocks would learn the classes from the order. If a checkout is missing, the test
    is skipped.
    """
    if name in CHECKED_OUT:
        return Reference(Dataset(name=name, points=_checked_out(*CHECKED_OUT[name])))
    file, column = FILES[name]
    table = pd.read_csv(reference_file(file), header=0 if file.endswith(".gz") else None)
    if column is None:
        return Reference(Dataset(name=name, points=table.to_numpy(dtype=float)))
    table = table.sample(frac=1, random_state=0)
    points = table.drop(columns=column).to_numpy(dtype=float)
    classes = pd.factorize(table[column], sort=True)[0].astype(np.intp)
    return Reference(Dataset(name=name, points=points), classes)


def _checked_out(repository: str, files: Sequence[str], columns: tuple[int, ...]) -> Floats:
    """Records of some files of a repository; skip the test if the repository is missing."""
    try:
        parts = [OfRepository(repository, file, columns).read(folder(None)) for file in files]
    except MissingError as missing:
        pytest.skip(f"{VARIABLE} names no folder with it: {missing}")
    return np.concatenate([one.points for one in parts])


def store_of(paper: str) -> Path:
    """File with the stored lists of a paper, by name; a list has one number per seed."""
    return Path(__file__).with_name("draws") / f"{paper}.npz"


def stored_draws(paper: str) -> dict[str, Floats]:
    """All stored lists of a paper."""
    if not store_of(paper).exists():
        return {}
    with np.load(store_of(paper)) as file:
        return {name: file[name] for name in file.files}


class Lab:
    """Draws and scores on reference data, each computed once.

    Parameters
    ----------
    share
        Share of the draws that are used; a small share shows the verdicts with few draws.
    load
        Returns the reference set of a name in ``SETS``.
    store
        Stored lists by name; they have numbers for the first seeds only.
    """

    def __init__(
        self,
        share: float = 1.0,
        load: Callable[[str], Reference] = load,
        store: Mapping[str, Floats] | None = None,
    ) -> None:
        self._load = load
        self._share = share
        self._kept: dict[Hashable, Any] = {}
        self.lists: dict[str, Floats] = dict(store or {})
        self.used: set[str] = set()

    def kept(self, key: Hashable, build: Callable[[], T]) -> T:
        """Return an object that does not change; build it only once."""
        if key not in self._kept:
            self._kept[key] = build()
        found: T = self._kept[key]
        return found

    def limited(self, draws: int) -> int:
        """Number of draws that are used."""
        return max(int(draws * self._share), 2)

    def each(self, name: str, draws: int, number: Callable[[int], float]) -> Floats:
        """Numbers for the first seeds, shape (draws,), from the store or from a function."""
        return self._several((name,), draws, lambda seed: (number(seed),))[0]

    def _several(
        self, names: Sequence[str], draws: int, numbers: Callable[[int], Sequence[float]]
    ) -> list[Floats]:
        """One list for each of the numbers that a draw gives."""
        many = self.limited(draws)
        self.used |= {*names}
        known = min(self.lists.get(name, np.empty(0)).size for name in names)
        if known < many:
            more = np.array([numbers(seed) for seed in range(known, many)], dtype=float)
            for name, column in zip(names, more.T, strict=True):
                self.lists[name] = np.append(self.lists.get(name, np.empty(0))[:known], column)
        return [self.lists[name][:many] for name in names]

    def data(self, name: str) -> Reference:
        """Reference set of a name."""
        return self.kept(("data", name), lambda: self._load(name))

    def trial(self, data: str, method: str, epsilon: float = 1.0, **options: Any) -> Any:
        """Trial of a published method on a reference set, on the range of the data."""
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
        """Score for each of the first seeds, shape (draws,)."""
        trial = self.trial(data, method, **options)
        known = trial.score_names
        names = next(
            (group for group in _TOGETHER if score in group and set(group) <= set(known)), (score,)
        )

        def numbers(seed: int) -> list[float]:
            drawn = trial.scores(trial.draw(seed), seed, names)
            return [drawn[name] for name in names]

        lists = [_list_name(name, data, method, options) for name in names]
        return self._several(lists, draws, numbers)[names.index(score)]

    def mean(self, data: str, method: str, score: str, draws: int, **options: Any) -> Measured:
        """Mean of a score over the first seeds."""
        values = self.scores(data, method, score, draws, **options)
        return averaged(values, ", ".join([titled(data), CARDS[method].title, *_said(options)]))

    def of_draws(
        self,
        what: str,
        data: str,
        method: str,
        draws: int,
        number: Callable[[Any], float],
        **options: Any,
    ) -> Floats:
        """A number for each of the first runs, shape (draws,); ``what`` names the number."""
        name = _list_name(what, data, method, options)
        trial = self.trial(data, method, **options)
        return self.each(name, draws, lambda seed: number(trial.draw(seed)))

    def class_f(self, data: str, method: str, draws: int, **options: Any) -> Floats:
        """F-measure against the known classes for each of the first seeds, shape (draws,)."""
        trial = self.trial(data, method, **options)
        classes = self.data(data).classes
        if classes is None:
            raise ValueError(f"{data} has no classes")
        table = trial.tables(classes)
        return self.of_draws(
            "class_f", data, method, draws, lambda run: float(f_measure(table(run))), **options
        )


def _list_name(what: str, data: str, method: str, options: Mapping[str, Any]) -> str:
    """Name of a list: name of the number, data, method and settings."""
    settings = {"epsilon": 1.0} | dict(options)
    return " ".join([what, data, method, *(f"{key}={settings[key]}" for key in sorted(settings))])


# -- intervals ----------------------------------------------------------------------------------


def exact(value: float, how: str, draws: int = 1) -> Measured:
    """A number that is not random, or a number of wrong cases."""
    return Measured(value=float(value), interval=(float(value),) * 2, draws=draws, how=how)


def bounded(value: float, how: str, draws: int) -> Measured:
    """A number that is at least as large as a measured bound."""
    return Measured(value=value, interval=(value, math.inf), draws=draws, how=how)


def estimated(value: float, error: float, draws: int, how: str) -> Measured:
    """A nearly normal number with a standard error from some draws."""
    found = Measured(value=value, interval=(value, value), error=error, draws=draws, how=how)
    return replace(found, interval=_ends(found))


def averaged(values: Sequence[float] | Floats, how: str) -> Measured:
    """Mean over draws; ``how`` also gets the number of draws."""
    array = np.asarray(values, dtype=float)
    error = float(array.std(ddof=1)) / math.sqrt(array.size)
    return estimated(float(array.mean()), error, array.size, f"{how}, {array.size} draws")


def share(values: Sequence[bool] | Floats, how: str) -> Measured:
    """Share of draws that meet a condition, with the interval of Clopper and Pearson."""
    array = np.asarray(values, dtype=float)
    many, draws = int(array.sum()), array.size
    return Measured(
        value=many / draws,
        interval=_clopper_pearson(many, draws, 1 - CONFIDENCE),
        error=math.sqrt(many * (draws - many) / draws) / draws,
        draws=draws,
        how=f"{how}, {draws} draws",
    )


def _clopper_pearson(many: int, draws: int, alarm: float) -> tuple[float, float]:
    low = beta.ppf(alarm / 2, many, draws - many + 1) if many else 0.0
    high = beta.ppf(1 - alarm / 2, many + 1, draws - many) if many < draws else 1.0
    return float(low), float(high)


def _ends(found: Measured, cases: int = 1) -> tuple[float, float]:
    """Ends of an interval; together, the intervals of all cases are correct at the confidence."""
    if not found.error:
        return found.interval
    more = float(t.ppf(1 - (1 - CONFIDENCE) / 2 / cases, max(found.draws - 1, 1)))
    return found.value - more * found.error, found.value + more * found.error


def least(found: Iterable[Measured]) -> Measured:
    """The smallest of several numbers, each of which may really be the smallest.

    The lower end is the lowest lower end. For the upper end, all intervals must be correct
    together, so each of them is wider.
    """
    cases = list(found)
    first = min(cases, key=lambda one: one.value)
    low = min(one.interval[0] for one in cases)
    high = min(_ends(one, len(cases))[1] for one in cases)
    return replace(first, interval=(low, max(high, low)))


def largest(found: Iterable[Measured]) -> Measured:
    """The largest of several numbers; see :func:`least`."""
    turned = least(_turned(one) for one in found)
    return _turned(turned)


def _turned(found: Measured) -> Measured:
    """The number with the other sign."""
    low, high = found.interval
    return replace(found, value=-found.value, interval=(-high, -low))


def gap(low: Floats, high: Floats, how: str) -> Measured:
    """Mean of ``high - low`` per seed, because both runs of a seed have the same noise."""
    return averaged(high - low, how)


def ratio(above: Floats, under: Floats, how: str) -> Measured:
    """Ratio of the means of two scores of the same seeds, with an error to first order."""
    value = float(above.mean() / under.mean())
    parts = (above - value * under) / under.mean()
    error = float(parts.std(ddof=1)) / math.sqrt(parts.size)
    return estimated(value, error, parts.size, f"{how}, {parts.size} draws")


def space_of_trial(trial: Any) -> Any:
    """Space in which a trial of k-means computes."""
    from dpviz.kmeans.lloyd import space_of

    return space_of(trial.material, trial.config)


def titled(data: str) -> str:
    """Readable name of a reference set."""
    return data.upper() if len(data) < 4 else data.capitalize()


def _said(options: dict[str, Any]) -> list[str]:
    """Readable settings."""
    signs = {"epsilon": "ε", "alpha": "α"}
    given = {"epsilon": 1.0} | options
    return [
        f"{signs.get(name, name)} {value:g}" if isinstance(value, float) else f"{name} {value}"
        for name, value in given.items()
    ]


# -- measures of several papers -----------------------------------------------------------------


def loss(method: str, variant: str, scenario: str, runs: int, lab: Lab) -> Measured:
    """Lower bound on the privacy loss, at the claim 1."""
    from dpviz.audit import audit

    runs = lab.limited(runs)
    found = audit(method, variant, runs=runs, scenario=scenario)
    how = (
        f"audit of {CARDS[method].title} ({variant}), {scenario}, {runs:,} runs on each of two sets"
    )
    return bounded(found.epsilon_lower, how, runs)


def fact(data: str, what: str, lab: Lab) -> Measured:
    """Number of records n, of columns d or of classes K of a set."""
    reference = lab.data(data)
    classes = 0 if reference.classes is None else len(np.unique(reference.classes))
    value = {"n": reference.dataset.n, "d": reference.dataset.ndim, "K": classes}[what]
    return exact(value, titled(data))


def preset_fact(preset: str, what: str, lab: Lab) -> Measured:
    """Number of draws of each point, or lowest or highest epsilon, of a preset."""
    from dpviz.experiments.presets import PRESETS

    one = PRESETS[preset]
    value = {"draws": one.repeats, "low": min(one.epsilons), "high": max(one.epsilons)}[what]
    return exact(value, f"preset {preset}")
