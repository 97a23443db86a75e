"""Explorers of open questions: closed forms, and a search that would see a convex line."""

import math

import numpy as np
import pytest

import diverset as dv
import reference
from diverset.theory import open_questions
from diverset.theory.open_questions import entropy_on_line, log_power_sum, random_marginal_kernel, search_concavity
from kernels_for_tests import wishart


def test_entropy_on_a_diagonal_line_is_that_of_coins():
    p, q = np.array([0.1, 0.9, 0.4]), np.array([0.7, 0.2, 0.4])
    t, H = entropy_on_line(np.diag(p), np.diag(q), n_points=5)
    for x, value in zip(t, H, strict=True):
        r = (1 - x) * p + x * q
        assert value == pytest.approx(float(-(r * np.log(r) + (1 - r) * np.log1p(-r)).sum()), abs=1e-12)


@pytest.mark.parametrize("n", [2, 3, 5, 7])
def test_no_counterexample_is_found(n):
    found = search_concavity(n, 25, rng=n)
    assert not found.counterexample
    assert found.largest == found.curvatures.max()
    assert found.rounding < 1e-9


def test_the_search_sees_a_convex_function(monkeypatch):
    """The twin: minus the entropy along the same lines is convex, and is reported."""
    real = open_questions.entropy
    monkeypatch.setattr(open_questions, "entropy", lambda dpp: dv.core.Estimate(-real(dpp).value, 0.0))
    assert search_concavity(3, 5, rng=0).counterexample


def test_random_kernels_reach_the_boundary():
    spectra = np.array([np.linalg.eigvalsh(random_marginal_kernel(4, rng=s)) for s in range(50)])
    assert spectra.min() > -1e-12
    assert spectra.max() < 1 + 1e-12
    assert (spectra < 1e-9).any()
    assert (spectra > 1 - 1e-9).any()


@pytest.mark.parametrize("p", [0.5, 1.0, 2.0, 3.5])
def test_power_sums_against_determinants(p):
    L = 2.0 * wishart(6, 8, 0)
    direct = sum(max(reference.det(L[np.ix_(sorted(Y), sorted(Y))]), 0.0) ** p for Y in reference.subsets(range(6)))
    assert log_power_sum(dv.DPP(L), p) == pytest.approx(math.log(direct), abs=1e-10)


def test_power_sums_of_independent_items_and_of_large_kernels():
    lam = np.array([0.1, 2.0, 30.0])
    assert log_power_sum(dv.DPP(np.diag(lam)), 3) == pytest.approx(float(np.log1p(lam**3).sum()))
    huge = dv.DPP(1e150 * np.eye(3))
    assert log_power_sum(huge, 4) == pytest.approx(12 * 150 * math.log(10.0))
    dpp = dv.DPP(wishart(5, 5, 1))
    assert log_power_sum(dpp, 1) == pytest.approx(dpp.log_normalizer)


def test_hellinger_distance_is_a_power_sum():
    """Of p and p itself the affinity is sum P = 1; of two scalings of one kernel it is a sum of roots."""
    L = wishart(4, 6, 2)
    p, q = dv.DPP(L), dv.DPP(np.eye(4))
    affinity = math.exp(log_power_sum(p, 0.5) - 0.5 * p.log_normalizer - 0.5 * q.log_normalizer)
    assert dv.core.hellinger(p, q) == pytest.approx(math.sqrt(1 - affinity), abs=1e-10)


def test_bad_input():
    with pytest.raises(ValueError, match="K0 is over 1 items and K1 over 2"):
        entropy_on_line([[0.5]], np.eye(2))
    with pytest.raises(ValueError, match="n_points is 2"):
        entropy_on_line([[0.5]], [[0.2]], n_points=2)
    with pytest.raises(ValueError, match="17 items"):
        entropy_on_line(np.eye(17), np.eye(17))
    with pytest.raises(ValueError, match="p is 0"):
        log_power_sum(dv.DPP(np.eye(2)), 0)
    with pytest.raises(ValueError, match="no likelihood kernel"):
        log_power_sum(dv.DPP.from_marginal(np.eye(2)), 2)
