"""Own data leave the server's memory after the last browser has left, and not earlier."""

from __future__ import annotations

import json
import secrets
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import pytest

from tests.browser.conftest import ROOT, await_health, end, serve_others
from tests.support.memory import marks

#: This code runs in the server's process: it reports living objects, and shortens waiting times.
PROBE = """
import ctypes, json, os, sys, threading, time, weakref

PLACES = {"dpviz.data.reading.table": "Table", "dpviz.data.dataset": "Dataset"}
alive = {}

def count(made):
    first = made.__init__
    def init(self, *given, **named):
        first(self, *given, **named)
        alive[id(self)] = weakref.ref(self)
    made.__init__ = init

def arenas():
    libc, place = ctypes.CDLL(None), os.environ["PROBE"] + ".arenas"
    libc.fopen.restype = ctypes.c_void_p
    file = ctypes.c_void_p(libc.fopen(place.encode(), b"w"))
    libc.malloc_info(0, file)
    libc.fclose(file)
    with open(place) as told:
        return told.read().count("<heap ")

def watch():
    waiting = dict(PLACES)
    while True:
        time.sleep(0.05)
        for module, name in list(waiting.items()):
            if hasattr(sys.modules.get(module), name):
                count(getattr(sys.modules[module], waiting.pop(module)))
        runtime = sys.modules.get("streamlit.runtime")
        if not (hasattr(runtime, "exists") and runtime.exists()):
            continue
        # Do this before the first session, because a session uses ``away`` when it is imported.
        import dpviz.ui.session.leave as leave
        leave.away, leave.LOOK = lambda: 2.0, 0.2
        if not waiting:
            held = [one().name for one in list(alive.values()) if one() is not None]
            files = runtime.get_instance().uploaded_file_mgr.file_storage
            said = {
                "held": sorted(set(held)), "files": sum(map(len, list(files.values()))),
                "arenas": arenas(),
            }
            with open(os.environ["PROBE"] + ".part", "w") as file:
                json.dump(said, file)
            os.replace(os.environ["PROBE"] + ".part", os.environ["PROBE"])

if "dpviz.server" in sys.orig_argv:
    threading.Thread(target=watch, daemon=True).start()
"""
OURS = "survey.csv"


def expect(probe: Path, *, held: bool) -> None:
    """Wait until the server has the upload in its memory, or no part of the upload."""
    said: Any = None
    for _ in range(300):
        said = json.loads(probe.read_text(encoding="utf-8")) if probe.exists() else None
        if said and (OURS in said["held"], said["files"] > 0) == (held, held):
            return
        time.sleep(0.1)
    raise AssertionError(said)


@pytest.mark.exhaustive(reason="tests/ui/test_uploads.py frees a file that has no place")
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
    rows, mark = 20_000, secrets.token_hex(12)
    lines = (
        f"{x:.6f},{y:.6f},{mark}\n" for x, y in np.random.default_rng(0).normal(size=(rows, 2))
    )
    (tmp_path / OURS).write_text(f"x,y,note\n{''.join(lines)}", encoding="utf-8")
    (tmp_path / "sitecustomize.py").write_text(PROBE, encoding="utf-8")
    probe = tmp_path / "probe.json"
    added = {"PROBE": str(probe), "PYTHONPATH": f"{tmp_path}:{ROOT}"}
    url, server = serve_others(tmp_path, env=added)
    try:
        await_health(url, server)
        # Only the first session opens before the server has frozen its memory.
        for page, next_one in pages:
            watched = open_page(f"{url}/{page}?data=own")
            watched.page.locator("input[type=file]").set_input_files(tmp_path / OURS)
            expect(probe, held=True)
            watched.page.wait_for_selector(".gtitle")
            # When the next page opens, the server freezes its memory, which contains this data.
            watched.go(next_one)
            watched.wait_idle()
            watched.page.wait_for_timeout(4_000)
            expect(probe, held=True)
            watched.page.close()
            expect(probe, held=False)
        assert json.loads(probe.read_text(encoding="utf-8"))["arenas"] == 1
        # Freed memory does not contain the file's bytes, except in pages that are still in use.
        process, left = psutil.Process(server.pid), rows
        for _ in range(20):
            time.sleep(0.5)
            left = sum(marks(one, mark) for one in (process, *process.children(recursive=True)))
            if left < rows / 20:
                break
        assert left < rows / 20
    finally:
        end(server)


#: Uploads ``many`` files of 90 MB, in addition to the file that the page has sent.
PUT_MORE = """async ([address, many]) => {
  const token = document.cookie.match(/_streamlit_xsrf=([^;]+)/)?.[1] ?? ''
  const put = async (number) => {
    const form = new FormData()
    form.append('file', new Blob([new Uint8Array(90 * 2 ** 20)]), `${number}.csv`)
    const answer = await fetch(address.replace(/[^/]+$/, `more-${number}`),
      { method: 'PUT', body: form, headers: { 'X-Xsrftoken': token } })
    return [answer.status, await answer.text()]
  }
  const got = []
  for (let number = 0; number < many; number++) got.push(await put(number))
  return got
}"""


@pytest.mark.exhaustive
def test_one_session_takes_so_much_memory_and_no_more(
    tmp_path: Path, open_page: Callable[..., Any]
) -> None:
    url, server = serve_others(tmp_path)
    try:
        await_health(url, server)
        watched = open_page(f"{url}/?data=own")
        box = watched.page.locator("input[type=file]")
        box.wait_for(state="attached")
        watched.wait_idle()
        (tmp_path / OURS).write_text("x,y\n" + "1,2\n3,4\n" * 50, encoding="utf-8")
        with watched.page.expect_request("**/upload_file/**") as sent:
            box.set_input_files(tmp_path / OURS)
        watched.page.wait_for_selector(".gtitle")
        process = psutil.Process(server.pid)
        before = process.memory_info().rss
        got = watched.page.evaluate(PUT_MORE, [sent.value.url, 6])
        assert [status for status, _ in got] == [204] * 2 + [413] * 4
        assert "a session may have 210 MB" in got[-1][1]
        # 540 MB without a limit. With the limit, there are the files and, during an upload, a
        # second copy of the last file.
        assert process.memory_info().rss - before < 330 * 2**20
    finally:
        end(server)
