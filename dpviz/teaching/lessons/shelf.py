"""All lessons: the lessons of the package, and a teacher's own lessons from a folder."""

from __future__ import annotations

import os
import re
from functools import cache
from pathlib import Path

from dpviz.base.errors import InputError, reason, shown
from dpviz.teaching.lessons.parser import MOST_BYTES, Known, Lesson, parse_lesson

FOLDER_VARIABLE = "DPVIZ_LESSONS"

MOST_LESSONS = 100

_NAME = re.compile(r"(?:\d+-)?([\w-]{1,60})")


def shelf(known: Known) -> tuple[dict[str, Lesson], list[str]]:
    """Return all lessons by name, in order, and error messages about the teacher's own files."""
    found = dict(_shipped(known))
    folder, faults = os.environ.get(FOLDER_VARIABLE), list[str]()
    if not folder:
        return found, faults
    try:
        files = sorted(one for one in Path(folder).iterdir() if one.suffix == ".toml")
    except OSError as error:
        return found, [
            f'{FOLDER_VARIABLE} = "{shown(folder, 80)}" can\'t be read ({reason(error)}): '
            "name a folder with lessons."
        ]
    if len(files) > MOST_LESSONS:
        faults.append(
            f"{FOLDER_VARIABLE} has {len(files):,} lessons: the first {MOST_LESSONS} are shown."
        )
    for file in files[:MOST_LESSONS]:
        try:
            one = _read(file, known)
            if one.name in found:
                raise InputError(
                    f'{shown(file.name, 80)}: there is a lesson "{one.name}": '
                    "give this file another name."
                )
            found[one.name] = one
        except InputError as error:
            faults.append(str(error))
    return found, faults


@cache
def _shipped(known: Known) -> dict[str, Lesson]:
    files = sorted(Path(__file__).parent.glob("*.toml"))
    return {one.name: one for one in (_read(file, known) for file in files)}


def _read(file: Path, known: Known) -> Lesson:
    named = _NAME.fullmatch(file.stem)
    if named is None:
        raise InputError(
            f"{shown(file.name, 80)}: use only letters, digits and - in its name, "
            "because links contain the name."
        )
    try:
        with file.open("rb") as opened:
            data = opened.read(MOST_BYTES + 1)
    except OSError as error:
        raise InputError(
            f"{shown(file.name, 80)}: can't be read ({reason(error)}): check its rights."
        ) from None
    return parse_lesson(data, name=named[1], file=file.name, known=known)
