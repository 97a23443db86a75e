"""What people have: arrays, lists, sparse matrices, memory maps, tensors and data frames, read alike.

No library is imported to recognise its objects: a data frame is told by what it can do.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from diverset._typing import FloatArray
from diverset.errors import KernelError
from diverset.numerics.validation import as_real_or_complex, check_finite, is_sparse

__all__ = ["Items", "as_column", "read_items"]


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
    labels = None
    if hasattr(features, "to_numpy") and hasattr(features, "columns"):
        # pandas frames have an index of labels; polars frames have none.
        labels = getattr(features, "index", None)
        features = features.to_numpy()
    elif hasattr(features, "detach") and hasattr(features, "numpy"):
        device = getattr(getattr(features, "device", None), "type", "cpu")
        if device != "cpu":
            raise KernelError(f"{name} is a tensor on {device}; move it to memory first, with .cpu()")
        features = features.detach().numpy()
    elif hasattr(features, "compute") and hasattr(features, "chunks"):
        features = features.compute()
    array = as_real_or_complex(features, name=name, ndim=2)
    if np.iscomplexobj(array):
        raise KernelError(f"{name} are complex; selection takes real features (DPP takes complex kernels)")
    if array.dtype not in (np.float32, np.float64):
        array = array.astype(np.float64)
    return Items(array, labels)


def as_column(values: Any, n: int, *, name: str) -> FloatArray:
    """One finite number per item, as float64: a list, array, tensor, or a frame's column."""
    if hasattr(values, "to_numpy"):
        values = values.to_numpy()
    elif hasattr(values, "detach"):
        values = values.detach().numpy()
    column = as_real_or_complex(values, name=name, ndim=1)
    if np.iscomplexobj(column):
        raise KernelError(f"{name} is complex; it must be one real number per item")
    if len(column) != n:
        raise KernelError(f"{name} has {len(column)} entries for {n} items; give one per item")
    result = np.array(column, dtype=np.float64)
    check_finite(result, name=name)
    return result
