"""Own data leaves the server's memory when the last browser has left, and not before."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.browser.conftest import ROOT, await_health, end, serve

#: Runs beside the product in the server's process, tells what lives there, and makes it impatient.
PROBE = """
import json, os, sys, threading, time, weakref

PLACES = {"dpviz.data.reading.table": "Table", "dpviz.data.dataset": "Dataset"}
alive = {}

def count(made):
    first = made.__init__
    def init(self, *given, **named):
        first(self, *given, **named)
        alive[id(self)] = weakref.ref(self)
    made.__init__ = init

def watch():
    waiting = dict(PLACES)
    while True:
        time.sleep(0.05)
        for module, name in list(waiting.items()):
            if hasattr(sys.modules.get(module), name):
                count(getattr(sys.modules[module], waiting.pop(module)))
        leave = sys.modules.get("dpviz.ui.leave")
        if hasattr(leave, "_collect"):
            leave.away, leave.LOOK = lambda: 2.0, 0.2
        runtime = sys.modules.get("streamlit.runtime")
        if not waiting and runtime.exists():
            held = [one().name for one in list(alive.values()) if one() is not None]
            files = runtime.get_instance().uploaded_file_mgr.file_storage
            said = {"held": sorted(set(held)), "files": sum(map(len, list(files.values())))}
            with open(os.environ["PROBE"] + ".part", "w") as file:
                json.dump(said, file)
            os.replace(os.environ["PROBE"] + ".part", os.environ["PROBE"])

if "streamlit" in sys.orig_argv:
    threading.Thread(target=watch, daemon=True).start()
"""
OURS = "survey.csv"


def expect(probe: Path, *, held: bool) -> None:
    """Wait until the server holds the upload, or nothing of it."""
    said: Any = None
    for _ in range(300):
        said = json.loads(probe.read_text(encoding="utf-8")) if probe.exists() else None
        if said and (OURS in said["held"], said["files"] > 0) == (held, held):
            return
        time.sleep(0.1)
    raise AssertionError(said)


@pytest.mark.daily("two pages")
@pytest.mark.parametrize(
    "pages",
    [
        pytest.param((("", "k-means"), ("kmeans", "WaveCluster")), id="two pages"),
        pytest.param((("compare", "Release"), ("kmeans", "WaveCluster")), id="other pages"),
    ],
)
def test_uploads_go_with_their_session(
    tmp_path: Path, open_page: Callable[..., Any], pages: tuple[tuple[str, str], ...]
) -> None:
    points = np.random.default_rng(0).normal(size=(20_000, 3))
    np.savetxt(tmp_path / OURS, points, "%.6f", ",", header="x,y,z", comments="")
    (tmp_path / "sitecustomize.py").write_text(PROBE, encoding="utf-8")
    probe = tmp_path / "probe.json"
    added = {"PROBE": str(probe), "PYTHONPATH": f"{tmp_path}:{ROOT}"}
    url, server = serve("app.py", tmp_path, env=added)
    try:
        await_health(url, server)
        # The first session is there before the server settles its memory, others come after.
        for page, next_one in pages:
            watched = open_page(f"{url}/{page}?data=own")
            watched.page.locator("input[type=file]").set_input_files(tmp_path / OURS)
            expect(probe, held=True)
            watched.page.wait_for_selector(".gtitle")
            # On the next page the server's memory is settled with this data in it.
            watched.page.get_by_role("link", name=next_one).first.click()
            watched.wait_idle()
            watched.page.wait_for_timeout(4_000)
            expect(probe, held=True)
            watched.page.close()
            expect(probe, held=False)
    finally:
        end(server)
