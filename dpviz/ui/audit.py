"""The audit page: one person, claimed against measured, and all audits at once."""

from __future__ import annotations

import html
import math
from collections.abc import Callable
from functools import partial
from typing import Any, cast

import streamlit as st

from dpviz.audit import steps
from dpviz.audit.bounds import highest
from dpviz.audit.membership import (
    DRAWS,
    MembershipExperiment,
    membership_experiment,
    pair_of,
    with_person,
)
from dpviz.audit.planted import HALF, NONE
from dpviz.audit.runs import AuditResult, audit
from dpviz.audit.scenarios import Scenario, find, scenarios
from dpviz.errors import InputError
from dpviz.families import CARDS
from dpviz.family.card import VariantName
from dpviz.figures.audit import (
    Joining,
    Row,
    bounds_bars,
    bounds_frame,
    floored,
    joining_frame,
    joining_maps,
    score_bars,
    score_frame,
    story_bars,
    story_frame,
)
from dpviz.ui.cost_panel import cost_overview, cost_panel
from dpviz.ui.job import follow, job_of, show_progress, start
from dpviz.ui.live_slider import live_slider
from dpviz.ui.messages import plain_text
from dpviz.ui.page import live_part
from dpviz.ui.settings import MAX_SEED, card_text
from dpviz.ui.show import csv_button, job_button, show_panels, theme_mode
from dpviz.ui.state import Control, UrlState, choice, number, whole
from dpviz.wavecluster.config import Config
from dpviz.wavecluster.methods import METHODS as WAVECLUSTER
from dpviz.wavecluster.pipeline import cluster
from dpviz.work import IsCancelled, Progress, Work

#: Methods that claim something.
METHODS = tuple(name for name, card in CARDS.items() if card.spends)
VARIANTS = ("sound", "published")

#: Techniques of the first part, each with its variant.
TECHNIQUES = tuple(
    f"{name}-{variant}" for name in WAVECLUSTER if CARDS[name].spends for variant in VARIANTS
)

EPSILONS = (0.1, 5.0)
CLAIMS = (0.5, 5.0)
FEWEST_DRAWS, MOST_DRAWS = 500, 5000
FEWEST_RUNS, MOST_RUNS = min(500, *(one.runs for one in scenarios())), 20_000

#: Session entries: the jobs of the three parts, and what they found.
_STORY, _ONE, _ALL = "audit:story job", "audit:one job", "audit:all job"
_TOLD, _FOUND = "audit:told", "audit:found"

#: About what one audit takes with a scenario's own runs.
_SECONDS = 12

#: Controls of an audit, and their values.
_CONTROLS = ("method", "variant", "scenario", "claim", "runs", "seed")
Key = tuple[str, str, str, float, int, int]
Found = dict[Key, AuditResult]


# -- the link ----------------------------------------------------------------------------


def page_state() -> UrlState:
    """All controls of the page, from the link or the session."""
    names = tuple(dict.fromkeys(one.name for one in scenarios()))
    state = UrlState(
        "audit",
        {
            "technique": Control("privthr-sound", choice("technique", TECHNIQUES)),
            "epsilon": Control(1.0, number("epsilon", *EPSILONS, _checked("epsilon", EPSILONS))),
            "draws": Control(DRAWS, whole("draws", FEWEST_DRAWS, MOST_DRAWS)),
            "draw": Control(0, whole("draw", 0, MAX_SEED)),
            "method": Control("privqt", choice("method", METHODS)),
            "variant": Control("published", choice("variant", VARIANTS)),
            "scenario": Control("far-point", choice("scenario", names)),
            "claim": Control(1.0, number("claim", *CLAIMS, _checked("claim", CLAIMS))),
            "runs": Control(MOST_RUNS, whole("runs", FEWEST_RUNS, MOST_RUNS)),
            "seed": Control(0, whole("seed", 0, MAX_SEED)),
        },
    )
    if state.fresh:
        _fit_link(state)
    return state


def _checked(name: str, ends: tuple[float, float]) -> Callable[[float], None]:
    """Check of a number that may lie beyond a slider, but must be a budget."""

    def check(value: float) -> None:
        if not (math.isfinite(value) and value > 0):
            raise InputError(
                f"{name} = {value:g} is no usable privacy budget: give a number from {ends[0]:g} "
                f"to {ends[1]:g}."
            )

    return check


def _fit_link(state: UrlState) -> None:
    """Bring a link's scenario and runs in line with its method and variant."""
    offered = _offered(state)
    given = state.get("scenario")
    if given not in offered:
        first = next(iter(offered))
        if "scenario" in state.given:
            said = f"scenario = {given} is unknown for {state.get('method')} {state.get('variant')}"
            state.correct("scenario", first, f"{said}; {first} is used.")
        else:
            state.set("scenario", first)
    if "runs" not in state.given:
        state.set("runs", _chosen(state).runs)


def _offered(state: UrlState) -> dict[str, Scenario]:
    """Scenarios of the chosen method and variant by name, planted ones last."""
    return {one.name: one for one in scenarios(state.get("method"), state.get("variant"))}


def _chosen(state: UrlState) -> Scenario:
    """The chosen scenario."""
    return find(state.get("method"), state.get("variant"), state.get("scenario"))


def _fit(state: UrlState) -> None:
    """After another method or variant: a scenario that goes with it, and its runs."""
    offered = _offered(state)
    if state.get("scenario") not in offered:
        state.set("scenario", next(iter(offered)))
    _take_runs(state)


def _take_runs(state: UrlState) -> None:
    """After another scenario: as many runs as it needs."""
    state.set("runs", _chosen(state).runs)


def build(state: UrlState) -> None:
    """Draw the page."""
    live_part(one_person, state)
    live_part(claims, state)
    detected_mistakes()
    cost_overview()


# -- one person --------------------------------------------------------------------------


def one_person(state: UrlState) -> bool:
    """Show the first part, without noise and under a technique; whether no slider is held."""
    st.subheader("One person", anchor="one-person")
    joining = person_joining()
    true = tuple(stages.n_clusters for stages in joining.stages)
    left, right = st.columns([5, 6], gap="medium")
    with left:
        st.markdown(
            f"**Without noise** one person more or less can be seen: {_clusters(true[0])} without "
            f"that person, {_clusters(true[1])} with. (The data is made up.)"
        )
        show_panels(
            joining_maps(joining, theme_mode()),
            key="audit:joining figure",
            base_name="dpviz one person without noise",
        )
        csv_button(
            "dpviz-one-person-clusters",
            partial(joining_frame, joining),
            key="audit:maps table",
        )
    with right:
        return _technique(state)


def _clusters(n: int) -> str:
    """Write "1 cluster" or "2 clusters"."""
    return f"{n} cluster{'' if n == 1 else 's'}"


@st.cache_resource(show_spinner=False)
def person_joining() -> Joining:
    """The first sample set with a person who joins two clusters, without and with that one."""
    facts = with_person()
    sources = pair_of(facts)
    config = Config(method="wavecluster", grid=facts.grid, density=facts.density)
    return Joining(
        title=facts.title,
        columns=facts.columns,
        person=sources[1].points[facts.person],
        sources=sources,
        stages=(cluster(sources[0].counts, config), cluster(sources[1].counts, config)),
    )


def _technique(state: UrlState) -> bool:
    """Controls, draws and what they mean; whether the slider is not held."""
    first, second, third = st.columns([5, 6, 4], vertical_alignment="bottom")
    first.selectbox(
        "Under a technique",
        **state.choice("technique", TECHNIQUES),
        format_func=_technique_title,
        help="A technique that adds noise, as printed in its paper or with a proof that holds.",
    )
    with second:
        slider = live_slider(
            "Privacy budget ε",
            key=state.key("epsilon"),
            value=state.get("epsilon"),
            low=EPSILONS[0],
            high=EPSILONS[1],
            scale="log",
            low_label="more private",
            high_label="more accurate",
            help="Whole budget. Lower: less can be learned about anyone, and more noise.",
        )
    third.number_input(
        "Draws on each side",
        FEWEST_DRAWS,
        MOST_DRAWS,
        step=500,
        **state.widget("draws"),
        help="So often the technique is run without and with the person.",
    )
    if slider.settled:
        _draw_if_new(state)
    job = job_of(_STORY)
    if job and job.result is not None:
        st.session_state[_TOLD] = job.result
    follow(job, lambda: _draws_progress(state))
    experiment: MembershipExperiment | None = st.session_state.get(_TOLD)
    if experiment is not None:
        show_panels(
            story_bars(experiment, theme_mode()),
            key="audit:story figure",
            base_name=f"dpviz one person {experiment.method} {experiment.variant}",
        )
        said, measured = experiment_in_words(experiment)
        st.markdown(said)
        st.caption(measured)
        csv_button(
            "dpviz-one-person-draws", partial(story_frame, experiment), key="audit:story table"
        )
    return slider.settled


def _technique_title(technique: str) -> str:
    """Name of a technique and variant on the screen."""
    name, variant = technique.split("-")
    return f"{CARDS[name].title}, {variant}"


def _draw_if_new(state: UrlState) -> None:
    """Begin to draw where the controls ask for something else than what runs or ran last."""
    technique, epsilon = state.get("technique"), float(state.get("epsilon"))
    draws, seed = int(state.get("draws")), int(state.get("draw"))
    request = (technique, epsilon, draws, seed)
    job = job_of(_STORY)
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
    start(_STORY, task, request=request)


def _draws_progress(state: UrlState) -> None:
    """How far the draws are, with a button beside them."""
    job = job_of(_STORY)
    left, right = st.columns([5, 2], vertical_alignment="center")
    with left:
        show_progress(job, "draws", "Nothing drawn yet")
    with right:
        job_button(
            job,
            "Draw again",
            # The page that is drawn then begins the draws.
            lambda: state.set("draw", (state.get("draw") + 1) % (MAX_SEED + 1)),
            key="audit:redraw",
            cancel="Stop drawing",
            cancel_key="audit:story cancel",
            icon=":material/casino:",
        )


def experiment_in_words(experiment: MembershipExperiment) -> tuple[str, str]:
    """Say what the draws mean for that person, and in smaller print how that was measured."""
    card = CARDS[experiment.method]
    name, variant = f"{card.title}, {experiment.variant},", card.variant(experiment.variant)
    epsilon, times = f"{experiment.epsilon:.3g}", f"{experiment.allowed:.3g}"
    measured = "No loss can be shown from these draws"
    if experiment.epsilon_lower > 0:
        measured = f"These draws show a loss of at least {floored(experiment.epsilon_lower)}"
    measured += f" (at {experiment.confidence:.0%} confidence)"
    if experiment.violated:
        return (
            f"**For this person** the promise is broken: {name} claims ε = {epsilon}, but the "
            "number of clusters tells more about this person than that allows.",
            f"{measured}.",
        )
    if not variant.private:
        return (
            f"**For this person** {name} keeps no promise, even where the number of clusters "
            f"does not show it. {plain_text(variant.reason)}",
            f"{measured}; an audit of everything that it publishes follows below.",
        )
    odds = 100 * experiment.allowed / (1 + experiment.allowed)
    return (
        f"**For this person:** at ε = {epsilon} no number of clusters comes up more than "
        f"e^{epsilon} = {times} times as often with them as without, nor the other way round. "
        f"Whoever guessed 50 : 50 that they are in the data can be {odds:.3g}\u00a0% sure at most "
        "after seeing the number.",
        f"Hatched bars end inside the band, but for the luck of the draw. {measured}; that proves "
        "nothing, the proof is in the method's card.",
    )


# -- claimed against measured ------------------------------------------------------------


def claims(state: UrlState) -> bool:
    """Show one audit, and all of them; whether no slider is held."""
    st.subheader("Claimed against measured", anchor="claimed-against-measured")
    st.markdown(
        "An audit runs a method many times on two data sets that differ in one person. What comes "
        "out may differ by a factor of e^ε at most. Where it differs more, the claim is refuted."
    )
    left, right = st.columns([4, 9], gap="medium")
    with left:
        settled = _audit_controls(state)
        follow(job_of(_ONE), lambda: _one_progress(state))
    with right:
        _one_result(state)
    st.subheader("All at once", anchor="all-at-once")
    follow(job_of(_ALL), lambda: _all_at_once(state), every=1.0)
    return settled


def _audit_controls(state: UrlState) -> bool:
    """Show the controls of an audit; returns whether none is held."""
    first, second = st.columns([3, 2])
    first.selectbox(
        "Method",
        **state.choice("method", METHODS),
        format_func=lambda name: CARDS[name].title,
        on_change=partial(_fit, state),
    )
    second.selectbox(
        "Variant",
        **state.choice("variant", VARIANTS),
        on_change=partial(_fit, state),
        help="As printed in the paper, or the same idea with a proof that holds.",
    )
    offered = _offered(state)
    st.selectbox(
        "Scenario",
        **state.choice("scenario", tuple(offered)),
        format_func=lambda name: _scenario_title(offered.get(name), name),
        on_change=partial(_take_runs, state),
        help="Two data sets that differ in one person, chosen to bring a leak out. Planted "
        "scenarios have a mistake built in on purpose: they show that an audit finds it.",
    )
    st.caption(_chosen(state).description)
    slider = live_slider(
        "Claimed ε",
        key=state.key("claim"),
        value=state.get("claim"),
        low=CLAIMS[0],
        high=CLAIMS[1],
        step=0.1,
        help="The method is run with this budget and claims to keep it.",
    )
    first, second = st.columns([3, 2])
    first.number_input(
        "Runs on each data set",
        FEWEST_RUNS,
        MOST_RUNS,
        step=500,
        **state.widget("runs"),
        help=f"This scenario shows what there is to show with {_chosen(state).runs:,}.",
    )
    second.number_input(
        "Seed", 0, MAX_SEED, **state.widget("seed"), help="The same one gives the same result."
    )
    return slider.settled


def _scenario_title(scenario: Scenario | None, name: str) -> str:
    """Name of a scenario on the screen."""
    title = name.replace("-", " ").capitalize()
    return f"Planted mistake: {title.lower()}" if scenario and scenario.planted else title


def _key(state: UrlState) -> Key:
    """What the controls ask for."""
    return cast(Key, tuple(map(state.get, _CONTROLS)))


def _found() -> Found:
    """Results of this session, oldest first."""
    found: Found = st.session_state.setdefault(_FOUND, {})
    return found


def _run(key: Key, found: Found, *, progress: Progress, cancelled: IsCancelled) -> None:
    """Run one audit and keep its result."""
    choices: dict[str, Any] = dict(zip(_CONTROLS[2:], key[2:], strict=True))
    result = audit(*key[:2], **choices, progress=progress, cancelled=cancelled)
    found.pop(key, None)
    found[key] = result


def _one_progress(state: UrlState) -> None:
    """Button and bar of one audit."""
    job = job_of(_ONE)
    key = _key(state)
    job_button(
        job,
        "Run the audit",
        lambda: start(_ONE, partial(_run, key, _found()), request=key),
        key="audit:one run",
        cancel="Cancel the audit",
        cancel_key="audit:one cancel",
        type="primary",
        icon=":material/play_arrow:",
    )
    if job and job.request != key and not job.running:
        job = None
    if job is None and key in _found():
        st.progress(1.0, text="Done earlier")
    else:
        show_progress(job, "runs", "Not run with these settings")
    if job and job.request != key:
        st.caption(f"Running: {_key_title(cast(Key, job.request))}.")


def _key_title(key: Key) -> str:
    """An audit in a few words."""
    return f"{CARDS[key[0]].title} {key[1]}, {key[2]}, ε {key[3]:.3g}"


def _one_result(state: UrlState) -> None:
    """Verdict, event and histograms of the chosen audit, or what to expect of it."""
    result = _found().get(_key(state))
    runs = int(state.get("runs"))
    most = f"{runs:,} runs on each data set can show at most ε {floored(highest(runs))}"
    limits = (
        f"{most}; of a claim below 0.5 an audit sees little. A bound above the claim disproves it "
        "(wrong at most once in 100 audits). A bound below proves nothing."
    )
    if result is None:
        st.info(f"Press “Run the audit” to measure this claim. {limits}", icon=":material/policy:")
    else:
        refuted, said = verdict(result)
        kind = "dpv-no" if refuted else ""
        st.html(f'<div class="dpv-card {kind}" role="status"><b>{html.escape(said)}</b></div>')
        lead = "What tells the two data sets apart" if refuted else "What looked most different"
        st.markdown(f"{lead}: {plain_text(result.event)}.")
        show_panels(
            score_bars(result, theme_mode()),
            key="audit:score figure",
            base_name=f"dpviz audit {result.method} {result.variant}",
        )
        st.caption(
            f"Drawn: the {result.runs - result.runs // 2:,} runs that decide, on each data set; "
            f"the other half chose the event. {limits}"
        )
        csv_button("dpviz-audit-score", partial(score_frame, result), key="audit:score table")
    with st.expander("The method's card: source, promises and their reasons"):
        st.markdown(card_text(CARDS[state.get("method")]))
        cost_panel(state.get("method"))


def verdict(result: AuditResult) -> tuple[bool, str]:
    """Whether the claim is refuted, and the verdict as a sentence."""
    bound = floored(result.epsilon_lower)
    if result.violated:
        return True, (
            f"Claim refuted: the true ε is at least {bound} with {result.confidence:.0%} "
            f"confidence; claimed {result.claim:.3g}."
        )
    scenario = find(result.method, result.variant, result.scenario)
    measured = f"Not refuted: measured at least {bound}, claimed {result.claim:.3g}."
    if scenario.planted:
        why = "That proves nothing: a mistake is built in here; more runs may show it."
    elif scenario.private:
        why = "That proves nothing by itself; the proof is in the method's card."
    else:
        why = "That proves nothing: the method's card says why the claim fails all the same."
    return False, f"{measured} {why}"


# -- all at once -------------------------------------------------------------------------


def _all_at_once(state: UrlState) -> None:
    """Button, bar, table and chart of all audits at the chosen claim."""
    claim = float(state.get("claim"))
    rows = table_rows(_found(), claim)
    missing = [scenario for scenario, result in rows if result is None]
    wanted = missing or [scenario for scenario, _ in rows]
    job = job_of(_ALL)
    done = len(rows) - len(missing)
    st.markdown(
        f"Every method, variant and scenario at the claim ε = {claim:.3g} and the "
        f"seed above, with each scenario's own number of runs: **{done} of {len(rows)} done**. "
        "Each row by itself is wrong at most once in 100 audits."
    )
    left, right = st.columns([3, 7], vertical_alignment="center")
    with left:
        job_button(
            job,
            _all_label(len(wanted), len(rows)),
            lambda: _start_all(state, wanted),
            key="audit:all run",
            cancel="Cancel all",
            cancel_key="audit:all cancel",
            icon=":material/playlist_play:",
        )
    with right:
        if job and job.request != claim and not job.running:
            job = None
        show_progress(job, "runs", "Not run at this claim yet")
        if job and job.request != claim:
            st.caption(f"Running: all audits at ε = {job.request:.3g}.")
    table = bounds_frame(rows, claim)
    st.dataframe(
        table,
        hide_index=True,
        height=318,
        key="audit:table",
        column_config={
            "measured ε, at least": st.column_config.NumberColumn(format="%.3f"),
            "claimed ε": st.column_config.NumberColumn(format="%.3g", width="small"),
            "runs": st.column_config.NumberColumn(format="localized", width="small"),
            "variant": st.column_config.TextColumn(width="small"),
            "verdict": st.column_config.TextColumn(width=95),
            "telling event": st.column_config.TextColumn(width="medium"),
        },
        placeholder="",
    )
    csv_button(
        "dpviz-audit-claimed-against-measured",
        table,
        "Download this table (CSV)",
        key="audit:bounds table",
    )
    if done:
        show_panels(
            bounds_bars(rows, claim, theme_mode()),
            key="audit:bounds figure",
            base_name="dpviz audit bounds",
        )


def _all_label(wanted: int, rows: int) -> str:
    """What the button does, and how long that takes."""
    minutes = max(1, round(wanted * _SECONDS / 60))
    what = f"all {rows}" if wanted == rows else f"the other {wanted}"
    return f"Run {what} (about {minutes} minute{'' if minutes == 1 else 's'})"


def table_rows(found: Found, claim: float) -> list[Row]:
    """Every scenario with the latest result at a claim, if there is one, method by method."""
    latest = {key[:3]: result for key, result in tuple(found.items()) if key[3] == claim}
    ordered = sorted(
        scenarios(),
        key=lambda one: (one.planted, METHODS.index(one.method), one.variant == "sound"),
    )
    return [(one, latest.get((one.method, one.variant, one.name))) for one in ordered]


def _start_all(state: UrlState, wanted: list[Scenario]) -> None:
    """Begin to run several audits one after the other."""
    claim, seed, found = float(state.get("claim")), int(state.get("seed")), _found()
    keys = [(one.method, one.variant, one.name, claim, one.runs, seed) for one in wanted]

    def run_all(*, progress: Progress, cancelled: IsCancelled) -> int:
        work = Work(2 * sum(key[4] for key in keys), "runs", progress)
        for key in keys:
            _run(key, found, progress=work.part(), cancelled=cancelled)
        return len(keys)

    start(_ALL, run_all, request=claim)


# -- what can be seen --------------------------------------------------------------------


@st.fragment
def detected_mistakes() -> None:
    """Show which bugs an audit finds in which step, as measured beforehand."""
    st.subheader("What this audit can see", anchor="what-this-audit-can-see")
    halved, left_out = (
        [row for row in steps.table() if row.factor == factor] for factor in (HALF, NONE)
    )
    st.markdown(
        "A mistake is planted in every step of every sound method: its noise is halved, or left "
        "out, while the ledger still shows all of it. The data sets are those on which all steps "
        "move as far as we know how, and the score is the most telling one there is: how likely "
        "the noisy numbers are with and without the person, for whoever knows the code. "
        f"Where it is left out, {steps.RUNS[NONE]:,} runs on each data set show that at a claim of "
        f"{steps.CLAIM:g} in {_count(left_out)} steps. With {steps.RUNS[HALF]:,} runs half the "
        f"noise is found in **{_count(halved)} steps**. The others are out of sight; most of them "
        "come into sight where other options give the step a larger share, as the table shows:"
    )
    unseen = {why: [row for row in halved if row.reason == why] for why in steps.REASONS}
    st.markdown(
        "\n".join(
            f"- **{len(rows)}, {why}:** {steps.REASONS[why]} ({_steps_text(rows)})."
            for why, rows in unseen.items()
            if rows
        )
    )
    table = steps.frame(steps.table())
    bound = st.column_config.NumberColumn(format="%.3f")
    st.dataframe(
        table,
        hide_index=True,
        height=388,
        key="audit:steps",
        column_config={
            # All the same: given in the text above.
            **dict.fromkeys(("variant", "runs", "then runs")),
            "options": st.column_config.TextColumn(width=230),
            "share of ε": st.column_config.NumberColumn(format="percent", width="small"),
            "true ε, at most": bound,
            "measured ε, at least": bound,
            "then measured ε, at least": bound,
        },
    )
    csv_button("dpviz-audit-steps", table, "What it can see (CSV)", key="audit:steps table")


def _count(rows: list[steps.StepResult]) -> str:
    """How many are found: "3 of 4"."""
    return f"{sum(row.found for row in rows)} of {len(rows)}"


def _steps_text(rows: list[steps.StepResult]) -> str:
    """Steps by method: "PrivTHR: nonpositive; Baseline: records"."""
    named: dict[str, dict[str, None]] = {}
    for row in rows:
        named.setdefault(CARDS[row.method].title, {})[row.step] = None
    return "; ".join(f"{method}: {', '.join(names)}" for method, names in named.items())
