"""Search over the sets of a DPP: every size, gains of zero, and bounds beside the maxima that SciPy finds."""

import itertools
import math

import numpy as np
import pytest
import scipy.optimize
import scipy.sparse

import diverset as dv
from diverset.errors import DiversetError, SizeError
from diverset.inference import map_budgeted, map_double_greedy, map_nonmonotone, map_relaxed, map_upper_bound
from diverset.inference.bounds import factorization, linx_bound
from kernels_for_tests import LIKELIHOOD_KERNELS, wishart

# search over the sets of a DPP -------------------------------------------------------------------------------


def values_of(L, k=None):
    n = len(L)
    sizes = range(n + 1) if k is None else [k]
    logs = {}
    for size in sizes:
        for A in itertools.combinations(range(n), size):
            sign, value = np.linalg.slogdet(L[np.ix_(A, A)]) if A else (1.0, 0.0)
            logs[A] = float(value) if np.real(sign) > 0 else -math.inf
    return logs


def test_relaxation_finds_the_best_set_almost_always():
    """Of sixty small problems with a given size, three are not solved."""
    missed = 0
    for seed in range(20):
        L = wishart(8, 10, 100 + seed)
        for k in (2, 3, 4):
            best = max(values_of(L, k).values())
            missed += map_relaxed(dv.DPP(L), k).log_det < best - 1e-9
    assert missed <= 5


@pytest.mark.parametrize("name", list(LIKELIHOOD_KERNELS))
def test_every_search_at_every_size(name):
    """Sizes 0, 1 and the rank are exact for every method that searches sets of a size."""
    L = LIKELIHOOD_KERNELS[name]
    dpp = dv.DPP(L)
    for method in (dv.map_local_search, dv.map_exact, map_relaxed):
        for k in sorted({0, min(1, dpp.rank), dpp.rank}):
            found = method(dpp, k)
            best = max(values_of(np.asarray(L), k).values(), default=0.0)
            assert len(found) == k
            assert found.log_det == pytest.approx(dpp.log_prob(found.indices) + dpp.log_normalizer, abs=1e-8)
            if method is dv.map_exact or k < 2:
                assert found.log_det == pytest.approx(best, abs=1e-6)
        with pytest.raises(SizeError, match=rf"more than {dpp.rank} items"):
            method(dpp, dpp.rank + 1)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("gap", [0.0, 0.1, 1.0])
def test_exact_search_stops_within_its_gap(seed, gap):
    L = wishart(9, 12, seed)
    values = values_of(L)
    found = dv.map_exact(dv.DPP(3.0 * L), gap=gap)
    best = max(value + len(A) * math.log(3.0) for A, value in values.items())
    assert found.objective >= best - gap - 1e-9
    assert best <= found.upper_bound + 1e-9
    assert found.gap <= gap + 1e-12
    stopped = dv.map_exact(dv.DPP(3.0 * L), time_limit=0.0)
    assert stopped.upper_bound >= best - 1e-9
    assert stopped.objective <= best + 1e-9
    with pytest.raises(DiversetError, match="at least 0 seconds"):
        dv.map_exact(dv.DPP(L), time_limit=-1.0)


@pytest.mark.parametrize("s", [1, 3, 5, 6])
@pytest.mark.parametrize("seed", range(2))
def test_linx_bound_is_the_maximum_of_its_program(seed, s):
    """By a general solver: over x for a given scale, and then over the scale."""
    C = wishart(7, 9, seed) + 0.2 * np.eye(7)

    def inner(log_scale):
        def negative(x):
            M = math.exp(log_scale) * (C * x) @ C + np.diag(1.0 - x)
            return -0.5 * (np.linalg.slogdet(M)[1] - s * log_scale)

        found = scipy.optimize.minimize(
            negative, np.full(7, s / 7), bounds=[(0.0, 1.0)] * 7, method="SLSQP",
            constraints={"type": "eq", "fun": lambda x: x.sum() - s}, options={"ftol": 1e-10},
        )  # fmt: skip
        return -found.fun

    best = scipy.optimize.minimize_scalar(inner, bounds=(-6.0, 6.0), method="bounded", options={"xatol": 1e-3}).fun
    bound = linx_bound(C, s)
    assert bound == pytest.approx(best, abs=2e-3)
    assert bound >= max(values_of(C, s).values()) - 1e-9
    assert linx_bound(C, 0) == 0.0
    assert linx_bound(C, 7) == pytest.approx(np.linalg.slogdet(C)[1])


def gamma_s(C, x, s, psi):
    """The concave function of the factorisation bound: the largest eigenvalues, and the rest spread evenly."""
    q = np.sqrt(x)
    lam = np.sort(np.maximum(np.linalg.eigvalsh(q[:, None] * (C - psi * np.eye(len(C))) * q), 0.0))[::-1]
    for p in range(s):
        mean = lam[p:].sum() / (s - p)
        if p == s - 1 or lam[p] <= mean:
            break
    return np.log(lam[:p] + psi).sum() + (s - p) * math.log(mean + psi)


@pytest.mark.parametrize("s", [1, 2, 4, 6])
@pytest.mark.parametrize("seed", range(2))
def test_factorisation_bound_is_the_maximum_of_its_program(seed, s):
    C = wishart(7, 9, 10 + seed) + 0.1 * np.eye(7)
    psi = 0.999 * np.linalg.eigvalsh(C)[0]
    found = scipy.optimize.minimize(
        lambda x: -gamma_s(C, np.clip(x, 0.0, 1.0), s, psi), np.full(7, s / 7), bounds=[(0.0, 1.0)] * 7,
        method="SLSQP", constraints={"type": "eq", "fun": lambda x: x.sum() - s}, options={"ftol": 1e-10},
    )  # fmt: skip
    bound = factorization(C, s, max_iter=200, accuracy=0.0)
    assert bound.value == pytest.approx(-found.fun, abs=5e-3)
    assert bound.value >= max(values_of(C, s).values()) - 1e-9
    assert bound.weights.sum() == pytest.approx(s, rel=1e-6)
    assert factorization(C, 8) is None
    assert factorization(C, 0) is None


@pytest.mark.parametrize("seed", range(3))
def test_upper_bound_of_every_size(seed):
    L = 2.0 * wishart(6, 8, 20 + seed)
    dpp = dv.DPP(L)
    bounds = [map_upper_bound(dpp, k) for k in range(7)]
    for k, bound in enumerate(bounds):
        best = max(values_of(L, k).values())
        assert best - 1e-9 <= bound <= best + 0.75
    assert bounds[0] == 0.0
    assert bounds[6] == pytest.approx(np.linalg.slogdet(L)[1], abs=1e-6)
    assert map_upper_bound(dpp) >= max(values_of(L).values()) - 1e-9


@pytest.mark.parametrize("rule", ["probability", "log"])
def test_budgeted_search_without_an_item_that_helps(rule):
    """Items with a diagonal of exactly 1 neither raise nor lower the probability."""
    even = map_budgeted(dv.DPP(np.eye(3)), [1.0, 1.0, 1.0], 2.0, rule=rule)
    assert len(even) == 0
    filled = map_budgeted(dv.DPP(np.eye(3)), [1.0, 1.0, 1.0], 2.0, rule=rule, fill=True)
    assert len(filled) == 2
    single = map_budgeted(dv.DPP(np.diag([100.0, 3.0, 3.0])), [4.0, 0.1, 0.1], 4.0, rule=rule)
    assert single.indices.tolist() == [0]
    assert map_budgeted(dv.DPP(np.diag([2.0, 3.0])), [1.0, 1.0], 0.0, rule=rule).indices.tolist() == []


@pytest.mark.parametrize("hidden", [False, True])
def test_greedy_picks_of_every_size(hidden):
    """Each pick has the largest gain; without a size, only picks with a gain above 0 are made."""
    V = np.linalg.qr(np.random.default_rng(0).standard_normal((5, 5)))[0]
    lam = np.array([1e-9, 1e-2, 2.0, 1e9]) if hidden else np.array([0.05, 0.3, 2.0, 9.0])
    dpp = dv.DPP.from_spectrum(lam, V[:, :4])
    picked, gains = [], []
    for _ in range(4):
        before = dpp.log_prob(picked)
        values = {i: dpp.log_prob(sorted([*picked, i])) - before for i in range(5) if i not in picked}
        picked.append(max(values, key=values.get))
        gains.append(values[picked[-1]])
    for k in range(7):
        found = dv.map_greedy(dpp, k)
        assert found.indices.tolist() == picked[:k]
        assert found.gains == pytest.approx(gains[:k], abs=1e-6)
        assert found.log_prob == pytest.approx(dpp.log_prob(picked[:k]), abs=1e-9)
    raised = [i for i, gain in zip(picked, gains, strict=True) if gain > 0.0]
    assert dv.map_greedy(dpp).indices.tolist() == raised
    even = dv.map_greedy(dv.DPP(np.diag([1.0, 2.0, 0.5, 3.0])))
    assert even.indices.tolist() == [3, 1]  # a gain of exactly 0 is none


@pytest.mark.parametrize("randomized", [False, True])
def test_double_greedy_adds_an_item_whose_two_gains_are_equal(randomized):
    """A diagonal of 1: neither its addition nor its removal changes the determinant."""
    found = map_double_greedy(dv.DPP(np.diag([1.0, 2.0, 1.0, 0.5])), randomized=randomized, rng=0)
    assert found.indices.tolist() == [0, 1, 2]


def test_searches_over_sets_of_any_size_with_gains_of_zero():
    """Items with a diagonal of 1 change nothing: additions need a gain, and no item leaves without one."""
    dpp = dv.DPP(np.diag([1.0, 2.0, 1.0, 0.5]))
    for method in (dv.map_greedy, dv.map_local_search, map_nonmonotone):
        assert method(dpp).indices.tolist() == [1]
    assert dv.map_local_search(dpp, start=[0, 1]).indices.tolist() == [0, 1]
    assert map_nonmonotone(dv.DPP(np.eye(3))).indices.tolist() == []
    assert dv.map_exact(dpp).log_det == pytest.approx(math.log(2.0))
    assert map_relaxed(dpp).log_det == pytest.approx(math.log(2.0))
