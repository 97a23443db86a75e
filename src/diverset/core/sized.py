r"""DPPs with a given law of the size ([KuleszaTaskar2012]_, section 5.1.1)."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from diverset._typing import FloatArray, IntArray
from diverset.core.cache import cached_property
from diverset.core.distribution import SetDistribution
from diverset.core.dpp import DPP
from diverset.core.kdpp import KDPP, UNLIKELY, near_size
from diverset.core.representation import Representation
from diverset.errors import DiversetError, SizeError
from diverset.numerics import poisson_binomial
from diverset.numerics.eigenvector_probabilities import selection_probabilities
from diverset.numerics.validation import as_probability_vector

if TYPE_CHECKING:
    from diverset.sampling.base import Sampler

__all__ = ["SizedDPP"]


class SizedDPP(SetDistribution):
    r"""Distribution with :math:`\Pr(Y) = \Pr_{size}(|Y|)\,\Pr^{|Y|}_L(Y)`: a size model of choice over k-DPPs.

    Parameters
    ----------
    dpp : DPP
        Gives the content.
    size_probabilities : array_like
        Entry k is the probability of k items; sizes the DPP cannot produce must have probability zero.

    Notes
    -----
    Unlike a DPP, such a model can make items *attract*: if draws hold either many items or few, then seeing
    one makes others more likely.

    Examples
    --------
    >>> import diverset as dv
    >>> dpp = dv.DPP([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]])
    >>> all_or_none = SizedDPP(dpp, [0.5, 0.0, 0.0, 0.5])
    >>> round(all_or_none.marginal([0]), 12), round(all_or_none.marginal([0, 1]), 12)
    (0.5, 0.5)
    """

    def __init__(self, dpp: DPP, size_probabilities: ArrayLike) -> None:
        if not isinstance(dpp, DPP):
            raise DiversetError(f"dpp is a {type(dpp).__name__}; pass a DPP, such as DPP(L)")
        self._dpp = dpp
        self._items = dpp._items
        pmf = as_probability_vector(size_probabilities, name="size_probabilities")
        spectrum = dpp._representation.spectrum_with_vectors()
        sizes = np.flatnonzero(pmf)
        for k in (sizes[0], sizes[-1]):
            if not spectrum.n_certain <= k <= spectrum.rank:
                raise SizeError(
                    f"size_probabilities[{k}] is {pmf[k]:.6g}, but sets of this DPP have {spectrum.n_certain} to "
                    f"{spectrum.rank} items"
                )
        self._pmf = pmf[: sizes[-1] + 1]
        self._pmf.flags.writeable = False
        self._sizes = sizes
        self._base = dpp._representation.without_rounding(int(sizes[-1]))
        # Log of (wanted / natural) probability of each size, which reweights the DPP.
        natural = poisson_binomial.log_pmf_many(spectrum.log_odds, sizes)
        self._log_ratio = np.full(len(self._pmf), -np.inf)
        self._log_ratio[sizes] = np.log(pmf[sizes]) - natural

    def __repr__(self) -> str:
        return f"SizedDPP({self._dpp!r}, sizes {self._sizes[0]} to {self._sizes[-1]})"

    @property
    def dpp(self) -> DPP:
        """The DPP that gives the content."""
        return self._dpp

    @property
    def size_distribution(self) -> FloatArray:
        """Probability of every size, as given."""
        return np.array(self._pmf)

    def _log_prob(self, inside: IntArray) -> float:
        if len(inside) >= len(self._pmf) or self._pmf[len(inside)] == 0.0:
            return -math.inf
        return min(self._base.log_prob(inside) + float(self._log_ratio[len(inside)]), 0.0)

    def _log_probs(self, sets: IntArray) -> FloatArray:
        k = sets.shape[1]
        if k >= len(self._pmf) or self._pmf[k] == 0.0:
            return np.full(len(sets), -np.inf)
        return np.minimum(self._base.log_probs(sets) + float(self._log_ratio[k]), 0.0)

    @cached_property
    def _near_sizes(self) -> list[tuple[Representation, IntArray, FloatArray]]:
        """Rescaled DPPs, the sizes that each draws often, and the logs of (wanted / natural) probability of these.

        An event that is likely among sets of k items may be too rare to compute in a DPP that hardly draws k.
        """
        found: list[tuple[Representation, IntArray, FloatArray]] = []
        left, base = self._sizes, self._base
        while len(left):
            natural = poisson_binomial.log_pmf_many(base.spectrum.log_odds, left)
            often = natural > UNLIKELY
            if found and not often.any():
                often[0] = True
            if often.any():
                found.append((base, left[often], np.log(self._pmf[left[often]]) - natural[often]))
            left = left[~often]
            if len(left):
                base = near_size(self._base, int(left[0]))
        return found

    def _conditioned_sizes(self, inside: IntArray, outside: IntArray) -> FloatArray:
        """Log of Pr(the event and |Y| = k), for every k."""
        joint = np.full(len(self._pmf), -np.inf)
        for base, all_sizes, all_ratios in self._near_sizes:
            fits = (all_sizes >= len(inside)) & (all_sizes <= self.n_items - len(outside))
            sizes, log_ratio = all_sizes[fits], all_ratios[fits]
            log_event = base.log_event_probability(inside, outside) if len(sizes) else -math.inf
            if log_event > -math.inf:
                rest = base.condition(inside, outside)
                natural = poisson_binomial.log_pmf_many(rest.spectrum.log_odds, sizes - len(inside))
                joint[sizes] = log_event + natural + log_ratio
        return joint

    def _log_event_probability(self, inside: IntArray, outside: IntArray) -> float:
        if len(inside) + len(outside) == self.n_items:
            return self._log_prob(inside)
        return min(float(np.logaddexp.reduce(self._conditioned_sizes(inside, outside))), 0.0)

    @property
    def inclusion_probabilities(self) -> FloatArray:
        """Probability of each item to appear: a mixture over sizes of k-DPPs, in one pass over V."""
        representation = self._base
        weights = np.zeros(representation.spectrum.rank)
        for k in self._sizes:
            weights += self._pmf[k] * selection_probabilities(representation.spectrum.support, int(k))
        return np.clip(representation.spectral_diagonal(weights), 0.0, 1.0)

    def pair_probabilities(self, pairs: Sequence[tuple[int, int]] | None = None) -> FloatArray:
        """Probabilities that two items appear together: a mixture over sizes of k-DPPs."""
        total = sum(self._pmf[k] * KDPP(self._dpp, int(k)).pair_probabilities(pairs) for k in self._sizes)
        return np.asarray(total, dtype=np.float64)

    def sampler(self, size: int = 1, *, method: str = "auto") -> Sampler:
        """Sampler that draws a size first, then a set by the k-DPP's own sampler."""
        from diverset.sampling.base import GroupedSampler, take

        representation = self._dpp._representation
        exact = all(take(representation.samplers(int(k), size), method, int(k)).exact for k in self._sizes[[0, -1]])
        return GroupedSampler(self._pmf, partial(representation.sampler, size=size, method=method), method, exact)

    def condition(self, include: Iterable[int] = (), exclude: Iterable[int] = ()) -> SizedDPP:
        """Law of the other items: the conditioned DPP, with sizes reweighted by the event."""
        inside, outside = self._assignment(include, exclude)
        joint = self._conditioned_sizes(inside, outside)
        log_event = np.logaddexp.reduce(joint)
        if log_event == -math.inf:
            raise self._impossible(inside, outside)
        sizes = np.exp(joint - log_event)[len(inside) :]
        return SizedDPP(DPP._wrap(self._base, self._items).condition(include, exclude), sizes)
