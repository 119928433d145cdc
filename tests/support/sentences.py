"""Check every error message of a test: a message must be complete.

Values in quotation marks, after an equals sign or after an option come from the user, and may be
anything.
"""

from __future__ import annotations

import re
from typing import Any

from dpviz.base.errors import InputError, PrivacyRefusal

#: Faults of a sentence, and the pattern of each fault.
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
    """From now on, check each error message when it is created."""
    for kind in (InputError, PrivacyRefusal):
        kind.__init__ = _read_as_it_is_made  # type: ignore[method-assign]


def _read_as_it_is_made(self: Exception, *args: Any) -> None:
    super(InputError if isinstance(self, InputError) else PrivacyRefusal, self).__init__(*args)
    _read.extend(f"{problem}: {args[0]!r}" for problem in faults(str(args[0])))


def found() -> list[str]:
    """Faults of all sentences since the last call, and these sentences."""
    taken = _read.copy()
    _read.clear()
    return taken


def faults(sentence: str) -> list[str]:
    """Faults of a sentence, outside the user's values."""
    # A quoted value may contain quotation marks.
    quoted = r'"[^"]*"' if sentence.count('"') % 2 == 0 else r'".*"'
    plain = re.sub(quoted, '"x"', sentence, flags=re.DOTALL)
    plain = re.sub(r"(?<== ).+?(?=: | is | has | does | goes | can)", "x", plain)
    plain = re.sub(r"(--[a-z-]+) .+?(?=: | needs | goes )", r"\1 x", plain)
    found = [problem for problem, pattern in _FAULTS.items() if pattern.search(plain)]
    return found if sentence.isprintable() else [*found, "has a sign that can't be printed"]
