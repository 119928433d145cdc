"""The stages of a method as a strip of live thumbnails; a click opens a view of a stage."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import streamlit as st

from dpviz.figures.stages import StageCard, Thumbnail
from dpviz.ui.widgets.assets import component

_mount = component("strip")

#: Beginning of a picked value if only another method has the stage and must replace this method.
OFFER = "use "


@dataclass(frozen=True, kw_only=True)
class Choice:
    """A small button at the end of the strip; ``pressed`` is None if it is no switch."""

    title: str
    act: Callable[[], object]
    pressed: bool | None = None
    help: str = ""


def strip(
    cards: Sequence[StageCard], choices: Sequence[Choice], *, key: str,
    controls: Mapping[str, Sequence[str]], shown: str, at_first: bool, settings: Mapping[str, str],
    broken: tuple[str, str, str], offered: str, open_stage: Callable[[str], object],
) -> str | None:  # fmt: skip
    """Show the strip; return a stage if the user asked for the method that has this stage.

    ``shown`` is the stage in the picture, or "". ``controls`` has the keys of the controls that are
    marked while a stage is shown, and ``settings`` has their values in words. ``open_stage`` gets
    the name of a picked stage; ``at_first`` says whether the shown stage looks as when opened.
    ``broken`` has the stage at which the selected cluster first differs, its mark, and the same in
    words. ``offered`` is the title of the method that has a missing stage.
    """
    palettes: list[tuple[str, ...]] = []
    listed = [
        {
            "pick": OFFER + one.name if one.missing else one.name,
            "name": one.name,
            "fact": f"{one.fact} · use {offered}" if one.missing else one.fact,
            "label": _label(one, shown, settings[one.name], broken, offered),
            "shown": one.name == shown,
            "first": one.name == shown and at_first,
            "missing": one.missing,
            "mark": broken[1] if broken[0] == one.name else "",
            "controls": controls[one.name],
            "pictures": [_sent(part, palettes) for part in one.thumbnails if not one.missing],
        }
        for one in cards
    ]
    acts = {one.name: partial(open_stage, one.name) for one in cards if not one.missing}
    acts |= {one.title: one.act for one in choices}  # type: ignore[misc]
    buttons = [{"title": one.title, "on": one.pressed, "help": one.help} for one in choices]
    buttons += [
        {"title": f"Use {offered}", "pick": OFFER + one.name, "help": one.said}
        for one in cards
        if one.offer and not one.missing and one.name == shown
    ]
    data = {"cards": listed, "choices": buttons, "palettes": palettes}
    found = _mount(key=key, data=data, on_picked_change=partial(_act, key, acts))
    stage = str(found.picked or "").removeprefix(OFFER)
    return stage if stage in controls and found.picked == OFFER + stage else None


def _act(key: str, acts: Mapping[str, Callable[[], object]]) -> None:
    picked = st.session_state[key].get("picked")
    if isinstance(picked, str) and picked in acts:
        acts[picked]()


def _label(
    card: StageCard, shown: str, settings: str, broken: tuple[str, str, str], offered: str
) -> str:
    parts = [f"Stage {card.name}: {card.said}", settings]
    parts += [broken[2]] * (card.name == broken[0])
    parts += ["shown"] * (card.name == shown)
    parts += [f"use {offered}"] * card.missing
    return ", ".join(filter(None, parts))


def _sent(drawn: Thumbnail | None, palettes: list[tuple[str, ...]]) -> dict[str, Any] | None:
    if drawn is None:
        return None
    if drawn.palette not in palettes:
        palettes.append(drawn.palette)
    rows = drawn.codes.T[::-1]
    return {
        "width": rows.shape[1],
        "cells": b64encode(rows.tobytes()).decode(),
        "palette": palettes.index(drawn.palette),
    }
