"""Ends of ranges, last partial blocks and formulas of the samplers, each against enumeration or a second route."""

import math
from itertools import combinations
from types import SimpleNamespace

import numpy as np
import pytest

import diverset as dv
import reference
from diverset.errors import DiversetError, KernelError, SizeError
from diverset.numerics.rounding import EPS
from diverset.sampling import (
    batch,
    generic,
    intermediate,
    kernel_function,
    mcmc,
    nonsymmetric,
    offers,
    rejection,
    sequential,
    spectral,
    truncated,
)
from diverset.sampling.base import GroupedSampler, Offer, OutsideSampler, Sampler, outside, take
from diverset.sampling.chain import Chain, ChainState
from diverset.sampling.eigenvector_law import TABLE, TILTED, EigenvectorLaw
from diverset.sampling.kernel_function import Columns, KernelFunction, orthonormalised, partial_cholesky, read_entries
from kernels_for_tests import LIKELIHOOD_KERNELS, MARGINAL_KERNELS, wishart
from samplers_in_steps import MarginalSteps, draw_plain


def entries_of(L):
    return read_entries(dv.DPP(np.asarray(L, dtype=float))._representation)


# chains ------------------------------------------------------------------------------------------------------


def chain_of(x, sizes=None):
    sizes = np.ones(x.shape, dtype=int) if sizes is None else sizes
    return Chain([np.arange(size) for size in sizes.ravel()], x, 0.5, True, ChainState(()))


def plain_r_hat(x):
    """Gelman and Rubin, for the two halves of each chain."""
    half = x.shape[1] // 2
    parts = [part for row in x for part in (row[:half], row[len(row) - half :])]
    within = sum(sum((v - np.mean(p)) ** 2 for v in p) / (half - 1) for p in parts) / len(parts)
    means = [np.mean(p) for p in parts]
    between = sum((m - np.mean(means)) ** 2 for m in means) / (len(means) - 1)
    return math.sqrt(((half - 1) / half * within + between) / within)


@pytest.mark.parametrize(("chains", "m"), [(2, 4), (2, 5), (3, 9), (4, 30)])
def test_r_hat_is_that_of_plain_sums(chains, m):
    rng = np.random.default_rng(m)
    x = rng.standard_normal((chains, m)) + np.arange(chains)[:, None]
    assert chain_of(x).r_hat == pytest.approx(plain_r_hat(x), rel=1e-12)
    # The larger one of log weights and sizes.
    sizes = rng.integers(0, 3, (chains, m)) + 3 * np.arange(chains)[:, None]
    assert chain_of(x, sizes).r_hat == pytest.approx(max(plain_r_hat(x), plain_r_hat(sizes)), rel=1e-12)
    assert math.isnan(chain_of(x[:1]).r_hat)
    assert math.isnan(chain_of(x[:, :3]).r_hat)
    assert chain_of(np.arange(chains)[:, None] + np.zeros((chains, m))).r_hat == math.inf


def test_what_counts_as_variation():
    x = np.full((1, 8), 1e3)
    x[0, 3] += 0.9e-6
    assert math.isnan(chain_of(x).effective_sample_size)
    x[0, 3] += 0.2e-6
    assert chain_of(x).effective_sample_size > 0.0
    assert math.isnan(chain_of(np.zeros((1, 0))).effective_sample_size)


def test_steps_before_a_draw():
    assert mcmc.default_steps(10, 0) == 110
    assert mcmc.default_steps(100, 3) == math.ceil(350 * (1 + math.log(4)))


@pytest.mark.parametrize("k", [None, 2])
def test_states_are_kept_after_burn_in_and_then_at_equal_distances(k):
    """One chain, whatever is kept of it: windows of steps end within the distances."""
    dpp = dv.DPP(2.0 * wishart(6, 8, 1))
    steps = 300
    full = mcmc.mcmc_chain(dpp, k=k, size=steps, burn_in=0, thin=1, start=[1, 4], rng=5)
    for burn_in, thin in ((0, 1), (0, 7), (130, 7), (127, 1), (128, 3), (1, 129), (299, 1)):
        size = (steps - burn_in) // thin
        part = mcmc.mcmc_chain(dpp, k=k, size=size, burn_in=burn_in, thin=thin, start=[1, 4], rng=5)
        wanted = range(burn_in + thin - 1, burn_in + size * thin, thin)
        assert [Y.tolist() for Y in part.sets] == [full.sets[t].tolist() for t in wanted]
        np.testing.assert_allclose(part.log_weights[0], full.log_weights[0, list(wanted)], atol=1e-9)
        assert part.complete
    weights = [np.linalg.slogdet(dpp.L[np.ix_(Y, Y)])[1] for Y in full.sets]
    np.testing.assert_allclose(full.log_weights[0], weights, atol=1e-9)
    before = [[1, 4], *(Y.tolist() for Y in full.sets[:-1])]
    moved = [Y.tolist() != last for Y, last in zip(full.sets, before, strict=True)]
    assert full.acceptance_rate == pytest.approx(np.mean(moved))


def test_distances_between_kept_states_by_default(monkeypatch):
    taken = []
    advance = mcmc._Walker.advance

    def counted(self, steps, first=1, every=0):
        taken.append((steps, every))
        return advance(self, steps, first, every)

    monkeypatch.setattr(mcmc._Walker, "advance", counted)
    dpp = dv.DPP(np.eye(5))
    for start, thin in (([0, 1, 3], 3), ([], 1)):
        taken.clear()
        chain = mcmc.mcmc_chain(dpp, size=4, start=start, rng=0)
        assert {every for _, every in taken} == {thin}
        assert sum(steps for steps, _ in taken) == mcmc.default_steps(5, len(start)) + 4 * thin
        assert max(steps for steps, _ in taken) == (128 if start else 109)
        taken.clear()
        mcmc.mcmc_chain(dpp, size=4, start=chain.state, thin=1, rng=0)
        assert sum(steps for steps, _ in taken) == 4
    for steps in (1, 128, 129, 300):
        taken.clear()
        mcmc.MCMCSampler(dpp._representation, 2, steps).draw(np.random.default_rng(0))
        assert sum(taken_steps for taken_steps, _ in taken) == steps
    taken.clear()
    mcmc.MCMCSampler(dpp._representation, 2).draw(np.random.default_rng(0))
    assert sum(steps for steps, _ in taken) == mcmc.default_steps(5, 2)
    assert mcmc.MCMCSampler(dv.DPP(np.zeros((0, 0)))._representation).draw(np.random.default_rng(0)).tolist() == []


def test_kernels_of_unit_diagonal():
    L = np.array([[0.25, 0.1, 0.0], [0.1, 4.0, 0.0], [0.0, 0.0, 0.0]])
    S, g = mcmc._unit_diagonal(L)
    np.testing.assert_allclose(S, [[1.0, 0.1, 0.0], [0.1, 1.0, 0.0], [0.0, 0.0, 0.0]])
    assert g.tolist() == [math.log(0.25), math.log(4.0), -math.inf]
    assert mcmc._log_weight(L[:2, :2]) == pytest.approx(math.log(0.99))
    assert mcmc._log_weight(L) == -math.inf
    assert mcmc._log_weight(np.zeros((0, 0))) == 0.0
    # A second pivot counts as rounding up to 16 units for each of three.
    for units, known in ((42.0, False), (54.0, True)):
        s = math.sqrt(1.0 - units * EPS)
        assert (mcmc._log_weight(7.0 * np.array([[1.0, s], [s, 1.0]])) > -math.inf) is known


def test_inverse_of_a_set_that_is_singular_up_to_rounding():
    inverse, log_det = mcmc._inverse(np.array([[1.0, 0.5], [0.5, 1.0]]))
    np.testing.assert_allclose(inverse, np.array([[4.0, -2.0], [-2.0, 4.0]]) / 3.0)
    assert log_det == pytest.approx(math.log(0.75))
    slightly = np.array([[1.0, 1.0 + 2.0 * EPS], [1.0 + 2.0 * EPS, 1.0]])
    assert mcmc._inverse(slightly)[1] < -30.0
    with pytest.raises(KernelError, match="negative determinant"):
        mcmc._inverse(np.array([[1.0, 1.1], [1.1, 1.0]]))


@pytest.mark.parametrize(
    ("c", "n", "candidates", "picked"), [(1.0, 10, 2000, 5), (0.5, 9, 2000, 3), (1.0, 12, 4, 3), (1e-9, 5, 2000, 1)]
)
def test_a_start_has_as_many_items_as_are_left_in_the_residuals(monkeypatch, c, n, candidates, picked):
    """For c I the residuals after p of m items sum to c (m - p) n / m."""
    monkeypatch.setattr(mcmc, "_CANDIDATES", candidates)
    start = mcmc.warm_start(entries_of(c * np.eye(n)), None, np.random.default_rng(0))
    assert len(start) == len(set(start.tolist())) == picked


def test_a_start_of_k_items_finds_the_few_that_are_possible(monkeypatch):
    monkeypatch.setattr(mcmc, "_CANDIDATES", 2)
    L = np.zeros((50, 50))
    L[40:42, 40:42] = [[1.0, 0.9], [0.9, 1.0]]
    entries = entries_of(L)
    for seed in range(10):
        assert sorted(mcmc.warm_start(entries, 2, np.random.default_rng(seed)).tolist()) == [40, 41]
        assert mcmc.warm_start(entries, 0, np.random.default_rng(seed)).tolist() == []
    with pytest.raises(SizeError, match="k is 3, but the kernel has rank 2"):
        mcmc.warm_start(entries, 3, np.random.default_rng(0))
    assert mcmc.warm_start(entries_of(np.zeros((3, 3))), None, np.random.default_rng(0)).tolist() == []


def test_a_start_is_picked_in_proportion_to_residuals():
    """The law of a start of two items of four, by enumeration."""
    L = wishart(4, 6, 3)
    entries = entries_of(L)
    law = dict.fromkeys(reference.subsets(range(4)), 0.0)
    for i in range(4):
        residual = {j: L[j, j] - L[i, j] ** 2 / L[i, i] for j in range(4) if j != i}
        for j, r in residual.items():
            law[frozenset((i, j))] += L[i, i] / np.trace(L) * r / sum(residual.values())
    rng = np.random.default_rng(7)
    assert reference.law_p_value([mcmc.warm_start(entries, 2, rng) for _ in range(2_000)], law) > 1e-4


# item by item ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("length", [1, 2, 3])
def test_rows_and_columns_updated_a_few_at_a_time(monkeypatch, length):
    monkeypatch.setattr(sequential, "_LEAF", 2)
    monkeypatch.setattr(sequential, "_CHUNK", length)
    monkeypatch.setattr(sequential, "block_length", lambda *_: length)
    rng = np.random.default_rng(length)
    for K in [*MARGINAL_KERNELS.values(), dv.DPP(LIKELIHOOD_KERNELS["complex"]).K, dv.DPP(wishart(9, 9, 3)).K]:
        for u in rng.random((5, len(K))):
            expected = draw_plain(MarginalSteps(K), u).tolist()
            assert sequential.draw_from_marginal(K, u).tolist() == expected
            assert sequential.draw_from_nonsymmetric(K, u).tolist() == expected
    for L in (wishart(9, 12, 1), 50.0 * wishart(9, 12, 2), wishart(8, 9, 4, complex_=True)):
        R = np.linalg.cholesky(np.eye(len(L)) + L)
        excess = sequential.cholesky_excess(R, np.diagonal(L).real.copy())
        np.testing.assert_allclose(excess, np.diagonal(R).real ** 2 - 1.0, atol=1e-12)
        for u in rng.random((10, len(L))):
            expected = draw_plain(MarginalSteps(dv.DPP(L).K[::-1, ::-1]), u)
            found = sequential.draw_from_cholesky(R, excess, u, block=2)
            assert found.tolist() == sorted(len(L) - 1 - expected)


def test_the_excess_of_a_small_kernel_keeps_its_digits():
    L = 1e-12 * wishart(5, 6, 1)
    R = np.linalg.cholesky(np.eye(5) + L)
    np.testing.assert_allclose(sequential.cholesky_excess(R, np.diagonal(L).copy()), np.diagonal(L), rtol=1e-10)
    assert (sequential.cholesky_excess(R, np.zeros(5)) == 0.0).all()


@pytest.mark.parametrize("width", [1, 3, 70])
def test_blocks_of_rows_end_anywhere(width):
    G = np.linalg.qr(np.random.default_rng(width).standard_normal((150, width)))[0] * np.sqrt(
        np.linspace(0.2, 1, width)
    )
    for cuts in ([], [1], [64], [65, 149], [70, 140]):
        u = np.random.default_rng(len(cuts)).random(150)
        found = sequential.draw_from_rows(np.split(G, cuts), width, u)
        assert found.tolist() == sequential.draw_from_marginal(G @ G.T, u).tolist()


# nonsymmetric kernels ----------------------------------------------------------------------------------------


def low_rank(n, *, skew=1.0, seed=0):
    rng = np.random.default_rng(seed)
    V, B = rng.standard_normal((n, 2)), rng.standard_normal((n, 2))
    return dv.NonsymmetricDPP.from_low_rank(V, B, skew * rng.standard_normal((2, 2)))


def test_proposals_of_a_symmetric_kernel_are_corrected():
    form = low_rank(5)._form
    L = form.likelihood_block(np.arange(5), np.arange(5))
    bound = nonsymmetric._Bound(form)
    sampler = nonsymmetric.SymmetricRejection(form, bound)
    A = (L - L.T) / 2.0
    U, sigma, _ = np.linalg.svd(A)
    above = (L + L.T) / 2.0 + (U * sigma) @ U.T
    np.testing.assert_allclose(sampler._features @ sampler._features.T, above, atol=1e-12)
    assert bound.expected_tries == pytest.approx(np.linalg.det(np.eye(5) + above) / np.linalg.det(np.eye(5) + L))
    for Y in reference.subsets(range(5)):
        at = sorted(Y)
        expected = reference.det(L[np.ix_(at, at)]) / reference.det(above[np.ix_(at, at)]) if len(Y) < 5 else 0.0
        assert sampler.acceptance(np.array(at, dtype=int)) == pytest.approx(expected, abs=1e-9)
    assert sampler._most_tries == math.ceil(20.0 * bound.expected_tries)


@pytest.mark.parametrize("method", ["sequential", "rejection"])
def test_draws_of_a_nonsymmetric_kernel_follow_the_law(method):
    dpp = low_rank(5)
    law = reference.law_from_L(dpp._form.likelihood_block(np.arange(5), np.arange(5)))
    assert reference.law_p_value(dpp.sample(1_500, method=method, rng=1), law) > 1e-4
    outside = dpp.complement()
    law = reference.complemented(law, range(5))
    assert reference.law_p_value(outside.sample(1_500, method=method, rng=1), law) > 1e-4


def test_draws_that_are_always_refused_are_made_item_by_item():
    form = low_rank(5)._form
    sampler = nonsymmetric.SymmetricRejection(form, nonsymmetric._Bound(form))
    proposed = []
    sampler.acceptance = lambda positions: proposed.append(positions) or 0.0
    rng = np.random.default_rng(0)
    sampler.draw(rng)
    assert len(proposed) == sampler._most_tries
    sampler.acceptance = lambda _: 1.0
    assert sampler.draw(np.random.default_rng(3)).tolist() == sampler._proposals.draw(np.random.default_rng(3)).tolist()


def test_when_rejection_is_worth_its_tables():
    for n, worth in ((999, False), (1000, True)):
        found = {offer.name: offer for offer in nonsymmetric.offers(low_rank(n, skew=1e-3)._form, 1)}
        assert (found["rejection"].seconds < math.inf) is worth
    few, many = (nonsymmetric.offers(low_rank(1000, skew=1e-3)._form, size) for size in (1, 10_000))
    assert take(many).name == "rejection"
    assert all(b.seconds > a.seconds > 0.0 for a, b in zip(few, many, strict=True))
    dense = dv.NonsymmetricDPP(np.eye(3) + np.array([[0, 1, 0], [-1, 0, 0], [0, 0, 0.0]]))
    assert [offer.name for offer in nonsymmetric.offers(dense._form, 1)] == ["sequential"]
    # One item of a hundred thousand tries is refused.
    form = low_rank(5)._form
    for tries, fine in ((1e4, True), (1.01e4, False)):
        bound = SimpleNamespace(expected_tries=tries, root=nonsymmetric._Bound(form).root)
        if fine:
            assert nonsymmetric.SymmetricRejection(form, bound)._most_tries == 200_000
            continue
        with pytest.raises(DiversetError, match=r"would make 1e\+04 tries a draw"):
            nonsymmetric.SymmetricRejection(form, bound)


# kernel functions and their factors --------------------------------------------------------------------------


@pytest.mark.parametrize("imaginary", [False, True])
@pytest.mark.parametrize("widths", [[1], [3], [4, 1], [2, 2, 5], [7, 1, 1]])
def test_columns_in_panels(monkeypatch, widths, imaginary):
    monkeypatch.setattr(Columns, "panel_width", 3)
    monkeypatch.setattr(kernel_function, "block_length", lambda *_: 2)
    rng = np.random.default_rng(len(widths))
    whole, columns = np.zeros((5, 0)), Columns(5)
    assert columns.gram().shape == (0, 0)
    for width in widths:
        new = rng.standard_normal((5, width)) + (1j * rng.standard_normal((5, width)) if imaginary else 0.0)
        columns.make_room(width, new.dtype)
        for rows in (slice(0, 2), slice(2, 5)):
            columns.write(rows, new[rows])
        columns.width += width
        whole = np.hstack([whole, new])
        np.testing.assert_allclose(columns.gram(), whole.conj().T @ whole, atol=1e-13)
    matrix = rng.standard_normal((whole.shape[1], 2))
    np.testing.assert_allclose(columns.product(matrix), whole @ matrix, atol=1e-13)
    np.testing.assert_allclose(columns.times(slice(1, 4), matrix), whole[1:4] @ matrix, atol=1e-13)
    assert (columns.take(np.array([4, 0])) == whole[[4, 0]]).all()
    assert len(columns.panels) == -(-whole.shape[1] // 3)


@pytest.mark.parametrize("length", [1, 7, 100])
def test_a_factor_does_not_depend_on_the_blocks_of_its_rows(monkeypatch, length):
    L = wishart(30, 40, 1)
    plain = partial_cholesky(entries_of(L), lambda _: False, max_rank=25)
    monkeypatch.setattr(kernel_function, "block_length", lambda *_: length)
    found = partial_cholesky(entries_of(L), lambda _: False, max_rank=25)
    assert found.pivots.tolist() == plain.pivots.tolist()
    assert found.rank == 25
    F = found.columns.product(np.eye(25))
    np.testing.assert_allclose(found.residual, np.diagonal(L - F @ F.T), atol=1e-12)
    np.testing.assert_allclose(found.bound - found.residual, 32.0 * EPS * np.diagonal(L), rtol=0.02)
    assert not found.complete


@pytest.mark.parametrize("name", LIKELIHOOD_KERNELS)
def test_a_factor_is_complete_at_the_rank(name):
    L = LIKELIHOOD_KERNELS[name]
    entries = read_entries(dv.DPP(L)._representation)
    found = partial_cholesky(entries, lambda _: False)
    assert found.complete or found.rank == len(L)
    assert found.rank <= np.linalg.matrix_rank(L, tol=1e-12 * np.abs(L).max(initial=0.0) + 1e-300, hermitian=True) + 1
    F = found.columns.product(np.eye(found.rank))
    size = np.sqrt(np.maximum(np.diagonal(L).real, 0.0))
    assert (np.abs(F @ F.conj().T - L) <= 1e-11 * size[:, None] * size).all()
    first = partial_cholesky(entries, lambda f: f.rank >= 1)
    assert first.rank <= 16
    assert partial_cholesky(entries, lambda _: True).rank == 0


def test_pivots_of_a_block():
    S = np.diag([0.06, 1.0, 0.04, 0.5])
    for width, chosen in ((1, [1]), (2, [1, 3]), (3, [1, 3, 0]), (4, [1, 3, 0])):
        R, order = kernel_function._greedy_factor(S, width)
        assert order.tolist() == chosen
        np.testing.assert_allclose(R, np.diag(np.sqrt(np.diagonal(S)[chosen])))
    assert kernel_function._greedy_factor(np.array([[4.0]]), 3)[0].tolist() == [[2.0]]


@pytest.mark.parametrize("imaginary", [False, True])
def test_vectors_are_made_orthonormal_from_the_last_one_on(monkeypatch, imaginary):
    monkeypatch.setattr(kernel_function, "block_length", lambda *_: 4)
    rng = np.random.default_rng(0)
    for error in (1e-7, 0.3, 1.0):
        V = np.linalg.qr(rng.standard_normal((9, 3)) + (1j * rng.standard_normal((9, 3)) if imaginary else 0.0))[0]
        V[:, 0] += error * V[:, 2]
        if error == 1.0:
            V[:, 0] = V[:, 2]  # no Cholesky factor: singular
        bent = V.copy()
        found = orthonormalised(V)
        np.testing.assert_allclose(found.conj().T @ found, np.eye(3), atol=1e-13)
        for j in (1, 2, 3):
            span, expected = found[:, 3 - j :], bent[:, 3 - j :]
            np.testing.assert_allclose(span @ (span.conj().T @ expected), expected, atol=1e-13)


def linear(A, B):
    return A @ B.T


@pytest.mark.parametrize("n", [0, 1, 2, 128, 129, 300])
def test_diagonals_are_read_in_blocks(n):
    X = np.random.default_rng(n).standard_normal((n, 3))
    q = np.linspace(0.5, 2.0, n)
    expected = (X**2).sum(axis=1)
    for diagonal in (None, lambda rows: (rows**2).sum(axis=1)):
        np.testing.assert_allclose(KernelFunction(X, linear, diagonal=diagonal).diagonal(), expected)
        np.testing.assert_allclose(KernelFunction(X, linear, q, diagonal=diagonal).diagonal(), expected * q**2)
    if n:
        block = KernelFunction(X, linear, q).block([n - 1, 0], [n - 1])
        np.testing.assert_allclose(block, (q[:, None] * (X @ X.T) * q)[[n - 1, 0]][:, [n - 1]])


def test_how_far_from_a_kernel_a_similarity_may_be():
    X = np.arange(4.0)[:, None]
    root = math.sqrt(EPS)

    def near(gap):
        return lambda A, B: 3.0 * (A == B.T) + gap * ((A == 1.0) & (B.T == 2.0))

    def negative(x):
        return lambda A, B: 3.0 * (A == B.T) * np.where(A == 2.0, -x / 3.0, 1.0)

    KernelFunction(X, near(2.9 * root))
    with pytest.raises(KernelError, match=r"similarity is not symmetric: it is 4\.6.* for items 1 and 2, 0 the other"):
        KernelFunction(X, near(3.1 * root))
    KernelFunction(X, negative(2.9 * root))
    with pytest.raises(KernelError, match="smallest eigenvalue -4"):
        KernelFunction(X, negative(3.1 * root))
    KernelFunction(X, near(0.0), diagonal=3.0 + 2.9 * root)
    with pytest.raises(KernelError, match="diagonal is 3 for item 0, but its similarity with itself is 3"):
        KernelFunction(X, near(0.0), diagonal=3.0 + 3.1 * root)
    for quality, fine in ((1e150, True), (1.1e150, False)):
        if fine:
            KernelFunction(X, near(0.0), np.full(4, quality))
            continue
        with pytest.raises(KernelError, match="too large to be squared"):
            KernelFunction(X, near(0.0), np.full(4, quality))


# a dominating kernel -----------------------------------------------------------------------------------------


def polynomial(lam, k):
    return sum(math.prod(J) for J in combinations(lam, k))


def test_weights_of_the_sizes_of_two_parts():
    lam = [0.3, 2.0, 5.0]
    for total in (0.0, 0.7):
        for k in (0, 1, 3, 5):
            found = np.exp(intermediate.log_size_weights(np.log(lam), k, total))
            expected = [total**s / math.factorial(s) * polynomial(lam, k - s) for s in range(k + 1)]
            np.testing.assert_allclose(found, expected, rtol=1e-12)
    assert intermediate._tilt(np.array(lam), 2) == pytest.approx(polynomial(lam, 1) / polynomial(lam, 2))
    assert intermediate._tilt(np.array(lam), 3) == pytest.approx(polynomial(lam, 2) / polynomial(lam, 3))
    assert intermediate._tilt(np.array(lam), 4) == math.inf
    assert intermediate._tilt(np.array([0.0, *lam]), 4) == math.inf
    assert [intermediate._tilt(np.array(lam), k) for k in (None, 0)] == [1.0, 1.0]


def test_ranks_that_fit_into_half_of_the_memory(monkeypatch):
    for free, n, rank in (
        (None, 10_000, 4096),
        (None, 1000, 1000),
        (None, 10, 64),
        (80 * 1000 * 100, 1000, 100),
        (80 * 1000 * 10, 1000, 64),
        (1 << 50, 10_000, 4096),
        (0, 0, 64),
    ):
        monkeypatch.setattr(intermediate, "available_memory", lambda free=free: free)
        assert intermediate._affordable_rank(n) == rank


def test_when_a_factor_is_good_enough():
    def found(rank, bound, lam=()):
        columns = SimpleNamespace(gram=lambda: np.diag(lam))
        return SimpleNamespace(rank=rank, bound=np.array(bound), columns=columns)

    # (sqrt(0.01) + sqrt(0.04))^2 = 0.09
    for k in (None, 0):
        assert not intermediate._stopping_rule(k, 0.089)(found(5, [0.01, 0.04]))
        assert intermediate._stopping_rule(k, 0.091)(found(5, [0.01, 0.04]))
    # With k = 2 in units of e_2/e_1 = 11/6, once there are k columns.
    lam = [1.0, 2.0, 3.0]
    assert not intermediate._stopping_rule(2, 1.0)(found(1, [0.01, 0.04], [1.0]))
    assert not intermediate._stopping_rule(2, 0.089 * 6 / 11)(found(3, [0.01, 0.04], lam))
    assert intermediate._stopping_rule(2, 0.091 * 6 / 11)(found(3, [0.01, 0.04], lam))
    # Eigenvalues are computed again when the rank has grown by 30%.
    stop = intermediate._stopping_rule(2, 0.091 * 6 / 11)
    assert not stop(found(10, [0.01, 0.04], [1.0, 1.0]))
    assert not stop(found(12, [0.01, 0.04], lam))
    assert stop(found(13, [0.01, 0.04], lam))


@pytest.mark.parametrize("k", [None, 2])
def test_attempts_are_accepted_by_the_ratio_of_determinants(k):
    L = wishart(6, 8, 5)
    sampler = intermediate.IntermediateSampler(entries_of(L), k, max_rank=4)
    above = sampler.dominating
    A = above.low_rank.likelihood_block(np.arange(6), np.arange(6))
    assert np.linalg.eigvalsh(A + np.diag(above.d) - L)[0] > -1e-12
    np.testing.assert_allclose(above.residual, np.diagonal(L - A), atol=1e-12)
    root = np.sqrt(above.residual)
    np.testing.assert_allclose(above.d, root * root.sum())
    assert above.total == pytest.approx(above.d.sum())
    for Y in reference.subsets(range(6)):
        at = np.array(sorted(Y), dtype=int)
        ratio = reference.det(L[np.ix_(at, at)]) / reference.det((A + np.diag(above.d))[np.ix_(at, at)])
        assert math.exp(above.log_acceptance(at)) == pytest.approx(ratio, rel=1e-9)
    if k is None:
        assert sampler.acceptance_bound == pytest.approx(math.exp(-above.total))
        return
    lam = np.linalg.eigvalsh(A)[2:]
    weights = [above.total**s / math.factorial(s) * polynomial(lam, k - s) for s in range(k + 1)]
    assert sampler.acceptance_bound == pytest.approx(weights[0] / sum(weights))


def test_items_of_the_residual_are_distinct_and_in_proportion():
    sampler = intermediate.IntermediateSampler(entries_of(wishart(4, 6, 1)), max_rank=2)
    rng = np.random.default_rng(0)
    assert sampler._draw_residual_items(0, rng).tolist() == []
    d = sampler.dominating.d
    ones = [sampler._draw_residual_items(1, rng) for _ in range(4_000)]
    assert reference.law_p_value(ones, {frozenset((i,)): p for i, p in enumerate(d / d.sum()) if p > 1e-9}) > 1e-4
    twos = [S for S in (sampler._draw_residual_items(2, rng) for _ in range(4_000)) if S is not None]
    law = reference.normalized({frozenset(pair): d[pair[0]] * d[pair[1]] for pair in combinations(range(4), 2)})
    assert reference.law_p_value(twos, law) > 1e-4
    # Two parts with a common item are no set.
    T = np.array([1, 3])
    assert sampler._accepts(None, T, rng) is None
    assert sampler._accepts(np.array([3]), T, rng) is None
    sampler.dominating.log_acceptance = lambda _: 0.0
    assert sampler._accepts(np.array([2]), T, rng).tolist() == [1, 2, 3]
    sampler.dominating.log_acceptance = lambda _: -math.inf
    assert sampler._accepts(T[:0], T, rng) is None


def test_attempts_that_never_succeed_end():
    sampler = intermediate.IntermediateSampler(entries_of(wishart(4, 6, 1)))
    sampler.dominating.log_acceptance = lambda _: -math.inf
    with pytest.raises(DiversetError, match="attempts gave 0 draws"):
        sampler.draw(np.random.default_rng(0))


# truncation --------------------------------------------------------------------------------------------------


def test_bounds_of_truncated_spectra():
    lam = [0.1, 0.5, 2.0, 7.0]
    x = np.log(lam)
    for rank in range(5):
        kept = lam[4 - rank :]
        expected = 1.0 - math.prod(1.0 / (1.0 + value) for value in lam[: 4 - rank])
        assert truncated.truncation_bound(x, rank) == pytest.approx(expected, abs=1e-14)
        for k in range(5):
            expected = 1.0 - polynomial(kept, k) / polynomial(lam, k)
            assert truncated.truncation_bound(x, rank, k) == pytest.approx(expected, abs=1e-14)
            # Eigenvalues of L that are infinite are in every set.
            certain = np.concatenate([x, [np.inf, np.inf]])
            assert truncated.truncation_bound(certain, rank + 2, k + 2) == pytest.approx(expected, abs=1e-14)
    assert truncated.truncation_bound(np.array([0.0, np.inf]), 0, 1) == 1.0
    assert truncated.truncation_bound(np.array([0.0, np.inf]), 1, 0) == 1.0
    assert truncated.truncation_bound(np.array([0.0, np.inf]), 1, 1) == 0.0
    for k in (None, 0, 2, 4):
        for tolerance in (0.0, 0.05, 0.4, 0.9, 1.0):
            bounds = [truncated.truncation_bound(x, rank, k) for rank in range(5)]
            first = next(rank for rank in range(k or 0, 5) if bounds[rank] <= tolerance)
            assert truncated._smallest_rank(x, k, tolerance) == first


def test_bounds_of_truncated_factors():
    lam = np.array([0.1, 0.5, 2.0])
    for cut in range(4):
        for trace in (0.0, 0.2):
            dropped, kept = lam[:cut], lam[cut:]
            expected = 1.0 - math.exp(-trace) * math.prod(1.0 / (1.0 + dropped))
            assert truncated._factor_bound(lam, cut, trace, None) == pytest.approx(expected, abs=1e-14)
            tau = trace + dropped.sum()
            for k in range(4):
                terms = [tau**s / math.factorial(s) * polynomial(kept, k - s) for s in range(k + 1)]
                expected = 1.0 - terms[0] / sum(terms) if terms[0] else 1.0
                assert truncated._factor_bound(lam, cut, trace, k) == pytest.approx(expected, abs=1e-14)


@pytest.mark.parametrize("k", [None, 2])
@pytest.mark.parametrize("source", ["spectrum", "factor"])
def test_ranks_that_are_asked_for(monkeypatch, source, k):
    monkeypatch.setattr(truncated, "_SMALL", 0 if source == "factor" else 1500)
    dpp = dv.DPP(wishart(8, 5, 2))
    for rank in (2, 4, 5, 8):
        sampler = truncated.TruncatedSampler(dpp._representation, k, rank=rank)
        assert sampler.rank == min(rank, 5)
        assert len(sampler.draw(np.random.default_rng(0))) <= sampler.rank
        assert (sampler.total_variation_bound < 1e-12) is (rank >= 5)
    loose, tight = (truncated.TruncatedSampler(dpp._representation, k, tolerance=t) for t in (0.9, 1e-9))
    assert loose.rank < tight.rank == 5
    assert loose.total_variation_bound <= 0.9
    for bad, message in (({"k": 6}, "k is 6, but the kernel has rank 5"), ({"k": 3, "rank": 2}, "rank is 2, but sets")):
        with pytest.raises(SizeError, match=message):
            truncated.TruncatedSampler(dpp._representation, **bad)
    assert truncated.TruncatedSampler(dpp._representation, 5).rank == 5


# offers ------------------------------------------------------------------------------------------------------


def test_the_cheapest_exact_offer_is_taken():
    class Nothing(Sampler):
        def draw(self, rng):
            return np.zeros(0, dtype=np.int64)

    def offer(name, seconds, exact=True):
        return Offer(name, seconds, Nothing, exact)

    assert take([offer("a", 2.0), offer("b", 1.0), offer("c", 0.0, exact=False)]).name == "b"
    assert take([offer("c", 3.0, exact=False), offer("d", 2.0, exact=False)]).name == "d"
    assert take([offer("a", 2.0), offer("mcmc", math.inf, exact=False)], "mcmc").name == "mcmc"


def growth(seconds, at):
    """Power of its argument that a cost grows with."""
    return math.log(seconds(2.0 * at) / seconds(at), 2.0)


def test_costs_grow_as_listed():
    """Asymptotic powers of the table in the module of offers; the constants are measured times."""

    def fake(n, width, m=1.0):
        return SimpleNamespace(n=n, eigen_width=width, size_bound=m)

    dense = lambda n: fake(n, n)  # noqa: E731
    assert growth(lambda n: offers._rejection_seconds(dense(n), 1.0, 1), 1e6) == pytest.approx(3.0, abs=0.01)
    assert growth(lambda n: offers._rejection_seconds(fake(n, 50.0), 1.0, 1), 1e9) == pytest.approx(1.0, abs=0.01)
    assert growth(lambda m: offers._rejection_seconds(fake(1e6, 1e6), m, 10**12), 1e5) == pytest.approx(3.0, abs=0.01)
    assert growth(lambda n: offers._spectral_seconds(dense(n), 1.0, 1), 1e7) == pytest.approx(3.0, abs=0.01)
    assert growth(lambda n: offers._spectral_seconds(fake(n, 50.0), 9.0, 1), 1e9) == pytest.approx(1.0, abs=0.01)
    assert growth(lambda m: offers._spectral_seconds(fake(1e6, 1e6), m, 10**9), 1e5) == pytest.approx(2.0, abs=0.01)
    assert growth(lambda n: offers._complement_seconds(n, n, 1), 1e6) == pytest.approx(3.0, abs=0.01)
    assert growth(lambda h: offers._complement_seconds(1e6, 1e6 - h, 10**12), 1e5) == pytest.approx(3.0, abs=0.01)
    # No draw has more items than the kernel has eigenvectors, or than there are items.
    for cost in (offers._rejection_seconds, offers._spectral_seconds):
        assert cost(fake(100.0, 5.0), 50.0, 3) == cost(fake(100.0, 5.0), 5.0, 3)
    assert offers._complement_seconds(100.0, 150.0, 3) == offers._complement_seconds(100.0, 100.0, 3)
    # Every cost is positive and rises with the number of draws.
    for cost in (
        lambda s: offers._rejection_seconds(fake(50.0, 50.0), 5.0, s),
        lambda s: offers._rejection_seconds(fake(50.0, 5.0), 5.0, s),
        lambda s: offers._spectral_seconds(fake(50.0, 50.0), 5.0, s),
        lambda s: offers._spectral_seconds(fake(50.0, 5.0), 5.0, s),
        lambda s: offers._complement_seconds(50.0, 5.0, s),
    ):
        values = [cost(s) for s in (1, 2, 3, 100)]
        assert 0.0 < values[0] < values[1] < values[2] < values[3]


def test_costs_of_all_offers_of_a_model():
    L = wishart(60, 60, 1)
    B = np.random.default_rng(0).standard_normal((60, 4))
    for dpp in (dv.DPP(L), dv.DPP.from_marginal(dv.DPP(L).K), dv.DPP.from_features(B), dv.DPP(L).complement()):
        for k in (None, 3):
            few, many = ({offer.name: offer for offer in dpp._representation.samplers(k, size)} for size in (1, 1000))
            assert ("sequential" in few) is (k is None)
            for name, offer in few.items():
                assert offer.exact is (name not in ("truncated", "mcmc"))
                assert 0.0 < offer.seconds < many[name].seconds or offer.seconds == math.inf
                assert (offer.seconds == math.inf) is (not offer.exact)
            # Many draws of few items, or of all but few, are made by rejection; features never by their dual.
            assert k is None or take(list(many.values())).name in ("rejection", "complement")
            assert take(list(few.values())).name != "dual"
    assert take(dv.DPP(np.eye(300))._representation.samplers(None, 1)).name == "sequential"


class Uniform:
    """All sets of n items, each as probable; without probabilities of events if `silent`."""

    def __init__(self, n, *, silent=False):
        self.n_items, self.silent = n, silent

    def _log_event_probability(self, inside, outside):
        if self.silent:
            raise NotImplementedError
        return -(len(inside) + len(outside)) * math.log(2.0)


class Weighted(Uniform):
    """Sets weighted by a table; all sizes are as probable."""

    def __init__(self, weights):
        super().__init__(len(weights).bit_length() - 1)
        self.weights = weights
        self.size_distribution = np.full(self.n_items + 1, 1.0)

    def _log_prob(self, inside):
        return math.log(self.weights[sum(1 << int(i) for i in inside)])


@pytest.mark.parametrize("start", [0, 5, 7])
def test_one_step_of_a_walk_over_any_distribution(start):
    """Half of the steps toggle an item, half exchange two; each is accepted by the ratio of weights."""
    weights = [1.0, 2.0, 0.5, 3.0, 4.0, 1.5, 1.0, 2.5]
    model = Weighted(weights)
    walk = generic.LogProbWalk(model, steps=1)
    at = np.array([bool(start >> i & 1) for i in range(3)])
    walk._start = lambda rng: (at, math.log(weights[start]))
    law = dict.fromkeys(range(8), 0.0)
    members, others = np.flatnonzero(at), np.flatnonzero(~at)
    moves = [(start ^ (1 << i), 0.5 / 3.0) for i in range(3)]
    moves += [
        (start ^ (1 << int(i)) ^ (1 << int(j)), 0.5 / (len(members) * len(others))) for i in members for j in others
    ]
    for to, share in moves:
        law[to] += share * min(1.0, weights[to] / weights[start])
    law[start] += 1.0 - sum(law.values())
    law = {frozenset(i for i in range(3) if mask >> i & 1): p for mask, p in law.items()}
    rng = np.random.default_rng(start)
    assert reference.law_p_value([walk.draw(rng) for _ in range(3_000)], law) > 1e-4


def test_walks_over_any_distribution_start_and_end():
    model = Weighted([1.0, 1.0, 1.0, 1.0])
    assert generic.LogProbWalk(model)._steps == mcmc.default_steps(2, 1)
    rng = np.random.default_rng(0)
    sizes = [int(generic.LogProbWalk(model)._start(rng)[0].sum()) for _ in range(300)]
    assert set(sizes) == {0, 1, 2}
    empty = Weighted([1.0])
    assert [generic.LogProbWalk(empty).draw(rng).tolist() for _ in range(20)] == [[]] * 20
    assert generic.listed(Weighted([1.0, 3.0])).draw_many(3, np.random.default_rng(1))[0].tolist() in ([], [0])


def test_a_draw_item_by_item_multiplies_conditional_probabilities():
    # Item 0 has probability 0.3, then item 1 has 0.9 beside item 0 and 0.2 without it.
    law = {(): 0.56, (1,): 0.14, (0,): 0.03, (0, 1): 0.27}

    def ask(inside, outside):
        return math.log(sum(p for Y, p in law.items() if set(inside) <= set(Y) and not set(outside) & set(Y)))

    sampler = generic.ChainRuleSampler(SimpleNamespace(n_items=2, _log_event_probability=ask))
    for uniforms, expected in (
        ((0.29, 0.89), [0, 1]),
        ((0.29, 0.91), [0]),
        ((0.31, 0.19), [1]),
        ((0.31, 0.21), []),
    ):
        fixed = SimpleNamespace(random=lambda n, uniforms=uniforms: np.array(uniforms))
        assert sampler.draw(fixed).tolist() == expected


def test_draws_of_one_call_take_about_a_sixth_of_a_second():
    """These numbers belong to the draws of a seed: each chunk has a generator of its own.

    For m items, one standard deviation above the mean, by hand: 0.15 s in units of 2 us, 3 ns for each eigenvector and
    try, 4 ns for m^2 (1 + log(1 + m)), and 0.6 ns (2.4 ns if complex) for m^3.
    """

    def chunk(law, dtype=float):
        return rejection.RejectionSampler(
            rejection.Proposals(np.zeros((0, 0), dtype), *[np.zeros((0, 0))] * 2), law
        ).chunk

    assert [chunk(EigenvectorLaw.of(np.zeros(m))) for m in (1, 30, 100, 300, 3000)] == [1024, 1024, 920, 49, 1]
    certain = EigenvectorLaw.of(np.full(150, np.inf))
    assert [chunk(certain), chunk(certain, complex)] == [58, 17]
    # 100 of 2000 eigenvectors, by a table or by repeated trials, about 25 of them.
    assert [chunk(EigenvectorLaw.of(np.zeros(2000), 100, method=way)) for way in (TABLE, TILTED)] == [139, 122]


def test_offers_of_any_distribution():
    for n, names, chosen in (
        (3, {"mcmc", "sequential", "enumeration"}, "enumeration"),
        (12, {"mcmc", "sequential", "enumeration"}, "enumeration"),
        (13, {"mcmc", "sequential", "enumeration"}, "sequential"),
        (20, {"mcmc", "sequential", "enumeration"}, "sequential"),
        (21, {"mcmc", "sequential"}, "sequential"),
    ):
        found = generic.offers(Uniform(n), 1)
        assert {offer.name for offer in found} == names
        assert take(found).name == chosen
        assert {offer.name for offer in generic.offers(Uniform(n, silent=True), 1)} == names - {"sequential"}
    # For many draws the list of all subsets is worth making.
    assert take(generic.offers(Uniform(13), 10_000)).name == "enumeration"
    assert take(generic.offers(Uniform(21, silent=True), 1)).name == "mcmc"


# chunks ------------------------------------------------------------------------------------------------------


class Recorded(Sampler):
    """Numbers its draws by the generator that made them."""

    def __init__(self, chunk):
        self._chunk, self.calls = chunk, []

    @property
    def chunk(self):
        return self._chunk

    def draw(self, rng):
        return rng.integers(0, 1 << 40, size=1)

    def draw_many(self, size, rng):
        self.calls.append((size, rng))
        return super().draw_many(size, rng)


@pytest.mark.parametrize("n_jobs", [1, 3])
@pytest.mark.parametrize(("size", "lengths"), [(0, []), (1, [1]), (4, [4]), (5, [4, 1]), (8, [4, 4]), (11, [4, 4, 3])])
def test_chunks_and_their_generators(size, lengths, n_jobs):
    rng = np.random.default_rng(5)
    sampler = Recorded(4)
    draws = batch.draw_batch(sampler, size, rng, n_jobs)
    assert sorted(length for length, _ in sampler.calls) == sorted(lengths)
    if size <= 4:
        assert all(generator is rng for _, generator in sampler.calls)
        expected = Recorded(4).draw_many(size, np.random.default_rng(5))
    else:
        # Each chunk has a generator seeded by the next 256 bits of the stream.
        raw = np.random.default_rng(5).bit_generator
        expected = []
        for length in lengths:
            expected += Recorded(4).draw_many(length, np.random.default_rng(raw.random_raw(4)))
    assert [int(draw[0]) for draw in draws] == [int(draw[0]) for draw in expected]
    streamed = batch.stream_draws(Recorded(4), size, np.random.default_rng(5))
    assert [int(draw[0]) for draw in streamed] == [int(draw[0]) for draw in draws]
    endless = batch.stream_draws(Recorded(4), None, np.random.default_rng(5))
    first = [int(next(endless)[0]) for _ in range(9)]
    longer = batch.draw_batch(Recorded(4), 9, np.random.default_rng(5))
    assert first == [int(draw[0]) for draw in longer]


def test_generators_of_several_jobs():
    rng = np.random.default_rng(0)
    assert batch.children(rng, 1) == [rng]
    two = batch.children(rng, 2)
    assert len(two) == 2
    assert all(generator is not rng for generator in two)
    assert two[0].random() != two[1].random()
    assert batch.children(rng, 0) == []


def test_bytes_and_draws_of_other_samplers():
    class Held(Recorded):
        def __init__(self):
            super().__init__(7)
            self.table, self.other = np.zeros(3), np.zeros(2, dtype=np.int8)

        def draw(self, rng):
            return np.array([1, 3])

    held = Held()
    assert held.nbytes == 26
    # Two probabilities for each of six eigenvectors, and a table of seven by four.
    assert EigenvectorLaw.of(np.zeros(6), 3, method=TABLE).nbytes == 8 * (6 + 6 + 7 * 4)
    assert EigenvectorLaw.of(np.zeros(6)).mean_size == 3.0
    assert EigenvectorLaw.of(np.array([0.0, np.inf, np.inf])).mean_size == 2.5
    left = OutsideSampler(held, 5, "complement")
    assert (left.name, left.exact, left.chunk) == ("complement", True, 7)
    assert left.draw(None).tolist() == [0, 2, 4]
    assert [draw.tolist() for draw in left.draw_many(2, None)] == [[0, 2, 4]] * 2
    assert outside(left, 5, "again") is held
    assert isinstance(outside(held, 5, "complement"), OutsideSampler)


def test_draws_of_a_mixture_come_in_the_order_of_their_labels():
    class Constant(Recorded):
        def __init__(self, label):
            super().__init__(4)
            self.label = label

        def draw(self, rng):
            return np.array([self.label])

    samplers = [Constant(0), Constant(1), Constant(2)]
    weights = np.array([0.2, 0.5, 0.3])
    mixed = GroupedSampler(weights, samplers.__getitem__, "own", True)
    draws = [int(draw[0]) for draw in mixed.draw_many(400, np.random.default_rng(3))]
    assert draws == np.random.default_rng(3).choice(3, size=400, p=weights).tolist()
    assert [len(sampler.calls) for sampler in samplers] == [1, 1, 1]
    assert mixed.draw(np.random.default_rng(3)).tolist() == [draws[0]]


@pytest.mark.parametrize("spread", [13.0, 14.5])
def test_columns_from_features_of_a_wide_spectrum_are_made_orthonormal(spread):
    """From eigenvalues 1e6 apart on, all eigenvectors are computed at once."""
    V = np.linalg.qr(np.random.default_rng(0).standard_normal((9, 2)))[0]
    dpp = dv.DPP.from_features(V * np.exp(0.5 * np.array([0.0, spread])))
    sampler = spectral.SpectralSampler(dpp._representation, None)
    assert (sampler._all is not None) is (spread > 14.0)
    columns = sampler.columns(np.array([0, 1]))
    np.testing.assert_allclose(columns.T @ columns, np.eye(2), atol=1e-9)
    dense = spectral.SpectralSampler(dv.DPP(np.diag([1.0, 1e9]))._representation, None)
    assert dense._all is None
