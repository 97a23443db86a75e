"""Observed sets over one ground set, checked once and laid out for batched linear algebra."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from diverset._typing import FloatArray, IntArray
from diverset.errors import DiversetError, LabelError, SizeError
from diverset.numerics.validation import check_count, check_fits_in_memory, find_positions

__all__ = ["Baskets", "Group", "check_sizes", "read_baskets"]

#: Entries of the small matrices that are worked on at a time: a chunk stays within some megabytes.
_CHUNK = 1 << 19


@dataclass(frozen=True, eq=False)
class Group:
    """Baskets of one size: their items, of shape (n_baskets, size), ascending, and how often each basket occurs."""

    rows: IntArray
    weights: FloatArray


class Baskets:
    """Sets of items 0..n_items-1 in a flat array, ascending within each basket; basket t begins at `starts[t]`."""

    def __init__(self, flat: IntArray, starts: IntArray, n_items: int) -> None:
        self.flat = flat
        self.starts = starts
        self.n_items = n_items

    def __len__(self) -> int:
        return len(self.starts) - 1

    @property
    def sizes(self) -> IntArray:
        """Number of items in each basket."""
        return np.diff(self.starts)

    @property
    def counts(self) -> FloatArray:
        """Number of baskets that hold each item."""
        return np.bincount(self.flat, minlength=self.n_items).astype(np.float64)

    def __getitem__(self, t: int) -> IntArray:
        return self.flat[self.starts[t] : self.starts[t + 1]]

    def __iter__(self) -> Iterator[IntArray]:
        return (self[t] for t in range(len(self)))

    def by_size(self, chosen: IntArray | None = None) -> Iterator[tuple[IntArray, IntArray]]:
        """Numbers of baskets of equal size, and their items as rows; in chunks."""
        numbers = np.arange(len(self)) if chosen is None else chosen
        sizes = self.sizes[numbers]
        order = np.argsort(sizes, kind="stable")
        edges = np.flatnonzero(np.diff(sizes[order])) + 1
        for part in np.split(order, edges):
            if len(part) == 0:
                continue
            m = int(sizes[part[0]])
            step = max(1, _CHUNK // max(m * m, 1))
            for first in range(0, len(part), step):
                these = numbers[part[first : first + step]]
                yield these, self.flat[self.starts[these][:, None] + np.arange(m)]

    def take(self, numbers: IntArray) -> Baskets:
        """Some of the baskets, over the same items."""
        parts = [np.zeros(0, dtype=np.int64), *(self[t] for t in numbers.tolist())]
        return Baskets(np.concatenate(parts), np.concatenate([[0], np.cumsum(self.sizes[numbers])]), self.n_items)

    def groups(self) -> list[Group]:
        """Distinct baskets by size, with how often each occurs."""
        found = []
        for _, rows in self.by_size():
            distinct, weights = np.unique(rows, axis=0, return_counts=True)
            found.append(Group(distinct, weights.astype(np.float64)))
        return found

    def pair_counts(self) -> FloatArray:
        """Number of baskets that hold both of two items, with the counts on the diagonal; (n_items, n_items)."""
        from scipy import sparse

        ones = np.ones(len(self.flat))
        held = sparse.csr_array((ones, self.flat, self.starts), shape=(len(self), self.n_items))
        return np.asarray((held.T @ held).toarray(), dtype=np.float64)


def read_baskets(baskets: Any, n_items: Any = None) -> Baskets:
    """Check baskets of item numbers from 0; without `n_items` the largest number determines it."""
    if isinstance(baskets, Baskets):
        return baskets
    if isinstance(baskets, str | bytes) or not hasattr(baskets, "__iter__"):
        raise DiversetError(f"baskets is a {type(baskets).__name__}; pass a sequence of sequences of item numbers")
    listed: Sequence[Any] = list(baskets)
    if not listed:
        raise DiversetError("there are no baskets; learning needs at least one")
    arrays = [_as_items(basket, t) for t, basket in enumerate(listed)]
    sizes = np.array([len(array) for array in arrays], dtype=np.int64)
    flat = np.concatenate([np.zeros(0, dtype=np.int64), *arrays])
    owner = np.repeat(np.arange(len(arrays)), sizes)
    largest = int(flat.max(initial=-1))
    n = largest + 1 if n_items is None else check_count(n_items, name="n_items")
    if n == 0:
        raise DiversetError("no basket names an item, so the items are unknown; give n_items, or baskets with items")
    remedy = "n_items counts the items; number them 0, 1, 2, ..."
    check_fits_in_memory(64 * n, what=f"a model of {n} items", remedy=remedy)
    outside = np.flatnonzero((flat < 0) | (flat >= n))
    if len(outside):
        t, item = owner[outside[0]], flat[outside[0]]
        hint = "; item numbers start at 0: is yours the number of items counted from 1?" if item == n else ""
        raise LabelError(f"basket {t} names item {item}, but items are 0 to {n - 1} (n_items = {n}){hint}")
    flat = flat[np.lexsort((flat, owner))]
    twice = np.flatnonzero((flat[1:] == flat[:-1]) & (owner[1:] == owner[:-1]))
    if len(twice):
        raise LabelError(f"basket {owner[twice[0]]} names item {flat[twice[0]]} more than once; a set holds it once")
    return Baskets(flat, np.concatenate([[0], np.cumsum(sizes)]), n)


def _as_items(basket: Any, t: int) -> IntArray:
    if isinstance(basket, np.ndarray) and basket.ndim == 1 and basket.dtype.kind in "iu":
        return basket.astype(np.int64, copy=False)
    try:
        # Python's own integers, the common case, without the checks that one array at a time would take.
        if type(basket) in (list, tuple) and all(type(item) is int for item in basket):
            return np.array(basket, dtype=np.int64)
        array = np.asarray(basket if isinstance(basket, np.ndarray) else list(basket))
    except (TypeError, ValueError, OverflowError):
        raise LabelError(f"basket {t} is {basket!r}; a basket is a sequence of item numbers") from None
    if array.size == 0 and array.ndim == 1:
        return np.zeros(0, dtype=np.int64)
    if array.ndim != 1 or array.dtype.kind not in "iu":
        shown = repr(basket) if len(repr(basket)) < 60 else repr(basket)[:57] + "..."
        raise LabelError(f"basket {t} is {shown}; a basket is a flat sequence of whole numbers")
    return array.astype(np.int64)


def check_sizes(baskets: Baskets, largest: int, *, why: str) -> None:
    """Refuse a basket with more items than a kernel of this rank can hold."""
    sizes = baskets.sizes
    if len(sizes) and int(sizes.max()) > largest:
        t = int(np.argmax(sizes > largest))
        many = int(np.count_nonzero(sizes > largest))
        raise SizeError(
            f"basket {t} has {sizes[t]} items, but {why}, so its probability is 0 ({many} of {len(sizes)} baskets are "
            f"too large); raise the rank to {int(sizes.max())}, or leave out the baskets above it"
        )


def read_basket(basket: Any, n_items: int) -> IntArray:
    """One basket over a known ground set, as ascending positions."""
    return find_positions(basket, np.arange(n_items), name="the basket")
