"""The lines that repeat a run, in Python and on the command line."""

from __future__ import annotations

import shlex
from dataclasses import dataclass

from dpviz.config import Config
from dpviz.domain import Domain, Outside
from dpviz.methods import WAVECLUSTER

#: Parameters that make no sense for a grid of counts.
_OF_POINTS = ("grid", "domain", "outside")


@dataclass(frozen=True, kw_only=True)
class Reproduction:
    """What a run depends on, as a person would type it.

    Parameters
    ----------
    data
        Name of a sample set, or a file.
    columns
        Chosen columns of a file; None for a sample set.
    counts
        Whether the file is a grid of counts.
    domain, outside, config, seed
        As in the run.
    """

    data: str
    columns: tuple[str, ...] | None
    counts: bool = False
    domain: Domain
    outside: Outside
    config: Config
    seed: int

    @property
    def spends(self) -> bool:
        """Whether the method takes a budget."""
        return WAVECLUSTER[self.config.method].card.spends

    @property
    def bounds(self) -> str:
        """The domain as the parameter takes it."""
        return str(self.domain) if self.domain.declared else "data"


def python_lines(run: Reproduction) -> str:
    """Python with the estimators that repeats a run."""
    config, name = run.config, WAVECLUSTER[run.config.method].card.estimator
    given: dict[str, object] = {"epsilon": config.epsilon} if run.spends else {}
    given |= {"grid": config.grid, "density": config.density, "domain": run.bounds}
    for parameter in ("alpha", "synopsis"):
        if WAVECLUSTER[config.method].card.parameter(parameter):
            given[parameter] = getattr(config, parameter)
    given |= {"wavelet": config.wavelet, "level": config.level, "outside": run.outside}
    if run.spends:
        given |= {"variant": config.variant, "random_state": run.seed}
    if run.columns is None:
        load, points = "load_sample", f"load_sample({run.data!r}).points"
    else:
        load, points = "read_table", f"read_table({run.data!r}).select({run.columns!r}).points"
    fit = "fit(X)"
    if run.counts:
        load, points = "read_counts", f"read_counts({run.data!r}).counts"
        fit = f"fit_counts(X, {str(run.domain)!r})"
        given = {name: value for name, value in given.items() if name not in _OF_POINTS}
    arguments = ",\n".join(f"    {parameter}={value!r}" for parameter, value in given.items())
    return (
        f"from dpviz import {name}, {load}\n\nX = {points}\n"
        f"model = {name}(\n{arguments},\n).{fit}\n"
        "print(model.n_clusters_, model.ledger_)"
    )


def command(run: Reproduction) -> str:
    """Command line that repeats a run."""
    config = run.config
    parts: list[object] = ["python", "-m", "dpviz", "run", run.data, "--method", config.method]
    grid = config.grid if isinstance(config.grid, int) else ",".join(map(str, config.grid))
    if run.counts:
        parts += ["--counts"]
    else:
        parts += ["--columns", ",".join(run.columns)] if run.columns else []
        parts += ["--grid", grid]
    parts += ["--density", config.density, "--domain", run.bounds]
    parts += ["--wavelet", config.wavelet, "--level", config.level, "--outside", run.outside]
    if run.spends:
        parts += ["--epsilon", config.epsilon, "--variant", config.variant, "--seed", run.seed]
    for parameter in ("alpha", "synopsis"):
        if WAVECLUSTER[config.method].card.parameter(parameter):
            parts += [f"--{parameter}", getattr(config, parameter)]
    return shlex.join(str(part) for part in parts)
