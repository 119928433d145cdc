"""Content of the compare page: progress, curves, and the data behind them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd
import streamlit as st

from dpviz.experiments.presets import NONE_PRINTED, PRESETS, Preset, rank_table
from dpviz.experiments.sweep import Plan, summary
from dpviz.families import CARDS, score_of
from dpviz.family.family import Family
from dpviz.figures.compare import Chart, curves, summary_frame
from dpviz.metrics.bands import ENOUGH, band_words, end_names
from dpviz.ui.cache import truth_of
from dpviz.ui.compare import VIEWS, CompareState, sidebar
from dpviz.ui.compare_links import command_lines, explorer_link
from dpviz.ui.compare_runs import (
    JOB,
    SweepRequest,
    begin,
    begin_if_new,
    found,
    missing_runs,
    offered,
    seconds,
)
from dpviz.ui.data_panel import UPLOAD
from dpviz.ui.job import follow, job_of, show_progress
from dpviz.ui.messages import show_caption
from dpviz.ui.settings import FILE_NAME
from dpviz.ui.show import csv_button, job_button, segments, show_panels, theme_mode
from dpviz.wavecluster.parameters import Config
from dpviz.wavecluster.scores import RANK
from dpviz.wavecluster.trial import WaveClusterTrial
from dpviz.wavecluster.truth import Truth

#: Session entry of the last chosen seed among the runs of a chart.
_SEED = "compare:open seed"

#: Scores that need only one result of WaveCluster, so the noise-free result has them too.
_COUNTED = ("clusters", "significant", "noise_points", RANK)


def build(state: CompareState) -> None:
    """Draw the page: choice of score and view, progress, curves, and the data behind them."""
    with st.sidebar:
        request = sidebar(state)
    places = st.columns([5, 5, 5, 9], vertical_alignment="bottom")
    places[0].selectbox(
        "Score",
        **state.choice("score", offered(request.any.families)),
        format_func=lambda name: _score_title(name, request.any.families),
        help="Only scores that all chosen methods share. Choose a slower one to have all of those.",
    )
    segments(state, "view", "A panel for each of the", VIEWS, places[1])
    if state.get("view") == "scores":
        places[2].selectbox(
            "Data set",
            **state.choice("of", tuple(request.plans)),
            format_func=lambda name: request.subjects[name].title,
        )
    begin_if_new(request)
    with places[3]:
        follow(job_of(JOB), lambda: _progress(request))
    follow(job_of(JOB), lambda: _draw(state, request), every=0.8)


def _score_title(name: str, families: Sequence[Family]) -> str:
    """Name of a score, with a note if it is slow to compute."""
    slow = any(name not in family.quick for family in families)
    return f"{score_of(name).title}{' (slower)' if slow else ''}"


def _draw(state: CompareState, request: SweepRequest) -> None:
    """Show progress, curves, links into the explorers, table and downloads."""
    tables = {name: found().rows(plan) for name, plan in request.plans.items()}
    charts = _charts(state, request, tables)
    plan = request.any
    single = state.get("view") == "scores"
    what = request.subjects[state.get("of")].title if single else score_of(state.get("score")).title
    draws = len(plan.seeds)
    drawn = band_words(draws) + (f", {draws} draws" if draws >= ENOUGH else "")
    preset = PRESETS.get(state.get("preset"))
    if preset:
        show_caption(
            f"{preset.paper}. {preset.caption} The papers draw means: these are in the table, "
            "the curves are medians."
        )
    clicked = show_panels(
        curves(
            charts,
            methods=plan.methods,
            epsilons=plan.epsilons,
            title=f"{what} over ε · median and band of {drawn} · {plan.variant}",
            shared=not single,
            mode=theme_mode(),
        ),
        key="compare:figure",
        clickable=True,
        base_name=f"{FILE_NAME} compare {state.get('of') if single else state.get('score')}",
    )
    if clicked:
        _follow_click(clicked, request, tables)
    for note in found().notes.get(request.key, ()):
        show_caption(note)
    show_caption(
        "A click on a point opens the run nearest to that median. True results and seeded draws, "
        "for exploring only. Parameters are "
        f"{_parameters_of(preset, plan)}, on each "
        "data set's own grid."
    )
    _open(state, request, tables)
    _behind(state, request, tables, charts)
    state.write()


def _parameters_of(preset: Preset | None, plan: Plan) -> str:
    """Source of the curves' parameters."""
    if preset is None:
        return "those that each method has by default"
    same = (
        set(plan.methods) == set(preset.methods)
        and plan.variant == "published"
        and plan.neighbours.relation == "add_remove"
    )
    return "as in that figure" if same else "those of that figure, with your changes"


def _progress(request: SweepRequest) -> None:
    """Show the progress of the runs, with a button that starts or stops them."""
    job, pieces = job_of(JOB), missing_runs(request)
    if job and job.request != request.key and not job.running:
        job = None
    left, right = st.columns([5, 4], vertical_alignment="center")
    with left:
        if job is None and not pieces:
            st.progress(1.0, text=f"{request.total:,} of {request.total:,} runs")
        else:
            show_progress(job, "runs", "Some runs are missing")
    with right:
        # A note below names the runs that do not fit a data set; a new run would not help.
        if (job and job.running) or (pieces and not (job and job.result is not None)):
            job_button(
                job,
                _run_label(pieces),
                lambda: begin(request, pieces),
                key="compare:run",
                cancel="Cancel",
                cancel_key="compare:cancel",
                type="primary",
                icon=":material/play_arrow:",
            )


def _run_label(pieces: Sequence[Plan]) -> str:
    """Label of the button: its action and the expected duration."""
    runs = sum(len(plan.epsilons) * len(plan.seeds) for plan in pieces)
    needed = seconds(pieces)
    time = f"{needed / 60:.0f} min" if needed > 90 else f"{max(needed, 1):.0f} s"
    return f"Run {runs:,} ({time})"


def _charts(
    state: CompareState, request: SweepRequest, tables: Mapping[str, pd.DataFrame]
) -> list[Chart]:
    """Panels of the chosen view: one for each score, or one for each data set."""
    score = state.get("score")
    shown = [(one.title, name, score) for name, one in request.subjects.items()]
    if state.get("view") == "scores":
        name = state.get("of")
        plan = request.plans[name]
        shown = [
            (score_of(score).axis, name, score)
            for score in offered(plan.families)
            if score in plan.columns
        ]
    return [
        Chart(
            heading=heading,
            score=score,
            table=summary(tables[name], score),
            true=_true(name, request.plans[name], score),
            data=name,
        )
        for heading, name, score in shown
    ]


def _true(name: str, plan: Plan, score: str) -> float | None:
    """Value of the run without noise, for scores that need only WaveCluster's result."""
    if score not in _COUNTED:
        return None
    truth = _truth(name, plan)
    if score == RANK:
        return float(truth.stages.threshold.k or 0)
    return WaveClusterTrial(truth, truth.config).true()[score]


def _truth(name: str, plan: Plan) -> Truth:
    """WaveCluster without noise on a data set, from the explorer's cache."""
    (subject,) = plan.subjects
    config = Config(method="wavecluster", **plan.parameters(subject, "wavecluster"))
    bounds = subject.bounds(plan.variant)
    return truth_of(subject.dataset, config, bounds, subject.outside, is_sample=name != UPLOAD)[1]


def _follow_click(
    clicked: Mapping[str, Any], request: SweepRequest, tables: Mapping[str, pd.DataFrame]
) -> None:
    """Open the run nearest to the clicked median in its explorer."""
    data, method, score = clicked["meta"] or ("", "", "")
    if data not in request.plans or not clicked["x"] > 0:
        return  # a point of a chart that no longer exists
    epsilon = min(request.any.epsilons, key=lambda one: abs(math.log(one / clicked["x"])))
    runs = _runs(tables[data], method, epsilon)
    if runs.empty:
        return
    off = (runs[score] - clicked["y"]).abs() if score in runs else runs["seed"]
    seed = int(runs["seed"].loc[off.idxmin()])
    st.switch_page(
        f"pages/{CARDS[method].family}.py",
        query_params=explorer_link(request.plans[data], data, method, epsilon, seed),
    )


def _runs(table: pd.DataFrame, method: str, epsilon: float) -> pd.DataFrame:
    """Rows of a method and a budget."""
    return table[(table["method"] == method) & (table["epsilon"] == epsilon)]


def _open(state: CompareState, request: SweepRequest, tables: Mapping[str, pd.DataFrame]) -> None:
    """Choose one run of the chart, and link to it in its explorer."""
    plan = request.any
    st.markdown("**One of these runs in its explorer**")
    places = st.columns([3, 3, 2, 3, 3], vertical_alignment="bottom")
    data = places[0].selectbox(
        "Of the data set",
        tuple(request.plans),
        format_func=lambda name: request.subjects[name].title,
        key="compare:open data",
    )
    method = places[1].selectbox(
        "Method",
        plan.methods,
        format_func=lambda name: CARDS[name].title,
        key="compare:open method",
    )
    epsilon = places[2].selectbox(
        "ε", plan.epsilons, format_func="{:g}".format, key="compare:open epsilon"
    )
    score = state.get("score")
    runs = _runs(tables[data], method, epsilon)
    values = dict(zip(runs["seed"], runs[score], strict=True))
    seed = st.session_state.get(_SEED)
    seed = seed if seed in plan.seeds else plan.seeds[0]
    # The browser caches a widget's label of a value, so each set of labels has its own widget.
    labels = hash((request.key, data, method, epsilon, score, seed in values))
    key = f"compare:open seed@{labels}"
    places[3].selectbox(
        f"Draw, {score_of(score).title}",
        plan.seeds,
        plan.seeds.index(seed),
        format_func=lambda seed: (
            f"seed {seed}: " + (f"{values[seed]:.4g}" if seed in values else "not run yet")
        ),
        key=key,
        on_change=lambda: st.session_state.update({_SEED: st.session_state[key]}),
    )
    with places[4]:
        if seed not in values:
            show_caption("Not run yet.")
            return
        st.page_link(
            f"pages/{CARDS[method].family}.py",
            label="Open in its explorer",
            icon=":material/open_in_new:",
            query_params=explorer_link(request.plans[data], data, method, epsilon, seed),
            width="stretch",
        )


def _behind(
    state: CompareState,
    request: SweepRequest,
    tables: Mapping[str, pd.DataFrame],
    charts: Sequence[Chart],
) -> None:
    """Show the table behind the chart, downloads, and the command line that makes all rows."""
    table = summary_frame(charts)
    low, high = end_names(len(request.any.seeds))
    titles = {one.name: one.title for one in request.subjects.values()}
    st.dataframe(
        table.assign(
            data=table["data"].map(titles),
            score=[score_of(name).title for name in table["score"]],
            method=[CARDS[name].title for name in table["method"]],
        ).dropna(axis="columns", how="all"),
        hide_index=True,
        height=min(318, 38 + 35 * max(len(table), 1)),
        key="compare:table",
        column_config={
            "epsilon": st.column_config.NumberColumn("ε", format="%.3g"),
            "low": st.column_config.NumberColumn(low, format="%.4g"),
            "high": st.column_config.NumberColumn(high, format="%.4g"),
            "mean": st.column_config.NumberColumn(format="%.4g"),
            "median": st.column_config.NumberColumn(format="%.4g"),
            "true": st.column_config.NumberColumn("without noise", format="%.4g"),
        },
        placeholder="",
    )
    runs = pd.concat(tables.values(), ignore_index=True)
    for place, label, name, saved in zip(
        st.columns([3, 3, 5]),
        ("This table (CSV)", "All runs (CSV)"),
        ("summary", "runs"),
        (table, runs),
        strict=False,
    ):
        with place:
            file = f"{FILE_NAME}-compare-{name}"
            csv_button(file, saved, label, key=f"compare:{name}", width="stretch")
    if state.get("score") == RANK:
        _ranks(request, runs, titles)
    st.code("\n".join(command_lines(request)), language="shell", wrap_lines=True)


def _ranks(request: SweepRequest, runs: pd.DataFrame, titles: Mapping[str, str]) -> None:
    """Show k' beside the true k and the value printed in the paper."""
    truths = {plan.subjects[0].name: _truth(name, plan) for name, plan in request.plans.items()}
    ranks = rank_table(
        runs, {name: (truth.source.n, truth.stages) for name, truth in truths.items()}
    )
    st.markdown("**k′ beside the true k, and beside what Chen, Yu and Chirkova print**")
    st.dataframe(
        ranks.assign(
            data=ranks["data"].map(titles), method=[CARDS[name].title for name in ranks["method"]]
        ),
        hide_index=True,
        key="compare:ranks",
        column_config={
            "epsilon": st.column_config.NumberColumn("ε", format="%.3g"),
            "mean": st.column_config.NumberColumn("mean k′", format="%.1f"),
            "k": st.column_config.NumberColumn("true k"),
            "error": st.column_config.NumberColumn("off by", format="percent"),
            "printed": st.column_config.NumberColumn("printed mean k′", format="%.1f"),
        },
        placeholder="",
    )
    if ranks["printed"].isna().all():
        show_caption(NONE_PRINTED)
