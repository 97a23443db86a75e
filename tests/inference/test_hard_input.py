"""Input that once ended in a hang, an error from inside, or fewer picks without a word."""

import contextlib
import threading

import numpy as np
import pytest
import scipy.sparse

import diverset as dv
from diverset.errors import DiversetError, KernelError
from diverset.inference.greedy import make_selection
from diverset.inference.rows import orthonormal_rows
from diverset.integrations.design import d_optimal_design

pytestmark = pytest.mark.filterwarnings("ignore::diverset.errors.DiversetWarning")


def uneven_rows(seed, n, D, decades):
    """Rows whose lengths differ by many powers of ten, and scores far apart."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, D)) * 10.0 ** rng.uniform(-decades, decades, size=(n, 1))
    return X, rng.standard_normal(n) * 1e4


def complete(selection, n):
    assert len(set(selection)) == len(selection) == n
    assert not np.isnan(selection.gains).any()


def test_rows_of_very_different_length_past_the_rank():
    X, quality = uneven_rows(2, 2000, 3, 10)
    for scale in (None, "standard", "rank"):
        complete(dv.select(X, 13, similarity="dot", quality=quality, scale=scale), 13)


@pytest.mark.parametrize("n", [30, 2000, 2600])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("diversity", [0.01, 0.5, 0.99, 1.0])
def test_every_seed_gives_all_picks(n, dtype, diversity):
    for seed in range(8):
        for decades in (3, 10, 14):
            X, quality = uneven_rows(seed, n, 1 + seed % 5, decades)
            options = {"similarity": "dot", "quality": quality, "diversity": diversity}
            complete(dv.select(X.astype(dtype), 28, scale=None, **options), 28)
            complete(dv.select(X.astype(dtype), 28, given=[0, 1], **options), 28)


@pytest.mark.slow
def test_two_hundred_seeds_give_all_picks():
    for seed in range(200):
        X, quality = uneven_rows(seed, 2000 + 5 * seed, 3, 10)
        complete(dv.select(X, 13, similarity="dot", quality=quality, scale=None), 13)


@pytest.mark.parametrize("form", ["sparse", "precomputed"])
def test_other_forms_give_all_picks(form):
    for seed in range(12):
        X, quality = uneven_rows(seed, 40, seed % 4, (3, 10, 60)[seed % 3])
        features = scipy.sparse.csr_matrix(X) if form == "sparse" else X @ X.T
        for given in (None, [0, 3]):
            similarity = "dot" if form == "sparse" else form
            found = dv.select(features, 15, similarity=similarity, quality=quality, scale=None, given=given)
            complete(found, 15)


@pytest.mark.parametrize("value", [np.nan, np.inf, 1e300])
@pytest.mark.parametrize("n", [400, 2500])
def test_an_array_that_changes_during_the_call_ends_the_call(n, value):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, 4))
    clean, quality, done = X.copy(), rng.random(n), threading.Event()

    def disturb():
        while not done.is_set():
            X[rng.integers(n)] = value

    other = threading.Thread(target=disturb)
    other.start()
    try:
        for _ in range(30):
            X[:] = clean
            with contextlib.suppress(KernelError):
                assert len(dv.select(X, 12, similarity="dot", quality=quality)) == 12
    finally:
        done.set()
        other.join()


def test_tiny_rows_have_a_direction():
    complete(dv.select(np.eye(4) * 1e-160, 3), 3)
    assert dv.select(np.eye(4) * 1e-160, 3).log_det == pytest.approx(0.0)


def test_a_given_row_of_zeros_repels_nothing():
    X = np.vstack([np.zeros(3), np.eye(3)])
    assert dv.select(X, 2, similarity="dot", given=[0]).indices.tolist() == [1, 2]
    assert dv.select(X, 2, given=[0]).indices.tolist() == [1, 2]


@pytest.mark.parametrize("similarity", ["dot", "cosine"])
def test_rows_without_entries(similarity):
    complete(dv.select(np.zeros((4, 0)), 2, similarity=similarity), 2)
    assert dv.select(np.zeros((4, 0)), 2, similarity=similarity, quality=[1, 3, 2, 0]).indices.tolist() == [1, 2]


def test_values_of_the_wrong_kind():
    with pytest.raises(DiversetError, match="groups holds lists of different lengths"):
        dv.select(np.eye(3), 2, groups=[[1], [2, 3], 1], per_group=1)
    with pytest.raises(DiversetError, match=r"groups has shape \(3, 2\)"):
        dv.select(np.eye(3), 2, groups=[[1, 2], [2, 3], [1, 1]], per_group=1)
    for features in (np.eye(3) * 1j, [[1j, 0.0], [0.0, 1.0]]):
        with pytest.raises(KernelError, match="features are complex"):
            dv.select(features, 2)
    for name in ("quality", "query", "costs"):
        budget = {"budget": 2.0} if name == "costs" else {}
        with pytest.raises(DiversetError, match=f"{name} is complex"):
            dv.select(np.eye(3), 2, **{name: np.array([1j, 2.0, 3.0])}, **budget)
    with pytest.raises(DiversetError, match=r"quality\[0\] is nan") as refused:
        dv.select(np.eye(3), 2, quality=[np.nan, 1.0, 2.0])
    assert not isinstance(refused.value, KernelError)


@pytest.mark.parametrize("method", ["map_greedy", "map_local_search", "map_exact", "map_relaxed", "map_double_greedy"])
def test_search_takes_a_dpp_and_not_its_k_dpp(method):
    with pytest.raises(DiversetError, match=f"{method} was given a KDPP; pass {method}"):
        getattr(dv.inference, method)(dv.DPP(np.eye(3)).of_size(2))


def test_a_design_of_huge_rows_has_gains():
    found = d_optimal_design(np.full((4, 3), 2**62), 3, ridge=0.1)
    complete(found, 3)
    assert found.gains[0] == pytest.approx(np.log1p(30.0 * 2.0**124))


@pytest.mark.parametrize("smallest", [1.0, 1e-7, 1e-13])
def test_gains_are_differences_of_prefix_determinants(smallest):
    rng = np.random.default_rng(4)
    Q = np.linalg.qr(rng.standard_normal((6, 6)))[0]
    L = (Q * np.geomspace(smallest, 3.0, 6)) @ Q.T
    dpp = dv.DPP((L + L.T) / 2.0)
    for order in ([3, 0, 5], [5, 3, 0, 1], [2], []):
        found = make_selection(dpp, order, ordered=True)
        prefixes = [np.linalg.slogdet(dpp.L[np.ix_(order[:m], order[:m])])[1] for m in range(len(order) + 1)]
        assert found.indices.tolist() == order
        np.testing.assert_allclose(found.gains, np.diff(prefixes), atol=1e-6)
        assert found.gains.sum() == pytest.approx(found.log_det, abs=1e-6)
        ascending = make_selection(dpp, order)
        assert ascending.indices.tolist() == sorted(order)
        assert ascending.log_det == pytest.approx(found.log_det)


def test_given_rows_that_nearly_agree_span_what_they_span():
    # Directions an angle of 1e-5 apart are two; an angle of 1e-9 is rounding.
    for angle, rank in ((1e-5, 2), (1e-9, 1)):
        rows = np.array([[3.0, 0.0, 0.0], [0.0, 0.0, 0.0], [2.0, 2.0 * angle, 0.0]])
        basis = orthonormal_rows(rows, 64.0 * 3 * np.finfo(float).eps)
        np.testing.assert_allclose(basis @ basis.T, np.eye(rank), atol=1e-12)
        np.testing.assert_allclose(rows[0] @ basis.T @ basis, rows[0], atol=1e-8)
    X = np.vstack([[1.0, 0.0, 0.0], [1.0, 1e-5, 0.0], [0.0, 1.0, 1e-3], np.tile([1e-2, 0.0, 1.0], (2100, 1))])
    assert dv.select(X, 1, similarity="dot", given=[0, 1]).indices.tolist() == [3]
