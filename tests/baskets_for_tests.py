"""Small data for learners: baskets over four items, and comparisons judged by the second of three experts."""

import numpy as np

from diverset.learn import Comparison

BASKETS = [[0, 2], [1, 2], [0], [1], [2], [0, 2], [1], [], [0, 1, 2], [3]]


def alike(pairs, n=4):
    S = np.eye(n)
    for i, j in pairs:
        S[i, j] = S[j, i] = 0.9
    return S


EXPERTS = [alike([(0, 1)]), alike([(0, 2)]), alike([(0, 3), (1, 2)])]


def judged():
    rng = np.random.default_rng(0)
    found = []
    for _ in range(12):
        i, j, k = rng.permutation(4)[:3]
        first, second = sorted([int(i), int(j)]), sorted([int(i), int(k)])
        better = np.linalg.det(EXPERTS[1][np.ix_(first, first)]) >= np.linalg.det(EXPERTS[1][np.ix_(second, second)])
        found.append(Comparison(EXPERTS, *((first, second) if better else (second, first))))
    return found
