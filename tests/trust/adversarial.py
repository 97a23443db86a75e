"""Arrays that break numerical code, and what may come of them: an answer, or one of the documented errors."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

from diverset.errors import DiversetError, MissingExtraError

#: What a public function may raise; anything else is a fault. TypeError: an argument of the wrong kind altogether.
DOCUMENTED = (DiversetError, MissingExtraError, TypeError)

VALUES = (0.0, -0.0, 1.0, -1.0, 0.5, 1e-310, 5e-324, 1e-160, 1e160, -1e160, 1e308, 1 + 2**-52, 3.0)
POISON = (np.nan, np.inf, -np.inf)


@st.composite
def matrices(draw, rows=None, columns=None):
    """A matrix of ordinary or extreme numbers: any layout and dtype, duplicated rows, perhaps one poisoned entry."""
    n = draw(st.integers(0, 6) if rows is None else rows)
    d = draw(st.integers(0, 5) if columns is None else columns)
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    a = rng.standard_normal((n, d))
    kind = draw(st.sampled_from(["plain", "extreme", "huge range", "ties", "zeros"]))
    if kind == "extreme":
        a = rng.choice(VALUES, size=(n, d))
    elif kind == "huge range":
        a = a * 10.0 ** rng.integers(-150, 150, size=(n, d))
    elif kind == "ties":
        a = np.round(a)
    elif kind == "zeros":
        a[rng.random((n, d)) < 0.6] = 0.0
    if n > 1 and draw(st.booleans()):
        a[-1] = a[0]
    if a.size and draw(st.integers(0, 5)) == 0:
        a.flat[draw(st.integers(0, a.size - 1))] = draw(st.sampled_from(POISON))
    return dressed(draw, a)


def dressed(draw, a):
    """The same numbers in another layout or dtype, or as what is no array of numbers."""
    way = draw(
        st.sampled_from(["same"] * 4 + ["fortran", "strided", "float32", "int", "object", "read-only", "list", "text"])
    )
    with np.errstate(all="ignore"):
        if way == "fortran":
            return np.asfortranarray(a)
        if way == "strided":
            wide = np.zeros((2 * a.shape[0], 3 * max(a.shape[1], 1))) if a.ndim == 2 else np.zeros(2 * len(a))
            view = wide[::2, : 3 * a.shape[1] : 3] if a.ndim == 2 else wide[::2]
            view[...] = a
            return view
        if way == "float32":
            return a.astype(np.float32)
        if way == "int":
            return np.nan_to_num(np.clip(a, -1e9, 1e9)).astype(np.int64)
        if way == "object":
            return a.astype(object)
        if way == "read-only":
            a = a.copy()
            a.flags.writeable = False
            return a
        if way == "list":
            return a.tolist()
        if way == "text":
            return a.astype(str)
    return a


@st.composite
def kernels(draw):
    """Square matrices: positive semidefinite ones, of any scale and rank, and others."""
    a = draw(matrices())
    if not isinstance(a, np.ndarray) or a.dtype.kind != "f":
        return a
    with np.errstate(all="ignore"):
        gram = a.astype(np.float64) @ a.astype(np.float64).T
        scale = draw(st.sampled_from([1.0, 1e-12, 1e12, 1e-300]))
        return dressed(draw, gram * scale) if draw(st.integers(0, 4)) else a


@st.composite
def vectors(draw, n):
    """Some numbers, a few of them extreme."""
    a = draw(matrices(rows=st.just(n), columns=st.just(1)))
    return np.asarray(a).reshape(-1) if len(a) else np.zeros(0)


subsets = st.lists(st.one_of(st.integers(-1, 7), st.sampled_from([True, 2**70, 0.5, "1"])), max_size=5)
