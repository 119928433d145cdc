"""The first part of the audit page: one person, first without noise, then with a method's noise."""

from __future__ import annotations

from functools import partial
from typing import cast

import streamlit as st

from dpviz.audit.membership import (
    DRAWS,
    MembershipExperiment,
    membership_experiment,
    pair_of,
    with_person,
)
from dpviz.base.numbers import counted, written_out
from dpviz.families import CARDS
from dpviz.family.card import VariantName
from dpviz.family.parameter import EPSILON
from dpviz.figures.audit.claims import floored
from dpviz.figures.audit.person import (
    Joining,
    joining_frame,
    joining_maps,
    membership_bars,
    membership_frame,
)
from dpviz.privacy.explain import surest_words, times_at_most
from dpviz.privacy.ledger import Neighbours
from dpviz.ui.messages import plain_text
from dpviz.ui.session.job import follow, job_of, show_progress, start
from dpviz.ui.session.state import MAX_SEED, Control, UrlState, budget, choice, whole
from dpviz.ui.widgets.epsilon_panel import epsilon_panel
from dpviz.ui.widgets.live_slider import live_slider
from dpviz.ui.widgets.show import csv_button, job_button, show_panels, theme_mode
from dpviz.ui.widgets.stamp import MADE_UP
from dpviz.wavecluster.methods import METHODS as WAVECLUSTER
from dpviz.wavecluster.methods import NOISE_FREE
from dpviz.wavecluster.parameters import Config
from dpviz.wavecluster.pipeline import cluster

TECHNIQUES = tuple(
    f"{name}-{variant.name}"
    for name in WAVECLUSTER
    if CARDS[name].spends
    for variant in CARDS[name].variants
)

FEWEST_DRAWS, MOST_DRAWS = 500, 5000

CONTROLS = {
    "technique": Control("privthr-sound", choice("technique", TECHNIQUES)),
    "epsilon": Control(1.0, budget("epsilon", *EPSILON.reach), shared=True),
    "draws": Control(DRAWS, whole("draws", FEWEST_DRAWS, MOST_DRAWS)),
    "draw": Control(0, whole("draw", 0, MAX_SEED)),
}

_JOB, _RESULT = "audit:story job", "audit:told"


def one_person(state: UrlState) -> bool:
    """Show the part; return False while the user drags a slider."""
    st.header("One person", anchor="one-person")
    joining = person_joining()
    without, joined = (counted(stages.n_clusters, "cluster") for stages in joining.stages)
    left, right = st.columns([5, 6], gap="medium")
    with left:
        st.markdown(
            f"**Without noise** everybody sees if a person is added: there are {without} without "
            f"that person, and {joined} with that person. (The data is made up.)"
        )
        show_panels(
            joining_maps(joining, theme_mode()),
            MADE_UP,
            key="audit:joining figure",
            base_name="dpviz one person without noise",
            about="joining",
        )
        csv_button(
            "dpviz-one-person-clusters", partial(joining_frame, joining), key="audit:maps table"
        )
    with right:
        return _technique(state)


@st.cache_resource(show_spinner=False)
def person_joining() -> Joining:
    """The first sample set in which one record joins two clusters, without and with this record."""
    facts = with_person()
    sources = pair_of(facts)
    config = Config(method=NOISE_FREE, grid=facts.grid, density=facts.density)
    return Joining(
        title=facts.title,
        columns=facts.columns,
        person=sources[1].points[facts.person],
        sources=sources,
        stages=(cluster(sources[0].counts, config), cluster(sources[1].counts, config)),
    )


def _technique(state: UrlState) -> bool:
    first, second, third = st.columns([5, 6, 4], vertical_alignment="bottom")
    first.selectbox(
        "Under a technique",
        **state.choice("technique", TECHNIQUES),
        format_func=_technique_title,
        help="A technique that adds noise, as printed in its paper or with a valid proof.",
    )
    with second:
        slider = live_slider(
            "Privacy budget ε",
            key=state.key("epsilon"),
            value=state.get("epsilon"),
            low=EPSILON.reach[0],
            high=EPSILON.reach[1],
            scale="log",
            low_label="more private",
            high_label="more accurate",
            help="Whole budget. A lower budget adds more noise, so less can be learned about "
            "anyone.",
        )
    third.number_input(
        "Draws on each side",
        FEWEST_DRAWS,
        MOST_DRAWS,
        step=500,
        **state.widget("draws"),
        help="Number of times that the technique runs without, and with, the person.",
    )
    epsilon_panel(slider.value, Neighbours())
    if slider.settled:
        _start_draws(state)
    job = job_of(_JOB)
    if job and job.result is not None:
        st.session_state[_RESULT] = job.result
    with st.container(key="audit:story"):
        follow(job, lambda: _draws_progress(state))
        experiment: MembershipExperiment | None = st.session_state.get(_RESULT)
        if experiment is not None:
            show_panels(
                membership_bars(experiment, theme_mode()),
                MADE_UP,
                key="audit:story figure",
                base_name=f"dpviz one person {experiment.method} {experiment.variant}",
                about="membership",
            )
            meaning, measured = experiment_in_words(experiment)
            st.markdown(meaning)
            st.caption(measured)
            table = partial(membership_frame, experiment)
            csv_button("dpviz-one-person-draws", table, key="audit:story table")
    return slider.settled


def _technique_title(technique: str) -> str:
    name, variant = technique.split("-")
    return f"{CARDS[name].title}, {variant}"


def _start_draws(state: UrlState) -> None:
    technique, epsilon = state.get("technique"), float(state.get("epsilon"))
    draws, seed = int(state.get("draws")), int(state.get("draw"))
    request = (technique, epsilon, draws, seed)
    job = job_of(_JOB)
    if job and job.request == request:
        return
    method, variant = technique.split("-")
    task = partial(
        membership_experiment,
        method,
        epsilon,
        variant=cast(VariantName, variant),
        draws=draws,
        seed=seed,
    )
    start(_JOB, task, request=request)


def _draws_progress(state: UrlState) -> None:
    job = job_of(_JOB)
    left, right = st.columns([5, 2], vertical_alignment="center")
    with left:
        show_progress(job, "draws", "Nothing drawn yet")
    with right:
        job_button(
            job,
            "Draw again",
            # The draws start in the next run of the page.
            lambda: state.set("draw", (state.get("draw") + 1) % (MAX_SEED + 1)),
            key="audit:redraw",
            cancel="Stop drawing",
            cancel_key="audit:story cancel",
            icon=":material/casino:",
        )


def experiment_in_words(experiment: MembershipExperiment) -> tuple[str, str]:
    """Meaning of the draws for that person, and a caption that explains the measurement."""
    card = CARDS[experiment.method]
    name, verdict = f"{card.title}, {experiment.variant},", experiment.claim
    epsilon, times = written_out(experiment.epsilon), times_at_most(experiment.epsilon)
    measured = "No loss can be shown from these draws"
    if experiment.epsilon_lower > 0:
        measured = f"These draws show a loss of at least {floored(experiment.epsilon_lower)}"
    measured += f" (at {experiment.confidence:.0%} confidence)"
    if experiment.violated:
        return (
            f"**For this person** the promise is broken: {name} claims ε = {epsilon}, but the "
            "number of clusters reveals more about this person than this claim allows.",
            f"{measured}.",
        )
    if not verdict.private:
        return (
            f"**For this person** {name} keeps no promise, even if the number of clusters does not "
            f"show this. {plain_text(verdict.reason)}",
            f"{measured}; an audit of the method is below, and shows what it compares.",
        )
    return (
        f"**For this person:** at ε = {epsilon} no number of clusters occurs more than "
        f"e^{epsilon} ≤ {times} times as often with this person as without, or the other way "
        "round. Suppose that someone knows all other records, and thinks that the chance is 50% "
        "that this person with one record is in the data. After seeing the number, this observer "
        f"is {surest_words(experiment.epsilon)}.",
        f"Hatched bars end inside the band, except by chance. {measured}; that proves nothing: the "
        "proof is in the method's card.",
    )
