"""What broke this cluster: the WaveCluster explorer's diagnostics."""

from __future__ import annotations

import streamlit as st

from dpviz.figures.diagnosis import diagnosis_panels, fates_frame, frame
from dpviz.figures.wavecluster import WaveClusterPicture
from dpviz.serialize import csv_bytes
from dpviz.ui.cache import grid_of, truth_of
from dpviz.ui.live_figure import live_figure
from dpviz.ui.messages import show_caption
from dpviz.ui.state import following
from dpviz.ui.wavecluster import Both, Choices
from dpviz.wavecluster.diagnosis import (
    DRAWS,
    Diagnostics,
    KeptDraws,
    diagnostics_of,
    in_words,
    kept_draws,
)
from dpviz.wavecluster.methods import METHODS as WAVECLUSTER
from dpviz.wavecluster.truth import Truth, true_config

_CLUSTER = "wavecluster:diagnosis cluster"
_LAST = "wavecluster:diagnosis last"
_DRAWS = "wavecluster:diagnosis draws"


def diagnosis_panel(choices: Choices, both: Both, scene: WaveClusterPicture) -> None:
    """Follow one true cluster through the stages; nothing is computed while it is closed."""
    if not WAVECLUSTER[choices.config.method].card.spends:
        return
    with st.expander(
        "What broke this cluster?", key="wavecluster:diagnosis", on_change="rerun"
    ) as panel:
        if not panel.open:
            return
        if not both.truth.stages.n_clusters:
            show_caption("Without noise there is no cluster here: lower p, or take another grid.")
            return
        diagnostics = diagnostics_of(
            both.truth, both.private.stages, choices.config, choices.seed, _finer(choices, both)
        )
        _show(choices, diagnostics, scene)


def _show(choices: Choices, diagnostics: Diagnostics, scene: WaveClusterPicture) -> None:
    """Select of the cluster, its story, its figure, and the tables behind."""
    diagnosis = diagnostics.diagnose(_chosen(diagnostics))
    draws = _draws(choices, diagnostics.truth)
    st.markdown(in_words(diagnosis, draws))
    shown = diagnosis_panels(scene, diagnosis)
    name = f"dpviz-exploration-not-private-{choices.config.method}-cluster-{diagnosis.cluster}"
    live_figure(
        shown.spec(),
        key="wavecluster:diagnosis figure",
        height=shown.height,
        share=shown.share,
        alt=shown.alt,
        pairs=shown.pairs,
        base_name=name.replace("-", " "),
    )
    table = fates_frame(diagnosis, draws)
    st.dataframe(
        table,
        width="stretch",
        height="content",
        hide_index=True,
        column_config={"overlap": st.column_config.NumberColumn(format="%.2f")},
    )
    left, right = st.columns(2)
    left.download_button(
        "What would have kept it (CSV)",
        lambda: csv_bytes(table),
        file_name=f"{name}-runs.csv",
        mime="text/csv",
        icon=":material/download:",
        on_click="ignore",
    )
    right.download_button(
        "Cells around it (CSV)",
        lambda: csv_bytes(frame(scene, diagnosis)),
        file_name=f"{name}-cells.csv",
        mime="text/csv",
        icon=":material/download:",
        on_click="ignore",
    )


def _chosen(diagnostics: Diagnostics) -> int:
    """Show the select of the true cluster; on new data the first that is not kept."""
    truth, last = st.session_state.get(_LAST, (None, 0))
    if truth is not diagnostics.truth:
        # argmin: the first that is not kept, or else the first.
        last = int(diagnostics.kept.argmin()) + 1
        st.session_state[_LAST] = (diagnostics.truth, last)
    kept = following(_CLUSTER, last)

    def changed() -> None:
        st.session_state[_LAST] = (diagnostics.truth, st.session_state[kept["key"]])

    sizes = diagnostics.true.cluster_sizes

    def title(cluster: int) -> str:
        """Mark, number and size of a cluster."""
        mark = "✓ kept" if diagnostics.kept[cluster - 1] else "✗ broken"
        size = sizes[cluster - 1]
        return f"Cluster {cluster} · {size} cell{'' if size == 1 else 's'} · {mark}"

    st.selectbox(
        "True cluster",
        range(1, diagnostics.true.n_clusters + 1),
        last - 1,
        key=kept["key"],
        format_func=title,
        on_change=changed,
        help="Numbers as in the figure above. ✗ marks clusters that were joined, fell apart, "
        "grew, shrank or vanished.",
    )
    return int(last)


def _finer(choices: Choices, both: Both) -> Truth | None:
    """Return the true run on a grid twice as fine; counts alone don't tell it."""
    active = choices.active
    if active.dataset.counts is not None:
        return None
    grid = 2 * int(choices.config.grid)  # type: ignore[arg-type]
    fine = grid_of(active.dataset, grid, active.domain, active.outside, is_sample=active.is_sample)
    return truth_of(fine, true_config(choices.config), is_sample=active.is_sample)


def _draws(choices: Choices, truth: Truth) -> KeptDraws | None:
    """Count what is kept over many draws, once per setting; not while a slider is held."""
    known = st.session_state.get(_DRAWS)
    if known and known[0] is truth and known[1] == choices.config:
        draws: KeptDraws = known[2]
        return draws
    if not choices.settled:
        return None
    draws = kept_draws(truth, choices.config, range(DRAWS))
    st.session_state[_DRAWS] = (truth, choices.config, draws)
    return draws
