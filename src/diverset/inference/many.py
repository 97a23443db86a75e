"""Selection from many lists of candidates in one call, for example for all users of a recommender system."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain
from operator import itemgetter
from typing import Any

from diverset.errors import DiversetError
from diverset.inference.problem import check_dial
from diverset.inference.result import Selection
from diverset.inference.rows import thread_map
from diverset.inference.scores import check_scale
from diverset.inference.select import select
from diverset.inference.short import ShortLists, is_short
from diverset.numerics.validation import check_count

__all__ = ["select_many"]

#: Number of lists per task of the thread pool.
_CHUNK = 128
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
    """Pick k items from each of many lists; the picks are those of one call of :func:`diverset.select` per list.

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
    Lists of fewer than 2,000 rows, of the same width and precision and compared by the cosine, are processed in batches
    by compiled code that releases the GIL and uses all cores. Other lists go through :func:`diverset.select`.

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
    plain = similarity == "cosine" and dial > 0.0 and not options and set(columns) <= {"quality"}
    scores = columns.get("quality")

    def one(i: int) -> Selection:
        each = {name: values[i] for name, values in columns.items()}
        try:
            return select(arrays[i], k, **shared, **each, **options)
        except DiversetError as error:
            raise type(error)(f"list {i}: {error}") from error

    def some(chunk: Sequence[int]) -> Iterator[tuple[int, Selection]]:
        quick: list[Selection | None] = [None] * len(chunk)
        if plain and is_short(arrays[chunk[0]]):
            quality = None if scores is None else [scores[i] for i in chunk]
            quick = ShortLists([arrays[i] for i in chunk], quality, k, scale).selections(dial)
        return ((i, one(i) if found is None else found) for i, found in zip(chunk, quick, strict=True))

    chunks = _chunks(arrays)
    with thread_map(1 if len(chunks) < 2 else n_threads) as share:
        found = list(share(lambda chunk: list(some(chunk)), chunks))
    return [selection for _, selection in sorted(chain.from_iterable(found), key=itemgetter(0))]


def _chunks(arrays: list[Any]) -> list[list[int]]:
    """Positions of the lists, in chunks of lists of the same width and precision and of similar lengths."""
    forms: dict[Any, list[int]] = {}
    for i, X in enumerate(arrays):
        forms.setdefault((X.shape[1], X.dtype) if is_short(X) else None, []).append(i)
    chunks = []
    for form, lists in forms.items():
        if form is not None:
            lists.sort(key=lambda i: len(arrays[i]))
        chunks += [lists[start : start + _CHUNK] for start in range(0, len(lists), _CHUNK)]
    return chunks


def _per_list(values: Any, n: int, name: str) -> Sequence[Any]:
    entries = list(values)
    if len(entries) != n:
        raise DiversetError(f"{name} has {len(entries)} entries for {n} lists; give one per list")
    return entries
