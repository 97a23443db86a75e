"""Rows of whatever people hold data in, and how many to take from each class."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from diverset._typing import IntArray, RNGLike
from diverset.errors import DiversetError, SizeError
from diverset.inference import select
from diverset.inference.inputs import as_column, read_items, take_rows
from diverset.inference.result import Selection
from diverset.numerics.validation import as_generator

__all__ = ["check_same_rows", "class_sizes", "count_rows", "select_by_class", "take_rows"]


def count_rows(data: Any) -> int:
    """Number of rows of an array, sparse matrix, data frame, tensor or list."""
    shape = getattr(data, "shape", None)
    return int(shape[0]) if shape else len(data)


def class_sizes(counts: IntArray, wanted: int, *, leave: int) -> IntArray:
    """How many of each class make `wanted` in all: in proportion, at least 1, and `leave` of each left over."""
    upper = counts - leave
    if not len(counts) <= wanted <= upper.sum():
        rest = f" and leave {leave} of each" if leave else ""
        raise SizeError(
            f"{wanted} of {counts.sum()} rows cannot hold every one of {len(counts)} classes{rest}; "
            "change the size, or do not stratify"
        )
    quota = counts * (wanted / counts.sum())
    sizes: IntArray = np.clip(np.floor(quota).astype(np.int64), 1, upper)
    while sizes.sum() < wanted:
        sizes[np.where(sizes < upper, quota - sizes, -np.inf).argmax()] += 1
    while sizes.sum() > wanted:
        sizes[np.where(sizes > 1, quota - sizes, np.inf).argmin()] -= 1
    return sizes


def select_by_class(
    features: Any,
    wanted: int,
    labels: Any,
    *,
    leave: int,
    quality: Any,
    diversity: float,
    similarity: str | Callable[..., Any],
    method: str,
    rng: RNGLike,
) -> list[Selection]:
    """One selection, or with labels one in each class; `indices` are rows of `features`."""
    generator = as_generator(rng)

    def run(X: Any, k: int, scores: Any) -> Selection:
        return select(X, k, quality=scores, diversity=diversity, similarity=similarity, method=method, rng=generator)

    if labels is None:
        return [run(features, wanted, quality)]
    names, codes, counts = np.unique(labels, return_inverse=True, return_counts=True)
    lonely = np.flatnonzero(counts <= leave)
    if len(lonely):
        i = lonely[0]
        raise SizeError(
            f"class {names[i]} has {counts[i]} row, and both parts need one; leave it out or do not stratify"
        )
    X = read_items(features).features
    scores = None if quality is None else as_column(quality, X.shape[0], name="quality")
    selections = []
    for code, size in enumerate(class_sizes(counts, wanted, leave=leave)):
        rows = np.flatnonzero(codes == code)
        part = X[rows][:, rows] if similarity == "precomputed" else X[rows]
        found = run(part, int(size), None if scores is None else scores[rows])
        selections.append(_renumbered(found, rows))
    return selections


def _renumbered(found: Selection, rows: IntArray) -> Selection:
    return Selection(indices=rows[found.indices], gains=found.gains, log_det=found.log_det, objective=found.objective)


def check_same_rows(n: int, **arrays: Any) -> None:
    """Refuse arrays that do not have one row for each of the n rows."""
    for name, data in arrays.items():
        if data is not None and count_rows(data) != n:
            raise DiversetError(f"{name} has {count_rows(data)} rows for {n} rows of X; give one per row")
