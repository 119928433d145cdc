"""The ``audit`` command: a lower bound on the real epsilon of a method."""

from __future__ import annotations

import argparse
import ast
import secrets
import shlex
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from dpviz.audit import AuditResult, audit, scenarios
from dpviz.audit.bounds import FEWEST
from dpviz.audit.external import BOX, audit_external
from dpviz.audit.method_file import RUNNER, add_file, told
from dpviz.audit.pairs import PAIRS, pairs
from dpviz.audit.runs import check_claim
from dpviz.audit.scenarios import find
from dpviz.audit.steps import BUGS, CLAIM, REASONS, StepResult, table
from dpviz.base.errors import InputError, shown
from dpviz.commands.output import progress_line
from dpviz.families import CARDS
from dpviz.family.comparison import Report
from dpviz.family.parameter import check_option
from dpviz.grid.domain import Domain

#: Options that only audits of an estimator or program have.
_OF_CODE = ("set", "publishes", "domain", "neighbours", "no-header", "markdown")

#: Limits of the process that runs anybody's code.
_LIMITS = ("seconds", "memory")


def audit_command(given: argparse.Namespace) -> tuple[Report, str]:
    """Audit one method in one scenario, list its scenarios, or show what an audit can detect.

    For an estimator or program of others, audit it on all pairs of data sets.
    """
    if given.command or ":" in (given.method or ""):
        return _external(given)
    if given.method is None:
        raise InputError(
            "METHOD is missing: give a method, FILE.py, MODULE:CLASS, FILE.py:CLASS or --command "
            "PROGRAM."
        )
    _refuse(given, _OF_CODE, "MODULE:CLASS, FILE.py:CLASS and --command")
    file = given.method.endswith(".py")
    _refuse(given, () if file else _LIMITS, "FILE.py, MODULE:CLASS, FILE.py:CLASS and --command")
    if len(given.claim) != 1:
        raise InputError(f'--claim "{_numbers(given.claim)}": give one number, for example 1.')
    if file:
        return _of_file(given)
    variant = given.variant or "sound"
    if given.list:
        listed = _scenarios(given.method, variant)
        return {"method": given.method, "variant": variant, "scenarios": listed}, _lines(listed)
    if given.steps:
        return _steps(given.method)
    result = audit(given.method, variant, **_how(given) | {"seed": given.seed or 0})
    return _as_report(result), _as_text(result)


def _how(given: argparse.Namespace) -> dict[str, Any]:
    return {
        "claim": given.claim[0], "runs": given.runs, "scenario": given.scenario,
        "seed": _seed(given), "progress": progress_line("runs"),
    }  # fmt: skip


def _of_file(given: argparse.Namespace) -> tuple[Report, str]:
    _refuse(given, ("variant", "steps"), "methods of dpviz")
    path, how = given.method, _how(given)
    limits = {"seconds": given.seconds, "memory": given.memory}
    if given.scenario not in PAIRS:
        check_claim(how["claim"])
    of_pair = given.scenario is None or given.scenario in PAIRS
    published = None
    # This part comes first, because it runs the code in a separate process.
    if of_pair and not given.list:
        published = audit_external(path, runner=RUNNER, **how | limits)
    method = add_file(path)
    variant = CARDS[method].taken("sound")
    own = _scenarios(method, variant)
    listed = [*own, *_of_pairs(many=True)]
    if given.list:
        return {"method": method, "variant": variant, "scenarios": listed}, _lines(listed)
    check_option("scenario", given.scenario or own[0]["name"], [one["name"] for one in listed])
    report: Report = {"seed": how["seed"]}
    texts: list[str] = []
    if given.scenario not in PAIRS:
        if not published:
            # This pair has similar data, and a fault there does not end this process.
            few = {"runs": FEWEST, "scenario": "empty"}
            audit_external(path, runner=RUNNER, **how | limits | few)
        with told(path):
            result = audit(method, variant, **how)
        report |= _as_report(result)
        texts.append(_as_text(result))
        if not published:
            words = ["dpviz", "audit", path, "--scenario", result.scenario]
            words += ["--claim", f"{result.claim!r}", "--runs", f"{result.runs}"]
            texts += ["Repeat", f"  {shlex.join([*words, '--seed', str(how['seed'])])}"]
    if published:
        report["published"] = asdict(published)
        texts += ["", "What a release of the method publishes", published.text()]
    if published and given.scenario is None:
        report["refuted"] = result.violated or published.violated
        texts.insert(0, f"Both parts: {'REFUTED' if report['refuted'] else 'not refuted'}\n")
    return report, "\n".join(texts).strip()


def _as_report(result: AuditResult) -> Report:
    # JSON calls the description "says".
    return {"says" if key == "description" else key: v for key, v in asdict(result).items()}


def _seed(given: argparse.Namespace) -> int:
    # Nobody can have prepared code for a new seed.
    return secrets.randbits(31) if given.seed is None else int(given.seed)


def _external(given: argparse.Namespace) -> tuple[Report, str]:
    if given.list:
        listed = _of_pairs()
        return {"scenarios": listed}, _lines(listed)
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
        runs=given.runs,
        scenario=given.scenario,
        box=BOX if given.domain is None else Domain.parse(given.domain).bounds,
        relation=given.neighbours or "add_remove",
        publishes=given.publishes,
        header=not given.no_header,
        seconds=given.seconds,
        memory=given.memory,
        seed=_seed(given),
        progress=progress_line("runs"),
    )
    return asdict(result), result.markdown() if given.markdown else result.text()


def _refuse(given: argparse.Namespace, names: Sequence[str], only: str) -> None:
    for name in names:
        value = getattr(given, name.replace("-", "_"))
        if value is not None and value is not False:  # but 0 is given
            raise InputError(f"--{name} applies only to {only}: leave it out.")


def _numbers(values: Sequence[float]) -> str:
    return ",".join(f"{value:g}" for value in values)


def parameter_of(text: str) -> tuple[str, Any]:
    """Name and value of a parameter; the value is a text if it is no literal of Python."""
    name, equals, value = text.partition("=")
    if not equals or not name.strip():
        raise InputError(f'--set "{shown(text)}" has no value: give NAME=VALUE.')
    try:
        return name.strip(), ast.literal_eval(value.strip())
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return name.strip(), value


def _scenarios(method: str, variant: str) -> list[dict[str, Any]]:
    find(method, variant)
    return [
        {"name": one.name, "planted": one.planted, "runs": one.runs, "says": one.description}
        for one in scenarios(method, variant)
    ]


def _of_pairs(*, many: bool = False) -> list[dict[str, Any]]:
    usual = pairs(many=many)
    return [
        {"name": one.name, "says": one.description + " (only with --scenario)" * (one not in usual)}
        for one in PAIRS.values()
    ]


def _lines(listed: Sequence[dict[str, Any]]) -> str:
    return "\n".join(f"{one['name']:<24} {one['says']}" for one in listed)


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
