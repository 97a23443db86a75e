r"""Mixtures of distributions over the same items ([KuleszaTaskar2012]_, section 5.3)."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from diverset._typing import FloatArray, IntArray
from diverset.core.distribution import SetDistribution
from diverset.errors import DiversetError
from diverset.numerics.validation import as_probability_vector

if TYPE_CHECKING:
    from diverset.sampling.base import Sampler

__all__ = ["KDPPMixture"]


class KDPPMixture(SetDistribution):
    r"""Mixture :math:`\Pr(Y) = \sum_l \theta_l \Pr_l(Y)` of k-DPPs, or of any distributions over the same items.

    Parameters
    ----------
    kdpps : sequence of KDPP
        Components over the same items; DPPs and SizedDPPs, and k-DPPs of different sizes, mix as well.
    weights : array_like of shape (len(kdpps),), optional
        Probabilities :math:`\theta`; equal by default.

    Examples
    --------
    >>> import numpy as np, diverset as dv
    >>> mixture = KDPPMixture([dv.KDPP(np.eye(3), 1), dv.KDPP(np.diag([1.0, 0.0, 0.0]), 1)], [0.5, 0.5])
    >>> mixture.inclusion_probabilities.round(4)
    array([0.6667, 0.1667, 0.1667])
    """

    def __init__(self, kdpps: Sequence[SetDistribution], weights: ArrayLike | None = None) -> None:
        self._components = tuple(kdpps)
        if not self._components:
            raise DiversetError("kdpps is empty; a mixture needs at least one component")
        for i, component in enumerate(self._components):
            if not isinstance(component, SetDistribution):
                raise DiversetError(f"kdpps[{i}] is a {type(component).__name__}; pass KDPP objects")
            if not np.array_equal(component.items, self._components[0].items):
                raise DiversetError(f"kdpps[{i}] is over other items than kdpps[0]; mix laws of the same items")
        m = len(self._components)
        self._weights = as_probability_vector(np.full(m, 1.0 / m) if weights is None else weights, name="weights")
        if len(self._weights) != m:
            raise DiversetError(f"weights has {len(self._weights)} entries for {m} components; give one each")
        self._weights.flags.writeable = False
        self._items = self._components[0]._items

    def __repr__(self) -> str:
        return f"KDPPMixture of {len(self._components)} over {self.n_items} items"

    @property
    def components(self) -> tuple[SetDistribution, ...]:
        """The distributions mixed."""
        return self._components

    @property
    def weights(self) -> FloatArray:
        """Probability of each component."""
        return self._weights

    def _log_mix(self, logs: FloatArray) -> FloatArray:
        """Log of the weighted sum over components, the first axis of `logs`."""
        possible = self._weights > 0.0
        log_weights = np.log(self._weights[possible]).reshape(-1, *[1] * (logs.ndim - 1))
        return np.asarray(np.logaddexp.reduce(log_weights + logs[possible], axis=0), dtype=np.float64)

    def _log_prob(self, inside: IntArray) -> float:
        return float(self._log_mix(np.array([c._log_prob(inside) for c in self._components])))

    def _log_probs(self, sets: IntArray) -> FloatArray:
        return self._log_mix(np.stack([c._log_probs(sets) for c in self._components]))

    def _log_event_probability(self, inside: IntArray, outside: IntArray) -> float:
        return float(self._log_mix(np.array([c._log_event_probability(inside, outside) for c in self._components])))

    def _log_marginals(self, sets: IntArray) -> FloatArray:
        return self._log_mix(np.stack([c._log_marginals(sets) for c in self._components]))

    @property
    def inclusion_probabilities(self) -> FloatArray:
        """Probability of each item to appear, of shape (n_items,)."""
        return self._weights @ np.stack([c.inclusion_probabilities for c in self._components])

    def pair_probabilities(self, pairs: Sequence[tuple[int, int]] | None = None) -> FloatArray:
        """Probabilities that two items appear together."""
        parts = zip(self._weights, self._components, strict=True)
        return np.asarray(sum(w * c.pair_probabilities(pairs) for w, c in parts), dtype=np.float64)

    @property
    def size_distribution(self) -> FloatArray:
        """Probability of every size."""
        parts = [c.size_distribution for c in self._components]
        pmf = np.zeros(max(len(part) for part in parts))
        for weight, part in zip(self._weights, parts, strict=True):
            pmf[: len(part)] += weight * part
        return pmf

    def sampler(self, size: int = 1, *, method: str = "auto") -> Sampler:
        """Sampler that draws a component first, then a set by its own sampler."""
        from diverset.sampling.base import GroupedSampler

        samplers = [component.sampler(size, method=method) for component in self._components]
        return GroupedSampler(self._weights, samplers.__getitem__, method, all(s.exact for s in samplers))

    def condition(self, include: Iterable[int] = (), exclude: Iterable[int] = ()) -> KDPPMixture:
        """Mixture of the conditioned components, reweighted by how likely each made the event."""
        inside, outside = self._assignment(include, exclude)
        logs = np.array([c._log_event_probability(inside, outside) for c in self._components])
        log_event = float(self._log_mix(logs))
        if log_event == -math.inf:
            raise self._impossible(inside, outside)
        posterior = self._weights * np.exp(logs - log_event)
        kept = np.flatnonzero(posterior)
        rest = [self._components[i].condition(include, exclude) for i in kept]
        return KDPPMixture(rest, posterior[kept] / posterior[kept].sum())
