"""The papers' own data sets are recognized by their shape and read with their classes."""

import numpy as np
import pytest

from dpviz.base.errors import InputError
from dpviz.data.reading.read import read_table
from dpviz.experiments.paper_sets import PAPER_SETS, PaperSet
from dpviz.experiments.presets import PRESETS
from tests.conftest import reference_file

SMALL = PaperSet(name="small", title="Small", records=(4, 5), columns=2, source="here")


def table(text: str):
    return read_table(text.encode(), name="small.csv")


def test_each_figure_names_the_paper_s_set_of_each_stand_in():
    for one in PRESETS.values():
        assert len(one.sets) in (0, len(one.samples))
        assert [theirs.name for theirs in one.stands_for.values()] == list(one.sets)
    assert PRESETS["000-6"].stand_in_title("gaussians") == ("stand-in: Fifteen Gaussians for DS1")
    assert PRESETS["004-2"].sets == ()
    assert PRESETS["004-2"].stand_in_title("incomes").endswith("for data without a name")
    # Users may choose further sets, which do not replace a set of the paper.
    assert PRESETS["000-6"].stand_in_title("noise") == "Nothing but noise"


def test_a_set_is_known_by_its_records_and_columns():
    assert SMALL.fits(table("1,2\n3,4\n5,6\n7,8\n"))
    assert SMALL.fits(table("x,y,label\n1,2,0\n3,4,0\n5,6,1\n7,8,1\n9,9,1\n"))
    for other in ("1,2\n3,4\n", "1\n2\n3\n4\n", "1,2,3,4\n" * 4):
        assert not SMALL.fits(table(other))
        with pytest.raises(InputError, match=r"^Small: small\.csv has .* choose another file"):
            SMALL.take(table(other))


def test_records_without_classes_keep_their_order_others_are_shuffled_with_them():
    plain = SMALL.take(table("1,2\n3,4\n5,6\n7,8\n"))
    assert plain.points.tolist() == [[1, 2], [3, 4], [5, 6], [7, 8]]
    text = "x,y,label\n1,2,a\n3,4,a\n5,6,b\n7,8,c\n9,9,c\n"
    found = SMALL.take(table(text))
    assert found.points.tolist() != sorted(found.points.tolist())
    assert SMALL.take(table(text)).points.tolist() == found.points.tolist()
    names = [found.classes.names[code] for code in found.classes.codes]
    pairs = sorted(zip(found.points[:, 0].tolist(), names, strict=True))
    assert pairs == [(1, "a"), (3, "a"), (5, "b"), (7, "c"), (9, "c")]


@pytest.mark.parametrize(
    ("name", "file", "classes"),
    [
        ("ds1", "ds1.csv", 0),
        ("ds2", "ds2.csv", 0),
        ("ds3", "ds3.csv", 0),
        ("s1", "s1.csv.gz", 15),
        ("unbalance", "unbalance.csv.gz", 8),
        ("birch3", "birch3.csv.gz", 0),
        ("blood", "blood.csv.gz", 2),
        ("gamma", "gamma.csv.gz", 2),
    ],
)
def test_the_reference_files_are_taken_and_no_other_set_takes_them(name, file, classes):
    found = read_table(reference_file(file))
    assert [one.name for one in PAPER_SETS.values() if one.fits(found)] == [name]
    dataset = PAPER_SETS[name].take(found)
    assert dataset.points.shape == (PAPER_SETS[name].records[0], PAPER_SETS[name].columns)
    assert np.isfinite(dataset.points).all()
    assert (len(dataset.classes.names) if dataset.classes else 0) == classes
