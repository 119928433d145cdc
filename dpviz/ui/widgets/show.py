"""Elements that all pages share: figures, tables to save, buttons for jobs, expanders."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any
from weakref import WeakKeyDictionary

import streamlit as st

from dpviz.base.lazy import pandas as pd
from dpviz.base.numbers import readable
from dpviz.base.serialize import csv_bytes
from dpviz.experiments.utility import Spread
from dpviz.figures.panels import Panels
from dpviz.figures.theme import Mode
from dpviz.ui.session.job import Job
from dpviz.ui.session.state import UrlState
from dpviz.ui.widgets.about_picture import about_picture
from dpviz.ui.widgets.embed import HEIGHT, SHARE, embedded
from dpviz.ui.widgets.live_figure import Packed, live_figure, pack
from dpviz.ui.widgets.stamp import PUBLIC, Stamp


def theme_mode() -> Mode:
    """Light or dark mode of the page."""
    return "dark" if st.context.theme.type == "dark" else "light"


#: Panels in the form that is sent; sessions may share panels.
_PACKED: WeakKeyDictionary[Panels, Packed] = WeakKeyDictionary()


def show_panels(
    panels: Panels, stamp: Stamp, *, key: str, base_name: str, about: str, clickable: bool = False,
    boxable: bool = False, fills: bool = False, **more: Any,
) -> Any:  # fmt: skip
    """Show panels and the note on their publication, which saved pictures also contain.

    ``about`` is the name of the text of :mod:`dpviz.ui.widgets.about_picture` that is below the
    panels, except in the view for slides. The other arguments and the result are the same as in
    :func:`dpviz.ui.widgets.live_figure.live_figure`.
    """
    # Charts keep their title above, because their legend is below.
    fills = fills and "meta" in panels.layout and "legend" not in panels.layout
    layout = stamp.on_picture(panels.layout)
    if fills:
        layout |= _named_beside_ticks(layout)
    packed = _PACKED.get(panels) or pack({**panels.spec(), "pieces": panels.pieces})
    _PACKED[panels] = packed
    answer = live_figure(
        {"layout": layout, "packed": packed},
        key=key,
        height=min(panels.height, HEIGHT) if embedded() else panels.height,
        share=SHARE if embedded() else panels.share,
        least_width=panels.least_width,
        alt=f"{panels.alt} {stamp.line}.",
        pairs=panels.pairs,
        base_name=base_name,
        clickable=clickable,
        boxable=boxable,
        # In a slide, nothing may be below the end of the frame.
        fills=("all" if embedded() else "maps") if fills else "",
        **more,
    )
    if not embedded():
        about_picture(about)
    return answer


#: Maximum number of letters of a name that is before the first number of an axis.
_SHORT = 12

#: Pixels for the name of an axis below its numbers.
_NAME = 16


def _named_beside_ticks(layout: Mapping[str, Any]) -> dict[str, Any]:
    """Horizontal axes with a short name before the first number; below, it would be cut off."""
    named = {}
    for name, axis in layout.items():
        title = axis.get("title") if name.startswith("xaxis") else None
        text = title["text"] if title else ""
        if 0 < len(text) <= _SHORT:
            beside = {"tickprefix": f"<b>{text}</b> ", "showtickprefix": "first", "tickangle": 0}
            # Otherwise only the first number would have its unit.
            beside |= {"showexponent": "all", "showticksuffix": "all"}
            # There is no space before the first number of the other maps.
            named[name] = {**axis, "title": {"text": ""}, **(beside if name == "xaxis" else {})}
    if "xaxis" in named:  # nothing is below the numbers
        named["margin"] = {**layout["margin"], "b": layout["margin"]["b"] - _NAME}
    return named


def segments(
    state: UrlState,
    name: str,
    label: str,
    options: Mapping[Any, str],
    place: Any = st,
    **looks: Any,
) -> None:
    """Show a choice as a row of buttons; `options` maps values to titles."""
    place.segmented_control(
        label,
        tuple(options),
        **state.widget(name, "default"),
        format_func=options.__getitem__,
        required=True,
        **looks,
    )


def csv_button(
    name: str,
    table: pd.DataFrame | Callable[[], pd.DataFrame],
    label: str = "Table behind it (CSV)",
    *,
    stamp: Stamp = PUBLIC,
    key: str | None = None,
    place: Any = st,
    **looks: Any,
) -> None:
    """Show a button that saves a table; if ``table`` is a function, it is called after a click.

    ``name`` is a file name without extension; the label is Markdown. ``looks`` are arguments of
    ``st.download_button``.
    """
    place.download_button(
        label,
        lambda: csv_bytes(stamp.on_table(table() if callable(table) else table)),
        file_name=f"{name}.csv",
        mime="text/csv",
        key=key,
        on_click="ignore",
        **{"icon": ":material/download:", **looks},
    )


def spread_text(spread: Spread) -> str:
    """Median with its band."""
    return f"{readable(spread.median)} ({readable(spread.low)} to {readable(spread.high)})"


def job_button(
    job: Job | None,
    label: str,
    begin: Callable[[], object],
    *,
    key: str,
    cancel: str,
    cancel_key: str,
    **looks: Any,
) -> None:
    """Show a button that starts a job, or that stops the job while it runs. Its texts are Markdown.

    After ``begin`` has started the job, the page is redrawn. ``looks`` are arguments for
    ``st.button``, for the button that starts the job.
    """
    if job and job.running:
        st.button(
            cancel,
            key=cancel_key,
            on_click=job.cancel,
            disabled=job.cancelled,
            width="stretch",
            icon=":material/close:",
        )
    elif st.button(label, key=key, width="stretch", **looks):
        begin()
        st.rerun()


def lazy_expander(label: str, *, key: str, draw: Callable[[], object]) -> bool:
    """Show an expander that computes its content only while it is open; return its state."""
    with st.expander(label, key=key, on_change="rerun") as panel:
        if panel.open:
            draw()
    return bool(panel.open)
