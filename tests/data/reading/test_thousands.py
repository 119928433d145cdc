"""Numbers as people write them: thousands separators, decimal commas, and unclear numbers."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpviz.base.errors import InputError
from dpviz.data.reading.read import read_table
from tests.support.files import sheet, workbook

#: Field separator, thousands separator and decimal mark.
LOCALES = [
    (",", ",", "."),
    (";", ",", "."),
    ("\t", ",", "."),
    (";", ".", ","),
    (",", ".", ","),
    (";", " ", ","),
    (";", "\u202f", ","),
    (",", "\u00a0", "."),
    (";", "'", "."),
    (",", "\u2019", ","),
    (";", "", ","),
    (",", "", "."),
]


def written(value: float, group: str, mark: str) -> str:
    return f"{value:,.2f}".replace(",", "G").replace(".", mark).replace("G", group)


@given(
    st.lists(
        st.tuples(*[st.integers(-(10**12), 10**12).map(lambda cents: cents / 100)] * 2), min_size=1
    ),
    st.sampled_from(LOCALES),
    st.booleans(),
)
def test_a_table_of_any_locale_is_read_as_it_was_written(rows, locale, header):
    delimiter, group, mark = locale
    lines = [delimiter.join(f'"{written(value, group, mark)}"' for value in row) for row in rows]
    if delimiter == "," and mark == "," and all(abs(one) < 1000 for row in rows for one in row):
        return  # decimal commas need semicolons between fields
    text = "\n".join([delimiter.join("xy"), *lines] if header else lines)
    table = read_table(text.encode(), name="t.csv", header=header)
    columns = [
        axis
        for axis in (0, 1)
        if not (delimiter == mark == "," and all(abs(row[axis]) < 1000 for row in rows))
    ]
    points = table.select([axis + 1 for axis in columns]).points
    assert points.tolist() == [[row[axis] for axis in columns] for row in rows]


@pytest.mark.parametrize(
    ("cells", "delimiter", "values"),
    [
        (["54,315", "7", "1,234,567"], ",", [54315, 7, 1234567]),
        # With commas between fields, decimals have points.
        (["54,315", "7", "12,001"], ",", [54315, 7, 12001]),
        (["54,315", "7.5"], ",", [54315, 7.5]),
        (["1,234,567", "54,315"], ";", [1234567, 54315]),
        (["54,315.5", "1,000"], ";", [54315.5, 1000]),
        (["54.315,2", "54.315"], ";", [54315.2, 54315]),
        (["1.234.567", "12.345"], ",", [1234567, 12345]),
        (["54 315", "12"], ";", [54315, 12]),
        (["54 315,25", "12,5"], ";", [54315.25, 12.5]),
        (["54'315.5", "-1'000"], ",", [54315.5, -1000]),
        (["54,315", "3,14"], ";", [54.315, 3.14]),
        (["54,315", "1234"], ";", [54.315, 1234]),
        (["54,315", "0,123"], ";", [54.315, 0.123]),
        (["54.315", "12.345"], ",", [54.315, 12.345]),
        (["54.315", "12.345"], ";", [54.315, 12.345]),
    ],
)
def test_the_whole_column_tells_what_a_mark_means(cells, delimiter, values):
    text = "\n".join(["x" + delimiter + "y", *(f'"{cell}"{delimiter}1' for cell in cells)])
    assert read_table(text.encode()).select(["x"]).points[:, 0].tolist() == values


def test_thousands_are_said():
    table = read_table(b'income,y\n"54,315.5",1\n"7",2\n')
    assert 'thousands separators in "income"' in table.notes[0]
    assert "release" in table.notes[0]


@pytest.mark.parametrize(
    ("text", "cell", "readings"),
    [
        ("income;y\n7;1\n54,315;1\n12,001;2\n", "54,315", "54315 or 54.315"),
        ("income;y;z\n7;1;0,5\n54.315;1;3\n12.001;2;1\n", "54.315", "54315 or 54.315"),
        ('income,y\n7,1\n"12.001",2\n"54,315",2\n', "12.001", "12001 or 12.001"),
    ],
)
def test_what_nothing_tells_is_refused(text, cell, readings):
    table = read_table(text.encode(), name="t.csv")
    assert "income" not in table.numeric_columns
    with pytest.raises(InputError) as caught:
        table.select(["income"])
    sentence = str(caught.value)
    for part in ("row 3", 'column "income"', f'"{cell}"', readings, "without thousands"):
        assert part in sentence, sentence
    # Choosing other columns works, with a note about the unclear column.
    assert table.select(["y"]).points.shape[1] == 1
    assert any("three decimals" in note and "income" in note for note in table.notes)


def test_a_release_says_what_a_comma_is_whatever_the_cells_are():
    sentence = "a comma is a decimal mark in files separated by semicolons: write numbers without"
    for cell in ("54,315", "1", ""):
        text = f"x;y\n{cell};1\n1,234,567;2\n".encode()
        assert sentence in read_table(text, unreadable="missing").notes[0]
    assert not read_table(b"x,y\n1,2\n", unreadable="missing").notes


def test_points_of_typed_numbers_set_no_thousands_apart():
    data = workbook({"a": sheet([["x", "y"], [1.234, 1], ["1.234.567", 2]])})
    table = read_table(data, name="t.xlsx")
    assert table.numeric_columns == ("y",)
    with pytest.raises(InputError, match=r'row 3, column "x" holds "1\.234\.567"'):
        table.select(["x"])


def test_a_single_unclear_column_is_not_left_out_without_a_word():
    with pytest.raises(InputError, match=r'row 2, column "x" holds "54,315"'):
        read_table(b"x;t\n54,315;a\n12,001;b\n").select()


@pytest.mark.parametrize(
    "cell", ["54,31", "5,4315", "1,234 567", "0,123,456", "12,345,6", "1,,234"]
)
def test_other_marks_make_no_number(cell):
    table = read_table(f'x,y\n"{cell}",1\n"1,234,567",2\n'.encode())
    assert table.numeric_columns == ("y",)
    with pytest.raises(InputError, match='row 2, column "x"'):
        table.select(["x"])


def test_decimal_commas_between_spaces():
    rows = [f"{x},{x} {2 * x},5" for x in range(1, 40)]
    found = read_table(("\n".join(rows) + "\n").encode()).select()
    assert found.points[:2].tolist() == [[1.1, 2.5], [2.2, 4.5]]
    assert len(found.points) == 39
    # A comma after a number ends a field.
    assert read_table(b"1, 2, 3\n4, 5, 6\n").select([1, 3]).points.tolist() == [[1, 3], [4, 6]]
