r"""Conversion of all supported inputs, and calibration of scores.

Arrays, lists, sparse matrices, memory maps, tensors, frames and columns are accepted. Objects of other libraries are
recognised by their methods, so those libraries are not imported.

Scores are calibrated so that the meaning of the dial does not depend on their unit. The scale ``"rank"`` is :math:`z_i
= -1.2 \log_2 r_i` with r the rank, 1 for the best; equal scores share their mean rank. So picks depend neither on the
number of poor candidates nor on the gaps between scores. ``"standard"`` is :math:`(q_i - \bar q) / \mathrm{sd}(q)`.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np

from diverset._typing import Array, FloatArray, IntArray
from diverset.errors import DiversetError, DiversetWarning, KernelError, LabelError, SizeError
from diverset.numerics import _loops
from diverset.numerics.validation import (
    as_real,
    as_real_or_complex,
    check_finite,
    check_size,
    find_positions,
    is_blocked,
    is_sparse,
    tensor_values,
)

__all__ = [
    "NO_ITEMS", "RANK_COST", "Items", "as_column", "as_groups", "as_positions", "as_size", "calibrated", "check_scale",
    "list_rows", "read_items", "take_rows", "warn_once",
]  # fmt: skip

#: No positions at all.
NO_ITEMS: IntArray = np.zeros(0, dtype=np.int64)
NO_ITEMS.flags.writeable = False
#: What each doubling of the rank costs with the scale ``"rank"``; docs/selection_quality.rst shows the evidence.
RANK_COST = 1.2
#: Topics about which this process has already issued a warning.
_given: set[str] = set()


class Items(NamedTuple):
    """Features as an array or CSR matrix, one row per item, and the labels of the rows if the input had any."""

    features: Any
    labels: Any = None

    @property
    def n(self) -> int:
        """Number of items."""
        return int(self.features.shape[0])


def read_items(features: Any, *, name: str = "features") -> Items:
    """Features of any supported type as float32, or else as float64; entries are not checked here."""
    if type(features) is not np.ndarray:
        if is_sparse(features):
            if features.dtype.kind not in "biuf":
                raise KernelError(f"{name} holds {features.dtype} entries; selection takes real numbers")
            return Items(features.tocsr())
        if is_blocked(features):
            raise KernelError(
                f"{name} are a dask array, which select, map_greedy and DPP.from_features take as it is; here they "
                f"must be in memory: pass {name}.compute()"
            )
        features, labels = _unwrapped(features, name)
    else:
        labels = None
    array = as_real_or_complex(features, name=name, ndim=2)
    if array.dtype.kind == "c":
        raise KernelError(f"{name} are complex; selection takes real features (DPP takes complex kernels)")
    if array.dtype not in (np.float32, np.float64):
        array = array.astype(np.float64)
    return Items(array, labels)


def _unwrapped(features: Any, name: str) -> tuple[Any, Any]:
    """An array or list of rows, and the labels of a pandas index."""
    if hasattr(features, "collect") and hasattr(features, "lazy") and not hasattr(features, "to_numpy"):
        raise KernelError(f"{name} is a frame still to be computed; collect it first, with .collect()")
    if hasattr(features, "to_numpy") and hasattr(features, "columns"):
        # pandas frames have an index of labels; polars frames have none.
        return _frame_values(features, name), getattr(features, "index", None)
    if hasattr(features, "detach") and hasattr(features, "numpy"):
        return tensor_values(features, name=name), None
    if hasattr(features, "combine_chunks") and hasattr(features, "to_numpy"):
        features = features.combine_chunks()  # a pyarrow ChunkedArray
    if hasattr(features, "flatten") and hasattr(features, "to_pylist"):
        return list_rows(features, name), None
    if hasattr(features, "to_numpy"):
        # `index` is the index of a pandas column; in polars it is a method, or missing.
        index = getattr(features, "index", None)
        return _list_column(features.to_numpy(), name), index if hasattr(index, "equals") else None
    return features, None


def list_rows(array: Any, name: str) -> Array:
    """Rows of a pyarrow array of lists, read from its buffer."""
    if array.null_count:
        raise KernelError(f"{name} has {array.null_count} missing rows; fill them in or drop their items")
    values: Array = array.flatten().to_numpy(zero_copy_only=False)
    width = len(values) // max(len(array), 1)
    lengths = np.asarray(array.value_lengths()) if hasattr(array, "value_lengths") else np.full(len(array), width)
    if len(array) == 0 or (lengths != width).any():
        least, most = lengths.min(initial=width), lengths.max(initial=0)
        raise KernelError(
            f"{name} holds {len(array)} lists of {least} to {most} numbers; all must have the same length"
        )
    return values.reshape(len(array), width)


def _list_column(cells: Array, name: str) -> Any:
    """Rows of a column whose cells are lists or arrays of the same length."""
    if cells.dtype != object or cells.ndim != 1:
        return cells
    try:
        return np.stack([np.asarray(cell) for cell in cells]) if len(cells) else np.zeros((0, 0))
    except (ValueError, TypeError):
        first = next((i for i, cell in enumerate(cells) if np.shape(cell) != np.shape(cells[0])), 0)
        raise KernelError(
            f"{name}[{first}] has shape {np.shape(cells[first])}, and {name}[0] has {np.shape(cells[0])}; all rows "
            "need the same length"
        ) from None


def as_column(values: Any, n: int, *, name: str, labels: Any = None, infinite: bool = False) -> FloatArray:
    """One finite number per item, as a new array; with `infinite`, -inf is allowed. An index must equal `labels`."""
    if type(values) is not np.ndarray:
        values = _column_values(values, name, labels)
    try:
        column = as_real(values, name=name, shape=("n",))
    except KernelError as error:
        raise DiversetError(str(error)) from None  # scores are no kernel
    if len(column) != n:
        raise DiversetError(f"{name} has {len(column)} entries for {n} items; give one per item")
    result = np.array(column, dtype=np.float64)
    try:
        check_finite(result, name=name)
    except KernelError as error:
        bad = np.isnan(result) | (result == math.inf)
        if not infinite or bad.any():
            i = int(np.flatnonzero(bad if infinite else ~np.isfinite(result))[0])
            remedy = "use -inf to exclude an item" if infinite else "every entry must be finite"
            raise DiversetError(f"{name}[{i}] is {result[i]}; {remedy}") from error
    return result


def as_positions(values: Any, n: int, *, name: str, labels: Any = None) -> IntArray:
    """Ascending positions, from positions, a boolean mask, or labels (of a pandas index, or not integers)."""
    if values is None:
        return NO_ITEMS
    if hasattr(values, "equals") and hasattr(values, "get_indexer"):
        return _by_label(values, n, name, labels)
    if not isinstance(values, (np.ndarray, range, str, bytes, int)):
        values = _column_values(values, name, None)
        if not isinstance(values, np.ndarray) and isinstance(values, Iterable):
            values = list(values)
    kinds = {type(value) for value in values} if isinstance(values, list) else set()
    if getattr(getattr(values, "dtype", None), "kind", "") == "b" or (kinds and kinds <= {bool, np.bool_}):
        mask = np.asarray(values, dtype=bool)
        if mask.shape != (n,):
            raise LabelError(f"{name} is a mask of {mask.size} values for {n} items; give one per item")
        return np.flatnonzero(mask)
    if labels is not None and (kinds & {str} or getattr(values, "dtype", np.dtype(int)).kind in "OUM"):
        return _by_label(values, n, name, labels)
    return find_positions(values, range(n), name=name)


def _by_label(values: Any, n: int, name: str, labels: Any) -> IntArray:
    if labels is None:
        raise LabelError(f"{name} holds labels such as {values[0]!r}, and the features have no index; give positions")
    found = np.asarray(labels.get_indexer_for(values), dtype=np.int64)
    if (found < 0).any():
        missing = list(values)[int(np.argmax(found < 0))]
        raise LabelError(f"{name} names {missing!r}, which is not in the index of the features")
    return find_positions(found, range(n), name=name)


def as_size(k: Any, n: int) -> int:
    """The number of picks, given as an integer or as a fraction of the n items between 0 and 1."""
    if isinstance(k, float | np.floating):
        if not 0.0 < k <= 1.0:
            raise SizeError(f"k is {k}; give a whole number of items, or a share of them above 0 and up to 1")
        return max(1, math.floor(k * n)) if n else 0
    return check_size(k)


def as_groups(values: Any, n: int, *, labels: Any = None) -> IntArray:
    """Group number of each item, from 0; all items without a group form one group."""
    values = _column_values(values, "groups", labels)
    try:
        cells = np.asarray(values)
    except ValueError:
        raise DiversetError("groups holds lists of different lengths; give every item a name or a number") from None
    if cells.shape != (n,):
        raise DiversetError(f"groups has shape {cells.shape}; give one value for each of {n} items")
    if cells.dtype != object:
        return np.unique(cells, return_inverse=True)[1].astype(np.int64)
    numbers: dict[Any, int] = {}
    try:
        found = [numbers.setdefault(None if _is_missing(cell) else cell, len(numbers)) for cell in cells.tolist()]
    except TypeError:
        raise DiversetError("groups holds lists or the like; give every item a name or a number") from None
    return np.array(found, dtype=np.int64)


def take_rows(data: Any, rows: IntArray) -> Any:
    """The given rows of an array, tensor, sparse matrix, frame, column or list, in the same type; None for None."""
    if data is None:
        return None
    if is_sparse(data):
        return data.tocsr()[rows]
    if hasattr(data, "iloc"):
        return data.iloc[rows]
    if hasattr(data, "take") and hasattr(data, "schema"):
        return data.take(rows)  # a pyarrow table
    if hasattr(data, "shape"):
        return data[rows]
    if hasattr(data, "__array__"):
        return np.asarray(data)[rows]
    return [data[i] for i in rows.tolist()]


def _is_missing(cell: Any) -> bool:
    """Whether a cell is None, nan or pandas.NA, which raises when it is compared with itself."""
    try:
        return cell is None or bool(cell != cell)
    except TypeError:
        return True


def _column_values(values: Any, name: str, labels: Any) -> Any:
    index: Any = getattr(values, "index", None)
    if labels is not None and hasattr(index, "equals") and not index.equals(labels):
        raise DiversetError(
            f"{name} has another index than the features; put it in their order ({name}.loc[features.index]), or pass "
            f"{name}.to_numpy() to go by position"
        )
    if hasattr(values, "to_numpy"):
        return values.to_numpy()
    return tensor_values(values, name=name) if hasattr(values, "detach") else values


def _frame_values(frame: Any, name: str) -> Array:
    if len(frame.columns) == 1:
        # A frame with one column of lists.
        cells = np.asarray(frame.to_numpy())
        if cells.dtype == object and cells.shape[1:] == (1,) and len(cells) and np.ndim(cells[0, 0]) == 1:
            rows: Array = _list_column(cells[:, 0], name)
            return rows
    values: Array = frame.to_numpy()
    if values.dtype != object:
        return values
    for column, dtype in zip(frame.columns, frame.dtypes, strict=True):
        numeric = dtype.is_numeric() if hasattr(dtype, "is_numeric") else dtype.kind in "biuf"
        if not numeric:
            raise KernelError(f"column {column!r} of {name} holds {dtype}; leave it out, or turn it into numbers")
    # Nullable columns of pandas and Arrow: missing values become NaN, which raises an error later.
    values = frame.to_numpy(dtype=np.float64, na_value=np.nan)
    return values


def check_scale(scale: Any) -> str | None:
    """Check that the scale is one of the three."""
    if scale not in ("rank", "standard", None):
        raise DiversetError(f'scale is {scale!r}; choose "rank", "standard" or None (scores as they are)')
    return scale  # type: ignore[no-any-return]


def calibrated(scores: FloatArray, scale: str | None) -> FloatArray:
    """Scores on the given scale. A score of -inf stays -inf and is ignored in the mean and in the ranks."""
    if scale is None:
        return scores
    result = np.empty(len(scores))
    if scale == "standard":
        _loops.standardize(scores, result)
        return result
    order = scores.argsort()
    known = order
    if len(order) and scores[order[0]] == -math.inf:
        known = order[int((scores == -math.inf).sum()) :]
        result[order] = math.inf  # rank of the items of score -inf
    _loops.average_ranks(scores, known, result)
    return -RANK_COST * np.log2(result)


def warn_once(topic: str, message: str) -> None:
    """Warn about a topic, once per process."""
    if topic not in _given:
        _given.add(topic)
        warnings.warn(f"{message} (later cases are only in the notes of the result)", DiversetWarning, stacklevel=5)
