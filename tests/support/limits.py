"""What reading may take: ten seconds of a processor, four times the file and 1 GB of memory."""

from __future__ import annotations

import re
import resource
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

import pyarrow as pa
import pytest

#: Seconds of a processor that adds 20 million numbers up in one; a slower one may take longer.
SECONDS, ADDED = 10, 20_000_000

_STATUS, _PEAK = Path("/proc/self/status"), Path("/proc/self/clear_refs")


def allowed(size: int) -> int:
    """Bytes of memory for a file of ``size`` bytes."""
    return 4 * size + 2**30


@contextmanager
def limits(size: int, most: int | None = None) -> Iterator[None]:
    """Check the time and the peak of memory that reading a file of ``size`` bytes takes.

    ``most`` is the number of bytes where it is not the one that is allowed.

    Address space is limited too, far above, lest a test that fails takes the machine with it.
    """
    pa.default_memory_pool().release_unused()
    before = _restarted()
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (_status("VmSize") + 2 * allowed(size) + 2**32, hard))
    previous = signal.signal(signal.SIGPROF, _too_long)
    signal.setitimer(signal.ITIMER_PROF, SECONDS * _slowness())
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, previous)
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))
    taken = _status("VmHWM") - before
    assert taken <= (most or allowed(size)), f"{taken / 2**20:,.0f} MB for a file of {size:,} bytes"


@cache
def _slowness() -> float:
    """How much slower than that this processor is, by a tenth of these additions; at least 1."""
    begun, total = time.process_time(), 0
    for number in range(ADDED // 10):
        total += number
    return max(1.0, 10 * (time.process_time() - begun))


def _too_long(signum: int, frame: object) -> None:
    # No Exception, so nobody takes it for a damaged file.
    pytest.fail(f"more than {SECONDS * _slowness():.0f} s")


def _restarted() -> int:
    """Bytes in memory now; the peak is counted anew from here."""
    _PEAK.write_text("5")
    return _status("VmRSS")


def _status(name: str) -> int:
    found = re.search(rf"^{name}:\s+(\d+) kB", _STATUS.read_text(), re.MULTILINE)
    assert found
    return int(found[1]) * 1024
