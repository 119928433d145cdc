"""The audits of all scenarios for one claimed epsilon, as a table and a chart."""

from __future__ import annotations

import streamlit as st

from dpviz.audit.scenarios import Scenario, scenarios
from dpviz.base.numbers import readable
from dpviz.base.work import IsCancelled, Progress, Work
from dpviz.figures.audit.bounds import Row, bounds_bars, bounds_frame
from dpviz.ui.audit.common import METHODS, AuditRequest, Results, current_job, results, run_audit
from dpviz.ui.session.job import follow, job_of, show_progress, start
from dpviz.ui.widgets.show import csv_button, job_button, show_panels, theme_mode
from dpviz.ui.widgets.stamp import MADE_UP

_JOB = "audit:all job"

#: Approximate number of seconds of one audit with the scenario's own number of runs.
_SECONDS = 12


def all_audits(claim: float, seed: int) -> None:
    """Show the part; it is redrawn while the audits run."""
    follow(job_of(_JOB), lambda: _all_audits(claim, seed), every=1.0)


def _all_audits(claim: float, seed: int) -> None:
    rows = table_rows(results(), claim)
    missing = [scenario for scenario, result in rows if result is None]
    wanted = missing or [scenario for scenario, _ in rows]
    job = current_job(_JOB, claim)
    done = len(rows) - len(missing)
    st.markdown(
        f"Every method, variant and scenario at the claim ε = {readable(claim)} and the "
        f"seed above, with each scenario's own number of runs: **{done} of {len(rows)} done**. "
        "Each single row is wrong at most once in 100 audits."
    )
    left, right = st.columns([3, 7], vertical_alignment="center")
    with left:
        job_button(
            job,
            _all_label(len(wanted), len(rows)),
            lambda: _start(wanted, claim, seed),
            key="audit:all run",
            cancel="Cancel all",
            cancel_key="audit:all cancel",
            icon=":material/playlist_play:",
        )
    with right:
        show_progress(job, "runs", "Not run at this claim yet")
        if job and isinstance(job.request, float) and job.request != claim:
            st.caption(f"Running: all audits at ε = {readable(job.request)}.")
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


def _all_label(wanted: int, rows: int) -> str:
    minutes = max(1, round(wanted * _SECONDS / 60))
    what = f"all {rows}" if wanted == rows else f"the other {wanted}"
    return f"Run {what} (about {minutes} minute{'' if minutes == 1 else 's'})"


def table_rows(found: Results, claim: float) -> list[Row]:
    """All scenarios, ordered by method, each with its latest result at a claim if there is one."""
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

    start(_JOB, run_all, request=claim)
