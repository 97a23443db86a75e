"""The add, delete and exchange chain: its transition matrix by listing every move, its compiled twin, its draws."""

import functools
import math

import numpy as np
import pytest

import diverset as dv
import reference
from diverset.sampling import mcmc
from diverset.sampling.kernel_function import KernelFunction, read_entries
from kernels_for_tests import LIKELIHOOD_KERNELS, MARGINAL_KERNELS, wishart
from samplers_in_steps import Walk

RANKS = {name: np.linalg.matrix_rank(L) if L.size else 0 for name, L in LIKELIHOOD_KERNELS.items()}
KERNELS = ["random-5", "deficient-6", "rank-one", "duplicated", "diagonal", "graded", "complex", "one-item"]


def law_for(L, k):
    law = reference.law_from_L(L)
    return law if k is None else reference.of_size(law, k)


def transition_matrix(L, law, *, fixed_size, walk=Walk):
    """Rows and columns are the sets of positive probability, in the order of `law`."""
    states = [Y for Y, p in law.items() if p > 0.0 and Walk(L, Y, fixed_size=True).log_weight(sorted(Y)) > -math.inf]
    assert sum(law[Y] for Y in states) == pytest.approx(1.0, abs=1e-12)
    number = {Y: i for i, Y in enumerate(states)}
    P = np.zeros((len(states), len(states)))
    for Y, i in number.items():
        state = walk(L, sorted(Y), fixed_size=fixed_size)
        for probability, move in state.proposals():
            accepted = probability * math.exp(min(state.log_acceptance(move), 0.0))
            if accepted > 0.0:
                P[i, number[frozenset(state.after(move))]] += accepted
        P[i, i] += 1.0 - P[i].sum()
    return P, np.array([law[Y] for Y in states])


class Uncorrected(Walk):
    """The known fault: ratios of determinants without those of the proposals."""

    def log_correction(self, move):
        return 0.0


@pytest.mark.parametrize(
    ("name", "k"), [(name, k) for name in KERNELS for k in (None, 1, 2) if (k or 0) <= RANKS[name]]
)
def test_every_move_listed_is_in_detailed_balance(name, k):
    L = LIKELIHOOD_KERNELS[name]
    P, pi = transition_matrix(L, law_for(L, k), fixed_size=k is not None)
    assert (P >= -1e-15).all()
    assert P.sum(axis=1) == pytest.approx(1.0, abs=1e-12)
    flow = pi[:, None] * P
    assert np.abs(flow - flow.T).max() < 1e-12
    # Irreducible and aperiodic: in 40 steps every state is reached from every other, and so in 41.
    linked = P > 0.0
    reached = functools.reduce(lambda within, _: within @ linked, range(40), np.eye(len(P), dtype=bool))
    assert reached.all()
    assert (reached @ linked).all()


@pytest.mark.parametrize("name", ["random-5", "diagonal"])
def test_without_the_proposal_ratio_balance_fails(name):
    L = LIKELIHOOD_KERNELS[name]
    P, pi = transition_matrix(L, law_for(L, None), fixed_size=False, walk=Uncorrected)
    flow = pi[:, None] * P
    assert np.abs(flow - flow.T).max() > 1e-3


@pytest.mark.parametrize("k", [None, 3])
def test_default_steps_are_enough_for_small_kernels(k):
    L = LIKELIHOOD_KERNELS["random-5"]
    P, pi = transition_matrix(L, law_for(L, k), fixed_size=k is not None)
    after = np.linalg.matrix_power(P, mcmc.default_steps(5, 1 if k is None else k))
    # From the worst start there is.
    assert 0.5 * np.abs(after - pi).sum(axis=1).max() < 1e-6


@pytest.mark.parametrize("fixed_size", [False, True])
def test_uniforms_name_each_move_as_often_as_listed(fixed_size):
    walk = Walk(wishart(4, 4, 0), [2, 0], fixed_size=fixed_size)
    # A grid of midpoints, fine enough that 4 items, 2 slots and quarters all divide it.
    grid = (np.arange(8) + 0.5) / 8
    found = {}
    for a in grid:
        for b in grid:
            for c in grid:
                move = walk.propose(np.array([a, b, c]))
                if move is not None:
                    key = (move.slot, move.item)
                    found[key] = found.get(key, 0.0) + 1 / len(grid) ** 3
    listed = {(move.slot, move.item): p for p, move in walk.proposals()}
    assert found == pytest.approx(listed)


@pytest.mark.parametrize("k", [None, 3])
@pytest.mark.parametrize("name", ["random-7", "complex", "duplicated", "graded", "deficient-6"])
def test_compiled_steps_are_the_plain_ones(name, k):
    L = LIKELIHOOD_KERNELS[name]
    entries = read_entries(dv.DPP(L)._representation)
    start = mcmc.warm_start(entries, k, np.random.default_rng(3))
    walk = Walk(L, start, fixed_size=k is not None)
    accepted, states, weights = 0, [], []
    for u in np.random.default_rng(4).random((600, 4)):
        accepted += walk.step(u)
        states.append(sorted(walk.items))
        weights.append(walk.log_weight(walk.items))
    walker = mcmc._Walker(entries, start, k is not None, np.random.default_rng(4))
    kept, log_weights = [], []
    for steps in (1, 7, 292, 300):
        sets, values = walker.advance(steps, 1, 1)
        kept += [Y.tolist() for Y in sets]
        log_weights += values.tolist()
    assert kept == states
    assert walker.items.tolist() == walk.items
    assert walker.accepted == accepted
    assert log_weights == pytest.approx(weights, abs=1e-9)


@pytest.mark.parametrize("k", [None, 12])
def test_the_inverse_does_not_drift(k):
    # 20,000 steps in a single window: nothing but the updates, unless a residual check asks for more.
    L = wishart(60, 70, 5)
    entries = read_entries(dv.DPP(L)._representation)
    walker = mcmc._Walker(entries, mcmc.warm_start(entries, k, np.random.default_rng(0)), k is not None, None)
    walker.rng = np.random.default_rng(0)
    before = walker.items
    _, values = walker.advance(20_000, 20_000, 1)
    exact = np.linalg.slogdet(L[np.ix_(walker.items, walker.items)])[1]
    assert not np.array_equal(before, walker.items)
    assert values[-1] == pytest.approx(exact, abs=1e-8)


@pytest.mark.parametrize("k", [None, 3])
def test_states_follow_the_law(k):
    L = LIKELIHOOD_KERNELS["deficient-6"] if k is None else wishart(6, 8, 9)
    chain = mcmc.mcmc_chain(dv.DPP(L), k=k, size=20_000, thin=40, rng=1)
    assert reference.law_p_value(chain.sets, law_for(L, k)) > 1e-4
    # The same states against another kernel are told apart.
    assert reference.law_p_value(chain.sets, law_for(np.eye(6) + 0.2, k)) < 1e-4


@pytest.mark.parametrize("k", [None, 2])
def test_independent_draws_follow_the_law(k):
    L = LIKELIHOOD_KERNELS["random-5"]
    sampler = mcmc.MCMCSampler(dv.DPP(L)._representation, k)
    draws = sampler.draw_many(1_500, np.random.default_rng(2))
    assert reference.law_p_value(draws, law_for(L, k)) > 1e-4


def test_marginals_of_a_larger_kernel():
    B = np.random.default_rng(0).standard_normal((80, 12))
    dpp = dv.DPP.from_features(B)
    chain = mcmc.mcmc_chain(dpp, k=6, size=4_000, thin=60, rng=0)
    counts = np.bincount(np.concatenate(chain.sets), minlength=80)
    p = dpp.of_size(6).inclusion_probabilities
    z = (counts - 4_000 * p) / np.sqrt(4_000 * p * (1 - p))
    assert np.abs(z).max() < 4.5
    assert chain.effective_sample_size > 2_000
    assert 0.0 < chain.acceptance_rate < 1.0


@pytest.mark.parametrize("k", [None, 7])
def test_one_chain_however_the_kernel_is_held(k):
    X = np.random.default_rng(0).random((50, 2))
    rbf = functools.partial(dv.kernels.rbf, length_scale=0.3)
    q = np.linspace(1.0, 2.0, 50)
    L = q[:, None] * rbf(X) * q
    L = (L + L.T) / 2
    chains = [
        mcmc.mcmc_chain(target, k=k, size=200, n_chains=2, rng=5)
        for target in (dv.DPP(L), KernelFunction(X, rbf, q), dv.DPP(L).complement().complement())
    ]
    root = np.linalg.cholesky(L + 1e-13 * np.eye(50))
    chains.append(
        mcmc.mcmc_chain(
            dv.DPP.from_features(np.hstack([root, np.zeros((50, 1))])[:, :50]), k=k, size=200, n_chains=2, rng=5
        )
    )
    for chain in chains[1:]:
        assert all(np.array_equal(a, b) for a, b in zip(chain.sets, chains[0].sets, strict=True))
        assert chain.log_weights == pytest.approx(chains[0].log_weights, abs=1e-6)


@pytest.mark.parametrize("factor", [1e12, 1e-12])
def test_a_k_dpp_does_not_see_the_scale(factor):
    L = wishart(30, 20, 1)
    one, other = (mcmc.mcmc_chain(dv.DPP(scale * L), k=8, size=300, rng=2) for scale in (1.0, factor))
    assert all(np.array_equal(a, b) for a, b in zip(one.sets, other.sets, strict=True))
    assert other.log_weights == pytest.approx(one.log_weights + 8 * math.log(factor), rel=1e-9)


@pytest.mark.parametrize("k", [50, 200])
def test_large_sets_start_and_run(k):
    B = np.random.default_rng(1).standard_normal((600, 220))
    chain = mcmc.mcmc_chain(dv.DPP.from_features(B), k=k, size=5, burn_in=200, rng=0)
    assert all(len(np.unique(Y)) == k for Y in chain.sets)
    assert chain.log_weights[0, -1] == pytest.approx(np.linalg.slogdet((B @ B.T)[np.ix_(*[chain.sets[-1]] * 2)])[1])


def test_labels_states_and_windows():
    dpp = dv.DPP(wishart(40, 45, 0)).condition(include=[0], exclude=[7, 30])
    whole = mcmc.mcmc_chain(dpp, k=5, size=300, thin=7, burn_in=11, rng=3)
    assert all(set(Y.tolist()) <= set(dpp.items.tolist()) and (np.diff(Y) > 0).all() for Y in whole.sets)
    again = mcmc.mcmc_chain(dpp, k=5, size=300, thin=7, burn_in=11, rng=3)
    assert all(np.array_equal(a, b) for a, b in zip(whole.sets, again.sets, strict=True))
    # Cut in two, with the generator carried on, it is the same chain.
    rng = np.random.default_rng(3)
    first = mcmc.mcmc_chain(dpp, k=5, size=100, thin=7, burn_in=11, rng=rng)
    rest = mcmc.mcmc_chain(dpp, k=5, size=200, thin=7, start=first.state, rng=rng)
    assert all(np.array_equal(a, b) for a, b in zip(whole.sets, first.sets + rest.sets, strict=True))
    assert whole.log_weights[0] == pytest.approx(np.concatenate([first.log_weights[0], rest.log_weights[0]]))


def test_no_global_state_is_moved():
    before = np.random.get_state()[1].copy()  # noqa: NPY002
    mcmc.mcmc_chain(dv.DPP(wishart(10, 10, 0)), size=10, rng=0)
    assert np.array_equal(before, np.random.get_state()[1])  # noqa: NPY002


def test_the_time_limit_returns_what_there_is():
    dpp = dv.DPP(wishart(200, 50, 0))
    mcmc.mcmc_chain(dpp, k=20, size=1, burn_in=0, rng=0)
    # How many sets come within the limit is the machine's business; without burn-in a busy one gets there too.
    chain = mcmc.mcmc_chain(dpp, k=20, size=10_000_000, burn_in=0, thin=1, rng=0, n_chains=2, max_seconds=3.0)
    assert not chain.complete
    assert 0 < len(chain) < 20_000_000
    assert chain.log_weights.shape == (2, len(chain) // 2)
    assert mcmc.mcmc_chain(dpp, k=20, size=3, rng=0, max_seconds=60).complete
    empty = mcmc.mcmc_chain(dpp, k=20, size=3, burn_in=10**9, rng=0, max_seconds=0.05)
    assert len(empty) == 0
    assert math.isnan(empty.effective_sample_size)


def test_diagnostics_tell_good_chains_from_bad():
    good = mcmc.mcmc_chain(dv.DPP(wishart(30, 30, 0)), k=5, size=500, thin=50, n_chains=4, rng=0)
    assert good.r_hat < 1.05
    assert 500 < good.effective_sample_size < 5_000
    # Two blocks that an exchange leaves only through sets of tiny weight: chains stay where they start.
    apart = np.kron(np.eye(2), np.full((2, 2), 1.0)) + 1e-9 * np.eye(4)
    q = np.array([1.0, 1e-6, 1.0, 1e-6])
    stuck = mcmc.mcmc_chain(dv.DPP(q[:, None] * apart * q), size=50, thin=1, n_chains=4, rng=0)
    assert not stuck.r_hat < 1.01
    slow = mcmc.mcmc_chain(dv.DPP(wishart(30, 30, 0)), k=5, size=500, thin=1, rng=0)
    assert slow.effective_sample_size < 250
    assert math.isnan(slow.r_hat)
    # Nothing varies in a k-DPP of equal weights.
    assert math.isnan(mcmc.mcmc_chain(dv.DPP(np.eye(5)), k=2, size=20, rng=0).effective_sample_size)


def plain_effective_size(x):
    """Geyer's estimate from sums over pairs of states, one lag at a time."""
    chains, m = x.shape
    within = np.mean([np.sum((row - row.mean()) ** 2) / (m - 1) for row in x])
    means = [row.mean() for row in x]
    pooled = within * (m - 1) / m + (np.var(means, ddof=1) if chains > 1 else 0.0)
    rho = [1.0]
    for t in range(1, m):
        lagged = np.mean([np.sum((row[: m - t] - row.mean()) * (row[t:] - row.mean())) / (m - 1) for row in x])
        rho.append(1.0 - (within - lagged) / pooled)
    total, smallest = 0.0, math.inf
    for t in range(0, m - 1, 2):
        if rho[t] + rho[t + 1] <= 0.0:
            break
        smallest = min(smallest, rho[t] + rho[t + 1])
        total += smallest
    return min(chains * m / max(2.0 * total - 1.0, 1.0 / (chains * m)), chains * m * math.log10(m + 10))


@pytest.mark.parametrize("m", [4, 5, 7, 40])
@pytest.mark.parametrize("chains", [1, 3])
def test_effective_size_is_that_of_plain_sums(m, chains):
    for seed in range(20):
        noise = np.random.default_rng(seed).standard_normal((chains, m))
        x = np.cumsum(noise, axis=1) if seed % 2 else noise
        found = mcmc.Chain([np.arange(2)] * x.size, x, 0.5, True, mcmc.ChainState(()))
        assert found.effective_sample_size == pytest.approx(plain_effective_size(x), rel=1e-9)
    # Three states say nothing about correlations.
    short = mcmc.Chain([np.arange(2)] * 3 * chains, x[:, :3], 0.5, True, mcmc.ChainState(()))
    assert short.effective_sample_size == 3.0 * chains


def test_rounding_of_large_log_weights_is_no_variation():
    noise = np.random.default_rng(0).standard_normal((1, 30))
    for level, jitter, constant in ((1e6, 1e-6, True), (1e6, 1.0, False), (1.0, 1e-6, False)):
        found = mcmc.Chain([np.arange(2)] * 30, level + jitter * noise, 0.5, True, mcmc.ChainState(()))
        assert math.isnan(found.effective_sample_size) == constant


def test_edges():
    L = wishart(5, 5, 0)
    assert all(len(Y) == 0 for Y in mcmc.mcmc_chain(dv.DPP(L), k=0, size=5, rng=0).sets)
    assert all(Y.tolist() == [0, 1, 2, 3, 4] for Y in mcmc.mcmc_chain(dv.DPP(L), k=5, size=5, rng=0).sets)
    assert all(len(Y) == 0 for Y in mcmc.mcmc_chain(dv.DPP(np.zeros((3, 3))), size=5, rng=0).sets)
    assert mcmc.MCMCSampler(dv.DPP(np.zeros((0, 0)))._representation, None).draw(np.random.default_rng(0)).size == 0
    duplicated = LIKELIHOOD_KERNELS["duplicated"]
    for Y in mcmc.mcmc_chain(dv.DPP(duplicated), size=200, rng=0).sets:
        assert len({0, 1, 2} & set(Y.tolist())) <= 1


def test_bad_input_is_refused_with_its_value():
    dpp = dv.DPP(wishart(6, 3, 0))
    with pytest.raises(dv.errors.SizeError, match=r"k is 4, but the kernel has rank 3"):
        mcmc.mcmc_chain(dpp, k=4, size=1)
    with pytest.raises(dv.errors.SizeError, match="k is 9, but there are 6 items"):
        mcmc.mcmc_chain(dpp, k=9, size=1)
    with pytest.raises(dv.errors.SizeError, match="k is 1, but the target is a k-DPP with k = 2"):
        mcmc.mcmc_chain(dpp.of_size(2), k=1, size=1)
    with pytest.raises(dv.errors.NoLikelihoodKernelError, match="exact method"):
        mcmc.mcmc_chain(dv.DPP.from_marginal(MARGINAL_KERNELS["one-and-less"]), size=1)
    with pytest.raises(dv.errors.SizeError, match="start has 1 items, but k is 2"):
        mcmc.mcmc_chain(dpp, k=2, size=1, start=[3])
    with pytest.raises(dv.errors.LabelError, match="item 17"):
        mcmc.mcmc_chain(dpp, k=1, size=1, start=[17])
    with pytest.raises(dv.errors.ImpossibleEventError, match=r"\[0, 1\]"):
        mcmc.mcmc_chain(dv.DPP(np.ones((2, 2))), k=None, size=1, start=[0, 1])
    with pytest.raises(dv.errors.DiversetError, match="max_seconds is -1"):
        mcmc.mcmc_chain(dpp, size=1, max_seconds=-1)
    with pytest.raises(dv.errors.DiversetError, match="SizedDPP"):
        mcmc.mcmc_chain(dv.SizedDPP(dpp, [0.5, 0.5]), size=1)
    state = mcmc.mcmc_chain(dpp, size=2, rng=0, n_chains=2).state
    with pytest.raises(dv.errors.DiversetError, match="state of 2 chains, but n_chains is 1"):
        mcmc.mcmc_chain(dpp, size=2, start=state)
