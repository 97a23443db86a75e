"""Eigenvalues by matrices and by kernels: densities, laws of counts, known limits."""

import math

import numpy as np
import pytest
from scipy.stats import chisquare

from diverset.theory.classics import CUE, GUE, Ginibre, ProjectionProcess


def count_p_value(counts, pmf):
    """Chi-square of counts of points in a region against their law; rare counts pooled."""
    expected = pmf * len(counts)
    observed = np.bincount(counts, minlength=len(pmf))
    group = np.unique(np.where(expected < 5.0, -1, np.arange(len(pmf))), return_inverse=True)[1]
    o, e = np.bincount(group, observed), np.bincount(group, expected)
    return chisquare(o, e * o.sum() / e.sum()).pvalue


REGIONS = {
    "ginibre": (Ginibre(6), (1.7,), lambda z: np.abs(z) < 1.7),
    "gue": (GUE(6), (-0.5, 2.5), lambda x: (x > -0.5) & (x < 2.5)),
    "gue-edge": (GUE(5), (2.5, 30.0), lambda x: x > 2.5),
    "cue": (CUE(6), (0.5, 2.9), lambda x: (x > 0.5) & (x < 2.9)),
}


@pytest.mark.parametrize("name", REGIONS)
def test_counts_in_a_region_follow_their_law(name):
    process, region, inside = REGIONS[name]
    pmf = process.count_distribution(*region)
    assert pmf.sum() == pytest.approx(1.0)
    by_matrices = inside(process.sample_eigenvalues(20_000, rng=4)).sum(axis=1)
    by_kernel = inside(np.array(process.sample(2_000, rng=5))).sum(axis=1)
    assert count_p_value(by_matrices, pmf) > 1e-4
    assert count_p_value(by_kernel, pmf) > 1e-4
    # Independent points of the same density do not pass.
    rng = np.random.default_rng(6)
    alone = inside(process._propose(2_000 * process.n_points, rng).reshape(2_000, -1)).sum(axis=1)
    assert count_p_value(alone, pmf) < 1e-4


def test_moduli_are_independent_gammas():
    """Kostlan: a count law that needs no determinant agrees with the one read off the kernel's points."""
    n, r = 5, 1.5
    rng = np.random.default_rng(0)
    gammas = rng.standard_gamma(np.arange(1.0, n + 1), size=(20_000, n))
    assert count_p_value((gammas < r * r).sum(axis=1), Ginibre(n).count_distribution(r)) > 1e-4


def test_joint_densities_are_vandermonde():
    """Products of squared differences, with their normalising constants."""
    n = 5
    factorials = [math.factorial(j) for j in range(1, n + 1)]
    rng = np.random.default_rng(1)

    def log_gaps(points):
        return 2 * sum(math.log(abs(points[i] - points[j])) for i in range(n) for j in range(i))

    x = rng.standard_normal(n)
    constant = 0.5 * n * math.log(2 * math.pi) + math.log(math.prod(factorials))
    assert GUE(n).log_density(x) == pytest.approx(log_gaps(x) - 0.5 * (x @ x) - constant, rel=1e-12)
    z = rng.standard_normal(n) + 1j * rng.standard_normal(n)
    constant = n * math.log(math.pi) + math.log(math.prod(factorials))
    assert Ginibre(n).log_density(z) == pytest.approx(log_gaps(z) - np.sum(np.abs(z) ** 2) - constant, rel=1e-12)
    angles = rng.random(n) * 2 * math.pi
    constant = n * math.log(2 * math.pi) + math.log(math.factorial(n))
    assert CUE(n).log_density(angles) == pytest.approx(log_gaps(np.exp(1j * angles)) - constant, rel=1e-12)


@pytest.mark.parametrize("n", [1, 2, 7, 60, 800])
def test_hermite_functions_are_orthonormal(n):
    """Also where the first of them underflows at the last one's turning point."""
    process = GUE(n)
    reach = 2 * math.sqrt(n) + 12
    x = np.linspace(-reach, reach, 6 * n + 400)  # decaying smooth functions: the trapezoid rule is spectral
    F = process.functions(x)
    keep = slice(max(0, n - 5), n)
    assert F[:, keep].T @ F[:, keep] * (x[1] - x[0]) == pytest.approx(np.eye(min(n, 5)), abs=1e-10)
    assert process.intensity(x).sum() * (x[1] - x[0]) == pytest.approx(n, rel=1e-10)


@pytest.mark.parametrize("n", [1, 2, 3, 10, 100, 900])
def test_the_envelope_lies_above_the_intensity(n):
    process = GUE(n)
    left, heights, edge, rate = process._envelope
    for share in np.linspace(0.0, 1.0, 9):
        assert (process.intensity(left + share * process._CELL) <= heights).all()
    beyond = np.linspace(0.0, 6.0, 50)
    tail = process.intensity([edge])[0] * np.exp(-rate * beyond)
    assert (process.intensity(edge + beyond) <= tail * (1 + 1e-9)).all()
    # And not far above: three of five proposals are kept.
    assert n / (heights.sum() * process._CELL + 2 * tail[0] / rate) > 0.6


@pytest.mark.parametrize("process", [Ginibre(7), CUE(7)], ids=repr)
def test_the_kernel_reproduces_itself(process):
    x = process._propose(4, np.random.default_rng(0))
    if isinstance(process, CUE):
        nodes = np.arange(64) * 2 * math.pi / 64
        weights = np.full(64, 2 * math.pi / 64)
    else:
        s, ws = np.polynomial.legendre.leggauss(80)
        radius, angles = 4.0 * (s + 1.0), np.arange(32) * 2 * math.pi / 32
        nodes = (radius[:, None] * np.exp(1j * angles)).ravel()
        weights = np.repeat(4.0 * ws * radius * 2 * math.pi / 32, 32)
    product = (process.kernel(x, nodes) * weights) @ process.kernel(nodes, x)
    assert product == pytest.approx(process.kernel(x), abs=1e-10)
    assert np.diagonal(process.kernel(x)).real == pytest.approx(process.intensity(x))


def test_semicircle():
    n = 200
    x = np.linspace(-1.8, 1.8, 37) * math.sqrt(n)
    assert GUE(n).intensity(x) == pytest.approx(GUE(n).limit_density(x), rel=0.03)
    eigenvalues = GUE(n).sample_eigenvalues(3, rng=0) / math.sqrt(n)
    # The semicircle of radius 2 has moments 1 and 2.
    assert np.mean(eigenvalues**2) == pytest.approx(1.0, abs=0.02)
    assert np.mean(eigenvalues**4) == pytest.approx(2.0, abs=0.05)


def test_circular_law():
    n = 300
    z = Ginibre(n).sample_eigenvalues(1, rng=0)[0] / math.sqrt(n)
    assert np.abs(z).max() < 1.15
    for radius in (0.3, 0.6, 0.9):
        assert np.mean(np.abs(z) < radius) == pytest.approx(radius**2, abs=0.02)
    assert Ginibre(n).intensity([0.0, 0.5 * math.sqrt(n), 1.3 * math.sqrt(n)]) == pytest.approx(
        [1 / math.pi, 1 / math.pi, 0.0], abs=1e-6
    )


def test_uniform_unitary_matrices():
    U = CUE(4).sample_matrices(20_000, rng=0)
    assert np.allclose(U[0] @ U[0].conj().T, np.eye(4))
    # E |tr U|^2 = 1; without the phases put right it is not.
    assert np.mean(np.abs(np.trace(U, axis1=1, axis2=2)) ** 2) == pytest.approx(1.0, abs=0.04)


@pytest.mark.parametrize("process", [Ginibre(1), GUE(1), CUE(1)], ids=repr)
def test_a_single_point(process):
    assert process.sample(rng=0).shape == (1,)
    assert process.kernel(process.sample(rng=0)).shape == (1, 1)


def test_draws_are_repeatable():
    for process in (Ginibre(10), GUE(10), CUE(10)):
        assert isinstance(process, ProjectionProcess)
        assert np.array_equal(process.sample(3, rng=1), process.sample(3, rng=1))
        assert len(process.sample(rng=1)) == 10


def test_bad_input():
    with pytest.raises(ValueError, match="n_points is 0"):
        GUE(0)
    with pytest.raises(ValueError, match="x has 2 points; the process has 3"):
        GUE(3).log_density([0.0, 1.0])
    with pytest.raises(ValueError, match="radius is -1"):
        Ginibre(3).count_distribution(-1)
    assert GUE(3).count_distribution(-60.0, 60.0) == pytest.approx([0.0, 0.0, 0.0, 1.0])
    assert CUE(40).count_distribution(0.0, 0.01).shape == (41,)
    assert GUE(3).count_distribution(1.0, 0.0).tolist() == [1.0, 0.0, 0.0, 0.0]
