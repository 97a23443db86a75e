r"""Determinantal processes with a nonsymmetric kernel: items may attract as well as repel.

A symmetric kernel gives :math:`\Pr(i, j \in Y) = K_{ii}K_{jj} - K_{ij}^2`, never more than independence would. If
:math:`K_{ij}` and :math:`K_{ji}` differ in sign the second term is positive, and the two items come together *more*
often: whether such kernels are worthwhile is asked in [KuleszaTaskar2012]_, section 7.3, and answered for
product baskets by [GartrellEtAl2019]_. What is lost is the spectral theory. The kernel defines a distribution
if and only if no principal minor of L is negative, which takes :math:`2^n` determinants to see; but it is enough
that :math:`L + L^T` is positive semidefinite, whatever the skew-symmetric part.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from diverset._typing import Array, FloatArray, IntArray
from diverset.core.cache import cached_property
from diverset.core.distribution import SetDistribution
from diverset.core.representation import no_likelihood_kernel, open_positions
from diverset.errors import DiversetError, ImpossibleEventError, KernelError
from diverset.numerics.linalg import EPS, add_to_diagonal, block_length, cholesky_lower, positions_outside
from diverset.numerics.validation import (
    as_real_or_complex,
    check_finite,
    check_fits_in_memory,
)

if TYPE_CHECKING:
    from diverset.sampling.base import Sampler

__all__ = ["NonsymmetricDPP"]

#: Largest ground set whose principal minors are enumerated.
MAX_ENUMERATED = 15
_CHECKS = ("auto", "minors", "none")


class NonsymmetricDPP(SetDistribution):
    r"""Random set with :math:`\Pr(Y = A) = \det L_A / \det(L + I)` for an L that need not be symmetric.

    As for a DPP, :math:`\Pr(A \subseteq Y) = \det K_A` with :math:`K = L(L+I)^{-1}`.

    Parameters
    ----------
    L : array_like of shape (n_items, n_items)
        Real. Copied.
    check : {"auto", "minors", "none"}
        How to see that L defines a distribution. ``"auto"`` demands that :math:`L + L^T` be positive semidefinite,
        which is sufficient, in :math:`O(n^3)`. ``"minors"`` demands what is necessary, that no principal minor be
        negative, by enumerating them: up to 15 items. ``"none"`` trusts the caller.

    Notes
    -----
    Immutable, and labelled as a :class:`DPP` is. Sizes follow no Poisson-binomial law, since the eigenvalues of K
    may be complex; their law comes from the characteristic polynomial on the unit circle.

    Examples
    --------
    A skew-symmetric part makes the two items partners: neither ever appears alone.

    >>> pair = NonsymmetricDPP([[0.0, 1.0], [-1.0, 0.0]])
    >>> [round(pair.probability(include=A, exclude={0, 1} - A), 12) for A in (set(), {0}, {0, 1})]
    [0.5, 0.0, 0.5]
    """

    _items: IntArray

    def __init__(self, L: ArrayLike, *, check: str = "auto") -> None:
        kernel, rounding = _as_square(L, name="L")
        _check_name(check)
        if check == "minors":
            _check_minors(kernel, rounding)
        elif check == "auto":
            _check_symmetric_part(kernel, rounding)
        self._set(np.arange(len(kernel), dtype=np.int64), L=kernel)

    @classmethod
    def from_marginal(cls, K: ArrayLike, *, check: str = "auto") -> NonsymmetricDPP:
        r"""Process with :math:`\Pr(A \subseteq Y) = \det K_A` for every A.

        Parameters
        ----------
        K : array_like of shape (n_items, n_items)
            Real; eigenvalue 1 is allowed, and then there is no L.
        check : {"auto", "minors", "none"}
            ``"minors"`` demands that no set have negative probability :math:`|\det(K - I_{\bar A})|`, by enumerating
            them: up to 15 items. ``"auto"`` does this for small ground sets; beyond, it demands that no singular
            value of :math:`I - 2K` exceed 1, which is sufficient: it says that :math:`L + L^T` is positive
            semidefinite where L exists, and for symmetric K that :math:`0 \preceq K \preceq I`.

        Examples
        --------
        >>> dpp = NonsymmetricDPP.from_marginal([[0.5, 0.4], [-0.4, 0.5]])
        >>> round(dpp.marginal([0, 1]), 12), round(dpp.marginal([0]) * dpp.marginal([1]), 12)
        (0.41, 0.25)
        """
        kernel, rounding = _as_square(K, name="K")
        _check_name(check)
        if check == "minors" or (check == "auto" and len(kernel) <= MAX_ENUMERATED):
            _check_atoms(kernel, rounding)
        elif check == "auto":
            _check_reflected(kernel, rounding)
        return cls._wrap(np.arange(len(kernel), dtype=np.int64), K=kernel, Kc=add_to_diagonal(-kernel, 1.0))

    def _set(
        self, items: IntArray, L: FloatArray | None = None, K: FloatArray | None = None, Kc: FloatArray | None = None
    ) -> None:
        self._items = items
        self._items.flags.writeable = False
        self._L = L
        # The marginal kernels of the process and of its complement: neither is had from the other when it is small.
        self._given_kernels = None if K is None or Kc is None else (K, Kc)

    @classmethod
    def _wrap(cls, items: IntArray, **kernels: FloatArray) -> NonsymmetricDPP:
        dpp = cls.__new__(cls)
        dpp._set(items, **kernels)
        return dpp

    def __repr__(self) -> str:
        return f"NonsymmetricDPP(n_items={self.n_items})"

    # kernels ---------------------------------------------------------------------------------------------

    @cached_property
    def _Kc(self) -> FloatArray:
        """(L + I)^-1."""
        if self._given_kernels is not None:
            return self._given_kernels[1]
        assert self._L is not None  # built from L or from both others
        if self.n_items == 0:
            return np.zeros((0, 0))
        from scipy.linalg import inv

        inverse: FloatArray = inv(self._lifted(), check_finite=False)
        return inverse

    @cached_property
    def _K(self) -> FloatArray:
        """L (L + I)^-1: relative accuracy also for small L."""
        if self._given_kernels is not None:
            return self._given_kernels[0]
        assert self._L is not None
        product: FloatArray = self._L @ self._Kc
        return product

    def _lifted(self) -> FloatArray:
        assert self._L is not None
        return add_to_diagonal(self._L.copy(), 1.0)

    @property
    def L(self) -> FloatArray:
        """Likelihood kernel, of shape (n_items, n_items); raises where K has an eigenvalue 1."""
        if self._L is not None:
            return self._L.copy()
        if self.log_normalizer == math.inf:
            raise no_likelihood_kernel()
        L = np.asarray(np.linalg.solve(self._Kc.T, self._K.T).T, dtype=np.float64)
        return L

    @property
    def K(self) -> FloatArray:
        """Marginal kernel, of shape (n_items, n_items)."""
        return self._K.copy()

    @cached_property
    def log_normalizer(self) -> float:
        r""":math:`\log\det(L + I) = -\log\Pr(Y = \emptyset)`; ``inf`` where K has eigenvalue 1."""
        return -_log_det(self._Kc) if self._L is None else _log_det(self._lifted())

    # probabilities ---------------------------------------------------------------------------------------

    def _log_prob(self, inside: IntArray) -> float:
        if self._L is None:
            return self._log_probability(inside, positions_outside(inside, self.n_items))
        return _log_det(self._L[np.ix_(inside, inside)]) - self.log_normalizer

    def _log_probability(self, inside: IntArray, outside: IntArray) -> float:
        return min(_log_det(_mixed(self._K, self._Kc, inside, outside)), 0.0)

    @property
    def inclusion_probabilities(self) -> FloatArray:
        """Probability of each item to appear, the diagonal of K; of shape (n_items,)."""
        return np.clip(np.diagonal(self._K), 0.0, 1.0)

    def pair_probabilities(self, pairs: Sequence[tuple[int, int]] | None = None) -> FloatArray:
        r"""Probabilities :math:`K_{ii}K_{jj} - K_{ij}K_{ji}` that two items appear together.

        More than the product of the two where the off-diagonal entries differ in sign.
        """
        p = self.inclusion_probabilities
        if pairs is None:
            check_fits_in_memory(3 * self._K.nbytes, what=f"the pair probabilities of {self.n_items} items")
            together = np.outer(p, p) - self._K * self._K.T
            np.fill_diagonal(together, p)
        else:
            i, j = self._pairs(pairs)
            together = p[i] * p[j] - self._K[i, j] * self._K[j, i]
        return np.clip(together, 0.0, 1.0)

    @property
    def expected_size(self) -> float:
        r"""Mean size, :math:`\mathrm{tr} K`."""
        return float(np.trace(self._K))

    @property
    def size_variance(self) -> float:
        r"""Variance of the size, :math:`\mathrm{tr} K - \mathrm{tr} K^2`; may exceed the mean."""
        return float(np.einsum("ij,ji->", self._K, self._Kc))

    @property
    def size_distribution(self) -> FloatArray:
        r"""Probability of every size, 0 to n_items.

        The generating function :math:`\mathrm{E} z^{|Y|} = \det(I + (z-1)K)` at the roots of unity, by the eigenvalues
        of K, then a Fourier transform: errors near 1e-16 absolute. :math:`O(n^3)`.
        """
        n = self.n_items
        if n == 0:
            return np.ones(1)
        from scipy.linalg import eigvals

        kappa = eigvals(self._K, check_finite=False)
        # Real coefficients: the other half of the circle is the conjugate of this one.
        angles = -2.0 * np.pi * np.arange(n // 2 + 1 + n % 2) / (n + 1)
        step = 2j * np.sin(angles / 2.0) * np.exp(0.5j * angles)  # z - 1, without cancellation
        values = np.empty(len(step), dtype=np.complex128)
        rows = block_length(2 * n)
        # Factors beyond the unit disc and within it may over- or underflow before they meet; their logs do not.
        with np.errstate(divide="ignore"):
            for first in range(0, len(step), rows):
                factors = 1.0 + step[first : first + rows, None] * kappa
                phases = np.angle(factors).sum(axis=1)
                values[first : first + rows] = np.exp(np.log(np.abs(factors)).sum(axis=1)) * np.exp(1j * phases)
        pmf = np.maximum(np.fft.irfft(values, n + 1), 0.0)
        total: FloatArray = pmf / pmf.sum()
        return total

    def sampler(self, size: int = 1, *, method: str = "auto") -> Sampler:
        """Item by item, by elimination of K: the one exact way that needs no spectral theory."""
        from diverset.sampling.base import Offer, take
        from diverset.sampling.sequential import NonsymmetricSampler

        offer = take([Offer("sequential", 0.0, lambda: NonsymmetricSampler(self._K))], method)
        return self._cache.recent(offer.name, offer.prepare)

    # new processes from this one -------------------------------------------------------------------------

    def condition(self, include: Iterable[int] = (), exclude: Iterable[int] = ()) -> NonsymmetricDPP:
        """Process of the other items, given that `include` appear and `exclude` do not; labels are kept.

        Raises
        ------
        ImpossibleEventError
            If the event has probability zero.
        """
        inside, outside = self._assignment(include, exclude)
        keep = open_positions(inside, outside, self.n_items)
        if self._log_probability(inside, outside) == -math.inf:
            raise ImpossibleEventError(
                f"cannot condition on including {self._items[inside].tolist()} and excluding "
                f"{self._items[outside].tolist()}: its probability is 0"
            )
        if self._L is not None and len(inside) == 0:
            return self._wrap(self._items[keep], L=self._L[np.ix_(keep, keep)])
        # Not by a Schur complement of L: an item may be possible though no set holds it alone, L_ii = 0.
        K = _conditioned(self._K, self._Kc, inside, outside, keep)
        Kc = _conditioned(self._Kc, self._K, outside, inside, keep)
        return self._wrap(self._items[keep], K=K, Kc=Kc)

    def restrict(self, A: Iterable[int]) -> NonsymmetricDPP:
        r"""Process of :math:`Y \cap A`, with marginal kernel :math:`K_A`."""
        keep = self._positions(A)
        K, Kc = (kernel[np.ix_(keep, keep)] for kernel in (self._K, self._Kc))
        return self._wrap(self._items[keep], K=K, Kc=Kc)

    def complement(self) -> NonsymmetricDPP:
        r"""Process of the items that do not appear, with marginal kernel :math:`I - K`."""
        return self._wrap(self._items, K=self._Kc, Kc=self._K)


def _mixed(K: FloatArray, Kc: FloatArray, inside: IntArray, outside: IntArray) -> FloatArray:
    r"""The matrix whose determinant is the probability that all of A and none of B appear.

    :math:`\begin{pmatrix} K_A & K_{AB} \\ -K_{BA} & \bar K_B \end{pmatrix}`, which needs no inverse.
    """
    items = np.concatenate([inside, outside])
    mixed: FloatArray = K[np.ix_(items, items)]
    mixed[len(inside) :] *= -1.0
    mixed[len(inside) :, len(inside) :] = Kc[np.ix_(outside, outside)]
    return mixed


def _conditioned(K: FloatArray, Kc: FloatArray, inside: IntArray, outside: IntArray, keep: IntArray) -> FloatArray:
    """Marginal kernel of the items in `keep`, given the others: a Schur complement of the mixed matrix."""
    rest: FloatArray = K[np.ix_(keep, keep)]
    given = np.concatenate([inside, outside])
    if len(given) == 0:
        return rest
    right = K[np.ix_(given, keep)]
    right[len(inside) :] *= -1.0
    rest -= K[np.ix_(keep, given)] @ np.linalg.solve(_mixed(K, Kc, inside, outside), right)
    return rest


def _log_det(a: FloatArray) -> float:
    """Log-determinant; ``-inf`` where it is zero, or negative, within rounding."""
    m = len(a)
    if m == 0:
        return 0.0
    # Rows, then columns, of largest entry 1: scale never decides whether they are dependent.
    rows = np.abs(a).max(axis=1)
    if not rows.all():
        return -math.inf
    scaled = a / rows[:, None]
    columns = np.abs(scaled).max(axis=0)
    if not columns.all():
        return -math.inf
    from scipy.linalg import lapack

    factor, swaps, _ = lapack.dgetrf(scaled / columns)
    pivots = np.diagonal(factor)
    odd = np.count_nonzero(swaps != np.arange(m)) + np.count_nonzero(pivots < 0.0)
    if odd % 2 or not (np.abs(pivots) > 8.0 * m * EPS).all():
        return -math.inf
    return float(np.log(np.abs(pivots)).sum() + np.log(rows).sum() + np.log(columns).sum())


# checks --------------------------------------------------------------------------------------------------


def _as_square(a: Any, *, name: str) -> tuple[FloatArray, float]:
    """`a` as a private, finite, real square array, and what rounding its size and precision allow."""
    array = as_real_or_complex(a, name=name, ndim=2)
    if np.iscomplexobj(array):
        raise KernelError(f"{name} is complex; a nonsymmetric kernel must be real (Hermitian ones go to DPP)")
    if array.shape[0] != array.shape[1]:
        raise KernelError(f"{name} has shape {array.shape}; a kernel is square, one row and column per item")
    check_fits_in_memory(8 * array.size, what=f"a copy of {name}")
    copy = np.array(array, dtype=np.float64, order="C")
    check_finite(copy, name=name)
    return copy, 8.0 * max(len(copy), 8) * float(np.finfo(array.dtype).eps)


def _check_name(check: str) -> None:
    if check not in _CHECKS:
        raise DiversetError(f"check is {check!r}; choose one of {', '.join(_CHECKS)}")


def _check_enumerable(n: int) -> None:
    if n > MAX_ENUMERATED:
        raise DiversetError(
            f"check='minors' takes 2**{n} determinants for {n} items, and is for {MAX_ENUMERATED} at most; "
            "check='auto' looks at a sufficient condition"
        )


def _check_symmetric_part(L: FloatArray, rounding: float) -> None:
    """Refuse L unless its symmetric part is positive semidefinite."""
    # Rounding is that of L: beside a large skew-symmetric part, it may be all there is of the symmetric one.
    slack = rounding * float(np.abs(L).max(initial=0.0))
    symmetric = (L + L.T) / 2.0
    if slack == 0.0 or cholesky_lower(add_to_diagonal(symmetric.copy(), slack), overwrite=True) is not None:
        return
    smallest = float(np.linalg.eigvalsh(symmetric)[0])
    if smallest < -slack:
        raise KernelError(
            f"(L + L.T) / 2 has smallest eigenvalue {smallest:.6g}; if it is positive semidefinite L surely defines a "
            f"distribution. Otherwise check='minors' looks at every principal minor (up to {MAX_ENUMERATED} items), "
            "and check='none' trusts you"
        )


def _check_minors(L: FloatArray, rounding: float) -> None:
    """Refuse a negative principal minor, naming its items."""
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


def _check_atoms(K: FloatArray, rounding: float) -> None:
    """Refuse a set of negative probability, naming its items."""
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


def _check_reflected(K: FloatArray, rounding: float) -> None:
    """Refuse K unless I - 2K has norm at most one."""
    # With Q = I - 2K: K + K^T - 2 K^T K = (I - Q^T Q) / 2, and (I-K)^T (L + L^T) (I-K) is the former.
    top = float(np.linalg.norm(np.eye(len(K)) - 2.0 * K, 2))
    if top > 1.0 + rounding:
        raise KernelError(
            f"I - 2K has largest singular value {top:.6g}; at most 1 is enough for K to define a distribution. "
            f"Otherwise check='minors' looks at every set (up to {MAX_ENUMERATED} items), and check='none' trusts you"
        )
