"""Selections from many lists of candidates in one call: a recommender's nightly job."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from diverset.errors import DiversetError
from diverset.inference.problem import check_dial
from diverset.inference.result import Selection
from diverset.inference.scores import check_scale
from diverset.inference.select import select
from diverset.inference.short import ShortLists, is_short
from diverset.numerics.validation import check_count, check_size

__all__ = ["select_many"]

#: Lists that one thread takes at a time.
_CHUNK = 64
#: Options of :func:`diverset.select` that have one value per list.
_PER_LIST = ("given", "exclude", "given_features", "query", "costs", "groups")


def select_many(
    features: Iterable[Any],
    k: int = 10,
    *,
    quality: Iterable[Any] | None = None,
    diversity: float = 0.5,
    scale: str | None = "rank",
    similarity: str | Callable[[Any, Any], Any] = "cosine",
    n_jobs: int | None = None,
    **options: Any,
) -> list[Selection]:
    """Pick k items from each of many lists, with the picks of one :func:`diverset.select` after the other.

    Parameters
    ----------
    features : iterable of array_like
        One array of candidates per list; lists may differ in length.
    k, diversity, scale, similarity
        As in :func:`diverset.select`, the same for every list.
    quality : iterable of array_like, optional
        Scores of the candidates of each list.
    n_jobs : int, optional
        Number of threads; all cores by default.
    **options
        Further options of :func:`diverset.select`. `given`, `exclude`, `given_features`, `query`, `costs` and `groups`
        take one value per list, the others one value for all.

    Returns
    -------
    list of Selection
        In the order of the lists.

    Notes
    -----
    Lists of up to 2,000 rows of one width and precision, compared by the cosine, share their memory and are picked from
    without the interpreter's lock, so that all cores work. Other lists go through :func:`diverset.select`.

    Examples
    --------
    >>> import numpy as np, diverset as dv
    >>> lists = [np.eye(4), np.eye(4)[:3]]
    >>> [list(picks) for picks in dv.select_many(lists, 2, quality=[[1, 2, 3, 4], [1, 3, 2]])]
    [[3, 2], [1, 2]]
    """
    arrays = list(features)
    dial = check_dial(diversity)
    scale = check_scale(scale)
    shared: dict[str, Any] = {"diversity": dial, "scale": scale, "similarity": similarity}
    own = {"quality": quality, **{name: options.pop(name) for name in _PER_LIST if name in options}}
    columns = {name: _per_list(values, len(arrays), name) for name, values in own.items() if values is not None}
    n_threads = min(os.cpu_count() or 1, 64) if n_jobs is None else check_count(n_jobs, name="n_jobs")

    def one(i: int) -> Selection:
        each = {name: values[i] for name, values in columns.items()}
        return select(arrays[i], k, **shared, **each, **options)

    short = [i for i, X in enumerate(arrays) if is_short(X)]
    plain = similarity == "cosine" and dial > 0.0 and not options and set(columns) <= {"quality"}
    form: tuple[Any, ...] | None = None
    if plain and short and not isinstance(k, float):
        first, scores = arrays[short[0]], columns.get("quality")
        form = (max(len(arrays[i]) for i in short), first.shape[1], first.dtype, check_size(k), dial, scale)

    def some(start: int) -> list[Selection]:
        lists = range(start, min(start + _CHUNK, len(arrays)))
        if form is None:
            return [one(i) for i in lists]
        picker = ShortLists(*form)
        found = []
        for i in lists:
            own = None if scores is None else scores[i]
            quick = picker.select(arrays[i], own, name=f"quality[{i}]") if is_short(arrays[i]) else None
            found.append(one(i) if quick is None else quick)
        return found

    starts = range(0, len(arrays), _CHUNK)
    if n_threads == 1 or len(starts) < 2:
        return [found for start in starts for found in some(start)]
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(n_threads) as pool:
        return [found for part in pool.map(some, starts) for found in part]


def _per_list(values: Any, n: int, name: str) -> Sequence[Any]:
    entries = list(values)
    if len(entries) != n:
        raise DiversetError(f"{name} has {len(entries)} entries for {n} lists; give one per list")
    return entries
