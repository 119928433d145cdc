"""Passes over the data in threads."""

import os
import subprocess
import sys
import threading
import time
from contextlib import suppress

import pytest

from dpviz.base.threads import checked, in_threads, processors
from dpviz.base.work import Cancelled

#: Prints the numbers of threads of BLAS libraries in a draw, and of OpenMP if it is loaded there.
LIMITED = """
from threadpoolctl import threadpool_info
from dpviz.base.threads import one_thread
with one_thread():
    import sklearn.cluster
    for kind in ("blas", "openmp"):
        print([one["num_threads"] for one in threadpool_info() if one["user_api"] == kind])
"""


def test_a_draw_limits_the_libraries_that_it_uses():
    threads = dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"), "2")
    done = subprocess.run(
        [sys.executable, "-c", LIMITED], env=os.environ | threads, capture_output=True, text=True,
        check=True,
    )  # fmt: skip
    blas, openmp = done.stdout.splitlines()
    assert blas == "[1, 1]"  # of NumPy and of SciPy
    assert openmp == "[2]"  # so the caller of the library sets the limit


@pytest.mark.parametrize("n", [0, 1, 2, 50])
def test_results_come_in_the_order_of_the_parts(n):
    assert in_threads(lambda part: part**2, range(n)) == [part**2 for part in range(n)]


def test_a_check_is_asked_before_each_part_and_ends_the_pass():
    done, lock = [], threading.Lock()

    def work(part):
        with lock:
            done.append(part)

    def check():
        if len(done) >= 5:
            raise Cancelled

    with checked(check), pytest.raises(Cancelled):
        in_threads(work, range(1000))
    assert 5 <= len(done) < 5 + processors()
    with pytest.raises(Cancelled), checked(check):
        in_threads(work, [0])
    # After the block, ``check`` is no longer called.
    assert len(in_threads(work, range(10))) == 10


def test_checks_of_one_thread_are_not_those_of_another():
    def check():
        raise Cancelled

    found = []
    with checked(check):
        other = threading.Thread(target=lambda: found.extend(in_threads(str, [1, 2])))
        other.start()
        other.join()
    assert found == ["1", "2"]


def test_a_small_pass_does_not_wait_for_the_end_of_a_long_one():
    begun, small, parts = threading.Event(), threading.Event(), []

    def work(part):
        begun.set()
        parts.append(part)
        time.sleep(0.001)

    def check():
        if small.is_set():
            raise Cancelled

    def run():
        with checked(check), suppress(Cancelled):
            in_threads(work, range(10_000))

    long = threading.Thread(target=run)
    long.start()
    assert begun.wait(60)
    in_threads(str, range(4))
    small.set()
    long.join()
    assert len(parts) < 10_000
