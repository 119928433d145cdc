"""How a command ends: one sentence on standard error, and an exit status."""

from __future__ import annotations

import errno
import os
import sys
from contextlib import suppress

from dpviz.base.errors import InputError, PrivacyRefusal

#: Most characters of a message that was not written for the user.
_MOST = 200


def say(text: str, *, end: str = "\n") -> None:
    """Print on standard error; a closed stream is not an error of the command."""
    encoding = sys.stderr.encoding or "utf-8"
    # A name of a file may have bytes that are no letters.
    printable = text.encode(encoding, "backslashreplace").decode(encoding)
    with suppress(OSError, ValueError):
        print(printable, end=end, file=sys.stderr, flush=True)


def ended_by(error: BaseException) -> int:
    """Say in one sentence what ended a command; returns its exit status.

    ``python -X dev`` shows where a fault of the program is.
    """
    if isinstance(error, InputError):
        say(f"dpviz: {_on_one_line(error)}")
        return 2
    if isinstance(error, PrivacyRefusal):
        say(f"dpviz: refused: {_on_one_line(error)}")
        return 3
    if isinstance(error, BrokenPipeError):
        hush()  # the reader of the output has closed it
    elif isinstance(error, KeyboardInterrupt):
        say(f"dpviz: interrupted{f': {error}' if str(error) else ''}.")
        # An interrupt within code that came as a text, as a dataclass's, has Python end by the
        # signal, handled or not; the next such code takes that back.
        exec("")
    elif isinstance(error, MemoryError) or getattr(error, "errno", None) == errno.ENOMEM:
        say("dpviz: there is not enough memory: take fewer records, cells, clusters or draws.")
    elif sys.flags.dev_mode:
        raise error
    elif isinstance(error, ImportError):
        say(f"dpviz: a library can't be loaded ({_short(error)}): install dpviz anew.")
    else:
        say(f"dpviz: stopped at a fault of the program ({_short(error)}); please report it.")
    return 1


def _on_one_line(error: BaseException) -> str:
    """Message on one line; it may quote input with line breaks or terminal control codes."""
    return "".join(c if c.isprintable() else repr(c)[1:-1] for c in str(error))


def _short(error: BaseException) -> str:
    """Message on one line that was not written for the user."""
    return " ".join(f"{type(error).__name__}: {error}".split())[:_MOST]


def hush() -> None:
    """Keep Python from writing to standard output once more on its way out."""
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
