"""A plotly figure that is changed in place: its zoom stays, and a change costs one redraw.

``st.plotly_chart`` makes a new chart for every change of the data. This component calls
``Plotly.react`` on one persistent element. Arrays are sent as raw bytes after a small JSON head.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from hashlib import blake2b
from typing import Any, Literal

import numpy as np
import streamlit as st

from dpviz.base.serialize import jsonable
from dpviz.ui.widgets.assets import component, plotly_url

# There is no shadow root, because plotly.js adds its style sheet to the document.
_mount = component("live_figure", isolate_styles=False)
_SENT_AS = {
    "f2": "f4", "f4": "f4", "f8": "f8", "i1": "i1", "i2": "i2", "i4": "i4", "i8": "f8",
    "u1": "u1", "u2": "u2", "u4": "u4", "u8": "f8", "b1": "u1",
}  # fmt: skip


def live_figure(
    figure: Mapping[str, Any], *, key: str, height: int, alt: str, share: float = 0.0,
    least_width: int = 0, pairs: Sequence[tuple[int, int]] = (), base_name: str = "figure",
    clickable: bool = False, boxable: bool = False, fills: Literal["", "maps", "all"] = "",
    note: Mapping[str, Any] | None = None, pick: Callable[[Any], object] | None = None,
) -> Any:  # fmt: skip
    """Show a figure (``data`` and ``layout`` of Plotly's JSON, with arrays), or redraw it in place.

    Instead of ``data`` and ``pieces``, the figure may have ``packed``, the result of :func:`pack`.

    The page's theme gives colours, fonts and grid lines that the figure does not set. Zoom and pan
    stay while ``layout.uirevision`` stays. Escape untrusted text, because Plotly reads tags. The
    figure has the larger of two heights: ``height`` in pixels, or ``share`` of the window's height.
    On a page of less than ``least_width`` pixels, the figure scrolls. With ``fills``, the maps (or
    the whole figure) end at the window's end if there is space; the title is below.

    ``pairs`` are numbers of heatmaps (true, private) of one shape. Both get ``customdata`` for
    hover texts: the value of the other heatmap, the error (private minus true), and the texts of
    column and row if ``meta`` has the lists ``across`` and ``up``.

    ``note`` describes one cluster: ``title``, ``text``, ``marks``, ``corner`` (panel, 1 for right,
    1 for bottom), and ``below``, the key of an expander with more text, or "". ``pick`` gets
    ``{"panel": ..., "number": ..., "on": ...}`` of a cluster that the user picks ``on`` a panel, or
    None when the note is closed. Words of the headline highlight the figure's ``pieces``; see
    :func:`dpviz.figures.wavecluster.damage.pieces`.

    Returns ``{"x": ..., "y": ..., "meta": ...}`` of a clicked point and its trace (``clickable``),
    ``{"x": [from, to], "y": [from, to]}`` of a drawn box (``boxable``), or None.
    """
    head = {
        "alt": alt,
        "height": height,
        "share": share,
        "least_width": least_width,
        "pairs": [*map(list, pairs)],
        "base_name": base_name,
        "key": key,
        "script": plotly_url(),
        "clickable": clickable,
        "boxable": boxable,
        "fills": fills,
        "note": note,
    }
    # With a callback, even an empty one, Streamlit reports a click only once.
    callbacks: dict[str, Any] = {"on_clicked_change": lambda: None} if clickable else {}
    callbacks |= {"on_boxed_change": lambda: None} if boxable else {}
    if pick is not None:
        callbacks["on_picked_change"] = lambda: pick(st.session_state[key].picked)
    found = _mount(key=key, data=encode(figure, head), **callbacks)
    return (clickable and found.clicked) or (boxable and found.boxed) or None


def encode(figure: Mapping[str, Any], head: Mapping[str, Any]) -> bytes:
    """Return a figure as bytes: length of the JSON head, head, arrays.

    The length has four bytes (little endian). The JSON head has the data of ``head`` and a list of
    the arrays (path, type, shape, offset). Each array starts at a multiple of eight.
    """
    body, places, arrays, digest = figure["packed"] if "packed" in figure else pack(figure)
    # The template is omitted, because it is large and the page's theme replaces it.
    layout = {name: part for name, part in figure["layout"].items() if name != "template"}
    first = _json({**head, "digest": digest})[:-1]
    drawn = f'{{"layout":{_json(layout)},{body}}}'
    text = f'{first},"arrays":{places},"figure":{drawn}}}'.encode()
    text += b" " * (-(len(text) + 4) % 8)
    return b"".join((len(text).to_bytes(4, "little"), text, arrays))


#: Traces and pieces of a figure as JSON text, places of their arrays as JSON, arrays, their digest.
Packed = tuple[str, str, bytes, str]


def pack(figure: Mapping[str, Any]) -> Packed:
    """Return the traces (``data``) and ``pieces`` of a figure in the form of :func:`encode`."""
    arrays: list[np.ndarray[Any, Any]] = []
    places: list[dict[str, Any]] = []
    parts = {name: figure.get(name, {}) for name in ("data", "pieces")}
    body = {name: _strip(part, [name], arrays, places) for name, part in parts.items()}
    joined: list[bytes] = []
    digest = blake2b(digest_size=8)
    for place, array in zip(places, arrays, strict=True):
        place["offset"] = sum(map(len, joined))
        digest.update(array.data)
        joined += [array.tobytes(), bytes(-array.nbytes % 8)]
    # With the digest the browser can skip a redraw if nothing has changed.
    return _json(body)[1:-1], _json(places), b"".join(joined), digest.hexdigest()


def _json(value: Any) -> str:
    def plain(one: Any) -> Any:
        return one.tolist() if isinstance(one, (np.generic, np.ndarray)) else str(one)

    def text(value: Any) -> str:
        return json.dumps(value, default=plain, separators=(",", ":"), allow_nan=False)

    try:
        return text(value)
    except ValueError:  # a browser can't read NaN; this copy is slow, so it is made only if needed
        return text(jsonable(value))


def _strip(
    value: Any, path: list[str | int], arrays: list[Any], places: list[dict[str, Any]]
) -> Any:
    if isinstance(value, dict):
        return {name: _strip(v, [*path, name], arrays, places) for name, v in value.items()}
    if isinstance(value, np.ndarray):
        kind = _SENT_AS.get(value.dtype.kind + str(value.dtype.itemsize))
        if kind is None or value.ndim not in (1, 2) or not value.size:
            return value.tolist()
        array = np.ascontiguousarray(value, dtype="<" + kind)
        arrays.append(array)
        places.append({"path": path, "type": kind, "shape": array.shape})
        return None
    if isinstance(value, (list, tuple)) and any(isinstance(v, (dict, np.ndarray)) for v in value):
        return [_strip(v, [*path, i], arrays, places) for i, v in enumerate(value)]
    return value
