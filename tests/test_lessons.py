"""The parser of lessons reads valid files; for an invalid file, one sentence names the step."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import dpviz.teaching.lessons
from dpviz.base.errors import InputError
from dpviz.teaching.lessons.parser import FRONT, STEP, Known, filled, parse_condition, parse_lesson
from tests.support.tiers import examples

FACTS = ("epsilon", "clusters")
GOOD = """title = "A title"
minutes = 8
after = "You can."
needs = "nothing"

[[steps]]
title = "One"
link = "wavecluster?data=incomes&epsilon=1"
text = '''
First line
second line of {clusters}.

Another paragraph.
'''
look = "at that"
question = "What?"
answers = ["this", "that"]
right = 2
reveal = '''because of
{epsilon}.'''
task = "Do it."
done = "epsilon <= 0.5 and clusters == 2"
formula = "a = b"
teacher = "They think."
holds = ["epsilon == 1"]
"""


def read(text: str):
    known = Known(explorers=("wavecluster", "kmeans"), facts=FACTS, bars=("noise",))
    return parse_lesson(text.encode(), name="x", file="x.toml", known=known)


def test_a_good_file_is_read():
    (step,) = read(GOOD).steps
    assert step.text == ("First line second line of {clusters}.", "Another paragraph.")
    assert (step.answers, step.right) == (("this", "that"), 1)
    assert step.reveal == "because of {epsilon}."
    assert step.wanted.holds({"epsilon": 0.5, "clusters": 2})
    assert not step.wanted.holds({"epsilon": 0.5, "clusters": float("nan")})
    assert not step.wanted.holds({"epsilon": 0.6, "clusters": 2})
    # Numbers are compared at the written precision: 0.5004 is equal to 0.5, 0.501 is not.
    assert step.wanted.holds({"epsilon": 0.5004, "clusters": 2})
    assert not step.wanted.holds({"epsilon": 0.501, "clusters": 2})
    assert step.names == {"epsilon", "clusters"}
    assert filled("{clusters} of {other}", {"clusters": "2"}) == "2 of …"
    assert read(GOOD.replace("\n", "\r\n")).steps == read(GOOD).steps


@pytest.mark.some(32)
@pytest.mark.parametrize(
    ("old", "new", "place", "said"),
    [
        ("title = ", "title: ", ": ", "not TOML: .*line 1"),
        ("minutes = 8", 'minutes = "soon"', ": ", "minutes has to be a whole number"),
        ("minutes = 8", "minutes = 0", ": ", "from 1 to"),
        ("minutes = 8\n", "", ": ", '"minutes = ..." is missing'),
        ('"You can."', '" "', ": ", "is empty"),
        ("needs = ", 'author = "me"\nneeds = ', ": ", "author"),
        (GOOD[GOOD.index("[[") :], "steps = []", ": ", '"steps" is empty'),
        (GOOD[GOOD.index("[[") :], "steps = [1]", ", step 1: ", r"with \[\[steps\]\]"),
        ("[[steps]]", "[steps]", ": ", "steps has to be a list"),
        ('title = "One"\n', "", ", step 1: ", '"title = ..." is missing'),
        ("link = ", "lnk = ", ", step 1: ", '"lnk" is unknown'),
        ("wavecluster?", "http://evil.invalid/?", ", step 1: ", "no explorer"),
        ("?data=incomes&epsilon=1", "", ", step 1: ", "sample set"),
        ("{clusters}", "{colour}", ", step 1: ", 'no fact "colour"'),
        ("{clusters}", "{clusters", ", step 1: ", "brace"),
        ('question = "What?"\n', "", ", step 1: ", '"question = ..." is missing'),
        ("right = 2\n", "", ", step 1: ", '"right = ..." is missing'),
        ("right = 2", "right = 3", ", step 1: ", "number of an answer, from 1 to 2"),
        ("right = 2", "right = true", ", step 1: ", "right has to be a whole number"),
        ('["this", "that"]', '["this"]', ", step 1: ", "two answers"),
        ('["this", "that"]', '["that", "that"]', ", step 1: ", "the same"),
        ('["this", "that"]', '["that", 1]', ", step 1: ", "answers has to be a list of texts"),
        ('"this"', '"{epsilon}"', ", step 1: ", "without facts"),
        ('"What?"', '"Is it {epsilon}?"', ", step 1: ", "without facts"),
        ("epsilon <= 0.5 and", "epsilon is small and", ", step 1: ", "can't be read"),
        ('task = "Do it."\n', "", ", step 1: ", "a task needs both"),
        ('look = "at that"', 'look = "at that"\nlook = "x"', ": ", "not TOML: .*line 16"),
        ('look = "at that"', 'bars = "gold"', ", step 1: ", 'no bars "gold"'),
        ("epsilon == 1", "eps == 1", ", step 1: ", 'no fact "eps"'),
        ("minutes = 8", f"minutes = 0x{'f' * 9000}", ": ", "from 1 to"),
        ("minutes = 8", f"minutes = {'9' * 9000}", ": ", "not TOML"),
        ("minutes = 8", f"minutes = {'[' * 9000}", ": ", "not TOML"),
    ],
)
def test_a_bad_file_gets_one_sentence_with_file_and_place(old, new, place, said):
    assert old in GOOD
    with pytest.raises(InputError, match=f"^x\\.toml{place}.*{said}") as error:
        read(GOOD.replace(old, new, 1))
    assert "\n" not in str(error.value)


def test_a_step_is_known_by_its_number():
    with pytest.raises(InputError, match=r"^x\.toml, step 2: \"link = "):
        read(f'{GOOD}\n[[steps]]\ntitle = "Two"\n')


def test_a_file_that_is_no_text_is_refused():
    known = Known(explorers=(), facts=(), bars=())
    with pytest.raises(InputError, match=r"y\.toml: line 2 is not UTF-8"):
        parse_lesson(b"a\n\xff", name="y", file="y.toml", known=known)
    with pytest.raises(InputError, match=r"y\.toml: .*more than 200,000 bytes"):
        parse_lesson(b"a" * 200_001, name="y", file="y.toml", known=known)


PIECES = st.sampled_from(
    [*GOOD.splitlines(), *(f"{one} = " for one in (*FRONT, *STEP)), "{", "}", "[[steps]]", "[", "]",
     '"x"', "\x00", 'link = "kmeans?data=x"', "{epsilon}"]
)  # fmt: skip


@examples(300)
@given(st.one_of(
    st.text(max_size=300),
    st.lists(st.one_of(PIECES, st.text(max_size=12)), max_size=30).map("\n".join),
    st.tuples(st.integers(0, len(GOOD)), st.text(max_size=9), st.integers(0, 40)).map(
        lambda cut: GOOD[: cut[0]] + cut[1] + GOOD[cut[0] + cut[2] :]
    ),
))  # fmt: skip
def test_any_text_is_a_lesson_or_one_sentence(text):
    lesson = said = None
    try:
        lesson = read(text)
    except InputError as error:
        said = str(error)
    if said is not None:
        assert re.match(r"x\.toml(, step \d+)?: \S", said)
        assert "\n" not in said
    if lesson is not None:
        assert lesson.steps
        assert 1 <= lesson.minutes <= 240
        for step in lesson.steps:
            assert step.names <= {*FACTS}
            assert not step.question or len(step.answers) > step.right


def test_no_file_of_the_package_holds_markup_or_an_address():
    for file in Path(dpviz.teaching.lessons.__file__).parent.glob("*.toml"):
        text = file.read_text(encoding="utf-8")
        assert not re.search(r"<\w|https?:|!\[|\]\(", text), file.name


@pytest.mark.parametrize("text", ["", "epsilon", "epsilon <", "== 2", "epsilon = 2", "a b < 2"])
def test_a_condition_that_makes_no_sense_is_refused(text):
    with pytest.raises(InputError):
        parse_condition(text, FACTS)
