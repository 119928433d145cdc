"""The WaveCluster explorer: its run, key numbers, captions and tables."""

from __future__ import annotations

import math
import time
from collections.abc import Hashable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar

import streamlit as st

from dpviz.base.cached import cached_property
from dpviz.base.lazy import pandas as pd
from dpviz.base.numbers import counted, readable
from dpviz.base.work import IsCancelled
from dpviz.data.samples import sample
from dpviz.experiments.draws import Draws
from dpviz.families import score_of
from dpviz.family.card import Card
from dpviz.family.headline import Headline
from dpviz.family.parameter import GIVEN
from dpviz.family.score import OF_CLASSES
from dpviz.figures import wavecluster as wavecluster_figures
from dpviz.figures.draws import wavecluster_maps
from dpviz.figures.panels import Panels
from dpviz.figures.wavecluster import (
    WITH_COUNTS,
    WITH_SUBBANDS,
    WaveClusterPicture,
    damage,
    synthetic,
)
from dpviz.figures.wavecluster.details import meaning as subbands_meaning
from dpviz.figures.wavecluster.threshold_law import explain
from dpviz.privacy.noise_source import SeededNoise
from dpviz.ui.data.map_panel import cell_words
from dpviz.ui.data.panel import ActiveData
from dpviz.ui.data.run_title import side_title, true_words
from dpviz.ui.explorer.diagnosis import broken_at, diagnosis_panel, note_on
from dpviz.ui.explorer.draws import Setting
from dpviz.ui.explorer.explorer import Explorer, PrivateChoice, prepared
from dpviz.ui.explorer.settings import RunSettings
from dpviz.ui.messages import plain_text, show_caption
from dpviz.ui.session.cache import Grid, run_of, truth_of
from dpviz.ui.session.first_picture import keep, shipped
from dpviz.ui.session.job import Job, job_of, pause, start
from dpviz.ui.session.state import UrlState
from dpviz.ui.widgets.embed import embedded
from dpviz.ui.widgets.parameters import choice_box, chosen, per_column_switch
from dpviz.ui.widgets.readouts import Readout, class_readout, score_readout
from dpviz.ui.widgets.show import theme_mode
from dpviz.ui.widgets.stamp import Stamp
from dpviz.wavecluster.coarse import FINE, joined
from dpviz.wavecluster.family import FAMILY
from dpviz.wavecluster.fates import Fates
from dpviz.wavecluster.parameters import Config
from dpviz.wavecluster.pipeline import Run
from dpviz.wavecluster.scores import CELLS_WRONG, HELD_OUT, RANK, RANK_ERROR, SCORES, relative_error
from dpviz.wavecluster.theorems import KBounds, k_bounds
from dpviz.wavecluster.trial import WaveClusterTrial
from dpviz.wavecluster.truth import Evaluation, Truth, run, surprises
from dpviz.wavecluster.wavelet import sensitivity, sums_blocks

_KEY = "Squares that touch, also at a corner, make one cluster; strong colour means more records."

#: Above this number of sampled counts, a method takes fewer steps while a slider moves.
_LARGE = 2**11

#: Largest number of seconds that OCM and 2CE may take while a slider is dragged.
_LIVE = 0.012

#: Seconds that the page waits for OCM and 2CE if no slider is dragged; later values are shown when
#: they are ready.
PATIENCE = 0.3

#: Session entry of the job that compiles the code of the first method.
_CODE = "wavecluster:code"

#: Session entries of OCM and 2CE: method and seconds per cell of the last computation, the last
#: scores, and the job that computes the scores.
_COST, _LAST, _JOB = (f"wavecluster:agreement {name}" for name in ("cost", "last", "job"))


@dataclass(frozen=True, kw_only=True, eq=False)
class WaveClusterRuns:
    """The true run and the private run on one grid."""

    grid: Grid
    truth: Truth
    private: Run


class WaveClusterExplorer(Explorer):
    """The page of WaveCluster."""

    family, offers = FAMILY, "alpha"
    figures: ClassVar = wavecluster_figures
    choice_title, choice_sign = "How g and p were chosen, and the price", "p"
    first_readouts = 2

    @classmethod
    def show_choices(cls, state: UrlState, card: Card, active: ActiveData) -> None:
        """Show the parameters of a method that are chosen from a list."""
        wavelet, level = FAMILY.by_name["wavelet"], FAMILY.by_name["level"]
        for one in chosen(card, FAMILY):
            if one not in (wavelet, level):
                choice_box(state, one)
        left, right = st.columns([3, 2])
        choice_box(state, wavelet, left)
        choice_box(state, level, right)
        dataset = active.dataset
        per_column_switch(
            state, FAMILY.by_name["grid"], dataset.columns, disabled=dataset.counts is not None
        )

    @classmethod
    def without_code(cls, settings: RunSettings) -> RunSettings:
        """Settings of the method that the page offers; this method needs no compiled code."""
        other = FAMILY.with_parameter(cls.offers).name
        config = replace(settings.config, method=other, alpha=None, choose=GIVEN)
        return replace(settings, config=config)

    def prepare(self) -> Job:
        """Return the job that compiles the code of the first method; start it if necessary."""
        job = job_of(_CODE)
        if job is None or not job.running:
            config, source = self.chosen.config, self.runs.grid.source

            def first(**_: object) -> None:
                run(source, config, SeededNoise(self.chosen.seed))
                keep(self.name, [{}], shipped(self.name))

            job = start(_CODE, prepared(self.name, first), heavy=False)
        return job

    @staticmethod
    def run_both(settings: RunSettings) -> WaveClusterRuns:
        """Run the method on the chosen data, once without noise and once with its noise."""
        active, config = settings.active, settings.config
        grid, truth = _truth_of(active, config)
        private = _private(settings, grid)
        if private.decision:
            # The method chose g and p, so the true run beside it must use the same values.
            grid, truth = _truth_of(active, private.config)
        return WaveClusterRuns(grid=grid, truth=truth, private=private)

    @cached_property
    def runs(self) -> WaveClusterRuns:
        """True and private run."""
        return self.run_both(self.settings)

    @property
    def is_sketch(self) -> bool:
        """Whether the run took only a part of its steps, because a slider moves."""
        return bool(self.runs.private.sketch)

    @property
    def stamp(self) -> Stamp:
        """Note on the picture; if the run took only some of its steps, the note says which part."""
        stamp, sketch = self.settings.stamp, self.runs.private.sketch
        return replace(stamp, facts=(*stamp.facts, f"{sketch}, all follow")) if sketch else stamp

    @property
    def size(self) -> int:
        """Number of cells of the run."""
        return self.runs.grid.source.counts.size

    @cached_property
    def trial(self) -> WaveClusterTrial:
        """Method, parameters and data of the panel of many draws."""
        return WaveClusterTrial(self.runs.truth, self.settings.config)

    @cached_property
    def closer(self) -> RunSettings:
        """The settings with the values of g and p that the method chose, for the panels below."""
        if not self.runs.private.decision:
            return self.settings
        return replace(self.settings, config=replace(self.runs.private.config, choose=GIVEN))

    @cached_property
    def bounds(self) -> KBounds | None:
        """A theorem's bounds of k'."""
        return k_bounds(self.runs.truth, self.closer.config)

    @property
    def fates(self) -> Fates:
        """What became of each true cluster."""
        return self.once("fates", lambda: self.picture.fates)

    @cached_property
    def joined(self) -> tuple[int, int] | None:
        """Numbers of clusters on this grid and a finer grid; None if this grid is fine enough."""
        truth, active = self.runs.truth, self.settings.active
        side = sample(active.dataset.name).grid if active.is_sample else FINE
        if truth.source.fixed or max(truth.source.shape) >= side:
            return None
        _, fine = _truth_of(active, replace(self.closer.config, grid=side))
        return joined(truth, fine)

    @property
    def headline(self) -> Headline:
        """What broke, or that the grid is too coarse to see it."""
        found = self.fates.headline
        if self.joined is None:
            return found
        few, several = self.joined
        return Headline(
            text=f"The grid is too coarse: {several:,} clusters look like {few:,}",
            detail=found.text,
        )

    @property
    def tells(self) -> bool:
        """Whether good scores have a meaning: the grid separates clusters, and not all are lost."""
        return self.joined is None and bool((self.fates.of != "lost").any())

    @cached_property
    def picture(self) -> WaveClusterPicture:
        """Data of the figure."""
        return WaveClusterPicture(
            truth=self.runs.truth,
            private=self.runs.private.stages,
            raster=self.runs.grid.raster,
            columns=self.settings.active.dataset.columns,
            mode=theme_mode(),
            title=self.settings.stamp.title,
            private_title=side_title(self.card, self.promise.claim),
            side=self.side,
            run=self.runs.private,
            ground=self.settings.active.ground,
            with_points=self.with_points,
            again=self._again if self.card.spends else None,
        )

    def _again(self, epsilon: float) -> Run:
        config = replace(self.closer.config, epsilon=epsilon)
        return _private(replace(self.closer, config=config), self.runs.grid)

    @property
    def broken(self) -> tuple[str, str, str]:
        """Stage at which the selected cluster first differs, its mark, and the mark in words."""
        return broken_at(self.closer, self.picture)

    def note(self, picked: Mapping[str, int]) -> Mapping[str, Any] | None:
        """Say beside the picked cluster what broke it."""
        return note_on(picked, self.closer, self.picture)

    @property
    def boxable(self) -> bool:
        """Whether the picture shows the domain; then a box on the picture is part of the domain."""
        return self.view not in (*WITH_SUBBANDS, "threshold")

    def captions(self) -> Iterator[str]:
        """Sentences below the picture."""
        picture, stages, view = self.picture, self.runs.private.stages, self.view
        source = self.runs.grid.source
        yield cell_words(picture.ground, picture.columns, picture.domain, source.shape)
        if view == "clusters" and not embedded():
            marks = self.once("legend", lambda: damage.legend(picture))
            yield f"On the noisy side: {marks}. Click on a cluster: what broke it?" if marks else ""
            yield _KEY
        if view in WITH_SUBBANDS:
            yield subbands_meaning(picture.columns)
        if view == "synthetic":
            yield synthetic.explain(picture)
        elif self.asked == "synthetic":
            yield "This method draws no synthetic points; only Baseline does."
        if self.asked == "added" and view != "added":
            yield "This method adds no noise."
        if view == "threshold":
            yield f"{explain(picture)} {true_words(self.settings.active)}"
        yield self.runs.private.decision
        about = stages.about_counts if view in WITH_COUNTS else ""
        notices = [*stages.notices, about, *source.notices(self.settings.config.level)]
        notices += surprises(self.runs.truth, self.runs.private)
        yield " ".join(filter(None, notices))

    @property
    def chooses(self) -> bool:
        """Whether the run chose g and p privately."""
        return bool(self.runs.private.worth)

    def choice(self) -> PrivateChoice:
        """Each p, its worth by the noisy counts, and its true score."""
        found, source = self.runs.private, self.runs.grid.source
        name = "class_f" if source.classes is not None else "f_measure"
        scores = []
        for density in found.worth:
            config = replace(found.config, choose=GIVEN, density=density)
            truth = self.runs.truth.at(config)
            one = run(source, config, SeededNoise(self.settings.seed))
            scores.append(truth.scores(one.stages, (name,))[name])
        return PrivateChoice(
            sentence=f"Chosen privately: **p = {found.config.density:g}**. "
            f"{plain_text(_price(scores, found))}",
            table=pd.DataFrame(
                {
                    "p": list(found.worth),
                    "worth by noisy counts": list(found.worth.values()),
                    f"{score_of(name).title} of this draw with p": scores,
                }
            ),
            caption="The private choice reads only the second column. Its numbers are larger if "
            "new noise would give the same clusters, if these clusters have more records, and if "
            f"there are more clusters. The last column is true. {true_words(self.settings.active)}",
        )

    def draw_maps(self, title: str, draws: Draws, position: int) -> Panels:
        """Maps of many draws; ``position`` selects the draw that the player shows."""
        one = self.trial.affected(self.trial.draw(draws.seeds[position]))
        name = f"draw {position + 1} (seed {draws.seeds[position]})"
        return wavecluster_maps(replace(self.picture, title=title), draws, one, name)

    def draws_setting(self, setting: Setting) -> Setting:
        """Add k' to the scores of many draws, and the bounds that a theorem gives for k'."""
        bounds = k_bounds(self.runs.truth, self.settings.config)
        return replace(
            setting,
            also={RANK: float(self.runs.truth.stages.threshold.k or 0), RANK_ERROR: 0.0},
            bounds={} if bounds is None else {RANK: bounds},
        )

    def show_panels_below(self) -> None:
        """Show the panel that explains at which step a cluster broke."""
        diagnosis_panel(self.closer, self.picture)

    # -- OCM and 2CE need ten additional private runs. If these runs are slow, a job makes them
    # -- after the figure is shown, but not while a slider is dragged.

    @cached_property
    def _agreement(self) -> dict[str, float]:
        method, each = st.session_state.get(_COST, ("", 0.0))
        known = method == self.closer.config.method
        seconds = each * self.runs.truth.source.counts.size if known else math.inf
        if seconds > _LIVE:
            return self._drawn_agreement()
        if self.runs.truth.source.n < 2:
            return {}
        return self._keep(_timed_agreement(self.runs.truth, self.closer))

    def _drawn_agreement(self) -> dict[str, float]:
        job = job_of(_JOB)
        if job is None or job.request != self._wanted or job.result is None:
            return {}
        return self._keep(job.result)

    def _keep(self, found: tuple[dict[str, float], float]) -> dict[str, float]:
        scores, each = found
        st.session_state[_COST] = (self.closer.config.method, each)
        st.session_state[_LAST] = scores
        return scores

    @property
    def _wanted(self) -> tuple[object, ...]:
        return self.runs.truth, self.closer.config, self.settings.seed

    def wait(self) -> list[Readout]:
        """Compute OCM and 2CE in a job; the end of a slow job redraws the page."""
        if self._agreement:
            return []
        job = job_of(_JOB)
        if not self.settings.settled or self.runs.truth.source.n < 2:
            if job:
                job.cancel()
            return []
        if job is None or job.request != self._wanted or job.cancelled:
            task = partial(_timed_agreement, self.runs.truth, self.closer)
            job = start(_JOB, task, request=self._wanted, heavy=False, after=pause())
            if not pause():
                job.wait(PATIENCE)
        self.job = job
        self._agreement = self._drawn_agreement()
        return self.readouts() if self._agreement else []

    def _scores(self) -> dict[str, float]:
        truth, private = self.runs.truth, self.runs.private.stages
        found = truth.scores(private, ("dsg_c", "f_measure", "f_cells"))
        return found | {CELLS_WRONG.name: CELLS_WRONG.compute(Evaluation(truth, private))}

    def readouts(self) -> list[Readout]:
        """Key numbers; OCM and 2CE of previous settings are marked as old."""
        runs, agreement = self.runs, self._agreement
        truth, private = runs.truth, runs.private
        scores = self.once("scores", self._scores)
        wrong = scores[CELLS_WRONG.name]
        latest = agreement or st.session_state.get(_LAST, {})
        true = truth.stages

        def scored(name: str, *said: Any, **more: Any) -> Readout:
            return score_readout(SCORES[name], *said, **more)

        cells = int(private.stages.significant.sum())
        rank = f"Here {counted(cells, 'cell')} {'is' if cells == 1 else 'are'} significant."
        if private.stages.threshold.k is None:
            rank += " This rank is never in a release."
        promised = "" if self.bounds is None else _promised_words(self.bounds)
        true_rank = true.threshold.k or 0
        off = relative_error(private.k, true_rank)
        shown = [
            Readout(
                "Found",
                f"{self.fates.having('kept').size:,} / {true.n_clusters:,}",
                self.fates.others,
                "True clusters that the private result also has, with more than half of their "
                "cells in common. Beside them: clusters that noise invented, and lost ones.",
            ),
            score_readout(CELLS_WRONG, f"{wrong:.1%}", wrong),
            scored(
                "clusters", f"{private.stages.n_clusters:,}", beside=f"true {true.n_clusters:,}"
            ),
            scored("dsg_c", f"{scores['dsg_c']:.3f}", scores["dsg_c"]),
            *(
                scored(name, f"{latest[name]:.3f}", latest[name], stale=not agreement)
                if name in latest
                else scored(name, "…")
                for name in HELD_OUT
            ),
            scored(
                "f_measure",
                f"{scores['f_measure']:.3f}",
                scores["f_measure"],
                sign="F",
                help="If each cell counts once and noise is a cluster, as in figure 7 of Chen, Yu "
                f"and Chirkova, F is {scores['f_cells']:.3f}.",
            ),
            scored(
                "noise_points",
                f"{truth.noise_points(private.stages):,}",
                beside=f"true {truth.noise_points(true):,}",
            ),
            scored(
                RANK,
                f"{private.k:,}",
                beside=f"true {true_rank:,}" + (f", off by {off:.0%}" if true_rank else ""),
                help=f"{rank} {promised}".strip(),
            ),
        ]
        if truth.source.classes is not None:
            of_both = [truth.scores(one, ("class_f",))["class_f"] for one in (private.stages, true)]
            shown.insert(7, class_readout(*of_both))
        shown = [replace(one, rough=self.is_sketch) for one in shown]
        if true.n_clusters and not private.stages.n_clusters:
            # If most points are noise on both sides, scores look good without any cluster.
            return [replace(one, grade=one.grade and "poor") for one in shown]
        if self.tells:
            return shown
        return [replace(one, grade=None) if one.grade == "good" else one for one in shown]

    def show_tables(self) -> None:
        """Show tables of the numbers in the picture."""
        left, right = st.columns(2)
        left.dataframe(self._key_figures(), height="content", placeholder="")
        right.dataframe(self._sizes(), height=318)
        with right:
            show_caption(self._sensitivities())
        if self.bounds is not None:
            with right:
                show_caption(
                    f"{_promised_words(self.bounds)} Chen, Yu and Chirkova print these "
                    f"ends (section 5.2); here ω = {self.bounds.omega:g}. By their proof, this "
                    "share holds for both ends together. Computed from the true data."
                )
            right.dataframe(_theorem(self.bounds), height="content", key="wavecluster:theorem")

    def _key_figures(self) -> pd.DataFrame:
        """Threshold and counts of both runs; the last column is computed from true data."""
        side = self.side
        truth, private = self.runs.truth, self.runs.private.stages
        table = {
            name: {
                "k (rank of the threshold)": stages.threshold.k,
                "d (threshold)": stages.threshold.value,
                "L (positive coefficients)": stages.threshold.positive,
                "Z (non-positive)": stages.threshold.nonpositive,
                "significant cells": int(stages.significant.sum()),
                "clusters": stages.n_clusters,
            }
            for name, stages in (("true", truth.stages), (side, private))
        }
        judged: dict[str, float | None] = {}
        if private.threshold.k is None:
            judged["k (rank of the threshold)"] = self.runs.private.k
        for column, stages in ((table["true"], truth.stages), (judged, private)):
            column["noise points"] = truth.noise_points(stages)
            if truth.source.classes is not None:
                scores = truth.scores(stages, OF_CLASSES)
                column |= {score_of(one).title: value for one, value in scores.items()}
        table["true"] |= {"records": truth.source.n, "outside the domain": truth.source.n_outside}
        return pd.DataFrame({**table, f"{side}, by true data": judged})

    def _sensitivities(self) -> str:
        config = self.settings.config
        bound = sensitivity(
            config.wavelet, config.level, self.runs.grid.source.shape, config.density
        )
        return (
            f"Sensitivity to one record with {config.wavelet}, level {config.level}: average "
            f"subband {readable(bound.average, 4)}, Z {bound.nonpositive}, rank of the threshold "
            f"{bound.rank}."
        )

    def _sizes(self) -> pd.DataFrame:
        true, private = (
            pd.Series(stages.cluster_sizes, index=numbers[1:])
            for stages, numbers in zip(
                (self.runs.truth.stages, self.runs.private.stages),
                self.picture.numbers,
                strict=True,
            )
        )
        table = pd.DataFrame({"true cells": true, f"{self.picture.side} cells": private}).astype(
            "Int64"
        )
        table.index.name = "cluster"
        return table


def _private(settings: RunSettings, grid: Grid) -> Run:
    active, config = settings.active, settings.config
    cells, noise = grid.source.counts.size, SeededNoise(settings.seed)
    # Sums of blocks are sampled for Haar, and single cells for all other wavelets.
    joined = config.level * grid.source.counts.ndim if sums_blocks(config.wavelet) else 0
    if cells >> joined > _LARGE and not settings.settled:
        # This run is not cached, because the same value of a slider is seldom needed again.
        return run(replace(grid.source, hurried=True), config, noise)
    return run_of(
        # The key has values, not the grid, because a grid would keep millions of records in memory.
        ("wavecluster", *_inputs(settings)),
        lambda: run(grid.source, config, noise),
        # A grid that the method chooses may be larger than this grid.
        size=cells if config.choose == GIVEN else 2**15,
        is_sample=active.is_sample,
        # A box needs about twice the memory of a cell.
        more=lambda one: 2 * len(one.leaves.records) if one.leaves else 0,
    )


def _truth_of(active: ActiveData, config: Config) -> tuple[Grid, Truth]:
    return truth_of(
        active.dataset, config, active.domain, active.outside, is_sample=active.is_sample
    )


def _price(scores: list[float], found: Run) -> str:
    at = list(found.worth).index(found.config.density)
    best = max(scores)
    if not best:
        return ""
    where = list(found.worth)[scores.index(best)]
    return (
        f"Best on this grid in hindsight, by true values: p = {where:g}. The choice reaches "
        f"{scores[at] / best:.1%} of the score of this p."
    )


def _timed_agreement(
    truth: Truth, settings: RunSettings, cancelled: IsCancelled | None = None, **_: object
) -> tuple[dict[str, float], float]:
    def draw() -> tuple[dict[str, float], float]:
        begun = time.perf_counter()
        scores = truth.agreement(settings.config, settings.seed, cancelled)
        return scores, (time.perf_counter() - begun) / truth.source.counts.size

    key = ("agreement", *_inputs(settings))
    return run_of(key, draw, size=0, is_sample=settings.active.is_sample)


def _inputs(settings: RunSettings) -> tuple[Hashable, ...]:
    active = settings.active
    return active.dataset.digest, active.domain, active.outside, settings.config, settings.seed


def _promised_words(bounds: KBounds) -> str:
    return f"{bounds.text}. {bounds.promised}".strip()


def _theorem(bounds: KBounds) -> pd.DataFrame:
    often = f"{bounds.printed:.0%} or more"
    known = {
        "k′ min": bounds.low,
        "k′ max": bounds.high,
        "η1": bounds.eta1,
        "η2": bounds.eta2,
        "θ (positive coefficients lost to noise)": bounds.theta,
        "β (noise on half of Z)": bounds.beta,
        "γ (margin in W)": bounds.gamma,
        f"found in {often}: W above": bounds.sure_above,
        f"not found in {often}: W below": bounds.never_below,
        "largest W": bounds.largest,
        "(1 − p)|Z|/2 (surplus of PrivQT)": bounds.surplus,
    }
    return pd.DataFrame({f"Theorem {bounds.theorem}": known}).dropna()
