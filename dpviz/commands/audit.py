"""The ``audit`` command: a lower bound on the real epsilon of a method."""

from __future__ import annotations

import argparse
import ast
import secrets
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from dpviz.audit import AuditResult, audit, scenarios
from dpviz.audit.external import BOX, MEMORY, RUNS, SECONDS, audit_external
from dpviz.audit.method_file import RUNNER, add_file
from dpviz.audit.pairs import PAIRS
from dpviz.audit.scenarios import find
from dpviz.audit.steps import BUGS, CLAIM, REASONS, StepResult, table
from dpviz.base.errors import InputError, shown
from dpviz.commands.output import progress_line
from dpviz.family.comparison import Report
from dpviz.grid.domain import Domain

#: Options that only audits of an estimator or program have.
_OF_CODE = (
    "set", "publishes", "domain", "neighbours", "no-header", "seconds", "memory", "markdown",
)  # fmt: skip


def audit_command(given: argparse.Namespace) -> tuple[Report, str]:
    """Audit one method in one scenario, list its scenarios, or show what an audit can detect.

    Or audit anybody's estimator or program on all pairs of data sets.
    """
    if given.command or ":" in (given.method or ""):
        return _external(given)
    if given.method is None:
        raise InputError(
            "METHOD is missing: give a method, FILE.py, MODULE:CLASS, FILE.py:CLASS or --command "
            "PROGRAM."
        )
    _refuse(given, _OF_CODE, "MODULE:CLASS, FILE.py:CLASS and --command")
    if len(given.claim) != 1:
        raise InputError(f'--claim "{_numbers(given.claim)}": give one number, for example 1.')
    variant = given.variant or "sound"
    file = given.method if given.method.endswith(".py") else None
    if file:
        given.method = add_file(file)
    if given.list:
        return _listed(given.method, variant)
    if given.steps:
        return _steps(given.method)
    _refuse(given, ["variant"] if file else (), "methods of dpviz")
    how = {
        "claim": given.claim[0], "runs": given.runs, "scenario": given.scenario,
        "seed": _seed(given) if file else given.seed or 0, "progress": progress_line("runs"),
    }  # fmt: skip
    report: Report = {}
    texts: list[str] = []
    if not (file and given.scenario in PAIRS):
        result = audit(given.method, variant, **how)
        # JSON calls the description "says".
        report = {"says" if key == "description" else key: v for key, v in asdict(result).items()}
        texts.append(_as_text(result))
    if file and (given.scenario is None or given.scenario in PAIRS):
        # The noisy answers are not all that a file may publish.
        how |= {"runs": RUNS if given.runs is None else given.runs, "seconds": 6 * SECONDS}
        published = audit_external(file, runner=RUNNER, **how)
        report["published"] = asdict(published)
        texts += ["", "All that the method publishes", published.text()]
    return report, "\n".join(texts).strip()


def _seed(given: argparse.Namespace) -> int:
    # Nobody can have prepared code for a new seed.
    return secrets.randbits(31) if given.seed is None else int(given.seed)


def _external(given: argparse.Namespace) -> tuple[Report, str]:
    if given.list:
        listed = [
            {
                "name": one.name,
                "says": one.description + " (only with --scenario)" * (not one.usual),
            }
            for one in PAIRS.values()
        ]
        lines = [f"{one['name']:<24} {one['says']}" for one in listed]
        return {"scenarios": listed}, "\n".join(lines)
    if given.command and given.method:
        raise InputError(f"--command and {shown(given.method)}: give only one of both.")
    _refuse(given, ("steps", "variant"), "methods of dpviz")
    if not 1 <= len(given.claim) <= 2:
        raise InputError(
            f'--claim "{_numbers(given.claim)}": give epsilon, or epsilon and delta, for example '
            "1,1e-6."
        )
    result = audit_external(
        given.method,
        command=given.command,
        given=dict(map(parameter_of, given.set or ())),
        claim=given.claim[0],
        delta=given.claim[1] if len(given.claim) == 2 else 0.0,
        runs=RUNS if given.runs is None else given.runs,
        scenario=given.scenario,
        box=BOX if given.domain is None else Domain.parse(given.domain).bounds,
        relation=given.neighbours or "add_remove",
        publishes=given.publishes,
        header=not given.no_header,
        seconds=SECONDS if given.seconds is None else given.seconds,
        memory=MEMORY if given.memory is None else given.memory,
        seed=_seed(given),
        progress=progress_line("runs"),
    )
    return asdict(result), result.markdown() if given.markdown else result.text()


def _refuse(given: argparse.Namespace, names: Sequence[str], only: str) -> None:
    """Raise InputError if an option is given that applies only to something else."""
    for name in names:
        value = getattr(given, name.replace("-", "_"))
        if value is not None and value is not False:  # but 0 is given
            raise InputError(f"--{name} applies only to {only}: leave it out.")


def _numbers(values: Sequence[float]) -> str:
    return ",".join(f"{value:g}" for value in values)


def parameter_of(text: str) -> tuple[str, Any]:
    """Name and value of a parameter; a value that is no literal of Python is a text."""
    name, equals, value = text.partition("=")
    if not equals or not name.strip():
        raise InputError(f'--set "{shown(text)}" has no value: give NAME=VALUE.')
    try:
        return name.strip(), ast.literal_eval(value.strip())
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return name.strip(), value


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
