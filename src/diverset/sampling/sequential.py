r"""The sequential sampler: one pass over the items, each kept or left out at random; no eigendecomposition.

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

A draw takes exactly n uniforms, in the order of deciding.
"""

from __future__ import annotations

import abc
from collections.abc import Iterable

import numpy as np

from diverset._typing import Array, BoolArray, FloatArray, IntArray
from diverset.core.factor import RowFactor
from diverset.numerics.linalg import EPS, block_length, product, row_norms_squared
from diverset.numerics.validation import check_fits_in_memory
from diverset.sampling.base import Sampler

__all__ = [
    "CholeskySampler",
    "MarginalSampler",
    "NonsymmetricSampler",
    "RowSampler",
    "SequentialSampler",
    "draw_from_cholesky",
    "draw_from_marginal",
    "draw_from_nonsymmetric",
    "draw_from_rows",
]

#: Pivots below this count as zero: such an event is too rare to be observed, and dividing by it could overflow.
_ZERO = EPS * EPS
#: Items decided by one compiled loop.
_LEAF = 128
#: Items decided between two updates of the leading columns of G.
_BLOCK = 128
#: Rows or columns updated at a time, so that the product needs little memory.
_CHUNK = 512


# from K --------------------------------------------------------------------------------------------------


def _solve_right(triangle: Array, X: Array, *, lower: bool, unit: bool, adjoint: bool) -> None:
    r"""Overwrite the C-ordered X by the solution of :math:`X' T = X`, or :math:`X' T^* = X`, T C-ordered."""
    if X.size == 0:
        return
    from scipy.linalg import blas

    trsm = blas.ztrsm if np.iscomplexobj(X) else blas.dtrsm
    # BLAS reads a C-ordered matrix as its transpose: T' X'^T = X^T with T' = T^T, or conj(T) from T^T adjoint.
    trsm(1.0, triangle.T, X.T, side=0, lower=not lower, trans_a=2 if adjoint else 0, diag=unit, overwrite_b=1)


def _decide_hermitian(A: Array, start: int, stop: int, uniforms: FloatArray, chosen: BoolArray, d: FloatArray) -> None:
    """Decide items start..stop of the Schur complement A, leaving unit L below its diagonal and pivots in d."""
    from diverset.sampling import _sequential_loops as loops

    if stop - start <= _LEAF:
        loops.decide_hermitian(A, start, stop, uniforms, chosen.view(np.uint8), d, _ZERO)
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
        loops.decide_general(A, start, stop, uniforms, chosen.view(np.uint8), _ZERO)
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

    :math:`\tfrac23 n^2|Y|` to :math:`2n^2|Y|` operations. The b items of a block are decided by a compiled loop on
    their own columns of G. Its rank-one updates then reach the leading columns at once: with the vectors g of the block
    as columns of F, and G extended by the rows :math:`\rho/\sqrt{p/(1-p)}` of the items kept, they are :math:`G
    \leftarrow G - BT`, :math:`(I + \mathrm{triu}(F^*B, 1))\,T = F^*G`: the compact form of a product of reflectors, but
    for :math:`\beta`. B is F scaled by :math:`\beta`, plus :math:`r/((1+s)\sqrt{p/(1-p)})` where an item's column meets
    its own new row.
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
            chosen[start:stop].view(np.uint8),
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
    """Positions of one draw, from consecutive blocks of rows G of the given width, with :math:`K = GG^*`.

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


# samplers ------------------------------------------------------------------------------------------------


class SequentialSampler(Sampler):
    """Draws item by item, from n uniforms."""

    name = "sequential"
    n: int

    @abc.abstractmethod
    def decide(self, uniforms: FloatArray) -> IntArray:
        """Positions of the draw that these n uniforms make."""

    def draw(self, rng: np.random.Generator) -> IntArray:
        """One draw, from n uniforms."""
        return self.decide(rng.random(self.n))


class MarginalSampler(SequentialSampler):
    """From a Hermitian K; draws share nothing."""

    def __init__(self, K: Array) -> None:
        self.n, self.K = len(K), K

    def decide(self, uniforms: FloatArray) -> IntArray:
        """Positions of the draw that these n uniforms make."""
        return draw_from_marginal(self.K, uniforms)


class NonsymmetricSampler(MarginalSampler):
    """From any K."""

    def decide(self, uniforms: FloatArray) -> IntArray:
        """Positions of the draw that these n uniforms make."""
        return draw_from_nonsymmetric(self.K, uniforms)


class CholeskySampler(SequentialSampler):
    """From the lower Cholesky factor R of L + I, which draws share, and the diagonal of L."""

    def __init__(self, R: Array, diagonal: FloatArray) -> None:
        self.n, self.R = len(R), R
        self.excess = cholesky_excess(R, diagonal)

    def decide(self, uniforms: FloatArray) -> IntArray:
        """Positions of the draw that these n uniforms make."""
        return draw_from_cholesky(self.R, self.excess, uniforms)


class RowSampler(SequentialSampler):
    """From the rows of a factor; their base times `transform` has the outer product K."""

    def __init__(self, factor: RowFactor, transform: Array | None) -> None:
        self.n, self.factor, self.transform = factor.n, factor, transform

    def _blocks(self) -> Iterable[Array]:
        return (self.factor._apply(block, self.transform) for _, block in self.factor.blocks())

    @property
    def _width(self) -> int:
        T = self.transform
        return int(self.factor.base.shape[1] if T is None else T.shape[-1])

    def decide(self, uniforms: FloatArray) -> IntArray:
        """Positions of the draw that these n uniforms make."""
        return draw_from_rows(self._blocks(), self._width, uniforms)
