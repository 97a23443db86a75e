import math
import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import special

from diverset import kernels
from diverset.errors import DiversetError, KernelError
from diverset.kernels import stationary

both = pytest.mark.parametrize("kernel", [kernels.rbf, kernels.matern])
NU = [0.5, 0.7, 1.5, 2.5, 7.0]


def points(n=12, d=3, seed=0):
    return np.random.default_rng(seed).normal(size=(n, d))


def distances(X, Y):
    return np.linalg.norm(X[:, np.newaxis] - Y, axis=2)


def at_distance(r, nu, length_scale=1.0):
    """Matérn similarity of items at the given distances."""
    return kernels.matern(np.reshape(r, (-1, 1)), [[0.0]], nu=nu, length_scale=length_scale)[:, 0]


@pytest.mark.parametrize(("n", "m", "d"), [(1, 1, 1), (6, 9, 3), (40, 31, 20)])
def test_entries_are_those_of_the_formula(n, m, d):
    X, Y = points(n, d, seed=1), points(m, d, seed=2)
    for Z in (None, Y):
        R = distances(X, X if Z is None else Z) / 1.3
        np.testing.assert_allclose(kernels.rbf(X, Z, length_scale=1.3), np.exp(-(R**2) / 2), rtol=1e-11)
        for nu in NU:
            z = math.sqrt(2 * nu) * np.where(R > 0.0, R, 1.0)
            expected = 2 ** (1 - nu) / math.gamma(nu) * z**nu * special.kv(nu, z)
            expected[R == 0.0] = 1.0
            np.testing.assert_allclose(kernels.matern(X, Z, nu=nu, length_scale=1.3), expected, rtol=1e-11)


@settings(max_examples=40, deadline=None)
@given(
    arrays(np.float64, (5, 2), elements=st.floats(-1e6, 1e6)),
    st.sampled_from([*NU, math.inf]),
    st.floats(1e-3, 1e3),
)
def test_any_data(X, nu, length):
    S = kernels.matern(X, nu=nu, length_scale=length)
    assert ((S >= 0.0) & (S <= 1.0)).all()
    np.testing.assert_array_equal(S, S.T)
    np.testing.assert_array_equal(S[(X[:, np.newaxis] == X).all(axis=2)], 1.0)
    r = distances(X, X) / length
    if nu == math.inf:
        np.testing.assert_allclose(S, np.exp(-(r**2) / 2), rtol=1e-8, atol=1e-300)
        np.testing.assert_array_equal(S, kernels.rbf(X, length_scale=length))
    if nu == 0.5:
        np.testing.assert_allclose(S, np.exp(-r), rtol=1e-8, atol=1e-300)


@both
def test_median_length(kernel):
    X, Y = points(15, 6), points(4, 6, seed=9)
    length = kernels.median_heuristic(X)
    np.testing.assert_allclose(kernel(X), kernel(X, length_scale=length), rtol=1e-12)
    np.testing.assert_allclose(kernel(X, Y), kernel(X, Y, length_scale=length), rtol=1e-12)
    np.testing.assert_allclose(kernel(X * 1e-150), kernel(X), rtol=1e-10)


@both
def test_one_item_or_identical_items_need_no_length(kernel):
    np.testing.assert_array_equal(kernel([[2.0, 3.0]]), [[1.0]])
    np.testing.assert_array_equal(kernel(np.full((4, 2), 0.3)), np.ones((4, 4)))
    with pytest.raises(KernelError, match="all rows of X are identical"):
        kernel(np.ones((4, 2)), np.zeros((1, 2)))
    with pytest.raises(KernelError, match="X has 1 rows"):
        kernel([[2.0]], [[3.0]])


def test_length_scale_at_the_ends_of_the_range():
    X = [[0.0], [1e200]]
    np.testing.assert_array_equal(kernels.rbf(X, length_scale=1e-200), np.eye(2))
    for nu in NU:
        np.testing.assert_array_equal(kernels.matern(X, nu=nu, length_scale=1e-200), np.eye(2))
    np.testing.assert_allclose(kernels.rbf(X, length_scale=1e200)[0, 1], math.exp(-0.5))


def test_general_matern_agrees_with_the_closed_forms():
    z = np.concatenate([[0.0], np.logspace(-320, 3.3, 2000)])
    for nu in (0.5, 1.5, 2.5):
        with np.errstate(over="ignore", under="ignore"):
            expected = stationary._matern_similarity(z, nu)
            found = stationary._matern_bessel(z, nu)
        np.testing.assert_allclose(found, expected, rtol=1e-12, atol=3e-14)


@pytest.mark.parametrize("p", [5, 6, 20])
def test_matern_of_half_integer_order(p):
    # nu = p + 1/2: exp(-z) p!/(2p)! sum_i (p+i)! / (i! (p-i)!) (2z)^(p-i)
    r = np.concatenate([[0.0], np.logspace(-12, 1, 300)])
    z = math.sqrt(2 * p + 1) * r
    f = math.factorial
    total = sum(f(p + i) // (f(i) * f(p - i)) * (2 * z) ** (p - i) for i in range(p + 1))
    np.testing.assert_allclose(at_distance(r, p + 0.5), np.exp(-z) * (f(p) / f(2 * p)) * total, rtol=1e-11)


@pytest.mark.parametrize("nu", [1e-5, 0.3, 1.0, 4.0, 5.0, 5.1, 100.0])
def test_matern_falls_from_one_to_zero(nu):
    S = at_distance(np.concatenate([[0.0], np.logspace(-320, 7, 1500)]), nu)
    assert S[0] == 1.0
    assert S[-1] == 0.0
    assert (np.diff(S) <= 2e-14).all()


def test_matern_approaches_rbf():
    r = np.linspace(0.0, 8.0, 500)
    gaps = [np.abs(at_distance(r, nu) - at_distance(r, math.inf)).max() for nu in (10.0, 50.0, 100.0)]
    assert gaps[0] > gaps[1] > gaps[2]
    assert 0.002 < gaps[2] < 0.0025  # the bound in the docstring


@both
def test_length_scale_is_checked(kernel):
    for value in (0.0, -1.5, math.inf, math.nan):
        with pytest.raises(DiversetError, match=re.escape(f"length_scale is {value!r}; it must be positive")):
            kernel(points(3, 2), length_scale=value)
    with pytest.raises(DiversetError, match="length_scale is 'mean'; it must be a positive number or \"median\""):
        kernel(points(3, 2), length_scale="mean")
    with pytest.raises(DiversetError, match="length_scale is None; it must be a number"):
        kernel(points(3, 2), length_scale=None)


def test_nu_is_checked():
    for nu in (0.0, -1.0, math.nan):
        with pytest.raises(DiversetError, match=re.escape(f"nu is {nu!r}; the smoothness must be positive")):
            kernels.matern(points(3, 2), nu=nu)
    with pytest.raises(DiversetError, match=r"nu is 250\.0; above 100.*use nu=inf"):
        kernels.matern(points(3, 2), nu=250)
    with pytest.raises(DiversetError, match="nu is 'rough'; it must be a number"):
        kernels.matern(points(3, 2), nu="rough")
