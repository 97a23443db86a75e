"""Weights by relatives of the determinant on a few items, and tables of weights: against laws written out."""

import itertools
import math

import numpy as np
import pytest

import diverset as dv
import reference
from diverset.errors import DiversetError, ImpossibleEventError, KernelError
from diverset.theory.processes import (
    AlphaPermanental,
    TabulatedProcess,
    alpha_determinantal,
    hyperdeterminantal,
    immanantal,
    partitions,
    permanent,
    permanental,
)
from diverset.theory.processes.immanants import principal
from kernels_for_tests import wishart
from reference import law_p_value, subsets

L5 = wishart(5, 6, 1)


def as_table(law, n):
    return np.array([law[frozenset(i for i in range(n) if mask >> i & 1)] for mask in range(2**n)])


# tables ---------------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def random_table():
    weights = np.random.default_rng(0).random(16)
    weights[[3, 7]] = 0.0
    law = {Y: weights[sum(1 << i for i in Y)] / weights.sum() for Y in subsets(range(4))}
    return TabulatedProcess.from_weights(weights), law


def test_a_table_answers_by_adding_up(random_table):
    process, law = random_table
    assert process.items.tolist() == [0, 1, 2, 3]
    for Y in subsets(range(4)):
        assert math.exp(process.log_prob(Y)) == pytest.approx(law[Y])
        assert process.marginal(Y) == pytest.approx(reference.probability(law, Y))
    assert process.probability([0], [2, 3]) == pytest.approx(reference.probability(law, [0], [2, 3]))
    assert process.inclusion_probabilities == pytest.approx([reference.probability(law, [i]) for i in range(4)])
    pairs = process.pair_probabilities()
    for i, j in itertools.product(range(4), repeat=2):
        assert pairs[i, j] == pytest.approx(reference.probability(law, {i, j}))
    assert process.pair_probabilities([(1, 2)]) == pytest.approx([pairs[1, 2]])
    assert process.size_distribution == pytest.approx(reference.size_distribution(law))
    assert process.expected_size == pytest.approx(process.inclusion_probabilities.sum())


def test_a_table_conditioned_keeps_labels(random_table):
    process, law = random_table
    given = process.condition(include=[1], exclude=[2])
    assert given.items.tolist() == [0, 3]
    for Y, p in reference.conditioned(law, [1], [2]).items():
        assert math.exp(given.log_prob(Y)) == pytest.approx(p)
    with pytest.raises(ImpossibleEventError, match="probability 0"):
        process.condition(include=[0, 1], exclude=[3])


def test_draws_from_a_table(random_table):
    process, law = random_table
    assert law_p_value(process.sample(3000, rng=1), law) > 1e-4
    assert law_p_value(process.sample(3000, rng=1), dict.fromkeys(law, 1 / 16)) < 1e-10
    streamed = list(process.stream(3, rng=5))
    assert [Y.tolist() for Y in streamed] == [Y.tolist() for Y in process.stream(3, rng=5)]
    assert process.sample(rng=0).dtype == np.int64


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: TabulatedProcess(np.zeros(3)), DiversetError, r"shape \(3,\)"),
        (lambda: TabulatedProcess([0.0, np.nan]), DiversetError, r"log_weights\[1\] is nan"),
        (lambda: TabulatedProcess([-np.inf, -np.inf]), ImpossibleEventError, "every set has weight 0"),
        (lambda: TabulatedProcess.from_weights([1.0, 1.0, -0.5, 1.0]), DiversetError, r"the set \[1\] has weight -0.5"),
        (lambda: TabulatedProcess([0.0, 0.0]).sample(method="spectral"), DiversetError, "method is 'spectral'"),
        (lambda: permanental([[1.0, 2.0], [2.0, 1.0]]), KernelError, "smallest eigenvalue -1"),
        (lambda: immanantal(np.eye(2), (2, 1)), DiversetError, "partition of 3, but there are 2"),
        (lambda: AlphaPermanental(np.eye(2), 0.7), DiversetError, "alpha is 0.7"),
        (lambda: AlphaPermanental(np.eye(2), 0.0), DiversetError, "alpha is 0"),
        (lambda: AlphaPermanental(3.0 * np.eye(2), -0.5), KernelError, "largest eigenvalue 1.5"),
        (lambda: hyperdeterminantal(1j * np.eye(2)), KernelError, "complex"),
    ],
)
def test_bad_input(call, error, message):
    with pytest.raises(error, match=message):
        call()


# weights --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "L", [L5, wishart(5, 5, 2, complex_=True), wishart(4, 2, 3)], ids=["real", "complex", "rank-2"]
)
def test_alpha_from_repulsion_to_clustering(L):
    n = len(L)
    assert alpha_determinantal(L, -1.0).law == pytest.approx(as_table(reference.law_from_L(L), n), abs=1e-12)
    independent = np.prod(1.0 + np.diag(L).real)
    expected = [np.prod(np.diag(principal(L, mask)).real) / independent for mask in range(2**n)]
    assert alpha_determinantal(L, 0.0).law == pytest.approx(expected, abs=1e-12)
    weights = np.array([np.real(permanent(principal(L, mask))) for mask in range(2**n)])
    assert permanental(L).law == pytest.approx(weights / weights.sum(), abs=1e-12)


def test_pairs_come_together_the_more_the_larger_alpha():
    L = np.array([[1.0, 0.7], [0.7, 1.0]])
    together = [alpha_determinantal(L, alpha).marginal([0, 1]) for alpha in (-1, -0.5, 0, 0.5, 1, 2)]
    assert (np.diff(together) > 0.0).all()


def test_alpha_beyond_two_may_be_no_process():
    """Three vectors at 120 degrees: the alpha-determinant is 1 + 3a/4 - a^2/4, negative above 4."""
    L = np.array([[1.0, -0.5, -0.5], [-0.5, 1.0, -0.5], [-0.5, -0.5, 1.0]])
    assert alpha_determinantal(L, 3.9).marginal([0, 1, 2]) > 0.0
    with pytest.raises(DiversetError, match=r"the set \[0, 1, 2\] has weight -0.0759"):
        alpha_determinantal(L, 4.06)


@pytest.mark.parametrize("k", [0, 1, 2, 3, 4])
def test_immanantal_weights_reach_from_the_kdpp_to_permanents(k):
    kdpp = reference.of_size(reference.law_from_L(L5), k)
    assert immanantal(L5, (1,) * k).law == pytest.approx(as_table(kdpp, 5), abs=1e-12)
    per = np.array([permanent(principal(L5, m)) if m.bit_count() == k else 0.0 for m in range(32)])
    assert immanantal(L5, (k,) if k else ()).law == pytest.approx(per / per.sum(), abs=1e-12)
    for shape in partitions(k):
        assert immanantal(L5, shape).size_distribution[k] == pytest.approx(1.0)


def test_hyperdeterminantal_weights_of_a_product_tensor():
    """Cauchy and Binet: Det(T_A) is a sum over sets of components, as large as A, of squared determinants."""
    rng = np.random.default_rng(6)
    lam, f, g = rng.random(5), rng.standard_normal((5, 4)), rng.standard_normal((5, 4))
    T = np.einsum("k,ka,kb,kc,kd->abcd", lam, f, f, g, g)
    weights = []
    for mask in range(16):
        A = [i for i in range(4) if mask >> i & 1]
        total = 0.0
        for S in itertools.combinations(range(5), len(A)):
            block = np.ix_(S, A)
            total += np.prod(lam[list(S)]) * reference.det(f[block]) ** 2 * reference.det(g[block]) ** 2
        weights.append(total)
    expected = np.array(weights) / sum(weights)
    assert hyperdeterminantal(T).law == pytest.approx(expected, abs=1e-12)
    assert hyperdeterminantal(L5).law == pytest.approx(dv.law(dv.DPP(L5)), abs=1e-12)


# processes with multiplicity ------------------------------------------------------------------------------------------

K2 = np.array([[0.5, 0.3], [0.3, 0.4]])


def counts_law(process, most):
    return {m: math.exp(process.log_prob(m)) for m in itertools.product(range(most + 1), repeat=len(process.K))}


def falling(n, m):
    return math.prod(n - i for i in range(m))


@pytest.mark.parametrize("alpha", [0.5, 1.0, 2.0])
def test_laws_of_counts_have_the_factorial_moments(alpha):
    """Two routes to det_alpha: the probabilities, through K(I + alpha K)^-1, and the moments, through K."""
    process = AlphaPermanental(0.3 * K2, alpha)
    law = counts_law(process, 6)
    assert sum(law.values()) == pytest.approx(1.0, abs=2e-3 * alpha)
    for m in [(1, 0), (0, 1), (1, 1), (2, 0), (2, 1)]:
        moment = sum(p * falling(n[0], m[0]) * falling(n[1], m[1]) for n, p in law.items())
        assert moment == pytest.approx(process.factorial_moment(m), rel=0.06 * alpha)


def test_the_boson_process_of_one_item_is_geometric():
    law = counts_law(AlphaPermanental([[0.6]], 1.0), 12)
    assert [law[n,] for n in range(6)] == pytest.approx([0.625 * 0.375**n for n in range(6)])


@pytest.mark.parametrize(
    ("K", "alpha"),
    [(K2, 1.0), (K2, 0.5), (K2, 2.0), (np.array([[0.5, 0.3j], [-0.3j, 0.4]]), 1.0)],
    ids=["boson", "two-fields", "one-real-field", "complex"],
)
def test_draws_of_counts(K, alpha):
    process = AlphaPermanental(K, alpha)
    most = 4
    law = counts_law(process, most)
    # Sets for the chi-square test: (0, n_0), (1, n_1); counts beyond the table share a cell.
    cells = {frozenset({10 * i + n for i, n in enumerate(m)}): p for m, p in law.items()}
    cells[frozenset({99})] = 1.0 - sum(law.values())

    def cell(m):
        return frozenset({10 * i + n for i, n in enumerate(m.tolist())}) if m.max() <= most else frozenset({99})

    draws = [cell(m) for m in process.sample(8000, rng=3)]
    assert law_p_value(draws, cells) > 1e-4
    independent = AlphaPermanental(np.diag(np.diag(K).real), alpha)
    other = {frozenset({10 * i + n for i, n in enumerate(m)}): p for m, p in counts_law(independent, most).items()}
    other[frozenset({99})] = 1.0 - sum(other.values())
    assert law_p_value(draws, other) < 1e-4


@pytest.mark.parametrize("copies", [1, 2, 3])
def test_unions_of_dpps_have_negative_alpha(copies):
    """The law of the union, by adding up over all tuples of sets."""
    K = np.array([[0.6, 0.25, 0.1], [0.25, 0.5, -0.2], [0.1, -0.2, 0.7]])
    process = AlphaPermanental(K, -1.0 / copies)
    assert process.copies == copies
    part = reference.law_from_K(K / copies)
    law = {(0, 0, 0): 1.0}
    for _ in range(copies):
        following = {}
        for m, p in law.items():
            for Y, q in part.items():
                key = tuple(c + (i in Y) for i, c in enumerate(m))
                following[key] = following.get(key, 0.0) + p * q
        law = following
    for m in itertools.product(range(3), repeat=3):
        moment = sum(p * math.prod(falling(c, a) for c, a in zip(n, m, strict=True)) for n, p in law.items())
        assert process.factorial_moment(m) == pytest.approx(moment, abs=1e-12)
    draws = process.sample(1500, rng=2)
    cells = {frozenset({10 * i + c for i, c in enumerate(m)}): p for m, p in law.items()}
    assert law_p_value([frozenset({10 * i + c for i, c in enumerate(m)}) for m in draws.tolist()], cells) > 1e-4
