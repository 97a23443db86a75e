"""Minutes of mixed calls in one process leave its memory where it was."""

import gc
import time

import numpy as np
import pytest

import diverset as dv

SECONDS = 120.0


def resident():
    """Bytes of memory in use by this process."""
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * 4096


def calls(rng):
    n, d = int(rng.integers(20, 300)), int(rng.integers(2, 30))
    X = rng.standard_normal((n, d))
    dpp = dv.DPP.from_features(X)
    dense = dv.DPP(X[:60] @ X[:60].T + np.eye(len(X[:60])))
    yield lambda: dv.select(X, 10, quality=rng.random(n))
    yield lambda: dv.select(X, 10, similarity="rbf")
    yield lambda: dpp.sample(5, rng=rng)
    yield lambda: dense.sample(5, rng=rng)
    yield lambda: dense.of_size(4).inclusion_probabilities
    yield lambda: dense.condition(include=[0], exclude=[1]).log_normalizer
    yield lambda: dv.map_local_search(dense)
    yield lambda: dv.learn.LowRankKernel(rank=3, n_epochs=1, rng=0).fit([[0, 1], [2], [1, 3]], n_items=5)
    yield lambda: dv.metrics.vendi_score(X)
    graph = dv.FactorGraph([6, 6, 6])
    for r in range(3):
        graph.add_factor([r], quality=rng.random(6) + 0.1, features=rng.standard_normal((6, 3)))
    yield lambda: dv.StructuredDPP(graph).sample(rng=rng)


@pytest.mark.slow
def test_memory_stays_flat():
    rng = np.random.default_rng(0)
    for _ in range(5):  # compiled loops and caches of a fixed size
        for call in calls(rng):
            call()
    gc.collect()
    levels, rounds, end = [resident()], 0, time.monotonic() + SECONDS
    while time.monotonic() < end:
        for call in calls(rng):
            call()
        rounds += 1
        if rounds % 20 == 0:
            gc.collect()
            levels.append(resident())
    # The second half, against what the first had reached: a leak of 1 kB a call would show.
    half = len(levels) // 2
    assert half > 3
    assert max(levels[half:]) < max(levels[:half]) + 30e6, [f"{level / 1e6:.0f} MB" for level in levels]
