"""Walks that never meet: all families against the kernel, the sampler's law by branches, draws of both kinds."""

from collections import Counter
from itertools import product

import numpy as np
import pytest

import diverset as dv
import reference
from branches import every_branch
from diverset.theory.classics import NonIntersectingWalks, lattices


def families(classic):
    """All families by brute force: every path of every walk, kept if no two ever meet."""
    T = classic.n_steps
    steps = [np.cumsum([0, *s]) for s in product([-1, 1], repeat=T)]
    of_each = [[a + s for s in steps if a + s[-1] == b] for a, b in zip(classic.starts, classic.ends, strict=True)]
    for family in product(*of_each):
        paths = np.array(family)
        if all(len(set(column)) == len(column) for column in paths.T):
            yield paths


CASES = {
    "one": ([0], [2], 4),
    "two": ([0, 2], [0, 2], 4),
    "apart": ([0, 4], [-2, 2], 6),
    "three": ([0, 2, 4], [0, 4, 6], 6),
}


@pytest.mark.parametrize("name", CASES)
def test_families_and_kernel_agree_with_listing(name):
    starts, ends, T = CASES[name]
    everything = list(families(NonIntersectingWalks(starts, ends, T)))
    for times in ([1], [T // 2], [1, 2], [0, 1, T], [T // 2, T // 2 + 1]):
        classic = NonIntersectingWalks(starts, ends, T, times=times)
        assert classic.n_families == len(everything)
        law = Counter(frozenset(classic.items_of(paths).tolist()) for paths in everything)
        assert len(classic.sites) <= 14
        for A, p in reference.law_from_K(classic.kernel).items():
            assert law[A] / len(everything) == pytest.approx(p, abs=1e-13)


def test_all_times_at_once():
    """The whole space-time process: the probability of any set of places is a determinant."""
    classic = NonIntersectingWalks([0, 2], [0, 2], 6)
    everything = [frozenset(classic.items_of(paths).tolist()) for paths in families(classic)]
    rng = np.random.default_rng(0)
    for _ in range(60):
        A = rng.choice(len(classic.sites), size=rng.integers(1, 5), replace=False)
        share = np.mean([frozenset(A.tolist()) <= Y for Y in everything])
        assert classic.dpp.marginal(A) == pytest.approx(share, abs=1e-12)


@pytest.mark.parametrize("name", CASES)
def test_every_family_is_drawn_alike(name, monkeypatch):
    monkeypatch.setattr(lattices, "_chance", lambda wins, total, choices: choices.decide(wins / total))
    starts, ends, T = CASES[name]
    classic = NonIntersectingWalks(starts, ends, T)
    law = Counter()
    for paths, p in every_branch(classic._make):
        law[paths.tobytes()] += p
    assert set(law) == {paths.astype(np.int64).tobytes() for paths in families(classic)}
    assert list(law.values()) == pytest.approx([1 / classic.n_families] * len(law), rel=1e-12)


def test_both_samplers_follow_the_law():
    classic = NonIntersectingWalks([0, 2, 4], [0, 2, 4], 10, times=[5])
    law = reference.law_from_K(classic.kernel)
    assert reference.law_p_value(classic.sample(1_500, rng=0), law) > 1e-4
    assert reference.law_p_value(classic.dpp.sample(20_000, rng=1), law) > 1e-4
    # As many items with the same marginals, but repelling otherwise: a k-DPP of independent items.
    p = classic.dpp.inclusion_probabilities
    alone = dv.KDPP(np.diag(p / (1 - p)), 3)
    assert reference.law_p_value(alone.sample(1_500, rng=2), law) < 1e-4


def test_walks_that_return_have_a_symmetric_kernel_half_way():
    classic = NonIntersectingWalks(range(0, 24, 2), range(0, 24, 2), 100, times=[50])
    K = classic.kernel
    # Floating point could not: the path counts are singular to working precision.
    assert np.linalg.cond(classic._G.astype(float)) > 1e13
    assert np.allclose(K, K.T, atol=1e-15)
    assert np.allclose(K @ K, K, atol=1e-13)
    assert np.trace(K) == pytest.approx(12.0)
    assert all(len(Y) == 12 for Y in classic.dpp.sample(20, rng=0))


def test_drawn_walks_keep_the_rules():
    classic = NonIntersectingWalks([0, 2, 4, 10], [0, 6, 8, 10], 20)
    for paths in classic.sample_objects(10, rng=0):
        assert np.array_equal(paths[:, 0], classic.starts)
        assert np.array_equal(paths[:, -1], classic.ends)
        assert set(np.abs(np.diff(paths, axis=1)).ravel().tolist()) == {1}
        assert (np.diff(paths, axis=0) > 0).all()


@pytest.mark.parametrize(
    ("starts", "ends", "T", "message"),
    [
        ([0, 1], [0, 1], 2, "odd distances"),
        ([2, 0], [0, 2], 2, "must increase"),
        ([0], [0, 2], 2, "1 starts but 2 ends"),
        ([0], [1], 2, "without meeting"),
        ([0], [10], 2, "without meeting"),
        ([], [], 2, "starts is empty"),
        (["a"], [0], 2, "whole numbers"),
    ],
)
def test_bad_input(starts, ends, T, message):
    with pytest.raises(ValueError, match=message):
        NonIntersectingWalks(starts, ends, T)


def test_bad_times():
    with pytest.raises(ValueError, match="times run from 3 to 9"):
        NonIntersectingWalks([0], [0], 4, times=[3, 9])
    assert NonIntersectingWalks([0], [0], 4, times=[]).dpp.n_items == 0
