"""Controls of the release page, and what they ask for."""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import streamlit as st

from dpviz.data.samples import Sample
from dpviz.families import CARDS
from dpviz.family.card import Card
from dpviz.home import home
from dpviz.kmeans.methods import KMEANS
from dpviz.release.request import Request
from dpviz.ui import kmeans, wavecluster
from dpviz.ui.data_panel import ActiveData, data_controls, data_panel
from dpviz.ui.messages import plain_text, show_caption
from dpviz.ui.state import Control, UrlState, choice
from dpviz.wavecluster.config import SYNOPSES
from dpviz.wavecluster.methods import WAVECLUSTER
from dpviz.wavecluster.wavelet import wavelet_names

FIRST_METHOD = "privthrem"

#: Methods that can be released at all: those with a budget.
METHODS = tuple(name for name, card in CARDS.items() if card.spends)


def budget_file() -> Path:
    """Lifetime budgets of all data sources of this computer's user."""
    return home() / "budget.db"


def new_folder(method: str) -> Path:
    """Folder for the next bundle; a name that no other release takes."""
    return home() / "releases" / f"{method}-{secrets.token_hex(4)}"


def page_state() -> UrlState:
    """All controls of the page, from the link or the session."""
    state = UrlState(
        "release",
        {
            **data_controls(wavecluster.FIRST, many=True),
            **kmeans.method_controls(),
            **wavecluster.method_controls(),
            "method": Control(FIRST_METHOD, choice("method", METHODS)),
        },
    )
    if state.fresh:
        _take_defaults(state, but=state.given)
    return state


def _take_defaults(state: UrlState, but: set[str] = frozenset()) -> None:  # type: ignore[assignment]
    """Give the choices of the chosen method its defaults."""
    if state.get("method") in KMEANS:
        kmeans.take_defaults(state, but=but)
    elif "alpha" not in but:
        wavecluster.take_defaults(state)


@dataclass(frozen=True, kw_only=True, eq=False)
class ReleaseDraft:
    """What the page would release, from which data, at whose cost.

    Parameters
    ----------
    active
        Data on the page.
    request
        Public choices.
    """

    active: ActiveData
    request: Request

    @property
    def fingerprint(self) -> tuple[object, ...]:
        """Changes with anything that a person has to look at again before the debit."""
        data = self.active.complete
        return (self.request, data.digest, data.columns, self.active.unit)


def data_of(state: UrlState) -> ActiveData:
    """Show the data panel; returns the data that would be released."""

    def take_over(facts: Sample | None) -> None:
        """A sample set brings its own good grid, density and number of clusters."""
        if facts is not None:
            state.set("g", facts.grid)
            state.set("p", facts.density)
            state.set("k", max(facts.clusters, 2))

    active = data_panel(state, take_over, many=state.get("method") in KMEANS, named=True)
    if active.sample is not None and state.fresh:
        found = {"g": active.sample.grid, "p": active.sample.density}
        found["k"] = max(active.sample.clusters, 2)
        for name, value in found.items():
            if name not in state.given:
                state.set(name, value)
        state.fresh = False
    return active


def draft_of(state: UrlState, active: ActiveData, title: str) -> ReleaseDraft:
    """Put together what all controls say."""
    of = kmeans.config_of if state.get("method") in KMEANS else wavecluster.config_of
    # The box of a grid of counts is proposed by the file, not declared by a person.
    proposed = active.dataset.counts is not None and state.get("domain") == "declared"
    request = Request(
        config=of(state, active),
        domain=None if proposed else active.domain,
        outside=active.outside,
        unit=active.unit,
        title=title.strip(),
    )
    return ReleaseDraft(active=active, request=request)


def method_panel(state: UrlState) -> None:
    """Show method and parameters: numbers to type, since nothing here is to be dragged."""
    left, right = st.columns([2, 3])
    left.selectbox(
        "Method",
        **state.choice("method", METHODS),
        format_func=lambda name: f"{_FAMILY[CARDS[name].family]}: {CARDS[name].title}",
        on_change=lambda: _take_defaults(state),
    )
    card = CARDS[state.get("method")]
    with right:
        show_caption(f"{card.summary} ({card.paper})")
    shown = [one for one in _NUMBERS if card.parameter(_PARAMETERS.get(one, one))]
    for column, name in zip(st.columns(max(len(shown), 4)), shown, strict=False):
        column.number_input(**state.widget(name), **_number(card, name))
    chosen = [one for one in _choices(card) if card.parameter(one)]
    for column, name in zip(st.columns(max(len(chosen), 4)), chosen, strict=False):
        column.selectbox(
            plain_text(name.replace("_", " ").capitalize()),
            **state.choice(name, _choices(card)[name]),
            format_func=lambda option: kmeans.WORDS.get(option, str(option).replace("_", " ")),
        )


_FAMILY = {"wavecluster": "WaveCluster", "kmeans": "k-means"}

#: Names in the link that differ from the parameter's.
_PARAMETERS = {"g": "grid", "p": "density", "k": "clusters", "t": "iterations"}

#: Numbers to type: label, step, format, help.
_NUMBERS: dict[str, tuple[str, float | int, str | None, str]] = {
    "epsilon": ("Privacy budget ε", 0.1, "%g", "What this release takes off the lifetime budget."),
    "alpha": ("Counts' share α", 0.05, "%.2f", "Part of ε for the counts."),
    "g": ("Grid g", 2, None, "Cells a side."),
    "p": ("Density threshold p", 0.01, "%.2f", "Share of positive coefficients to drop."),
    "k": ("Clusters K", 1, None, "Number of centres."),
    "t": ("Iterations T", 1, None, "Data passes; they share the budget."),
}


def _number(card: Card, name: str) -> dict[str, Any]:
    """Arguments of the box of a number."""
    label, step, form, text = _NUMBERS[name]
    parameter = card.parameter(_PARAMETERS.get(name, name))
    assert parameter is not None  # noqa: S101 - only such are shown
    kind = type(step)
    return {
        "label": label,
        "min_value": kind(parameter.low),  # type: ignore[arg-type]
        "max_value": kind(parameter.high),  # type: ignore[arg-type]
        "step": step,
        "format": form,
        "help": text,
    }


def _choices(card: Card) -> dict[str, tuple[Any, ...]]:
    """Options of what is chosen from a list."""
    if card.name in WAVECLUSTER:
        low, high = wavecluster.LEVEL_RANGE
        return {
            "wavelet": tuple(wavelet_names()),
            "level": tuple(range(low, high + 1)),
            "synopsis": SYNOPSES,
        }
    return {name: options for name, (_, options, _) in kmeans.CHOICES.items()}
