"""Reads a lesson: front matter, steps, and for each its link, texts, question and task.

A lesson is text of somebody else, maybe: nothing of it is markup but ``**bold**``, and whoever
shows it escapes it. A file looks like this::

    ---
    title: One person can be seen
    minutes: 8
    after: You can say why a result without noise tells on people.
    needs: nothing
    ---
    # Two groups of people
    link: wavecluster?data=incomes&method=wavecluster
    The picture shows {records} people. A paragraph ends at an empty line.

    look: The number of clusters.
    bars: with_and_without
    holds: true_clusters == 1
    question: Who joins the groups?
    - [x] One person
    - [ ] The noise
    reveal: There is no noise yet.
    task: epsilon <= 0.1 | Drag epsilon to the left.
    formula: scale = sensitivity / epsilon
    teacher: Many say "the outlier".

Names in braces are facts of the run beside the text; a question and its answers have none. A
further line of a part continues it.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qsl

from dpviz.base.errors import InputError, shown
from dpviz.teaching.lessons.condition import Condition, check_fact, parse_condition

#: Lines of the front matter; all are needed.
FRONT = ("title", "minutes", "after", "needs")

#: Beginnings of a step's parts; a part that may stand several times in a step is in ``_SEVERAL``.
PARTS = (
    "link", "look", "bars", "question", "reveal", "task", "formula", "teacher", "holds", "page",
)  # fmt: skip
_SEVERAL = ("holds",)

#: Parts that a further line does not continue.
_ONE_LINE = ("link", "bars", "holds", "page")

#: Most bytes of a file, and minutes of a lesson.
MOST_BYTES, MOST_MINUTES = 200_000, 240

_KEY = re.compile(rf"({'|'.join(PARTS)}):\s*(.*)")
_ANSWER = re.compile(r"- \[([ xX])\]\s*(.*)")
_FACT = re.compile(r"\{([^{}]*)\}")


@dataclass(frozen=True, kw_only=True)
class Step:
    """One idea, with the run that shows it.

    Parameters
    ----------
    title, text
        Heading, and paragraphs.
    explorer, query
        Explorer beside the text, and its controls as in a link.
    look, bars
        What to look at; name of the bars that stand below the text.
    question, answers, right, reveal
        Question, its answers, position of the right one, and what is said after an answer.
    task, wanted
        What to do in the explorer, and when it is done.
    formula, teacher
        Formula behind a toggle; a note for the teacher: what classes get wrong, or what to ask.
    holds
        What the texts say of the run at the beginning of the step.
    page
        Another page of the app to open, with its controls as in a link.
    """

    title: str
    explorer: str
    query: Mapping[str, str]
    text: tuple[str, ...] = ()
    look: str = ""
    bars: str = ""
    question: str = ""
    answers: tuple[str, ...] = ()
    right: int = 0
    reveal: str = ""
    task: str = ""
    wanted: Condition | None = None
    formula: str = ""
    teacher: str = ""
    holds: tuple[Condition, ...] = ()
    page: str = ""

    @property
    def names(self) -> set[str]:
        """Facts that the texts and conditions need."""
        texts = (*self.text, self.look, self.question, self.reveal, self.task, self.formula)
        found = {name for one in (*texts, self.teacher) for name in _FACT.findall(one)}
        asked = (*self.holds, *([self.wanted] if self.wanted else []))
        return found.union(*(one.names for one in asked))


@dataclass(frozen=True, kw_only=True)
class Lesson:
    """A lesson: its name in links, its front matter and its steps."""

    name: str
    title: str
    minutes: int
    after: str
    needs: str
    steps: tuple[Step, ...]


@dataclass
class _Draft:
    """A step that is being read; numbers are lines."""

    title: str
    line: int
    parts: dict[str, list[tuple[int, str]]] = field(default_factory=dict)
    answers: list[tuple[int, bool, str]] = field(default_factory=list)


class _Faults:
    """Makes each error one sentence with file and line."""

    def __init__(self, file: str) -> None:
        self.file = file

    def at(self, line: int, problem: object) -> InputError:
        return InputError(f"{shown(self.file, 80)}, line {line}: {problem}")


def decoded(data: bytes, file: str) -> str:
    """Text of a file, or InputError where it is none."""
    if len(data) > MOST_BYTES:
        raise _Faults(file).at(1, f"the file has more than {MOST_BYTES:,} bytes: split it.")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
        raise _Faults(file).at(line, "this is not UTF-8 text: save the file as UTF-8.") from None


@dataclass(frozen=True, kw_only=True)
class Known:
    """Names that a lesson may use: of explorers, of facts of a run, of bars."""

    explorers: tuple[str, ...]
    facts: tuple[str, ...]
    bars: tuple[str, ...]


def parse_lesson(text: str, *, name: str, file: str, known: Known) -> Lesson:
    """Read a lesson.

    Parameters
    ----------
    text
        The whole file.
    name, file
        Name of the lesson in links; name of the file in messages.
    known
        Names that there are.

    Raises
    ------
    InputError
        One sentence with file and line.
    """
    faults = _Faults(file)
    lines = [one.rstrip() for one in re.split(r"\r\n|\n|\r", text)]
    front, first = _front(lines, faults)
    drafts = list(_drafts(lines, first, faults))
    if not drafts:
        raise faults.at(len(lines), 'there is no step: begin one with "# " and its title.')
    steps = tuple(_step(one, faults, known) for one in drafts)
    return Lesson(name=name, steps=steps, **front)


def _front(lines: list[str], faults: _Faults) -> tuple[dict[str, Any], int]:
    """Read the front matter; return it with the position of the first line after it."""
    if lines[0] != "---":
        raise faults.at(1, 'the first line has to be "---", above title, minutes, after and needs.')
    found: dict[str, Any] = {}
    for position, line in enumerate(lines[1:], 1):
        if line == "---":
            break
        key, colon, value = (one.strip() for one in line.partition(":"))
        if not line:
            continue
        if not colon or key not in FRONT:
            raise faults.at(
                position + 1, f'"{shown(line)}" is unknown here: write {", ".join(FRONT)}.'
            )
        if key in found:
            raise faults.at(position + 1, f'"{key}" stands here for the second time: delete one.')
        if not value:
            raise faults.at(position + 1, f'"{key}" is empty: write something after the colon.')
        found[key] = _minutes(value, position + 1, faults) if key == "minutes" else value
    else:
        raise faults.at(len(lines), 'the front matter has no end: close it with "---".')
    for key in FRONT:
        if key not in found:
            raise faults.at(position + 1, f'"{key}: ..." is missing above this line.')
    return found, position + 1


def _minutes(text: str, line: int, faults: _Faults) -> int:
    """Whole minutes."""
    if not re.fullmatch("[0-9]{1,3}", text) or not 1 <= int(text) <= MOST_MINUTES:
        raise faults.at(
            line, f'minutes = "{shown(text)}" has to be a whole number from 1 to {MOST_MINUTES}.'
        )
    return int(text)


def _drafts(lines: list[str], first: int, faults: _Faults) -> Iterator[_Draft]:
    """Cut the rest into steps and their parts."""
    draft: _Draft | None = None
    # The list whose last text a further line continues; None after an empty line.
    last: list[Any] | None = None
    for number, line in enumerate(lines[first:], first + 1):
        if line == "#" or line.startswith("# "):
            if draft:
                yield draft
            draft, last = _Draft(line[2:].strip(), number), None
        elif not line.strip():
            last = None
        elif draft is None:
            raise faults.at(number, 'text before the first step: begin a step with "# ".')
        elif found := _KEY.fullmatch(line):
            key, value = found.groups()
            last = draft.parts.setdefault(key, [])
            if last and key not in _SEVERAL:
                raise faults.at(number, f'"{key}" stands twice in this step: keep one.')
            last.append((number, value))
            if key in _ONE_LINE:
                last = None
        elif found := _ANSWER.fullmatch(line):
            last = draft.answers
            last.append((number, found[1] != " ", found[2]))
        elif last:
            *kept, before = last[-1]
            last[-1] = (*kept, f"{before} {line.strip()}".strip())
        else:
            last = draft.parts.setdefault("text", [])
            last.append((number, line.strip()))
    if draft:
        yield draft


def _step(draft: _Draft, faults: _Faults, known: Known) -> Step:
    """Check a step."""
    if not draft.title:
        raise faults.at(draft.line, "this step has no title.")
    for number, text in (one for found in draft.parts.values() for one in found):
        if not text:
            raise faults.at(number, "nothing stands after the colon.")
        _check_facts(text, number, faults, known.facts)
    one = {key: found[0][1] for key, found in draft.parts.items()}
    at = {key: found[0][0] for key, found in draft.parts.items()}
    if "link" not in one:
        raise faults.at(draft.line, 'this step has no link: write "link: wavecluster?data=...".')
    explorer, _, query = one["link"].partition("?")
    if explorer not in known.explorers:
        raise faults.at(
            at["link"],
            f'there is no explorer "{shown(explorer)}": begin the link with '
            f"{' or '.join(known.explorers)}.",
        )
    if dict(parse_qsl(query)).get("data") is None:
        raise faults.at(at["link"], "the link names no sample set: add data=incomes, for example.")
    if "bars" in one and one["bars"] not in known.bars:
        raise faults.at(
            at["bars"],
            f'there are no bars "{shown(one["bars"])}": write {" or ".join(known.bars)}.',
        )
    task, wanted = _task(one, at, faults, known.facts)
    right = _right(draft, one, faults)
    holds = []
    for number, text in draft.parts.get("holds", ()):
        try:
            holds.append(parse_condition(text, known.facts))
        except InputError as error:
            raise faults.at(number, error) from None
    kept = ("look", "bars", "question", "reveal", "formula", "teacher", "page")
    return Step(
        title=draft.title,
        text=tuple(text for _, text in draft.parts.get("text", ())),
        explorer=explorer,
        query=dict(parse_qsl(query)),
        answers=tuple(text for _, _, text in draft.answers),
        right=right,
        task=task,
        wanted=wanted,
        holds=tuple(holds),
        **{key: one.get(key, "") for key in kept},
    )


def _check_facts(text: str, number: int, faults: _Faults, facts: Collection[str]) -> None:
    """Raise InputError where a brace is lonely, or names no fact."""
    try:
        for name in _FACT.findall(text):
            check_fact(name, facts)
    except InputError as error:
        raise faults.at(number, error) from None
    if set("{}") & set(_FACT.sub("", text)):
        raise faults.at(number, "a brace stands alone: write {name of a fact}.")


def _task(
    one: Mapping[str, str], at: Mapping[str, int], faults: _Faults, facts: Collection[str]
) -> tuple[str, Condition | None]:
    """Read a task: its condition, and what is to be done."""
    if "task" not in one:
        return "", None
    condition, bar, text = (part.strip() for part in one["task"].partition("|"))
    if not bar or not text:
        raise faults.at(at["task"], 'write the condition, then "|", then what is to be done.')
    try:
        return text, parse_condition(condition, facts)
    except InputError as error:
        raise faults.at(at["task"], error) from None


def _right(draft: _Draft, one: Mapping[str, str], faults: _Faults) -> int:
    """Check question, answers and reveal; return the position of the right answer."""
    line = draft.parts["question"][0][0] if "question" in one else draft.line
    if not (one.get("question") or draft.answers or one.get("reveal")):
        return 0
    if "question" not in one:
        raise faults.at(line, 'this step has answers or a reveal, but no "question: ...".')
    if set("{}") & set(one["question"]):
        # It stands on the screen before the run has facts.
        raise faults.at(line, "a question has to be text, without facts in braces.")
    if "reveal" not in one:
        raise faults.at(line, 'this question has no "reveal: ...".')
    if len(draft.answers) < 2:
        raise faults.at(
            line, 'this question needs two answers or more: "- [x] right", "- [ ] wrong".'
        )
    for number, _, text in draft.answers:
        if not text or set("{}") & set(text):
            raise faults.at(number, "an answer has to be text, without facts in braces.")
    texts = [text for _, _, text in draft.answers]
    if len(set(texts)) < len(texts):
        raise faults.at(line, "two answers of this question are the same.")
    right = [position for position, (_, is_right, _) in enumerate(draft.answers) if is_right]
    if len(right) != 1:
        raise faults.at(line, 'mark one answer of this question as right: "- [x] ...".')
    return right[0]


def filled(text: str, facts: Mapping[str, str]) -> str:
    """Put the values of facts into a text; what is not known yet is "…"."""
    return _FACT.sub(lambda found: facts.get(found[1], "…"), text)
