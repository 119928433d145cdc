"""The benchmark page: methods and peers at equal epsilon, and the privacy promise of each."""

from __future__ import annotations

import html
from collections.abc import Iterable, Sequence
from dataclasses import replace

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from dpviz.base.lazy import pandas as pd
from dpviz.base.numbers import decimals, readable
from dpviz.experiments.benchmark import (
    SCORES,
    VALUES,
    Benchmark,
    SetFacts,
    benchmark,
    best_on,
    is_reference,
    over_sets,
    promises,
    title_of,
)
from dpviz.experiments.lost import lost, reason_of
from dpviz.families import FAMILIES, score_of
from dpviz.figures.compare import lines
from dpviz.metrics.bands import ENOUGH, band_words
from dpviz.ui.messages import plain_text, show_caption, show_info
from dpviz.ui.session.state import Control, UrlState, choice
from dpviz.ui.widgets.assets import style
from dpviz.ui.widgets.show import csv_button, lazy_expander, segments, show_panels, theme_mode
from dpviz.ui.widgets.stamp import PUBLIC

ALL = "all"

GROUPS = {"unseen": "Fresh", "seen": "Tuned on", ALL: "All"}
_TOLD = {
    "unseen": "Fresh: no constant was chosen on them",
    "seen": "Tuned on: constants may have been chosen on them",
}
_GROUPS_HELP = (
    "Fresh: no constant of our methods was chosen on these sets. "
    "Tuned on: constants may have been chosen on these sets, so our methods may look too good "
    "there."
)
COLUMNS = {ALL: "any", "2": "2", "3-8": "3 to 8", "9-": "9 and more"}
_RANGES = {ALL: (1, 10_000), "2": (2, 2), "3-8": (3, 8), "9-": (9, 10_000)}
KINDS = ("dense", "sparse", "thin", "geographic", "mixture", "measured", "sample")

#: Note on figures and tables; the domain of each set is the range of its data.
_STAMP = replace(PUBLIC, fails="the boxes span the data")

STYLE = style("benchmark")


def page_state() -> UrlState:
    """All controls of the page, with values from the link or the session."""
    return UrlState(
        "benchmark",
        {
            "family": Control(next(iter(FAMILIES)), choice("family", tuple(FAMILIES))),
            "score": Control(SCORES[0], choice("score", SCORES)),
            "group": Control("unseen", choice("group", tuple(GROUPS))),
            "kind": Control(ALL, choice("kind", (ALL, *KINDS))),
            "columns": Control(ALL, choice("columns", tuple(COLUMNS))),
            "set": Control(ALL, choice("set", (ALL, *benchmark().sets))),
            "value": Control(VALUES[0], choice("value", VALUES)),
        },
    )


def build(state: UrlState) -> None:
    """Show the page: choices, curves, table, promises, sets."""
    st.html(STYLE)
    found = benchmark()
    if found.cells.empty:
        show_info("There are no results yet: make bench-utility ARGS=--publish measures them.")
        state.write()
        return
    sets = _controls(state, found)
    family, score, value = state.get("family"), state.get("score"), state.get("value")
    cells = found.rows(family, score, [one.name for one in sets])
    if cells.empty:
        show_caption("No set of this choice has results.")
    else:
        everybody = _methods(found.rows(family, score, tuple(found.sets)))
        _figures(cells, sets, score, value, everybody)
        csv_button(
            "dpviz-benchmark",
            lambda: cells.merge(_facts(sets), left_on="data", right_on="name").drop(columns="name"),
            stamp=_STAMP,
            key="benchmark:csv",
        )
        _lost(cells, sets, family, score, value)
        _promises(cells)
    _sets(found, state)
    _made(found)
    state.write()


def _controls(state: UrlState, found: Benchmark) -> list[SetFacts]:
    left, right = st.columns([1, 2])
    titles = {name: family.title for name, family in FAMILIES.items()}
    segments(state, "family", "Family", titles, left)
    family = state.get("family")
    titles = {name: score_of(name).label for name in found.scores(family)}
    if titles:
        if state.get("score") not in titles:
            state.set("score", next(iter(titles)))
        segments(state, "score", "Score", titles, right)
    places = st.columns([3, 1.3, 1.3, 2.2, 1.6])
    segments(state, "group", "Sets", GROUPS, places[0], help=_GROUPS_HELP)
    group = found.chosen(family, group=state.get("group"))
    kinds = [name for name in KINDS if any(one.kind == name for one in group)]
    _select(state, "kind", "Kind", {name: name for name in (ALL, *kinds)}, places[1])
    ranges = {name: COLUMNS[name] for name in _column_choices(group)}
    _select(state, "columns", "Columns", ranges, places[2])
    sets = _chosen(state, found, state.get("group"))
    names = {ALL: "average of all", **{one.name: one.title for one in sets}}
    _select(state, "set", "Set", names, places[3])
    titles = {name: name.title() for name in VALUES}
    segments(state, "value", "Of the draws", titles, places[4])
    return [one for one in sets if state.get("set") in (ALL, one.name)]


def _chosen(state: UrlState, found: Benchmark, group: str) -> list[SetFacts]:
    columns = _RANGES[state.get("columns")]
    return found.chosen(state.get("family"), group=group, kind=state.get("kind"), columns=columns)


def _select(
    state: UrlState, name: str, label: str, titles: dict[str, str], place: DeltaGenerator
) -> None:
    if state.get(name) not in titles:
        state.set(name, ALL)
    place.selectbox(label, **state.choice(name, tuple(titles)), format_func=titles.__getitem__)


def _column_choices(group: Sequence[SetFacts]) -> tuple[str, ...]:
    there = [
        name
        for name, (low, high) in _RANGES.items()
        if name != ALL and any(low <= one.columns <= high for one in group)
    ]
    return (ALL, *there) if len(there) > 1 else (ALL,)


def _figures(
    cells: pd.DataFrame,
    sets: Sequence[SetFacts],
    score: str,
    value: str,
    everybody: Sequence[tuple[str, str]],
) -> None:
    known = score_of(score)
    lower = known.better == "<="
    single = cells["data"].nunique() == 1
    small = {}
    if single:
        (name,) = set(cells["data"])
        one = next(one for one in sets if one.name == name)
        table, title = cells, f"{known.title} on {one.title}"
        what = f"{value.title()} of {_draws(cells)}; small: {_ends(cells)}."
        if one.beaten:
            what += (
                " A private run led to a better clustering than the search without noise "
                f"(by {100 * one.beaten:.2g}%), so this better clustering is the reference."
            )
    else:
        table, number = over_sets(cells, value, geometric=known.log)
        for end in ("low", "high"):
            ends, _ = over_sets(cells, end, geometric=known.log)
            table = table.merge(ends, on=["method", "variant", "epsilon"])
        mean = "Geometric mean" if known.log else "Mean"
        of_all = "" if number == len(sets) else f" of {len(sets)}, on which all methods ran"
        title = f"{known.title}, {mean.lower()} over {number} sets"
        what = (
            f"{mean} over {number} sets{of_all}, of the {value} of {_draws(cells)}. Small letters "
            f"show the same mean of both ends of the band ({_ends(cells)}), and the number of sets "
            f"on which this {value} alone is the best. No test says whether that is chance."
        )
        best = best_on(cells, value, lower=lower)
        small = {key: f"best {value} on {won} of {ran}" for key, (won, ran) in best.items()}
    for row in table.itertuples():
        key = (row.method, row.variant, row.epsilon)
        band = f"{_number(row.low)} – {_number(row.high)}" if row.low < row.high else ""
        small[key] = "\n".join(filter(None, (band, small.get(key, ""))))
    show_panels(
        lines(table, value, score=score, title=title, mode=theme_mode()),
        _STAMP,
        key="benchmark:figure",
        base_name="dpviz-benchmark",
        about="benchmark",
    )
    st.html(_table(table, value, small, lower=lower))
    show_caption(what + f" {known.axis}.")
    there = {title_of(*key) for key in _methods(table)}
    lacking = sorted({title_of(*key) for key in everybody} - there)
    if lacking:
        fewer = "No results here of" if single else "Too few of these sets have results of"
        show_caption(f"{fewer} {', '.join(lacking)}.")


def _draws(cells: pd.DataFrame) -> str:
    own = _real(cells)["draws"]
    low, high = int(own.min()), int(own.max())
    return f"{high} draws" if low == high else f"{low} to {high} draws"


def _ends(cells: pd.DataFrame) -> str:
    draws = _real(cells)["draws"]
    words = band_words(int(draws.max()))
    if draws.min() >= ENOUGH or draws.min() == draws.max():
        return words
    return f"{words}; all draws if there are fewer than {ENOUGH} draws"


def _real(cells: pd.DataFrame) -> pd.DataFrame:
    own = cells[[not is_reference(method) for method in cells["method"]]]
    return cells if own.empty else own


def _methods(table: pd.DataFrame) -> list[tuple[str, str]]:
    return list(dict.fromkeys(zip(table["method"], table["variant"], strict=True)))


def _table(
    table: pd.DataFrame, value: str, small: dict[tuple[str, str, float], str], *, lower: bool
) -> str:
    wide = table.pivot_table(index=["method", "variant"], columns="epsilon", values=value)
    real = wide[[not is_reference(method) for method, _ in wide.index]]
    best = real.min() if lower else real.max()
    order = wide.rank(ascending=lower).mean(axis=1).sort_values().index
    order = sorted(order, key=lambda key: is_reference(key[0]))
    rows = []
    for key in order:
        cells = []
        for epsilon, number in wide.loc[key].items():
            first = key in real.index and number == best[epsilon]
            below = html.escape(small.get((*key, epsilon), ""))
            text = f"{'★ ' if first else ''}{_number(number)}"
            look = ' class="dpv-best"' if first else ""
            cells.append(f"<td{look}>{text}<small>{below}</small></td>")
        name = f'<th scope="row">{html.escape(title_of(*key))}</th>'
        look = ' class="dpv-line"' if is_reference(key[0]) else ""
        rows.append(f"<tr{look}>{name}{''.join(cells)}</tr>")
    return _html(["Method", *(f"ε {epsilon:g}" for epsilon in wide.columns)], rows)


def _html(heads: Sequence[str], rows: Iterable[str], look: str = "dpv-bench") -> str:
    head = "".join(f'<th scope="col">{html.escape(name)}</th>' for name in heads)
    return (
        f'<div class="dpv-scroll"><table class="{look}"><thead><tr>{head}</tr></thead>'
        f"<tbody>{''.join(rows)}</tbody></table></div>"
    )


def _number(value: float) -> str:
    if 1000 <= value < 1e7:
        return f"{value:,.0f}"
    return readable(value) if value >= 10 or 0 < value < 0.01 else decimals(value)


def _lost(
    cells: pd.DataFrame, sets: Sequence[SetFacts], family: str, score: str, value: str
) -> None:
    first = FAMILIES[family].first
    rows = lost(cells, first, value, lower=score_of(score).better == "<=")
    number = int(((cells["method"] == first) & (cells["variant"] == "sound")).sum())
    if not number:
        return
    title = title_of(first)

    def draw() -> None:
        show_caption(
            f"A case is a set and an ε. In each case below, another private method, a peer or an "
            f"answer that reads no data has a better {value}. In brackets: {_ends(cells)}."
        )
        told = []
        for one in sets:
            own = rows[rows["data"] == one.name]
            if len(own):
                said = "\n".join(
                    f"ε {row.epsilon:g}: {_number(row.own)} ({_number(row.low)} – "
                    f"{_number(row.high)}), {title_of(row.rival, row.variant)} "
                    f"{_number(row.best)}"
                    for row in own.itertuples()
                )
                why = reason_of(family, one) or "not explained yet"
                group = GROUPS["seen" if one.seen_by(family) else "unseen"].lower()
                told.append((f"{one.title}\n{group}", said, why))
        heads = ("Set", f"{title}, and who is better", "Why")
        st.html(_rows(pd.DataFrame(told, columns=heads), heads))

    if rows.empty:
        show_caption(
            f"No other {value} is better than that of {title} in {number} cases. A case is a set "
            "and an ε."
        )
    else:
        label = (
            f"Where another {value} is better than that of {title}: {len(rows)} of {number} cases"
        )
        lazy_expander(plain_text(label), key="benchmark:lost", draw=draw)


def _promises(cells: pd.DataFrame) -> None:
    st.markdown("**Who promises what**")
    rows = promises(sorted(_methods(cells), key=lambda key: title_of(*key).casefold()))
    heads = ["Method", "Made by", "Guarantee", "To know"]
    if not rows.iloc[:, -1].any():
        rows, heads = rows.iloc[:, :-1], heads[:-1]
    st.html(_rows(rows, heads))


def _rows(rows: pd.DataFrame, heads: Sequence[str]) -> str:
    body = (
        "<tr>" + "".join(f"<td>{html.escape(str(one))}</td>" for one in row) + "</tr>"
        for row in rows.itertuples(index=False)
    )
    return _html(heads, body, "dpv-bench dpv-words")


def _facts(sets: Sequence[SetFacts]) -> pd.DataFrame:
    names = ("name", "kind", "seen", "known", "records", "columns", "grid", "density", "clusters")
    rows = [{name: getattr(one, name) for name in names} for one in sets]
    return pd.DataFrame([row | {"known": " ".join(row["known"])} for row in rows])


def _sets(found: Benchmark, state: UrlState) -> None:
    both = {group: _chosen(state, found, group) for group in _TOLD}

    def draw() -> None:
        for group, sets in both.items():
            if sets:
                st.markdown(f"**{_TOLD[group]} ({len(sets)})**")
                _facts_table(found, sets)

    label = ", ".join(f"{len(sets)} {GROUPS[group].lower()}" for group, sets in both.items())
    lazy_expander(plain_text(f"Sets: {label}"), key="benchmark:sets", draw=draw)


def _facts_table(found: Benchmark, sets: Sequence[SetFacts]) -> None:
    measured = set(found.cells["data"])
    rows = [
        (
            one.title,
            one.kind,
            f"{one.records:,} × {one.columns}",
            _choices(one),
            one.credit + (f" Missing: {one.missing}" if one.name not in measured else ""),
        )
        for one in sets
    ]
    heads = ("Set", "Kind", "Records × columns", "Public choices", "Credit")
    st.html(_rows(pd.DataFrame(rows), heads))


def _choices(one: SetFacts) -> str:
    signs = {"g": one.grid, "p": one.density, "K": one.clusters}
    return ", ".join(f"{sign} {value:g}" for sign, value in signs.items() if value is not None)


def _made(found: Benchmark) -> None:
    low, high = found.made["seeds"]
    versions = ", ".join(f"{name} {number}" for name, number in found.made["versions"].items())
    missing = [f"{one.title}: {one.missing}" for one in found.sets.values() if one.missing]
    show_caption(
        f"Seeds {low} to {high}; no constant was chosen with them. All methods have the same "
        f"domain, the range of the set. So no run is private, and these curves show only utility. "
        f"{versions}."
    )
    left_out = [*missing, *found.notes]
    if left_out:
        items = "".join(f"<li>{html.escape(one)}</li>" for one in left_out)
        lazy_expander(
            plain_text(f"Left out ({len(left_out)})"),
            key="benchmark:left-out",
            draw=lambda: st.html(f'<ul class="dpv-list">{items}</ul>'),
        )
