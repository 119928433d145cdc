"""The command line: ``python -m dpviz``, or ``dpviz`` if the package is installed."""

from __future__ import annotations

import atexit
import os
import signal
import sys
from contextlib import suppress
from typing import NoReturn

from dpviz import __version__
from dpviz.base.ending import ended_by, put

#: Signals that end a command in the same way as Ctrl-C, so that its temporary files are removed.
#: SIGHUP is sent when a terminal is closed or a connection breaks; Windows does not have it.
_ENDS = [signal.SIGTERM, *([signal.SIGHUP] if hasattr(signal, "SIGHUP") else [])]


def program() -> NoReturn:
    """Run one command and exit with its exit status.

    Python's exit handlers run, but the cleanup of C++ libraries is skipped, because it sometimes
    aborts the process while threads of Arrow are still starting.
    """
    status = 1
    # NumPy's OpenBLAS needs 0.1 to 0.2 s of a processor to start its threads, which save nothing:
    # all matrix products are small.
    if "OMP_NUM_THREADS" not in os.environ:
        os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

    def leave() -> None:
        for stream in (sys.stdout, sys.stderr):
            with suppress(OSError, ValueError):
                stream.flush()
        os._exit(status)

    # The handler that is registered first is called last.
    atexit.register(leave)
    try:
        status = run()
    except SystemExit as end:
        status = end.code if isinstance(end.code, int) else int(end.code is not None)
        raise
    sys.exit(status)


def run() -> int:
    """Run one command; every error becomes one sentence and an exit status."""
    _open_streams()
    for one in _ENDS:
        if signal.getsignal(one) == signal.SIG_DFL:
            signal.signal(one, signal.default_int_handler)
    try:
        if sys.argv[1:] == ["--version"]:  # at once, without the imports of the commands
            put(f"dpviz {__version__}")
            return 0
        # These imports take a moment, so they are inside ``try`` to handle Ctrl-C.
        from dpviz.commands.command_line import main

        return main()
    except (Exception, KeyboardInterrupt) as error:
        return ended_by(error)
    finally:
        # The message is already printed, so an interrupt during exit should not print a traceback.
        for one in (signal.SIGINT, *_ENDS):
            if signal.getsignal(one) == signal.default_int_handler:
                signal.signal(one, signal.SIG_DFL)


def _open_streams() -> None:
    """Replace closed standard streams by the null device: later files would get their places."""
    if sys.stdin is None:
        sys.stdin = open(_null(0, os.O_WRONLY), encoding="utf-8")  # noqa: SIM115
    if sys.stdout is None:
        sys.stdout = open(_null(1, os.O_RDONLY), "w", encoding="utf-8")  # noqa: SIM115
    if sys.stderr is None:
        sys.stderr = open(_null(2, os.O_WRONLY), "w", encoding="utf-8")  # noqa: SIM115


def _null(number: int, mode: int) -> int:
    opened = os.open(os.devnull, mode)
    if opened != number:
        os.dup2(opened, number)
        os.close(opened)
    return number


if __name__ == "__main__":
    program()
