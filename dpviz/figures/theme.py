"""Colours of all figures, light and dark, that colour-blind readers can distinguish."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from dpviz.base.display import Mode as Mode

#: After Okabe and Ito (2008) and Tol (2021), for all common colour-vision deficiencies.
CLUSTERS: dict[Mode, tuple[str, ...]] = {
    "light": (
        "#0072b2", "#d55e00", "#009e73", "#aa3377", "#b8860b", "#3f90da",
        "#7a4419", "#5f4bb6", "#2a7f2a", "#c7417b", "#008b9a", "#8a3030",
    ),
    "dark": (
        "#56b4e9", "#f08a3c", "#2fc79a", "#e07bbf", "#f2c14e", "#8fa8ff",
        "#c49a6c", "#b39ddb", "#9ccc65", "#ff8fa3", "#4dd0e1", "#ef9a9a",
    ),
}  # fmt: skip

BACKGROUND: dict[Mode, str] = {"light": "#ffffff", "dark": "#14181d"}
INK: dict[Mode, str] = {"light": "#000000", "dark": "#ffffff"}

#: Lines beneath the data of a map: visible on light and dark pages, and different from all data.
GROUND = "#8b96a1"

NOISE: dict[Mode, str] = {"light": "#9aa4ae", "dark": "#66717c"}
BOTH: dict[Mode, str] = {"light": "#0072b2", "dark": "#56b4e9"}
INVENTED: dict[Mode, str] = {"light": "#d55e00", "dark": "#f08a3c"}
#: Clusters that noise alone made; not a colour of :data:`CLUSTERS`.
WRONG: dict[Mode, str] = {"light": "#c1121f", "dark": "#ff6b6b"}
MISSED: dict[Mode, str] = {"light": "#e6c200", "dark": "#f2e05c"}

#: Colours of negative and of positive values; zero has the colour of the background.
_ANCHORS: dict[Mode, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "light": (("#7f2a00", "#d55e00", "#f6c6a0"), ("#cfe3f2", "#5ba3d0", "#12609a", "#08264a")),
    "dark": (("#ffd0a8", "#e07a2e", "#5c3316"), ("#1d3a55", "#2f7fb8", "#7cc4f0", "#eaf6ff")),
}


def zero_centred(low: float, high: float, mode: Mode) -> list[list[Any]]:
    """Colour scale from ``low`` < 0 to ``high`` > 0; zero has the page's background colour."""
    negative, positive = _ANCHORS[mode]
    origin = -low / (high - low)
    stops = [(origin * i / len(negative), colour) for i, colour in enumerate(negative)]
    stops.append((origin, BACKGROUND[mode]))
    stops += [
        (origin + (1 - origin) * i / len(positive), colour)
        for i, colour in enumerate(positive, start=1)
    ]
    return [[round(place, 6), colour] for place, colour in stops]


def above_zero(mode: Mode) -> list[list[Any]]:
    """Colour scale from 0 to large values; 0 has the page's background colour."""
    colours = (BACKGROUND[mode], *_ANCHORS[mode][1])
    return [[i / (len(colours) - 1), colour] for i, colour in enumerate(colours)]


def steps(colours: list[str]) -> list[list[Any]]:
    """Colour scale for codes 0, 1, 2, ...; each code has one flat colour."""
    n = len(colours)
    return [
        [edge, colour]
        for i, colour in enumerate(colours)
        for edge in (round(i / n, 9), round((i + 1) / n, 9))
    ]


@lru_cache(4096)
def blend(colour: str, other: str, share: float) -> str:
    """Mix two colours; ``share`` is the share of the first colour."""
    mixed = (
        round(share * int(colour[i : i + 2], 16) + (1 - share) * int(other[i : i + 2], 16))
        for i in (1, 3, 5)
    )
    return "#" + "".join(f"{channel:02x}" for channel in mixed)
