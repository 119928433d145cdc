"""True and private runs of a k-means method, as the ``run`` command prints them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from dpviz.base.arrays import Floats, Labels
from dpviz.family.comparison import Comparison, Report, class_text, first_draws
from dpviz.family.parameter import PRIVATE
from dpviz.kmeans.parameters import DEFAULTS
from dpviz.kmeans.run import KMeansRun
from dpviz.kmeans.scores import OF_CENTERS
from dpviz.kmeans.trial import KMeansTrial
from dpviz.kmeans.truth import KMeansTruth, run_kmeans
from dpviz.privacy.noise_source import SeededNoise

#: Largest number of centres, and of columns, for which the text output lists the centres.
LISTED, LISTED_COLUMNS = 10, 4


class KMeansComparison(Comparison):
    """True and private runs of one method; private clusters have the true clusters' numbers."""

    trial: KMeansTrial

    def notes(self) -> list[str]:
        """Notes on points outside the domain, and on the true run."""
        said = []
        if self.material.n_outside:
            fate = "left out" if self.outside == "drop" else "moved to its border"
            said.append(f"Outside the domain: {self.material.n_outside:,} points, {fate}.")
        if self.truth.fewer:
            said.append(self.truth.fewer)
        if self.truth.start is not None:
            said.append(
                "A private run was better than the best k-means of the search, so the true run "
                "is k-means from the centres of that private run."
            )
        return said

    def beyond(self, draws: Sequence[KMeansRun]) -> KMeansComparison:
        """Improve the true run until it is as good as every draw; return the comparison."""
        # If the private runs choose K, the true run has as many clusters as the first private run.
        truth = self.truth.at(len(draws[0].centers)) if draws else self.truth
        for one in draws:
            if len(one.centers) == truth.clusters:
                truth = truth.beyond(one.centers)
        return replace(self, trial=replace(self.trial, truth=truth))

    @property
    def truth(self) -> KMeansTruth:
        """The true run."""
        return self.trial.truth

    def true(self) -> Report:
        """Return errors and centres of the true run."""
        wcss, nicv = self.truth.errors
        found = {"wcss": wcss, "nicv": nicv, "centers": self.truth.centers}
        return found | self.truth.scores(self.truth.run, self.class_scores)

    def draw(self, seed: int) -> KMeansRun:
        """Make one private run, whose clusters keep their own numbers."""
        return run_kmeans(self.truth.records, self.trial.config, SeededNoise(seed))

    def scores(self, one: KMeansRun, seed: int) -> dict[str, float]:
        """Return all scores of one private run."""
        return self.trial.scores(one, seed, (*OF_CENTERS, "zhang_f", *self.class_scores))

    def summary(self, one: KMeansRun, scores: dict[str, float]) -> Report:
        """Return errors and centres of one private run."""
        found = {
            "wcss": scores["wcss"],
            "nicv": scores["nicv"],
            "centers": self.truth.matched(one).centers,
            **({"clusters": len(one.centers)} if self.trial.config.choose == PRIVATE else {}),
            "kept_centers": one.kept_centers,
        }
        if one.before is not None:
            found["wcss_before"] = self.truth.wcss(one.before)
            found["nicv_before"] = self.truth.nicv(one.before)
        return found

    def label(self, points: Floats, one: KMeansRun | None) -> Labels:
        """Return the cluster of every point in a private run or in the true run; -1 = left out."""
        centers = self.truth.centers if one is None else self.truth.matched(one).centers
        found = np.full(len(points), -1, dtype=np.int32)
        part = self.material.domain.contains(points) if self.outside == "drop" else slice(None)
        found[part] = self.truth.assign(centers)
        return found

    def text(self, report: Report) -> list[str]:
        """Return lines of text with choices, errors and centres."""
        true, config = report["true"], report["config"]
        choices = [f"{name} {config[name]}" for name in DEFAULTS[self.trial.config.method]]
        choices[:0] = [] if config["choose"] == PRIVATE else [f"K {config['clusters']}"]
        return [
            ", ".join(choices),
            f"true     WCSS {true['wcss']:.5g}  NICV {true['nicv']:.4g}{class_text(true)}",
            *first_draws(_draw_lines(report)),
            *_center_lines(report),
        ]


def _draw_lines(report: Report) -> list[str]:
    lines, config = [], report["config"]
    for draw, one in enumerate(report["private"]):
        wcss, nicv = (
            f"{report['metrics'][name]['values'][draw]:.3g} x {reference}"
            for name, reference in (("wcss_ratio", "least"), ("nicv_ratio", "true"))
        )
        found = f"K {one['clusters']}  " if "clusters" in one else ""
        before = f", before {one['wcss_before']:.5g}" if "wcss_before" in one else ""
        more = ""
        if config["geometry"] == "l1":
            more += (
                f"in the L1 ball {report['metrics']['space_ratio']['values'][draw]:.3g} x true  "
            )
        # The published variant moves every centre.
        if config["variant"] == "sound" and config["geometry"]:
            more += f"kept centres {one['kept_centers']}  "
        lines.append(
            f"private  {found}WCSS {one['wcss']:.5g} ({wcss}{before})  "
            f"NICV {one['nicv']:.4g} ({nicv})  {more}(seed {one['seed']})"
        )
    return lines


def _center_lines(report: Report) -> list[str]:
    true = report["true"]["centers"]
    if len(true) > LISTED or true.shape[1] > LISTED_COLUMNS:
        return [f"centres  {len(true)} in {true.shape[1]} columns: --json lists them"]
    lines = [f"centre {number}  true {_place(center)}" for number, center in enumerate(true)]
    if not report["private"]:
        return lines
    width, first = max(map(len, lines)), report["private"][0]
    lines += [f"centre {number}" for number in range(len(lines), len(first["centers"]))]
    return [
        f"{line:<{width}}  private {_place(center)}  (seed {first['seed']})"
        for line, center in zip(lines, first["centers"], strict=True)
    ]


def _place(center: Floats) -> str:
    return "(" + ", ".join(f"{value:.6g}" for value in center) + ")"
