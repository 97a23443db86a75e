r"""The spectral sampler: first eigenvectors, then items ([KuleszaTaskar2012]_, Algorithms 1 and 8).

A DPP is a mixture of *elementary* DPPs, one for every set J of eigenvectors, each of which draws exactly
:math:`|J|` items. Phase one draws J (:mod:`diverset.sampling.eigenvector_law`): independent Bernoulli trials for a DPP,
trials conditioned on their number for a k-DPP. Phase two draws the items of the elementary DPP one at a time, each
with probability proportional to its squared distance from the span of those before it.

This is the plain reference: :math:`O(n|J|^2)` a draw once the eigenvectors are known.
"""

from __future__ import annotations

import numpy as np

from diverset._typing import Array, FloatArray, IntArray
from diverset.core.representation import Representation
from diverset.numerics.linalg import orthonormal_columns, row_norms_squared, squared_modulus
from diverset.sampling.base import Sampler
from diverset.sampling.eigenvector_law import EigenvectorLaw

__all__ = ["ElementarySampler", "SpectralSampler", "draw_items", "draw_next"]

#: Spread of the log-eigenvalues from which single eigenvectors from features are no longer orthonormal enough.
_WIDE = 13.8  # 1e6


class ElementarySampler:
    """State of phase two: the items drawn so far, and the squared residual of each remaining item.

    The columns of V, (n, m), are the chosen eigenvectors; m items will be drawn. ``weights()`` is the law of the next
    item, ``pick(i)`` the state after it.
    """

    def __init__(self, V: Array) -> None:
        self.V = V
        self.items: tuple[int, ...] = ()
        # Rows of Gram-Schmidt directions, against which each item's coordinates are kept.
        self._coordinates = np.zeros((0, V.shape[0]), dtype=V.dtype)
        self._residual = row_norms_squared(V)

    @property
    def done(self) -> bool:
        """Whether all items have been drawn."""
        return len(self.items) == int(self.V.shape[1])

    def weights(self) -> FloatArray:
        """Probability of each item to be drawn next."""
        return np.asarray(self._residual / self._residual.sum())

    def pick(self, i: int) -> ElementarySampler:
        """State after drawing item i: project every row off this item's residual. O(n m)."""
        after = object.__new__(ElementarySampler)
        after.V = self.V
        after.items = (*self.items, int(i))
        C = self._coordinates
        # Inner products of all residual rows with the residual of row i, by those of the rows themselves.
        inner = self.V @ self.V[i].conj() - C[:, i].conj() @ C if len(C) else self.V @ self.V[i].conj()
        direction = inner / np.sqrt(inner[i].real)
        after._coordinates = np.concatenate([C, direction[None]])
        after._residual = np.maximum(self._residual - squared_modulus(direction), 0.0)
        after._residual[list(after.items)] = 0.0
        return after


def draw_next(state: ElementarySampler, rng: np.random.Generator) -> int:
    """Position of the next item."""
    cumulative = np.cumsum(state.weights())
    return int(np.searchsorted(cumulative, rng.random() * cumulative[-1], side="right"))


def draw_items(V: Array, rng: np.random.Generator) -> IntArray:
    """One draw of the elementary DPP of these orthonormal columns, ascending."""
    state = ElementarySampler(V)
    while not state.done:
        state = state.pick(draw_next(state, rng))
    return np.sort(np.array(state.items, dtype=np.int64))


class SpectralSampler(Sampler):
    """Algorithm 1; with `k`, Algorithm 8 for its first phase."""

    name = "spectral"

    def __init__(self, representation: Representation, k: int | None) -> None:
        log_odds = representation.spectrum_with_vectors().support
        self._law = EigenvectorLaw.of(log_odds, k)
        finite = log_odds[log_odds < np.inf]
        self._representation = representation
        self._all: Array | None = None
        if representation.eigen_width < representation.n and len(finite) and finite[-1] - finite[0] > _WIDE:
            # Rounding errors of small eigenvectors point along the large ones, chosen or not: all are needed.
            self._all = orthonormal_columns(representation.eigenvectors())

    def columns(self, chosen: IntArray) -> Array:
        """The eigenvectors chosen, orthonormal."""
        return self._representation.eigenvector_columns(chosen) if self._all is None else self._all[:, chosen]

    def draw(self, rng: np.random.Generator) -> IntArray:
        """One draw in O(n m^2), m its size."""
        return draw_items(self.columns(self._law.draw(rng)), rng)
