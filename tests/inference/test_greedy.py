"""Greedy picks equal the textbook's, by determinants."""

import math

import numpy as np
import pytest

import diverset as dv
from kernels_for_tests import LIKELIHOOD_KERNELS, wishart


def textbook_greedy(L, k):
    picked = []
    while len(picked) < k:
        dets = {i: np.linalg.det(L[np.ix_([*picked, i], [*picked, i])]).real for i in range(len(L)) if i not in picked}
        best = max(dets, key=lambda i: (dets[i], -i))
        if dets[best] <= 1e-9:
            break
        picked.append(best)
    return picked


@pytest.mark.parametrize("name", ["random-5", "random-7", "deficient-6", "rank-one", "complex", "graded"])
def test_picks_are_the_textbooks(name):
    L = LIKELIHOOD_KERNELS[name]
    dpp = dv.DPP(L)
    chosen = dv.map_greedy(dpp, k=dpp.rank)
    assert chosen.indices.tolist() == textbook_greedy(L, dpp.rank)
    Y = sorted(chosen)
    assert chosen.log_det == pytest.approx(np.linalg.slogdet(L[np.ix_(Y, Y)])[1], abs=1e-8)
    assert chosen.log_prob == pytest.approx(dpp.log_prob(Y))


def test_features_and_kernel_give_the_same_picks():
    F = np.random.default_rng(0).standard_normal((60, 12))
    from_features = dv.map_greedy(dv.DPP.from_features(F), k=10)
    from_kernel = dv.map_greedy(dv.DPP(F @ F.T), k=10)
    assert from_features.indices.tolist() == from_kernel.indices.tolist()
    np.testing.assert_allclose(from_features.gains, from_kernel.gains, atol=1e-9)


def test_without_k_it_stops_when_no_pick_helps():
    dpp = dv.DPP(np.diag([3.0, 0.5, 2.0, 1.0]))
    assert dv.map_greedy(dpp).indices.tolist() == [0, 2]


def test_labels_survive_and_the_result_indexes_arrays():
    dpp = dv.DPP(wishart(8, 10, 0)).condition(exclude=[0, 1])
    chosen = dv.map_greedy(dpp, k=3)
    assert set(chosen) <= set(dpp.items.tolist())
    assert len(chosen) == 3
    assert np.arange(8)[chosen].tolist() == chosen.indices.tolist()


def test_stops_at_the_rank_and_refuses_what_has_no_likelihood():
    short = dv.map_greedy(dv.DPP(wishart(6, 2, 0)), k=5)
    assert short.rank_spent == len(short) == 2
    for k in (1, 2):
        assert dv.map_greedy(dv.DPP(wishart(6, 2, 0)), k=k).rank_spent is None
    projection = dv.DPP.from_marginal(np.diag([1.0, 0.0]))
    assert projection.log_normalizer == math.inf
    with pytest.raises(dv.errors.NoLikelihoodKernelError, match="thin"):
        dv.map_greedy(projection, k=1)


@pytest.mark.parametrize("low_rank", [False, True])
def test_picks_of_a_nonsymmetric_kernel_are_the_textbooks(low_rank):
    rng = np.random.default_rng(3)
    V, B, D = rng.standard_normal((24, 5)), rng.standard_normal((24, 6)), rng.standard_normal((6, 6))
    dpp = dv.NonsymmetricDPP.from_low_rank(V, B, D)
    L = V @ V.T + B @ (D - D.T) @ B.T
    chosen = dv.map_greedy(dpp if low_rank else dv.NonsymmetricDPP(L), k=9)
    assert chosen.indices.tolist() == textbook_greedy(L, 9)
    prefixes = [np.linalg.slogdet(L[np.ix_(chosen.indices[:m], chosen.indices[:m])])[1] for m in range(10)]
    np.testing.assert_allclose(chosen.gains, np.diff(prefixes), atol=1e-9)


def test_a_nonsymmetric_kernel_has_its_rank_and_grows_past_sixteen_picks():
    rng = np.random.default_rng(4)
    V, B, D = rng.standard_normal((60, 16)), rng.standard_normal((60, 6)), rng.standard_normal((6, 6))
    dpp = dv.NonsymmetricDPP.from_low_rank(V, B, D)
    chosen = dv.map_greedy(dpp, k=30)
    assert chosen.rank_spent == len(chosen) == 22
    L = V @ V.T + B @ (D - D.T) @ B.T
    block = L[np.ix_(chosen.indices, chosen.indices)]
    assert chosen.log_det == pytest.approx(np.linalg.slogdet(block)[1], abs=1e-8)
