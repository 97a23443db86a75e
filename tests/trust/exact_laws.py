"""Exact enumeration in mpmath: the law of every subset from determinants of the inputs, which floats hold exactly."""

from itertools import combinations

import mpmath as mp
import numpy as np

#: Digits: scales of 1e16 in eight items leave determinants 1e-256 apart.
DIGITS = 400


def exact_matrix(a):
    """An mpmath matrix with the entries of `a`, as they are."""
    a = np.asarray(a)
    convert = (lambda x: mp.mpc(float(x.real), float(x.imag))) if a.dtype.kind == "c" else (lambda x: mp.mpf(float(x)))
    return mp.matrix([[convert(x) for x in row] for row in a])


def product_kernel(rows):
    """B B*, exactly."""
    B = exact_matrix(rows)
    return B * B.transpose_conj()


def minor(M, items):
    return mp.matrix([[M[i, j] for j in items] for i in items]) if items else mp.matrix(0, 0)


def determinant(M):
    return mp.re(mp.det(M)) if M.rows else mp.mpf(1)


def subsets(n):
    return [Y for k in range(n + 1) for Y in combinations(range(n), k)]


class ExactLaw:
    """Probabilities of all subsets of n items."""

    def __init__(self, weights, n):
        self.n = n
        total = mp.fsum(weights.values())
        self.p = {Y: w / total for Y, w in weights.items()}

    @classmethod
    def of_likelihood(cls, L, rank=None):
        """P(Y) proportional to det(L_Y); sets above `rank`, if known, have weight exactly zero."""
        n = L.rows
        return cls(
            {Y: determinant(minor(L, Y)) if rank is None or len(Y) <= rank else mp.mpf(0) for Y in subsets(n)}, n
        )

    @classmethod
    def of_marginal(cls, K):
        """P(Y) = |det(K - I_notY)|."""
        n = K.rows
        weights = {}
        for Y in subsets(n):
            M = K.copy()
            for i in range(n):
                if i not in Y:
                    M[i, i] -= 1
            weights[Y] = abs(determinant(M))
        return cls(weights, n)

    def of_size(self, k):
        return ExactLaw({Y: w if len(Y) == k else mp.mpf(0) for Y, w in self.p.items()}, self.n)

    def probability(self, include=(), exclude=()):
        inside, outside = set(include), set(exclude)
        return mp.fsum(w for Y, w in self.p.items() if inside <= set(Y) and not outside & set(Y))

    def inclusion(self):
        return [self.probability([i]) for i in range(self.n)]

    def sizes(self):
        return [mp.fsum(w for Y, w in self.p.items() if len(Y) == k) for k in range(self.n + 1)]

    def entropy(self):
        return -mp.fsum(w * mp.log(w) for w in self.p.values() if w > 0)

    def conditioned(self, include=(), exclude=()):
        """Law of the other items, by their position among those left, and their labels."""
        gone = set(include) | set(exclude)
        left = [i for i in range(self.n) if i not in gone]
        weights = {Y: mp.mpf(0) for Y in subsets(len(left))}
        for Y, w in self.p.items():
            if set(include) <= set(Y) and not set(exclude) & set(Y):
                weights[tuple(left.index(i) for i in Y if i not in gone)] += w
        return ExactLaw(weights, len(left)), left

    def restricted(self, keep):
        weights = {Y: mp.mpf(0) for Y in subsets(len(keep))}
        for Y, w in self.p.items():
            weights[tuple(i for i, label in enumerate(keep) if label in Y)] += w
        return ExactLaw(weights, len(keep))

    def complement(self):
        everything = range(self.n)
        return ExactLaw({tuple(i for i in everything if i not in Y): w for Y, w in self.p.items()}, self.n)

    def thinned(self, rate):
        rate = mp.mpf(rate)
        weights = {Y: mp.mpf(0) for Y in self.p}
        for Y, w in self.p.items():
            for k in range(len(Y) + 1):
                for kept in combinations(Y, k):
                    weights[kept] += w * rate**k * (1 - rate) ** (len(Y) - k)
        return ExactLaw(weights, self.n)
