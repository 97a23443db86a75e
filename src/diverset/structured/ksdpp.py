"""k-SDPPs: structured DPPs conditioned on the number of structures ([KuleszaTaskar2012]_, section 6.5)."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from diverset._typing import FloatArray
from diverset.core.spectrum import Spectrum
from diverset.errors import ImpossibleEventError, SizeError
from diverset.numerics.eigenvector_probabilities import selection_probabilities
from diverset.numerics.validation import check_size
from diverset.sampling.eigenvector_law import EigenvectorLaw
from diverset.structured.model import StructuredModel
from diverset.structured.sdpp import StructuredDPP

__all__ = ["StructuredKDPP"]


class StructuredKDPP(StructuredModel):
    r"""Distribution over sets of exactly k structures: a structured DPP conditioned on its size.

    .. math::  \Pr(Y) = \frac{\det L_Y}{e_k(\lambda)}, \qquad |Y| = k,

    where :math:`\lambda` are the eigenvalues of the dual kernel ([KuleszaTaskar2012]_, section 6.5).

    Parameters
    ----------
    dpp : StructuredDPP
        The structured DPP to condition on its size.
    k : int
        Number of structures; at most the rank.
    """

    def __init__(self, dpp: StructuredDPP, k: int) -> None:
        self._dpp, self._k = dpp, check_size(k)
        self._space, self._excluded = dpp._space, dpp._excluded
        if self._k > dpp.rank:
            raise SizeError(
                f"k is {self._k}, but the dual kernel has rank {dpp.rank}: sets have at most as many structures"
            )
        self._log_size = dpp._spectrum.log_size_probability(self._k)

    def __repr__(self) -> str:
        return f"StructuredKDPP({self._space.graph!r}, k={self._k})"

    @property
    def k(self) -> int:
        """Number of structures in a set."""
        return self._k

    @property
    def dpp(self) -> StructuredDPP:
        """The structured DPP that was conditioned on its size."""
        return self._dpp

    @property
    def _spectrum(self) -> Spectrum:
        return self._dpp._spectrum

    @property
    def _vectors(self) -> FloatArray:
        return self._dpp._vectors

    def _weights(self) -> FloatArray:
        return selection_probabilities(self._spectrum.support, self._k)

    def _law(self) -> EigenvectorLaw:
        return EigenvectorLaw.of(self._spectrum.support, self._k)

    @property
    def log_normalizer(self) -> float:
        r""":math:`\log e_k(\lambda)`."""
        return self._dpp.log_normalizer + self._log_size

    @property
    def expected_size(self) -> float:
        """The size k."""
        return float(self._k)

    @property
    def size_distribution(self) -> FloatArray:
        """Probability of every size 0..k: 1 for k."""
        pmf = np.zeros(self._k + 1)
        pmf[self._k] = 1.0
        return pmf

    def log_prob(self, Y: Any) -> float:
        """Log-probability that the random set is exactly `Y`; ``-inf`` if it is impossible."""
        rows = self._structures(Y)
        if len(rows) != self._k:
            return -math.inf
        return min(self._dpp.log_prob(rows) - self._log_size, 0.0)

    def log_marginal(self, A: Any) -> float:
        """Logarithm of :meth:`marginal`."""
        rows = self._structures(A)
        if len(rows) > self._k:
            return -math.inf
        log_event = self._dpp.log_marginal(rows)
        if log_event == -math.inf:
            return -math.inf
        rest = self._dpp.condition(include=rows)._spectrum.log_size_probability(self._k - len(rows))
        return min(log_event + rest - self._log_size, 0.0)

    def marginal(self, A: Any) -> float:
        """Probability that all structures of `A` appear."""
        return math.exp(self.log_marginal(A))

    def pair_probability(self, y: Any, z: Any) -> float:
        """Probability that two structures appear together."""
        return self.marginal([np.asarray(y), np.asarray(z)])

    def condition(
        self, include: Any = (), exclude: Any = (), *, parts: Mapping[int | str, Any] | None = None
    ) -> StructuredKDPP:
        """The (k - len(include))-DPP of the other structures; see :meth:`diverset.StructuredDPP.condition`."""
        inside = self._structures(include, "include")
        rest = self._dpp.condition(inside, exclude, parts=parts)
        if not 0 <= self._k - len(inside) <= rest.rank:
            raise ImpossibleEventError(f"no set of {self._k} structures satisfies the conditions")
        return StructuredKDPP(rest, self._k - len(inside))
