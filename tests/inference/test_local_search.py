"""Local search: never below its start, optimal for single changes, the state it keeps is what determinants say."""

import math
from itertools import combinations

import numpy as np
import pytest

import diverset as dv
from diverset.inference.local_search import map_local_search, state_of
from kernels_for_tests import LIKELIHOOD_KERNELS, duplicated, wishart


def log_det_of(L, Y):
    sign, value = np.linalg.slogdet(L[np.ix_(Y, Y)]) if len(Y) else (1.0, 0.0)
    return value if np.real(sign) > 0 and value > -25.0 * max(len(Y), 1) else -math.inf


@pytest.mark.parametrize("complex_", [False, True])
def test_state_agrees_with_determinants_after_many_moves(complex_):
    L = wishart(9, 12, 0, complex_=complex_)
    state = state_of(dv.DPP(L), [3, 7])
    rng = np.random.default_rng(1)
    for move in range(130):  # past two refreshes
        m = len(state.members)
        if m < 3 or (m < 7 and rng.random() < 0.4):
            state.move(j=int(rng.choice(np.flatnonzero(~state.inside))))
        elif rng.random() < 0.5:
            state.move(a=int(rng.integers(m)))
        else:
            state.move(a=int(rng.integers(m)), j=int(rng.choice(np.flatnonzero(~state.inside))))
        if move % 10 == 0 or move in (49, 50, 51, 129):
            S = state.members
            now = np.linalg.det(L[np.ix_(S, S)]).real
            for j in range(9):
                larger = [*S, j]
                expected = 0.0 if j in S else np.linalg.det(L[np.ix_(larger, larger)]).real / now
                assert state.addition_ratios()[j] == pytest.approx(expected, abs=1e-9)
            for a in range(len(S)):
                rest = S[:a] + S[a + 1 :]
                assert state.removal_ratios()[a] == pytest.approx(np.linalg.det(L[np.ix_(rest, rest)]).real / now)
                assert (state.exchange_ratios()[a, S] == 0.0).all()
                for j in set(range(9)) - set(S):
                    other = [*rest, j]
                    expected = np.linalg.det(L[np.ix_(other, other)]).real / now
                    assert state.exchange_ratios()[a, j] == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("k", [1, 3, 6])
def test_sized_result_is_above_greedy_and_no_exchange_improves_it(seed, k):
    L = wishart(12, 9, seed)
    dpp = dv.DPP(L)
    found = map_local_search(dpp, k)
    assert len(found) == k
    assert found.objective >= dv.map_greedy(dpp, k).log_det - 1e-12
    S = list(found)
    assert found.objective == pytest.approx(log_det_of(L, S))
    assert found.log_prob == pytest.approx(dpp.log_prob(S))
    assert found.gains.sum() == pytest.approx(found.log_det)
    for a in range(k):
        for j in set(range(12)) - set(S):
            assert log_det_of(L, [*S[:a], *S[a + 1 :], j]) <= found.objective + 1e-8


@pytest.mark.parametrize("seed", range(8))
def test_free_result_cannot_be_improved_by_any_single_change(seed):
    L = 2.0 * wishart(10, 14, seed)
    found = map_local_search(dv.DPP(L))
    assert found.objective >= dv.map_greedy(dv.DPP(L)).log_det - 1e-12
    S = set(found)
    changes = [S | {j} for j in set(range(10)) - S] + [S - {i} for i in S]
    changes += [(S - {i}) | {j} for i in S for j in set(range(10)) - S]
    assert max(log_det_of(L, sorted(T)) for T in changes) <= found.objective + 1e-8
    # Optimality for additions and removals alone gives the inequality of the docstring.
    for size in range(11):
        for C in combinations(range(10), size):
            both = log_det_of(L, sorted(S | set(C))) + log_det_of(L, sorted(S & set(C)))
            assert 2.0 * found.objective >= both - 1e-7


def test_exchange_beats_greedy_where_it_must():
    dpp = dv.DPP.from_features([[1.1, 1.1], [1.5, 0.0], [0.0, 1.5]])
    assert map_local_search(dpp, 2).objective > dv.map_greedy(dpp, 2).log_det + 0.5


def test_features_and_kernel_agree():
    F = np.random.default_rng(3).standard_normal((200, 15))
    assert (
        map_local_search(dv.DPP.from_features(F), 8).indices.tolist()
        == map_local_search(dv.DPP(F @ F.T), 8).indices.tolist()
    )


def test_start_is_used_and_never_left_for_worse():
    L = wishart(12, 15, 4)
    dpp = dv.DPP(L)
    start = [1, 5, 8, 10]
    one = map_local_search(dpp, 4, start=start, max_iter=1)
    assert len(set(one) & set(start)) >= 3
    assert one.objective >= log_det_of(L, start)
    assert map_local_search(dpp, 4, start=start).objective >= one.objective
    assert map_local_search(dpp, start=one.indices).objective >= one.objective


@pytest.mark.parametrize("name", sorted(LIKELIHOOD_KERNELS))
def test_edges_of_every_kernel(name):
    L = LIKELIHOOD_KERNELS[name]
    dpp = dv.DPP(L)
    assert map_local_search(dpp, 0).indices.tolist() == []
    full = map_local_search(dpp, dpp.rank)
    assert len(full) == dpp.rank
    assert full.objective > -math.inf
    free = map_local_search(dpp)
    assert free.objective >= max(0.0, math.log(max(np.diagonal(L).real.max(initial=0.0), 1e-300))) - 1e-12
    with pytest.raises(dv.errors.SizeError, match=f"k is {dpp.rank + 1}.* {dpp.rank} items"):
        map_local_search(dpp, dpp.rank + 1)


def test_duplicates_never_come_together():
    found = map_local_search(dv.DPP(duplicated(8, 1)), 6)
    assert len({0, 1, 2} & set(found)) == 1


def test_scale_changes_nothing():
    L = wishart(10, 12, 7)
    sets = [map_local_search(dv.DPP(c * L), 5).indices.tolist() for c in (1e-12, 1.0, 1e12)]
    assert sets[0] == sets[1] == sets[2]


def test_an_equal_set_is_not_worth_a_move_where_entries_hide_eigenvalues():
    # Items 0 and 1 can be swapped: every set with one of them ties with that of the other.
    basis = np.zeros((6, 6))
    basis[:2, 0], basis[:2, 1] = math.sqrt(0.5), [math.sqrt(0.5), -math.sqrt(0.5)]
    basis[2:, 2:] = np.eye(4)
    turn = np.eye(6)
    rest = [0, 2, 3, 4, 5]
    turn[np.ix_(rest, rest)] = np.linalg.qr(np.random.default_rng(0).standard_normal((5, 5)))[0]
    dpp = dv.DPP.from_spectrum(10.0 ** np.array([-9.0, -12.0, 0.0, 1.0, 9.0, 12.0]), basis @ turn)
    assert dpp._representation.rows_of_hidden is not None
    best = max(combinations(range(6), 3), key=dpp.log_prob)
    best = [i for i in best if i > 1] + ([0] if 0 in best or 1 in best else [])
    assert 0 in best
    swapped = [1 if i == 0 else i for i in best]
    assert dpp.log_prob(swapped) == pytest.approx(dpp.log_prob(best), abs=1e-11)
    for start in (best, swapped):
        assert set(map_local_search(dpp, 3, start=start)) == set(start)
        assert set(map_local_search(dpp, 3, start=start, max_iter=1)) == set(start)


def test_refusals_name_the_value():
    dpp = dv.DPP(wishart(6, 8, 0))
    with pytest.raises(dv.errors.SizeError, match="start has 3 items and k is 2"):
        map_local_search(dpp, 2, start=[0, 1, 2])
    with pytest.raises(dv.errors.LabelError, match="item 9"):
        map_local_search(dpp, start=[9])
    with pytest.raises(dv.errors.DiversetError, match=r"\[0, 1\].*probability 0"):
        map_local_search(dv.DPP(duplicated(5, 0)), start=[0, 1])
    with pytest.raises(dv.errors.DiversetError, match="max_iter is 0"):
        map_local_search(dpp, 2, max_iter=0)
    with pytest.raises(dv.errors.NoLikelihoodKernelError, match="map_local_search needs"):
        map_local_search(dv.DPP.from_marginal(np.diag([1.0, 0.5])))


def test_labels_are_those_of_the_dpp():
    dpp = dv.DPP(wishart(9, 12, 0)).condition(exclude=[0, 4])
    assert set(map_local_search(dpp, 3)) <= set(dpp.items.tolist())
