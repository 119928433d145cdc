"""Peers of the k-means methods. Each peer runs in its own environment, and has an adapter.

This project contains no code of a peer. diffprivlib is installed from the Python index; the other
peers are read from checkouts in a given folder. :mod:`tests.benchmarks.peers.protocol` describes
the answer of an adapter.
"""

from __future__ import annotations

import json
import os
import queue
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from threading import Lock, Timer
from typing import Any

import numpy as np

from tests.benchmarks.sets import MissingError, checkout

ADAPTERS = Path(__file__).with_name("peers")

#: Versions of packages with which the adapters were tested.
_COMMON = ("numpy==2.4.6", "scipy==1.17.1")
_LSH = (*_COMMON, "scikit-learn==1.9.1", "absl-py==2.5.1", "dp-accounting==0.6.0")
_DIFFPRIVLIB = (*_COMMON, "scikit-learn==1.6.1", "diffprivlib==0.6.6")
# NumPy 2.4 rejects its sum of a generator, and scikit-learn 1.4 its default number of starts.
_SYMPY = ("numpy==1.26.4", "scipy==1.13.1", "scikit-learn==1.3.2", "sympy==1.14.0")


@dataclass(frozen=True, kw_only=True)
class Peer:
    """A peer: its adapter, the packages of its environment, and the repositories that it needs.

    A repository is ``owner/name``, or ``owner/name@branch``.
    """

    adapter: Path
    packages: tuple[str, ...]
    repositories: tuple[str, ...] = ()

    def command(self, out: Path, checkouts: Path | None) -> list[str]:
        """Command that runs the adapter, without its last argument (the request)."""
        places = [str(laid_out(checkouts, one, out)) for one in self.repositories]
        return [str(environment(out, self.packages)), str(self.adapter), "REQUEST", *places]

    def version(self, checkouts: Path | None) -> list[str]:
        """Versions of the packages, and commits of the checkouts."""
        found = [*self.packages]
        for repository in self.repositories:
            name, _, branch = repository.partition("@")
            try:
                place = checkout(checkouts, name)
            except MissingError:
                continue
            told = subprocess.run(
                ["git", "-C", place, "rev-parse", branch or "HEAD"], capture_output=True, text=True
            )
            found.append(f"{name}@{told.stdout.strip()[:12]}")
        return found


def _peer(name: str, packages: tuple[str, ...], *repositories: str) -> Peer:
    return Peer(
        adapter=ADAPTERS / f"adapter_{name}.py", packages=packages, repositories=repositories
    )


_GOOGLE = "google/differential-privacy"

PEERS = {
    "diffprivlib": _peer("diffprivlib", _DIFFPRIVLIB),
    "fastlloyd": _peer(
        "fastlloyd", (*_DIFFPRIVLIB, "tqdm", "mpi4py", "matplotlib", "pandas"), "D-Diaa/FastLloyd"
    ),
    "pemeans": _peer("pemeans", (*_LSH, "faiss-cpu==1.15.1"), "t3humphries/PE-means", _GOOGLE),
    "google": _peer("google", _LSH, _GOOGLE),
    "dpm": _peer(
        "dpm", (*_DIFFPRIVLIB, "fast-histogram==0.14"), "UzL-PrivSec/dp-mondrian-clustering"
    ),
    "emmc": _peer("emmc", (*_COMMON, "scikit-learn==1.9.1"), "UzL-PrivSec/dp-kmeans-max-cover"),
    "cedskmeans": _peer("cedskmeans", _SYMPY, "lbnl-cybersecurity/CEDSKMeans"),
    "hst": _peer(
        "hst", (*_COMMON, "pandas==2.3.3", "absl-py==2.5.1"), "google-research/google-research"
    ),
    "opendp": _peer(
        "opendp",
        (*_COMMON, "scikit-learn==1.9.1", "opendp==0.15.0", "randomgen==2.5.1"),
        "opendp/opendp@2663-clustering",
    ),
    "rugnik": _peer("rugnik", (*_COMMON, "scikit-learn==1.9.1")),
}

_LOCK = Lock()


def environment(out: Path, packages: tuple[str, ...]) -> Path:
    """Interpreter of an environment with these packages; the environment is made only once."""
    if not packages:
        return Path(sys.executable)
    from hashlib import blake2b

    place = out / "environments" / blake2b(repr(packages).encode(), digest_size=6).hexdigest()
    python, stamp = place / "bin" / "python", place / "made"
    with _LOCK:
        if not stamp.exists():
            for command in (
                [sys.executable, "-m", "venv", "--clear", str(place)],
                [str(python), "-m", "pip", "install", "--quiet", *packages],
            ):
                made = subprocess.run(command, capture_output=True, text=True, check=False)
                if made.returncode:
                    last = (made.stderr.strip() or "no reason given").splitlines()[-1]
                    raise MissingError(f"its environment can't be made ({last[:160]}).")
            stamp.touch()
    return python


def laid_out(checkouts: Path | None, repository: str, out: Path) -> Path:
    """Folder with the files of a checkout: the checkout itself, or a clone of a bare checkout."""
    name, _, branch = repository.partition("@")
    place = checkout(checkouts, name)
    if (place / ".git").exists() or not (place / "HEAD").exists():
        return place
    clone = out / "checkouts" / repository.replace("/", "+")
    with _LOCK:
        if not (clone / ".git" / "whole").exists():
            command = ["git", "clone", "--quiet", "--depth", "1", f"file://{place}", str(clone)]
            command[2:2] = ["--branch", branch] if branch else []
            subprocess.run(["rm", "-rf", str(clone)], check=True)
            made = subprocess.run(command, capture_output=True, text=True, check=False)
            if made.returncode:
                raise MissingError(f"the checkout of {repository} can't be cloned.")
            (clone / ".git" / "whole").touch()
    return clone


def answers(
    rows: Sequence[Any],
    points: np.ndarray[Any, Any],
    clusters: int,
    out: Path,
    checkouts: Path | None,
    jobs: int,
    patience: float,
    notes: list[str],
) -> Iterator[tuple[Any, np.ndarray[Any, Any], float]]:
    """Run the rows of several peers in parallel; yields each row with centres (K, d) and seconds.

    Parameters
    ----------
    rows
        With ``method``, ``epsilon`` and ``seed``, in the order in which they run.
    points
        In the box [-1, 1]^d.
    patience
        Largest number of seconds for each peer; rows that are not finished by then are left out.
    notes
        List to which a sentence is added for each failure of a peer in a row.
    """
    asked = {name: [row for row in rows if row.method == name] for name in PEERS}
    asked = {name: own for name, own in asked.items() if own}
    told: queue.Queue[Any] = queue.Queue()
    with tempfile.TemporaryDirectory(prefix="dpviz-peers-") as work:
        np.save(f"{work}/points.npy", points)
        running: list[subprocess.Popen[str]] = []
        with ThreadPoolExecutor(jobs) as pool:
            for name, own in asked.items():
                pool.submit(
                    _serve, name, own, clusters, Path(work), out, checkouts, patience, told, running
                )
            try:
                for _ in asked:
                    while (answer := told.get()) is not None:
                        if isinstance(answer, str):
                            notes.append(answer)
                        else:
                            yield answer
            finally:
                # The caller stopped: do not wait for running peers, and do not start other peers.
                pool.shutdown(wait=False, cancel_futures=True)
                for process in running:
                    process.kill()


def _serve(
    name: str,
    rows: Sequence[Any],
    clusters: int,
    work: Path,
    out: Path,
    checkouts: Path | None,
    patience: float,
    told: queue.Queue[Any],
    running: list[subprocess.Popen[str]],
) -> None:
    """Run a peer; put each answer in the queue, then a sentence for each failure, then None."""
    done, failed, start = 0, "", time.perf_counter()
    try:
        command = PEERS[name].command(out, checkouts)
        (work / name).mkdir()
        request = work / f"{name}.json"
        runs = [[row.epsilon, row.seed] for row in rows]
        request.write_text(
            json.dumps({"points": f"{work}/points.npy", "clusters": clusters, "runs": runs})
        )
        command[2] = str(request)
        one_thread = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")
        with (work / f"{name}.log").open("w+") as log:
            with subprocess.Popen(
                command, cwd=work / name, stdout=subprocess.PIPE, stderr=log, text=True,
                env={**os.environ, **one_thread},
            ) as process:  # fmt: skip
                running.append(process)
                late = Timer(patience, process.kill)
                late.start()
                try:
                    assert process.stdout is not None
                    for line, row in zip(process.stdout, rows, strict=False):
                        answer = json.loads(line)
                        if "error" in answer:
                            failed = failed or answer["error"]
                            continue
                        done += 1
                        told.put((row, np.array(answer["centers"]), answer["seconds"]))
                finally:
                    late.cancel()
                    process.kill()
            if done < len(rows) and not failed:
                log.seek(0)
                last = (log.read().strip() or "no reason given").splitlines()[-1]
                spent = time.perf_counter() - start
                failed = f"not done after {spent:.0f} s" if spent >= patience else last[:160]
    except MissingError as missing:
        failed = str(missing)
    except Exception as error:  # otherwise the thread would swallow it
        failed = f"{type(error).__name__}: {error}"
    if failed:
        told.put(f"{name} gave {done} of {len(rows)} runs: {failed}")
    told.put(None)
