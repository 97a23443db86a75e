r"""Draws from nonsymmetric kernels: item by item, or by rejection from a symmetric kernel.

- ``sequential``: elimination of the marginal kernel, each item kept with the probability that the decisions before it
  leave ([Poulson2019]_). A dense kernel takes about :math:`2n^3/3` operations a draw. In low-rank form,
  :math:`K = F \Omega F^T`, only :math:`\Omega` is updated, block by block: :math:`O(nr^2)` a draw, about ten times the
  work of one Gram matrix of F. This is the linear-time sampler of [HanEtAl2022]_.
- ``rejection``, in low-rank form: with S and A the symmetric and the skew-symmetric part of L, no
  :math:`\det L_Y` exceeds that of the symmetric kernel :math:`\hat L = S + |A|`, :math:`|A| = (A^TA)^{1/2}`
  ([HanEtAl2022]_, theorem 1). A draw of :math:`\hat L` is kept with probability
  :math:`\det L_Y / \det \hat L_Y`. Exact; the expected number of draws is
  :math:`\det(I + \hat L) / \det(I + L)`, known in advance, and none of them costs more as n grows. Set-up takes
  :math:`O(nr^2)`, and memory for three arrays of the size of F. ``auto`` takes it where the expected number of draws,
  times their cost, is less than that of ``sequential``. A draw that is rejected 20 times as often as expected, as
  rounding in a kernel of very different scales can cause, is made item by item.
"""

from __future__ import annotations

import math

import numpy as np

from diverset._typing import FloatArray, IntArray
from diverset.core.dpp import DPP
from diverset.core.nonsymmetric_forms import DenseForm, Form, OutsideForm
from diverset.core.nonsymmetric_low_rank import LowRankForm
from diverset.errors import DiversetError
from diverset.numerics.accretive import log_det_general
from diverset.numerics.linalg import product
from diverset.sampling.base import Offer, Sampler, outside
from diverset.sampling.sequential import NonsymmetricSampler, SequentialSampler, _decide_general, _solve_right

__all__ = ["FactorSampler", "SymmetricRejection", "draw_from_factor", "offers"]

#: Expected draws of the symmetric kernel above which rejection raises an error.
_MOST_TRIES = 1e4
#: Tries, as a multiple of the expected number, after which a draw is made item by item: probability e^-20.
_PATIENCE = 20.0

#: Items from which ``auto`` considers rejection.
_MANY_ITEMS = 1000


def offers(form: Form, size: int) -> list[Offer]:
    """Samplers of a nonsymmetric DPP; the seconds were measured on one core."""
    if isinstance(form, OutsideForm):
        return [
            Offer(offer.name, offer.seconds, lambda offer=offer: outside(offer.prepare(), form.n, offer.name))  # type: ignore[misc]
            for offer in offers(form.base, size)
        ]
    if isinstance(form, DenseForm):
        return [Offer("sequential", 0.0, lambda: NonsymmetricSampler(form.K))]
    assert isinstance(form, LowRankForm)  # there are no others
    r = form.rows.shape[1]
    sequential = size * (1e-4 + form.n * (5e-7 + 3e-10 * r**2))
    found = [Offer("sequential", sequential, lambda: FactorSampler(form))]
    if form.holds_likelihood:
        tries = _bound(form).expected_tries
        seconds = form.n * r * (2e-7 + 3e-9 * r) + size * tries * (5e-5 + 4e-6 * r)
        # For small kernels, costs outside the estimate, such as tables, exceed the saving.
        worth = form.n >= _MANY_ITEMS and tries <= _MOST_TRIES
        found.append(Offer("rejection", seconds if worth else math.inf, lambda: SymmetricRejection(form, _bound(form))))
    return found


def _bound(form: LowRankForm) -> _Bound:
    return form._cache.keep("symmetric bound", lambda: _Bound(form))


# item by item --------------------------------------------------------------------------------------------


def draw_from_factor(F: FloatArray, core: FloatArray, uniforms: FloatArray) -> IntArray:
    r"""Positions of one draw, with :math:`K = F\Omega F^T`.

    A few rows G at a time: their conditional kernel :math:`G\Omega G^T` is eliminated to LU as a dense one, after which
    :math:`\Omega` loses :math:`\Omega G^T U^{-1} L^{-1} G\Omega`. :math:`O(nr^2)` in matrix products.
    """
    chosen = np.zeros(len(F), dtype=np.bool_)
    step = min(max(F.shape[1], 64), 256)
    for first in range(0, len(F), step):
        G = F[first : first + step]
        right = product(G, core)
        left = product(core, G, transpose=True)
        A = np.ascontiguousarray(product(right, G, transpose=True))
        _decide_general(A, 0, len(G), uniforms[first : first + step], chosen[first : first + step])
        left = np.ascontiguousarray(left)
        _solve_right(A, left, lower=False, unit=False, adjoint=False)
        # L X = right is X^T L^T = right^T.
        above = right.T.copy()
        _solve_right(A.T.copy(), above, lower=False, unit=True, adjoint=False)
        core = core - product(left, above, transpose=True)
    return np.flatnonzero(chosen).astype(np.int64, copy=False)


class FactorSampler(SequentialSampler):
    """From the rows and the core of K in low-rank form."""

    def __init__(self, form: LowRankForm) -> None:
        self.n, self.F, self.core = form.n, form.rows, form.marginal_core

    def decide(self, uniforms: FloatArray) -> IntArray:
        """Positions of the draw that these n uniforms make."""
        return draw_from_factor(self.F, self.core, uniforms)


# rejection from a symmetric kernel -----------------------------------------------------------------------


class _Bound:
    """The symmetric kernel above L, in orthonormal coordinates, and the expected number of its draws for one of L."""

    def __init__(self, form: LowRankForm) -> None:
        core = form.orthonormal_core()
        skew = (core - core.T) / 2.0
        _, sigma, W = np.linalg.svd(skew)
        values, vectors = np.linalg.eigh((core + core.T) / 2.0 + (W.T * sigma) @ W)
        values = np.maximum(values, 0.0)
        self.root = vectors * np.sqrt(values)
        excess = float(np.log1p(values).sum()) - form.log_normalizer
        self.expected_tries = math.exp(min(excess, 700.0))


class SymmetricRejection(Sampler):
    r"""Draws of :math:`S + |A|`, each kept with probability :math:`\det L_Y / \det \hat L_Y`."""

    name = "rejection"

    def __init__(self, form: LowRankForm, bound: _Bound) -> None:
        from diverset.sampling.rejection import prepare as prepare_symmetric

        if bound.expected_tries > _MOST_TRIES:
            raise DiversetError(
                f'method is "rejection", which would make {bound.expected_tries:.2g} tries a draw for this kernel; '
                'use method="sequential"'
            )
        self.expected_tries = bound.expected_tries
        self._most_tries = math.ceil(_PATIENCE * max(bound.expected_tries, 1.0))
        self._patient = FactorSampler(form)
        self._form = form
        root = bound.root
        if form.root is not None:
            from scipy.linalg import solve_triangular

            root = np.asarray(solve_triangular(form.root, root, check_finite=False), dtype=np.float64)
        self._features = product(form.rows, np.ascontiguousarray(root))
        self._proposals = prepare_symmetric(DPP.from_features(self._features)._representation, None)

    def acceptance(self, positions: IntArray) -> float:
        """Probability to keep a proposal."""
        if len(positions) == 0:
            return 1.0
        L = self._form.likelihood_block(positions, positions)
        F = self._features[positions]
        wanted, proposed = log_det_general(L, F.shape[1]), log_det_general(F @ F.T)
        return math.exp(min(wanted - proposed, 0.0)) if proposed > -math.inf else 0.0

    def draw(self, rng: np.random.Generator) -> IntArray:
        """One draw.

        An accepted proposal follows the law however many were rejected before it. So drawing by another exact sampler
        after a fixed number of tries does not change the law, and it bounds the time.
        """
        for _ in range(self._most_tries):
            positions = self._proposals.draw(rng)
            if rng.random() < self.acceptance(positions):
                return positions
        return self._patient.draw(rng)
