"""Reads a lesson: a TOML file with a title and steps; a step has a link, texts, question and task.

The author of a lesson may be unknown, so its texts can't be trusted. The only markup is
``**bold**``; code that shows a text must escape everything else. The lessons beside this module are
examples. Paragraphs of ``text`` end at an empty line. Names in braces are facts of the run that the
step shows; questions and answers have none.
"""

from __future__ import annotations

import math
import operator
import re
import tomllib
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qsl

from dpviz.base.errors import InputError, reason, shown

_SIGNS = {
    "==": operator.eq,
    "!=": operator.ne,
    "<=": operator.le,
    ">=": operator.ge,
    "<": operator.lt,
    ">": operator.gt,
}
#: Number of significant digits of a fact in a text, if the fact is not a whole number.
DIGITS = 3

_PART = re.compile(r"\s*([\w.]+)\s*(==|!=|<=|>=|<|>)\s*([\w.]+)\s*")


@dataclass(frozen=True)
class Condition:
    """A condition: all comparisons (left side, sign, right side) must be true."""

    parts: tuple[tuple[str | float, str, str | float], ...]

    @property
    def names(self) -> set[str]:
        """Names of the facts in the comparisons."""
        sides = [side for left, _, right in self.parts for side in (left, right)]
        return {side for side in sides if isinstance(side, str)}

    def holds(self, facts: Mapping[str, float]) -> bool:
        """Whether all comparisons are true; a comparison with a missing value is false."""
        # Facts are rounded as in texts: a noise scale of 1.996 is written as 2.
        return all(
            not (math.isnan(one) or math.isnan(other)) and _SIGNS[sign](one, other)
            for left, sign, right in self.parts
            for one, other in [(_value(left, facts), _value(right, facts))]
        )


def parse_condition(text: str, known: Collection[str]) -> Condition:
    """Read comparisons that "and" joins; InputError if they can't be read, or a fact is unknown."""
    parts = []
    for piece in re.split(r"\band\b", text):
        found = _PART.fullmatch(piece)
        if found is None:
            raise InputError(
                f'the condition "{shown(piece.strip())}" can\'t be read: write a fact, one of '
                f"{' '.join(_SIGNS)}, and a fact or a number."
            )
        left, sign, right = found.groups()
        parts.append((_side(left, known), sign, _side(right, known)))
    return Condition(tuple(parts))


def check_fact(name: str, known: Collection[str]) -> str:
    """Return the name of a fact, or raise InputError if no fact has this name."""
    if name not in known:
        raise InputError(f'there is no fact "{shown(name)}": choose from {", ".join(known)}.')
    return name


def _side(text: str, known: Collection[str]) -> str | float:
    try:
        return float(text)
    except ValueError:
        return check_fact(text, known)


def _value(side: str | float, facts: Mapping[str, float]) -> float:
    if not isinstance(side, str):
        return side
    value = float(facts.get(side, math.nan))
    return value if value.is_integer() else float(f"{value:.{DIGITS}g}")


#: Keys of a lesson, with their types; all keys are required.
FRONT = {"title": str, "minutes": int, "after": str, "needs": str, "steps": list}

#: Keys of a step, with their types; title and link are required.
STEP = {
    "title": str, "link": str, "text": str, "look": str, "bars": str, "holds": list,
    "question": str, "answers": list, "right": int, "reveal": str, "task": str, "done": str,
    "formula": str, "teacher": str, "page": str,
}  # fmt: skip

_KINDS = {str: "text in quotation marks", int: "a whole number", list: "a list"}

MOST_BYTES, MOST_MINUTES = 200_000, 240

_FACT = re.compile(r"\{([^{}]*)\}")


@dataclass(frozen=True, kw_only=True)
class Step:
    """One idea, with a run that shows this idea."""

    title: str
    explorer: str  # shown beside the text
    query: Mapping[str, str]  # values of the explorer's controls, as in a link
    text: tuple[str, ...] = ()
    look: str = ""  # what to look at
    bars: str = ""  # name of the bar chart below the text
    question: str = ""
    answers: tuple[str, ...] = ()
    right: int = 0  # index of the right answer
    reveal: str = ""  # text after an answer
    task: str = ""
    wanted: Condition | None = None  # end of the task
    formula: str = ""
    teacher: str = ""  # a usual mistake, or a question
    holds: tuple[Condition, ...] = ()  # true of the run at the beginning; the texts rely on them
    page: str = ""  # another page that the step opens, with controls as in a link

    @property
    def names(self) -> set[str]:
        """Names of all facts in the texts and conditions."""
        texts = (*self.text, self.look, self.question, self.reveal, self.task, self.formula)
        found = {name for one in (*texts, self.teacher) for name in _FACT.findall(one)}
        asked = (*self.holds, *([self.wanted] if self.wanted else []))
        return found.union(*(one.names for one in asked))


@dataclass(frozen=True, kw_only=True)
class Lesson:
    """A lesson: its name in links, its general information and its steps."""

    name: str
    title: str
    minutes: int
    after: str
    needs: str
    steps: tuple[Step, ...]


@dataclass(frozen=True, kw_only=True)
class Known:
    """Names that a lesson may use: names of explorers, of facts of a run, and of bar charts."""

    explorers: tuple[str, ...]
    facts: tuple[str, ...]
    bars: tuple[str, ...]


def parse_lesson(data: bytes, *, name: str, file: str, known: Known) -> Lesson:
    """Read a lesson; InputError names the file, and the line or the step."""
    try:
        front = _checked(_read_toml(data), FRONT, tuple(FRONT))
        if not 1 <= front["minutes"] <= MOST_MINUTES:
            raise InputError(f"minutes has to be a whole number from 1 to {MOST_MINUTES}.")
        steps = front.pop("steps")
    except InputError as error:
        raise InputError(f"{shown(file, 80)}: {error}") from None
    found = []
    for number, step in enumerate(steps, 1):
        try:
            found.append(_step(step, known))
        except InputError as error:
            raise InputError(f"{shown(file, 80)}, step {number}: {error}") from None
    return Lesson(name=name, steps=tuple(found), **front)


def _read_toml(data: bytes) -> dict[str, Any]:
    if len(data) > MOST_BYTES:
        raise InputError(f"the file has more than {MOST_BYTES:,} bytes: split it.")
    try:
        return tomllib.loads(data.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
        raise InputError(f"line {line} is not UTF-8 text: save the file as UTF-8.") from None
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"this is not TOML: {reason(error)}.") from None
    except (ValueError, RecursionError):
        raise InputError("this is not TOML: a number is too long, or lists are too deep.") from None


def _checked(table: object, types: Mapping[str, type], needed: tuple[str, ...]) -> dict[str, Any]:
    if not isinstance(table, dict):
        raise InputError("a step is a table: begin it with [[steps]].")
    for key, value in table.items():
        if key not in types:
            raise InputError(f'"{shown(key)}" is unknown here: write {", ".join(types)}.')
        if type(value) is not types[key]:
            raise InputError(f"{key} has to be {_KINDS[types[key]]}.")
        if value == [] or (isinstance(value, str) and not value.strip()):
            raise InputError(f'"{key}" is empty: write something.')
    for key in needed:
        if key not in table:
            raise InputError(f'"{key} = ..." is missing.')
    return {
        key: _on_one_line(value) if isinstance(value, str) and key != "text" else value
        for key, value in table.items()
    }


def _on_one_line(text: str) -> str:
    return " ".join(text.split())


def _step(table: object, known: Known) -> Step:
    given = _checked(table, STEP, ("title", "link"))
    for key in ("answers", "holds"):
        for one in given.get(key, ()):
            if not isinstance(one, str) or not one.strip():
                raise InputError(f"{key} has to be a list of texts.")
    for key, value in given.items():
        if isinstance(value, str) and key != "title":
            _check_facts(value, known)
    explorer, _, query = given.pop("link").partition("?")
    if explorer not in known.explorers:
        raise InputError(
            f'there is no explorer "{shown(explorer)}": begin the link with '
            f"{' or '.join(known.explorers)}."
        )
    if dict(parse_qsl(query)).get("data") is None:
        raise InputError("the link has no sample set: add data=incomes, for example.")
    if "bars" in given and given["bars"] not in known.bars:
        raise InputError(
            f'there are no bars "{shown(given["bars"])}": write {" or ".join(known.bars)}.'
        )
    if ("task" in given) != ("done" in given):
        raise InputError('a task needs both "task = ..." and "done = ...", its condition.')
    _check_question(given)
    done = given.pop("done", None)
    paragraphs = re.split(r"\n\s*\n", given.pop("text", "").strip())
    return Step(
        explorer=explorer,
        query=dict(parse_qsl(query)),
        text=tuple(_on_one_line(one) for one in paragraphs if one),
        answers=tuple(_on_one_line(one) for one in given.pop("answers", ())),
        right=given.pop("right", 1) - 1,
        wanted=None if done is None else parse_condition(done, known.facts),
        holds=tuple(parse_condition(one, known.facts) for one in given.pop("holds", ())),
        **given,
    )


def _check_facts(text: str, known: Known) -> None:
    for name in _FACT.findall(text):
        check_fact(name, known.facts)
    if set("{}") & set(_FACT.sub("", text)):
        raise InputError("a brace has no second brace: write {name of a fact}.")


def _check_question(step: Mapping[str, Any]) -> None:
    parts = ("question", "answers", "right", "reveal")
    missing = [key for key in parts if key not in step]
    if len(missing) == len(parts):
        return
    if missing:
        raise InputError(f'a question needs {", ".join(parts)}: "{missing[0]} = ..." is missing.')
    answers = step["answers"]
    # Question and answers are shown before the run has facts.
    if set("{}") & set("".join((step["question"], *answers))):
        raise InputError("a question and its answers have to be text, without facts in braces.")
    if len(answers) < 2:
        raise InputError("this question needs two answers or more.")
    if len(set(answers)) < len(answers):
        raise InputError("two answers of this question are the same.")
    if not 1 <= step["right"] <= len(answers):
        raise InputError(f"right has to be the number of an answer, from 1 to {len(answers)}.")


def filled(text: str, facts: Mapping[str, str]) -> str:
    """Put the values of facts into a text; a fact that is not known yet becomes "…"."""
    return _FACT.sub(lambda found: facts.get(found[1], "…"), text)
