"""Beta ensembles: closed-form moments, normalising constants, and the law of two points by integration."""

import math

import numpy as np
import pytest
from scipy.stats import chisquare, kstest

from diverset.errors import DiversetError
from diverset.theory.classics import GUE, BetaHermite, BetaJacobi, BetaLaguerre

ENSEMBLES = {
    "hermite": (BetaHermite, {}, lambda x: np.exp(-(x**2) / 2), (-9.0, 9.0), (-0.8, 0.7)),
    "laguerre": (BetaLaguerre, {"alpha": 0.5}, lambda x: x**0.5 * np.exp(-x), (0.0, 40.0), (0.8, 2.5)),
    "jacobi": (BetaJacobi, {"a": 1.5, "b": 2.0}, lambda x: x**0.5 * (1.0 - x), (0.0, 1.0), (0.25, 0.6)),
}


def cell_law(weight, beta, support, cuts):
    """Law of the numbers of two points in three intervals, by the midpoint rule; and the integral itself."""
    edges = np.linspace(*support, 2001)
    x = (edges[1:] + edges[:-1]) / 2
    density = np.abs(x[:, None] - x) ** beta * np.outer(weight(x), weight(x)) * (x[1] - x[0]) ** 2
    cell = np.searchsorted(cuts, x)
    law = np.zeros((3, 3))
    np.add.at(law, (np.minimum.outer(cell, cell), np.maximum.outer(cell, cell)), density)
    return law / law.sum(), density.sum()


def cell_counts(points, cuts):
    cells = np.sort(np.searchsorted(cuts, points), axis=1)
    counts = np.zeros((3, 3))
    np.add.at(counts, (cells[:, 0], cells[:, 1]), 1.0)
    return counts


def p_value(counts, law):
    possible = law > 0.0
    return chisquare(counts[possible], counts.sum() * law[possible]).pvalue


@pytest.mark.parametrize("beta", [0.7, 2.0, 5.0])
@pytest.mark.parametrize("name", ENSEMBLES)
def test_two_points_follow_the_density_and_another_power_is_seen(name, beta):
    kind, arguments, weight, support, cuts = ENSEMBLES[name]
    law, integral = cell_law(weight, beta, support, cuts)
    ensemble = kind(2, beta, **arguments)
    assert ensemble.log_normalizer == pytest.approx(math.log(integral), abs=2e-3)
    points = ensemble.sample(20_000, rng=0)
    assert (np.diff(points, axis=1) >= 0.0).all()
    assert p_value(cell_counts(points, cuts), law) > 1e-4
    wrong = kind(2, 1.3 * beta, **arguments).sample(20_000, rng=0)
    assert p_value(cell_counts(wrong, cuts), law) < 1e-4


@pytest.mark.parametrize("n", [1, 2, 5])
@pytest.mark.parametrize("beta", [1.0, 3.3])
def test_moments(n, beta):
    size = 20_000

    def agrees(values, mean):
        return abs(values.mean() - mean) < 5.0 * values.std() / math.sqrt(size)

    assert agrees((BetaHermite(n, beta).sample(size, rng=1) ** 2).sum(axis=1), n + beta * n * (n - 1) / 2)
    points = BetaLaguerre(n, beta, alpha=-0.4).sample(size, rng=2)
    assert agrees(points.sum(axis=1), n * (0.6 + (n - 1) * beta / 2))
    assert agrees(np.log(points).sum(axis=1), digamma_sum(n, beta, 0.6))
    points = BetaJacobi(n, beta, a=0.5, b=2.5).sample(size, rng=3)
    assert agrees(points.mean(axis=1), (0.5 + (n - 1) * beta / 2) / (3.0 + (n - 1) * beta))


def digamma_sum(n, beta, first):
    """Mean log-determinant of Laguerre's matrix, a product of gamma numbers."""
    from scipy.special import digamma

    return digamma(first + beta / 2 * np.arange(n)).sum()


def test_known_laws():
    # The distance of two points of the Hermite ensemble is a chi number of beta + 1 degrees of freedom, times root 2.
    gaps = np.diff(BetaHermite(2, 3.0).sample(5_000, rng=0), axis=1)[:, 0]
    assert kstest(gaps**2 / 2, "chi2", args=(4,)).pvalue > 1e-4
    assert kstest(gaps**2 / 2, "chi2", args=(5,)).pvalue < 1e-4
    # For beta = 2 it is the GUE.
    x = np.array([-1.1, 0.3, 0.9])
    assert BetaHermite(3, 2.0).log_density(x) == pytest.approx(GUE(3).log_density(x), abs=1e-10)
    # One point is a normal, a gamma and a beta number.
    assert kstest(BetaHermite(1).sample(2_000, rng=0)[:, 0], "norm").pvalue > 1e-4
    assert kstest(BetaLaguerre(1, alpha=1.5).sample(2_000, rng=0)[:, 0], "gamma", args=(2.5,)).pvalue > 1e-4
    assert kstest(BetaJacobi(1, a=2.0, b=0.5).sample(2_000, rng=0)[:, 0], "beta", args=(2.0, 0.5)).pvalue > 1e-4


def test_many_points_and_bad_input():
    assert BetaHermite(1_000, 4.0).sample(rng=0).shape == (1_000,)
    assert BetaJacobi(3).sample(0, rng=0).shape == (0, 3)
    assert BetaLaguerre(2).log_density([-1.0, 2.0]) == -math.inf
    assert BetaJacobi(2).log_density([0.5, 2.0]) == -math.inf
    assert BetaHermite(2).log_density([0.5, 0.5]) == -math.inf
    assert repr(BetaHermite(2, 1.0)) == "BetaHermite(n_points=2, beta=1)"
    with pytest.raises(DiversetError, match="beta is -1"):
        BetaHermite(2, -1.0)
    with pytest.raises(DiversetError, match="alpha is -1; the weight"):
        BetaLaguerre(2, alpha=-1.0)
    with pytest.raises(DiversetError, match="x has 3 points; the ensemble has 2"):
        BetaHermite(2).log_density([1.0, 2.0, 3.0])
