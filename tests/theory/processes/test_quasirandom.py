"""Quasirandom points, discrepancies by definition, and errors of integration."""

import math

import numpy as np
import pytest
from scipy.stats import qmc

from diverset.errors import DiversetError
from diverset.theory.processes import (
    Box,
    ContinuousDPP,
    discrepancy,
    halton,
    integration_errors,
    sobol,
    star_discrepancy,
)


def radical_inverse(i, base):
    value, scale = 0.0, 1.0
    while i:
        i, digit = divmod(i, base)
        scale /= base
        value += digit * scale
    return value


def test_halton_points_are_radical_inverses():
    expected = [[radical_inverse(i, base) for base in (2, 3, 5)] for i in range(40)]
    assert halton(40, 3) == pytest.approx(np.array(expected), abs=1e-12)


@pytest.mark.parametrize("k", [1, 2, 5, 16, 33])
def test_sobol_points_start_alike_and_are_balanced(k):
    points = sobol(k)
    assert points.shape == (k, 2)
    assert np.array_equal(points, sobol(64)[:k])
    # One of sixteen in every dyadic box of area 1/16.
    for shape in [(16, 1), (8, 2), (4, 4), (2, 8), (1, 16)]:
        cells = (sobol(16) * shape).astype(int)
        assert len({tuple(c) for c in cells.tolist()}) == 16


def test_scrambling_is_seeded():
    assert np.array_equal(halton(5, scramble=True, rng=1), halton(5, scramble=True, rng=1))
    assert not np.array_equal(sobol(5, scramble=True, rng=1), sobol(5, scramble=True, rng=2))


@pytest.mark.parametrize("dim", [1, 2, 3])
def test_discrepancy_by_definition(dim):
    Y = np.random.default_rng(dim).random((30, dim))
    by_hand = 0.0
    for x in Y:
        inside = sum(all(y[j] < x[j] for j in range(dim)) for y in Y)
        by_hand = max(by_hand, abs(inside / 30 - math.prod(x)))
    assert discrepancy(Y) == pytest.approx(by_hand, abs=1e-14)
    assert discrepancy(Y) <= star_discrepancy(Y) + 1e-15


def test_star_discrepancy_on_the_line():
    for k in (1, 5, 20):
        x = np.sort(np.random.default_rng(k).random(k))
        i = np.arange(1, k + 1)
        assert star_discrepancy(x) == pytest.approx(1 / (2 * k) + np.abs(x - (2 * i - 1) / (2 * k)).max(), abs=1e-14)


@pytest.mark.parametrize("dim", [2, 3])
def test_star_discrepancy_by_many_boxes(dim):
    rng = np.random.default_rng(dim)
    Y = rng.random((8, dim))
    Y[3] = Y[2]
    exact = star_discrepancy(Y)
    # Corners at the points' coordinates, a hair below and above, and 1.
    ticks = [np.unique(np.concatenate([Y[:, j] - 1e-9, Y[:, j] + 1e-9, [1.0]])) for j in range(dim)]
    corners = np.stack(np.meshgrid(*ticks), axis=-1).reshape(-1, dim)
    shares = (Y[None] < corners[:, None]).all(axis=2).mean(axis=1)
    assert exact == pytest.approx(np.abs(shares - corners.prod(axis=1)).max(), abs=1e-7)
    # The mean-square version of SciPy is below the largest.
    assert qmc.discrepancy(Y, method="L2-star") <= exact


def test_koksma_hlawka_needs_the_star():
    """The function x has variation 1 on the line; at the origin alone the other discrepancy is 0 and the error 1/2."""
    for seed in range(20):
        x = np.random.default_rng(seed).random(15)
        assert abs(x.mean() - 0.5) <= star_discrepancy(x) + 1e-15
    assert discrepancy([0.0]) == 0.0
    assert abs(0.0 - 0.5) <= star_discrepancy([0.0])


def test_quasirandom_points_are_more_even():
    k = 256
    random = np.mean([star_discrepancy(np.random.default_rng(s).random((k, 2))) for s in range(10)])
    assert star_discrepancy(sobol(k)) < 0.35 * random
    assert star_discrepancy(halton(k)) < 0.35 * random


def smooth(x):
    return np.exp(np.cos(2 * np.pi * x[:, 0]) + np.sin(2 * np.pi * x[:, 1]))


SMOOTH_INTEGRAL = 1.2660658777520084**2  # the Bessel function I_0(1), squared
TORUS = Box.unit(2, torus=True)


def test_errors_fall_at_their_rates():
    sizes = [16, 64, 256]
    independent = integration_errors(
        smooth, SMOOTH_INTEGRAL, lambda k, rng: rng.random((k, 2)), sizes, repeats=300, rng=0
    )
    variance = 2.2795853023360673**2 - SMOOTH_INTEGRAL**2  # I_0(2)^2 - I_0(1)^4
    assert independent.root_mean_square == pytest.approx(np.sqrt(variance / np.array(sizes)), rel=0.2)
    assert independent.slope == pytest.approx(-0.5, abs=0.1)


def test_a_projection_dpp_integrates_better():
    def draw(k, rng):
        return ContinuousDPP.projection(TORUS, k).sample(rng=rng)

    errors = integration_errors(smooth, SMOOTH_INTEGRAL, draw, [9, 25, 81], repeats=40, rng=1)
    assert errors.sizes.tolist() == [9, 25, 81]
    # [BardenetHardy2020]: k^-(1 + 1/d)/2 = k^-3/4 in the plane.
    assert errors.slope < -0.6
    variance = 2.2795853023360673**2 - SMOOTH_INTEGRAL**2
    assert errors.root_mean_square[-1] < 0.5 * math.sqrt(variance / 81)


def test_the_variance_of_a_dpp_estimate_is_that_of_its_kernel():
    """For one Fourier mode f the variance of the sum is (1/2)(k - number of pairs of modes that f links)."""
    k = 25
    dpp = ContinuousDPP.projection(TORUS, k)
    modes = {tuple(m) for m in dpp.modes.tolist()}
    linked = sum((a + 1, b) in modes for a, b in modes)
    expected = (k - linked) / 2.0
    sums = np.array([np.cos(2 * np.pi * X[:, 0]).sum() for X in dpp.sample(400, rng=4)])
    assert sums.var() == pytest.approx(expected, rel=0.25)
    # Independent points would have k / 2.
    assert expected < 0.3 * k / 2.0


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: discrepancy([[0.5, 1.5]]), "outside the box"),
        (lambda: discrepancy(np.zeros((0, 2))), r"shape \(0, 2\)"),
        (lambda: star_discrepancy(np.zeros((3, 4))), "4 dimensions"),
        (lambda: halton(0), "k is 0"),
    ],
)
def test_bad_input(call, message):
    with pytest.raises(DiversetError, match=message):
        call()


def test_random_numbers_of_points_are_divided_by_what_was_asked():
    def draw(k, rng):
        return rng.random((rng.poisson(k), 1))

    unbiased = integration_errors(lambda x: np.ones(len(x)), 1.0, draw, [100], repeats=400, fixed_count=False, rng=0)
    assert unbiased.root_mean_square[0] == pytest.approx(0.1, rel=0.15)
    exact = integration_errors(lambda x: np.ones(len(x)), 1.0, draw, [100], repeats=50, rng=0)
    assert exact.root_mean_square[0] < 1e-12
    assert math.isnan(exact.slope)
