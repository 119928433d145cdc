"""The second part of the audit page: claimed and measured epsilon, in one audit and in all."""

from __future__ import annotations

import html
from functools import partial
from typing import NamedTuple

import streamlit as st

from dpviz.audit.bounds import highest
from dpviz.audit.runs import AuditResult, audit
from dpviz.audit.scenarios import Scenario, find, scenarios
from dpviz.base.numbers import counted, readable, written_out
from dpviz.base.work import IsCancelled, Progress, Work
from dpviz.families import CARDS
from dpviz.family.card import VARIANTS
from dpviz.figures.audit.claims import (
    Row,
    bounds_bars,
    bounds_frame,
    floored,
    score_bars,
    score_frame,
)
from dpviz.figures.looks import METHODS
from dpviz.ui.messages import plain_text
from dpviz.ui.session.job import current_job, follow, job_of, show_progress, start
from dpviz.ui.session.state import MAX_SEED, Control, UrlState, budget, choice, whole
from dpviz.ui.widgets.card_panel import card_panel
from dpviz.ui.widgets.live_slider import live_slider
from dpviz.ui.widgets.show import csv_button, job_button, show_panels, theme_mode
from dpviz.ui.widgets.stamp import MADE_UP


class AuditRequest(NamedTuple):
    """Arguments of an audit."""

    method: str
    variant: str
    scenario: str
    claim: float
    runs: int
    seed: int


Results = dict[AuditRequest, AuditResult]


def results() -> Results:
    """Results of this session, oldest first."""
    found: Results = st.session_state.setdefault("audit:found", {})
    return found


def run_audit(
    request: AuditRequest, found: Results, *, progress: Progress, cancelled: IsCancelled
) -> None:
    """Run one audit and add its result."""
    result = audit(**request._asdict(), progress=progress, cancelled=cancelled)
    found.pop(request, None)
    found[request] = result


_ALL = "audit:all job"

#: Approximate number of seconds of one audit with the scenario's own number of runs.
_SECONDS = 12


def _all_audits(claim: float, seed: int) -> None:
    rows = table_rows(results(), claim)
    missing = [scenario for scenario, result in rows if result is None]
    wanted = missing or [scenario for scenario, _ in rows]
    job = current_job(_ALL, claim)
    done = len(rows) - len(missing)
    minutes = max(1, round(len(wanted) * _SECONDS / 60))
    what = f"the other {len(wanted)}" if done and missing else f"all {len(rows)}"
    st.markdown(
        f"Every method, variant and scenario at the claim ε = {written_out(claim)} and the "
        f"seed above, with each scenario's own number of runs: **{done} of {len(rows)} done**. "
        "Each single row is wrong at most once in 100 audits."
    )
    left, right = st.columns([3, 7], vertical_alignment="center")
    with left:
        job_button(
            job,
            f"Run {what} (about {counted(minutes, 'minute')})",
            lambda: _start(wanted, claim, seed),
            key="audit:all run",
            cancel="Cancel all",
            cancel_key="audit:all cancel",
            icon=":material/playlist_play:",
        )
    with right:
        show_progress(job, "runs", "Not run at this claim yet")
        if job and isinstance(job.request, float) and job.request != claim:
            st.caption(f"Running: all audits at ε = {written_out(job.request)}.")
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
            MADE_UP,
            key="audit:bounds figure",
            base_name="dpviz audit bounds",
            about="bounds",
        )


def table_rows(found: Results, claim: float) -> list[Row]:
    """All scenarios by method, planted scenarios last; each has its latest result, or None."""
    latest = {key[:3]: result for key, result in tuple(found.items()) if key[3] == claim}
    ordered = sorted(
        scenarios(),
        key=lambda one: (one.planted, METHODS.index(one.method), one.variant == "sound"),
    )
    return [(one, latest.get((one.method, one.variant, one.name))) for one in ordered]


def _start(wanted: list[Scenario], claim: float, seed: int) -> None:
    found = results()
    requests = [
        AuditRequest(one.method, one.variant, one.name, claim, one.runs, seed) for one in wanted
    ]

    def run_all(*, progress: Progress, cancelled: IsCancelled) -> int:
        work = Work(2 * sum(one.runs for one in requests), "runs", progress)
        for one in requests:
            run_audit(one, found, progress=work.part(), cancelled=cancelled)
        return len(requests)

    start(_ALL, run_all, request=claim)


CLAIMS = (0.5, 5.0)
FEWEST_RUNS, MOST_RUNS = min(500, *(one.runs for one in scenarios())), 20_000

_FIRST = next(one for one in scenarios() if one.name == "far-point")

CONTROLS = {
    "method": Control(_FIRST.method, choice("method", METHODS)),
    "variant": Control(_FIRST.variant, choice("variant", VARIANTS)),
    "scenario": Control(
        _FIRST.name, choice("scenario", tuple(dict.fromkeys(one.name for one in scenarios())))
    ),
    "claim": Control(1.0, budget("claim", *CLAIMS)),
    "runs": Control(MOST_RUNS, whole("runs", FEWEST_RUNS, MOST_RUNS)),
    "seed": Control(0, whole("seed", 0, MAX_SEED)),
}

_JOB = "audit:one job"


def correct_link(state: UrlState) -> None:
    """Correct a link's scenario and number of runs if they do not match the method and variant."""
    offered, given = _offered(state), state.get("scenario")
    if given not in offered:
        first = next(iter(offered))
        if "scenario" in state.given:
            unknown = (
                f"scenario = {given} is unknown for {state.get('method')} {state.get('variant')}"
            )
            state.correct("scenario", first, f"{unknown}; {first} is used.")
        else:
            state.set("scenario", first)
    if "runs" not in state.given:
        _reset_runs(state)


def _offered(state: UrlState) -> dict[str, Scenario]:
    return {one.name: one for one in scenarios(state.get("method"), state.get("variant"))}


def _chosen(state: UrlState) -> Scenario:
    return find(state.get("method"), state.get("variant"), state.get("scenario"))


def _reset_scenario(state: UrlState) -> None:
    offered = _offered(state)
    if state.get("scenario") not in offered:
        state.set("scenario", next(iter(offered)))
    _reset_runs(state)


def _reset_runs(state: UrlState) -> None:
    state.set("runs", _chosen(state).runs)


def claims(state: UrlState) -> bool:
    """Show one audit, and all audits; return False while the user drags a slider."""
    st.header("Claimed against measured", anchor="claimed-against-measured")
    st.markdown(
        "An audit runs a method many times on two data sets that differ in one person. The chances "
        "of the method's results may differ by a factor of e^ε at most. If these chances differ by "
        "more, the claim is refuted."
    )
    left, right = st.columns([5, 9], gap="medium")
    with left:
        settled = _audit_controls(state)
        follow(job_of(_JOB), lambda: _progress(state))
    with right:
        _result(state)
    st.header("All at once", anchor="all-at-once")
    claim, seed = float(state.get("claim")), int(state.get("seed"))
    follow(job_of(_ALL), lambda: _all_audits(claim, seed), every=1.0)
    return settled


def _audit_controls(state: UrlState) -> bool:
    first, second = st.columns([3, 2])
    first.selectbox(
        "Method",
        **state.choice("method", METHODS),
        format_func=lambda name: CARDS[name].named,
        on_change=partial(_reset_scenario, state),
    )
    second.selectbox(
        "Variant",
        **state.choice("variant", VARIANTS),
        on_change=partial(_reset_scenario, state),
        help="As printed in the paper, or the same idea with a valid proof.",
    )
    offered = _offered(state)
    st.selectbox(
        "Scenario",
        **state.choice("scenario", tuple(offered)),
        format_func=lambda name: _scenario_title(offered.get(name), name),
        on_change=partial(_reset_runs, state),
        help="Two data sets that differ in one person, chosen to show a leak. Planted scenarios "
        "contain a mistake on purpose: they show that an audit finds it.",
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
        help=f"{_chosen(state).runs:,} runs are enough for the leaks of this scenario.",
    )
    second.number_input(
        "Seed", 0, MAX_SEED, **state.widget("seed"), help="The same seed gives the same result."
    )
    return slider.settled


def _scenario_title(scenario: Scenario | None, name: str) -> str:
    title = name.replace("-", " ").capitalize()
    return f"Planted mistake: {title.lower()}" if scenario and scenario.planted else title


def _request(state: UrlState) -> AuditRequest:
    return AuditRequest(*map(state.get, AuditRequest._fields))


def _progress(state: UrlState) -> None:
    request = _request(state)
    job = current_job(_JOB, request)
    job_button(
        job,
        "Run the audit",
        lambda: start(_JOB, partial(run_audit, request, results()), request=request),
        key="audit:one run",
        cancel="Cancel the audit",
        cancel_key="audit:one cancel",
        type="primary",
        icon=":material/play_arrow:",
    )
    if job is None and request in results():
        st.progress(1.0, text="Done earlier")
    else:
        show_progress(job, "runs", "Not run with these settings")
    if job and isinstance(job.request, AuditRequest) and job.request != request:
        one = job.request
        title = f"{CARDS[one.method].title} {one.variant}, {one.scenario}, ε {readable(one.claim)}"
        st.caption(f"Running: {title}.")


def _result(state: UrlState) -> None:
    result = results().get(_request(state))
    runs = int(state.get("runs"))
    most = f"{runs:,} runs on each data set can show at most ε {floored(highest(runs))}"
    limits = (
        f"{most}; an audit shows little about claims below 0.5. A bound above the claim disproves "
        "the claim (wrong at most once in 100 audits). A bound below the claim proves nothing."
    )
    if result is None:
        job = current_job(_JOB, _request(state))
        running = job is not None and job.running
        how = "The audit is running." if running else "Press “Run the audit” to measure this claim."
        st.info(f"{how} {limits}", icon=":material/policy:")
    else:
        refuted, sentence = verdict(result)
        kind = "dpv-no" if refuted else ""
        st.html(f'<div class="dpv-card {kind}" role="status"><b>{html.escape(sentence)}</b></div>')
        lead = "This event distinguishes the data sets" if refuted else "The most different event"
        st.markdown(f"{lead}: {plain_text(result.event)}.")
        show_panels(
            score_bars(result, theme_mode()),
            MADE_UP,
            key="audit:score figure",
            base_name=f"dpviz audit {result.method} {result.variant}",
            about="score",
        )
        st.caption(
            f"The figure shows the {result.runs - result.runs // 2:,} runs on each data set that "
            f"decide the verdict; the other half of the runs chose the event. {limits}"
        )
        csv_button("dpviz-audit-score", partial(score_frame, result), key="audit:score table")
    with st.expander("The method's card: source, promises and their reasons"):
        card_panel(state.get("method"))


def verdict(result: AuditResult) -> tuple[bool, str]:
    """Return whether the claim is refuted, and the verdict as a sentence."""
    bound = floored(result.epsilon_lower)
    if result.violated:
        return True, (
            f"Claim refuted: the true ε is at least {bound} with {result.confidence:.0%} "
            f"confidence; claimed {readable(result.claim)}."
        )
    scenario = find(result.method, result.variant, result.scenario)
    measured = f"Not refuted: measured at least {bound}, claimed {readable(result.claim)}."
    if scenario.planted:
        why = "That proves nothing: this scenario contains a mistake, and more runs may show it."
    elif scenario.private:
        why = "That proves nothing by itself; the proof is in the method's card."
    else:
        why = f"That proves nothing: the claim is false nevertheless. {scenario.verdict.reason}"
    return False, f"{measured} {why}"
