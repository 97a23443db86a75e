"""Nonsymmetric kernels at their limits: checks on reading, and every form by every route."""

import math

import numpy as np
import pytest

import diverset as dv
import reference
from diverset.core import nonsymmetric_forms as nonsymmetric_forms_module
from diverset.core import (
    nonsymmetric_low_rank,
)
from diverset.core.nonsymmetric_checks import (
    as_square,
    check_atoms,
    check_minors,
    check_reflected,
    check_symmetric_part,
)
from diverset.core.nonsymmetric_forms import DenseForm, log_det_of_set, numerical_rank
from diverset.core.nonsymmetric_low_rank import LowRankForm
from diverset.errors import KernelError
from diverset.numerics import accretive
from diverset.numerics.rounding import EPS
from forms_for_tests import EVENTS, assert_law, marginal_of, rows_of

# nonsymmetric kernels ----------------------------------------------------------------------------------------


def skew(n, size=1.0):
    A = np.triu(np.ones((n, n)), 1)
    return size * (A - A.T)


@pytest.mark.parametrize(("n", "units"), [(2, 64.0), (16, 128.0)])
def test_how_far_from_a_distribution_a_nonsymmetric_kernel_may_be(n, units):
    for factor_, fine in ((0.9, True), (1.1, False)):
        x = factor_ * units * EPS
        L = np.diag([1.0] * (n - 1) + [-x]) + skew(n, 0.5)
        K = np.diag([0.5] * (n - 1) + [1.0 + x / 2.0])
        for check, kernel, message in (
            (check_symmetric_part, L, "smallest eigenvalue -"),
            (check_reflected, K, "largest singular value 1"),
        ):
            copy, rounding = as_square(kernel, name="L")
            assert rounding == pytest.approx(units * EPS)
            if fine:
                check(copy, rounding)
                continue
            with pytest.raises(KernelError, match=message):
                check(copy, rounding)
    assert as_square(np.eye(n, dtype=np.float32), name="L")[1] == pytest.approx(units * 2.0**-23)


def test_rounding_of_minors_and_atoms_is_relative_to_their_rows():
    for check, kernel in (
        (check_minors, lambda x: np.array([[2.0, 3.0], [3.0, 4.5 - x]])),
        (check_atoms, lambda x: np.array([[0.5, 0.5], [0.5, 0.5 - x]])),
    ):
        # The norms of the two rows, whose product bounds the determinant.
        A = kernel(0.0)
        scale = np.linalg.norm(A[0]) * np.linalg.norm(A[1]) / A[0, 0]
        for factor_, fine in ((0.9, True), (1.1, False)):
            x = factor_ * 1e-9 * scale
            if fine:
                check(kernel(x), 1e-9)
                continue
            with pytest.raises(KernelError, match=r"\[0, 1\]"):
                check(kernel(x), 1e-9)


def test_every_minor_and_every_atom_is_looked_at():
    for items in ([0], [2], [0, 2], [1, 2], [0, 1, 2]):
        # A kernel with one negative minor among positive ones.
        L = np.eye(3)
        if len(items) == 1:
            L[items, items] = -1.0
        elif len(items) == 2:
            L[items[0], items[1]] = L[items[1], items[0]] = 2.0
        else:
            # The cycle of three: pairs have positive minors, all three together do not.
            L = np.eye(3) - 0.6 * (np.ones((3, 3)) - np.eye(3))
        with pytest.raises(KernelError, match=rf"items \[{', '.join(map(str, items))}\] is -"):
            check_minors(L, 1e-14)
    for n in (0, 1, 3):
        check_minors(np.eye(n) + skew(n), 1e-14)
        check_atoms(0.5 * np.eye(n) + skew(n, 0.1), 1e-14)
    for i in range(3):
        K = 0.5 * np.eye(3)
        K[i, i] = 1.5
        with pytest.raises(KernelError, match="K gives the set"):
            check_atoms(K, 1e-14)
    for check in (check_minors, check_atoms):
        with pytest.raises(dv.errors.DiversetError, match="16 items, and accepts at most 15"):
            check(np.eye(16), 1e-14)


def test_small_pivots_ask_for_the_rank():
    for pivot, asked in ((0.9e-6, True), (1.1e-6, False)):
        calls = []
        found = log_det_of_set(np.array([[1.0, 1.0], [1.0, 1.0 + pivot]]), lambda calls=calls: calls.append(1) or 2)
        assert found == pytest.approx(math.log(pivot), abs=1e-5)
        assert bool(calls) is asked
    tiny = np.array([[1.0, 1.0], [1.0, 1.0 + 1e-8]])
    assert log_det_of_set(tiny, lambda: 2) == pytest.approx(math.log(1e-8), abs=1e-6)
    assert log_det_of_set(tiny, lambda: 1) == -math.inf
    assert numerical_rank(np.diag([1.0, 1e-30, 0.0]), 1e-14) == 2


# nonsymmetric kernels by every route -------------------------------------------------------------------------


def nonsymmetric_forms():
    rng = np.random.default_rng(8)
    F, S = rng.standard_normal((5, 3)), rng.standard_normal((3, 3))
    core = np.diag([1.0, 0.5, 0.0]) + S - S.T
    L = F @ core @ F.T
    K = marginal_of(L)
    yield "L", lambda: DenseForm(L.copy()), K
    yield "L, one factorisation", lambda: DenseForm(L.copy(), accretive=False), K
    yield "K", lambda: DenseForm(K=K.copy(), Kc=np.eye(5) - K), K
    yield "rows", lambda: LowRankForm.from_core(F, core), K
    yield "rows, Gram matrix", lambda: LowRankForm.from_core(F, core, F.T @ F), K
    yield "rows of K", lambda: LowRankForm(F, LowRankForm.from_core(F, core, F.T @ F).marginal_core, rank=3), K
    yield "outside rows", lambda: LowRankForm.from_core(F, core).complemented(), np.eye(5) - K
    yield "outside L", lambda: DenseForm(L.copy()).complemented(), np.eye(5) - K


NONSYMMETRIC = {name: (make, K) for name, make, K in nonsymmetric_forms()}


@pytest.fixture(params=["as they are", "rare", "common"])
def nonsymmetric_limits(request, monkeypatch):
    if request.param != "as they are":
        for module in (nonsymmetric_forms_module, nonsymmetric_low_rank):
            monkeypatch.setattr(module, "RARE", math.inf if request.param == "rare" else -math.inf)
        monkeypatch.setattr(nonsymmetric_forms_module, "_SUSPECT", 0.999 if request.param == "rare" else 0.0)
        monkeypatch.setattr(accretive, "_PLAIN_ERROR", 0.0 if request.param == "rare" else math.inf)
        monkeypatch.setattr(nonsymmetric_low_rank, "block_length", lambda *_: 2)


@pytest.mark.parametrize("name", NONSYMMETRIC)
def test_nonsymmetric_forms_by_every_route(name, nonsymmetric_limits):
    make, K = NONSYMMETRIC[name]
    form, law, n = make(), reference.law_from_K(K), 5
    everything = np.arange(n)
    np.testing.assert_allclose(form.marginal_block(everything, everything), K, atol=1e-11)
    np.testing.assert_allclose(form.outside_block(everything, everything), np.eye(n) - K, atol=1e-11)
    np.testing.assert_allclose(form.marginal_diagonal(), np.diagonal(K), atol=1e-11)
    i, j = np.array([0, 3, 4, 4, 1]), np.array([1, 3, 0, 4, 2])
    np.testing.assert_allclose(form.marginal_entries(i, j), K[i, j], atol=1e-11)
    pmf = reference.size_distribution(law)
    found = form.size_law()
    np.testing.assert_allclose(found, pmf[: len(found)], atol=1e-11)
    assert pmf[len(found) :].sum() < 1e-11
    mean = pmf @ np.arange(n + 1)
    assert form.size_moments() == pytest.approx((mean, pmf @ (np.arange(n + 1) - mean) ** 2), abs=1e-10)
    assert form.rank == max(k for k in range(n + 1) if pmf[k] > 1e-11) or name == "K" or "outside" in name
    assert_law(form, law, 1e-6)
    if pmf[0] > 1e-11:
        assert form.log_normalizer == pytest.approx(-math.log(pmf[0]), abs=1e-9)
        L = np.linalg.solve((np.eye(n) - K).T, K.T).T
        rows, columns = np.array([4, 0]), np.array([1, 0, 4])
        np.testing.assert_allclose(form.likelihood_block(rows, columns), L[np.ix_(rows, columns)], atol=1e-8)
    dpp = dv.NonsymmetricDPP._wrap(everything, form)
    for inside, outside in EVENTS:
        if reference.probability(law, inside, outside) < 1e-8:
            continue
        rest = dpp.condition(inside, outside)
        given = reference.conditioned(law, inside, outside)
        assert rest.items.tolist() == [x for x in range(n) if x not in inside and x not in outside]
        for Y, p in given.items():
            assert math.exp(rest.log_prob(Y)) == pytest.approx(p, rel=1e-6, abs=1e-10)
        np.testing.assert_allclose(rest.expected_size, sum(len(Y) * p for Y, p in given.items()), atol=1e-9)
    part = dpp.restrict([1, 3, 4])
    for Y, p in reference.restricted(law, [1, 3, 4]).items():
        assert math.exp(part.log_prob(Y)) == pytest.approx(p, rel=1e-6, abs=1e-10)
    for Y, p in reference.complemented(law, range(n)).items():
        assert math.exp(dpp.complement().log_prob(Y)) == pytest.approx(p, rel=1e-6, abs=1e-10)
    assert dpp.pair_probabilities([(0, 1), (4, 2)]) == pytest.approx(
        [reference.probability(law, y) for y in ((0, 1), (4, 2))]
    )
    assert dpp.pair_probabilities()[0, 1] == pytest.approx(reference.probability(law, (0, 1)))
    np.testing.assert_allclose(np.diagonal(dpp.pair_probabilities()), np.diagonal(K), atol=1e-11)


def test_which_factors_are_orthonormalised_by_their_gram_matrix(monkeypatch):
    monkeypatch.setattr(nonsymmetric_low_rank, "_SMALL", 10)
    assert nonsymmetric_low_rank.gram_if_tall(np.ones((5, 2))) is None
    assert nonsymmetric_low_rank.gram_if_tall(np.ones((11, 1))).tolist() == [[11.0]]
    # Unit columns at an angle: eigenvalues 1 - c and 1 + c of the scaled Gram matrix, whatever the scales.
    for c, fine in ((1.0 - 1.1e-4, True), (1.0 - 0.9e-4, False)):
        G = np.array([[1.0, c], [c, 1.0]]) * np.array([[1e20, 1e5], [1e5, 1e-10]])
        root = nonsymmetric_low_rank._gram_root(G)
        assert (root is not None) is fine
        if fine:
            np.testing.assert_allclose(root.T @ root, G, rtol=1e-12)
            assert root[1, 0] == 0.0
    assert nonsymmetric_low_rank._gram_root(np.diag([1.0, 0.0])) is None
    assert nonsymmetric_low_rank._gram_root(np.diag([1.0, np.inf])) is None
    square, tall = (nonsymmetric_low_rank.factored_form(rows_of(n, 3), np.eye(3)) for n in (3, 4))
    assert (type(square), type(tall)) == (DenseForm, LowRankForm)
