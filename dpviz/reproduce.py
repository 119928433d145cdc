"""The lines that repeat a run, in Python and on the command line."""

from __future__ import annotations

import shlex
from dataclasses import dataclass

from dpviz.config import Config
from dpviz.domain import Domain, Outside
from dpviz.methods import METHODS

_CLASSES = {
    "wavecluster": "WaveCluster",
    "baseline": "Baseline",
    "privqt": "PrivQT",
    "privthr": "PrivTHR",
    "privthrem": "PrivTHREM",
}


@dataclass(frozen=True, kw_only=True)
class Reproduction:
    """What a run depends on, as a person would type it.

    Parameters
    ----------
    data
        Name of a sample set, or a file.
    columns
        Chosen columns of a file; None for a sample set.
    domain, outside, config, seed
        As in the run.
    """

    data: str
    columns: tuple[str, ...] | None
    domain: Domain
    outside: Outside
    config: Config
    seed: int

    @property
    def spends(self) -> bool:
        """Whether the method takes a budget."""
        return METHODS[self.config.method].card.spends

    @property
    def bounds(self) -> str:
        """The domain as the parameter takes it."""
        return str(self.domain) if self.domain.declared else "data"


def python_lines(run: Reproduction) -> str:
    """Python with the estimators that repeats a run."""
    config, name = run.config, _CLASSES[run.config.method]
    given: dict[str, object] = {"epsilon": config.epsilon} if run.spends else {}
    given |= {"grid": config.grid, "density": config.density, "domain": run.bounds}
    for parameter in ("alpha", "synopsis"):
        if METHODS[config.method].card.parameter(parameter):
            given[parameter] = getattr(config, parameter)
    given |= {"wavelet": config.wavelet, "level": config.level, "outside": run.outside}
    if run.spends:
        given |= {"variant": config.variant, "random_state": run.seed}
    if run.columns is None:
        load, points = "load_sample", f"load_sample({run.data!r}).points"
    else:
        load, points = "read_table", f"read_table({run.data!r}).select({run.columns!r}).points"
    arguments = ",\n".join(f"    {parameter}={value!r}" for parameter, value in given.items())
    return (
        f"from dpviz import {name}, {load}\n\nX = {points}\n"
        f"model = {name}(\n{arguments},\n).fit(X)\n"
        "print(model.n_clusters_, model.ledger_)"
    )


def command(run: Reproduction) -> str:
    """Command line that repeats a run."""
    config = run.config
    parts: list[object] = ["python", "-m", "dpviz", "run", run.data, "--method", config.method]
    if run.columns:
        parts += ["--columns", ",".join(run.columns)]
    grid = config.grid if isinstance(config.grid, int) else ",".join(map(str, config.grid))
    parts += ["--grid", grid, "--density", config.density, "--domain", run.bounds]
    parts += ["--wavelet", config.wavelet, "--level", config.level, "--outside", run.outside]
    if run.spends:
        parts += ["--epsilon", config.epsilon, "--variant", config.variant, "--seed", run.seed]
    for parameter in ("alpha", "synopsis"):
        if METHODS[config.method].card.parameter(parameter):
            parts += [f"--{parameter}", getattr(config, parameter)]
    return shlex.join(str(part) for part in parts)
