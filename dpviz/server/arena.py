"""One arena of memory for all threads of the server.

glibc returns memory to the system if it is freed at the end of the main arena, but not memory of
other arenas. If each thread had its own arena, freed uploads would stay in memory. The number of
arenas is fixed when the program starts.
"""

from __future__ import annotations

import ctypes
import os
import platform
import sys
from contextlib import suppress

#: Name of the environment variable that glibc reads, and number of the same setting in ``mallopt``.
VARIABLE, _ARENA_MAX = "MALLOC_ARENA_MAX", -8

# Threads that a program has started before it imports this module keep their own arenas.
with suppress(OSError, AttributeError, TypeError):  # only glibc has this
    ctypes.CDLL(None).mallopt(_ARENA_MAX, 1)


def restart_with_one() -> None:
    """Restart this program in the same process if its threads may have their own arenas."""
    if platform.libc_ver()[0] == "glibc" and VARIABLE not in os.environ:
        os.environ[VARIABLE] = "1"
        os.execv(sys.executable, [sys.executable, *sys.orig_argv[1:]])
