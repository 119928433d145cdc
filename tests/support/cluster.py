"""Two workers of Dask on this machine, one process each, for tests that ask for them."""

from collections.abc import Iterator

import pytest


@pytest.fixture(scope="session")
def dask_workers() -> Iterator[str]:
    """Address of their scheduler. A worker that dies comes back."""
    import dask
    from distributed import LocalCluster

    with (
        dask.config.set({"distributed.worker.daemon": True}),
        LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None,
            host="127.0.0.1", silence_logs=50,
        ) as cluster,
    ):  # fmt: skip
        yield cluster.scheduler_address
