"""Estimators accept numbers of other libraries; all other input raises a one-sentence error."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from dpviz import DPLloyd, PrivTHR
from dpviz.base.errors import InputError
from dpviz.data.stored import stored
from dpviz.privacy.ledger import Neighbours

POINTS = np.random.default_rng(0).random((200, 2))
HIDDEN = np.ma.masked_array(POINTS, mask=np.arange(400).reshape(200, 2) == 7)
ROWS = np.arange(200)


def fitted(**parameters):
    return PrivTHR(**{"grid": 8, "domain": "0,1;0,1", "random_state": 0} | parameters).fit(POINTS)


@pytest.mark.parametrize(
    "parameters",
    [
        {"cap": np.int64(1)},
        {"epsilon": np.float32(0.5)},
        {"grid": np.int64(8), "level": np.int32(1)},
        {"grid": (np.int16(8), np.uint8(8))},
        {"density": np.float16(0.5), "alpha": np.float64(0.9)},
        {"random_state": np.uint8(0)},
        {"domain": np.array([[0, 1], [0, 1]])},
    ],
    ids=str,
)
def test_a_scalar_of_numpy_is_the_number_that_it_is(parameters):
    plain = {
        name: value.item() if isinstance(value, np.generic) else value
        for name, value in parameters.items()
    }
    assert np.array_equal(fitted(**parameters).label_grid_, fitted(**plain).label_grid_)


def test_a_cap_of_numpy_caps():
    model = PrivTHR(grid=8, domain="0,1;0,1", cap=np.int64(2), random_state=0)
    assert model.fit(POINTS, units=ROWS // 4).config_.neighbours == Neighbours(cap=2)


@pytest.mark.parametrize(
    "parameters",
    [
        {"domain": None},
        {"domain": 5},
        {"level": float("nan")},
        {"level": None},
        {"cap": float("nan")},
        {"cap": None},
        {"random_state": 1.5},
        {"random_state": "a"},
        {"random_state": -1},
        {"random_state": np.random.default_rng(0)},
        {"epsilon": None},
        {"epsilon": np.array([1.0])},
        {"grid": 8.5},
        {"density": "x"},
    ],
    ids=lambda one: f"{one}".partition(" at 0x")[0],
)
def test_a_wrong_parameter_is_one_sentence_that_names_it(parameters):
    (name,) = parameters
    with pytest.raises(InputError, match=rf"^{name}\b.*\.\Z"):
        fitted(**parameters)


WRONG = {
    "text of polars": pa.table({"x": POINTS[:, 0], "s": pa.array(["a"] * 200, pa.string_view())}),
    "text": pd.DataFrame({"x": ["a"] * 200, "y": ["b"] * 200}),
    "nothing in a column of objects": pd.DataFrame({"x": POINTS[:, 0], "y": [None] * 200}),
    "nothing in a categorical": pd.DataFrame(
        {"x": POINTS[:, 0], "y": pd.Categorical([None] * 200)}
    ),
    "hidden values": HIDDEN,
    "a whole number is missing": pd.DataFrame(
        {"x": pd.array([1, None], dtype="Int64"), "y": [1, 2]}
    ),
    "nothing": None,
    "a number": 5,
    "rows of other lengths": [[1, 2], [3]],
    "one axis": POINTS[:, 0],
    "complex": POINTS.astype(complex),
}


@pytest.mark.parametrize("estimator", [PrivTHR, DPLloyd])
@pytest.mark.parametrize("points", WRONG.values(), ids=WRONG)
def test_what_is_no_table_of_numbers_is_one_sentence(estimator, points):
    with pytest.raises(InputError, match=r"^X can't be read as points \([^\n]*axis\.\Z"):
        estimator(domain="0,1;0,1").fit(points)


def test_predict_says_it_too():
    with pytest.raises(InputError, match=r"^X can't be read as points"):
        fitted().predict(HIDDEN)


def test_a_matrix_and_numbers_as_text_of_polars_are_points():
    expected = fitted().labels_
    text = pa.table({name: pa.array(POINTS[:, at].astype(str), pa.string()).cast(pa.string_view())
                     for at, name in enumerate("xy")})  # fmt: skip
    for points in (POINTS.view(np.matrix), text, np.ma.masked_array(POINTS)):
        model = PrivTHR(grid=8, domain="0,1;0,1", random_state=0).fit(points)
        assert np.array_equal(model.labels_, expected)


@pytest.mark.parametrize(
    "units",
    [
        np.ma.masked_array(ROWS, mask=ROWS < 3),
        pd.Series([None] * 200),
        pd.Categorical([None] * 200),
        pd.Series(pd.array([*[1] * 199, None], dtype="Int64")),
        pa.array([None, *["a"] * 199]),
    ],
    ids=lambda one: type(one).__name__,
)
def test_a_point_without_a_person_is_refused(units):
    with pytest.raises(InputError, match=r"^units have no identifier at \d+ of 200 points: .*\.\Z"):
        PrivTHR(grid=8, domain="0,1;0,1", cap=2).fit(POINTS, units=units)


def test_units_of_other_libraries_are_the_same_persons():
    persons = (ROWS // 4).astype(str)
    made = [PrivTHR(grid=8, domain="0,1;0,1", cap=2, random_state=0).fit(POINTS, units=units)
            for units in (persons, list(persons), pd.Categorical(persons),
                          pa.array(persons).cast(pa.string_view()))]  # fmt: skip
    assert all(np.array_equal(one.counts_, made[0].counts_) for one in made)
    assert made[0].n_points_outside_ == 0


def test_hidden_values_of_stored_arrays_are_missing():
    (part,) = stored(HIDDEN).parts
    ((points, dropped),) = part.chunks()
    assert dropped == 1
    assert np.array_equal(points, np.delete(POINTS, 3, axis=0))


@pytest.mark.parametrize(
    "source", [None, 5, pd.DataFrame(POINTS), pa.table({"x": [1.0]})], ids=type
)
def test_what_is_no_source_of_stored_records_is_one_sentence(source):
    with pytest.raises(InputError, match=r"^source is of type \w+: give .*\.\Z"):
        stored(source)


@pytest.mark.parametrize("counts", [np.ones((8, 8)).view(np.matrix), np.ones((8, 8))], ids=type)
def test_a_grid_of_counts_takes_its_box_in_each_form(counts):
    boxes = ["0,1;0,1", [(0, 1), (0, 1)], np.array([[0, 1], [0, 1]])]
    made = [PrivTHR(random_state=0).fit_counts(counts, domain=box) for box in boxes]
    assert len({one.domain_ for one in made}) == 1
    with pytest.raises(InputError, match=r"^domain = 5 is not a box: .*\.\Z"):
        PrivTHR().fit_counts(counts, domain=5)
