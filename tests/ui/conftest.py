"""Pages without a browser."""

import json
from collections.abc import Iterator
from functools import partial
from typing import Any

import pytest

from dpviz.data.reading import apart
from dpviz.data.reading.reader import QUESTIONS, Reading, packed
from dpviz.release.rehearsal import rehearse
from dpviz.ui.session import cache


@pytest.fixture(autouse=True)
def brief_pictures(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Pages are drawn hundreds of times, so the work after the mechanisms is short."""
    if "as_released" not in request.fixturenames:
        request.getfixturevalue("quick_after_the_mechanisms")
        monkeypatch.setattr("dpviz.kmeans.optimum._LEVELS", ((2**12, 2, 2),))


@pytest.fixture
def as_released() -> Iterator[None]:
    """The test compares a picture with the numbers that the library has by default."""
    cache._shared.cache_clear()
    yield
    cache._shared.cache_clear()


@pytest.fixture(autouse=True)
def brief_held_out_scores(monkeypatch: pytest.MonkeyPatch) -> None:
    """Don't run the job for OCM and 2CE, because it takes longer than the rest of the page.

    The test of these two scores runs the job again.
    """
    brief = {"ocm": 0.1, "two_ce": 0.1}, 1e-4
    monkeypatch.setattr(
        "dpviz.ui.explorer.wavecluster._timed_agreement", lambda *given, **more: brief
    )


@pytest.fixture(autouse=True)
def brief_rehearsals(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let rehearsals draw less, since they run beside every plan; a test may take its own."""
    monkeypatch.setattr("dpviz.ui.release.rehearsal.rehearse", partial(rehearse, draws=3))


@pytest.fixture(autouse=True)
def no_curves(monkeypatch: pytest.MonkeyPatch) -> None:
    """Don't fill the curves under the sliders; the tests of curves do."""
    monkeypatch.setattr("dpviz.ui.explorer.curve.FILLS", False)


class _ReaderHere:
    """Answers questions about a file; to start the reading process would take too long.

    The tests of the reading process are ``test_uploads.py`` and ``tests/data/reading``.
    """

    alive = True

    def __init__(self, file: Reading) -> None:
        self.file = file

    def ask(self, question: Any) -> tuple[Any, apart.Arrays]:
        name, given, named = json.loads(json.dumps(question))
        head, arrays = packed(QUESTIONS[name](self.file, *given, **named))
        return apart._with_tuples(json.loads(json.dumps(head))), arrays

    def kill(self) -> None: ...

    def end(self, seconds: float = 0) -> int:
        return 0


@pytest.fixture(autouse=True)
def uploads_are_read_here(monkeypatch: pytest.MonkeyPatch) -> None:
    def start(upload: apart.Upload) -> _ReaderHere:
        return _ReaderHere(Reading(upload.name, bytes(upload._data())))

    monkeypatch.setattr(apart.Upload, "_started", start)
    monkeypatch.setattr("dpviz.ui.data.own_file.prepare", lambda: None)
