"""Draws from a kernel function: domination, the law of each stage by enumeration, and draws against the law."""

import functools
import math

import numpy as np
import pytest

import diverset as dv
import reference
from diverset.sampling import intermediate
from diverset.sampling.intermediate import Dominating, IntermediateSampler, log_size_weights, sample_kernel
from diverset.sampling.kernel_function import KernelFunction, orthonormalised, partial_cholesky
from kernels_for_tests import LIKELIHOOD_KERNELS, wishart

SMALL = {
    name: LIKELIHOOD_KERNELS[name]
    for name in ("random-5", "deficient-6", "duplicated", "graded", "diagonal", "one-item")
}


def entries_of(L, **options):
    """A matrix as a function of row numbers."""
    rows = np.arange(len(L))[:, None]
    return KernelFunction(rows, lambda A, B: L[np.ix_(A[:, 0].astype(int), B[:, 0].astype(int))], **options)


def weight(M, Y):
    return reference.det(M[np.ix_(sorted(Y), sorted(Y))])


def rbf_kernel(n, length_scale, q=1.0, seed=0):
    X = np.random.default_rng(seed).random((n, 2))
    return X, functools.partial(dv.kernels.rbf, length_scale=length_scale), np.full(n, q)


# the partial factor ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", SMALL)
@pytest.mark.parametrize("max_rank", [1, 2, 3, None])
def test_the_factor_leaves_a_positive_residual_with_this_diagonal(name, max_rank):
    L = SMALL[name]
    found = partial_cholesky(entries_of(L), lambda _: False, max_rank=max_rank)
    F = found.columns.product(np.eye(found.rank))
    E = L - F @ F.T
    scale = np.abs(L).max()
    assert np.linalg.eigvalsh(E).min() > -1e-13 * scale
    assert found.residual == pytest.approx(np.maximum(np.diagonal(E), 0.0), abs=1e-13 * scale)
    assert found.columns.gram() == pytest.approx(F.T @ F, rel=1e-12, abs=1e-13 * scale)
    assert len(np.unique(found.pivots)) == found.rank <= (max_rank or len(L))
    if max_rank is None:
        assert found.complete
        root = np.sqrt(np.where(np.diagonal(L) > 0.0, np.diagonal(L), 1.0))
        assert found.rank == np.linalg.matrix_rank(L / root[:, None] / root)


def test_a_complex_kernel_has_a_factor_too():
    from diverset.sampling.kernel_function import read_entries

    L = LIKELIHOOD_KERNELS["complex"]
    found = partial_cholesky(read_entries(dv.DPP(L)._representation), lambda _: False)
    F = found.columns.product(np.eye(found.rank))
    assert np.abs(F @ F.conj().T - L).max() < 1e-12


def test_the_factor_spans_several_panels():
    X, rbf, _ = rbf_kernel(700, 0.03)
    found = partial_cholesky(KernelFunction(X, rbf), lambda f: f.rank >= 300)
    F = found.columns.product(np.eye(found.rank))
    assert found.rank > 256
    assert np.diagonal(rbf(X) - F @ F.T) == pytest.approx(found.residual, abs=1e-12)
    partial_gram = F.T @ F
    assert found.columns.gram() == pytest.approx(partial_gram, abs=1e-10)
    V = orthonormalised(np.linalg.qr(F)[0] + 1e-6 * F)
    assert np.abs(V.T @ V - np.eye(found.rank)).max() < 1e-12


# domination and the law of each stage ---------------------------------------------------------------------------------


@pytest.mark.parametrize("name", SMALL)
@pytest.mark.parametrize("max_rank", [1, 2, 4])
def test_the_kernel_is_dominated(name, max_rank):
    L = SMALL[name]
    above = Dominating(entries_of(L), max_rank=max_rank)
    n = len(L)
    A = above.low_rank.likelihood_block(np.arange(n), np.arange(n))
    scale = np.abs(L).max()
    assert np.linalg.eigvalsh(A + np.diag(above.d) - L).min() > -1e-13 * scale
    assert above.rank <= max_rank
    assert above.d.sum() == pytest.approx(above.total)
    for Y in reference.subsets(range(n)):
        if weight(A + np.diag(above.d), Y) > 1e-9 * np.prod(np.diagonal(L)[sorted(Y)]):
            ratio = weight(L, Y) / weight(A + np.diag(above.d), Y)
            assert math.exp(above.log_acceptance(np.array(sorted(Y), dtype=np.int64))) == pytest.approx(ratio, abs=1e-6)


def law_of_pairs(A, d, n, k=None):
    """Law of S union T after S and T are drawn independently and found disjoint, by the formulas of the sampler."""
    log_lam = np.log(np.maximum(np.linalg.eigvalsh(A), 1e-300))
    law_T = reference.law_from_L(A)
    total = float(d.sum())
    law = {Y: 0.0 for Y in reference.subsets(range(n))}
    sizes = None
    if k is not None:
        w = np.exp(log_size_weights(log_lam, k, total))
        sizes = w / w.sum()
    for S in law:
        s = len(S)
        # s items drawn one by one with probabilities d / total, all different, in any order.
        distinct = math.factorial(s) * np.prod(d[sorted(S)]) / total**s
        if k is None:
            p_S, law_of_T = distinct * math.exp(-total) * total**s / math.factorial(s), law_T
        elif s <= k and sizes[s] > 0.0:
            p_S, law_of_T = distinct * sizes[s], reference.of_size(law_T, k - s)
        else:
            continue
        for T, p_T in law_of_T.items():
            if not S & T:
                law[S | T] += p_S * p_T
    return law


@pytest.mark.parametrize("k", [None, 1, 2, 3])
@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize("rank", [2, 4])
def test_the_law_of_the_algorithm_by_enumeration(k, seed, rank):
    L = wishart(6, 8, seed)
    above = Dominating(entries_of(L), k, max_rank=rank)
    A = above.low_rank.likelihood_block(np.arange(6), np.arange(6))
    proposed = law_of_pairs(A, above.d, 6, k)
    # First stage: the pairs have the law of L'.
    exact = reference.law_from_L(A + np.diag(above.d))
    exact = exact if k is None else reference.of_size(exact, k)
    for Y, p in reference.normalized(proposed).items():
        assert p == pytest.approx(exact[Y], abs=1e-12)
    # Second stage: what is accepted has the law of L, and as often as the bound says.
    accepted = {Y: p * math.exp(above.log_acceptance(np.array(sorted(Y)))) for Y, p in proposed.items()}
    law = reference.law_from_L(L)
    law = law if k is None else reference.of_size(law, k)
    for Y, p in reference.normalized(accepted).items():
        assert p == pytest.approx(law[Y], abs=1e-12)
    rate = sum(accepted.values())
    if k is None:
        ratio = np.linalg.det(np.eye(6) + L) / np.linalg.det(np.eye(6) + A)
        assert rate == pytest.approx(ratio * math.exp(-above.total), rel=1e-9)
        assert rate >= math.exp(-above.total)


class WithoutAcceptance(Dominating):
    """The known fault: draws of the dominating kernel are taken for draws of the kernel."""

    def log_acceptance(self, Y):
        return 0.0


@pytest.mark.parametrize("k", [None, 3])
def test_draws_follow_the_law_at_a_small_rank(k, monkeypatch):
    monkeypatch.setattr(intermediate, "_LEAST_ACCEPTANCE", 0.0)
    L = wishart(6, 12, 4) * 0.1
    law = reference.law_from_L(L)
    law = law if k is None else reference.of_size(law, k)
    sampler = IntermediateSampler(entries_of(L), k, max_rank=3 if k is None else 4)
    assert sampler.acceptance_bound < 0.9
    draws = sampler.draw_many(6_000, np.random.default_rng(0))
    assert reference.law_p_value(draws, law) > 1e-4
    sampler.dominating.__class__ = WithoutAcceptance
    assert reference.law_p_value(sampler.draw_many(6_000, np.random.default_rng(1)), law) < 1e-4


@pytest.mark.parametrize("name", ["deficient-6", "duplicated", "graded", "diagonal"])
def test_draws_follow_the_law(name):
    L = SMALL[name]
    sampler = IntermediateSampler(entries_of(L))
    assert reference.law_p_value(sampler.draw_many(4_000, np.random.default_rng(2)), reference.law_from_L(L)) > 1e-4


@pytest.mark.parametrize("k", [None, 12])
def test_marginals_at_five_hundred_items(k):
    X, rbf, q = rbf_kernel(500, 0.25, 0.7)
    L = q[:, None] * rbf(X) * q
    dpp = dv.DPP((L + L.T) / 2)
    p = dpp.inclusion_probabilities if k is None else dpp.of_size(k).inclusion_probabilities
    m = 1_500
    # A rank that leaves something to reject.
    sampler = IntermediateSampler(KernelFunction(X, rbf, q), k, max_rank=70)
    assert sampler.acceptance_bound < 0.98
    draws = sampler.draw_many(m, np.random.default_rng(0))
    counts = np.bincount(np.concatenate(draws), minlength=500)
    z = (counts - m * p) / np.sqrt(m * p * (1 - p))
    assert np.abs(z).max() < 4.8
    assert np.mean(z**2) == pytest.approx(1.0, abs=0.4)
    if k is None:
        sizes = np.array([len(Y) for Y in draws])
        assert abs(sizes.mean() - dpp.expected_size) < 4 * math.sqrt(dpp.size_variance / m)
    assert all((np.diff(Y) > 0).all() and Y.dtype == np.int64 for Y in draws)


@pytest.mark.parametrize("factor", [1e-12, 1e12])
def test_a_k_dpp_does_not_see_the_scale(factor):
    X, rbf, _ = rbf_kernel(300, 0.3)
    plain, scaled = (IntermediateSampler(KernelFunction(X, rbf, np.full(300, q)), 8) for q in (1.0, math.sqrt(factor)))
    assert scaled.rank == plain.rank
    assert scaled.acceptance_bound == pytest.approx(plain.acceptance_bound, rel=1e-6)
    assert len(scaled.draw(np.random.default_rng(0))) == 8


# the door ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["intermediate", "mcmc"])
def test_sample_kernel(method):
    X, rbf, q = rbf_kernel(400, 0.4, 2.0)
    draw = functools.partial(sample_kernel, X, rbf, quality=q, rng=3, method=method)
    one = draw()
    assert one.dtype == np.int64
    assert (np.diff(one) > 0).all()
    fixed = draw(k=5, size=3)
    assert [len(Y) for Y in fixed] == [5, 5, 5]
    assert all(np.array_equal(a, b) for a, b in zip(fixed, draw(k=5, size=3), strict=True))
    assert len(sample_kernel(X, rbf, k=4, rng=0, method=method, diagonal=1.0)) == 4
    assert draw(k=0, size=2)[1].size == 0
    assert draw(size=0) == []


def test_a_rough_kernel_is_refused_with_the_remedy():
    X = np.random.default_rng(0).random((3_000, 3))
    rough = functools.partial(dv.kernels.matern, nu=0.5, length_scale=1.0)
    with pytest.raises(dv.errors.DiversetError, match=r'at rank 100 .* method="mcmc"'):
        IntermediateSampler(KernelFunction(X, rough, diagonal=1.0), max_rank=100)


def test_sizes_beyond_the_rank_are_refused():
    L = wishart(6, 3, 0)
    with pytest.raises(dv.errors.SizeError, match="k is 4, but the kernel has rank 3"):
        IntermediateSampler(entries_of(L), 4)
    with pytest.raises(dv.errors.SizeError, match="k is 7, but there are 6 items"):
        IntermediateSampler(entries_of(L), 7)
    assert all(len(Y) == 3 for Y in IntermediateSampler(entries_of(L), 3).draw_many(20, np.random.default_rng(0)))
    assert IntermediateSampler(entries_of(np.zeros((0, 0)))).draw(np.random.default_rng(0)).size == 0


def test_kernel_functions_are_checked():
    X = np.random.default_rng(0).random((30, 2))

    def raises(match):
        return pytest.raises(dv.errors.KernelError, match=match)

    with raises("similarity is a ndarray"):
        KernelFunction(X, X @ X.T)
    with raises(r"returned shape \(12,\) for 12 and 12 rows"):
        KernelFunction(X, lambda A, B: np.ones(len(A)))
    with raises("not symmetric"):
        KernelFunction(X, lambda A, B: A[:, :1] + 2.0 * B[:, 0])
    with raises("smallest eigenvalue -"):
        KernelFunction(X, lambda A, B: -(A @ B.T))
    with raises("similarity of items 0 and 0 is nan"):
        KernelFunction(X, lambda A, B: np.full((len(A), len(B)), np.nan))
    with raises("complex128 values"):
        KernelFunction(X, lambda A, B: 1j * np.ones((len(A), len(B))))
    with raises("diagonal is 2 for item 0"):
        KernelFunction(X, dv.kernels.rbf, diagonal=2.0)
    with raises(r"diagonal returned shape \(\)"):
        KernelFunction(X, functools.partial(dv.kernels.rbf, length_scale=1.0), diagonal=lambda A: 1.0)
    with raises("quality has 3 entries for 30 items"):
        KernelFunction(X, functools.partial(dv.kernels.rbf, length_scale=1.0), np.ones(3))
    with pytest.raises(dv.errors.DiversetError, match="method is 'vfx'"):
        sample_kernel(X, functools.partial(dv.kernels.rbf, length_scale=1.0), method="vfx")


def test_the_diagonal_is_the_same_however_it_is_had():
    X = np.random.default_rng(0).random((300, 2))
    q = np.linspace(0.0, 2.0, 300)
    linear = dv.kernels.dot
    read = KernelFunction(X, linear, q).diagonal()
    given = KernelFunction(X, linear, q, diagonal=lambda A: (A**2).sum(axis=1)).diagonal()
    assert read == pytest.approx(given)
    assert read == pytest.approx(np.diagonal(q[:, None] * (X @ X.T) * q))
