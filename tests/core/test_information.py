"""Entropy and distances: closed forms, inequalities, and the estimate against the exact value."""

import math

import numpy as np
import pytest

import diverset as dv
import reference
from kernels_for_tests import wishart


def bernoulli_entropy(p):
    p = np.asarray(p)
    return float(-(p * np.log(p) + (1 - p) * np.log1p(-p)).sum())


def test_independent_items_have_the_sum_of_their_entropies():
    p = np.array([0.1, 0.5, 0.9, 0.3])
    assert dv.DPP.from_marginal(np.diag(p)).entropy().value == pytest.approx(bernoulli_entropy(p), abs=1e-12)


def test_law_matches_determinants_at_ten_items():
    L = wishart(10, 12, 0)
    listed = dv.law(dv.DPP(L))
    for Y, p in reference.law_from_L(L).items():
        assert listed[sum(1 << i for i in Y)] == pytest.approx(p, rel=1e-9)


def test_estimate_covers_the_exact_entropy():
    L = wishart(16, 20, 1)
    dpp = dv.DPP(L)
    exact = dpp.entropy()
    assert exact.standard_error == 0.0
    # One certain item more, which adds nothing, goes past the limit of listing: the estimate takes over.
    K = np.zeros((17, 17))
    K[:16, :16] = dpp.K
    K[16, 16] = 1.0
    estimate = dv.DPP.from_marginal(K).entropy(n_samples=3000, rng=0)
    assert 0.0 < estimate.standard_error < 0.1
    assert abs(float(estimate) - float(exact)) < 4 * estimate.standard_error
    again = dv.DPP.from_marginal(K).entropy(n_samples=3000, rng=0)
    assert again == estimate


def test_distances_between_independent_items():
    p, q = dv.DPP.from_marginal([[0.2]]), dv.DPP.from_marginal([[0.5]])
    assert dv.core.total_variation(p, q) == pytest.approx(0.3)
    assert dv.core.kl_divergence(p, q) == pytest.approx(0.2 * math.log(0.4) + 0.8 * math.log(1.6))
    overlap = math.sqrt(0.2 * 0.5) + math.sqrt(0.8 * 0.5)
    assert dv.core.hellinger(p, q) == pytest.approx(math.sqrt(1 - overlap))


def test_distances_obey_their_inequalities():
    p, q = dv.DPP(wishart(6, 8, 2)), dv.DPP(wishart(6, 8, 3))
    tv, h, kl = dv.core.total_variation(p, q), dv.core.hellinger(p, q), dv.core.kl_divergence(p, q)
    assert h**2 <= tv <= math.sqrt(2) * h
    assert tv <= math.sqrt(kl / 2)
    assert dv.core.total_variation(p, p) == dv.core.hellinger(p, p) == dv.core.kl_divergence(p, p) == 0.0
    assert dv.core.total_variation(q, p) == pytest.approx(tv)


def test_kl_is_infinite_where_a_set_is_missed():
    free, fixed = dv.DPP(np.eye(3)), dv.KDPP(np.eye(3), 2)
    assert dv.core.kl_divergence(free, fixed) == math.inf
    assert dv.core.kl_divergence(fixed, free) == pytest.approx(math.log(8 / 3))


def test_refusals():
    big = dv.DPP(np.eye(21))
    with pytest.raises(dv.errors.TooLargeError, match="2\\*\\*21 steps"):
        dv.law(big)
    with pytest.raises(ValueError, match="different items"):
        dv.core.kl_divergence(dv.DPP(np.eye(2)), dv.DPP(np.eye(3)))
    with pytest.raises(ValueError, match="n_samples is 1;"):
        big.entropy(n_samples=1)
