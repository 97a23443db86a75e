"""D-optimal designs against all subsets, and splits that are what they promise."""

from itertools import combinations

import numpy as np
import pytest
import scipy.sparse
from numpy.testing import assert_allclose

import diverset as dv
from diverset.errors import DiversetError, KernelError, LabelError, SizeError
from diverset.integrations import d_optimal_design, diverse_split


def log_pdet(M, rank):
    """Log of the product of the largest eigenvalues, as many as the rank."""
    return np.log(np.maximum(np.linalg.eigvalsh(M)[::-1][:rank], 1e-300)).sum()


def rank_of(A):
    """Rank, also of an empty matrix, which NumPy 2.0 refuses."""
    return np.linalg.matrix_rank(A) if A.size else 0


def value(X, rows, ridge=0.0):
    """The objective by eigenvalues of the information matrix."""
    A = X[list(rows)]
    rank = X.shape[1] if ridge else min(np.linalg.matrix_rank(X), rank_of(A))
    return log_pdet(A.T @ A + ridge * np.eye(X.shape[1]), rank)


def best(X, k, ridge=0.0, given=()):
    rest = [i for i in range(len(X)) if i not in given]
    rank = X.shape[1] if ridge else min(np.linalg.matrix_rank(X), rank_of(X[list(given)]) + k)
    return max(
        log_pdet(A.T @ A + ridge * np.eye(X.shape[1]), rank)
        for A in (X[[*given, *Y]] for Y in combinations(rest, k))
    )  # fmt: skip


CASES = [
    # rows, columns, k, ridge, given
    (9, 3, 2, 0.0, ()),
    (9, 3, 3, 0.0, ()),
    (9, 3, 5, 0.0, ()),
    (9, 4, 4, 0.1, ()),
    (9, 4, 2, 0.1, ()),
    (9, 4, 2, 0.0, (0, 3)),
    (9, 4, 1, 0.0, (0, 3)),
    (9, 3, 3, 0.5, (1, 2)),
    (8, 3, 8, 0.0, ()),
    (8, 3, 1, 0.0, ()),
]


@pytest.mark.parametrize(("n", "D", "k", "ridge", "given"), CASES)
@pytest.mark.parametrize("seed", range(5))
def test_design_is_close_to_the_best_and_no_exchange_improves_it(n, D, k, ridge, given, seed):
    X = np.random.default_rng([seed, n, D, k]).normal(size=(n, D)) * np.geomspace(1.0, 30.0, D)
    found = d_optimal_design(X, k, ridge=ridge, given=given)
    assert len(set(found)) == k
    assert not set(found) & set(given)
    reached = value(X, [*given, *found], ridge)
    assert_allclose(found.log_det, reached, rtol=1e-9, atol=1e-9)
    top = best(X, k, ridge, given)
    assert reached <= top + 1e-9
    assert reached >= top - 0.25  # a local optimum, within a factor of 1.3 here
    outside = set(range(n)) - set(found) - set(given)
    for i in found:
        for j in outside:
            swapped = [*given, *(set(found) - {i}), j]
            assert value(X, swapped, ridge) <= reached + 1e-8


def test_exchanges_find_the_best_set_mostly():
    hits = 0
    for seed in range(40):
        X = np.random.default_rng(seed).normal(size=(10, 3))
        hits += d_optimal_design(X, 4).log_det > best(X, 4) - 1e-9
    assert hits >= 36


@pytest.mark.parametrize("k", [2, 5, 6, 15])
@pytest.mark.parametrize("ridge", [0.0, 0.3])
@pytest.mark.parametrize("seed", range(10))
def test_never_below_greedy_and_sometimes_above(k, ridge, seed):
    X = np.random.default_rng(seed).normal(size=(60, 5))
    greedy = d_optimal_design(X, k, ridge=ridge, improve=False)
    better = d_optimal_design(X, k, ridge=ridge)
    assert better.log_det >= greedy.log_det
    if not ridge:
        assert greedy.indices.tolist() == dv.select(X, k, similarity="dot", diversity=1.0).indices.tolist()


def test_exchanges_improve_on_greedy():
    gains = []
    for seed in range(10):
        X = np.random.default_rng(seed).normal(size=(60, 5))
        gains.append(d_optimal_design(X, 6).log_det - d_optimal_design(X, 6, improve=False).log_det)
    assert np.mean(gains) > 0.1


@pytest.mark.parametrize(("k", "ridge", "given"), [(3, 0.0, ()), (9, 0.0, ()), (4, 0.2, ()), (6, 0.0, (1, 5))])
def test_gains_add_up(k, ridge, given):
    X = np.random.default_rng(3).normal(size=(40, 5))
    found = d_optimal_design(X, k, ridge=ridge, given=given)
    start = X[list(given)].T @ X[list(given)] + ridge * np.eye(5)
    before = log_pdet(start, 5 if ridge else len(given))
    assert_allclose(found.gains.sum(), found.log_det - before, rtol=1e-8)
    assert found.objective == found.log_det


@pytest.mark.parametrize("k", [2, 4])
def test_ridge_of_zero_is_the_limit(k):
    X = np.random.default_rng(4).normal(size=(12, 3))
    limit = d_optimal_design(X, k, ridge=1e-9)
    exact = d_optimal_design(X, k)
    assert value(X, limit) == pytest.approx(value(X, exact), abs=1e-6)


@pytest.mark.parametrize("k", [5, 9])
def test_units_of_the_columns_do_not_matter_for_full_designs(k):
    X = np.random.default_rng(5).normal(size=(20, 4))
    units = np.array([1e-8, 1.0, 1e8, 1e3])
    plain, scaled = d_optimal_design(X, k), d_optimal_design(X * units, k)
    assert scaled.log_det == pytest.approx(value(X, scaled) + 2.0 * np.log(units).sum(), rel=1e-6)
    assert value(X, scaled) == pytest.approx(value(X, plain), abs=0.3)


def test_dependent_columns_are_worked_around():
    rng = np.random.default_rng(6)
    A = rng.normal(size=(9, 2))
    X = np.column_stack([A, A.sum(axis=1), np.zeros(9)])
    found = d_optimal_design(X, 3)
    assert found.log_det == pytest.approx(best(X, 3))


def test_rows_that_repeat_each_other_or_are_zero():
    X = np.array([[1.0, 0.0], [1.0, 0.0], [0.0, 0.0], [0.0, 1.0], [0.0, 0.0]])
    assert set(d_optimal_design(X, 2)) in ({0, 3}, {1, 3})
    assert set(d_optimal_design(X, 3)) == {0, 1, 3}
    assert sorted(d_optimal_design(X, 5)) == [0, 1, 2, 3, 4]
    assert set(d_optimal_design(X, 1, given=[0, 1])) == {3}
    assert len(d_optimal_design(np.zeros((3, 2)), 2)) == 2


def test_corners_of_the_cube_make_the_best_design():
    # With an intercept and two factors, det M is largest at the four corners: 4^3.
    grid = np.array([[1.0, a, b] for a in np.linspace(-1, 1, 5) for b in np.linspace(-1, 1, 5)])
    found = d_optimal_design(grid, 4)
    assert found.log_det == pytest.approx(3.0 * np.log(4.0))
    assert {tuple(row) for row in np.abs(grid[found])} == {(1.0, 1.0, 1.0)}


def test_sizes_and_containers():
    X = np.random.default_rng(7).normal(size=(6, 3))
    assert len(d_optimal_design(X, 0)) == 0
    assert len(d_optimal_design(X, 10)) == 6
    assert sorted(d_optimal_design(X, 10, given=[2, 4])) == [0, 1, 3, 5]
    assert d_optimal_design(scipy.sparse.csr_array(X), 3).log_det == d_optimal_design(X, 3).log_det
    assert d_optimal_design(X.tolist(), 3).log_det == d_optimal_design(X, 3).log_det
    assert X.flags.writeable


def test_bad_input_is_named():
    X = np.eye(3)
    with pytest.raises(DiversetError, match=r"ridge is -1"):
        d_optimal_design(X, 2, ridge=-1.0)
    with pytest.raises(LabelError, match="7"):
        d_optimal_design(X, 2, given=[7])
    with pytest.raises(SizeError, match="-2"):
        d_optimal_design(X, -2)
    with pytest.raises(KernelError, match=r"X\[1, 2\] is nan"):
        d_optimal_design([[1.0, 2.0, 3.0], [1.0, 2.0, np.nan]], 1)


def test_frames_give_labels():
    pd = pytest.importorskip("pandas", reason="pandas is not installed")
    frame = pd.DataFrame(np.eye(3) * [1.0, 3.0, 2.0], index=["a", "b", "c"])
    assert list(d_optimal_design(frame, 2).labels) == ["b", "c"]


# splits --------------------------------------------------------------------------------------------------------


@pytest.fixture
def data():
    rng = np.random.default_rng(0)
    return rng.normal(size=(50, 6)), np.array([0] * 30 + [1] * 16 + [2] * 4)


@pytest.mark.parametrize(("train_size", "expected"), [(0.5, 25), (0.33, 16), (1, 1), (49, 49), (0.99, 49)])
def test_parts_are_disjoint_and_of_the_size_asked_for(data, train_size, expected):
    X, y = data
    X_train, X_test, y_train, y_test, i_train, i_test = diverse_split(X, y, np.arange(50), train_size=train_size)
    assert len(i_train) == expected
    assert sorted([*i_train, *i_test]) == list(range(50))
    for part, whole, rows in [(X_train, X, i_train), (X_test, X, i_test), (y_train, y, i_train), (y_test, y, i_test)]:
        assert np.array_equal(part, whole[rows])
    assert (np.diff(i_train) > 0).all()


def test_sizes_and_order_of_parts_are_scikit_learns(data):
    model_selection = pytest.importorskip("sklearn.model_selection", reason="scikit-learn is not installed")
    X, y = data
    for train_size in (0.5, 0.29, 0.731, 7):
        ours = diverse_split(X, y, train_size=train_size)
        theirs = model_selection.train_test_split(X, y, train_size=train_size)
        assert [part.shape for part in ours] == [part.shape for part in theirs]


def test_training_part_is_the_diverse_one(data):
    X, _ = data
    quality = X[:, 0]
    train, _ = diverse_split(X, train_size=8, quality=quality, diversity=0.6)
    expected = np.sort(dv.select(X, 8, quality=quality, diversity=0.6).indices)
    assert np.array_equal(train, X[expected])


def test_copies_go_to_the_test_part():
    X = np.vstack([np.eye(4), np.eye(4)])
    _, _, train, test = diverse_split(X, np.arange(8), train_size=0.5)
    assert sorted(train % 4) == sorted(test % 4) == [0, 1, 2, 3]


@pytest.mark.parametrize("train_size", [3, 10, 0.5, 0.8, 47])
def test_stratified_parts_hold_every_class_in_proportion(data, train_size):
    X, y = data
    _, _, y_train, y_test = diverse_split(X, y, train_size=train_size, stratify=y)
    wanted = int(train_size * 50) if isinstance(train_size, float) else train_size
    assert len(y_train) == wanted
    counts = np.bincount(y_train, minlength=3)
    assert (counts >= 1).all()
    assert (np.bincount(y_test, minlength=3) >= 1).all()
    assert (np.abs(counts - np.array([30, 16, 4]) * wanted / 50) <= 2).all()


def test_stratified_parts_take_string_classes_and_quality(data):
    X, y = data
    names = np.array(["x", "y", "z"])[y]
    _, _, train, _ = diverse_split(X, np.arange(50), train_size=10, stratify=names, quality=X[:, 1], diversity=0.0)
    for label, size in zip(range(3), np.bincount(y[train]), strict=True):
        members = np.flatnonzero(y == label)
        assert set(train[y[train] == label]) == set(members[np.argsort(-X[members, 1], kind="stable")[:size]])


def test_stratified_split_of_a_similarity_matrix_given_as_a_list(data):
    X, y = data
    S = dv.kernels.rbf(X, length_scale=2.0)
    by_matrix = diverse_split(S.tolist(), np.arange(50), similarity="precomputed", stratify=y, train_size=12)[2]
    by_function = diverse_split(
        X, np.arange(50), similarity=lambda A, B: dv.kernels.rbf(A, B, length_scale=2.0), stratify=y, train_size=12
    )[2]
    assert by_matrix.tolist() == by_function.tolist()


def test_drawn_splits_follow_the_generator(data):
    X, y = data

    def rows(seed, **options):
        return diverse_split(X, np.arange(50), similarity="rbf", method="sample", rng=seed, **options)[2].tolist()

    assert rows(1) == rows(1) != rows(2)
    assert rows(1, stratify=y) == rows(1, stratify=y) != rows(2, stratify=y)
    assert len(rows(3, stratify=y)) == 25


def test_containers_are_kept(data):
    X, y = data
    parts = diverse_split(scipy.sparse.csr_array(X), y.tolist(), tuple(y), train_size=10)
    assert scipy.sparse.issparse(parts[0])
    assert isinstance(parts[2], list)
    pd = pytest.importorskip("pandas", reason="pandas is not installed")
    frame = pd.DataFrame(X, index=[f"r{i}" for i in range(50)])
    train, test, s_train, _ = diverse_split(frame, frame[0], train_size=10, stratify=pd.Series(y))
    assert train.index.equals(s_train.index)
    assert len(test) == 40


def test_polars_frames(data):
    pl = pytest.importorskip("polars", reason="polars is not installed")
    frame = pl.DataFrame(data[0], schema=[f"c{i}" for i in range(6)], orient="row")
    train, test = diverse_split(frame, train_size=10)
    assert train.shape == (10, 6)
    assert test.shape == (40, 6)


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"train_size": 0.0}, SizeError, "train_size is 0.0"),
        ({"train_size": 1.0}, SizeError, "train_size is 1.0"),
        ({"train_size": 50}, SizeError, "train_size is 50, 50 of 50 rows"),
        ({"train_size": 0}, SizeError, "train_size is 0, 0 of 50"),
        ({"train_size": 0.01}, SizeError, "train_size is 0.01, 0 of 50"),
        ({"train_size": 2, "stratify": [0] * 30 + [1] * 16 + [2] * 4}, SizeError, "2 of 50 rows .* 3 classes"),
        ({"train_size": 48, "stratify": [0] * 30 + [1] * 16 + [2] * 4}, SizeError, "48 of 50 rows .* 3 classes"),
        ({"stratify": [0] * 49 + [1]}, SizeError, "class 1 has 1 row"),
        ({"stratify": [0, 1]}, DiversetError, "stratify has 2 rows for 50"),
        ({"quality": [1.0]}, DiversetError, "quality has 1 entries for 50"),
        ({"quality": [1.0] * 60, "stratify": [0, 1] * 25}, DiversetError, "quality has 60 entries for 50"),
    ],
)
def test_impossible_splits_are_refused(data, options, error, message):
    with pytest.raises(error, match=message):
        diverse_split(data[0], **options)


def test_arrays_of_other_lengths_are_refused(data):
    with pytest.raises(DiversetError, match="array 1 has 3 rows for 50"):
        diverse_split(data[0], data[1], [1, 2, 3])
