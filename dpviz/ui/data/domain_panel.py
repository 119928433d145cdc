"""Bounds of the grid: declared by the user, or read from the data and marked as not private."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import streamlit as st

from dpviz.base.errors import InputError, listed, shown
from dpviz.base.numbers import readable
from dpviz.data.cities import box_around, cities, city_of, city_width
from dpviz.data.dataset import Dataset
from dpviz.data.geographic import Placed, check_bounds, mixed_up
from dpviz.data.scale import Axes, scale_of
from dpviz.family.card import VariantName
from dpviz.grid.domain import Domain
from dpviz.ui.data.state import DataState, bounds_of, note_bounds, noted_bounds
from dpviz.ui.messages import plain_text, show_caption, show_error, show_warning
from dpviz.ui.session.state import UrlState, following, latest, working
from dpviz.ui.widgets.show import lazy_expander

#: A box reveals something about the data if the user drew it on a picture, or if it leaves out
#: distant points.
DRAWN = (
    "This box was chosen by a look at the data: it counts as declared only if public knowledge "
    "alone would have led you to the same bounds. Change bounds for which this is not true."
)

#: Session entry with the last box that came from a look at the data. All pages share this box and
#: the domain.
DRAWN_KEY = "app:domain:drawn"

#: Largest possible bounds of longitude and latitude.
_WORLD = Domain(((-180.0, 180.0), (-90.0, 90.0)))


def domain_panel(
    state: DataState,
    dataset: Dataset,
    identity: str,
    *,
    axes: tuple[int, int] = (0, 1),
    far: Domain | None = None,
) -> Domain:
    """Show the panel of the explorers; return the current bounds.

    The control "domain" is empty (then the variant decides, as in ``run_domain``), "data",
    "declared" (the data set has declared bounds, or the user will type bounds), or the typed
    bounds. Bounds are "declared" only if the data set has declared bounds or the user typed bounds
    of every column; a proposal read from the data is not "declared". ``axes`` are the positions of
    the two columns that are shown. Points outside the box ``far`` are far from all other points, so
    the range of the data does not include them.
    """
    _fit(state, dataset)
    setting = state.get("domain") or _of_variant(dataset, state.get("variant"))
    with st.popover("Domain", icon=":material/crop_free:", width="stretch"):
        if dataset.counts is None:
            _kind(state, identity, setting)
        if setting != "data":
            _boxes(state, dataset, identity, setting)
        if degrees := _degrees(state, dataset, axes):
            lazy_expander(
                "A box around a city",
                key=f"{state.page}:domain:cities",
                draw=partial(_city, state, axes, degrees),
            )
        outside_radio(state)
    declared = _declared(dataset, setting)
    if said := mixed_up(dataset.columns, declared):  # bounds of a link
        show_warning(said)
    if _is_drawn(setting, dataset):
        show_caption(DRAWN)
    return declared or _data_range(dataset, far)


def declared_panel(state: DataState, dataset: Dataset, identity: str) -> Domain:
    """Show the panel of a release, which never uses the range of the data; return the bounds.

    Until the user declares bounds, the returned bounds are not "declared".
    """
    _fit(state, dataset)
    setting = state.get("domain") or _of_variant(dataset, state.get("variant"))
    # A release does not accept "data"; other pages keep this choice.
    setting = "declared" if setting == "data" else setting
    if degrees := _degrees(state, dataset, (0, 1)):
        _city(state, (0, 1), degrees)
    _boxes(state, dataset, identity, setting, look=False)
    if _is_drawn(setting, dataset):
        show_caption(DRAWN)
    unknown = Domain(((0.0, 1.0),) * dataset.ndim, declared=False)
    return _declared(dataset, setting) or unknown


def outside_radio(state: UrlState) -> None:
    """Show the choice: points outside are left out, or they are moved to the border."""
    st.radio(
        "Points outside",
        **state.choice("outside", ("clip", "drop")),
        format_func={"clip": "move to the border", "drop": "leave out"}.__getitem__,
        horizontal=True,
        help="If many points are outside, the moved points gather at the border and look like "
        "clusters.",
    )


def _fit(state: DataState, dataset: Dataset) -> None:
    """Assign bounds from a link or another page to this page's columns, or reset the bounds."""
    setting = state.get("domain")
    own = state.has_own_data and dataset.counts is None
    if own and state.entered and _is_typed(working().get("domain", "")):
        # Another page may have other columns, or the same columns in another order.
        setting = bounds_of(dataset.columns) or setting
    if setting == "declared":
        misfit = state.fresh and dataset.domain is None
    else:
        misfit = _is_typed(setting) and Domain.parse(setting).ndim != dataset.ndim
    if misfit:
        setting = bounds_of(dataset.columns) if own else ""
    if setting != state.get("domain"):
        state.adapt("domain", setting)
    if own and _is_typed(setting):
        note_bounds(dataset.columns, Domain.parse(setting))


def _is_drawn(setting: str, dataset: Dataset) -> bool:
    drawn: set[Any] = st.session_state.setdefault(f"{DRAWN_KEY}:columns", set())
    if not _is_typed(setting):
        return False
    found = set(zip(dataset.columns, Domain.parse(setting).bounds, strict=True))
    if setting == st.session_state.get(DRAWN_KEY):
        drawn |= found
    return bool(drawn & found)


def _is_typed(setting: str) -> bool:
    return setting not in ("", "data", "declared")


def _of_variant(dataset: Dataset, variant: VariantName) -> str:
    if dataset.counts is not None:
        return "declared"
    return "data" if variant == "published" or dataset.domain is None else "declared"


def _kind(state: UrlState, identity: str, setting: str) -> None:
    st.radio(
        "Bounds of the grid",
        **following(
            f"{state.page}:domain:kind:{identity}",
            "data" if setting == "data" else "declared",
            partial(state.set, "domain"),
            ("declared", "data"),
        ),
        format_func={
            "declared": "declared: known without the data (private)",
            "data": "range of the data, as in the papers (not private)",
        }.__getitem__,
        help="Until you choose, the published variant takes the range of the data, as printed, and "
        "the sound variant takes the declared bounds if there are any.",
    )


def _boxes(
    state: UrlState, dataset: Dataset, identity: str, setting: str, *, look: bool = True
) -> None:
    token = f"{state.page}:{identity}:{state.epoch}"
    typed = st.session_state.setdefault(f"domain:typed:{token}", [0, setting])
    if typed[1] != setting:  # the program has set it, so new boxes start with this value
        typed[:] = typed[0] + 1, setting
    keys = [f"domain:{axis}:{token}@{typed[0]}" for axis in range(dataset.ndim)]
    error_key = f"domain:error:{token}"

    def declare(texts: list[str]) -> None:
        for name, text in zip(dataset.columns, texts, strict=True):
            _check_box(name, text)
        domain = Domain.parse(";".join(texts))
        check_bounds(dataset.columns, domain)
        if dataset.domain is None and typed[1] in ("", "data"):
            # These are the first bounds of own data; points outside may be far away.
            state.set("outside", "drop")
        state.set("domain", "declared" if domain == dataset.domain else str(domain))

    def changed() -> None:
        st.session_state.pop(error_key, None)
        texts = [st.session_state[key].strip() for key in keys]
        if not all(texts):
            state.set("domain", "declared")
            typed[1] = "declared"
            return
        try:
            declare(texts)
            typed[1] = state.get("domain")
        except InputError as error:
            st.session_state[error_key] = (texts, str(error))

    if dataset.ndim > 2:
        _all_at_once(dataset.columns, declare, f"domain:all:{token}@{typed[0]}")
    current = _declared(dataset, setting)
    own = dataset.domain is None
    for axis, (key, name) in enumerate(zip(keys, dataset.columns, strict=True)):
        bounds = current.bounds[axis] if current else noted_bounds(name) if own else ()
        text = ", ".join(f"{bound:.15g}" for bound in bounds)
        st.text_input(
            plain_text(f"{name}: from, to"), text, key=key, placeholder="0, 100", on_change=changed
        )
    if current is None:
        st.caption(
            "Type bounds that are known without the data, for every column; until then "
            + (
                "the grid spans the data, which is not private."
                if look
                else "nothing can be released."
            )
        )
    texts, error = st.session_state.get(error_key, (None, ""))
    if texts == [st.session_state[key].strip() for key in keys]:
        show_error(error)


def _all_at_once(columns: Sequence[str], declare: Callable[[list[str]], None], key: str) -> None:
    failed = f"{key}:error"

    def changed() -> None:
        text = st.session_state[key]
        st.session_state.pop(failed, None)
        try:
            if text.strip():
                declare(_ranges(text, columns))
        except InputError as error:
            st.session_state[failed] = (text, str(error))

    text = st.text_area(
        "All columns at once",
        key=key,
        height=68,
        placeholder="0, 100",
        on_change=changed,
        help="One range for all columns, or a list with the range of each column, in the order of "
        "the boxes below: a line for each column, as copied from a spreadsheet.",
    )
    before, error = st.session_state.get(failed, ("", ""))
    if error and before == text:
        show_error(error)


def _ranges(text: str, columns: Sequence[str]) -> list[str]:
    rows = [row.strip() for row in re.split(r"[;\n]", text) if row.strip()]
    rows = [",".join(re.split(r"[,\s]+", row)) for row in rows]
    if len(rows) == 1:
        return rows * len(columns)
    if len(rows) != len(columns):
        raise InputError(
            f"The list has {len(rows)} ranges, but there are {len(columns)} columns: give one "
            f"range for all, or a range for each of {listed(columns)}, in this order."
        )
    return rows


def cut_out(state: UrlState, domain: str, *, seen: bool = False) -> None:
    """Set the domain to a part of a map, and leave out the points outside.

    Otherwise these points would gather at the border like clusters. ``seen`` means that the part
    was chosen by a look at the data.
    """
    state.set("domain", domain)
    state.set("outside", "drop")
    if seen:
        st.session_state[DRAWN_KEY] = domain


def _degrees(state: UrlState, dataset: Dataset, axes: tuple[int, int]) -> set[Placed]:
    if dataset.counts is not None or dataset.ndim != 2 or len(set(axes)) < 2:
        return set()
    names = [dataset.columns[axis] for axis in axes]
    # Axes are recognized by their names, or the user has chosen their meaning on the map.
    meant: Axes = state.get("axes") if "axes" in state else "auto"
    worlds = (_WORLD, Domain(_WORLD.bounds[::-1]))
    return {scale_of(names, box, meant).degrees for box in worlds} - {""}


def _city(state: UrlState, axes: tuple[int, int], degrees: set[Placed]) -> None:
    base, swapped, setting = f"{state.page}:domain:city", "latlon" in degrees, state.get("domain")
    box = Domain.parse(setting) if _is_typed(setting) else None
    # The fields follow the box, so they are empty if the box is not around a city.
    city, width = (box and city_of(box.select(axes), swapped=swapped)) or (None, None)

    def use(title: str | None, width: int | None = None) -> None:
        if title is None or (city and width is None and title == city.title):
            return
        try:
            around = cities()[title]
            box = box_around(around, width or city_width(around), swapped=swapped)
            cut_out(state, str(box.select(axes)))
        except InputError as error:
            st.session_state[f"{base}:error"] = str(error)

    titles, title = tuple(cities()), city.title if city else None
    st.selectbox(
        "City",
        titles,
        **following(base, title, use, initial="index")
        | {"index": titles.index(title) if title else None},
        placeholder="type its name",
        help="7,342 cities of Natural Earth; a point from GeoNames marks each city, mostly its "
        "centre. This list is public, so the box reveals nothing about the data. Points outside "
        "are left out.",
    )
    st.number_input(
        "Width in km",
        1,
        5000,
        **following(f"{base}:width", width, partial(use, title)),
        step=5,
        disabled=city is None,
        help="It starts with the size of the city, by its rank among the most populous cities. "
        "A box that is too wide hides small places, because they become one place.",
    )
    if error := st.session_state.pop(f"{base}:error", ""):
        show_error(error)


def _check_box(name: str, text: str) -> None:
    try:
        lo, hi = (float(bound) for bound in text.split(","))
    except ValueError:
        raise InputError(
            f'"{shown(text)}" is no pair of bounds for "{shown(name)}": write two numbers with a '
            "comma between them, the lower one first."
        ) from None
    if not lo < hi:
        raise InputError(
            f'{readable(lo, 6)} to {readable(hi, 6)} is no pair of bounds for "{shown(name)}": the '
            "first bound must be less than the second."
        )


def _declared(dataset: Dataset, setting: str) -> Domain | None:
    if setting == "data":
        return None
    if setting == "declared":
        return dataset.domain
    domain = Domain.parse(setting)
    return domain if domain.ndim == dataset.ndim else dataset.domain


def _data_range(dataset: Dataset, far: Domain | None) -> Domain:
    points = dataset.points
    assert points is not None  # noqa: S101 - counts come with a domain

    def span() -> Domain:
        return Domain.from_data(points if far is None else points[far.contains(points)])

    return latest("domain:range", (dataset.digest, far), span)
