"""The abstract class that shows the page of an explorer; each family has a subclass."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from contextlib import nullcontext, suppress
from dataclasses import dataclass, replace
from functools import partial
from hashlib import blake2b
from typing import Any, ClassVar, TypeVar

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from dpviz.base.cached import cached_property
from dpviz.base.compiled import interpreted, uncompiled
from dpviz.base.errors import InputError, shown
from dpviz.base.latex import table as latex_table
from dpviz.base.lazy import pandas as pd
from dpviz.base.work import Cancelled, IsCancelled, Progress, Task
from dpviz.commands.reproduce import Reproduction, command, python_lines
from dpviz.data.samples import sample
from dpviz.experiments import prices
from dpviz.experiments.draws import Draws
from dpviz.experiments.presets import PRESETS
from dpviz.families import CARDS
from dpviz.family.card import Card
from dpviz.family.family import Family
from dpviz.family.headline import Headline
from dpviz.family.parameter import EPSILON, Parameter
from dpviz.family.trial import Trial
from dpviz.figures.panels import Panels
from dpviz.figures.stages import StageCard
from dpviz.grid.domain import Domain
from dpviz.ui.data.map_panel import can_draw_box, map_controls, map_panel, take_box
from dpviz.ui.data.not_taken import show_not_taken
from dpviz.ui.data.panel import ActiveData, data_panel
from dpviz.ui.data.rows import offer_box
from dpviz.ui.data.run_title import stamp_of
from dpviz.ui.data.state import FIRST, DataState, data_controls, take_followed
from dpviz.ui.explorer import PREPARED
from dpviz.ui.explorer.curve import show_curves
from dpviz.ui.explorer.draws import Setting, draws_panel
from dpviz.ui.explorer.settings import (
    ABOUT_POINTS,
    RunSettings,
    curve_controls,
    draw_controls,
    run_settings,
    take_method,
)
from dpviz.ui.messages import errors_shown, plain_text, show_caption
from dpviz.ui.page import live_part
from dpviz.ui.session.cache import part_of
from dpviz.ui.session.first_picture import drawn, keep
from dpviz.ui.session.job import Job, follow
from dpviz.ui.session.state import MAX_SEED, Control, UrlState, choice, whole
from dpviz.ui.tuning.panel import tuning_panel
from dpviz.ui.widgets.assets import component
from dpviz.ui.widgets.card_panel import card_panel
from dpviz.ui.widgets.embed import embedded
from dpviz.ui.widgets.epsilon_panel import epsilon_panel
from dpviz.ui.widgets.headline import show_board
from dpviz.ui.widgets.parameters import has_slider, method_box, method_controls, take_defaults
from dpviz.ui.widgets.readouts import Promise, Readout, show_ledger, show_reason
from dpviz.ui.widgets.show import csv_button, lazy_expander, show_panels, theme_mode
from dpviz.ui.widgets.stamp import Stamp
from dpviz.ui.widgets.strip import Choice, strip

T = TypeVar("T")

#: Epsilon of a first visit without a link. At this value some clusters break, and most are found.
FIRST_EPSILON = 0.02

_save_picture = component("save_picture")

#: Session entry: whether a session has begun to show an explorer.
_BEGUN = "app:begun"

#: Text in place of a number that belongs to the previous settings.
_MISSING = "–"

#: Controls of an explorer that a release does not use.
_EXPLORING = (
    "seed", "view", "left", "i", "classes", "axes", "lines", "points", "unprotected", "with",
    "line", "note",
)  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class PrivateChoice:
    """A private choice of a parameter; a row of the table has a tried value and its true score."""

    sentence: str
    table: pd.DataFrame
    caption: str


class Explorer(ABC):
    """A family's page, and the run on its screen.

    The module ``figures`` has all views, the views of each stage, and their panels, tables and
    cards. At the start the page shows the first view. If a method lacks a stage, the page offers
    the first method with the parameter ``offers``. Some families have ``own_controls``. If
    ``resets_by_variant`` is True, a change of the variant resets parameters.
    """

    family: ClassVar[Family]
    figures: ClassVar[Any]
    offers: ClassVar[str]
    choice_title: ClassVar[str]
    choice_sign: ClassVar[str]
    #: Number of key numbers that are always shown.
    first_readouts: ClassVar[int]
    own_controls: ClassVar[Mapping[str, Control]] = {}
    resets_by_variant: ClassVar[bool] = False
    #: True run and private run, and the data of their figure.
    runs: Any
    picture: Any
    job: Job | None = None  # when it ends, the page is redrawn

    def __init__(self, state: UrlState, settings: RunSettings) -> None:
        first = settings.config.method == self.family.first and self.family.name not in PREPARED
        first = first and self.is_quick(settings)
        #: Functions that the chosen method still has to compile, while another run is shown.
        self.code = self.family.code
        self.coming = (uncompiled(self.code) if first else None) or None
        self.state, self.chosen = state, settings
        self.settings = self.without_code(settings) if self.coming else settings
        #: Beginning of the names of session entries and files.
        self.name = self.family.name
        self.card: Card = CARDS[self.settings.config.method]
        #: The requested view; some runs do not have it.
        self.asked = state.get("view")

    # -- controls; they exist before a run

    @classmethod
    def page_state(
        cls, make: Callable[[str, dict[str, Control]], DataState] = DataState
    ) -> DataState:
        """All controls of the page, with values from the link or the session."""
        views = tuple(cls.figures.VIEWS)
        methods = method_controls(cls.family, sample(FIRST))
        methods[EPSILON.link] = replace(methods[EPSILON.link], first=FIRST_EPSILON)
        state = make(
            cls.family.name,
            {
                **data_controls(many=cls.family.many_columns),
                **map_controls(),
                **methods,
                # Not shared: the seed of one run means nothing for the noise of another method.
                "seed": Control(0, whole("seed", 0, MAX_SEED)),
                "view": Control(views[0], choice("view", views)),
                "points": Control("hidden", choice("points", ("hidden", "shown")), shared=True),
                # Not shared: cluster 3 of one method is not cluster 3 of another.
                "note": Control("", _picked_in),
                **curve_controls(cls.family),
                **cls.own_controls,
            },
        )
        take_followed(state, cls.family)
        if state.fresh:
            cls.choose_defaults(state, but=state.chosen)
        return state

    @classmethod
    def choose_defaults(cls, state: UrlState, but: Collection[str] = ()) -> None:
        """Set a method's choices to its defaults, except the choices whose names are in ``but``."""
        take_defaults(state, cls.family, but)

    @classmethod
    def sidebar(cls, state: DataState) -> ActiveData:
        """Show the controls that are not sliders; return the data on the screen."""
        active = data_panel(state, many=cls.family.many_columns)
        active = replace(active, ground=map_panel(state, active))
        reset = partial(cls.choose_defaults, state)
        card = method_box(state, cls.family, reset)
        cls.show_choices(state, card, active)
        draw_controls(state, card, reset if cls.resets_by_variant else None)
        return active

    @classmethod
    def hint(cls, method: str) -> str:
        """What a user should try at a first visit with this method; empty if there is no hint."""
        return "Drag ε: what breaks?" if CARDS[method].spends else ""

    @classmethod
    def follow_hint(cls, state: UrlState) -> None:
        """Do what the hint of the first visit asks for: halve epsilon."""
        state.set(EPSILON.link, max(EPSILON.low or 0.0, state.get(EPSILON.link) / 2))

    @classmethod
    @abstractmethod
    def show_choices(cls, state: UrlState, card: Card, active: ActiveData) -> None:
        """Show the parameters of a method that are chosen from a list."""

    @classmethod
    def build(
        cls,
        state: DataState,
        place: DeltaGenerator | None = None,
        follow: Callable[[RunSettings], None] = lambda _: None,
    ) -> None:
        """Show the page; its settings are in the sidebar or ``place``, and ``follow`` gets them."""
        with place or st.sidebar:
            active = cls.sidebar(state)
            if place is None:
                show_not_taken(state)
        offer_box(state, active.dataset, active.far)
        # The hint is HTML, so the browser presses this button after a click on the hint.
        if not embedded():
            st.button("Follow the hint", key="hint", on_click=partial(cls.follow_hint, state))
        live_part(cls.explore, state, active, follow, place is None and not embedded())

    @classmethod
    def explore(
        cls,
        state: UrlState,
        active: ActiveData,
        follow: Callable[[RunSettings], None],
        curves: bool,
    ) -> bool:
        """Show the sliders (``curves`` adds curves) and the run; return False during a drag."""
        settled, first = False, state.fresh and _BEGUN not in st.session_state
        st.session_state[_BEGUN] = True
        with st.container(key="explorer"), errors_shown():
            settings, places = run_settings(state, active, cls.family, curves=curves)
            settled = settings.settled
            follow(settings)
            shown = cls(state, settings)
            try:
                with interpreted() if shown.coming else nullcontext():
                    settled = shown.show(places)
            except InputError:
                if shown.coming:  # the chosen method may work; otherwise its own error is shown
                    shown.prepare()
                raise
            if curves and not shown.coming:
                show_curves(state, replace(settings, settled=settled), cls.family, shown.job)
            if first and curves and settled:
                shown.keep_first()
        return settled

    # -- methods that each family implements

    @abstractmethod
    def prepare(self) -> Job | None:
        """Return the job that compiles the code of the first method; start it if necessary."""

    @staticmethod
    @abstractmethod
    def run_both(settings: RunSettings) -> Any:
        """True and private run."""

    @property
    @abstractmethod
    def size(self) -> int:
        """Number of cells or records of the run, which says whether sessions share it."""

    @property
    @abstractmethod
    def trial(self) -> Trial:
        """Method, parameters and data of the panel of many draws."""

    @property
    @abstractmethod
    def headline(self) -> Headline:
        """What broke."""

    @abstractmethod
    def readouts(self) -> list[Readout]:
        """Key numbers: the private value in large letters, the true value beside it."""

    @abstractmethod
    def captions(self) -> Iterable[str]:
        """Sentences below the picture; empty sentences are not shown."""

    @abstractmethod
    def draw_maps(self, title: str, draws: Draws, position: int) -> Panels:
        """Maps of many draws; ``position`` selects the draw that the player shows."""

    @abstractmethod
    def show_tables(self) -> None:
        """Show tables of the numbers in the picture."""

    @property
    @abstractmethod
    def boxable(self) -> bool:
        """Whether the picture shows the domain; then a box on the picture is part of the domain."""

    def choice(self) -> PrivateChoice | None:
        """The run's private choice; None if the noise left no choice."""
        raise NotImplementedError

    @property
    def chooses(self) -> bool:
        """Whether the run chose a parameter privately."""
        return False

    # -- methods that few families override

    @classmethod
    def is_quick(cls, settings: RunSettings) -> bool:
        """Whether a run without compiled code takes less time than the compilation."""
        return True

    @classmethod
    def without_code(cls, settings: RunSettings) -> RunSettings:
        """Settings of a run that replaces the first method and needs little compiled code."""
        return settings

    def note(self, picked: Mapping[str, int]) -> Mapping[str, Any] | None:
        """Note on the cluster that the user picked in the picture; None if there is none."""
        return None

    def play(self, places: Sequence[DeltaGenerator]) -> bool:
        """Show a player beside the sliders; return False while the user drags it."""
        return True

    @property
    def shown_views(self) -> Mapping[Any, str]:
        """Views of this run, with their titles."""
        views: Mapping[Any, str] = self.figures.views_of(self.runs.private)
        return views

    def frame(self) -> pd.DataFrame:
        """Table of the numbers in the picture."""
        table: pd.DataFrame = self.figures.frame(self.picture, self.view)
        return table

    @property
    def stage(self) -> str:
        """Stage of the view on the screen; empty if the view shows all stages."""
        return next((name for name, views in self.figures.STAGES.items() if self.view in views), "")

    @property
    def is_first_view(self) -> bool:
        """Whether the view on the screen is the view that :meth:`open_stage` shows."""
        return bool(self.stage) and self.view == self._first_view(self.stage)

    def open_stage(self, name: str) -> None:
        """Show the first view of a stage."""
        self.state.set("view", self._first_view(name))

    def _first_view(self, stage: str) -> str:
        views: Sequence[str] = self.figures.STAGES[stage]
        shown = self.shown_views
        # If this run lacks the stage, the user has just chosen a method that has the stage.
        return next((one for one in views if one in shown), views[0])

    def more_choices(self) -> Sequence[Choice]:
        """Further choices at the end of the strip."""
        return ()

    @property
    def broken(self) -> tuple[str, str, str]:
        """Stage at which the selected cluster first differs, its mark, and the mark in words."""
        return "", "", ""

    @property
    def stamp(self) -> Stamp:
        """Stamp of the picture."""
        return self.settings.stamp

    @property
    def figure_key(self) -> str:
        """Key of the picture."""
        return f"{self.name}:figure"

    @property
    def is_sketch(self) -> bool:
        """Whether the run uses only part of the records or steps, and the whole run follows."""
        return False

    def show_panels_below(self) -> None:  # noqa: B027 - few have any
        """Show panels of methods that spend a budget, below the panels that all families have."""

    def draws_setting(self, setting: Setting) -> Setting:
        """Add a family's scores and bounds to the setting of many draws."""
        return setting

    def wait(self) -> list[Readout]:
        """Wait for key numbers that a job computes; return new key numbers if there are any."""
        return []

    # -- the renderer

    @cached_property
    def domain(self) -> Domain:
        """Domain of the run."""
        domain: Domain = self.trial.material.domain
        return domain

    @cached_property
    def promise(self) -> Promise:
        """The run's privacy promise."""
        return self.settings.promise(self.domain)

    @cached_property
    def view(self) -> Any:
        """The view on the screen: the requested view if the run has it, or else the first view."""
        shown = self.shown_views
        return self.asked if self.asked in shown else next(iter(shown))

    @property
    def side(self) -> str:
        """Name of the side with noise in tables."""
        return "private" if self.promise.claim.private else "not private"

    @property
    def with_points(self) -> bool:
        """Whether the true points are drawn over the noisy side."""
        return bool(self.state.get("points") == "shown")

    def once(self, name: Hashable, draw: Callable[[], T]) -> T:
        """Return what depends only on the picture; sessions that show the same picture share it."""
        if self.is_sketch:
            return draw()
        is_sample = self.settings.active.is_sample
        # Other runs in a picture may be rough during a drag, although its own run is not.
        key = name, self.settings.settled
        return part_of(self.picture, key, draw, size=self.size, is_sample=is_sample)

    @cached_property
    def panels(self) -> Panels:
        """The picture on the screen."""
        return self.once(self.view, self._panels)

    def _panels(self) -> Panels:
        panels: Panels = self.figures.panels(self.picture, self.view)
        if not panels.pieces:
            return panels
        run = blake2b(repr(self._same).encode(), digest_size=8).hexdigest()
        return replace(panels, pieces={**panels.pieces, "run": run})

    def show(self, places: Sequence[DeltaGenerator]) -> bool:
        """Show the run; ``places`` are columns beside the sliders; return False during a drag."""
        settled = self.play(places) and self.settings.settled
        # In a view without pieces, the words of the headline have no clusters to mark.
        panels = self.panels
        headline = self.headline if panels.pieces else replace(self.headline, words=())
        board = partial(show_board, headline, self.promise, self.hint(self.card.name))
        readouts = self._honest(self.readouts())
        place = board(readouts, self.first_readouts, follows=self._follows)
        note = self._open_note() if panels.pieces else None
        # The strip comes after the note, because it marks the stage that broke the note's cluster.
        self._show_strip()
        self._show_picture(panels, note)
        for caption in filter(None, self.captions()):
            show_caption(caption)
        if not embedded():
            self._show_below(readouts, settled=settled)
        if self.coming is not None:

            def count() -> None:
                if self.family.name in PREPARED:  # perhaps by the job of another session
                    st.rerun(scope="app")
                self.coming = uncompiled(self.code)
                board(readouts, self.first_readouts, place, follows=self._follows)

            follow(self.prepare(), count)
        elif late := self.wait():
            board(self._honest(late), self.first_readouts, place)
        if self.job and not self.settings.curves:
            follow(self.job, lambda: None)
        return settled

    def keep_first(self) -> None:
        """Store the picture for other sessions that begin with the same link to a sample set."""
        state, active = self.state, self.settings.active
        # Further values of a session, and its own lines below the map, are not in its link.
        of_link = active.is_sample and not (state.agreed or state.notes or active.ground.own)
        if of_link and self.coming is None and not self.is_sketch:
            links = st.query_params.to_dict(), state.link()
            keep(state.page, links, drawn(self.panels, theme_mode()))

    @property
    def _follows(self) -> str:
        """Line that names the shown run and the next run; empty if the chosen run is shown."""
        if self.coming is None:
            return ""
        done, of = len(self.code) - len(self.coming), len(self.code)
        chosen = CARDS[self.chosen.config.method]
        now = (
            "The whole run of" if chosen is self.card else f"Drawn: {self.card.title}. The default"
        )
        return f"{now} {chosen.title} follows: code is being prepared, {done} of {of}"

    def _honest(self, readouts: list[Readout]) -> list[Readout]:
        if self.headline.intact:
            return readouts
        return [replace(one, grade="fair") if one.grade == "good" else one for one in readouts]

    def _open_note(self) -> Mapping[str, Any] | None:
        """Note on the cluster that the user or the link picked; None if there is none."""
        picked, known = self.state.get("note"), f"{self.state.page}:note of"
        of = (picked, self._same)
        before = st.session_state.get(known)
        st.session_state[known] = of
        if picked and before and before[0] == picked and before != of:
            self.state.set("note", "")  # other clusters have these numbers now
            picked = ""
        if not picked:
            return None
        panel, number, on = map(int, picked.split("."))
        return self.note({"panel": panel, "number": number, "on": on})

    @cached_property
    def _same(self) -> Hashable:
        config, active = self.settings.config, self.settings.active
        return active.dataset.digest, config.method, self.family.true_settings(config)

    def _show_strip(self) -> None:
        if self.asked != self.view:
            self.state.set("view", self.view)
        state, config = self.state, self.settings.config
        cards: Sequence[StageCard] = self.once("cards", lambda: self.figures.cards(self.picture))
        own = {
            card.name: [one for name in card.parameters if (one := self.card.parameter(name))]
            for card in cards
        }
        offered = self.family.with_parameter(self.offers)
        asked = strip(
            cards,
            self._choices(),
            key=f"strip:{state.page}",
            controls={
                name: [f"{state.page}-{one.link}" for one in some] for name, some in own.items()
            },
            shown=self.stage,
            at_first=self.is_first_view,
            settings={
                name: _in_words({one: one.text(getattr(config, one.name)) for one in some})
                for name, some in own.items()
            },
            broken=self.broken,
            offered=offered.title,
            open_stage=self.open_stage,
        )
        if asked is not None:

            def choose() -> None:
                self.choose_defaults(state)
                self.open_stage(asked)

            take_method(state, offered.name, choose)

    def _choices(self) -> list[Choice]:
        """Views of the shown stage if it has several, views that have no stage, and switches."""
        state, shown = self.state, self.shown_views
        stages = self.figures.STAGES
        staged = {view for views in stages.values() for view in views}
        here = [one for one in stages.get(self.stage, ()) if one in shown]
        views = here * (len(here) > 1) + [one for one in shown if one not in staged]
        choices = [
            Choice(title=shown[one], act=partial(state.set, "view", one), pressed=one == self.view)
            for one in views
        ]
        if self.view in self.figures.WITH_POINTS:
            other = "hidden" if self.with_points else "shown"
            choices.append(
                Choice(
                    title="True points",
                    act=partial(state.set, "points", other),
                    pressed=self.with_points,
                    help=ABOUT_POINTS,
                )
            )
        return [*choices, *self.more_choices()]

    def _show_picture(self, panels: Panels, note: Mapping[str, Any] | None) -> None:
        stamp, active = self.stamp, self.settings.active

        def keep(at: Mapping[str, Any] | None) -> None:
            """Open the note on a cluster; the message of the browser may contain anything."""
            text = ".".join(str(at.get(name)) for name in ("panel", "number", "on")) if at else ""
            with suppress(InputError):
                self.state.set("note", text and _picked_in(text))

        box = show_panels(
            panels,
            stamp,
            key=self.figure_key,
            base_name=f"{stamp.name} {self.card.name} {self.view}",
            about=self.view,
            boxable=self.boxable and can_draw_box(active),
            fills=True,
            note=note,
            pick=keep if "grids" in panels.pieces else None,
        )
        take_box(self.state, active, box)

    def _show_below(self, readouts: Sequence[Readout], *, settled: bool) -> None:
        config, spends = self.settings.config, self.card.spends
        if spends:
            show_ledger(self.runs.private.ledger, config.epsilon)
        show_reason(self.promise)
        if spends:
            epsilon_panel(config.epsilon, config.neighbours, persons=self.promise.persons)
            with st.container(horizontal=True):
                if not self.coming:  # otherwise this run is not the chosen run
                    self._release_link()
                self._figures_link()
            if self.chooses:
                lazy_expander(
                    self.choice_title, key=f"{self.state.page}:choice", draw=self._show_choice
                )
            self._many_draws(settled=settled and not self.is_sketch)
            self.show_panels_below()
        if not self.coming:
            tuning_panel(self.state, self.settings.active, config)
        lazy_expander(
            "Numbers behind the picture, downloads, code",
            key=f"{self.state.page}:behind",
            draw=partial(self.show_behind, readouts),
        )

    def _release_link(self) -> None:
        link = self.state.link()
        st.page_link(
            "pages/release.py",
            label="Release once with these settings …",
            icon=":material/verified_user:",
            query_params={name: text for name, text in link.items() if name not in _EXPLORING},
        )

    def _figures_link(self) -> None:
        """Link to the paper's first figure with the method, or else to the paper's first figure."""
        figures = [name for name in PRESETS if name.startswith(self.card.origin)]
        if not figures:
            return
        with_method = [name for name in figures if self.card.name in PRESETS[name].methods]
        shown = PRESETS[[*with_method, *figures][0]]
        st.page_link(
            "pages/compare.py",
            label=plain_text(f"Figures of {shown.paper.rsplit(',', 1)[0]}"),
            icon=":material/query_stats:",
            query_params={"preset": shown.name},
        )

    def _show_choice(self) -> None:
        choice = self.choice()
        if choice is None:
            show_caption("After the noise, fewer than two positions are left for the choice.")
            return
        st.markdown(choice.sentence)
        st.dataframe(
            choice.table, hide_index=True, height=248, key=f"{self.state.page}:choice rows"
        )
        show_caption(choice.caption)
        stamp, sign = self.settings.stamp, self.choice_sign
        csv_button(
            f"{stamp.file}-choice-of-{sign}",
            choice.table,
            f"Table of all {sign} (CSV)",
            stamp=stamp,
        )
        rows = prices.of_family(self.name)
        st.markdown("Price of the choice on other data:")
        st.dataframe(prices.summary(rows), hide_index=True, key=f"{self.name}:choice prices")
        show_caption(prices.sentence(rows))
        table = partial(prices.frame, rows)
        csv_button(f"dpviz-prices-{self.name}", table, "All figures (CSV)")

    def _many_draws(self, *, settled: bool) -> None:
        settings, trial = self.settings, self.trial
        stamp = stamp_of(settings.active, settings.config)
        setting = Setting(
            self.state,
            trial,
            trial.material,
            settings.seed,
            stamp,
            partial(self.draw_maps, stamp.title),
        )
        draws_panel(self.draws_setting(setting), settled=settled)

    def show_behind(self, readouts: Sequence[Readout]) -> None:
        """When the whole run is ready, show its tables, downloads and code."""
        if self.is_sketch:
            show_caption("Tables and code appear after the whole run.")
            return
        self.show_tables()
        self._show_downloads(readouts)
        self._show_code()

    def _show_downloads(self, readouts: Sequence[Readout]) -> None:
        _save_picture(key=f"{self.name}:save picture", data=self.figure_key)
        stamp, card = self.settings.stamp, self.card
        name = f"{stamp.file}-{card.name}"
        row = st.container(horizontal=True)
        table = f"{name}-{self.view}", self.frame, "Table of this view (CSV)"
        csv_button(*table, stamp=stamp, place=row)
        looks: dict[str, Any] = {"on_click": "ignore", "icon": ":material/download:"}
        latex, bibtex = partial(_latex, card, stamp, readouts), partial(_references, card)
        row.download_button("Numbers above (LaTeX)", latex, f"{name}.tex", "text/x-tex", **looks)
        row.download_button(
            "What to cite (BibTeX)", bibtex, f"{name}.bib", "text/x-bibtex", **looks
        )

    def _show_code(self) -> None:
        active = self.settings.active
        classes = active.dataset.classes
        again = Reproduction(
            data=active.dataset.name,
            columns=None if active.is_sample else active.dataset.columns,
            counts=active.dataset.counts is not None,
            # If the range of the data excludes distant points, the code needs explicit bounds.
            domain=self.domain if active.far is None else Domain(self.domain.bounds),
            outside=active.outside,
            config=self.settings.config,
            unit=active.unit,
            classes=None if classes is None else classes.column,
            sheet=active.how.part,
            skip=active.how.skip,
            encoding=active.how.encoding,
            missing=active.how.missing,
            leave_out=active.dataset.unread is not None,
            seed=self.settings.seed,
        )
        st.code(python_lines(again), language="python")
        st.code(command(again), language="shell", wrap_lines=True)
        card_panel(self.card.name)


def _picked_in(text: str) -> str:
    if not re.fullmatch(r"[12]\.[1-9]\d{0,5}\.[12]", text):
        raise InputError(
            f'note = "{shown(text)}" is no cluster: write a text like 1.3.1, or click on a cluster.'
        )
    return text


def prepared(name: str, task: Task) -> Task:
    """Return a task that also notes that the first method of a family has run."""

    def work(*, progress: Progress, cancelled: IsCancelled) -> Any:
        ended = True
        try:
            return task(progress=progress, cancelled=cancelled)
        except Cancelled:
            ended = False
            raise
        finally:
            # Also after a failure, so that the page shows the error instead of another method.
            if ended:
                PREPARED.add(name)

    return work


def _latex(card: Card, stamp: Stamp, readouts: Sequence[Readout]) -> str:
    from dpviz.papers.references import keys  # imported here, because it loads slowly

    rows = [
        (
            f"{one.label} ({one.sign})" if one.sign.strip() else one.label,
            _MISSING if one.stale or one.rough or one.value == "…" else one.value,
            one.beside,
        )
        for one in readouts
    ]
    return latex_table(
        ("", "with noise", "beside"),
        rows,
        f"{stamp.title}. {stamp.line}.",
        f"dpviz-{card.name}".replace("_", "-"),
        ",".join(keys(card)),
    )


def _in_words(texts: Mapping[Parameter, str]) -> str:
    """Values of a stage's settings; values without a slider are last, with a note on the place."""
    drawn = [text for one, text in texts.items() if has_slider(one)]
    listed = ", ".join(
        text if one.sign else f"{one.label[0].lower()}{one.label[1:]} {text}"
        for one, text in texts.items()
        if not has_slider(one)
    )
    return ", ".join([*drawn, *([f"{listed} (in the side bar)"] if listed else [])])


def _references(card: Card) -> str:
    from dpviz.papers.references import references

    return references(card)
