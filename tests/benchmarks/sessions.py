"""Measure a server: memory before, while and after somebody visits it, and changes of many users.

``python -m tests.benchmarks sessions`` takes four minutes.
"""

from __future__ import annotations

import asyncio
import tempfile
import time
from pathlib import Path

import numpy as np
import psutil

from tests.benchmarks.soak import AFTER, EXPLORERS, Seen, Session, explore, memory, server

#: Numbers of sessions that change epsilon once a second, whether each has its own values, and the
#: seconds for which they do. Sessions with the same values share their runs, as a class does.
CROWDS, SECONDS = ((1, True), (8, True), (30, True), (30, False)), 30.0

#: Number of times that everybody changes epsilon before the measurement.
_WARM = 5.0

#: Seconds in which a new server loads its libraries.
_LOADED = 10.0


async def visits(url: str, process: psutil.Process) -> None:
    """Print memory in MB: of a server that nobody has visited, of an open page, and afterwards."""
    await asyncio.sleep(_LOADED)
    print(f"memory before the first visitor: {memory(process):.0f} MB")
    for number, page in enumerate(EXPLORERS[:2]):
        session = await Session(url, page).open()
        for _ in range(10):
            await session.move()
        shown = memory(process)
        await session.leave()
        await asyncio.sleep(AFTER)
        print(f"memory with {page or 'wavecluster'} open: {shown:.0f} MB; a minute after session "
              f"{number + 1} has closed: {memory(process):.0f} MB")  # fmt: skip


async def crowd(url: str, process: psutil.Process, size: int, *, own: bool) -> None:
    """Print seconds from a change to its picture, and the processor's share, with many sessions."""
    # Sessions with the same values have another seed, so all their runs are new.
    query = "" if own else "seed=7"
    sessions = [await Session(url, EXPLORERS[at % 2], query).open() for at in range(size)]
    for values, seconds in ((2.0, _WARM), (0.0, SECONDS)):
        seen = Seen()
        before = sum(process.cpu_times()[:2])
        end = time.monotonic() + seconds
        for at, one in enumerate(sessions):
            one.before, one.values = one.moves, values + 4 * at / size * own
        places = enumerate(sessions)
        await asyncio.gather(*(explore(one, end, seen, at / size) for at, one in places))
    used = sum(process.cpu_times()[:2]) - before
    low, high = np.percentile(seen.latencies, [50, 95])
    print(f"{size} sessions, a change a second each, {'own' if own else 'the same'} values: "
          f"median {low:.3f} s, 95% {high:.3f} s; "
          f"{1000 * used / len(seen.latencies):.0f} ms of the processor for each of "
          f"{len(seen.latencies)} changes; errors {seen.errors[:2]}")  # fmt: skip
    await asyncio.gather(*(one.leave() for one in sessions))


async def measure(url: str, process: psutil.Process) -> None:
    """Print everything that this benchmark measures."""
    await visits(url, process)
    for size, own in CROWDS:
        await crowd(url, process, size, own=own)


def main() -> None:
    """Start a server of its own, and print its measurements."""
    with tempfile.TemporaryDirectory() as folder, server(Path(folder)) as (url, process):
        asyncio.run(measure(url, process))
