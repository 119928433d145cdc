"""Limits of reading: ten CPU seconds, and four times the file size plus 1 GB of memory."""

from __future__ import annotations

import re
import resource
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from xml.parsers import expat

import pyarrow as pa
import pytest

#: CPU seconds on a processor that reads this number of elements in a tenth of a second. A slower or
#: shared processor may take longer.
SECONDS, ELEMENTS = 10, 2**18

_STATUS, _PEAK = Path("/proc/self/status"), Path("/proc/self/clear_refs")


def allowed(size: int) -> int:
    """Largest number of bytes in memory for a file of ``size`` bytes."""
    return 4 * size + 2**30


@contextmanager
def limits(size: int, most: int | None = None) -> Iterator[None]:
    """Check the time and the memory peak of reading a file of ``size`` bytes.

    ``most`` replaces the allowed number of bytes. The address space has a much higher limit, so
    that a failing test does not block the machine.
    """
    pa.default_memory_pool().release_unused()
    before = _restarted()
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (_status("VmSize") + 2 * allowed(size) + 2**32, hard))
    begun, slowness = time.process_time(), 1.0

    def late(signum: int, frame: object) -> None:
        # The speed of the processor is measured only if the reading took too long.
        nonlocal begun, slowness
        looked = time.process_time()
        slowness = max(slowness, _slowness())
        begun += time.process_time() - looked
        left = SECONDS * slowness - (time.process_time() - begun)
        if left <= 0:
            # This is not a subclass of Exception, so no reader interprets it as a damaged file.
            pytest.fail(f"more than {SECONDS * slowness:.0f} s")
        signal.setitimer(signal.ITIMER_PROF, left)

    previous = signal.signal(signal.SIGPROF, late)
    signal.setitimer(signal.ITIMER_PROF, SECONDS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, previous)
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))
    taken = _status("VmHWM") - before
    assert taken <= (most or allowed(size)), f"{taken / 2**20:,.0f} MB for a file of {size:,} bytes"


def _slowness() -> float:
    """Factor by which this processor is slower than the reference processor; at least 1."""
    rows: list[str] = []
    parser = expat.ParserCreate()
    parser.StartElementHandler = lambda tag, given: rows.append(tag.rpartition(":")[2])
    begun = time.process_time()
    parser.Parse(b"<w>" + b"<x/>" * ELEMENTS, False)
    return max(1.0, 10 * (time.process_time() - begun))


def _restarted() -> int:
    """Number of bytes in memory now; this resets the peak."""
    _PEAK.write_text("5")
    return _status("VmRSS")


def _status(name: str) -> int:
    found = re.search(rf"^{name}:\s+(\d+) kB", _STATUS.read_text(), re.MULTILINE)
    assert found
    return int(found[1]) * 1024
