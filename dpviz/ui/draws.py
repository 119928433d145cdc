"""Many draws, not one lucky one: the panel of both explorers."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import streamlit as st

from dpviz.experiments.draws import MOST_DRAWS, Draws, many_draws
from dpviz.family.trial import CHEAP, KMeansTrial, WaveClusterTrial
from dpviz.figures import draws as figures
from dpviz.figures import kmeans, wavecluster
from dpviz.figures.panels import Panels
from dpviz.metrics.bands import band_words
from dpviz.serialize import csv_bytes
from dpviz.ui.job import Job, follow, job_of, show_progress, start
from dpviz.ui.live_figure import live_figure
from dpviz.ui.live_slider import live_slider
from dpviz.ui.messages import show_caption
from dpviz.ui.settings import MAX_SEED
from dpviz.ui.state import UrlState

_NUMBERS = (50, 100, 200, MOST_DRAWS)

#: Seconds to wait for draws before the page goes on without them: most are that quick.
_PATIENCE = 0.6

#: Scores that draw anew on ten parts of the data.
_HELD_OUT = ("ocm", "two_ce")


@dataclass(frozen=True, eq=False)
class Asked:
    """Draws of what is on the screen.

    Parameters
    ----------
    trial
        Method, setting and data.
    about
        Changes with everything that the draws depend on but the seed.
    seed
        Of the draw on the screen: it is among the draws.
    title
        Parameters of the run.
    maps
        Draws the maps for the draws and the position of the one that is played.
    """

    trial: WaveClusterTrial | KMeansTrial
    about: Hashable
    seed: int
    title: str
    maps: Callable[[Draws, int], Panels]


def wavecluster_draws(
    state: UrlState, trial: WaveClusterTrial, scene: wavecluster.Scene, seed: int, *, settled: bool
) -> None:
    """Show the panel for a WaveCluster technique."""
    scene = replace(scene, title=_without_seed(scene.title))

    def maps(draws: Draws, position: int) -> Panels:
        one = trial.draw(draws.seeds[position]).stages
        name = f"draw {position + 1} (seed {draws.seeds[position]})"
        return figures.wavecluster_maps(scene, draws, one, name)

    about = (trial.truth.source, trial.config)
    _panel(state, Asked(trial, about, seed, scene.title, maps), settled=settled)


def kmeans_draws(
    state: UrlState, trial: KMeansTrial, scene: kmeans.Scene, seed: int, *, settled: bool
) -> None:
    """Show the panel for a k-means method."""
    scene = replace(scene, title=_without_seed(scene.title))

    def maps(draws: Draws, position: int) -> Panels:
        return figures.kmeans_maps(scene, draws, position, trial.watched)

    about = (trial.truth.records, trial.config)
    _panel(state, Asked(trial, about, seed, scene.title, maps), settled=settled)


def _without_seed(title: str) -> str:
    """Title of a run without the seed, of which there are many."""
    return " · ".join(part for part in title.split(" · ") if not part.startswith("seed "))


def _panel(state: UrlState, asked: Asked, *, settled: bool) -> None:
    """Show the expander; what is in it is computed while it is open."""
    page = state.page
    label = "Many draws, not one lucky one"
    with st.expander(label, key=f"{page}:draws", on_change="rerun") as panel:
        if not panel.open:
            _stop(page)
            return
        left, middle, right = st.columns([2, 3, 5], vertical_alignment="bottom")
        number = left.selectbox("Draws", _NUMBERS, key=f"{page}:draws:number")
        held_out = False
        if set(_HELD_OUT) <= set(asked.trial.names):
            held_out = middle.checkbox(
                "with OCM and 2CE",
                key=f"{page}:draws:held out",
                help="They draw anew on ten parts of the data: slower.",
            )
        names = (*CHEAP[asked.trial.family], *(_HELD_OUT if held_out else ()))
        seeds = _seeds(asked.seed, int(number))
        job = _job(page, asked, seeds, names) if settled else job_of(_key(page))
        with right:
            follow(job, lambda: _progress(page))
        if job is not None and job.result is not None:
            current = job.request == _about(asked, seeds, names)
            # Draws of the settings before keep the maps and the title of those.
            of = asked if current else st.session_state[f"{_key(page)}:asked"]
            _show(state, of, job.result, current=current)


def _key(page: str) -> str:
    """Session entry of the page's draws."""
    return f"{page}:draws:job"


def _seeds(seed: int, number: int) -> tuple[int, ...]:
    """Seeds of the draws: one block for all seeds in it, so that a redraw needs no new ones."""
    first = min(seed // number * number, MAX_SEED + 1 - number)
    return tuple(range(first, first + number))


def _about(asked: Asked, seeds: Sequence[int], names: Sequence[str]) -> Hashable:
    """What a job of these draws is about."""
    return (asked.about, tuple(seeds), tuple(names))


def _job(page: str, asked: Asked, seeds: Sequence[int], names: Sequence[str]) -> Job:
    """Begin the draws where there are none yet of what is on the screen."""
    about, job = _about(asked, seeds, names), job_of(_key(page))
    if job is None or job.request != about:
        task = partial(many_draws, asked.trial, seeds, names)
        job = start(_key(page), task, request=about)
        st.session_state[f"{_key(page)}:asked"] = asked
        job.wait(_PATIENCE)
    return job


def _stop(page: str) -> None:
    """Nobody looks: stop draws that still go on."""
    job = st.session_state.pop(_key(page), None)
    if job is not None:
        job.cancel()


def _progress(page: str) -> None:
    """How far the draws are, and the way to stop them."""
    job = job_of(_key(page))
    left, right = st.columns([4, 1], vertical_alignment="bottom")
    with left:
        show_progress(job, "draws", "")
    if job is None:
        return
    if job.running:
        right.button("Cancel", key=f"{page}:draws:cancel", on_click=job.cancel, width="stretch")
    elif (job.cancelled or job.error) and right.button(
        "Draw", key=f"{page}:draws:again", width="stretch"
    ):
        st.session_state.pop(_key(page), None)
        st.rerun()


def _show(state: UrlState, asked: Asked, draws: Draws, *, current: bool) -> None:
    """Maps, player, strips and tables of finished draws."""
    page, theme = state.page, st.context.theme.type
    if not current:
        show_caption("These are the draws of the settings before.")
    name = f"dpviz exploration not private {asked.trial.config.method}"
    position = _player(state, asked, draws)
    maps = asked.maps(draws, position)
    live_figure(
        maps.spec(),
        key=f"{page}:draws:maps",
        height=maps.height,
        share=maps.share,
        alt=maps.alt,
        base_name=f"{name} many draws",
    )
    true = asked.trial.true()
    strips = figures.strips(
        draws, position, true, "dark" if theme == "dark" else "light", asked.title
    )
    live_figure(
        strips.spec(),
        key=f"{page}:draws:strips",
        height=strips.height,
        alt=strips.alt,
        base_name=f"{name} scores of many draws",
    )
    show_caption(
        f"Box: {band_words(len(draws.seeds))}; line: median; diamond: the played draw; dashes: the "
        "true run."
    )
    table = figures.frame(draws, position, true)
    st.dataframe(table, width="stretch", hide_index=True, height="content")
    _downloads(name, table, draws)


def _player(state: UrlState, asked: Asked, draws: Draws) -> int:
    """Show the player of draws; returns the position of the one to draw."""
    page = state.page
    at = draws.seeds.index(asked.seed) if asked.seed in draws.seeds else 0
    left, right = st.columns([4, 1], vertical_alignment="bottom")
    with left:
        slider = live_slider(
            "Play the draws",
            key=f"{page}:draws:play:{draws.seeds[0]}:{len(draws.seeds)}",
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
        key=f"{page}:draws:take",
        width="stretch",
        disabled=seed == asked.seed,
        on_click=lambda: state.set("seed", seed),
        help="Take this draw's seed.",
    )
    return position


def _downloads(name: str, table: Any, draws: Draws) -> None:
    """Tables as CSV."""
    left, right, _ = st.columns([1, 1, 2])
    file = name.replace(" ", "-")
    left.download_button(
        "Scores (CSV)",
        lambda: csv_bytes(table),
        file_name=f"{file}-scores.csv",
        on_click="ignore",
        width="stretch",
    )
    right.download_button(
        "Every draw (CSV)",
        lambda: csv_bytes(figures.draws_frame(draws)),
        file_name=f"{file}-draws.csv",
        on_click="ignore",
        width="stretch",
    )
