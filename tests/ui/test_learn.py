"""The page of lessons: steps agree with their pictures, and an invalid file causes one sentence."""

from __future__ import annotations

import html
import re
from dataclasses import replace

import numpy as np
import pytest

from dpviz.data.samples import sample_names
from dpviz.families import CARDS, trial_of
from dpviz.figures.wavecluster.picture import picture_of as cell_picture
from dpviz.privacy.noise_source import SeededNoise
from dpviz.teaching.lessons.parser import filled
from dpviz.teaching.lessons.shelf import shelf
from dpviz.ui.learn.bars import BARS, noise, ranks, split, with_and_without
from dpviz.ui.learn.facts import DRAWS, Look, facts_of, texts
from dpviz.ui.learn.page import _MOST_STEPS, KNOWN
from dpviz.ui.learn.pictures import picture_of
from dpviz.ui.learn.step_state import start_of
from dpviz.ui.learn.texts import sheet
from tests.figures.test_svg import SVG, image_of, maps_of
from tests.support import ROOT
from tests.support.links import opened, parameters

LESSONS, FAULTS = shelf(KNOWN)
STEPS = [(name, number) for name, one in LESSONS.items() for number in range(1, len(one.steps) + 1)]


def lesson_text(test) -> str:
    (found,) = (
        one.proto.body for one in test.get("html") if 'class="dpv-lesson"' in one.proto.body
    )
    return html.unescape(re.sub("<[^>]*>", " ", found))


def texts_of(step):
    return (*step.text, step.look, step.question, step.reveal, step.task, step.formula,
            step.teacher, *step.answers, step.title)  # fmt: skip


def test_there_are_eight_lessons_in_their_order():
    assert not FAULTS
    assert len(LESSONS) == 8
    assert next(iter(LESSONS)) == "one-person"
    assert any("k-means" in one.title for one in LESSONS.values())
    assert max(len(one.steps) for one in LESSONS.values()) <= _MOST_STEPS


@pytest.mark.parametrize(("name", "number"), STEPS)
def test_no_number_is_typed(name, number):
    for text in texts_of(LESSONS[name].steps[number - 1]):
        # The only numbers in a formula are part of the mathematics; they are not values of the run.
        known = re.sub(r"\(1 - (p|alpha)\)|/ 2\b", "", filled(text, {}))
        assert not re.search(r"\d", known), text


@pytest.mark.usefixtures("as_released")
@pytest.mark.some(12)  # of each lesson at least one step
@pytest.mark.parametrize(("name", "number"), STEPS)
def test_what_a_step_says_of_the_picture_is_so(name, number):
    step = LESSONS[name].steps[number - 1]
    assert step.holds
    assert step.query["data"] in sample_names()
    assert set(step.query) <= {*parameters()[step.explorer]}
    test = opened("learn", {"lesson": name, "step": str(number)})
    assert not test.exception
    assert not test.error
    assert not test.warning, test.warning[0].value
    facts = test.session_state["learn:facts"]
    for condition in step.holds:
        assert condition.holds(facts), (condition, facts)
    # All facts exist, and at the start no task is done.
    assert "…" not in lesson_text(test)
    assert "Done:" not in lesson_text(test)
    if step.question:
        (radio,) = (one for one in test.radio if one.key.startswith("learn:answer"))
        radio.set_value(step.right).run()
        (said,) = (one.proto.body for one in test.get("html") if "dpv-reveal" in one.proto.body
                   and "<style" not in one.proto.body)  # fmt: skip
        assert "✓ Right." in said
        assert "…" not in said


def test_sheets_have_the_facts_of_the_screen_and_answers_for_the_teacher_alone():
    test = opened("learn", {"lesson": "one-person", "step": "4"})
    known = dict(test.session_state["learn:facts"])
    lesson = LESSONS["one-person"]
    looks = [Look(start_of(one), one.explorer) for one in lesson.steps]
    each = [facts_of(*one) for one in zip(lesson.steps, looks, strict=True)]
    assert each[3] == known
    facts = [texts(one) for one in each]
    bars = [
        BARS[one.bars](look).html() if one.bars else ""
        for one, look in zip(lesson.steps, looks, strict=True)
    ]
    assert bars[3] in "".join(one.proto.body for one in test.get("html"))
    pictures = [picture_of(look) for look in looks]
    links = ["http://127.0.0.1/"] * len(facts)
    student = sheet(lesson, facts, bars, pictures, links, teacher=False)
    teacher = sheet(lesson, facts, bars, pictures, links, teacher=True)
    assert bars[3] in student
    assert all(one in student and one in teacher for one in pictures)
    # A code leads other devices to the lesson, unless its address is of this computer.
    assert 'dpv-qr"' not in student
    assert links[0] not in student
    assert "Your teacher shows the address. Step 4." in student
    assert links[0] in teacher
    there = ["http://192.168.1.5:8501/learn"] * len(facts)
    assert 'dpv-qr"' in sheet(lesson, facts, bars, pictures, there, teacher=False)
    assert "☑" not in student
    assert teacher.count("☑") == sum(bool(one.question) for one in lesson.steps)
    for step in lesson.steps:
        assert html.escape(step.title) in student
        assert html.escape(step.title) in teacher
    assert "…" not in student + teacher


@pytest.mark.parametrize(
    ("name", "number"), [("noise", 2), ("one-person", 4), ("empty-cells", 2), ("a-claim", 1)]
)
def test_the_picture_on_paper_is_the_run_of_the_screen(name: str, number: int):
    step = LESSONS[name].steps[number - 1]
    look = Look(start_of(step), step.explorer)
    picture, runs, dataset = picture_of(look), look.runs, look.settings.active.dataset
    if name == "noise":
        rows = [re.findall(r"<td>(.*?)</td>", one) for one in re.findall("<tr>.*?</tr>", picture)]
        found = np.array(rows, dtype=float)
        for part, one in zip(np.split(found, 2), (runs.truth, runs.private), strict=True):
            np.testing.assert_allclose(part[::-1].T, one.stages.counts, atol=0.05)
        return
    maps = maps_of(picture)
    # The heading does not say what a step may ask: the number of clusters.
    headings = ["".join(next(part.iter(f"{SVG}text")).itertext()) for part in maps]
    assert headings == ["true", CARDS[look.settings.config.method].title]
    if name in ("one-person", "empty-cells"):
        # As on the screen, both maps have squares and numbers, and the right one has no dots.
        trial = trial_of(dataset, look.settings.config, dataset.domain)
        shown = cell_picture(trial, runs.private, "xy", "", "light")
        wrong = {str(one) for one in shown.numbers[1][shown.fates.invented]}
        for part, labels, invented in zip(maps, shown.labels, (set(), wrong), strict=True):
            _, colours = image_of(part)
            white = (colours[..., :3] == 255).all(axis=2)
            each = colours.shape[0] // labels.shape[1]
            squares = np.kron(labels.T > 0, np.ones((each, each), bool))
            assert not white[squares].any()
            if part is maps[1]:
                assert white[~squares].all()
                for label in np.unique(labels[labels > 0]):
                    seen = {
                        tuple(one)
                        for one in colours[np.kron(labels.T, np.ones((each, each))) == label]
                    }
                    assert len(seen) <= 2  # strong squares have more records
            names = ["".join(one.itertext()) for one in part.iter(f"{SVG}text")][1:]
            numbers = {str(one) for one in np.unique(labels[labels > 0])}
            assert {one.lstrip("+½") for one in names} >= numbers
            assert {one[1:] for one in names if one[0] == "+"} == invented
    else:
        clusters = runs.private.config.clusters
        assert [len(list(part.iter(f"{SVG}circle"))) >= clusters for part in maps] == [True, True]


def look_of(name: str) -> Look:
    (step,) = (one for lesson in LESSONS.values() for one in lesson.steps if one.bars == name)
    return Look(start_of(step), step.explorer)


@pytest.mark.exhaustive(reason="another test compares the picture on paper with the run daily")
def test_bars_of_a_person_are_the_numbers_of_the_text():
    look = look_of("with_and_without")
    rows = dict(with_and_without(look).rows)
    assert rows["2 clusters"] == [one.count(2) for one in look.outcomes]
    assert [sum(one) for one in zip(*rows.values(), strict=True)] == [DRAWS, DRAWS]
    # The task says: at its epsilon, most results with Sam have one cluster, few results without Sam
    # do.
    settings = look.settings
    clear = Look(replace(settings, config=replace(settings.config, epsilon=5.0)), look.explorer)
    joined, without = (one.count(1) for one in clear.outcomes)
    assert joined > 0.8 * DRAWS > 0.2 * DRAWS > without


def test_clusters_of_the_grid_by_hand_come_back_for_any_student():
    step = LESSONS["by-hand"].steps[4]
    start, back = start_of(step), {}
    for epsilon in (0.5, 5.0):
        settings = replace(start, config=replace(start.config, epsilon=epsilon))
        looks = [Look(replace(settings, seed=seed), step.explorer) for seed in range(40)]
        back[epsilon] = sum(step.wanted.holds(facts_of(step, look)) for look in looks)
    assert back[5.0] > 34 > 20 > back[0.5]


def test_bars_of_noise_are_those_of_many_throws():
    look = look_of("noise")
    shares = np.array([values for _, values in noise(look).rows]) / 100
    assert shares.sum(axis=0) == pytest.approx([1, 1])
    scale = look.ledger.spends[0].scale
    for column, size in enumerate((scale, 2 * scale)):
        drawn = np.abs(SeededNoise(7).laplace("x", size, (200_000,))).clip(max=8)
        found = np.bincount(drawn.astype(int), minlength=9) / drawn.size
        # Each of the nine shares is within five standard deviations; a false alarm occurs in one of
        # 200,000 runs.
        assert np.abs(found - shares[:, column]).max() < 5 * 0.5 / 200_000**0.5


def test_bars_of_a_split_are_short_where_the_counts_get_most():
    bars = split(look_of("split"))
    wrong = [values[0] for _, values in bars.rows]
    assert bars.here == bars.rows[-1][0] == "0.9"
    assert min(wrong) == min(wrong[-3:]) < 0.5 * wrong[0]


def test_bars_of_ranks_lie_between_the_ends_of_the_theorem():
    bars = ranks(look_of("ranks"))
    counts = {label: values[0] for label, values in bars.rows}
    assert sum(counts.values()) == DRAWS
    low, high = look_of("ranks").bounds.ends
    assert bars.rows[0][0] == f"fewer than {low}"
    assert bars.rows[-1][0] == f"more than {high}"
    assert counts[bars.here]
    # The theorem promises less, namely that 85% of the draws are inside. The seeds are fixed.
    assert bars.rows[0][1][0] + bars.rows[-1][1][0] <= 3


HOSTILE = """title = "![x](http://evil.invalid/a.png) <script>alert(1)</script>"
minutes = 5
after = "<b>x</b>"
needs = "$x$"
[[steps]]
title = "<img src=http://evil.invalid/b.png>"
link = "wavecluster?data=incomes&method=nosuch"
text = "<script>alert(2)</script> [a](http://evil.invalid)"
question = "![x](http://evil.invalid/c.png)"
answers = ["<b>one</b> ![x](http://evil.invalid/d.png)", ":smile:"]
right = 1
reveal = '<iframe src="http://evil.invalid"></iframe>'
"""


def test_own_lessons_are_text_and_bad_ones_one_sentence(tmp_path, monkeypatch):
    (tmp_path / "own.toml").write_text(HOSTILE)
    (tmp_path / "bad.toml").write_text('title = "x"\nminutes = "soon"\n')
    (tmp_path / "one-person.toml").write_text(HOSTILE)
    (tmp_path / "picture.toml").write_bytes(b"a = 1\n\xff\xfe")
    monkeypatch.setenv("DPVIZ_LESSONS", str(tmp_path))
    test = opened("learn", {"lesson": "own"})
    assert not test.exception
    errors = " ".join(one.value for one in test.error)
    assert "bad.toml: minutes has to be a whole number" in errors
    assert "one-person.toml: there is a lesson" in errors
    assert "picture.toml: line 2" in errors
    assert "nosuch" in test.warning[0].value
    body = next(
        one.proto.body for one in test.get("html") if 'class="dpv-lesson"' in one.proto.body
    )
    assert "<script" not in body
    assert "<img" not in body
    (radio,) = (one for one in test.radio if one.key.startswith("learn:answer"))
    for text in (radio.label, *radio.options):
        assert "![" not in text.replace("\\[", "")
        assert "<b>" not in text.replace("\\<", "")
    monkeypatch.setenv("DPVIZ_LESSONS", str(tmp_path / "none"))
    assert "can't be read" in opened("learn", {}).error[0].value


def test_lessons_are_part_of_the_package():
    assert '"dpviz.teaching.lessons": ["*.toml"]' in (ROOT / "setup.py").read_text()
