"""Table 1 and the surfaces of figure 11: against determinants, and points of the surfaces against real models."""

import math

import numpy as np
import pytest

import diverset as dv
from diverset.theory.mrf import PairwiseMRF, dpp_slice, dpp_ternary, mrf_slice, mrf_ternary, transitivity_gap


def similarity(a, b, c):
    return np.array([[1.0, a, b], [a, 1.0, c], [b, c, 1.0]])


def test_table_one_of_a_dpp_is_determinants():
    S = similarity(0.3, -0.5, 0.4)
    psi = dpp_ternary([0.3, -0.5, 0.4])
    assert len(psi) == 8
    for Y, value in psi.items():
        at = [i - 1 for i in Y]
        assert value == pytest.approx(np.linalg.det(S[np.ix_(at, at)]) if Y else 1.0, abs=1e-14)


@pytest.mark.parametrize("seed", range(5))
def test_both_factors_times_nodes_are_the_models(seed):
    """P(Y) is proportional to the node potentials times the ternary factor."""
    rng = np.random.default_rng(seed)
    q = rng.random(3) + 0.5
    B = rng.standard_normal((3, 4))
    B /= np.linalg.norm(B, axis=1, keepdims=True)
    S = B @ B.T
    w = rng.normal(size=3)
    for psi, law in (
        (dpp_ternary([S[0, 1], S[0, 2], S[1, 2]]), dv.law(dv.DPP.from_quality_diversity(q, S))),
        (mrf_ternary(w), PairwiseMRF(2 * np.log(q), {(0, 1): w[0], (0, 2): w[1], (1, 2): w[2]}).law()),
    ):
        weights = {Y: value * math.prod(q[i - 1] ** 2 for i in Y) for Y, value in psi.items()}
        for Y, weight in weights.items():
            assert law[sum(1 << (i - 1) for i in Y)] == pytest.approx(weight / sum(weights.values()), rel=1e-10)


@pytest.mark.parametrize("value", [0.001, 0.1, 0.25, 0.5, 0.75])
def test_points_of_the_dpp_slice_are_dpps(value):
    grid = np.linspace(0.0, 1.0, 21)
    a, b = np.meshgrid(grid, grid)
    for sign, sheet in zip((1.0, -1.0), dpp_slice(a, b, value), strict=True):
        seen = ~np.isnan(sheet)
        assert np.array_equal(seen, a * b >= value - 1e-12)
        for x, y, z in zip(a[seen], b[seen], sheet[seen], strict=True):
            s12, s13 = math.sqrt(1 - x), math.sqrt(1 - y)
            s23 = s12 * s13 + sign * math.sqrt(max(x * y - value, 0.0))
            assert 1 - s23**2 == pytest.approx(z, abs=1e-12)
            assert np.linalg.eigvalsh(similarity(s12, s13, s23))[0] > -1e-9
            assert np.linalg.det(similarity(s12, s13, s23)) == pytest.approx(value, abs=1e-12)


def test_every_dpp_is_on_its_slice():
    rng = np.random.default_rng(0)
    for _ in range(200):
        B = rng.standard_normal((3, 3))
        B /= np.linalg.norm(B, axis=1, keepdims=True)
        S = B @ B.T
        psi = dpp_ternary([S[0, 1], S[0, 2], S[1, 2]])
        sheets = dpp_slice(psi[1, 2], psi[1, 3], psi[1, 2, 3])
        assert min(abs(float(z) - psi[2, 3]) for z in sheets) < 1e-7
        if (S >= 0.0).all():
            kept = dpp_slice(psi[1, 2], psi[1, 3], psi[1, 2, 3], nonnegative=True)
            assert np.nanmin([abs(float(z) - psi[2, 3]) for z in kept]) < 1e-7


def test_points_of_the_mrf_slice_are_mrfs():
    psi = mrf_ternary([-0.4, -0.9, -0.2])
    assert float(mrf_slice(psi[1, 2], psi[1, 3], psi[1, 2, 3])) == pytest.approx(psi[2, 3])
    assert np.isnan(mrf_slice(0.2, 0.2, 0.5))  # would need w_23 > 0
    assert np.isnan(mrf_slice(0.0, 0.2, 0.5))


def test_only_the_mrf_has_one_item_against_two_friends():
    """psi_12 and psi_13 small, psi_23 near 1: easy for an MRF, impossible for a DPP (section 3.2.2)."""
    value = 0.001
    assert float(mrf_slice(0.03, 0.034, value)) == pytest.approx(0.98, abs=0.01)
    assert np.nanmax(dpp_slice(0.03, 0.034, value)) < 0.15


def test_transitivity_holds_for_every_dpp_and_is_not_enough():
    rng = np.random.default_rng(1)
    for _ in range(50):
        B = rng.standard_normal((6, 3))
        B /= np.linalg.norm(B, axis=1, keepdims=True)
        S = np.clip(B @ B.T, -1.0, 1.0)
        np.fill_diagonal(S, 1.0)
        gap, (i, j, k) = transitivity_gap(S)
        assert gap >= -1e-9
        slack = math.sqrt(1 - S[i, j]) + math.sqrt(1 - S[j, k]) - math.sqrt(max(1 - S[i, k], 0.0))
        assert slack == pytest.approx(gap, abs=1e-12)
    # Three items, each the opposite of each other: distances fit, vectors do not exist.
    opposite = similarity(-0.9, -0.9, -0.9)
    assert transitivity_gap(opposite)[0] > 0.0
    assert np.linalg.eigvalsh(opposite)[0] < 0.0


def test_bad_input():
    with pytest.raises(ValueError, match=r"smallest eigenvalue -0\.8"):
        dpp_ternary([-0.9, -0.9, -0.9])
    with pytest.raises(ValueError, match="three finite numbers"):
        mrf_ternary([0.0, 1.0])
    with pytest.raises(ValueError, match=r"value is 1\.5"):
        dpp_slice(0.5, 0.5, 1.5)
    with pytest.raises(ValueError, match="S is of 2 items"):
        transitivity_gap(np.eye(2))
    with pytest.raises(ValueError, match="ones on the diagonal"):
        transitivity_gap(2.0 * np.eye(3))
