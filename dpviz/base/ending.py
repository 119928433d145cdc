"""How a command ends: one sentence on standard error, and an exit status."""

from __future__ import annotations

import errno
import io
import os
import sys
from contextlib import suppress

from dpviz.base.errors import InputError, PrivacyRefusal, reason

#: Largest number of printed characters of a message that was not written for the user.
_MOST = 200


def say(text: str, *, end: str = "\n") -> None:
    """Print on standard error; if this stream is closed, the command does not fail."""
    encoding = sys.stderr.encoding or "utf-8"
    # A file name may contain bytes that are not characters.
    printable = text.encode(encoding, "backslashreplace").decode(encoding)
    with suppress(OSError, ValueError):
        print(printable, end=end, file=sys.stderr, flush=True)


def put(text: str) -> None:
    """Print a result on a terminal of any encoding; raise InputError if printing fails."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")
    try:
        print(text, flush=True)
    except BrokenPipeError:
        raise
    except OSError as error:
        hush()
        raise InputError(
            f"the command is done, but its result can't be printed ({reason(error)})."
        ) from None


def ended_by(error: BaseException) -> int:
    """Print in one sentence why a command ended; return its status (-X dev shows a traceback)."""
    if isinstance(error, InputError):
        say(f"dpviz: {_on_one_line(error)}")
        return 2
    if isinstance(error, PrivacyRefusal):
        say(f"dpviz: refused: {_on_one_line(error)}")
        return 3
    if isinstance(error, BrokenPipeError):
        hush()  # the reader of the output has closed the stream
    elif isinstance(error, KeyboardInterrupt):
        say(f"dpviz: interrupted{f': {error}' if str(error) else ''}.")
        # An interrupt inside code from a string (as in dataclasses) sets a mark, so that Python
        # ends with the signal even if it was handled. Executing another string removes the mark.
        exec("")
    elif isinstance(error, MemoryError) or getattr(error, "errno", None) == errno.ENOMEM:
        say("dpviz: there is not enough memory: take fewer records, cells, clusters or draws.")
    elif sys.flags.dev_mode:
        raise error
    elif isinstance(error, ImportError):
        say(f"dpviz: a library can't be loaded ({_short(error)}): install dpviz again.")
    else:
        say(f"dpviz: stopped at a fault of the program ({_short(error)}); please report it.")
    return 1


def _on_one_line(error: BaseException) -> str:
    """Message without line breaks and terminal control codes, which quoted input may contain."""
    return "".join(c if c.isprintable() else repr(c)[1:-1] for c in str(error))


def _short(error: BaseException) -> str:
    return " ".join(f"{type(error).__name__}: {error}".split())[:_MOST]


def hush() -> None:
    """Prevent Python from writing to standard output again when it exits."""
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
