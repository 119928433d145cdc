"""A second upload, soon after the first: nobody waits for the file that nobody wants any longer."""

from __future__ import annotations

from threading import Event
from types import SimpleNamespace

import pytest

from dpviz.data.reading import apart
from dpviz.data.reading.watch import watching
from dpviz.ui import job, own_data
from tests.data.reading.test_apart import CSV, SLOW, nothing_left, planted  # noqa: F401


def uploaded(name: str) -> SimpleNamespace:
    return SimpleNamespace(file_id=name, name=name, size=len(CSV), getvalue=lambda: CSV)


def test_a_second_upload_ends_the_reading_of_the_first(monkeypatch: pytest.MonkeyPatch) -> None:
    session = SimpleNamespace(session_state={})
    for module in (own_data, job):
        monkeypatch.setattr(module, "st", session)
    apart.dismiss()
    with monkeypatch.context() as patch:
        planted(patch, SLOW)
        first, begun = own_data.reader_of(uploaded("first.csv")), Event()
        assert first is not None

        def read(**_: object) -> object:
            with watching(lambda *_: begun.set(), lambda: False):
                return first.table()

        reading = job.start(own_data._READING, read, heavy=False)
        assert begun.wait(30)
        second = own_data.reader_of(uploaded("second.csv"))
        assert reading.wait(10)
        assert reading.cancelled
        assert (reading.result, reading.error) == (None, "")
    apart.dismiss()
    assert second is not None
    assert second.table().rows == 202
