"""The table and the figure of the compare page for LaTeX."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from dpviz.base.arrays import Floats
from dpviz.base.latex import Lines, figure, table
from dpviz.base.lazy import pandas as pd
from dpviz.base.numbers import readable
from dpviz.experiments.sweep import Subject
from dpviz.families import CARDS, score_of
from dpviz.family.parameter import EPSILON, Parameter
from dpviz.figures.compare import Chart, Line, line_columns, summary_frame
from dpviz.metrics.bands import end_names


def latex_table_of(
    charts: Sequence[Chart],
    axis: Parameter,
    subjects: Iterable[Subject],
    *,
    caption: str,
    label: str,
    cited: str,
) -> str:
    """The summary behind the curves: a row for each data set, score, method, budget and value.

    Numbers of a score on a data set have equally many decimals, which show two digits of the
    typical standard error. If this changes a number by more than a tenth, it has four digits.
    """
    frame, titles = summary_frame(charts, axis), {one.name: one.title for one in subjects}
    draws = frame["draws"] if len(frame) else [1]
    over = [] if axis.name == EPSILON.name else [axis]
    head = ["data", "score", "method", "ε", *(one.sign for one in over)]
    head += ["draws", "mean", "s.e.", "median", *end_names(min(draws), max(draws))]
    failing = {(chart.data, method) for chart in charts for method in chart.failing}
    rows = [
        [
            titles.get(row["data"], row["data"]),
            score_of(row["score"]).title,
            _titled(row["method"], private=(row["data"], row["method"]) not in failing),
            f"{row['epsilon']:g}",
            *(f"{row[one.column]:g}" for one in over),
            str(row["draws"]),
            *numbers,
        ]
        for row, numbers in zip(frame.to_dict("records"), _numbers(frame), strict=True)
    ]
    return table(head, rows, caption, label, cited)


_NUMBERS = ("mean", "standard_error", "median", "low", "high")


def _numbers(frame: pd.DataFrame) -> list[list[str]]:
    texts = pd.DataFrame("", frame.index, _NUMBERS)
    for _, part in frame.groupby(["data", "score"]):
        values = part[[*_NUMBERS]].to_numpy(dtype=float)
        digits = _decimals(part["standard_error"].to_numpy(dtype=float), values)
        for name, column in zip(_NUMBERS, values.T, strict=True):
            is_whole = np.isfinite(column).all() and (column == np.rint(column)).all()
            least = min(digits, 0) if is_whole and name != "mean" else digits
            texts.loc[part.index, name] = [_written(one, least) for one in column]
    return [list(row) for row in texts.itertuples(index=False, name=None)]


def _decimals(errors: Floats, values: Floats) -> int:
    known, sizes = errors[errors > 0], np.abs(values[np.isfinite(values) & (values != 0)])
    if known.size:
        return 1 - math.floor(math.log10(np.median(known)))
    return 3 - math.floor(math.log10(sizes.max())) if sizes.size else 0


def _written(value: float, digits: int) -> str:
    rounded = round(value, digits) + 0.0 if math.isfinite(value) else value
    if not abs(rounded) < 1e7 or abs(rounded - value) > 0.1 * abs(value):
        return readable(value, 4)
    return f"{rounded:,.{max(digits, 0)}f}".replace("-", "−")


def _titled(method: str, *, private: bool) -> str:
    return CARDS[method].title + ("" if private else ", not private")


def latex_figure_of(
    charts: Sequence[Chart], axis: Parameter, line: Line, *, caption: str, label: str, cited: str
) -> str:
    """The curves: a picture for each panel, with the lines of the screen, and bands."""
    main, *thin = line_columns(line)

    def points(chart: Chart, *names: str) -> dict[str, list[Any]]:
        columns = [axis.column, *names]
        return {
            _titled(method, private=method not in chart.failing): list(
                rows[columns].astype(float).itertuples(index=False, name=None)
            )
            for method, rows in chart.table.groupby("method", sort=False)
        }

    panels = [
        Lines(
            title=chart.heading,
            lines=points(chart, main, "low", "high"),
            thin=points(chart, *thin) if thin else {},
        )
        for chart in charts
    ]
    if thin:
        caption += f" Thin lines: {thin[0]}s."
    scores = dict.fromkeys(chart.score for chart in charts)
    names = ", ".join(score_of(name).title for name in scores)
    logs = (axis.log, all(score_of(name).log for name in scores))
    return figure(panels, (axis.sign, names), logs, caption, label, cited)
