"""Potentials: the qualities, which multiply, and features, which add, of a factor.

A potential is checked and copied once, divided by its largest quality (whose logarithm is kept apart), and may be
shared by any number of factors.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from diverset._typing import Array, BoolArray, FloatArray, IntArray
from diverset.core.cache import Frozen
from diverset.errors import KernelError
from diverset.numerics.validation import LARGEST, as_real, check_fits_in_memory, is_sparse

__all__ = ["Potential", "Separable"]


class Separable:
    r"""Pairwise quality :math:`Q = A_1 \otimes A_2 \otimes \cdots` on values that form a grid, without forming Q.

    .. math::  q(y, y') = \prod_a A_a[y_a, y'_a],

    where :math:`y_a` is the coordinate of value y along axis a; values are numbered in C order, as by
    ``numpy.ravel_multi_index``. Gaussian springs between positions in an image are of this kind. Where they turn with
    the orientation of the first part, that axis governs the others:

    .. math::  q(y, y') = A_b[y_b, y'_b] \prod_{a \ne b} A_a^{(y_b)}[y_a, y'_a].

    Parameters
    ----------
    matrices : sequence of array_like of shape (m_a, m'_a), or (m_b, m_a, m'_a)
        One nonnegative matrix per axis of the grid, or a stack of them, one for each coordinate of the first part
        along axis `by`.
    by : int, optional
        The axis b, whose own matrix is a plain one.

    Examples
    --------
    >>> import numpy as np
    >>> x = np.arange(5.0)
    >>> spring = np.exp(-0.5 * (x[:, None] - x) ** 2)
    >>> Separable([spring, spring, np.eye(3)]).shape
    (75, 75)

    The same pulled apart by a step along the first axis, but only where the third coordinate of the first part is 2:

    >>> apart = np.exp(-0.5 * (x[:, None] + 1 - x) ** 2)
    >>> Separable([[spring, spring, apart], spring, np.eye(3)], by=2).shape
    (75, 75)
    """

    def __init__(self, matrices: Sequence[Any], *, by: int | None = None) -> None:
        if len(matrices) == 0:
            raise KernelError("Separable needs at least one matrix, one per axis of the grid of values")
        if by is not None and not 0 <= by < len(matrices):
            raise KernelError(f"by is {by!r}; it is one of the axes 0 to {len(matrices) - 1}")
        self.by = by
        self.matrices = tuple(
            _nonnegative(A, f"matrices[{a}]", 3 if by not in (None, a) and np.ndim(A) == 3 else 2)
            for a, A in enumerate(matrices)
        )
        for a, A in enumerate(self.matrices):
            if by is not None and A.ndim == 3 and len(A) != self.matrices[by].shape[0]:
                raise KernelError(
                    f"matrices[{a}] is a stack of {len(A)}; axis {by}, which governs it, has "
                    f"{self.matrices[by].shape[0]} coordinates"
                )

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers of values of the two parts."""
        return math.prod(A.shape[-2] for A in self.matrices), math.prod(A.shape[-1] for A in self.matrices)


def _where(index: Iterable[Any]) -> str:
    return ", ".join(str(int(i)) for i in index)


def _real(a: Any, name: str, ndim: int) -> FloatArray:
    return np.array(as_real(a, name=name, shape=(None,) * ndim))


def _refuse(array: FloatArray, bad: Any, name: str, remedy: str, labels: IntArray | None = None) -> None:
    if bad.any():
        at = np.argwhere(bad)[0]
        shown = at if labels is None else labels[:, at[0]]
        raise KernelError(f"{name}[{_where(shown)}] is {array[tuple(at)]:.6g}; {remedy}")


def _check_quality(values: FloatArray, name: str, labels: IntArray | None = None) -> None:
    _refuse(values, ~np.isfinite(values), name, "qualities are finite", labels)
    _refuse(values, values < 0.0, name, "qualities are nonnegative (log-scores: pass log_quality)", labels)


def _nonnegative(a: Any, name: str, ndim: int) -> FloatArray:
    array = _real(a, name, ndim)
    _check_quality(array, name)
    return array


def _check_log_quality(values: FloatArray, name: str, labels: IntArray | None = None) -> None:
    remedy = "log-qualities are finite, or -inf where forbidden"
    _refuse(values, np.isnan(values) | (values == np.inf), name, remedy, labels)


@dataclass(frozen=True, eq=False)
class Potential(Frozen):
    r"""Quality and features of the joint values of a few parts.

    Qualities are dense, sparse (`values` with `rows` or `entries`), separable, or all 1 where none of these is given.
    """

    shape: tuple[int, ...]
    #: Logarithm of what qualities were divided by: the largest, or an upper bound of it.
    log_max: float = 0.0
    dense: FloatArray | None = None
    #: Allowed entries in C order: (indptr, indices) of a CSR array for two parts, else indices (n_parts, n_entries).
    values: FloatArray | None = None
    rows: tuple[Array, Array] | None = None
    entries: IntArray | None = None
    #: Small matrices whose Kronecker product is the quality, or stacks governed by axis `by` of the first part.
    separable: tuple[FloatArray, ...] | None = None
    by: int | None = None
    #: Of shape (*shape, D), or (n_entries, D) for sparse qualities.
    features: FloatArray | None = None

    @classmethod
    def read(cls, shape: tuple[int, ...], quality: Any, log_quality: Any, features: Any, name: str) -> Potential:
        """Check the arrays that the user gave for a factor called `name`."""
        if quality is not None and log_quality is not None:
            raise KernelError(f"{name} has both quality and log_quality; give one")
        given, logs = (log_quality, True) if log_quality is not None else (quality, False)
        label = f"{'log_quality' if logs else 'quality'} of {name}"
        held = cls(shape)
        order: IntArray | None = None
        if isinstance(given, Separable):
            if logs:
                raise KernelError(f"{label} is Separable, whose matrices hold qualities; pass it as quality")
            _check_shape(given.shape, shape, label)
            tops = [float(A.max(initial=0.0)) for A in given.matrices]
            _refuse_all_forbidden(min(tops), label)
            scaled = tuple(A / top for A, top in zip(given.matrices, tops, strict=True))
            held = cls(shape, sum(math.log(top) for top in tops), separable=scaled, by=given.by)
        elif is_sparse(given):
            held, order = _read_sparse(given, shape, logs, label)
            if held.entries is not None and held.values is not None and len(shape) == 1:
                dense = np.zeros(shape)
                dense[held.entries[0]] = held.values
                held, order = cls(shape, held.log_max, dense=dense), None
        elif given is not None:
            array = _real(given, label, len(shape))
            _check_shape(array.shape, shape, label)
            (_check_log_quality if logs else _check_quality)(array, label)
            dense, log_max = _normalised(array, logs, label)
            held = cls(shape, log_max, dense=dense)
        if features is None:
            return held
        return replace(held, features=_read_features(features, held, order, f"features of {name}"))

    @property
    def arity(self) -> int:
        """Number of parts."""
        return len(self.shape)

    @property
    def n_features(self) -> int | None:
        """Number of features, None where there are none."""
        return None if self.features is None else self.features.shape[-1]

    def mapped(self, G: FloatArray) -> Potential:
        """The same qualities with features multiplied by G."""
        return self if self.features is None else replace(self, features=np.ascontiguousarray(self.features @ G))

    def coordinates(self) -> IntArray:
        """The allowed joint values, (n_parts, n_entries), in C order."""
        if self.entries is not None:
            return self.entries
        if self.rows is not None:
            indptr, indices = self.rows
            return np.stack([np.repeat(np.arange(self.shape[0]), np.diff(indptr)), indices.astype(np.int64)])
        if self.dense is not None:
            return np.stack(np.nonzero(self.dense)).astype(np.int64)
        check_fits_in_memory(
            8 * len(self.shape) * math.prod(self.shape), what=f"the list of {math.prod(self.shape)} joint values"
        )
        return np.stack([i.ravel() for i in np.indices(self.shape)])

    def _find(self, index: IntArray) -> tuple[IntArray, BoolArray]:
        """Positions among the entries of joint values (n, n_parts), and whether each was found."""
        if self.rows is None:
            assert self.entries is not None
            keys = np.ravel_multi_index(tuple(self.entries), self.shape)
            wanted = np.ravel_multi_index(tuple(index.T), self.shape)
            at = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
            return at, keys[at] == wanted
        # Bisection in all rows at once.
        indptr, indices = self.rows
        low, high = indptr[index[:, 0]].astype(np.int64), indptr[index[:, 0] + 1].astype(np.int64)
        end = high.copy()
        while (low < high).any():
            middle = (low + high) // 2
            before = (low < high) & (indices[np.minimum(middle, len(indices) - 1)] < index[:, 1])
            low, high = np.where(before, middle + 1, low), np.where(before, high, np.minimum(middle, high))
        at = np.minimum(low, len(indices) - 1)
        return at, (low < end) & (indices[at] == index[:, 1])

    def log_quality_at(self, index: IntArray) -> FloatArray:
        """Log-qualities of joint values, given as rows of `index`, (n, n_parts)."""
        if self.dense is not None:
            q = self.dense[tuple(index.T)]
        elif self.values is not None:
            at, found = self._find(index)
            q = np.where(found, self.values[at], 0.0)
        elif self.separable is not None:
            q = np.ones(len(index))
            rows = np.unravel_index(index[:, 0], tuple(A.shape[-2] for A in self.separable))
            columns = np.unravel_index(index[:, 1], tuple(A.shape[-1] for A in self.separable))
            for A, i, j in zip(self.separable, rows, columns, strict=True):
                q = q * (A[i, j] if A.ndim == 2 or self.by is None else A[rows[self.by], i, j])
        else:
            return np.zeros(len(index))
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(q) + self.log_max)

    def features_at(self, index: IntArray) -> FloatArray | None:
        """Features of joint values, (n, D); zero where they are forbidden. None where there are none."""
        if self.features is None:
            return None
        if self.values is None:
            return np.asarray(self.features[tuple(index.T)])
        at, found = self._find(index)
        return np.where(found[:, None], self.features[at], 0.0)


def _check_shape(given: tuple[int, ...], shape: tuple[int, ...], label: str) -> None:
    if tuple(given) != shape:
        raise KernelError(f"{label} has shape {tuple(given)}; its parts have {' x '.join(map(str, shape))} values")


def _refuse_all_forbidden(largest: float, label: str) -> None:
    if largest == 0.0:
        raise KernelError(f"{label} is 0 everywhere, so that no structure is allowed")


def _normalised(values: FloatArray, logs: bool, label: str) -> tuple[FloatArray, float]:
    """Qualities divided by the largest, and its logarithm."""
    if logs:
        top = float(values.max(initial=-np.inf))
        _refuse_all_forbidden(0.0 if top == -np.inf else 1.0, label)
        return np.exp(values - top), top
    top = float(values.max(initial=0.0))
    _refuse_all_forbidden(top, label)
    return values / top, math.log(top)


def _read_sparse(given: Any, shape: tuple[int, ...], logs: bool, label: str) -> tuple[Potential, IntArray | None]:
    """Read a sparse quality as entries in C order, with their order among the stored ones if that differs."""
    _check_shape(given.shape, shape, label)
    check = _check_log_quality if logs else _check_quality
    if getattr(given, "format", "") == "csr" and given.has_canonical_format:
        order, indptr, indices, data = None, given.indptr, given.indices, given.data
    else:
        coo = given.tocoo()
        coords = np.stack([np.asarray(c, dtype=np.int64) for c in coo.coords])
        keys = np.ravel_multi_index(tuple(coords), shape)
        order = np.argsort(keys, kind="stable")
        twice = np.flatnonzero(np.diff(keys[order]) == 0)
        if len(twice):
            at = coords[:, order[twice[0]]]
            raise KernelError(f"{label} stores entry [{_where(at)}] twice; sum_duplicates() adds such entries up")
        coords, data = coords[:, order], coo.data[order]
        if len(shape) != 2:
            values = np.array(data, dtype=np.float64)
            check(values, label, coords)
            values, log_max = _normalised(values, logs, label)
            return Potential(shape, log_max, values=values, entries=coords), order
        indptr = np.concatenate([[0], np.cumsum(np.bincount(coords[0], minlength=shape[0]))])
        indices = coords[1]
    values = np.array(data, dtype=np.float64)
    # Only a bad entry is worth the list of all coordinates.
    if not np.isfinite(values).all() or (not logs and (values < 0.0).any()):
        held = Potential(shape, values=values, rows=(indptr, indices))
        check(values, label, held.coordinates())
    values, log_max = _normalised(values, logs, label)
    narrow = np.int32 if max(shape[1], len(values)) < 2**31 else np.int64
    rows = indptr.astype(narrow), indices.astype(narrow)
    return Potential(shape, log_max, values=values, rows=rows), order


def _read_features(features: Any, held: Potential, order: IntArray | None, label: str) -> FloatArray:
    if is_sparse(features):
        check_fits_in_memory(
            8 * features.shape[0] * features.shape[1],
            what=f"the dense form of the {label}",
            remedy="project them to fewer dimensions first (diverset.numerics.project)",
        )
        features = features.toarray()
    array = np.asarray(features)
    full = (*held.shape, array.shape[-1] if array.ndim else 0)
    by_entry = (
        held.values is not None and array.ndim == 2 and array.shape[0] == len(held.values) and array.shape != full
    )
    array = _real(features, label, 2 if by_entry else len(held.shape) + 1)
    if not by_entry and array.shape[:-1] != held.shape:
        also = "" if held.values is None else f", or ({len(held.values)}, D), one row per stored entry"
        wanted = ", ".join(map(str, held.shape))
        raise KernelError(f"{label} have shape {array.shape}; expected ({wanted}, D){also}")
    _refuse(array, ~(np.abs(array) <= LARGEST), label, "every entry must be finite, its square too")
    if by_entry:
        return array if order is None else array[order]
    return array if held.values is None else array[tuple(held.coordinates())]
