"""What a run is, in one line: the title of every figure about it."""

from __future__ import annotations

from collections.abc import Collection

from dpviz.families import CARDS
from dpviz.kmeans.config import KMeansConfig
from dpviz.ui.data_panel import ActiveData
from dpviz.wavecluster.config import Config


def run_title(
    active: ActiveData,
    config: Config | KMeansConfig,
    *,
    seed: int | None = None,
    without: Collection[str] = (),
) -> str:
    """Title of a run: data, method, parameters.

    Parameters
    ----------
    active, config
        The run.
    seed
        Of the noise; None where there are many draws.
    without
        Parameters that a search varies.
    """
    card = CARDS[config.method]
    said = _grid(active, config) if isinstance(config, Config) else _centers(config)
    if card.spends:
        said = {"epsilon": f"ε {config.epsilon:.4g}", **said}
        said |= {} if seed is None else {"seed": f"seed {seed}"}
    parts = [text for name, text in said.items() if name not in without]
    return " · ".join([active.title, card.title, *parts])


def _grid(active: ActiveData, config: Config) -> dict[str, str]:
    """Parameters of a WaveCluster technique."""
    counts = active.dataset.counts
    grid = config.grid if counts is None else counts.shape
    sides = grid if isinstance(grid, tuple) else (grid,)
    shown = sides[0] if len(set(sides)) == 1 else " x ".join(map(str, sides))
    alpha = {"alpha": f"α {config.alpha:.2f}"} if CARDS[config.method].parameter("alpha") else {}
    return {
        **alpha,
        "grid": f"g {shown}",
        "density": f"p {config.density:.2f}",
        "wavelet": f"{config.wavelet} level {config.level}",
    }


def _centers(config: KMeansConfig) -> dict[str, str]:
    """Parameters of a k-means method."""
    said = {
        "clusters": f"K {config.clusters}",
        "iterations": "" if config.iterations is None else f"T {config.iterations}",
        "start": (config.start or "").replace("_", " "),
        "schedule": config.schedule or "",
    }
    return {name: text for name, text in said.items() if text}
