"""Factor graphs at the edges of their input: names, potentials in every form, long and shrinking messages."""

import inspect
import math

import numpy as np
import pytest
import scipy.sparse

import diverset as dv
from diverset.errors import DiversetError, KernelError, LabelError
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
from diverset.structured.operators import DensePair, SeparablePair
from diverset.structured.semirings import MaxProduct, SquaredNorm, Squares
from structures_for_tests import cases, grid, loops, two_parts

ALL = cases() | loops()


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
