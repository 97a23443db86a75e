r"""Entropy of a set distribution and distances between two, by listing all subsets.

No closed form is known for :math:`\sum_Y \det(L_Y)^p`, nor whether the entropy of a DPP is concave in K
([KuleszaTaskar2012]_, sections 7.1 and 7.2). For small ground sets these functions explore both questions
numerically; the entropy of large ones is estimated from draws.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from diverset._typing import Array, FloatArray, IntArray, RNGLike
from diverset.core.complement import Complement
from diverset.core.distribution import SetDistribution
from diverset.core.dpp import DPP
from diverset.core.kdpp import KDPP, near_size
from diverset.core.mixture import KDPPMixture
from diverset.core.sized import SizedDPP
from diverset.errors import DiversetError, TooLargeError
from diverset.numerics.validation import check_size

__all__ = ["Estimate", "entropy", "hellinger", "kl_divergence", "l1_distance", "law", "total_variation"]

#: Largest ground set whose subsets are listed: a million of them.
MAX_LISTED = 20

#: Probability below which a set is computed separately if relative accuracy is needed.
_RARE = 1e-6

#: Pivot, relative to the diagonal, below which a set is computed separately, and the rounding error of the first one.
_SUSPECT, _PIVOT_ERROR = 1e-6, 1e-12

#: Probability, relative to the largest, below which a set is computed separately only for relative accuracy.
_NEGLIGIBLE = 1e-12


@dataclass(frozen=True)
class Estimate:
    """A number with its standard error, which is 0 for an exact result."""

    value: float
    standard_error: float

    def __float__(self) -> float:
        return self.value


def law(distribution: SetDistribution) -> FloatArray:
    r"""Probability of every subset, of shape (2**n_items,): bit i of the index says whether item i is in.

    By a recursion over the items that branches on each, sharing Schur complements: O(2^n) small steps rather
    than 2^n determinants.

    Examples
    --------
    >>> import diverset as dv
    >>> law(dv.DPP([[1.0, 0.0], [0.0, 3.0]]))
    array([0.125, 0.125, 0.375, 0.375])
    """
    logs = _log_law(distribution, relative=False)
    p = np.exp(logs - logs.max())
    return np.asarray(p / p.sum(), dtype=np.float64)


def _check_listed(n: int) -> None:
    if n > MAX_LISTED:
        raise TooLargeError(
            f"listing all subsets of {n} items takes 2**{n} steps; at most {MAX_LISTED} items can be listed "
            "(entropy(...) estimates from draws beyond that)"
        )


def _log_law(distribution: SetDistribution, *, relative: bool) -> FloatArray:
    """Log-probability of every subset, up to a constant; with `relative`, accurate also where it is tiny."""
    n = distribution.n_items
    _check_listed(n)
    if isinstance(distribution, KDPPMixture):
        parts = [
            np.log(w) + _normalised(_log_law(c, relative=relative))
            for w, c in zip(distribution.weights, distribution.components, strict=True)
            if w > 0.0
        ]
        return np.asarray(np.logaddexp.reduce(parts), dtype=np.float64)
    if isinstance(distribution, (KDPP, SizedDPP)):
        sizes = np.bitwise_count(np.arange(2**n)).astype(np.int64)
        logs = np.full(2**n, -np.inf)
        for k in np.flatnonzero(distribution.size_distribution):
            chosen = sizes == k
            # Tilted to this size first, so that its sets do not underflow.
            near = DPP._wrap(near_size(distribution._base, int(k)))
            content = _dpp_log_law(near, relative=relative)[chosen]
            logs[chosen] = math.log(distribution.size_distribution[k]) + _normalised(content)
        return logs
    if isinstance(distribution, DPP):
        return _dpp_log_law(distribution, relative=relative)
    return np.array([distribution._log_prob(_positions(mask, n)) for mask in range(2**n)])


def _positions(mask: int, n: int) -> IntArray:
    return np.flatnonzero(mask >> np.arange(n) & 1).astype(np.int64, copy=False)


def _normalised(logs: FloatArray) -> FloatArray:
    """Logs of numbers that add up to one."""
    shifted = logs - logs.max()
    total: FloatArray = shifted - math.log(np.exp(shifted).sum())
    return total


def _dpp_log_law(dpp: DPP, *, relative: bool) -> FloatArray:
    representation = dpp._representation
    if isinstance(representation, Complement):
        # The complement of the set with bits b has the bits that b has not.
        return _dpp_log_law(dpp.complement(), relative=relative)[::-1]
    n = dpp.n_items
    everything = np.arange(n)
    sizes = np.bitwise_count(np.arange(2**n)).astype(np.int64)
    spectrum = representation.spectrum
    possible = (sizes >= spectrum.n_certain) & (sizes <= spectrum.rank)
    if representation.holds_likelihood:
        logs, ceiling = _branch_likelihood(representation.likelihood_block(everything, everything))
        # Elimination in the order of the items cannot tell a small pivot from rounding; pivoting in log_prob can.
        doubtful = ceiling > (-np.inf if relative else logs[ceiling == -np.inf].max() + math.log(_NEGLIGIBLE))
        log_total = representation.log_normalizer
    else:
        p = _branch_marginal(representation.marginal_block(everything, everything))
        p[~possible] = 0.0
        with np.errstate(divide="ignore"):
            logs = np.log(p / p.sum())
        # Branching on K is accurate relative to 1, not to the probability.
        doubtful, log_total = (p < _RARE) & relative, 0.0
    logs[~possible] = -np.inf
    for k in np.unique(sizes[doubtful & possible]):
        masks = np.flatnonzero(doubtful & possible & (sizes == k))
        sets = np.nonzero(masks[:, None] >> np.arange(n) & 1)[1].reshape(len(masks), k)
        logs[masks] = representation.log_probs(sets) + log_total
    return logs


def _eliminate(kernels: Array) -> tuple[FloatArray, Array, Array]:
    """First pivots, remaining blocks, and the rank-one terms c c* / pivot, of a stack of kernels."""
    pivot = np.maximum(kernels[:, 0, 0].real, 0.0)
    column = kernels[:, 1:, 0]
    safe = np.where(pivot > 0.0, pivot, 1.0)
    outer = column[:, :, None] * column[:, None, :].conj()
    outer[pivot == 0.0] = 0.0
    return pivot, kernels[:, 1:, 1:], outer / safe[:, None, None]


def _branch_likelihood(L: Array) -> tuple[FloatArray, FloatArray]:
    """Log of det(L_Y) for every Y; and where a pivot may be rounding, an upper bound on it, elsewhere ``-inf``.

    Leaving an item out drops it, taking it in leaves a Schur complement.
    """
    # Unit diagonal while eliminating: pivots are relative to it, and at most 1.
    n = len(L)
    root = np.sqrt(np.maximum(np.diagonal(L).real, 0.0))
    safe = np.where(root > 0.0, root, 1.0)
    kernels, weights, bounds = (L / safe[:, None] / safe)[None], np.ones(1), np.ones(1)
    clear = np.ones(1, dtype=bool)
    for _ in range(n):
        pivot, rest, outer = _eliminate(kernels)
        kernels = np.concatenate([rest, rest - outer])
        weights = np.concatenate([weights, weights * pivot])
        # After a doubtful pivot, the only bound is 1.
        bounds = np.concatenate([bounds, bounds * np.where(clear, np.maximum(pivot, _PIVOT_ERROR), 1.0)])
        clear = np.concatenate([clear, clear & (pivot > _SUSPECT)])
    masks = (np.arange(2**n)[:, None] >> np.arange(n)) & 1
    log_scale = masks @ (2.0 * np.log(safe))
    ceiling = np.where(clear, -np.inf, np.log(bounds) + log_scale)
    with np.errstate(divide="ignore"):
        logs: FloatArray = np.log(weights) + log_scale
    return np.where(clear, logs, np.minimum(logs, ceiling)), ceiling


def _branch_marginal(K: Array) -> FloatArray:
    """Probability of every Y: at each item, K given that it is out, or in."""
    kernels, weights = K[None], np.ones(1)
    for _ in range(len(K)):
        p, rest, outer = _eliminate(kernels)
        p = np.minimum(p, 1.0)
        out = np.where(p < 1.0, 1.0 - p, 1.0)
        without = rest + outer * (p / out)[:, None, None]
        kernels = np.concatenate([without, rest - outer])
        weights = np.concatenate([weights * (1.0 - p), weights * p])
    return weights


def entropy(distribution: SetDistribution, *, n_samples: int = 10_000, rng: RNGLike = None) -> Estimate:
    r"""Shannon entropy :math:`H = -\sum_Y \Pr(Y)\log\Pr(Y)` in nats.

    Exact, by listing all subsets, for up to 16 items; beyond that the mean of :math:`-\log\Pr(Y)` over
    independent exact draws, with its standard error.

    Parameters
    ----------
    distribution : SetDistribution
        DPP, KDPP, SizedDPP or KDPPMixture.
    n_samples : int
        Number of draws for the estimate.
    rng : int, Generator or None
        Seed or generator for the draws.

    Returns
    -------
    Estimate
        ``value`` and ``standard_error``.

    Examples
    --------
    >>> import numpy as np, diverset as dv
    >>> round(entropy(dv.KDPP(np.eye(4), 2)).value, 12) == round(float(np.log(6)), 12)
    True
    """
    if distribution.n_items <= 16:
        p = law(distribution)
        p = p[p > 0.0]
        return Estimate(max(0.0, -float(p @ np.log(p))), 0.0)
    draws = distribution.sample(_check_samples(n_samples), rng=rng)
    return _mean(np.array([-distribution.log_prob(Y) for Y in draws]))


def _check_samples(n_samples: int) -> int:
    count = check_size(n_samples, name="n_samples")
    if count < 2:
        raise DiversetError(f"n_samples is {count}; a standard error needs at least 2 draws")
    return count


def _mean(terms: FloatArray) -> Estimate:
    return Estimate(float(terms.mean()), float(terms.std(ddof=1) / math.sqrt(len(terms))))


def _check_same_items(p: SetDistribution, q: SetDistribution) -> None:
    if not np.array_equal(p.items, q.items):
        raise DiversetError("the two distributions are over different items; compare laws of the same items")


def _two_laws(p: SetDistribution, q: SetDistribution) -> tuple[FloatArray, FloatArray]:
    _check_same_items(p, q)
    return law(p), law(q)


def kl_divergence(p: SetDistribution, q: SetDistribution) -> float:
    r"""Kullback-Leibler divergence :math:`\sum_Y p(Y) \log (p(Y)/q(Y))` in nats; ``inf`` where q misses a set of p."""
    _check_same_items(p, q)
    log_p, log_q = (_normalised(_log_law(d, relative=True)) for d in (p, q))
    P = np.exp(log_p)
    seen = P > 0.0
    if (log_q[seen] == -np.inf).any():
        return math.inf
    return max(0.0, float(P[seen] @ (log_p[seen] - log_q[seen])))


def total_variation(p: SetDistribution, q: SetDistribution) -> float:
    r"""Total-variation distance :math:`\frac12 \sum_Y |p(Y) - q(Y)|`."""
    P, Q = _two_laws(p, q)
    return 0.5 * float(np.abs(P - Q).sum())


class _Comparable(Protocol):
    """A law that can be drawn from and evaluated, over sets of items or of structures."""

    def log_prob(self, Y: Any) -> float: ...
    def sample(self, size: int, *, rng: RNGLike = None) -> list[IntArray]: ...


def l1_distance(
    p: SetDistribution | _Comparable,
    q: SetDistribution | _Comparable,
    *,
    n_samples: int | None = None,
    rng: RNGLike = None,
) -> Estimate:
    r"""L1 distance :math:`\sum_Y |p(Y) - q(Y)|`, between 0 and 2, by listing all sets or by sampling.

    Both laws sum to one, so that the distance is twice the mass p has above q,

    .. math::  \|p - q\|_1 = 2\, \mathbb{E}_{Y \sim p} \left( 1 - \frac{q(Y)}{p(Y)} \right)^+,

    a mean of numbers between 0 and 2, whatever the supports: the estimate for models that cannot be listed, such as a
    structured DPP and its random projection ([KuleszaTaskar2012]_, sections 3.4 and 6.5.1).

    Parameters
    ----------
    p, q : SetDistribution, StructuredDPP or StructuredKDPP
        Two laws over the same items or structures.
    n_samples : int, optional
        Draws of p. By default all sets are listed where there are at most 16 items, and 1,000 are drawn otherwise.
    rng : int, Generator or None
        Seed or generator of the draws.

    Examples
    --------
    >>> import numpy as np, diverset as dv
    >>> p, q = dv.DPP(np.diag([1.0, 3.0])), dv.DPP(np.diag([1.0, 1.0]))
    >>> dv.core.l1_distance(p, q).value
    0.5
    """
    if n_samples is None and isinstance(p, SetDistribution) and isinstance(q, SetDistribution) and p.n_items <= 16:
        return Estimate(2.0 * total_variation(p, q), 0.0)
    draws = p.sample(_check_samples(1_000 if n_samples is None else n_samples), rng=rng)
    return _mean(np.array([2.0 * max(0.0, -math.expm1(min(q.log_prob(Y) - p.log_prob(Y), 0.0))) for Y in draws]))


def hellinger(p: SetDistribution, q: SetDistribution) -> float:
    r"""Hellinger distance :math:`\sqrt{\frac12 \sum_Y (\sqrt{p(Y)} - \sqrt{q(Y)})^2}`, between 0 and 1."""
    P, Q = _two_laws(p, q)
    return math.sqrt(0.5 * float(((np.sqrt(P) - np.sqrt(Q)) ** 2).sum()))
