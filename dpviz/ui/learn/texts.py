"""Texts of a lesson as HTML, on the screen and on paper; the only markup is bold type."""

from __future__ import annotations

import html
import re
from collections.abc import Mapping, Sequence

from dpviz.teaching.lessons.parser import Lesson, Step, filled
from dpviz.ui import FRONTEND
from dpviz.ui.session.address import is_local
from dpviz.ui.widgets.share import qr_code

_BOLD = re.compile(r"\*\*(\S(?:[^*]*\S)?)\*\*")


def said(text: str, facts: Mapping[str, str]) -> str:
    """HTML of a text with facts filled in."""
    return _BOLD.sub(r"<b>\1</b>", html.escape(filled(text, facts)))


def step_text(step: Step, facts: Mapping[str, str], bars: str = "", *, done: bool) -> str:
    """HTML of a step, without the answers to the step's question."""
    parts = [f"<h2>{html.escape(step.title)}</h2>"]
    parts += [f"<p>{said(one, facts)}</p>" for one in step.text]
    parts.append(bars)
    if step.look:
        parts.append(f'<p class="dpv-look"><b>Look at:</b> {said(step.look, facts)}</p>')
    if step.formula:
        parts.append(
            f"<details><summary>The formula</summary><p>{said(step.formula, facts)}</p></details>"
        )
    if step.task:
        mark, word = ("☑", "Done: ") if done else ("☐", "Your turn: ")
        kind = "dpv-task dpv-done" if done else "dpv-task"
        parts.append(
            f'<p class="{kind}" role="status"><i aria-hidden="true">{mark}</i> <b>{word}</b>'
            f"{said(step.task, facts)}</p>"
        )
    return f'<section class="dpv-lesson">{"".join(parts)}</section>'


def reveal_text(step: Step, facts: Mapping[str, str], answer: str | None) -> str:
    """HTML of the explanation of the chosen answer; empty if no answer was chosen."""
    if answer not in step.answers:
        return '<p class="dpv-reveal" role="status"></p>'
    right = answer == step.answers[step.right]
    word = "✓ Right." if right else "✗ Not quite."
    return f'<p class="dpv-reveal" role="status"><b>{word}</b> {said(step.reveal, facts)}</p>'


#: Style for A4, black on white; long words are broken.
_STYLE = (FRONTEND / "sheet.css").read_text(encoding="utf-8").rstrip()


def sheet(
    lesson: Lesson,
    facts: Sequence[Mapping[str, str]],
    bars: Sequence[str],
    pictures: Sequence[str],
    links: Sequence[str],
    *,
    teacher: bool,
) -> str:
    """A complete HTML page for printing, which loads no files; lists have an entry per step."""
    # The teacher's sheet also contains answers, minutes and notes.
    kind = "Teacher's sheet" if teacher else "Worksheet"
    each = max(1, round(lesson.minutes / len(lesson.steps)))
    parts = [f"<h1>{html.escape(lesson.title)}</h1>"]
    if not (teacher or is_local(links[0])):
        parts.insert(0, qr_code(links[0]))
    if teacher:
        parts.append(
            f"<p>{kind} · {lesson.minutes} minutes, about {each} a step · "
            f"needs: {html.escape(lesson.needs)}</p>"
        )
    else:
        parts.append(f"<p>{kind} · {lesson.minutes} minutes · Name: ____________________</p>")
    parts.append(f"<p><b>What you learn:</b> {html.escape(lesson.after)}</p>")
    steps = zip(lesson.steps, facts, bars, pictures, links, strict=True)
    for number, (step, known, chart, picture, link) in enumerate(steps, 1):
        parts.append(f"<section><h2>{number}. {html.escape(step.title)}</h2>{picture}")
        parts += _content(step, known, chart, teacher=teacher)
        address = (
            f"Your teacher shows the address. Step {number}."
            if is_local(link) and not teacher
            else link
        )
        parts.append(f'<p class="small">{html.escape(address)}</p></section>')
    title = html.escape(f"{kind}: {lesson.title}")
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{title}</title>'
        f"<style>{_STYLE}</style></head><body>{''.join(parts)}</body></html>"
    )


def _content(step: Step, facts: Mapping[str, str], bars: str, *, teacher: bool) -> list[str]:
    asked, done = ("Task:", "☑") if teacher else ("Your turn:", "☐")
    parts = [] if teacher else [*(f"<p>{said(one, facts)}</p>" for one in step.text), bars]
    if step.look:
        parts.append(f"<p><b>Look at:</b> {said(step.look, facts)}</p>")
    if step.task:
        parts.append(f"<p>{'' if teacher else '☐ '}<b>{asked}</b> {said(step.task, facts)}</p>")
    if step.question:
        answers = "".join(
            f"<li>{done if position == step.right else '☐'} {html.escape(one)}</li>"
            for position, one in enumerate(step.answers)
        )
        parts.append(f"<p><b>{said(step.question, facts)}</b></p><ul>{answers}</ul>")
    if not teacher:
        parts.append('<p>What I saw:</p><div class="line"></div><div class="line"></div>')
        return parts
    if step.question:
        parts.append(f"<p>{said(step.reveal, facts)}</p>")
    if step.formula:
        parts.append(f"<p><b>Formula:</b> {said(step.formula, facts)}</p>")
    if step.teacher:
        parts.append(f'<p class="box"><b>In class:</b> {said(step.teacher, facts)}</p>')
    return parts
