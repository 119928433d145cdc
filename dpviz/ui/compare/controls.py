"""Controls of the compare page."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, cast

import streamlit as st

from dpviz.base.errors import InputError, shown
from dpviz.data.samples import sample, sample_names
from dpviz.experiments.curve import ROUNDS, spread
from dpviz.experiments.illustrations import FIGURES, ILLUSTRATIONS, TimeFigure
from dpviz.experiments.presets import PRESETS, Preset
from dpviz.experiments.sweep import Plan, Subject, axes, axis_value, subject_of_sample
from dpviz.experiments.worker_times import check_price
from dpviz.families import CARDS, PARAMETERS, SCORES, settings_of
from dpviz.family.card import VARIANTS, VariantName
from dpviz.family.parameter import EPSILON, Parameter
from dpviz.figures.compare import LINES
from dpviz.figures.looks import METHODS
from dpviz.privacy.ledger import Neighbours, check_epsilon
from dpviz.ui.compare.illustrations import MOST_PRICE
from dpviz.ui.compare.paper_sets import given_subject, paper_sets_panel
from dpviz.ui.compare.runs import (
    SweepRequest,
    all_classed,
    families_of,
    fitting,
    offered,
    quick_scores,
)
from dpviz.ui.data.domain_panel import domain_panel
from dpviz.ui.data.own_data import file_words, loaded, own_data
from dpviz.ui.data.own_states import OwnData
from dpviz.ui.data.panel import protection, public_switch
from dpviz.ui.data.rows import offer_box, show_notes
from dpviz.ui.data.state import (
    FIRST,
    FIRST_METHODS,
    TO_COMPARE,
    UPLOAD,
    DataState,
    data_controls,
    methods_of,
    suited_links,
    without,
)
from dpviz.ui.messages import NothingLoadedError, show_caption
from dpviz.ui.session.cache import sample_data
from dpviz.ui.session.state import Control, CorrectedError, budget, choice, number, whole
from dpviz.ui.session.state import working as shared
from dpviz.ui.widgets.epsilon_panel import epsilon_panel
from dpviz.ui.widgets.parameters import boxes, parser

NO_PRESET = "none"

VIEWS = {"data": "data sets", "scores": "scores"}

MOST_DRAWS, MOST_EPSILONS = 100, 24

#: Draws per point: as many as the curves in the explorers have, so both show the same numbers.
DRAWS = max(seeds for _, seeds in ROUNDS)

#: Parameters that the axis can show, if all chosen methods have them.
AXES = tuple(dict.fromkeys(one.name for method in METHODS for one in axes([method])))


class Names(list[str]):
    """Several names; the text of this list is the form that links use."""

    def __str__(self) -> str:
        """Return the names separated by commas."""
        return ",".join(self)


#: Controls that affect only own data, because each sample set has its own values.
OF_OWN_DATA = ("domain", "outside", *suited_links())

#: Controls that a figure of a paper sets. While the page shows this figure, it does not share these
#: controls.
_OF_FIGURE = (
    "data", "methods", "variant", "neighbours", "draws", "epsilons", "axis", "values", "score",
    "view", "line",
)  # fmt: skip


class CompareState(DataState):
    """Controls of the page; the values of some controls are several names."""

    @property
    def has_own_data(self) -> bool:
        """Whether own data is among the chosen data sets."""
        return UPLOAD in self.get("data")

    @property
    def has_figure(self) -> bool:
        """Whether a figure of a paper is shown."""
        return bool(self.get("preset") != NO_PRESET)

    def told(self) -> dict[str, Any]:
        """Values that this page shares with the other pages, with only the first data set."""
        told = super().told()
        for name in ("data", "methods"):
            if not told[name]:  # somebody is about to choose
                del told[name]
        if "methods" in told:
            told["methods"] = tuple(told["methods"])
        if "data" in told:
            told["data"] = told["data"][0]
        if told.get("data") != UPLOAD:
            told = without(told, OF_OWN_DATA)
        return without(told, _OF_FIGURE) if self.has_figure else told

    def tell(self) -> None:
        """Share this page's changes, but not the values that a figure of a paper has set."""
        if self._store.figure != self.has_figure:
            self._store.figure = self.has_figure
            if self._store.told:  # with {} all values of a link are shared
                self._store.told = None
        super().tell()
        if not self.has_figure:
            self._store.own = {name: self.get(name) for name in _OF_FIGURE}

    def leave_figure(self) -> None:
        """Restore the user's choices, and apply later changes of other pages."""
        self.set("preset", NO_PRESET)
        for name, value in self._store.own.items():
            self.set(name, value)
        self._store.opened = True

    def taken(self, working: Mapping[str, Any]) -> dict[str, Any]:
        """Values that this page takes over; a data set that is already chosen stays chosen."""
        taken = super().taken(working) | self._methods(working)
        if working.get("data") in self.get("data"):
            taken.pop("data", None)
        if working.get("data") != UPLOAD:
            taken = without(taken, OF_OWN_DATA)
        return without(taken, _OF_FIGURE) if self.has_figure else taken

    def _methods(self, working: Mapping[str, Any]) -> dict[str, Any]:
        # The entry is read only once, so that a method that the user removes here does not return.
        explored = shared().pop(TO_COMPARE, ())
        chosen = [*methods_of(working, self), *(one for one in explored if one in METHODS)]
        if not chosen:
            return {}
        here, family = list(self.get("methods")), CARDS[chosen[-1]].family
        if not any(CARDS[name].family == family for name in here):
            here = [*FIRST_METHODS[family]]
        of_family = [name for name in chosen if CARDS[name].family == family]
        here += [name for name in dict.fromkeys(of_family) if name in METHODS and name not in here]
        return {"methods": Names(here)}

    def link(self) -> dict[str, str]:
        """Values of all controls as text for a link."""
        needless: tuple[str, ...] = () if self.has_own_data else OF_OWN_DATA
        if self.get("axis") == EPSILON.name:
            needless += ("axis", "values")
        if not self.get("price"):
            needless += ("price",)
        lists = {name: ",".join(self.get(name)) for name in ("data", "methods")}
        texts = super().link() | lists
        return {name: text for name, text in texts.items() if text and name not in needless}


def several(name: str, options: Sequence[str]) -> Callable[[str], Names]:
    """Parser of names separated by commas; at least one of the names must be known."""

    def parse(text: str) -> Names:
        names = dict.fromkeys(part.strip() for part in text.split(",") if part.strip())
        known = Names(part for part in names if part in options)
        unknown = [part for part in names if part not in options]
        wrong = f'{name} has "{shown(unknown[0])}", which is unknown' if unknown else ""
        if not known:
            wrong = wrong or f"{name} names nothing"
            raise InputError(f"{wrong}: choose from {', '.join(options)}.")
        if wrong:
            raise CorrectedError(f"{wrong}.", known)
        return known

    return parse


def parse_epsilons(text: str) -> tuple[float, ...]:
    """Read budgets separated by commas; return them in ascending order, or raise InputError."""
    return _parse_numbers(text, "epsilons", check_epsilon, EPSILON.reach)


def parse_values(text: str, axis: Parameter) -> tuple[float, ...]:
    """Read values of a parameter separated by commas, as :func:`parse_epsilons` does."""
    check = partial(axis_value, axis)
    return _parse_numbers(text, "values", check, axis.limits or (-math.inf, math.inf))


def _parse_numbers(
    text: str, name: str, check: Callable[[float], float], reach: tuple[float, float]
) -> tuple[float, ...]:
    found, (low, high) = set(), reach
    for part in filter(None, (part.strip() for part in text.split(","))):
        try:
            value = float(part)
        except ValueError:
            raise InputError(
                f'{name} has "{shown(part)}", which is not a number: write 0.1, 0.5, 1.'
            ) from None
        if not low <= check(value) <= high:
            raise InputError(
                f"{name} has {value:g}, which is out of range: give numbers from {low:g} to "
                f"{high:g}."
            )
        found.add(value)
    if len(found) > MOST_EPSILONS:
        raise InputError(f"{name} has {len(found)} values: give at most {MOST_EPSILONS}.")
    return tuple(sorted(found))


def page_state() -> CompareState:
    """All controls of the page, with values from the link or the session."""
    own = data_controls(many=True)
    state = CompareState(
        "compare",
        {
            "preset": Control(NO_PRESET, choice("preset", (NO_PRESET, *FIGURES))),
            "data": Control(
                Names([FIRST]), several("data", (*sample_names(), UPLOAD)), shared=True
            ),
            "methods": Control(
                Names(next(iter(FIRST_METHODS.values()))), several("methods", METHODS), shared=True
            ),
            "variant": Control("sound", choice("variant", VARIANTS), shared=True),
            "draws": Control(DRAWS, whole("draws", 1, MOST_DRAWS)),
            "asked": Control("fast", choice("asked", ("fast", "all"))),
            "low": Control(0.1, budget("low", *EPSILON.reach)),
            "high": Control(2.0, budget("high", *EPSILON.reach)),
            "points": Control(8, whole("points", 1, MOST_EPSILONS)),
            "epsilons": Control("", str),
            "axis": Control(EPSILON.name, choice("axis", AXES)),
            "values": Control("", str),
            "score": Control("dsg_c", choice("score", tuple(SCORES))),
            "view": Control("data", choice("view", tuple(VIEWS))),
            "line": Control("median", choice("line", tuple(LINES)), shared=True),
            "of": Control(FIRST, choice("of", (*sample_names(), UPLOAD))),
            "price": Control(0.0, number("price", 0.0, MOST_PRICE, check_price)),
            **{name: one for name, one in own.items() if name != "data"},
            **{
                PARAMETERS[name].link: Control(value, parser(PARAMETERS[name]), shared=True)
                for name, value in settings_of(sample(FIRST)).items()
            },
        },
    )
    if state.fresh:
        _take_preset(state, but=state.given)
        _correct(state)
    return state


def _correct(state: CompareState) -> None:
    low, high = state.get("low"), state.get("high")
    axis = state.get("axis")
    if axis not in (one.name for one in axes(state.get("methods"))):
        wrong = f"axis = {axis} does not suit the methods; {EPSILON.name} is used."
        state.correct("axis", EPSILON.name, wrong)
        axis = EPSILON.name
    parse_axis = partial(parse_values, axis=PARAMETERS[axis])
    for name, parse, instead in (
        ("epsilons", parse_epsilons, "the range is used"),
        ("values", parse_axis, "the usual values are used"),
    ):
        try:
            parse(state.get(name))
        except InputError as error:
            state.correct(name, "", f"{str(error).rstrip('.')}; {instead}.")
    if low > high:
        sentence = f"high = {high:g} is less than low = {low:g}; {low:g} is used for both."
        state.correct("high", low, sentence)
    # It is not yet known whether own data have classes.
    classed = all(name == UPLOAD or sample(name).classes for name in state.get("data"))
    for name, choices in (
        ("score", offered(families_of(state.get("methods")), classed=classed)),
        ("of", tuple(state.get("data"))),
    ):
        value = state.get(name)
        if name in state.given and value not in choices:
            sentence = f"{name} = {value} does not suit the other settings; {choices[0]} is used."
            state.correct(name, choices[0], sentence)


def _change_preset(state: CompareState) -> None:
    if state.has_figure:
        _take_preset(state)
    else:
        state.leave_figure()


def _take_preset(state: CompareState, but: Iterable[str] = ()) -> None:
    chosen = FIGURES.get(state.get("preset"))
    if isinstance(chosen, TimeFigure) and "variant" not in but:
        state.set("variant", "published")
    if not isinstance(chosen, Preset):
        return
    values = {
        "data": Names(chosen.samples),
        "methods": Names(chosen.methods),
        "variant": chosen.variant,
        "neighbours": "add_remove",
        "draws": chosen.repeats,
        "epsilons": ", ".join(f"{epsilon:g}" for epsilon in chosen.epsilons),
        "axis": chosen.axis,
        "values": ", ".join(f"{value:g}" for value in chosen.values),
        "score": next(iter(chosen.scores)),
        "view": "data",
        "line": "mean",  # the papers plot means
    }
    for name, value in values.items():
        if name not in but:
            state.set(name, value)


def sidebar(state: CompareState) -> SweepRequest | None:
    """Show the controls; return the runs to show, or None if the figure has no runs."""
    st.selectbox(
        "Figure of a paper",
        **state.choice("preset", (NO_PRESET, *FIGURES)),
        format_func=lambda name: FIGURES[name].label if name in FIGURES else "none: own choice",
        on_change=partial(_change_preset, state),
        help="Sets all controls below as in the figure, for our sample sets or the paper's own "
        "data. Afterwards, your own choices are restored.",
    )
    if state.has_figure:
        # The box truncates long names.
        show_caption(FIGURES[state.get("preset")].full_name)
        st.button(
            "Back to your own choices",
            on_click=state.leave_figure,
            icon=":material/undo:",
            width="stretch",
        )
    if state.get("preset") in ILLUSTRATIONS:
        _reset_button(state)
        return None
    preset = PRESETS.get(state.get("preset"))
    if preset and paper_sets_panel(preset):
        # The sample set that replaces the paper's data may lack the classes that the score needs.
        state.set("score", next(iter(preset.scores)))
    titles = {name: sample(name).title for name in sample_names()} | {UPLOAD: "Own data"}
    st.multiselect(
        "Data",
        (*sample_names(), UPLOAD),
        **state.widget("data", "default"),
        format_func=titles.__getitem__,
        help="Each data set has its own panel. All pages have the same own data.",
    )
    own = _own_data(state)
    subject, neighbours = _own_subject(state, own), protection(state, own)
    declared = own is not None and public_switch(state, own)
    st.multiselect(
        "Methods",
        METHODS,
        **state.widget("methods", "default"),
        format_func=lambda name: CARDS[name].named,
        help="\n\n".join(f"{CARDS[name].title}: {CARDS[name].paper}." for name in METHODS),
    )
    left, right = st.columns([4, 3], vertical_alignment="bottom")
    left.selectbox(
        "Variant",
        **state.choice("variant", VARIANTS),
        help="As printed in the paper, or the same idea with a valid proof.",
    )
    right.number_input(
        "Draws per point",
        1,
        MOST_DRAWS,
        **state.widget("draws"),
        help="All methods use the same seeds, starting from 0.",
    )
    epsilons = _epsilon_boxes(state)
    if epsilons:
        epsilon_panel(max(epsilons), neighbours, persons=bool(own and own.unit))
    values = _axis_boxes(state)
    _reset_button(state)
    unit = own.unit if own else None
    request = _request(state, subject, neighbours, unit, epsilons, values)
    return replace(request, public=declared, file=file_words(own) if own else ())


def _reset_button(state: CompareState) -> None:
    st.button("Reset", on_click=state.reset, icon=":material/restart_alt:", width="stretch")


def _epsilon_boxes(state: CompareState) -> tuple[float, ...]:
    typed = state.get("epsilons").strip()
    low, high, points = st.columns(3)
    shared: dict[str, Any] = {"disabled": bool(typed)}
    for column, name, label in ((low, "low", "ε from"), (high, "high", "to")):
        box = {**state.widget(name), **shared}
        column.number_input(label, *EPSILON.reach, step=0.1, format="%g", **box)
    points.number_input("Points", 1, MOST_EPSILONS, **state.widget("points"), **shared)
    st.text_input(
        "or these ε",
        **state.widget("epsilons"),
        placeholder="0.1, 0.5, 1",
        help="Numbers separated by commas, instead of the range.",
    )
    if typed:
        return parse_epsilons(typed)
    return budgets(float(state.get("low")), float(state.get("high")), int(state.get("points")))


def _axis_boxes(state: CompareState) -> tuple[float, ...]:
    offered = tuple(one.name for one in axes(state.get("methods")))
    if state.get("axis") not in offered:
        state.set("axis", EPSILON.name)
    if len(offered) == 1:
        return ()
    left, right = st.columns([2, 3])
    left.selectbox(
        "Axis",
        **state.choice("axis", offered),
        format_func=lambda name: PARAMETERS[name].sign,
        help="What the axis shows: ε, or another parameter that all chosen methods have. With "
        "another parameter, each ε has its own panel.",
    )
    axis = PARAMETERS[state.get("axis")]
    usual = ", ".join(f"{value:g}" for value in axis.searched)
    right.text_input(
        "Its values",
        **state.widget("values"),
        placeholder=usual,
        disabled=axis.name == EPSILON.name,
        help="Numbers separated by commas; an empty box means the usual values. ε has its own "
        "boxes above.",
    )
    if axis.name == EPSILON.name:
        return ()
    return parse_values(state.get("values"), axis) or parse_values(usual, axis)


def budgets(low: float, high: float, points: int) -> tuple[float, ...]:
    """Budgets from low to high, evenly spaced on a log scale."""
    if low > high:
        raise InputError(f"ε from {low:g} to {high:g} is empty: give the smaller number first.")
    return (low,) if points == 1 else spread(low, high, points)


@st.cache_resource(show_spinner=False)
def _sample_subject(name: str) -> Subject:
    return replace(subject_of_sample(name), dataset=sample_data(name))


@st.cache_resource(show_spinner=False)
def _stand_in(figure: str, name: str) -> Subject:
    return replace(_sample_subject(name), title=PRESETS[figure].stand_in_title(name))


def _subject(preset: Preset | None, name: str) -> Subject:
    if preset is None:
        return _sample_subject(name)
    return given_subject(preset, name) or _stand_in(preset.name, name)


def _own_data(state: CompareState) -> OwnData | None:
    if not state.has_own_data:
        return None
    many = all(family.many_columns for family in families_of(state.get("methods")))
    try:
        return own_data(state, many=many)
    except NothingLoadedError as error:
        if state.get("columns") or loaded():
            error.show()
        return None


def _own_subject(state: CompareState, own: OwnData | None) -> Subject | None:
    if own is None:
        return None
    dataset = own.current
    domain = domain_panel(state, dataset, own.identity, far=own.far and own.far[1])
    show_notes(state, dataset, said=dataset.counts is None)
    offer_box(state, dataset, None if domain.declared else own.far)
    suited = [PARAMETERS[name] for name in settings_of(sample(FIRST))]
    # In a narrower column the labels would break inside a word.
    places = [one for _ in suited[::2] for one in st.columns(2, vertical_alignment="bottom")]
    below = st.container()
    for column, one in zip(places, suited, strict=False):
        boxes(
            state,
            one,
            dataset.columns[:2],
            column,
            label=f"{one.name.capitalize()} {one.sign}",
            disabled=one.kind == "sides" and dataset.counts is not None,
            below=below,
        )
    # Rows are identified by their data set's name, so a file must not have a sample set's name.
    name = f"{dataset.name} (own)" if dataset.name in sample_names() else dataset.name
    return Subject(
        name=name,
        title=dataset.name,
        dataset=dataset,
        domain=domain,
        outside=state.get("outside"),
        settings={one.name: one.value(state.get(one.link)) for one in suited},
    )


def _request(
    state: CompareState,
    own: Subject | None,
    neighbours: Neighbours,
    unit: str | None,
    epsilons: tuple[float, ...],
    values: tuple[float, ...],
) -> SweepRequest:
    data: list[str] = [name for name in state.get("data") if name != UPLOAD or own]
    methods = tuple(name for name in METHODS if name in state.get("methods"))
    if not data:
        hint = "Choose at least one data set"
        if UPLOAD in state.get("data"):
            hint = "Leave rows out or choose other columns" if loaded() else "Load a file"
        raise InputError(f"{hint} {state.place}.")
    if not methods:
        raise InputError(f"Choose at least one method {state.place}.")
    preset = PRESETS.get(state.get("preset"))
    subjects = {name: own if name == UPLOAD and own else _subject(preset, name) for name in data}
    families = families_of(methods)
    classed = all_classed(subjects.values())
    choices = offered(families, classed=classed)
    if state.get("score") not in choices:
        wanted = preset.scores if preset else ()
        state.set("score", next((one for one in wanted if one in choices), choices[0]))
    quick = quick_scores(families, classed=classed)
    scores = quick if state.get("score") in quick else tuple(dict.fromkeys((*quick, *choices)))
    plans = {}
    for name, subject in subjects.items():
        plans[name] = Plan(
            subjects=(subject,),
            methods=methods,
            epsilons=epsilons,
            seeds=tuple(range(int(state.get("draws")))),
            variant=cast(VariantName, state.get("variant")),
            # In a sample set each person has one record.
            neighbours=neighbours if subject is own else replace(neighbours, cap=1),
            options=fitting(preset.options if preset else {}, methods),
            scores=scores,
            axis=state.get("axis"),
            values=values,
        )
    if state.get("of") not in plans:
        state.set("of", data[0])
    return SweepRequest(plans=plans, unit=unit)
