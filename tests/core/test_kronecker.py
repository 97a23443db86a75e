"""Kronecker kernels and extended L-ensembles, against dense kernels and enumeration."""

import math

import numpy as np
import pytest

import diverset as dv
import reference
from diverset.errors import DiversetError, KernelError
from kernels_for_tests import wishart

FACTORS = {
    "two": (wishart(2, 3, 0), wishart(3, 4, 1)),
    "three": (wishart(2, 2, 2), wishart(2, 3, 3), 0.3 * np.eye(2) + 0.1),
    "deficient": (wishart(3, 1, 4), wishart(2, 3, 5)),
    "one": (wishart(5, 6, 6),),
    "complex": (np.array([[2.0, 1j], [-1j, 2.0]]), wishart(3, 3, 7)),
    "single": (np.array([[2.0]]), wishart(4, 5, 8)),
}


def product_of(factors):
    product = np.ones((1, 1))
    for factor in factors:
        product = np.kron(product, factor)
    return product


@pytest.mark.parametrize("name", FACTORS)
def test_answers_are_those_of_the_dense_kernel(name):
    factors = FACTORS[name]
    kron, full = dv.core.kronecker_dpp(*factors), dv.DPP(product_of(factors))
    n = kron.n_items
    assert kron.rank == full.rank
    assert kron.log_normalizer == pytest.approx(full.log_normalizer, abs=1e-11)
    assert np.abs(kron.K - full.K).max() < 1e-12
    assert np.abs(kron.L - full.L).max() < 1e-12
    assert kron.size_distribution == pytest.approx(full.size_distribution, abs=1e-12)
    assert kron.inclusion_probabilities == pytest.approx(full.inclusion_probabilities, abs=1e-12)
    assert kron.pair_probabilities() == pytest.approx(full.pair_probabilities(), abs=1e-12)
    for Y in reference.subsets(range(n)):
        assert math.exp(kron.log_prob(Y)) == pytest.approx(math.exp(full.log_prob(Y)), abs=1e-12)
    for A, B in [([0], [1]), ([1, 2], [0]), ([], [0, 1, 2]), ([3], [])]:
        assert kron.probability(A, B) == pytest.approx(full.probability(A, B), abs=1e-12)
        if full.probability(A, B) > 1e-6:
            assert np.abs(kron.condition(A, B).K - full.condition(A, B).K).max() < 1e-9
    assert np.abs(kron.restrict([0, 2]).K - full.restrict([0, 2]).K).max() < 1e-12
    assert np.abs(kron.complement().K - full.complement().K).max() < 1e-12
    assert np.abs(kron.thin(0.3).K - full.thin(0.3).K).max() < 1e-12
    assert np.abs(kron.thin(0.3).L - full.thin(0.3).L).max() < 1e-10
    rescaled = kron.rescale(1.5)
    assert np.abs(rescaled.K - full.rescale(1.5).K).max() < 1e-9
    assert rescaled.log_prob([1]) == pytest.approx(full.rescale(1.5).log_prob([1]), abs=1e-9)
    for k in (1, 2):
        small, expected = kron.of_size(k), full.of_size(k)
        assert small.inclusion_probabilities == pytest.approx(expected.inclusion_probabilities, abs=1e-11)
        assert small.log_prob(range(k)) == pytest.approx(expected.log_prob(range(k)), abs=1e-9)


def test_draws_follow_the_law_and_swapped_factors_are_seen():
    A, B = FACTORS["two"]
    dpp = dv.core.kronecker_dpp(A, B)
    law = reference.law_from_L(np.kron(A, B))
    draws = dpp.sample(20_000, rng=0)
    assert reference.law_p_value(draws, law) > 1e-4
    assert reference.law_p_value(draws, reference.law_from_L(np.kron(B, A))) < 1e-4
    pairs = dpp.of_size(2).sample(10_000, rng=0)
    assert reference.law_p_value(pairs, reference.of_size(law, 2)) > 1e-4
    with pytest.raises(DiversetError, match=r"method is 'dual'.*offers auto, spectral"):
        dpp.sample(method="dual")
    with pytest.raises(DiversetError, match="no kernels are given"):
        dv.core.kronecker_dpp()
    with pytest.raises(KernelError, match="smallest eigenvalue"):
        dv.core.kronecker_dpp(np.eye(2), -np.eye(2))


def test_a_large_ground_set_needs_no_square_matrix():
    C = np.eye(40) + 0.3
    dpp = dv.core.kronecker_dpp(0.01 * C, C, 0.02 * C)
    assert dpp.n_items == 64_000
    assert dpp.inclusion_probabilities.sum() == pytest.approx(dpp.expected_size, rel=1e-10)
    assert len(dpp.sample(rng=0)) > 0
    assert dpp.marginal([5, 63_000]) == pytest.approx(dpp.pair_probabilities([(5, 63_000)])[0])


# extended L-ensembles ----------------------------------------------------------------------------------------


def extended_law(L, V):
    p = V.shape[1]
    law = {}
    for Y in reference.subsets(range(len(L))):
        at = sorted(Y)
        bordered = np.block([[L[np.ix_(at, at)], V[at]], [V[at].T, np.zeros((p, p))]])
        law[Y] = max((-1) ** p * reference.det(bordered), 0.0)
    return reference.normalized(law)


X = np.array([0.0, 0.4, 1.1, 1.5, 2.7])
DISTANCE = np.abs(X[:, None] - X)
EXTENDED = {
    "constant": (-DISTANCE, np.ones((5, 1))),
    "cubic": (DISTANCE**3, np.stack([np.ones(5), X], axis=1)),
    "positive": (wishart(5, 6, 0), np.ones((5, 1))),
    "deficient": (wishart(5, 2, 1), np.random.default_rng(0).standard_normal((5, 2))),
    "projection": (np.zeros((5, 5)), np.random.default_rng(1).standard_normal((5, 3))),
    "everything": (np.eye(3), np.eye(3) + 0.2),
    "none": (wishart(4, 4, 2), np.zeros((4, 0))),
}


@pytest.mark.parametrize("name", EXTENDED)
def test_extended_ensembles_have_the_bordered_determinants(name):
    L, V = EXTENDED[name]
    dpp, law = dv.core.extended_dpp(L, V), extended_law(L, V)
    for Y, p in law.items():
        assert math.exp(dpp.log_prob(Y)) == pytest.approx(p, abs=1e-10)
        assert dpp.marginal(Y) == pytest.approx(reference.probability(law, Y), abs=1e-10)
    pmf = reference.size_distribution(law)
    assert dpp.size_distribution == pytest.approx(pmf[: dpp.rank + 1], abs=1e-10)
    assert dpp.size_distribution[: V.shape[1]] == pytest.approx(0.0, abs=1e-15)
    draws = dpp.sample(4_000, rng=0)
    assert min(len(d) for d in draws) >= V.shape[1]
    possible = {Y: p for Y, p in law.items() if p > 1e-10}
    assert len(possible) == 1 or reference.law_p_value(draws, possible) > 1e-4
    # The directions may be given in any coordinates.
    again = dv.core.extended_dpp(L, V @ (np.eye(V.shape[1]) + 0.3))
    assert np.abs(again.K - dpp.K).max() < 1e-10


def test_the_directions_count():
    law = extended_law(*EXTENDED["positive"])
    draws = dv.DPP(EXTENDED["positive"][0]).sample(2_000, rng=0)
    assert reference.law_p_value(draws, law) < 1e-4


def test_extended_ensembles_that_do_not_exist():
    with pytest.raises(KernelError, match=r"smallest eigenvalue -\d.*orthogonal to V"):
        dv.core.extended_dpp(DISTANCE, np.ones((5, 1)))
    with pytest.raises(KernelError, match="dependent columns"):
        dv.core.extended_dpp(-DISTANCE, np.ones((5, 2)))
    with pytest.raises(KernelError, match="6 columns for 5 items"):
        dv.core.extended_dpp(-DISTANCE, np.ones((5, 6)))
    with pytest.raises(KernelError, match=r"L\[0, 1\] is 0, but L\[1, 0\] is 1"):
        dv.core.extended_dpp([[1.0, 0.0], [1.0, 1.0]], np.ones((2, 1)))
    with pytest.raises(KernelError, match="a kernel is square"):
        dv.core.extended_dpp(np.ones((2, 3)), np.ones((2, 1)))
