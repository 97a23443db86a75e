"""Matérn's processes and adsorption: survivors by definition, laws over all orders, intensities against formulas."""

import math
from collections import Counter
from itertools import permutations

import numpy as np
import pytest
from scipy.integrate import dblquad
from scipy.stats import chisquare

from diverset.errors import DiversetError
from diverset.theory.processes import (
    Box,
    adsorption,
    matern_intensity,
    matern_pair_correlation,
    matern_process,
    matern_survivors,
    poisson,
)
from diverset.theory.processes.window import ball_volume

BOXES = {"edges": Box((1.0, 0.7)), "torus": Box((1.0, 0.7), torus=True)}


def survivors_by_definition(X, radius, kind, times, box):
    n = len(X)
    close = [[i != j and box.distances(X[i], X[[j]])[0] <= radius for j in range(n)] for i in range(n)]
    if kind == 1:
        return [not any(close[i]) for i in range(n)]
    if kind == 2:
        return [not any(close[i][j] and times[j] < times[i] for j in range(n)) for i in range(n)]
    kept = [False] * n
    for i in sorted(range(n), key=lambda i: times[i]):
        kept[i] = not any(close[i][j] and kept[j] for j in range(n))
    return kept


@pytest.mark.parametrize("kind", [1, 2, 3])
@pytest.mark.parametrize("box", BOXES.values(), ids=BOXES)
def test_survivors(kind, box):
    rng = np.random.default_rng(kind)
    for _ in range(20):
        X, times = box.uniform(25, rng=rng), rng.random(25)
        found = matern_survivors(X, 0.15, kind=kind, box=box, times=times)
        assert found.tolist() == survivors_by_definition(X, 0.15, kind, times, box)


def sequential_law(close, taken=frozenset(), probability=1.0, law=None):
    """Law of adsorption on a finite set, branch by branch: the next point is uniform among those with room."""
    law = Counter() if law is None else law
    free = [i for i in range(len(close)) if i not in taken and not any(close[i][j] for j in taken)]
    if not free:
        law[taken] += probability
    for i in free:
        sequential_law(close, taken | {i}, probability / len(free), law)
    return law


def test_type_three_of_a_finite_set_is_sequential_adsorption():
    """In a random order, as [KuleszaTaskar2012] says at the end of section 2.5.1."""
    box = Box.unit(2)
    X = box.uniform(6, rng=3)
    close = [[i != j and math.dist(X[i], X[j]) <= 0.5 for j in range(6)] for i in range(6)]
    law = Counter()
    for order in permutations(range(6)):
        kept = matern_survivors(X, 0.5, kind=3, box=box, times=order)
        law[frozenset(np.flatnonzero(kept).tolist())] += 1 / math.factorial(6)
    expected = sequential_law(close)
    assert len(expected) > 3
    assert dict(law) == pytest.approx(dict(expected), abs=1e-12)


def counts(box, kind, draws=400, seed=0):
    rng = np.random.default_rng(seed)
    return np.array([len(matern_process(box, 120.0, 0.06, kind=kind, rng=rng)) for _ in range(draws)])


def z_score(sample, mean):
    return (sample.mean() - mean) / (sample.std(ddof=1) / math.sqrt(len(sample)))


@pytest.mark.parametrize("kind", [1, 2])
@pytest.mark.parametrize("box", BOXES.values(), ids=BOXES)
def test_intensities_are_those_of_the_formulas(box, kind):
    sample = counts(box, kind, seed=kind)
    expected = matern_intensity(120.0, 0.06, kind=kind) * box.volume
    assert abs(z_score(sample, expected)) < 4.0
    # The formula of the other type is seen to be wrong.
    assert abs(z_score(sample, matern_intensity(120.0, 0.06, kind=3 - kind) * box.volume)) > 10.0


def test_without_a_margin_the_edge_is_seen():
    box, rng = BOXES["edges"], np.random.default_rng(1)
    naive = []
    for _ in range(400):
        X = poisson(box, 120.0, rng=rng)
        naive.append(matern_survivors(X, 0.06, kind=1, box=box).sum())
    assert z_score(np.array(naive), matern_intensity(120.0, 0.06, kind=1) * box.volume) > 6.0


def test_type_three_with_edges_is_the_middle_of_a_torus():
    box = Box.unit(2)
    inside = np.array([len(matern_process(box, 60.0, 0.1, kind=3, rng=seed)) for seed in range(300)])
    torus = Box((2.0, 2.0), torus=True)
    around = np.array([len(matern_process(torus, 60.0, 0.1, kind=3, rng=seed)) / 4.0 for seed in range(300)])
    error = math.hypot(inside.std(), around.std()) / math.sqrt(300)
    assert abs(inside.mean() - around.mean()) < 4.0 * error
    # And lies between type II and what the Poisson process has.
    assert matern_intensity(60.0, 0.1, kind=2) + 5.0 * error < inside.mean() < 60.0


@pytest.mark.parametrize("r", [0.061, 0.08, 0.11, 0.13])
def test_pair_correlation_of_type_two_by_integration(r):
    rate, radius = 120.0, 0.06
    v = ball_volume(radius, 2)
    z = min(r / (2 * radius), 1.0)
    overlap = 2 * radius**2 * (math.acos(z) - z * math.sqrt(1 - z * z))
    # No neighbour of x is earlier than s, and none of y earlier than t: lost are those in both, up to the later time.
    survive, _ = dblquad(
        lambda s, t: math.exp(-rate * ((v - overlap) * (s + t) + overlap * max(s, t))), 0, 1, 0, 1, epsabs=1e-9
    )
    expected = rate**2 * survive / matern_intensity(rate, radius, kind=2) ** 2
    assert matern_pair_correlation([r], rate, radius, kind=2)[0] == pytest.approx(expected, rel=1e-5)
    one = math.exp(-rate * (2 * v - overlap)) / math.exp(-2 * rate * v)
    assert matern_pair_correlation([r], rate, radius, kind=1)[0] == pytest.approx(one, rel=1e-10)


# adsorption -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("box", BOXES.values(), ids=BOXES)
def test_adsorption_ends_jammed(box):
    X = adsorption(box, 0.09, rng=1)
    i, j = box.close_pairs(X, 0.09)
    assert len(i) == len(j) == 0
    nodes, _ = box.grid(150)
    assert box.tree(X).query(nodes)[0].max() <= 0.09


@pytest.mark.parametrize("dim", [1, 2, 3])
def test_adsorption_in_any_dimension(dim):
    box = Box.unit(dim, torus=True)
    X = adsorption(box, 0.3, rng=dim)
    assert X.shape[1] == dim
    assert box.tree(X).query(box.grid({1: 500, 2: 60, 3: 25}[dim])[0])[0].max() <= 0.3
    assert np.array_equal(adsorption(box, 0.3, max_points=2, rng=dim), X[:2])


def test_adsorption_on_a_short_interval_has_its_exact_law():
    # In [0, 1.5] with radius 1 a second point finds room if the first lies in the outer thirds: probability 2/3.
    box = Box((1.5,))
    rng = np.random.default_rng(5)
    sizes = np.bincount([len(adsorption(box, 1.0, rng=rng)) for _ in range(1500)], minlength=3)
    assert sizes[0] == 0
    assert chisquare(sizes[1:], [500, 1000]).pvalue > 1e-4
    assert chisquare(sizes[1:], [750, 750]).pvalue < 1e-10


def test_jamming_densities_are_the_known_ones():
    # Rényi's parking constant, and 0.547 for discs in the plane; standard deviations are about 0.0014 and 0.003.
    line = adsorption(Box((20_000.0,), torus=True), 1.0, rng=1)
    assert len(line) / 20_000.0 == pytest.approx(0.7475979, abs=0.006)
    plane = adsorption(Box.unit(2, torus=True), 0.02, rng=2)
    assert len(plane) * math.pi * 0.01**2 == pytest.approx(0.5470735, abs=0.012)
    # Type III of a Poisson process of moderate density falls short of it.
    third = matern_process(Box((20_000.0,), torus=True), 2.0, 1.0, kind=3, rng=3)
    assert len(third) / 20_000.0 < 0.72


# input ----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: matern_process(Box.unit(2), 10.0, 0.1, kind=4), "kind is 4"),
        (lambda: matern_process(Box.unit(2, torus=True), 10.0, 0.6, kind=1), "radius is 0.6"),
        (lambda: matern_intensity(10.0, 0.1, kind=3), "no closed form"),
        (lambda: matern_survivors([[0.5, 1.2]], 0.1, kind=1, box=Box.unit(2)), r"points\[0\] is \[0.5, 1.2\], outside"),
        (lambda: matern_survivors([[0.5, 0.2]], 0.1, kind=2, box=Box.unit(2), times=[1, 2]), r"times has shape \(2,\)"),
        (lambda: adsorption(Box.unit(2, torus=True), 0.5), "must be below half"),
        (lambda: poisson(Box.unit(1), lambda x: 2.0 + x[:, 0]), "bound="),
        (lambda: poisson(Box.unit(1), lambda x: 2.0 + x[:, 0], bound=2.0, rng=0), "between 0 and bound=2"),
        (lambda: Box((1.0, -2.0)), r"sides\[1\] is -2"),
    ],
)
def test_bad_input(call, message):
    with pytest.raises(DiversetError, match=message):
        call()


def test_poisson_counts_and_places():
    rng = np.random.default_rng(0)
    box = Box((2.0, 0.5))
    draws = [poisson(box, lambda x: 8.0 * x[:, 0], bound=16.0, rng=rng) for _ in range(800)]
    # 8 points are expected, half of them in the last quarter-to-root-half of the length.
    pmf = np.array([math.exp(-8.0) * 8.0**k / math.factorial(k) for k in range(3, 15)])
    seen = np.bincount([min(max(len(X), 3), 14) for X in draws], minlength=15)[3:]
    pmf[0] = sum(math.exp(-8.0) * 8.0**k / math.factorial(k) for k in range(4))
    pmf[-1] = 1.0 - pmf[:-1].sum()
    assert chisquare(seen, 800 * pmf).pvalue > 1e-4
    right = np.array([(X[:, 0] > math.sqrt(2.0)).sum() for X in draws])
    assert abs(z_score(right, 4.0)) < 4.0
