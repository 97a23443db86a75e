"""Real and complex numbers, and rows of them, in loops that are not compiled; compiled ones use ``numbers.pxd``."""

from __future__ import annotations

from typing import Any

from diverset import _plain_cython
from diverset._typing import Array
from diverset.numerics import kernels

__all__ = ["add_row", "conj", "dot_rows", "number", "real", "squared_modulus"]

#: Type of a number in annotations.
number = _plain_cython.fused_type(float, complex)


def real(x: Any) -> Any:
    """Real part."""
    return x.real


def conj(x: Any) -> Any:
    """Complex conjugate."""
    return x.conjugate()


def squared_modulus(x: Any) -> Any:
    """Square of the modulus."""
    return x.real * x.real + x.imag * x.imag


def add_row(factor: Any, X: Array, i: int, Y: Array, j: int, start: int, stop: int) -> None:
    """Add factor times row i of X to row j of Y, at places start..stop-1."""
    if start < stop:
        kernels.axpy(factor, X[i, start:], Y[j, start:], stop - start)


def dot_rows(X: Array, i: int, Y: Array, j: int, size: int, conjugate: bool) -> Any:
    """Sum of products of the first `size` entries of row i of X, or of their conjugates, and row j of Y."""
    return kernels.dot(X[i], Y[j], size, conjugate=conjugate)
