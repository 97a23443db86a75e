"""Kernels that between them reach every branch: random, deficient, duplicated, graded, projections, empty."""

import numpy as np


def wishart(n, rank, seed, *, complex_=False):
    rng = np.random.default_rng(seed)
    B = rng.standard_normal((n, rank))
    if complex_:
        B = B + 1j * rng.standard_normal((n, rank))
    return B @ B.conj().T / max(rank, 1)


def orthonormal(n, m, seed, *, complex_=False):
    rng = np.random.default_rng(seed)
    B = rng.standard_normal((n, m))
    if complex_:
        B = B + 1j * rng.standard_normal((n, m))
    return np.linalg.qr(B)[0]


def duplicated(n, seed):
    """Items 0 and 1 are the same, and item 2 is twice item 0."""
    B = np.random.default_rng(seed).standard_normal((n, n))
    B[1] = B[0]
    B[2] = 2.0 * B[0]
    return B @ B.T


LIKELIHOOD_KERNELS = {
    "random-5": wishart(5, 7, 1),
    "random-7": 3.0 * wishart(7, 9, 2),
    "deficient-6": wishart(6, 3, 3),
    "rank-one": wishart(5, 1, 4),
    "duplicated": duplicated(6, 5),
    "diagonal": np.diag([0.3, 1.0, 0.0, 5.0]),
    "graded": (lambda q: q[:, None] * (0.4 * np.eye(5) + 0.6) * q)(np.array([1e-4, 0.1, 1.0, 10.0, 1e3])),
    "complex": wishart(5, 6, 6, complex_=True),
    "complex-deficient": wishart(6, 2, 7, complex_=True),
    "zero": np.zeros((3, 3)),
    "one-item": np.array([[2.0]]),
    "no-item": np.zeros((0, 0)),
}


def _marginal(kappa, seed, *, complex_=False):
    V = orthonormal(len(kappa), len(kappa), seed, complex_=complex_)
    K = (V * np.asarray(kappa)) @ V.conj().T
    return (K + K.conj().T) / 2


MARGINAL_KERNELS = {
    "inner": _marginal([0.1, 0.3, 0.5, 0.7, 0.95], 11),
    "projection": _marginal([0, 0, 0, 1, 1, 1], 12),
    "one-and-less": _marginal([0, 0.2, 0.6, 1, 1], 13),
    "complex-one": _marginal([0, 0.4, 1, 1], 14, complex_=True),
    "near-one": _marginal([0.2, 0.9, 1 - 1e-9, 1 - 1e-12], 15),
    "identity": np.eye(4),
    "zero": np.zeros((4, 4)),
    "one-item-certain": np.array([[1.0]]),
    "no-item": np.zeros((0, 0)),
}
