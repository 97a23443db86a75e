r"""The Poisson-binomial law: the number of successes among independent trials with different probabilities.

It is the law of the size of a DPP: trial n, whether eigenvector n is chosen, succeeds with probability
:math:`p_n = \lambda_n / (1 + \lambda_n)` ([KuleszaTaskar2012]_, section 2.3). In all functions, `log_lam` are the log
odds :math:`\log \lambda_n` of the trials, array_like of shape (m,): ``-inf`` never succeeds, ``+inf`` (eigenvalue 1 of
the marginal kernel) always does, and both :math:`p_n` and :math:`1 - p_n` keep all their digits however small they are.
"""

import math

import numpy as np
from numpy.typing import ArrayLike

from diverset._typing import FloatArray
from diverset.numerics.symmetric import expit, tilted_log_mass

__all__ = ["log_pmf", "log_pmf_many", "mean", "pmf", "variance"]

# Mass dropped at each end of the window of counts at one trial. m times this is the absolute error of pmf,
# so probabilities above _TRUSTED have all their digits, and no product ever becomes subnormal (slow and
# inexact).
_FLOOR = 1e-300
_TRUSTED = 1e-250


def mean(log_lam: ArrayLike) -> float:
    r"""Expected number of successes, :math:`\sum_n \lambda_n / (1 + \lambda_n)`, of trials with log odds `log_lam`.

    Examples
    --------
    >>> import numpy as np
    >>> round(mean(np.log([1.0, 3.0])), 12)
    1.25
    """
    return float(expit(np.asarray(log_lam, dtype=np.float64)).sum())


def variance(log_lam: ArrayLike) -> float:
    r"""Variance of the number of successes, :math:`\sum_n \lambda_n / (1 + \lambda_n)^2`, for log odds `log_lam`.

    Each term is the product of both probabilities of a trial, so it is accurate for nearly certain trials, too.

    Examples
    --------
    >>> import numpy as np
    >>> round(variance(np.log([1.0, 3.0])), 12)
    0.4375
    >>> variance([100.0]) == variance([-100.0]) > 0.0
    True
    """
    x = np.asarray(log_lam, dtype=np.float64)
    return float((expit(x) * expit(-x)).sum())


def pmf(log_lam: ArrayLike) -> FloatArray:
    r"""Probability of every number of successes of trials with log odds `log_lam`.

    .. math::  \Pr(N = j) = \sum_{|J| = j} \prod_{n \in J} p_n \prod_{n \notin J} (1 - p_n),
               \qquad p_n = \lambda_n / (1 + \lambda_n).

    Returns
    -------
    pmf : ndarray of shape (m' + 1,)
        Entry j is P(N = j), where m' counts the entries of ``log_lam`` above ``-inf``. Sums to 1.

    Notes
    -----
    Trial by trial, [KuleszaTaskar2012]_, Alg. 7, in probabilities: only sums of nonnegative terms, so every
    entry above 1e-250 is relatively accurate to rounding. Counts whose probability falls below 1e-300 are
    dropped at both ends (use :func:`log_pmf` for those). The other counts span about 74 standard deviations,
    so the cost is O(m s) for a standard deviation s, not O(m^2).

    Examples
    --------
    >>> import numpy as np
    >>> pmf(np.log([1.0, 3.0])).round(12)
    array([0.125, 0.5  , 0.375])
    >>> pmf([np.inf, 0.0, -np.inf])
    array([0. , 0.5, 0.5])
    """
    from diverset.numerics._loops import count_distribution

    x = np.asarray(log_lam, dtype=np.float64)
    x = x[x > -np.inf]
    uncertain = x[x < np.inf]
    # Nearly certain trials first, so that the window of counts stays narrow for most trials.
    y = uncertain[np.argsort(-np.abs(uncertain), kind="stable")]
    f = count_distribution(expit(y), expit(-y), _FLOOR)
    out = np.zeros(x.size + 1)
    # Rounding errors of p and 1 - p accumulate to a factor of 1 + O(m eps), which the sum removes.
    out[x.size - uncertain.size :] = f / f.sum()
    return out


def _divergence(x: FloatArray, t: float) -> FloatArray:
    """Kullback-Leibler divergences of trials with log odds t + x from trials with log odds x."""
    # Use the outcome that was rarer before the shift, so that its normaliser is near 1.
    u = -np.abs(x)
    s = np.where(x > 0.0, -t, t)
    if abs(t) > 500.0:
        growth = np.logaddexp(0.0, u + s) - np.logaddexp(0.0, u)
    else:
        # One logarithm of the ratio: the difference of two would lose the digits of small shifts.
        growth = np.log1p(expit(u) * np.expm1(s))
    divergence: FloatArray = s * expit(u + s) - growth
    return divergence


def log_pmf(log_lam: ArrayLike, k: int) -> float:
    r"""Log probability of k successes of trials with log odds `log_lam`; ``-inf`` if k is impossible.

    .. math::  \log \Pr(N = k) = -\sum_n \mathrm{KL}(q_n \,\|\, p_n) + t \Big(\sum_n q_n - k\Big)
               + \log \Pr(N_q = k),

    with :math:`q_n = e^t \lambda_n / (1 + e^t \lambda_n)` and t such that :math:`\sum_n q_n = k`, KL the
    divergence between two trials and :math:`N_q` the number of successes among trials of probabilities q.

    Notes
    -----
    O(m s) time for a standard deviation s of the tilted count, :math:`s^2 \le \min(k, m - k)`. The identity
    holds for any t; this one makes k the mode, so that its probability does not underflow, and makes the
    middle term vanish up to rounding. It is :func:`~diverset.numerics.symmetric.log_elementary_symmetric`
    less :math:`\sum_n \log(1 + \lambda_n)`, subtracted trial by trial.

    Examples
    --------
    >>> import numpy as np
    >>> round(float(np.exp(log_pmf(np.log([1.0, 3.0]), 1))), 12)
    0.5
    >>> round(log_pmf(np.full(1000, -700.0), 999) / 1000, 3)
    -699.293
    """
    x = np.asarray(log_lam, dtype=np.float64)
    k = k - int(np.count_nonzero(x == np.inf))
    x = x[np.isfinite(x)]
    m = x.size
    if k < 0 or k > m:
        return -math.inf
    if k == 0:
        return -float(np.logaddexp(0.0, x).sum())
    if k == m:
        return -float(np.logaddexp(0.0, -x).sum())
    t, log_mass = tilted_log_mass(x, k)
    return float(t * (expit(t + x).sum() - k) - _divergence(x, t).sum() + log_mass)


def log_pmf_many(log_lam: ArrayLike, ks: ArrayLike) -> FloatArray:
    r"""Log probabilities of several numbers of successes, :math:`\log \Pr(N = k)` for each k; an array of their shape.

    One call of :func:`pmf`, O(m s), gives all counts whose probability exceeds 1e-250. Every other count takes one
    call of :func:`log_pmf`.

    Examples
    --------
    >>> import numpy as np
    >>> np.exp(log_pmf_many(np.log([1.0, 3.0]), [0, 2, 5])).round(12)
    array([0.125, 0.375, 0.   ])
    """
    sizes = np.asarray(ks, dtype=np.int64)
    distinct, back = np.unique(sizes, return_inverse=True)
    prob = pmf(log_lam)
    out = np.empty(distinct.size)
    for i, k in enumerate(distinct):
        inside = 0 <= k < prob.size
        out[i] = math.log(prob[k]) if inside and prob[k] > _TRUSTED else log_pmf(log_lam, int(k))
    return out[back].reshape(sizes.shape)
