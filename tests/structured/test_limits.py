"""Answers of structured models at their limits: empty and full draws, sizes, greedy sets, labelings, cycles."""

import math

import numpy as np
import pytest

import diverset as dv
from diverset.errors import DiversetError, ImpossibleEventError, KernelError, SizeError, TooLargeError
from diverset.numerics.validation import LARGEST
from diverset.structured import (
    QualityModel,
    best_set,
    chain_graph,
    diverse_labelings,
    junction_tree,
    loopy_belief_propagation,
)
from diverset.structured import sets as sets_module
from diverset.structured.best import improve_structure
from diverset.structured.walk import pick, pick_several
from structures_for_tests import cases, grid, loops, two_parts

ALL = cases() | loops()


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


def test_a_structure_whose_squared_quality_vanishes_is_impossible():
    """In the list of the values of a single part, too."""
    graph = dv.FactorGraph([2])
    graph.add_factor([0], quality=[1e-170, 1.0], features=np.eye(2))
    s = dv.StructuredDPP(graph)
    assert s.rank == 1
    assert s.inclusion_probability([[0], [1]]) == pytest.approx([0.0, 0.5])
    assert s.of_size(1).sample(rng=0).tolist() == [[1]]
