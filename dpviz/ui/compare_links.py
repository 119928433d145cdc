"""Ways back to a run of the compare page: its explorer's link, and the command line."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from typing import Any

from dpviz.experiments.sweep import (
    Plan,
    Subject,
)
from dpviz.families import CARDS
from dpviz.privacy.ledger import Neighbours
from dpviz.reproduce import columns_option
from dpviz.ui.compare_runs import (
    SweepRequest,
    families_of,
    fitting,
)
from dpviz.ui.data_panel import UPLOAD
from dpviz.ui.settings import FILE_NAME
from dpviz.ui.state import format_value

#: Names in an explorer's link of the parameters that are called otherwise there.
_IN_LINK = {"grid": "g", "density": "p", "clusters": "k", "iterations": "t"}


def explorer_link(plan: Plan, data: str, method: str, epsilon: float, seed: int) -> dict[str, str]:
    """Link's parameters that show a run of a plan in its explorer.

    Parameters
    ----------
    plan
        Plan of one data set.
    data
        Name of that data set in links.
    method, epsilon, seed
        The run.
    """
    (subject,) = plan.subjects
    chosen = plan.parameters(subject, method)
    if isinstance(chosen.get("grid"), tuple):
        del chosen["grid"]  # a grid of counts brings its own cells
    values = {
        "data": data,
        "method": method,
        "variant": plan.variant,
        "neighbours": plan.neighbours.relation,
        "epsilon": float(epsilon),
        "seed": int(seed),
        **{_IN_LINK.get(name, name): value for name, value in chosen.items()},
    }
    if data == UPLOAD:
        values["domain"] = str(subject.bounds) if subject.bounds.declared else "data"
        values["outside"] = subject.outside
        if subject.dataset.counts is None:
            values["columns"] = columns_option(subject.dataset.columns)
    return {name: format_value(value) for name, value in values.items()}


def command_lines(request: SweepRequest) -> list[str]:
    """Lines that make all rows on the command line, each for one data set.

    A method with choices of its own, other than its defaults, has a line of its own.
    """
    lines = []
    for name, plan in request.plans.items():
        lines += [
            shlex.join(_command(request, name, plan, methods, number))
            for number, methods in enumerate(_alike(plan), start=1)
        ]
    return lines


def _alike(plan: Plan) -> list[tuple[str, ...]]:
    """Methods of a plan, those together that one command line can run."""
    special = [method for method in plan.methods if _own_options(plan, method)]
    others = tuple(method for method in plan.methods if method not in special)
    return [group for group in (others, *((method,) for method in special)) if group]


def _own_options(plan: Plan, method: str) -> dict[str, Any]:
    """Options of a plan for one method alone, where they are not its defaults."""
    defaults = {one.name: one.default for one in CARDS[method].parameters}
    own = {
        option.removeprefix(f"{method}."): value
        for option, value in plan.options.items()
        if option.startswith(f"{method}.")
    }
    return {name: value for name, value in own.items() if value != defaults[name]}


def _command(
    request: SweepRequest, name: str, plan: Plan, methods: Sequence[str], number: int
) -> list[str]:
    """Words of one command line."""
    subject = plan.subjects[0]
    listed = {
        "methods": methods,
        "epsilons": [format_value(epsilon) for epsilon in plan.epsilons],
        "scores": [score for family in families_of(methods) for score in plan.names(family)],
    }
    options: dict[str, Any] = {key: ",".join(dict.fromkeys(of)) for key, of in listed.items()}
    options |= {"repeats": len(plan.seeds), "variant": plan.variant}
    options["neighbours"] = plan.neighbours.relation
    shared = {name: value for name, value in plan.options.items() if "." not in name}
    for method in methods:
        options |= fitting(shared, methods) | _own_options(plan, method)
    words = ["python", "-m", "dpviz", "sweep", subject.dataset.name]
    if name == UPLOAD:
        options |= _own_words(subject, plan.neighbours, request.unit, methods)
        words += ["--counts"] if subject.dataset.counts is not None else []
    options["out"] = f"{FILE_NAME}-{name}-{number}.csv"
    return words + [word for key, value in options.items() for word in (f"--{key}", str(value))]


def _own_words(
    subject: Subject, neighbours: Neighbours, unit: str | None, methods: Sequence[str]
) -> dict[str, Any]:
    """Options that tell the command line how own data was read."""
    words: dict[str, Any] = {
        "domain": str(subject.bounds) if subject.bounds.declared else "data",
        "outside": subject.outside,
        **fitting(subject.settings, methods),
    }
    if subject.dataset.counts is not None:
        words.pop("grid", None)
        return words
    words["columns"] = columns_option(subject.dataset.columns)
    return words if unit is None else words | {"unit": unit, "cap": neighbours.cap}
