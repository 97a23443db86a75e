"""Summary statistics: lattices by hand, Poisson processes with edges, a twin without correction."""

import math

import numpy as np
import pytest

from diverset.errors import DiversetError
from diverset.theory.processes import Box, nearest_neighbour_g, pair_correlation, poisson, ripley_k, ripley_l

TORUS, EDGES = Box((1.0, 0.8), torus=True), Box((1.0, 0.8))
R = np.array([0.02, 0.05, 0.1, 0.15, 0.2])


def lattice(m):
    return np.stack(np.meshgrid(np.arange(m) / m, np.arange(m) / m), axis=-1).reshape(-1, 2)


def test_a_lattice_on_a_torus():
    X, box = lattice(8), Box.unit(2, torus=True)
    # Neighbours at 1/8 (four), sqrt(2)/8 (four), 2/8 (four).
    k = ripley_k(X, box, [0.12, 0.125, 0.17, 0.18, 0.25])
    assert k * 64 * 63 / 64 == pytest.approx([0, 4, 4, 8, 12])
    assert nearest_neighbour_g(X, box, [0.12, 0.125]) == pytest.approx([0.0, 1.0])


@pytest.fixture(scope="module", params=["torus", "edges"])
def poisson_patterns(request):
    box = TORUS if request.param == "torus" else EDGES
    rng = np.random.default_rng(5)
    return box, [[poisson(box, 60.0, rng=rng) for _ in range(20)] for _ in range(20)]


def deviations(statistic, groups, expected):
    values = np.array([statistic(group) for group in groups])
    error = values.std(axis=0, ddof=1) / math.sqrt(len(values))
    return np.abs(values.mean(axis=0) - expected) / error


def test_poisson_processes(poisson_patterns):
    box, groups = poisson_patterns
    assert (deviations(lambda g: ripley_k(g, box, R), groups, math.pi * R**2) < 4.0).all()
    assert (deviations(lambda g: pair_correlation(g, box, R[1:], bandwidth=0.01), groups, np.ones(4)) < 4.0).all()
    g = 1.0 - np.exp(-60.0 * math.pi * R[:-1] ** 2)
    assert (deviations(lambda X: nearest_neighbour_g(X, box, R[:-1]), groups, g) < 4.5).all()
    assert ripley_l(groups[0], box, R) == pytest.approx(np.sqrt(ripley_k(groups[0], box, R) / math.pi))


def test_without_edge_correction_the_test_would_fail():
    rng = np.random.default_rng(5)
    groups = [[poisson(EDGES, 60.0, rng=rng) for _ in range(20)] for _ in range(20)]

    def uncorrected(patterns):
        n = sum(len(X) for X in patterns)
        close = np.array([sum(len(EDGES.close_pairs(X, r)[0]) for X in patterns) for r in R])
        return 2.0 * close * 20 * EDGES.volume / (n * (n - 1.0))

    def uncorrected_g(patterns):
        nearest = np.concatenate([EDGES.tree(X).query(X, k=2)[0][:, 1] for X in patterns])
        return (nearest[:, None] <= R[:-1]).mean(axis=0)

    assert deviations(uncorrected, groups, math.pi * R**2).max() > 10.0
    assert deviations(uncorrected_g, groups, 1.0 - np.exp(-60.0 * math.pi * R[:-1] ** 2)).max() > 6.0


def test_pair_correlation_is_the_derivative_of_k():
    rng = np.random.default_rng(3)
    patterns = [rng.random((80, 2)) * [1.0, 0.8] for _ in range(5)]
    r = np.linspace(0.03, 0.3, 200)
    for box in (TORUS, EDGES):
        g = pair_correlation(patterns, box, r, bandwidth=0.01)
        integral = np.trapezoid(2 * np.pi * r * g, r)
        assert integral == pytest.approx(np.subtract(*ripley_k(patterns, box, [0.03, 0.3])[::-1]), rel=0.03)


@pytest.mark.parametrize("dim", [1, 3])
def test_other_dimensions(dim):
    box = Box.unit(dim)
    patterns = np.random.default_rng(dim).random((30, 60, dim))
    volume = {1: lambda r: 2 * r, 3: lambda r: 4 / 3 * np.pi * r**3}[dim]
    r = np.array([0.1, 0.3])
    assert ripley_k(patterns, box, r) == pytest.approx(volume(r), rel=0.1)
    assert pair_correlation(patterns, box, [0.2], bandwidth=0.05) == pytest.approx([1.0], rel=0.1)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: ripley_k([[0.5, 0.5]], EDGES, [0.1]), "there are 1 points"),
        (lambda: ripley_k(lattice(2), Box.unit(2), [0.6]), "at most 0.5"),
        (lambda: ripley_k(lattice(2), Box.unit(2), [0.2, 0.1]), "rising"),
        (lambda: nearest_neighbour_g([[0.1, 0.1], [0.9, 0.7]], EDGES, [0.1]), "nearer than the edge"),
        (lambda: ripley_k([[0.1, 0.1, 0.1]], EDGES, [0.1]), r"shape \(1, 3\)"),
    ],
)
def test_bad_input(call, message):
    with pytest.raises(DiversetError, match=message):
        call()
