"""Copy plotly.js out of the installed plotly package into the app's static folder."""

from __future__ import annotations

import os
import tempfile
from functools import cache
from importlib import resources
from importlib.metadata import version
from pathlib import Path

import streamlit as st

STATIC_DIR = Path(__file__).resolve().parents[2] / "static"


def plotly_file_name() -> str:
    """Return the name of the served file, which changes with the plotly version."""
    return f"plotly-{version('plotly')}.min.js"


@cache
def ensure_plotly(static_dir: Path = STATIC_DIR) -> str:
    """Make sure that the static folder holds plotly.js of the installed version.

    Parameters
    ----------
    static_dir : Path
        The folder that Streamlit serves as ``app/static``, beside the main script.

    Returns
    -------
    str
        The file's name inside that folder.
    """
    name = plotly_file_name()
    target = static_dir / name
    if not target.is_file():
        static_dir.mkdir(parents=True, exist_ok=True)
        source = resources.files("plotly").joinpath("package_data", "plotly.min.js")
        _write_atomically(target, source.read_bytes())
    for old in static_dir.glob("plotly-*.min.js"):
        if old.name != name:
            old.unlink(missing_ok=True)
    return name


def plotly_url() -> str:
    """Return the address of plotly.js on this server."""
    base = str(st.get_option("server.baseUrlPath") or "").strip("/")
    return f"/{base}/app/static/{ensure_plotly()}".replace("//", "/")


def _write_atomically(target: Path, content: bytes) -> None:
    # Another process may start at the same moment: a half-written file must never be served.
    handle, temporary = tempfile.mkstemp(dir=target.parent, suffix=".part")
    try:
        with os.fdopen(handle, "wb") as stream:
            stream.write(content)
        os.chmod(temporary, 0o644)
        os.replace(temporary, target)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise
