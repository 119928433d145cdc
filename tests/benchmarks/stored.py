"""Compare counting with decoding, for 100 million records in 20 Parquet files.

Each measurement is made in a separate process, so that its memory can be measured.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median

import numpy as np

import dpviz
from tests.support import ROOT

RECORDS, FILES, GRID, REPEATS = 10**8, 20, 256, 3
COLUMNS = ["x", "y"]

#: Before dpviz loads pyarrow, it sets how pyarrow allocates memory; do the same for decoding.
assert dpviz


def main() -> None:
    """Write the files, read them, and print the time and memory of reading."""
    # Import it only here, so that the measured processes do not load test tools.
    import pyarrow as pa
    import pyarrow.parquet as pq

    from tests.support.cluster import started

    with tempfile.TemporaryDirectory() as name:
        rng = np.random.default_rng(0)
        for number in range(FILES):
            x, y = rng.normal(0.5, 0.15, (2, RECORDS // FILES))
            pq.write_table(pa.table({"x": x, "y": y}), Path(name) / f"{number:02}.parquet")
        _measured("nothing", name)  # compiles everything that is not in the cache
        program = _measured("nothing", name)["memory"]
        decoding, counting = (
            [_measured(work, name) for _ in range(REPEATS)] for work in ("decode", "count")
        )
        with started() as (address, _):
            workers = [_measured("count", name, address) for _ in range(REPEATS)]
    cpu = [median(one["cpu"] for one in some) for some in (decoding, counting)]
    peak = median(one["memory"] for one in counting)
    print(
        f"{RECORDS / 1e6:g}M records in {FILES} files, {GRID} x {GRID} cells: counting takes "
        f"{cpu[1]:.2f} s of a processor, {cpu[1] / cpu[0]:.1f} x decoding ({cpu[0]:.2f} s); "
        f"{median(one['wall'] for one in counting):.2f} s on {os.cpu_count()} cores, "
        f"{median(one['wall'] for one in workers):.2f} s by two workers of Dask; at most "
        f"{peak:.0f} MB, {peak - program:.0f} MB beyond the program"
    )
    tables = {one["table"] for one in (*counting, *workers)}
    print(f"{'all tables are equal' if len(tables) == 1 else 'TABLES DIFFER'}")


def _measured(work: str, folder: str, *more: str) -> dict[str, float]:
    """Time and memory of a piece of work in a separate process."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.benchmarks.stored", work, folder, *more],
        cwd=ROOT, stdout=subprocess.PIPE, check=True,
    )  # fmt: skip
    found: dict[str, float] = json.loads(done.stdout)
    return found


def _nothing(folder: Path) -> int:
    """Load the program and count a few points, so that all loops are compiled."""
    from dpviz.data.counted import count_cells
    from dpviz.data.engine.choice import Local
    from dpviz.grid.counts import quantize
    from dpviz.grid.domain import Domain

    assert count_cells
    assert Local
    points = np.random.default_rng(0).random((100_000, 2))
    return int(quantize(points, Domain(((0, 1), (0, 1))), GRID)[0].sum())


def _decode(folder: Path) -> int:
    """Decode all files into arrays."""
    import pyarrow.parquet as pq

    rows = 0
    for path in sorted(folder.iterdir()):
        with pq.ParquetFile(path) as file:
            for batch in file.iter_batches(2**18, columns=COLUMNS, use_threads=False):
                rows += sum(len(batch[column].to_numpy()) for column in COLUMNS) // 2
    return rows


def _count(folder: Path, scheduler: str | None = None) -> int:
    """Count all records with an engine; return a number that differs between different tables."""
    from dpviz.data.counted import count_cells
    from dpviz.data.engine.choice import Local
    from dpviz.data.engine.dask import Cluster
    from dpviz.data.stored import stored
    from dpviz.grid.domain import Domain

    engine = Local() if scheduler is None else Cluster(scheduler=scheduler)
    parts = stored(folder).parts
    found = count_cells(parts, GRID, Domain(((0, 1), (0, 1))), "clip", engine)
    weights = np.arange(found.counts.size).reshape(found.counts.shape)
    return int((found.counts * weights).sum())


def report(work: Callable[[], int]) -> None:
    """Print the time and memory of a piece of work, as JSON."""
    cpu, wall = time.process_time(), time.perf_counter()
    table = work()
    taken = {"cpu": time.process_time() - cpu, "wall": time.perf_counter() - wall}
    # Do not use the peak of getrusage, which includes the memory of the parent process.
    peak = re.search(r"VmHWM:\s*(\d+) kB", Path("/proc/self/status").read_text(encoding="ascii"))
    memory = int(peak[1]) / 1024 if peak else float("nan")
    print(json.dumps({**taken, "memory": memory, "table": table}))


if __name__ == "__main__":
    _, name, place, *given = sys.argv
    works = {"nothing": _nothing, "decode": _decode, "count": _count}
    if name == "count":
        _nothing(Path(place))
    report(lambda: works[name](Path(place), *given))
