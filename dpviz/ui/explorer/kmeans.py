"""The k-means explorer: its runs, key numbers, captions and tables."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar, Literal

import numpy as np
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from dpviz.base.cached import cached_property
from dpviz.base.lazy import pandas as pd
from dpviz.base.numbers import counted, decimals, readable
from dpviz.base.threads import checked
from dpviz.base.work import IsCancelled, Work
from dpviz.data.samples import sample
from dpviz.experiments.draws import Draws
from dpviz.families import CARDS
from dpviz.family.card import Card
from dpviz.family.headline import Headline
from dpviz.family.parameter import GIVEN
from dpviz.family.score import OF_CLASSES
from dpviz.figures import kmeans as kmeans_figures
from dpviz.figures.draws import kmeans_maps
from dpviz.figures.kmeans import KMeansPicture, damage, iterations, stage_of
from dpviz.figures.panels import Panels
from dpviz.figures.raster import RecordRaster
from dpviz.grid.domain import Domain
from dpviz.kmeans.choice_price import choice_price
from dpviz.kmeans.choose_clusters import SURE
from dpviz.kmeans.family import FAMILY
from dpviz.kmeans.headline import headline, placed
from dpviz.kmeans.parameters import KMeansConfig
from dpviz.kmeans.run import KMeansRun
from dpviz.kmeans.scores import OF_CENTERS, SCORES
from dpviz.kmeans.sketch import Sketch, worth_sketching
from dpviz.kmeans.trial import KMeansTrial
from dpviz.kmeans.truth import KMeansTruth, run_kmeans
from dpviz.privacy.noise_source import NoiseSource, SeededNoise, Silenced
from dpviz.ui.data.map_panel import cell_words
from dpviz.ui.data.panel import ActiveData
from dpviz.ui.data.run_title import side_title, true_words
from dpviz.ui.data.state import DataState
from dpviz.ui.explorer.explorer import Explorer, PrivateChoice, prepared
from dpviz.ui.explorer.settings import RunSettings
from dpviz.ui.messages import show_caption, show_error
from dpviz.ui.session.cache import kmeans_truth_of, raster_of, records_of, run_of, sketch_of
from dpviz.ui.session.job import Job, follow, job_of, pause, start
from dpviz.ui.session.state import Control, UrlState, choice, latest, whole
from dpviz.ui.widgets.live_slider import CurvePlace, live_slider
from dpviz.ui.widgets.parameters import choice_box, chosen
from dpviz.ui.widgets.readouts import Readout, class_readout, score_readout
from dpviz.ui.widgets.show import theme_mode
from dpviz.ui.widgets.stamp import Stamp
from dpviz.ui.widgets.strip import Choice

#: Request of a run: its data with K, its parameters, its seed, and whether the left side shows the
#: method without noise. Result of the run: truth, private run, run on the left side.
Request = tuple[KMeansTruth, KMeansConfig, int, bool]
Found = tuple[KMeansTruth, KMeansRun, KMeansRun]

#: Session entries: the latest run, and the job that runs a method on very many records.
_LATEST, _JOB = "kmeans:run", "kmeans:run job"

#: Largest number of clusters for which a run in plain Python is faster than the compilation.
_QUICK = 20

#: Seconds that this job waits at its start; meanwhile the user may still drag a slider.
_PATIENCE = 0.6

Left = Literal["true", "silent"]

LEFT: dict[Left, str] = {"true": "best k-means", "silent": "the method without noise"}


@dataclass(frozen=True, kw_only=True, eq=False)
class KMeansRuns:
    """Noise-free run, private run, run on the left side, and all records as counts on the lattice.

    If the runs are on a sketch, ``sketch_of`` is the number of records that the sketch represents.
    """

    truth: KMeansTruth
    private: KMeansRun
    left: KMeansRun
    raster: RecordRaster
    sketch_of: int | None = None


class KMeansExplorer(Explorer):
    """The page of k-means."""

    family, offers = FAMILY, "start"
    figures: ClassVar = kmeans_figures
    choice_title, choice_sign = "How K was chosen, and the price", "K"
    first_readouts = 2
    own_controls: ClassVar = {
        "left": Control("true", choice("left", tuple(LEFT))),
        # The last iteration is not known yet, so _correct and the player limit the value.
        "i": Control(None, whole("i", 0, 10**6)),
    }
    resets_by_variant = True

    @classmethod
    def page_state(
        cls, make: Callable[[str, dict[str, Control]], DataState] = DataState
    ) -> DataState:
        """All controls of the page, with values from the link or the session."""
        state = super().page_state(make)
        if state.fresh:
            _correct(state)
        elif "method" in state.followed:
            state.set("i", None)
        return state

    @classmethod
    def choose_defaults(cls, state: UrlState, but: Collection[str] = ()) -> None:
        """Set a method's choices to its defaults, and the player to the result."""
        super().choose_defaults(state, but)
        if "i" not in but:
            state.set("i", None)

    @classmethod
    def hint(cls, method: str) -> str:
        """What a user should try at a first visit: a method with many iterations."""
        offered = cls.family.with_parameter(cls.offers)
        return "" if method == offered.name else f"Try {offered.title}"

    @classmethod
    def follow_hint(cls, state: UrlState) -> None:
        """Choose the method that the hint names."""
        state.set("method", cls.family.with_parameter(cls.offers).name)
        cls.choose_defaults(state)

    @classmethod
    def show_choices(cls, state: UrlState, card: Card, active: ActiveData) -> None:
        """Show the parameters of a method that are chosen from a list."""
        shown = chosen(card, FAMILY)
        # The names of the starts are long, so this choice has its own row.
        for row in filter(None, (shown[:1], shown[1:3], shown[3:])):
            for column, one in zip(st.columns(len(row)), row, strict=True):
                choice_box(state, one, column)

    @staticmethod
    def run_both(settings: RunSettings) -> KMeansRuns:
        """Run the method on the data, noise-free and private; match the clusters of both runs."""
        return _side_by_side(settings, _latest_run(settings, _request(settings, "true")))

    @cached_property
    def runs(self) -> KMeansRuns:
        """Both runs; for very many records, they use a sketch until the full run is ready."""
        left = self.state.get("left")
        quickly = partial(_quickly, self.settings, coming=bool(self.coming))
        if self.asked != "iterations" or left == "silent":
            return quickly(left)
        found = quickly("silent")
        # Without iterations, the page shows the first view instead, with the chosen left picture.
        return found if found.private.path else replace(found, left=found.truth.run)

    @property
    def size(self) -> int:
        """Number of records of the run."""
        return self.runs.truth.records.n

    @cached_property
    def trial(self) -> KMeansTrial:
        """Method, parameters and data of the panel of many draws."""
        return KMeansTrial(self.runs.truth, self.settings.config)

    @cached_property
    def _error(self) -> dict[str, float]:
        """NICV ratio for headline and readout, computed once, because this reads all records."""
        return self.runs.truth.scores(self.shown_run, ("nicv_ratio",))

    @cached_property
    def shown_run(self) -> KMeansRun:
        """The private run up to the step that the player shows."""
        return self.picture.up_to_step

    @property
    def _when(self) -> str:
        if self.shown_run is self.runs.private:
            return ""
        step = self.picture.shown_step
        return f"iteration {step} of {len(self.runs.private.iterations)}" if step else "start"

    @property
    def headline(self) -> Headline:
        """What broke, in the step that the player shows."""
        return self.once("headline", self._headline)

    def _headline(self) -> Headline:
        said = headline(self.runs.truth, self.shown_run, self._error["nicv_ratio"])
        if not self._when:
            return said

        def after(text: str) -> str:
            return f"{self._when.capitalize()}: {text[0].lower()}{text[1:]}"

        words = [replace(word, text=after(word.text)) for word in said.words[:1]]
        return replace(said, text=after(said.text), words=(*words, *said.words[1:]))

    @property
    def figure_key(self) -> str:
        """Key of the picture."""
        return f"kmeans:figure:{self.view}"

    @property
    def is_sketch(self) -> bool:
        """Whether the run uses a sketch, because the run on all records is not ready."""
        return bool(self.runs.sketch_of)

    @property
    def stamp(self) -> Stamp:
        """Note on the picture; for sketches and many records, it says how many the run used."""
        records, stamp = self.runs.truth.records, self.settings.stamp
        if of := self.runs.sketch_of:
            part, rest = f"sketch from {len(records.points):,} of {of:,}", "all follow"
            if len(records.points) == of:
                part, rest = f"first picture from all {of:,}", "the whole run follows"
            fact = f"{part} records{_coarsely(self.runs.private)}, {rest}"
        elif worth_sketching(records):
            fact = f"all {records.n:,} records"
        else:
            return stamp
        return replace(stamp, facts=(*stamp.facts, fact))

    @cached_property
    def picture(self) -> KMeansPicture:
        """Data of the figure."""
        silent = self.runs.left is not self.runs.truth.run
        return KMeansPicture(
            truth=self.runs.truth,
            left=self.runs.left,
            private=self.runs.private,
            raster=self.runs.raster,
            columns=self.settings.active.dataset.columns,
            mode=theme_mode(),
            title=self.settings.stamp.title,
            left_title=f"{self.card.title} without noise" if silent else "true",
            private_title=side_title(self.card, self.promise.claim),
            ground=self.settings.active.ground,
            with_points=self.with_points,
            again=self._again if self.card.spends else None,
        )

    def _again(self, epsilon: float) -> KMeansRun:
        truth, seed = self.runs.truth, self.settings.seed
        own = self.runs.private.config
        config = replace(own, epsilon=epsilon, choose=own.choose and GIVEN)
        key = ("kmeans at", self.settings.active.domain, truth, config, seed)
        return truth.numbered(
            run_of(
                key,
                lambda: run_kmeans(truth.records, config, SeededNoise(seed)),
                size=truth.records.n,
                is_sample=self.settings.active.is_sample,
            )
        )

    def play(self, places: Sequence[DeltaGenerator]) -> bool:
        """Show the iteration player, first at the result; return False while the user drags it."""
        state, last = self.state, len(self.picture.path) - 1
        if last < 1:
            return True
        key = f"{state.page}:last iteration"
        known, step = st.session_state.get(key), state.get("i")
        if step is None or (known is not None and step >= known) or step > last:
            state.set("i", last)
        st.session_state[key] = last
        with places[0]:
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
                curve=CurvePlace() if self.settings.curves else None,
            )
        self.picture = replace(self.picture, step=int(slider.value))
        return slider.settled

    @property
    def stage(self) -> str:
        """Stage of the view on the screen; for the regions, it is the stage of the shown step."""
        return stage_of(self.picture) if self.view == "regions" else super().stage

    @property
    def is_first_view(self) -> bool:
        """Whether the view on the screen is the view that :meth:`open_stage` shows."""
        return self.stage != "iterations" if self.view == "regions" else super().is_first_view

    def open_stage(self, name: str) -> None:
        """Show the regions at their start or their result, or the first view of any other stage."""
        if name in ("start", "centres"):
            self.state.set("view", "regions")
            self.state.set("i", 0 if name == "start" else None)
        else:
            super().open_stage(name)

    def more_choices(self) -> list[Choice]:
        """The choice of the left picture."""
        if not (self.card.spends and self.view == "regions"):
            return []
        silent = self.state.get("left") == "silent"
        act = partial(self.state.set, "left", "true" if silent else "silent")
        about = f"On the left: {LEFT['silent']}, instead of {LEFT['true']}."
        return [Choice(title="Left: without noise", act=act, pressed=silent, help=about)]

    @property
    def boxable(self) -> bool:
        """Whether the picture shows the domain; then a box on the picture is part of the domain."""
        return bool(self.view == "regions")

    def note(self, picked: Mapping[str, int]) -> Mapping[str, Any] | None:
        """Say beside the picked cluster which private centres belong to it."""
        note = damage.note_on(self.picture, picked)
        if note and note["alone"] and self.start_words:
            return {**note, "text": f"{note['text']} {self.start_words}"}
        return note

    @cached_property
    def start_words(self) -> str:
        """Faults that the method also has without noise; empty without faults, or during a drag."""
        private, truth, seed = self.runs.private, self.runs.truth, self.settings.seed
        found = placed(truth, private)
        asks = self.card.spends and self.settings.settled and not self.coming
        if not (asks and found.alone.size):
            return ""

        def silently() -> KMeansRun:
            if self.runs.left is not truth.run:
                return self.runs.left
            return run_kmeans(truth.records, private.config, Silenced(SeededNoise(seed)))

        silent = latest("kmeans:silent", (truth, private.config, seed), silently)
        also = np.intersect1d(placed(truth, silent).alone, found.alone)
        if not also.size:
            return ""
        said = counted(also.size, "cluster")
        one = also.size == 1
        which = f"this cluster ({also[0] + 1})" if one else f"these {said}"
        if also.size < found.alone.size:
            which = f"{said} of them ({', '.join(map(str, also + 1))})"
        have = "has" if one else "have"
        cause = "its start" if private.path else "the method itself"
        return (
            f"Not the noise, but {cause}: without noise and with the same random choices, {which} "
            f"{have} no centre, either. A larger ε does not help."
        )

    def captions(self) -> Iterator[str]:
        """Sentences below the picture."""
        picture, grid = self.picture, self.runs.private.grid
        if self.view == "regions" and not self._when:
            yield self.start_words
        if self.view == "grid" and grid is not None:
            shape = [grid.shape[axis] for axis in self.settings.active.axes]
            yield cell_words(picture.ground, picture.shown_columns, picture.shown_domain, shape)
        if self.view == "iterations":
            yield iterations.explain(picture)
        elif self.view != "noise":
            if self.view == "regions" and picture.is_result(picture.private, picture.shown_step):
                yield damage.legend(picture)
            yield self._key()
        yield " ".join(self._notices())

    def _key(self) -> str:
        private = self.runs.private
        kept = "■ kept its place · " if private.config.variant == "sound" else ""
        on_the_way = f"○ its start · {kept}" if private.path else ""
        marks = (
            "● centre, with its noisy number of records if the run has it; if there is no space "
            "for the number, point at the centre · "
            f"{on_the_way}"
        )
        return (marks + "✚ true centre" * self.with_points).removesuffix(" · ") + "."

    def _notices(self) -> Iterator[str]:
        records, private = self.runs.truth.records, self.runs.private
        clusters, iterations = len(private.centers), private.config.iterations
        columns = len(self.settings.active.dataset.columns)
        if self.runs.truth.start is not None:
            yield (
                "The private centres are better than the best k-means that the search found. So "
                "k-means was continued from them, and its result is shown as the true result."
            )
        if records.n_outside:
            moved = self.settings.active.outside == "clip"
            done = "moved to its border" if moved else "left out"
            yield f"{records.n_outside:,} points lie outside the domain and are {done}."
        if private.decision:
            yield private.decision
        if self.asked == "grid" and private.grid is None:
            yield (
                "This run releases no noisy grid. Only EUGkM, Hybrid, sound contour and sound "
                "starts from the data release a noisy grid."
            )
        if self.asked == "iterations" and not private.path:
            yield "This run has no iterations, so the clusters are shown."
        if private.grid is not None and private.grid.ndim != 2:
            yield f"The noisy grid has {private.grid.ndim} columns; a picture needs two columns."
        if columns > 2:
            yield (
                f"Clustered on {columns} columns; two of them are shown. On the left, a cell "
                "shows the cluster of one of its records. Private regions are not areas of this "
                "plane."
            )
        if fewer := self.runs.truth.at(clusters).fewer:
            yield fewer
        if clusters * 20 > records.n:
            yield (
                f"There are only {records.n:,} records for {clusters} clusters: noise outweighs "
                "clusters with few records."
            )
        early = len(private.iterations)
        if early and iterations is not None and early < iterations:
            yield f"Stopped after {early} of {iterations} iterations."

    def readouts(self) -> list[Readout]:
        """Key numbers: the private value in large letters, the true value beside it."""
        return self.once("readouts", self._readouts)

    def _readouts(self) -> list[Readout]:
        truth, private, known = self.runs.truth, self.shown_run, self._error
        # For the L1 ball, the paper measures errors inside the ball, after the projection.
        in_ball = private.config.geometry == "l1"
        ratio, sign = (
            ("space_ratio", "WCSS / true, ball") if in_ball else ("nicv_ratio", "NICV / true")
        )
        names = ["wcss", "nicv", ratio, "f_measure", "displacement"]
        names += ["class_f"] if truth.records.classes is not None else []
        scores = known | truth.scores(private, tuple(name for name in names if name not in known))
        clusters, found = len(truth.centers), placed(truth, private)
        overlap, moved = scores["f_measure"], scores["displacement"]
        shown = [
            score_readout(SCORES[ratio], decimals(scores[ratio]), scores[ratio], sign=sign),
            Readout(
                "In place",
                f"{found.one_each:,} / {clusters:,}",
                f"{clusters - found.alone.size:,} have one",
                "True clusters with exactly one private centre, which is not far off. Beside "
                "them: all true clusters with a private centre, also with several or with one "
                "far off. Each private centre belongs to the nearest true centre.",
            ),
            *(
                score_readout(SCORES[name], readable(scores[name]), beside=f"true {readable(true)}")
                for name, true in zip(("wcss", "nicv"), truth.errors, strict=True)
            ),
            score_readout(SCORES["f_measure"], f"{overlap:.3f}", overlap, sign="F"),
            score_readout(
                SCORES["displacement"],
                f"{100 * moved:.2f}%",
                moved,
                beside="of the domain",
                sign=" ",
            ),
        ]
        if truth.records.classes is not None:
            of_true = truth.scores(truth.run, ("class_f",))
            shown.insert(5, class_readout(scores["class_f"], of_true["class_f"]))
        if self._when:
            when = self._when.partition(" of ")[0]
            # Only a true number stays beside the private number, so that the row is short.
            kept = [one.beside[-1:].isdigit() and one.beside[:4] == "true" for one in shown]
            shown = [
                replace(one, beside=f"{when} · {one.beside}" if stays else when)
                for one, stays in zip(shown, kept, strict=True)
            ]
        if private.before is not None:
            earlier = replace(private, centers=private.before, before=None)
            before = truth.scores(earlier, (ratio,))[ratio]
            shown.insert(
                2,
                Readout(
                    "Before",
                    decimals(before),
                    "",
                    "The same ratio, but of the DPLloyd run before post-processing.",
                    sign,
                    SCORES[ratio].grade(before),
                ),
            )
        # A centre can keep its place only in the sound variant.
        if private.iterations and private.config.variant == "sound":
            updates = sum(one.kept.size for one in private.iterations)
            shown.append(
                score_readout(
                    SCORES["kept_centers"],
                    f"{private.kept_centers:,}",
                    beside=f"of {counted(updates, 'update')}",
                )
            )
        return [replace(one, rough=self.is_sketch) for one in shown]

    @classmethod
    def is_quick(cls, settings: RunSettings) -> bool:
        """Whether a run without compiled code takes less time than the compilation."""
        return bool(settings.config.clusters <= _QUICK)

    def prepare(self) -> Job | None:
        """Return the job that compiles the code of the first method; start it if necessary."""
        # The job starts after the picture, because both need the interpreter lock.
        left: Left = "silent" if self.asked == "iterations" else self.state.get("left")
        return _start_run(_request(self.settings, left)) if self.settings.settled else None

    def wait(self) -> list[Readout]:
        """Wait for the run on all records; when it ends, the page is redrawn."""
        if self.is_sketch and self.settings.settled:
            follow(job_of(_JOB), lambda: None)
        return []

    @property
    def chooses(self) -> bool:
        """Whether the run chose K privately."""
        return self.runs.private.choice is not None

    def choice(self) -> PrivateChoice | None:
        """How the run chose K, and which K is best by the true records."""
        choice, records = self.runs.private.choice, self.runs.truth.records
        assert choice is not None  # noqa: S101 - it chooses
        price = records.kept(("price", choice), lambda: choice_price(records, choice))
        if price is None:
            return None
        return PrivateChoice(
            sentence=f"Chosen privately: **K = {choice.clusters:,}**. Best in hindsight, with the "
            f"true records: **K = {price.best:,}**. The choice reaches **{price.ratio:.1%}** of "
            "the best silhouette.",
            table=pd.DataFrame(
                {
                    "K": choice.tried,
                    "silhouette of noisy counts": choice.silhouettes,
                    "of the worst cluster": choice.least,
                    "smallest cluster, in sd of its noise": choice.surest,
                    "silhouette of true records": price.silhouettes,
                }
            ),
            caption=f"K from {min(choice.tried)} to {max(choice.tried)} are tried. The choice "
            "reads only the noisy columns. It compares all K whose smallest cluster is at least "
            f"{SURE:g} standard deviations of the noise, and takes the K with the largest sum "
            f"of both silhouettes. The last column is true. {true_words(self.settings.active)}",
        )

    def draw_maps(self, title: str, draws: Draws, position: int) -> Panels:
        """Maps of many draws; ``position`` selects the draw that the player shows."""
        picture = replace(self.picture, title=title)
        return kmeans_maps(picture, draws, position, self.trial.watched)

    def show_tables(self) -> None:
        """Show tables of the numbers in the picture."""
        named = self.frame().rename(columns=lambda name: name.replace("private", self.side))
        st.dataframe(named, height=min(668, 38 + 35 * len(named)), hide_index=True)
        if self.view == "regions":
            show_caption(
                "A row is a centre of the run, beside the nearest true centre. A true cluster "
                "without a centre has a row of its own."
            )
        st.dataframe(self._all_scores(), hide_index=True, height="content")

    def _all_scores(self) -> pd.DataFrame:
        runs = self.runs
        classed = OF_CLASSES if runs.truth.records.classes is not None else ()
        scores = runs.truth.scores(runs.private, (*OF_CENTERS, *classed))
        if self.card.spends:
            silenced = runs.truth.against_silenced(runs.private, SeededNoise(self.settings.seed))
            scores["zhang_f"] = silenced
        return pd.DataFrame(
            {
                "score": [SCORES[name].label for name in scores],
                "value": [readable(value, 6) for value in scores.values()],
            }
        )


def _correct(state: DataState) -> None:
    method, view, shown = state.get("method"), state.get("view"), state.get("i")
    # Only methods with a Markov chain have a temperature.
    chains = [name for name, one in FAMILY.methods.items() if one.card.parameter("temperature")]
    if view == "chain" and method not in chains:
        note = f"view = chain exists only for {', '.join(chains)}, not for {method}."
        state.correct("view", "regions", note)
    # Post-processing of the last iteration adds one step.
    last = state.get("t") + CARDS[method].post_processes
    if shown is not None and shown > last:
        state.correct("i", last, f"i = {shown} is beyond the last iteration; {last} is used.")
    bounds = state.get("domain")
    if bounds not in ("", "declared", "data") and not state.has_own_data:
        columns = len(sample(state.get("data")).columns)
        if Domain.parse(bounds).ndim != columns:
            note = f'domain = "{bounds[:40]}" is not for {columns} columns; the default is used.'
            state.correct("domain", "", note)


def _request(settings: RunSettings, left: Left) -> Request:
    active, config = settings.active, settings.config
    records = records_of(active.dataset, active.domain, active.outside, is_sample=active.is_sample)
    truth = kmeans_truth_of(records, config.clusters, is_sample=active.is_sample)
    silent = left == "silent" and FAMILY.methods[config.method].card.spends
    return truth, config, settings.seed, silent


def _side_by_side(
    settings: RunSettings, found: Found, *, sketch_of: int | None = None
) -> KMeansRuns:
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


def _quickly(settings: RunSettings, left: Left, *, coming: bool) -> KMeansRuns:
    """Both runs; they use a sketch while a job reads all records, or while code is ``coming``."""
    request = _request(settings, left)
    truth, config, seed, silent = request
    known = _known(request)
    records = truth.records
    coming = coming and records.weights is None
    if known or not (coming or worth_sketching(records)):
        return _side_by_side(settings, known or _latest_run(settings, request))
    job = job_of(_JOB)
    if job and (job.request != request or not settings.settled):
        job.cancel()
    failed = job.error if job and job.request == request else ""
    if failed:
        # Do not start the same run again, because it would fail every time.
        show_error(failed)
    elif settings.settled and not coming:
        _start_run(request)
    sketch = sketch_of(records, few=coming, is_sample=settings.active.is_sample)
    drawn = _sketched(sketch, truth, quickly=coming)
    found = _drawn(drawn, config, SeededNoise(seed), silent=silent)
    return _side_by_side(settings, found, sketch_of=records.n)


def _start_run(request: Request) -> Job:
    job = job_of(_JOB)
    if job is None or not job.running:
        task = prepared(FAMILY.name, partial(_run_beside, request))
        job = start(_JOB, task, request=request, heavy=False, after=pause())
    return job


def _sketched(sketch: Sketch, truth: KMeansTruth, *, quickly: bool) -> KMeansTruth:
    """True run of a sketch; known centres keep colours, ``quickly`` needs no compiled code."""
    latest = st.session_state.get(_LATEST)
    known = latest[1][0] if latest else None
    begun = None
    if known and known.records is truth.records and known.clusters == truth.clusters:
        begun = known.centers
    elif quickly:
        begun = sketch.kept(("start", truth.clusters), lambda: sketch.start(truth.clusters))
    return sketch.kept(
        ("truth", truth.clusters, begun is None),
        lambda: KMeansTruth(sketch, truth.clusters, start=begun),
    )


def _drawn(truth: KMeansTruth, config: KMeansConfig, noise: NoiseSource, *, silent: bool) -> Found:
    """Return true, private and left run; the true run is never worse than the private run."""
    run = run_kmeans(truth.records, config, noise)
    best = truth.beyond(run.centers)
    if not silent:
        return best, best.numbered(run), best.run
    silent_run = run_kmeans(best.records, config, Silenced(noise))
    return best, best.numbered(run), best.numbered(silent_run)


def _run_beside(request: Request, *, cancelled: IsCancelled, **_: object) -> Found:
    work, end = Work(1, "runs", cancelled=cancelled), time.monotonic() + _PATIENCE
    while time.monotonic() < end:
        time.sleep(_PATIENCE / 20)
        work.check()
    truth, config, seed, silent = request
    # Check often, because one generation of PrivGene on many records takes fifteen seconds.
    with checked(work.check):
        return _drawn(truth, config, SeededNoise(seed), silent=silent)


def _known(request: Request) -> Found | None:
    job = job_of(_JOB)
    if job is not None and job.result is not None:
        st.session_state[_LATEST] = (job.request, job.result)
        del st.session_state[_JOB]
    latest: tuple[Request, Found] | None = st.session_state.get(_LATEST)
    return latest[1] if latest is not None and latest[0] == request else None


def _latest_run(settings: RunSettings, request: Request) -> Found:
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


def _coarsely(run: KMeansRun) -> str:
    coarser = CARDS[run.config.method].coarser
    if coarser:
        return f" {coarser}"
    grid = run.grid
    return " with cells in blocks" if grid and len(grid.weights) > grid.most_places else ""
