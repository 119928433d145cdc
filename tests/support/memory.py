"""Search in the memory of a process."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import psutil


def marks(process: psutil.Process, mark: str) -> int:
    """Number of times that a text occurs in the memory of a process."""
    found, text = 0, mark.encode()
    with suppress(psutil.Error, OSError):
        places = Path(f"/proc/{process.pid}/maps").read_text(encoding="utf-8").splitlines()
        with Path(f"/proc/{process.pid}/mem").open("rb", buffering=0) as content:
            for place in places:
                span, rights, *_ = place.split()
                if not rights.startswith("rw"):
                    continue
                start, end = (int(one, 16) for one in span.split("-"))
                with suppress(OSError, OverflowError, ValueError):
                    content.seek(start)
                    found += content.read(end - start).count(text)
    return found
