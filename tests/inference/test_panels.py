"""Products with panels of directions, against NumPy's."""

import numba
import numpy as np
import pytest

from diverset.inference._panels import PANELS, as_panels, panel_squares, panel_width, plain_squares, prefetch_row

RNG = np.random.default_rng(0)


@numba.njit
def squares(panels, start, end, X, i):
    prefetch_row(X, i)
    return panel_squares(panels, start, end, X[i])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("D", [1, 2, 3, 5, 6, 7, 17, 64, 131])
def test_squares_of_any_range_of_directions(dtype, D):
    width = panel_width(np.dtype(dtype).itemsize)
    Z, X = RNG.standard_normal((4 * width + 1, D)), RNG.standard_normal((3, D)).astype(dtype)
    panels = as_panels(Z, dtype, room=2)
    products = (X.astype(float) @ Z.astype(dtype).astype(float).T) ** 2
    for start in range(len(Z)):
        last = (start // width + PANELS) * width
        for end in range(start + 1, min(last, len(Z)) + 1):
            known = as_panels(Z[:end], dtype, room=5)  # directions to come are zero
            found = squares(known, start, end, X, 1)
            np.testing.assert_allclose(found, products[1, start:end].sum(), rtol=50 * D * np.finfo(dtype).eps)
            np.testing.assert_allclose(found, plain_squares(known, start, end, X[1]), rtol=50 * D * np.finfo(dtype).eps)
    assert panels.shape == (-(-(len(Z) + 2) // width), D, width)
    assert panels.ctypes.data % 32 == 0


def test_rows_that_are_not_contiguous():
    X = np.asfortranarray(RNG.standard_normal((4, 9)))
    Z = RNG.standard_normal((3, 9))
    np.testing.assert_allclose(squares(as_panels(Z, float), 0, 3, X, 2), ((Z @ X[2]) ** 2).sum())


def test_large_float32_products_do_not_overflow():
    X = np.full((1, 8), 1e30, dtype=np.float32)
    Z = np.full((1, 8), 8.0**-0.5)
    found = squares(as_panels(Z, np.float32), 0, 1, X, 0)
    np.testing.assert_allclose(found, 8e60, rtol=1e-5)
