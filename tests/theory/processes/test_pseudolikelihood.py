"""Fits: exact where the whole law is given, near the truth where draws are, and at the ends of the range."""

import math

import numpy as np
import pytest

from diverset.errors import DiversetError, UnboundedLikelihoodError
from diverset.theory.processes import (
    AreaInteraction,
    Box,
    FiniteGibbs,
    GibbsProcess,
    LinearCore,
    Strauss,
    VerySoftCore,
    fit_finite_gibbs,
    fit_gibbs,
    matern_process,
    poisson,
)

TORUS = Box.unit(2, torus=True)
SETS_OF_SEVEN = [[i for i in range(7) if mask >> i & 1] for mask in range(128)]


@pytest.mark.parametrize(("beta", "gamma"), [(0.7, 0.2), (2.0, 0.9), (0.4, 1.7), (1.0, 1.0)])
def test_the_whole_law_gives_its_parameters_back(beta, gamma):
    X = Box.unit(2).uniform(7, rng=3)
    near = np.linalg.norm(X[:, None] - X, axis=-1) < 0.5
    law = FiniteGibbs.pairwise(np.full(7, beta), np.where(near, gamma, 1.0)).tabulate().law
    fitted = fit_finite_gibbs(SETS_OF_SEVEN, near, weights=law)
    assert fitted == pytest.approx((beta, gamma), rel=1e-8)
    # Another law has other parameters.
    other = FiniteGibbs.pairwise(np.full(7, beta), np.where(near, 0.5 * gamma, 1.0)).tabulate().law
    assert fit_finite_gibbs(SETS_OF_SEVEN, near, weights=other)[1] == pytest.approx(0.5 * gamma, rel=1e-8)


def spread(fits):
    values = np.array(fits)
    return values.mean(axis=0), values.std(axis=0, ddof=1) / math.sqrt(len(values))


def test_strauss_is_recovered():
    truth = GibbsProcess(TORUS, 150.0, Strauss(0.3, 0.06))
    fits = []
    for seed in range(10):
        patterns = truth.chain(4, rng=seed).sets
        best = fit_gibbs(patterns, TORUS, Strauss, radius=[0.06], grid=48).process
        fits.append((math.log(best.activity), math.log(best.interaction.gamma)))
    mean, error = spread(fits)
    assert error.max() < 0.08
    assert np.abs(mean - [math.log(150.0), math.log(0.3)]).max() < 4.0 * error.max()
    # A fit that takes no interaction for granted is far from it.
    assert abs(mean[1]) > 10.0 * error[1]


def test_the_right_radius_is_chosen():
    patterns = GibbsProcess(TORUS, 150.0, Strauss(0.2, 0.06)).chain(10, rng=1).sets
    fit = fit_gibbs(patterns, TORUS, Strauss, radius=[0.03, 0.045, 0.06, 0.075, 0.09])
    assert fit.process.interaction.radius == 0.06
    values = [value for _, value in fit.candidates]
    assert fit.log_pseudolikelihood == max(values)
    assert len(values) == 5


@pytest.mark.parametrize("family", [VerySoftCore, LinearCore])
def test_scales_of_smooth_potentials(family):
    patterns = GibbsProcess(TORUS, 200.0, family(0.08)).chain(12, rng=2).sets
    fit = fit_gibbs(patterns, TORUS, family, sigma=[0.04, 0.08, 0.12], grid=48)
    assert fit.process.interaction.sigma == 0.08
    assert fit.process.activity == pytest.approx(200.0, rel=0.15)


@pytest.mark.slow
def test_area_interaction_is_recovered():
    gamma = math.exp(-60.0)  # per unit of area, and discs have 0.0201
    truth = GibbsProcess(TORUS, 20.0, AreaInteraction(gamma, 0.08))
    patterns = truth.chain(16, burn_in=2500, thin=150, rng=4).sets
    fit = fit_gibbs(patterns, TORUS, AreaInteraction, radius=0.08, grid=20)
    assert math.log(fit.process.interaction.gamma) == pytest.approx(-60.0, abs=25.0)
    assert fit.process.interaction.gamma < 1.0


def test_the_fit_is_a_maximum():
    X = GibbsProcess(TORUS, 120.0, Strauss(0.4, 0.07)).sample(rng=5)
    best = fit_gibbs(X, TORUS, Strauss, radius=0.07, grid=40)
    nodes, cell = TORUS.grid(40)

    def value(beta, gamma):
        model = GibbsProcess(TORUS, beta, Strauss(gamma, 0.07))
        at_points = sum(model.log_papangelou(X[i], np.delete(X, i, axis=0)) for i in range(len(X)))
        return at_points - cell * sum(model.papangelou(u, X) for u in nodes)

    beta, gamma = best.process.activity, best.process.interaction.gamma
    top = value(beta, gamma)
    assert top == pytest.approx(best.log_pseudolikelihood, abs=1e-8)
    for b, g in [(1.02, 1.0), (0.98, 1.0), (1.0, 1.02), (1.0, 0.98)]:
        assert value(b * beta, g * gamma) < top


def test_a_hard_core_and_a_cluster_are_the_ends():
    hard = matern_process(TORUS, 150.0, 0.05, kind=2, rng=1)
    fit = fit_gibbs(hard, TORUS, Strauss, radius=0.05).process
    assert fit.interaction.gamma == 0.0
    assert fit.activity > len(hard)
    sparse = matern_process(TORUS, 150.0, 0.12, kind=2, rng=1)
    clustered = np.concatenate([sparse, (sparse + 0.01) % 1.0])
    fit = fit_gibbs(clustered, TORUS, Strauss, radius=0.05).process
    assert fit.interaction.gamma == 1.0
    assert fit.activity == pytest.approx(len(clustered))


def test_border_leaves_the_edge_out():
    """A pattern that goes on beyond its box looks sparse near the edge to a fit that does not know."""
    large = Box((3.0, 3.0), torus=True)
    small = Box.unit(2)
    middles = []
    for X in GibbsProcess(large, 150.0, Strauss(0.1, 0.1)).chain(8, rng=3).sets:
        inside = X[((X >= 1.0) & (X <= 2.0)).all(axis=1)] - 1.0
        middles.append(inside)
    plain = fit_gibbs(middles, small, Strauss, radius=0.1).process
    bordered = fit_gibbs(middles, small, Strauss, radius=0.1, border=0.1).process
    assert abs(math.log(bordered.activity / 150.0)) < abs(math.log(plain.activity / 150.0))
    assert bordered.activity == pytest.approx(150.0, rel=0.2)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: fit_gibbs(np.zeros((0, 2)), TORUS, Strauss, radius=0.1), "no points"),
        (lambda: fit_gibbs([[0.01, 0.5]], Box.unit(2), Strauss, radius=0.1, border=0.1), "smaller border"),
        (lambda: fit_finite_gibbs([[0], [1]], [[0, 1], [0, 0]]), "symmetric"),
        (lambda: fit_finite_gibbs([[0], [1]], np.eye(2), weights=[1.0]), r"weights has shape \(1,\)"),
    ],
)
def test_bad_input(call, message):
    with pytest.raises(DiversetError, match=message):
        call()


def test_a_hard_core_on_a_finite_set():
    near = np.ones((3, 3))
    beta, gamma = fit_finite_gibbs([[0], [1], [2], []], near)
    # With nobody else in, an item is in three times and out three times.
    assert (beta, gamma) == (1.0, 0.0)


@pytest.mark.parametrize("sets", [[[], []], [[0, 1, 2]], [[0, 1], [0, 1, 2]]])
def test_sets_without_a_maximum_are_refused(sets):
    with pytest.raises(UnboundedLikelihoodError, match="no maximum"):
        fit_finite_gibbs(sets, np.ones((3, 3)))


def test_poisson_points_show_no_interaction():
    patterns = [poisson(TORUS, 100.0, rng=seed) for seed in range(20)]
    fit = fit_gibbs(patterns, TORUS, Strauss, radius=0.08).process
    assert fit.interaction.gamma == pytest.approx(1.0, abs=0.15)
