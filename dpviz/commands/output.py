"""Output of the commands: tables, spreads of scores, spends, timed steps, progress."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from itertools import groupby
from typing import Any, BinaryIO, Literal, TypeVar

from dpviz.base.ending import say
from dpviz.base.errors import InputError, reason, shown
from dpviz.base.lazy import pandas as pd
from dpviz.base.replace import replacing
from dpviz.base.serialize import no_formulas
from dpviz.base.work import Progress
from dpviz.family.comparison import Report
from dpviz.metrics.bands import band, band_words
from dpviz.privacy.ledger import Spend
from dpviz.privacy.steps import together_words

T = TypeVar("T")

_PACKINGS: dict[str, Literal["gzip", "bz2", "xz", "zip", "zstd"]] = {
    ".gz": "gzip", ".bz2": "bz2", ".xz": "xz", ".zip": "zip", ".zst": "zstd",
}  # fmt: skip


def write_table(frame: pd.DataFrame, path: str) -> None:
    """Write CSV or Parquet, depending on the ending of the path."""
    packing = next((how for end, how in _PACKINGS.items() if path.endswith(end)), None)
    # Pass an open file, because pandas reads "http://..." as an address and needs UTF-8 names.
    with writing(path, f'"{shown(path, 120)}"') as file:
        if path.endswith((".parquet", ".pq")):
            frame.to_parquet(file, index=False)
        else:
            no_formulas(frame).to_csv(file, index=False, mode="wb", compression=packing)


@contextmanager
def writing(path: str, name: str) -> Iterator[BinaryIO]:
    """Open a file as ``replacing`` does; the error message for users begins with a name."""
    try:
        with replacing(path) as file:
            yield file
    except (OSError, ValueError) as error:
        raise InputError(
            f"{name} can't be written ({reason(error)}): choose another file."
        ) from None


def spread(values: Sequence[float]) -> Report:
    """Mean, median and band of one score, and its values."""
    return {**asdict(band(values)), "values": list(values)}


def metric_lines(metrics: dict[str, Report]) -> list[str]:
    """Readable lines, one per score; the score of a single draw has no band."""
    width = max(map(len, metrics), default=0)
    return [f"{name:<{width}}  {_spread_text(one)}" for name, one in metrics.items()]


def _spread_text(one: Report) -> str:
    if len(one["values"]) == 1:
        return f"{one['median']:.4g}"
    words = band_words(len(one["values"]))
    return f"median {one['median']:.4g}  {words} {one['low']:.4g} to {one['high']:.4g}"


def spend_lines(ledger: Sequence[Report]) -> list[str]:
    """Readable lines of spends; parallel spends share a line, also equal consecutive spends."""
    return [_spend_line(list(group)) for _, group in groupby(ledger, key=_alike)]


def _alike(spend: Report) -> tuple[Any, ...]:
    if spend["composition"] == "parallel":
        return ("parallel", spend["step"])
    # Compare rounded values, because the last of equal shares contains the rounding error.
    return tuple(f"{spend[name]:.4g}" for name in ("epsilon", "sensitivity", "scale"))


def _spend_line(spends: list[Report]) -> str:
    first, last = spends[0], spends[-1]
    epsilon, scale = (_range([one[name] for one in spends]) for name in ("epsilon", "scale"))
    steps, each = first["step"], ""
    if first["composition"] == "parallel":
        each = f" in {len(spends)} disjoint parts; only the largest cost is counted"
    elif len(spends) > 1:
        between = "and" if len(spends) == 2 else "to"
        steps, each = f"{steps} {between} {last['step']}", f" in each of {len(spends)} steps"
    kept = ("step", "epsilon", "sensitivity", "scale")
    together = together_words(Spend(**{name: one[name] for name in kept}) for one in spends)
    return (
        f"spent    {steps}: epsilon {epsilon}{each}, sensitivity {first['sensitivity']:.4g}, "
        f"noise scale {scale}{together}"
    )


def _range(values: list[float]) -> str:
    ends = list(dict.fromkeys(f"{end:.4g}" for end in (min(values), max(values))))
    return " to ".join(ends)


@contextmanager
def timed(seconds: dict[str, float], step: str) -> Iterator[None]:
    """Measure the duration of one step."""
    start = time.perf_counter()
    yield
    seconds[step] = round(time.perf_counter() - start, 6)


def progress_line(steps: str) -> Progress | None:
    """Progress line on a terminal; None if standard error is not a terminal."""

    def show(done: int, total: int) -> None:
        say(f"\r{done:,} of {total:,} {steps}", end="\n" if done == total else "")

    return show if sys.stderr.isatty() else None


def progress(items: list[T], done_word: str) -> Iterator[T]:
    """Yield items; show on a terminal how many items were drawn or scored so far."""
    show = progress_line(f"draws {done_word}") if len(items) > 1 else None
    for done, item in enumerate(items, start=1):
        yield item
        if show:
            show(done, len(items))
