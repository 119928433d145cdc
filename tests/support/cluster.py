"""Two Dask workers on this machine, for tests that need them.

Scheduler and workers are separate processes, because a scheduler's thread in the test process would
disturb later tests.
"""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from tests.support import ROOT


@pytest.fixture(scope="session")
def dask_workers() -> Iterator[str]:
    """Address of the workers' scheduler. If a worker dies, a new worker is started."""
    with started() as (address, _):
        yield address


@contextmanager
def started(workers: int = 2) -> Iterator[tuple[str, int]]:
    """Address of a scheduler with some workers, and its process."""
    with subprocess.Popen(
        [sys.executable, "-m", "tests.support.cluster", str(workers)],
        cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        stderr=subprocess.DEVNULL,
    ) as process:  # fmt: skip
        assert process.stdin
        assert process.stdout
        address = process.stdout.readline().strip()
        assert address, "no scheduler"
        yield address, process.pid
        process.stdin.close()


def serve() -> None:
    """Start scheduler and workers, print the address, and end when standard input ends."""
    from distributed import LocalCluster

    with LocalCluster(
        n_workers=int(sys.argv[1]), threads_per_worker=1, processes=True, dashboard_address=None,
        host="127.0.0.1",
    ) as cluster:  # fmt: skip
        print(cluster.scheduler_address, flush=True)
        sys.stdin.read()


if __name__ == "__main__":
    serve()
