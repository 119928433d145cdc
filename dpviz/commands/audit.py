"""The ``audit`` command: a lower bound on the real epsilon of a method."""

from __future__ import annotations

import argparse
import sys
from dataclasses import asdict

from dpviz.audit import AuditResult, audit, scenarios
from dpviz.audit.scenarios import find
from dpviz.commands.output import Report
from dpviz.ending import say


def audit_command(given: argparse.Namespace) -> tuple[Report, str]:
    """Audit one method in one scenario, or list its scenarios."""
    if given.list:
        return _listed(given.method, given.variant)
    result = audit(
        given.method,
        given.variant,
        claim=given.claim,
        runs=given.runs,
        scenario=given.scenario,
        seed=given.seed,
        progress=_progress if sys.stderr.isatty() else None,
    )
    return asdict(result), _as_text(result)


def _listed(method: str, variant: str) -> tuple[Report, str]:
    """Scenarios of a method and variant."""
    find(method, variant)
    listed = [
        {"name": one.name, "planted": one.planted, "runs": one.runs, "says": one.says}
        for one in scenarios(method, variant)
    ]
    lines = [f"{one['name']:<24} {one['says']}" for one in listed]
    return {"method": method, "variant": variant, "scenarios": listed}, "\n".join(lines)


def _as_text(result: AuditResult) -> str:
    """Result for people."""
    bound = f"{result.epsilon_lower:.3g} or more with {result.confidence:.0%} confidence"
    refuted = "the planted mistake is found" if result.planted else "REFUTED"
    verdict = (
        f"{refuted}: claimed epsilon {result.claim:g}, measured {bound}"
        if result.violated
        else f"not refuted: claimed epsilon {result.claim:g}, measured {bound}; that proves nothing"
    )
    return "\n".join(
        [
            f"{result.method}, {result.variant}, scenario {result.scenario}",
            result.says,
            f"{result.runs:,} runs on each data set",
            result.event,
            verdict,
        ]
    )


def _progress(done: int, total: int) -> None:
    """Line on a terminal."""
    end = "\n" if done == total else ""
    say(f"\r{done:,} of {total:,} runs", end=end)
