"""The truncated sampler: its bound against the exact total variation, by enumeration."""

import functools
import math

import numpy as np
import pytest

import diverset as dv
import reference
from diverset.sampling import truncated
from diverset.sampling.kernel_function import KernelFunction
from diverset.sampling.truncated import TruncatedSampler, truncation_bound
from kernels_for_tests import LIKELIHOOD_KERNELS, MARGINAL_KERNELS, wishart


def total_variation(one, other):
    return 0.5 * sum(abs(p - other[Y]) for Y, p in one.items())


def top(L, rank):
    lam, V = np.linalg.eigh(L)
    V = V[:, len(lam) - rank :]
    return (V * lam[len(lam) - rank :]) @ V.conj().T


@pytest.mark.parametrize("name", ["random-5", "random-7", "deficient-6", "duplicated", "complex"])
@pytest.mark.parametrize("rank", [1, 2, 3, 4])
def test_the_bound_holds_and_is_the_formula(name, rank):
    L = LIKELIHOOD_KERNELS[name]
    rank = min(rank, np.linalg.matrix_rank(L))
    law, kept = reference.law_from_L(L), reference.law_from_L(top(L, rank))
    dpp = dv.DPP(L)
    sampler = TruncatedSampler(dpp._representation, rank=rank)
    lam = np.linalg.eigvalsh(L)
    assert sampler.rank == rank
    assert sampler.total_variation_bound == pytest.approx(1 - np.prod(1 / (1 + lam[: len(lam) - rank])), abs=1e-12)
    distance = total_variation(law, kept)
    assert distance <= sampler.total_variation_bound + 1e-12
    for k in range(1, rank + 1):
        bound = TruncatedSampler(dpp._representation, k, rank=rank).total_variation_bound
        exact = total_variation(reference.of_size(law, k), reference.of_size(kept, k))
        assert exact <= bound + 1e-12
        sets = reference.subsets(range(len(L)))
        esp = [sum(np.prod(x[sorted(J)]) for J in sets if len(J) == k) for x in (lam, lam * (lam >= lam[-rank]))]
        assert bound == pytest.approx(1 - esp[1] / esp[0], abs=1e-10)


def test_the_bound_is_not_idle():
    # One item that the kept eigenvector does not have: the bound is an equality.
    L = np.diag([2.0, 0.5])
    law, kept = reference.law_from_L(L), reference.law_from_L(top(L, 1))
    assert total_variation(law, kept) == pytest.approx(truncation_bound(np.log([0.5, 2.0]), 1), abs=1e-14)
    assert truncation_bound(np.log([0.5, 2.0]), 1) == pytest.approx(1 / 3)


def entries_of(L):
    """A small kernel as a function of row numbers, which takes the route by a partial Cholesky factor."""
    return KernelFunction(np.arange(len(L))[:, None], lambda A, B: L[np.ix_(A[:, 0].astype(int), B[:, 0].astype(int))])


@pytest.mark.parametrize("k", [None, 1, 2])
@pytest.mark.parametrize("rank", [2, 4, 6])
def test_the_bound_of_a_partial_factor_holds(k, rank):
    # Eigenvalues 4, 1, 1/4, ...: something to drop at every rank.
    L = (lambda V: (V * 0.25 ** np.arange(-1.0, 6.0)) @ V.T)(np.linalg.qr(wishart(7, 7, 3))[0])
    L = (L + L.T) / 2
    sampler = TruncatedSampler(entries_of(L), k, rank=rank)
    A = sampler._sampler.proposals.V
    lam = np.exp(np.asarray(sampler._low_rank.spectrum.log_odds))
    law, kept = reference.law_from_L(L), reference.law_from_L((A * lam) @ A.T)
    if k is not None:
        law, kept = reference.of_size(law, k), reference.of_size(kept, k)
    # The factor keeps below L, which is what the bound rests on.
    assert np.linalg.eigvalsh(L - (A * lam) @ A.T).min() > -1e-12
    assert total_variation(law, kept) <= sampler.total_variation_bound + 1e-12
    assert sampler.total_variation_bound < 1.0
    assert sampler.rank == rank


@pytest.mark.parametrize("k", [None, 3])
@pytest.mark.parametrize("tolerance", [0.3, 1e-3, 1e-9])
def test_the_default_rank_is_the_smallest_that_will_do(k, tolerance):
    L = (lambda V: (V * 0.3 ** np.arange(-1.0, 19.0)) @ V.T)(np.linalg.qr(wishart(20, 20, 0))[0])
    dpp = dv.DPP((L + L.T) / 2)
    sampler = truncated.TruncatedSampler(dpp._representation, k, tolerance=tolerance)
    assert sampler.total_variation_bound <= tolerance
    log_odds = dpp._representation.spectrum.support
    assert truncation_bound(log_odds, sampler.rank - 1, k) > tolerance or sampler.rank == k
    by_factor = TruncatedSampler(entries_of(dpp.L), k, tolerance=tolerance)
    assert by_factor.total_variation_bound <= tolerance
    assert sampler.rank <= by_factor.rank <= sampler.rank + 3


@pytest.mark.parametrize("tolerance", [0.4, 0.2, 0.1, 0.05, 0.02, 1e-2, 1e-4])
def test_a_partial_factor_stops_within_the_tolerance(tolerance):
    # Unequal items: the factor gains little with each column, and stops as soon as it may.
    L = np.diag(0.8 ** np.arange(60.0))
    assert TruncatedSampler(entries_of(L), tolerance=tolerance).total_variation_bound <= tolerance


def test_the_scale_of_a_kernel_does_not_change_its_fixed_size_law():
    L = wishart(9, 5, 1)
    samplers = [TruncatedSampler(entries_of(c * L), 3, tolerance=1e-9) for c in (1.0, 2.0**-70, 2.0**70)]
    assert {sampler.rank for sampler in samplers} == {5}
    draws = [sampler.draw_many(40, np.random.default_rng(0)) for sampler in samplers]
    for others in draws[1:]:
        assert [Y.tolist() for Y in others] == [Y.tolist() for Y in draws[0]]


def test_draws_follow_the_truncated_law():
    L = LIKELIHOOD_KERNELS["random-5"]
    sampler = TruncatedSampler(dv.DPP(L)._representation, rank=2)
    draws = sampler.draw_many(20_000, np.random.default_rng(0))
    assert reference.law_p_value(draws, reference.law_from_L(top(L, 2))) > 1e-4
    # The same draws are not those of the whole kernel: truncation is seen.
    assert reference.law_p_value(draws, reference.law_from_L(L)) < 1e-4
    fixed = TruncatedSampler(dv.DPP(L)._representation, 2, rank=3).draw_many(5_000, np.random.default_rng(1))
    assert reference.law_p_value(fixed, reference.of_size(reference.law_from_L(top(L, 3)), 2)) > 1e-4


def test_a_large_dense_kernel_needs_no_eigenvectors():
    X = np.random.default_rng(0).random((1_600, 2))
    dpp = dv.DPP(dv.kernels.rbf(X, length_scale=0.4))
    sampler = truncated.TruncatedSampler(dpp._representation, None)
    assert "_eigh" not in dpp._representation._cache
    assert sampler.total_variation_bound <= 1e-3
    assert sampler.rank < 150
    sizes = [len(Y) for Y in sampler.draw_many(2_000, np.random.default_rng(0))]
    error = math.sqrt(dpp.size_variance / 2_000)
    assert abs(np.mean(sizes) - dpp.expected_size) < 4 * error
    function = KernelFunction(X, functools.partial(dv.kernels.rbf, length_scale=0.4))
    assert TruncatedSampler(function, 10).total_variation_bound <= 1e-3


def test_eigenvalues_one_are_kept():
    dpp = dv.DPP.from_marginal(MARGINAL_KERNELS["one-and-less"])
    law = reference.law_from_K(MARGINAL_KERNELS["one-and-less"])
    sampler = TruncatedSampler(dpp._representation, rank=3)
    assert sampler.total_variation_bound == pytest.approx(0.2)
    whole = TruncatedSampler(dpp._representation, 3, tolerance=1e-12)
    assert whole.total_variation_bound <= 1e-12
    assert reference.law_p_value(whole.draw_many(5_000, np.random.default_rng(0)), reference.of_size(law, 3)) > 1e-4
    with pytest.raises(dv.errors.DiversetError, match="rank is 1, but K has 2 eigenvalues 1"):
        TruncatedSampler(dpp._representation, rank=1)


def test_bad_input_is_refused_with_its_value():
    representation = dv.DPP(wishart(6, 3, 0))._representation
    with pytest.raises(dv.errors.SizeError, match="k is 4, but the kernel has rank 3"):
        TruncatedSampler(representation, 4)
    with pytest.raises(dv.errors.SizeError, match="rank is 1, but sets of k = 2"):
        TruncatedSampler(representation, 2, rank=1)
    with pytest.raises(dv.errors.DiversetError, match="tolerance is 0"):
        TruncatedSampler(representation, tolerance=0)
    with pytest.raises(dv.errors.SizeError, match="k is 4, but the kernel has rank 3"):
        TruncatedSampler(entries_of(wishart(6, 3, 0)), 4)
