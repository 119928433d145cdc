"""Uploads: many files at once, how many bytes a session may have, and when a file is freed."""

from __future__ import annotations

import asyncio
from threading import Event
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from dpviz.base.errors import InputError
from dpviz.data.reading import apart
from dpviz.data.reading.watch import watching
from dpviz.server.web import Shield
from dpviz.ui.data import own_file
from dpviz.ui.session import job, uploads
from tests.data.reading.test_apart import CSV, SLOW, nothing_left, planted  # noqa: F401
from tests.support import coroutines


@pytest.fixture
def uploads_are_read_here() -> None:
    """Replaces the fixture of all tests: here the processes that read uploads are tested."""


def uploaded(name: str) -> SimpleNamespace:
    return SimpleNamespace(file_id=name, name=name, size=len(CSV), getvalue=lambda: CSV)


def test_a_second_upload_ends_the_reading_of_the_first(monkeypatch: pytest.MonkeyPatch) -> None:
    session = SimpleNamespace(session_state={})
    for module in (own_file, job):
        monkeypatch.setattr(module, "st", session)
    apart.dismiss()
    with monkeypatch.context() as patch:
        planted(patch, SLOW)
        first, begun = own_file.reader_of(uploaded("first.csv")), Event()
        assert first is not None

        def read(**_: object) -> object:
            with watching(lambda *_: begun.set(), lambda: False):
                return first.table()

        reading = job.start(own_file._READING, read, heavy=False)
        assert begun.wait(30)
        second = own_file.reader_of(uploaded("second.csv"))
        assert reading.wait(10)
        assert reading.cancelled
        assert (reading.result, reading.error) == (None, "")
    apart.dismiss()
    assert second is not None
    assert second.table().rows == 202


class Files:
    """Test double for Streamlit's store of uploads."""

    def __init__(self) -> None:
        self.file_storage: dict[str, dict[str, SimpleNamespace]] = {}

    def put(self, session: str, name: str, size: int) -> None:
        stored = self.file_storage.setdefault(session, {})
        stored[name] = SimpleNamespace(data=range(size))

    def remove_file(self, session: str, name: str) -> None:
        self.file_storage[session].pop(name, None)


@pytest.fixture
def files(monkeypatch: pytest.MonkeyPatch) -> Files:
    made = Files()
    server = SimpleNamespace(
        exists=lambda: True, get_instance=lambda: SimpleNamespace(uploaded_file_mgr=made)
    )
    monkeypatch.setattr(uploads, "runtime", server)
    return made


async def answer(door: Shield, path: str, size: int | None, method: str = "PUT") -> tuple[int, str]:
    """Status and text of a request."""
    sent: list[dict[str, Any]] = []
    headers = [(b"host", b"localhost")]
    if size is not None:
        headers.append((b"content-length", str(size).encode()))

    async def send(message: Any) -> None:
        sent.append(message)

    scope = {"type": "http", "method": method, "path": path, "headers": headers}
    await door(scope, None, send)  # type: ignore[arg-type]
    return sent[0]["status"], sent[1].get("body", b"").decode()


def test_a_session_holds_so_many_bytes_whatever_comes_in_and_however(files: Files) -> None:
    """Six files of 90 MB arrive at once: two are accepted, each other file gets one sentence."""
    held: list[int] = []

    async def store(scope: Any, receive: Any, send: Any) -> None:
        # A file counts from its first byte on, also while other files are arriving.
        await asyncio.sleep(0)
        _, _, _, session, name = scope["path"].split("/")
        files.put(session, name, 90 * 2**20)
        held.append(sum(len(one.data) for one in files.file_storage[session].values()))
        await send({"type": "http.response.start", "status": 204, "headers": []})
        await send({"type": "http.response.body"})

    door = Shield(store)  # type: ignore[arg-type]

    async def six(session: str, size: int | None) -> list[tuple[int, str]]:
        path = f"/_stcore/upload_file/{session}"
        asked = [answer(door, f"{path}/{one}", size) for one in range(6)]
        return list(await asyncio.gather(*asked))

    for session, size in (("one", 90 * 2**20), ("two", None)):
        got = coroutines.run(six(session, size))
        assert [status for status, _ in got] == [204] * 2 + [413] * 4
        assert all("a session may have 210 MB: remove a file first" in text for _, text in got[2:])
    assert max(held) <= uploads.MOST
    assert not uploads._COMING
    files.remove_file("one", "0")
    assert coroutines.run(answer(door, "/_stcore/upload_file/one/7", 2**20))[0] == 204


def test_all_sessions_together_leave_memory_for_the_server(
    files: Files, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert uploads.most_of_all() >= uploads.MOST
    monkeypatch.setattr(uploads, "most_of_all", lambda: 500 * 2**20)
    for one in range(5):
        files.put(str(one), "file", 90 * 2**20)
    with pytest.raises(InputError, match="fill the memory"), uploads.coming("new", 90 * 2**20):
        pass
    with uploads.coming("new", 40 * 2**20):
        pass


def test_a_file_that_no_place_has_any_longer_is_freed(
    files: Files, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = SimpleNamespace(session_id="me")
    monkeypatch.setattr(uploads, "get_script_run_ctx", lambda **_: session)
    monkeypatch.setattr(uploads.st, "session_state", {})
    for name in "abcd":
        files.put("me", name, 1)
        files.put("another", name, 1)

    def keep(place: str, names: str) -> str:
        uploads.keep(place, [SimpleNamespace(file_id=name) for name in names])
        return "".join(files.file_storage["me"])

    assert keep("own", "a") == "abcd"  # a file that is still arriving stays unchanged
    assert keep("own", "ab") == "abcd"
    assert keep("papers", "a") == "abcd"
    assert keep("own", "b") == "abcd"  # another place still uses it
    assert keep("papers", "") == "bcd"
    assert keep("own", "d") == "cd"
    assert "".join(files.file_storage["another"]) == "abcd"
    # Before the next file may be refused, the page says how large the file may be.
    told: list[str] = []
    monkeypatch.setattr(uploads, "show_caption", told.append)
    uploads.show_room()
    files.put("me", "large", 180 * 2**20)
    uploads.show_room()
    assert len(told) == 1
    assert "a file of more than 30 MB is refused (413) until you remove a file" in told[0]


def test_numbers_of_a_small_file_are_no_larger_than_a_session() -> None:
    many = np.lib.stride_tricks.as_strided(np.zeros(1), (14_000_000, 2), (0, 0))
    with pytest.raises(InputError, match=r"The chosen part of trips takes 213.6 MB here, and"):
        uploads.check_size("trips", (many, None))
    uploads.check_size("trips", (many[:13_000_000], None))
