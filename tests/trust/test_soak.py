"""Minutes of mixed calls in one process leave its memory where it was."""

import contextlib
import gc
import os
import time

import numpy as np
import pytest

import diverset as dv
from diverset.errors import DiversetError

SECONDS = float(os.environ.get("DIVERSET_SOAK", "120"))
#: Growth in bytes a call from which on it is a leak. An array of a dozen floats that stays is more.
LEAK = 100.0


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
    yield lambda: dv.baselines.mmr(X, 5)
    yield lambda: dv.DPP(-X[:3] @ X[:3].T)  # refused
    yield lambda: dv.text.rouge("The cats sat.", ["A cat sat on the mat.", "The dog sat."])
    yield lambda: dv.summarize(["It rained. It poured.", "The old man snored."], max_words=5)
    yield lambda: dv.theory.processes.ripley_k(rng.random((20, 2)), dv.theory.processes.Box.unit(2), [0.1, 0.2])
    yield lambda: dv.threads.ThreadGraph(np.triu(rng.random((8, 8)), 1), features=X[:8]).n_threads(3)
    yield lambda: dv.theory.classics.SpanningTrees([(0, 1), (1, 2), (0, 2)]).sample(rng=rng)


def work(rng):
    """One of each call; how many there were."""
    made = 0
    for call in calls(rng):
        made += 1
        with contextlib.suppress(DiversetError):
            call()
    return made


@pytest.mark.slow
@pytest.mark.skipif(not os.path.exists("/proc/self/statm"), reason="memory is read from /proc")
def test_memory_stays_flat(record_property):
    rng = np.random.default_rng(0)
    for _ in range(50):  # compiled loops and caches of a fixed size
        work(rng)
    made, at, levels, end = 0, [], [], time.monotonic() + SECONDS
    while time.monotonic() < end:
        made += sum(work(rng) for _ in range(20))
        gc.collect()
        at.append(made)
        levels.append(resident())
    half = len(levels) // 2
    assert half > 3
    # The first half may still fill what the allocator keeps for itself.
    slope = float(np.polyfit(at[half:], levels[half:], 1)[0])
    found = f"{made:,} calls, {levels[0] / 1e6:.1f} to {levels[-1] / 1e6:.1f} MB, {slope:+.1f} bytes a call at the end"
    record_property("soak", found)
    print(found)
    assert slope < LEAK, found
    assert max(levels[half:]) < max(levels[:half]) + 30e6, found
