"""Structured DPPs whose qualities differ by many orders of magnitude."""

import math

import numpy as np
import pytest

import diverset as dv
import reference


def one_part(features, quality):
    graph = dv.FactorGraph([len(features)])
    graph.add_factor([0], features=features, quality=quality)
    return dv.StructuredDPP(graph)


def test_independent_structures_keep_their_rank():
    model = one_part(np.eye(3), [1.0, 1.0, 1e8])
    assert model.rank == 3
    assert model.expected_size == pytest.approx(2.0, abs=1e-12)
    assert model.marginal([[0], [1]]) == pytest.approx(0.25, abs=1e-12)
    assert model.log_prob([[0], [1], [2]]) == pytest.approx(math.log(0.25), abs=1e-9)


def test_rows_of_one_part_keep_their_digits():
    F = np.array([[1.0, 0.0, 1.0], [1.0, 2.0, 0.0], [0.0, 1.0, 1.0], [2.0, 1.0, 1.0]])
    model = one_part(F, [1.0, 1.0, 1e4, 1e8])
    # Items 2 and 3 always appear; what is left of the others is one-dimensional.
    assert [model.marginal([[i]]) for i in range(4)] == pytest.approx([1 / 7, 4 / 7, 1.0, 1.0], abs=1e-7)
    assert model.log_prob([[1], [2], [3]]) == pytest.approx(math.log(4 / 7), abs=1e-7)
    law = {frozenset({1, 2, 3}): 4 / 7, frozenset({0, 2, 3}): 1 / 7, frozenset({2, 3}): 2 / 7}
    draws = [[int(y[0]) for y in draw] for draw in model.sample(3_000, rng=0)]
    assert reference.law_p_value(draws, law) > 1e-4
    assert reference.law_p_value(draws, {Y: 1 / 3 for Y in law}) < 1e-4
    given = model.condition(include=[[3]])
    assert given.marginal([[1]]) == pytest.approx(4 / 7, abs=1e-6)
    assert given.rank == 2
    without = model.condition(exclude=[[3]])
    assert without.rank == 3
    assert without.marginal([[2]]) == pytest.approx(1.0, abs=1e-6)


def test_nonnegative_features_of_two_parts():
    graph = dv.FactorGraph([2, 2])
    graph.add_factor([0], features=np.eye(4)[:2], quality=[1.0, 1e8])
    graph.add_factor([1], features=np.eye(4)[2:], quality=[1.0, 1.0])
    model = dv.StructuredDPP(graph)
    assert model.rank == 3
    # The two structures of quality 1e8 appear; what is left of the others is one vector of squared length 4/3, twice.
    assert model.expected_size == pytest.approx(2.0 + 8 / 11, abs=1e-9)
