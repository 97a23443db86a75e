"""The limits below which a number counts as zero, in numbers."""

import math
from types import SimpleNamespace

import numpy as np
import pytest

from diverset.numerics.rounding import EPS, rounding_unit, zero_eigenvalue, zero_pivot, zero_singular_value


@pytest.mark.parametrize(
    ("given", "unit"),
    [
        (np.zeros(1, dtype=np.float16), 2.0**-10),
        (np.zeros(1, dtype=np.float32), 2.0**-23),
        (np.zeros(1, dtype=np.complex64), 2.0**-23),
        (np.zeros(1), 2.0**-52),
        (np.zeros(1, dtype=np.longdouble), 2.0**-52),
        (np.zeros(1, dtype=np.int8), 2.0**-52),
        ([0.5], 2.0**-52),
        (SimpleNamespace(dtype="torch.bfloat16"), 2.0**-7),
        (SimpleNamespace(dtype="torch.float16"), 2.0**-10),
        (SimpleNamespace(dtype="torch.float32"), 2.0**-23),
        (SimpleNamespace(dtype="torch.float64"), 2.0**-52),
    ],
)
def test_rounding_unit_of_every_precision(given, unit):
    assert rounding_unit(given) == unit


def test_limits():
    assert zero_eigenvalue(np.array([1.0, 4.0]), 0.0) == pytest.approx(4.0 * math.sqrt(4.0 * 5.0))
    assert zero_eigenvalue(np.zeros(3), 7.0) == pytest.approx(21.0 * EPS)
    assert zero_eigenvalue(np.ones(1), 1e20) == pytest.approx(4.0 + 1e20 * EPS)
    assert zero_eigenvalue(np.zeros(3), -7.0) == 0.0
    assert zero_eigenvalue(np.zeros(0), 7.0) == 0.0
    assert [zero_pivot(m) for m in (1, 9)] == [4.0, 12.0]
    assert zero_singular_value(np.array([3.0, 4.0])) == pytest.approx(20.0)
    # Equal noise: the pivots of a matrix are rounding where its eigenvalues are.
    assert zero_eigenvalue(np.full(9, 0.5), 0.0) == pytest.approx(0.5 * zero_pivot(9) * 3.0 / math.sqrt(9.0))
