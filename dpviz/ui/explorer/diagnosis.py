"""Diagnostics of the WaveCluster explorer: at which step a cluster broke."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import streamlit as st

from dpviz.figures.diagnosis import diagnosis_panels, fates_frame, frame
from dpviz.figures.wavecluster import WaveClusterPicture
from dpviz.ui.explorer.settings import RunSettings
from dpviz.ui.messages import show_caption
from dpviz.ui.session.cache import truth_of
from dpviz.ui.session.state import following
from dpviz.ui.widgets.show import csv_button, lazy_expander, show_panels
from dpviz.wavecluster.diagnosis import (
    DRAWS,
    Diagnostics,
    RetainedDraws,
    count_retained,
    diagnostics_of,
    in_words,
)
from dpviz.wavecluster.pipeline import Stages
from dpviz.wavecluster.truth import Truth

_CLUSTER = "wavecluster:diagnosis cluster"
_LAST = "wavecluster:diagnosis last"
_DRAWS = "wavecluster:diagnosis draws"


def diagnosis_panel(
    settings: RunSettings, truth: Truth, private: Stages, picture: WaveClusterPicture
) -> None:
    """Follow one true cluster through the stages, unless the panel is closed."""
    lazy_expander(
        "What broke this cluster?",
        key="wavecluster:diagnosis",
        draw=partial(_show, settings, truth, private, picture),
    )


def _show(
    settings: RunSettings, truth: Truth, private: Stages, picture: WaveClusterPicture
) -> None:
    if not truth.stages.n_clusters:
        show_caption("Without noise there is no cluster here: choose a lower p, or another grid.")
        return
    diagnostics = diagnostics_of(
        truth, private, settings.config, settings.seed, _finer(settings, truth)
    )
    diagnosis = diagnostics.diagnose(_chosen(diagnostics))
    draws = _draws(settings, diagnostics.truth)
    st.markdown(in_words(diagnosis, draws))
    stamp = settings.stamp
    name = f"{stamp.name} {settings.config.method} cluster {diagnosis.cluster}"
    show_panels(
        diagnosis_panels(picture, diagnosis),
        stamp,
        key="wavecluster:diagnosis figure",
        base_name=name,
        about="diagnosis",
    )
    table, name = fates_frame(diagnosis, draws), name.replace(" ", "-")
    st.dataframe(
        table,
        height="content",
        hide_index=True,
        column_config={"overlap": st.column_config.NumberColumn(format="%.2f")},
    )
    left, right = st.columns(2)
    with left:
        csv_button(f"{name}-runs", table, "What would have kept the cluster (CSV)", stamp=stamp)
    with right:
        csv_button(
            f"{name}-cells",
            lambda: frame(picture, diagnosis),
            "Cells around the cluster (CSV)",
            stamp=stamp,
        )


def _chosen(diagnostics: Diagnostics) -> int:
    truth, last = st.session_state.get(_LAST, (None, 0))
    if truth is not diagnostics.truth:
        # argmin returns the first cluster that is not retained, or cluster 0 if all are retained.
        last = int(diagnostics.retained.argmin()) + 1
    sizes = diagnostics.true.cluster_sizes

    def title(cluster: int) -> str:
        mark = "✓ kept" if diagnostics.retained[cluster - 1] else "✗ broken"
        size = sizes[cluster - 1]
        return f"Cluster {cluster} · {size} cell{'' if size == 1 else 's'} · {mark}"

    st.selectbox(
        "True cluster",
        **following(
            _CLUSTER,
            last,
            lambda chosen: st.session_state.update({_LAST: (diagnostics.truth, chosen)}),
            range(1, diagnostics.true.n_clusters + 1),
        ),
        format_func=title,
        help="Numbers as in the figure above. ✗ marks clusters that were joined, fell apart, "
        "grew, shrank or vanished.",
    )
    return int(last)


def _finer(settings: RunSettings, truth: Truth) -> Truth | None:
    active, config = settings.active, settings.config
    if active.dataset.counts is not None:
        return None
    finer = replace(config, grid=tuple(2 * side for side in truth.source.shape))
    return truth_of(
        active.dataset, finer, active.domain, active.outside, is_sample=active.is_sample
    )[1]


def _draws(settings: RunSettings, truth: Truth) -> RetainedDraws | None:
    known = st.session_state.get(_DRAWS)
    if known and known[0] is truth and known[1] == settings.config:
        draws: RetainedDraws = known[2]
        return draws
    if not settings.settled:
        return None
    draws = count_retained(truth, settings.config, range(DRAWS))
    st.session_state[_DRAWS] = (truth, settings.config, draws)
    return draws
