"""Arrays of a .npz file: columns of any type, and one clear sentence."""

from __future__ import annotations

import io

import numpy as np
import pytest

from dpviz.base.errors import InputError
from dpviz.data.reading.read import read_table


def saved(**arrays: object) -> bytes:
    stream = io.BytesIO()
    np.savez(stream, **arrays)  # type: ignore[arg-type]
    return stream.getvalue()


@pytest.mark.parametrize("kind", [">f8", "<f8", ">i4", "g", "f2"])
def test_columns_of_every_type_are_read(kind: str) -> None:
    data = saved(x=np.array([1, 2], kind), y=np.array([3.5, 5.5]))
    assert read_table(data, name="a.npz").select().points.tolist() == [[1, 3.5], [2, 5.5]]


@pytest.mark.parametrize(
    ("arrays", "sentence"),
    [
        ({"X": np.zeros((3, 4, 5))}, r"shape \(3, 4, 5\)"),
        ({"x": np.float64(3)}, r"shape \(\)"),
        ({"x": np.ones(5) + 1j, "y": np.ones(5)}, r", x has values of type complex128"),
        ({"x": np.zeros(5, "M8"), "y": np.ones(5)}, r", x has values of type datetime64"),
        ({"x": np.ones(5), "y": np.ones(4)}, r"several arrays, \"x\", \"y\": choose one"),
        ({}, "no array"),
    ],
    ids=range(6),
)
def test_what_is_no_table_is_refused_in_one_sentence(
    arrays: dict[str, object], sentence: str
) -> None:
    with pytest.raises(InputError, match=sentence):
        read_table(saved(**arrays), name="a.npz")
