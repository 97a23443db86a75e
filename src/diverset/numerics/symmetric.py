r"""Elementary symmetric polynomials of a spectrum, without overflow.

.. math::  e_k(\lambda) = \sum_{|J| = k} \prod_{n \in J} \lambda_n

is the normaliser of a k-DPP ([KuleszaTaskar2012]_, Prop. 5.1). Spectra are given by their logarithms,
``-inf`` for a zero eigenvalue. Multiplying every eigenvalue by :math:`e^t` multiplies :math:`e_k` by
:math:`e^{kt}`, so t is free; chosen such that independent trials with odds :math:`e^t \lambda_n` succeed k
times on average, it turns :math:`e_k` into the probability of the most likely count, which is never small
([BarthelmeAmblardTremblay2019]_). The plain algorithms of the literature are here, too.
"""

import math

import numpy as np
from numpy.typing import ArrayLike

from diverset._typing import FloatArray

__all__ = [
    "elementary_symmetric_table",
    "elementary_symmetric_tree",
    "log_elementary_symmetric",
    "log_elementary_symmetric_all",
    "tilt",
    "tilted_log_mass",
]

# Mass dropped at each of m trials. Counts are tilted to have their mode at k, of mass above 1 / (m + 1), so
# what is lost there is far below rounding.
_NEGLIGIBLE = 1e-30


def expit(x: FloatArray) -> FloatArray:
    r"""Probability :math:`1 / (1 + e^{-x})` of log-odds x, without importing SciPy's special functions."""
    with np.errstate(over="ignore"):  # an infinite denominator is right
        p: FloatArray = 1.0 / (1.0 + np.exp(-x))
    return p


def tilt(log_lam: ArrayLike, target: float) -> float:
    r"""Shift of the log odds that makes the expected number of successes equal to a target.

    .. math::  \sum_n \frac{e^t \lambda_n}{1 + e^t \lambda_n} = c,

    the sum running over the finite entries of :math:`\log \lambda`.

    Parameters
    ----------
    log_lam : array_like of shape (m,)
        Log odds. Entries at ``-inf`` and ``+inf`` (never, always) do not depend on t and are left out.
    target : float
        The expected number c, between 0 and the number of finite entries.

    Returns
    -------
    t : float
        The shift; ``-inf`` for a target of 0 or less, ``+inf`` for the number of finite entries or more.

    Notes
    -----
    O(m) for each of about ten steps. Let T hold the r largest entries, r being c rounded, and R the others.
    The equation reads a = b with

    .. math::  a = \sum_{n \in R} p_n + (r - c)_+, \qquad b = \sum_{n \in T} (1 - p_n) + (c - r)_+,

    where :math:`p_n` is the success probability. No term cancels another, so :math:`\log a - \log b` keeps
    its digits, and a slope near 2, on the plateaus between groups of eigenvalues that are far apart, where
    the sum itself is constant to machine precision. Newton steps on that, inside a bracket, halved where
    they fail.

    Examples
    --------
    >>> import numpy as np
    >>> t = tilt(np.log([1.0, 2.0, 3.0]), 1.5)
    >>> odds = np.exp(t) * np.array([1.0, 2.0, 3.0])
    >>> round(float(np.sum(odds / (1 + odds))), 12)
    1.5
    """
    x = np.asarray(log_lam, dtype=np.float64)
    x = x[np.isfinite(x)]
    m = x.size
    c = float(target)
    if c <= 0.0:
        return -math.inf
    if c >= m:
        return math.inf

    r = min(round(c), m)
    split = np.partition(x, m - r) if 0 < r < m else x
    below, above = split[: m - r], split[m - r :]
    a0, b0 = max(r - c, 0.0), max(c - r, 0.0)

    # All entries at the smallest, or all at the largest, would need these shifts.
    logit = math.log(c) - math.log(m - c)
    lo, hi = logit - float(x.max()), logit - float(x.min())
    if 0 < r < m:
        t = min(max(-0.5 * (float(below.max()) + float(above.min())), lo), hi)
    else:
        t = 0.5 * (lo + hi)

    previous = math.inf
    for _ in range(300):
        p, s = expit(t + below), expit(-(t + above))
        a, b = a0 + float(p.sum()), b0 + float(s.sum())
        if a == b:
            return t
        if a < b:
            lo = t
        else:
            hi = t
        step = math.inf
        if a > 0.0 and b > 0.0:
            ratio = a / b
            # The quotient is the more accurate where the two are close, the logarithms cannot overflow.
            gap = math.log(ratio) if 0.5 < ratio < 2.0 else math.log(a) - math.log(b)
            slope = float(p @ (1.0 - p)) / a + float(s @ (1.0 - s)) / b
            if slope > 0.0 and abs(gap) <= 0.5 * previous:
                step = -gap / slope
            previous = abs(gap)
        if abs(step) <= 1e-9 * max(1.0, abs(t)):
            # Newton squares the error, so the next step would be lost in rounding.
            return t + step
        if lo < t + step < hi:
            t += step
        else:
            middle = 0.5 * (lo + hi)
            if not lo < middle < hi:
                return t
            t = middle
            previous = math.inf
    return t


def tilted_log_mass(log_lam: FloatArray, k: int) -> tuple[float, float]:
    r"""Tilt t of finite log odds to mean k, 0 < k < m, and the log probability of exactly k successes after it.

    O(m s) time for a standard deviation s of the count, :math:`s^2 \le \min(k, m - k)`. An integer mean is
    the mode ([Darroch1964]_, Thm. 4), so the probability is near :math:`1 / (2.5 s)` and never small.

    Examples
    --------
    >>> import numpy as np
    >>> t, log_mass = tilted_log_mass(np.ones(4), 2)
    >>> round(t, 12), round(float(np.exp(log_mass)), 12)
    (-1.0, 0.375)
    """
    from diverset.numerics._loops import count_distribution

    t = tilt(log_lam, k)
    y = t + log_lam
    # Nearly certain trials first: the window of counts stays narrow until the uncertain ones come.
    y = y[np.argsort(-np.abs(y), kind="stable")]
    f = count_distribution(expit(y), expit(-y), _NEGLIGIBLE)
    # Rounding in p and 1 - p multiplies up to 1 + O(m eps), alike for all counts near the mode.
    # Dividing by the total takes it out.
    return t, math.log(f[k]) - math.log(f.sum())


def log_elementary_symmetric(log_lam: ArrayLike, k: int) -> float:
    r"""Logarithm of one elementary symmetric polynomial.

    .. math::  \log e_k(\lambda) = \sum_n H(q_n) + \sum_n q_n \log \lambda_n + t \Big(\sum_n q_n - k\Big)
               + \log \Pr(N = k),

    with :math:`q_n = e^t \lambda_n / (1 + e^t \lambda_n)` for any t, H the entropy of a trial and N the
    number of successes among trials of probabilities q.

    Parameters
    ----------
    log_lam : array_like of shape (m,)
        Log eigenvalues; ``-inf`` stands for a zero eigenvalue, ``+inf`` for an infinite one.
    k : int
        Order.

    Returns
    -------
    log_e : float
        0 for k = 0; ``-inf`` for a negative k or one above the number of nonzero eigenvalues; ``+inf`` if,
        among the sets of k nonzero eigenvalues, some hold an infinite one.

    Notes
    -----
    O(m s) time, O(m) memory, with s as in :func:`tilted_log_mass`; nothing overflows for any spectrum, and
    each entropy is nonnegative, so no digits are lost between the terms. Source:
    [BarthelmeAmblardTremblay2019]_, who approximate the last term; here it is exact.

    Examples
    --------
    >>> import numpy as np
    >>> round(float(np.exp(log_elementary_symmetric(np.log([1.0, 2.0, 3.0]), 2))), 10)
    11.0
    """
    x = np.asarray(log_lam, dtype=np.float64)
    x = x[x > -np.inf]
    m = x.size
    if k == 0:
        return 0.0
    if k < 0 or k > m:
        return -math.inf
    if np.any(x == np.inf):
        return math.inf
    if k == m:
        return float(x.sum())
    t, log_mass = tilted_log_mass(x, k)
    y = t + x
    q = expit(y)
    size = np.abs(y)
    entropy = np.logaddexp(0.0, -size) + size * expit(-size)
    return float(entropy.sum() + (q * x).sum() + t * (q.sum() - k) + log_mass)


def elementary_symmetric_table(lam: ArrayLike, k: int) -> FloatArray:
    r"""Table of the elementary symmetric polynomials of every prefix of a spectrum, up to order k.

    .. math::  e_l^n = e_l^{n-1} + \lambda_n e_{l-1}^{n-1}, \qquad e_0^n = 1, \quad e_l^0 = 0 \ (l \ge 1).

    Entry (l, n) of the result, of shape (k + 1, m + 1), is :math:`e_l(\lambda_1, \dots, \lambda_n)`. O(mk) time and
    memory ([KuleszaTaskar2012]_, Alg. 7), as printed: it overflows where :math:`e_l` does.

    Examples
    --------
    >>> elementary_symmetric_table([1.0, 2.0, 3.0], 2)
    array([[ 1.,  1.,  1.,  1.],
           [ 0.,  1.,  3.,  6.],
           [ 0.,  0.,  2., 11.]])
    """
    lam = np.asarray(lam, dtype=np.float64)
    m = lam.size
    E = np.zeros((k + 1, m + 1))
    E[0] = 1.0
    for l in range(1, k + 1):  # noqa: E741 (the letter of the source)
        for n in range(1, m + 1):
            E[l, n] = E[l, n - 1] + lam[n - 1] * E[l - 1, n - 1]
    return E


def log_elementary_symmetric_all(log_lam: ArrayLike, k: int) -> FloatArray:
    r"""Logarithms of the elementary symmetric polynomials of orders 0 to k, of shape (k + 1,).

    .. math::  e_l^n = e_l^{n-1} + \lambda_n e_{l-1}^{n-1}, \qquad l = 0, \dots, k,

    in logarithms throughout. The parameters are those of :func:`log_elementary_symmetric`.

    Notes
    -----
    O(mk) time, O(k) memory: [KuleszaTaskar2012]_, Alg. 7, with a logarithm and an exponential for each
    entry of the table. Rounding of a logarithm grows with its size, so large :math:`e_l` lose digits.

    Examples
    --------
    >>> import numpy as np
    >>> np.exp(log_elementary_symmetric_all(np.log([1.0, 2.0, 3.0]), 3)).round(6)
    array([ 1.,  6., 11.,  6.])
    """
    x = np.asarray(log_lam, dtype=np.float64)
    x = x[x > -np.inf]
    log_e = np.full(k + 1, -np.inf)
    log_e[0] = 0.0
    if np.any(x == np.inf):
        log_e[1 : x.size + 1] = np.inf
        return log_e
    for value in x:
        # The right side is evaluated first, so each entry read is from the previous step.
        log_e[1:] = np.logaddexp(log_e[1:], value + log_e[:-1])
    return log_e


def elementary_symmetric_tree(lam: ArrayLike, k: int) -> FloatArray:
    r"""Polynomials of order k - 1 of a spectrum with each eigenvalue left out in turn, of shape (m,).

    .. math::  e_{k-1}^{-n} = e_{k-1}(\lambda_1, \dots, \lambda_{n-1}, \lambda_{n+1}, \dots, \lambda_m),

    by a binary tree over the eigenvalues and

    .. math::  e_k(\Lambda_1 \cup \Lambda_2) = \sum_{l=0}^k e_l(\Lambda_1) e_{k-l}(\Lambda_2).

    Notes
    -----
    [KuleszaTaskar2012]_, section 5.2.3. The subtrees beside the path from the root to a leaf are combined
    on the way down, so that leaves share the common part of their paths: O(m k^2) time, O(mk) memory. It
    overflows where the polynomials do.

    Examples
    --------
    >>> elementary_symmetric_tree([1.0, 2.0, 3.0], 3)
    array([6., 3., 2.])
    """
    lam = np.asarray(lam, dtype=np.float64)
    if lam.size == 0:
        return np.zeros(0)

    def union(e1: FloatArray, e2: FloatArray) -> FloatArray:
        return np.convolve(e1, e2)[:k]

    # inside[h][i] holds the polynomials of the leaves under node i at height h.
    inside = [[np.array([1.0, value])[:k] for value in lam]]
    while len(inside[-1]) > 1:
        row = inside[-1]
        pairs = [union(row[i], row[i + 1]) for i in range(0, len(row) - 1, 2)]
        inside.append(pairs + row[len(row) - len(row) % 2 :])

    outside = [np.ones(1)]
    for row in reversed(inside[:-1]):
        below = []
        for i in range(len(row)):
            sibling = i ^ 1
            parent = outside[i // 2]
            below.append(union(parent, row[sibling]) if sibling < len(row) else parent)
        outside = below
    return np.array([e[k - 1] if e.size >= k else 0.0 for e in outside])
