"""``make bench``: run all benchmarks, or only the benchmarks that the command line names."""

from __future__ import annotations

import os
import platform
import sys
from importlib.metadata import version

from tests.benchmarks import (
    core,
    mapreduce,
    passes,
    room,
    scale,
    screen,
    sessions,
    soak,
    start,
    stored,
)

ALL = {
    "start": start.main,
    "passes": passes.main,
    "core": core.main,
    "screen": screen.main,
    "sessions": sessions.main,
    "scale": scale.main,
    "room": room.main,
    "stored": stored.main,
    "mapreduce": mapreduce.main,
}
PACKAGES = (
    "numpy",
    "numba",
    "pyarrow",
    "scipy",
    "pywavelets",
    "scikit-learn",
    "plotly",
    "streamlit",
)

print(f"{platform.platform()}, {os.cpu_count()} cores, Python {platform.python_version()}")
print(", ".join(f"{name} {version(name)}" for name in PACKAGES))
#: This benchmark takes six minutes on two processors, so it runs only if the user names it.
ALONE = {"soak": soak.main}

for name in sys.argv[1:] or ALL:
    (ALL | ALONE)[name]()
