"""Sums over permutations: every one against its definition, written out."""

import math
from collections import Counter
from itertools import permutations, product

import numpy as np
import pytest

from diverset.errors import DiversetError, KernelError
from diverset.theory.processes import (
    alpha_determinant,
    character,
    class_size,
    hyperdeterminant,
    immanant,
    partitions,
    permanent,
)
from diverset.theory.processes.immanants import alpha_determinants, cycle_sums, principal
from kernels_for_tests import wishart


def cycle_type(pi):
    left, lengths = set(range(len(pi))), []
    while left:
        start = at = min(left)
        length = 0
        while at in left:
            left.remove(at)
            at = pi[at]
            length += 1
        assert at == start
        lengths.append(length)
    return tuple(sorted(lengths, reverse=True))


def sign(pi):
    return (-1) ** (len(pi) - len(cycle_type(pi)))


def sum_over_permutations(A, weight):
    n = len(A)
    return sum(weight(pi) * math.prod(A[i][pi[i]] for i in range(n)) for pi in permutations(range(n)))


def matrices():
    rng = np.random.default_rng(1)
    for n in range(1, 7):
        yield rng.standard_normal((n, n))
    yield rng.standard_normal((5, 5)) + 1j * rng.standard_normal((5, 5))
    yield np.ones((6, 6))
    yield wishart(5, 2, 3)


@pytest.mark.parametrize("A", list(matrices()), ids=lambda A: f"{len(A)}-{A.dtype}")
def test_permanent_by_ryser_is_the_sum(A):
    expected = sum_over_permutations(A, lambda pi: 1.0)
    assert permanent(A) == pytest.approx(expected, rel=1e-10, abs=1e-10)


def test_permanents_that_are_known():
    assert permanent(np.zeros((0, 0))) == 1.0
    # Ones: n!. Ones off the diagonal: derangements. A band of three: Fibonacci numbers. The last needs two blocks.
    assert permanent(np.ones((10, 10))) == pytest.approx(math.factorial(10), rel=1e-10)
    assert permanent(1.0 - np.eye(8)) == pytest.approx(14833, rel=1e-10)
    band = np.abs(np.subtract.outer(np.arange(18), np.arange(18))) <= 1
    assert permanent(band.astype(float)) == pytest.approx(4181, rel=1e-8)


@pytest.mark.parametrize("alpha", [-2.0, -1.0, -0.5, 0.0, 0.7, 1.0, 2.0])
@pytest.mark.parametrize("A", list(matrices()), ids=lambda A: f"{len(A)}-{A.dtype}")
def test_alpha_determinant_is_the_sum(A, alpha):
    expected = sum_over_permutations(A, lambda pi: alpha ** (len(pi) - len(cycle_type(pi))))
    assert alpha_determinant(A, alpha) == pytest.approx(expected, rel=1e-10, abs=1e-10)


def test_special_alphas():
    A = np.random.default_rng(4).standard_normal((7, 7))
    assert alpha_determinant(A, -1) == pytest.approx(np.linalg.det(A), rel=1e-10)
    assert alpha_determinant(A, 1) == pytest.approx(permanent(A), rel=1e-10)
    assert alpha_determinant(A, 0) == pytest.approx(np.prod(np.diag(A)), rel=1e-12)


def test_all_principal_minors_at_once():
    A = np.random.default_rng(5).standard_normal((5, 5))
    minors = alpha_determinants(A, -1)
    for mask in range(1, 32):
        assert minors[mask] == pytest.approx(np.linalg.det(principal(A, mask)), abs=1e-12)
    # Cycles on three items go both ways round.
    assert cycle_sums(A)[0b111] == pytest.approx(A[0, 1] * A[1, 2] * A[2, 0] + A[0, 2] * A[2, 1] * A[1, 0])


# characters -----------------------------------------------------------------------------------------------------------


def test_characters_of_four_letters():
    """Rows (4), (3,1), (2,2), (2,1,1), (1,1,1,1); columns e, (12), (12)(34), (123), (1234)."""
    columns = [(1, 1, 1, 1), (2, 1, 1), (2, 2), (3, 1), (4,)]
    table = [[character(shape, mu) for mu in columns] for shape in partitions(4)]
    assert table == [
        [1, 1, 1, 1, 1],
        [3, 1, -1, 0, -1],
        [2, 0, 2, -1, 0],
        [3, -1, -1, 0, 1],
        [1, -1, 1, 1, -1],
    ]


@pytest.mark.parametrize("k", range(1, 9))
def test_characters_are_orthonormal(k):
    shapes = partitions(k)
    table = np.array([[character(shape, mu) for mu in shapes] for shape in shapes])
    sizes = np.array([class_size(mu) for mu in shapes])
    assert sizes.sum() == math.factorial(k)
    assert np.array_equal(table * sizes @ table.T, math.factorial(k) * np.eye(len(shapes)))
    for shape, row in zip(shapes, table, strict=True):
        hooks = [
            shape[i] - j + sum(other > j for other in shape[i + 1 :])
            for i in range(len(shape))
            for j in range(shape[i])
        ]
        assert row[shapes.index((1,) * k)] == math.factorial(k) // math.prod(hooks)


def test_class_sizes_by_counting():
    counted = Counter(cycle_type(pi) for pi in permutations(range(6)))
    assert {mu: class_size(mu) for mu in partitions(6)} == counted


def standard_character(pi):
    """Trace of the permutation on vectors that sum to zero: the partition (k - 1, 1)."""
    return sum(pi[i] == i for i in range(len(pi))) - 1


@pytest.mark.parametrize("n", [2, 3, 4, 5, 6])
def test_immanants_are_sums_over_permutations(n):
    A = np.random.default_rng(n).standard_normal((n, n))
    for shape in partitions(n):
        expected = sum_over_permutations(A, lambda pi, shape=shape: character(shape, cycle_type(pi)))
        assert immanant(A, shape) == pytest.approx(expected, rel=1e-9, abs=1e-9)
    # With characters that need no rule.
    for shape, weight in [((n,), lambda pi: 1), ((1,) * n, sign), ((n - 1, 1), standard_character)]:
        assert immanant(A, shape) == pytest.approx(sum_over_permutations(A, weight), rel=1e-9, abs=1e-9)


def test_immanants_of_positive_matrices():
    """None is negative, and divided by its dimension none is below the determinant (Schur)."""
    A = wishart(5, 5, 6, complex_=True)
    for shape in partitions(5):
        value = complex(immanant(A, shape))
        assert abs(value.imag) < 1e-10
        assert value.real / character(shape, (1,) * 5) >= np.linalg.det(A).real - 1e-12


# hyperdeterminants ----------------------------------------------------------------------------------------------------


def hyperdeterminant_by_definition(T):
    n, m = T.shape[0], T.ndim
    total = 0.0
    for choice in product(permutations(range(n)), repeat=m - 1):
        signs = math.prod(sign(pi) for pi in choice)
        total += signs * math.prod(T[(i, *(pi[i] for pi in choice))] for i in range(n))
    return total


@pytest.mark.parametrize(("n", "m"), [(1, 4), (2, 2), (2, 4), (2, 6), (3, 4), (4, 2), (5, 2)])
def test_hyperdeterminant_is_the_sum(n, m):
    T = np.random.default_rng(10 * n + m).standard_normal((n,) * m)
    assert hyperdeterminant(T) == pytest.approx(hyperdeterminant_by_definition(T), rel=1e-9)
    if m == 2:
        assert hyperdeterminant(T) == pytest.approx(np.linalg.det(T), rel=1e-9)


def test_hyperdeterminant_multiplies():
    rng = np.random.default_rng(3)
    T, A = rng.standard_normal((3,) * 4), rng.standard_normal((3, 3))
    for axis in range(4):
        acted = np.moveaxis(np.tensordot(A, T, axes=(1, axis)), 0, axis)
        assert hyperdeterminant(acted) == pytest.approx(np.linalg.det(A) * hyperdeterminant(T), rel=1e-9)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: permanent(np.ones((2, 3))), KernelError, r"shape \(2, 3\)"),
        (lambda: permanent(np.ones((30, 30))), DiversetError, "30 rows"),
        (lambda: permanent([[np.nan]]), KernelError, "nan"),
        (lambda: immanant(np.eye(3), (2, 2)), DiversetError, "partition of 4, but A has 3"),
        (lambda: immanant(np.eye(3), (3, 0)), DiversetError, "part is 0"),
        (lambda: character((2, 1), (2, 2)), DiversetError, "partitions of 3 and 4"),
        (lambda: hyperdeterminant(np.ones((2, 2, 2))), KernelError, "even number of indices"),
        (lambda: hyperdeterminant(np.ones((9,) * 4)), DiversetError, "more than 2e6"),
    ],
)
def test_bad_input(call, error, message):
    with pytest.raises(error, match=message):
        call()
