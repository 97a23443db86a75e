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


# changes to a good argument -----------------------------------------------------------------------------------------

INTEGERS = (-1, 0, 1, 2, 7, 2.5, True, np.int64(3), np.nan, "3", None)
FLOATS = (0.0, -0.0, -1.0, 1.0, 1e-310, 1e-12, 1e12, 1e300, np.nan, np.inf, -np.inf, np.float32(0.5), 2, True, None)
WORDS = ("", " ", "nonsense", "\x00", "\ud800", "A. B. C.", "\u200b", "<script>", "word " * 50)


def changed(draw, value):
    """An argument of the same kind that may be too large, too small, empty, repeated, of another type or not finite."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, np.ndarray):
        return _changed_array(draw, value)
    if isinstance(value, int):
        return draw(st.sampled_from(INTEGERS))
    if isinstance(value, float):
        return draw(st.sampled_from(FLOATS))
    if isinstance(value, str):
        return draw(st.sampled_from(WORDS))
    if isinstance(value, list | tuple):
        return type(value)(_changed_list(draw, list(value)))
    if isinstance(value, dict) and value:
        key = draw(st.sampled_from(sorted(value, key=str)))
        if draw(st.booleans()):
            return {k: v for k, v in value.items() if k != key}
        return {**value, key: changed(draw, value[key])}
    if hasattr(value, "tocsr"):
        import scipy.sparse

        dense = _changed_array(draw, value.toarray())
        good = isinstance(dense, np.ndarray) and dense.ndim == 2 and dense.dtype.kind in "fiu"
        return scipy.sparse.csr_matrix(dense) if good else value
    return value


def _changed_array(draw, a):
    kinds = ["values", "values", "poison", "scale", "ties", "shape", "empty", "layout", "layout"]
    kind = draw(st.sampled_from(kinds))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    if kind == "shape":
        return draw(
            st.sampled_from([a[:-1], a[..., :1], a.T, a[None], np.concatenate([a, a]), a.ravel()[:1].reshape(())])
        )
    if kind == "empty":
        return draw(st.sampled_from([a[:0], a[..., :0]]))
    if kind == "layout" and a.ndim in (1, 2):
        return dressed(draw, a.astype(np.float64) if a.dtype.kind in "iu" else a) if a.dtype.kind in "fiu" else a
    if a.dtype.kind in "iub":
        low, high = draw(st.sampled_from([(-3, 9), (0, 2), (-(2**40), 2**40)]))
        return rng.integers(low, high, a.shape)
    a = a.copy()
    if kind == "poison" and a.size:
        a.flat[draw(st.integers(0, a.size - 1))] = draw(st.sampled_from(POISON))
    elif kind == "scale":
        with np.errstate(all="ignore"):
            a = a * draw(st.sampled_from([0.0, -1.0, 1e-300, 1e-160, 1e-12, 1e12, 1e160, 1e300]))
    elif kind == "ties":
        a = np.round(a.real)
    elif a.ndim == 2 and a.shape[0] == a.shape[1] and draw(st.booleans()):
        # Still symmetric, still of full or lower rank, over a huge range.
        half = rng.standard_normal(a.shape) * 10.0 ** rng.integers(-8, 8, size=len(a))
        a = half @ half.T
    elif a.size:
        a.flat[draw(st.integers(0, a.size - 1))] = draw(st.sampled_from(VALUES))
    return a


def _changed_list(draw, items):
    kind = draw(st.sampled_from(["empty", "reversed", "repeated", "first", "one", "one", "one"]))
    if kind == "empty" or not items:
        return []
    if kind == "reversed":
        return items[::-1]
    if kind == "repeated":
        return items + items[:1]
    if kind == "first":
        return items[:1]
    at = draw(st.integers(0, len(items) - 1))
    return [*items[:at], changed(draw, items[at]), *items[at + 1 :]]


@st.composite
def changed_arguments(draw, arguments):
    """Arguments of a good call with one or two of them changed."""
    names = sorted(arguments)
    which = draw(st.lists(st.sampled_from(names), min_size=1, max_size=2, unique=True))
    return {name: changed(draw, value) if name in which else value for name, value in arguments.items()}
