r"""Probabilities that one or two eigenvectors are among the k that a k-DPP chooses.

A k-DPP draws a set J of k eigenvectors with :math:`\Pr(J) \propto \prod_{n \in J} \lambda_n`
([KuleszaTaskar2012]_, Alg. 8), which is the set of successes of independent trials with odds
:math:`\lambda_n`, given that there are k of them. Multiplying all odds by one number changes nothing, so
the trials are tilted to k expected successes (:func:`~diverset.numerics.symmetric.tilt`) and no quantity
overflows or vanishes.

Spectra are given by their logarithms; ``-inf`` is never chosen, ``+inf`` always is. A size k that these make
impossible leaves nothing to condition on, and the answer is ``nan``.
"""

import math

import numpy as np
from numpy.typing import ArrayLike

from diverset._typing import BoolArray, FloatArray
from diverset.numerics.linalg import tall_qr
from diverset.numerics.symmetric import expit, tilt

__all__ = ["pair_selection_factors", "selection_probabilities"]

# Counts less likely than this are dropped from the tables: nothing next to the counts near k, which all are
# likely once the variance reaches 1. Below that, on a plateau, leaving out one trial may make k - 1 a rare
# count. The tilt balances successes below the plateau with failures above it, so the chance of that is of the
# order of q_n at least, and the smaller floor serves every probability q_n^2 that float64 can hold.
_FLOOR = 1e-30
_PLATEAU_FLOOR = 1e-300
# Nodes of the characteristic function, and eigenvalues, that matter less than this are dropped.
_NODE_LOG_FLOOR = math.log(1e-20)
_RANK_TOLERANCE = 1e-17


def _free_entries(x: FloatArray, k: int) -> tuple[BoolArray, int]:
    """Mask of the entries neither certain nor impossible, and how many of them are to be chosen."""
    return np.isfinite(x), k - int(np.count_nonzero(x == np.inf))


def _settled(x: FloatArray, k: int) -> FloatArray | None:
    """Selection probabilities that need no computing: one set at most is possible."""
    free, k_free = _free_entries(x, k)
    m = int(np.count_nonzero(free))
    if k_free < 0 or k_free > m:
        return np.full(x.size, np.nan)
    if k_free == 0:
        return np.where(x == np.inf, 1.0, 0.0)
    if k_free == m:
        return np.where(x > -np.inf, 1.0, 0.0)
    return None


def selection_probabilities(log_lam: ArrayLike, k: int) -> FloatArray:
    r"""Probability that each eigenvector is among the k chosen.

    .. math::  \Pr(n \in J) = \lambda_n \frac{e_{k-1}^{-n}}{e_k}
               = \frac{q_n \Pr(N_{-n} = k - 1)}{q_n \Pr(N_{-n} = k - 1) + (1 - q_n) \Pr(N_{-n} = k)},

    with q the tilted probabilities and :math:`N_{-n}` the number of successes among the other trials.

    Parameters
    ----------
    log_lam : array_like of shape (m,)
        Log eigenvalues; ``-inf`` is never chosen, ``+inf`` always.
    k : int
        Number of eigenvectors chosen.

    Returns
    -------
    prob : ndarray of shape (m,)
        The probabilities; they sum to k. All ``nan`` if k is impossible.

    Notes
    -----
    The law of :math:`N_{-n}` is a convolution of the counts before n and after n, so one table in each
    direction serves every n: O(m min(k, m - k)) time, O(sqrt(m) min(k, m - k)) memory, against O(m k^2) for
    the tree of [KuleszaTaskar2012]_, section 5.2.3. For k above m / 2 the tables count failures, but the
    mass with n and the mass without n are both computed, never one as the complement of the other: all
    probabilities, down to the smallest, are relatively accurate.

    Examples
    --------
    >>> import numpy as np
    >>> selection_probabilities(np.log([1.0, 2.0, 3.0]), 2) * 11
    array([5., 8., 9.])
    """
    from diverset.numerics._loops import selection_masses

    x = np.asarray(log_lam, dtype=np.float64)
    prob = _settled(x, k)
    if prob is not None:
        return prob
    free, k_free = _free_entries(x, k)
    y = x[free]
    y = y + tilt(y, k_free)
    # Nearly certain trials first: the window of counts stays narrow until the uncertain ones come.
    order = np.argsort(-np.abs(y), kind="stable")
    p, r = expit(y[order]), expit(-y[order])
    floor = _FLOOR if float((p * r).sum()) >= 1.0 else _PLATEAU_FLOOR
    if 2 * k_free <= y.size:
        chosen, left = selection_masses(p, r, k_free, floor)
    else:
        left, chosen = selection_masses(r, p, y.size - k_free, floor)
    inner = np.empty(y.size)
    # The sum of the two is P(N = k) for every n, with rounding of its own that cancels in the quotient.
    inner[order] = chosen / (chosen + left)
    prob = np.where(x == np.inf, 1.0, 0.0)
    prob[free] = inner
    return prob


def pair_selection_factors(log_lam: ArrayLike, k: int) -> tuple[FloatArray, FloatArray]:
    r"""Low-rank form of the probabilities that two eigenvectors are both among the k chosen.

    .. math::  \Pr(n \in J, n' \in J) = \sum_s S_{ns} \sigma_s S_{n's}, \qquad n \ne n'.

    Parameters
    ----------
    log_lam : array_like of shape (m,)
        Log eigenvalues; ``-inf`` is never chosen, ``+inf`` always.
    k : int
        Number of eigenvectors chosen.

    Returns
    -------
    S : ndarray of shape (m, r)
        Rows of zeros where ``log_lam`` is ``-inf``.
    sigma : ndarray of shape (r,)
        Of either sign. ``S @ np.diag(sigma) @ S.T`` has the pair probabilities off its diagonal; its diagonal
        continues them smoothly to n = n' and is no probability. Both are ``nan`` if k is impossible.

    Notes
    -----
    With q tilted to k expected successes, :math:`\varphi(\theta) = \prod_n (1 - q_n + q_n e^{i\theta})` and
    :math:`p_\theta(n) = q_n e^{i\theta} / (1 - q_n + q_n e^{i\theta})`, inverting the characteristic
    function gives

    .. math::  \Pr(n, n' \in J) = \frac{1}{M \Pr(N = k)} \sum_{t=0}^{M-1}
               e^{-ik\theta_t} \varphi(\theta_t) p_{\theta_t}(n) p_{\theta_t}(n'),
               \qquad \theta_t = \frac{2\pi (t + 1/2)}{M},

    up to the probability of counts M or more away from k: none if M > max(k, m - k), and below 1e-20 by
    Bernstein's inequality for M of about ten standard deviations. Half steps with M even avoid
    :math:`\theta = \pi`, where a trial with q = 1/2 has a zero. Since :math:`|\varphi|` decays like a
    Gaussian, some fifteen pairs of nodes matter, so r is at most about 30 for long spectra, in O(m r^2) time
    and O(mr) memory. The error is near rounding times :math:`q_n q_{n'}`, which is the size of the pair
    probability itself unless k falls in a wide gap of the spectrum; a tiny one may then come out negative.

    Examples
    --------
    >>> import numpy as np
    >>> S, sigma = pair_selection_factors(np.log([1.0, 2.0, 3.0]), 2)
    >>> W = (S * sigma) @ S.T
    >>> (11 * W[np.triu_indices(3, 1)]).round(10)
    array([2., 3., 6.])
    """
    x = np.asarray(log_lam, dtype=np.float64)
    settled = _settled(x, k)
    if settled is not None:
        # The set is known, so a pair is in it when both are.
        known = settled[:, np.newaxis]
        return known, np.full(1, np.nan if np.isnan(settled).any() else 1.0)
    if k == 1:
        return np.zeros((x.size, 0)), np.zeros(0)
    free, k_free = _free_entries(x, k)
    support = x > -np.inf
    y = x[support] + tilt(x[free], k_free)
    q, r = expit(y), expit(-y)

    m_free = int(np.count_nonzero(free))
    var = float((q * r).sum())
    # Two more than the bound asks, since a pair is taken out of the count.
    n_nodes = math.ceil(17.3 + math.sqrt(235.0 + 92.0 * var))
    n_nodes = min(n_nodes, max(k_free, m_free - k_free) + 1)
    n_nodes += n_nodes % 2

    # 1 - q + q exp(i theta) = exp(i theta / 2) (c + i w s) with c, s the cosine and sine of
    # theta / 2, in which nothing is subtracted but q and 1 - q.
    w = q - r
    rare = np.minimum(q, r)
    drift = float(q.sum()) - k
    pivots = np.partition(np.abs(w), 1)[:2]  # support holds at least the two of a pair
    columns, weights = [], []
    for theta in 2.0 * np.pi * (np.arange(n_nodes // 2) + 0.5) / n_nodes:
        c, s = math.cos(0.5 * theta), math.sin(0.5 * theta)
        modulus2 = c * c + (w * s) ** 2
        # Two forms of one logarithm: near 1 the first keeps the sum of many tiny terms, near 0 the second.
        deficit = 4.0 * q * r * s * s
        log_abs = 0.5 * float(np.where(deficit < 0.5, np.log1p(-np.minimum(deficit, 0.5)), np.log(modulus2)).sum())
        # Largest modulus once a pair is left out; it falls with theta, so that no later node matters either.
        log_bound = log_abs - 0.5 * float(np.log(c * c + (pivots * s) ** 2).sum())
        if log_bound < _NODE_LOG_FLOOR:
            break
        # Argument of the rarer outcome, less its first order: that part sums to zero with the tilt, all but
        # the drift.
        angle = np.arctan2(2.0 * s * c * rare, np.abs(w) + 2.0 * c * c * rare)
        phase = float((np.copysign(1.0, -w) * (angle - theta * rare)).sum()) + drift * theta
        weight = 2.0 / n_nodes * np.exp(complex(log_abs, phase))
        weights.append(weight)
        # The root of the weight goes into the column, so that column norms are what they contribute.
        columns.append(np.sqrt(weight * np.exp(1j * theta)) * (c - 1j * w * s) / modulus2)
    # P(N = k), by the same sum. Conjugate nodes were folded into the factor 2.
    mass = float(np.sum(weights).real)

    # Re sum z z^T = X X^T - Y Y^T for z = X + iY.
    z = np.column_stack(columns) / math.sqrt(mass)
    Z = np.hstack([z.real, z.imag])
    signs = np.repeat([1.0, -1.0], len(columns))
    Q, R = tall_qr(Z)
    sigma, U = np.linalg.eigh((R * signs) @ R.T)
    keep = np.abs(sigma) > _RANK_TOLERANCE * np.abs(sigma).max()
    S = np.zeros((x.size, int(np.count_nonzero(keep))))
    # Rows are scaled by q last: up to here all are of order one, so rare eigenvectors keep their digits.
    S[support] = q[:, np.newaxis] * (Q @ U[:, keep])
    return S, sigma[keep]
