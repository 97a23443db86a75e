"""Random partitions: all small ones against the discrete Bessel kernel, and draws of both kinds."""

import math
from collections import Counter
from itertools import permutations

import numpy as np
import pytest
from scipy.special import jv

import diverset as dv
import reference
from diverset.theory.classics import PoissonizedPlancherel, rsk_shape


def partitions(n, largest=None):
    if n == 0:
        yield ()
    for first in range(min(n, n if largest is None else largest), 0, -1):
        for rest in partitions(n - first, first):
            yield (first, *rest)


def hooks(shape):
    """Product of the hook lengths: n! over the number of standard tableaux."""
    return math.prod(a - j + sum(1 for b in shape[i + 1 :] if b > j) for i, a in enumerate(shape) for j in range(a))


@pytest.mark.parametrize("n", [0, 1, 4, 6])
def test_shapes_of_all_permutations(n):
    shapes = Counter(tuple(rsk_shape(p).tolist()) for p in permutations(range(n)))
    assert shapes == {shape: (math.factorial(n) // hooks(shape)) ** 2 for shape in partitions(n)}


@pytest.mark.parametrize("theta", [0.3, 1.5, 3.0])
def test_all_partitions_against_the_kernel(theta):
    classic = PoissonizedPlancherel(theta, window=(-4, 4))
    law = Counter()
    for n in range(26):
        for shape in partitions(n):
            law[frozenset(classic.items_of(shape).tolist())] += math.exp(-theta) * theta**n / hooks(shape) ** 2
    assert sum(law.values()) == pytest.approx(1.0, abs=1e-13)
    for A, p in reference.law_from_K(classic.kernel).items():
        assert law[A] == pytest.approx(p, abs=1e-13)


def test_the_sum_is_the_quotient():
    classic = PoissonizedPlancherel(20.0)
    x, z = classic.sites, 2.0 * math.sqrt(20.0)
    J, J1 = jv(x, z), jv(x + 1, z)
    gap = x[:, None] - x + np.eye(len(x))
    quotient = math.sqrt(20.0) * (np.outer(J, J1) - np.outer(J1, J)) / gap
    off = ~np.eye(len(x), dtype=bool)
    assert classic.kernel[off] == pytest.approx(quotient[off], abs=1e-13)


def test_both_samplers_follow_the_law():
    classic = PoissonizedPlancherel(30.0, window=(5, 12))
    law = reference.law_from_K(classic.kernel)
    assert reference.law_p_value(classic.sample(10_000, rng=0), law) > 1e-4
    assert reference.law_p_value(classic.dpp.sample(10_000, rng=1), law) > 1e-4
    alone = dv.DPP.from_marginal(np.diag(classic.dpp.inclusion_probabilities))
    assert reference.law_p_value(alone.sample(10_000, rng=2), law) < 1e-4


def test_the_longest_increasing_subsequence():
    """Its law is a gap probability: no site from l on."""
    theta, size = 25.0, 4_000
    longest = np.array([shape[0] for shape in PoissonizedPlancherel(theta).sample_objects(size, rng=3)])
    for length in (7, 8, 9):
        gap = PoissonizedPlancherel(theta, window=(length, 40)).dpp.probability(exclude=range(41 - length))
        error = math.sqrt(gap * (1 - gap) / size)
        assert np.mean(longest <= length) == pytest.approx(gap, abs=4 * error)
        assert error < 0.01


def test_the_limit_shape():
    classic = PoissonizedPlancherel(10_000.0, window=(-150, 150))
    # The density oscillates about its limit with an amplitude of 1 / sqrt(theta).
    assert classic.dpp.inclusion_probabilities == pytest.approx(classic.limit_density(), abs=0.01)


def test_bad_input():
    with pytest.raises(ValueError, match=r"theta is 0\.0"):
        PoissonizedPlancherel(0.0)
    with pytest.raises(ValueError, match=r"window is \(3, 1\)"):
        PoissonizedPlancherel(1.0, window=(3, 1))
