"""The panel of many random draws, for both explorers, because a single draw may be lucky."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial

import streamlit as st

from dpviz.experiments.draws import MOST_DRAWS, Draws, many_draws
from dpviz.families import SCORES, family_of
from dpviz.family.trial import Trial
from dpviz.figures import draws as figures
from dpviz.figures.panels import Panels
from dpviz.metrics.bands import band_words
from dpviz.ui.messages import show_caption
from dpviz.ui.session.job import follow, job_of, show_progress, start
from dpviz.ui.session.state import MAX_SEED, UrlState
from dpviz.ui.widgets.live_slider import live_slider
from dpviz.ui.widgets.show import csv_button, lazy_expander, show_panels, theme_mode
from dpviz.ui.widgets.stamp import Stamp
from dpviz.wavecluster.theorems import KBounds

_NUMBERS = (50, 100, 200, MOST_DRAWS)

#: Seconds that the page waits for draws before it continues; most draws are ready by then.
_PATIENCE = 0.6

#: Largest number of draws for a light job; this many draws take one or two seconds.
_FEW = 50


@dataclass(frozen=True, eq=False)
class Setting:
    """The setting on the screen; the panel makes many draws with this setting.

    A draw depends on the parameters, its seed and ``data``. ``seed`` is the seed of the draw on
    the screen. ``maps`` returns the maps of the draw at a position in the player. ``also`` contains
    further scores, with their values in the true run. ``bounds`` contains the bounds that a theorem
    gives for a score.
    """

    state: UrlState
    trial: Trial
    data: Hashable
    seed: int
    stamp: Stamp
    maps: Callable[[Draws, int], Panels]
    also: Mapping[str, float] = field(default_factory=dict)
    bounds: Mapping[str, KBounds] = field(default_factory=dict)

    def key(self, name: str) -> str:
        """Session entry of the panel."""
        return f"{self.state.page}:draws:{name}"


def draws_panel(setting: Setting, *, settled: bool) -> None:
    """Show the expander; nothing is computed while it is closed."""
    opened = lazy_expander(
        "Many draws, not one lucky draw",
        key=f"{setting.state.page}:draws",
        draw=partial(_draws, setting, settled=settled),
    )
    if not opened and (job := st.session_state.pop(setting.key("job"), None)):
        job.cancel()


def _draws(setting: Setting, *, settled: bool) -> None:
    left, middle, right = st.columns([2, 3, 5], vertical_alignment="bottom")
    number = int(left.selectbox("Draws", _NUMBERS, key=setting.key("number")))
    family = family_of(setting.trial.config.method)
    wanted = (*family.swept, *setting.also)
    names = tuple(name for name in wanted if name in setting.trial.score_names)
    redrawn = tuple(name for name, score in family.scores.items() if score.redraws)
    if (
        redrawn
        and set(redrawn) <= set(setting.trial.score_names)
        and middle.checkbox(
            "with OCM and 2CE, also of clusters alone",
            key=setting.key("held out"),
            help="Slower, because these scores make new draws on ten parts of the data.",
        )
    ):
        names = (*names, *redrawn)
    # The job draws all seeds of a block, so another seed of this block needs no new draws.
    first = min(setting.seed // number * number, MAX_SEED + 1 - number)
    seeds = tuple(range(first, first + number))
    request = (setting.data, setting.trial.config, seeds, names)
    job = job_of(setting.key("job"))
    if settled and (job is None or job.request != request):
        job = start(
            setting.key("job"),
            partial(many_draws, setting.trial, seeds, names),
            request=request,
            heavy=number > _FEW,
        )
        st.session_state[setting.key("job:setting")] = setting
        job.wait(_PATIENCE)
    with right:
        follow(job, partial(_progress, setting))
    if job is not None and job.result is not None:
        if job.request != request:
            # The draws belong to the previous settings, so the maps and the title must do so, too.
            setting = replace(st.session_state[setting.key("job:setting")], state=setting.state)
            show_caption("These are the draws of the previous settings.")
        _show(setting, job.result)


def _progress(setting: Setting) -> None:
    job = job_of(setting.key("job"))
    left, right = st.columns([4, 1], vertical_alignment="bottom")
    with left:
        show_progress(job, "draws", "")
    if job is None:
        return
    if job.running:
        right.button("Cancel", key=setting.key("cancel"), on_click=job.cancel, width="stretch")
    elif (job.cancelled or job.error) and right.button(
        "Draw", key=setting.key("again"), width="stretch"
    ):
        st.session_state.pop(setting.key("job"), None)
        st.rerun()


def _show(setting: Setting, draws: Draws) -> None:
    name = f"{setting.stamp.name} {setting.trial.config.method}"
    position = _player(setting, draws)
    score = SCORES[family_of(setting.trial.config.method).leading[0]]
    if rank := draws.rank_words(setting.seed, score):
        show_caption(rank)
    means = st.toggle(
        "Means", key=setting.key("means"), help="Adds the mean of each score, which papers print."
    )
    true = {**setting.trial.true(), **setting.also}
    maps = setting.maps(draws, position)
    seeds = f"seeds {draws.seeds[0]} to {draws.seeds[-1]}"
    stamp = replace(setting.stamp, facts=(*setting.stamp.facts, seeds))
    show_panels(
        maps, stamp, key=setting.key("figure"), base_name=f"{name} many draws", about="draws maps"
    )
    strips = figures.strips(
        draws, position, true, theme_mode(), setting.stamp.title, bounds=setting.bounds, means=means
    )
    show_panels(
        strips,
        stamp,
        key=setting.key("strips"),
        base_name=f"{name} scores of many draws",
        about="draws strips",
    )
    show_caption(
        f"Box: {band_words(len(draws.seeds))}; line: median; {'dots: mean; ' * means}"
        "diamond: the played draw; dashes: the true run."
        + "".join(f" {one}" for one in figures.kept_words(draws, setting.bounds))
    )
    table = figures.frame(draws, position, true, setting.bounds)
    percent = st.column_config.NumberColumn(format="percent")
    st.dataframe(
        table,
        width="stretch",
        hide_index=True,
        height="content",
        column_config=dict.fromkeys(figures.BOUND_COLUMNS[2:], percent),
        placeholder="",
    )
    file = name.replace(" ", "-")
    rows = partial(figures.draws_frame, draws)
    left, right, _ = st.columns([1, 1, 2])
    save = partial(csv_button, stamp=stamp, icon=None, width="stretch")
    save(f"{file}-scores", table, "Scores (CSV)", place=left)
    save(f"{file}-draws", rows, "Every draw (CSV)", place=right)


def _player(setting: Setting, draws: Draws) -> int:
    at = draws.seeds.index(setting.seed) if setting.seed in draws.seeds else 0
    left, right = st.columns([4, 1], vertical_alignment="bottom")
    with left:
        slider = live_slider(
            "Play the draws",
            key=setting.key(f"play:{draws.seeds[0]}:{len(draws.seeds)}"),
            value=at + 1,
            low=1,
            high=len(draws.seeds),
            integer=True,
            low_label="first",
            high_label="last",
            help="Each step is another draw of the noise with the same settings.",
            play=True,
        )
    position = int(slider.value) - 1
    seed = draws.seeds[position]
    right.button(
        "Show it above",
        key=setting.key("take"),
        width="stretch",
        disabled=seed == setting.seed,
        on_click=lambda: setting.state.set("seed", seed),
        help="Use the seed of this draw.",
    )
    return position
