"""Exact MAP at 75 items: which instances are proven in a minute, with how many nodes, and what gap the others leave.

The instances are every kernel below with seed 0, at every size in ``SIZES`` up to the rank and at free size. No hard
instance is left out. On a busy machine, ``--cpu`` lets processor time be the clock of the search too.
"""

import time
from collections.abc import Callable, Iterator
from types import SimpleNamespace

import numpy as np

import diverset as dv
from benchmarks.harness import Row, at_most, clock, state
from diverset.inference import bounds, exact

N, SEED, LIMIT = 75, 0, 60.0
SIZES = (5, 10, 20, 37, None)


def wishart(m: int) -> np.ndarray:
    """A A^T / m for a normal matrix A of shape (N, m)."""
    A = np.random.default_rng(SEED).standard_normal((N, m))
    return A @ A.T / m


def rbf(dimension: int, length: float) -> np.ndarray:
    """Points uniform in the unit cube."""
    return dv.kernels.rbf(np.random.default_rng(SEED).random((N, dimension)), length_scale=length)


KERNELS: dict[str, Callable[[], np.ndarray]] = {
    "Wishart, m = 75": lambda: wishart(75),
    "Wishart, m = 150": lambda: wishart(150),
    "Wishart, m = 30": lambda: wishart(30),
    "RBF, square, length 0.1": lambda: rbf(2, 0.1),
    "RBF, square, length 0.2": lambda: rbf(2, 0.2),
    "RBF, square, length 0.5": lambda: rbf(2, 0.5),
    "RBF, 3-D, length 0.2": lambda: rbf(3, 0.2),
    "RBF, 3-D, length 0.5": lambda: rbf(3, 0.5),
    "RBF, 5-D, length 0.5": lambda: rbf(5, 0.5),
}


def proofs() -> Iterator[Row]:
    """One row for each kernel and size: seconds, nodes, gap."""
    now = time.perf_counter
    if clock() == "processor time":
        now = time.process_time
        for module in (exact, bounds):
            module.time = SimpleNamespace(monotonic=now)
    dv.map_exact(dv.DPP(wishart(40)), 5)  # compiles
    bar = at_most(LIMIT)
    for name, kernel in KERNELS.items():
        dpp = dv.DPP(kernel())
        for k in SIZES:
            if k is not None and k > dpp.rank:
                continue
            start = now()
            search = exact.solve(dpp, k, LIMIT, 0.0)
            seconds, gap = now() - start, search.bound - search.value
            proven = f"{seconds:.1f} s, {search.expanded:,} nodes"
            row = state(
                f"{name}, k = {'free' if k is None else k}",
                proven if gap == 0.0 else f"gap {gap:.3f} after {proven}",
                seconds=seconds,
                nodes=search.expanded,
                gap=gap,
                value=search.value,
            )
            row.bar, row.met = str(bar), gap == 0.0 and bar.met(seconds)
            yield row


CASES = (proofs,)
