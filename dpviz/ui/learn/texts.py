"""Texts of a lesson as HTML; all text is escaped, and the only markup is bold type."""

from __future__ import annotations

import html
import re
from collections.abc import Mapping

from dpviz.teaching.lessons.parser import Step, filled

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
