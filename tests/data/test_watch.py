"""Reading reports its progress, and can be stopped between two blocks."""

import io

import numpy as np
import pandas as pd
import pytest

from dpviz.base.work import Cancelled
from dpviz.data.explore import text
from dpviz.data.reading.read import read_table
from dpviz.data.reading.watch import watching


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(text, "_BLOCK", 2**20)


def content(rows: int = 300_000) -> bytes:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(rows, 2)), columns=["x", "y"])
    return frame.to_csv(index=False).encode()


def test_each_pass_over_a_text_is_reported_to_its_end() -> None:
    data, seen = content(), []
    with watching(lambda done, total: seen.append((done, total)), lambda: False):
        points = read_table(io.BytesIO(data), name="a.csv").select().points
    assert points is not None
    assert len(points) == 300_000
    body = len(data)
    passes = [done for done, total in seen if total == body]
    # Pass 1 reads blocks of text, pass 2 decodes the rows; each pass ends at its total.
    assert body in passes
    assert len(passes) > 4
    assert seen[-1] == (300_000, 300_000)
    assert all(0 < done <= total for done, total in seen)


def test_reading_stops_where_it_is_told_to() -> None:
    seen: list[int] = []
    with (
        watching(lambda done, total: seen.append(done), lambda: len(seen) >= 2),
        pytest.raises(Cancelled),
    ):
        read_table(io.BytesIO(content()), name="a.csv")
    assert len(seen) == 2


def test_nobody_is_told_outside() -> None:
    seen: list[int] = []
    with watching(lambda done, total: seen.append(done), lambda: False):
        pass
    read_table(io.BytesIO(content(10)), name="a.csv").select()
    assert not seen
