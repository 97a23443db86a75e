import math
import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import sparse

from diverset import kernels
from diverset.errors import DiversetError, KernelError

Q = np.array([0.0, 1.0, 2.5, 0.3])


def points(n=12, d=3, seed=0):
    return np.random.default_rng(seed).normal(size=(n, d))


def complex_points(n=4, d=3):
    return points(n, d) + 1j * points(n, d, seed=1)


# Building ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("F", [points(4, 3), complex_points()], ids=["real", "complex"])
def test_quality_diversity_is_the_formula(F):
    S = F @ F.conj().T
    expected = np.diag(Q) @ S @ np.diag(Q)
    results = [
        kernels.quality_diversity(Q, S),
        kernels.quality_diversity(Q.tolist(), S.tolist()),
        kernels.quality_diversity(Q, sparse.csr_array(S)),
        kernels.quality_diversity(Q, features=F),
        kernels.quality_diversity(Q, features=sparse.csc_array(F)),
    ]
    for L in results:
        assert type(L) is np.ndarray
        assert L.dtype == F.dtype
        np.testing.assert_array_equal(L, L.conj().T)
        np.testing.assert_allclose(L, expected, rtol=1e-13, atol=1e-15)


@pytest.mark.parametrize("dtype", [np.float32, np.complex64, np.int64])
def test_result_has_double_precision(dtype):
    F = np.array([[1, 2], [0, 3]]).astype(dtype)
    for L in (
        kernels.quality_diversity([1, 2], features=F),
        kernels.quality_diversity([1, 2], features=sparse.csr_array(F)),
        kernels.quality_diversity([1, 2], F @ F.T),
    ):
        # A complex type without an imaginary part is real.
        assert L.dtype == np.float64
        np.testing.assert_array_equal(L, [[5.0, 12.0], [12.0, 36.0]])


def test_probability_is_quality_squared_times_diversity():
    q, S = np.array([0.5, 2.0, 1.5]), kernels.cosine(points(3, 3))
    L = kernels.quality_diversity(q, S)
    for Y in ([0], [0, 2], [0, 1, 2]):
        sub = np.ix_(Y, Y)
        assert np.linalg.det(L[sub]) == pytest.approx(np.prod(q[Y] ** 2) * np.linalg.det(S[sub]), rel=1e-10)


def test_a_square_that_underflows_excludes_its_item():
    L = kernels.quality_diversity([1e-163, 2.0], [[1.0, 0.5], [0.5, 1.0]])
    assert L[0, 0] == 0.0
    assert kernels.quality_diversity([1e-161, 2.0], np.eye(2))[0, 0] > 0.0


def test_overflow_is_refused():
    with pytest.raises(KernelError, match=r"items 1 and 1 is beyond.*divide quality, now up to 1e\+200"):
        kernels.quality_diversity([1.0, 1e200], np.eye(2))
    with pytest.raises(KernelError, match="items 1 and 1 is beyond"):
        kernels.quality_diversity([1.0, 1e200], [[1.0, 0.5j], [-0.5j, 1.0]])
    for F in (np.eye(2), sparse.eye_array(2)):
        with pytest.raises(KernelError, match="inner product of items 1 and 1 is beyond"):
            kernels.quality_diversity([1.0, 1e200], features=F)


def test_quality_is_checked():
    S = np.eye(3)
    for value in (-0.5, math.nan, math.inf):
        with pytest.raises(KernelError, match=re.escape(f"quality[1] is {value}; ")):
            kernels.quality_diversity([1.0, value, 2.0], S)
    with pytest.raises(KernelError, match="quality has 2 entries for 3 items"):
        kernels.quality_diversity([1.0, 2.0], S)
    with pytest.raises(KernelError, match="quality has 4 entries for 3 items"):
        kernels.quality_diversity(np.ones(4), features=S)
    with pytest.raises(KernelError, match=re.escape("quality has shape (3, 1); expected 1 dimension")):
        kernels.quality_diversity(np.ones((3, 1)), S)
    with pytest.raises(KernelError, match=re.escape("quality[0] is 'a'; every entry must be a number")):
        kernels.quality_diversity(["a", "b", "c"], S)
    with pytest.raises(KernelError, match="quality is complex"):
        kernels.quality_diversity([1.0, 1j, 2.0], S)
    with pytest.raises(KernelError, match="quality cannot be read as an array of numbers"):
        kernels.quality_diversity([1.0, [2.0], 3.0], S)
    with pytest.raises(KernelError, match="quality has masked entries"):
        kernels.quality_diversity(np.ma.masked_less([1.0, 2.0, 3.0], 1.5), S)
    with pytest.raises(DiversetError, match="neither of similarity and features given"):
        kernels.quality_diversity(np.ones(3))
    with pytest.raises(DiversetError, match="both of similarity and features given"):
        kernels.quality_diversity(np.ones(3), S, features=S)
    np.testing.assert_array_equal(kernels.quality_diversity(np.array([1, 2, 3], dtype=object), S), np.diag([1, 4, 9]))


# Taking apart --------------------------------------------------------------------------------------


@settings(max_examples=40, deadline=None)
@given(
    arrays(np.float64, 5, elements=st.floats(1e-150, 1e150)),
    arrays(np.float64, (5, 3), elements=st.floats(-1.0, 1.0)),
    st.sampled_from([1.0, 1j, 0.6 - 0.8j]),
)
def test_split_undoes_quality_diversity(q, F, phase):
    # Turning the phase of the first column of features leaves their lengths alone.
    F = kernels.normalize_rows(kernels.with_constant_feature(F, 0.5)) * np.array([phase, 1.0, 1.0, 1.0])
    F[2:, 0] = F[2:, 0].conj()
    S = kernels.quality_diversity(np.ones(5), features=F)
    L = kernels.quality_diversity(q, S)
    found_q, found_S = kernels.split_quality_diversity(L)
    assert found_q.dtype == np.float64
    np.testing.assert_allclose(found_q, q, rtol=1e-14)
    np.testing.assert_array_equal(found_S.diagonal(), 1.0)
    np.testing.assert_array_equal(found_S, found_S.conj().T)
    assert np.abs(found_S).max() <= 1.0 + 1e-15
    # A similarity so small that it leaves the range of L is lost there already.
    np.testing.assert_allclose(found_S, S, rtol=1e-12, atol=1e-15)
    np.testing.assert_allclose(kernels.quality_diversity(found_q, found_S), L, rtol=1e-12, atol=1e-310)


def test_split_at_the_ends_of_the_range():
    S = np.array([[1.0, 0.5, -0.25], [0.5, 1.0, 0.125], [-0.25, 0.125, 1.0]])
    for q in ([1e-150, 1.0, 1e150], [1e150, 1e150, 1e150], [1e-150, 1e-150, 1e-150]):
        found_q, found_S = kernels.split_quality_diversity(kernels.quality_diversity(q, S))
        np.testing.assert_allclose(found_q, q, rtol=1e-14)
        np.testing.assert_allclose(found_S, S, rtol=1e-14)


def test_split_of_an_item_that_cannot_be_chosen():
    L = [[4.0, 0.0, 2.0], [0.0, 0.0, 0.0], [2.0, 0.0, 9.0]]
    q, S = kernels.split_quality_diversity(L)
    np.testing.assert_array_equal(q, [2.0, 0.0, 3.0])
    np.testing.assert_allclose(S, [[1, 0, 1 / 3], [0, 1, 0], [1 / 3, 0, 1]], rtol=1e-15)
    np.testing.assert_allclose(kernels.quality_diversity(q, S), L, rtol=1e-15)


@pytest.mark.parametrize("sign", [1.0, -1.0, 1j, 0.6 - 0.8j])
def test_split_forgives_rounding_only(sign):
    def matrix(a, b, c):
        return np.array([[a, b * sign], [b * np.conj(sign), c]])

    for scale in (1.0, 5.0):
        L = scale * matrix(1.0, 1.0 + 1e-15, 1.0)
        np.testing.assert_allclose(kernels.split_quality_diversity(L)[1], matrix(1.0, 1.0, 1.0), rtol=1e-15)
    q, S = kernels.split_quality_diversity(matrix(1.0, 1e-17, 0.0))
    np.testing.assert_array_equal(S, np.eye(2))
    np.testing.assert_array_equal(q, [1.0, 0.0])
    with pytest.raises(KernelError, match=r"\|L\[0, 1\]\| is 1\.5, more than sqrt.* = 1; L is not positive"):
        kernels.split_quality_diversity(matrix(1.0, 1.5, 1.0))
    with pytest.raises(KernelError, match=r"\|L\[0, 1\]\| is 0\.001, more than sqrt.* = 0; "):
        kernels.split_quality_diversity(matrix(1.0, 1e-3, 0.0))
    with pytest.raises(KernelError, match=r"L\[1, 1\] is -2; the diagonal"):
        kernels.split_quality_diversity(matrix(1.0, 0.0, -2.0))
    # Noise from the large entry, which divided by the qualities would overflow.
    L = np.diag([1e-300, 1e-300, 1e300]).astype(complex)
    L[0, 1], L[1, 0] = 1e280 * sign, 1e280 * np.conj(sign)
    assert kernels.split_quality_diversity(L)[1][0, 1] == pytest.approx(sign, rel=1e-15)


def test_similarity_of_equal_items_is_never_above_one():
    q = np.random.default_rng(0).uniform(size=60)
    S = kernels.split_quality_diversity(np.outer(q, q))[1]
    assert S.max() <= 1.0
    np.testing.assert_allclose(S, 1.0, rtol=1e-14)


# The constant --------------------------------------------------------------------------------------


@pytest.mark.parametrize("F", [points(6, 3), complex_points(6)], ids=["real", "complex"])
def test_constant_feature_and_constant_agree(F):
    G = kernels.with_constant_feature(F, 0.7)
    np.testing.assert_array_equal(G[:, :3], F)
    np.testing.assert_array_equal(G[:, 3], 0.7)
    sparse_G = kernels.with_constant_feature(sparse.coo_array(F), 0.7)
    assert sparse_G.format == "csr"
    np.testing.assert_array_equal(sparse_G.toarray(), G)
    S, expected = F @ F.conj().T, G @ G.conj().T
    found = kernels.add_constant(S, 0.7**2)
    np.testing.assert_allclose(found, expected, rtol=1e-13)
    np.testing.assert_array_equal(found, found.conj().T)
    np.testing.assert_array_equal(kernels.add_constant(np.eye(3), 0.0), np.eye(3))


@pytest.mark.parametrize("f", [kernels.with_constant_feature, kernels.add_constant])
def test_rho_must_not_be_negative(f):
    for rho in (-0.1, math.nan, math.inf):
        with pytest.raises(DiversetError, match=re.escape(f"rho is {rho!r}; it must be finite and at least 0")):
            f(np.eye(2), rho)
    with pytest.raises(DiversetError, match="rho is 'big'; it must be a number"):
        f(np.eye(2), "big")


# What all of them take and refuse ------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "f"),
    [
        ("similarity", lambda S: kernels.quality_diversity(np.ones(len(S)), S)),
        ("similarity", lambda S: kernels.add_constant(S, 1.0)),
        ("L", kernels.split_quality_diversity),
    ],
)
def test_square_matrices_are_checked(name, f):
    with pytest.raises(KernelError, match=re.escape(f"{name} has shape (2, 3); a kernel is square")):
        f(np.ones((2, 3)))
    for S in (np.eye(4), np.eye(4, dtype=complex)):
        S[2, 1] = 0.25
        with pytest.raises(KernelError, match=rf"{name} is not symmetric: .*{name}\[2, 1\] = 0\.25"):
            f(S)
        S[2, 1] = np.nan
        with pytest.raises(KernelError, match=rf"{name}\[2, 1\] is \(?nan"):
            f(S)
        S[2, 1] = 1e-15
        f(S)
    single = np.eye(4, dtype=np.float32)
    single[2, 1] = 1e-6
    f(single)
    with pytest.raises(KernelError, match="not symmetric"):
        f(single.astype(np.float64))
    with pytest.raises(KernelError, match=f"{name} has masked entries"):
        f(np.ma.masked_greater(np.eye(3), 0.5))
    f(np.eye(3).astype(object))


def test_input_is_left_alone():
    S = kernels.cosine(points(5, 3))
    q = np.arange(5.0)
    S.flags.writeable = q.flags.writeable = False
    results = [
        kernels.quality_diversity(q, S),
        kernels.quality_diversity(q, features=S),
        *kernels.split_quality_diversity(S),
        kernels.add_constant(S, 0.5),
        kernels.with_constant_feature(S, 0.5),
        kernels.normalize_rows(S),
    ]
    for result in results:
        assert result.flags.writeable
        assert result.dtype == np.float64
        assert not np.shares_memory(result, S)
    A = sparse.csr_array(np.eye(3))
    kernels.quality_diversity(np.full(3, 2.0), features=A)
    np.testing.assert_array_equal(A.toarray(), np.eye(3))


def test_empty_matrices():
    nothing = np.zeros((0, 0))
    assert kernels.quality_diversity([], nothing).shape == (0, 0)
    assert kernels.quality_diversity([], features=np.zeros((0, 2))).shape == (0, 0)
    q, S = kernels.split_quality_diversity(nothing)
    assert q.shape == (0,)
    assert S.shape == (0, 0)
