"""What people have: arrays, lists, sparse matrices, memory maps, tensors and data frames, read alike.

No library is imported to recognise its objects: a data frame is told by what it can do.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from diverset._typing import Array, FloatArray, IntArray
from diverset.errors import DiversetError, KernelError
from diverset.numerics.validation import as_real_or_complex, check_finite, is_blocked, is_sparse

__all__ = ["Items", "as_column", "as_groups", "read_items"]


@dataclass(frozen=True, eq=False)
class Items:
    """Features as an array or CSR matrix, one row per item, and the rows' labels if the input had any."""

    features: Any
    labels: Any = None

    @property
    def n(self) -> int:
        """Number of items."""
        return int(self.features.shape[0])


def read_items(features: Any, *, name: str = "features") -> Items:
    """Features of any supported kind, float32 or float64 kept, others converted; entries are not looked at."""
    if is_sparse(features):
        return Items(features.tocsr())
    if is_blocked(features):
        raise KernelError(
            f"{name} are a dask array, which select, map_greedy and DPP.from_features take as it is; here they must be "
            f"in memory: pass {name}.compute()"
        )
    labels = None
    if hasattr(features, "to_numpy") and hasattr(features, "columns"):
        # pandas frames have an index of labels; polars frames have none.
        labels = getattr(features, "index", None)
        features = _frame_values(features, name)
    elif hasattr(features, "collect") and hasattr(features, "lazy"):
        raise KernelError(f"{name} is a frame still to be computed; collect it first, with .collect()")
    elif hasattr(features, "detach") and hasattr(features, "numpy"):
        features = _tensor_values(features, name)
    array = as_real_or_complex(features, name=name, ndim=2)
    if np.iscomplexobj(array):
        raise KernelError(f"{name} are complex; selection takes real features (DPP takes complex kernels)")
    if array.dtype not in (np.float32, np.float64):
        array = array.astype(np.float64)
    return Items(array, labels)


def as_column(values: Any, n: int, *, name: str, labels: Any = None) -> FloatArray:
    """One finite number per item, as float64: a list, array, tensor, or a frame's column.

    `labels` are those of the features; a column with an index of its own must have the same.
    """
    column = as_real_or_complex(_column_values(values, name, labels), name=name, ndim=1)
    if np.iscomplexobj(column):
        raise KernelError(f"{name} is complex; it must be one real number per item")
    if len(column) != n:
        raise KernelError(f"{name} has {len(column)} entries for {n} items; give one per item")
    result = np.array(column, dtype=np.float64)
    check_finite(result, name=name)
    return result


def as_groups(values: Any, n: int, *, labels: Any = None) -> IntArray:
    """Number of the group of each item, counted from 0; items without a group are one of their own."""
    cells = np.asarray(_column_values(values, "groups", labels))
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


def _is_missing(cell: Any) -> bool:
    """Whether a cell says that there is no value; pandas.NA refuses to be asked whether it equals itself."""
    try:
        return cell is None or bool(cell != cell)
    except TypeError:
        return True


def _column_values(values: Any, name: str, labels: Any) -> Any:
    index: Any = getattr(values, "index", None)
    if labels is not None and hasattr(index, "equals") and not index.equals(labels):
        raise KernelError(
            f"{name} has another index than the features; put it in their order ({name}.loc[features.index]), or pass "
            f"{name}.to_numpy() to go by position"
        )
    if hasattr(values, "to_numpy"):
        return values.to_numpy()
    return _tensor_values(values, name) if hasattr(values, "detach") else values


def _frame_values(frame: Any, name: str) -> Array:
    values: Array = frame.to_numpy()
    if values.dtype != object:
        return values
    for column, dtype in zip(frame.columns, frame.dtypes, strict=True):
        numeric = dtype.is_numeric() if hasattr(dtype, "is_numeric") else dtype.kind in "biuf"
        if not numeric:
            raise KernelError(f"column {column!r} of {name} holds {dtype}; leave it out, or turn it into numbers")
    # Columns that can hold missing values (pandas' own and Arrow's): those become NaN, which is refused by its place.
    values = frame.to_numpy(dtype=np.float64, na_value=np.nan)
    return values


def _tensor_values(tensor: Any, name: str) -> Array:
    device = getattr(getattr(tensor, "device", None), "type", "cpu")
    if device != "cpu":
        raise KernelError(f"{name} is a tensor on {device}; move it to memory first, with .cpu()")
    if "sparse" in str(getattr(tensor, "layout", "")):
        raise KernelError(f"{name} is a sparse tensor; pass a scipy.sparse matrix, or {name}.to_dense()")
    tensor = tensor.detach()
    # NumPy has no bfloat16; float32 holds all of its values.
    values: Array = (tensor.float() if "bfloat16" in str(tensor.dtype) else tensor).numpy()
    return values
