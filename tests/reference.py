"""Ground truth: laws of set distributions as dictionaries, from determinants of every subset alone.

Nothing here uses the package. A law maps each subset (a frozenset of labels) to its probability.
"""

from collections import Counter
from itertools import chain, combinations

import numpy as np
from scipy.stats import chisquare

Law = dict[frozenset[int], float]


def subsets(items):
    items = list(items)
    return [frozenset(c) for c in chain.from_iterable(combinations(items, k) for k in range(len(items) + 1))]


def det(M):
    return float(np.linalg.det(M).real) if len(M) else 1.0


def normalized(law):
    total = sum(law.values())
    return {Y: p / total for Y, p in law.items()}


def law_from_L(L):
    """P(Y) proportional to det(L_Y)."""
    L = np.asarray(L)
    return normalized({Y: max(det(L[np.ix_(sorted(Y), sorted(Y))]), 0.0) for Y in subsets(range(len(L)))})


def law_from_K(K):
    """P(Y) = |det(K - I_notY)|, equation (altlike2); eigenvalue 1 allowed."""
    K = np.asarray(K)
    n = len(K)
    return {Y: abs(det(K - np.diag([0.0 if i in Y else 1.0 for i in range(n)]))) for Y in subsets(range(n))}


def probability(law, include=(), exclude=()):
    include, exclude = frozenset(include), frozenset(exclude)
    return sum(p for Y, p in law.items() if include <= Y and not exclude & Y)


def conditioned(law, include=(), exclude=()):
    include, exclude = frozenset(include), frozenset(exclude)
    kept = {Y - include: p for Y, p in law.items() if include <= Y and not exclude & Y}
    return normalized(kept)


def restricted(law, keep):
    result = Counter()
    for Y, p in law.items():
        result[Y & frozenset(keep)] += p
    return dict(result)


def complemented(law, items):
    return {frozenset(items) - Y: p for Y, p in law.items()}


def thinned(law, rate):
    """Each item of a draw kept independently with probability `rate`."""
    result = Counter()
    for Y, p in law.items():
        for kept in subsets(Y):
            result[kept] += p * rate ** len(kept) * (1.0 - rate) ** (len(Y) - len(kept))
    return dict(result)


def of_size(law, k):
    return normalized({Y: p if len(Y) == k else 0.0 for Y, p in law.items()})


def reweighted(law, size_probabilities):
    sizes = size_distribution(law)
    q = np.zeros(len(sizes))
    q[: len(size_probabilities)] = size_probabilities
    return {Y: p * q[len(Y)] / sizes[len(Y)] if q[len(Y)] else 0.0 for Y, p in law.items()}


def mixed(laws, weights):
    result = Counter()
    for law, weight in zip(laws, weights, strict=True):
        for Y, p in law.items():
            result[Y] += weight * p
    return dict(result)


def size_distribution(law):
    n = max(len(Y) for Y in law)
    pmf = np.zeros(n + 1)
    for Y, p in law.items():
        pmf[len(Y)] += p
    return pmf


def law_p_value(draws, law, min_expected=5.0):
    """P-value of a chi-square test on counts; cells expected to be rare are pooled into one."""
    cells = {A: i for i, A in enumerate(law)}
    observed = np.bincount([cells[frozenset(int(i) for i in A)] for A in draws], minlength=len(law))
    expected = len(draws) * np.fromiter(law.values(), dtype=float)
    if observed[expected == 0.0].any():
        return 0.0
    group = np.where(expected < min_expected, len(law), np.arange(len(law)))
    _, group = np.unique(group, return_inverse=True)
    o, e = np.bincount(group, observed), np.bincount(group, expected)
    o, e = o[e > 0.0], e[e > 0.0]
    return float(chisquare(o, e * o.sum() / e.sum()).pvalue)
