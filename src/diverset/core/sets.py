"""Reading the sets of a call: one set, or a batch of them, as positions.

A sequence of item numbers is one set, also an empty one; so is a boolean array of shape (n_items,). A sequence of
sets (lists, tuples, arrays, Python sets) is a batch, also one of empty sets such as ``[[]]``; so is an array of two
dimensions, whose rows are sets of item numbers or, if it is boolean, indicators of shape (m, n_items).
"""

from __future__ import annotations

from collections.abc import Sequence, Set
from itertools import chain
from typing import Any

import numpy as np

from diverset._typing import BoolArray, IntArray
from diverset.errors import LabelError
from diverset.numerics.validation import find_positions

__all__ = ["SetBatch", "read_indicator", "read_sets"]


class SetBatch:
    """Sets as ascending positions, grouped by size, from the size of each set and the positions of all in a row."""

    def __init__(self, sizes: IntArray, flat: IntArray) -> None:
        self.count = len(sizes)
        starts = np.cumsum(sizes) - sizes
        #: For each size, the places of its sets in the batch, and their positions, of shape (len(places), size).
        self.groups: list[tuple[IntArray, IntArray]] = []
        for k in np.unique(sizes):
            places = np.flatnonzero(sizes == k)
            self.groups.append((places, np.sort(flat[starts[places][:, None] + np.arange(k)], axis=1)))

    def repeated(self) -> bool:
        """Whether a set names an item twice."""
        return any(bool((S[:, 1:] == S[:, :-1]).any()) for _, S in self.groups)


def read_indicator(Y: Any, n: int) -> IntArray | None:
    """Positions of a set given as a boolean array of shape (n,); None if it is given otherwise."""
    if isinstance(Y, np.ndarray) and Y.dtype.kind == "b" and Y.shape == (n,):
        return np.flatnonzero(Y).astype(np.int64, copy=False)
    return None


def read_sets(Y: Any, items: IntArray | range) -> SetBatch | None:
    """The sets of a batch; None if `Y` is a single set. Unknown or repeated labels raise an error."""
    if isinstance(Y, np.ndarray) and Y.ndim == 2 and Y.dtype.kind == "b":
        return _read_matrix(Y, len(items))
    sets = _sequence_of_sets(Y)
    if sets is None:
        return None
    fast = _read_flat(sets, items)
    if fast is not None and not fast.repeated():
        return fast
    # Something is wrong, or unusual: reading set by set gives a precise error.
    positions = [find_positions(one, items, name=f"set {i}") for i, one in enumerate(sets)]
    sizes = np.array([len(one) for one in positions], dtype=np.int64)
    return SetBatch(sizes, np.concatenate([np.zeros(0, dtype=np.int64), *positions]))


def _read_matrix(indicators: BoolArray, n: int) -> SetBatch:
    if indicators.shape[1] != n:
        raise LabelError(f"the indicators have shape {indicators.shape}; expected one column for each of {n} items")
    flat = np.nonzero(indicators)[1].astype(np.int64, copy=False)
    return SetBatch(np.count_nonzero(indicators, axis=1).astype(np.int64), flat)


def _sequence_of_sets(Y: Any) -> Sequence[Any] | None:
    """The elements of `Y` if they are sets."""
    if isinstance(Y, np.ndarray):
        return list(Y) if Y.ndim == 2 or (Y.ndim == 1 and Y.dtype == object and len(Y)) else None
    if isinstance(Y, (str, bytes, range)) or not isinstance(Y, (Sequence, Set)) or len(Y) == 0:
        return None
    first = next(iter(Y))
    if isinstance(first, (str, bytes)) or not (isinstance(first, Set) or np.ndim(first) == 1):
        return None
    return list(Y)


def _read_flat(sets: Sequence[Any], items: IntArray | range) -> SetBatch | None:
    """All sets at once; None unless every one holds known item numbers."""
    try:
        sizes = np.fromiter(map(len, sets), dtype=np.int64, count=len(sets))
        arrays = all(isinstance(one, np.ndarray) and one.ndim == 1 and one.dtype.kind in "iu" for one in sets)
        flat = np.concatenate(sets) if arrays and sets else np.array(list(chain.from_iterable(sets)))
    except (TypeError, ValueError):
        return None
    if flat.size == 0:
        flat = flat.astype(np.int64)
    if flat.ndim != 1 or flat.dtype.kind not in "iu":
        return None
    labels, n = flat.astype(np.int64, copy=False), len(items)
    if n == 0:
        return SetBatch(sizes, labels) if len(labels) == 0 else None
    if items[0] == 0 and items[-1] == n - 1:
        return SetBatch(sizes, labels) if len(labels) == 0 or (labels.min() >= 0 and labels.max() < n) else None
    positions = np.minimum(np.searchsorted(items, labels), n - 1)
    return SetBatch(sizes, positions) if bool((np.asarray(items)[positions] == labels).all()) else None
