"""Layout of panels of directions; tests/numerics/test_kernels.py compares products with NumPy's."""

import numpy as np
import pytest

from diverset.inference._greedy_loops import as_panels


@pytest.mark.parametrize(("dtype", "width"), [(np.float32, 8), (np.float64, 4)])
@pytest.mark.parametrize("D", [1, 5, 64])
def test_panels_hold_directions_side_by_side(dtype, width, D):
    Z = np.random.default_rng(0).standard_normal((2 * width + 1, D))
    panels = as_panels(Z, dtype, len(Z) + 2)
    assert panels.shape == (3, D, width)
    assert panels.ctypes.data % 32 == 0
    for s, z in enumerate(Z):
        np.testing.assert_array_equal(panels[s // width, :, s % width], z.astype(dtype))
    assert not panels[2, :, 1:].any()
