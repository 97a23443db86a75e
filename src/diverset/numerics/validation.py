"""Input checks at public functions: errors state the problem, the value and the remedy."""

from __future__ import annotations

import math
import operator
import os
import sys
from collections.abc import Iterable
from numbers import Number
from typing import Any

import numpy as np

from diverset._typing import Array, FloatArray, IntArray
from diverset.errors import DiversetError, KernelError, LabelError, SizeError, TooLargeError
from diverset.numerics.linalg import EPS, NUMPY_CHOLESKY, add_to_diagonal, is_positive_definite
from diverset.numerics.rounding import rounding_unit, zero_eigenvalue

__all__ = [
    "LARGEST",
    "as_finite",
    "as_generator",
    "as_hermitian",
    "as_number",
    "as_probability_vector",
    "as_quality",
    "as_real",
    "as_real_or_complex",
    "available_memory",
    "check_between_zero_and_identity",
    "check_count",
    "check_finite",
    "check_fits_in_memory",
    "check_nonnegative",
    "check_positive",
    "check_positive_semidefinite",
    "check_rows",
    "check_size",
    "find_positions",
    "is_blocked",
    "is_positive_semidefinite",
    "is_sparse",
    "plain_array",
    "tensor_values",
]

#: Largest accepted magnitude: squares of such numbers, and sums of many of them, do not overflow.
LARGEST = np.float64(1e150)
#: Rows per tile when a matrix is compared with its transpose; a pair of tiles fits in the cache.
_TILE = 256


def is_sparse(a: Any) -> bool:
    """Whether `a` is a SciPy sparse matrix or array, without importing scipy.sparse."""
    return hasattr(a, "tocsr") and type(a).__module__.startswith("scipy.sparse")


def is_blocked(a: Any) -> bool:
    """Whether `a` is a lazy array or frame held in blocks (dask), recognised by its methods."""
    return hasattr(a, "compute") and hasattr(a, "to_delayed") and (hasattr(a, "chunks") or hasattr(a, "to_dask_array"))


def _has_masked_entries(a: Any) -> bool:
    # NumPy imports numpy.ma on first use; without it there are no masked arrays.
    return "numpy.ma" in sys.modules and bool(np.ma.is_masked(a))


def tensor_values(tensor: Any, *, name: str) -> Array:
    """The values of a torch tensor in memory, recognised by its methods; torch is not imported."""
    device = getattr(getattr(tensor, "device", None), "type", "cpu")
    if device != "cpu":
        raise KernelError(f"{name} is a tensor on {device}; move it to memory first, with .cpu()")
    if "sparse" in str(getattr(tensor, "layout", "")):
        raise KernelError(f"{name} is a sparse tensor; pass a scipy.sparse matrix, or {name}.to_dense()")
    tensor = tensor.detach()
    # NumPy has no bfloat16; float32 holds all of its values.
    values: Array = (tensor.float() if "bfloat16" in str(tensor.dtype) else tensor).numpy()
    return values


def _as_array(a: Any, *, name: str) -> Any:
    if _has_masked_entries(a):
        raise KernelError(f"{name} has masked entries; fill them in or drop their items")
    try:
        return np.asarray(tensor_values(a, name=name) if hasattr(a, "detach") and hasattr(a, "numpy") else a)
    except KernelError:
        raise
    except (ValueError, TypeError) as error:
        # NumPy's message on rows of different lengths speaks of inhomogeneous shapes.
        why = "its rows have different lengths" if "inhomogeneous" in str(error) else error
        raise KernelError(f"{name} cannot be read as an array of numbers: {why}") from None


def as_generator(rng: Any) -> np.random.Generator:
    """The generator that ``numpy.random.default_rng`` makes of `rng`."""
    try:
        return np.random.default_rng(rng)
    except (ValueError, TypeError):
        raise DiversetError(
            f"rng is {rng!r}; pass None, a whole number of at least 0, or a numpy.random.Generator"
        ) from None


def plain_array(a: Any, *, name: str) -> Any:
    """`a` as an array with objects read as numbers; masked entries raise an error, sparse arrays are returned."""
    if is_sparse(a):
        return a
    array = _as_array(a, name=name)
    try:
        return array.astype(np.float64) if array.dtype.kind == "O" else array
    except (ValueError, TypeError) as error:
        raise KernelError(f"{name} cannot be read as an array of numbers: {error}") from None


#: Tolerance for the eigenvalues of K, which is often computed as I - (L + I)^-1 and then has the rounding errors of L.
_OF_K = 1e-10


def as_real_or_complex(a: Any, *, name: str, ndim: int | None = None) -> Array:
    """`a` as a float or complex array in its own precision, of `ndim` dimensions (None: any); others raise an error."""
    array: Array = _as_array(a, name=name)
    if array.dtype.kind in "biu":
        array = array.astype(np.float64)
    if array.dtype.kind not in "fc":
        raise KernelError(_no_numbers(a, array, name))
    if ndim is not None and array.ndim != ndim:
        raise KernelError(f"{name} has shape {array.shape}; expected {ndim} dimension{'s' * (ndim > 1)}")
    return array


def _no_numbers(a: Any, array: Array, name: str) -> str:
    """Message on the first entry of `a` that is no number, or on the type of the `array` made of it."""
    for where, value in np.ndenumerate(np.asarray(a, dtype=object)):
        if not isinstance(value, Number):
            at = f"[{', '.join(map(str, where))}]" if where else ""
            return f"{name}{at} is {repr(value)[:60]}; every entry must be a number"
    return f"{name} has dtype {array.dtype}; turn it into an array of floats"


def _first_nonfinite(a: Array) -> tuple[int, ...] | None:
    if a.ndim == 1 and a.dtype == np.float64 and a.flags.c_contiguous:
        from diverset.numerics._loops import all_finite

        if all_finite(a):
            return None
    else:
        # A finite sum proves that no entry is nan or inf; if the sum overflows, all entries are checked below.
        with np.errstate(over="ignore", invalid="ignore"):
            if np.isfinite(a.sum()):
                return None
    bad = np.argwhere(~np.isfinite(a))
    return tuple(int(i) for i in bad[0]) if len(bad) else None


def check_finite(a: Array, *, name: str) -> None:
    """Raise an error that names the first nan or infinite entry, if there is one."""
    where = _first_nonfinite(a)
    if where is not None:
        at = ", ".join(str(i) for i in where)
        raise KernelError(f"{name}[{at}] is {a[where]}; every entry must be finite")


def as_real(a: Any, *, name: str, shape: tuple[int | str | None, ...] | None = None) -> FloatArray:
    """`a` as an array of real numbers of this shape; nan and infinities are allowed.

    In `shape`, None or a name stands for any length; without `shape`, any shape is allowed.
    """
    array = as_real_or_complex(a, name=name, ndim=None if shape is None else len(shape))
    if array.dtype.kind == "c":
        raise KernelError(f"{name} is complex; it must hold real numbers")
    if shape is None:
        return array.astype(np.float64, copy=False)
    if any(not isinstance(m, str) and m not in (None, n) for m, n in zip(shape, array.shape, strict=True)):
        expected = ", ".join("n" if wanted is None else str(wanted) for wanted in shape)
        raise KernelError(f"{name} has shape {array.shape}; expected ({expected}{',' * (len(shape) == 1)})")
    return array.astype(np.float64, copy=False)


def check_squares(array: FloatArray, *, name: str, largest: float = LARGEST) -> None:
    """Raise an error for an entry that is not finite, or whose square is not."""
    check_finite(array, name=name)
    if array.size and max(float(array.max()), -float(array.min())) > largest:
        where = tuple(int(i) for i in np.unravel_index(int(np.abs(array).argmax()), array.shape))
        at = ", ".join(map(str, where))
        raise KernelError(f"{name}[{at}] is {array[where]:.6g}, too large to be squared; use a larger unit")


def as_finite(
    a: Any, *, name: str, shape: tuple[int | str | None, ...] | None = None, largest: float = LARGEST
) -> FloatArray:
    """`a` as an array of finite real numbers of this shape, as in `as_real`, whose squares are finite, too."""
    array = as_real(a, name=name, shape=shape)
    check_squares(array, name=name, largest=largest)
    return array


def _asymmetry(a: Array) -> tuple[float, int, int]:
    """Largest |a - a*| and its position, tile by tile (a whole transpose would thrash the cache)."""
    n = a.shape[0]
    worst, at_i, at_j = 0.0, 0, 0
    for i in range(0, n, _TILE):
        for j in range(0, i + 1, _TILE):
            tile, mirror = a[i : i + _TILE, j : j + _TILE], a[j : j + _TILE, i : i + _TILE]
            if np.iscomplexobj(a):
                mirror = mirror.conj()
            if np.array_equal(tile, mirror.T):
                continue
            gap = np.abs(tile - mirror.T)
            largest = float(gap.max())
            if largest > worst:
                row, column = np.unravel_index(int(gap.argmax()), gap.shape)
                worst, at_i, at_j = largest, i + int(row), j + int(column)
    return worst, at_i, at_j


def as_hermitian(a: Any, *, name: str) -> Array:
    """A private, exactly Hermitian float64 or complex128 copy of `a`; raises an error if `a` is not Hermitian.

    The two triangles may differ by rounding in the precision of the input; their mean is used.
    """
    if is_sparse(a):
        check_fits_in_memory(8 * a.shape[0] * a.shape[1], what=f"the dense form of {name}")
        a = a.toarray()
    array = as_real_or_complex(a, name=name, ndim=2)
    n, m = array.shape
    if n != m:
        raise KernelError(f"{name} has shape {array.shape}; a kernel is square, one row and column per item")
    eps = float(np.finfo(array.dtype).eps)
    dtype = np.dtype(np.complex128 if array.dtype.kind == "c" else np.float64)
    check_fits_in_memory(dtype.itemsize * n * n, what=f"a copy of {name}")
    copy = np.array(array, dtype=dtype, order="C")
    check_finite(copy, name=name)
    gap, i, j = _asymmetry(copy)
    if gap > 0.0:
        if gap > 16.0 * math.sqrt(n) * eps * float(np.abs(copy).max()):
            raise KernelError(
                f"{name} is not symmetric: {name}[{i}, {j}] = {copy[i, j]:.6g} but "
                f"{name}[{j}, {i}] = {copy[j, i]:.6g}; pass ({name} + {name}.T) / 2 if that is what you mean"
            )
        copy = copy / 2.0 + copy.conj().T / 2.0  # halves, for a sum may overflow
    if np.iscomplexobj(copy) and not copy.imag.any():
        copy = np.ascontiguousarray(copy.real)
    return copy


def _forgiven(noise: FloatArray, top: float) -> float:
    """Tolerated size of a negative eigenvalue: four times the limit below which it counts as zero."""
    return 4.0 * zero_eigenvalue(noise, max(8.0 / max(len(noise), 1), 1.0) * top)


def check_positive_semidefinite(a: Array, *, name: str, given: Any, remedy: str, forgiven: float = 0.0) -> None:
    """Raise an error if a Hermitian matrix has an eigenvalue below zero by more than rounding.

    The tolerance follows from the precision of `given`, the matrix as the user passed it, and is at least `forgiven`
    times the largest eigenvalue. A Cholesky factorisation proves the common case: of the matrix, or of the matrix
    with the tolerance added to its diagonal. Eigenvalues are computed only if both fail.
    """
    n = a.shape[0]
    if n == 0:
        return
    diagonal = np.diagonal(a).real
    largest = float(diagonal.max())
    noise = rounding_unit(given) * np.maximum(diagonal, 0.0)
    # The entries bound the largest eigenvalue: by n times the largest, in a positive semidefinite matrix.
    slack = max(_forgiven(noise, largest) / largest, forgiven) if largest > 0.0 else 0.0
    if largest > 0.0 and diagonal.min() >= 0.0:
        # For a large matrix a second factorisation costs more than the copy that it may save.
        definite = n <= NUMPY_CHOLESKY and is_positive_definite(a)
        if definite or is_positive_definite(add_to_diagonal(a.copy(), slack * largest)):
            return
    elif not a.any():
        return
    lam = np.linalg.eigvalsh(a)
    top = max(float(lam[-1]), 0.0)
    if lam[0] < -max(_forgiven(noise, top), forgiven * top):
        raise KernelError(f"{name} has smallest eigenvalue {lam[0]:.6g}; {remedy}")


def is_positive_semidefinite(a: Array, *, scale: float) -> bool:
    """Whether the smallest eigenvalue of a Hermitian matrix is nonnegative, up to rounding at `scale`."""
    slack = 8.0 * max(len(a), 8) * EPS * scale
    return is_positive_definite(add_to_diagonal(np.array(a, order="C"), slack))


def check_between_zero_and_identity(K: Array, *, given: Any) -> None:
    """Raise an error if a marginal kernel has an eigenvalue outside [0, 1] by more than rounding."""
    n = K.shape[0]
    if n == 0:
        return
    check_positive_semidefinite(
        K, name="K", given=given, remedy="a marginal kernel must have all eigenvalues between 0 and 1", forgiven=_OF_K
    )
    slack = max(8.0 * max(n, 8) * rounding_unit(given), _OF_K)
    lifted = add_to_diagonal(-K, 1.0 + slack)
    if np.diagonal(lifted).real.min() > 0.0 and is_positive_definite(lifted):
        return
    top = float(np.linalg.eigvalsh(K)[-1])
    if top > 1.0 + slack:
        raise KernelError(
            f"K has largest eigenvalue {top:.6g}; a marginal kernel must have all eigenvalues between 0 and 1 "
            "(a likelihood kernel, with P(Y) proportional to det(L_Y), goes to DPP(L))"
        )


def as_quality(quality: Any, n: int) -> FloatArray:
    """`quality` as a private vector of n finite nonnegative numbers."""
    copy = np.array(as_real(quality, name="quality", shape=(None,)))
    if len(copy) != n:
        raise KernelError(f"quality has {len(copy)} entries for {n} items; give one per item")
    check_finite(copy, name="quality")
    if n and copy.min() < 0.0:
        i = int(copy.argmin())
        raise KernelError(f"quality[{i}] is {copy[i]:.6g}; quality must be nonnegative (log-scores: pass exp)")
    return copy


def as_probability_vector(p: Any, *, name: str) -> FloatArray:
    """`p` as a private vector of probabilities, divided by its sum, which must be 1 up to 1e-6."""
    vector = as_real(p, name=name, shape=(None,))
    check_finite(vector, name=name)
    if len(vector) == 0:
        raise DiversetError(f"{name} is empty; give at least one probability")
    if vector.min() < 0.0:
        i = int(vector.argmin())
        raise DiversetError(f"{name}[{i}] is {vector[i]:.6g}; probabilities are nonnegative")
    total = float(vector.sum())
    if abs(total - 1.0) > 1e-6:
        raise DiversetError(f"{name} sums to {total:.9g}; probabilities sum to 1 (divide by the sum)")
    return vector / total


def check_size(k: Any, *, name: str = "k") -> int:
    """`k` as a nonnegative int."""
    if isinstance(k, (bool, np.bool_)):
        raise SizeError(f"{name} is {k!r}; it must be a whole number of items")
    try:
        value = operator.index(k)
    except TypeError:
        raise SizeError(f"{name} is {k!r}; it must be a whole number of items") from None
    if value < 0:
        raise SizeError(f"{name} is {value}; it must not be negative")
    return value


def check_count(value: Any, *, name: str) -> int:
    """`value` as an int of at least 1."""
    try:
        number = 0 if isinstance(value, (bool, np.bool_)) else operator.index(value)
    except TypeError:
        number = 0
    if number < 1:
        raise DiversetError(f"{name} is {value!r}; it must be a whole number of at least 1")
    return number


def as_number(value: Any, *, name: str) -> float:
    """`value` as a float, possibly infinite or nan."""
    try:
        if np.iscomplexobj(value):
            raise TypeError
        return float(value)
    except (TypeError, ValueError):
        raise DiversetError(f"{name} is {value!r}; it must be a number") from None


def check_nonnegative(value: Any, *, name: str, most: float = math.inf) -> float:
    """`value` as a nonnegative finite float, of at most `most`."""
    number = as_number(value, name=name)
    if not 0.0 <= number < math.inf:
        raise DiversetError(f"{name} is {number}; it must be finite and at least 0")
    if number > most:
        raise DiversetError(f"{name} is {number:g}; it must be at most {most:g}")
    return number


def check_positive(value: Any, *, name: str) -> float:
    """`value` as a positive finite float."""
    number = as_number(value, name=name)
    if not (math.isfinite(number) and number > 0.0):
        raise DiversetError(f"{name} is {number}; it must be positive and finite")
    return number


def find_positions(labels: Iterable[int], items: IntArray | range, *, name: str = "the set") -> IntArray:
    """Ascending positions of `labels` within the ascending ground set `items`."""
    if isinstance(labels, (int, np.integer)):
        raise LabelError(f"{name} is the number {labels}; pass a sequence of items, such as [{labels}]")
    if isinstance(labels, (str, bytes)):
        raise LabelError(f"{name} is the text {labels!r}; pass a sequence of item numbers")
    try:
        given = labels if isinstance(labels, (np.ndarray, range, list, tuple)) else list(labels)
        array = np.asarray(given)
    except (TypeError, ValueError) as error:
        raise LabelError(f"{name} cannot be read as a sequence of item numbers: {error}") from None
    if array.ndim != 1:
        raise LabelError(f"{name} has shape {array.shape}; pass a flat sequence of item numbers")
    if array.size == 0:
        return np.zeros(0, dtype=np.int64)
    if array.dtype.kind == "b":
        raise LabelError(f"{name} is a boolean mask; pass item numbers (numpy.flatnonzero turns a mask into them)")
    if array.dtype.kind not in "iu":
        raise LabelError(f"{name} holds {array.dtype} values such as {array[0]!r}; items are whole numbers")
    wanted = np.sort(array.astype(np.int64))
    if (wanted[1:] == wanted[:-1]).any():
        twice = wanted[1:][wanted[1:] == wanted[:-1]][0]
        raise LabelError(f"{name} names item {twice} more than once; a set holds each item once")
    if isinstance(items, range):
        positions, found = wanted, (wanted >= 0) & (wanted < len(items))
    else:
        positions = np.searchsorted(items, wanted)
        found = positions < len(items)
        found[found] = items[positions[found]] == wanted[found]
    if not found.all():
        missing = wanted[~found][0]
        if len(items) == 0:
            raise LabelError(f"{name} names item {missing}, but the ground set is empty")
        contiguous = items[-1] - items[0] == len(items) - 1
        hint = f"{items[0]} to {items[-1]}" if contiguous else "those in .items"
        raise LabelError(f"{name} names item {missing}, which is not in the ground set ({hint})")
    return positions.astype(np.int64, copy=False)


def check_rows(rows: Any, n: int, *, name: str) -> IntArray:
    """Row numbers from 0 to n - 1, in their order, possibly with repetitions."""
    try:
        array = np.asarray(rows)
    except ValueError as error:
        raise LabelError(f"{name} cannot be read as row numbers: {error}") from None
    if array.size == 0:
        return np.zeros(0, dtype=np.int64)
    if array.ndim != 1 or array.dtype.kind not in "iu":
        raise LabelError(f"{name} has shape {array.shape} and dtype {array.dtype}; give a flat sequence of row numbers")
    outside = (array < 0) | (array >= n)
    if outside.any():
        raise LabelError(f"{name} holds {array[outside][0]}; there are rows 0 to {n - 1}")
    return array.astype(np.int64)


def _read(path: str) -> str:
    with open(path, encoding="ascii") as file:
        return file.read()


def available_memory() -> int | None:
    """Bytes that can still be allocated, by the estimate of the operating system and the control group limit."""
    limits = []
    try:
        for line in _read("/proc/meminfo").splitlines():
            if line.startswith("MemAvailable:"):
                limits.append(int(line.split()[1]) * 1024)
        group = _read("/sys/fs/cgroup/memory.max").strip()
        used = _read("/sys/fs/cgroup/memory.current").strip()
        if group != "max":
            limits.append(int(group) - int(used))
    except (OSError, ValueError, IndexError):
        pass
    if not limits and hasattr(os, "sysconf") and "SC_AVPHYS_PAGES" in os.sysconf_names:
        limits.append(os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    return min(limits) if limits else None


def check_fits_in_memory(n_bytes: int, *, what: str, remedy: str = "") -> None:
    """Raise an error before an allocation that does not fit into memory."""
    # Reading /proc takes longer than it is worth for small arrays.
    if n_bytes < 1 << 28:
        return
    free = available_memory()
    if free is not None and n_bytes > free:
        hint = remedy or "DPP.from_features with fewer features than items never forms an n x n matrix"
        raise TooLargeError(f"{what} needs {n_bytes / 2**30:.1f} GiB and {free / 2**30:.1f} GiB are available; {hint}")
