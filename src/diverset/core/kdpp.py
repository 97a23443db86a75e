r"""k-DPPs: a DPP conditioned on the size of the set ([KuleszaTaskar2012]_, section 5).

Everything follows from the law of the size. If A appears, the other items form the DPP conditioned on A, so

.. math::

    \Pr\nolimits_k(A \subseteq Y, B \cap Y = \emptyset) = \Pr(A \subseteq Y, B \cap Y = \emptyset)\,
        \frac{\Pr(|Y'| = k - |A|)}{\Pr(|Y| = k)},

with Y' the conditioned DPP: the ratio of Poisson-binomial probabilities replaces the ratio of elementary
symmetric polynomials of section 5.2.3, is the same number, and exists also where L does not.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from diverset._typing import FloatArray, IntArray, RNGLike
from diverset.core.cache import cached_property
from diverset.core.distribution import SetDistribution
from diverset.core.dpp import DPP
from diverset.core.representation import Representation
from diverset.errors import ImpossibleEventError, SizeError
from diverset.numerics import symmetric
from diverset.numerics.eigenvector_probabilities import pair_selection_factors, selection_probabilities
from diverset.numerics.linalg import squared_modulus
from diverset.numerics.validation import check_fits_in_memory, check_size

if TYPE_CHECKING:
    from diverset.sampling.base import Sampler

__all__ = ["KDPP", "UNLIKELY", "near_size"]

#: Log-probability of the size below which a DPP is rescaled before it is conditioned on it.
UNLIKELY = -5.0

#: Log-odds of an eigenvector that should be chosen (or, with the other sign, should not).
_SURE = 5.0


def near_size(representation: Representation, k: int) -> Representation:
    """The DPP with L rescaled so that sets of k items are likely; the k-DPP within is the same."""
    spectrum = representation.spectrum
    finite = spectrum.log_odds[np.isfinite(spectrum.log_odds)]
    if len(finite) == 0:
        return representation
    if spectrum.n_certain < k < spectrum.rank:
        return representation.scale(symmetric.tilt(finite, k - spectrum.n_certain))
    # Every eigenvector chosen, or none but the certain ones.
    return representation.scale(_SURE - float(finite[0]) if k == spectrum.rank else -_SURE - float(finite[-1]))


class KDPP(SetDistribution):
    r"""Distribution over the sets of exactly k items: a DPP conditioned on its size.

    .. math::  \Pr(Y) = \frac{\det L_Y}{e_k(\lambda)}, \qquad |Y| = k,

    where :math:`e_k` is the elementary symmetric polynomial of the eigenvalues of L ([KuleszaTaskar2012]_, section
    5.1).

    Parameters
    ----------
    L_or_dpp : array_like of shape (n_items, n_items), or DPP
        A likelihood kernel, or any DPP: dense, low-rank, from a marginal kernel, conditioned.
    k : int
        Size of the sets; at most the rank.

    Notes
    -----
    Making a k-DPP takes the eigendecomposition of its DPP, unless that is known: :math:`O(n^3)`, or :math:`O(nD^2)`
    from D features. A dense kernel is always factorised with its eigenvectors, which draws and inclusion probabilities
    need. For ``log_prob`` alone the eigenvalues would do, in some 40% of the time; but a draw would then factorise
    again.

    Examples
    --------
    With L = I every set of k items is equally likely, and no other set appears: no DPP has this law.

    >>> import numpy as np, math
    >>> kdpp = KDPP(np.eye(5), 2)
    >>> round(math.exp(kdpp.log_prob([1, 4])), 12), kdpp.inclusion_probabilities.round(12)
    (0.1, array([0.4, 0.4, 0.4, 0.4, 0.4]))
    """

    def __init__(self, L_or_dpp: ArrayLike | DPP, k: int) -> None:
        self._dpp = L_or_dpp if isinstance(L_or_dpp, DPP) else DPP(L_or_dpp)
        self._items = self._dpp._items
        self._k = check_size(k)
        spectrum = self._dpp._representation.spectrum_with_vectors()
        if not spectrum.n_certain <= self._k <= spectrum.rank:
            raise SizeError(
                f"k is {self._k}, but the kernel has rank {spectrum.rank}"
                + (f" and {spectrum.n_certain} eigenvalues of K equal to 1" if spectrum.n_certain else "")
                + f": its sets have {spectrum.n_certain} to {spectrum.rank} items"
            )
        self._log_size = spectrum.log_size_probability(self._k)
        self._base = self._dpp._representation.without_rounding(self._k)

    @classmethod
    def from_features(
        cls,
        features: Any,
        k: int,
        quality: ArrayLike | None = None,
        *,
        projection: int | None = None,
        rng: RNGLike = None,
    ) -> KDPP:
        """k-DPP of the DPP with these features, possibly projected; see :meth:`DPP.from_features`."""
        return cls(DPP.from_features(features, quality, projection=projection, rng=rng), k)

    def __repr__(self) -> str:
        return f"KDPP({self._dpp!r}, k={self._k})"

    @property
    def k(self) -> int:
        """Size of the sets."""
        return self._k

    @property
    def dpp(self) -> DPP:
        """The DPP that was conditioned on its size."""
        return self._dpp

    @property
    def log_normalizer(self) -> float:
        r""":math:`\log e_k(\lambda)`; ``inf`` where K has eigenvalue 1."""
        return self._base.log_normalizer + self._log_size

    def _log_prob(self, inside: IntArray) -> float:
        if len(inside) != self._k:
            return -math.inf
        return min(self._base.log_prob(inside) - self._log_size, 0.0)

    def _log_probs(self, sets: IntArray) -> FloatArray:
        if sets.shape[1] != self._k:
            return np.full(len(sets), -np.inf)
        return np.minimum(self._base.log_probs(sets) - self._log_size, 0.0)

    def _log_event_probability(self, inside: IntArray, outside: IntArray) -> float:
        remaining = self._k - len(inside)
        if remaining < 0 or self.n_items - len(outside) < self._k:
            return -math.inf
        if len(inside) + len(outside) == self.n_items:
            return self._log_prob(inside)
        if len(inside) == 1 and len(outside) == 0:
            p = self._inclusion_of(inside)
            return math.log(p) if p > 0.0 else -math.inf
        base, log_size = self._near_size
        log_event = base.log_event_probability(inside, outside)
        if log_event == -math.inf:
            return -math.inf
        rest = base.condition(inside, outside)
        return min(log_event + rest.spectrum.log_size_probability(remaining) - log_size, 0.0)

    @cached_property
    def _near_size(self) -> tuple[Representation, float]:
        """A DPP with the same k-DPP that draws k items often, and the log-probability that it does."""
        base, log_size = self._base, self._log_size
        if log_size < UNLIKELY:
            base = near_size(base, self._k)
            log_size = base.spectrum.log_size_probability(self._k)
        return base, log_size

    @property
    def inclusion_probabilities(self) -> FloatArray:
        r"""Probability of each item to appear, :math:`\sum_n |V_{in}|^2 \Pr(n \in J)`.

        J is the random set of k eigenvectors ([KuleszaTaskar2012]_, section 5.2.3). Given the spectrum:
        O(nk) for the probabilities of the eigenvectors, by prefix and suffix tables, and one pass over V.
        """
        p = self._inclusion
        return np.array(p) if isinstance(p, np.ndarray) else p

    def _inclusion_of(self, one: IntArray) -> float:
        """Probability of a single item; for features held in blocks it reads only the row of the item."""
        p = self._inclusion
        if isinstance(p, np.ndarray):
            return float(p[one[0]])
        weights = selection_probabilities(self._base.spectrum.support, self._k)
        return float(np.clip(self._base.spectral_block(one, one, weights).real[0, 0], 0.0, 1.0))

    @cached_property
    def _inclusion(self) -> FloatArray:
        weights = selection_probabilities(self._base.spectrum.support, self._k)
        return np.clip(self._base.spectral_diagonal(weights), 0.0, 1.0)

    def pair_probabilities(self, pairs: Sequence[tuple[int, int]] | None = None) -> FloatArray:
        r"""Probabilities that two items appear together.

        With :math:`W_{nm} = \Pr(n, m \in J)` for the random set J of k eigenvectors,

        .. math::

            \Pr(i, j \in Y) = \sum_{nm} W_{nm} \left( |V_{in}|^2 |V_{jm}|^2
                - V_{in}\bar V_{jn} \bar V_{im} V_{jm} \right).

        W is smooth in the eigenvalues, so it is a sum of few terms :math:`\sigma_s s s^*`, each of which costs
        one product :math:`V \mathrm{diag}(s) V^*`: O(n^2 r) a term for all pairs, O(r) a term for one.

        The parameters are those of :meth:`SetDistribution.pair_probabilities`.
        """
        representation = self._base
        S, sigma = pair_selection_factors(representation.spectrum.support, self._k)
        if pairs is None:
            check_fits_in_memory(24 * self.n_items**2, what="the probabilities of all pairs")
            everything = np.arange(self.n_items)
            together = np.zeros((self.n_items, self.n_items))
            for s, weight in zip(S.T, sigma, strict=True):
                block = representation.spectral_block(everything, everything, s)
                diagonal = np.diagonal(block).real
                together += weight * (np.outer(diagonal, diagonal) - squared_modulus(block))
            np.fill_diagonal(together, self._inclusion)
            return np.clip(together, 0.0, 1.0)
        left, right = self._pairs(pairs)
        named = np.union1d(left, right)
        i, j = np.searchsorted(named, left), np.searchsorted(named, right)
        found = np.zeros(len(left))
        for s, weight in zip(S.T, sigma, strict=True):
            block = representation.spectral_block(named, named, s)
            diagonal = np.diagonal(block).real
            found += weight * (diagonal[i] * diagonal[j] - squared_modulus(block[i, j]))
        return np.clip(found, 0.0, 1.0)

    @property
    def size_distribution(self) -> FloatArray:
        """All mass on k."""
        pmf = np.zeros(self._k + 1)
        pmf[self._k] = 1.0
        return pmf

    def sampler(self, size: int = 1, *, method: str = "auto") -> Sampler:
        """The sampler that `size` draws use: the cheapest exact one the kernel's form offers, or one by name."""
        return self._dpp._representation.sampler(self._k, size, method)

    def condition(self, include: Iterable[int] = (), exclude: Iterable[int] = ()) -> KDPP:
        """The (k - len(include))-DPP of the other items, given these appear and those do not (5.2.4)."""
        inside, outside = self._assignment(include, exclude)
        try:
            # The conditioned DPP is factorised once, and raises an error for an impossible size.
            rest = DPP._wrap(self._base, self._items).condition(include, exclude)
            return KDPP(rest, self._k - len(inside))
        except (ImpossibleEventError, SizeError):
            raise self._impossible(inside, outside, f" in sets of {self._k}") from None

    def complement(self) -> KDPP:
        """Law of the n - k items that do not appear: again a k-DPP."""
        return KDPP(self._dpp.complement(), self.n_items - self._k)
