"""Potentials by their formulas, and areas of unions of discs by slices."""

import math

import numpy as np
import pytest

from diverset.theory.processes import (
    AreaInteraction,
    Box,
    FiniteGibbs,
    GibbsProcess,
    LinearCore,
    SoftCore,
    Strauss,
    VerySoftCore,
)
from diverset.theory.processes.interactions import added_volume, union_volume
from reference import subsets

R = np.array([0.01, 0.1, 0.29, 0.3, 0.31, 1.0, 3.0])


@pytest.mark.parametrize(
    ("interaction", "psi"),
    [
        (Strauss(0.4, 0.3), lambda r: 0.4 if r <= 0.3 else 1.0),
        (Strauss(0.0, 0.3), lambda r: 0.0 if r <= 0.3 else 1.0),
        (VerySoftCore(0.3), lambda r: 1.0 - math.exp(-((r / 0.3) ** 2))),
        (SoftCore(0.1, n=5), lambda r: math.exp(-((0.1 / r) ** 5))),
        (LinearCore(0.3), lambda r: min(r / 0.3, 1.0)),
    ],
    ids=["strauss", "hard core", "very soft core", "soft core", "linear core"],
)
def test_potentials(interaction, psi):
    assert interaction.psi(R) == pytest.approx([psi(r) for r in R], abs=1e-14)
    # The weight of a pattern is the product over its pairs, in whatever order its points come.
    box = Box.unit(2, torus=True)
    X = box.uniform(7, rng=0)
    pairs = [box.distances(X[i], X[[j]])[0] for i in range(7) for j in range(i)]
    logs = [math.log(p) if (p := psi(r)) > 0.0 else -math.inf for r in pairs]
    model = GibbsProcess(box, 2.0, interaction)
    for order in (np.arange(7), np.random.default_rng(1).permutation(7)):
        assert model.log_weight(X[order]) == pytest.approx(7 * math.log(2.0) + sum(logs), rel=1e-9)


def area_by_slices(centres, radius, slices=20_001):
    """Trapezoidal sum over vertical slices of the length that the discs cover there."""
    x = np.linspace(centres[:, 0].min() - radius, centres[:, 0].max() + radius, slices)
    lengths = np.zeros(slices)
    for k, at in enumerate(x):
        half = np.sqrt(np.maximum(radius**2 - (centres[:, 0] - at) ** 2, 0.0))
        spans = sorted((y - h, y + h) for y, h in zip(centres[:, 1], half, strict=True) if h > 0.0)
        reach = -math.inf
        for low, high in spans:
            lengths[k] += max(0.0, high - max(low, reach))
            reach = max(reach, high)
    return np.trapezoid(lengths, x)


@pytest.mark.parametrize("seed", range(6))
def test_area_of_a_union_of_discs(seed):
    centres = np.random.default_rng(seed).uniform(-1.0, 1.0, (2 + 3 * seed, 2))
    assert union_volume(centres, 0.5) == pytest.approx(area_by_slices(centres, 0.5), abs=2e-5)
    # Wherever it lies.
    assert union_volume(centres + np.array([5.0, -3.0]), 0.5) == pytest.approx(union_volume(centres, 0.5), abs=1e-11)


def test_area_of_special_unions():
    one = np.array([[0.3, 0.2]])
    assert union_volume(one, 0.5) == pytest.approx(math.pi / 4)
    assert union_volume(np.repeat(one, 3, axis=0), 0.5) == pytest.approx(math.pi / 4)
    assert union_volume(np.array([[0.0, 0.0], [1.0, 0.0]]), 0.5) == pytest.approx(math.pi / 2)
    lens = 2 * 0.25 * math.acos(0.6) - 0.3 * math.sqrt(1 - 0.36)
    assert union_volume(np.array([[0.0, 0.0], [0.0, 0.6]]), 0.5) == pytest.approx(math.pi / 2 - lens)
    # Six discs through a seventh one's centre hide it; farther out they leave some of it.
    ring = 0.5 * np.array([[math.cos(a), math.sin(a)] for a in np.arange(6) * math.pi / 3])
    assert 0.0 <= added_volume(ring, 0.5) < 1e-12
    with_it = np.vstack([1.7 * ring, [[0.0, 0.0]]])
    left = area_by_slices(with_it, 0.5) - area_by_slices(1.7 * ring, 0.5)
    assert added_volume(1.7 * ring, 0.5) == pytest.approx(left, abs=2e-5)
    assert left > 0.01
    assert union_volume(np.zeros((0, 2)), 0.5) == 0.0
    assert union_volume(np.array([[0.0], [0.7], [5.0]]), 0.5) == pytest.approx(2.7)


def test_area_interaction_weighs_patterns_by_what_they_cover():
    box = Box((3.0, 3.0))
    X = box.uniform(6, rng=4)
    model = FiniteGibbs.from_points(X, 1.3, AreaInteraction(0.2, 0.6), box=box)
    for Y in subsets(range(6)):
        rows = sorted(Y)
        expected = len(rows) * math.log(1.3) - math.log(0.2) * union_volume(X[rows], 0.6)
        assert model.log_weight(rows) == pytest.approx(expected, abs=1e-10)
    spatial = GibbsProcess(box, 1.3, AreaInteraction(0.2, 0.6))
    assert spatial.log_weight(X) == pytest.approx(model.log_weight(range(6)), abs=1e-10)


def test_area_interaction_on_a_torus_sees_across_the_seam():
    torus, shift = Box((3.0, 3.0), torus=True), np.array([1.4, 1.6])
    X = torus.uniform(8, rng=1)
    model = GibbsProcess(torus, 2.0, AreaInteraction(0.5, 0.7))
    assert model.log_weight((X + shift) % 3.0) == pytest.approx(model.log_weight(X), abs=1e-10)
    assert GibbsProcess(Box((3.0, 3.0)), 2.0, AreaInteraction(0.5, 0.7)).log_weight(X) != pytest.approx(
        model.log_weight(X), abs=1e-3
    )


@pytest.mark.parametrize(("gamma", "sign"), [(math.exp(-80.0), 1), (math.exp(40.0), -1)])
def test_area_interaction_spreads_or_clusters(gamma, sign):
    """Below 1 discs cover more than those of as many independent points, above 1 less."""
    torus = Box.unit(2, torus=True)
    beta = 15.0 * gamma ** (math.pi * 0.1**2)
    X = GibbsProcess(torus, beta, AreaInteraction(gamma, 0.1)).chain(40, burn_in=600, thin=60, rng=3).sets

    def covered(points):
        nodes, cell = torus.grid(60)
        return (torus.tree(points).query(nodes)[0] <= 0.1).sum() * cell if len(points) else 0.0

    rng = np.random.default_rng(0)
    gain = [covered(Y) - covered(torus.uniform(len(Y), rng=rng)) for Y in X]
    assert sign * np.mean(gain) > 4.0 * np.std(gain) / math.sqrt(len(gain))
