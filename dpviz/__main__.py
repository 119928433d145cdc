"""The command line: ``python -m dpviz``, or ``dpviz`` where it is installed."""

from __future__ import annotations

import atexit
import os
import signal
import sys
from contextlib import suppress
from typing import NoReturn

from dpviz.base.ending import ended_by

#: Ends a command as Ctrl-C does: its temporary files go. SIGHUP, which Windows lacks, comes when a
#: terminal is closed or a connection breaks.
_ENDS = [signal.SIGTERM, *([signal.SIGHUP] if hasattr(signal, "SIGHUP") else [])]


def program() -> NoReturn:
    """Run one command and leave with its exit status.

    All that Python knows of is ended; what libraries have in other languages is not: threads of
    Arrow that are still starting abort a process that takes them down, now and then.
    """
    status = 1

    def leave() -> None:
        for stream in (sys.stdout, sys.stderr):
            with suppress(OSError, ValueError):
                stream.flush()
        os._exit(status)

    # What is registered first is called last.
    atexit.register(leave)
    try:
        status = run()
    except SystemExit as end:
        status = end.code if isinstance(end.code, int) else int(end.code is not None)
        raise
    sys.exit(status)


def run() -> int:
    """Run one command; whatever happens, it ends in one sentence and an exit status."""
    _open_streams()
    for one in _ENDS:
        if signal.getsignal(one) == signal.SIG_DFL:
            signal.signal(one, signal.default_int_handler)
    try:
        # Takes a moment, in which people press Ctrl-C, too.
        from dpviz.commands.command_line import main

        return main()
    except (Exception, KeyboardInterrupt) as error:
        return ended_by(error)
    finally:
        # The message is printed: an interrupt during exit needs no traceback.
        for one in (signal.SIGINT, *_ENDS):
            if signal.getsignal(one) == signal.default_int_handler:
                signal.signal(one, signal.SIG_DFL)


def _open_streams() -> None:
    """Put something in place of standard streams that are closed.

    A file that is opened later would take the number of a closed one, and be written to or read
    from in its place. Reading standard input and writing standard output go on failing.
    """
    if sys.stdin is None:
        sys.stdin = open(_null(0, os.O_WRONLY), encoding="utf-8")  # noqa: SIM115
    if sys.stdout is None:
        sys.stdout = open(_null(1, os.O_RDONLY), "w", encoding="utf-8")  # noqa: SIM115
    if sys.stderr is None:
        sys.stderr = open(_null(2, os.O_WRONLY), "w", encoding="utf-8")  # noqa: SIM115


def _null(number: int, mode: int) -> int:
    """Open the system's empty device under the number of a standard stream."""
    opened = os.open(os.devnull, mode)
    if opened != number:
        os.dup2(opened, number)
        os.close(opened)
    return number


if __name__ == "__main__":
    program()
