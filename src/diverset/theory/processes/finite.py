r"""Processes on finite ground sets with other weights than determinants ([KuleszaTaskar2012]_, section 2.5.3).

For few items all subsets are listed: :class:`TabulatedProcess`, with weights from permanents,
:math:`\alpha`-determinants, immanants or hyperdeterminants. :class:`AlphaPermanental` is the process with
multiplicities, for any number of items.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import ArrayLike

from diverset._typing import Array, BoolArray, FloatArray, IntArray, RNGLike
from diverset.core.cache import cached_property
from diverset.core.distribution import SetDistribution
from diverset.core.dpp import DPP
from diverset.errors import DiversetError, ImpossibleEventError, KernelError
from diverset.numerics.validation import (
    as_generator,
    as_hermitian,
    as_number,
    as_real,
    check_fits_in_memory,
    check_positive_semidefinite,
    check_size,
)
from diverset.sampling.base import Offer, Sampler, take
from diverset.sampling.generic import EnumerationSampler
from diverset.theory.processes.immanants import (
    alpha_determinant,
    alpha_determinants,
    as_partition,
    hyperdeterminant,
    immanant,
    principal,
)

__all__ = [
    "AlphaPermanental",
    "TabulatedProcess",
    "alpha_determinantal",
    "hyperdeterminantal",
    "immanantal",
    "permanental",
]

#: Largest ground set whose subsets are listed.
MAX_TABULATED = 20


def members(n: int) -> BoolArray:
    """Membership of the items in every subset, of shape (2**n, n); bit i of the row number stands for item i."""
    if n > MAX_TABULATED:
        raise DiversetError(f"{n} items have 2**{n} subsets; at most {MAX_TABULATED} items can be listed")
    return np.asarray((np.arange(2**n)[:, np.newaxis] >> np.arange(n)) & 1 == 1)


class TabulatedProcess(SetDistribution):
    r"""Random subset of n items with :math:`\Pr(Y = A) = w_A / \sum_B w_B`, for a table of weights.

    Relatives of the DPP have normalisers that are hard to compute ([KuleszaTaskar2012]_, sections 2.5.2 and 2.5.3). For
    few items, all subsets are listed instead.

    Every answer takes :math:`O(2^n)`; draws are exact.

    Parameters
    ----------
    log_weights : array_like of shape (2**n,)
        Logarithms of the weights; bit i of the position stands for item i. At most 20 items.

    Examples
    --------
    >>> pair = TabulatedProcess(np.log([1.0, 2.0, 3.0, 4.0]))
    >>> pair.inclusion_probabilities
    array([0.6, 0.7])
    >>> pair.condition(include=[1]).inclusion_probabilities.round(4)
    array([0.5714])
    """

    def __init__(self, log_weights: ArrayLike) -> None:
        table = np.array(as_real(log_weights, name="log_weights"))
        n = max(len(table), 1).bit_length() - 1 if table.ndim == 1 else -1
        if n < 0 or len(table) != 2**n:
            raise DiversetError(f"log_weights has shape {table.shape}; give one for each of the 2**n subsets")
        wrong = np.isnan(table) | (table == np.inf)
        if wrong.any():
            i = int(wrong.argmax())
            raise DiversetError(f"log_weights[{i}] is {table[i]}; it must be finite, or -inf for an impossible set")
        self._set(np.arange(n, dtype=np.int64), table)

    def _set(self, items: IntArray, table: FloatArray) -> None:
        self._items = items
        self._items.flags.writeable = False
        top = float(table.max())
        if top == -np.inf:
            raise ImpossibleEventError("every set has weight 0, so there is no law")
        weights = np.exp(table - top)
        self.log_normalizer = top + math.log(float(weights.sum()))
        self._log_law = table - self.log_normalizer
        self._law: FloatArray = weights / weights.sum()
        self._law.flags.writeable = False

    @classmethod
    def from_weights(cls, weights: ArrayLike) -> TabulatedProcess:
        """Process with the given weights; raises for weights that are negative by more than rounding."""
        table = np.array(as_real(weights, name="weights"))
        if table.size and np.isfinite(table).all() and table.min() < 0.0:
            worst = int(table.argmin())
            if table[worst] < -1e-12 * np.abs(table).max():
                items = [i for i in range(worst.bit_length()) if worst >> i & 1]
                raise DiversetError(f"the set {items} has weight {table[worst]:.6g}; weights must not be negative")
            table = np.maximum(table, 0.0)
        with np.errstate(divide="ignore", invalid="ignore"):
            return cls(np.log(table))

    def __repr__(self) -> str:
        return f"TabulatedProcess(n_items={self.n_items})"

    @property
    def law(self) -> FloatArray:
        """Probability of every subset, of shape (2**n,), numbered by bits."""
        return self._law

    @cached_property
    def _members(self) -> BoolArray:
        return members(self.n_items)

    def _log_prob(self, inside: IntArray) -> float:
        return float(self._log_law[int((1 << inside).sum())])

    def _log_event_probability(self, inside: IntArray, outside: IntArray) -> float:
        total = float(self._law[self._fitting(inside, outside)].sum())
        return math.log(total) if total > 0.0 else -math.inf

    def _fitting(self, inside: IntArray, outside: IntArray) -> BoolArray:
        """Subsets that contain all of `inside` and none of `outside`."""
        return np.asarray(self._members[:, inside].all(axis=1) & ~self._members[:, outside].any(axis=1))

    @property
    def inclusion_probabilities(self) -> FloatArray:
        """Probability that each item is in the set."""
        return np.asarray(self._law @ self._members)

    def pair_probabilities(self, pairs: Sequence[tuple[int, int]] | None = None) -> FloatArray:
        """Probabilities that two items are both in the set, for the given pairs or for all pairs."""
        M = self._members.astype(np.float64)
        together: FloatArray = (M * self._law[:, np.newaxis]).T @ M
        return together if pairs is None else np.asarray(together[self._pairs(pairs)])

    @property
    def size_distribution(self) -> FloatArray:
        """Probability of every size, from 0 to the number of items."""
        pmf = np.bincount(self._members.sum(axis=1), self._law, minlength=self.n_items + 1)
        return np.asarray(pmf, dtype=np.float64)

    def condition(self, include: Iterable[int] = (), exclude: Iterable[int] = ()) -> TabulatedProcess:
        """Law of the other items, given that the set contains `include` and not `exclude`; labels are kept."""
        inside, outside = self._assignment(include, exclude)
        fits = self._fitting(inside, outside)
        if not self._law[fits].any():
            raise ImpossibleEventError("the event has probability 0, so nothing can be conditioned on it")
        left = np.setdiff1d(np.arange(self.n_items), np.concatenate([inside, outside]))
        # Fitting rows are in the order of the remaining bits.
        conditioned = TabulatedProcess.__new__(TabulatedProcess)
        conditioned._set(np.take(self._items, left), self._log_law[fits])
        return conditioned

    def sampler(self, size: int = 1, *, method: str = "auto") -> Sampler:
        """Sampler from the table, the only method."""
        offer = take([Offer("enumeration", 0.0, lambda: EnumerationSampler(self._law))], method)
        return self._cache.recent(offer.name, offer.prepare)


def _as_kernel(L: ArrayLike, *, name: str = "L") -> Array:
    kernel = as_hermitian(L, name=name)
    check_positive_semidefinite(kernel, name=name, given=L, remedy="its kernel must be positive semidefinite")
    return kernel


def alpha_determinantal(L: ArrayLike, alpha: float) -> TabulatedProcess:
    r"""Sets weighted by :math:`\alpha`-determinants, :math:`\Pr(Y = A) \propto \det_\alpha(L_A)`.

    :math:`\alpha = -1` is the DPP, 0 independent items, 1 the permanental weights: from repulsion to clustering.

    Parameters
    ----------
    L : array_like of shape (n, n)
        Symmetric or Hermitian, positive semidefinite; at most 14 items.
    alpha : float
        Weights must be nonnegative. They are for :math:`\alpha = -1/m`, :math:`1/m`, and, if L is real, :math:`2/m`
        with a whole number m, and are checked otherwise.

    Examples
    --------
    >>> L = np.array([[1.0, 0.8], [0.8, 1.0]])
    >>> [round(alpha_determinantal(L, alpha).marginal([0, 1]), 3) for alpha in (-1, 0, 1)]
    [0.107, 0.25, 0.353]
    """
    kernel = _as_kernel(L)
    return TabulatedProcess.from_weights(np.real(alpha_determinants(kernel, alpha)))


def permanental(L: ArrayLike) -> TabulatedProcess:
    r"""Sets weighted by permanents, :math:`\Pr(Y = A) \propto \operatorname{per}(L_A)`: similar items attract.

    This is :func:`alpha_determinantal` with :math:`\alpha = 1`, the boson counterpart of the DPP restricted to sets;
    :class:`AlphaPermanental` is the process with multiplicities.

    Examples
    --------
    >>> both = permanental([[1.0, 0.8], [0.8, 1.0]]).marginal([0, 1])
    >>> round(both, 3)
    0.353
    """
    return alpha_determinantal(L, 1.0)


def immanantal(L: ArrayLike, partition: Iterable[int]) -> TabulatedProcess:
    r"""Sets of k items weighted by an immanant, :math:`\Pr(Y = A) \propto \operatorname{imm}_\lambda(L_A)`.

    :math:`\lambda = (1, \dots, 1)` gives the k-DPP and :math:`(k)` permanental weights ([DiaconisEvans2000]_).

    Parameters
    ----------
    L : array_like of shape (n, n)
        Positive semidefinite; at most 20 items.
    partition : iterable of int
        :math:`\lambda`, a partition of the size k.

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
    sets = [mask for mask in range(2**n) if mask.bit_count() == k]
    weights = np.zeros(2**n)
    weights[sets] = [np.real(immanant(principal(kernel, mask), shape)) if k else 1.0 for mask in sets]
    return TabulatedProcess.from_weights(weights)


def hyperdeterminantal(T: ArrayLike) -> TabulatedProcess:
    r"""Sets weighted by hyperdeterminants, :math:`\Pr(Y = A) \propto \operatorname{Det}(T_A)` ([EvansGottlieb2009]_).

    A tensor :math:`T_{abcd} = \sum_k \lambda_k f_k(a) f_k(b) g_k(c) g_k(d)` has nonnegative weights, sums of
    :math:`\prod_{k \in S} \lambda_k \det(f_S(A))^2 \det(g_S(A))^2`; other weights are checked.

    Parameters
    ----------
    T : array_like of shape (n, ..., n)
        Real, with an even number of indices.

    Examples
    --------
    >>> hyperdeterminantal(np.eye(2)).law
    array([0.25, 0.25, 0.25, 0.25])
    """
    tensor = as_real(T, name="T")
    if len(set(tensor.shape)) != 1:
        raise KernelError(f"T has shape {tensor.shape}; all its indices must be of one length")
    weights = [1.0 if mask == 0 else hyperdeterminant(principal(tensor, mask)) for mask in range(2 ** len(tensor))]
    return TabulatedProcess.from_weights(weights)


class AlphaPermanental:
    r"""Random multiset with factorial moments :math:`\mathbb{E} \prod_i (N_i)_{m_i} = \det_\alpha K[m]`.

    :math:`N_i` counts item i, :math:`(N)_m = N (N-1) \cdots (N-m+1)`, and K[m] repeats row and column i
    :math:`m_i` times. Constructions are known for these values of :math:`\alpha` ([ShiraiTakahashi2003]_):

    * :math:`\alpha = 1/m`: given m independent complex Gaussian vectors with covariance :math:`\alpha K`,
      :math:`N_i` is Poisson with mean the sum of their squared moduli at i. For :math:`\alpha = 1` this is the
      permanental (boson) process of [Macchi1975]_.
    * :math:`\alpha = 2/m`, for real K: the same with m real Gaussian vectors with covariance :math:`\alpha K / 2`.
    * :math:`\alpha = -1/m`: the union, with multiplicity, of m independent DPPs with marginal kernel K/m, whose
      eigenvalues must not exceed 1.

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
            raise DiversetError(f"alpha is {self.alpha}; it must be -1/m, 1/m, or 2/m with a real kernel")
        self._part = DPP.from_marginal(self.K / self.copies) if self.alpha < 0.0 else None

    def __repr__(self) -> str:
        return f"AlphaPermanental(n_items={len(self.K)}, alpha={self.alpha:g})"

    def factorial_moment(self, counts: Iterable[int]) -> float:
        r"""The expectation :math:`\mathbb{E} \prod_i (N_i)_{m_i}` for counts m."""
        return self._determinant(self.K, self._counts(counts))

    def _counts(self, counts: Iterable[int]) -> list[int]:
        m = [check_size(count, name="a count") for count in counts]
        if len(m) != len(self.K):
            raise DiversetError(f"counts has {len(m)} entries for {len(self.K)} items; give one each")
        return m

    def _determinant(self, kernel: Array, counts: list[int]) -> float:
        """The alpha-determinant of a kernel with repeated rows and columns."""
        repeated = np.repeat(np.arange(len(counts)), counts)
        return float(np.real(alpha_determinant(kernel[np.ix_(repeated, repeated)], self.alpha)))

    def sample(self, size: int | None = None, *, rng: RNGLike = None) -> IntArray:
        """Draw counts, of shape (n,), or (size, n) for several draws. Exact; O(n^3) once and O(mn^2) per draw."""
        generator = as_generator(rng)
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
        # Each complex vector has covariance alpha K, half from the real and half from the imaginary part.
        g = z[..., 0] if self._real else (z[..., 0] + 1j * z[..., 1])
        field = np.abs(g @ root.conj().T) ** 2
        return np.asarray(self.alpha / 2.0 * field.sum(axis=1))

    def log_prob(self, counts: Iterable[int]) -> float:
        r"""Log-probability of a multiset, for :math:`\alpha > 0`.

        .. math::  \Pr(N = m) = \frac{\det_\alpha \tilde K[m]}{\prod_i m_i!}\; \det(I + \alpha K)^{-1/\alpha},
                   \qquad \tilde K = K (I + \alpha K)^{-1}.
        """
        if self.alpha < 0.0:
            raise DiversetError(f"alpha is {self.alpha}; log_prob is for positive alpha")
        m = self._counts(counts)
        lifted = np.eye(len(m)) + self.alpha * self.K
        value = self._determinant(np.linalg.solve(lifted, self.K), m)
        if value <= 0.0:
            return -math.inf
        log_det = float(np.linalg.slogdet(lifted)[1])
        return math.log(value) - sum(math.lgamma(count + 1) for count in m) - log_det / self.alpha
