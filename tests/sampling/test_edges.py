"""Ends of ranges, last partial blocks and formulas of the samplers, each against enumeration or a second route."""

import math
from types import SimpleNamespace

import numpy as np
import pytest

import diverset as dv
import reference
from diverset.errors import DiversetError, KernelError, SizeError
from diverset.numerics.rounding import EPS
from diverset.sampling import (
    kernel_function,
    mcmc,
    nonsymmetric,
    sequential,
)
from diverset.sampling.base import take
from diverset.sampling.chain import Chain, ChainState
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
        kernel, L = KernelFunction(X, linear, q), q[:, None] * (X @ X.T) * q
        np.testing.assert_allclose(kernel.block([n - 1, 0], [n - 1]), L[[n - 1, 0]][:, [n - 1]])
        np.testing.assert_allclose(kernel.block([n - 1, 0], slice(n // 3, n)), L[[n - 1, 0], n // 3 :])


def test_an_entry_that_is_not_finite_is_named_in_a_slice():
    X = np.arange(300.0)[:, None]
    kernel = KernelFunction(X, lambda A, B: np.where((A == 7.0) & (B.T == 251.0), np.nan, A == B.T))
    with pytest.raises(KernelError, match="items 7 and 251 is nan"):
        kernel.block(np.array([3, 7]), slice(200, 300))


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
