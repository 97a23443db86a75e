"""Every form of a DPP with its marginal kernel and its law, for tests."""

import math

import numpy as np
import pytest

import reference
from diverset.core.dense import DenseLikelihood
from diverset.core.dense_marginal import DenseMarginal
from diverset.core.eigenpairs import from_eigenpairs
from diverset.core.factor import RowFactor
from diverset.core.kronecker import KroneckerKernel
from diverset.core.lowrank import LowRankLikelihood
from diverset.core.lowrank_marginal import LowRankMarginal
from diverset.core.spectrum import Spectrum


def positions(Y):
    return np.array(sorted(Y), dtype=np.int64)


def rows_of(n, width, *, imaginary=False, seed=0):
    rng = np.random.default_rng([seed, n, width])
    B = rng.standard_normal((n, width))
    return B + 1j * rng.standard_normal((n, width)) if imaginary else B


def marginal_of(L):
    return L @ np.linalg.inv(np.eye(len(L)) + L)


def spectrum_of(kappa):
    with np.errstate(divide="ignore"):
        return Spectrum(np.log(kappa) - np.log1p(-np.array(kappa)))


def forms():
    """Pairs of a form and the marginal kernel that it should have, by name."""
    for imaginary in (False, True):
        tag = " complex" if imaginary else ""
        B = rows_of(4, 5, imaginary=imaginary)
        L = B @ B.conj().T
        yield "L" + tag, lambda L=L: DenseLikelihood(L.copy()), marginal_of(L)
        small = 0.01 * L
        yield "small L" + tag, lambda L=small: DenseLikelihood(L.copy()), marginal_of(small)
        K = marginal_of(L)
        K = (K + K.conj().T) / 2.0
        yield "K" + tag, lambda K=K: DenseMarginal(K.copy()), K
        B = rows_of(4, 2, imaginary=imaginary)
        C = B.conj().T @ B
        yield "rows" + tag, lambda B=B, C=C: LowRankLikelihood(RowFactor(B), C.copy(), 0.0), marginal_of(B @ B.conj().T)
        V = np.linalg.qr(rows_of(4, 3, imaginary=imaginary))[0]
        kappa = np.array([0.2, 0.6, 0.9])
        K = (V * kappa) @ V.conj().T
        yield "eigenpairs" + tag, lambda V=V, kappa=kappa: from_eigenpairs(spectrum_of(kappa), V), K
        G = V * np.sqrt(kappa)
        yield "rows of K" + tag, lambda G=G: LowRankMarginal(RowFactor(G), G.conj().T @ G, 0), K
        one = np.array([0.3, 0.8, 1.0])
        K = (V * one) @ V.conj().T
        yield "eigenpairs, one certain" + tag, lambda V=V, one=one: from_eigenpairs(spectrum_of(one), V), K
        G = V * np.sqrt(one)
        yield "rows of K, one certain" + tag, lambda G=G: LowRankMarginal(RowFactor(G), G.conj().T @ G, 1), K
        K = (K + K.conj().T) / 2.0
        yield "K, one certain" + tag, lambda K=K: DenseMarginal(K.copy()), K
    A, B = (lambda F: F @ F.T)(rows_of(2, 3)), (lambda F: F @ F.T)(rows_of(2, 1))
    factors = [DenseLikelihood(A), DenseLikelihood(B)]
    yield "product", lambda f=factors: KroneckerKernel.of(f), marginal_of(np.kron(A, B))


FORMS = {name: (make, K) for name, make, K in forms()}
FORMS |= {
    f"outside {name}": (lambda make=FORMS[name][0]: make().complement(), np.eye(4) - FORMS[name][1])
    for name in ("L", "rows complex", "eigenpairs, one certain", "K", "product")
}
LAWS = {name: reference.law_from_K(K) for name, (_, K) in FORMS.items()}
EVENTS = [([], []), ([0], []), ([], [0]), ([1, 3], []), ([], [1, 2]), ([2], [0]), ([0, 2], [1]), ([1], [0, 3])]
EVENTS += [([3], [0, 1, 2]), ([0, 1, 2], []), ([], [1, 2, 3]), ([0, 3], [1, 2])]


def assert_law(form, law, tolerance=1e-9):
    """Log-probabilities of all sets and events are those of a law over positions."""
    for Y, p in law.items():
        found = form.log_prob(positions(Y))
        assert math.exp(found) == pytest.approx(p, rel=tolerance, abs=1e-12)
    for inside, outside in EVENTS:
        if max([*inside, *outside], default=-1) < form.n:
            p = reference.probability(law, inside, outside)
            found = form.log_event_probability(positions(inside), positions(outside))
            assert math.exp(found) == pytest.approx(p, rel=1e-7, abs=1e-12)
