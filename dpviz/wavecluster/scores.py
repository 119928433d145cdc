"""Scores of a WaveCluster draw beside the true run: one object each."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from dpviz.family.score import (
    CLASS_SCORES,
    Score,
    higher_is_better,
    lower_is_better,
    table_likeness,
)
from dpviz.metrics import matching
from dpviz.wavecluster.parameters import Config
from dpviz.wavecluster.pipeline import Run, Stages

if TYPE_CHECKING:
    from dpviz.wavecluster.truth import Truth


@dataclass(frozen=True, eq=False)
class Evaluation:
    """A result and the true run; values that several scores need are computed once.

    Parameters
    ----------
    truth
        True run on the same grid.
    stages
        The result.
    run, seed
        Run and seed of the result, if there is a run; None and 0 are enough for scores of the
        two label grids.
    """

    truth: Truth
    stages: Stages
    run: Run | None = None
    seed: int = 0

    @property
    def drawn(self) -> Run:
        """The run that the result comes from."""
        assert self.run is not None  # noqa: S101 - scores of label grids alone need none
        return self.run

    @cached_property
    def table(self) -> NDArray[np.int64]:
        """Records by true and by private cluster."""
        return matching.contingency(
            self.truth.stages.labels, self.stages.labels, self.truth.records
        )

    @cached_property
    def class_table(self) -> NDArray[np.int64]:
        """Records by known class and by private cluster; noise is a cluster of its own."""
        return self.truth.class_table(self.stages)

    @cached_property
    def agreement(self) -> dict[str, float]:
        """OCM and 2CE: private runs on ten training parts."""
        config: Config = self.drawn.config
        return self.truth.agreement(config, self.seed)


_ALL = (
    Score(name="clusters", title="Clusters", compute=lambda one: one.stages.n_clusters),
    Score(
        name="significant",
        title="Significant cells",
        compute=lambda one: one.stages.significant.sum(),
    ),
    lower_is_better(
        "dsg_c",
        "DSG_C",
        lambda one: matching.dsg_c(one.truth.stages.labels, one.stages.labels),
        target=0.2,
    ),
    table_likeness("f_measure", "F-measure", matching.f_measure, target=0.9),
    # The paper's Figure 7: empty cells count as much as full ones.
    higher_is_better(
        "f_cells",
        "F-measure (cells)",
        lambda one: matching.f_measure(
            matching.contingency(one.truth.stages.labels, one.stages.labels)
        ),
        target=0.9,
    ),
    Score(
        name="noise_points",
        title="Noise points",
        compute=lambda one: one.truth.noise_points(one.stages),
    ),
    lower_is_better("ocm", "OCM", lambda one: one.agreement["ocm"], target=0.05, redraws=True),
    lower_is_better(
        "two_ce", "2CE", lambda one: one.agreement["two_ce"], target=0.05, redraws=True
    ),
    table_likeness("ari", "ARI", matching.adjusted_rand, target=0.8),
    table_likeness("ami", "AMI", matching.adjusted_mutual_information, target=0.8),
    # PrivTHREM's rank comes from the true data: for exploration only.
    Score(name="k", title="k′", compute=lambda one: one.drawn.k),
    *CLASS_SCORES,
)

#: k', the rank of the threshold.
RANK = "k"

#: All scores by name.
SCORES = {score.name: score for score in _ALL}

#: Scores that cost at most as much as a draw.
QUICK = ("clusters", "significant", "dsg_c", "f_measure", "f_cells", "noise_points")

#: Scores in the order of the menus, most informative first.
TELLING = (
    "dsg_c", "f_measure", "class_f", "clusters", "significant", RANK, "noise_points", "f_cells",
)  # fmt: skip

#: Scores that need only the two label grids.
OF_LABELS = ("dsg_c", "f_measure", "f_cells", "ari", "ami")

#: Scores with held-out records: they need one more draw for each of ten parts.
HELD_OUT = tuple(name for name, score in SCORES.items() if score.redraws)
