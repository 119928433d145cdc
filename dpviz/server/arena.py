"""One arena of memory for all threads of the server.

With an arena for each thread, glibc keeps what was freed last in one, and with it whole uploads: it
gives back that end of the main one alone. How many there are is settled as a program starts.
"""

from __future__ import annotations

import ctypes
import os
import platform
import sys
from contextlib import suppress

#: The environment variable that glibc reads, and its number of the same setting.
VARIABLE, _ARENA_MAX = "MALLOC_ARENA_MAX", -8

# For what other programs start: threads that are there before keep arenas of their own.
with suppress(OSError, AttributeError, TypeError):  # only glibc has this
    ctypes.CDLL(None).mallopt(_ARENA_MAX, 1)


def restart_with_one() -> None:
    """Start this program anew, in this process, where threads may have arenas of their own."""
    if platform.libc_ver()[0] == "glibc" and VARIABLE not in os.environ:
        os.environ[VARIABLE] = "1"
        os.execv(sys.executable, [sys.executable, *sys.orig_argv[1:]])
