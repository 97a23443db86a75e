"""Picks, gains and objectives are those of the formulas, computed the slow way."""

import functools
import itertools
import math
from types import SimpleNamespace

import numpy as np
import pytest
from scipy import sparse

from diverset import baselines, kernels

# The methods in the unit of the scores; calibrated scores have tests of their own.
METHODS = {name: getattr(baselines, name) for name in baselines.__all__}
raw = SimpleNamespace(**{n: functools.wraps(m)(functools.partial(m, scale=None)) for n, m in METHODS.items()})

GREEDY = [raw.mmr, raw.max_sum, raw.max_min, raw.facility_location]
ALL = [*GREEDY, raw.top_k, raw.random]
names = lambda method: getattr(method, "__name__", None)  # noqa: E731


def points(n=30, d=4, seed=0):
    return np.random.default_rng(seed).normal(size=(n, d))


def case(n=30, d=4, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, d)), rng.uniform(size=n)


# The value each baseline gives to a set, from its definition alone: S, quality, dial, picks, given.


def mmr_score(S, q, dial, item, before):
    return (1 - dial) * q[item] - dial * max((S[item, j] for j in before), default=0.0)


def max_sum_value(S, q, dial, Y, given, k):
    pairs = [*itertools.combinations(Y, 2), *itertools.product(Y, given)]
    n_pairs = max(1, k * (k - 1) // 2 + k * len(given))
    return (1 - dial) / k * sum(q[i] for i in Y) + dial / n_pairs * sum(1 - S[i, j] for i, j in pairs)


def max_min_distance(S, q, dial, i, j):
    return (1 - dial) * (q[i] + q[j]) / 2 + dial * (1 - S[i, j])


def max_min_value(S, q, dial, Y, given):
    pairs = [*itertools.combinations(Y, 2), *itertools.product(Y, given)]
    return min(max_min_distance(S, q, dial, i, j) for i, j in pairs)


def facility_location_value(S, q, dial, Y, given, k):
    def cover(A):
        return sum(max([0.0, *(S[v, j] for j in A)]) for v in range(len(S))) / len(S)

    return (1 - dial) / k * sum(q[i] for i in Y) + dial * (cover([*Y, *given]) - cover(given))


def slow(method, S, q, k, dial, given=(), exclude=()):
    """Picks and gains by the definition, everything computed anew at every step."""
    left = [i for i in range(len(S)) if i not in given and i not in exclude]
    k = min(k, len(left))
    picked, gains = [], []
    for _ in range(k):
        if method is raw.mmr:
            gain = {i: mmr_score(S, q, dial, i, [*picked, *given]) for i in left}
            score = gain
        elif method is raw.max_sum:
            before = max_sum_value(S, q, dial, picked, given, k)
            gain = {i: max_sum_value(S, q, dial, [*picked, i], given, k) - before for i in left}
            alone = {i: max_sum_value(S, q, dial, [i], given, k) for i in left}
            score = {i: gain[i] - alone[i] / 2 for i in left}
        elif method is raw.max_min:
            shown = [*picked, *given]
            gain = {
                i: min((max_min_distance(S, q, dial, i, j) for j in shown), default=(1 - dial) * q[i] + dial)
                for i in left
            }
            score = gain if shown else {i: q[i] for i in left}
        else:
            before = facility_location_value(S, q, dial, picked, given, k)
            gain = {i: facility_location_value(S, q, dial, [*picked, i], given, k) - before for i in left}
            score = gain
        best = max(left, key=lambda i: (round(score[i], 12), -i))
        picked.append(best)
        gains.append(gain[best])
        left.remove(best)
    return picked, gains


@pytest.mark.parametrize("method", GREEDY, ids=names)
@pytest.mark.parametrize("similarity", ["cosine", "rbf", "dot"])
@pytest.mark.parametrize("dial", [0.0, 0.3, 0.8, 1.0])
def test_picks_are_those_of_the_definition(method, similarity, dial):
    X, q = case(n=18, seed=round(10 * dial))
    S = getattr(kernels, similarity)(X)
    for given, exclude in [((), ()), ((3, 11), (0, 5, 7))]:
        found = method(X, 6, quality=q, diversity=dial, similarity=similarity, given=given, exclude=exclude)
        picked, gains = slow(method, S, q, 6, dial, given, exclude)
        assert found.indices.tolist() == picked
        np.testing.assert_allclose(found.gains, gains, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("dial", [0.0, 0.4, 1.0])
@pytest.mark.parametrize("given", [(), (2, 9)])
def test_objectives_are_those_of_the_definition(dial, given):
    X, q = case(n=15, seed=3)
    S = kernels.cosine(X)
    options = {"quality": q, "diversity": dial, "given": given}
    Y = raw.max_sum(X, 5, **options)
    assert Y.objective == pytest.approx(max_sum_value(S, q, dial, list(Y), given, 5))
    Y = raw.max_min(X, 5, **options)
    assert Y.objective == pytest.approx(max_min_value(S, q, dial, list(Y), given))
    Y = raw.facility_location(X, 5, **options)
    assert Y.objective == pytest.approx(facility_location_value(S, q, dial, list(Y), given, 5))
    for method in (raw.mmr, raw.max_sum, raw.facility_location, raw.top_k):
        Y = method(X, 5, **options)
        assert Y.objective == pytest.approx(Y.gains.sum())


def test_one_pick_of_max_min():
    found = raw.max_min(points(5), 1, quality=[0.1, 0.2, 0.9, 0.3, 0.4], diversity=0.25)
    assert found.indices.tolist() == [2]
    assert found.objective == pytest.approx(0.75 * 0.9 + 0.25)


def test_two_picks_of_max_min_are_as_good_as_their_distance():
    found = raw.max_min([[1.0, 0.0], [-2.0, 0.0]], 2, diversity=1.0)
    assert found.gains.tolist() == [1.0, 2.0]
    assert found.objective == 2.0


@pytest.mark.parametrize("method", GREEDY, ids=names)
@pytest.mark.parametrize("given", [(), (1, 4)])
def test_no_diversity_is_top_k(method, given):
    X, q = case(n=40, seed=5)
    q = 0.9 * np.round(q, 1)
    q[[7, 30]] = np.nextafter(1.0, 0), 1.0  # one rounding error apart, and not a tie
    expected = raw.top_k(X, 12, quality=q, given=given).indices
    assert expected[:2].tolist() == [30, 7]
    assert method(X, 12, quality=q, diversity=0.0, given=given).indices.tolist() == expected.tolist()


def test_top_k_is_stable():
    found = raw.top_k(points(5), 4, quality=[1, 3, 3, 2, 3], exclude=[2])
    assert found.indices.tolist() == [1, 4, 3, 0]
    assert found.gains.tolist() == [3, 3, 2, 1]
    assert found.objective == 9.0


@pytest.mark.parametrize("method", GREEDY, ids=names)
def test_quality_left_out_is_equal_quality(method):
    X = points(20)
    found = method(X, 6, diversity=0.6)
    same = method(X, 6, quality=np.zeros(20), diversity=0.6)
    assert found.indices.tolist() == same.indices.tolist()
    np.testing.assert_array_equal(found.gains, same.gains)


# Distances of a metric: shortest paths, moved into similarities by 1 - d.


def metric_similarity(n, seed):
    D = np.random.default_rng(seed).uniform(0.05, 1.0, size=(n, n))
    D = np.minimum(D, D.T)
    np.fill_diagonal(D, 0.0)
    for j in range(n):
        D = np.minimum(D, D[:, [j]] + D[[j]])
    return 1.0 - D


def cosine_similarity(n, seed):
    return kernels.cosine(points(n, 3, seed))


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize(("share", "make"), [(0.5, metric_similarity), (0.25, cosine_similarity)])
def test_guarantees_hold(seed, share, make):
    n, k, dial, given = 8, 4, (0.3, 0.7, 1.0)[seed % 3], [[], [0]][seed % 2]
    S, q = make(n, seed), np.random.default_rng(seed).uniform(size=n)
    others = [i for i in range(n) if i not in given]
    options = {"quality": q, "diversity": dial, "given": given, "similarity": "precomputed"}
    best = max(max_sum_value(S, q, dial, Y, given, k) for Y in itertools.combinations(others, k))
    assert best + 1e-12 >= raw.max_sum(S, k, **options).objective >= share * best
    best = max(max_min_value(S, q, dial, Y, given) for Y in itertools.combinations(others, k))
    assert best + 1e-12 >= raw.max_min(S, k, **options).objective >= share * best
    best = max(facility_location_value(S, q, dial, Y, given, k) for Y in itertools.combinations(others, k))
    assert best + 1e-12 >= raw.facility_location(S, k, **options).objective >= (1 - 1 / math.e) * best


def test_mmr_agrees_with_langchain():
    """Picks of ``maximal_marginal_relevance`` in langchain-core 1.7.2, whose lambda_mult is 1 - diversity."""
    X = [[5, 2, 3, 5], [2, 3, 4, -1], [-3, -1, -1, 4], [5, -3, 1, 4], [-2, 4, -2, 1], [-3, -1, -1, 4]]
    X += [[3, -1, 5, 1], [1, 1, 2, 1], [1, 5, 4, 4], [3, 2, 0, 5], [1, -2, 4, -2], [4, 2, -2, -3]]
    relevance = kernels.cosine(X, [[2, 1, 3, 1]])[:, 0]
    theirs = {
        0.3: [7, 11, 2, 10, 3, 4],
        0.5: [7, 10, 11, 6, 1, 0],
        0.8: [7, 6, 1, 0, 8, 10],
        1.0: [7, 6, 1, 0, 8, 9],
    }
    for lambda_mult, picks in theirs.items():
        found = raw.mmr(X, 6, quality=relevance, diversity=1 - lambda_mult)
        assert found.indices.tolist() == picks


@pytest.mark.parametrize("method", GREEDY, ids=names)
@pytest.mark.parametrize("dial", [0.5, 1.0])
def test_the_form_of_the_input_does_not_matter(method, dial):
    X = np.random.default_rng(1).integers(-4, 5, size=(60, 5))
    X[:, 0] = 1 + np.abs(X[:, 0])
    q = np.random.default_rng(2).uniform(size=60)
    options = {"quality": q, "diversity": dial, "given": [4], "exclude": {9, 10}}
    for similarity in ("cosine", "rbf", "dot"):
        expected = method(X.astype(float), 9, similarity=similarity, **options)
        S = getattr(kernels, similarity)(X)
        scale = kernels.median_heuristic(X)
        forms = [
            (X, similarity),
            (X.tolist(), similarity),
            (X.astype(np.float32), similarity),
            (np.asfortranarray(X, dtype=np.float64), similarity),
            (sparse.csr_array(X), similarity),
            (sparse.coo_matrix(X.astype(np.float32)), similarity),
            (S, "precomputed"),
            (S.tolist(), "precomputed"),
            (X, kernels.cosine if similarity == "cosine" else kernels.dot),
        ]
        if similarity == "rbf":
            forms[-1] = (X, lambda A, B, scale=scale: kernels.rbf(A, B, length_scale=scale))
        for features, how in forms:
            found = method(features, 9, similarity=how, **options)
            assert found.indices.tolist() == expected.indices.tolist()
            np.testing.assert_allclose(found.gains, expected.gains, rtol=1e-9, atol=1e-12)
            assert found.log_det == pytest.approx(expected.log_det, abs=1e-6)


@pytest.mark.parametrize("method", ALL, ids=names)
def test_log_det_is_that_of_the_similarities(method):
    X, q = case(n=20, d=9, seed=8)
    X[13] = 2 * X[4]
    for similarity in ("cosine", "rbf", "dot"):
        found = method(X, 5, quality=q, similarity=similarity, exclude=[13])
        S = getattr(kernels, similarity)(X)
        assert found.log_det == pytest.approx(np.linalg.slogdet(S[np.ix_(found, found)])[1], abs=1e-9)
        assert method(X, 0, similarity=similarity).log_det == 0.0
    both = [i for i in range(20) if i not in (4, 13)]
    assert method(X, 2, exclude=both).log_det == -math.inf
    assert method(X, 10).log_det == -math.inf  # more items than features


def test_near_duplicates_are_told_apart():
    X = np.eye(3)[[0, 0, 1, 2]].astype(np.float32)
    X[1, 1] = np.sqrt(1 / 0.9999**2 - 1)
    found = raw.mmr(X, 4, diversity=0.9, quality=[1, 1, 0.9, 0.9])
    assert found.indices.tolist() == [0, 2, 3, 1]
    assert math.isfinite(raw.mmr(X, 2, exclude=[2, 3]).log_det)


def test_random_draws_uniformly_and_from_its_generator():
    X = points(6)
    generator = np.random.default_rng(0)
    draws = [tuple(raw.random(X, 2, rng=generator, exclude=[1])) for _ in range(2000)]
    counts = {pair: draws.count(pair) for pair in itertools.permutations([0, 2, 3, 4, 5], 2)}
    assert sum(counts.values()) == 2000
    expected = 2000 / 20
    assert sum((c - expected) ** 2 / expected for c in counts.values()) < 55  # chi-square, 19 degrees: p = 2e-5
    before = np.random.get_state()[1].tolist()  # noqa: NPY002
    generator = np.random.default_rng(5)
    first, second = raw.random(X, 3, rng=generator), raw.random(X, 3, rng=generator)
    assert first.indices.tolist() == raw.random(X, 3, rng=5).indices.tolist()
    assert first.indices.tolist() != second.indices.tolist()
    assert np.random.get_state()[1].tolist() == before  # noqa: NPY002
    found = raw.random(X, 3, quality=np.arange(6), rng=0)
    assert found.gains.tolist() == found.indices.tolist()
