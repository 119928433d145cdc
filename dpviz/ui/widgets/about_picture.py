"""“About this picture”: a help text below every figure, which the browser opens and closes."""

from __future__ import annotations

import html
import tomllib
from dataclasses import dataclass

import streamlit as st

from dpviz.ui import FRONTEND


@dataclass(frozen=True, kw_only=True)
class AboutPicture:
    """Help on one kind of figure, as plain text."""

    shows: str
    read: str
    attempt: str


#: Sentence on the two sides; on a phone, one side is above the other.
_SIDES = (
    "The truth is on the left (on a phone, above), and the chosen method is on the right (below). "
    "Both zoom together."
)


_TEXT = (FRONTEND / "about_picture.toml").read_text(encoding="utf-8").replace("{sides}", _SIDES)

ABOUT = {name: AboutPicture(**one) for name, one in tomllib.loads(_TEXT).items()}

_TITLES = {"shows": "What it shows", "read": "How to read it", "attempt": "What to try"}


def about_picture(name: str) -> None:
    """Show the closed help text of a figure; ``name`` is a key of :data:`ABOUT`."""
    about = ABOUT[name]
    rows = "".join(
        f"<dt>{title}</dt><dd>{html.escape(getattr(about, part))}</dd>"
        for part, title in _TITLES.items()
    )
    st.html(
        '<details class="dpv-about"><summary>About this picture</summary>'
        f'<dl class="dpv-terms">{rows}</dl></details>'
    )
