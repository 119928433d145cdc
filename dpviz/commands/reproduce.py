"""Code that repeats a run, in Python and on the command line."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from dpviz.commands.commands import columns_option
from dpviz.families import CARDS, family_of
from dpviz.family.card import Card
from dpviz.family.trial import Configuration
from dpviz.grid.domain import Domain, Outside


@dataclass(frozen=True, kw_only=True)
class Reproduction:
    """All values that a run depends on, in the form that a user would type.

    ``columns`` is None for a sample set. Options for a file are as in :func:`dpviz.read_table`.
    """

    data: str
    columns: tuple[str, ...] | None
    counts: bool = False
    unit: str | None = None
    classes: str | None = None
    sheet: str | None = None
    skip: int | None = None
    encoding: str | None = None
    missing: tuple[str, ...] = ()
    leave_out: bool = False
    domain: Domain
    outside: Outside
    config: Configuration
    seed: int

    @property
    def card(self) -> Card:
        """Card of the method."""
        return CARDS[self.config.method]

    @property
    def options(self) -> dict[str, object]:
        """Values of the command-line options, by name without ``--``."""
        config, spends = self.config, self.card.spends
        given: dict[str, object] = {"epsilon": config.epsilon} if spends else {}
        given |= family_of(config.method).choices(config)
        if self.counts:  # The grid of counts determines its cells.
            given.pop("grid", None)
        given["domain"] = str(self.domain) if self.domain.declared else "data"
        given["outside"] = self.outside
        if self.unit is not None:
            given |= {"unit": self.unit, "cap": config.neighbours.cap}
        # A sample set includes its classes.
        if self.classes is not None and self.columns is not None:
            given["classes"] = self.classes
        if spends:
            given |= {"variant": config.variant, "seed": self.seed}
        if spends and config.neighbours.relation != "add_remove":
            given["neighbours"] = config.neighbours.relation
        return given


def python_lines(run: Reproduction) -> str:
    """Python code that repeats a run with an estimator."""
    family = family_of(run.config.method)
    python = {one.name: one.python for one in family.parameters} | {"seed": "random_state"}
    given = {python.get(name, name): value for name, value in run.options.items()}
    fit = "fit(X)"
    if run.counts and family.fits_counts:
        fit = f"fit_counts(X, {str(run.domain)!r})"
        del given["domain"], given["outside"]
    if given.pop("unit", None) is not None:
        if run.card.spends:
            fit = "fit(X, units=units)"
        else:
            del given["cap"]
    given.pop("classes", None)
    loader, lines = _loading(run)
    score = ""
    if run.classes is not None:
        # Records that are left out have no cluster.
        part = "[model.domain_.contains(X)]" if run.outside == "drop" else ""
        labels = f"data.classes.codes{part}, (model.labels_ + 1){part}"
        score = f"\nprint(f_measure(contingency({labels})))"
    name = run.card.estimator
    arguments = ",\n".join(f"    {parameter}={value!r}" for parameter, value in given.items())
    return (
        f"from dpviz import {name}, {loader}\n\n{lines}\n"
        f"model = {name}(\n{arguments},\n).{fit}\n"
        f"print(model.{family.found}, model.ledger_){score}"
    )


def _loading(run: Reproduction) -> tuple[str, str]:
    loader, data = _points(run)
    if run.unit is None and run.classes is None:
        return loader, f"X = {data}"
    data = data.removesuffix(".points")
    # Limit the records here, because the estimator would also label records above the cap.
    if run.unit is not None and (run.classes is not None or not run.card.spends):
        loader += "\nfrom dpviz.data.units import cap_records"
        data = f"cap_records({data}, {run.config.neighbours.cap})"
    if run.classes is not None:
        loader += "\nfrom dpviz.metrics.matching import contingency, f_measure"
    if run.unit is not None and run.card.spends:
        return loader, f"data = {data}\nX, units = data.points, data.units"
    return loader, f"data = {data}\nX = data.points"


def _points(run: Reproduction) -> tuple[str, str]:
    file = ", ".join([repr(run.data), *(f"{name}={one!r}" for name, one in _reading(run).items())])
    if run.counts and not family_of(run.config.method).fits_counts:
        # Records of a grid of counts are at the centres of their cells.
        return (
            "Domain, read_counts\nfrom dpviz.kmeans.records import Records",
            f"Records.build(read_counts({file}), Domain.parse({str(run.domain)!r})).points",
        )
    if run.counts:
        return "read_counts", f"read_counts({file}).counts"
    if run.columns is None:
        return "load_sample", f"load_sample({run.data!r}).points"
    others = "".join(
        f", {name}={column!r}"
        for name, column in (("unit", run.unit), ("classes", run.classes))
        if column is not None
    )
    if run.leave_out:
        file, others = (f'{given}, unreadable="leave out"' for given in (file, others))
    return "read_table", f"read_table({file}).select({run.columns!r}{others}).points"


def _reading(run: Reproduction) -> dict[str, Any]:
    said: dict[str, Any] = {"part": run.sheet, "skip": run.skip, "encoding": run.encoding}
    said["missing"] = run.missing or None
    names = ("part",) if run.counts else tuple(said)
    return {name: said[name] for name in names if said[name] is not None}


def reading_words(given: Mapping[str, Any]) -> list[str]:
    """Options for reading a file, as words of a command line."""
    texts = {one: columns_option(x) if isinstance(x, tuple) else x for one, x in given.items()}
    return [f"--{one}={text}" for one, text in texts.items()]  # it may begin with a minus sign


def command(run: Reproduction) -> str:
    """Command line that repeats a run."""
    parts: list[object] = ["python", "-m", "dpviz", "run", run.data]
    parts += ["--method", run.config.method]
    parts += reading_words(_reading(run))
    if run.counts:
        parts.append("--counts")
    elif run.columns:
        parts += ["--columns", columns_option(run.columns)]
    if run.leave_out:
        parts.append("--leave-out")
    for name, value in run.options.items():
        sides = ",".join(map(str, value)) if isinstance(value, tuple) else value
        parts += [f"--{name}", sides]
    return shlex.join(str(part) for part in parts)
