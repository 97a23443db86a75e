"""The multivariate Jacobi ensemble: orthonormal polynomials, the law of its points, and unbiased integrals."""

import math

import numpy as np
import pytest
from scipy.special import roots_jacobi
from scipy.stats import chisquare

from diverset.errors import DiversetError
from diverset.theory.classics import MultivariateJacobi
from diverset.theory.classics.jacobi import _draw_squared, _log_bound, _orthonormal

PARAMETERS = [[0.5, -0.5], [0.0, 0.2]]


def quadrature(parameters, order=25):
    """Nodes and weights that integrate polynomials exactly."""
    nodes, weights = zip(*(roots_jacobi(order, a, b) for a, b in parameters), strict=True)
    points = np.stack([axis.ravel() for axis in np.meshgrid(*nodes, indexing="ij")], axis=1)
    return points, np.prod(np.meshgrid(*weights, indexing="ij"), axis=0).ravel()


@pytest.mark.parametrize("parameters", [PARAMETERS, [[0.0, 0.0]], [[-0.5, -0.5]] * 3], ids=str)
def test_polynomials_are_orthonormal(parameters):
    process = MultivariateJacobi(10, parameters)
    points, weights = quadrature(parameters)
    Phi = process.polynomials(points)
    assert np.abs(Phi.T @ (weights[:, None] * Phi) - np.eye(10)).max() < 1e-12
    assert process.total_mass == pytest.approx(weights.sum(), rel=1e-12)
    assert np.allclose(process.functions(points) ** 2, Phi**2 * np.exp(process.log_weight(points))[:, None])
    assert process.degrees[0].tolist() == [0] * len(parameters)
    assert len(np.unique(process.degrees, axis=0)) == 10


def test_proposals_lie_under_their_bound_and_have_their_law():
    x = np.cos(np.linspace(0.0, np.pi, 4_001))
    for a in (-0.5, -0.2, 0.0, 0.5):
        for b in (-0.5, 0.0, 0.3, 0.5):
            for k in (1, 2, 5, 30):
                ratio = np.pi * (1 - x) ** (a + 0.5) * (1 + x) ** (b + 0.5) * _orthonormal(k, a, b, x) ** 2
                assert ratio.max() <= math.exp(_log_bound(k, a, b)) * (1.0 + 1e-9)
    cuts = np.linspace(-1.0, 1.0, 9)
    for k in (0, 3):
        nodes, weights = roots_jacobi(4_000, 0.3, -0.2)
        law = np.histogram(nodes, cuts, weights=weights * _orthonormal(k, 0.3, -0.2, nodes) ** 2)[0]
        draws = _draw_squared(k, 0.3, -0.2, 10_000, np.random.default_rng(0))
        observed = np.histogram(draws, cuts)[0]
        assert chisquare(observed, 10_000 * law / law.sum()).pvalue > 1e-4
        other = np.histogram(nodes, cuts, weights=weights * _orthonormal(k + 1, 0.3, -0.2, nodes) ** 2)[0]
        assert chisquare(observed, 10_000 * other / other.sum()).pvalue < 1e-4


def test_two_points_follow_the_density():
    # For two points on a line with the uniform measure the density is proportional to their squared distance.
    x = (np.arange(600) + 0.5) / 300 - 1.0
    density = (x[:, None] - x) ** 2
    cell = np.searchsorted([-0.5, 0.3], x)
    law = np.zeros((3, 3))
    np.add.at(law, (np.minimum.outer(cell, cell), np.maximum.outer(cell, cell)), density / density.sum())
    points = np.stack(MultivariateJacobi(2, [[0.0, 0.0]]).sample(5_000, rng=0))[:, :, 0]
    cells = np.sort(np.searchsorted([-0.5, 0.3], points), axis=1)
    counts = np.zeros((3, 3))
    np.add.at(counts, (cells[:, 0], cells[:, 1]), 1.0)
    possible = law > 0.0
    assert chisquare(counts[possible], 5_000 * law[possible]).pvalue > 1e-4
    independent = np.random.default_rng(0).permutation(points.ravel()).reshape(-1, 2)
    cells = np.sort(np.searchsorted([-0.5, 0.3], independent), axis=1)
    counts = np.zeros((3, 3))
    np.add.at(counts, (cells[:, 0], cells[:, 1]), 1.0)
    assert chisquare(counts[possible], 5_000 * law[possible]).pvalue < 1e-4


@pytest.mark.parametrize("estimator", ["bardenet-hardy", "ermakov-zolotukhin"])
def test_integrals_are_unbiased(estimator):
    process = MultivariateJacobi(6, PARAMETERS)
    points, weights = quadrature(PARAMETERS)

    def f(x):
        return np.cos(x[:, 0]) * np.exp(x[:, 1])

    exact = float(weights @ f(points))
    found = np.array([process.integral(f, estimator=estimator, rng=seed) for seed in range(300)])
    assert abs(found.mean() - exact) < 4.5 * found.std() / math.sqrt(300)
    if estimator == "ermakov-zolotukhin":

        def polynomial(x):
            return process.polynomials(x) @ np.arange(1.0, 7.0)

        for seed in range(5):
            value = process.integral(polynomial, estimator=estimator, rng=seed)
            assert value == pytest.approx(math.sqrt(process.total_mass), abs=1e-8)


def test_mean_and_variance_of_the_interpolating_estimate():
    # For two points both are integrals over pairs: the estimate, times the joint density, is a smooth function.
    process = MultivariateJacobi(2, [[0.3, -0.2]])
    x, w = quadrature([[0.3, -0.2]], 60)
    f, Phi = np.exp(x[:, 0]), process.polynomials(x)
    det = Phi[:, None, 0] * Phi[None, :, 1] - Phi[None, :, 0] * Phi[:, None, 1]
    solved = f[:, None] * Phi[None, :, 1] - f[None, :] * Phi[:, None, 1]  # the first coefficient, times det
    pairs = np.outer(w, w) / 2.0
    root = math.sqrt(process.total_mass)
    assert root * (pairs * solved * det).sum() == pytest.approx(w @ f, rel=1e-12)
    second = process.total_mass * (pairs * solved**2).sum()
    left = w @ f**2 - (((w * f) @ Phi) ** 2).sum()
    assert second - (w @ f) ** 2 == pytest.approx(left * process.total_mass, rel=1e-9)


def test_bad_input():
    with pytest.raises(DiversetError, match=r"exponent of size 0\.7"):
        MultivariateJacobi(3, [[0.7, 0.0]])
    process = MultivariateJacobi(3, [[0.0, 0.0]])
    assert repr(process) == "MultivariateJacobi(n_points=3, dim=1)"
    with pytest.raises(DiversetError, match="coordinate 2 in size"):
        process.functions([[2.0]])
    with pytest.raises(DiversetError, match="estimator is 'plain'"):
        process.integral(np.sin, estimator="plain")
