"""Sampling in the dual representation: its exact law by following every branch."""

from collections import Counter

import numpy as np
import pytest

import diverset as dv
import reference
from diverset.core.factor import RowFactor
from diverset.core.lowrank import LowRankLikelihood
from diverset.errors import DiversetError
from diverset.sampling import dual
from kernels_for_tests import orthonormal, wishart


def rows(n, width, seed, *, complex_=False):
    rng = np.random.default_rng(seed)
    B = rng.standard_normal((n, width))
    return B + 1j * rng.standard_normal((n, width)) if complex_ else B


def follow(state, prob=1.0, law=None):
    """Exact law of a sequential sampler: follow every branch and add up probabilities."""
    law = Counter() if law is None else law
    if state.done:
        law[frozenset(state.items)] += prob
    else:
        for y, p in enumerate(state.weights()):
            if p > 0.0:
                follow(state.pick(y), prob * p, law)
    return law


class NotOrthonormalised(dual.DualElementarySampler):
    """The known fault: vectors are eliminated against the pivot, and not made orthonormal again."""

    def pick(self, i):
        entries = self.factor.take(np.array([i]))[0] @ self.V
        rest = np.arange(len(entries)) != np.argmax(np.abs(entries))
        pivot = self.V[:, ~rest]
        V = self.V[:, rest] - pivot * (entries[rest] / entries[~rest])
        return NotOrthonormalised(self.factor, self.C, V, (*self.items, int(i)))


@pytest.mark.parametrize("complex_", [False, True])
@pytest.mark.parametrize(("n", "width", "scale"), [(6, 3, 1.0), (7, 4, 0.5), (5, 1, 1.0), (6, 3, 1e6), (6, 3, 1e-6)])
def test_every_elementary_law_is_exact(n, width, scale, complex_):
    B = scale * rows(n, width, n, complex_=complex_)
    representation = LowRankLikelihood.from_rows(RowFactor(B))
    sampler = dual.DualSampler(representation)
    V = representation.eigenvectors()
    for J in reference.subsets(range(width)):
        chosen = np.array(sorted(J), dtype=np.int64)
        law = follow(sampler.start(chosen))
        P = V[:, chosen] @ V[:, chosen].conj().T
        for A, p in reference.law_from_K(P).items():
            assert law[A] == pytest.approx(p, abs=1e-12)


def test_the_branch_walk_sees_a_skipped_orthonormalisation():
    representation = LowRankLikelihood.from_rows(RowFactor(rows(6, 3, 0)))
    start = dual.DualSampler(representation).start(np.arange(3))
    wrong = follow(NotOrthonormalised(start.factor, start.C, start.V))
    V = representation.eigenvectors()
    assert max(abs(wrong[A] - p) for A, p in reference.law_from_K(V @ V.T).items()) > 1e-3


@pytest.mark.parametrize("complex_", [False, True])
def test_draws_follow_the_law(complex_):
    B = rows(6, 3, 1, complex_=complex_)
    B[1] = B[0]
    dpp = dv.DPP.from_features(B)
    law = reference.law_from_L(B @ B.conj().T)
    rng = np.random.default_rng(0)
    sampler = dual.DualSampler(dpp._representation)
    draws = sampler.draw_many(2_500, rng)
    assert reference.law_p_value(draws, law) > 1e-4
    assert not any({0, 1} <= set(draw.tolist()) for draw in draws)
    sampler = dual.DualSampler(dpp._representation, 2)
    assert reference.law_p_value(sampler.draw_many(2_500, rng), reference.of_size(law, 2)) > 1e-4
    # The same draws are told apart from the law of other rows.
    assert reference.law_p_value(draws, reference.law_from_L(wishart(6, 3, 2))) < 1e-4


def test_a_spectrum_with_certain_eigenvectors():
    V = orthonormal(6, 3, 5)
    representation = dv.DPP.from_spectrum([0.5, np.inf, np.inf], V)._representation
    law = reference.law_from_K((V * np.array([1 / 3, 1.0, 1.0])) @ V.T)
    draws = dual.DualSampler(representation).draw_many(2_500, np.random.default_rng(0))
    assert reference.law_p_value(draws, law) > 1e-4


def test_draws_are_sorted_and_repeat():
    representation = dv.DPP.from_features(rows(30, 5, 3))._representation
    sampler = dual.DualSampler(representation, 4)
    draws = sampler.draw_many(20, np.random.default_rng(1))
    assert all(len(d) == 4 and (np.diff(d) > 0).all() and d.dtype == np.int64 for d in draws)
    again = dual.DualSampler(representation, 4).draw_many(20, np.random.default_rng(1))
    assert all(np.array_equal(a, b) for a, b in zip(draws, again, strict=True))
    assert dual.DualSampler(representation, 0).draw(np.random.default_rng(0)).tolist() == []


def test_a_dense_kernel_has_no_dual():
    with pytest.raises(DiversetError, match=r"needs item rows.*from_features.*this model offers.*spectral"):
        dv.DPP(wishart(5, 5, 0)).sampler(method="dual")
