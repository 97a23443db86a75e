"""Reading of baskets in several input formats, stored for batched linear algebra.

========================================================  =======================================================
input                                                     meaning
========================================================  =======================================================
``[["milk", "bread"], ["beer"]]``                         one basket per list, items by name
``[[0, 2], [1]]``                                         one basket per list, items by number from 0
a data frame of two columns, the order and the item       one basket per order; repeated items count once
a sparse matrix of shape (n_baskets, n_items)             one basket per row: the columns of the nonzero entries
========================================================  =======================================================

A model fitted to names takes and returns names.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from diverset._typing import Array, FloatArray, IntArray
from diverset.errors import DiversetError, LabelError, SizeError
from diverset.numerics.validation import check_count, check_fits_in_memory, find_positions, is_sparse

__all__ = ["Baskets", "Group", "check_sizes", "numbered", "positions_of", "read_basket", "read_baskets"]

#: Number of matrix entries that are processed in one batch: a few megabytes.
_CHUNK = 1 << 19


@dataclass(frozen=True, eq=False)
class Group:
    """Distinct baskets of one size: their items, of shape (n_baskets, size), ascending, and their counts."""

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
        """Number of baskets that contain each item."""
        return np.bincount(self.flat, minlength=self.n_items).astype(np.float64)

    @property
    def frequencies(self) -> FloatArray:
        """Fraction of the baskets that contain each item, smoothed by half a basket each way: never 0 or 1."""
        return (self.counts + 0.5) / (len(self) + 1.0)

    def __getitem__(self, t: int) -> IntArray:
        return self.flat[self.starts[t] : self.starts[t + 1]]

    def __iter__(self) -> Iterator[IntArray]:
        return (self[t] for t in range(len(self)))

    def by_size(self, chosen: IntArray | None = None) -> Iterator[tuple[IntArray, IntArray]]:
        """Iterate over chunks of baskets of equal size; yields their numbers, and their items as rows."""
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
        """Distinct baskets by size, with their counts."""
        found = []
        for _, rows in self.by_size():
            distinct, weights = np.unique(rows, axis=0, return_counts=True)
            found.append(Group(distinct, weights.astype(np.float64)))
        return found

    def pair_counts(self) -> Any:
        """Sparse matrix of the number of baskets that contain both of two items; item counts on the diagonal."""
        from scipy import sparse

        ones = np.ones(len(self.flat))
        held = sparse.csr_array((ones, self.flat, self.starts), shape=(len(self), self.n_items))
        return (held.T @ held).tocsr()


def read_baskets(baskets: Any, n_items: Any = None) -> Baskets:
    """Check baskets of item numbers from 0; by default `n_items` is the largest number plus one."""
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
        # Fast path for Python integers, the common case: one array per basket would be slow.
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
    """Raise an error for a basket with more items than a kernel of this rank allows."""
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


def numbered(data: Any, known: Array | None = None) -> tuple[Any, Array | None]:
    """Baskets by item number, for `read_baskets`, and the names of the items, or None if items are numbers.

    If `known` is given, other names raise an error.
    """
    if is_sparse(data):
        return _from_matrix(data), known
    if hasattr(data, "columns") and hasattr(data, "shape"):
        orders, items = _two_columns(data)
        names = np.unique(items).astype(object) if known is None else known
        # A repeated pair of an order and an item counts once.
        codes = np.unique(orders, return_inverse=True)[1]
        pairs = np.unique(np.column_stack([codes, positions_of(items, names)]), axis=0)
        starts = np.searchsorted(pairs[:, 0], np.arange(int(codes.max(initial=-1)) + 2))
        return Baskets(np.ascontiguousarray(pairs[:, 1]), starts.astype(np.int64), len(names)), names
    if isinstance(data, Baskets | str | bytes) or not hasattr(data, "__iter__"):
        return data, known
    listed = [basket if hasattr(basket, "__len__") else list(basket) for basket in data if _is_collection(basket, data)]
    if known is None and not any(isinstance(item, str) for basket in listed for item in basket):
        return listed, None
    flat = [item for basket in listed for item in basket]
    if known is None:
        wrong = next((item for item in flat if not isinstance(item, str)), None)
        if wrong is not None:
            raise LabelError(f"items are names and numbers: {wrong!r} is no text; give all of them as text")
        known = np.array(sorted(set(flat)), dtype=object)
    positions = positions_of(flat, known)
    starts = np.cumsum([0, *(len(basket) for basket in listed)])
    for t, (a, b) in enumerate(pairwise(starts.tolist())):
        part = positions[a:b]
        if len(set(part.tolist())) < len(part):
            twice = next(i for i in part.tolist() if part.tolist().count(i) > 1)
            raise LabelError(f"basket {t} names {known[twice]!r} more than once; a set holds it once")
        part.sort()
    return Baskets(positions, starts.astype(np.int64), len(known)), known


def _is_collection(basket: Any, data: Any) -> bool:
    if isinstance(basket, str | bytes):
        raise LabelError(f"a basket is {basket!r}; pass a list of lists: [[{basket!r}, ...], ...]")
    if not hasattr(basket, "__iter__"):
        t = next(t for t, other in enumerate(data) if other is basket)
        raise LabelError(f"basket {t} is {basket!r}; a basket is a sequence of item numbers or names")
    return True


def positions_of(items: Any, names: Array) -> IntArray:
    """Position of each item among the names; an unknown item raises an error."""
    place = {name: i for i, name in enumerate(names.tolist())}
    listed = items.tolist() if isinstance(items, np.ndarray) else list(items)
    try:
        return np.array([place[item] for item in listed], dtype=np.int64)
    except KeyError as missing:
        shown = ", ".join(repr(name) for name in names[:3].tolist())
        raise LabelError(
            f"there is no item {missing.args[0]!r} among the {len(names)} items of the model ({shown}, ...); leave it "
            "out, or name all items when the model is fitted: fit(baskets, n_items=names)"
        ) from None


def _from_matrix(matrix: Any) -> Baskets:
    if matrix.dtype.kind not in "biuf":
        raise DiversetError(f"the matrix of baskets holds {matrix.dtype} values; entries are real numbers")
    held = matrix.tocsr().copy()
    held.sum_duplicates()
    held.eliminate_zeros()
    if held.nnz and not held.data.min() > 0:
        raise DiversetError(
            f"the matrix of baskets holds {held.data.min()}; entries say that an item is there, and are positive"
        )
    return Baskets(held.indices.astype(np.int64), held.indptr.astype(np.int64), int(held.shape[1]))


def _two_columns(frame: Any) -> tuple[Array, Array]:
    """Orders and items of a table."""
    names = list(frame.columns)
    if len(names) != 2:
        raise DiversetError(
            f"the table has columns {names}; pass the order and the item, in this order: table[['order', 'item']]"
        )
    columns = []
    for name in names:
        values = np.asarray(frame[name])
        missing = [i for i, value in enumerate(values.tolist()) if value is None or value != value]
        if missing:
            raise DiversetError(f"row {missing[0]} of column {name!r} is empty; drop such rows first")
        columns.append(values)
    return columns[0], columns[1]
