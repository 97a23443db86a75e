"""DPPs in continuous space: branches on a grid, laws of counts in regions, pair correlations, densities."""

import itertools
import math

import numpy as np
import pytest
from scipy.stats import chisquare

from diverset.errors import DiversetError, KernelError, NoLikelihoodKernelError, SizeError
from diverset.numerics import poisson_binomial
from diverset.theory._projection import ProjectionWalk
from diverset.theory.processes import Box, ContinuousDPP, pair_correlation
from reference import det

TORUS = Box.unit(2, torus=True)
CIRCLE = Box((2.0,), torus=True)


def counts_p_value(counts, law):
    seen = np.bincount(counts, minlength=len(law)).astype(float)
    if len(seen) > len(law):
        return 0.0
    expected = len(counts) * np.asarray(law)
    rare = expected < 5.0
    o, e = np.append(seen[~rare], seen[rare].sum()), np.append(expected[~rare], expected[rare].sum())
    return chisquare(o[e > 0], e[e > 0] * o.sum() / e.sum()).pvalue


# the algorithm --------------------------------------------------------------------------------------------------------


def branches(directions, walk_class=ProjectionWalk, picks=(), probability=1.0, law=None):
    """Law of the set of places drawn from a grid, by following every branch."""
    law = {} if law is None else law
    n = directions.shape[1]
    walk = walk_class(n)
    for place in picks:
        walk.add(directions[place])
    if walk.done:
        key = frozenset(picks)
        law[key] = law.get(key, 0.0) + probability
        return law
    left = walk.residuals(directions)
    for place, weight in enumerate(left / left.sum()):
        if weight > 1e-14:
            branches(directions, walk_class, (*picks, place), probability * weight, law)
    return law


class Forgetful(ProjectionWalk):
    """The known fault: directions join the basis without being made orthogonal."""

    def add(self, direction):
        self._basis[self._count] = direction / np.linalg.norm(direction)
        self._count += 1


@pytest.mark.parametrize("modes", [[0], [-1, 0, 1], [0, 1, 3], [-2, 1]])
def test_branches_on_a_grid_are_a_projection_dpp(modes):
    """On 7 regular places the modes stay orthonormal, so picks follow the finite DPP with the same kernel."""
    x = np.arange(7) / 7
    F = np.exp(2j * np.pi * np.outer(x, modes))
    K = F @ F.conj().T / 7
    law = branches(F / math.sqrt(len(modes)))
    assert sum(law.values()) == pytest.approx(1.0)
    for A in itertools.combinations(range(7), len(modes)):
        assert law.get(frozenset(A), 0.0) == pytest.approx(det(K[np.ix_(A, A)]), abs=1e-12)


def test_branches_see_directions_that_are_not_orthogonal():
    F = np.exp(2j * np.pi * np.outer(np.arange(7) / 7, [-1, 0, 1]))
    right, wrong = (branches(F / math.sqrt(3), walk) for walk in (ProjectionWalk, Forgetful))
    assert max(abs(right[A] - wrong.get(A, 0.0)) for A in right) > 1e-3


# laws of counts -------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def gaussian():
    dpp = ContinuousDPP.gaussian(TORUS, intensity=30.0, scale=0.1)
    return dpp, dpp.sample(700, rng=1)


def test_numbers_of_points(gaussian):
    dpp, draws = gaussian
    counts = [len(X) for X in draws]
    assert counts_p_value(counts, dpp.size_distribution) > 1e-4
    poisson = [math.exp(-30.0 + k * math.log(30.0) - math.lgamma(k + 1)) for k in range(80)]
    assert counts_p_value(counts, poisson) < 1e-10
    assert dpp.expected_size == pytest.approx(30.0)
    # Sum of kappa less sum of kappa^2, the latter rho^2 times the integral of exp(-2 r^2 / alpha^2).
    assert dpp.size_variance == pytest.approx(30.0 - 900.0 * math.pi * 0.1**2 / 2)


@pytest.mark.parametrize(("lower", "upper"), [((0.1, 0.2), (0.5, 0.9)), ((0.0, 0.0), (1.0, 0.5))])
def test_numbers_in_a_region(gaussian, lower, upper):
    dpp, draws = gaussian
    kappa = dpp.region_eigenvalues(lower, upper)
    law = poisson_binomial.pmf(np.log(np.maximum(kappa, 1e-300)) - np.log1p(-kappa))
    counts = [int(((X >= lower) & (X <= upper)).all(axis=1).sum()) for X in draws]
    assert counts_p_value(counts, law) > 1e-4
    mean = 30.0 * np.prod(np.subtract(upper, lower))
    assert kappa.sum() == pytest.approx(mean)
    poisson = [math.exp(-mean + k * math.log(mean) - math.lgamma(k + 1)) for k in range(80)]
    assert counts_p_value(counts, poisson) < 1e-6


def test_numbers_in_a_region_by_quadrature():
    """Eigenvalues of the restricted kernel, against those of its values on a fine grid."""
    dpp = ContinuousDPP.gaussian(CIRCLE, intensity=4.0, scale=0.12)
    nodes, weights = np.polynomial.legendre.leggauss(60)
    x, w = 0.3 + 0.35 * (nodes + 1.0), 0.35 * weights
    K = dpp.kernel(x[:, None], x[:, None])
    expected = np.linalg.eigvalsh(np.sqrt(w)[:, None] * K * np.sqrt(w))[::-1][:6]
    assert np.sort(dpp.region_eigenvalues([0.3], [1.0]))[::-1][:6] == pytest.approx(expected, abs=1e-9)


def test_pair_correlation_of_draws(gaussian):
    dpp, draws = gaussian
    r = np.array([0.02, 0.05, 0.08, 0.12, 0.2])
    formula = 1.0 - np.exp(-2.0 * (r / 0.1) ** 2)
    assert dpp.pair_correlation(np.stack([r, 0 * r], axis=1)) == pytest.approx(formula, abs=1e-9)
    groups = [pair_correlation(draws[i::10], TORUS, r, bandwidth=0.005) for i in range(10)]
    mean, error = np.mean(groups, axis=0), np.std(groups, axis=0, ddof=1) / math.sqrt(10)
    assert (np.abs(mean - formula) < 5.0 * error + 0.003).all()
    assert np.abs(mean - 1.0)[0] > 20.0 * error[0]


@pytest.mark.parametrize("n", [1, 4, 9])
def test_a_given_number_of_points(n):
    dpp = ContinuousDPP.gaussian(TORUS, intensity=5.0, scale=0.2)
    draws = dpp.sample(4, n_points=n, rng=n)
    assert [X.shape for X in draws] == [(n, 2)] * 4


def test_two_points_on_a_circle_have_their_density():
    """For a projection onto the modes 0 and 1 the angle between two points has density (1 - cos) / 2 pi."""
    dpp = ContinuousDPP(Box((1.0,), torus=True), [0, 1], [1.0, 1.0])
    gaps = np.array([(X[1, 0] - X[0, 0]) % 1.0 for X in dpp.sample(4000, rng=3)])
    edges = np.linspace(0.0, 1.0, 9)
    expected = 4000 * np.diff(edges - np.sin(2 * np.pi * edges) / (2 * np.pi))
    seen = np.histogram(gaps, edges)[0]
    assert chisquare(seen, expected).pvalue > 1e-4
    assert chisquare(seen, np.full(8, 500.0)).pvalue < 1e-10


def test_a_given_number_of_points_has_its_density():
    """Two points of three modes: pairs of modes weigh as the product of their odds, and each has its own gap."""
    kappa = np.array([0.8, 0.3, 0.5])
    dpp = ContinuousDPP(Box((1.0,), torus=True), [0, 1, 4], kappa)
    odds = kappa / (1.0 - kappa)
    edges = np.linspace(0.0, 1.0, 17)

    def expected(weights):
        total = np.zeros(16)
        for difference, weight in zip((1, 4, 3), weights, strict=True):
            waves = np.sin(2 * np.pi * difference * edges) / (2 * np.pi * difference)
            total += weight / sum(weights) * np.diff(edges - waves)
        return 4000 * total

    gaps = np.array([(X[1, 0] - X[0, 0]) % 1.0 for X in dpp.sample(4000, n_points=2, rng=5)])
    seen = np.histogram(gaps, edges)[0]
    assert chisquare(seen, expected([odds[0] * odds[1], odds[0] * odds[2], odds[1] * odds[2]])).pvalue > 1e-4
    # Weights by eigenvalues instead of odds are another law.
    wrong = [kappa[0] * kappa[1], kappa[0] * kappa[2], kappa[1] * kappa[2]]
    assert chisquare(seen, expected(wrong)).pvalue < 1e-4


def test_projections_have_one_size():
    dpp = ContinuousDPP.projection(TORUS, 12)
    assert dpp.size_distribution[12] == pytest.approx(1.0)
    assert dpp.size_variance == 0.0
    assert {len(X) for X in dpp.sample(5, rng=0)} == {12}
    # In one dimension these are the unitary matrices' eigenvalues: g(t) = 1 - (sin(pi n t) / n sin(pi t))^2.
    t = np.array([0.03, 0.1, 0.25])
    unitary = ContinuousDPP.projection(Box((1.0,), torus=True), 7)
    expected = 1.0 - (np.sin(7 * np.pi * t) / (7 * np.sin(np.pi * t))) ** 2
    assert unitary.pair_correlation(t[:, None]) == pytest.approx(expected, abs=1e-12)


# kernels --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dim", [1, 2, 3])
def test_kernels_are_periodic_sums(dim):
    box = Box.unit(dim, torus=True)
    rng = np.random.default_rng(dim)
    x, y = rng.random((3, dim)), rng.random((4, dim))
    shifts = np.array(list(itertools.product(range(-3, 4), repeat=dim)))
    apart = np.linalg.norm(x[:, None, None] - y[None, :, None] + shifts, axis=-1)
    gaussian = ContinuousDPP.gaussian(box, intensity=1.5, scale=0.3)
    assert gaussian.kernel(x, y) == pytest.approx(1.5 * np.exp(-((apart / 0.3) ** 2)).sum(axis=-1), abs=1e-8)
    assert gaussian.intensity == pytest.approx(1.5 * np.exp(-((np.linalg.norm(shifts, axis=1) / 0.3) ** 2)).sum())
    if dim == 1:
        cauchy = ContinuousDPP.cauchy(box, intensity=2.0, scale=0.1)
        far = np.abs(x[:, None, 0] - y[None, :, 0])[..., None] + np.arange(-20_000, 20_001)
        expected = 2.0 / (1.0 + (far / 0.1) ** 2)
        assert cauchy.kernel(x, y) == pytest.approx(expected.sum(axis=-1), abs=1e-5)


def test_a_box_with_edges_is_a_window_on_the_plane():
    box = Box((1.0, 0.5))
    dpp = ContinuousDPP.gaussian(box, intensity=20.0, scale=0.1)
    assert all(a > b for a, b in zip(dpp.period.sides, box.sides, strict=True))
    x = np.array([[0.0, 0.0], [0.01, 0.49], [0.99, 0.5]])
    expected = 20.0 * np.exp(-((np.linalg.norm(x[:, None] - x, axis=-1) / 0.1) ** 2))
    assert dpp.kernel(x, x) == pytest.approx(expected, abs=1e-6)
    draws = dpp.sample(120, rng=2)
    assert max(X[:, 0].max() for X in draws) <= 1.0
    assert max(X[:, 1].max() for X in draws) <= 0.5
    counts = [len(X) for X in draws]
    assert counts_p_value(counts, dpp.size_distribution) > 1e-4
    assert dpp.expected_size == pytest.approx(10.0)
    with pytest.raises(DiversetError, match="torus only"):
        dpp.log_density(x)


# densities ------------------------------------------------------------------------------------------------------------


def test_densities_integrate_to_one():
    """Sum over n of the integral over n points, divided by n! and against the Poisson process: exact on a grid."""
    box = Box((1.5,), torus=True)
    dpp = ContinuousDPP(box, [-1, 0, 2], [0.3, 0.8, 0.5])
    m = 9  # places: enough for products of these modes to integrate exactly
    x = np.arange(m) / m * 1.5
    totals = [math.exp(dpp.log_density([]))]
    for n in (1, 2, 3):
        value = 0.0
        for places in itertools.product(range(m), repeat=n):
            if len(set(places)) == n:
                value += math.exp(dpp.log_density(x[list(places)][:, None]))
        totals.append(value * (1.5 / m) ** n / math.factorial(n))
    pmf = np.array(totals) * math.exp(-1.5)
    assert pmf == pytest.approx(dpp.size_distribution, abs=1e-10)
    assert pmf.sum() == pytest.approx(1.0, abs=1e-10)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: ContinuousDPP.gaussian(TORUS, intensity=100.0, scale=0.1), KernelError, "at most 31.831"),
        (lambda: ContinuousDPP.cauchy(TORUS, intensity=100.0, scale=0.1), KernelError, "at most 15.9155"),
        (lambda: ContinuousDPP.cauchy(Box.unit(2), intensity=1.0, scale=0.1), DiversetError, "torus=True"),
        (lambda: ContinuousDPP.projection(Box.unit(2), 3), DiversetError, "torus=True"),
        (lambda: ContinuousDPP.gaussian(TORUS, intensity=1.0, scale=1e-4), DiversetError, "more than 200000 modes"),
        (lambda: ContinuousDPP(CIRCLE, [0, 0], [0.1, 0.2]), DiversetError, "twice"),
        (lambda: ContinuousDPP(CIRCLE, [0, 1], [0.1, 1.2]), KernelError, "eigenvalues has 1.2"),
        (lambda: ContinuousDPP(CIRCLE, [0.5, 1], [0.1, 0.2]), DiversetError, "whole numbers"),
        (lambda: ContinuousDPP(CIRCLE, [0, 1], [0.1]), DiversetError, r"expected \(m, 1\), \(m,\)"),
        (lambda: ContinuousDPP.projection(CIRCLE, 3).sample(n_points=2), SizeError, "k is 2"),
        (lambda: ContinuousDPP.projection(CIRCLE, 3).log_density([]), NoLikelihoodKernelError, "eigenvalue is 1"),
    ],
)
def test_bad_input(call, error, message):
    with pytest.raises(error, match=message):
        call()


def test_the_same_seed_gives_the_same_draws(gaussian):
    dpp, draws = gaussian
    assert np.array_equal(dpp.sample(2, rng=1)[1], draws[1])


@pytest.mark.parametrize("unit", [1e-30, 1e-5, 1.0, 1e5, 1e30])
def test_the_modes_of_a_projection_do_not_depend_on_the_unit_of_length(unit):
    square = ContinuousDPP.projection(Box((unit, unit), torus=True), 5)
    assert square.modes.tolist() == [[0, 0], [-1, 0], [0, -1], [0, 1], [1, 0]]
    strip = ContinuousDPP.projection(Box((unit, 1e8 * unit), torus=True), 4)
    assert strip.modes.tolist() == [[0, 0], [0, -1], [0, 1], [0, -2]]
