"""Draws from features in blocks: their law, and that neither blocks nor workers show in them."""

import numpy as np
import pytest

import diverset as dv
import reference
from diverset.distributed.model import SEGMENT, BlockProposals, ElementaryDraw

da = pytest.importorskip("dask.array", reason="Dask is not installed")


def small(seed=0, *, complex_=False):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((7, 3)) * [1.0, 0.6, 0.3]
    if complex_:
        X = X + 1j * rng.standard_normal((7, 3))
    return X, rng.random(7) + 0.5


def law_of(X, q):
    B = q[:, None] * X
    return reference.law_from_L(B @ B.conj().T)


@pytest.mark.parametrize("complex_", [False, True])
def test_draws_have_the_law(complex_):
    X, q = small(complex_=complex_)
    dpp = dv.DPP.from_features(da.from_array(X, chunks=(2, 3)), q)
    law = law_of(X, q)
    assert reference.law_p_value(dpp.sample(1200, rng=1), law) > 1e-3
    assert reference.law_p_value(dpp.of_size(2).sample(600, rng=2), reference.of_size(law, 2)) > 1e-3


def test_a_sampler_that_never_refuses_is_found_out(monkeypatch):
    X, q = small()
    monkeypatch.setattr(ElementaryDraw, "ask", _generous(ElementaryDraw.ask))
    draws = dv.DPP.from_features(da.from_array(X, chunks=(2, 3)), q).of_size(2).sample(600, rng=2)
    assert reference.law_p_value(draws, reference.of_size(law_of(X, q), 2)) < 1e-6


def _generous(ask):
    def asked(self, rng):
        columns, where, level = ask(self, rng)
        return columns, where, 1e-9 * level

    return asked


def test_conditioned_draws_have_the_law():
    X, q = small()
    dpp = dv.DPP.from_features(da.from_array(X, chunks=(2, 3)), q).condition(include=[2], exclude=[5])
    law = reference.conditioned(law_of(X, q), [2], [5])
    assert reference.law_p_value(dpp.sample(1000, rng=3), law) > 1e-3


def tall(n=3000, width=12, spread=1.0, seed=0):
    return np.random.default_rng(seed).standard_normal((n, width)) * np.geomspace(1.0, spread, width)


def test_draws_depend_on_the_seed_alone():
    X = tall()
    draws = [
        dv.DPP.from_features(da.from_array(X, chunks=c)).of_size(6).sample(40, rng=5)
        for c in (3000, 1000, ((1, 2 * SEGMENT + 1, 3000 - 2 * SEGMENT - 2), 12))
    ]
    for other in draws[1:]:
        for a, b in zip(draws[0], other, strict=True):
            np.testing.assert_array_equal(a, b)
    again = dv.DPP.from_features(da.from_array(X, chunks=1000)).of_size(6)
    np.testing.assert_array_equal(np.stack(again.sample(40, rng=5)), np.stack(draws[0]))
    assert not np.array_equal(np.stack(again.sample(40, rng=6)), np.stack(draws[0]))
    np.testing.assert_array_equal(np.stack(list(again.stream(40, rng=5))), np.stack(draws[0]))


def test_frequencies_of_single_items_over_segments():
    """Counts of items by segment, each against its probability: a fault of the cumulative sums would show here."""
    X = tall(n=5 * SEGMENT + 17) * np.linspace(0.2, 2.0, 5 * SEGMENT + 17)[:, None]
    kdpp = dv.DPP.from_features(da.from_array(X, chunks=2 * SEGMENT + 50)).of_size(5)
    items = np.concatenate(kdpp.sample(700, rng=0))
    p = kdpp.inclusion_probabilities.compute()
    cell = np.arange(len(p)) // 40
    observed, expected = np.bincount(cell[items], minlength=cell[-1] + 1), 700 * np.bincount(cell, p)
    # Variances of counts of a k-DPP are below those of independent items.
    assert (np.abs(observed - expected) < 5.0 * np.sqrt(expected)).all()
    # The test can fail: with the segments in reverse order it does.
    assert (np.abs(observed - expected[::-1]) > 5.0 * np.sqrt(expected[::-1])).any()


def test_eigenvectors_of_a_wide_spectrum_are_made_orthonormal():
    # Turned, or the small eigenvectors would be columns of their own, and exact.
    X = tall(spread=1e-5) @ np.linalg.qr(tall(n=12))[0]
    dpp = dv.DPP.from_features(da.from_array(X, chunks=700))
    representation = dpp._representation
    proposals = BlockProposals(representation.factor, representation.eigenvector_map)
    V = X @ proposals.A
    plain = X @ representation.eigenvector_map
    error, before = (np.abs(W.T @ W - np.eye(12)).max() for W in (V, plain))
    assert error < 1e-10
    assert before > 1e-8
    np.testing.assert_allclose(proposals.cumulative[-1], 1.0, rtol=1e-12)


def test_a_draw_fetches_few_rows(monkeypatch):
    fetched, trips = [], []
    propose = BlockProposals.propose
    monkeypatch.setattr(
        BlockProposals,
        "propose",
        lambda self, columns, u: (fetched.append(len(columns)), trips.append(1), propose(self, columns, u))[2],
    )
    k = 10
    draws = dv.DPP.from_features(da.from_array(tall(), chunks=700)).of_size(k).sample(300, rng=0)
    assert all(len(draw) == k for draw in draws)
    harmonic = sum(1.0 / i for i in range(1, k + 1))
    assert sum(fetched) / 300 < 1.25 * k * (harmonic + 1.0)
    assert len(trips) <= 6


def test_edges():
    lazy = da.from_array(tall(), chunks=700)
    dpp = dv.DPP.from_features(lazy)
    assert len(dpp.of_size(0).sample(rng=0)) == 0
    assert len(dpp.of_size(12).sample(rng=0)) == 12
    zero = dv.DPP.from_features(da.zeros((50, 3), chunks=20))
    assert len(zero.sample(rng=0)) == 0
    repeated = dv.DPP.from_features(da.from_array(np.repeat(np.eye(3), 20, axis=0), chunks=7)).of_size(3)
    for draw in repeated.sample(50, rng=0):
        assert (draw // 20).tolist() == [0, 1, 2]
    sized = dv.SizedDPP(dpp, [0.0, 0.5, 0.0, 0.5])
    assert {len(draw) for draw in sized.sample(30, rng=0)} == {1, 3}
