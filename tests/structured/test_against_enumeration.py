"""Every answer of a structured model against the list of all structures and determinants of their sets."""

import math
from itertools import combinations

import numpy as np
import pytest

import diverset as dv
from diverset.errors import DiversetError, ImpossibleEventError
from diverset.structured.dual_kernel import dual_kernel
from structures_for_tests import cases, loops
from structures_plain import dual_kernel_plain

CASES = cases()
LOOPS = loops()
ALL = CASES | LOOPS
FORMS = {"dense": {}, "sparse": {"sparse": True}, "logs": {"log": True}}


def close(a, b, tolerance=1e-10):
    return np.asarray(a) == pytest.approx(np.asarray(b), rel=tolerance, abs=tolerance)


@pytest.fixture(params=list(ALL), scope="module")
def pair(request):
    model = ALL[request.param]
    return model, dv.StructuredDPP(model.graph())


@pytest.mark.parametrize("form", list(FORMS))
@pytest.mark.parametrize("name", list(ALL))
def test_dual_kernel(name, form):
    model = ALL[name]
    B = model.rows
    s = dv.StructuredDPP(model.graph(**FORMS[form]))
    assert close(s.dual_kernel, B.T @ B)
    C, log_Z = dual_kernel_plain(s._space.tree)
    assert close(np.exp(log_Z) * C, B.T @ B)


def test_quality_and_features_of_structures(pair):
    model, s = pair
    Y, B = model.structures, model.rows
    assert close(np.exp(s.graph.log_quality(Y)), model.qualities)
    assert close(np.exp(s.graph.log_quality(Y))[:, None] * s.graph.features(Y), B)


def test_scaled_qualities(pair):
    model, s = pair
    B = 3.0 * model.rows
    assert close(s.scale_quality(np.log(3.0)).log_normalizer, np.linalg.slogdet(B @ B.T + np.eye(len(B)))[1])
    with pytest.raises(DiversetError, match="log_gamma is inf"):
        s.scale_quality(np.inf)


def test_spectrum_and_sizes(pair):
    model, s = pair
    B = model.rows
    lam = np.linalg.eigvalsh(B @ B.T)
    n = min(len(lam), len(s.eigenvalues))
    assert close(s.eigenvalues[-n:], lam[-n:])
    assert close(s.log_normalizer, np.linalg.slogdet(B @ B.T + np.eye(len(B)))[1])
    K = B @ B.T @ np.linalg.inv(np.eye(len(B)) + B @ B.T)
    assert close(s.expected_size, np.trace(K))
    pmf = s.size_distribution
    assert close(pmf.sum(), 1.0)
    assert close(pmf @ np.arange(len(pmf)), np.trace(K))


def test_log_prob_of_all_sets_of_up_to_three(pair):
    model, s = pair
    B, Y = model.rows, model.structures
    L = B @ B.T
    log_Z = np.linalg.slogdet(np.eye(len(L)) + L)[1]
    rng = np.random.default_rng(0)
    sets = [A for k in range(4) for A in combinations(range(len(Y)), k)]
    if len(sets) > 400:
        sets = [sets[i] for i in rng.choice(len(sets), 400, replace=False)]
    for A in sets:
        det = np.linalg.det(L[np.ix_(A, A)]) if A else 1.0
        p = math.exp(s.log_prob(Y[list(A)]))
        assert p == pytest.approx(det / math.exp(log_Z), rel=0.0, abs=1e-10)


def test_marginals_of_structures_and_pairs(pair):
    model, s = pair
    B, Y = model.rows, model.structures
    L = B @ B.T
    K = L @ np.linalg.inv(np.eye(len(L)) + L)
    assert close(s.inclusion_probability(Y), np.diag(K))
    assert close(s.inclusion_probability(Y[3]), K[3, 3])
    rng = np.random.default_rng(1)
    for i, j in rng.choice(len(Y), size=(40, 2)):
        if i != j:
            assert close(s.pair_probability(Y[i], Y[j]), K[i, i] * K[j, j] - K[i, j] ** 2)


def sums(model, p, r):
    return np.bincount(model.structures[:, r], weights=p, minlength=model.n_values[r])


def test_part_marginals(pair):
    model, s = pair
    B = model.rows
    L = B @ B.T
    p = np.diag(L @ np.linalg.inv(np.eye(len(L)) + L))
    for r, mu in enumerate(s.part_marginals()):
        assert close(mu, sums(model, p, r))


@pytest.mark.parametrize("k", [1, 2])
def test_fixed_size(pair, k):
    model, s = pair
    B, Y = model.rows, model.structures
    L = B @ B.T
    plain = dv.KDPP(L, k)
    ks = s.of_size(k)
    assert close(ks.log_normalizer, plain.log_normalizer)
    assert close(ks.inclusion_probability(Y), plain.inclusion_probabilities)
    for r, mu in enumerate(ks.part_marginals()):
        assert close(mu, sums(model, plain.inclusion_probabilities, r))
    rng = np.random.default_rng(2)
    for A in rng.choice(len(Y), size=(20, k)):
        if len(set(A)) == k:
            assert close(math.exp(ks.log_prob(Y[A])), math.exp(plain.log_prob(A)))
            assert close(ks.marginal(Y[A]), plain.marginal(A))
    assert ks.log_prob(Y[: k + 1]) == -math.inf


def test_conditioning_on_structures(pair):
    model, s = pair
    B, Y = model.rows, model.structures
    plain = dv.DPP(B @ B.T)
    allowed = np.flatnonzero((B**2).sum(axis=1) > 0)
    i, j, k = allowed[[0, len(allowed) // 2, -1]]
    ours = s.condition(include=[Y[i]], exclude=[Y[j]])
    theirs = plain.condition(include=[i], exclude=[j])
    assert close(ours.log_normalizer, theirs.log_normalizer)
    rest = theirs.items
    assert close(ours.inclusion_probability(Y[rest]), theirs.inclusion_probabilities, 1e-9)
    assert ours.log_prob([Y[i]]) == ours.log_prob([Y[j]]) == -math.inf
    assert close(math.exp(ours.log_prob([Y[k]])), math.exp(theirs.log_prob([k])))
    p = np.zeros(len(Y))
    p[rest] = theirs.inclusion_probabilities
    for r, mu in enumerate(ours.part_marginals()):
        assert close(mu, sums(model, p, r), 1e-9)
    again = ours.condition(exclude=[Y[k]])
    assert close(again.log_normalizer, theirs.condition(exclude=[k]).log_normalizer)


def test_conditioning_at_a_fixed_size(pair):
    model, s = pair
    B, Y = model.rows, model.structures
    plain, ks = dv.KDPP(B @ B.T, 2), s.of_size(2)
    allowed = np.flatnonzero((B**2).sum(axis=1) > 0)
    i, j = allowed[[0, -1]]
    ours, theirs = ks.condition(include=[Y[i]], exclude=[Y[j]]), plain.condition(include=[i], exclude=[j])
    assert ours.expected_size == 1.0
    assert close(ours.log_normalizer, theirs.log_normalizer, 1e-9)
    assert close(ours.inclusion_probability(Y[theirs.items]), theirs.inclusion_probabilities, 1e-9)
    both = dv.map_greedy(dv.DPP(B @ B.T), 2).indices
    assert ks.condition(include=Y[both]).log_prob(Y[:0]) == 0.0
    with pytest.raises(ImpossibleEventError, match="no set of 1 structures"):
        s.of_size(1).condition(include=Y[both])


def test_features_of_three_parts_without_a_quality():
    features = np.random.default_rng(5).standard_normal((2, 3, 2, 4))
    graph = dv.FactorGraph([2, 3, 2])
    graph.add_factor([0, 1, 2], features=features)
    B = features.reshape(12, 4)
    s = dv.StructuredDPP(graph)
    assert close(s.dual_kernel, B.T @ B)
    p = np.diag(B @ np.linalg.inv(np.eye(4) + B.T @ B) @ B.T)
    assert close(s.inclusion_probability(np.stack(np.unravel_index(np.arange(12), (2, 3, 2)), axis=1)), p)


def test_conditioning_on_values_of_parts(pair):
    model, s = pair
    B, Y = model.rows, model.structures
    r = len(model.n_values) - 1
    passing = np.flatnonzero(Y[:, r] == 1)
    ours = s.condition(parts={r: 1})
    theirs = dv.DPP(B @ B.T).condition(exclude=np.flatnonzero(Y[:, r] != 1))
    assert close(ours.log_normalizer, theirs.log_normalizer)
    assert close(ours.inclusion_probability(Y[passing]), theirs.inclusion_probabilities)
    assert close(s.condition(parts={r: [0, 1]}).condition(parts={r: 1}).log_normalizer, ours.log_normalizer)


def test_rescaling(pair):
    model, s = pair
    target = 0.5 * s.rank
    scaled = s.rescale(target)
    assert close(scaled.expected_size, target)
    plain = dv.DPP(model.rows @ model.rows.T).rescale(target)
    assert close(scaled.inclusion_probability(model.structures), plain.inclusion_probabilities, 1e-9)
    assert close(scaled.of_size(1).log_prob([model.structures[0]]), s.of_size(1).log_prob([model.structures[0]]))


@pytest.mark.parametrize("exponent", [100, -100])
def test_scaling_of_qualities_changes_only_the_normaliser(exponent):
    model = CASES["tree 1"]
    s, t = dv.StructuredDPP(model.graph()), dv.StructuredDPP(model.graph(scale=10.0**exponent))
    shift = 2 * exponent * math.log(10.0)
    assert close(t._spectrum.log_odds - shift, s._spectrum.log_odds, 1e-9)
    two, three = s.of_size(2), t.of_size(2)
    assert close(three.log_normalizer - 2 * shift, two.log_normalizer)
    Y = model.structures
    assert close(three.inclusion_probability(Y), two.inclusion_probability(Y))
    assert close(t.rescale(1.3).inclusion_probability(Y), s.rescale(1.3).inclusion_probability(Y))


@pytest.mark.parametrize("seed", range(12))
def test_fast_and_plain_kernels_agree_on_larger_trees(seed):
    from structures_for_tests import tree

    rng = np.random.default_rng(seed)
    model = tree(rng, rng.integers(1, 6, size=12).tolist(), D=5, pair_features=seed % 3 == 0)
    compiled = dv.StructuredDPP(model.graph(sparse=seed % 2 == 0))._space.tree
    C, log_Z = dual_kernel(compiled)
    plain, log_Z_plain = dual_kernel_plain(compiled)
    assert log_Z == pytest.approx(log_Z_plain, rel=1e-12)
    assert np.abs(C - plain).max() < 1e-9 * np.abs(plain).max()
