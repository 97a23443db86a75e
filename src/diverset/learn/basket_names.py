"""Baskets as people have them: lists of item names, tables of order lines, sparse matrices.

========================================================  =======================================================
you have                                                  what is read
========================================================  =======================================================
``[["milk", "bread"], ["beer"]]``                         one basket per list, items by name
``[[0, 2], [1]]``                                         one basket per list, items by number from 0
a data frame of two columns, the order and the item       one basket per order; an item counts once in an order
a sparse matrix of shape (n_baskets, n_items)             one basket per row: the columns that are not zero
========================================================  =======================================================

A model that was fitted to names takes and gives names.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np

from diverset._typing import Array, IntArray
from diverset.errors import DiversetError, LabelError
from diverset.learn.baskets import Baskets
from diverset.numerics.validation import is_sparse

__all__ = ["numbered", "positions_of"]


def numbered(data: Any, known: Array | None = None) -> tuple[Any, Array | None]:
    """Baskets by item number, for `read_baskets`, and the names of the items, or None if items are numbers.

    Only the names in `known` may occur if they are given.
    """
    if is_sparse(data):
        return _from_matrix(data), known
    if hasattr(data, "columns") and hasattr(data, "shape"):
        orders, items = _two_columns(data)
        names = np.unique(items).astype(object) if known is None else known
        return _gathered(np.unique(orders, return_inverse=True)[1], positions_of(items, names), len(names)), names
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
    """Where each item stands among the names; refuses one that is not there."""
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


def _gathered(orders: IntArray, items: IntArray, n_items: int) -> Baskets:
    """Baskets of pairs of an order and an item; repeated pairs count once."""
    pairs = np.unique(np.column_stack([orders, items]), axis=0)
    starts = np.searchsorted(pairs[:, 0], np.arange(int(orders.max(initial=-1)) + 2))
    return Baskets(np.ascontiguousarray(pairs[:, 1]), starts.astype(np.int64), n_items)
