"""A lesson on paper: the students' worksheet, and the teacher's sheet."""

from __future__ import annotations

import html
from collections.abc import Mapping, Sequence

from dpviz.teaching.lessons.parser import Lesson, Step
from dpviz.ui.learn.texts import said
from dpviz.ui.session.address import is_local
from dpviz.ui.widgets.share import qr_code

#: Style for A4, black on white; long words are broken.
_STYLE = """@page{size:A4;margin:16mm}
body{font:11pt/1.45 system-ui,sans-serif;color:#000;background:#fff;max-width:178mm;margin:0 auto;
 overflow-wrap:anywhere}
h1{font-size:18pt;margin:0 0 2mm}h2{font-size:13pt;margin:6mm 0 1mm}p,ul{margin:1mm 0}
section{break-inside:avoid}ul{list-style:none;padding:0 0 0 4mm}
.line{border-bottom:.3mm solid #888;height:9mm}.small{font-size:9pt}.box{border:.3mm solid #000;
 padding:1mm 3mm}
.dpv-bars{border-collapse:collapse;font-size:9pt;width:100%}.dpv-bars caption{text-align:left}
.dpv-bars th{width:28%;text-align:left;font-weight:normal}.dpv-bars i{display:inline-block;
 height:2.4mm;margin:0 1mm 0 2mm;background:#000;print-color-adjust:exact}
svg{height:62mm;width:auto;display:block}.pair{display:flex;gap:8mm}
.dpv-qr{float:right;margin:0}.dpv-qr img{width:30mm;height:30mm}.dpv-qr figcaption{display:none}
.counts{border-collapse:collapse}.counts caption{text-align:left}
.counts td{border:.2mm solid #888;min-width:7mm;padding:.5mm 1mm;text-align:right;font-size:9pt}
.dpv-bars .dpv-b1{background:#fff;outline:.3mm solid #000}.dpv-bars span i{width:4mm}"""


def sheet(
    lesson: Lesson,
    facts: Sequence[Mapping[str, str]],
    bars: Sequence[str],
    pictures: Sequence[str],
    links: Sequence[str],
    *,
    teacher: bool,
) -> str:
    """A complete HTML page for printing, which loads nothing; lists have an entry for each step."""
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
        parts += _teacher(step, known) if teacher else _student(step, known, chart)
        parts.append(f'<p class="small">{html.escape(link)}</p></section>')
    title = html.escape(f"{kind}: {lesson.title}")
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{title}</title>'
        f"<style>{_STYLE}</style></head><body>{''.join(parts)}</body></html>"
    )


def _student(step: Step, facts: Mapping[str, str], bars: str) -> list[str]:
    parts = [*(f"<p>{said(one, facts)}</p>" for one in step.text), bars]
    if step.look:
        parts.append(f"<p><b>Look at:</b> {said(step.look, facts)}</p>")
    if step.task:
        parts.append(f"<p>☐ <b>Your turn:</b> {said(step.task, facts)}</p>")
    if step.question:
        answers = "".join(f"<li>☐ {html.escape(one)}</li>" for one in step.answers)
        parts.append(f"<p><b>{said(step.question, facts)}</b></p><ul>{answers}</ul>")
    parts.append('<p>What I saw:</p><div class="line"></div><div class="line"></div>')
    return parts


def _teacher(step: Step, facts: Mapping[str, str]) -> list[str]:
    parts = []
    if step.look:
        parts.append(f"<p><b>Look at:</b> {said(step.look, facts)}</p>")
    if step.task:
        parts.append(f"<p><b>Task:</b> {said(step.task, facts)}</p>")
    if step.question:
        answers = "".join(
            f"<li>{'☑' if position == step.right else '☐'} {html.escape(one)}</li>"
            for position, one in enumerate(step.answers)
        )
        parts.append(f"<p><b>{said(step.question, facts)}</b></p><ul>{answers}</ul>")
        parts.append(f"<p>{said(step.reveal, facts)}</p>")
    if step.formula:
        parts.append(f"<p><b>Formula:</b> {said(step.formula, facts)}</p>")
    if step.teacher:
        parts.append(f'<p class="box"><b>In class:</b> {said(step.teacher, facts)}</p>')
    return parts
