"""The data panel of every page: sample sets and own tables, columns, domain."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import streamlit as st

from dpviz.data.dataset import Dataset
from dpviz.data.read import read_counts, read_table
from dpviz.data.samples import Sample, sample, sample_names
from dpviz.data.table import Table
from dpviz.domain import Domain, Outside
from dpviz.errors import InputError
from dpviz.ui.cache import sample_data
from dpviz.ui.state import Control, UrlState, choice


class NothingLoadedError(InputError):
    """Own data was chosen, but there is no file yet."""


UPLOAD = "own"
UPLOAD_LIMIT = 100 * 2**20


@dataclass(frozen=True, eq=False)
class Active:
    """The data on the screen.

    Parameters
    ----------
    dataset
        Two columns, or a grid of counts.
    domain
        Bounds in force; None takes what the data set declares, or its range.
    outside
        What becomes of points outside.
    sample
        The sample set's facts, or None for own data.
    """

    dataset: Dataset
    domain: Domain | None
    outside: Outside
    sample: Sample | None

    @property
    def title(self) -> str:
        """What to call the data on the screen."""
        return self.sample.title if self.sample else self.dataset.name

    @property
    def is_sample(self) -> bool:
        """Whether this is a sample set (public, shared between sessions)."""
        return self.sample is not None


def data_controls(default: str) -> dict[str, Control]:
    """Controls of the panel as they stand in the link."""
    names = (*sample_names(), UPLOAD)
    return {
        "data": Control(default, choice("data", names)),
        "domain": Control("declared", _parse_domain),
        "outside": Control("clip", choice("outside", ("clip", "drop"))),
    }


def _parse_domain(text: str) -> str:
    """Check a domain in a link: declared, data, or "lo,hi;lo,hi"."""
    if text in ("declared", "data"):
        return text
    domain = Domain.parse(text)
    if domain.ndim != 2:
        raise InputError(f'domain is "{text[:40]}": the screen shows two columns, lo,hi;lo,hi.')
    return str(domain)


def data_panel(state: UrlState, on_new_data: Any) -> Active:
    """Show the panel; returns the data on the screen.

    Parameters
    ----------
    state
        Has the controls of :func:`data_controls`.
    on_new_data
        Called with a Sample, or None for own data, when another set is chosen.

    Raises
    ------
    InputError
        Where own data can't be read: one sentence for the screen.
    """

    def changed() -> None:
        name = state.get("data")
        state.set("domain", "declared" if name != UPLOAD else "data")
        on_new_data(sample(name) if name != UPLOAD else None)

    titles = {name: sample(name).title for name in sample_names()} | {UPLOAD: "Own data …"}
    st.selectbox(
        "Data",
        (*sample_names(), UPLOAD),
        key=state.key("data"),
        format_func=titles.__getitem__,
        on_change=changed,
        help="A sample set, or a table of your own. Nothing leaves this computer.",
    )
    name = state.get("data")
    if name != UPLOAD:
        facts = sample(name)
        dataset, wanted = sample_data(name), facts
    else:
        dataset, wanted = _own_data(), None
    active = Active(dataset, _domain(state, dataset), state.get("outside"), wanted)
    _facts(active)
    return active


def _own_data() -> Dataset:
    """Upload, format and columns; the last good table stays until another one is read."""
    as_counts = st.toggle(
        "The file is a grid of counts", key="own:counts", help="A matrix of records per cell."
    )
    uploaded = st.file_uploader(
        "CSV, TSV, Parquet or .npy, also gzipped",
        key="own:file",
        max_upload_size=UPLOAD_LIMIT // 2**20,
    )
    header = st.segmented_control(
        "First line",
        ("automatic", "names", "data"),
        default="automatic",
        key="own:header",
        disabled=as_counts,
    )
    if uploaded is not None:
        token = (uploaded.file_id, as_counts, header)
        if st.session_state.get("own:token") != token:
            st.session_state["own:token"] = token
            st.session_state.pop("own:error", None)
            try:
                st.session_state["own:table"] = (
                    read_counts(uploaded, name=uploaded.name, max_bytes=UPLOAD_LIMIT)
                    if as_counts
                    else read_table(
                        uploaded,
                        name=uploaded.name,
                        header={"names": True, "data": False}.get(str(header)),
                        max_bytes=UPLOAD_LIMIT,
                    )
                )
            except InputError as error:
                st.session_state["own:error"] = str(error)
    table = st.session_state.get("own:table")
    failure = st.session_state.get("own:error")
    if table is not None:
        try:
            chosen = table if isinstance(table, Dataset) else _chosen_columns(table)
            st.session_state["own:shown"] = chosen
        except InputError as error:
            failure = failure or str(error)
    shown: Dataset | None = st.session_state.get("own:shown")
    if failure:
        kept = f" Still on the screen: {shown.name}." if shown else ""
        st.error(failure + kept, icon=":material/error:")
    if shown is None:
        raise NothingLoadedError("Load a file on the left, or choose a sample set.")
    return shown


def _chosen_columns(table: Table) -> Dataset:
    """Two columns of a table, chosen by the person."""
    columns = table.columns
    numeric = table.numeric_columns
    first = numeric[0] if numeric else columns[0]
    second = numeric[1] if len(numeric) > 1 else columns[-1]
    left, right = st.columns(2)
    across = left.selectbox("Across", columns, index=columns.index(first), key="own:x")
    up = right.selectbox("Upwards", columns, index=columns.index(second), key="own:y")
    if across == up and len(columns) > 1:
        raise InputError(f'columns = "{across}" twice: choose two different columns.')
    key = (st.session_state.get("own:token"), across, up)
    kept = st.session_state.get("own:dataset")
    if kept is None or kept[0] != key:
        kept = (key, table.select((across, up) if len(columns) > 1 else None))
        st.session_state["own:dataset"] = kept
    dataset: Dataset = kept[1]
    return dataset


def _domain(state: UrlState, dataset: Dataset) -> Domain | None:
    """Domain in force: declared bounds, or the range of the data."""
    if dataset.counts is not None:
        return None
    wanted = state.get("domain")
    data_range = _data_range(dataset)
    preset = dataset.domain or data_range
    explicit = Domain.parse(wanted) if wanted not in ("declared", "data") else preset
    if explicit.ndim != dataset.ndim:
        explicit = preset
    with st.popover("Domain", icon=":material/crop_free:", width="stretch"):
        kind_key = f"domain:kind:{dataset.digest}"
        st.session_state[kind_key] = "data" if wanted == "data" else "declared"
        st.radio(
            "Bounds of the grid",
            ("declared", "data"),
            format_func={
                "declared": "declared: known without the data (private)",
                "data": "range of the data, as in the papers (not private)",
            }.__getitem__,
            key=kind_key,
            on_change=lambda: state.set("domain", st.session_state[kind_key]),
        )
        domain = data_range if wanted == "data" else _bounds(state, dataset, explicit)
        st.radio(
            "Points outside",
            ("clip", "drop"),
            key=state.key("outside"),
            format_func={"clip": "move to the border", "drop": "leave out"}.__getitem__,
            horizontal=True,
        )
    # Bounds that equal the data's own were not known without it.
    return replace(domain, declared=domain.bounds != data_range.bounds)


def _data_range(dataset: Dataset) -> Domain:
    """Range of the points, kept per data set: a pass over the points."""
    kept = st.session_state.get("data_range")
    if kept is None or kept[0] != dataset.digest:
        assert dataset.points is not None  # noqa: S101 - counts were sorted out before
        kept = (dataset.digest, Domain.from_data(dataset.points))
        st.session_state["data_range"] = kept
    domain: Domain = kept[1]
    return domain


def _bounds(state: UrlState, dataset: Dataset, current: Domain) -> Domain:
    """One text box per column: "from, to"."""
    keys = [f"domain:{axis}:{dataset.digest}" for axis in range(dataset.ndim)]

    def changed() -> None:
        try:
            domain = Domain.parse(";".join(st.session_state[key] for key in keys))
            state.set("domain", "declared" if domain == dataset.domain else str(domain))
            st.session_state.pop("domain:error", None)
        except InputError as error:
            st.session_state["domain:error"] = str(error)

    for key, name, (lo, hi) in zip(keys, dataset.columns, current.bounds, strict=True):
        if key not in st.session_state:
            st.session_state[key] = f"{lo:.10g}, {hi:.10g}"
        st.text_input(f"{name}: from, to", key=key, on_change=changed)
    if error := st.session_state.get("domain:error"):
        st.error(error)
    return current


def _facts(active: Active) -> None:
    """Say which data is active, and what was done to it."""
    from_data = active.domain and not active.domain.declared
    st.caption(
        f"Active: **{active.title}** · {active.dataset.n:,} records · "
        f"{'domain from the data' if from_data else 'declared domain'}",
        help=active.sample.description if active.sample else None,
    )
    for note in active.dataset.notes:
        st.caption(note)
