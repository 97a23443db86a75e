"""Near-duplicates among many rows: seconds, and how many rows are dropped.

A fifth of the rows are near-copies of others, at cosines from 0.95 to 1, in random order.
"""

import time
from collections.abc import Iterator

import numpy as np

from benchmarks.harness import Row, duration, state
from diverset._typing import Array
from diverset.integrations.curation import drop_near_duplicates

N, D, THRESHOLD = 1_000_000, 64, 0.95


def _with_copies(rows: Array, n: int, rng: np.random.Generator) -> Array:
    """Rows of length 1 and near-copies of some of them, n in all."""
    rows = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    original = rows[rng.integers(len(rows), size=n - len(rows))]
    step = rng.standard_normal(original.shape, dtype=np.float32)
    step -= np.einsum("ij,ij->i", step, original)[:, None] * original
    step /= np.linalg.norm(step, axis=1, keepdims=True)
    cosine = rng.uniform(THRESHOLD, 1.0, size=(len(original), 1)).astype(np.float32)
    return rng.permutation(np.vstack([rows, cosine * original + np.sqrt(1.0 - cosine**2) * step]))


def _measured(case: str, X: Array) -> Row:
    wall, processor = time.perf_counter(), time.process_time()
    found = drop_near_duplicates(X, THRESHOLD)
    wall, processor = time.perf_counter() - wall, time.process_time() - processor
    ours = f"{duration(wall)}, processor {duration(processor)}; {len(found.dropped):,} dropped by {found.method}"
    return state(case, ours, wall=wall, processor=processor, recall=found.recall)


def directions() -> Iterator[Row]:
    """Random directions."""
    rng = np.random.default_rng(0)
    rows = rng.standard_normal((N * 4 // 5, D), dtype=np.float32)
    yield _measured(f"{N:,} x {D}, random directions", _with_copies(rows, N, rng))


def clusters() -> Iterator[Row]:
    """Clusters of 400 rows with cosines of 0.7 to each other."""
    rng = np.random.default_rng(0)
    centres = rng.standard_normal((2000, D), dtype=np.float32)
    rows = centres[rng.integers(2000, size=N * 4 // 5)] + 0.6 * rng.standard_normal((N * 4 // 5, D), dtype=np.float32)
    yield _measured(f"{N:,} x {D}, 2,000 clusters", _with_copies(rows, N, rng))


def cone() -> Iterator[Row]:
    """Rows in a narrow cone, whose cosines are 0.8 on average: near-copies stand out little."""
    rng = np.random.default_rng(0)
    n = N // 5
    rows = 2.0 * rng.standard_normal(D, dtype=np.float32) + rng.standard_normal((n * 4 // 5, D), dtype=np.float32)
    yield _measured(f"{n:,} x {D}, a narrow cone", _with_copies(rows, n, rng))


CASES = (directions, clusters, cone)
