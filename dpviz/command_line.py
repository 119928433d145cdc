"""The same functions and numbers as the screen, for scripts, classes and checks.

With ``--json`` exactly one JSON object goes to standard output, everything else to
standard error. Exit status: 0 done, 2 wrong input, 3 refused for privacy, 1 anything else.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any, NoReturn, TypeVar

import numpy as np
import pandas as pd

from dpviz.comparison import CELL_SCORES, Truth, run, true_config
from dpviz.config import SYNOPSES, Config
from dpviz.data.dataset import Dataset
from dpviz.data.read import read_counts, read_table
from dpviz.data.samples import load_sample, sample, sample_names
from dpviz.data.units import cap_records
from dpviz.domain import Domain
from dpviz.errors import InputError, PrivacyRefusal
from dpviz.methods import WAVECLUSTER, method
from dpviz.noise import SeededNoise
from dpviz.pipeline import Run, Source
from dpviz.privacy.claim import EXPLORATION, claim
from dpviz.privacy.ledger import RELATIONS, Ledger, Neighbours

T = TypeVar("T")
Report = dict[str, Any]

#: Grid and density for data that brings no better ones.
DEFAULT_GRID, DEFAULT_DENSITY = 64, 0.5


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; returns the exit status."""
    try:
        given = _parser().parse_args(_joined(sys.argv[1:] if arguments is None else arguments))
        report, text = given.command(given)
    except InputError as error:
        print(f"dpviz: {error}", file=sys.stderr)
        return 2
    except PrivacyRefusal as error:
        print(f"dpviz: refused: {error}", file=sys.stderr)
        return 3
    except KeyboardInterrupt:
        print("dpviz: interrupted.", file=sys.stderr)
        return 1
    except BrokenPipeError:
        return 1
    print(json.dumps(_plain(report), allow_nan=False) if given.json else text)
    return 0


# -- commands ----------------------------------------------------------------------------


def methods_command(given: argparse.Namespace) -> tuple[Report, str]:
    """List all methods with their variants and parameters."""
    cards = [asdict(entry.card) for entry in WAVECLUSTER.values()]
    lines = []
    for entry in WAVECLUSTER.values():
        card = entry.card
        lines.append(f"{card.name:<12} {card.title}: {card.summary}")
        lines.append(f"{'':<12} {card.paper}, {card.algorithm}")
        for variant in card.variants:
            verdict = "private" if variant.private else "not private"
            lines.append(f"{'':<12} {variant.name}: {verdict}. {variant.reason}")
    return {"methods": cards}, "\n".join(lines)


def sample_command(given: argparse.Namespace) -> tuple[Report, str]:
    """List the sample sets, or write one."""
    if given.list or given.name is None:
        listed = [asdict(sample(name)) for name in sample_names()]
        text = "\n".join(f"{one['name']:<12} {one['n']:>9,}  {one['title']}" for one in listed)
        return {"samples": listed}, text
    if given.out is None:
        raise InputError("--out is missing: name the file to write, for example --out points.csv.")
    data = load_sample(given.name)
    _write_table(pd.DataFrame(data.points, columns=list(data.columns)), given.out)
    report = {
        "name": data.name,
        "n": data.n,
        "columns": data.columns,
        "domain": data.domain.bounds if data.domain else None,
        "out": given.out,
    }
    return report, f"{data.n:,} points of {data.name} written to {given.out}"


def run_command(given: argparse.Namespace) -> tuple[Report, str]:
    """True and private runs of one method on one data set, with scores."""
    seconds: dict[str, float] = {}
    if given.labels and not Path(given.labels).resolve().parent.is_dir():
        raise InputError(f"--labels {given.labels}: that folder does not exist.")
    if given.cap is not None and given.unit is None:
        raise InputError(
            f"--cap {given.cap} needs --unit: name the column that tells persons apart."
        )
    if given.unit is not None and given.cap is None:
        raise InputError(
            f"--unit {given.unit} needs --cap: say how many records of a person count."
        )
    if given.repeats < 1:
        raise InputError(f"--repeats {given.repeats}: ask for 1 or more draws.")
    if not 0 <= given.seed < 2**63:
        raise InputError(f"--seed {given.seed}: give a whole number from 0.")
    with _timed(seconds, "read"):
        data = _load(given)
    config = _config(given, data)
    with _timed(seconds, "quantize"):
        domain = None if given.domain is None else _domain(given.domain, data)
        source = Source.build(data, config.grid, domain, given.outside)
    truth = Truth(source, true_config(config))
    with _timed(seconds, "true"):
        true_stages = truth.stages
    card = WAVECLUSTER[config.method].card
    seeds = [given.seed + repeat for repeat in range(given.repeats)] if card.spends else []
    with _timed(seconds, "private"):
        runs = [run(source, config, SeededNoise(seed)) for seed in seeds]
    with _timed(seconds, "metrics"):
        scores = _scores(truth, config, seeds, runs)
    if given.labels:
        private = runs[0] if runs else None
        _write_table(_labelled(data, source, truth, private, given), given.labels)
    verdict = claim(card, config, source.domain)
    report = {
        "note": EXPLORATION,
        "claim": asdict(verdict),
        "data": {
            "name": data.name,
            "n": source.n,
            "columns": data.columns,
            "outside": source.n_outside,
            "dropped": data.dropped,
            "notes": [*data.notes, *source.notices(config.level)],
        },
        "config": {
            **asdict(config),
            "grid": source.shape,
            "domain": source.domain.bounds,
            "domain_declared": source.domain.declared,
            "outside": given.outside,
            "seed": given.seed,
        },
        "true": _summary(truth, Run(config=config, stages=true_stages, ledger=Ledger())),
        "private": [
            {"seed": seed, **_summary(truth, one)} for seed, one in zip(seeds, runs, strict=True)
        ],
        "metrics": {name: _spread(values) for name, values in scores.items()},
        "ledger": [asdict(spend) for spend in runs[0].ledger] if runs else [],
        "seconds": seconds,
    }
    return report, _as_text(report)


def _scores(
    truth: Truth, config: Config, seeds: Sequence[int], runs: Sequence[Run]
) -> dict[str, list[float]]:
    """All scores of all draws, by name."""
    rows = []
    for seed, one in _progress(list(zip(seeds, runs, strict=True))):
        row = truth.scores(one.stages, CELL_SCORES)
        if truth.source.n > 1:
            row |= truth.agreement(config, seed)
        rows.append(row)
    return {name: [row[name] for row in rows] for name in rows[0]} if rows else {}


def _summary(truth: Truth, one: Run) -> Report:
    """Key figures of one run."""
    threshold = one.stages.threshold
    return {
        "k": one.k,
        "threshold": threshold.value,
        "positive": threshold.positive,
        "nonpositive": threshold.nonpositive,
        "significant": int(one.stages.significant.sum()),
        "n_clusters": one.stages.n_clusters,
        "cluster_sizes": one.stages.cluster_sizes,
        "noise_points": truth.noise_points(one.stages),
    }


def _spread(values: Sequence[float]) -> Report:
    """Mean, median and 5% to 95% band of one score."""
    low, median, high = np.quantile(values, [0.05, 0.5, 0.95])
    return {
        "mean": float(np.mean(values)),
        "median": median,
        "low": low,
        "high": high,
        "values": list(values),
    }


def _as_text(report: Report) -> str:
    """Report for people."""
    data, true = report["data"], report["true"]
    config = report["config"]
    grid = " x ".join(str(side) for side in config["grid"])
    lines = [
        f"{data['name']}: {data['n']:,} records, {data['outside']:,} outside the domain; "
        f"grid {grid}, p {config['density']:g}, {config['wavelet']} level {config['level']}",
        f"true     k {true['k']}  threshold {true['threshold']:g}  "
        f"clusters {true['n_clusters']}  noise points {true['noise_points']:,}",
    ]
    lines += [
        f"private  k' {one['k']}  threshold {one['threshold']:g}  "
        f"clusters {one['n_clusters']}  (seed {one['seed']})"
        for one in report["private"][:10]
    ]
    if len(report["private"]) > 10:
        lines.append(f"         ... and {len(report['private']) - 10} more draws")
    lines += [
        f"{name:<10} median {one['median']:.4f}  5-95% {one['low']:.4f} to {one['high']:.4f}"
        for name, one in report["metrics"].items()
    ]
    lines += [
        f"spent    {one['step']}: epsilon {one['epsilon']:g}, sensitivity "
        f"{one['sensitivity']:g}, noise scale {one['scale']:g}"
        for one in report["ledger"]
    ]
    lines += [f"note     {note}" for note in data["notes"]]
    verdict = report["claim"]
    lines.append(f"{'private' if verdict['private'] else 'NOT private'}: {verdict['reason']}")
    return "\n".join([*lines, report["note"]])


# -- input and output --------------------------------------------------------------------


def _load(given: argparse.Namespace) -> Dataset:
    """Read what DATA names, with the chosen columns and privacy unit."""
    if given.data in sample_names() and not Path(given.data).exists():
        if given.unit is not None:
            raise InputError(f"--unit {given.unit}: sample sets have no column of persons.")
        data = load_sample(given.data)
        return data.select(given.columns) if given.columns else data
    source = sys.stdin.buffer if given.data == "-" else given.data
    if given.counts:
        for option in ("unit", "columns", "no_header", "grid"):
            if getattr(given, option):
                name = option.replace("_", "-")
                raise InputError(
                    f"--{name} does not go with --counts: a grid of counts has cells, no records."
                )
        return read_counts(source)
    table = read_table(source, header=False if given.no_header else None)
    data = table.select(given.columns, unit=given.unit)
    if given.unit is None:
        return data
    return cap_records(data, given.cap, given.seed)


def _domain(text: str, data: Dataset) -> Domain | None:
    """Domain from the option; "data" reads it off the points."""
    if text != "data":
        return Domain.parse(text)
    if data.points is None:
        raise InputError('--domain data needs points; a grid of counts has its own: "lo,hi;lo,hi".')
    return Domain.from_data(data.points)


def _config(given: argparse.Namespace, data: Dataset) -> Config:
    """Parameters of the run; a sample set brings its own grid and density."""
    known = sample(data.name) if data.name in sample_names() else None
    card = method(given.method).card
    alpha = card.parameter("alpha")
    return Config(
        method=given.method,
        grid=_first(given.grid, known.grid if known else DEFAULT_GRID),
        density=_first(given.density, known.density if known else DEFAULT_DENSITY),
        wavelet=given.wavelet,
        level=given.level,
        epsilon=given.epsilon,
        alpha=_first(given.alpha, alpha.default if alpha else 0.5),
        variant=given.variant,
        synopsis=given.synopsis,
        neighbours=Neighbours(relation=given.neighbours, cap=given.cap or 1),
    )


def _first(given: T | None, usual: T) -> T:
    """Value of an option, or the usual one where it was not given (0 is given)."""
    return usual if given is None else given


def _labelled(
    data: Dataset, source: Source, truth: Truth, private: Run | None, given: argparse.Namespace
) -> pd.DataFrame:
    """Points with their true and private cluster; -1 = noise."""
    if data.points is None:
        raise InputError("--labels needs points: a grid of counts has no points to label.")
    frame = pd.DataFrame(data.points, columns=list(data.columns))
    frame["true_cluster"] = source.label(data.points, truth.stages, given.outside)
    if private:
        frame["private_cluster"] = source.label(data.points, private.stages, given.outside)
    return frame


def _write_table(frame: pd.DataFrame, path: str) -> None:
    """Write CSV or Parquet, by the name's ending."""
    try:
        if path.endswith((".parquet", ".pq")):
            frame.to_parquet(path, index=False)
        else:
            frame.to_csv(path, index=False)
    except OSError as error:
        raise InputError(f'"{path}" can\'t be written ({error}): choose another file.') from None


def _plain(value: Any) -> Any:
    """JSON-ready copy: arrays to lists, NumPy numbers to Python's, infinities to null."""
    if isinstance(value, dict):
        return {str(key): _plain(one) for key, one in value.items()}
    if isinstance(value, list | tuple | np.ndarray):
        return [_plain(one) for one in value]
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


@contextmanager
def _timed(seconds: dict[str, float], step: str) -> Iterator[None]:
    """Clock one step."""
    start = time.perf_counter()
    yield
    seconds[step] = round(time.perf_counter() - start, 6)


def _progress(items: list[Any]) -> Iterator[Any]:
    """Hand on items, with a line on a terminal that says how many are done."""
    shown = sys.stderr.isatty() and len(items) > 1
    for done, item in enumerate(items, start=1):
        yield item
        if shown:
            end = "\n" if done == len(items) else ""
            print(f"\r{done} of {len(items)} draws scored", end=end, file=sys.stderr)


# -- arguments ---------------------------------------------------------------------------


class _Parser(argparse.ArgumentParser):
    """Argument parser whose complaints are one sentence."""

    def error(self, message: str) -> NoReturn:
        """Raise instead of printing the usage."""
        raise InputError(f"{message}; see {self.prog} --help.")


def _joined(arguments: Sequence[str]) -> list[str]:
    """Let values begin with a minus sign: ``--domain "-180,180;-90,90"``."""
    joined: list[str] = []
    for argument in arguments:
        previous = joined[-1] if joined else ""
        is_value = argument[:1] == "-" and argument[1:2] in set("0123456789.")
        if is_value and previous.startswith("--") and "=" not in previous:
            joined[-1] = f"{previous}={argument}"
        else:
            joined.append(argument)
    return joined


def _number(kind: Callable[[str], Any], name: str) -> Callable[[str], Any]:
    """Type of an option: a number, or a sentence that says so."""

    def parse(text: str) -> Any:
        try:
            return kind(text)
        except ValueError:
            raise argparse.ArgumentTypeError(f'"{text}" is not {name}') from None

    return parse


def _grid(text: str) -> int | tuple[int, ...]:
    """``64`` or ``64,32``."""
    sides = tuple(int(side) for side in text.split(","))
    return sides[0] if len(sides) == 1 else sides


_WHOLE = _number(int, "a whole number")
_REAL = _number(float, "a number")


def _parser() -> argparse.ArgumentParser:
    """Parser of all commands."""
    parser = _Parser(prog="dpviz", description="Differentially private clustering, measured.")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")

    listing = _command(commands, "methods", methods_command, "list all methods", "methods --json")
    listing.add_argument("--json", action="store_true", help="print one JSON object")

    sets = _command(
        commands, "sample", sample_command, "write a sample set", "sample spirals --out spirals.csv"
    )
    sets.add_argument("name", nargs="?", metavar="NAME", help=", ".join(sample_names()))
    sets.add_argument("--list", action="store_true", help="list the sample sets")
    sets.add_argument("--out", metavar="FILE", help="csv or parquet file to write")
    sets.add_argument("--json", action="store_true", help="print one JSON object")

    running = _command(
        commands,
        "run",
        run_command,
        "true and private clusters of one data set, with scores",
        "run spirals --method privthr --epsilon 1 --repeats 10",
    )
    _add_common(running)
    running.add_argument("--method", required=True, help=", ".join(WAVECLUSTER))
    running.add_argument("--epsilon", type=_REAL, default=1.0, metavar="E", help="whole budget")
    running.add_argument("--alpha", type=_REAL, metavar="A", help="share of it for the counts")
    running.add_argument(
        "--grid",
        type=_number(_grid, "a whole number of cells or one per axis (64 or 64,32)"),
        metavar="G",
        help="cells per axis",
    )
    running.add_argument("--density", type=_REAL, metavar="P", help="p as a share, 0 to 1")
    running.add_argument("--wavelet", default="haar", metavar="W", help="discrete wavelet")
    running.add_argument("--level", type=_WHOLE, default=1, metavar="L", help="wavelet level")
    running.add_argument("--variant", default="sound", help="sound or published")
    running.add_argument(
        "--synopsis", default=SYNOPSES[0], help=f"of baseline: {', '.join(SYNOPSES)}"
    )
    running.add_argument("--repeats", type=_WHOLE, default=1, metavar="R", help="draws")
    running.add_argument("--labels", metavar="FILE", help="write the points with their clusters")
    return parser


def _command(
    commands: Any,
    name: str,
    command: Callable[[argparse.Namespace], tuple[Report, str]],
    description: str,
    example: str,
) -> argparse.ArgumentParser:
    """Add a command; its help ends with an example that runs."""
    parser: argparse.ArgumentParser = commands.add_parser(
        name,
        help=description,
        description=description,
        epilog=f"example: python -m dpviz {example}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.set_defaults(command=command, json=False)
    return parser


def _add_common(parser: argparse.ArgumentParser) -> None:
    """Options of every command that reads data."""
    parser.add_argument(
        "data",
        metavar="DATA",
        help="csv, tsv, parquet or npy file, - for standard input, or a sample set: "
        + ", ".join(sample_names()),
    )
    parser.add_argument("--counts", action="store_true", help="DATA is a grid of counts")
    parser.add_argument(
        "--columns", type=lambda text: text.split(","), metavar="A,B", help="names or numbers"
    )
    parser.add_argument("--no-header", action="store_true", help="the first line is data")
    parser.add_argument("--domain", metavar="D", help='"lo,hi;lo,hi", or data')
    parser.add_argument("--outside", default="clip", help="clip or drop points outside")
    parser.add_argument("--unit", metavar="COLUMN", help="column that tells persons apart")
    parser.add_argument("--cap", type=_WHOLE, metavar="M", help="most records of a person")
    parser.add_argument("--neighbours", default="add_remove", help=" or ".join(RELATIONS))
    parser.add_argument("--seed", type=_WHOLE, default=0, metavar="N", help="first seed")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
