"""Real and complex numbers, and rows of them, as loops that are not compiled see them."""

import numpy as np
import pytest

from diverset.numerics.numbers import add_row, conj, dot_rows, real, squared_modulus


@pytest.mark.parametrize("x", [3.0, -0.5, 3.0 - 4.0j, 0.25j])
def test_parts_of_a_number(x):
    assert real(x) == complex(x).real
    assert conj(x) == complex(x).conjugate()
    assert squared_modulus(x) == pytest.approx(abs(x) ** 2)


@pytest.mark.parametrize("dtype", [float, complex])
@pytest.mark.parametrize(("start", "stop"), [(0, 4), (1, 3), (2, 2), (3, 1), (3, 4)])
def test_rows(dtype, start, stop):
    rng = np.random.default_rng(stop)
    X, Y = (rng.standard_normal((2, 4)) + (1j * rng.standard_normal((2, 4)) if dtype is complex else 0.0) for _ in "XY")
    expected = Y.copy()
    expected[1, start:stop] += 2.5 * X[0, start:stop]
    add_row(2.5, X, 0, Y, 1, start, stop)
    np.testing.assert_allclose(Y, expected)
    for conjugate in (False, True):
        left = X[1, :stop].conj() if conjugate else X[1, :stop]
        assert dot_rows(X, 1, Y, 0, stop, conjugate) == pytest.approx((left * Y[0, :stop]).sum())
