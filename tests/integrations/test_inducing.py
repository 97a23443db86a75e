"""Inducing points: pivots of the textbook algorithm, traces from the dense matrix, a bound that holds; coresets."""

import functools
from itertools import combinations

import numpy as np
import pytest

import diverset as dv
import diverset.integrations._inducing as inducing
import diverset.integrations._pivots as pivots
from diverset.errors import DiversetError, KernelError, SizeError
from diverset.integrations.design import coreset, inducing_points
from diverset.sampling.kernel_function import KernelFunction
from reference import law_from_L, of_size, probability

SCALE = 1.2
RBF = functools.partial(dv.kernels.rbf, length_scale=SCALE)


def rows(n, d=3, seed=0):
    return np.random.default_rng(seed).standard_normal((n, d))


def trace_error(X, Z, kernel=RBF):
    """From the dense matrices, by least squares."""
    K_XZ = kernel(X, Z)
    return float(np.trace(kernel(X, X) - K_XZ @ np.linalg.lstsq(kernel(Z, Z), K_XZ.T, rcond=1e-12)[0]))


def textbook(K, m):
    """Pivoted Cholesky factorisation, all rows updated in every step."""
    F, variance, found = np.zeros((len(K), m)), np.diagonal(K).copy(), []
    for j in range(m):
        i = int(variance.argmax())
        found.append(i)
        F[:, j] = (K[:, i] - F[:, :j] @ F[i, :j]) / np.sqrt(variance[i])
        variance = variance - F[:, j] ** 2
        variance[i] = 0.0
    return found, variance


@pytest.mark.parametrize(
    ("n", "m", "pool", "part"), [(300, 60, 16, 8), (300, 60, 512, 8), (300, 60, 4, 8), (50, 50, 4, 16), (1, 1, 4, 8)]
)
@pytest.mark.parametrize("seed", [0, 1])
def test_greedy_takes_the_pivots_of_the_textbook(monkeypatch, n, m, pool, part, seed):
    monkeypatch.setattr(pivots, "_POOL", pool)
    monkeypatch.setattr(pivots, "_POOL_ENTRIES", 120)
    monkeypatch.setattr(pivots, "_LARGEST_PART", part)
    monkeypatch.setattr(pivots, "_ENTRIES", 300)
    X = rows(n, seed=seed)
    X[n // 2 :] *= np.linspace(0.1, 3.0, n - n // 2)[:, None]
    expected, variance = textbook(RBF(X), m)
    found, left = pivots.greedy_pivots(KernelFunction(X, RBF, diagonal=1.0), m)
    assert found.tolist() == expected
    np.testing.assert_allclose(left, variance, atol=1e-12)


def test_greedy_breaks_ties_by_the_lowest_row(monkeypatch):
    monkeypatch.setattr(pivots, "_POOL", 16)
    monkeypatch.setattr(pivots, "_POOL_ENTRIES", 120)
    X = 100.0 * np.arange(300.0)[:, None]  # so far apart that all covariances are zero
    X[200:] = 1e5 + 0.01 * np.arange(100.0)[:, None]  # and a cluster, whose rows leave the pool
    expected, _ = textbook(RBF(X), 60)
    assert pivots.greedy_pivots(KernelFunction(X, RBF, diagonal=1.0), 60)[0].tolist() == expected == list(range(60))


def test_scikit_learn_does_not_check_the_rows_again():
    sklearn = pytest.importorskip("sklearn")
    seen = []

    def kernel(A, B):
        seen.append(sklearn.get_config()["assume_finite"])
        return RBF(A, B)

    inducing_points(rows(30), 5, kernel, method="greedy", diagonal=1.0)
    assert any(seen)
    assert not sklearn.get_config()["assume_finite"]


def test_greedy_stops_where_nothing_is_left():
    X = np.repeat(rows(5), 4, axis=0)
    found = inducing_points(X, 12, length_scale=SCALE, method="greedy")
    assert len(found) == 5
    assert len(set((found.indices // 4).tolist())) == 5
    assert found.trace_bound < 1e-12
    assert len(inducing_points(X, 12, length_scale=SCALE, move=0)) == 5


@pytest.mark.parametrize("method", ["trace", "greedy", "kdpp", "mcmc"])
def test_the_bound_is_the_trace(method):
    X = rows(120)
    found = inducing_points(X, 15, length_scale=SCALE, method=method, rng=0)
    exact = trace_error(X, found.points)
    assert exact - 1e-9 <= found.trace_bound <= exact + 1e-6
    assert found.variances.shape == (120,)
    assert found.trace == pytest.approx(120.0)
    assert len(set(found.indices.tolist())) == len(found) == 15
    assert found.moved == (method == "trace")
    if not found.moved:
        np.testing.assert_allclose(found.points, X[found.indices], rtol=1e-12)


def test_the_first_trace_pick_is_the_best_single_row():
    X = rows(40, seed=3)
    first = inducing_points(X, 1, length_scale=SCALE, move=0).indices[0]
    assert first == int(np.argmin([trace_error(X, X[[i]]) for i in range(40)]))


def test_moving_lowers_the_trace_to_a_stationary_point():
    X = rows(60, d=2, seed=4)
    start = inducing_points(X, 4, length_scale=SCALE, move=0)
    end = inducing_points(X, 4, length_scale=SCALE, move=500)
    assert end.trace_bound < 0.9 * start.trace_bound
    slopes = []
    for i in range(4):
        for c in range(2):
            step = np.zeros((4, 2))
            step[i, c] = 1e-4
            slopes.append((trace_error(X, end.points + step) - trace_error(X, end.points - step)) / 2e-4)
    assert np.abs(slopes).max() < 0.02  # of a trace of 60


def test_kernels_of_scikit_learn_and_lengths():
    kernels = pytest.importorskip("sklearn.gaussian_process.kernels", reason="scikit-learn is not installed")
    X = rows(80)
    for kernel in (kernels.RBF(SCALE), 2.0 * kernels.Matern(nu=1.5) + kernels.RBF(0.5)):
        found = inducing_points(X, 10, kernel)
        assert found.trace_bound == pytest.approx(trace_error(X, X[found.indices], kernel), rel=1e-6)
    same = inducing_points(X, 10, kernels.RBF(SCALE), method="greedy")
    assert same.indices.tolist() == inducing_points(X, 10, length_scale=SCALE, method="greedy").indices.tolist()
    lengths = np.array([1.0, 2.0, 0.5])
    each = inducing_points(X, 10, length_scale=lengths, method="greedy")
    assert each.indices.tolist() == inducing_points(X / lengths, 10, length_scale=1.0, method="greedy").indices.tolist()


def test_large_data_are_represented_by_a_sample():
    X = rows(5000, d=2)
    found = inducing_points(X, 20, length_scale=1.0)
    assert found.indices.max() > 2000
    assert found.trace_bound == pytest.approx(
        trace_error(X, found.points, functools.partial(RBF, length_scale=1.0)), rel=1e-3
    )
    drawn = inducing_points(X, 20, length_scale=1.0, method="kdpp", rng=1)
    assert found.trace_bound < drawn.trace_bound < 5000 * 0.1


def test_the_divergence_of_the_sparse_posterior_is_bounded():
    X, noise = rows(60), 0.3
    y = np.sin(X[:, 0]) + 0.3 * np.random.default_rng(1).standard_normal(60)
    found = inducing_points(X, 20, length_scale=SCALE)
    K, K_XZ = RBF(X), RBF(X, found.points)
    Q = K_XZ @ np.linalg.solve(RBF(found.points) + 1e-10 * np.eye(20), K_XZ.T)

    def log_evidence(S):
        _, log_det = np.linalg.slogdet(S + noise * np.eye(60))
        return -0.5 * (log_det + y @ np.linalg.solve(S + noise * np.eye(60), y) + 60 * np.log(2 * np.pi))

    # The divergence is the evidence less its variational bound.
    divergence = log_evidence(K) - log_evidence(Q) + np.trace(K - Q) / (2 * noise)
    assert 0.0 < divergence < found.kl_bound(y, noise) < 100 * divergence + 10
    with pytest.raises(DiversetError, match="noise is 0"):
        found.kl_bound(y, 0.0)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"m": 0}, "m is 0"),
        ({"method": "kmeans"}, "method is 'kmeans'"),
        ({"kernel": "matern"}, "kernel is 'matern'"),
        ({"kernel": RBF, "move": 5}, "move is 5, but only"),
        ({"length_scale": -1.0}, "length_scale is -1.0"),
        ({"length_scale": [1.0, 2.0]}, r"length_scale has shape \(2,\)"),
        ({"length_scale": "mean"}, "length_scale is 'mean'"),
        ({"length_scale": 1j}, "length_scale is complex"),
        ({"rng": "x"}, "rng is 'x'"),
    ],
)
def test_wrong_arguments(arguments, message):
    with pytest.raises(DiversetError, match=message):
        inducing_points(rows(10), **{"m": 3, **arguments})


def test_coresets_are_unbiased_by_enumeration():
    X = rows(6, d=2, seed=5)
    ridge = 0.2
    law = of_size(law_from_L(X @ X.T + ridge * (X**2).sum(axis=1).mean() * np.eye(6)), 3)
    found = coreset(X, 3, ridge=ridge, rng=0)
    expected = [1.0 / probability(law, include=[i]) for i in found.indices.tolist()]
    np.testing.assert_allclose(found.weights, expected, rtol=1e-10)
    weights = {i: 1.0 / probability(law, include=[i]) for i in range(6)}
    values = np.random.default_rng(6).standard_normal(6)
    mean = sum(law[frozenset(Y)] * sum(weights[i] * values[i] for i in Y) for Y in combinations(range(6), 3))
    assert mean == pytest.approx(values.sum())
    assert len(coreset(X, 5, rng=1)) == 5  # more than the two features


def test_wrong_coresets():
    with pytest.raises(SizeError, match="m is 7, but X has only 6 rows"):
        coreset(rows(6), 7)
    with pytest.raises(KernelError, match="nan"):
        coreset([[1.0], [np.nan]], 1)


def test_the_diagonal_of_a_kernel_can_be_given():
    X = rows(150)
    calls = []

    def kernel(A, B):
        calls.append(len(A) * len(B))
        return 2.0 * RBF(A, B)

    plain = inducing_points(X, 10, kernel, method="greedy")
    spent = sum(calls)
    calls.clear()
    found = inducing_points(X, 10, kernel, method="greedy", diagonal=2.0)
    assert sum(calls) <= spent - 150 * 75  # blocks of 128 and 22 rows are not evaluated
    np.testing.assert_array_equal(found.indices, plain.indices)
    np.testing.assert_allclose(found.variances, plain.variances, atol=1e-12)
    assert inducing_points(X, 3, kernel, diagonal=lambda A: np.full(len(A), 2.0)).trace == pytest.approx(300.0)
    with pytest.raises(KernelError, match=r"diagonal is 1 .*, but its similarity with itself is 2"):
        inducing_points(X, 3, kernel, diagonal=1.0)
    with pytest.raises(KernelError, match="diagonal is given, but that of kernel='rbf' is known"):
        inducing_points(X, 3, diagonal=1.0)


@pytest.mark.parametrize("shift", [0.0, 1000.0])
def test_stationary_kernels_have_a_constant_diagonal(shift):
    X = rows(3000, d=2) + shift
    spent = []

    def counted(kernel):
        def evaluate(A, B):
            spent.append(len(A) * len(B))
            return kernel(A, B)

        return evaluate

    for kernel in (lambda A, B: 2.0 * RBF(A, B), functools.partial(dv.kernels.matern, length_scale=2.0)):
        spent.clear()
        found = inducing_points(X, 5, counted(kernel), method="greedy")
        assert sum(spent) < 3000 * 40  # less than blocks of 128 rows
        assert found.indices.tolist() == textbook(kernel(X, X), 5)[0]
    for kernel in (dv.kernels.dot, lambda A, B: RBF(A, B) * (1.0 + A[:, :1] ** 2) * (1.0 + B[:, :1].T ** 2)):
        spent.clear()
        found = inducing_points(X - shift, 2, counted(kernel), method="greedy")
        assert sum(spent) > 3000 * 64
        assert found.indices.tolist() == textbook(kernel(X - shift, X - shift), 2)[0]


def test_a_kernel_that_refuses_shifted_rows_is_read_in_blocks():
    X = np.abs(rows(2500, d=2))

    def kernel(A, B):
        if A.max() > X.max():
            raise ValueError("not made for such rows")
        return RBF(A, B)

    assert inducing_points(X, 4, kernel, method="greedy").indices.tolist() == textbook(RBF(X, X), 4)[0]


def test_a_diagonal_that_is_wrong_for_a_chosen_row_is_an_error():
    X = rows(2500, d=2)
    X[7] = 50.0  # far from the others, and between the rows that are tested

    def kernel(A, B):
        return RBF(A, B) * (1.0 - 0.5 * ((A[:, :1] == 50.0) & (B[:, :1].T == 50.0)))

    X[8] = 60.0
    with pytest.raises(KernelError, match=r"k\(x, x\) is 0.5 for row 7 and was taken to be 1; pass diagonal="):
        inducing_points(X, 3, kernel, method="greedy")


def test_large_data_are_represented_by_ten_rows_per_point():
    rng = np.random.default_rng(0)
    assert len(inducing._sampled(10_000, 50, rng)) == 2000
    sample = inducing._sampled(10_000, 300, rng)
    assert len(np.unique(sample)) == 3000
    np.testing.assert_array_equal(inducing._sampled(2500, 300, rng), np.arange(2500))
