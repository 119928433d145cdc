"""Limits of a process that reads a file of unknown origin."""

from __future__ import annotations

import re
import time
from contextlib import suppress
from pathlib import Path

#: Seconds of a processor for one answer, and seconds that it may take in all.
SECONDS, PATIENCE = 30.0, 180.0

#: Bytes of memory beyond what the readers themselves keep to: four times the file and 1 GB.
_TIMES, _MORE = 5, 3 * 2**29

_limited = False


def is_limited() -> bool:
    """Tell whether this process has its limits, so that its end takes nothing with it."""
    return _limited


def limit_memory(size: int) -> None:
    """Forbid files, and limit memory by the size of the file, where the system can."""
    global _limited
    _limited = True
    with suppress(ImportError, OSError, ValueError):
        import resource

        resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        # Only Linux tells how much the process has now.
        status = Path("/proc/self/status").read_text(encoding="ascii")
        found = re.search(r"^VmSize:\s+(\d+) kB", status, re.MULTILINE)
        assert found  # noqa: S101 - every Linux has it
        most = 1024 * int(found[1]) + _TIMES * size + _MORE
        resource.setrlimit(resource.RLIMIT_AS, (most, most))


def limit_time(seconds: float) -> None:
    """Let the system end this process when the next answer takes longer, where it can."""
    with suppress(ImportError, OSError, ValueError):
        import resource

        _, hard = resource.getrlimit(resource.RLIMIT_CPU)
        soft = int(time.process_time() + seconds) + 1
        resource.setrlimit(resource.RLIMIT_CPU, (soft, hard))
