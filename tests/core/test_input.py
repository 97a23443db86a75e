"""Bad input is refused with the value and the remedy; odd but right input works and is left alone."""

import math

import numpy as np
import pytest
import scipy.sparse

import diverset as dv
from diverset.errors import DiversetError, KernelError, LabelError, SizeError, TooLargeError
from diverset.numerics import validation
from kernels_for_tests import wishart

L4 = wishart(4, 6, 0)


def changed(M, i, j, value, *, both=False):
    M = np.array(M, dtype=float)
    M[i, j] = value
    if both:
        M[j, i] = value
    return M


@pytest.mark.parametrize(
    ("L", "message"),
    [
        (changed(L4, 1, 2, np.nan, both=True), r"L\[1, 2\] is nan"),
        (changed(L4, 3, 3, np.inf), r"L\[3, 3\] is inf"),
        (changed(L4, 3, 1, 7.25), r"L\[3, 1\] = 7.25"),
        (np.ones((3, 4)), r"shape \(3, 4\)"),
        (np.ones(3), r"shape \(3,\)"),
        (-np.eye(2), "smallest eigenvalue -1"),
        (-1e-15 * np.eye(2), "smallest eigenvalue -1e-15"),
        ([[1.0, 2.0], [2.0, 1.0]], "smallest eigenvalue -1;.*nearest_psd"),
        (1e-14 * np.array([[1.0, 2.0], [2.0, 1.0]]), "smallest eigenvalue -1e-14"),
        (np.diag([1e12, -1.0]), "smallest eigenvalue -1;"),
        ([["a", "b"], ["c", "d"]], r"L\[0, 0\] is 'a'; every entry must be a number"),
        ([[1.0, 2.0], [3.0]], "cannot be read as an array of numbers: its rows have different lengths"),
        (np.array([[None]]), r"L\[0, 0\] is None; every entry must be a number"),
        (np.array([[1.0, 1j], [1j, 1.0]]), "not symmetric"),
        (np.ma.masked_equal([[1.0, 0.0], [0.0, 1.0]], 0.0), "masked entries"),
    ],
)
def test_likelihood_kernel_refused(L, message):
    with pytest.raises(KernelError, match=message):
        dv.DPP(L)


def test_large_nonsymmetric_and_nan_kernels_are_seen_wherever_they_hide():
    L = wishart(300, 310, 0)
    L[299, 287] += 1e-3
    with pytest.raises(KernelError, match=r"L\[299, 287\]"):
        dv.DPP(L)
    L = wishart(300, 310, 0)
    L[280, 280] = np.nan
    with pytest.raises(KernelError, match=r"L\[280, 280\] is nan"):
        dv.DPP(L)


def test_tiny_negative_eigenvalues_are_refused_relative_to_the_largest():
    V = np.linalg.qr(np.random.default_rng(0).standard_normal((50, 50)))[0]
    lam = np.linspace(1.0, 2.0, 50)
    lam[0] = -1e-9
    L = (V * lam) @ V.T
    with pytest.raises(KernelError, match=r"smallest eigenvalue -(1e-09|9\.9999)"):
        dv.DPP((L + L.T) / 2)
    lam[0] = -1e-16
    L = (V * lam) @ V.T
    assert dv.DPP((L + L.T) / 2).rank == 49


@pytest.mark.parametrize(
    ("K", "message"),
    [
        (2.0 * np.eye(3), "largest eigenvalue 2;"),
        (np.diag([0.5, 1.0 + 1e-6]), r"largest eigenvalue 1"),
        (np.array([[0.9, 0.4], [0.4, 0.9]]), "largest eigenvalue 1.3;"),
        (np.diag([0.5, -0.1]), "smallest eigenvalue -0.1;"),
        (np.full((2, 2), np.nan), r"K\[0, 0\] is nan"),
        (np.ones((2, 3)), r"shape \(2, 3\)"),
    ],
)
def test_marginal_kernel_refused(K, message):
    with pytest.raises(KernelError, match=message):
        dv.DPP.from_marginal(K)


@pytest.mark.parametrize(
    ("features", "quality", "message"),
    [
        ([[1.0], [np.nan], [0.0]], None, r"features\[1, 0\] is nan"),
        ([[1.0, 2.0], [0.0, -np.inf]], None, r"features\[1, 1\] is -inf"),
        (scipy.sparse.csr_array([[1.0], [0.0], [np.nan]]), None, r"features\[2, 0\] is nan"),
        ([1.0, 2.0], None, r"shape \(2,\)"),
        ([[1e200], [1.0]], None, "overflow"),
        ([[1.0], [2.0]], [1.0, -0.5], r"quality\[1\] is -0.5"),
        ([[1.0], [2.0]], [1.0], "quality has 1 entries for 2 items"),
        ([[1.0], [2.0]], [1.0, np.nan], r"quality\[1\] is nan"),
        ([[1.0], [2.0]], [1.0, 1j], "complex"),
        ([[1.0], ["x"]], None, r"features\[1, 0\] is 'x'; every entry must be a number"),
    ],
)
def test_features_refused(features, quality, message):
    with pytest.raises(KernelError, match=message):
        dv.DPP.from_features(features, quality)


@pytest.mark.parametrize(
    ("lam", "V", "message"),
    [
        ([1.0, -2.0], np.eye(3, 2), r"eigenvalues\[1\] is -2.0"),
        ([1.0, np.nan], np.eye(3, 2), r"eigenvalues\[1\] is nan"),
        ([1.0], np.eye(3, 2), "1 eigenvalues for eigenvectors of shape"),
        ([1.0, 1.0, 1.0], np.eye(2, 3), "no more columns than rows"),
        ([1.0, 1.0], np.ones((3, 2)), "not orthonormal"),
        ([1.0, 1.0], 1.001 * np.eye(3, 2), "not orthonormal"),
        ([1.0, 1.0], np.full((3, 2), np.nan), r"eigenvectors\[0, 0\] is nan"),
    ],
)
def test_spectrum_refused(lam, V, message):
    with pytest.raises(KernelError, match=message):
        dv.DPP.from_spectrum(lam, V)


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        ([4], r"names item 4, which is not in the ground set \(0 to 3\)"),
        ([-1], "names item -1"),
        ([1, 1], "names item 1 more than once"),
        ([0.5], "float64 values such as"),
        ([True, False, True, False], "boolean mask"),
        (3, r"the number 3; pass a sequence of items, such as \[3\]"),
        ("12", "the text '12'"),
        (["a"], "whole numbers"),
    ],
)
def test_labels_refused_everywhere(labels, message):
    dpp = dv.DPP(L4)
    for distribution in (dpp, dpp.of_size(2), dv.SizedDPP(dpp, [0, 0.5, 0.5]), dv.KDPPMixture([dpp])):
        for question in ("log_prob", "marginal", "probability", "condition"):
            with pytest.raises(LabelError, match=message):
                getattr(distribution, question)(labels)
    with pytest.raises(LabelError, match=message):
        dpp.restrict(labels)


def test_questions_about_one_event_refuse_a_batch():
    dpp = dv.DPP(L4)
    for question in (dpp.probability, dpp.condition, dpp.restrict):
        with pytest.raises(LabelError, match=r"shape \(1, 2\)"):
            question([[0, 1]])


def test_include_and_exclude_must_not_overlap():
    with pytest.raises(LabelError, match="item 2 is in both"):
        dv.DPP(L4).probability(include=[1, 2], exclude=[2, 3])


def test_labels_of_a_conditioned_dpp_are_checked_against_its_own_ground_set():
    given = dv.DPP(L4).condition(include=[1])
    with pytest.raises(LabelError, match=r"names item 1, which is not in the ground set \(those in .items\)"):
        given.marginal([1])
    nothing = given.restrict([])
    with pytest.raises(LabelError, match="ground set is empty"):
        nothing.marginal([0])


@pytest.mark.parametrize(
    ("k", "message"),
    [
        (5, "k is 5, but the kernel has rank 3"),
        (-1, "k is -1"),
        (2.5, "k is 2.5"),
        (True, "k is True"),
        ("2", "k is '2'"),
    ],
)
def test_sizes_refused(k, message):
    with pytest.raises(SizeError, match=message):
        dv.KDPP(wishart(6, 3, 0), k)


def test_sizes_below_the_certain_ones_are_refused():
    dpp = dv.DPP.from_marginal(np.diag([1.0, 1.0, 0.5]))
    with pytest.raises(SizeError, match=r"k is 1.*2 eigenvalues of K equal to 1.*2 to 3 items"):
        dpp.of_size(1)


def test_asking_for_several_sizes_leaves_no_trace():
    dpp = dv.DPP(wishart(20, 20, 0))
    first = dpp.of_size(2).inclusion_probabilities
    dpp.of_size(4).sample(rng=0)
    assert len(dpp.of_size(0).sample(rng=0)) == 0
    assert np.array_equal(dpp.of_size(2).inclusion_probabilities, first)


def test_other_arguments_refused():
    dpp = dv.DPP(L4)
    with pytest.raises(DiversetError, match=r"rate is 1.5"):
        dpp.thin(1.5)
    with pytest.raises(SizeError, match=r"expected_size is 4;.*0 and its rank, 4"):
        dpp.rescale(4)
    with pytest.raises(DiversetError, match=r"expected_size is -1.0"):
        dpp.rescale(-1)
    with pytest.raises(DiversetError, match="method is 'fast'; choose one of auto"):
        dpp.sample(method="fast")
    with pytest.raises(SizeError, match="size is -2"):
        dpp.sample(-2)
    with pytest.raises(DiversetError, match="formula is 'x'"):
        dpp.log_prob([0], formula="x")
    with pytest.raises(LabelError, match=r"pairs has shape \(2,\)"):
        dpp.pair_probabilities([0, 1])
    with pytest.raises(LabelError, match="names item 1 with itself"):
        dpp.pair_probabilities([(0, 1), (1, 1)])
    with pytest.raises(SizeError, match=r"size_probabilities\[5\] is 0.5"):
        dv.SizedDPP(dpp, [0.5, 0, 0, 0, 0, 0.5])
    with pytest.raises(DiversetError, match=r"sums to 0.9"):
        dv.SizedDPP(dpp, [0.5, 0.4])
    with pytest.raises(DiversetError, match=r"size_probabilities\[1\] is -0.1"):
        dv.SizedDPP(dpp, [1.1, -0.1])
    with pytest.raises(DiversetError, match="dpp is a ndarray"):
        dv.SizedDPP(L4, [1.0])
    with pytest.raises(DiversetError, match="kdpps is empty"):
        dv.KDPPMixture([])
    with pytest.raises(DiversetError, match=r"weights has 1 entries for 2"):
        dv.KDPPMixture([dpp, dpp], [1.0])
    with pytest.raises(DiversetError, match=r"kdpps\[1\] is over other items"):
        dv.KDPPMixture([dpp, dpp.restrict([0, 1])])
    with pytest.raises(DiversetError, match=r"kdpps\[0\] is a ndarray"):
        dv.KDPPMixture([L4])


def test_memory_is_estimated_before_it_is_used(monkeypatch):
    monkeypatch.setattr(validation, "available_memory", lambda: 10**6)
    with pytest.raises(TooLargeError, match=r"a copy of L needs 0.3 GiB and 0.0 GiB are available; .*from_features"):
        dv.DPP(np.broadcast_to(np.float64(0.0), (6000, 6000)))
    wide = scipy.sparse.csr_array((6000, 7000))
    with pytest.raises(TooLargeError, match=r"the kernel of 6000 items .*project the features"):
        dv.DPP.from_features(wide)


def variants(M, tmp_path):
    """The same numbers in every dress."""
    M = np.asarray(M, dtype=np.float64)
    strided = np.zeros((2 * M.shape[0], 3 * M.shape[1]))
    strided[::2, ::3] = M
    read_only = M.copy()
    read_only.flags.writeable = False
    mapped = np.memmap(tmp_path / "m.dat", dtype=np.float64, mode="w+", shape=M.shape)
    mapped[:] = M
    return {
        "list": M.tolist(),
        "fortran": np.asfortranarray(M),
        "strided": strided[::2, ::3],
        "reversed": np.ascontiguousarray(M[::-1, ::-1])[::-1, ::-1],
        "read-only": read_only,
        "memmap": mapped,
        "float32": M.astype(np.float32),
        "float16": M.astype(np.float16),
        "longdouble": M.astype(np.longdouble),
        "integer": M.astype(np.int32),
        "unsigned": M.astype(np.uint8),
        "big-endian": M.astype(">f8"),
        "sparse": scipy.sparse.csr_matrix(M),
        "sparse-array": scipy.sparse.coo_array(M),
        "complex": M.astype(np.complex64),
    }


def test_every_dress_of_the_same_numbers(tmp_path):
    F = np.array([[3, 0, 1], [1, 2, 0], [0, 1, 1], [2, 2, 2], [1, 0, 0]])
    L = F @ F.T + np.eye(5)
    for name, form in variants(L, tmp_path).items():
        kept = form.copy() if hasattr(form, "copy") else form
        dpp = dv.DPP(form)
        assert dpp.log_prob([0, 3]) == pytest.approx(dv.DPP(L).log_prob([0, 3]), abs=1e-12), name
        assert dpp.L.dtype == np.float64
        if isinstance(form, np.ndarray):
            assert np.array_equal(form, kept)
    for name, form in variants(F, tmp_path).items():
        dpp = dv.DPP.from_features(form, quality=[1, 2, 1, 1, 1])
        expected = dv.DPP.from_features(F.astype(float), quality=[1.0, 2.0, 1.0, 1.0, 1.0])
        assert dpp.log_prob([0, 3]) == pytest.approx(expected.log_prob([0, 3]), abs=1e-12), name
        np.testing.assert_allclose(dpp.inclusion_probabilities, expected.inclusion_probabilities, atol=1e-12)
    K = np.diag([1.0, 0.0, 1.0])
    for name, form in variants(K, tmp_path).items():
        assert dv.DPP.from_marginal(form).marginal([0, 2]) == pytest.approx(1.0), name


def test_later_changes_by_the_caller_do_not_reach_the_dpp():
    L, F, q = L4.copy(), np.random.default_rng(0).standard_normal((6, 2)), np.ones(6)
    by_kernel, by_features = dv.DPP(L), dv.DPP.from_features(F, q)
    before = by_kernel.log_prob([0]), by_features.log_prob([0])
    L[:], F[:], q[:] = 0.0, 0.0, 0.0
    assert (by_kernel.log_prob([0]), by_features.log_prob([0])) == before
    by_kernel.L[:] = 0.0
    by_kernel.inclusion_probabilities[:] = 0.0
    assert by_kernel.log_prob([0]) == before[0]
    assert by_kernel.inclusion_probabilities[0] > 0
    with pytest.raises(ValueError, match="read-only"):
        by_kernel.items[0] = 3


def test_labels_may_come_as_any_iterable():
    dpp = dv.DPP(L4)
    expected = dpp.marginal([1, 3])
    for labels in ((3, 1), {1, 3}, frozenset({3, 1}), range(1, 4, 2), np.array([3, 1], dtype=np.uint8), iter([1, 3])):
        assert dpp.marginal(labels) == expected


def test_nothing_global_is_touched():
    state, error_state = np.random.get_state()[1].copy(), np.geterr()  # noqa: NPY002
    dpp = dv.DPP.from_marginal(np.diag([1.0, 0.5, 0.0]))
    dpp.of_size(2).sample(5, rng=1)
    dv.core.entropy(dpp)
    assert np.array_equal(np.random.get_state()[1], state)  # noqa: NPY002
    assert np.geterr() == error_state


def test_empty_ground_set():
    for dpp in (
        dv.DPP(np.zeros((0, 0))),
        dv.DPP.from_features(np.zeros((0, 3))),
        dv.DPP.from_marginal(np.zeros((0, 0))),
    ):
        assert dpp.log_prob([]) == 0.0
        assert dpp.marginal([]) == 1.0
        assert dpp.rank == 0
        assert dpp.sample(rng=0).tolist() == []
        assert dpp.of_size(0).log_prob([]) == 0.0
        assert dpp.size_distribution.tolist() == [1.0]
        assert dpp.entropy().value == 0.0
        assert math.exp(-dpp.log_normalizer) == 1.0


def test_scalar_multiples_of_the_identity_are_uniform_given_the_size():
    # No DPP is uniform over the pairs of four items; a 2-DPP with L = I is.
    kdpp = dv.KDPP(np.eye(4), 2)
    listed = dv.law(kdpp)
    assert sorted(listed[listed > 0]) == pytest.approx([1 / 6] * 6, abs=1e-15)
    # By symmetry the DPP would need k/n on K's diagonal and one constant off it, from the pair probabilities.
    c = math.sqrt((2 / 4) ** 2 - 2 * 1 / (4 * 3))
    for sign in (1.0, -1.0):
        with pytest.raises(KernelError, match="eigenvalue"):
            dv.DPP.from_marginal(np.full((4, 4), sign * c) + (0.5 - sign * c) * np.eye(4))
