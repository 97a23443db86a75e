r"""Exact draws from a kernel function, n up to millions: draws of a simple dominating kernel, then rejection.

A partial Cholesky factorisation reads a few columns of L and leaves a residual known by its diagonal e,

.. math::  L = A + E, \qquad A = FF^\top, \qquad |E_{ij}| \le \sqrt{e_i e_j}.

**Domination.** With :math:`d_i = \sqrt{e_i} \sum_j \sqrt{e_j}` and any vector v, by the Cauchy-Schwarz inequality

.. math::

    v^\top E v \le \Big(\sum_i |v_i| \sqrt{e_i}\Big)^2
        \le \Big(\sum_i v_i^2 \sqrt{e_i}\Big) \Big(\sum_j \sqrt{e_j}\Big) = v^\top \mathrm{diag}(d)\, v,

so that :math:`L \preceq L' = A + D` with D = diag(d), and :math:`\det L_Y \le \det L'_Y` for every set Y. (Among all
diagonal matrices for which this argument works the sum of d, :math:`\sigma = (\sum_i \sqrt{e_i})^2`, is smallest.)

**Drawing from L'.** A determinant with a sum on its diagonal is a sum over sets,

.. math::  \det L'_Y = \sum_{S \subseteq Y} \det D_S\, \det A_{Y \setminus S},

hence Y is the union of a pair (S, T) of *disjoint* sets with probability proportional to
:math:`\det D_S \det A_T`: draw S and T independently, and start again unless they are disjoint. S takes a Poisson
number of items, :math:`\sigma` on average, each with probability proportional to d, and is drawn anew where two are the
same: the probability of each set is then proportional to :math:`\prod_{i \in S} d_i`. T is a draw of the low-rank DPP
with kernel A.

**Acceptance.** Y is kept with probability :math:`\det L_Y/\det L'_Y`, for which the kernel is evaluated on Y alone;
otherwise everything starts again. The result has law :math:`\det L_Y/\det(I+L)` exactly, whatever the rank of F.
An attempt succeeds with probability

.. math::  \frac{\det(I + L)}{e^\sigma \det(I + A)} \ge e^{-\sigma},

so the rank affects the cost only, and is raised until :math:`\sigma` is small.

**k-DPP.** The number s of items in S has probability proportional to :math:`\sigma^s/s!\; e_{k-s}(A)`, T is a draw of
the (k - s)-DPP, and the rest is the same; an attempt succeeds with probability at least
:math:`e_k(A)/\sum_s \tfrac{\sigma^s}{s!} e_{k-s}(A)`, which does not change when L is multiplied by a number.

**Rounding.** The entries of A carry an error of a few rounding units of the diagonal of L. It is added to e, and
covers the inequality for E, so domination survives it: at n = 1,000,000 and unit diagonal it adds 0.007 to
:math:`\sigma`. Pivots below it are not used. The law is exact up to the rounding of the two determinants.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from diverset._typing import FloatArray, IntArray, RNGLike
from diverset.core.eigenpairs import from_eigenpairs
from diverset.core.representation import Representation
from diverset.core.spectrum import Spectrum
from diverset.errors import DiversetError, SizeError
from diverset.numerics import symmetric
from diverset.numerics.linalg import EPS, add_to_diagonal, log_det_psd
from diverset.numerics.validation import as_generator, available_memory, check_count, check_size
from diverset.sampling.base import Sampler
from diverset.sampling.kernel_function import (
    KernelEntries,
    KernelFunction,
    PartialCholesky,
    orthonormalised,
    partial_cholesky,
)

__all__ = ["Dominating", "IntermediateSampler", "log_size_weights", "sample_kernel"]

#: Sum of d at which the factor is good enough (half of it before small eigenvalues are dropped): 4 of 5 accepted.
_ENOUGH = 0.2
#: Smallest accepted acceptance probability.
_LEAST_ACCEPTANCE = 1e-4
#: Default of the largest rank.
_MAX_RANK = 4096


def log_size_weights(log_lam: FloatArray, k: int, total: float) -> FloatArray:
    r"""Logarithms of :math:`\sigma^s e_{k-s}(\lambda)/s!` for s = 0..k, with :math:`\sigma` the `total`."""
    s = np.arange(k + 1)
    log_e = symmetric.log_elementary_symmetric_all(log_lam, k)[::-1]
    if total == 0.0:
        return np.where(s == 0, log_e, -np.inf)
    from scipy.special import gammaln

    return log_e + s * math.log(total) - gammaln(s + 1.0)


class Dominating:
    r"""The kernel :math:`L' = A + \mathrm{diag}(d) \succeq L`, with A of low rank; see the module docstring.

    ``low_rank`` is the DPP with kernel A, held by eigenpairs; ``residual`` bounds the diagonal e of L - A, and ``d`` is
    the diagonal of L' - A. The factorisation stops when the sum of d is `enough` (for a k-DPP, relative to
    :math:`e_k/e_{k-1}` of A) or at `max_rank`.
    """

    def __init__(
        self, entries: KernelEntries, k: int | None = None, *, max_rank: int | None = None, enough: float = _ENOUGH
    ) -> None:
        limit = _affordable_rank(entries.n_items) if max_rank is None else max_rank
        self.entries = entries
        self._k = k
        found = partial_cholesky(entries, _stopping_rule(k, enough / 2.0), max_rank=limit)
        self._compress(found, enough)
        root = np.sqrt(self.residual)
        self.d = root * root.sum()
        self.total = float(root.sum()) ** 2
        self.complete = found.complete

    def _compress(self, found: PartialCholesky, enough: float) -> None:
        """Eigenpairs of the factor, without those small enough to join the residual."""
        lam, W = np.linalg.eigh(found.columns.gram())
        lam = np.maximum(lam, 0.0)
        n = self.entries.n_items
        # (sum sqrt e)^2 <= n sum e, nearly an equality where the residual is spread evenly.
        room = enough / _tilt(lam, self._k) / max(n, 1) - float(found.bound.sum())
        drop = int(np.searchsorted(np.cumsum(lam), room, side="right"))
        drop = max(drop, int(np.count_nonzero(lam <= EPS * lam.max(initial=0.0))))
        V = orthonormalised(found.columns.product(W[:, drop:] / np.sqrt(lam[drop:])))
        self.low_rank: Representation = from_eigenpairs(Spectrum.from_likelihood(lam[drop:], 0.0), V)
        left = self.entries.diagonal() - self.low_rank.likelihood_diagonal()
        self.residual: FloatArray = np.maximum(left, 0.0) + found.rounding

    @property
    def rank(self) -> int:
        """Rank of A."""
        return self.low_rank.spectrum.rank

    def log_acceptance(self, Y: IntArray) -> float:
        r"""Log of :math:`\det L_Y/\det L'_Y`, at most 0; the kernel is evaluated at Y."""
        if len(Y) == 0:
            return 0.0
        L = self.entries.block(Y, Y)
        log_det = log_det_psd(L, EPS * np.diagonal(L))
        if log_det == -math.inf:
            return -math.inf
        above = add_to_diagonal(self.low_rank.likelihood_block(Y, Y), self.d[Y])
        return min(log_det - log_det_psd(above, np.zeros(len(Y))), 0.0)


def _affordable_rank(n: int) -> int:
    """Rank whose factor, eigenvectors and tables take less than half of the memory."""
    free = available_memory()
    most = _MAX_RANK if free is None else int(free / 2 / (40.0 * max(n, 1)))
    return max(64, min(n, _MAX_RANK, most))


def _tilt(lam: FloatArray, k: int | None) -> float:
    """Ratio e_{k-1}/e_k, the unit of the residual for a k-DPP; 1 for a DPP."""
    if k is None or k == 0:
        return 1.0
    with np.errstate(divide="ignore"):
        log_lam = np.log(lam)
    log_e = symmetric.log_elementary_symmetric(log_lam, k)
    if log_e == -math.inf:
        return math.inf
    return math.exp(symmetric.log_elementary_symmetric(log_lam, k - 1) - log_e)


def _stopping_rule(k: int | None, enough: float) -> Callable[[PartialCholesky], bool]:
    """Stop when the sum of d, in the unit for k, is at most `enough`."""
    unit = 1.0 if k is None or k == 0 else math.inf
    looked_at = 0

    def stop(found: PartialCholesky) -> bool:
        nonlocal unit, looked_at
        # The unit falls as the factor grows, so an old one errs on the safe side; eigenvalues are computed seldom.
        if k and found.rank >= max(k, 1.3 * looked_at):
            looked_at = found.rank
            unit = _tilt(np.maximum(np.linalg.eigvalsh(found.columns.gram()), 0.0), k)
        return float(np.sqrt(found.bound).sum()) ** 2 * unit <= enough

    return stop


class IntermediateSampler(Sampler):
    r"""Exact draws of a DPP or k-DPP whose kernel is a function; see the module docstring.

    Parameters
    ----------
    kernel : KernelFunction
        The likelihood kernel L; any object with ``n_items``, ``block`` and ``diagonal`` is accepted.
    k : int, optional
        Size of the sets; a DPP by default.
    max_rank : int, optional
        Largest rank of the factor; by default what half of the free memory can hold, at most 4096.

    Raises
    ------
    SizeError
        If k is larger than the rank of the kernel.
    DiversetError
        If fewer than 1 attempt in 10,000 would succeed at this rank.

    Notes
    -----
    Set-up: about 1.5 times rank(A) columns of L and :math:`O(nr^2)`, then the set-up of the rejection sampler for A. A
    draw is a draw of that sampler and two determinants. How large r must be is a matter of how fast the eigenvalues
    fall: for the rbf kernel in a few dimensions, a small multiple of the expected size; for rough kernels (Matérn with
    a small ``nu``) or many dimensions it can come near n, and MCMC is the way.

    Examples
    --------
    >>> import functools, numpy as np, diverset as dv
    >>> X = np.random.default_rng(0).random((5_000, 2))
    >>> kernel = KernelFunction(X, functools.partial(dv.kernels.rbf, length_scale=0.5))
    >>> sampler = IntermediateSampler(kernel, k=6)
    >>> sampler.draw(np.random.default_rng(1)).shape, sampler.acceptance_bound > 0.7
    ((6,), True)
    """

    name = "intermediate"

    def __init__(self, kernel: KernelEntries, k: int | None = None, *, max_rank: int | None = None) -> None:
        self._k = None if k is None else check_size(k)
        if self._k is not None and self._k > kernel.n_items:
            raise SizeError(f"k is {self._k}, but there are {kernel.n_items} items")
        rank = None if max_rank is None else check_count(max_rank, name="max_rank")
        self.dominating = Dominating(kernel, self._k, max_rank=rank)
        self._cumulative = np.cumsum(self.dominating.d)
        if self._k is not None:
            self._prepare_sizes(self._k)
        if self.acceptance_bound < _LEAST_ACCEPTANCE:
            raise DiversetError(
                f"at rank {self.rank} the residual of the kernel is {self.dominating.residual.sum():.3g}, and only "
                f"{self.acceptance_bound:.1g} of the attempts would be accepted; the kernel's eigenvalues fall too "
                'slowly: raise max_rank, use a smoother similarity, or draw with method="mcmc"'
            )

    def _prepare_sizes(self, k: int) -> None:
        if self.dominating.complete and self.rank < k:
            raise SizeError(f"k is {k}, but the kernel has rank {self.rank}: its sets have 0 to {self.rank} items")
        log_w = log_size_weights(self.dominating.low_rank.spectrum.log_odds, k, self.dominating.total)
        w = np.exp(log_w - log_w.max())
        self._size_weights = w / w.sum()

    @property
    def rank(self) -> int:
        """Rank of the low-rank part."""
        return self.dominating.rank

    @property
    def residual(self) -> float:
        """Trace of the residual of the low-rank part."""
        return float(self.dominating.residual.sum())

    @property
    def acceptance_bound(self) -> float:
        """Lower bound on the probability that an attempt is accepted."""
        return math.exp(-self.dominating.total) if self._k is None else float(self._size_weights[0])

    def _draw_residual_items(self, s: int, rng: np.random.Generator) -> IntArray | None:
        """The set S of `s` items, or None if two of them are the same."""
        if s == 0:
            return np.zeros(0, dtype=np.int64)
        S = np.searchsorted(self._cumulative, rng.random(s) * self._cumulative[-1], side="right")
        return S if s < 2 or len(np.unique(S)) == s else None

    def _accepts(self, S: IntArray | None, T: IntArray, rng: np.random.Generator) -> IntArray | None:
        """The set drawn, if this attempt succeeds."""
        level = math.log1p(-rng.random())
        if S is None or (len(S) and np.isin(S, T).any()):
            return None
        Y = np.sort(np.concatenate([S, T])) if len(S) else T
        return Y if level <= self.dominating.log_acceptance(Y) else None

    def draw(self, rng: np.random.Generator) -> IntArray:
        """One draw."""
        return self.draw_many(1, rng)[0]

    def draw_many(self, size: int, rng: np.random.Generator) -> list[IntArray]:
        """Independent draws; attempts are made for several draws at a time."""
        draws: list[IntArray] = []
        attempts, most = 0, 1_000 + 100 * (size + 1) / self.acceptance_bound
        while len(draws) < size:
            m = size - len(draws)
            if attempts > most:
                raise DiversetError(
                    f"{attempts} attempts gave {len(draws)} draws, where {self.acceptance_bound:.3g} of them should "
                    "succeed; is the similarity positive semidefinite, and k at most its rank?"
                )
            attempts += m
            counts = (
                rng.poisson(self.dominating.total, m)
                if self._k is None
                else rng.choice(self._k + 1, size=m, p=self._size_weights)
            )
            T: list[IntArray] = [np.zeros(0, dtype=np.int64)] * m
            for s in [0] if self._k is None else np.unique(counts):
                where = np.arange(m) if self._k is None else np.flatnonzero(counts == s)
                left = None if self._k is None else self._k - int(s)
                sampler = self.dominating.low_rank.sampler(left, method="rejection")
                for i, draw in zip(where, sampler.draw_many(len(where), rng), strict=True):
                    T[i] = draw
            for s, t in zip(counts, T, strict=True):
                Y = self._accepts(self._draw_residual_items(int(s), rng), t, rng)
                if Y is not None:
                    draws.append(Y)
        return draws


def sample_kernel(
    X: Any,
    similarity: Callable[[Any, Any], ArrayLike],
    *,
    quality: ArrayLike | None = None,
    k: int | None = None,
    size: int | None = None,
    rng: RNGLike = None,
    method: Literal["intermediate", "mcmc"] = "intermediate",
    diagonal: float | Callable[[Any], ArrayLike] | None = None,
) -> IntArray | list[IntArray]:
    r"""Draw from the DPP with kernel :math:`L_{ij} = q_i\, s(x_i, x_j)\, q_j` without forming it.

    Parameters
    ----------
    X, similarity, quality, diagonal
        The kernel, as in :class:`diverset.sampling.KernelFunction`.
    k : int, optional
        Size of the sets, for a k-DPP; a DPP by default.
    size : int, optional
        Number of sets; by default a single one, not in a list.
    rng : int, Generator or None
        Seed or generator. The same seed gives the same draws.
    method : {"intermediate", "mcmc"}
        ``"intermediate"`` is exact and suits smooth similarities (:class:`diverset.sampling.IntermediateSampler`).
        ``"mcmc"`` is approximate and suits any similarity (:func:`diverset.sampling.mcmc_chain`).

    Returns
    -------
    ndarray of int64, or list of them
        Rows of X, ascending.

    Examples
    --------
    Ten points of a hundred thousand, far from each other.

    >>> import functools, numpy as np, diverset as dv
    >>> X = np.random.default_rng(0).random((100_000, 2))
    >>> rbf = functools.partial(dv.kernels.rbf, length_scale=0.5)
    >>> len(sample_kernel(X, rbf, k=10, rng=0, diagonal=1.0))
    10
    """
    kernel = KernelFunction(X, similarity, quality, diagonal=diagonal)
    if method == "intermediate":
        sampler: Sampler = IntermediateSampler(kernel, k)
    elif method == "mcmc":
        from diverset.sampling.mcmc import MCMCSampler

        sampler = MCMCSampler(kernel, k)
    else:
        raise DiversetError(f'method is {method!r}; choose "intermediate" or "mcmc"')
    generator = as_generator(rng)
    if size is None:
        return sampler.draw(generator)
    return sampler.draw_many(check_size(size, name="size"), generator)
