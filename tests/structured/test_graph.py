"""Factor graphs: what they hold, what they refuse, and the ways to hold pairwise weights."""

import numpy as np
import pytest
import scipy.sparse

import diverset as dv
from diverset.errors import DiversetError, ImpossibleEventError, KernelError, LabelError, SizeError, TooLargeError
from diverset.structured import Separable, junction_tree
from diverset.structured.operators import DensePair, SeparablePair, SparsePair, UniformPair


def small():
    g = dv.FactorGraph([3, 2], names=["a", "b"], value_names=[["x", "y", "z"], ["u", "v"]])
    g.add_factor(["a"], features=np.eye(3))
    g.add_factor(["a", "b"], quality=[[1.0, 2.0], [0.5, 0.0], [1.0, 1.0]])
    return g


def test_names():
    g = small()
    assert g.names == ("a", "b")
    assert g.named([[2, 1], [0, 0]]) == [("z", "v"), ("x", "u")]
    s = dv.StructuredDPP(g)
    by_name, by_number = s.condition(parts={"a": "z"}), s.condition(parts={0: 2})
    assert by_name.log_normalizer == by_number.log_normalizer


def test_equal_potentials_are_stored_once_and_changed_ones_are_not():
    T = np.random.default_rng(0).random((4, 4))
    g = dv.FactorGraph([4] * 50)
    for r in range(49):
        g.add_factor([r, r + 1], quality=T)
    assert len({id(f.potential) for f in g.factors}) == 1
    assert not any(np.shares_memory(f.potential.dense, T) for f in g.factors)
    T *= 0.5
    g.add_factor([0, 1], quality=T)
    assert len({id(f.potential) for f in g.factors}) == 2


def test_models_do_not_see_later_factors():
    g = small()
    s = dv.StructuredDPP(g)
    before = s.log_normalizer
    g.add_factor([0], quality=[1.0, 0.0, 0.0])
    assert dv.StructuredDPP(small()).log_normalizer == before
    assert s.graph.log_quality([[2, 0]])[0] == 0.0


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        (dict(parts=[0], quality=[1.0, -2.0, 1.0]), KernelError, r"factor 0 over \[0\]\[1\] is -2"),
        (dict(parts=[0, 1], quality=[[1, 2], [np.nan, 1], [1, 1]]), KernelError, r"\[1, 0\] is nan"),
        (dict(parts=[0], log_quality=[0.0, np.inf, 0.0]), KernelError, r"\[1\] is inf"),
        (dict(parts=[0], quality=[1.0, 2.0]), KernelError, r"shape \(2,\).*3 values"),
        (dict(parts=[0, 1], quality=np.zeros((3, 2))), KernelError, "0 everywhere"),
        (dict(parts=[0], features=np.ones((2, 4))), KernelError, r"shape \(2, 4\)"),
        (dict(parts=[0], features=[[1.0], [np.inf], [2.0]]), KernelError, r"\[1, 0\] is inf"),
        (dict(parts=[0], quality=np.ones(3), log_quality=np.zeros(3)), KernelError, "both"),
        (dict(parts=[5], quality=np.ones(3)), LabelError, "part 5"),
        (dict(parts=["c"], quality=np.ones(3)), LabelError, "'c'"),
        (dict(parts=[0, 0], quality=np.ones((3, 3))), LabelError, "twice"),
        (dict(parts=0, quality=np.ones(3)), LabelError, "sequence of parts"),
        (dict(parts=[], quality=np.ones(())), LabelError, "no parts"),
        (
            dict(parts=[0, 1], quality=scipy.sparse.coo_array(([1.0, 2], ([1, 1], [0, 0])), (3, 2))),
            KernelError,
            "twice",
        ),
        (
            dict(parts=[0, 1], quality=scipy.sparse.coo_array(([-1.0], ([1], [0])), (3, 2))),
            KernelError,
            r"\[1, 0\] is -1",
        ),
        (dict(parts=[0, 1], quality=Separable([np.ones((3, 3))])), KernelError, r"shape \(3, 3\)"),
    ],
)
def test_bad_factors_are_refused_with_the_entry(arguments, error, message):
    g = dv.FactorGraph([3, 2], names=["a", "b"])
    with pytest.raises(error, match=message):
        g.add_factor(**arguments)
    assert g.factors == ()


def test_bad_graphs_and_models():
    with pytest.raises(DiversetError, match="empty"):
        dv.FactorGraph([])
    with pytest.raises(DiversetError, match=r"n_values\[1\] is 0"):
        dv.FactorGraph([2, 0])
    with pytest.raises(LabelError, match="names has 1"):
        dv.FactorGraph([2, 2], names=["a"])
    g = dv.FactorGraph([2, 2])
    with pytest.raises(KernelError, match="no factor"):
        dv.StructuredDPP(g)
    g.add_factor([0], features=np.ones((2, 3)))
    with pytest.raises(KernelError, match="2 dimensions, those of earlier factors 3"):
        g.add_factor([1], features=np.ones((2, 2)))
    with pytest.raises(DiversetError, match="FactorGraph"):
        dv.StructuredDPP(np.eye(3))
    g.add_factor([0, 1], quality=[[1.0, 0.0], [0.0, 0.0]])
    g.add_factor([1], quality=[0.0, 1.0])
    with pytest.raises(DiversetError, match="no structure is allowed"):
        dv.StructuredDPP(g).log_normalizer  # noqa: B018


def test_bad_questions():
    s = dv.StructuredDPP(small())
    with pytest.raises(LabelError, match="more than once"):
        s.log_prob([[0, 0], [0, 0]])
    with pytest.raises(LabelError, match="value 2 to part b"):
        s.log_prob([[0, 2]])
    with pytest.raises(LabelError, match="row of 2 values"):
        s.log_prob([[0, 1, 1]])
    with pytest.raises(LabelError, match="float64"):
        s.log_prob([[0.5, 1.0]])
    with pytest.raises(SizeError, match="k is 4"):
        s.of_size(4)
    with pytest.raises(SizeError, match="below the rank, 3"):
        s.rescale(3.0)
    with pytest.raises(ImpossibleEventError, match="probability is 0"):
        s.condition(include=[[1, 1]])
    with pytest.raises(LabelError, match="both include and exclude"):
        s.condition(include=[[0, 0]], exclude=[[0, 0]])
    with pytest.raises(DiversetError, match="choose one of auto"):
        s.sample(method="fast")


def test_export():
    graph = small().to_networkx()
    assert sorted(data["label"] for _, data in graph.nodes(data=True) if data["kind"] == "part") == ["a", "b"]
    assert graph.number_of_edges() == 3
    artists = dv.plots.plot_factor_graph(small())
    assert {text.get_text() for text in artists[0].axes.texts} >= {"a", "b"}


@pytest.fixture
def pairs():
    rng = np.random.default_rng(1)
    small = [rng.random((3, 2)), rng.random((2, 4)), rng.random((2, 2))]
    kron = np.kron(np.kron(small[0], small[1]), small[2])
    W = rng.random((6, 9)) * (rng.random((6, 9)) < 0.4)
    W[2] = 0.0
    csr = scipy.sparse.csr_array(W)
    return [
        (SeparablePair(tuple(small)), kron),
        (SparsePair(csr.indptr, csr.indices, csr.data, W.shape), W),
        (DensePair(W), W),
        (UniformPair((4, 5)), np.ones((4, 5))),
    ]


@pytest.mark.parametrize("width", [1, 3, 8, 21])
def test_pair_weights_multiply_like_their_matrix(pairs, width):
    rng = np.random.default_rng(2)
    for operator, W in pairs:
        X, Z = rng.random((W.shape[1], width)), rng.random((W.shape[0], width))
        assert operator.apply(X) == pytest.approx(W @ X, rel=1e-13)
        assert operator.apply_transposed(Z) == pytest.approx(W.T @ Z, rel=1e-13)
        left, right = rng.random(W.shape[0]), rng.random(W.shape[1])
        assert operator.apply_scaled(left, right, X) == pytest.approx(left[:, None] * (W * right) @ X, rel=1e-13)
        assert operator.apply_max(X[:, 0]) == pytest.approx((W * X[:, 0]).max(axis=1), rel=1e-13)
        values = np.array([1, 0, 1, 2])
        rows = operator.rows(values)
        filled = np.zeros((4, W.shape[1]))
        for b in range(4):
            part = slice(rows.offsets[b], rows.offsets[b + 1])
            filled[b, rows.columns[part]] = rows.weights[part]
        assert filled == pytest.approx(W[values], rel=1e-13)


def test_sparse_products_of_every_width():
    """A row is summed up in vectors, with other code for each number of them, and entries two by two in some."""
    rng = np.random.default_rng(4)
    W = rng.random((9, 40)) * (np.arange(40) < np.array([0, 1, 2, 3, 4, 7, 8, 21, 40])[:, None])
    csr = scipy.sparse.csr_array(W)
    left, right = rng.random(9), rng.random(40)
    for kind in (np.int32, np.int64):
        operator = SparsePair(csr.indptr.astype(kind), csr.indices.astype(kind), csr.data, W.shape)
        for width in range(1, 110):
            X = rng.standard_normal((40, width))
            expected = left[:, None] * (W * right) @ X
            assert operator.apply_scaled(left, right, X) == pytest.approx(expected, abs=1e-13), width
            # Arrays that are not contiguous, too.
            wide, both = np.repeat(X, 2, axis=1), np.repeat(right, 2)
            assert operator.apply_scaled(left, both[::2], wide[:, ::2]) == pytest.approx(expected, abs=1e-13), width


def test_separable_quality_is_its_kronecker_product():
    rng = np.random.default_rng(3)
    A, B = rng.random((2, 3)), rng.random((2, 2))
    phi = [rng.standard_normal((4, 3)), rng.standard_normal((6, 3))]
    models = []
    for quality in (Separable([A, B]), np.kron(A, B)):
        g = dv.FactorGraph([4, 6])
        for r in range(2):
            g.add_factor([r], features=phi[r])
        g.add_factor([0, 1], quality=quality)
        models.append(dv.StructuredDPP(g))
    Y = np.stack([i.ravel() for i in np.indices((4, 6))], axis=1)
    assert models[0].dual_kernel == pytest.approx(models[1].dual_kernel, rel=1e-12)
    assert models[0].graph.log_quality(Y) == pytest.approx(models[1].graph.log_quality(Y), rel=1e-12)


def test_junction_tree_refuses_with_the_width():
    g = dv.FactorGraph([10] * 5)
    for r in range(5):
        for s in range(r):
            g.add_factor([r, s], quality=np.ones((10, 10)) + np.eye(10), features=np.ones((10, 10, 1)))
    assert junction_tree(g, max_states=100_000).width == 4
    with pytest.raises(TooLargeError, match="induced width is 4"):
        dv.StructuredDPP(g, max_states=10_000).log_normalizer  # noqa: B018


def test_long_chains_and_tiny_qualities():
    rng = np.random.default_rng(4)
    T, q, phi = rng.uniform(0.5, 1.0, (4, 4)), rng.uniform(0.5, 1.0, 4), rng.standard_normal((4, 3))
    models = {}
    for scale in (1.0, 1e-200):
        g = dv.FactorGraph([4] * 1_000)
        for r in range(1_000):
            g.add_factor([r], quality=scale * q, features=phi)
        for r in range(999):
            g.add_factor([r, r + 1], quality=scale * T)
        models[scale] = dv.StructuredDPP(g).rescale(1.5)
    tiny, plain = models[1e-200], models[1.0]
    assert tiny.log_normalizer == pytest.approx(plain.log_normalizer, rel=1e-9)
    Y = tiny.of_size(2).sample(rng=0)
    assert Y.shape == (2, 1_000)
    assert tiny.of_size(2).log_prob(Y) == pytest.approx(plain.of_size(2).log_prob(Y), rel=1e-9)
    assert sum(m.sum() for m in tiny.part_marginals()) == pytest.approx(1_500.0, rel=1e-9)
    with pytest.raises(KernelError, match="rescale"):
        dv.StructuredDPP(tiny.graph).dual_kernel  # noqa: B018


def test_wide_stars_do_not_overflow():
    g = dv.FactorGraph([3] * 801)
    for r in range(1, 801):
        g.add_factor([0, r], quality=1e-3 + np.eye(3))
        g.add_factor([r], features=np.eye(3))
    s = dv.StructuredDPP(g).rescale(1.0)
    assert s.part_marginals()[0].sum() == pytest.approx(1.0, rel=1e-9)
    assert s.of_size(1).sample(rng=0).shape == (1, 801)


def test_one_factor_over_many_parts_is_read_once():
    apart, together = dv.FactorGraph([3, 3, 3]), dv.FactorGraph([3, 3, 3])
    quality, features = np.arange(1.0, 4.0), np.eye(3)
    for r in range(3):
        apart.add_factor([r], quality, features)
    together.add_factors([[r] for r in range(3)], quality, features)
    assert len({id(f.potential) for f in together.factors}) == 1
    np.testing.assert_array_equal(dv.StructuredDPP(apart).dual_kernel, dv.StructuredDPP(together).dual_kernel)
    alone, single = dv.FactorGraph([3]), dv.FactorGraph([3])
    alone.add_factors([[0]], quality, features)
    single.add_factor([0], quality, features)
    np.testing.assert_array_equal(dv.StructuredDPP(alone).dual_kernel, dv.StructuredDPP(single).dual_kernel)
    with pytest.raises(KernelError, match=r"the parts \[1\] and \[0\] have different .* one shape"):
        dv.FactorGraph([3, 2]).add_factors([[0], [1]], quality)
    with pytest.raises(LabelError, match="twice"):
        dv.FactorGraph([3, 3]).add_factors([[0, 1], [1, 1]])
