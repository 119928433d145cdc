"""What an adapter and the benchmark say to each other.

The benchmark starts ``python adapter_NAME.py REQUEST [CHECKOUT ...]``. The request is a JSON file:
``points`` (path of an .npy file, shape (n, d), in the box [-1, 1]^d), ``clusters`` and ``runs``, a
list of ``[epsilon, seed]``. The adapter answers on standard output with one line of JSON per run,
as soon as it is done: ``{"epsilon": ..., "seed": ..., "centers": [[...], ...], "seconds": ...}`` in
the same box, with the seconds of the processor, or ``"error"`` with one sentence in place of the
centres. All else that a peer prints
goes to standard error. NumPy is all that this file needs.
"""

import contextlib
import json
import sys
import time

import numpy as np


def serve(fit):
    """Answer the request with ``fit(points, clusters, epsilon, seed)``, centres (K, d)."""
    with open(sys.argv[1], encoding="utf-8") as file:
        request = json.load(file)
    points = np.load(request["points"])
    for epsilon, seed in request["runs"]:
        answer = {"epsilon": epsilon, "seed": seed}
        start = time.process_time()
        try:
            with contextlib.redirect_stdout(sys.stderr):
                centers = np.asarray(fit(points.copy(), request["clusters"], epsilon, seed))
            if not np.isfinite(centers).all():
                raise ValueError("a centre is not finite")
            answer["centers"] = centers.tolist()
        except Exception as error:  # whatever a peer raises is its answer
            answer["error"] = f"{type(error).__name__}: {error}"[:200]
        answer["seconds"] = time.process_time() - start
        print(json.dumps(answer), flush=True)
