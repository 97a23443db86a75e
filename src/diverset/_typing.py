"""Array types used in signatures throughout the package."""

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

__all__ = ["Array", "BoolArray", "FloatArray", "IntArray", "RNGLike"]

#: Real or complex matrix: kernels may be Hermitian.
Array: TypeAlias = NDArray[Any]
FloatArray: TypeAlias = NDArray[np.float64]
IntArray: TypeAlias = NDArray[np.int64]
BoolArray: TypeAlias = NDArray[np.bool_]
#: What ``numpy.random.default_rng`` accepts (SPEC 7); as text, since numpy.random is imported when it is asked for.
RNGLike: TypeAlias = "np.random.Generator | np.random.SeedSequence | int | Sequence[int] | None"
