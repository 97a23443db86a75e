r"""The sequential sampler: one pass over the items, each kept or left out by a coin; no eigendecomposition.

If K is the marginal kernel of the items not yet decided, given all decisions so far, then the next of them
appears with probability :math:`p = K_{jj}`, and what the decision leaves is one step of Gaussian elimination
whose pivot is p if the item is kept and :math:`p - 1` if not ([Poulson2019]_). There are three ways to run it:

- From K, Hermitian (:math:`LDL^*`) or not (LU): recursively, halves of halves, so that all but blocks of a few
  dozen items is matrix products. An eigenvalue 0 or 1 of K is no exception: a pivot that is 0 after rounding
  belongs to an item that is left out, with pivot -1.
- From L, with one Cholesky factorisation :math:`L + I = RR^*` and no K. Items are decided from the last to the
  first. Given the decisions, the complement of the leading m items has marginal kernel

  .. math::  Z = R_m^{-*} (I + G^*G) R_m^{-1},

  where G has m columns and one row per item kept. With g the last column of G, :math:`s = \lVert g\rVert^2`, r the
  last diagonal entry of :math:`R_m` and :math:`\rho` the row left of it, the last item is kept with probability
  :math:`p = 1 - (1+s)/r^2`, and G without its last column becomes :math:`(I + gg^*)^{-1/2} G`, below which, for an
  item kept, a row :math:`(\rho - r\,g^*G/(1+s)) / \sqrt{p/(1-p)}` is added. :math:`O(n^2 |Y|)` after the
  factorisation, which draws share.
- From low-rank rows, :math:`K = GG^*`: the same elimination on the D x D matrix M of :math:`K' = GMG^*`, block by
  block, :math:`O(nD^2)` and never an n x n matrix.

A draw takes exactly n uniforms, in the order of deciding. The ``...Steps`` classes are the plain twins, one item
and one rank-one update at a time: the same uniforms give the same set.
"""

from __future__ import annotations

import abc
from collections.abc import Iterable

import numpy as np
from scipy.linalg import blas
from scipy.special import expit

from diverset._typing import Array, BoolArray, FloatArray, IntArray
from diverset.core.complement import Complement
from diverset.core.dense import DenseLikelihood, DenseMarginal
from diverset.core.distribution import SetDistribution
from diverset.core.lowrank import LowRankLikelihood, LowRankMarginal
from diverset.core.nonsymmetric import NonsymmetricDPP
from diverset.core.representation import Representation
from diverset.errors import DiversetError
from diverset.numerics.linalg import EPS, block_length, positions_outside, product, row_norms_squared
from diverset.numerics.validation import check_fits_in_memory
from diverset.sampling.base import Sampler

__all__ = [
    "CholeskySteps",
    "MarginalSteps",
    "RowSteps",
    "Steps",
    "draw_from_cholesky",
    "draw_from_marginal",
    "draw_from_nonsymmetric",
    "draw_from_rows",
    "draw_plain",
    "prepare",
    "prepare_nonsymmetric",
]

#: Pivots below this are zero. Nobody will see an event this rare, and dividing by it could overflow.
_ZERO = EPS * EPS
#: Items decided by one compiled loop.
_LEAF = 128
#: Items decided between two updates of the leading columns of G.
_BLOCK = 128
#: Rows or columns updated at a time, so that the product needs little memory.
_CHUNK = 512


def prepare(representation: Representation, k: int | None) -> Sampler:
    """Sampler of a DPP; `k` must be None. From L draws share the Cholesky factor of L + I, from K nothing."""
    if k is not None:
        raise DiversetError(
            f"the sequential sampler does not draw sets of a fixed size, here k = {k}; "
            "use method='auto', 'rejection' or 'spectral'"
        )
    if isinstance(representation, Complement):
        return _FromComplement(prepare(representation.base, None), representation.n)
    if isinstance(representation, DenseLikelihood) and not representation._delicate:
        return _FromCholesky(representation)
    if isinstance(representation, LowRankLikelihood | LowRankMarginal):
        return _FromRows(representation)
    if isinstance(representation, DenseMarginal):
        return _FromMarginal(representation._K)
    check_fits_in_memory(16 * representation.n**2, what="the marginal kernel")
    everything = np.arange(representation.n)
    return _FromMarginal(representation.marginal_block(everything, everything))


def prepare_nonsymmetric(distribution: SetDistribution) -> Sampler:
    """Sampler of a :class:`NonsymmetricDPP`."""
    if not isinstance(distribution, NonsymmetricDPP):
        raise DiversetError(f"a {type(distribution).__name__} is no NonsymmetricDPP")
    from diverset.sampling.nonsymmetric import prepare_sequential

    return prepare_sequential(distribution._form)


# plain twins ---------------------------------------------------------------------------------------------


class Steps(abc.ABC):
    """State of a draw between two decisions; immutable, so that a test can follow every branch."""

    items: tuple[int, ...]

    @property
    @abc.abstractmethod
    def done(self) -> bool:
        """Whether every item has been decided."""

    @abc.abstractmethod
    def weights(self) -> tuple[float, float]:
        """Probabilities that the next item is left out, and that it is kept."""

    @abc.abstractmethod
    def pick(self, inside: int) -> Steps:
        """State after leaving the next item out (0) or keeping it (1)."""


def draw_plain(state: Steps, uniforms: FloatArray) -> IntArray:
    """Positions of one draw, ascending, by the plain steps."""
    for u in uniforms:
        state = state.pick(int(u < state.weights()[1]))
    return np.sort(np.array(state.items, dtype=np.int64))


class MarginalSteps(Steps):
    """From a marginal kernel, Hermitian or not: what is left of it after the items decided so far."""

    def __init__(self, K: Array, items: tuple[int, ...] = (), decided: int = 0) -> None:
        self.K = K
        self.items = items
        self.decided = decided

    @property
    def done(self) -> bool:
        """Whether nothing is left of the kernel."""
        return len(self.K) == 0

    def weights(self) -> tuple[float, float]:
        """The pivot is the probability to be kept."""
        p = min(max(float(self.K[0, 0].real), 0.0), 1.0)
        return (1.0 - p, p) if p >= _ZERO else (1.0, 0.0)

    def pivot(self, inside: int) -> float:
        """What elimination divides by: one less for an item left out."""
        p = self.weights()[1]
        return p if inside else p - 1.0

    def pick(self, inside: int) -> MarginalSteps:
        """One step of elimination."""
        rest = self.K[1:, 1:] - np.outer(self.K[1:, 0] / self.pivot(inside), self.K[0, 1:])
        items = (*self.items, self.decided) if inside else self.items
        return type(self)(rest, items, self.decided + 1)


class CholeskySteps(Steps):
    r"""From the factor of :math:`L + I = RR^*`, last item first; `excess` is the square of its diagonal, less 1."""

    def __init__(self, R: Array, excess: FloatArray, G: Array | None = None, items: tuple[int, ...] = ()) -> None:
        self.R = R
        self.excess = excess
        self.G = np.zeros((0, len(R)), dtype=R.dtype) if G is None else G
        self.items = items

    @property
    def done(self) -> bool:
        """Whether G has no column left."""
        return int(self.G.shape[1]) == 0

    def _gap(self) -> tuple[float, float]:
        """The squared norm s of the last column, and p r^2."""
        s = float(row_norms_squared(self.G[:, -1:].T)[0])
        return s, max(float(self.excess[self.G.shape[1] - 1]) - s, 0.0)

    def weights(self) -> tuple[float, float]:
        """(1+s)/r^2, and what is missing from it to one."""
        s, gap = self._gap()
        square = 1.0 + float(self.excess[self.G.shape[1] - 1])
        return min((1.0 + s) / square, 1.0), gap / square

    def pick(self, inside: int) -> CholeskySteps:
        """Shrink the other columns along the last, and add a row for an item kept."""
        j = self.G.shape[1] - 1
        s, gap = self._gap()
        g, G = self.G[:, j], self.G[:, :j]
        t = g.conj() @ G
        root = np.sqrt(1.0 + s)
        # (I + gg*)^-1/2 = I - beta gg*, with beta = (1 - 1/root)/s written without cancellation.
        G = G - np.outer(g, t) / (root * (1.0 + root))
        if not inside:
            return CholeskySteps(self.R, self.excess, G, self.items)
        row = (self.R[j, :j] - self.R[j, j].real / (1.0 + s) * t) / np.sqrt(gap / (1.0 + s))
        return CholeskySteps(self.R, self.excess, np.concatenate([G, row[None]]), (*self.items, j))


class RowSteps(Steps):
    """From rows G with K = GG*: the matrix M of the conditional kernel GMG*."""

    def __init__(self, G: Array, M: Array | None = None, items: tuple[int, ...] = (), decided: int = 0) -> None:
        self.G = G
        self.M = np.eye(G.shape[1], dtype=G.dtype) if M is None else M
        self.items = items
        self.decided = decided

    @property
    def done(self) -> bool:
        """Whether every row has been read."""
        return self.decided == len(self.G)

    def weights(self) -> tuple[float, float]:
        """The squared length of the next row, in the metric M, is the probability to be kept."""
        g = self.G[self.decided]
        p = min(max(float((g @ self.M @ g.conj()).real), 0.0), 1.0)
        return (1.0 - p, p) if p >= _ZERO else (1.0, 0.0)

    def pick(self, inside: int) -> RowSteps:
        """A rank-one update of M."""
        p = self.weights()[1]
        v = self.M @ self.G[self.decided].conj()
        M = self.M - np.outer(v, v.conj()) / (p if inside else p - 1.0)
        items = (*self.items, self.decided) if inside else self.items
        return RowSteps(self.G, M, items, self.decided + 1)


# from K --------------------------------------------------------------------------------------------------


def _solve_right(triangle: Array, X: Array, *, lower: bool, unit: bool, adjoint: bool) -> None:
    r"""Overwrite the C-ordered X by the solution of :math:`X' T = X`, or :math:`X' T^* = X`, T C-ordered."""
    if X.size == 0:
        return
    trsm = blas.ztrsm if np.iscomplexobj(X) else blas.dtrsm
    # BLAS reads a C-ordered matrix as its transpose: T' X'^T = X^T with T' = T^T, or conj(T) from T^T adjoint.
    trsm(1.0, triangle.T, X.T, side=0, lower=not lower, trans_a=2 if adjoint else 0, diag=unit, overwrite_b=1)


def _decide_hermitian(A: Array, start: int, stop: int, uniforms: FloatArray, chosen: BoolArray, d: FloatArray) -> None:
    """Decide items start..stop of the Schur complement A, leaving unit L below its diagonal and pivots in d."""
    from diverset.sampling import _sequential_loops as loops

    if stop - start <= _LEAF:
        loops.decide_hermitian(A, start, stop, uniforms, chosen, d, _ZERO)
        return
    middle = (start + stop) // 2
    _decide_hermitian(A, start, middle, uniforms, chosen, d)
    X = A[middle:stop, start:middle].copy()
    _solve_right(A[start:middle, start:middle].copy(), X, lower=True, unit=True, adjoint=True)
    L21 = X / d[start:middle]
    A[middle:stop, start:middle] = L21
    X = X.conj()
    for first in range(middle, stop, _CHUNK):
        last = min(first + _CHUNK, stop)
        A[first:stop, first:last] -= product(L21[first - middle :], X[first - middle : last - middle], transpose=True)
    _decide_hermitian(A, middle, stop, uniforms, chosen, d)


def draw_from_marginal(K: Array, uniforms: FloatArray) -> IntArray:
    r"""Positions of one draw, from a Hermitian marginal kernel; about :math:`n^3/3` operations, K is kept."""
    check_fits_in_memory(2 * K.nbytes, what="the elimination of K")
    chosen = np.zeros(len(K), dtype=np.bool_)
    _decide_hermitian(np.array(K, order="C"), 0, len(K), uniforms, chosen, np.empty(len(K)))
    return np.flatnonzero(chosen).astype(np.int64, copy=False)


def _decide_general(A: Array, start: int, stop: int, uniforms: FloatArray, chosen: BoolArray) -> None:
    """Decide items start..stop of the Schur complement A, leaving its factors L and U."""
    from diverset.sampling import _sequential_loops as loops

    if stop - start <= _LEAF:
        loops.decide_general(A, start, stop, uniforms, chosen, _ZERO)
        return
    middle = (start + stop) // 2
    _decide_general(A, start, middle, uniforms, chosen)
    corner = A[start:middle, start:middle].copy()
    L21 = A[middle:stop, start:middle].copy()
    _solve_right(corner, L21, lower=False, unit=False, adjoint=False)
    A[middle:stop, start:middle] = L21
    # L X = A12 is X^T L^T = A12^T.
    U12 = A[start:middle, middle:stop].T.copy()
    _solve_right(corner.T.copy(), U12, lower=False, unit=True, adjoint=False)
    A[start:middle, middle:stop] = U12.T
    for first in range(middle, stop, _CHUNK):
        last = min(first + _CHUNK, stop)
        A[first:last, middle:stop] -= product(L21[first - middle : last - middle], U12, transpose=True)
    _decide_general(A, middle, stop, uniforms, chosen)


def draw_from_nonsymmetric(K: Array, uniforms: FloatArray) -> IntArray:
    r"""Positions of one draw, from any marginal kernel; about :math:`2n^3/3` operations, K is kept."""
    check_fits_in_memory(2 * K.nbytes, what="the elimination of K")
    chosen = np.zeros(len(K), dtype=np.bool_)
    _decide_general(np.array(K, order="C"), 0, len(K), uniforms, chosen)
    return np.flatnonzero(chosen).astype(np.int64, copy=False)


# from L --------------------------------------------------------------------------------------------------


def cholesky_excess(R: Array, diagonal: FloatArray) -> FloatArray:
    r"""Squares of the diagonal of R, less one, without cancellation: :math:`L_{jj} - \sum_{i<j}|R_{ji}|^2`.

    For L near 1e-12, ``R[j, j]**2 - 1`` would have four digits.
    """
    excess = diagonal.copy()
    for start in range(0, len(R), _CHUNK):
        rows = R[start : start + _CHUNK]
        excess[start : start + _CHUNK] -= row_norms_squared(rows[:, :start])
        corner = np.tril(rows[:, start : start + _CHUNK], -1)
        excess[start : start + _CHUNK] -= row_norms_squared(corner)
    return np.maximum(excess, 0.0)


def draw_from_cholesky(R: Array, excess: FloatArray, uniforms: FloatArray, *, block: int = _BLOCK) -> IntArray:
    r"""Positions of one draw, from the lower Cholesky factor of L + I and the `excess` of its diagonal.

    Notes
    -----
    :math:`\tfrac23 n^2|Y|` to :math:`2n^2|Y|` operations. The b items of a block are decided by a compiled loop on
    their own columns of G. Its rank-one updates then reach the leading columns at once: with the vectors g of
    the block as columns of F, and G extended by the rows :math:`\rho/\sqrt{p/(1-p)}` of the items kept, they are
    :math:`G \leftarrow G - BT`, :math:`(I + \mathrm{triu}(F^*B, 1))\,T = F^*G`: the compact form of a product of
    reflectors, but for :math:`\beta`. B is F scaled by :math:`\beta`, plus :math:`r/((1+s)\sqrt{p/(1-p)})` where
    an item's column meets its own new row.
    """
    from diverset.sampling import _sequential_loops as loops

    n = len(R)
    chosen = np.zeros(n, dtype=np.bool_)
    # G transposed: the columns of G are contiguous, and rows are added on the right.
    H = np.empty((n, min(n, 2 * block)), dtype=R.dtype)
    width = 0
    for stop in range(n, 0, -block):
        start = max(stop - block, 0)
        b = stop - start
        F = np.zeros((b, width + b), dtype=R.dtype)
        F[:, :width] = H[start:stop, :width]
        beta, root_odds, mixing = np.zeros(b), np.ones(b), np.zeros(b)
        new_width = loops.decide_lifted(
            F,
            R[start:stop, start:stop],
            excess[start:stop],
            uniforms[n - stop : n - start],
            width,
            chosen[start:stop],
            beta,
            root_odds,
            mixing,
        )
        if start == 0:
            break
        if new_width > H.shape[1]:
            capacity = min(n, 2 * new_width)
            check_fits_in_memory(H.itemsize * start * capacity, what="the state of the sequential sampler")
            narrow, H = H, np.empty((start, capacity), dtype=R.dtype)
            H[:, :width] = narrow[:start, :width]
        kept = np.flatnonzero(chosen[start:stop])[::-1]
        F = F[:, :new_width]
        B = beta[:, None] * F
        B[kept, np.arange(width, new_width)] += mixing[kept]
        # Items are decided last first: entry (q, j) is how item j's vector sees what was done for a later q.
        F_star = np.ascontiguousarray(F.conj().T)
        _solve_right(np.tril(product(B, F_star), -1), F_star, lower=True, unit=True, adjoint=False)
        step = block_length(new_width, 1 << 23)
        for first in range(0, start, step):
            last = min(first + step, start)
            rows = H[first:last, :new_width]
            if len(kept):
                rows[:, width:] = (R[start + kept, first:last] / root_odds[kept, None]).T
            rows -= product(product(np.ascontiguousarray(rows), F_star), B)
        width = new_width
    return np.flatnonzero(chosen).astype(np.int64, copy=False)


# from low-rank rows --------------------------------------------------------------------------------------


def draw_from_rows(blocks: Iterable[Array], width: int, uniforms: FloatArray) -> IntArray:
    r"""Positions of one draw, from consecutive blocks of rows G of the given width, with :math:`K = GG^*`.

    Notes
    -----
    A few rows at a time: with X = GM their conditional kernel is :math:`XG^* = LDL^*`, decided as a dense one, after
    which M loses :math:`Y^*D^{-1}Y`, :math:`Y = L^{-1}X`. :math:`O(nD^2)` in matrix products.
    """
    chosen = np.zeros(len(uniforms), dtype=np.bool_)
    step = min(max(width, 64), 256)
    M: Array = np.eye(width)
    done = 0
    for block in blocks:
        for first in range(0, len(block), step):
            G = block[first : first + step]
            b = len(G)
            X = product(G, M)
            A = product(X, G.conj(), transpose=True)
            d = np.empty(b)
            _decide_hermitian(A, 0, b, uniforms[done : done + b], chosen[done : done + b], d)
            done += b
            # Y = L^-1 X, solved as Y^T L^T = X^T.
            Y = X.T.copy()
            _solve_right(A.T.copy(), Y, lower=False, unit=True, adjoint=False)
            M = M - product((Y / d).conj(), Y, transpose=True)
            M = (M + M.conj().T) / 2.0
    return np.flatnonzero(chosen).astype(np.int64, copy=False)


def marginal_transform(representation: LowRankLikelihood | LowRankMarginal) -> Array | None:
    """Matrix (or column scales) T such that the rows of the factor's base, times T, have Gram matrix K."""
    factor = representation.factor
    if representation._eigenpairs is not None:
        return np.sqrt(representation._eigenpairs.marginal)
    if isinstance(representation, LowRankMarginal):
        return factor.transform
    if EPS * float(np.trace(representation.gram).real) > 1e-11:
        # Next to a large dual kernel of deficient rank the identity is lost; its spectrum knows the zeros.
        values, vectors = representation._eigh
        support = representation.spectrum.support
        kept = slice(len(values) - len(support), None)
        return factor.combined(vectors[:, kept] * np.sqrt(expit(support) / values[kept]))
    return factor.combined(representation._marginal_map)


# samplers ------------------------------------------------------------------------------------------------


class _Sequential(Sampler):
    """A kernel, ready to be gone through item by item."""

    n: int

    @abc.abstractmethod
    def steps(self) -> Steps:
        """The plain twin, before its first decision."""

    @abc.abstractmethod
    def decide(self, uniforms: FloatArray) -> IntArray:
        """Positions of the draw that these n uniforms make."""

    def draw(self, rng: np.random.Generator) -> IntArray:
        """One draw, from n uniforms."""
        return self.decide(rng.random(self.n))


class _FromMarginal(_Sequential):
    def __init__(self, K: Array) -> None:
        self.n, self.K = len(K), K

    def steps(self) -> Steps:
        return MarginalSteps(self.K)

    def decide(self, uniforms: FloatArray) -> IntArray:
        return draw_from_marginal(self.K, uniforms)


class _FromNonsymmetric(_FromMarginal):
    def decide(self, uniforms: FloatArray) -> IntArray:
        return draw_from_nonsymmetric(self.K, uniforms)


class _FromCholesky(_Sequential):
    def __init__(self, representation: DenseLikelihood) -> None:
        self.n = representation.n
        self.R = representation._cholesky
        self.excess = cholesky_excess(self.R, representation.likelihood_diagonal())

    def steps(self) -> Steps:
        return CholeskySteps(self.R, self.excess)

    def decide(self, uniforms: FloatArray) -> IntArray:
        return draw_from_cholesky(self.R, self.excess, uniforms)


class _FromRows(_Sequential):
    def __init__(self, representation: LowRankLikelihood | LowRankMarginal) -> None:
        self.n = representation.n
        self.factor = representation.factor
        self.transform = marginal_transform(representation)

    def _blocks(self) -> Iterable[Array]:
        return (self.factor._apply(block, self.transform) for _, block in self.factor.blocks())

    @property
    def _width(self) -> int:
        T = self.transform
        return int(self.factor.base.shape[1] if T is None else T.shape[-1])

    def steps(self) -> Steps:
        return RowSteps(np.concatenate([np.zeros((0, self._width)), *self._blocks()]))

    def decide(self, uniforms: FloatArray) -> IntArray:
        return draw_from_rows(self._blocks(), self._width, uniforms)


class _FromComplement(Sampler):
    def __init__(self, base: Sampler, n: int) -> None:
        self.base, self.n = base, n

    def draw(self, rng: np.random.Generator) -> IntArray:
        return positions_outside(self.base.draw(rng), self.n)
