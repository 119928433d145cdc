"""Diagnostics of the WaveCluster explorer: at which step a cluster broke."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import streamlit as st
from numpy.typing import NDArray

from dpviz.base.numbers import counted
from dpviz.figures.diagnosis import diagnosis_panels, fate_words, fates_frame, frame
from dpviz.figures.wavecluster import WaveClusterPicture
from dpviz.figures.wavecluster.damage import marks_of
from dpviz.ui.explorer.settings import RunSettings
from dpviz.ui.messages import show_caption
from dpviz.ui.session.cache import truth_of
from dpviz.ui.session.state import following
from dpviz.ui.widgets.embed import embedded
from dpviz.ui.widgets.show import csv_button, lazy_expander, show_panels
from dpviz.wavecluster.diagnosis import (
    DRAWS,
    Diagnostics,
    RetainedDraws,
    Stage,
    count_retained,
    diagnostics_of,
    in_short,
    in_words,
)
from dpviz.wavecluster.pipeline import Stages
from dpviz.wavecluster.truth import Truth

_CLUSTER = "wavecluster:diagnosis cluster"
_LAST = "wavecluster:diagnosis last"
_DRAWS = "wavecluster:diagnosis draws"

#: Card of the strip for each stage of a diagnosis. The stage "grid" has the card "counts", because
#: the grid decides which cells are counted.
_CARDS: dict[Stage, str] = {
    "grid": "counts", "counts": "noise", "subband": "wavelet", "threshold": "cut",
    "components": "clusters",
}  # fmt: skip


def note_on(
    picked: Mapping[str, int], settings: RunSettings, picture: WaveClusterPicture
) -> dict[str, Any] | None:
    """Note on the ``picked`` cluster (its panel and number, and the clicked panel), or None."""
    found, truth, private = picture.fates, picture.truth, picture.private
    number, other = picked["number"], 3 - picked["on"]
    cluster = number
    if picked["panel"] == 2:
        (labels,) = np.nonzero(picture.numbers[1] == number)
        if not labels.size:
            return None
        inside, label = private.labels == labels[0], int(labels[0])
        new = {"invented": found.invented, "split off": found.splinters}
        for word, among in new.items():
            if label in among:
                return {
                    "title": f"Cluster {number}: {word}",
                    "text": _on_new(inside, truth.stages),
                    "marks": [[2, 1, number]],
                    "below": "",
                    "corner": [other, *_far_from(inside)],
                }
        cluster = int(np.bincount(truth.stages.labels[inside], minlength=2)[1:].argmax()) + 1
    if cluster > found.of.size:
        return None
    st.session_state[_LAST] = (truth, cluster)
    text = ""
    if settings.settled:
        text = in_short(_diagnostics(settings, picture).diagnose(cluster))
    match = int(picture.numbers[1][found.match[cluster - 1]])
    return {
        "title": f"Cluster {cluster}: {fate_words(found.of[cluster - 1])}",
        "text": text,
        "marks": marks_of(cluster, match),
        "corner": [other, *_far_from(truth.stages.labels == cluster)],
        "below": "" if embedded() else "wavecluster-diagnosis",
    }


def _far_from(inside: NDArray[np.bool_]) -> list[int]:
    across, up = (
        2 * at.mean() < side for at, side in zip(np.nonzero(inside), inside.shape, strict=True)
    )
    return [int(across), int(not up)]


def _on_new(inside: NDArray[np.bool_], true: Stages) -> str:
    cells, kept = int(inside.sum()), int((inside & true.significant).sum())
    whole = counted(cells, "cell")
    if not kept:
        return f"Without noise, none of its {whole} is significant: noise alone made this cluster."
    parts = [str(one) for one in np.unique(true.labels[inside]) if one]
    named = f"cluster{'s' * (len(parts) > 1)} {' and '.join(parts)}"
    return f"Without noise, {kept:,} of its {whole} {'are' if kept > 1 else 'is'} in true {named}."


def diagnosis_panel(settings: RunSettings, picture: WaveClusterPicture) -> None:
    """Follow one true cluster through the stages, unless the panel is closed."""
    draw = partial(_show, settings, picture)
    lazy_expander("What broke this cluster?", key="wavecluster:diagnosis", draw=draw)


def broken_at(settings: RunSettings, picture: WaveClusterPicture) -> tuple[str, str, str]:
    """Card at which the selected cluster first differs, and two texts on it; all may be empty."""
    truth, private = picture.truth, picture.private
    known, cluster = st.session_state.get(_LAST, (None, 0))
    opened = st.session_state.get("wavecluster:diagnosis") and truth.stages.n_clusters
    if known is not truth and not opened:
        return "", "", ""
    finer = _finer(settings, truth)
    diagnostics = Diagnostics(truth=truth, private=private, doubled=private, finer=finer)
    if known is not truth:
        cluster = _first(diagnostics)
    stage = diagnostics.first_stage(cluster)
    if stage is None:
        return "", "", ""
    return _CARDS[stage], f"✗ {cluster}", f"cluster {cluster} first differs here"


def _first(diagnostics: Diagnostics) -> int:
    # argmin returns the position of the first cluster that is not retained, or 0 if all are.
    return int(diagnostics.retained.argmin()) + 1


def _diagnostics(settings: RunSettings, picture: WaveClusterPicture) -> Diagnostics:
    truth, finer = picture.truth, _finer(settings, picture.truth)
    return diagnostics_of(truth, picture.private, settings.config, settings.seed, finer)


def _show(settings: RunSettings, picture: WaveClusterPicture) -> None:
    if not picture.true.n_clusters:
        show_caption("Without noise there is no cluster here: choose a lower p, or another grid.")
        return
    diagnostics = _diagnostics(settings, picture)
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
    save, cells = partial(csv_button, stamp=stamp), partial(frame, picture, diagnosis)
    save(f"{name}-runs", table, "What would have kept the cluster (CSV)", place=left)
    save(f"{name}-cells", cells, "Cells around the cluster (CSV)", place=right)


def _chosen(diagnostics: Diagnostics) -> int:
    truth, last = st.session_state.get(_LAST, (None, 0))
    if truth is not diagnostics.truth:
        last = _first(diagnostics)
    sizes = diagnostics.true.cluster_sizes

    def title(cluster: int) -> str:
        mark = "✓ kept" if diagnostics.retained[cluster - 1] else "✗ broken"
        size = sizes[cluster - 1]
        return f"Cluster {cluster} · {counted(int(size), 'cell')} · {mark}"

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
