"""Sparse features: the picks of the dense route, without a dense matrix of any kind."""

import functools
import math

import numpy as np
import pytest
import scipy.sparse

import diverset as dv
from diverset.errors import DiversetError, KernelError

# The objective in the unit of the scores; calibrated scores have tests of their own.
select = functools.partial(dv.select, scale=None)

RNG = np.random.default_rng(0)


def words(n, d, length, rng):
    """Rows with a few positive entries, every row with one at least, like texts."""
    X = scipy.sparse.random_array((n, d), density=length / d, rng=rng, format="lil")
    X[np.arange(n), rng.integers(0, d, size=n)] = 1.0
    return X.tocsr()


CASES = {
    "words": words(60, 200, 6, RNG),
    "duplicated": scipy.sparse.vstack([words(15, 80, 5, RNG)] * 3).tocsr(),
    "few features": words(60, 6, 2, RNG),
    "signed": scipy.sparse.csr_array(
        np.round(RNG.standard_normal((40, 9)), 1) * (RNG.random((40, 9)) < 0.5) + np.eye(9)[RNG.integers(0, 9, 40)]
    ),
    "one-hot": scipy.sparse.csr_array(np.eye(12)[RNG.integers(0, 12, size=40)]),
}


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("similarity", ["cosine", "dot"])
@pytest.mark.parametrize("d", [0.0, 0.3, 1.0])
@pytest.mark.parametrize("k", [1, 8, 30])
def test_sparse_picks_are_the_dense_ones(name, similarity, d, k):
    X = CASES[name]
    q = np.random.default_rng(1).random(X.shape[0])  # without ties beyond those of copies
    dense = select(X.toarray(), k=k, quality=q, diversity=d, similarity=similarity)
    sparse = select(X, k=k, quality=q, diversity=d, similarity=similarity)
    assert sparse.rank_spent == dense.rank_spent
    # Past the rank, copies of independent rows all have leverage 1, and rounding decides where quality does not.
    tied = d == 1.0 and name in ("duplicated", "one-hot")
    sure = sparse.rank_spent if tied else k
    assert sparse.indices[:sure].tolist() == dense.indices[:sure].tolist()
    np.testing.assert_allclose(sparse.gains, dense.gains, atol=1e-9)
    assert sparse.log_det == pytest.approx(dense.log_det, abs=1e-9)
    assert sparse.objective == pytest.approx(dense.objective, abs=1e-9)


@pytest.mark.parametrize(
    "limits",
    [
        {"given": [3, 17, 18]},
        {"exclude": [0, 5, 9]},
        {"groups": np.arange(60) % 4, "per_group": 2},
        {"costs": 0.2 + np.arange(60) % 7, "budget": 9.0},
        {"window": 2},
        {"min_quality": 0.5, "given": [1]},
    ],
)
@pytest.mark.parametrize("name", ["words", "few features"])
def test_limits_mean_the_same(limits, name):
    X = CASES[name]
    q = np.random.default_rng(2).random(60)
    dense = select(X.toarray(), k=9, quality=q, **limits)
    sparse = select(X, k=9, quality=q, **limits)
    assert sparse.indices.tolist() == dense.indices.tolist()
    np.testing.assert_allclose(sparse.gains, dense.gains, atol=1e-9)


def test_copies_tie_exactly_and_come_last():
    X = CASES["duplicated"]
    chosen = select(X, k=45)
    rank = np.linalg.matrix_rank(X.toarray())
    assert chosen.rank_spent == rank
    assert (chosen.indices[:rank] < 15).all()  # of three equal rows, the first
    assert sorted(chosen) == list(range(45))


@pytest.mark.parametrize("form", ["csr", "csc", "coo", "matrix", "float32", "unsorted", "repeated", "int"])
def test_every_kind_of_sparse_matrix(form):
    A = np.round(3.0 * CASES["words"].toarray())
    A[A.sum(axis=1) == 0, 0] = 1.0
    X = scipy.sparse.csr_array(A)
    expected = select(A, k=8).indices.tolist()
    if form in ("csc", "coo"):
        X = X.asformat(form)
    elif form == "matrix":
        X = scipy.sparse.csr_matrix(X)
    elif form in ("float32", "int"):
        X = X.astype(np.float32 if form == "float32" else np.int64)
    elif form == "unsorted":
        X = X[:, ::-1][:, ::-1]
        X.has_sorted_indices = False
        for i in range(X.shape[0]):
            row = slice(X.indptr[i], X.indptr[i + 1])
            X.indices[row], X.data[row] = X.indices[row][::-1].copy(), X.data[row][::-1].copy()
    elif form == "repeated":
        halves = X.tocoo()
        X = scipy.sparse.coo_array(
            (np.tile(halves.data / 2.0, 2), (np.tile(halves.row, 2), np.tile(halves.col, 2))), shape=X.shape
        )
    before = X.copy()
    assert select(X, k=8).indices.tolist() == expected
    assert (abs(before - X)).sum() == 0.0


@pytest.mark.parametrize("method", ["local-search", "exact", "sample"])
def test_methods_that_look_at_sets(method):
    X = CASES["words"][:14]
    q = np.random.default_rng(3).random(14)
    options = {"k": 4, "quality": q, "method": method, "given": [2], "rng": 0}
    sparse, dense = select(X, **options), select(X.toarray(), **options)
    assert len(sparse) == 4
    if method == "exact":
        assert sparse.indices.tolist() == dense.indices.tolist()
        assert sparse.objective == pytest.approx(dense.objective, abs=1e-9)


def test_a_large_collection_stays_sparse(monkeypatch):
    """30,000 texts over 50,000 words: n x n is 7 GB, n x D 12 GB; what is needed fits in a small part of that."""
    import tracemalloc

    n, d, length, k = 30_000, 50_000, 20, 25
    rng = np.random.default_rng(0)
    X = scipy.sparse.csr_array(
        (rng.random(n * length), rng.integers(0, d, size=n * length), np.arange(0, n * length + 1, length)),
        shape=(n, d),
    )
    monkeypatch.setattr("diverset.numerics.validation.available_memory", lambda: 1 << 28)
    monkeypatch.setattr(scipy.sparse.csr_array, "toarray", refuse_large(scipy.sparse.csr_array.toarray))
    tracemalloc.start()
    try:
        chosen = select(X, k=k, quality=rng.random(n), given=[1, 2])
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert len(set(chosen)) == k
    # A private copy of the entries with a few temporaries of their size, some vectors over items, and k directions.
    assert peak < 8 * (12 * n * length + 20 * n + 3 * (k + 2) * d)
    assert peak < 8 * n * n / 50


def refuse_large(toarray):
    def checked(self, *args, **kwargs):
        assert self.shape[0] * self.shape[1] < 1e6, f"a dense array of shape {self.shape}"
        return toarray(self, *args, **kwargs)

    return checked


def test_directions_beyond_memory_are_refused(monkeypatch):
    monkeypatch.setattr("diverset.numerics.validation.available_memory", lambda: 1 << 20)
    X = scipy.sparse.csr_array((np.ones(100), (np.arange(100), np.arange(100))), shape=(100, 1_000_000))
    with pytest.raises(MemoryError, match="directions of 50 picks among 1000000 features"):
        select(X, k=50)


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        (math.nan, r"features\[1, 2\] is nan"),
        (math.inf, r"features\[1, 2\] is inf"),
        (1e200, r"features\[1\] has a norm beyond"),
    ],
)
def test_bad_entries_are_named(entry, message):
    X = scipy.sparse.csr_array(([1.0, entry, 1.0], ([0, 1, 2], [0, 2, 1])), shape=(3, 3))
    with pytest.raises(KernelError, match=message):
        select(X, k=2, similarity="dot")


def test_complex_entries_are_refused():
    with pytest.raises(DiversetError, match="complex"):
        select(scipy.sparse.csr_array(np.eye(3) * (1 + 1j)), k=2)


def test_zero_rows_and_norms_of_1e30_under_dot():
    A = np.vstack([1e30 * np.eye(4), np.zeros((1, 4))])
    for X in (scipy.sparse.csr_array(A), scipy.sparse.csr_array(A.astype(np.float32))):
        chosen = select(X, k=5, similarity="dot")
        assert chosen.indices.tolist() == [0, 1, 2, 3, 4]
        assert chosen.rank_spent == 4


def test_nothing_at_all():
    assert len(select(scipy.sparse.csr_array((0, 5)), k=3)) == 0
    assert len(select(CASES["words"], k=0)) == 0
