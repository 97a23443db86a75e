"""Diverse batches: the law by enumeration, unbiased gradients, epochs, and the real DataLoader."""

from itertools import combinations
from math import comb

import numpy as np
import pytest
import scipy.sparse
from scipy.stats import chisquare

import diverset as dv
from diverset.errors import DiversetError, KernelError, SizeError
from diverset.integrations.torch import DiverseBatchSampler, RidgeKDPP
from reference import law_from_L, law_p_value, of_size, probability, subsets


def rows(n, D, seed=0):
    return np.random.default_rng(seed).standard_normal((n, D)) * np.linspace(0.5, 2.0, n)[:, None]


def kernel(F, ridge):
    return F @ F.T + ridge * (F**2).sum(axis=1).mean() * np.eye(len(F))


# k at most the rank, above it, equal to n; without and with a ridge; more features than items
CASES = [
    (6, 3, 2, 0.0),
    (6, 3, 3, 0.0),
    (6, 3, 2, 0.4),
    (6, 2, 4, 0.3),
    (7, 2, 5, None),
    (5, 2, 5, 0.1),
    (5, 8, 3, 0.2),
]


@pytest.mark.parametrize(("n", "D", "k", "ridge"), CASES)
def test_law_by_enumeration(n, D, k, ridge):
    F = rows(n, D)
    model = RidgeKDPP(F, k, ridge)
    law = of_size(law_from_L(kernel(F, model.ridge)), k)
    for Y in combinations(range(n), k):
        p = law[frozenset(Y)]
        assert np.exp(model.log_prob(np.array(Y))) == pytest.approx(p, abs=1e-12)
        # What the three steps of a draw add up to.
        parts = [T for T in subsets(Y) if len(T) < len(model.size_probabilities) and model.size_probabilities[len(T)]]
        steps = sum(
            model.size_probabilities[len(T)]
            * np.exp(dv.DPP.from_features(F).of_size(len(T)).log_prob(sorted(T)))
            / comb(n - len(T), k - len(T))
            for T in parts
        )
        assert steps == pytest.approx(p, abs=1e-12)
    expected = [probability(law, include=[i]) for i in range(n)]
    np.testing.assert_allclose(model.inclusion_probabilities(), expected, atol=1e-12)


@pytest.mark.needs_compiled
@pytest.mark.parametrize(("n", "D", "k", "ridge"), [(6, 3, 2, 0.0), (6, 2, 4, 0.3), (7, 2, 5, None)])
def test_draws_follow_the_law(n, D, k, ridge):
    F = rows(n, D, seed=1)
    sampler = DiverseBatchSampler(F, k, rng=0, ridge=ridge, n_batches=10_000)
    law = {Y: p for Y, p in of_size(law_from_L(kernel(F, sampler.ridge)), k).items() if p > 0.0}
    draws = list(sampler)
    assert law_p_value(draws, law) > 1e-4
    uniform = dict.fromkeys(map(frozenset, combinations(range(n), k)), 1.0 / comb(n, k))
    assert law_p_value(draws, uniform) < 1e-4


def test_the_weighted_gradient_is_unbiased():
    F = rows(7, 2, seed=2)
    sampler = DiverseBatchSampler(F, 4, rng=0)
    law = of_size(law_from_L(kernel(F, sampler.ridge)), 4)
    gradients = np.random.default_rng(3).standard_normal((7, 5))
    w = sampler.weights
    mean = sum(p * (w[list(Y), None] * gradients[list(Y)]).sum(axis=0) for Y, p in law.items() if Y)
    np.testing.assert_allclose(mean, gradients.sum(axis=0), atol=1e-12)
    plain = sum(p * gradients[list(Y)].mean(axis=0) for Y, p in law.items() if Y)
    assert np.abs(plain - gradients.mean(axis=0)).max() > 0.01  # which is why there are weights


@pytest.mark.needs_compiled
@pytest.mark.parametrize(("k", "D"), [(16, 16), (24, 8)])
def test_inclusion_frequencies(k, D):
    F = rows(400, D, seed=4)
    sampler = DiverseBatchSampler(F, k, rng=5, n_batches=20_000)
    counts = np.bincount(np.concatenate(list(sampler)), minlength=400)
    p = sampler.inclusion_probabilities
    z = (counts - 20_000 * p) / np.sqrt(20_000 * p * (1.0 - p))
    assert np.abs(z).max() < 5.0
    assert 0.8 < z.std() < 1.2
    shifted = (counts - 20_000 * np.roll(p, 1)) / np.sqrt(20_000 * p * (1.0 - p))
    assert np.abs(shifted).max() > 5.0


def test_epochs_are_seeded_and_differ():
    F = rows(60, 4)
    one, two = DiverseBatchSampler(F, 8, rng=7), DiverseBatchSampler(F, 8, rng=7)
    first, second = list(one), list(one)
    assert first != second
    assert [list(two), list(two)] == [first, second]
    two.epoch = 1
    assert list(two) == second
    assert len(one) == len(first) == 8
    assert all(isinstance(i, int) for i in first[0])
    # Two epochs that are read at the same time do not disturb each other.
    three = DiverseBatchSampler(F, 8, rng=7)
    pairs = list(zip(three, three, strict=True))
    assert [a for a, _ in pairs] == first
    assert [b for _, b in pairs] == second
    assert list(DiverseBatchSampler(F, 8, rng=8)) != first


@pytest.mark.parametrize(("n", "k", "drop_last"), [(100, 10, False), (103, 10, False), (103, 10, True), (9, 4, False)])
def test_coverage_visits_every_item_once(n, k, drop_last):
    sampler = DiverseBatchSampler(rows(n, 3), k, rng=0, cover=True, drop_last=drop_last)
    batches = list(sampler)
    seen = np.concatenate(batches)
    assert len(batches) == len(sampler)
    assert len(np.unique(seen)) == len(seen) == (n - n % k if drop_last else n)
    assert {len(batch) for batch in batches[: n // k]} == {k}
    assert list(sampler) != batches


@pytest.mark.needs_compiled
def test_every_batch_of_a_covering_epoch_is_unbiased():
    """An item is as likely in the first batch as in the last, although the draws of a block spread out rare kinds."""
    n, k, epochs = 12, 3, 200
    F = np.repeat(np.eye(4), [7, 3, 1, 1], axis=0)
    sampler = DiverseBatchSampler(F, k, rng=0, cover=True)
    np.testing.assert_array_equal(sampler.inclusion_probabilities, np.full(n, 0.25))

    def p_value(epoch):
        places = np.zeros((4, n))
        for _ in range(epochs):
            for place, batch in enumerate(epoch()):
                places[place, batch] += 1
        # An item has one place in an epoch, and a place three items.
        return chisquare(places.ravel(), np.full(4 * n, epochs / 4), ddof=4 * n - 1 - 3 * (n - 1)).pvalue

    assert p_value(lambda: sampler) > 1e-4
    rng = np.random.default_rng(0)
    assert p_value(lambda: sampler._divided(np.arange(n), rng)) < 1e-4  # in the order they were drawn


def test_coverage_keeps_twins_apart():
    F = np.repeat(np.eye(8), 8, axis=0)
    sampler = DiverseBatchSampler(F, 8, rng=0, cover=True)
    distinct = [len({i // 8 for i in batch}) for batch in sampler]
    assert np.mean(distinct) > 7.5  # uniform batches hold 5.5 kinds


def test_indicators_of_clusters_give_one_item_of_each():
    labels = np.repeat(np.arange(4), [5, 10, 15, 20])
    sampler = DiverseBatchSampler(np.eye(4)[labels], 4, rng=0)
    assert all(sorted(labels[batch]) == [0, 1, 2, 3] for batch in sampler)
    np.testing.assert_allclose(sampler.weights, np.array([5, 10, 15, 20])[labels])


def test_kinds_of_features():
    F = rows(40, 5)
    expected = list(DiverseBatchSampler(F, 5, rng=0))
    assert list(DiverseBatchSampler(F.tolist(), 5, rng=0)) == expected
    sparse = scipy.sparse.csr_array(F)
    assert [len(batch) for batch in DiverseBatchSampler(sparse, 8, rng=0)] == [8] * 5
    assert sorted(np.concatenate(list(DiverseBatchSampler(sparse, 8, rng=0, cover=True)))) == list(range(40))
    with_zero = np.vstack([F, np.zeros(5)])
    with pytest.raises(KernelError, match="item 40 is never drawn"):
        _ = DiverseBatchSampler(with_zero, 5).weights
    assert DiverseBatchSampler(with_zero, 5, ridge=0.1).weights.max() < 100


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"batch_size": 0}, DiversetError, "batch_size is 0"),
        ({"batch_size": 21}, SizeError, "batch_size is 21, but there are only 20 items"),
        ({"batch_size": 8, "ridge": 0.0}, SizeError, "8 items is larger than the rank of the features, 3"),
        ({"batch_size": 8, "ridge": -1.0}, DiversetError, "ridge is -1"),
        ({"batch_size": 8, "cover": True, "n_batches": 3}, DiversetError, "n_batches is 3, but cover=True"),
        ({"batch_size": 8, "drop_last": True}, DiversetError, "drop_last is for cover=True"),
    ],
)
def test_wrong_arguments(arguments, error, message):
    with pytest.raises(error, match=message):
        DiverseBatchSampler(rows(20, 3), **arguments)
    with pytest.raises(KernelError, match="all features are zero"):
        DiverseBatchSampler(np.zeros((20, 3)), 2)
    with pytest.raises(KernelError, match="nan"):
        DiverseBatchSampler(np.full((20, 3), np.nan), 2, cover=True)


@pytest.mark.parametrize("workers", [0, 2])
def test_data_loader(workers):
    torch = pytest.importorskip("torch", reason="torch is not installed")
    from torch.utils.data import DataLoader, TensorDataset

    F = torch.as_tensor(rows(50, 4))
    sampler = DiverseBatchSampler(F, 10, rng=3)
    expected = [list(sampler), list(sampler)]
    sampler.epoch = 0
    loader = DataLoader(TensorDataset(F, torch.arange(50)), batch_sampler=sampler, num_workers=workers)
    assert len(loader) == 5
    for epoch in range(2):
        for (features, numbers), batch in zip(loader, expected[epoch], strict=True):
            assert numbers.tolist() == batch
            assert torch.equal(features, F[batch])
