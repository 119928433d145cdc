"""The k-means explorer: controls, run, readouts, panels and the numbers behind them."""

from __future__ import annotations

import time
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Literal, cast

import pandas as pd
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from dpviz.base.numbers import counted, decimals, readable
from dpviz.base.threads import checked
from dpviz.base.work import IsCancelled, Work
from dpviz.data.samples import sample
from dpviz.experiments.draws import Draws
from dpviz.families import CARDS
from dpviz.family.score import OF_CLASSES
from dpviz.figures.draws import kmeans_maps
from dpviz.figures.kmeans import VIEWS, KMeansPicture, View, frame, panels, views_of
from dpviz.figures.panels import Panels
from dpviz.figures.raster import RecordRaster
from dpviz.grid.domain import Domain
from dpviz.kmeans.choice_price import choice_price
from dpviz.kmeans.choose_clusters import SURE
from dpviz.kmeans.family import FAMILY
from dpviz.kmeans.headline import headline
from dpviz.kmeans.parameters import KMeansConfig
from dpviz.kmeans.run import KMeansRun
from dpviz.kmeans.scores import OF_CENTERS, SCORES
from dpviz.kmeans.sketch import Sketch, worth_sketching
from dpviz.kmeans.trial import KMeansTrial
from dpviz.kmeans.truth import KMeansTruth, run_kmeans
from dpviz.privacy.noise_source import NoiseSource, SeededNoise, Silenced
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
from dpviz.ui.explorer.draws import Setting, draws_panel
from dpviz.ui.messages import show_caption, show_error
from dpviz.ui.session.cache import kmeans_truth_of, raster_of, records_of, run_of, sketch_of
from dpviz.ui.session.job import follow, job_of, pause, start
from dpviz.ui.session.state import Control, UrlState, choice, whole
from dpviz.ui.widgets.exports import exports
from dpviz.ui.widgets.headline import show_headline
from dpviz.ui.widgets.live_slider import live_slider
from dpviz.ui.widgets.parameters import choice_box, chosen, method_box, take_defaults
from dpviz.ui.widgets.prices_panel import prices_panel
from dpviz.ui.widgets.readouts import Promise, Readout, class_readout, score_readout, show_readouts
from dpviz.ui.widgets.show import csv_button, lazy_expander, segments, show_panels, theme_mode
from dpviz.ui.widgets.stamp import Stamp

#: A run: its data and K, its parameters, its seed, and whether the method without noise stands on
#: the left; and what came of it: true, private, left.
Request = tuple[KMeansTruth, KMeansConfig, int, bool]
Found = tuple[KMeansTruth, KMeansRun, KMeansRun]

#: Session entries: the latest run, and the job that runs a method on very many records.
_LATEST, _JOB = "kmeans:run", "kmeans:run job"

#: Seconds that this job waits first: the next step of a slider may be on its way.
_PATIENCE = 0.6

#: What to try first.
HINT = "Try the method DPLloyd: what breaks?"

Left = Literal["true", "silent"]

LEFT: dict[Left, str] = {"true": "best k-means", "silent": "the method without noise"}


def page_state(make: Make = DataState) -> DataState:
    """All controls of the page, from the link or the session."""
    left = Control("true", choice("left", tuple(LEFT)))
    # The last iteration is known only later: _correct and step_slider limit the value.
    state = explorer_state(FAMILY, VIEWS, make, left=left, i=Control(None, whole("i", 0, 10**6)))
    if state.fresh:
        choose_defaults(state, but=state.chosen)
        _correct(state)
    elif "method" in state.followed:
        state.set("i", None)
    return state


def _correct(state: DataState) -> None:
    """Correct values of a link that are valid alone but not with the chosen method or data."""
    method, view, shown = state.get("method"), state.get("view"), state.get("i")
    # Only a Markov chain has a temperature.
    chains = [name for name, one in FAMILY.methods.items() if one.card.parameter("temperature")]
    if view == "chain" and method not in chains:
        note = f"view = chain is of {', '.join(chains)} alone, not of {method}."
        state.correct("view", "regions", note)
    # Post-processing of the last iteration adds one step.
    last = state.get("t") + CARDS[method].post_processes
    if shown is not None and shown > last:
        state.correct("i", last, f"i = {shown} is beyond the last iteration; {last} is used.")
    bounds = state.get("domain")
    if bounds not in ("", "declared", "data") and not state.has_own_data:
        columns = len(sample(state.get("data")).columns)
        if Domain.parse(bounds).ndim != columns:
            note = f'domain = "{bounds[:40]}" is not of {columns} columns; the default is used.'
            state.correct("domain", "", note)


def choose_defaults(state: UrlState, but: Collection[str] = ()) -> None:
    """Set the choices of a method to its defaults, and the player to the result."""
    take_defaults(state, FAMILY, but)
    if "i" not in but:
        state.set("i", None)


@dataclass(frozen=True, kw_only=True, eq=False)
class KMeansRuns:
    """Noise-free and private run on the same records.

    Parameters
    ----------
    truth, private, left
        True run, private run, and what stands on the left.
    raster
        All records on the screen's lattice.
    sketch_of
        Number of records that the runs stand for, where a sketch took their place.
    """

    truth: KMeansTruth
    private: KMeansRun
    left: KMeansRun
    raster: RecordRaster
    sketch_of: int | None = None


def sidebar(state: DataState) -> ActiveData:
    """Show the controls that have no slider; return the data on the screen."""
    active = data_panel(state, many=True)
    active = replace(active, ground=map_panel(state, active))
    card = method_box(state, FAMILY, lambda: choose_defaults(state))
    shown = chosen(card, FAMILY)
    # The names of the starts are long, so they have their own row.
    for row in filter(None, (shown[:1], shown[1:3], shown[3:])):
        for column, one in zip(st.columns(len(row)), row, strict=True):
            choice_box(state, one, column)
    draw_controls(state, card, lambda: choose_defaults(state))
    return active


def step_slider(state: UrlState, place: DeltaGenerator, last: int) -> tuple[int, bool]:
    """Show the iteration player; return the iteration, and True if the user does not hold it.

    Without a choice, and when the number of iterations changes, show the result.
    """
    if last < 1:
        return 0, True
    key = f"{state.page}:last iteration"
    known, step = st.session_state.get(key), state.get("i")
    if step is None or (known is not None and step >= known) or step > last:
        state.set("i", last)
    st.session_state[key] = last
    with place:
        slider = live_slider(
            "Iteration",
            key=state.key("i"),
            value=last,
            low=0,
            high=last,
            integer=True,
            low_label="start",
            high_label="result",
            help="Steps along the path of the private centres.",
            play=True,
        )
    return int(slider.value), slider.settled


def run_both(settings: RunSettings, left: Left) -> KMeansRuns:
    """Run the method on the chosen data, noise-free and private, with matched clusters."""
    return _side_by_side(settings, _latest_run(settings, _request(settings, left)))


def _request(settings: RunSettings, left: Left) -> Request:
    """The run that is asked for."""
    silent = left == "silent" and FAMILY.methods[settings.config.method].card.spends
    return _truth_of(settings), settings.config, settings.seed, silent


def _truth_of(settings: RunSettings) -> KMeansTruth:
    """The noise-free clustering, which is searched for when somebody asks for it."""
    active = settings.active
    records = records_of(active.dataset, active.domain, active.outside, is_sample=active.is_sample)
    return kmeans_truth_of(records, settings.config.clusters, is_sample=active.is_sample)


def _side_by_side(
    settings: RunSettings, found: Found, *, sketch_of: int | None = None
) -> KMeansRuns:
    """What the page shows of a run, with all records on the lattice."""
    active = settings.active
    truth, private, left = found
    records = records_of(active.dataset, active.domain, active.outside, is_sample=active.is_sample)
    return KMeansRuns(
        truth=truth,
        private=private,
        left=left,
        raster=raster_of(records, active.axes, is_sample=active.is_sample),
        sketch_of=sketch_of,
    )


def _quickly(settings: RunSettings, left: Left) -> KMeansRuns:
    """Run the method; on very many records show a sketch until a job has run it on all of them."""
    request = _request(settings, left)
    truth, config, seed, silent = request
    known = _known(request)
    if known or not worth_sketching(truth.records):
        return _side_by_side(settings, known or _latest_run(settings, request))
    job = job_of(_JOB)
    if job and (job.request != request or not settings.settled):
        job.cancel()
    failed = job.error if job and job.request == request else ""
    if failed:
        # Not again for the same run: it would fail again, for ever.
        show_error(failed)
    elif settings.settled and not (job and job.running):
        start(_JOB, partial(_run_beside, request), request=request, heavy=False, after=pause())
    sketch = sketch_of(truth.records, is_sample=settings.active.is_sample)
    found = _drawn(_sketched(sketch, truth), config, SeededNoise(seed), silent=silent)
    return _side_by_side(settings, found, sketch_of=truth.records.n)


def _sketched(sketch: Sketch, truth: KMeansTruth) -> KMeansTruth:
    """The noise-free clustering of a sketch.

    It goes on from the true centres where they are known, so that clusters keep their colours.
    """
    latest = st.session_state.get(_LATEST)
    known = latest[1][0] if latest else None
    begun = None
    if known and known.records is truth.records and known.clusters == truth.clusters:
        begun = known.centers
    return sketch.kept(
        ("truth", truth.clusters, begun is None),
        lambda: KMeansTruth(sketch, truth.clusters, start=begun),
    )


def _drawn(truth: KMeansTruth, config: KMeansConfig, noise: NoiseSource, *, silent: bool) -> Found:
    """A noise-free run that is at least as good as the private one, that one, and the left one."""
    run = run_kmeans(truth.records, config, noise)
    best = truth.beyond(run.centers)
    if not silent:
        return best, best.matched(run), best.run
    return best, best.matched(run), best.matched(run_kmeans(best.records, config, Silenced(noise)))


def _run_beside(request: Request, *, cancelled: IsCancelled, **_: object) -> Found:
    """The same in the thread of a job, once nobody has changed anything for a while."""
    work, end = Work(1, "runs", cancelled=cancelled), time.monotonic() + _PATIENCE
    while time.monotonic() < end:
        time.sleep(_PATIENCE / 20)
        work.check()
    truth, config, seed, silent = request
    # One generation of PrivGene on many records takes a quarter of a minute.
    with checked(work.check):
        return _drawn(truth, config, SeededNoise(seed), silent=silent)


def _known(request: Request) -> Found | None:
    """The latest run, where it is the one that is asked for: the page's own, or that of a job.

    The session stores it, so that the player does not repeat it.
    """
    job = job_of(_JOB)
    if job is not None and job.result is not None:
        st.session_state[_LATEST] = (job.request, job.result)
        del st.session_state[_JOB]
    latest: tuple[Request, Found] | None = st.session_state.get(_LATEST)
    return latest[1] if latest is not None and latest[0] == request else None


def _latest_run(settings: RunSettings, request: Request) -> Found:
    """Return the run that the session stores, or run the method and store that."""
    found = _known(request)
    if found is None:
        truth, config, seed, silent = request
        found = run_of(
            ("kmeans", *request),
            lambda: _drawn(truth, config, SeededNoise(seed), silent=silent),
            size=truth.records.n,
            is_sample=settings.active.is_sample,
        )
        st.session_state[_LATEST] = (request, found)
    return found


def view_of(state: UrlState, run: KMeansRun) -> View:
    """Return the chosen view, or the regions if the run does not have this view."""
    view = cast(View, state.get("view"))
    return view if view in views_of(run) else "regions"


def build(state: DataState) -> None:
    """Draw the page."""
    build_explorer(state, FAMILY, sidebar, draw)


def draw(state: UrlState, settings: RunSettings, places: Sequence[DeltaGenerator]) -> bool:
    """Show readouts, figure and the panels below; return True if the user holds no slider."""
    config, card = settings.config, CARDS[settings.config.method]
    runs = _quickly(settings, state.get("left"))
    promise = settings.promise(runs.truth.records.domain)
    view = view_of(state, runs.private)
    missing = state.get("view") == "grid" and runs.private.grid is None
    stamp = _stamp(settings, runs)
    picture = _picture(settings, runs, promise, with_points=state.get("points") == "shown")
    step, still = step_slider(state, places[0], len(picture.path) - 1)
    picture = replace(picture, step=step)
    settled = settings.settled and still
    # Once for the sentence and for its readout: a pass over all records.
    error = runs.truth.scores(runs.private, ("nicv_ratio",))
    broken = headline(runs.truth, runs.private, error["nicv_ratio"])
    show_headline(broken, promise, HINT)
    readouts = _readouts(runs, error)
    if runs.sketch_of:
        readouts = [replace(one, rough=True) for one in readouts]
    show_readouts(readouts, promise)
    _view_controls(state, runs, spends=card.spends)
    box = show_panels(
        panels(picture, view),
        stamp,
        key=_figure(view),
        base_name=f"{stamp.name} {config.method} {view}",
        about=view,
        boxable=view == "regions" and can_draw_box(settings.active),
    )
    take_box(state, settings.active, box)
    if view == "grid" and runs.private.grid is not None:
        shape = [runs.private.grid.shape[axis] for axis in settings.active.axes]
        cell_caption(picture.ground, picture.shown_columns, picture.shown_domain, shape)
    if view != "noise":
        show_caption(_key(runs, with_points=picture.with_points))
    if notices := _notices(settings, runs, missing=missing):
        show_caption(" ".join(notices))
    show_below(
        state,
        settings,
        promise,
        runs.private.ledger,
        panels=(
            partial(_choice_panel, state, settings, runs),
            partial(
                _many_draws, state, settings, runs, picture, settled=settled and not runs.sketch_of
            ),
        ),
        behind=partial(_behind, settings, runs, picture, view, readouts),
    )
    if runs.sketch_of and settings.settled:
        follow(job_of(_JOB), lambda: None)
    return settled


def _choice_panel(state: UrlState, settings: RunSettings, runs: KMeansRuns) -> None:
    """Show how a run chose K, and what the best K would have been, while the panel is open."""
    choice = runs.private.choice
    if choice is None:
        return

    def draw() -> None:
        records = runs.truth.records
        price = records.kept(("price", choice), lambda: choice_price(records, choice))
        if price is None:
            show_caption("Noise left no two places to choose from.")
            return
        st.markdown(
            f"Chosen privately: **K = {choice.clusters:,}**. Best in hindsight, with the true "
            f"records: **K = {price.best:,}**. The choice reaches **{price.ratio:.1%}** of the "
            "best silhouette."
        )
        table = pd.DataFrame(
            {
                "K": choice.tried,
                "silhouette of noisy counts": choice.silhouettes,
                "of the worst cluster": choice.least,
                "smallest cluster, in sd of its noise": choice.surest,
                "silhouette of true records": price.silhouettes,
            }
        )
        st.dataframe(table, hide_index=True, height=248, key=f"{state.page}:choice rows")
        show_caption(
            f"K from {min(choice.tried)} to {max(choice.tried)} are tried. The choice reads "
            "the noisy columns alone: of all K whose smallest cluster stands "
            f"{SURE:g} standard deviations out of the noise, the one with the largest sum of both "
            f"silhouettes. The last column is true. {true_words(settings.active)}"
        )
        stamp = settings.stamp
        csv_button(f"{stamp.file}-choice-of-K", table, "Table of all K (CSV)", stamp=stamp)
        prices_panel("kmeans")

    lazy_expander("How K was chosen, and the price", key=f"{state.page}:choice", draw=draw)


def _many_draws(
    state: UrlState,
    settings: RunSettings,
    runs: KMeansRuns,
    picture: KMeansPicture,
    *,
    settled: bool,
) -> None:
    """Show the panel of many draws."""
    trial = KMeansTrial(runs.truth, settings.config)
    stamp = stamp_of(settings.active, settings.config)
    picture = replace(picture, title=stamp.title)

    def maps(draws: Draws, position: int) -> Panels:
        return kmeans_maps(picture, draws, position, trial.watched)

    draws_panel(
        Setting(state, trial, runs.truth.records, settings.seed, stamp, maps),
        settled=settled,
    )


def _view_controls(state: UrlState, runs: KMeansRuns, *, spends: bool) -> None:
    """Choice of the view and of the left picture."""
    row, views = view_row(), views_of(runs.private)
    if state.get("view") not in views:
        state.set("view", "regions")
    segments(state, "view", "View", views, row, label_visibility="collapsed")
    view = view_of(state, runs.private)
    if view != "noise":
        points_switch(state, row)
    if spends and view == "regions":
        titles = {name: f"Left: {title}" for name, title in LEFT.items()}
        segments(state, "left", "On the left", titles, row, label_visibility="collapsed")


def _stamp(settings: RunSettings, runs: KMeansRuns) -> Stamp:
    """What the picture says of itself, with the records that it is of where these are very many."""
    records, stamp = runs.truth.records, settings.stamp
    if runs.sketch_of:
        part = f"{len(records.points):,} of {runs.sketch_of:,} records"
        fact = f"sketch from {part}{_coarsely(runs.private)}, all follow"
    elif worth_sketching(records):
        fact = f"all {records.n:,} records"
    else:
        return stamp
    return replace(stamp, facts=(*stamp.facts, fact))


def _coarsely(run: KMeansRun) -> str:
    """What else is coarser on a sketch, to be added to its number of records."""
    coarser = CARDS[run.config.method].coarser
    if coarser:
        return f" {coarser}"
    grid = run.grid
    return " with cells in blocks" if grid and len(grid.weights) > grid.most_places else ""


def _picture(
    settings: RunSettings, runs: KMeansRuns, promise: Promise, *, with_points: bool
) -> KMeansPicture:
    """Collect the data of the figure."""
    card = CARDS[settings.config.method]
    silent = runs.left is not runs.truth.run
    return KMeansPicture(
        truth=runs.truth,
        left=runs.left,
        private=runs.private,
        raster=runs.raster,
        columns=settings.active.dataset.columns,
        mode=theme_mode(),
        title=settings.stamp.title,
        left_title=f"{card.title} without noise" if silent else "true",
        private_title=side_title(card, promise.claim),
        ground=settings.active.ground,
        with_points=with_points,
    )


def _key(runs: KMeansRuns, *, with_points: bool) -> str:
    """Legend of the marks on the map."""
    kept = "■ kept its place · " if runs.private.config.variant == "sound" else ""
    on_the_way = f"○ its start · {kept}" if runs.private.path else ""
    marks = (
        "● centre, with its noisy number of records where the run has one and it has room · "
        f"{on_the_way}"
    )
    return (marks + "✚ true centre" * with_points).removesuffix(" · ") + "."


def _notices(settings: RunSettings, runs: KMeansRuns, *, missing: bool) -> list[str]:
    """Sentences about results that a user may not expect.

    ``missing``: the noisy grid was asked for and there is none.
    """
    notices = []
    records, config = runs.truth.records, settings.config
    if runs.truth.start is not None:
        notices.append(
            "The private centres are better than the best k-means of the search: what is called "
            "true is where k-means goes from them."
        )
    if records.n_outside:
        moved = "moved to its border" if settings.active.outside == "clip" else "left out"
        notices.append(f"{records.n_outside:,} points lie outside the domain and are {moved}.")
    if runs.private.decision:
        notices.append(runs.private.decision)
    if missing:
        notices.append(
            "This run releases no noisy grid: EUGkM, Hybrid, sound contour and sound starts from "
            "the data do."
        )
    if runs.private.grid is not None and runs.private.grid.ndim != 2:
        notices.append(
            f"The noisy grid has {runs.private.grid.ndim} columns; only one of two can be shown."
        )
    if len(settings.active.dataset.columns) > 2:
        notices.append(
            f"Clustered on {len(settings.active.dataset.columns)} columns, of which two are shown: "
            "on the left a cell shows the cluster of one of its records; private regions are no "
            "areas of this plane."
        )
    clusters = len(runs.private.centers)
    if fewer := runs.truth.at(clusters).fewer:
        notices.append(fewer)
    if clusters * 20 > records.n:
        notices.append(
            f"There are only {records.n:,} records for {clusters} clusters: noise outweighs "
            "clusters with few records."
        )
    early = len(runs.private.iterations)
    if early and config.iterations is not None and early < config.iterations:
        notices.append(f"Stopped after {early} of {config.iterations} iterations.")
    return notices


def _readouts(runs: KMeansRuns, known: dict[str, float]) -> list[Readout]:
    """Key figures: the private value in large type, the true value beside it.

    ``known`` scores are not computed again.
    """
    truth, private = runs.truth, runs.private
    # In the L1 ball the paper measures errors there, after projection.
    in_ball = private.config.geometry == "l1"
    ratio, sign = ("space_ratio", "WCSS / true, ball") if in_ball else ("nicv_ratio", "NICV / true")
    names = ["wcss", "nicv", ratio, "f_measure", "displacement"]
    names += ["class_f"] if truth.records.classes is not None else []
    scores = known | truth.scores(private, tuple(name for name in names if name not in known))
    wcss, nicv = truth.errors
    overlap, moved = scores["f_measure"], scores["displacement"]
    shown = [
        score_readout(SCORES[ratio], decimals(scores[ratio]), scores[ratio], sign=sign),
        score_readout(SCORES["wcss"], readable(scores["wcss"]), beside=f"true {readable(wcss)}"),
        score_readout(SCORES["nicv"], readable(scores["nicv"]), beside=f"true {readable(nicv)}"),
        score_readout(SCORES["f_measure"], f"{overlap:.3f}", overlap, sign="F"),
        score_readout(
            SCORES["displacement"], f"{100 * moved:.2f}%", moved, beside="of the domain", sign=" "
        ),
    ]
    if truth.records.classes is not None:
        of_true = truth.scores(truth.run, ("class_f",))
        shown.insert(4, class_readout(scores["class_f"], of_true["class_f"]))
    if private.before is not None:
        earlier = replace(private, centers=private.before, before=None)
        before = truth.scores(earlier, (ratio,))[ratio]
        shown.insert(
            1,
            Readout(
                "Before",
                decimals(before),
                "",
                "The same ratio of the DPLloyd run that post-processing started from.",
                sign,
                SCORES[ratio].grade(before),
            ),
        )
    # As printed no centre keeps its place.
    if private.iterations and private.config.variant == "sound":
        updates = sum(one.kept.size for one in private.iterations)
        shown.append(
            score_readout(
                SCORES["kept_centers"],
                f"{private.kept_centers:,}",
                beside=f"of {counted(updates, 'update')}",
            )
        )
    return shown


def _behind(
    settings: RunSettings,
    runs: KMeansRuns,
    picture: KMeansPicture,
    view: View,
    readouts: Sequence[Readout],
) -> None:
    """Tables, downloads and the code that reproduces the run."""
    if runs.sketch_of:
        show_caption(f"They follow with the run on all {runs.sketch_of:,} records.")
        return
    table = frame(picture, view)
    side = "private" if settings.promise(runs.truth.records.domain).claim.private else "not private"
    named = table.rename(columns=lambda name: name.replace("private", side))
    st.dataframe(named, height=318, hide_index=True)
    st.dataframe(_all_scores(settings, runs), hide_index=True, height="content")
    exports(
        "kmeans",
        settings.config.method,
        view,
        figure=_figure(view),
        stamp=settings.stamp,
        table=lambda: table,
        readouts=readouts,
    )
    show_code(settings, runs.truth.records.domain)


def _figure(view: View) -> str:
    """Key of the picture."""
    return f"kmeans:figure:{view}"


def _all_scores(settings: RunSettings, runs: KMeansRuns) -> pd.DataFrame:
    """All scores of the private run."""
    classed = OF_CLASSES if runs.truth.records.classes is not None else ()
    scores = runs.truth.scores(runs.private, (*OF_CENTERS, *classed))
    if CARDS[settings.config.method].spends:
        silenced = runs.truth.against_silenced(runs.private, SeededNoise(settings.seed))
        scores["zhang_f"] = silenced
    return pd.DataFrame(
        {
            "score": [SCORES[name].label for name in scores],
            "value": [readable(value, 6) for value in scores.values()],
        }
    )
