"""Draws step by step: marginals before each pick, from the list of all structures."""

import numpy as np
import pytest

import diverset as dv
from diverset.numerics.linalg import null_basis
from diverset.structured import structure_trace
from structures_for_tests import cases, loops

ALL = cases() | loops()


@pytest.mark.parametrize("name", ["chain", "tree 1", "ternary factor", "ring"])
@pytest.mark.parametrize("k", [1, 2, None])
def test_marginals_before_each_pick_are_those_of_the_list(name, k):
    model = ALL[name]
    s = dv.StructuredDPP(model.graph()).rescale(1.5)
    s = s if k is None else s.of_size(k)
    trace = structure_trace(s, rng=4)
    # The draw is that of Algorithm 11 for the same seed.
    drawn = s.sample(rng=4, method="walk")
    assert sorted(trace.structures.tolist()) == drawn.tolist()
    J = s._law().draw(np.random.default_rng(4))
    assert len(J) == len(trace)
    Y, B = model.structures, model.rows
    X = B @ s._vectors[:, J]
    X /= np.linalg.norm(X, axis=0)
    for structure, marginals in zip(trace.structures, trace.marginals, strict=True):
        mass = (X**2).sum(axis=1)
        for r, mu in enumerate(marginals):
            assert mu == pytest.approx(np.bincount(Y[:, r], mass, minlength=len(mu)), rel=1e-9, abs=1e-11)
            assert mu.sum() == pytest.approx(X.shape[1])
        at = int(np.flatnonzero((Y == structure).all(axis=1))[0])
        X = X @ null_basis(X[[at]])


def test_excluded_structures_have_no_part_in_the_marginals():
    model = ALL["chain"]
    hidden = model.structures[[3, 8]]
    s = dv.StructuredDPP(model.graph()).rescale(1.5).condition(exclude=hidden).of_size(2)
    trace = structure_trace(s, rng=0)
    Y = model.structures
    seen = ~np.array([(hidden == y).all(axis=1).any() for y in Y])
    X = model.rows @ s._vectors[:, s._law().draw(np.random.default_rng(0))]
    scale = np.exp(s._space.log_Z)
    mass = np.where(seen, (X**2).sum(axis=1), 0.0) / scale
    for r, mu in enumerate(trace.marginals[0]):
        assert mu == pytest.approx(np.bincount(Y[:, r], mass, minlength=len(mu)), rel=1e-9)
