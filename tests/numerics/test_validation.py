"""Checks of input: what passes, and what is refused with its value."""

import numpy as np
import pytest
import scipy.sparse
import scipy.sparse.linalg

from diverset.errors import LabelError
from diverset.numerics.validation import check_rows, is_sparse


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
