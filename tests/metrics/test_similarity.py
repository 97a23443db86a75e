"""Volume, pairwise means and the Vendi score, against their formulas."""

import itertools
import math
import re
import tracemalloc

import numpy as np
import pytest
from scipy import sparse

from diverset import baselines, kernels, metrics
from diverset.errors import DiversetError, KernelError, LabelError

S3 = np.array([[1.0, 0.5, 0.2], [0.5, 1.0, -0.1], [0.2, -0.1, 1.0]])
ORDERS = [0.0, 0.1, 0.5, 1.0, 1.0 + 1e-12, 2.0, 7.5, 50.0, math.inf]


def points(n=20, d=4, seed=0):
    return np.random.default_rng(seed).normal(size=(n, d))


def vendi_by_hand(K, q):
    lam = np.linalg.eigvalsh(K / len(K))
    lam = lam[lam > 1e-12]
    if q == math.inf:
        return 1 / lam.max()
    if abs(q - 1) < 1e-6:
        return math.exp(-sum(x * math.log(x) for x in lam))
    return sum(x**q for x in lam) ** (1 / (1 - q))


def test_values_by_hand():
    assert metrics.log_volume(S3, [0, 1]) == pytest.approx(math.log(0.75))
    assert metrics.log_volume(S3) == pytest.approx(math.log(1 + 2 * 0.5 * 0.2 * -0.1 - 0.25 - 0.04 - 0.01))
    assert metrics.mean_pairwise_similarity(S3) == pytest.approx((0.5 + 0.2 - 0.1) / 3)
    assert metrics.intra_list_diversity(S3) == pytest.approx((0.5 + 0.8 + 1.1) / 3)
    assert metrics.intra_list_diversity(S3, [2, 1]) == pytest.approx(1.1)
    # Eigenvalues 3/4 and 1/4 of K/2.
    K = [[1.0, 0.5], [0.5, 1.0]]
    assert metrics.vendi_score(K, kernel="precomputed") == pytest.approx(4 / 3**0.75)
    assert metrics.vendi_score(K, 2, kernel="precomputed") == pytest.approx(1.6)
    assert metrics.vendi_score(K, math.inf, kernel="precomputed") == pytest.approx(4 / 3)


@pytest.mark.parametrize("form", [np.asarray, np.float32, sparse.csr_array, np.ndarray.tolist])
def test_features_and_similarities_agree(form):
    X = points().round(1)
    items = [3, 9, 17]
    for name in ("cosine", "dot", "rbf"):
        if name == "rbf" and form is sparse.csr_array:
            continue
        S = getattr(kernels, name)(X)
        for metric in (metrics.log_volume, metrics.mean_pairwise_similarity, metrics.intra_list_diversity):
            for Y in (items, None):
                found = metric(form(X), Y, similarity=name)
                expected = metric(S, Y)
                assert found == pytest.approx(expected, rel=1e-5)
    assert metrics.log_volume(form(kernels.cosine(X)), items) == pytest.approx(
        metrics.log_volume(X, items, similarity=kernels.cosine), rel=1e-5
    )


def test_the_order_of_a_set_does_not_matter_and_selections_are_sets():
    X = points()
    chosen = baselines.max_min(X, 4, similarity="rbf")
    assert metrics.log_volume(X, chosen, similarity="rbf") == pytest.approx(chosen.log_det)
    assert metrics.log_volume(X, sorted(chosen), similarity="rbf") == pytest.approx(chosen.log_det)
    chosen = baselines.max_sum(X, 4, diversity=1.0)
    assert metrics.intra_list_diversity(X, chosen, similarity="cosine") == pytest.approx(chosen.objective)


def test_small_and_dependent_sets():
    X = points()
    for S in (X @ X.T, np.zeros((0, 0))):
        assert metrics.log_volume(S, []) == 0.0
        assert metrics.mean_pairwise_similarity(S, []) == 1.0
        assert metrics.intra_list_diversity(S, []) == 0.0
    assert metrics.intra_list_diversity(X, [4], similarity="rbf") == 0.0
    assert metrics.log_volume(X @ X.T) == -math.inf
    assert metrics.log_volume(X[[1, 1]], similarity="cosine") == -math.inf
    assert metrics.log_volume([[1.0, 2.0], [2.0, 1.0]]) == -math.inf
    assert metrics.vendi_score(np.zeros((0, 3))) == 0.0
    assert metrics.vendi_score(X[:1]) == pytest.approx(1.0)


@pytest.mark.parametrize("q", ORDERS)
@pytest.mark.parametrize(("n", "d"), [(12, 3), (3, 12), (7, 7), (200, 5)])
def test_vendi_is_that_of_the_eigenvalues(n, d, q):
    X = points(n, d, seed=n)
    K = kernels.cosine(X)
    expected = vendi_by_hand(K, q)
    assert metrics.vendi_score(X, q) == pytest.approx(expected, rel=1e-9)
    assert metrics.vendi_score(sparse.csr_array(X), q) == pytest.approx(expected, rel=1e-9)
    assert metrics.vendi_score(K, q, kernel="precomputed") == pytest.approx(expected, rel=1e-9)
    assert metrics.vendi_score(X, q, kernel=kernels.cosine) == pytest.approx(expected, rel=1e-9)
    assert metrics.vendi_score(kernels.normalize_rows(X), q, kernel="dot") == pytest.approx(expected, rel=1e-9)
    if q >= 0.5:  # below, the eigenvalues that single precision adds count
        assert metrics.vendi_score(X.astype(np.float32), q) == pytest.approx(expected, rel=1e-4)
    assert metrics.vendi_score(X, q, kernel="rbf") == pytest.approx(vendi_by_hand(kernels.rbf(X), q), rel=1e-6)


@pytest.mark.parametrize("q", ORDERS)
def test_vendi_counts_different_items(q):
    copies = np.tile(points(1, 6), (9, 1)) * np.arange(1.0, 10.0)[:, np.newaxis]
    assert metrics.vendi_score(copies, q) == pytest.approx(1.0)
    assert metrics.vendi_score(copies[:3], q) == pytest.approx(1.0)
    rotation = np.linalg.qr(points(8, 8))[0]
    assert metrics.vendi_score(rotation, q) == pytest.approx(8.0)
    assert metrics.vendi_score(np.repeat(rotation[:5], 6, axis=0), q) == pytest.approx(5.0)


def test_vendi_falls_in_its_order_and_stays_between_one_and_n():
    for seed in range(5):
        scores = [metrics.vendi_score(points(15, 6, seed), q) for q in (0, 0.3, 1, 2, 10, 1000, math.inf)]
        assert 15 >= scores[0] == pytest.approx(6.0)
        assert all(a >= b for a, b in itertools.pairwise(scores))
        assert scores[-1] >= 1.0


@pytest.mark.parametrize("form", [np.asarray, np.float32, sparse.csr_array])
def test_vendi_of_many_items_with_few_features_forms_no_large_kernel(form):
    X = form(points(4000, 3))
    metrics.vendi_score(X[:10])
    tracemalloc.start()
    metrics.vendi_score(X)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 5e6 < 8 * 4000**2


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: metrics.log_volume([[1.0, 2.0, 3.0]]), KernelError, "has shape (1, 3)"),
        (lambda: metrics.log_volume([1.0, 2.0]), KernelError, "similarity_or_features has shape (2,)"),
        (lambda: metrics.log_volume([[1.0, 0.3], [0.2, 1.0]]), KernelError, "not symmetric"),
        (lambda: metrics.log_volume(S3, [0, 3]), LabelError, "indices names item 3"),
        (lambda: metrics.log_volume(S3, [1, 1]), LabelError, "item 1 more than once"),
        (lambda: metrics.log_volume(S3, similarity="l2"), DiversetError, "similarity is 'l2'"),
        (lambda: metrics.log_volume([[1.0], [np.nan]], [0], similarity="dot"), KernelError, "[1, 0] is nan"),
        (
            lambda: metrics.log_volume([[1.0], [2.0]], similarity=lambda A, B: [[1.0]]),
            DiversetError,
            "(1, 1) for 2 and 2 rows",
        ),
        (lambda: metrics.vendi_score(2 * S3, kernel="precomputed"), KernelError, "item 0 to itself is 2;"),
        (lambda: metrics.vendi_score([[1.0, 2.0], [2.0, 1.0]], kernel="precomputed"), KernelError, "eigenvalue -1;"),
        (lambda: metrics.vendi_score(S3, -0.5), DiversetError, "q is -0.5"),
        (lambda: metrics.vendi_score(S3, math.nan), DiversetError, "q is nan"),
        (lambda: metrics.vendi_score([[1.0], [0.0]]), KernelError, "row 1 of X is all zero"),
    ],
)
def test_what_is_wrong_is_refused(call, error, message):
    with pytest.raises(error, match=re.escape(message)):
        call()
