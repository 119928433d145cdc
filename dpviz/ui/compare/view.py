"""Content of the compare page: progress, curves, and their data."""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
import streamlit as st

from dpviz.base.errors import shown
from dpviz.base.lazy import pandas as pd
from dpviz.base.numbers import counted, readable, series
from dpviz.data.samples import sample
from dpviz.experiments.illustrations import ILLUSTRATIONS
from dpviz.experiments.presets import (
    CURVES_ALONE,
    NONE_PRINTED,
    PRESETS,
    Preset,
    bounds_table,
    rank_table,
)
from dpviz.experiments.sweep import GROUP, Plan, along, differences, moves_truth, summary
from dpviz.families import CARDS, PARAMETERS, SCORES, score_of
from dpviz.family.claim import variant_words
from dpviz.family.family import Family
from dpviz.family.parameter import EPSILON, Parameter
from dpviz.family.score import OF_CLASSES
from dpviz.figures.compare import LINES, Chart, Line, curves, summary_frame
from dpviz.metrics.bands import ENOUGH, band_words, end_names
from dpviz.ui.compare.controls import VIEWS, CompareState, sidebar
from dpviz.ui.compare.illustrations import show_illustration
from dpviz.ui.compare.latex import latex_figure_of, latex_table_of
from dpviz.ui.compare.links import command_lines, explorer_link, file_words, python_lines
from dpviz.ui.compare.paper_sets import given_subjects, stand_in_words, take_along
from dpviz.ui.compare.runs import (
    JOB,
    SweepRequest,
    begin,
    begin_if_new,
    found,
    is_sample,
    missing_runs,
    seconds,
)
from dpviz.ui.data.not_taken import show_not_taken
from dpviz.ui.messages import plain_text, show_caption
from dpviz.ui.session.cache import true_scores_of, truth_of
from dpviz.ui.session.job import current_job, follow, job_of, show_progress
from dpviz.ui.widgets.embed import embedded
from dpviz.ui.widgets.show import csv_button, job_button, segments, show_panels, theme_mode
from dpviz.wavecluster.methods import NOISE_FREE
from dpviz.wavecluster.parameters import Config
from dpviz.wavecluster.scores import RANK, RANK_ERROR
from dpviz.wavecluster.theorems import OMEGA
from dpviz.wavecluster.trial import WaveClusterTrial
from dpviz.wavecluster.truth import Truth

#: Session entry: the seed of the run that was last chosen in a chart.
_SEED = "compare:open seed"

#: Session entry: keys of the requests of which the user or a link wants all runs.
_ASKED = "compare:asked for"

#: Words for the lines in the title of the figure.
_LINE_WORDS = {"median": "median", "mean": "mean", "both": "median, mean"}

#: Scores that need only one result of WaveCluster, so they also exist for the noise-free result.
_COUNTED = ("clusters", "significant", "noise_points", RANK)


def build(state: CompareState) -> None:
    """Show the page: choice of score and view, progress, curves, and their data."""
    with st.sidebar:
        request = sidebar(state)
    with st.container(key="curves"):
        _build(state, request)


def _build(state: CompareState, request: SweepRequest | None) -> None:
    if not state.has_figure:
        show_not_taken(state)
    elif not embedded():
        show_caption(_of_figure(request))
    if request is None:
        show_illustration(ILLUSTRATIONS[state.get("preset")], state)
        _printed(state.get("preset"), "")
        state.write()
        return
    whole = _asks_all(state, request)
    if embedded():
        begin_if_new(request, whole=whole)
        if missing_runs(request):
            follow(job_of(JOB), lambda: _progress(state, request))
        follow(job_of(JOB), lambda: _draw(state, request), every=0.8)
        return
    # If there is not enough space in the row, controls continue in the next row.
    row = st.container(horizontal=True, vertical_alignment="bottom")
    row.selectbox(
        "Score",
        **state.choice("score", request.offered),
        format_func=lambda name: _score_title(name, request.any.families),
        help="Scores that all chosen methods share. Choosing a slower score computes all slower "
        "scores.",
        width=_wide(_score_title(state.get("score"), request.any.families), 345),
    )
    segments(state, "view", "A panel for each of the", VIEWS, row)
    segments(state, "line", "Lines", LINES, row)
    if state.get("view") == "scores":
        row.selectbox(
            "Data set",
            **state.choice("of", tuple(request.plans)),
            format_func=lambda name: request.subjects[name].title,
            width=_wide(request.subjects[state.get("of")].title, 220),
        )
    # The browser presses these hidden buttons when the user presses a key of a clicker.
    for name, way in (("next", 1), ("back", -1)):
        st.button(
            plain_text(name), key=f"compare:{name}", on_click=partial(_step, state, request, way)
        )
    begin_if_new(request, whole=whole)
    with row.container(width=300):
        follow(job_of(JOB), lambda: _progress(state, request))
    follow(job_of(JOB), lambda: _draw(state, request), every=0.8)


def _asks_all(state: CompareState, request: SweepRequest) -> bool:
    if state.fresh:
        st.session_state.pop(_ASKED, None)
    asked = st.session_state.setdefault(_ASKED, {})
    # A link asks for all runs of its first request. If own data are missing then, it also asks for
    # all runs of the first request that has them.
    is_complete = set(state.get("data")) == {*request.plans}
    if state.get("asked") == "all" and (not asked or (is_complete and not any(asked.values()))):
        asked[request.key] = is_complete
    is_asked = request.key in asked
    state.set("asked", "all" if is_asked else "fast")  # a link opens the same picture
    return is_asked


def _step(state: CompareState, request: SweepRequest, way: int) -> None:
    name, among = "of", [*request.plans]
    if state.get("view") == "data":
        # Slower scores are computed only if the user has chosen one of them.
        name, among = "score", [one for one in request.offered if one in request.any.columns]
    state.set(name, among[(among.index(state.get(name)) + way) % len(among)])


def _wide(text: str, least: int) -> int:
    return max(least, 60 + 7 * len(text))


def _of_figure(request: SweepRequest | None) -> str:
    subjects = request.subjects.values() if request else ()
    titles = [sample(one.name).title if is_sample(one) else shown(one.title) for one in subjects]
    has = f"its own data ({series(titles)}), methods and settings" if titles else "its own numbers"
    return f"This figure has {has}. Your own choices, here and on other pages, stay as they are."


def _score_title(name: str, families: Sequence[Family]) -> str:
    slow = any(name not in family.quick for family in families)
    return f"{score_of(name).label}{' (slower)' if slow else ''}"


def _draw(state: CompareState, request: SweepRequest) -> None:
    tables = {name: found().rows(plan) for name, plan in request.plans.items()}
    charts = _charts(state, request, tables)
    plan = request.any
    single = state.get("view") == "scores"
    what = request.subjects[state.get("of")].title if single else score_of(state.get("score")).title
    axis, (least, most) = PARAMETERS[plan.axis], _draws_of(charts, plan)
    drawn = band_words(most)
    if least < most:
        drawn += f", {least} to {most} draws"
    elif most >= ENOUGH:
        drawn += f", {most} draws"
    preset, line = PRESETS.get(state.get("preset")), state.get("line")
    stand_ins = ""
    if preset:
        stand_ins = stand_in_words(preset, request.plans)
        show_caption(
            f"{preset.paper}. {preset.caption} The papers plot means, so the lines are means here, "
            f"unless you choose medians. {stand_ins}"
        )
    title = f"{what} over {axis.sign} · {_LINE_WORDS[line]} and band of {drawn} · "
    title += request.variant_words + " · on stand-ins" * bool(stand_ins and not single)
    clicked = show_panels(
        curves(
            charts,
            methods=plan.methods,
            values=plan.values or plan.epsilons,
            axis=axis,
            title=title,
            shared=not single,
            mode=theme_mode(),
            line=line,
        ),
        request.stamp,
        key="compare:figure",
        clickable=True,
        base_name=f"{request.stamp.name} compare "
        f"{state.get('of') if single else state.get('score')}",
        about="curves",
    )
    if embedded():
        state.write()
        return
    if clicked:
        _follow_click(clicked, request, tables)
    ranked = any(chart.score == RANK and len(chart.table) for chart in charts)
    if ranked and not moves_truth(axis.name, plan.methods):
        show_caption(_theorems_words(charts))
    for note in found().notes.get(request.key, ()):
        show_caption(note)
    show_caption(
        "A click on a point opens the run that is nearest to it. "
        + f"Not private: {plain_text(request.fails)}. " * bool(request.fails)
        + (
            "Then the paper's own data replace your data on all pages. "
            if any(one in given_subjects() for one in request.subjects.values())
            else ""
        )
        + (
            f"These curves may be published: they show {request.stamp.shows}. "
            if request.stamp.allowed
            else "The curves come from true records and seeded draws: they are for the data owner "
            "only. "
        )
        + f"Parameters are {_parameters_of(preset, plan)}"
        + (
            f". Each {axis.sign} has its own true clustering, and its scores compare with it."
            if moves_truth(axis.name, plan.methods)
            else ", on each data set's own grid."
        )
    )
    _open(state, request, tables)
    _behind(state, request, tables, charts, title)
    state.write()


def _draws_of(charts: Sequence[Chart], plan: Plan) -> tuple[int, int]:
    found = [int(number) for chart in charts for number in chart.table["draws"]]
    return min(found, default=len(plan.seeds)), max(found, default=len(plan.seeds))


def _parameters_of(preset: Preset | None, plan: Plan) -> str:
    if preset is None:
        return "the defaults of each method"
    same = (
        set(plan.methods) == set(preset.methods)
        and plan.variant == "published"
        and plan.neighbours.relation == "add_remove"
    )
    return "as in that figure" if same else "the parameters of that figure, with your changes"


def _progress(state: CompareState, request: SweepRequest) -> None:
    def begin_all() -> None:
        st.session_state[_ASKED][request.key] = True
        begin(request, pieces)

    job, pieces = current_job(JOB, request.key), missing_runs(request)
    if not pieces and (job is None or job.result is not None):
        return
    left, right = st.columns([4, 5], vertical_alignment="center")
    with left:
        show_progress(job, "runs", "Some runs are missing")
    with right:
        # A note below names runs that are impossible on a data set; repeating them does not help.
        if (job and job.running) or (pieces and not (job and job.result is not None)):
            job_button(
                job,
                _run_label(pieces),
                begin_all,
                key="compare:run",
                cancel="Cancel",
                cancel_key="compare:cancel",
                type="primary",
                icon=":material/play_arrow:",
            )


def _run_label(pieces: Sequence[Plan]) -> str:
    runs, needed = sum(one.settings * len(one.seeds) for one in pieces), seconds(pieces)
    time = f"{needed / 60:.0f} min" if needed > 90 else f"{max(needed, 1):.0f} s"
    return f"Run {runs:,} ({time})"


def _charts(
    state: CompareState, request: SweepRequest, tables: Mapping[str, pd.DataFrame]
) -> list[Chart]:
    shown = [(one.title, name, state.get("score")) for name, one in request.subjects.items()]
    if state.get("view") == "scores":
        name = state.get("of")
        scores = (one for one in request.offered if one in request.plans[name].columns)
        shown = [(score_of(score).axis, name, score) for score in scores]
    charts = []
    for heading, name, score in shown:
        plan, truths = request.plans[name], {}
        one_truth = not moves_truth(plan.axis, plan.methods)
        true = _true(plan, score) if one_truth else None
        if one_truth and score == RANK:
            truths = {plan.subjects[0].name: _truth(plan)}
        for epsilon in (None,) if plan.axis == EPSILON.name else plan.epsilons:
            rows = tables[name]
            if epsilon is not None:
                rows = rows[rows["epsilon"] == epsilon]
            bounds = bounds_table(rows, truths, plan.axis) if truths and len(rows) else None
            charts.append(
                Chart(
                    failing=[method for of, method in request.failing if of == name],
                    heading=heading if epsilon is None else f"{heading} · ε {epsilon:g}",
                    score=score,
                    table=summary(rows, score, plan.axis),
                    true=true,
                    data=name,
                    epsilon=epsilon,
                    bounds=bounds if bounds is not None and len(bounds) else None,
                )
            )
    return charts


def _true(plan: Plan, score: str) -> float | None:
    if score in OF_CLASSES and len(plan.families) == 1:
        (subject,), (family,) = plan.subjects, plan.families
        method = plan.methods[0]
        config = family.config(method=method, **plan.parameters(subject, method))
        return true_scores_of(subject, config, is_sample=is_sample(subject))[score]
    if score not in _COUNTED:
        return None
    truth = _truth(plan)
    if score == RANK:
        return float(truth.stages.threshold.k or 0)
    return WaveClusterTrial(truth, truth.config).true()[score]


def _truth(plan: Plan) -> Truth:
    (subject,) = plan.subjects
    config = Config(method=NOISE_FREE, **plan.parameters(subject, NOISE_FREE))
    bounds = subject.bounds(plan.variant)
    found = truth_of(subject.dataset, config, bounds, subject.outside, is_sample=is_sample(subject))
    return found[1]


def _follow_click(
    clicked: Mapping[str, Any], request: SweepRequest, tables: Mapping[str, pd.DataFrame]
) -> None:
    data, method, score, epsilon = clicked["meta"] or ("", "", "", None)
    if data not in request.plans or not clicked["x"] > 0:
        return  # a point of a chart that no longer exists
    plan, step = request.plans[data], None
    if epsilon is None:
        epsilon = min(plan.epsilons, key=lambda one: abs(math.log(one / clicked["x"])))
    elif epsilon in plan.epsilons and plan.values:
        step = min(plan.steps, key=lambda one: abs(one[plan.axis] - clicked["x"]))
    else:
        return
    runs = _runs(tables[data], method, epsilon, step)
    if runs.empty:
        return
    off = (runs[score] - clicked["y"]).abs() if score in runs else runs["seed"]
    seed = int(runs["seed"].loc[off.idxmin()])
    take_along(plan.subjects[0])
    st.switch_page(
        f"pages/{CARDS[method].family}.py",
        query_params=explorer_link(plan, data, method, epsilon, seed, step),
    )


def _runs(
    table: pd.DataFrame, method: str, epsilon: float, step: Mapping[str, float] | None
) -> pd.DataFrame:
    rows = table[(table["method"] == method) & (table["epsilon"] == epsilon)]
    for name, value in (step or {}).items():
        rows = rows[along(rows, name) == value]
    return rows


def _open(state: CompareState, request: SweepRequest, tables: Mapping[str, pd.DataFrame]) -> None:
    plan = request.any
    st.markdown("**One of these runs in its explorer**")
    row = st.container(horizontal=True, vertical_alignment="bottom")
    data = row.selectbox(
        "Of the data set",
        tuple(request.plans),
        format_func=lambda name: request.subjects[name].title,
        key="compare:open data",
        width=_wide(max((one.title for one in request.subjects.values()), key=len), 280),
    )
    method = row.selectbox(
        "Method",
        plan.methods,
        format_func=lambda name: CARDS[name].title,
        key="compare:open method",
        width=220,
    )
    epsilon = row.selectbox(
        "ε", plan.epsilons, format_func="{:g}".format, key="compare:open epsilon", width=110
    )
    step = None
    if plan.values:
        axis = PARAMETERS[plan.axis]
        step = row.selectbox(
            plain_text(axis.sign),
            plan.steps,
            format_func=lambda one: f"{one[axis.name]:g}",
            key=f"compare:open {axis.name}",
            width=110,
        )
    score = state.get("score")
    runs = _runs(tables[data], method, epsilon, step)
    values = dict(zip(runs["seed"], runs[score], strict=True))
    seed = st.session_state.get(_SEED)
    seed = seed if seed in plan.seeds else plan.seeds[0]
    # The browser caches the labels of a widget's values, so each set of labels has its own widget.
    labels = hash((request.key, data, method, epsilon, str(step), score, seed in values))
    key = f"compare:open seed@{labels}"
    row.selectbox(
        f"Draw, {score_of(score).title}",
        plan.seeds,
        plan.seeds.index(seed),
        format_func=lambda seed: (
            f"seed {seed}: " + (readable(values[seed], 4) if seed in values else "not run yet")
        ),
        key=key,
        on_change=lambda: st.session_state.update({_SEED: st.session_state[key]}),
        width=220,
    )
    with row:
        if seed not in values:
            show_caption("Not run yet.")
            return
        page = f"pages/{CARDS[method].family}.py"
        look: dict[str, Any] = {"icon": ":material/open_in_new:", "width": "content"}
        shown, label = request.plans[data], "Open in its explorer"
        link = explorer_link(shown, data, method, epsilon, seed, step)
        if shown.subjects[0] not in given_subjects():
            st.page_link(page, label=label, query_params=link, **look)
        elif st.button(label, help='All pages then use these data as "Own data".', **look):
            take_along(shown.subjects[0])
            st.switch_page(page, query_params=link)


def _behind(
    state: CompareState,
    request: SweepRequest,
    tables: Mapping[str, pd.DataFrame],
    charts: Sequence[Chart],
    title: str,
) -> None:
    axis = PARAMETERS[request.any.axis]
    table, runs = summary_frame(charts, axis), pd.concat(tables.values(), ignore_index=True)
    preset = PRESETS.get(state.get("preset"))
    one_truth = not moves_truth(axis.name, request.any.methods)
    ranks = None
    # The first draws of a running comparison may have no rank yet.
    if state.get("score") == RANK and one_truth and RANK in runs and runs[RANK].notna().any():
        truths = {plan.subjects[0].name: _truth(plan) for plan in request.plans.values()}
        ranks = rank_table(runs, truths, axis.name)
    if ranks is not None and "printed" in ranks:
        keys = [name for name in ranks.columns if name in table.columns and name in GROUP]
        table = table.merge(ranks[[*keys, "printed"]], "left", keys)
    least, most = _draws_of(charts, request.any)
    low, high = end_names(least, most)
    # All scores share one format: a format for large scores would round small scores to 0.
    scored = {"low": low, "high": high, "mean": None, "median": None, "true": "without noise"}
    column = st.column_config.NumberColumn
    titles = {one.name: one.title for one in request.subjects.values()}
    failing = {(request.subjects[name].name, method) for name, method in request.failing}
    st.dataframe(
        _titled(table, titles)
        .assign(
            variant=[
                variant_words(variant, private=(data, method) not in failing)
                for data, method, variant in table[["data", "method", "variant"]].to_numpy()
            ],
        )
        .dropna(axis="columns", how="all"),
        hide_index=True,
        height=min(668, 38 + 35 * max(len(table), 1)),
        key="compare:table",
        column_config={
            axis.column: column(axis.sign, format="%.3g"),
            "epsilon": column("ε", format="%.3g"),
            **{name: column(title, format="%.4g") for name, title in scored.items()},
            "standard_error": column("standard error", format="%.2g"),
            "printed": column("printed mean", format="%.1f"),
        },
        placeholder="",
    )
    if least < most:
        show_caption(
            f'The rows have {least} to {most} draws: see the column "draws". Other draws are not '
            "run yet, or have no value of this score. If a row has fewer draws, its numbers are "
            "less certain."
        )
    if preset:
        _printed(preset.name, state.get("score"))
        table, runs = (_with_stand_ins(preset, request, one) for one in (table, runs))
    left, right, _ = st.columns([3, 3, 5])
    file = f"{request.stamp.file}-compare-"
    save = partial(csv_button, stamp=request.stamp, width="stretch")
    save(f"{file}summary", table, "This table (CSV)", key="compare:summary", place=left)
    save(f"{file}runs", runs, "All runs (CSV)", key="compare:runs", place=right)
    if alike := _alike(table):
        show_caption(f"{series(alike)} are equal in all rows of this table.")
    _show_latex(request, charts, title, state.get("line"))
    _show_differences(runs, dict.fromkeys(chart.score for chart in charts), axis, titles)
    if ranks is not None and len(ranks):
        _show_ranks(ranks, axis, titles)
    lines, commands = python_lines(request), command_lines(request)
    if said := _again_words(request, python=bool(lines)):
        show_caption(said)
    if lines:
        st.code(lines, language="python", wrap_lines=True)
    st.code("\n".join(commands), language="shell", wrap_lines=True)


def _again_words(request: SweepRequest, *, python: bool) -> str:
    sets = request.subjects.items()
    files = [file_words(request, one)[0] for one, of in sets if not is_sample(of)]
    named = [shown(one, 80) for one in files if not os.path.isabs(one)]  # full paths always work
    at = f": run them in the folder of {series(named)}, or write its path instead" if named else ""
    made = "The Python lines repeat the runs of the sample sets. " * python
    return f"{made}The commands repeat all runs{at}." if files else ""


def _titled(table: pd.DataFrame, titles: Mapping[str, str]) -> pd.DataFrame:
    methods = {name: card.title for name, card in CARDS.items()}
    scores = {name: score_of(name).title for name in SCORES}
    words = {"data": titles, "score": scores, "method": methods, "first": methods}
    return table.assign(**{name: table[name].map(words[name]) for name in words if name in table})


def _alike(table: pd.DataFrame) -> list[str]:
    ends = ["mean", "median", "low", "high"]
    numbers = {name: part[ends].to_numpy() for name, part in table.groupby("score", sort=False)}
    first = numbers.pop("nicv_ratio", np.empty(0))
    same = [
        name
        for name, second in numbers.items()
        if first.shape == second.shape and np.allclose(first, second, rtol=1e-9, atol=0)
    ]
    return [score_of(name).title for name in ("nicv_ratio", *same)] if same else []


def _show_differences(
    runs: pd.DataFrame, scores: Iterable[str], axis: Parameter, titles: Mapping[str, str]
) -> None:
    found = {name: differences(runs, name, axis.name) for name in scores if name in runs}
    parts = [table.assign(score=name) for name, table in found.items() if len(table)]
    if not parts:
        return
    table = pd.concat(parts, ignore_index=True)
    st.markdown("**Differences from the first method, draw by draw**")
    st.dataframe(
        _titled(table, titles)
        .assign(found=[_found_words(row) for row in table.to_dict("records")])
        .replace([math.inf, -math.inf], math.nan),
        hide_index=True,
        height=min(668, 38 + 35 * len(table)),
        key="compare:differences",
        column_order=list(dict.fromkeys(["score", *table.columns])),
        column_config={
            axis.column: st.column_config.NumberColumn(axis.sign, format="%.3g"),
            "epsilon": st.column_config.NumberColumn("ε", format="%.3g"),
            "first": st.column_config.TextColumn("minus"),
            "difference": st.column_config.NumberColumn("median difference", format="%.3g"),
            "low": st.column_config.NumberColumn("99% from", format="%.3g"),
            "high": st.column_config.NumberColumn("to", format="%.3g"),
        },
        placeholder="",
    )
    show_caption(
        "Each draw is compared with the first method's draw with the same seed; methods without "
        "the score are left out. The interval contains the median of the differences with "
        "99% confidence (sign test), and needs 8 draws. If no difference is found, more draws may "
        "still find one. Each row alone has 99% confidence: of 100 such rows without any "
        'difference, about one still says "lower" or "higher".'
    )


def _found_words(row: Mapping[str, Any]) -> str:
    better = score_of(row["score"]).better
    if not row["found"]:
        return f"no difference found by {counted(row['draws'], 'draw')}"
    if better is None:
        return str(row["found"])
    is_better = (row["found"] == "lower") == (better == "<=")
    return f"{row['found']}: {'better' if is_better else 'worse'}"


def _show_latex(request: SweepRequest, charts: Sequence[Chart], title: str, line: Line) -> None:
    from dpviz.papers.references import keys, references  # imported here, because it loads slowly

    cards = [CARDS[name] for name in request.any.methods]
    axis = PARAMETERS[request.any.axis]
    changed = [one.title for one in cards if one.deviations and one.origin != "ours"]
    caption = f"{title}. {request.stamp.line}."
    if changed:
        caption += f" As run by dpviz, with differences from the papers: {series(changed)}."
    words = {"caption": caption, "label": "dpviz-compare", "cited": ",".join(keys(*cards))}
    table = partial(latex_table_of, charts, axis, request.subjects.values(), **words)
    picture = partial(latex_figure_of, charts, axis, line, **words)
    row, file = st.container(horizontal=True), f"{request.stamp.file}-compare"
    for label, text, name, kind in (
        ("This table (LaTeX)", table, f"{file}.tex", "text/x-tex"),
        ("This figure (LaTeX)", picture, f"{file}-figure.tex", "text/x-tex"),
        ("What to cite (BibTeX)", partial(references, *cards), f"{file}.bib", "text/x-bibtex"),
    ):
        row.download_button(
            label, text, name, kind, key=f"compare:{label}", on_click="ignore",
            icon=":material/download:",
        )  # fmt: skip


def _with_stand_ins(preset: Preset, request: SweepRequest, table: pd.DataFrame) -> pd.DataFrame:
    theirs = {
        one.name: preset.stand_in_title(name).removeprefix("stand-in: ")
        for name, one in request.subjects.items()
        if is_sample(one) and name in preset.samples
    }
    return table.assign(**{"stand-in": table["data"].map(theirs)}) if theirs else table


def _printed(name: str, score: str) -> None:
    from dpviz.papers import EVIDENCE, ROWS  # imported here, because it loads slowly

    figure = [row for row in ROWS if row.link and row.link.query.get("preset") == name]
    score = RANK if score == RANK_ERROR else score  # rows about the error have links to the rank
    rows = [
        {
            "state": row.state,
            "evidence": EVIDENCE[row.evidence][0],
            "what": row.what,
            "the paper says": row.printed,
            "comes out": row.outcome,
            "needed": row.needs,
            "measured on": row.measured.how if row.measured else "",
        }
        for kind in EVIDENCE
        for row in figure
        if row.evidence == kind and row.link and row.link.query.get("score", score) == score
    ]
    if rows:
        st.markdown("**What the paper prints about it, and what comes out**")
        st.dataframe(pd.DataFrame(rows), hide_index=True, key="compare:printed")
        show_caption(
            "These rows are measured with the sets and draws in the last column. The curves "
            "above can differ from these rows, mainly if the curves show other sets."
        )
    elif not figure:
        show_caption(CURVES_ALONE)
    st.page_link(
        "pages/papers.py",
        label="All that the paper says, row by row",
        icon=":material/fact_check:",
        query_params={"paper": name[:3]},
    )


def _show_ranks(ranks: pd.DataFrame, axis: Parameter, titles: Mapping[str, str]) -> None:
    st.markdown("**k′ beside the true k, and beside the k′ that Chen, Yu and Chirkova print**")
    st.dataframe(
        _titled(ranks, titles),
        hide_index=True,
        key="compare:ranks",
        column_config={
            axis.column: st.column_config.NumberColumn(axis.sign, format="%.3g"),
            "epsilon": st.column_config.NumberColumn("ε", format="%.3g"),
            "mean": st.column_config.NumberColumn("mean k′", format="%.1f"),
            "k": st.column_config.NumberColumn("true k"),
            "error": st.column_config.NumberColumn("off by", format="percent"),
            "theorem low": st.column_config.NumberColumn("theorem: k′ from", format="%d"),
            "theorem high": st.column_config.NumberColumn("to", format="%d"),
            "inside": st.column_config.NumberColumn("draws inside", format="percent"),
            "promised": st.column_config.NumberColumn("promised", format="percent"),
            "printed": st.column_config.NumberColumn("printed mean k′", format="%.1f"),
        },
        placeholder="",
    )
    if "printed" not in ranks:
        show_caption(NONE_PRINTED)


def _theorems_words(charts: Sequence[Chart]) -> str:
    bounds = [chart.bounds for chart in charts if chart.bounds is not None]
    if not bounds:
        return "None of these methods has a theorem about k′."
    known = pd.concat(bounds)
    shares_promised = known.groupby("method", sort=False)["promised"].min().dropna()
    promised = ", ".join(
        f"{CARDS[name].title} {share:.0%}" for name, share in shares_promised.items()
    )
    least = (
        f"Smallest promised share: {promised}."
        if promised
        else "The theorems are stated for the Haar wavelet, so they promise nothing for this "
        "wavelet."
    )
    shares = known.groupby("method", sort=False)["inside"].mean()
    listed = ", ".join(f"{CARDS[name].title} {share:.1%}" for name, share in shares.items())
    missed = int((known["inside"] < known["promised"]).sum())
    few = f" In {counted(missed, 'row')} fewer draws are inside than promised." if missed else ""
    return (
        "Bounds of theorems 4, 5 and 6 on PrivQT, PrivTHR and PrivTHREM, as printed with ω = "
        f"{OMEGA:g} and cut to possible values; they are computed from the true data. Average "
        f"share of draws inside: {listed}.{few} {least}"
    )
