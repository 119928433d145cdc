"""Reads every sentence that a test makes as a user would: nothing is announced and then missing.

Values in quotation marks, after an equals sign or after an option are the user's: they may be
anything.
"""

from __future__ import annotations

import re
from typing import Any

from dpviz.base.errors import InputError, PrivacyRefusal

#: What is wrong with a sentence, and how that looks.
_FAULTS = {
    problem: re.compile(pattern)
    for problem, pattern in {
        "has no end": r"(?:[^.)]|(?<!\.)\))$|^$",
        "announces something and does not name it": (
            r"\b(?:among|between|called|from|of|than|such as|at (?:least|most)) ?[.,;:)]"
            r"|\bfor ?[:;)]"
        ),
        "has empty brackets": r"(?<!shape )\( ?\)|\[ ?\]|\{ ?\}",
        "says None or nan": (
            r"(?:\(|: |, |\b(?:among|at|called|from|has|in|of|than|to|with) )"
            r"(?:None|nan)\b"
        ),
        "shows an object of Python": r"<[a-z][\w.]*[ .]| at 0x[0-9a-f]{6}|\bnp\.\w+\(|\[Errno",
        "has a gap": r"  |^ | $| [.,;:)](?: |$)|\( |[,;:] ?[,;:.](?: |$)",
        "has a sign that can't be printed": r"\n",
    }.items()
}

_read: list[str] = []


def watch() -> None:
    """Read each sentence from now on, where it is made."""
    for kind in (InputError, PrivacyRefusal):
        kind.__init__ = _read_as_it_is_made  # type: ignore[method-assign]


def _read_as_it_is_made(self: Exception, *args: Any) -> None:
    super(InputError if isinstance(self, InputError) else PrivacyRefusal, self).__init__(*args)
    _read.extend(f"{problem}: {args[0]!r}" for problem in faults(str(args[0])))


def found() -> list[str]:
    """What is wrong with the sentences since the last call, and the sentences."""
    taken = _read.copy()
    _read.clear()
    return taken


def faults(sentence: str) -> list[str]:
    """What is wrong with a sentence, outside of the user's values."""
    # A quoted value may have quotation marks of its own.
    quoted = r'"[^"]*"' if sentence.count('"') % 2 == 0 else r'".*"'
    plain = re.sub(quoted, '"x"', sentence, flags=re.DOTALL)
    plain = re.sub(r"(?<== ).+?(?=: | is | has | does | goes | can)", "x", plain)
    plain = re.sub(r"(--[a-z-]+) .+?(?=: | needs | goes )", r"\1 x", plain)
    found = [problem for problem, pattern in _FAULTS.items() if pattern.search(plain)]
    return found if sentence.isprintable() else [*found, "has a sign that can't be printed"]
