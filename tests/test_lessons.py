"""The parser of lessons: what it reads, and one sentence with file and line for the rest."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dpviz.teaching.lessons
from dpviz.base.errors import InputError
from dpviz.teaching.lessons.condition import parse_condition
from dpviz.teaching.lessons.parser import FRONT, PARTS, Known, decoded, filled, parse_lesson

FACTS = ("epsilon", "clusters")
GOOD = """---
title: A title
minutes: 8
after: You can.
needs: nothing
---
# One
link: wavecluster?data=incomes&epsilon=1
First line
second line of {clusters}.

Another paragraph.

look: at that
question: What?
- [ ] this
- [x] that
reveal: because of
{epsilon}.
task: epsilon <= 0.5 and clusters == 2 | Do it.
formula: a = b
teacher: They think.
holds: epsilon == 1
"""


def read(text: str):
    known = Known(explorers=("wavecluster", "kmeans"), facts=FACTS, bars=("noise",))
    return parse_lesson(text, name="x", file="x.md", known=known)


def test_a_good_file_is_read():
    (step,) = read(GOOD).steps
    assert step.text == ("First line second line of {clusters}.", "Another paragraph.")
    assert (step.answers, step.right) == (("this", "that"), 1)
    assert step.reveal == "because of {epsilon}."
    assert step.wanted.holds({"epsilon": 0.5, "clusters": 2})
    assert not step.wanted.holds({"epsilon": 0.5, "clusters": float("nan")})
    assert not step.wanted.holds({"epsilon": 0.6, "clusters": 2})
    # As it is written: 0.5004 is 0.5, 0.501 is not.
    assert step.wanted.holds({"epsilon": 0.5004, "clusters": 2})
    assert not step.wanted.holds({"epsilon": 0.501, "clusters": 2})
    assert step.names == {"epsilon", "clusters"}
    assert filled("{clusters} of {other}", {"clusters": "2"}) == "2 of …"
    assert read(GOOD.replace("\n", "\r\n")).steps == read(GOOD).steps


@pytest.mark.parametrize(
    ("old", "new", "line", "said"),
    [
        ("---\ntitle", "title", 1, "first line"),
        ("minutes: 8", "minutes: soon", 3, "soon"),
        ("minutes: 8", "minutes: 0", 3, "from 1 to"),
        ("minutes: 8\n", "", 5, '"minutes: ..." is missing'),
        ("after: You can.", "after:", 4, "is empty"),
        ("needs: nothing", "author: me", 5, "author"),
        ("# One", "# ", 7, "no title"),
        ("link: wave", "lnk: wave", 7, "no link"),
        ("link: wavecluster", "link: http://evil.invalid/", 8, "no explorer"),
        ("?data=incomes&epsilon=1", "", 8, "sample set"),
        ("{clusters}", "{colour}", 9, 'no fact "colour"'),
        ("{clusters}", "{clusters", 9, "brace"),
        ("question: What?\n", "", 7, 'no "question'),
        ("reveal: because of\n{epsilon}.\n", "", 15, 'no "reveal'),
        ("- [ ] this\n", "", 15, "two answers"),
        ("- [ ] this", "- [x] this", 15, "mark one"),
        ("- [ ] this", "- [ ] that", 15, "the same"),
        ("- [ ] this", "- [ ] {epsilon}", 16, "without facts"),
        ("question: What?", "question: Is it {epsilon}?", 15, "without facts"),
        ("epsilon <= 0.5 and", "epsilon is small and", 20, "can't be read"),
        (" | Do it.", "", 20, '"|"'),
        ("look: at that", "look: at that\nlook: and that", 15, "twice"),
        ("look: at that", "bars: gold", 14, 'no bars "gold"'),
        ("holds: epsilon == 1", "holds: eps == 1", 23, 'no fact "eps"'),
    ],
)
def test_a_bad_file_gets_one_sentence_with_file_and_line(old, new, line, said):
    assert old in GOOD
    with pytest.raises(InputError) as error:
        read(GOOD.replace(old, new, 1))
    assert str(error.value).startswith(f"x.md, line {line}: ")
    assert said in str(error.value)
    assert "\n" not in str(error.value)


def test_a_file_that_is_no_text_is_refused():
    with pytest.raises(InputError, match=r"y\.md, line 2: .*UTF-8"):
        decoded(b"a\n\xff", "y.md")
    with pytest.raises(InputError, match="more than 200,000 bytes"):
        decoded(b"a" * 200_001, "y.md")


PIECES = st.sampled_from(
    [*GOOD.splitlines(), *(f"{one}:" for one in (*FRONT, *PARTS)), "{", "}", "- [x]", "- [ ]", "#",
     "# ", "---", "task: | x", "\x00", "link: kmeans?data=x", "{epsilon}"]
)  # fmt: skip


@settings(max_examples=300, deadline=None)
@given(st.one_of(
    st.text(max_size=300),
    st.lists(st.one_of(PIECES, st.text(max_size=12)), max_size=30).map("\n".join),
    st.tuples(st.integers(0, len(GOOD)), st.text(max_size=9), st.integers(0, 40)).map(
        lambda cut: GOOD[: cut[0]] + cut[1] + GOOD[cut[0] + cut[2] :]
    ),
))  # fmt: skip
def test_any_text_is_a_lesson_or_one_sentence_with_a_line_of_it(text):
    lesson = said = None
    try:
        lesson = read(text)
    except InputError as error:
        said = str(error)
    if said is not None:
        found = re.match(r"x\.md, line (\d+): \S", said)
        assert found
        assert 1 <= int(found[1]) <= len(re.split(r"\r\n|\n|\r", text))
        assert "\n" not in said
    if lesson is not None:
        assert lesson.steps
        assert 1 <= lesson.minutes <= 240
        for step in lesson.steps:
            assert step.names <= {*FACTS}
            assert not step.question or len(step.answers) > step.right


def test_no_file_of_the_package_holds_markup_or_an_address():
    for file in Path(dpviz.teaching.lessons.__file__).parent.glob("*.md"):
        text = file.read_text(encoding="utf-8")
        assert not re.search(r"<\w|https?:|!\[|\]\(", text), file.name


@pytest.mark.parametrize("text", ["", "epsilon", "epsilon <", "== 2", "epsilon = 2", "a b < 2"])
def test_a_condition_that_makes_no_sense_is_refused(text):
    with pytest.raises(InputError):
        parse_condition(text, FACTS)
