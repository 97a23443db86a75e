"""Many draws in chunks, each with its own generator, so that neither the number of jobs nor streaming changes a draw.

Draws depend on the state of the generator alone. A batch of one chunk takes its numbers from the generator itself, so
that ``sample(1)`` is ``sample()``. For more chunks each has a child, seeded by numbers from the stream: restoring,
advancing or jumping the generator affects a batch as any other draw, and generators that cannot spawn work as well.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from diverset._typing import IntArray
from diverset.sampling.base import Sampler

__all__ = ["child", "children", "draw_batch", "stream_draws"]


def child(rng: np.random.Generator) -> np.random.Generator:
    """An independent generator, seeded by the next 256 bits of the stream of `rng`."""
    return np.random.default_rng(rng.integers(0, 2**64, size=4, dtype=np.uint64))


def children(rng: np.random.Generator, count: int) -> list[np.random.Generator]:
    """Independent generators for `count` jobs; a single job takes `rng` itself."""
    return [rng] if count == 1 else [child(rng) for _ in range(count)]


def _chunks(sampler: Sampler, size: int | None, rng: np.random.Generator) -> Iterator[tuple[int, np.random.Generator]]:
    """Lengths of consecutive chunks and their generators."""
    chunk = sampler.chunk
    if size is not None and size <= chunk:
        if size:
            yield size, rng
        return
    left = size
    while left is None or left > 0:
        length = chunk if left is None else min(chunk, left)
        yield length, child(rng)
        left = None if left is None else left - length


def draw_batch(sampler: Sampler, size: int, rng: np.random.Generator, n_jobs: int = 1) -> list[IntArray]:
    """`size` draws in `n_jobs` threads: compiled samplers release the interpreter's lock."""
    draws: list[IntArray] = []
    if n_jobs == 1 or size <= sampler.chunk:
        for length, generator in _chunks(sampler, size, rng):
            draws += sampler.draw_many(length, generator)
        return draws
    from concurrent.futures import ThreadPoolExecutor

    pool = ThreadPoolExecutor(n_jobs)
    try:
        for part in pool.map(lambda job: sampler.draw_many(*job), list(_chunks(sampler, size, rng))):
            draws += part
    finally:
        # After an interrupt, chunks that have not started are cancelled.
        pool.shutdown(cancel_futures=True)
    return draws


def stream_draws(sampler: Sampler, size: int | None, rng: np.random.Generator) -> Iterator[IntArray]:
    """Yield the draws of :func:`draw_batch` one by one, with one chunk in memory; endless if size is None."""
    for length, generator in _chunks(sampler, size, rng):
        yield from sampler.draw_many(length, generator)
