"""Separable factors in which one axis governs the others, beside the dense matrices they stand for."""

import tracemalloc

import numpy as np
import pytest

import diverset as dv
from diverset.errors import KernelError
from diverset.structured import QualityModel, Separable
from diverset.structured import walk as walk_module
from diverset.structured.operators import SeparablePair
from diverset.structured.walk import WalkPlan, draw_structures


def matrices(rng, by, rows=(2, 3, 2), columns=(3, 2, 4), holes=0.3):
    """Random small matrices, stacks but for the governing axis; some entries 0."""
    found = []
    for a, (m, n) in enumerate(zip(rows, columns, strict=True)):
        A = rng.uniform(0.2, 1.0, (m, n) if a == by else (rows[by], m, n))
        found.append(np.where(rng.random(A.shape) < holes, 0.0, A))
    return found


def dense(found, by):
    """W entry by entry, from the definition."""
    rows, columns = tuple(A.shape[-2] for A in found), tuple(A.shape[-1] for A in found)
    W = np.zeros((np.prod(rows), np.prod(columns)))
    for i, y in enumerate(np.ndindex(rows)):
        for j, z in enumerate(np.ndindex(columns)):
            W[i, j] = np.prod([A[y[a], z[a]] if A.ndim == 2 else A[y[by], y[a], z[a]] for a, A in enumerate(found)])
    return W


@pytest.mark.parametrize("by", [0, 1, 2])
@pytest.mark.parametrize("flipped", [False, True])
def test_operator_is_its_dense_twin(by, flipped):
    rng = np.random.default_rng(by)
    found = matrices(rng, by)
    W = dense(found, by)
    if flipped:
        W = W.T
        operator = SeparablePair(tuple(A.swapaxes(-1, -2) for A in found), by, of_columns=True)
    else:
        operator = SeparablePair(tuple(found), by)
    assert operator.shape == W.shape
    X, Z = rng.random((W.shape[1], 3)), rng.random((W.shape[0], 2))
    assert operator.apply(X) == pytest.approx(W @ X, rel=1e-13)
    assert operator.apply_transposed(Z) == pytest.approx(W.T @ Z, rel=1e-13)
    assert operator.apply_max(X[:, 0]) == pytest.approx((W * X[:, 0]).max(axis=1), rel=1e-13)
    values = np.array([3, 0, 3, *range(W.shape[0])])
    rows = operator.rows(values)
    filled = np.zeros((len(values), W.shape[1]))
    for b in range(len(values)):
        part = slice(rows.offsets[b], rows.offsets[b + 1])
        filled[b, rows.columns[part]] = rows.weights[part]
    assert filled == pytest.approx(W[values], rel=1e-13)
    # Only coordinates that a row can reach are listed.
    assert rows.offsets[-1] < len(values) * W.shape[1]


def star(quality, rng, order):
    """Root with two leaves on it, both by this quality, the parts of each factor in this order."""
    root, leaf = quality.shape if order == (0, 1) else quality.shape[::-1]
    graph = dv.FactorGraph([root, leaf, leaf])
    for r, m in enumerate((root, leaf, leaf)):
        graph.add_factor([r], rng.uniform(0.3, 1.0, m), rng.standard_normal((m, 4)))
    for r in (1, 2):
        graph.add_factor([(0, r)[i] for i in order], quality)
    return graph


@pytest.mark.parametrize("by", [0, 2])
@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_model_is_that_of_the_dense_factor(order, by):
    found = matrices(np.random.default_rng(5), by=by, holes=0.2)
    W = dense(found, by)
    models = [
        dv.StructuredDPP(star(q, np.random.default_rng(6), order)).rescale(1.3) for q in (Separable(found, by=by), W)
    ]
    fast, plain = models
    assert fast.eigenvalues == pytest.approx(plain.eigenvalues, rel=1e-11)
    for mu, nu in zip(fast.part_marginals(), plain.part_marginals(), strict=True):
        assert mu == pytest.approx(nu, rel=1e-10, abs=1e-13)
    Y = fast.sample(5, rng=0)
    assert [y.tolist() for y in Y] == [y.tolist() for y in plain.sample(5, rng=0)]
    rows = np.concatenate([y for y in Y if len(y)])
    assert fast.graph.log_quality(rows) == pytest.approx(plain.graph.log_quality(rows), rel=1e-12)
    best = [QualityModel(m.graph).n_best(5).tolist() for m in models]
    assert best[0] == best[1]


def test_bad_stacks_are_refused():
    A, T = np.ones((2, 2)), np.ones((3, 3))
    with pytest.raises(KernelError, match="stack of 2; axis 1, which governs it, has 3"):
        Separable([np.ones((2, 2, 2)), T], by=1)
    for by in (-1, 2):
        with pytest.raises(KernelError, match=f"by is {by}"):
            Separable([A, T], by=by)
    with pytest.raises(KernelError, match=r"matrices\[1\]"):
        Separable([A, np.ones((3, 3, 3))], by=1)
    with pytest.raises(KernelError, match=r"matrices\[0\]"):
        Separable([np.ones((3, 2, 2)), T])


def test_equal_matrices_under_another_axis_are_another_factor():
    graph = dv.FactorGraph([4, 4, 4])
    rng = np.random.default_rng(0)
    A, B = rng.random((2, 2)), rng.random((2, 2))
    graph.add_factor([0, 1], Separable([A, B]))
    graph.add_factor([1, 2], Separable([A, B], by=1))
    assert graph.factors[0].potential is not graph.factors[1].potential


def test_draws_do_not_depend_on_how_many_walk_together(monkeypatch):
    graph = star(Separable(matrices(np.random.default_rng(5), by=2), by=2), np.random.default_rng(6), (0, 1))
    tree = dv.StructuredDPP(graph)._space.tree
    plan = WalkPlan.of(tree, np.random.default_rng(1).standard_normal((4, 2)))
    n = np.arange(40) % 2
    together = draw_structures(plan, n, np.random.default_rng(2))
    monkeypatch.setattr(walk_module, "_CANDIDATES", 50)
    assert draw_structures(plan, n, np.random.default_rng(2)).tolist() == together.tolist()


def test_memory_is_that_of_the_messages():
    """20,736 values a part: the dense factor alone would take 3.4 GB."""
    H, W, T, D = 24, 36, 24, 8
    y, x, turn = np.arange(H), np.arange(W), np.arange(T)

    def spring(axis, shift):
        return np.exp(-0.5 * ((axis[None, :, None] + shift[:, None, None] - axis) / 2.0) ** 2)

    angle = 2 * np.pi * turn / T
    quality = Separable(
        [spring(y, 3 * np.sin(angle)), spring(x, 3 * np.cos(angle)), np.exp(2 * np.cos(angle[:, None] - angle))], by=2
    )
    rng = np.random.default_rng(0)
    graph = dv.FactorGraph([H * W * T] * 2)
    for r in range(2):
        graph.add_factor([r], rng.random(H * W * T), rng.random((H * W * T, D)))
    graph.add_factor([0, 1], quality)
    tracemalloc.start()
    try:
        dv.StructuredDPP(graph).rescale(3.0).sample(5, rng=0)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    # Messages of 1 + 2D numbers a value, and about ten arrays over the candidates of some walks.
    assert peak < 8e7
