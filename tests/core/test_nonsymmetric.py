"""Nonsymmetric kernels: everything against enumeration, and draws by LU."""

import math
from collections import Counter

import numpy as np
import pytest

import diverset as dv
import reference
from diverset.core.nonsymmetric import NonsymmetricDPP
from diverset.errors import DiversetError, ImpossibleEventError, KernelError, LabelError, NoLikelihoodKernelError
from kernels_for_tests import duplicated, wishart
from samplers_in_steps import MarginalSteps, draw_plain, steps_of


def skewed(n, rank, seed, skew=1.0):
    """Positive semidefinite of this rank, plus a skew-symmetric part."""
    A = np.random.default_rng(seed).standard_normal((n, n))
    return wishart(n, rank, seed) + skew * (A - A.T) / 2


KERNELS = {
    "random-5": skewed(5, 5, 1),
    "random-6": skewed(6, 8, 2, 3.0),
    "deficient": skewed(6, 2, 3, 0.5),
    "mostly-skew": skewed(5, 1, 4, 10.0),
    "skew": np.array([[0.0, 2.0, 0.3], [-2.0, 0.0, -1.0], [-0.3, 1.0, 0.0]]),
    "symmetric": wishart(5, 6, 5),
    "duplicated": duplicated(5, 6),
    "small": 1e-8 * skewed(4, 4, 7),
    "large": 1e8 * skewed(4, 4, 8),
    "zero": np.zeros((3, 3)),
    "one-item": np.array([[2.0]]),
    "no-item": np.zeros((0, 0)),
}
# Rotations by 90 degrees and projections: no likelihood kernel, some sets impossible.
ROTATION = np.array([[0.5, 0.5], [-0.5, 0.5]])
MARGINALS = {
    "rotation": ROTATION,
    "certain": np.array([[1.0, 0.3, 0.2], [0.0, 0.5, 0.4], [0.0, -0.4, 0.5]]),
    "projection": np.array([[1.0, 0.7, 0.0], [0.0, 0.0, 0.0], [0.0, 0.0, 0.3]]),
    "from-L": skewed(4, 4, 9) @ np.linalg.inv(skewed(4, 4, 9) + np.eye(4)),
}


def cases():
    for name, L in KERNELS.items():
        yield pytest.param(NonsymmetricDPP(L), reference.law_from_L(L), id=f"L-{name}")
        K = np.linalg.solve((L + np.eye(len(L))).T, L.T).T
        yield pytest.param(NonsymmetricDPP.from_marginal(K), reference.law_from_L(L), id=f"K-{name}")
    for name, K in MARGINALS.items():
        yield pytest.param(NonsymmetricDPP.from_marginal(K), reference.law_from_K(K), id=f"marginal-{name}")


CASES = list(cases())


def law_of(dpp):
    return {Y: math.exp(dpp.log_prob(Y)) for Y in reference.subsets(dpp.items.tolist())}


def assert_same_law(law, expected, tolerance=1e-10):
    for A, p in expected.items():
        assert law.get(A, 0.0) == pytest.approx(p, abs=tolerance)


@pytest.mark.parametrize(("dpp", "law"), CASES)
def test_probabilities_are_those_of_enumeration(dpp, law):
    assert_same_law(law_of(dpp), law)
    for A in reference.subsets(range(dpp.n_items)):
        assert dpp.marginal(A) == pytest.approx(reference.probability(law, A), abs=1e-10)
        B = set(range(dpp.n_items)) - A - {0}
        assert dpp.probability(A, B) == pytest.approx(reference.probability(law, A, B), abs=1e-10)
        assert dpp.probability(exclude=A) == pytest.approx(reference.probability(law, (), A), abs=1e-10)
    singles = [reference.probability(law, [i]) for i in range(dpp.n_items)]
    assert dpp.inclusion_probabilities == pytest.approx(np.array(singles), abs=1e-10)
    pairs = dpp.pair_probabilities()
    for i in range(dpp.n_items):
        for j in range(dpp.n_items):
            assert pairs[i, j] == pytest.approx(reference.probability(law, {i, j}), abs=1e-10)
            if i != j:
                assert dpp.pair_probabilities([(i, j)])[0] == pytest.approx(pairs[i, j], abs=1e-14)


@pytest.mark.parametrize(("dpp", "law"), CASES)
def test_sizes(dpp, law):
    pmf = np.zeros(dpp.n_items + 1)
    for Y, p in law.items():
        pmf[len(Y)] += p
    assert dpp.size_distribution == pytest.approx(pmf, abs=1e-10)
    sizes = np.arange(dpp.n_items + 1)
    assert dpp.expected_size == pytest.approx(pmf @ sizes, abs=1e-9)
    assert dpp.size_variance == pytest.approx(pmf @ (sizes - pmf @ sizes) ** 2, abs=1e-9)


@pytest.mark.parametrize(("dpp", "law"), CASES)
def test_new_processes_from_this_one(dpp, law):
    items = set(range(dpp.n_items))
    assert_same_law(law_of(dpp.complement()), reference.complemented(law, items))
    assert_same_law(law_of(dpp.complement().complement()), law)
    assert_same_law(law_of(dpp.restrict(items - {1})), reference.restricted(law, items - {1}))
    for include, exclude in [((), ()), ([0], ()), ((), [0]), ([1], [2]), ([0, 2], ()), ([0], [1, 2])]:
        if not {*include, *exclude} <= items:
            continue
        if reference.probability(law, include, exclude) < 1e-9:
            continue
        given = dpp.condition(include, exclude)
        expected = reference.conditioned(law, include, exclude)
        assert given.items.tolist() == sorted(items - {*include, *exclude})
        assert_same_law(law_of(given), expected, 1e-8)
        # Conditioned again: labels are those of the first.
        rest = given.items.tolist()
        if rest and reference.probability(expected, [rest[-1]]) > 1e-3:
            again = given.condition(include=[rest[-1]])
            assert_same_law(law_of(again), reference.conditioned(expected, [rest[-1]]), 1e-8)


def test_items_may_attract():
    # Items 0 and 1 attract, items 0 and 2 repel.
    K = np.array([[0.5, 0.3, 0.2], [-0.3, 0.5, 0.0], [0.2, 0.0, 0.5]])
    dpp = NonsymmetricDPP.from_marginal(K)
    assert dpp.marginal([0, 1]) == pytest.approx(0.25 + 0.09)
    assert dpp.marginal([0, 2]) == pytest.approx(0.25 - 0.04)
    assert dpp.condition(include=[0]).inclusion_probabilities == pytest.approx([0.68, 0.42])
    draws = dpp.sample(20_000, rng=0)
    both = np.mean([{0, 1} <= set(d.tolist()) for d in draws])
    assert both == pytest.approx(0.34, abs=4 * math.sqrt(0.34 * 0.66 / 20_000))


def test_partners_always_come_together():
    pair = NonsymmetricDPP([[0.0, 3.0], [-3.0, 0.0]])
    assert pair.log_prob([0]) == -math.inf
    assert math.exp(pair.log_prob([0, 1])) == pytest.approx(0.9)
    assert {tuple(d.tolist()) for d in pair.sample(200, rng=0)} == {(), (0, 1)}
    rare = NonsymmetricDPP([[0.0, 0.5], [-0.5, 0.0]])
    assert rare.size_variance > rare.expected_size
    with pytest.raises(ImpossibleEventError, match=r"including \[0\] and excluding \[1\]"):
        pair.complement().complement().condition(include=[0], exclude=[1])
    # The other item's L_ii is zero, but given its partner it is certain.
    assert pair.condition(include=[0]).inclusion_probabilities == pytest.approx([1.0])
    with pytest.raises(ImpossibleEventError, match=r"including \[1\] and excluding \[0\]"):
        pair.condition(include=[1], exclude=[0])


def test_kernels_come_back():
    L = KERNELS["random-5"]
    dpp = NonsymmetricDPP(L)
    K = L @ np.linalg.inv(L + np.eye(5))
    assert np.allclose(dpp.K, K, atol=1e-13)
    assert np.allclose(NonsymmetricDPP.from_marginal(K).L, L, atol=1e-12)
    assert dpp.log_normalizer == pytest.approx(math.log(np.linalg.det(L + np.eye(5))))
    assert NonsymmetricDPP.from_marginal(K).log_normalizer == pytest.approx(dpp.log_normalizer)
    assert repr(dpp) == "NonsymmetricDPP(n_items=5)"
    dpp.L[0, 0] = dpp.K[0, 0] = 7.0
    assert np.array_equal(dpp.L, L)
    L_copy = L.copy()
    fresh = NonsymmetricDPP(L_copy)
    L_copy[:] = 0.0
    assert np.array_equal(fresh.L, L)
    certain = NonsymmetricDPP.from_marginal(MARGINALS["certain"])
    assert certain.log_normalizer == math.inf
    with pytest.raises(NoLikelihoodKernelError, match="eigenvalue 1"):
        _ = certain.L


# input -----------------------------------------------------------------------------------------------------


def test_what_is_no_distribution_is_refused():
    bad = np.array([[1.0, 2.0], [2.0, 1.0]])
    with pytest.raises(KernelError, match=r"\(L \+ L\.T\) / 2 has smallest eigenvalue -1;.*check='minors'"):
        NonsymmetricDPP(bad)
    with pytest.raises(KernelError, match=r"principal minor of L for items \[0, 1\] is -3;"):
        NonsymmetricDPP(bad, check="minors")
    assert NonsymmetricDPP(bad, check="none").n_items == 2
    with pytest.raises(KernelError, match=r"K gives the set \[\] the probability -0.36;"):
        NonsymmetricDPP.from_marginal(np.diag([1.4, 0.1]) + 0.0)
    with pytest.raises(KernelError, match=r"largest singular value 2\.2;"):
        NonsymmetricDPP.from_marginal(np.diag([1.6] + [0.5] * 19))
    for make in (NonsymmetricDPP, NonsymmetricDPP.from_marginal):
        with pytest.raises(DiversetError, match=r"2\*\*16 determinants for 16 items"):
            make(np.eye(16), check="minors")
        with pytest.raises(DiversetError, match="check is 'full'; choose one of auto, minors, none"):
            make(np.eye(2), check="full")
        with pytest.raises(KernelError, match=r"has shape \(2, 3\); a kernel is square"):
            make(np.ones((2, 3)))
        with pytest.raises(KernelError, match=r"\[0, 1\] is nan"):
            make([[1.0, math.nan], [0.0, 1.0]])
        with pytest.raises(KernelError, match="is complex"):
            make(np.eye(2) * 1j)
    with pytest.raises(LabelError, match="names item 5"):
        NonsymmetricDPP(np.eye(2)).log_prob([5])


def test_minors_accept_what_the_symmetric_part_does_not():
    # Triangular with positive diagonal: independent items, whatever is above the diagonal.
    L = np.array([[1.0, 50.0], [0.0, 1.0]])
    with pytest.raises(KernelError, match="smallest eigenvalue -24"):
        NonsymmetricDPP(L)
    assert_same_law(law_of(NonsymmetricDPP(L, check="minors")), reference.law_from_L(np.eye(2)))


def test_rounding_is_forgiven_and_judged_by_the_whole_kernel():
    symmetric, skew = wishart(30, 3, 0), 1e6 * (skewed(30, 0, 1) - skewed(30, 0, 1).T)
    assert NonsymmetricDPP(symmetric + skew).n_items == 30
    assert NonsymmetricDPP((symmetric + 1e-6 * skew).astype(np.float32)).n_items == 30
    K = np.linalg.solve((symmetric + skew + np.eye(30)).T, (symmetric + skew).T).T
    assert NonsymmetricDPP.from_marginal(K).n_items == 30
    with pytest.raises(KernelError, match=r"smallest eigenvalue -0\.001"):
        NonsymmetricDPP(np.diag([1.0, -0.001]))


# draws -----------------------------------------------------------------------------------------------------


def law_of_algorithm(state, prob=1.0, law=None):
    law = Counter() if law is None else law
    if state.done:
        law[frozenset(state.items)] += prob
    else:
        for inside, p in enumerate(state.weights()):
            if p > 0.0:
                law_of_algorithm(state.pick(inside), prob * p, law)
    return law


class Symmetrised(MarginalSteps):
    """The known fault: the column is used for the row as well, as if the kernel were symmetric."""

    def pick(self, inside):
        column = self.K[1:, 0]
        rest = self.K[1:, 1:] - np.outer(column / self.pivot(inside), column)
        items = (*self.items, self.decided) if inside else self.items
        return Symmetrised(rest, items, self.decided + 1)


@pytest.mark.parametrize(("dpp", "law"), CASES)
def test_the_sampler_has_the_exact_law(dpp, law):
    sampler = dpp.sampler()
    followed = law_of_algorithm(steps_of(sampler))
    assert_same_law(followed, law, 1e-12 if dpp.log_normalizer < 30 else 1e-10)
    for seed in range(10):
        u = np.random.default_rng(seed).random(dpp.n_items)
        assert np.array_equal(sampler.decide(u), draw_plain(steps_of(sampler), u))


def test_draws_follow_the_law_and_a_fault_is_seen():
    L = KERNELS["random-5"]
    law = reference.law_from_L(L)
    dpp = NonsymmetricDPP(L)
    assert reference.law_p_value(dpp.sample(50_000, rng=1), law) > 1e-4
    wrong = law_of_algorithm(Symmetrised(dpp.K))
    assert max(abs(wrong[A] - p) for A, p in law.items()) > 1e-2
    symmetric = NonsymmetricDPP((L + L.T) / 2)
    assert reference.law_p_value(symmetric.sample(5_000, rng=1), law) < 1e-4


@pytest.mark.parametrize("n", [97, 400])
def test_compiled_and_plain_give_the_same_draw(n):
    sampler = NonsymmetricDPP(skewed(n, n, 0, 3.0 / math.sqrt(n))).sampler()
    for seed in range(2):
        plain = draw_plain(steps_of(sampler), np.random.default_rng(seed).random(n))
        assert np.array_equal(sampler.draw(np.random.default_rng(seed)), plain)


def test_sizes_of_hundreds_of_items():
    dpp = NonsymmetricDPP(skewed(300, 300, 1, 0.5))
    pmf = dpp.size_distribution
    assert len(pmf) == 301
    sizes = np.arange(301)
    assert pmf @ sizes == pytest.approx(dpp.expected_size, abs=1e-9)
    assert pmf @ (sizes - dpp.expected_size) ** 2 == pytest.approx(dpp.size_variance, abs=1e-8)
    mean = np.mean([len(d) for d in dpp.sample(60, rng=0)])
    assert abs(mean - dpp.expected_size) < 4.0 * math.sqrt(dpp.size_variance / 60)


def test_conditioned_draws_keep_their_labels():
    given = NonsymmetricDPP(skewed(20, 20, 0)).condition(include=[0, 4], exclude=[7])
    for draw in given.sample(20, rng=0):
        assert set(draw.tolist()) <= set(given.items.tolist())
        assert (np.diff(draw) > 0).all()


def test_all_sets_can_be_listed():
    dpp = NonsymmetricDPP(np.eye(3) + np.array([[0.0, 1.0, 0.0], [-1.0, 0.0, 0.5], [0.0, -0.5, 0.0]]))
    p = dv.law(dpp)
    assert p.sum() == pytest.approx(1.0, abs=1e-12)
    assert p[0b011] == pytest.approx(np.exp(dpp.log_prob([0, 1])), abs=1e-12)
    assert dpp.entropy().value > 0.0
