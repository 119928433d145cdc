"""Settings of maps: the scale of their axes, and lines in the background."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import streamlit as st

from dpviz.base.errors import InputError
from dpviz.data.background import MOST_BYTES, Background, read_background
from dpviz.data.scale import Axes
from dpviz.figures.ground import Ground
from dpviz.grid.domain import Domain
from dpviz.ui.data.domain_panel import cut_out
from dpviz.ui.data.panel import ActiveData
from dpviz.ui.messages import errors_shown, show_caption, show_error
from dpviz.ui.session.classroom import is_guest
from dpviz.ui.session.state import Control, UrlState, choice
from dpviz.ui.session.uploads import keep

AXES: dict[Axes, str] = {
    "auto": "by names and extents",
    "lonlat": "longitude, latitude",
    "equal": "one unit",
    "free": "different units",
}

_OWN = "map:own"


def map_controls() -> dict[str, Control]:
    """Controls of the panel, as in the link."""
    return {
        "axes": Control("auto", choice("axes", tuple(AXES)), shared=True),
        "lines": Control("shown", choice("lines", ("shown", "hidden")), shared=True),
    }


def map_panel(state: UrlState, active: ActiveData) -> Ground:
    """Show the panel; return scale and background of the maps."""
    columns = [active.dataset.columns[axis] for axis in active.axes]
    domain = active.domain.select(active.axes)
    with st.popover("Map", icon=":material/map:", width="stretch"):
        st.radio(
            "The two axes are",
            **state.choice("axes", tuple(AXES)),
            format_func=AXES.__getitem__,
            help="Axes with the same unit have the same scale. Longitude and latitude have the "
            "correct scale at the middle latitude.",
        )
        st.radio(
            "Coastlines and borders",
            **state.choice("lines", ("shown", "hidden")),
            horizontal=True,
            help="Lines of Natural Earth (1:50 million, public domain), accurate to some "
            "kilometres. They are drawn beneath data with longitude and latitude.",
        )
        own = None if is_guest() else _own_lines(domain)
        ground = Ground(axes=state.get("axes"), earth=state.get("lines") == "shown", own=own)
        scale = ground.scale(columns, domain)
        kept = "Equal scale" if scale.ratio else "Scales of their own"
        show_caption(f"{kept}: {scale.reason}.")
    return ground


def _own_lines(domain: Domain) -> Background | None:
    file = st.file_uploader(
        "Own background: GeoJSON of lines or polygons",
        type=["geojson", "json"],
        key="map:file",
        max_upload_size=MOST_BYTES // 2**20,
        help="The file has the coordinates of the two axes. You declare it public: it is drawn "
        "beneath the data here, and no run and no release reads it.",
    )
    keep("map", [] if file is None else [file])
    token = None if file is None else file.file_id
    known: dict[str, Any] = st.session_state.setdefault(_OWN, {"token": None, "lines": None})
    if file is not None and token != known["token"]:
        known |= {"token": token, "error": ""}
        try:
            known["lines"] = read_background(file.getvalue(), file.name)
        except InputError as error:
            known["error"] = str(error)
    if known.get("error"):
        show_error(known["error"])
    lines: Background | None = known["lines"]
    if lines is not None:
        if st.button("Remove the background", key="map:remove"):
            known["lines"] = lines = None
        else:
            show_caption(lines.missing(domain) or f"Drawn: {lines.name}")
    return lines


def cell_words(ground: Ground, columns: Sequence[str], domain: Domain, shape: Sequence[int]) -> str:
    """Sentence on the size of a cell; "" unless the unit of the axes is a length."""
    sides = [(hi - lo) / side for (lo, hi), side in zip(domain.bounds, shape, strict=True)]
    words = ground.scale(columns, domain).lengths((sides[0], sides[1]))
    return f"A cell of the grid is about {words}." if words else ""


def can_draw_box(active: ActiveData) -> bool:
    """Whether a box on the picture can become the domain: all other columns must have bounds."""
    return active.dataset.counts is None and (active.dataset.ndim == 2 or active.domain.declared)


def take_box(state: UrlState, active: ActiveData, box: Any) -> None:
    """Set the declared domain to a box that was drawn on the picture, with rounded bounds."""
    if not box or not can_draw_box(active):
        return
    bounds = list(active.domain.bounds)
    with errors_shown():
        for axis, ends in zip(active.axes, rounded_box(box["x"], box["y"]).bounds, strict=True):
            bounds[axis] = ends
        cut_out(state, str(Domain(tuple(bounds))), seen=True)
        st.rerun(scope="app")


def rounded_box(*axes: Sequence[float]) -> Domain:
    """Bounds of a box that was drawn, with few digits."""
    return Domain(tuple(_round(min(ends), max(ends)) for ends in axes))


def _round(low: float, high: float) -> tuple[float, float]:
    digits = 1 - int(f"{high - low:e}".partition("e")[2]) + 1
    return round(low, digits), round(high, digits)
