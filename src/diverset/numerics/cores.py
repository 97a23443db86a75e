"""Sharing the rows of a sparse matrix out over the processor's cores."""

from __future__ import annotations

import os
from collections.abc import Callable

import numpy as np

from diverset._typing import Array

__all__ = ["share_rows"]

#: Multiplications or additions below which a second thread costs more than it saves.
_PARALLEL_WORK = 1 << 24


def share_rows(indptr: Array, width: int, job: Callable[[int, int], None]) -> None:
    """Call ``job(start, stop)`` for blocks of rows with equally many entries, at once if there is enough to do.

    Parameters
    ----------
    indptr : ndarray of shape (n_rows + 1,)
        Where the entries of each row begin.
    width : int
        Operations for each entry.
    job : callable
        Compiled, and without Python's lock; else threads gain nothing.
    """
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    n_jobs = min(cores, 1 + int(indptr[-1]) * width // _PARALLEL_WORK)
    cuts = np.searchsorted(indptr, np.linspace(0, indptr[-1], n_jobs + 1))
    cuts[0], cuts[-1] = 0, len(indptr) - 1
    if n_jobs == 1:
        job(int(cuts[0]), int(cuts[1]))
        return
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(n_jobs) as pool:
        list(pool.map(job, cuts[:-1].tolist(), cuts[1:].tolist()))
