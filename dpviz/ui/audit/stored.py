"""Parts of the audit page from stored results: what an audit detects, and what soundness costs."""

from __future__ import annotations

import streamlit as st

from dpviz.audit import steps
from dpviz.audit.planted import HALF, NONE
from dpviz.base.lazy import pandas as pd
from dpviz.base.numbers import readable
from dpviz.experiments.utility import LESS_IS_BETTER, costs, frame
from dpviz.families import CARDS
from dpviz.ui.widgets.card_panel import COST_HELP
from dpviz.ui.widgets.show import csv_button


@st.fragment
def detected_mistakes() -> None:
    """For each step, show which mistakes an audit finds, from stored measurements."""
    st.header("What this audit can see", anchor="what-this-audit-can-see")
    halved, left_out = (
        [row for row in steps.table() if row.factor == factor] for factor in (HALF, NONE)
    )
    by_itself = [row for row in halved if row.found_alone]
    st.markdown(
        "We planted a mistake in every step of every sound method: the step's noise is halved or "
        "missing, while the ledger still shows all of it. The data sets change the steps as much "
        "as we can. The score is the best possible score: how likely the noisy numbers are with "
        "and without the person, for someone who knows the code. Missing noise is found with "
        f"{steps.RUNS[NONE]:,} runs on each data set at a claim of {steps.CLAIM:g} in "
        f"{_count(left_out)} steps. Halved noise is found with {steps.RUNS[HALF]:,} runs in "
        f"**{_count(halved)} steps**, in {len(by_itself)} of them only if all other answers of a "
        "run are fixed and the step is compared with its own share of the budget. (Some runs of "
        "DP-Refine and Two-stage take so long that we made fewer runs: see the table.) This audit "
        "can't find the other mistakes, for these reasons:"
    )
    st.markdown(
        "\n".join(
            f"- **{len(rows)}, {reason}:** {why} ({_steps_text(rows)})."
            for reason, why in steps.REASONS.items()
            if (rows := [row for row in halved if row.reason == reason])
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
            "variant": None,
            "options": st.column_config.TextColumn(width=150),
            "share of ε": st.column_config.NumberColumn(format="percent", width="small"),
            "true ε, at most": bound,
            "measured ε, at least": bound,
            "runs": st.column_config.NumberColumn(format="localized"),
            "share of the step alone": st.column_config.NumberColumn("step alone", format="%.3f"),
            "measured ε of the step alone, at least": st.column_config.NumberColumn(
                "measured alone", format="%.3f"
            ),
            "then measured ε, at least": bound,
            "then runs": st.column_config.NumberColumn(format="localized"),
        },
        placeholder="",
    )
    csv_button("dpviz-audit-steps", table, "What it can see (CSV)", key="audit:steps table")


def _count(rows: list[steps.StepResult]) -> str:
    return f"{sum(row.found for row in rows)} of {len(rows)}"


def _steps_text(rows: list[steps.StepResult]) -> str:
    named: dict[str, dict[str, None]] = {}
    for row in rows:
        named.setdefault(CARDS[row.method].title, {})[row.step] = None
    return "; ".join(f"{method}: {', '.join(names)}" for method, names in named.items())


@st.fragment
def cost_overview() -> None:
    """Show for each method how much the sound variant raises or lowers the errors."""
    st.header("What soundness costs")
    left, right = st.columns([3, 1], vertical_alignment="bottom")
    left.markdown(
        "Errors of the sound and the published variant, by data set: DSG_C for WaveCluster, NICV "
        "divided by the NICV of the best k-means for other methods. Lower is better; ▲ and ▼ mark "
        "errors that soundness clearly raises or lowers: the 99% interval of the difference, draw "
        "by draw, is beyond a fifth of the published median.",
        help=COST_HELP,
    )
    budgets = sorted({row.epsilon for row in costs()})
    epsilon = right.segmented_control(
        "ε", budgets, default=budgets[1], key="audit:cost", required=True
    )
    table: dict[str, dict[str, str]] = {}
    for row in costs():
        if row.epsilon == epsilon and row.score in LESS_IS_BETTER:
            mark = {"worse": " ▲", "better": " ▼", "not clear": ""}[row.verdict]
            text = f"{readable(row.sound.median)} against {readable(row.published.median)}{mark}"
            table.setdefault(CARDS[row.method].title, {})[row.title] = text
    shown = pd.DataFrame.from_dict(table, orient="index").fillna("")
    shown.index.name = "method"
    st.dataframe(shown, height="content")
    csv_button("dpviz-what-soundness-costs", lambda: frame(costs()), "All figures (CSV)")
