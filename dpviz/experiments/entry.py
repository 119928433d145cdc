"""Entries of the benchmark: compare anybody's method or estimator with ours, with equal seeds.

The code of an entry runs in a process of its own, as in an audit. A cell is a data set at one
epsilon.
"""

from __future__ import annotations

import math
import secrets
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from dpviz.audit.external import CodeProcess
from dpviz.audit.external_runs import Estimator, Named, module_of
from dpviz.audit.method_file import add_module
from dpviz.base.arrays import Floats
from dpviz.base.errors import InputError, shown
from dpviz.base.lazy import pandas as pd
from dpviz.base.work import Progress, Work
from dpviz.data.samples import load_sample, sample, sample_names
from dpviz.experiments.benchmark import SCORES, to_best
from dpviz.experiments.sweep import MOST_SEED, Plan, run_sweep, subject_of_sample
from dpviz.families import CARDS, FAMILIES, score_of, trial_of
from dpviz.family.family import Family
from dpviz.family.parameter import check_option
from dpviz.metrics.bands import CONFIDENCE, band, sign_interval
from dpviz.privacy.ledger import check_epsilon

#: Usual epsilons and draws; limits for one draw (seconds) and for its process (MB).
EPSILONS, DRAWS, SECONDS, MEMORY = (0.1, 0.5, 1.0, 2.0), 10, 60.0, 4_000

#: Most draws of a cell.
MOST_DRAWS = 1_000

#: Draws on larger sample sets take too long for a usual entry.
_MOST_RECORDS = 100_000

#: Possible names of an estimator's parameter for the number of clusters, and name of its result.
_CLUSTERS, _CENTERS = ("n_clusters", "clusters", "k"), "cluster_centers_"

#: Name of the entry in tables.
ENTRY = "entry"


@dataclass(frozen=True, kw_only=True)
class Cell:
    """The entry on one data set at one epsilon: its draws, of which ``failed`` gave no result.

    ``medians`` are those of our methods by name. ``verdict`` is "won" if the entry is better than
    each method, "lost" if methods (``better``) are better than the entry, otherwise "open". It is
    found by sign tests over seeds, with 99% confidence for all methods together.
    """

    data: str
    epsilon: float
    draws: int
    failed: int
    median: float
    low: float
    high: float
    medians: Mapping[str, float]
    better: tuple[str, ...]
    verdict: str


@dataclass(frozen=True, kw_only=True, eq=False)
class Standing:
    """The result of an entry; ``table`` has one row per draw of the entry and of our methods.

    With the same ``secret``, a later comparison has the same seeds.
    """

    title: str
    family: str
    score: str
    secret: int
    cells: tuple[Cell, ...]
    table: pd.DataFrame
    notes: tuple[str, ...]

    def count(self, verdict: str) -> int:
        """Return the number of cells with a verdict."""
        return sum(cell.verdict == verdict for cell in self.cells)


def usual_sets() -> tuple[str, ...]:
    """Return the sample sets of a usual entry."""
    return tuple(name for name in sample_names() if sample(name).n <= _MOST_RECORDS)


def enter(
    target: str,
    *,
    sets: Sequence[str] | None = None,
    epsilons: Sequence[float] = EPSILONS,
    draws: int = DRAWS,
    secret: int | None = None,
    methods: Sequence[str] | None = None,
    given: Mapping[str, Any] | None = None,
    seconds: float = SECONDS,
    memory: int = MEMORY,
    jobs: int = 1,
    progress: Progress | None = None,
) -> Standing:
    """Run an entry and our methods with the same seeds on sample sets, and compare them.

    ``target`` is the file of a method, or ``MODULE:CLASS`` or ``FILE.py:CLASS`` of an estimator
    with the parameters epsilon and n_clusters; ``given`` are its other parameters. An estimator
    gets records in the unit cube, and its ``cluster_centers_`` (at most K) are compared. ``secret``
    (default: random) gives the seeds. The default ``methods`` are those of a new comparison. A draw
    may take ``seconds``, and its process may use ``memory`` (MB). A draw without a result is worse
    than all others. Raises InputError if the code can't be loaded, or no draw has a result.
    """
    sets = usual_sets() if sets is None else tuple(dict.fromkeys(sets))
    epsilons = sorted({check_epsilon(one) for one in epsilons})
    secret = secrets.randbits(62) if secret is None else secret
    methods = None if methods is None else tuple(dict.fromkeys(methods))
    for name, listed in (("sets", sets), ("epsilons", epsilons), ("methods", methods)):
        if listed is not None and not listed:
            raise InputError(f"{name} are missing: give 1 or more.")
    if "epsilon" in (given or {}):
        raise InputError("epsilon can't be a parameter here: give epsilons instead.")
    for name, value, least, most in (
        ("draws", draws, 1, MOST_DRAWS),
        ("secret", secret, 0, MOST_SEED),
        ("seconds", seconds, 0.1, 1e6),
        ("memory", memory, 1, 1e7),
    ):
        if not least <= value <= most:
            raise InputError(f"{name} = {shown(value)}: give a number from {least:g} to {most:g}.")
    subjects = tuple(map(subject_of_sample, sets))
    seeds = sorted(np.random.default_rng(secret).choice(2**53, draws, replace=False).tolist())
    work = Work(len(sets) * len(epsilons) * draws, "draws", progress)
    limits = {"seconds": seconds, "memory": memory}
    parts = [
        _drawn(target, one, epsilons, seeds, given or {}, limits, work, methods) for one in sets
    ]
    facts, notes = parts[0][0], [note for _, _, part in parts for note in part]
    family = FAMILIES[facts["family"]]
    own = pd.DataFrame([row for _, rows, _ in parts for row in rows])
    names = _scores(family)
    score = next(name for name in SCORES if name in names)
    if own[score].isna().all():
        raise InputError(f"no draw of {shown(target, 120)} has a result: {notes[0]}")
    plan = Plan(
        subjects=subjects,
        methods=tuple(methods or family.compared),
        epsilons=tuple(epsilons),
        seeds=tuple(seeds),
        scores=names,
    )
    ours = run_sweep(plan, jobs=jobs, progress=progress)
    notes += ours.attrs["notes"]
    table = to_best(pd.concat([own, ours[own.columns]], ignore_index=True))
    lower = score_of(score).better == "<="
    table[score] = table[score].fillna(math.inf if lower else -math.inf)
    cells = tuple(
        _cell(part, name, epsilon, score, lower=lower)
        for (name, epsilon), part in table.groupby(["data", "epsilon"], sort=False)
    )
    needed = math.ceil(math.log2(2 * len(plan.methods) / (1 - CONFIDENCE)))
    if draws < needed:
        notes.append(f"{draws} draws are too few for a verdict: give {needed} or more.")
    return Standing(
        title=facts["title"] or target,
        family=family.name,
        score=score,
        secret=secret,
        cells=cells,
        table=table,
        notes=tuple(dict.fromkeys([*facts["notes"], *notes])),
    )


def _cell(part: pd.DataFrame, data: str, epsilon: float, score: str, *, lower: bool) -> Cell:
    wide = part.pivot(index="seed", columns="method", values=score)
    own = wide[ENTRY]
    names = [name for name in part["method"].unique() if name != ENTRY]
    # A positive difference means that the entry is worse; two infinite scores are alike.
    sign = 1.0 if lower else -1.0
    off = {name: np.where(own == wide[name], 0.0, sign * (own - wide[name])) for name in names}
    # One of several methods may be better by chance, so each needs a higher confidence.
    each = 1 - (1 - CONFIDENCE) / max(len(names), 1)
    better = tuple(name for name in names if sign_interval(off[name], each)[0] > 0)
    won = bool(off) and all(sign_interval(one)[1] < 0 for one in off.values())
    found = asdict(band(own))
    del found["mean"]
    return Cell(
        data=data,
        epsilon=float(epsilon),
        draws=len(own),
        failed=int(np.isinf(own).sum()),
        medians={name: band(wide[name]).median for name in names},
        better=better,
        verdict="won" if won else "lost" if better else "open",
        **found,
    )


def _scores(family: Family) -> tuple[str, ...]:
    return tuple(name for name in ("nicv", *SCORES) if name in family.quick)


def _drawn(
    target: str,
    data: str,
    epsilons: Sequence[float],
    seeds: Sequence[int],
    given: Mapping[str, Any],
    limits: Mapping[str, Any],
    work: Work,
    methods: Sequence[str] | None,
) -> tuple[dict[str, Any], list[dict[str, Any]], list[str]]:
    """Facts of the entry, its rows on one data set, and notes about draws without a result."""
    asked = {
        "target": target,
        "runner": f"{__name__}:{EntryRuns.__name__}",
        "gives": "a file with a CARD and a function run, or ",
        "data": data,
        "box": [[0.0, 1.0]],
        "probes": [],
        "publishes": [_CENTERS],
        "memory": limits["memory"] * 2**20,
    }
    rows: list[dict[str, Any]] = []
    notes: list[str] = []
    pending = [*epsilons]
    while pending:
        with CodeProcess(target, asked, limits["seconds"]) as process:
            facts = process.facts
            family = FAMILIES[facts["family"]]
            spending = [name for name, one in family.methods.items() if one.card.spends]
            for method in methods or ():
                check_option("methods", method, spending)
            seed = facts["seed"]
            if given.get(seed) is not None:
                raise InputError(f"{seed} makes all draws equal: leave it out.")
            process.begin(dict(given), {})
            names, ended = _scores(family), False
            while pending and not ended:
                epsilon = pending.pop(0)
                where = f"on {data} at epsilon {epsilon:g}"
                for seed in seeds:
                    scores: Floats = np.full(len(names), math.nan)
                    if not ended:
                        try:
                            (found,) = process.rows(np.array([[epsilon]]), [seed], where)
                        except InputError as error:  # the process is gone
                            notes.append(str(error))
                            ended = True
                        else:
                            if isinstance(found, str):
                                notes.append(f"a draw {where} failed ({found}).")
                            else:
                                scores = next(part for one, _, part in found if one == "scores")
                    key = {"data": data, "method": ENTRY, "epsilon": epsilon, "seed": seed}
                    rows.append({**key, **dict(zip(names, scores.tolist(), strict=True))})
                    work.advance()
    return facts, rows, notes


class EntryRuns:
    """Runs of an entry in its own process, for the questions of ``external_runs``.

    The "points" of a question are only an epsilon (1, 1), because this class reads the sample set.
    """

    def __init__(self, asked: Mapping[str, Any]) -> None:
        self.data, self.estimator = asked["data"], None
        self.unseen: dict[str, str] = {}
        if asked["target"].endswith(".py"):
            self.method = add_module(module_of(asked["target"]))
            self.family = FAMILIES[CARDS[self.method].family]
        else:
            self.estimator = Estimator(asked)
            self.family = next(one for one in FAMILIES.values() if one.found == _CENTERS)
            self.method = self.family.first
        self.card = CARDS[self.method]

    def facts(self) -> dict[str, Any]:
        """Family and title of the entry, and the parameters that a user may give."""
        facts: dict[str, Any] = {"family": self.family.name, "title": "", "notes": [], "seed": None}
        if self.estimator:
            return {**facts, **self.estimator.facts()}
        variant = self.card.variant("sound")
        if not variant.private:
            facts["notes"] = [f"{self.card.name} is not private: {variant.reason}"]
        takes = [one.name for one in self.card.parameters if one.name != "epsilon"]
        more = {"title": self.card.title, "takes": takes, "open": False, "seeded": False}
        return {**facts, **more}

    def begin(self, given: Mapping[str, Any]) -> None:
        """Find the true clusters; make an estimator once."""
        suited = {
            name: value
            for name, value in self.family.suited(sample(self.data)).items()
            if self.card.parameter(name)
        }
        usual = self.family.config(method=self.method, variant=self.card.taken("sound"), **suited)
        config = usual if self.estimator else replace(usual, **given)
        if self.family.true_settings(config) != self.family.true_settings(usual):
            raise InputError("they change the true clusters, which must be equal for all methods")
        data = load_sample(self.data)
        self.trial = trial_of(data, config, data.domain)
        self.trial.true()
        if self.estimator:
            takes = self.estimator.facts()["takes"]
            name = next((one for one in _CLUSTERS if one in takes), _CLUSTERS[0])
            self.given = {name: config.clusters, **given}
            self.estimator.begin({**self.given, "epsilon": config.epsilon})

    def run(self, points: Floats, seed: int) -> Iterator[Named]:
        """Make one draw, and yield its scores."""
        trial = self.trial.at(epsilon=float(points[0, 0]))
        one = self._fitted(trial, seed) if self.estimator else trial.draw(seed)
        centers = trial.centers(one)
        if centers is not None and len(centers) > trial.config.clusters:
            raise InputError(
                f"it has {len(centers)} centres, more than K = {trial.config.clusters}"
            )
        names = _scores(self.family)
        found = trial.scores(one, seed, names)
        yield "scores", np.array([found[name] for name in names])

    def _fitted(self, trial: Any, seed: int) -> Any:
        assert self.estimator  # noqa: S101 - the caller's question
        domain, config = trial.material.domain, trial.config
        lows, sides = domain.lows, domain.highs - domain.lows
        records = np.clip((load_sample(self.data).points - lows) / sides, 0, 1)
        self.estimator.begin({**self.given, "epsilon": config.epsilon})
        found = [part for name, part in self.estimator.run(records, seed) if name == _CENTERS]
        if not found:
            raise InputError(f"it has no {_CENTERS} after fit")
        centers = found[0]
        if centers.ndim != 2 or not len(centers) or centers.shape[1] != domain.ndim:
            shape = (config.clusters, domain.ndim)
            raise InputError(f"{_CENTERS} has the shape {centers.shape} in place of {shape}")
        if not np.isfinite(centers).all():
            raise InputError(f"{_CENTERS} has numbers that are not finite")
        return self.family.from_centers(config, lows + np.clip(centers, 0, 1) * sides)
