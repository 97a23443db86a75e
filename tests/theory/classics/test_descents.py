"""Descents and carries: all sequences against the kernel, and draws of both kinds against the law."""

from collections import Counter
from itertools import product

import numpy as np
import pytest

import diverset as dv
import reference
from diverset.theory.classics import Carries, Descents, one_dependent_kernel


def law_by_listing(classic):
    law = Counter()
    p = classic.probabilities
    for sequence in product(range(len(p)), repeat=classic.length):
        law[frozenset(classic.items_of(np.array(sequence)).tolist())] += float(np.prod(p[list(sequence)]))
    return law


def assert_same(law, kernel):
    for A, p in reference.law_from_K(kernel).items():
        assert law[A] == pytest.approx(p, abs=1e-13)


@pytest.mark.parametrize("length", range(1, 7))
@pytest.mark.parametrize("values", [1, 2, 3, 4, [0.2, 0.5, 0.3], [0.7, 0.0, 0.3]], ids=str)
def test_descents_of_all_sequences_are_the_kernels(length, values):
    classic = Descents(length, values)
    assert_same(law_by_listing(classic), classic.kernel)


@pytest.mark.parametrize("length", range(1, 5))
def test_digits(length):
    assert_same(law_by_listing(Descents(length)), Descents(length).kernel)


@pytest.mark.parametrize(("length", "base"), [(1, 2), (6, 2), (6, 3), (5, 4), (4, 10)])
def test_carries_of_all_columns_are_the_kernels(length, base):
    assert_same(law_by_listing(Carries(length, base)), Carries(length, base).kernel)


def test_the_listing_sees_a_wrong_order_of_values():
    """Weak descents, of values that stay or fall, are another process."""
    classic = Descents(4, 3)
    weak = Counter()
    for sequence in product(range(3), repeat=4):
        weak[frozenset(np.flatnonzero(np.diff(sequence) <= 0).tolist())] += 1 / 81
    assert max(abs(weak[A] - p) for A, p in reference.law_from_K(classic.kernel).items()) > 0.05


def test_the_process_passes_the_check_of_every_set():
    dv.NonsymmetricDPP.from_marginal(Descents(11, [0.1, 0.4, 0.3, 0.2]).kernel, check="minors")


@pytest.mark.parametrize("classic", [Descents(7, [0.2, 0.5, 0.3]), Carries(7, 10)], ids=repr)
def test_both_samplers_follow_the_law(classic):
    law = reference.law_from_K(classic.kernel)
    assert reference.law_p_value(classic.sample(20_000, rng=0), law) > 1e-4
    assert reference.law_p_value(classic.dpp.sample(20_000, rng=1), law) > 1e-4
    alone = dv.DPP.from_marginal(np.diag(classic.dpp.inclusion_probabilities))
    assert reference.law_p_value(alone.sample(20_000, rng=2), law) < 1e-4


def test_many_values_approach_permutations():
    """A run of m descents of a permutation has probability 1 / (m + 1)!."""
    dpp = Descents(6, 10**5).dpp
    assert dpp.marginal([0, 1, 2]) == pytest.approx(1 / 24, rel=1e-3)
    assert dpp.marginal([0, 3]) == pytest.approx(1 / 4, rel=1e-3)


def test_long_sequences_keep_their_digits():
    """Far along a long sequence the kernel is still that of a short one."""
    long, short = Descents(400).kernel, Descents(9).kernel
    assert np.allclose(long[392:, 392:][:7, :7], short[:7, :7], atol=1e-12)
    assert np.abs(long[0, 60:]).max() < 1e-12
    draws = Descents(400).dpp.sample(200, rng=0)
    assert np.mean([len(Y) for Y in draws]) == pytest.approx(0.45 * 399, abs=2.0)


def test_draws_are_repeatable_and_leave_the_global_state_alone():
    before = np.random.get_state()[1].copy()  # noqa: NPY002
    classic = Descents(30)
    assert [Y.tolist() for Y in classic.sample(5, rng=3)] == [Y.tolist() for Y in classic.sample(5, rng=3)]
    one = classic.sample_objects(rng=3)
    assert np.array_equal(classic.items_of(one), classic.sample(rng=3))
    assert np.array_equal(before, np.random.get_state()[1])  # noqa: NPY002


def test_bad_input():
    with pytest.raises(ValueError, match="length is 0"):
        Descents(0)
    with pytest.raises(ValueError, match=r"sums to 0\.5"):
        Descents(3, [0.25, 0.25])
    with pytest.raises(ValueError, match="base is 1;"):
        Carries(3, 1)
    with pytest.raises(ValueError, match="runs has shape"):
        one_dependent_kernel([[1.0, 0.5]])
