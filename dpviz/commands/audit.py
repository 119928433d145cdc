"""The ``audit`` command: a lower bound on the real epsilon of a method."""

from __future__ import annotations

import argparse
from dataclasses import asdict

from dpviz.audit import AuditResult, audit, scenarios
from dpviz.audit.scenarios import find
from dpviz.audit.steps import BUGS, CLAIM, REASONS, StepResult, table
from dpviz.commands.output import progress_line
from dpviz.family.comparison import Report


def audit_command(given: argparse.Namespace) -> tuple[Report, str]:
    """Audit one method in one scenario, list its scenarios, or show what an audit can detect."""
    if given.list:
        return _listed(given.method, given.variant)
    if given.steps:
        return _steps(given.method)
    result = audit(
        given.method,
        given.variant,
        claim=given.claim,
        runs=given.runs,
        scenario=given.scenario,
        seed=given.seed,
        progress=progress_line("runs"),
    )
    # JSON calls the description "says".
    report = {"says" if name == "description" else name: v for name, v in asdict(result).items()}
    return report, _as_text(result)


def _listed(method: str, variant: str) -> tuple[Report, str]:
    find(method, variant)
    listed = [
        {"name": one.name, "planted": one.planted, "runs": one.runs, "says": one.description}
        for one in scenarios(method, variant)
    ]
    lines = [f"{one['name']:<24} {one['says']}" for one in listed]
    return {"method": method, "variant": variant, "scenarios": listed}, "\n".join(lines)


def _steps(method: str) -> tuple[Report, str]:
    find(method, "sound")
    rows = [row for row in table() if row.method == method]
    shown = [asdict(row) | {"found": row.found, "why": row.reason} for row in rows]
    lines = [
        f"{row.step:<24} {row.share:>6.1%} of epsilon, {BUGS[row.factor]:<14} measured "
        f"{row.bound:.3g} or more with {row.runs:,} runs{_alone(row)}: "
        + (f"out of sight, {REASONS[row.reason]}" if row.reason else "found")
        for row in rows
    ]
    return {"method": method, "claim": CLAIM, "steps": shown}, "\n".join(lines)


def _alone(row: StepResult) -> str:
    if row.alone is None:
        return ""
    return f"; the step alone loses {row.alone:.3g} or more, its share is {row.alone_share:.3g}"


def _as_text(result: AuditResult) -> str:
    bound = f"{result.epsilon_lower:.3g} or more with {result.confidence:.0%} confidence"
    refuted = "the planted mistake is found" if result.planted else "REFUTED"
    verdict = (
        f"{refuted}: claimed epsilon {result.claim:g}, measured {bound}"
        if result.violated
        else f"not refuted: claimed epsilon {result.claim:g}, measured {bound}; this proves nothing"
    )
    return "\n".join(
        [
            f"{result.method}, {result.variant}, scenario {result.scenario}",
            result.description,
            f"{result.runs:,} runs on each data set",
            result.event,
            verdict,
        ]
    )
