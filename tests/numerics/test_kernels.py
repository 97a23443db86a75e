"""The C kernels, of every instruction set that this processor has, against their NumPy twins."""

import ctypes
import os
import shutil
import subprocess
import sysconfig
from pathlib import Path

import numpy as np
import pytest

import diverset
from diverset.numerics import kernels as twins

HEADERS = Path(diverset.__file__).parent / "numerics"
SETS = ["baseline", "avx2", "avx512"]
RNG = np.random.default_rng(0)
SIZES = [0, 1, 2, 3, 4, 5, 7, 8, 15, 16, 17, 31, 33, 64, 100, 131]

SOURCE = """
#include "kernels.h"
const char *choose(void) { choose_kernels(); return kernels_name; }
const struct kernels *table(void) { return &kernels; }
"""
NAMES = [
    line.split("(*")[1].split(")")[0]
    for line in (HEADERS / "kernels.h").read_text().splitlines()
    if line.startswith("    ") and "(*" in line
] if (HEADERS / "kernels.h").exists() else []  # fmt: skip


@pytest.fixture(scope="module", params=SETS)
def kernels(request, tmp_path_factory):
    """Kernels by name, as ctypes functions, for one instruction set."""
    compiler = shutil.which(os.environ.get("CC", "cc"))
    if compiler is None or not NAMES:
        pytest.skip("needs a C compiler and the headers of the kernels")
    folder = tmp_path_factory.mktemp(request.param)
    (folder / "table.c").write_text(SOURCE)
    library = folder / f"table{sysconfig.get_config_var('SHLIB_SUFFIX') or '.so'}"
    command = [compiler, "-O3", "-fopenmp-simd", "-Wno-psabi", "-shared", "-fPIC", f"-I{HEADERS}", "table.c"]
    subprocess.run([*command, "-o", str(library)], cwd=folder, check=True)
    loaded = ctypes.CDLL(str(library))
    loaded.choose.restype = ctypes.c_char_p
    loaded.table.restype = ctypes.POINTER(ctypes.c_void_p)
    previous = os.environ.get("DIVERSET_SIMD")
    os.environ["DIVERSET_SIMD"] = request.param
    try:
        chosen = loaded.choose().decode()
    finally:
        os.environ.pop("DIVERSET_SIMD")
        if previous is not None:
            os.environ["DIVERSET_SIMD"] = previous
    if chosen != request.param:
        pytest.skip(f"this processor has no {request.param}")
    pointers = dict(zip(NAMES, loaded.table()[: len(NAMES)], strict=True))

    def call(name, *arguments, returns=None):
        kinds = {np.ndarray: ctypes.c_void_p, float: ctypes.c_double, int: ctypes.c_ssize_t}
        function = ctypes.CFUNCTYPE(returns, *(kinds[type(a)] for a in arguments))(pointers[name])
        return function(*(a.ctypes.data if isinstance(a, np.ndarray) else a for a in arguments))

    return call


def interleaved(z):
    return np.ascontiguousarray(z).view(np.float64)


def complex_normal(*shape):
    return RNG.standard_normal(shape) + 1j * RNG.standard_normal(shape)


def test_every_kernel_is_found():
    if not NAMES:
        pytest.skip("needs the headers of the kernels")
    assert {"dot", "dot_float", "dot_floats", "panel_squares_float", "panel_squares_double", "add_rows"} <= set(NAMES)


@pytest.mark.parametrize("n", SIZES)
def test_inner_products(kernels, n):
    a, b = RNG.standard_normal((2, n))
    single = b.astype(np.float32)
    magnitude = np.abs(a) @ np.abs(b) + 1e-300
    found = kernels("dot", a, b, n, returns=ctypes.c_double)
    assert found == pytest.approx(twins.dot(a, b, n), abs=1e-14 * magnitude)
    found = kernels("dot_float", a, single, n, returns=ctypes.c_double)
    assert found == pytest.approx(twins.dot(a, single, n), abs=1e-14 * magnitude)
    found = kernels("dot_floats", single, single, n, returns=ctypes.c_double)
    assert found == pytest.approx(twins.dot(single, single, n), rel=1e-14)


@pytest.mark.parametrize("n", SIZES)
def test_sums_of_vectors(kernels, n):
    x, y = RNG.standard_normal((2, n + 1))
    expected = y.copy()
    twins.axpy(0.7, x, expected, n)
    kernels("axpy", 0.7, x, y, n)
    np.testing.assert_allclose(y, expected, rtol=1e-14, atol=1e-15)
    z, w = complex_normal(2, n + 1)
    expected = w.copy()
    twins.axpy(0.7 - 0.2j, z, expected, n)
    kernels("axpy_complex", 0.7, -0.2, interleaved(z), interleaved(w), n)
    np.testing.assert_allclose(w, expected, rtol=1e-14, atol=1e-15)


@pytest.mark.parametrize(("dtype", "name", "width"), [(np.float32, "float", 8), (np.float64, "double", 4)])
@pytest.mark.parametrize("D", [1, 2, 3, 5, 6, 7, 17, 64, 131])
def test_squares_of_any_range_of_directions(kernels, dtype, name, width, D):
    Z, x = RNG.standard_normal((4 * width + 1, D)), RNG.standard_normal(D).astype(dtype)
    for start in range(len(Z)):
        for end in range(start + 1, min((start // width + 3) * width, len(Z)) + 1):
            panels = np.zeros((5, D, width), dtype=dtype)  # directions to come are zero
            for s in range(end):
                panels[s // width, :, s % width] = Z[s]
            found = kernels(f"panel_squares_{name}", panels, D, start, end, x, returns=ctypes.c_double)
            eps = 50 * D * float(np.finfo(dtype).eps)
            bound = eps * float(x @ x) * float((Z[start:end] ** 2).sum())
            assert found == pytest.approx(twins.panel_squares(panels, start, end, x), abs=bound)


def test_large_float32_products_do_not_overflow(kernels):
    x = np.full(8, 1e30, dtype=np.float32)
    panels = np.zeros((1, 8, 8), dtype=np.float32)
    panels[0, :, 0] = 8.0**-0.5
    found = kernels("panel_squares_float", panels, 8, 0, 1, x, returns=ctypes.c_double)
    assert found == pytest.approx(8e60, rel=1e-5)


@pytest.mark.parametrize("width", [1, 3, 4, 5, 23, 24, 25, 51, 52, 53, 55, 56, 104, 107])
def test_sums_of_rows(kernels, width):
    X = RNG.standard_normal((9, width))
    rows, entries = RNG.integers(0, 9, 14), RNG.standard_normal(14)
    y = RNG.standard_normal(width + 2)
    expected = y.copy()
    twins.add_rows(expected[:width], X, rows, entries, 14)
    kernels("add_rows", y, X, width, rows.astype(np.intp), entries, 14)
    np.testing.assert_allclose(y, expected, rtol=1e-13, atol=1e-13)


@pytest.mark.parametrize("n", SIZES)
def test_counts(kernels, n):
    src, dst = RNG.random(n + 2), np.full(n + 2, 7.0)
    expected = dst.copy()
    twins.add_trial(src, expected, n, 0.3, 0.7)
    kernels("add_trial", src, dst, n, 0.3, 0.7)
    np.testing.assert_allclose(dst, expected, rtol=1e-15)
    f, g = RNG.random((2, n + 1))
    last = g[n:]
    assert kernels("convolve", f, last, n, returns=ctypes.c_double) == pytest.approx(twins.convolve(f, g, n), rel=1e-13)


@pytest.mark.parametrize("parts", [1, 2])
@pytest.mark.parametrize(("s", "m", "count"), [(1, 1, 1), (3, 2, 1), (4, 3, 2), (4, 3, 3)])
def test_coordinates_and_reflections_by_matrices(s, m, count, parts):
    """The NumPy versions against products with the matrix I - tau h h*, for real and for complex numbers."""
    rng = np.random.default_rng([s, m, parts])

    def numbers(*shape):
        return complex_normal(*shape) if parts == 2 else rng.standard_normal(shape)

    def doubles(z):
        return z.view(np.float64) if parts == 2 else z

    W, X, Y = numbers(s + 1, m + 1), numbers(count + 1, m + 1), np.zeros((count + 1, s + 1), dtype=numbers(1).dtype)
    twins.compress(doubles(W), s, doubles(X), count, doubles(Y), m, parts)
    np.testing.assert_allclose(Y[:count, :s], X[:count, :m] @ W[:s, :m].T, atol=1e-14)
    assert not Y[count:].any()
    assert not Y[:, s:].any()

    # Each of the reflections acts on the rows that are left, and drops the last one of them.
    steps = min(count, s - 1)
    H, tau, rows = numbers(max(steps, 1), s), np.array([0.3, 0.5, 0.7]), numbers(s, m + 1)
    expected = rows[:, :m].copy()
    for e in range(steps):
        h = H[e, : s - e]
        expected = ((np.eye(s - e) - tau[e] * np.outer(h, h.conj())) @ expected)[:-1]
    untouched = rows[:, m:].copy()
    twins.reflect(doubles(H), tau, steps, s, doubles(rows), m, parts)
    np.testing.assert_allclose(rows[: s - steps, :m], expected, atol=1e-13)
    assert (rows[:, m:] == untouched).all()

    h, Z = numbers(s + 1), numbers(3, s + 1)
    reflected = Z[:, :s] @ (np.eye(s) - 0.4 * np.outer(h[:s].conj(), h[:s]))
    last = Z[:, s - 1 :].copy()
    twins.reflect_rows(doubles(h), 0.4, s, doubles(Z), parts)
    np.testing.assert_allclose(Z[:, : s - 1], reflected[:, : s - 1], atol=1e-13)
    assert (Z[:, s - 1 :] == last).all()
