"""Many draws: in chunks, each with a generator of its own, so that jobs and streaming never change a draw."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from diverset._typing import IntArray
from diverset.sampling.base import Sampler

__all__ = ["draw_batch", "stream_draws"]


def _child(rng: np.random.Generator) -> np.random.Generator:
    """An independent generator; the same sequence of them for the same seed."""
    try:
        return rng.spawn(1)[0]
    except TypeError:
        # Bit generators without a seed sequence cannot spawn; their own numbers seed the child.
        return np.random.default_rng(rng.integers(0, 2**63, size=4))


def _chunks(sampler: Sampler, size: int | None, rng: np.random.Generator) -> Iterator[tuple[int, np.random.Generator]]:
    """Lengths of consecutive chunks and their generators."""
    left = size
    while left is None or left > 0:
        length = sampler.chunk if left is None else min(sampler.chunk, left)
        yield length, _child(rng)
        left = None if left is None else left - length


def draw_batch(sampler: Sampler, size: int, rng: np.random.Generator, n_jobs: int = 1) -> list[IntArray]:
    """`size` draws, by `n_jobs` threads: compiled samplers release the interpreter's lock."""
    draws: list[IntArray] = []
    if n_jobs == 1:
        for length, child in _chunks(sampler, size, rng):
            draws += sampler.draw_many(length, child)
        return draws
    from concurrent.futures import ThreadPoolExecutor

    pool = ThreadPoolExecutor(n_jobs)
    try:
        for part in pool.map(lambda job: sampler.draw_many(*job), list(_chunks(sampler, size, rng))):
            draws += part
    finally:
        # After an interrupt, chunks not yet begun are not waited for.
        pool.shutdown(cancel_futures=True)
    return draws


def stream_draws(sampler: Sampler, size: int | None, rng: np.random.Generator) -> Iterator[IntArray]:
    """The draws of :func:`draw_batch` one by one, a chunk in memory at a time; without end if size is None."""
    for length, child in _chunks(sampler, size, rng):
        yield from sampler.draw_many(length, child)
