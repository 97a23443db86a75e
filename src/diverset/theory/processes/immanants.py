r"""Relatives of the determinant: permanents, immanants, :math:`\alpha`-determinants and hyperdeterminants.

The first three are sums :math:`\sum_\pi f(\pi) \prod_i A_{i, \pi(i)}` over permutations ([KuleszaTaskar2012]_, section
2.5.3), where f depends only on the cycle type of the permutation, a partition of n. So with C(S) the sum over the
cyclic permutations of S, they are sums over partitions of the items into cycles.
"""

import itertools
import math
from collections import Counter
from collections.abc import Iterable
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from diverset._typing import Array, FloatArray
from diverset.errors import DiversetError, KernelError
from diverset.numerics.validation import as_number, as_real_or_complex, check_finite, check_size

__all__ = ["alpha_determinant", "character", "class_size", "hyperdeterminant", "immanant", "partitions", "permanent"]

#: Largest matrices: 2**n, 3**n and (partitions of n) 2**n terms take a few seconds.
_MAX_PERMANENT, _MAX_ALPHA, _MAX_IMMANANT = 24, 14, 12
#: Logarithm of the number of rows of subset sums in memory.
_BLOCK_BITS = 16


def _as_square(A: ArrayLike, largest: int) -> Array:
    matrix = as_real_or_complex(A, name="A", ndim=2)
    if matrix.shape[0] != matrix.shape[1]:
        raise KernelError(f"A has shape {matrix.shape}; it must be square")
    if len(matrix) > largest:
        raise DiversetError(f"A has {len(matrix)} rows; the sum is too long beyond {largest}")
    check_finite(matrix, name="A")
    n, top = len(matrix), float(np.abs(matrix).max(initial=0.0))
    # A bound of all sums over permutations and over subsets of columns.
    if n and n * math.log10(max(2.0 * n * top, 1.0)) > 300.0:
        raise KernelError(f"A goes up to {top:.6g}, and products of {n} such entries overflow; divide A by a number")
    return matrix.astype(np.complex128 if np.iscomplexobj(matrix) else np.float64)


def _plain(value: Any) -> Any:
    """A Python number, real if the matrix is real."""
    return complex(value) if np.iscomplexobj(value) else float(value)


def partitions(k: int) -> list[tuple[int, ...]]:
    """All partitions of k, each in descending order, from (k,) to (1, ..., 1).

    Examples
    --------
    >>> partitions(4)
    [(4,), (3, 1), (2, 2), (2, 1, 1), (1, 1, 1, 1)]
    """

    def below(total: int, largest: int) -> list[tuple[int, ...]]:
        if total == 0:
            return [()]
        return [(part, *rest) for part in range(min(total, largest), 0, -1) for rest in below(total - part, part)]

    total = check_size(k)
    return below(total, total)


def as_partition(parts: Iterable[int]) -> tuple[int, ...]:
    """`parts` in descending order; raises for anything but positive whole numbers."""
    sizes = [check_size(part, name="a part") for part in parts]
    if 0 in sizes:
        raise DiversetError("a part is 0; a partition has positive parts")
    return tuple(sorted(sizes, reverse=True))


def class_size(cycle_type: Iterable[int]) -> int:
    """Number of permutations with the given cycle lengths.

    Examples
    --------
    >>> class_size((2, 1, 1))
    6
    """
    mu = as_partition(cycle_type)
    centralizer: int = math.prod(length**count * math.factorial(count) for length, count in Counter(mu).items())
    return math.factorial(sum(mu)) // centralizer


def character(partition: Iterable[int], cycle_type: Iterable[int]) -> int:
    r"""Irreducible character :math:`\chi^\lambda(\mu)` of the symmetric group, by the Murnaghan-Nakayama rule.

    The partition :math:`(k)` gives 1, and :math:`(1, \dots, 1)` the sign.

    Parameters
    ----------
    partition : iterable of int
        :math:`\lambda`.
    cycle_type : iterable of int
        :math:`\mu`, a partition of the same number.

    Examples
    --------
    >>> [character((2, 1), mu) for mu in ((1, 1, 1), (2, 1), (3,))]
    [2, 0, -1]
    """
    shape, mu = as_partition(partition), as_partition(cycle_type)
    if sum(shape) != sum(mu):
        raise DiversetError(f"{shape} and {mu} are partitions of {sum(shape)} and {sum(mu)}; they must agree")
    return _character(shape, mu)


@cache
def _character(shape: tuple[int, ...], mu: tuple[int, ...]) -> int:
    if not mu:
        return 1
    # Remove rim hooks of length mu[0] from the diagram in every way, with a minus for each row that a hook goes down.
    # In first-column hook lengths, a removal lowers one of them by mu[0], to a value not yet taken.
    rows = len(shape)
    beta = [part + rows - 1 - i for i, part in enumerate(shape)]
    total = 0
    for value in beta:
        lower = value - mu[0]
        if lower < 0 or lower in beta:
            continue
        passed = sum(lower < other < value for other in beta)
        left = sorted([other for other in beta if other != value] + [lower], reverse=True)
        rest = tuple(part for i, b in enumerate(left) if (part := b - (rows - 1 - i)) > 0)
        total += (-1) ** passed * _character(rest, mu[1:])
    return total


def permanent(A: ArrayLike) -> Any:
    r"""Permanent :math:`\sum_\pi \prod_i A_{i, \pi(i)}`, by Ryser's formula.

    .. math::  \operatorname{per} A = (-1)^n \sum_{S} (-1)^{|S|} \prod_i \sum_{j \in S} A_{ij}.

    :math:`O(2^n n)` time ([Ryser1963]_), against n! terms of the definition; the problem is #P-complete
    ([Valiant1979]_). Terms of both signs cancel, so for entries of one sign, relative errors grow like :math:`2^n`
    times rounding.

    Parameters
    ----------
    A : array_like of shape (n, n)
        Real or complex, at most 24 by 24.

    Examples
    --------
    >>> permanent([[1.0, 2.0], [3.0, 4.0]])
    10.0
    """
    M = _as_square(A, _MAX_PERMANENT)
    n = len(M)
    if n == 0:
        return 1.0
    low = min(n, _BLOCK_BITS)
    # Row sums over all subsets of the first `low` columns.
    sums = np.zeros((1, n), dtype=M.dtype)
    for j in range(low):
        sums = np.concatenate([sums, sums + M[:, j]])
    signs = 1.0 - 2.0 * (np.bitwise_count(np.arange(2**low)) & 1)
    total = 0.0
    for high in range(2 ** (n - low)):
        chosen = [low + j for j in range(n - low) if high >> j & 1]
        products = np.prod(sums + M[:, chosen].sum(axis=1), axis=1)
        total = total + (-1) ** len(chosen) * (signs @ products)
    return _plain((-1) ** n * total)


def cycle_sums(A: ArrayLike) -> Array:
    """For every set S, by its bits, the sum over cyclic permutations of S of the products of entries along the cycle.

    Paths from the lowest item of S to each j are extended by one item at a time: O(2^n n^2).
    """
    M = _as_square(A, _MAX_ALPHA)
    n = len(M)
    paths = np.zeros((2**n, n), dtype=M.dtype)
    C = np.zeros(2**n, dtype=M.dtype)
    for S in range(1, 2**n):
        first = (S & -S).bit_length() - 1
        if S == 1 << first:
            paths[S, first] = 1.0
        ends = [j for j in range(first, n) if S >> j & 1]
        C[S] = paths[S, ends] @ M[ends, first]
        for j in range(first + 1, n):
            if not S >> j & 1:
                paths[S | 1 << j, j] += paths[S, ends] @ M[ends, j]
    return C


def alpha_determinants(A: ArrayLike, alpha: float) -> Array:
    r""":math:`\alpha`-determinants of all principal submatrices by the bits of their sets, in :math:`O(3^n)`.

    .. math::  D(S) = \sum_{T \ni \min S} \alpha^{|T| - 1}\, C(T)\, D(S \setminus T),

    a sum over the cycle T through the lowest item of S.
    """
    a = as_number(alpha, name="alpha")
    if not abs(a) <= 1e10:
        raise DiversetError(f"alpha is {a}; its powers overflow")
    C = cycle_sums(A)
    size = np.bitwise_count(np.arange(len(C))).astype(np.int64)
    D = np.zeros_like(C)
    D[0] = 1.0
    with np.errstate(over="ignore", invalid="ignore"):
        weighted = C * np.power(a, np.maximum(size - 1, 0), dtype=np.float64)
        for S in range(1, len(C)):
            lowest = S & -S
            rest = S ^ lowest
            subsets = _subsets_of(rest)
            D[S] = weighted[subsets | lowest] @ D[rest ^ subsets]
    if not np.isfinite(D).all():
        raise KernelError("products of the entries of A overflow; divide A by its largest entry")
    return D


def _subsets_of(mask: int) -> Any:
    """Bit patterns of all subsets of a set."""
    found = np.zeros(1, dtype=np.int64)
    while mask:
        bit = mask & -mask
        found = np.concatenate([found, found | bit])
        mask ^= bit
    return found


def alpha_determinant(A: ArrayLike, alpha: float) -> Any:
    r""":math:`\alpha`-determinant :math:`\sum_\pi \alpha^{n - \nu(\pi)} \prod_i A_{i, \pi(i)}` ([VereJones1997]_).

    It is the determinant for :math:`\alpha = -1`, the product of the diagonal for 0 and the permanent for 1.

    Parameters
    ----------
    A : array_like of shape (n, n)
        Real or complex, at most 14 by 14.
    alpha : float
        Any number.

    Examples
    --------
    >>> [alpha_determinant([[1.0, 2.0], [3.0, 4.0]], alpha) for alpha in (-1, 0, 1)]
    [-2.0, 4.0, 10.0]
    """
    return _plain(alpha_determinants(A, alpha)[-1])


def cycle_type_sums(A: ArrayLike) -> dict[tuple[int, ...], Any]:
    """For every cycle type, the sum over its permutations of the products of entries."""
    M = _as_square(A, _MAX_IMMANANT)
    C = cycle_sums(M)
    table: list[dict[tuple[int, ...], Any]] = [{(): 1.0}]
    for S in range(1, len(C)):
        lowest = S & -S
        rest = S ^ lowest
        sums: dict[tuple[int, ...], Any] = {}
        for T in _subsets_of(rest).tolist():
            length = T.bit_count() + 1
            for mu, value in table[rest ^ T].items():
                key = tuple(sorted((*mu, length), reverse=True))
                sums[key] = sums.get(key, 0.0) + C[T | lowest] * value
        table.append(sums)
    return {mu: _plain(value) for mu, value in sorted(table[-1].items(), reverse=True)}


def immanant(A: ArrayLike, partition: Iterable[int]) -> Any:
    r"""Immanant :math:`\sum_\pi \chi^\lambda(\pi) \prod_i A_{i, \pi(i)}` for a partition :math:`\lambda` of n.

    :math:`\lambda = (1, \dots, 1)` gives the determinant and :math:`(n)` the permanent. Immanants of positive
    semidefinite matrices are nonnegative.

    Parameters
    ----------
    A : array_like of shape (n, n)
        Real or complex, at most 12 by 12.
    partition : iterable of int
        :math:`\lambda`; its parts add up to n.

    Examples
    --------
    >>> [immanant([[1.0, 2.0], [3.0, 4.0]], shape) for shape in ((1, 1), (2,))]
    [-2.0, 10.0]
    """
    M = _as_square(A, _MAX_IMMANANT)
    shape = as_partition(partition)
    if sum(shape) != len(M):
        raise DiversetError(f"{shape} is a partition of {sum(shape)}, but A has {len(M)} rows; they must agree")
    return _plain(np.asarray(sum(_character(shape, mu) * value for mu, value in cycle_type_sums(M).items()))[()])


def hyperdeterminant(T: ArrayLike) -> Any:
    r"""Cayley's first hyperdeterminant of a tensor with an even number of indices.

    .. math::  \operatorname{Det} T = \sum_{\pi_2, \dots, \pi_m} \prod_{j=2}^m \operatorname{sgn}(\pi_j)
               \prod_{i=1}^n T_{i, \pi_2(i), \dots, \pi_m(i)}.

    With two indices it is the determinant. With an odd number of indices the sum would depend on which one is fixed,
    so it is not defined.
    Laplace expansion along the first index, with a table over sets of used places in the others: at most
    :math:`\sum_k \binom{n}{k}^{m-1} k^{m-1}` products, against :math:`n!^{m-1} n` of the definition. The process with
    weights :math:`\operatorname{Det} T_A` is that of [EvansGottlieb2009]_.

    Parameters
    ----------
    T : array_like of shape (n, ..., n)
        m indices, m even.

    Examples
    --------
    >>> hyperdeterminant([[1.0, 2.0], [3.0, 4.0]])
    -2.0
    """
    tensor = np.asarray(T)
    if tensor.ndim < 2 or tensor.ndim % 2 or len(set(tensor.shape)) != 1:
        raise KernelError(f"T has shape {tensor.shape}; it needs an even number of indices of one length")
    tensor = as_real_or_complex(tensor, name="T", ndim=tensor.ndim)
    check_finite(tensor, name="T")
    n, m = tensor.shape[0], tensor.ndim
    terms = sum((math.comb(n, k) * k) ** (m - 1) for k in range(1, n + 1))
    if terms > 2e6:
        raise DiversetError(f"T has shape {tensor.shape}; the expansion takes {terms:.2g} products, more than 2e6")
    if tensor.size and n * math.log10(max(float(np.abs(tensor).max()), 1.0)) + math.log10(terms) > 300.0:
        raise KernelError("products of the entries of T overflow; divide T by its largest entry")
    # Values of the expansion over the rows so far, by the sets of places used in each other index.
    level: dict[tuple[int, ...], Any] = {(0,) * (m - 1): 1.0}
    for i in range(n):
        following: dict[tuple[int, ...], Any] = {}
        for used, value in level.items():
            free = [[j for j in range(n) if not mask >> j & 1] for mask in used]
            for places in itertools.product(*free):
                entry = tensor[(i, *places)]
                if entry == 0.0:
                    continue
                # Every used place above the new one is an inversion.
                inversions = sum((mask >> j).bit_count() for mask, j in zip(used, places, strict=True))
                key = tuple(mask | 1 << j for mask, j in zip(used, places, strict=True))
                following[key] = following.get(key, 0.0) + (-1) ** inversions * entry * value
        level = following
    result = level.get(((1 << n) - 1,) * (m - 1), 0.0)
    return _plain(np.asarray(result, dtype=np.complex128 if np.iscomplexobj(tensor) else np.float64)[()])


def principal(table: FloatArray, mask: int) -> Any:
    """Block of a matrix or tensor with all indices in the set given by the bits of `mask`."""
    items = [i for i in range(len(table)) if mask >> i & 1]
    return table[np.ix_(*[items] * table.ndim)]
