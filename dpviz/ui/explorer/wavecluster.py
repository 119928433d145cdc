"""The WaveCluster explorer: controls, run, readouts, panels and the numbers behind them."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import cast

import pandas as pd
import streamlit as st

from dpviz.base.numbers import readable
from dpviz.base.work import IsCancelled
from dpviz.experiments.draws import Draws
from dpviz.families import CARDS, score_of
from dpviz.family.parameter import GIVEN
from dpviz.family.score import OF_CLASSES
from dpviz.figures.draws import wavecluster_maps
from dpviz.figures.panels import Panels
from dpviz.figures.wavecluster import (
    VIEWS,
    WITH_COUNTS,
    WITH_POINTS,
    WITH_SUBBANDS,
    View,
    WaveClusterPicture,
    frame,
    panels,
)
from dpviz.figures.wavecluster.details import meaning as subbands_meaning
from dpviz.figures.wavecluster.threshold_law import explain
from dpviz.privacy.noise_source import SeededNoise
from dpviz.ui.data.map_panel import can_draw_box, cell_caption, map_panel, take_box
from dpviz.ui.data.panel import ActiveData, data_panel
from dpviz.ui.data.run_title import side_title, stamp_of, true_words
from dpviz.ui.data.state import DataState
from dpviz.ui.explorer.common import (
    Make,
    RunSettings,
    build_explorer,
    draw_controls,
    explorer_state,
    points_switch,
    show_below,
    show_code,
    view_row,
)
from dpviz.ui.explorer.diagnosis import diagnosis_panel
from dpviz.ui.explorer.draws import Setting, draws_panel
from dpviz.ui.messages import plain_text, show_caption
from dpviz.ui.session.cache import Grid, run_of, truth_of
from dpviz.ui.session.job import follow, job_of, pause, start
from dpviz.ui.session.state import UrlState
from dpviz.ui.widgets.embed import embedded
from dpviz.ui.widgets.exports import exports
from dpviz.ui.widgets.headline import show_headline
from dpviz.ui.widgets.parameters import (
    choice_box,
    chosen,
    method_box,
    per_column_switch,
    take_defaults,
)
from dpviz.ui.widgets.prices_panel import prices_panel
from dpviz.ui.widgets.readouts import Readout, class_readout, score_readout, show_readouts
from dpviz.ui.widgets.show import csv_button, lazy_expander, segments, show_panels, theme_mode
from dpviz.wavecluster.family import FAMILY
from dpviz.wavecluster.fates import fates
from dpviz.wavecluster.pipeline import Run
from dpviz.wavecluster.scores import HELD_OUT, RANK, SCORES
from dpviz.wavecluster.surprises import surprises
from dpviz.wavecluster.theorems import KBounds, k_bounds
from dpviz.wavecluster.trial import WaveClusterTrial
from dpviz.wavecluster.truth import Truth, run
from dpviz.wavecluster.wavelet import sensitivity

#: What to try first.
HINT = "The true map, and one with noise. Drag ε: what breaks?"

#: How to read the clusters, below them.
_KEY = "Squares that touch, also at a corner, make one cluster; strong colour means more records."
_NUMBERS = (
    " A number that is missing on the noisy side is a lost or merged cluster; numbers above {:,} "
    "are invented clusters, or pieces."
)

#: Maximum seconds for OCM and 2CE while a slider is held.
_LIVE = 0.012

#: Seconds that the page waits for them otherwise; then they come when they are there.
PATIENCE = 0.3

#: Key of the picture.
FIGURE = "wavecluster:figure"

#: Session entries: what they cost last, by method and cell; the last ones; the job that draws them.
_COST, _LAST, _JOB = (f"wavecluster:agreement {name}" for name in ("cost", "last", "job"))


def page_state(make: Make = DataState) -> DataState:
    """All controls of the page, from the link or the session."""
    state = explorer_state(FAMILY, VIEWS, make)
    if state.fresh:
        take_defaults(state, FAMILY, but=state.chosen)
    return state


@dataclass(frozen=True, kw_only=True, eq=False)
class WaveClusterRuns:
    """True and private run on one grid."""

    grid: Grid
    truth: Truth
    private: Run


def sidebar(state: DataState) -> ActiveData:
    """Show the controls that have no slider; return the data on the screen."""
    active = data_panel(state)
    active = replace(active, ground=map_panel(state, active))
    card = method_box(state, FAMILY, lambda: take_defaults(state, FAMILY))
    wavelet, level = FAMILY.parameter("wavelet"), FAMILY.parameter("level")
    for one in chosen(card, FAMILY):
        if one not in (wavelet, level):
            choice_box(state, one)
    left, right = st.columns([3, 2])
    choice_box(state, wavelet, left)
    choice_box(state, level, right)
    dataset = active.dataset
    per_column_switch(
        state, FAMILY.parameter("grid"), dataset.columns, disabled=dataset.counts is not None
    )
    draw_controls(state, card)
    return active


def run_both(settings: RunSettings) -> WaveClusterRuns:
    """Run the method on the chosen data, true and private."""
    active, config = settings.active, settings.config
    grid, truth = truth_of(
        active.dataset, config, active.domain, active.outside, is_sample=active.is_sample
    )
    private = run_of(
        # By values: a grid would keep its records, of which a sample set has millions.
        (
            "wavecluster",
            active.dataset.digest,
            active.domain,
            active.outside,
            config,
            settings.seed,
        ),
        lambda: run(grid.source, config, SeededNoise(settings.seed)),
        # A grid that is chosen may be larger than this one.
        size=grid.source.counts.size if config.choose == GIVEN else 2**15,
        is_sample=active.is_sample,
    )
    if private.decision:
        # The technique chose g and p: the true run beside it has the same.
        grid, truth = truth_of(
            active.dataset,
            private.config,
            active.domain,
            active.outside,
            is_sample=active.is_sample,
        )
    return WaveClusterRuns(grid=grid, truth=truth, private=private)


def build(state: DataState) -> None:
    """Draw the page."""
    build_explorer(state, FAMILY, sidebar, draw)


def draw(state: UrlState, settings: RunSettings, places: object) -> bool:
    """Show readouts, figure and the panels below; return True if the user holds no slider."""
    config, card = settings.config, CARDS[settings.config.method]
    runs = run_both(settings)
    # Panels that look closer take g and p as the technique chose them.
    there = settings
    if runs.private.decision:
        there = replace(settings, config=replace(runs.private.config, choose=GIVEN))
    promise = settings.promise(runs.grid.source.domain)
    # Ten more private runs: if they are slow, they come after the figure, beside the page, and
    # never while a slider is held.
    quick = _seconds(there, runs) <= _LIVE
    held_out = _agreement(there, runs) if quick else _drawn(there, runs)
    bounds = k_bounds(runs.truth, there.config)
    broken = fates(runs.truth.stages.labels, runs.private.stages.labels).headline
    show_headline(broken, promise, HINT)
    readouts = _readouts(runs, bounds, held_out)
    cards = show_readouts(readouts, promise)
    row = view_row()
    segments(state, "view", "Stage", VIEWS, row, label_visibility="collapsed")
    view = cast(View, state.get("view"))
    if view in WITH_POINTS:
        points_switch(state, row)
    picture = WaveClusterPicture(
        truth=runs.truth,
        private=runs.private.stages,
        raster=runs.grid.raster,
        columns=settings.active.dataset.columns,
        mode=theme_mode(),
        title=settings.stamp.title,
        private_title=side_title(card, promise.claim),
        side="private" if promise.claim.private else "not private",
        run=runs.private,
        ground=settings.active.ground,
        with_points=state.get("points") == "shown",
    )
    box = show_panels(
        panels(picture, view),
        settings.stamp,
        key=FIGURE,
        base_name=f"{settings.stamp.name} {config.method} {view}",
        about=view,
        boxable=view not in (*WITH_SUBBANDS, "threshold") and can_draw_box(settings.active),
    )
    take_box(state, settings.active, box)
    cell_caption(picture.ground, picture.columns, picture.domain, runs.grid.source.shape)
    if view == "clusters" and not embedded():
        show_caption(_KEY + _NUMBERS.format(runs.truth.stages.n_clusters) * card.spends)
    if view in WITH_SUBBANDS:
        show_caption(subbands_meaning(picture.columns))
    if view == "threshold":
        show_caption(f"{explain(picture)} {true_words(settings.active)}")
    if runs.private.decision:
        show_caption(runs.private.decision)
    about = runs.private.stages.about_counts if view in WITH_COUNTS else ""
    notices = [*runs.private.stages.notices, about, *runs.grid.source.notices(config.level)]
    notices += surprises(runs.truth, runs.private)
    if any(notices):
        show_caption(" ".join(filter(None, notices)))
    show_below(
        state,
        settings,
        promise,
        runs.private.ledger,
        panels=(
            partial(_choice_panel, state, settings, runs),
            partial(_many_draws, state, settings, runs, picture),
            partial(diagnosis_panel, there, runs.truth, runs.private.stages, picture),
        ),
        behind=partial(_behind, settings, runs, bounds, picture, view, readouts),
    )
    if not (quick or held_out) and (late := _agreement_beside(there, runs)):
        show_readouts(_readouts(runs, bounds, late), promise, cards)
    return settings.settled


def _choice_panel(state: UrlState, settings: RunSettings, runs: WaveClusterRuns) -> None:
    """Show what each p was worth by noisy counts, and what it gives, while the panel is open."""
    found = runs.private
    if not found.worth:
        return

    def draw() -> None:
        source = runs.grid.source
        name = "class_f" if source.classes is not None else "f_measure"
        scores = []
        for density in found.worth:
            config = replace(found.config, choose=GIVEN, density=density)
            truth = runs.truth.at(config)
            one = run(source, config, SeededNoise(settings.seed))
            scores.append(truth.scores(one.stages, (name,))[name])
        table = pd.DataFrame(
            {
                "p": list(found.worth),
                "worth by noisy counts": list(found.worth.values()),
                f"{score_of(name).title} of this draw with p": scores,
            }
        )
        st.markdown(
            f"Chosen privately: **p = {found.config.density:g}**. "
            f"{plain_text(_price(scores, found))}"
        )
        st.dataframe(table, hide_index=True, height=248, key=f"{state.page}:choice rows")
        show_caption(
            "The private choice reads the second column alone: would the same clusters come out "
            "again, how many records do they hold, and how many clusters tell them apart. The last "
            f"column is true. {true_words(settings.active)}"
        )
        stamp = settings.stamp
        csv_button(f"{stamp.file}-choice-of-p", table, "Table of all p (CSV)", stamp=stamp)
        prices_panel("wavecluster")

    lazy_expander("How g and p were chosen, and the price", key=f"{state.page}:choice", draw=draw)


def _price(scores: list[float], found: Run) -> str:
    """Sentence on the best p in hindsight, where known classes can tell."""
    at = list(found.worth).index(found.config.density)
    best = max(scores)
    if not best:
        return ""
    where = list(found.worth)[scores.index(best)]
    return (
        f"Best on this grid in hindsight, by true values: p = {where:g}. The choice reaches "
        f"{scores[at] / best:.1%} of its score."
    )


def _many_draws(
    state: UrlState, settings: RunSettings, runs: WaveClusterRuns, picture: WaveClusterPicture
) -> None:
    """Show the panel of many draws."""
    trial = WaveClusterTrial(runs.truth, settings.config)
    stamp = stamp_of(settings.active, settings.config)
    picture = replace(picture, title=stamp.title)

    def maps(draws: Draws, position: int) -> Panels:
        one = trial.affected(trial.draw(draws.seeds[position]))
        name = f"draw {position + 1} (seed {draws.seeds[position]})"
        return wavecluster_maps(picture, draws, one, name)

    bounds = k_bounds(runs.truth, settings.config)
    draws_panel(
        Setting(
            state,
            trial,
            runs.truth.source,
            settings.seed,
            stamp,
            maps,
            also={RANK: float(runs.truth.stages.threshold.k or 0)},
            bounds={} if bounds is None else {RANK: bounds},
        ),
        settled=settings.settled,
    )


def _seconds(settings: RunSettings, runs: WaveClusterRuns) -> float:
    """About how long OCM and 2CE take; infinite where this method drew none yet."""
    method, each = st.session_state.get(_COST, ("", 0.0))
    known = method == settings.config.method
    return each * runs.truth.source.counts.size if known else math.inf


def _agreement(settings: RunSettings, runs: WaveClusterRuns) -> dict[str, float]:
    """OCM and 2CE; their time is kept for the next draw."""
    if runs.truth.source.n < 2:
        return {}
    return _kept(settings, _timed_agreement(runs.truth, settings))


def _timed_agreement(
    truth: Truth, settings: RunSettings, cancelled: IsCancelled | None = None, **_: object
) -> tuple[dict[str, float], float]:
    """OCM and 2CE, and their seconds per cell."""
    begun = time.perf_counter()
    scores = truth.agreement(settings.config, settings.seed, cancelled)
    return scores, (time.perf_counter() - begun) / truth.source.counts.size


def _kept(settings: RunSettings, found: tuple[dict[str, float], float]) -> dict[str, float]:
    """Keep scores and their time for the next draw; returns the scores."""
    scores, each = found
    st.session_state[_COST] = (settings.config.method, each)
    st.session_state[_LAST] = scores
    return scores


def _wanted(settings: RunSettings, runs: WaveClusterRuns) -> tuple[object, ...]:
    """What a job draws."""
    return runs.truth, settings.config, settings.seed


def _drawn(settings: RunSettings, runs: WaveClusterRuns) -> dict[str, float]:
    """OCM and 2CE that a job drew for these settings; empty before."""
    job = job_of(_JOB)
    if job is None or job.request != _wanted(settings, runs) or job.result is None:
        return {}
    return _kept(settings, job.result)


def _agreement_beside(settings: RunSettings, runs: WaveClusterRuns) -> dict[str, float]:
    """Let a job draw OCM and 2CE, which redraws the page at its end; they may be there at once."""
    job = job_of(_JOB)
    if not settings.settled or runs.truth.source.n < 2:
        if job:
            job.cancel()
        return {}
    if job is None or job.request != _wanted(settings, runs) or job.cancelled:
        task = partial(_timed_agreement, runs.truth, settings)
        job = start(_JOB, task, request=_wanted(settings, runs), heavy=False, after=pause())
        if not pause():
            job.wait(PATIENCE)
    follow(job, lambda: None)
    return _drawn(settings, runs)


def _readouts(
    runs: WaveClusterRuns, bounds: KBounds | None, agreement: dict[str, float]
) -> list[Readout]:
    """Key figures: the private value in large type, the true value beside it.

    Without a current agreement, show the last one and mark it.
    """
    truth, private = runs.truth, runs.private
    scores = truth.scores(private.stages, ("dsg_c", "f_measure", "f_cells"))
    latest = agreement or st.session_state.get(_LAST, {})
    true = truth.stages
    rank = ""
    if private.stages.threshold.k is None:
        rank = "This one is the rank of the drawn threshold among the true coefficients: never in "
        rank += "a release."
    promised = "" if bounds is None else promised_words(bounds)
    shown = [
        score_readout(
            SCORES["clusters"], f"{private.stages.n_clusters:,}", beside=f"true {true.n_clusters:,}"
        ),
        score_readout(SCORES["dsg_c"], f"{scores['dsg_c']:.3f}", scores["dsg_c"]),
        *(
            score_readout(SCORES[name], f"{latest[name]:.3f}", latest[name], stale=not agreement)
            if name in latest
            else score_readout(SCORES[name], "…")
            for name in HELD_OUT
        ),
        score_readout(
            SCORES["f_measure"],
            f"{scores['f_measure']:.3f}",
            scores["f_measure"],
            sign="F",
            help="Weighted by cells, with noise as a cluster, as in figure 7 of Chen, Yu and "
            f"Chirkova, it is {scores['f_cells']:.3f}.",
        ),
        score_readout(
            SCORES["noise_points"],
            f"{truth.noise_points(private.stages):,}",
            beside=f"true {truth.noise_points(true):,}",
        ),
        score_readout(
            SCORES[RANK],
            f"{private.k:,}",
            beside=f"true {true.threshold.k:,}",
            help=f"{rank} {promised}".strip(),
        ),
    ]
    if truth.source.classes is not None:
        of_both = [truth.scores(one, ("class_f",))["class_f"] for one in (private.stages, true)]
        shown.insert(5, class_readout(*of_both))
    return shown


def promised_words(bounds: KBounds) -> str:
    """What a theorem says about k'."""
    return f"{bounds.text}. {bounds.promised}".strip()


def _behind(
    settings: RunSettings,
    runs: WaveClusterRuns,
    bounds: KBounds | None,
    picture: WaveClusterPicture,
    view: View,
    readouts: Sequence[Readout],
) -> None:
    """Tables, downloads and the code that reproduces the run."""
    left, right = st.columns(2)
    left.dataframe(_key_figures(runs, picture.side), height="content", placeholder="")
    right.dataframe(_sizes(runs, picture), height=318)
    with right:
        show_caption(_sensitivities(settings, runs))
    if bounds is not None:
        with right:
            show_caption(
                f"{promised_words(bounds)} Ends as printed by Chen, Yu and Chirkova (section 5.2), "
                f"with ω = {bounds.omega:g}; their proof gives this share for both ends together. "
                "Computed from the true data."
            )
        right.dataframe(_theorem(bounds), height="content", key="wavecluster:theorem")
    exports(
        "wavecluster",
        settings.config.method,
        view,
        figure=FIGURE,
        stamp=settings.stamp,
        table=lambda: frame(picture, view),
        readouts=readouts,
    )
    show_code(settings, runs.grid.source.domain)


def _key_figures(runs: WaveClusterRuns, side: str) -> pd.DataFrame:
    """Threshold and counts of both runs, without rounding.

    Under ``side`` stands what a release would tell; what only true data tells of that run stands
    beside it.
    """
    truth, private = runs.truth, runs.private.stages
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
        judged["k (rank of the threshold)"] = runs.private.k
    for column, stages in ((table["true"], truth.stages), (judged, private)):
        column["noise points"] = truth.noise_points(stages)
        if truth.source.classes is not None:
            scores = truth.scores(stages, OF_CLASSES)
            column |= {score_of(one).title: value for one, value in scores.items()}
    table["true"] |= {"records": truth.source.n, "outside the domain": truth.source.n_outside}
    return pd.DataFrame({**table, f"{side}, by true data": judged})


def _theorem(bounds: KBounds) -> pd.DataFrame:
    """Numbers of a theorem, as printed; those that it lacks are left out."""
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


def _sensitivities(settings: RunSettings, runs: WaveClusterRuns) -> str:
    """Sensitivities: how much one record can change the coefficients of this wavelet."""
    config = settings.config
    bound = sensitivity(config.wavelet, config.level, runs.grid.source.shape, config.density)
    return (
        f"Sensitivity to one record with {config.wavelet}, level {config.level}: average subband "
        f"{readable(bound.average, 4)}, Z {bound.nonpositive}, rank of the threshold {bound.rank}."
    )


def _sizes(runs: WaveClusterRuns, picture: WaveClusterPicture) -> pd.DataFrame:
    """Cells per cluster, with the cluster numbers of the picture."""
    true, private = (
        pd.Series(stages.cluster_sizes, index=numbers[1:])
        for stages, numbers in zip(
            (runs.truth.stages, runs.private.stages), picture.numbers, strict=True
        )
    )
    table = pd.DataFrame({"true cells": true, f"{picture.side} cells": private}).astype("Int64")
    table.index.name = "cluster"
    return table
