"""``select`` against the textbook: every pick by determinants, in rational or double arithmetic."""

import functools
import math

import numpy as np
import pytest
import scipy.sparse

import diverset as dv
from diverset.errors import DiversetError, KernelError, LabelError, SizeError
from diverset.inference import rows

# The objective in the unit of the scores; calibrated scores have tests of their own.
select = functools.partial(dv.select, scale=None)

RNG = np.random.default_rng(0)


@pytest.fixture(autouse=True, params=["at once", "in rounds"])
def schedule(request, monkeypatch):
    """Few items are picked from at once, many in rounds by several threads; here few are, too."""
    if request.param == "in rounds":
        sizes = {"_ROUND_MIN_ITEMS": 1, "_THREADS_MIN_ENTRIES": 1, "_ROUND_PICKS": 3, "_POOL_SHARE": 8}
        for name, value in sizes.items():
            monkeypatch.setattr(rows, name, value)


def cosine(X):
    X = np.asarray(X, dtype=float)
    X = X / np.linalg.norm(X, axis=1, keepdims=True)
    S = X @ X.T
    np.fill_diagonal(S, 1.0)  # or rounding would break the tie of the first pick
    return S


def textbook(S, q, k, d, *, given=(), blocked=()):
    """Greedy by determinants, ties by index, as long as the volume is not zero."""
    picked = []
    for _ in range(k):
        best, best_gain = None, -math.inf
        base = [*given, *picked]
        before = np.linalg.slogdet(S[np.ix_(base, base)])[1] if base else 0.0
        for i in range(len(S)):
            if i in base or i in blocked:
                continue
            trial = [*base, i]
            sign, log_det = np.linalg.slogdet(S[np.ix_(trial, trial)])
            if sign <= 0 or log_det - before < -27.0:  # a pivot below 1e-12: dependent
                continue
            gain = (1 - d) * q[i] + d * (log_det - before)
            if gain > best_gain + 1e-12:
                best, best_gain = i, gain
        if best is None:
            return picked
        picked.append(best)
    return picked


CASES = {
    "random": RNG.standard_normal((40, 12)),
    "positive": np.abs(RNG.standard_normal((40, 12))),
    "duplicated": np.repeat(RNG.standard_normal((15, 12)), 3, axis=0),
    "opposite": np.vstack([RNG.standard_normal((12, 12)), -RNG.standard_normal((12, 12))]),
    "low-rank": RNG.standard_normal((40, 4)) @ RNG.standard_normal((4, 12)),
    "one-hot": np.eye(12)[RNG.integers(0, 12, size=40)],
}


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("d", [0.1, 0.5, 1.0])
def test_greedy_is_the_textbooks_to_the_last_pick(name, dtype, d):
    X = CASES[name].astype(dtype)
    q = np.round(RNG.random(len(X)), 2)
    S = cosine(X)
    expected = textbook(S, q, 10, d)
    chosen = select(X, k=10, quality=q, diversity=d)
    rank = chosen.rank_spent or 10
    assert chosen.indices[:rank].tolist() == expected[:rank]
    assert len(chosen) == 10
    if chosen.rank_spent is not None:
        assert rank == np.linalg.matrix_rank(X.astype(float), tol=1e-5)
    for other in (
        select(S, k=10, quality=q, diversity=d, similarity="precomputed"),
        select(X.astype(float), k=10, quality=q, diversity=d, similarity=lambda A, B: cosine(A)),
    ):
        assert other.indices[:rank].tolist() == expected[:rank]
        np.testing.assert_allclose(other.gains[:rank], chosen.gains[:rank], atol=1e-6)


def test_the_objective_is_what_it_says():
    X, q = CASES["random"], RNG.random(40)
    chosen = select(X, k=6, quality=q, diversity=0.3)
    Y = chosen.indices
    log_det = np.linalg.slogdet(cosine(X)[np.ix_(Y, Y)])[1]
    assert chosen.log_det == pytest.approx(log_det, abs=1e-10)
    assert chosen.objective == pytest.approx(0.7 * q[Y].sum() + 0.3 * log_det, abs=1e-10)
    assert chosen.gains.sum() == pytest.approx(chosen.objective, abs=1e-10)
    assert X[chosen].shape == (6, 12)
    assert list(chosen) == Y.tolist()


def test_the_ends_of_the_dial():
    X, q = CASES["random"], RNG.random(40)
    assert select(X, k=7, quality=q, diversity=0).indices.tolist() == np.argsort(-q)[:7].tolist()
    volume = select(X, k=7, quality=q, diversity=1)
    assert volume.indices.tolist() == textbook(cosine(X), q, 7, 1.0)
    assert select(X, k=7).indices.tolist() == select(X, k=7, diversity=1).indices.tolist()


def test_always_as_many_as_asked_for():
    X = np.repeat(np.eye(3), 4, axis=0)
    for similarity in ("cosine", "dot", "rbf"):
        for k in (0, 1, 3, 5, 12, 50):
            chosen = select(X, k=k, similarity=similarity)
            assert len(chosen) == min(k, 12)
            assert len(set(chosen)) == len(chosen)
    chosen = select(X, k=12)
    assert chosen.rank_spent == 3
    # No copy before the last independent item, and the second round spreads out again.
    assert {int(i) // 4 for i in chosen.indices[:3]} == {0, 1, 2}
    assert {int(i) // 4 for i in chosen.indices[3:6]} == {0, 1, 2}
    assert chosen.log_det == -math.inf


def test_past_the_rank_picks_are_d_optimal():
    X, q = RNG.standard_normal((50, 3)), RNG.random(50)
    chosen = select(X, k=8, quality=q, diversity=0.6)
    Z = X / np.linalg.norm(X, axis=1, keepdims=True)
    for t in range(3, 8):
        before = chosen.indices[:t]
        M = Z[before].T @ Z[before]
        gains = 0.4 * q + 0.6 * np.log1p(np.einsum("ij,jk,ik->i", Z, np.linalg.inv(M), Z))
        gains[before] = -np.inf
        assert chosen.indices[t] == gains.argmax()
        assert chosen.gains[t] == pytest.approx(gains.max(), abs=1e-9)
    # The same picks as a small ridge gives from the start.
    S = Z @ Z.T + 1e-9 * np.eye(50)
    assert textbook_ridge(S, q, 8, 0.6) == chosen.indices.tolist()


def textbook_ridge(S, q, k, d):
    picked = []
    for _ in range(k):
        before = np.linalg.slogdet(S[np.ix_(picked, picked)])[1] if picked else 0.0
        gains = [
            -np.inf
            if i in picked
            else (1 - d) * q[i] + d * (np.linalg.slogdet(S[np.ix_([*picked, i], [*picked, i])])[1] - before)
            for i in range(len(S))
        ]
        picked.append(int(np.argmax(gains)))
    return picked


@pytest.mark.parametrize("name", ["random", "copies", "few kinds"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("scores", [None, "even", "steep"])
def test_many_items_as_without_laziness(name, dtype, scores):
    n, D, k = 3000, 25, 40
    X = RNG.standard_normal((n, D))
    if name == "copies":
        X[1::2] = X[::2] * 2.0 ** (np.arange(n // 2)[:, None] % 3)  # the same directions, to the last bit
    if name == "few kinds":
        X = X[:30][RNG.integers(0, 30, size=n)]
    X = X.astype(dtype)
    q = {None: np.zeros(n), "even": RNG.random(n), "steep": 20.0 * RNG.random(n) ** 3}[scores]
    chosen = select(X, k=k, quality=q, diversity=0.5)
    assert chosen.rank_spent == D
    U = X.astype(float) / np.linalg.norm(X.astype(float), axis=1, keepdims=True)
    left = np.ones(n, dtype=bool)
    for t, pick in enumerate(chosen.indices):
        B = U[chosen.indices[:t]]
        if t < D:  # what is left of each item beside the picks
            Q = np.linalg.qr(B.T)[0]
            volume = 1.0 - ((U @ Q) ** 2).sum(axis=1)
        else:  # one and its leverage
            volume = 1.0 + np.einsum("ij,ij->i", U @ np.linalg.inv(B.T @ B), U)
        keys = np.where(left & (volume > 1e-9), 0.5 * q + 0.5 * np.log(np.maximum(volume, 1e-9)), -np.inf)
        assert keys[pick] >= keys.max() - 1e-9
        assert pick == np.flatnonzero(keys >= keys[pick] - 1e-13)[0]
        np.testing.assert_allclose(chosen.gains[t], keys[pick], atol=1e-6)
        left[pick] = False


def test_near_duplicates_come_out_as_in_exact_arithmetic():
    # 200 copies at cosine 0.9999 of 4 directions, in float32: residuals near 2e-4 decide after four picks.
    base = np.linalg.qr(RNG.standard_normal((64, 64)))[0][:4]
    X = np.repeat(base, 50, axis=0) + 0.0141 * RNG.standard_normal((200, 64)) / 8
    X = (X / np.linalg.norm(X, axis=1, keepdims=True)).astype(np.float32)
    q = RNG.random(200)
    assert select(X, k=20, quality=q, diversity=0.5).indices.tolist() == textbook(cosine(X), q, 20, 0.5)


def test_extreme_scales():
    X, q = CASES["random"], RNG.random(40)
    expected = select(X, k=8, quality=q).indices.tolist()
    for scale in (1e30, 1e-30):
        assert select(scale * X, k=8, quality=q).indices.tolist() == expected
        assert select((scale * X).astype(np.float32), k=8, quality=q).indices.tolist() == expected
    mixed = X * 10.0 ** RNG.uniform(-30, 30, size=(40, 1))
    assert select(mixed, k=8, quality=q).indices.tolist() == expected
    outlier = q.copy()
    outlier[3] = 1e12
    assert select(X, k=8, quality=outlier).indices[0] == 3


def test_given_items_repel_and_are_not_picked():
    X, q = CASES["random"], RNG.random(40)
    given = [3, 17]
    chosen = select(X, k=6, quality=q, given=given)
    assert chosen.indices.tolist() == textbook(cosine(X), q, 6, 0.5, given=given)
    assert select(cosine(X), k=6, quality=q, given=given, similarity="precomputed").indices.tolist() == (
        chosen.indices.tolist()
    )
    copies = np.vstack([X, X[:1]])
    assert 40 not in select(copies, k=11, given=[0]).indices


def test_exclude_and_min_quality():
    X, q = CASES["random"], RNG.random(40)
    blocked = [int(i) for i in np.argsort(-q)[:5]]
    chosen = select(X, k=6, quality=q, exclude=blocked)
    assert chosen.indices.tolist() == textbook(cosine(X), q, 6, 0.5, blocked=blocked)
    good = select(X, k=30, quality=q, min_quality=0.7, diversity=0.9)
    assert (q[good] >= 0.7).all()
    assert len(good) == (q >= 0.7).sum()


@pytest.mark.parametrize("d", [0.0, 0.5])
def test_groups_are_capped(d):
    X, q = CASES["random"], RNG.random(40)
    source = np.array(["a", "b", "c", "d"])[RNG.integers(0, 4, size=40)]
    chosen = select(X, k=20, quality=q, groups=source, per_group=2, diversity=d)
    names, counts = np.unique(source[chosen], return_counts=True)
    assert len(chosen) == 8
    assert (counts == 2).all()
    # Each pick is the best of what the caps still allow.
    free = select(X, k=1, quality=q, diversity=d)
    assert chosen.indices[0] == free.indices[0]
    assert len(names) == 4


@pytest.mark.parametrize("d", [0.0, 0.5])
@pytest.mark.parametrize("similarity", ["cosine", "rbf"])
def test_budget_is_never_exceeded(d, similarity):
    X, q = CASES["random"], RNG.random(40)
    costs = RNG.random(40) + 0.1
    chosen = select(X, k=40, quality=q, costs=costs, budget=3.0, diversity=d, similarity=similarity)
    assert 0 < costs[chosen].sum() <= 3.0
    rest = [i for i in range(40) if i not in set(chosen)]
    assert costs[rest].min() > 3.0 - costs[chosen].sum()


def test_only_the_last_picks_repel_within_a_window():
    X = np.eye(3)[[0, 0, 1, 1, 2, 2]]
    q = np.array([1.0, 0.9, 0.5, 0.4, 0.2, 0.1])
    chosen = select(X, k=6, quality=q, window=1)
    topics = np.array([0, 0, 1, 1, 2, 2])[chosen]
    assert chosen.indices[:4].tolist() == [0, 2, 1, 3]
    assert (topics[1:5] != topics[:4]).all()
    everything = select(CASES["random"], k=8, window=100)
    assert everything.indices.tolist() == select(CASES["random"], k=8).indices.tolist()
    assert select(X, k=3, quality=q, window=0).indices.tolist() == [0, 1, 2]


def test_sampling_follows_the_k_dpp():
    X, q = CASES["random"][:8], RNG.random(8)
    w = (1 - 0.4) / 0.4
    L = np.exp(0.5 * w * q)[:, None] * cosine(X) * np.exp(0.5 * w * q)
    kdpp = dv.KDPP(L, 3)
    draws = [select(X, k=3, quality=q, diversity=0.4, method="sample", rng=i).indices for i in range(300)]
    frequency = np.bincount(np.concatenate(draws), minlength=8) / 300
    assert np.abs(frequency - kdpp.inclusion_probabilities).max() < 4.5 * 0.5 / math.sqrt(300)
    assert all(len(set(d.tolist())) == 3 for d in draws)


@pytest.mark.parametrize("method", ["local-search", "exact"])
def test_whole_set_methods_do_not_lose_to_greedy(method):
    X, q = CASES["random"][:14], RNG.random(14)
    greedy = select(X, k=4, quality=q, given=[2], exclude=[5])
    better = select(X, k=4, quality=q, given=[2], exclude=[5], method=method)
    assert len(better) == 4
    assert not {2, 5} & set(better)
    assert better.gains.sum() >= greedy.gains.sum() - 1e-9
    if method == "exact":
        assert better.gap < 1e-6 or better.upper_bound is None


def test_what_people_have(tmp_path):
    X, q = np.abs(CASES["random"]), RNG.random(40)
    expected = select(X, k=6, quality=q).indices.tolist()
    mapped = np.memmap(tmp_path / "x.dat", dtype=np.float64, mode="w+", shape=X.shape)
    mapped[:] = X
    forms = [
        X.tolist(),
        np.asfortranarray(X),
        X[::-1][::-1],
        mapped,
        scipy.sparse.csr_array(X),
        scipy.sparse.coo_matrix(X),
    ]
    for form in forms:
        assert select(form, k=6, quality=q.tolist()).indices.tolist() == expected


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"features": [[1.0, np.nan], [0.0, 1.0]]}, KernelError, r"features\[0, 1\] is nan"),
        ({"features": [[1.0, 0.0], [0.0, np.inf]]}, KernelError, r"features\[1, 1\] is inf"),
        ({"features": [1.0, 2.0]}, KernelError, r"shape \(2,\)"),
        (
            {"features": [[1e200, 0.0], [0.0, 1.0]], "similarity": "dot"},
            KernelError,
            r"features\[0\] has a norm beyond",
        ),
        ({"features": [["a", "b"]]}, KernelError, r"features\[0, 0\] is 'a'"),
        ({"quality": [0.1, np.nan]}, DiversetError, r"quality\[1\] is nan"),
        ({"quality": [0.1]}, DiversetError, "quality has 1 entries for 2 items"),
        ({"diversity": 1.5}, DiversetError, "diversity is 1.5"),
        ({"diversity": "high"}, DiversetError, "diversity is 'high'"),
        ({"similarity": "cos"}, DiversetError, "similarity is 'cos'"),
        ({"method": "best"}, DiversetError, "method is 'best'"),
        ({"k": -1}, SizeError, "k is -1"),
        ({"k": 2.5}, SizeError, "k is 2.5"),
        ({"given": [2]}, LabelError, "given names item 2"),
        ({"exclude": [0, 0]}, LabelError, "exclude names item 0 more than once"),
        ({"costs": [1.0, 2.0]}, DiversetError, "costs and budget go together"),
        ({"costs": [1.0, 0.0], "budget": 1.0}, DiversetError, r"costs\[1\] is 0"),
        ({"costs": [1.0, 1.0], "budget": -1.0}, DiversetError, "budget is -1.0"),
        ({"groups": ["a", "b"]}, DiversetError, "groups and per_group go together"),
        ({"groups": ["a"], "per_group": 1}, DiversetError, r"groups has shape \(1,\)"),
        ({"groups": ["a", "b"], "per_group": 0}, DiversetError, "per_group is 0"),
        ({"min_quality": 0.5}, DiversetError, "min_quality is given without quality"),
        ({"method": "exact", "window": 2}, DiversetError, 'need method="greedy"'),
        ({"features": [[1.0, 2.0], [2.0, 1.0]], "similarity": "precomputed"}, KernelError, "smallest eigenvalue -1"),
    ],
)
def test_bad_input(change, error, message):
    arguments = {"features": [[1.0, 0.0], [0.0, 1.0]], "k": 2, **change}
    with pytest.raises(error, match=message):
        select(**arguments)


@pytest.mark.parametrize("similarity", ["cosine", "rbf"])
@pytest.mark.parametrize(
    "limit",
    [{"groups": [0, 0, 1, 1, 1, 1], "per_group": 1}, {"costs": np.ones(6), "budget": 2.5}],
    ids=["caps", "budget"],
)
def test_limits_that_end_the_picking_are_not_taken_for_the_rank(similarity, limit):
    X = np.random.default_rng(0).standard_normal((6, 4))
    found = select(X, 5, similarity=similarity, **limit)
    assert len(found) == 2
    assert found.rank_spent is None


@pytest.mark.parametrize("similarity", ["cosine", "rbf"])
def test_a_window_that_holds_all_picks_changes_nothing(similarity):
    rng = np.random.default_rng(1)
    X, quality = rng.standard_normal((40, 12)), rng.random(40)
    options = {"similarity": similarity, "quality": quality, "given": [3, 5]}
    for window in (9, 10, 13, 50):
        assert dv.select(X, 8, window=window, **options).indices.tolist() == dv.select(X, 8, **options).indices.tolist()


def test_a_window_past_the_rank_takes_no_large_eigendecomposition(monkeypatch):
    sizes = []

    def counted(original):
        return lambda a, *args, **options: sizes.append(len(a)) or original(a, *args, **options)

    for name in ("eigh", "eigvalsh", "svd"):
        monkeypatch.setattr(np.linalg, name, counted(getattr(np.linalg, name)))
    rng = np.random.default_rng(0)
    X = rng.standard_normal((200, 5))
    quality = rng.random(200)
    # A window of 8 holds more than the rank, 5. Rows are never factorised as a whole.
    chosen = dv.select(X @ X.T, 40, similarity="precomputed", window=8, quality=quality)
    assert chosen.indices.tolist() == dv.select(X, 40, similarity="dot", window=8, quality=quality).indices.tolist()
    assert len(set(dv.select(X[:, :1], 60, similarity="rbf", window=25, quality=quality))) == 60
    assert [size for size in sizes if size >= 100] == []


@pytest.mark.parametrize("options", [{"diversity": 0.0}, {"diversity": 0.5}, {"diversity": 0.5, "window": 2}])
def test_an_item_may_cost_all_that_is_left(options):
    X, q = np.eye(4), np.array([4.0, 3.0, 2.0, 1.0])
    whole = select(X, k=4, quality=q, costs=[3.0, 3.5, 4.0, 4.5], budget=3.0, **options)
    assert whole.indices.tolist() == [0]
    rest = select(X, k=4, quality=q, costs=[1.0, 2.0, 1.0, 1.0], budget=3.0, **options)
    assert rest.indices.tolist() == [0, 1]


@pytest.mark.parametrize(
    "limit", [{"window": 2}, {"costs": np.ones(5), "budget": 3.0}, {"groups": [0, 0, 1, 1, 1], "per_group": 1}]
)
def test_methods_for_whole_sets_refuse_each_limit(limit):
    with pytest.raises(DiversetError, match="window, costs and groups need method"):
        select(np.eye(5), k=2, method="local-search", **limit)


@pytest.mark.parametrize("form", [np.asarray, scipy.sparse.csr_matrix])
def test_a_zero_row_is_neither_like_nor_unlike_a_query(form):
    X = np.array([[-1.0, 0.2], [0.0, 0.0], [1.0, 0.1], [0.3, 1.0]])
    chosen = select(form(X), k=4, query=[1.0, 0.0], diversity=0.0)
    assert chosen.indices.tolist() == [2, 3, 1, 0]


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda A, B: np.eye(3), r"returned float64 of shape \(3, 3\) for 4 and 4 rows"),
        (lambda A, B: np.eye(4) + 0.1j * np.array([[0, 1, 0, 0], [-1, 0, 0, 0], [0] * 4, [0] * 4]), "complex128"),
    ],
)
def test_a_similarity_of_wrong_shape_or_type_is_refused(function, message):
    with pytest.raises(DiversetError, match=message):
        select(np.eye(4), k=2, similarity=function)
