"""pyarrow reads blocks of text with the same result as the plain definition reads lines."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpviz.data.explore import text

CELLS = st.sampled_from(["1", "2.5", "-3e4", "a", "NA", "nan", ";", "#", "0x1", "1,5", "é", "\x1c"])
BLANKS = st.text(" \t", min_size=1, max_size=4)
ENDS = st.one_of(st.just(""), BLANKS)


@st.composite
def texts(draw):
    """Lines of cells separated by runs of white space; most lines have the same width."""
    width = draw(st.integers(1, 4))
    lines = []
    for _ in range(draw(st.integers(1, 8))):
        many = draw(st.one_of(st.just(width), st.integers(0, 5)))
        cells = [draw(CELLS) for _ in range(many)]
        between = [draw(BLANKS) for _ in cells[1:]]
        body = "".join(cell + gap for cell, gap in zip(cells, [*between, ""], strict=False))
        lines.append(draw(ENDS) + body + draw(ENDS))
    return width, ("\n".join(lines) + draw(st.sampled_from(["", "\n", "\n \n"]))).encode()


@given(texts(), st.integers(1, 9))
def test_white_space_is_read_in_blocks_as_line_by_line(case, line):
    width, data = case
    form = text.Form(mark=" ", width=width, start=0, line=line)

    def rows():
        [batch] = text.parsed([data], form)
        wrong = [(at, fields) for at, _, fields in batch.wrong]
        return batch.rows.to_pydict(), batch.numbers().tolist(), wrong, list(batch.opened)

    with pytest.MonkeyPatch.context() as patch:
        fast = rows()
        patch.setattr(text, "_regular", lambda block, form: None)
        assert rows() == fast
