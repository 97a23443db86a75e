"""Laws that hold for every kernel, tried on kernels nobody chose."""

import math

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings

import diverset as dv

TOL = 1e-9


@st.composite
def likelihood_kernels(draw, max_items=6):
    """Gram matrices of small-integer rows, which tie, vanish and repeat often, with qualities over decades."""
    n = draw(st.integers(1, max_items))
    width = draw(st.integers(1, max_items + 1))
    entries = st.lists(st.integers(-3, 3), min_size=n * width, max_size=n * width)
    B = np.array(draw(entries), dtype=float).reshape(n, width)
    q = 10.0 ** np.array(draw(st.lists(st.floats(-2, 2), min_size=n, max_size=n)))
    return q[:, None] * (B @ B.T) * q


@st.composite
def dpps(draw, max_items=6):
    """A DPP in any of its representations."""
    L = draw(likelihood_kernels(max_items))
    form = draw(st.sampled_from(["L", "features", "K", "complement", "thin"]))
    dpp = dv.DPP(L)
    if form == "features":
        lam, V = np.linalg.eigh(L)
        return dv.DPP.from_features((V * np.sqrt(np.maximum(lam, 0.0)))[:, 1:] if len(L) > 1 else V)
    if form == "K":
        return dv.DPP.from_marginal(dpp.K)
    if form == "complement":
        return dpp.complement()
    return dpp.thin(0.5) if form == "thin" else dpp


@st.composite
def dpps_with_two_sets(draw):
    dpp = draw(dpps())
    roles = draw(st.lists(st.sampled_from("ABC"), min_size=dpp.n_items, max_size=dpp.n_items))
    return dpp, [i for i, r in enumerate(roles) if r == "A"], [i for i, r in enumerate(roles) if r == "B"]


@given(dpps())
def test_probabilities_sum_to_one(dpp):
    total = sum(math.exp(dpp.log_prob([i for i in range(dpp.n_items) if m >> i & 1])) for m in range(2**dpp.n_items))
    assert total == pytest.approx(1.0, abs=TOL)
    assert dpp.size_distribution.sum() == pytest.approx(1.0, abs=TOL)


@given(dpps_with_two_sets())
def test_conditioning_then_marginalising_is_the_joint(case):
    dpp, A, B = case
    joint = dpp.marginal(A + B)
    p = dpp.marginal(A)
    if p > 1e-6:
        assert p * dpp.condition(include=A).marginal(B) == pytest.approx(joint, abs=TOL)
    out = dpp.probability(exclude=A)
    if out > 1e-6:
        both = dpp.probability(include=B, exclude=A)
        assert out * dpp.condition(exclude=A).marginal(B) == pytest.approx(both, abs=TOL)


@given(dpps_with_two_sets())
def test_chain_rule_item_by_item(case):
    dpp, A, _ = case
    log_p, given_so_far = 0.0, dpp
    for i in range(dpp.n_items):
        p = given_so_far.marginal([i])
        taken = i in A
        step = p if taken else 1.0 - p
        if step < 1e-5:
            return  # too rare: the next conditional law has lost its digits
        log_p += math.log(step)
        given_so_far = given_so_far.condition(include=[i] if taken else [], exclude=[] if taken else [i])
    assert math.exp(log_p) == pytest.approx(math.exp(dpp.log_prob(A)), abs=1e-8)


@given(dpps_with_two_sets())
def test_complement_of_the_complement(case):
    dpp, A, B = case
    back = dpp.complement().complement()
    assert back.probability(A, B) == dpp.probability(A, B)
    assert dpp.complement().probability(B, A) == pytest.approx(dpp.probability(A, B), abs=TOL)


@given(likelihood_kernels(), st.floats(-3, 3), st.data())
def test_scaling_multiplies_odds(L, log_c, data):
    c = math.exp(log_c)
    dpp, scaled = dv.DPP(L), dv.DPP(c * L)
    A = data.draw(st.lists(st.integers(0, len(L) - 1), unique=True))
    if dpp.log_prob(A) > -40.0:
        before = dpp.log_prob(A) - dpp.log_prob([])
        after = scaled.log_prob(A) - scaled.log_prob([])
        assert after - before == pytest.approx(len(A) * log_c, abs=1e-6)
    for k in range(dpp.rank + 1):
        np.testing.assert_allclose(
            scaled.of_size(k).inclusion_probabilities, dpp.of_size(k).inclusion_probabilities, atol=1e-7
        )


@given(likelihood_kernels(), st.randoms(use_true_random=False))
def test_relabelling_does_not_matter(L, random):
    order = list(range(len(L)))
    random.shuffle(order)
    dpp, moved = dv.DPP(L), dv.DPP(L[np.ix_(order, order)])
    np.testing.assert_allclose(moved.inclusion_probabilities, dpp.inclusion_probabilities[order], atol=TOL)
    A = list(range(0, len(L), 2))
    assert moved.marginal(A) == pytest.approx(dpp.marginal([order[i] for i in A]), abs=TOL)
    assert moved.log_normalizer == pytest.approx(dpp.log_normalizer, abs=1e-7)


@given(dpps_with_two_sets())
def test_negative_association(case):
    # Disjoint sets repel: P(A and B appear) <= P(A appears) P(B appears).
    dpp, A, B = case
    assert dpp.marginal(A + B) <= dpp.marginal(A) * dpp.marginal(B) + TOL


@given(dpps())
def test_restriction_keeps_marginals_and_thinning_scales_them(dpp):
    keep = list(range(0, dpp.n_items, 2))
    assert dpp.restrict(keep).marginal(keep) == pytest.approx(dpp.marginal(keep), abs=TOL)
    assert dpp.thin(0.7).marginal(keep) == pytest.approx(0.7 ** len(keep) * dpp.marginal(keep), abs=TOL)


@given(dpps())
@settings(max_examples=40)
def test_k_dpps_mix_back_to_the_dpp(dpp):
    sized = dv.SizedDPP(dpp, dpp.size_distribution)
    np.testing.assert_allclose(dv.law(sized), dv.law(dpp), atol=1e-7)
    np.testing.assert_allclose(sized.inclusion_probabilities, dpp.inclusion_probabilities, atol=1e-7)
