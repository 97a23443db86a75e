"""Checks that a nonsymmetric kernel defines a distribution: sufficient conditions, and all minors of small kernels."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np

from diverset._typing import Array, FloatArray
from diverset.errors import DiversetError, KernelError
from diverset.numerics.linalg import add_to_diagonal, cholesky_lower
from diverset.numerics.validation import as_real_or_complex, check_finite, check_fits_in_memory

__all__ = [
    "MAX_ENUMERATED",
    "as_square",
    "check_atoms",
    "check_minors",
    "check_name",
    "check_reflected",
    "check_symmetric_part",
]

#: Largest ground set whose principal minors are enumerated.
MAX_ENUMERATED = 15
_CHECKS = ("auto", "minors", "none")


def as_square(a: Any, *, name: str) -> tuple[FloatArray, float]:
    """`a` as a private, finite, real square array, and the rounding tolerance for its size and precision."""
    array = as_real_or_complex(a, name=name, ndim=2)
    if np.iscomplexobj(array):
        raise KernelError(f"{name} is complex; a nonsymmetric kernel must be real (Hermitian ones go to DPP)")
    if array.shape[0] != array.shape[1]:
        raise KernelError(f"{name} has shape {array.shape}; a kernel is square, one row and column per item")
    check_fits_in_memory(8 * array.size, what=f"a copy of {name}")
    copy = np.array(array, dtype=np.float64, order="C")
    check_finite(copy, name=name)
    return copy, 8.0 * max(len(copy), 8) * float(np.finfo(array.dtype).eps)


def check_name(check: str) -> None:
    """Raise an error for an unknown name of a check."""
    if check not in _CHECKS:
        raise DiversetError(f"check is {check!r}; choose one of {', '.join(_CHECKS)}")


def _check_enumerable(n: int) -> None:
    if n > MAX_ENUMERATED:
        raise DiversetError(
            f"check='minors' takes 2**{n} determinants for {n} items, and accepts at most {MAX_ENUMERATED}; "
            "check='auto' tests a sufficient condition"
        )


def check_symmetric_part(L: FloatArray, rounding: float) -> None:
    """Raise an error unless the symmetric part of L is positive semidefinite."""
    # Rounding relative to L: beside a large skew-symmetric part, the symmetric part may consist of rounding only.
    slack = rounding * float(np.abs(L).max(initial=0.0))
    symmetric = (L + L.T) / 2.0
    if slack == 0.0 or cholesky_lower(add_to_diagonal(symmetric.copy(), slack), overwrite=True) is not None:
        return
    smallest = float(np.linalg.eigvalsh(symmetric)[0])
    if smallest < -slack:
        raise KernelError(
            f"(L + L.T) / 2 has smallest eigenvalue {smallest:.6g}; if it is positive semidefinite, L defines a "
            f"distribution. Otherwise check='minors' tests every principal minor (up to {MAX_ENUMERATED} items), "
            "and check='none' tests nothing"
        )


def check_minors(L: FloatArray, rounding: float) -> None:
    """Raise an error that names the items of a negative principal minor."""
    n = len(L)
    _check_enumerable(n)
    for k in range(1, n + 1):
        subsets = np.array(list(combinations(range(n), k)))
        stack = L[subsets[:, :, None], subsets[:, None, :]]
        minors, slack = np.linalg.det(stack), rounding * _hadamard_bound(stack)
        worst = int(np.argmin(minors + slack))
        if minors[worst] < -slack[worst]:
            raise KernelError(
                f"the principal minor of L for items {subsets[worst].tolist()} is {minors[worst]:.6g}; "
                "all must be nonnegative, since they are the sets' unnormalised probabilities"
            )


def check_atoms(K: FloatArray, rounding: float) -> None:
    """Raise an error that names the items of a set of negative probability."""
    n = len(K)
    _check_enumerable(n)
    step = max(1, 2**22 // max(n * n * 8, 1))
    for first in range(0, 2**n, step):
        inside = (np.arange(first, min(first + step, 2**n))[:, None] >> np.arange(n)) & 1
        # Rows of K for the items in the set, of I - K for the others: the determinant is the probability.
        stack = np.where(inside[:, :, None] == 1, K, np.eye(n) - K)
        atoms, slack = np.linalg.det(stack), rounding * _hadamard_bound(stack)
        worst = int(np.argmin(atoms + slack))
        if atoms[worst] < -slack[worst]:
            raise KernelError(
                f"K gives the set {np.flatnonzero(inside[worst]).tolist()} the probability {atoms[worst]:.6g}; "
                "a marginal kernel gives every set a nonnegative one (a likelihood kernel goes to NonsymmetricDPP(L))"
            )


def _hadamard_bound(stack: Array) -> FloatArray:
    """Products of the row norms: the scale of rounding in determinants."""
    return np.asarray(np.prod(np.linalg.norm(stack, axis=-1), axis=-1), dtype=np.float64)


def check_reflected(K: FloatArray, rounding: float) -> None:
    """Raise an error unless I - 2K has norm at most one."""
    # With Q = I - 2K: K + K^T - 2 K^T K = (I - Q^T Q) / 2, and (I-K)^T (L + L^T) (I-K) is the former.
    top = float(np.linalg.norm(np.eye(len(K)) - 2.0 * K, 2))
    if top > 1.0 + rounding:
        raise KernelError(
            f"I - 2K has largest singular value {top:.6g}; if it is at most 1, K defines a distribution. Otherwise "
            f"check='minors' tests every set (up to {MAX_ENUMERATED} items), and check='none' tests nothing"
        )
