"""Structured models at the edges of their input: limits met exactly, empty answers, sparse forms, long messages."""

import inspect
import math

import numpy as np
import pytest
import scipy.sparse

import diverset as dv
from diverset.errors import DiversetError, ImpossibleEventError, KernelError, LabelError, SizeError, TooLargeError
from diverset.numerics.validation import LARGEST
from diverset.structured import (
    QualityModel,
    Separable,
    best_set,
    chain_graph,
    diverse_labelings,
    junction_tree,
    loopy_belief_propagation,
)
from diverset.structured import sets as sets_module
from diverset.structured.best import improve_structure
from diverset.structured.operators import DensePair, SeparablePair
from diverset.structured.semirings import MaxProduct, SquaredNorm, Squares
from diverset.structured.walk import pick, pick_several
from structures_for_tests import cases, loops

ALL = cases() | loops()


def grid(*n_values):
    return np.stack([i.ravel() for i in np.indices(n_values)], axis=1)


def two_parts(**factor):
    graph = dv.FactorGraph([3, 2], names=["a", "b"])
    graph.add_factor([0], features=np.eye(3))
    graph.add_factor([0, 1], **factor)
    return graph


def test_default_arguments():
    """Those of one concept agree, and are those of the documentation."""
    million = 10_000_000
    defaults = {
        dv.StructuredDPP: {"projection": None, "max_states": million},
        dv.StructuredDPP.best: {"k": None, "n_starts": 16},
        dv.StructuredDPP.listed: {"max_structures": 5_000},
        best_set: {"k": None, "n_starts": 16},
        junction_tree: {"max_states": million},
        QualityModel: {"power": 1.0, "max_states": million},
        QualityModel.sample: {"size": 1},
        chain_graph: {"temperature": 1.0},
        diverse_labelings: {"temperature": 1.0, "method": "best"},
        loopy_belief_propagation: {"power": 1.0, "max_iterations": 500, "damping": 0.3, "tolerance": 1e-10},
    }
    for function, expected in defaults.items():
        found = inspect.signature(function).parameters
        assert {name: found[name].default for name in expected} == expected, function


# names and positions -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("n_values", "value_names", "expected"),
    [
        ([2, 2], ["ab", "cd"], ("cd", "ab")),  # texts are names, not lists of letters
        ([2, 2], [10, 20], (20, 10)),
        ([2, 2], [["x", "y"], ["u", "v"]], ("y", "u")),
        ([3, 3], [("x", 1), ("y", 2), ("z", 3)], (("y", 2), ("x", 1))),  # three names, each of them a pair
        ([2, 3], [["x", "y"], ["u", "v", "w"]], ("y", "u")),
    ],
)
def test_names_of_values_for_each_part_or_for_all(n_values, value_names, expected):
    assert dv.FactorGraph(n_values, value_names=value_names).named([1, 0]) == [expected]


def test_numbers_without_names_stay_numbers():
    assert dv.FactorGraph([2, 2]).named([[1, 0]]) == [(1, 0)]


@pytest.mark.parametrize("names", [["a"], ["a", "a"], ["a", "b", "c"], ["a", "b", "b"]])
def test_names_are_one_each_and_distinct(names):
    with pytest.raises(LabelError, match=rf"names has {len(names)} entries, {len(set(names))} of them distinct"):
        dv.FactorGraph([2, 2], names=names)


def test_names_of_values_must_be_as_many_as_the_values():
    with pytest.raises(LabelError, match="value_names of part 1 has 2 entries for 3 values"):
        dv.FactorGraph([2, 3], value_names=["x", "y"])


@pytest.mark.parametrize("part", [-1, 2, True, 0.0, None])
def test_parts_outside_the_graph_are_refused(part):
    with pytest.raises(LabelError, match="is not one of 0 to 1"):
        dv.FactorGraph([3, 2]).part(part)


def test_first_and_last_part_and_value_are_accepted():
    graph = dv.FactorGraph([3, 2], names=["a", "b"], value_names=[["x", "y", "z"], ["u", "v"]])
    assert [graph.part(r) for r in (0, 1, np.int64(1), "a", "b")] == [0, 1, 1, 0, 1]
    assert [graph.value("a", v) for v in (0, 2, "x", "z")] == [0, 2, 0, 2]
    for wrong in (-1, 3, "u", 1.0):
        with pytest.raises(LabelError, match="of part a is not one of 0 to 2"):
            graph.value("a", wrong)
    assert graph.structures([[2, 1]]).tolist() == graph.structures([2, 1]).tolist() == [[2, 1]]
    assert graph.structures([]).shape == (0, 2)
    for wrong in ([[0, 2]], [[-1, 0]], [[3, 0]]):
        with pytest.raises(LabelError, match="structure 0 gives value"):
            graph.structures(wrong)
    with pytest.raises(LabelError, match="row of 2 values"):
        graph.structures([[[0, 0]]])


def test_a_value_that_is_a_number_counts_as_its_position_even_if_it_is_a_name():
    graph = dv.FactorGraph([2], value_names=[1, 0])
    assert graph.value(0, 1) == 1
    assert graph.named([1]) == [(0,)]


def test_names_of_factors():
    graph = dv.FactorGraph([2, 2])
    graph.add_factor([0], quality=np.ones(2), name="start")
    graph.add_factor([0, 1], quality=np.ones((2, 2)))
    graph.add_factors([[0], [1]], quality=np.ones(2), name="pull")
    assert [factor.name for factor in graph.factors] == ["start", "", "pull", "pull"]
    labels = [data["label"] for _, data in graph.to_networkx().nodes(data=True) if data["kind"] == "factor"]
    assert labels == ["start", "", "pull", "pull"]
    with pytest.raises(KernelError, match="quality of end has shape"):
        graph.add_factor([1], quality=np.ones(3), name="end")
    with pytest.raises(KernelError, match=r"quality of factor 4 over \[1\] has shape"):
        graph.add_factor([1], quality=np.ones(3))


def test_number_of_structures():
    assert dv.FactorGraph([3, 2, 5]).log_n_structures == pytest.approx(math.log(30.0))
    assert dv.FactorGraph([1]).log_n_structures == 0.0


@pytest.mark.parametrize("edges", [[], [(0, 1)], [(0, 1), (1, 2)], [(0, 1), (0, 1)], [(0, 1), (1, 2), (2, 0)]])
def test_a_graph_is_a_forest_if_it_has_no_cycle(edges):
    graph = dv.FactorGraph([2, 2, 2])
    for edge in edges:
        graph.add_factor(edge, quality=np.ones((2, 2)))
    assert graph.is_forest == (len(edges) == len(set(edges)) and len(edges) < 3)


def test_equal_arrays_of_another_type_shape_or_format_are_other_potentials():
    graph = dv.FactorGraph([2, 2])
    ones = np.ones((2, 2))
    for quality in (ones, ones.astype(np.float32), scipy.sparse.csr_array(ones), scipy.sparse.csc_array(ones)):
        graph.add_factor([0, 1], quality=quality)
        graph.add_factor([1, 0], quality=quality.copy())
    kinds = [id(f.potential) for f in graph.factors]
    assert kinds[::2] == kinds[1::2]
    assert len(set(kinds)) == 4
    graph.add_factor([0], log_quality=np.ones(2))
    graph.add_factor([0], quality=np.ones(2))
    assert graph.log_quality([[0, 0]]) == pytest.approx([1.0])


@pytest.mark.parametrize("positions", [([0, 1], [0, 1]), ([0, 1], [1, 0])])
def test_sparse_arrays_with_the_same_numbers_in_other_places_are_other_potentials(positions):
    graph = dv.FactorGraph([2, 2])
    for form in ("csr", "coo"):
        diagonal = scipy.sparse.coo_array(([1.0, 1.0], ([0, 1], [0, 1])), shape=(2, 2)).asformat(form)
        other = scipy.sparse.coo_array(([1.0, 1.0], positions), shape=(2, 2)).asformat(form)
        graph.add_factor([0, 1], quality=diagonal)
        graph.add_factor([0, 1], quality=other)
        first, second = graph.factors[-2:]
        assert (first.potential is second.potential) == (positions == ([0, 1], [0, 1]))


# potentials --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "factor",
    [
        {"log_quality": np.full((3, 2), -np.inf)},
        {"quality": np.zeros((3, 2))},
        {"quality": scipy.sparse.csr_array((3, 2))},
        {"quality": Separable([np.ones((3, 1)), np.zeros((1, 2))])},
        {"log_quality": scipy.sparse.coo_array(([-np.inf], ([0], [1])), shape=(3, 2))},
    ],
)
def test_qualities_that_forbid_everything_are_refused(factor):
    with pytest.raises(KernelError, match="is 0 everywhere"):
        two_parts(**factor)


def test_separable_qualities_need_a_matrix_and_are_no_logarithms():
    with pytest.raises(KernelError, match="at least one matrix"):
        Separable([])
    with pytest.raises(KernelError, match="pass it as quality"):
        two_parts(log_quality=Separable([np.ones((3, 2))]))
    with pytest.raises(KernelError, match=r"matrices\[1\]\[0, 1\] is -1"):
        Separable([np.ones((2, 2)), [[1.0, -1.0]]])


@pytest.mark.parametrize("logs", [False, True])
@pytest.mark.parametrize("value", [np.nan, np.inf, -1.0])
def test_bad_sparse_entries_are_named_by_their_coordinates(value, logs):
    key = "log_quality" if logs else "quality"
    for form in ("csr", "csc", "coo"):
        array = scipy.sparse.coo_array(([1.0, value, 2.0], ([0, 2, 2], [1, 0, 1])), shape=(3, 2)).asformat(form)
        if logs and value == -1.0:
            assert two_parts(log_quality=array).log_quality([[2, 0]]) == pytest.approx([-1.0])
            continue
        with pytest.raises(KernelError, match=r"\[2, 0\] is"):
            two_parts(**{key: array})


@pytest.mark.parametrize("form", ["csr", "csc", "coo", "lil"])
@pytest.mark.parametrize("seed", range(4))
def test_sparse_qualities_and_features_are_those_of_the_dense_arrays(form, seed):
    """Also for rows without entries at the start, in the middle and at the end."""
    rng = np.random.default_rng(seed)
    W = rng.uniform(0.1, 1.0, (6, 5)) * (rng.random((6, 5)) < 0.5)
    W[[0, 3, 5][seed % 3]] = 0.0
    W[1, 1] = 1.0
    phi = rng.standard_normal((6, 5, 3))
    sparse = scipy.sparse.coo_array(W).asformat(form)
    coo = sparse.tocoo()
    Y = grid(6, 5)
    expected = np.where(W.reshape(-1, 1) > 0.0, phi.reshape(-1, 3), 0.0)
    for features in (phi, phi[coo.coords]):
        graph = dv.FactorGraph([6, 5])
        graph.add_factor([0, 1], sparse, features)
        with np.errstate(divide="ignore"):
            assert graph.log_quality(Y) == pytest.approx(np.log(W.ravel()), rel=1e-13)
        assert graph.features(Y) == pytest.approx(expected)


@pytest.mark.parametrize("seed", range(3))
def test_sparse_qualities_of_one_and_three_parts(seed):
    rng = np.random.default_rng(seed)
    for shape in ((5,), (2, 3, 2)):
        W = rng.uniform(0.1, 1.0, shape) * (rng.random(shape) < 0.5)
        W[tuple(m - 1 for m in shape)] = 0.5 * (seed % 2)
        W[(0,) * len(shape)] = 2.0
        phi = rng.standard_normal((*shape, 2))
        graph = dv.FactorGraph(shape)
        graph.add_factor(range(len(shape)), scipy.sparse.coo_array(W), phi)
        with np.errstate(divide="ignore"):
            assert graph.log_quality(grid(*shape)) == pytest.approx(np.log(W.ravel()), rel=1e-13)
        B = W.reshape(-1, 1) * phi.reshape(-1, 2)
        assert dv.StructuredDPP(graph).dual_kernel == pytest.approx(B.T @ B, rel=1e-12)


def test_sparse_features_of_one_part():
    phi = scipy.sparse.random(5, 3, density=0.5, rng=np.random.default_rng(0), format="csr")
    graph = dv.FactorGraph([5])
    graph.add_factor([0], features=phi)
    assert graph.features(np.arange(5)[:, None]) == pytest.approx(phi.toarray())


def test_features_as_large_as_their_squares_allow():
    for value, fine in ((LARGEST, True), (-LARGEST, True), (2.0 * LARGEST, False), (-2.0 * LARGEST, False)):
        graph = dv.FactorGraph([2])
        if fine:
            graph.add_factor([0], features=[[1.0], [value]])
        else:
            with pytest.raises(KernelError, match=r"\[1, 0\] is .*finite, its square too"):
                graph.add_factor([0], features=[[1.0], [value]])


@pytest.mark.parametrize("features", [np.ones((3, 2)), np.ones((2, 3, 2)), np.ones((3, 2, 2, 2)), np.ones((5, 2))])
def test_features_of_another_shape_are_refused(features):
    quality = scipy.sparse.csr_array([[1.0, 1.0], [0.0, 1.0], [1.0, 0.0]])
    graph = dv.FactorGraph([3, 2])
    with pytest.raises(DiversetError, match="features of"):
        graph.add_factor([0, 1], quality, features)


def test_two_factors_that_forbid_every_value_of_a_part():
    graph = dv.FactorGraph([2, 2])
    graph.add_factor([0], quality=[1.0, 0.0], features=np.eye(2))
    graph.add_factor([0], quality=[0.0, 1.0])
    with pytest.raises(DiversetError, match="forbid all of its values"):
        QualityModel(graph).log_normalizer  # noqa: B018


@pytest.mark.parametrize("scale", [1e-3, 1.0, 1e3])
def test_several_factors_of_one_part_multiply_whatever_their_scale(scale):
    graph = dv.FactorGraph([3])
    first, second = scale * np.array([0.5, 0.1, 0.2]), np.array([0.1, 0.4, 0.3])
    graph.add_factor([0], quality=first)
    graph.add_factor([0], quality=second, features=np.eye(3))
    assert QualityModel(graph).log_normalizer == pytest.approx(math.log(first @ second))
    assert dv.StructuredDPP(graph).eigenvalues == pytest.approx(np.sort((first * second) ** 2), rel=1e-12)


def test_qualities_too_small_to_be_squared_are_forbidden():
    """Below 1e-150 of the largest, as documented; the law of the quality itself needs no square."""
    graph = dv.FactorGraph([3, 2])
    graph.add_factor([0], quality=[1.0, 1e-149, 1e-151], features=np.eye(3))
    squared, plain = QualityModel(graph, 2.0).part_marginals()[0], QualityModel(graph).part_marginals()[0]
    assert squared == pytest.approx([1.0, 1e-298, 0.0], rel=1e-9, abs=0.0)
    assert squared[2] == 0.0
    assert plain[2] == pytest.approx(1e-151, rel=1e-9, abs=0.0)
    graph.add_factor([1], quality=[1.0, 1e-305])
    assert QualityModel(graph).part_marginals()[1][1] == pytest.approx(1e-305, rel=1e-9, abs=0.0)


@pytest.mark.parametrize("by", [None, 1])
def test_features_of_a_separable_factor(by):
    rng = np.random.default_rng(0)
    A, B = 3.0 * rng.random((2, 2)), 0.2 * rng.random((2, 3))
    phi = rng.standard_normal((4, 6, 3))
    graph = dv.FactorGraph([4, 6])
    graph.add_factor([0, 1], Separable([A, B], by=by), phi)
    rows = np.kron(A, B).reshape(-1, 1) * phi.reshape(-1, 3)
    s = dv.StructuredDPP(graph)
    assert s.dual_kernel == pytest.approx(rows.T @ rows, rel=1e-10)
    assert s.log_normalizer == pytest.approx(np.linalg.slogdet(np.eye(3) + rows.T @ rows)[1], rel=1e-10)


def test_messages_that_shrink_at_every_step_do_not_vanish():
    """Two structures are allowed, constant ones; each has quality 0.1 in every other part."""
    n = 2_000
    graph = dv.FactorGraph([2] * n)
    for r in range(n):
        graph.add_factor([r], quality=[1.0, 0.1] if r % 2 else [0.1, 1.0], features=np.eye(2))
    graph.add_factors([[r, r + 1] for r in range(n - 1)], quality=np.eye(2))
    log_q = 0.5 * n * math.log(0.1)
    model = QualityModel(graph)
    assert model.log_normalizer == pytest.approx(math.log(2.0) + log_q, rel=1e-12)
    assert model.part_marginals()[700] == pytest.approx([0.5, 0.5])
    assert sorted(y[0] for y in model.n_best(3).tolist()) == [0, 1]
    s = dv.StructuredDPP(graph).rescale(1.0)
    assert s.inclusion_probability(np.array([[0] * n, [1] * n])) == pytest.approx([0.5, 0.5], rel=1e-6)


# long messages -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("shared", [False, True])
def test_kernel_of_parts_with_more_values_than_a_block(shared):
    """Products of features are added up in blocks; the last one is not full."""
    rng = np.random.default_rng(0)
    M, D = 150, 70
    phi = rng.standard_normal((2, M, D))
    if shared:
        phi[1] = phi[0]
    q = rng.uniform(0.5, 1.5, M)
    graph = dv.FactorGraph([M, M])
    for r in range(2):
        graph.add_factor([r], features=phi[r])
    graph.add_factor([0, 1], quality=scipy.sparse.diags_array(q).tocsr())
    B = q[:, None] * (phi[0] + phi[1])
    assert dv.StructuredDPP(graph).dual_kernel == pytest.approx(B.T @ B, rel=1e-10, abs=1e-9)


def test_kernel_of_thousands_of_values_with_shared_features():
    rng = np.random.default_rng(1)
    M, D = 9_000, 64
    phi = rng.standard_normal((M, D))
    graph = dv.FactorGraph([M, M])
    graph.add_factors([[0], [1]], features=phi)
    graph.add_factor([0, 1], quality=scipy.sparse.eye_array(M).tocsr())
    assert dv.StructuredDPP(graph).dual_kernel == pytest.approx(4.0 * phi.T @ phi, rel=1e-10, abs=1e-6)


@pytest.mark.parametrize(("n", "m"), [(0, 2), (1, 1), (3_000, 40), (40_000, 1)])
def test_products_of_squares_in_blocks(n, m):
    rng = np.random.default_rng(m)
    (p, q), (a, b) = rng.random((2, n)), rng.standard_normal((2, n, m))
    squares = Squares(m)
    product = squares.times(squares.lift(p, a), squares.lift(q, b))
    np.testing.assert_allclose(product, squares.lift(p * q, a + b), rtol=1e-10, atol=1e-12)


def test_products_of_squared_lengths():
    rng = np.random.default_rng(0)
    (p, q), (a, b) = rng.random((2, 6)), rng.standard_normal((2, 6, 4))
    norm = SquaredNorm(4)
    found = norm.times(norm.lift(p, a), norm.lift(q, b))
    assert found == pytest.approx(norm.lift(p * q, a + b), rel=1e-12)
    assert found[:, -1] == pytest.approx(p * q * ((a + b) ** 2).sum(axis=1), rel=1e-12)


@pytest.mark.parametrize("n", [1, 255, 256, 257, 512, 514])
def test_largest_products_away_from_the_root(n):
    """Rows are read in blocks of 256; the largest product may be in any row, the first and last of a block, too."""
    rng = np.random.default_rng(n)
    W = rng.uniform(0.5, 1.0, (n, 3))
    for top in {0, 255, 256, 257, 511, 512, n - 1}:
        if top < n:
            x = rng.random((n, 1))
            x[top] = 3.0
            found = MaxProduct().through(DensePair(W), x, up=False)
            assert found[:, 0] == pytest.approx(3.0 * W[top], rel=1e-15)


def test_no_rows_of_a_separable_matrix():
    rows = SeparablePair((np.eye(2), np.eye(3))).rows(np.zeros(0, dtype=np.int64))
    assert (rows.offsets.tolist(), len(rows.columns), len(rows.weights)) == ([0], 0, 0)


# draws -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("uniforms", "expected"),
    [([0.0, 0.0], [1, 4]), ([0.24, 0.49], [1, 4]), ([0.26, 0.51], [2, 5]), ([1.0, 1.0], [2, 4])],
)
def test_picks_invert_the_cumulative_sum_of_their_group(uniforms, expected):
    weights = np.array([0.0, 1.0, 3.0, 0.0, 2.0, 2.0, 0.0])
    assert pick(weights, np.array([0, 4, 7]), np.array(uniforms)).tolist() == expected


def test_a_pick_on_the_edge_of_a_group_is_of_positive_weight():
    weights = np.array([2.0, 1.0, 0.0, 0.0, 1.0])
    assert pick(weights, np.array([0, 3, 5]), np.array([1.0, 0.0])).tolist() == [0, 4]


def test_picks_of_one_law():
    weights = np.array([0.0, 1.0, 0.0, 3.0, 0.0])
    assert pick_several(weights, np.array([0.0, 0.24, 0.25, 0.9, 1.0])).tolist() == [1, 1, 3, 3, 3]


@pytest.mark.parametrize("method", ["rejection", "walk", "naive"])
def test_no_draws_empty_draws_and_full_draws(method):
    s = dv.StructuredDPP(two_parts(quality=np.ones((3, 2))))
    assert s.sample(0, rng=0, method=method) == []
    empty = s.of_size(0).sample(2, rng=0, method=method)
    assert [y.shape for y in empty] == [(0, 2), (0, 2)]
    full = s.of_size(s.rank).sample(2, rng=0, method=method)
    assert [sorted(y[:, 0].tolist()) for y in full] == [[0, 1, 2]] * 2


@pytest.mark.parametrize("shared", [0, 700, 1 << 29])
def test_the_law_of_draws_does_not_depend_on_how_many_share_their_messages(shared, monkeypatch):
    monkeypatch.setattr(sets_module, "_SHARED_BYTES", shared)
    model = ALL["chain"]
    s = dv.StructuredDPP(model.graph()).rescale(1.5)
    draws = s.sample(400, rng=1)
    assert {len(Y) for Y in draws} == {0, 1, 2, 3}
    assert {Y.shape[1] for Y in draws} == {3}
    for r, mu in enumerate(s.part_marginals()):
        seen = np.bincount(np.concatenate(draws)[:, r], minlength=len(mu)) / len(draws)
        assert seen == pytest.approx(mu, abs=5.0 * np.sqrt(0.25 * s.rank / len(draws)))


@pytest.mark.parametrize("name", ["chain", "tree 1", "ring"])
def test_drawn_sets_are_sorted_and_of_independent_structures(name):
    s = dv.StructuredDPP(ALL[name].graph()).rescale(2.0)
    for Y in s.sample(50, rng=3):
        assert Y.tolist() == sorted(Y.tolist())
        assert s.log_prob(Y) > -math.inf


# limits of sizes ---------------------------------------------------------------------------------------------


def test_sizes_at_their_limits():
    s = dv.StructuredDPP(two_parts(quality=np.ones((3, 2))))
    assert s.rank == 3
    assert s.of_size(3).k == 3
    assert s.of_size(0).log_prob([]) == 0.0
    assert s.rescale(2.999).expected_size == pytest.approx(2.999)
    for wrong in (3.0, 3.5):
        with pytest.raises(SizeError, match="must be below the rank, 3"):
            s.rescale(wrong)
    with pytest.raises(SizeError, match="k is 4"):
        s.of_size(4)
    with pytest.raises(SizeError, match="k is 4"):
        s.best(4)
    assert [len(s.best(k, rng=0)) for k in (0, 1, 3)] == [0, 1, 3]
    assert s.listed(6)[0].n_items == 6
    with pytest.raises(TooLargeError, match="6 structures; at most max_structures = 5"):
        s.listed(5)


def test_fixed_size_at_its_limits():
    s = dv.StructuredDPP(two_parts(quality=np.ones((3, 2))))
    two = s.of_size(2)
    assert two.size_distribution.tolist() == [0.0, 0.0, 1.0]
    assert two.marginal([]) == 1.0
    assert two.log_marginal([[0, 0], [1, 0], [2, 0]]) == -math.inf
    assert two.marginal([[0, 0], [0, 1]]) == 0.0
    assert two.pair_probability([0, 0], [1, 0]) == pytest.approx(math.exp(two.log_prob([[0, 0], [1, 0]])))
    # Sets of two take two of three directions, with one of two structures each.
    assert two.marginal([[0, 0]]) == pytest.approx(1.0 / 3.0)
    rest = s.of_size(3).condition(include=[[0, 0]])
    assert rest.k == 2
    assert rest.marginal([[1, 0]]) == pytest.approx(0.5)
    assert s.of_size(1).condition(include=[[0, 0]]).k == 0
    with pytest.raises(ImpossibleEventError, match="no set of 3 structures"):
        s.of_size(3).condition(exclude=[[0, 0], [0, 1]])
    with pytest.raises(ImpossibleEventError, match="no set of 1 structures"):
        s.of_size(1).condition(include=[[0, 0], [1, 0]])


@pytest.mark.parametrize("name", ["chain", "tree 1", "ring", "one part"])
def test_listed_model_after_every_change(name):
    model = ALL[name]
    Y, allowed = model.structures, np.flatnonzero((model.rows**2).sum(axis=1) > 0)
    s = dv.StructuredDPP(model.graph()).rescale(1.5)
    given = s.condition(include=[Y[allowed[0]]], exclude=[Y[allowed[1]]])
    for changed in (s, given, given.scale_quality(0.7), given.condition(exclude=[Y[allowed[1]], Y[allowed[2]]])):
        plain, listed = changed.listed()
        assert listed.tolist() == Y.tolist()
        assert plain.log_normalizer == pytest.approx(changed.log_normalizer, rel=1e-9, abs=1e-10)
        assert changed.inclusion_probability(Y) == pytest.approx(plain.inclusion_probabilities, abs=1e-9)
        assert changed.expected_size == pytest.approx(plain.expected_size, rel=1e-9)
        assert changed.size_variance == pytest.approx(plain.size_variance, rel=1e-8)
        assert changed.size_distribution.sum() == pytest.approx(1.0)


def test_excluding_before_and_after_restricting_a_part():
    model = ALL["chain"]
    Y = model.structures
    s = dv.StructuredDPP(model.graph())
    hidden = [Y[Y[:, 0] == v][0].tolist() for v in (1, 2)]
    one_way = s.condition(exclude=hidden).condition(parts={0: 1})
    other_way = s.condition(parts={0: 1}).condition(exclude=hidden)
    at_once = s.condition(exclude=hidden, parts={0: 1})
    open_ = [i for i, y in enumerate(Y.tolist()) if y[0] == 1 and y not in hidden]
    B = model.rows[open_]
    exact = np.linalg.slogdet(np.eye(B.shape[1]) + B.T @ B)[1]
    for found in (one_way, other_way, at_once):
        assert found.log_normalizer == pytest.approx(exact, rel=1e-10)
    assert s.condition(exclude=hidden).condition(exclude=hidden).log_normalizer == pytest.approx(
        s.condition(exclude=hidden).log_normalizer, rel=1e-12
    )


def test_one_structure_or_a_list_of_one():
    s = dv.StructuredDPP(ALL["chain"].graph())
    y = ALL["chain"].structures[3]
    assert isinstance(s.inclusion_probability(y), float)
    assert s.inclusion_probability([y]).shape == (1,)
    assert s.inclusion_probability(y[:0]).shape == (0,)
    assert s.marginal([]) == 1.0
    assert s.log_prob([]) == pytest.approx(-s.log_normalizer)


def test_kernels_beyond_the_range_of_floats_are_refused():
    for exponent in (400.0, -400.0):
        graph = dv.FactorGraph([2, 2])
        graph.add_factor([0], log_quality=[exponent, exponent], features=np.eye(2))
        s = dv.StructuredDPP(graph)
        assert s.of_size(1).inclusion_probability([[0, 0]]) == pytest.approx([0.25])
        with pytest.raises(KernelError, match=rf"exp\({2 * exponent + math.log(4):.0f}\)"):
            s.dual_kernel  # noqa: B018
    graph = dv.FactorGraph([2])
    graph.add_factor([0], features=np.zeros((2, 3)))
    assert dv.StructuredDPP(graph).dual_kernel.tolist() == np.zeros((3, 3)).tolist()


# greedy sets -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [0.1, 1.0, 10.0])
@pytest.mark.parametrize("name", ["chain", "tree 1", "one part"])
def test_gains_of_a_greedy_set_add_up_to_its_probability(name, size):
    model = ALL[name]
    graph = dv.FactorGraph(model.n_values)
    for parts, quality, features in model.factors:
        graph.add_factor(parts, quality, None if features is None else size * features)
    s = dv.StructuredDPP(graph)
    for starts in (1, 16):
        found = best_set(s, 2, n_starts=starts, rng=0)
        assert found.log_prob == pytest.approx(found.gains.sum() - s.log_normalizer, abs=1e-9)
        assert found.log_prob == pytest.approx(s.log_prob(found.structures), abs=1e-9)
    # The first structure is no worse than any neighbour of it.
    L = size**2 * (model.rows**2).sum(axis=1)
    first = found.structures[0]
    near = (model.structures != first).sum(axis=1) <= 1
    assert math.exp(found.gains[0]) == pytest.approx(L[near].max(), rel=1e-6)


def test_a_greedy_set_grows_while_its_probability_does():
    graph = dv.FactorGraph([4])
    graph.add_factor([0], quality=[4.0, 1.0, 2.0, 0.5], features=np.eye(4))
    found = best_set(dv.StructuredDPP(graph), rng=0)
    assert found.structures.tolist() == [[0], [2]]  # a gain of exactly 0 is none
    assert found.gains == pytest.approx(np.log([16.0, 4.0]))
    without = best_set(dv.StructuredDPP(graph).condition(exclude=[[0]]), 3, rng=0)
    assert sorted(without.structures[:, 0].tolist()) == [1, 2, 3]
    assert len(best_set(dv.StructuredDPP(graph).scale_quality(-2.0), rng=0)) == 0


def test_improving_a_structure_takes_rounds():
    """The last part changes first, and pulls one part after it in every further round."""
    graph = dv.FactorGraph([3, 3, 3])
    graph.add_factor([2], quality=[1.0, 1.0, 1e4], features=np.ones((3, 1)))
    for r, pull in enumerate((10.0, 100.0)):
        graph.add_factor([r, r + 1], quality=1.0 + (pull - 1.0) * np.eye(3))
    start = np.zeros(3, dtype=np.int64)
    for rounds, expected in enumerate(([0, 0, 0], [0, 0, 2], [0, 2, 2], [2, 2, 2])):
        y, value = improve_structure(graph, start, np.eye(1), max_rounds=rounds)
        assert y.tolist() == expected
        assert value == pytest.approx(2.0 * graph.log_quality(y)[0])
    assert improve_structure(graph, start, np.eye(1))[0].tolist() == [2, 2, 2]
    assert start.tolist() == [0, 0, 0]


# the quality model, labelings and loopy beliefs ----------------------------------------------------------------


def test_quality_model_at_its_limits():
    model = ALL["chain with forbidden entries"]
    ours = QualityModel(model.graph())
    assert ours.n_best(0).shape == (0, 3)
    assert ours.best().tolist() == model.structures[np.argmax(model.qualities)].tolist()
    assert ours.sample(0, rng=0).shape == (0, 3)
    assert ours.sample(rng=0).shape == (1, 3)
    assert repr(ours).endswith("power=1)")
    with pytest.raises(DiversetError, match="power is 0"):
        QualityModel(model.graph(), 0.0)


def test_labelings_of_default_temperature_are_those_of_temperature_one():
    rng = np.random.default_rng(0)
    unary, pairwise, phi = rng.normal(size=(4, 3)), rng.normal(size=(3, 3)), rng.normal(size=(4, 3, 5))
    Y = grid(3, 3, 3, 3)
    for features in (None, phi):
        plain = chain_graph(unary, pairwise, features=features)
        one = chain_graph(unary, pairwise, features=features, temperature=1.0)
        assert plain.log_quality(Y).tolist() == one.log_quality(Y).tolist()
    found, again = (
        diverse_labelings(unary, pairwise, k=3, rng=0, **given)
        for given in ({}, {"temperature": 1.0, "method": "best"})
    )
    assert found.labels.tolist() == again.labels.tolist()
    assert found.scores.tolist() == again.scores.tolist()


def test_labels_are_alike_where_they_agree():
    Y = grid(2, 2, 2)
    phi = chain_graph(np.zeros((3, 2))).features(Y)
    assert (phi @ phi.T).tolist() == (Y[:, None] == Y).sum(axis=2).tolist()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"features": np.zeros((3, 2, 4))}, "features has shape"),
        ({"features": np.zeros((2, 3, 4))}, "features has shape"),
        ({"pairwise": np.zeros((3, 2))}, "pairwise has shape"),
        ({"pairwise": np.zeros((3, 2, 2))}, r"expected \(2, 2\) or \(1, 2, 2\)"),
        ({"pairwise": np.zeros((1, 2, 3))}, "pairwise has shape"),
        ({"temperature": 0.0}, "temperature is 0"),
        ({"temperature": 0.25 / LARGEST}, "too small"),
        ({"unary": np.full((2, 2), 2.0 * LARGEST)}, "too large to be multiplied"),
    ],
)
def test_bad_chains_are_refused(arguments, message):
    with pytest.raises(DiversetError, match=message):
        chain_graph(**({"unary": np.zeros((2, 2))} | arguments))


def test_chains_at_the_limits_of_scores_and_temperature():
    graph = chain_graph([[LARGEST, -np.inf]])
    assert graph.log_quality([[0]]) == pytest.approx([0.5 * LARGEST])
    assert chain_graph([[1.0, 0.0]], temperature=0.5 / LARGEST).log_quality([[0]]) == pytest.approx([LARGEST])


def test_loopy_rounds_and_damping():
    ring = ALL["grid"].graph()
    once = loopy_belief_propagation(ring, max_iterations=1)
    assert (once.n_iterations, once.converged) == (1, False)
    default = loopy_belief_propagation(ring)
    assert default.converged
    assert 1 < default.n_iterations < 500
    for damping in (0.0, 0.9):
        found = loopy_belief_propagation(ring, damping=damping)
        assert found.log_normalizer == pytest.approx(default.log_normalizer, abs=1e-7)
        assert found.n_iterations != default.n_iterations
    assert loopy_belief_propagation(ring, tolerance=1e-3).n_iterations < default.n_iterations
    # Without damping, messages of a chain are exact after two rounds, and a third changes nothing.
    still = loopy_belief_propagation(ALL["chain"].graph(), damping=0.0, tolerance=0.0)
    assert (still.converged, still.n_iterations) == (True, 3)
    for wrong in (1.0, -0.1):
        with pytest.raises(DiversetError, match="damping is"):
            loopy_belief_propagation(ring, damping=wrong)
    squared, exact = loopy_belief_propagation(ALL["chain"].graph(), power=2.0), QualityModel(ALL["chain"].graph(), 2.0)
    assert squared.log_normalizer == pytest.approx(exact.log_normalizer, abs=1e-6)
    for p, q in zip(squared.parts, exact.part_marginals(), strict=True):
        assert p == pytest.approx(q, abs=1e-7)
    forbidden = dv.FactorGraph([2])
    forbidden.add_factor([0], quality=[1.0, 0.0])
    forbidden.add_factor([0], quality=[0.0, 1.0])
    with pytest.raises(DiversetError, match="forbid every combination"):
        loopy_belief_propagation(forbidden)


def test_junction_trees_of_exactly_the_allowed_size():
    ring = dv.FactorGraph([2, 3, 2, 3])
    for r in range(4):
        ring.add_factor([r, (r + 1) % 4], quality=np.ones((2, 3) if r % 2 == 0 else (3, 2)), name=f"side {r}")
    assert junction_tree(ring, max_states=12).width == 2  # 2 x 3 x 2 joint values
    with pytest.raises(TooLargeError, match="max_states = 11"):
        junction_tree(ring, max_states=11)
    assert QualityModel(ring, max_states=12).log_normalizer == pytest.approx(math.log(36.0))


@pytest.mark.parametrize("seed", range(12))
def test_junction_trees_of_random_graphs(seed):
    """The normaliser and all marginals are those of the list of 128 structures."""
    rng = np.random.default_rng(seed)
    graph = dv.FactorGraph([2] * 7)
    Y = grid(*[2] * 7)
    q = np.ones(len(Y))
    for r in range(7):
        for s in range(r):
            if rng.random() < 0.45:
                pair = rng.uniform(0.1, 2.0, (2, 2))
                graph.add_factor([s, r], quality=pair)
                q *= pair[Y[:, s], Y[:, r]]
    model = QualityModel(graph)
    assert model.log_normalizer == pytest.approx(math.log(q.sum()), rel=1e-10)
    for r, p in enumerate(model.part_marginals()):
        assert p == pytest.approx(np.bincount(Y[:, r], weights=q) / q.sum(), rel=1e-9)
    assert model.best().tolist() == Y[q.argmax()].tolist()


def test_small_eigenvalues_that_cancellation_left_do_not_count():
    """Coordinates of very different scale and of both signs: the third is the sum of the others, so the rank is 2."""
    rng = np.random.default_rng(0)
    graph = dv.FactorGraph([4, 4])
    for r in range(2):
        phi = rng.standard_normal((4, 2)) * [1.0, 1e-3]
        graph.add_factor([r], features=np.column_stack([phi, phi.sum(axis=1)]) * [1.0, 1.0, 1e-6])
    assert dv.StructuredDPP(graph).rank == 2


@pytest.mark.parametrize("seed", range(4))
def test_a_direction_that_only_excluded_structures_have_is_gone(seed):
    """What the subtraction leaves of it is rounding, however small its scale was."""
    rng = np.random.default_rng(seed)
    graph = dv.FactorGraph([3, 3])
    graph.add_factor([0], rng.uniform(0.3, 1.0, 3), [[1.0, 0.2, 0.0], [0.3, 1.0, 0.0], [0.1, 0.5, 1e-9]])
    graph.add_factor([0, 1], quality=rng.uniform(0.3, 1.0, (3, 3)))
    s = dv.StructuredDPP(graph)
    assert s.rank == 3
    assert s.condition(exclude=[[2, 0], [2, 1], [2, 2]]).rank == 2
