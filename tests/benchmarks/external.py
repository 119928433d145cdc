"""False alarms of audits of sound code: `python -m tests.benchmarks.external AUDITS RUNS SEED`.

All private estimators of dpviz in their sound variants, and the mechanisms of the tests without
bugs, are audited in turn at a claim of 1, which is their budget. Mechanisms are audited on all
pairs of data sets together, dpviz on one pair after the other, which is faster. The code runs in
this process, since only its start would take longer elsewhere.
"""

from __future__ import annotations

import sys
from collections import Counter
from typing import Any

import numpy as np

from dpviz.audit import external, external_runs
from dpviz.audit.bounds import share_bounds
from dpviz.audit.pairs import pairs
from dpviz.families import CARDS, FAMILIES
from dpviz.kmeans import estimators as kmeans
from dpviz.wavecluster import estimators as wavecluster
from tests.audit import external_code, external_kmeans

_KMEANS = ("cluster_centers_", "n_iter_", "kept_centers_", "path_")
_WAVECLUSTER = ("counts_", "average_subband_", "threshold_", "label_grid_", "n_clusters_")

Case = tuple[str, dict[str, Any], tuple[str, ...] | None, float]


def cases() -> list[Case]:
    """Codes, parameters, published attributes and delta of all sound estimators."""
    found: list[Case] = []
    for module, published, more in (
        (kmeans, _KMEANS, {"n_clusters": 2}),
        (wavecluster, _WAVECLUSTER, {"grid": 8}),
    ):
        for name in module.__all__:
            card = CARDS[getattr(module, name)._method]
            if card.spends:
                given = {"domain": "0,1;0,1", **more}
                found.append((f"{module.__name__}:{name}", given, published, 0.0))
    names = dict.fromkeys(name for name, _ in external_code.MECHANISMS)
    found += [(f"{external_code.__name__}:{name}", {}, None, 0.0) for name in names]
    found.append((f"{external_kmeans.__name__}:NoisyKMeans", {}, None, 0.0))
    found.append((f"{external_code.__name__}:GaussianSum", {}, None, 0.01))
    assert len(FAMILIES) == 2, "a further family has estimators, too"
    return found


class Here:
    """Runs the code in this process, with the interface of the audit's own process."""

    def __init__(self, code: str, asked: dict[str, Any], seconds: float) -> None:
        self.code = external_runs.Estimator(asked)
        self.unseen = self.code.unseen

    def __enter__(self) -> Here:
        return self

    def __exit__(self, *_: object) -> None:
        """Nothing has to end."""

    def begin(self, given: dict[str, Any], claimed: dict[str, float]) -> list[str]:
        takes = self.code.facts()["takes"]
        given |= {k: v for k, v in claimed.items() if k in takes and (v or k == "epsilon")}
        self.code.begin(given)
        return []

    def rows(self, points: Any, seeds: list[int], where: str) -> list[Any]:
        answers = [external_runs._run(self.code.run, points, seed) for seed in seeds]
        return [
            one["failed"]
            if "failed" in one
            else [(name, shape, np.array(part)) for name, shape, part in one["row"]]
            for one in answers
        ]


def main(audits: int = 500, runs: int = 100, seed: int = 0) -> None:
    """Audit in turn and print the share of alarms with its 99% interval after each round."""
    external.CodeProcess = Here  # type: ignore[assignment,misc]
    alarms: Counter[str] = Counter()
    every, usual = cases(), [one.name for one in pairs() if not one.few]
    for number in range(audits):
        code, given, publishes, delta = every[number % len(every)]
        found = external.audit_external(
            code,
            given=given,
            publishes=publishes,
            delta=delta,
            runs=runs,
            seed=seed + number,
            scenario=usual[number // len(every) % len(usual)] if publishes else None,
        )
        if found.violated:
            alarms[code] += 1
            print(code, found.epsilon_lower, found.scenario, found.event, found.notes, flush=True)
        if (number + 1) % len(every) == 0 or number + 1 == audits:
            low, high = share_bounds(sum(alarms.values()), number + 1, 0.005)
            print(
                f"{sum(alarms.values())} alarms in {number + 1} audits of {len(every)} codes: "
                f"{low:.4f} to {high:.4f}",
                flush=True,
            )


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
