r"""Processes with other sums over permutations in place of the determinant ([KuleszaTaskar2012]_, section 2.5.3).

On a few items, sets weighted by permanents, :math:`\alpha`-determinants, immanants or hyperdeterminants, by listing all
subsets; and, for any number of items, the processes themselves, in which an item may come more than once:
:class:`AlphaPermanental`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np
from numpy.typing import ArrayLike

from diverset._typing import Array, FloatArray, IntArray, RNGLike
from diverset.core.dpp import DPP
from diverset.errors import DiversetError, KernelError
from diverset.numerics.validation import (
    as_hermitian,
    as_number,
    as_real_or_complex,
    check_fits_in_memory,
    check_positive_semidefinite,
    check_size,
)
from diverset.theory.processes.characters import as_partition
from diverset.theory.processes.immanants import (
    alpha_determinant,
    alpha_determinants,
    hyperdeterminant,
    immanant,
    principal,
)
from diverset.theory.processes.tabulated import TabulatedProcess

__all__ = [
    "AlphaPermanental",
    "alpha_determinantal",
    "hyperdeterminantal",
    "immanantal",
    "permanental",
]

_REMEDY = "its kernel must be positive semidefinite"


def _as_kernel(L: ArrayLike, *, name: str = "L") -> Array:
    kernel = as_hermitian(L, name=name)
    check_positive_semidefinite(kernel, name=name, given=L, remedy=_REMEDY)
    return kernel


def alpha_determinantal(L: ArrayLike, alpha: float) -> TabulatedProcess:
    r"""Sets weighted by :math:`\alpha`-determinants, :math:`\Pr(Y = A) \propto \det_\alpha(L_A)`.

    :math:`\alpha = -1` is the DPP, 0 independent items, 1 the permanental weights: from repulsion to clustering.

    Parameters
    ----------
    L : array_like of shape (n, n)
        Symmetric or Hermitian, positive semidefinite; at most 14 items.
    alpha : float
        Weights must come out nonnegative: they do for :math:`\alpha = -1/m` and for :math:`\alpha = 1/m, 2/m` with a
        whole number m (the latter for real L), and are otherwise looked at.

    Returns
    -------
    TabulatedProcess

    Examples
    --------
    >>> L = np.array([[1.0, 0.8], [0.8, 1.0]])
    >>> [round(alpha_determinantal(L, alpha).marginal([0, 1]), 3) for alpha in (-1, 0, 1)]
    [0.107, 0.25, 0.353]
    """
    kernel = _as_kernel(L)
    return TabulatedProcess.from_weights(np.real(alpha_determinants(kernel, alpha)))


def permanental(L: ArrayLike) -> TabulatedProcess:
    r"""Sets weighted by permanents, :math:`\Pr(Y = A) \propto \operatorname{per}(L_A)`: alike items come together.

    The boson counterpart of the DPP, restricted to sets; see :class:`AlphaPermanental` for the process with
    multiplicities.

    Parameters
    ----------
    L : array_like of shape (n, n)
        Positive semidefinite; at most 14 items.

    Returns
    -------
    TabulatedProcess

    Examples
    --------
    >>> both = permanental([[1.0, 0.8], [0.8, 1.0]]).marginal([0, 1])
    >>> round(both, 3)
    0.353
    """
    return alpha_determinantal(L, 1.0)


def immanantal(L: ArrayLike, partition: Iterable[int]) -> TabulatedProcess:
    r"""Sets of k items weighted by an immanant, :math:`\Pr(Y = A) \propto \operatorname{imm}_\lambda(L_A)`.

    :math:`\lambda = (1, \dots, 1)` is the k-DPP and :math:`(k)` the permanental weights; the others lie between
    ([DiaconisEvans2000]_).

    Parameters
    ----------
    L : array_like of shape (n, n)
        Positive semidefinite; at most 20 items.
    partition : iterable of int
        :math:`\lambda`, a partition of the size k.

    Returns
    -------
    TabulatedProcess

    Examples
    --------
    >>> L = np.array([[1.0, 0.8, 0.1, 0.1], [0.8, 1, 0.1, 0.1], [0.1, 0.1, 1, 0.1], [0.1, 0.1, 0.1, 1]])
    >>> [round(immanantal(L, shape).marginal([0, 1]), 3) for shape in ((1, 1, 1), (2, 1), (3,))]
    [0.268, 0.498, 0.619]
    """
    kernel = _as_kernel(L)
    shape = as_partition(partition)
    k, n = sum(shape), len(kernel)
    if k > n:
        raise DiversetError(f"{shape} is a partition of {k}, but there are {n} items")
    weights = np.zeros(2**n)
    for mask in range(2**n):
        if mask.bit_count() == k:
            weights[mask] = np.real(immanant(principal(kernel, mask), shape)) if k else 1.0
    return TabulatedProcess.from_weights(weights)


def hyperdeterminantal(T: ArrayLike) -> TabulatedProcess:
    r"""Sets weighted by hyperdeterminants, :math:`\Pr(Y = A) \propto \operatorname{Det}(T_A)` ([EvansGottlieb2009]_).

    A tensor :math:`T_{abcd} = \sum_k \lambda_k f_k(a) f_k(b) g_k(c) g_k(d)` has nonnegative weights, sums of
    :math:`\prod_{k \in S} \lambda_k \det(f_S(A))^2 \det(g_S(A))^2`; others are looked at.

    Parameters
    ----------
    T : array_like of shape (n, ..., n)
        An even number of indices.

    Returns
    -------
    TabulatedProcess

    Examples
    --------
    >>> hyperdeterminantal(np.eye(2)).law
    array([0.25, 0.25, 0.25, 0.25])
    """
    tensor = as_real_or_complex(T, name="T", ndim=np.ndim(T))
    if np.iscomplexobj(tensor):
        raise KernelError("T is complex; give a real tensor")
    if len(set(tensor.shape)) != 1:
        raise KernelError(f"T has shape {tensor.shape}; all its indices must be of one length")
    n = len(tensor)
    weights = [1.0 if mask == 0 else hyperdeterminant(principal(tensor, mask)) for mask in range(2**n)]
    return TabulatedProcess.from_weights(weights)


class AlphaPermanental:
    r"""Random multiset with factorial moments :math:`\mathbb{E} \prod_i (N_i)_{m_i} = \det_\alpha K[m]`.

    :math:`N_i` counts item i, :math:`(N)_m = N (N-1) \cdots (N-m+1)`, and K[m] repeats row and column i
    :math:`m_i` times. The values of :math:`\alpha` for which there is a construction ([ShiraiTakahashi2003]_):

    * :math:`\alpha = 1/m`: given m independent complex Gaussian vectors with covariance :math:`\alpha K`,
      :math:`N_i` is Poisson with mean the sum of their squared moduli at i. For :math:`\alpha = 1` this is the
      permanental (boson) process of [Macchi1975]_.
    * :math:`\alpha = 2/m`, for real K: the same with m real Gaussian vectors with covariance :math:`\alpha K / 2`.
    * :math:`\alpha = -1/m`: the union, with multiplicity, of m independent DPPs with marginal kernel K/m; so K is at
      most m times the identity.

    Parameters
    ----------
    K : array_like of shape (n, n)
        Symmetric or Hermitian, positive semidefinite.
    alpha : float
        One of the above.

    Examples
    --------
    >>> process = AlphaPermanental([[0.5, 0.4], [0.4, 0.5]], 1.0)
    >>> round(process.factorial_moment([1, 1]), 6), round(process.factorial_moment([2, 0]), 6)
    (0.41, 0.5)
    >>> process.sample(3, rng=1).shape
    (3, 2)
    """

    def __init__(self, K: ArrayLike, alpha: float) -> None:
        self.K = _as_kernel(K, name="K")
        self.K.flags.writeable = False
        self.alpha = as_number(alpha, name="alpha")
        if not 1e-15 < abs(self.alpha) <= 2.0:
            raise DiversetError(f"alpha is {self.alpha}; it must be -1/m, 1/m or 2/m for a whole number m")
        copies = 1.0 / abs(self.alpha)
        self._real = False
        if abs(copies - round(copies)) < 1e-9 and round(copies) >= 1:
            self.copies = round(copies)
        elif self.alpha > 0.0 and abs(2.0 * copies - round(2.0 * copies)) < 1e-9 and not np.iscomplexobj(self.K):
            self.copies, self._real = round(2.0 * copies), True
        else:
            raise DiversetError(
                f"alpha is {self.alpha}; a construction is known for -1/m, 1/m, and 2/m with a real kernel"
            )
        self._part = DPP.from_marginal(self.K / self.copies) if self.alpha < 0.0 else None

    def __repr__(self) -> str:
        return f"AlphaPermanental(n_items={len(self.K)}, alpha={self.alpha:g})"

    def factorial_moment(self, counts: Iterable[int]) -> float:
        """Expected number of ways to choose that many of each item from a draw, in order."""
        m = [check_size(count, name="a count") for count in counts]
        if len(m) != len(self.K):
            raise DiversetError(f"counts has {len(m)} entries for {len(self.K)} items; give one each")
        repeated = np.repeat(np.arange(len(m)), m)
        return float(np.real(alpha_determinant(self.K[np.ix_(repeated, repeated)], self.alpha)))

    def sample(self, size: int | None = None, *, rng: RNGLike = None) -> IntArray:
        """Draw counts, of shape (n,), or (size, n) for several draws. Exact; O(n^3) once and O(mn^2) a draw."""
        generator = np.random.default_rng(rng)
        count = 1 if size is None else check_size(size, name="size")
        n = len(self.K)
        if self._part is not None:
            counts = np.zeros((count, n), dtype=np.int64)
            for draw in range(count):
                for Y in self._part.sample(self.copies, rng=generator):
                    counts[draw, Y] += 1
        else:
            counts = generator.poisson(self._field(count, generator)).astype(np.int64)
        return counts[0] if size is None else counts

    def _field(self, count: int, rng: np.random.Generator) -> FloatArray:
        """Means of the counts given the Gaussian vectors, of shape (count, n)."""
        lam, V = np.linalg.eigh(self.K)
        root = V * np.sqrt(np.maximum(lam, 0.0))
        check_fits_in_memory(
            64 * count * self.copies * len(lam),
            what=f"{self.copies:,} Gaussian vectors for each of {count} draws",
            remedy="take alpha further from 0, or fewer draws at a time",
        )
        z = rng.standard_normal((count, self.copies, len(lam), 1 if self._real else 2))
        # Each complex vector has covariance alpha K, half of it from either part.
        g = z[..., 0] if self._real else (z[..., 0] + 1j * z[..., 1])
        field = np.abs(g @ root.conj().T) ** 2
        means: FloatArray = self.alpha / 2.0 * field.sum(axis=1)
        return means

    def log_prob(self, counts: Iterable[int]) -> float:
        r"""Log-probability of a multiset, for :math:`\alpha > 0`.

        .. math::  \Pr(N = m) = \frac{\det_\alpha \tilde K[m]}{\prod_i m_i!}\; \det(I + \alpha K)^{-1/\alpha},
                   \qquad \tilde K = K (I + \alpha K)^{-1}.
        """
        if self.alpha < 0.0:
            raise DiversetError(f"alpha is {self.alpha}; log_prob is for positive alpha")
        m = [check_size(count, name="a count") for count in counts]
        n = len(self.K)
        if len(m) != n:
            raise DiversetError(f"counts has {len(m)} entries for {n} items; give one each")
        lifted = np.eye(n) + self.alpha * self.K
        tilted = np.linalg.solve(lifted, self.K)
        repeated = np.repeat(np.arange(n), m)
        value = float(np.real(alpha_determinant(tilted[np.ix_(repeated, repeated)], self.alpha)))
        if value <= 0.0:
            return -math.inf
        log_det = float(np.linalg.slogdet(lifted)[1])
        return math.log(value) - sum(math.lgamma(count + 1) for count in m) - log_det / self.alpha
