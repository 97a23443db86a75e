r"""Limits below which a number counts as zero, used by all kernels.

Every kernel carries a vector `noise`, the absolute rounding error of each item: of the diagonal entry :math:`L_{ii}`
for a matrix, of the norm of the row :math:`b_i` for item rows. It is set from the precision of the input (float32 or
float64) when a model is made, and conditioning, restriction and thinning pass it on. Entry (i, j) of a matrix is
then known up to :math:`\sqrt{\epsilon_i\epsilon_j}`, because rounding is relative and
:math:`|L_{ij}|^2 \le L_{ii}L_{jj}`.

For a matrix of independent entries of this size with mean zero, the spectral norm is about
:math:`2\sqrt{\max_i\epsilon_i \sum_j \epsilon_j}` times the standard deviation of one rounding (0.3 units)
([BandeiraVanHandel2016]_). Products of features in single precision have errors of a few units, so
:data:`SLACK` units are tolerated.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from diverset._typing import FloatArray

__all__ = ["EPS", "SLACK", "rounding_unit", "zero_eigenvalue", "zero_pivot", "zero_singular_value"]

#: Rounding unit of the arithmetic used throughout.
EPS = float(np.finfo(np.float64).eps)

#: Units of rounding per entry that are tolerated.
SLACK = 4.0


def rounding_unit(given: Any) -> float:
    """Rounding unit of the precision of an array; that of float64 for lists and integers."""
    dtype = getattr(given, "dtype", None)
    if isinstance(dtype, np.dtype) and dtype.kind in "fc":
        return max(EPS, float(np.finfo(dtype).eps))
    # A torch tensor is known by the name of its dtype.
    return {"bfloat16": 2.0**-7, "float16": 2.0**-10, "float32": 2.0**-23}.get(str(dtype).rpartition(".")[2], EPS)


def zero_eigenvalue(noise: FloatArray, top: float) -> float:
    """Size up to which an eigenvalue of a Hermitian matrix is rounding, for the `noise` of its diagonal entries.

    The rounding of the eigenvalue algorithm is relative to `top`, the largest eigenvalue.
    """
    n = len(noise)
    if n == 0:
        return 0.0
    return n * EPS * max(top, 0.0) + SLACK * math.sqrt(float(noise.max()) * float(noise.sum()))


def zero_pivot(m: int) -> float:
    """Pivot of m items, in units of their noise, up to which it is rounding.

    It is :func:`zero_eigenvalue` for equal noise: if all eigenvalues are above that limit, so are the pivots.
    """
    return SLACK * math.sqrt(m)


def zero_singular_value(noise: FloatArray) -> float:
    """Size up to which a singular value is rounding, for rows with these rounding errors (as norms)."""
    return SLACK * float(np.linalg.norm(noise))
