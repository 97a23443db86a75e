r"""Sampling in the dual representation ([KuleszaTaskar2012]_, section 3.3.3, Algorithm 3).

With item rows B of shape (n, D), the eigenvectors of :math:`L = BB^*` are :math:`v = B\hat v`, :math:`\hat v` a
scaled eigenvector of the dual kernel :math:`C = B^*B`. Every operation of Algorithm 1 on the vectors v has a
counterpart on the :math:`\hat v`, of length D: linear combinations are the same, inner products are
:math:`\hat v_1^* C \hat v_2`, and entry i of v is :math:`B_i \hat v`. No n x m matrix is formed.

The algorithm is implemented as printed: :math:`O(nDm + D^2m)` for every item of a draw of m. The fast way from
features is :mod:`diverset.sampling.rejection`.
"""

from __future__ import annotations

import numpy as np

from diverset._typing import Array, FloatArray, IntArray
from diverset.core.factor import RowFactor
from diverset.core.lowrank import LowRank
from diverset.sampling.base import Sampler
from diverset.sampling.eigenvector_law import EigenvectorLaw

__all__ = ["DualElementarySampler", "DualSampler"]


class DualElementarySampler:
    """State of phase two: the items drawn so far, and dual vectors that span the remaining space.

    The columns of V, (D, m), are orthonormal in the inner product of C, the dual kernel, (D, D); m items will be drawn.
    ``weights()`` is the law of the next item, ``pick(i)`` the state after it.
    """

    def __init__(self, factor: RowFactor, C: Array, V: Array, items: tuple[int, ...] = ()) -> None:
        self.factor = factor
        self.C = C
        self.V = V
        self.items = items

    @property
    def done(self) -> bool:
        """Whether all items have been drawn."""
        return int(self.V.shape[1]) == 0

    def weights(self) -> FloatArray:
        r"""Probability of each item to be drawn next, :math:`\frac1m\sum_{\hat v} |B_i\hat v|^2`. O(nDm)."""
        mass = self.factor.norms_squared(self.V)
        mass[list(self.items)] = 0.0
        return np.asarray(mass / mass.sum())

    def pick(self, i: int) -> DualElementarySampler:
        """State after drawing item i: one vector eliminates entry i from the others, then orthonormalise. O(D^2 m)."""
        entries = self.factor.take(np.array([i]))[0] @ self.V
        # The largest entry, so that no multiple exceeds 1 and the vectors stay well conditioned.
        pivot = int(np.argmax(np.abs(entries)))
        rest = np.arange(len(entries)) != pivot
        V = self.V[:, rest] - np.outer(self.V[:, pivot], entries[rest] / entries[pivot])
        return DualElementarySampler(self.factor, self.C, _orthonormal(V, self.C), (*self.items, int(i)))


def _orthonormal(V: Array, C: Array) -> Array:
    """Gram-Schmidt orthonormalisation of columns in the inner product of C."""
    V = np.array(V)
    for j in range(V.shape[1]):
        dual_of_v = C @ V[:, j]
        length = np.sqrt(np.vdot(V[:, j], dual_of_v).real)
        V[:, j] /= length
        V[:, j + 1 :] -= np.outer(V[:, j], (dual_of_v / length).conj() @ V[:, j + 1 :])
    return V


class DualSampler(Sampler):
    """Draws of a DPP or k-DPP given by its rows: eigenvectors of C, then Algorithm 3."""

    name = "dual"

    def __init__(self, representation: LowRank, k: int | None = None) -> None:
        self.law = EigenvectorLaw.of(representation.spectrum.support, k)
        self.factor = representation.factor
        self.C = representation.gram
        self._vectors = representation.eigenvector_map

    def start(self, J: IntArray) -> DualElementarySampler:
        """Phase two for these eigenvectors."""
        return DualElementarySampler(self.factor, self.C, self._vectors[:, J])

    def draw(self, rng: np.random.Generator) -> IntArray:
        """One draw."""
        state = self.start(self.law.draw(rng))
        while not state.done:
            cumulative = np.cumsum(state.weights())
            state = state.pick(int(np.searchsorted(cumulative, rng.random() * cumulative[-1], side="right")))
        return np.sort(np.array(state.items, dtype=np.int64))
