"""Checks of input: what passes, and what is refused with its value."""

import math

import numpy as np
import pytest
import scipy.sparse
import scipy.sparse.linalg

from diverset.errors import DiversetError, KernelError, LabelError, SizeError, TooLargeError
from diverset.numerics import validation
from diverset.numerics.rounding import EPS
from diverset.numerics.validation import (
    as_finite,
    as_hermitian,
    as_number,
    as_probability_vector,
    as_quality,
    available_memory,
    check_between_zero_and_identity,
    check_count,
    check_finite,
    check_fits_in_memory,
    check_nonnegative,
    check_positive,
    check_positive_semidefinite,
    check_rows,
    check_size,
    find_positions,
    is_blocked,
    is_positive_semidefinite,
    is_sparse,
)


def test_row_numbers():
    for rows in ([2, 0, 2], np.array([2, 0, 2], dtype=np.uint8), (2, 0, 2)):
        found = check_rows(rows, 3, name="rows")
        assert found.tolist() == [2, 0, 2]
        assert found.dtype == np.int64
    assert check_rows([], 0, name="rows").shape == (0,)
    for rows, message in (
        ([0, 3], "rows holds 3; there are rows 0 to 2"),
        ([0, -1], "rows holds -1; there are rows 0 to 2"),
        ([[0, 1]], r"rows has shape \(1, 2\) and dtype int"),
        ([0.0, 1.0], r"rows has shape \(2,\) and dtype float64"),
        ([True, False, True], "dtype bool"),
        ([[0], [1, 2]], "rows cannot be read as row numbers"),
    ):
        with pytest.raises(LabelError, match=message):
            check_rows(rows, 3, name="rows")


def test_sparse_arrays_are_those_of_scipy():
    class Other:
        """An array of another library that can be converted."""

        def tocsr(self):
            raise AssertionError

    for make in (scipy.sparse.csr_array, scipy.sparse.coo_matrix, scipy.sparse.dok_array):
        assert is_sparse(make(np.eye(2)))
    for other in (Other(), scipy.sparse.linalg.aslinearoperator(np.eye(2)), np.eye(2), [[1.0]], None):
        assert not is_sparse(other)


class Tagged:
    """An object with the given names and nothing else."""

    def __init__(self, *names):
        for name in names:
            setattr(self, name, None)


def test_arrays_in_blocks_are_known_by_their_methods():
    assert is_blocked(Tagged("compute", "to_delayed", "chunks"))
    assert is_blocked(Tagged("compute", "to_delayed", "to_dask_array"))
    for names in (("compute", "to_delayed"), ("compute", "chunks"), ("to_delayed", "chunks"), ("to_dask_array",)):
        assert not is_blocked(Tagged(*names))


@pytest.mark.parametrize("names", [("detach",), ("numpy",)])
def test_arrays_with_one_method_of_a_tensor_are_no_tensors(names):
    class Other(Tagged):
        def __array__(self, dtype=None, copy=None):
            return np.arange(2.0)

    assert as_finite(Other(*names), name="x").tolist() == [0.0, 1.0]


@pytest.mark.parametrize("make", [np.array, lambda x: np.array(x)[::1][None], lambda x: np.repeat(x, 2)[::2]])
def test_the_first_entry_that_is_not_finite_is_named(make):
    for values in ([], [0.0], [1e308, 1e308, -1e308]):
        check_finite(make(values), name="x")
    for values, at in (([0.0, np.nan, np.inf], 1), ([-np.inf, 0.0], 0), ([0.0, 1e308, 1e308, np.inf], 3)):
        array = make(values)
        where = ", ".join(["0"] * (array.ndim - 1) + [str(at)])
        with pytest.raises(KernelError, match=rf"x\[{where}\] is {values[at]}; every entry must be finite"):
            check_finite(array, name="x")


def test_numbers_whose_squares_overflow_are_refused():
    for x in ([], [[]], [1e150, -1e150], [0.0, -1e150]):
        as_finite(x, name="x")
    for x, message in (
        ([0.0, 1.1e150], r"x\[1\] is 1.1e\+150, too large"),
        ([[0.0], [-1.1e150]], r"x\[1, 0\] is -1.1e\+150, too large"),
    ):
        with pytest.raises(KernelError, match=message):
            as_finite(x, name="x")
    with pytest.raises(KernelError, match=r"x\[1\] is -3, too large"):
        as_finite([2.0, -3.0], name="x", largest=2.0)


def test_shapes():
    x = np.zeros((2, 3))
    for shape in (None, (2, 3), (None, 3), ("n", 3), (2, None), ("n", "d")):
        assert as_finite(x, name="x", shape=shape).shape == (2, 3)
    for shape, expected in (((2, 4), r"\(2, 4\)"), ((None, 2), r"\(n, 2\)"), ((3, "d"), r"\(3, d\)")):
        with pytest.raises(KernelError, match=rf"x has shape \(2, 3\); expected {expected}"):
            as_finite(x, name="x", shape=shape)
    with pytest.raises(KernelError, match=r"x has shape \(2, 3\); expected 1 dimension$"):
        as_finite(x, name="x", shape=(None,))


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.complex128])
def test_how_far_from_symmetric_a_kernel_may_be(dtype):
    unit = float(np.finfo(dtype).eps)
    for n, limit in ((4, 32.0), (16, 64.0)):
        for units, fine in ((limit - 2.0, True), (limit + 2.0, False)):
            A = np.eye(n, dtype=dtype)
            A[1, 0] = units * unit
            if fine:
                assert as_hermitian(A, name="L")[0, 1] == as_hermitian(A, name="L")[1, 0] == units * unit / 2.0
            else:
                with pytest.raises(KernelError, match=r"L is not symmetric: L\[0, 1\] = 0.* but L\[1, 0\] = "):
                    as_hermitian(A, name="L")


def test_a_complex_kernel_is_hermitian_and_becomes_real_if_it_can():
    A = np.array([[1.0, 0.5j], [-0.5j, 1.0]])
    assert as_hermitian(A, name="L").dtype == np.complex128
    assert as_hermitian(A.real + 0j, name="L").dtype == np.float64
    with pytest.raises(KernelError, match="not symmetric"):
        as_hermitian(np.array([[1.0, 0.5j], [0.5j, 1.0]]), name="L")


def test_a_sparse_kernel_becomes_dense(monkeypatch):
    asked = []
    monkeypatch.setattr(validation, "check_fits_in_memory", lambda n_bytes, *, what: asked.append(n_bytes))
    A = np.array([[2.0, 0.0, 1.0], [0.0, 0.0, 0.0], [1.0, 0.0, 3.0]])
    found = as_hermitian(scipy.sparse.csr_array(A), name="L")
    assert type(found) is np.ndarray
    assert found.tolist() == A.tolist()
    # Eight bytes for each entry of the dense form, and of the copy.
    assert asked == [72, 72]
    assert as_hermitian(A, name="L") is not A
    for shape in ((2, 3), (3, 2)):
        with pytest.raises(KernelError, match="a kernel is square"):
            as_hermitian(np.ones(shape), name="L")


@pytest.mark.parametrize("spot", [(1, 0), (0, 1), (300, 10), (10, 300), (256, 255), (255, 256), (511, 256), (512, 0)])
def test_the_worst_asymmetry_is_named_wherever_it_is(spot):
    A = np.eye(513)
    A[2, 1], A[400, 3] = 1e-3, 2e-3
    A[spot] += 0.5
    with pytest.raises(KernelError, match=rf"L is not symmetric: .*L\[{spot[0]}, {spot[1]}\] = 0\.5"):
        as_hermitian(A, name="L")


def psd(a, *, forgiven=0.0, given=None):
    a = np.asarray(a, dtype=np.float64)
    check_positive_semidefinite(a, name="L", given=a if given is None else given, remedy="mend it", forgiven=forgiven)
    return True


@pytest.mark.parametrize(("n", "units"), [(2, 48.0), (8, 48.0), (16, 80.0)])
def test_how_negative_an_eigenvalue_may_be(n, units):
    """Four times the limit of a zero eigenvalue: n (at least 8) rounding units, and 4 for the entry's own rounding."""
    for factor, fine in ((0.98, True), (1.02, False)):
        diagonal = np.zeros(n)
        diagonal[0], diagonal[-1] = 3.0, -3.0 * factor * units * EPS
        if fine:
            assert psd(np.diag(diagonal))
        else:
            with pytest.raises(KernelError, match=r"L has smallest eigenvalue -.*; mend it"):
                psd(np.diag(diagonal))


def test_how_negative_an_eigenvalue_may_be_beside_a_positive_diagonal():
    # Eigenvalues 2 + x and -x; noise of one unit for each of two entries.
    limit = 4.0 * (8.0 * 2.0 + 4.0 * math.sqrt(2.0)) * EPS
    for factor, fine in ((0.9, True), (1.1, False)):
        x = factor * limit
        A = np.array([[1.0, 1.0 + x], [1.0 + x, 1.0]])
        if fine:
            assert psd(A)
        else:
            with pytest.raises(KernelError, match="smallest eigenvalue"):
                psd(A)
    # The precision of the matrix as given counts, and a tolerance relative to the largest eigenvalue.
    A = np.array([[1.0, 1.000002], [1.000002, 1.0]])
    assert psd(A, given=A.astype(np.float32))
    assert psd(A, forgiven=1.1e-6)
    for bad in ({"forgiven": 0.9e-6}, {}):
        with pytest.raises(KernelError, match="smallest eigenvalue -2e-06"):
            psd(A, **bad)


def test_positive_semidefinite_matrices_without_a_positive_entry():
    assert psd(np.zeros((0, 0)))
    assert psd(np.zeros((3, 3)))
    assert psd([[2.0, 0.0], [0.0, 0.0]])
    for bad in ([[0.0, 1.0], [1.0, 0.0]], [[-1.0]], [[0.0, 0.0], [0.0, -1.0]], [[1.0, 0.0], [0.0, -1e-9]]):
        with pytest.raises(KernelError, match="smallest eigenvalue -"):
            psd(bad)


@pytest.mark.parametrize(("n", "units"), [(2, 64.0), (8, 64.0), (16, 128.0)])
def test_semidefinite_up_to_rounding_at_a_scale(n, units):
    for scale in (1.0, 1e6):
        for factor, fine in ((0.95, True), (1.05, False)):
            A = np.diag([1.0] * (n - 1) + [-factor * units * EPS * scale])
            assert is_positive_semidefinite(A, scale=scale) is fine
            assert A[0, 0] == 1.0


@pytest.mark.parametrize(
    ("n", "dtype", "slack"),
    [(2, np.float64, 1e-10), (2, np.float32, 64.0 * 2.0**-23), (16, np.float32, 128.0 * 2.0**-23)],
)
def test_how_far_eigenvalues_of_a_marginal_kernel_may_leave_the_unit_interval(n, dtype, slack):
    for factor, fine in ((0.97, True), (1.03, False)):
        K = np.diag([0.5] * (n - 1) + [1.0 + factor * slack])
        if fine:
            check_between_zero_and_identity(K, given=K.astype(dtype))
            continue
        with pytest.raises(KernelError, match="K has largest eigenvalue 1"):
            check_between_zero_and_identity(K, given=K.astype(dtype))
    for value, fine in ((-0.9e-10, True), (-1.1e-10, False)):
        K = np.diag([1.0, value])
        if fine:
            check_between_zero_and_identity(K, given=K)
            continue
        with pytest.raises(KernelError, match=r"K has smallest eigenvalue -1\.1e-10"):
            check_between_zero_and_identity(K, given=K)
    check_between_zero_and_identity(np.zeros((0, 0)), given=np.zeros((0, 0)))


def test_quality_and_probabilities():
    assert as_quality([0.0, 2.0], 2).tolist() == [0.0, 2.0]
    assert as_quality([], 0).tolist() == []
    for quality, n, message in (
        ([1.0], 2, "1 entries for 2 items"),
        ([1.0, -0.5, 0.0], 3, r"quality\[1\] is -0.5"),
        ([0.0, np.inf], 2, r"quality\[1\] is inf"),
    ):
        with pytest.raises(KernelError, match=message):
            as_quality(quality, n)
    for total in (1.0 - 0.9e-6, 1.0, 1.0 + 0.9e-6):
        found = as_probability_vector([0.0, total / 4.0, 0.75 * total], name="p")
        np.testing.assert_allclose(found, [0.0, 0.25, 0.75], rtol=1e-14)
    for p, message in (
        ([0.5, 0.5 + 1.1e-6], "p sums to 1.0000011;"),
        ([0.5, 0.5 - 1.1e-6], "p sums to 0.9999989;"),
        ([], "p is empty"),
        ([0.6, -0.1, 0.5], r"p\[1\] is -0.1"),
    ):
        with pytest.raises(DiversetError, match=message):
            as_probability_vector(p, name="p")


def test_numbers_at_the_ends_of_what_is_allowed():
    assert [check_size(k) for k in (0, 1, np.int8(3))] == [0, 1, 3]
    assert [check_count(k, name="m") for k in (1, np.uint8(3))] == [1, 3]
    assert [check_nonnegative(x, name="x", most=2.0) for x in (0, 5e-324, 2.0)] == [0.0, 5e-324, 2.0]
    assert check_nonnegative(1e308, name="x") == 1e308
    assert [check_positive(x, name="x") for x in (5e-324, 1e308)] == [5e-324, 1e308]
    assert as_number("2.5", name="x") == 2.5
    for check, value, message in (
        (check_size, -1, "must not be negative"),
        (check_size, True, "k is True; it must be a whole number"),
        (check_size, np.True_, "must be a whole number"),
        (check_size, 1.0, "k is 1.0; it must be a whole number"),
    ):
        with pytest.raises(SizeError, match=message):
            check(value)
    for check, value, message in (
        (check_count, 0, "m is 0; it must be a whole number of at least 1"),
        (check_count, True, "at least 1"),
        (check_count, np.True_, "at least 1"),
        (check_count, 2.0, "at least 1"),
        (check_nonnegative, -5e-324, "at least 0"),
        (check_nonnegative, np.inf, "finite"),
        (check_nonnegative, np.nan, "finite"),
        (check_positive, 0.0, "positive and finite"),
        (check_positive, np.inf, "positive and finite"),
        (check_positive, np.nan, "positive and finite"),
        (as_number, 1j, "must be a number"),
        (as_number, None, "must be a number"),
    ):
        with pytest.raises(DiversetError, match=message):
            check(value, name="m")
    with pytest.raises(DiversetError, match=r"x is 2.5; it must be at most 2$"):
        check_nonnegative(2.5, name="x", most=2.0)


@pytest.mark.parametrize("items", [range(4), np.arange(4)])
def test_labels_at_both_ends_of_the_ground_set(items):
    assert find_positions([3, 0], items).tolist() == [0, 3]
    assert find_positions(iter([2]), items).tolist() == [2]
    assert find_positions([], items).tolist() == []
    for bad, message in (
        ([0, 4], r"names item 4, which is not in the ground set \(0 to 3\)"),
        ([-1, 0], r"names item -1, .* \(0 to 3\)"),
        ([1, 3, 1], "names item 1 more than once"),
        (3, r"is the number 3; pass a sequence of items, such as \[3\]"),
        ("ab", "is the text 'ab'"),
        ([[1]], r"has shape \(1, 1\)"),
        ([True, False, True, True], "boolean mask"),
        ([1.0], "float64 values such as"),
    ):
        with pytest.raises(LabelError, match=message):
            find_positions(bad, items)


def test_labels_of_a_ground_set_with_gaps():
    items = np.array([2, 5, 6])
    assert find_positions([6, 2], items).tolist() == [0, 2]
    for bad in (1, 3, 7):
        with pytest.raises(LabelError, match=rf"names item {bad}, .* \(those in .items\)"):
            find_positions([bad, 5], items)
    with pytest.raises(LabelError, match=r"names item 8, .* \(5 to 7\)"):
        find_positions([8], np.array([5, 6, 7]))
    for empty in (range(0), np.arange(0)):
        with pytest.raises(LabelError, match="names item 0, but the ground set is empty"):
            find_positions([0], empty)


@pytest.mark.parametrize(
    ("files", "free"),
    [
        ({"meminfo": "MemTotal: 9 kB\nMemAvailable:  5 kB\n", "max": "max\n", "current": "7"}, 5 * 1024),
        ({"meminfo": "MemAvailable: 5 kB\n", "max": "3000\n", "current": "1000\n"}, 2000),
        ({"meminfo": "MemAvailable: 1 kB\n", "max": "3000\n", "current": "1000\n"}, 1024),
        ({"meminfo": "MemAvailable: 5 kB\n"}, 5 * 1024),
        ({}, 30),
        ({"meminfo": "MemAvailable: none\n"}, 30),
    ],
)
def test_memory_that_is_left(monkeypatch, files, free):
    def read(path):
        name = path.rpartition("/")[2].removeprefix("memory.")
        if name not in files:
            raise FileNotFoundError
        return files[name]

    monkeypatch.setattr(validation, "_read", read)
    monkeypatch.setattr("os.sysconf_names", {"SC_AVPHYS_PAGES": 1, "SC_PAGE_SIZE": 2}, raising=False)
    monkeypatch.setattr("os.sysconf", {"SC_AVPHYS_PAGES": 3, "SC_PAGE_SIZE": 10}.__getitem__, raising=False)
    assert available_memory() == free
    monkeypatch.setattr("os.sysconf_names", {}, raising=False)
    assert available_memory() == (free if "kB" in str(files) else None)


def test_memory_is_compared_with_what_is_left(monkeypatch):
    limit = 1 << 28
    for n_bytes, free, fine in (
        (limit, limit, True),
        (limit, limit - 1, False),
        (limit - 1, 0, True),
        (limit, None, True),
    ):
        monkeypatch.setattr(validation, "available_memory", lambda free=free: free)
        if fine:
            check_fits_in_memory(n_bytes, what="it")
            continue
        with pytest.raises(TooLargeError, match=r"it needs 0.2 GiB and 0.2 GiB are available; take less"):
            check_fits_in_memory(n_bytes, what="it", remedy="take less")
