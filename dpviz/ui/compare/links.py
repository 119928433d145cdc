"""How to repeat a run of the compare page: by a link to its explorer, or by a command."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import Any

from dpviz.commands.commands import columns_option
from dpviz.experiments.sweep import Plan
from dpviz.families import CARDS, PARAMETERS
from dpviz.ui.compare.runs import SweepRequest, families_of, fitting, is_sample
from dpviz.ui.data.state import UPLOAD
from dpviz.ui.session.state import format_value


def explorer_link(
    plan: Plan, data: str, method: str, epsilon: float, seed: int, step: Mapping[str, float] | None
) -> dict[str, str]:
    """Link to a run of a one-data-set plan; ``data`` is the set's name in links."""
    (subject,) = plan.subjects
    chosen = plan.parameters(subject, method, step)
    if subject.dataset.counts is not None:
        chosen.pop("grid", None)  # a grid of counts has its own cells
    values = {
        "data": data if is_sample(subject) else UPLOAD,
        "method": method,
        "variant": plan.variant,
        "neighbours": plan.neighbours.relation,
        "epsilon": float(epsilon),
        "seed": int(seed),
        **{PARAMETERS[name].link: value for name, value in chosen.items()},
    }
    if not is_sample(subject):
        values |= _reading(plan, {})
    return {name: format_value(value) for name, value in values.items()}


def file_words(request: SweepRequest, name: str) -> tuple[str, ...]:
    """Name or path of a data set, and how it is read, as words of a command line."""
    return (name == UPLOAD and request.file) or (request.subjects[name].dataset.name,)


def command_lines(request: SweepRequest) -> list[str]:
    """Command lines for all rows; on each data set, a method with own options has its own line."""
    lines = []
    for name, plan in request.plans.items():
        special = [(method,) for method in plan.methods if _own_options(plan, method)]
        others = tuple(method for method in plan.methods if (method,) not in special)
        groups = filter(None, (others, *special))
        lines += [
            shlex.join(_command(request, name, methods, number))
            for number, methods in enumerate(groups, start=1)
        ]
    return lines


def python_lines(request: SweepRequest) -> str:
    """Python code that makes all rows of the sample sets; "" if there are none."""
    names = [name for name, one in request.subjects.items() if is_sample(one)]
    if not names:
        return ""
    plan = request.plans[names[0]]
    given = [one.name for one in fields(plan) if one.name != "subjects"]
    subjects = "".join(f"subject_of_sample({name!r}), " for name in names)
    arguments = "".join(f"    {name}={getattr(plan, name)!r},\n" for name in given)
    return (
        "from dpviz.experiments.sweep import Plan, run_sweep, subject_of_sample\n"
        "from dpviz.privacy.ledger import Neighbours\n\n"
        f"plan = Plan(\n    subjects=({subjects.rstrip()}),\n{arguments})\n"
        "table = run_sweep(plan)\nprint(table)"
    )


def _own_options(plan: Plan, method: str) -> dict[str, Any]:
    defaults = {one.name: one.default for one in CARDS[method].parameters}
    options = ((option.rpartition("."), value) for option, value in plan.options.items())
    return {
        name: value for (of, _, name), value in options if of == method and value != defaults[name]
    }


def _command(request: SweepRequest, name: str, methods: Sequence[str], number: int) -> list[str]:
    plan, subject = request.plans[name], request.subjects[name]
    lists = {
        "methods": methods,
        "epsilons": [format_value(epsilon) for epsilon in plan.epsilons],
        "scores": [
            score for family in families_of(methods) for score in plan.names(family, subject)
        ],
    }
    options: dict[str, Any] = {key: ",".join(dict.fromkeys(one)) for key, one in lists.items()}
    options |= {"repeats": len(plan.seeds), "seed": plan.seeds[0], "variant": plan.variant}
    options["neighbours"] = plan.neighbours.relation
    if plan.values:
        options["axis"] = plan.axis
        options["values"] = ",".join(format_value(value) for value in plan.values)
    shared = {option: value for option, value in plan.options.items() if "." not in option}
    options |= fitting(shared, methods)
    for method in methods:
        options |= _own_options(plan, method)
    words = ["python", "-m", "dpviz", "sweep", *file_words(request, name)]
    if not is_sample(subject):
        options |= _reading(plan, fitting(subject.settings, methods))
        if subject.dataset.counts is not None:
            words.append("--counts")
        elif name == UPLOAD and request.unit is not None:
            options |= {"unit": request.unit, "cap": plan.neighbours.cap}
    options["out"] = f"{request.stamp.file}-{name}-{number}.csv"
    return words + [
        word for key, value in options.items() for word in (f"--{key}", format_value(value))
    ]


def _reading(plan: Plan, settings: Mapping[str, Any]) -> dict[str, Any]:
    (subject,) = plan.subjects
    bounds = subject.bounds(plan.variant)
    words = {"domain": str(bounds) if bounds.declared else "data", "outside": subject.outside}
    words |= settings
    if subject.dataset.counts is None:
        classes = subject.dataset.classes
        words |= {} if classes is None else {"classes": classes.column}
        return words | {"columns": columns_option(subject.dataset.columns)}
    words.pop("grid", None)  # a grid of counts has its own cells
    return words
