r"""A tall matrix of item rows in its original storage: dense, float32, sparse or memory-mapped.

The rows of a low-rank DPP are :math:`B = \mathrm{diag}(q)\,F\,T`: F the user's features, q their
qualities, T a small matrix that conditioning, restriction and thinning act on. F is never copied to
float64 as a whole and never modified; dropping items only shortens a list of row numbers. All passes over
it go block by block.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from diverset._typing import Array, BoolArray, FloatArray, IntArray
from diverset.core.cache import Frozen
from diverset.errors import KernelError
from diverset.numerics.linalg import BLOCK, block_length, gram, grams, log_dets, positions_outside, row_norms_squared
from diverset.numerics.rounding import EPS, SLACK, rounding_unit
from diverset.numerics.validation import as_real_or_complex, is_sparse

__all__ = ["RowFactor", "as_feature_rows"]

#: Features up to this many bytes are copied, so that later changes by the caller do not affect the DPP.
COPY_LIMIT = 1 << 26
#: Relative rounding error up to which a row is reliable.
_CLEAR = 1e-8


def as_feature_rows(features: Any) -> Any:
    """Features as an (n, D) float or complex array, or CSR; a private copy unless they are large."""
    if is_sparse(features):
        if features.ndim != 2:
            raise KernelError(f"features have shape {features.shape}; expected (n_items, n_features)")
        rows = features.tocsr(copy=True) if features.nnz * 8 <= COPY_LIMIT else features.tocsr()
        if rows.dtype.kind in "biu":
            rows = rows.astype(np.float64)
        if rows.dtype.kind not in "fc":
            raise KernelError(f"features have dtype {rows.dtype}; they must be real or complex numbers")
        if not np.isfinite(rows.data).all():
            bad = int(np.flatnonzero(~np.isfinite(rows.data))[0])
            i = int(np.searchsorted(rows.indptr, bad, side="right")) - 1
            raise KernelError(f"features[{i}, {rows.indices[bad]}] is {rows.data[bad]}; every entry must be finite")
        return rows
    array = as_real_or_complex(features, name="features", ndim=2)
    if isinstance(array, np.memmap) or array.nbytes > COPY_LIMIT:
        return array
    return np.array(array, order="C")


class RowFactor(Frozen):
    """Rows diag(q) F[rows] T, of shape (n, width).

    `base` is F, (n_base, D), an array or CSR; `rows` are all by default. `transform` is T, (D, width); a vector (D,)
    scales the columns.
    """

    def __init__(
        self, base: Any, rows: IntArray | None = None, quality: FloatArray | None = None, transform: Array | None = None
    ) -> None:
        self.base = base
        self.rows = rows
        self.quality = quality
        self.transform = transform
        self.n = base.shape[0] if rows is None else len(rows)
        self.width = base.shape[1] if transform is None or transform.ndim == 1 else transform.shape[1]

    def _fetch(self, rows: IntArray | slice) -> Array:
        """Rows of diag(q) F as float64 or complex128."""
        where = rows if self.rows is None else self.rows[rows]
        # `take` gathers rows faster than indexing does.
        gathers = isinstance(self.base, np.ndarray) and isinstance(where, np.ndarray)
        block = self.base.take(where, axis=0) if gathers else self.base[where]
        if is_sparse(block):
            block = block.toarray()
        block = np.asarray(block, dtype=np.complex128 if block.dtype.kind == "c" else np.float64)
        if self.quality is not None:
            with np.errstate(invalid="ignore", over="ignore"):  # nonfinite entries raise an error with their position
                block = block * self.quality[rows][:, None]
        return block

    def _apply(self, block: Array, transform: Array | None) -> Array:
        if transform is None:
            return block
        product: Array = block * transform if transform.ndim == 1 else block @ transform
        return product

    def take(self, rows: IntArray) -> Array:
        """Some rows, dense."""
        return self._apply(self._fetch(rows), self.transform)

    @property
    def rounding(self) -> float:
        """Rounding unit of the precision of the features."""
        return rounding_unit(self.base)

    def row_noise(self, rows: IntArray) -> FloatArray:
        """Rounding error of some rows, as norms: relative to those of diag(q) F times that of T."""
        norm = self.rounding
        if self.transform is not None:
            T = self.transform
            norm *= float(np.abs(T).max(initial=0.0)) if T.ndim == 1 else float(np.linalg.norm(T, 2)) if T.size else 0.0
        return np.sqrt(row_norms_squared(self._fetch(rows))) * norm

    def log_volumes(self, sets: IntArray, transform: Array | None, careful: Callable[[IntArray], float]) -> FloatArray:
        """Log of the squared volumes of sets (m, k) of rows, times `transform`, many at a time.

        A set that is nearly dependent, or whose rows are nearly rounding, gets the value of ``careful(set)``.
        """
        if sets.shape[1] == 0:
            return np.array([careful(inside) for inside in sets], dtype=np.float64)
        values = np.empty(len(sets))
        for start in range(0, len(sets), BLOCK):
            S = sets[start : start + BLOCK]
            rows = self.take(S.ravel())
            clear: BoolArray = np.ones(len(S), dtype=np.bool_)
            if self.transform is not None:
                noise = self.row_noise(S.ravel())
                clear = np.all((noise**2 <= _CLEAR**2 * row_norms_squared(rows)).reshape(S.shape), axis=1)
            B = (rows if transform is None else rows @ transform).reshape(*S.shape, -1)
            values[start : start + BLOCK], safe = log_dets(grams(B))
            for i in np.flatnonzero(~(safe & clear)):
                values[start + i] = careful(S[i])
        return values

    def blocks(self) -> Iterator[tuple[slice, Array]]:
        """Consecutive blocks of diag(q) F, before T."""
        step = block_length(self.base.shape[1])
        for start in range(0, self.n, step):
            part = slice(start, min(start + step, self.n))
            yield part, self._fetch(part)

    def subset(self, keep: IntArray) -> RowFactor:
        """Only these rows, in this order."""
        rows = keep if self.rows is None else self.rows[keep]
        quality = None if self.quality is None else self.quality[keep]
        return RowFactor(self.base, rows, quality, self.transform)

    def without(self, dropped: IntArray) -> RowFactor:
        """All rows but these."""
        return self.subset(positions_outside(dropped, self.n))

    def times(self, matrix: Array) -> RowFactor:
        """Rows multiplied by `matrix` on the right (a vector scales columns)."""
        return RowFactor(self.base, self.rows, self.quality, self.combined(matrix))

    def combined(self, matrix: Array) -> Array:
        """T times `matrix`."""
        T = self.transform
        if T is None:
            return matrix
        if T.ndim == 1:
            product: Array = T * matrix if matrix.ndim == 1 else T[:, None] * matrix
            return product
        return self._apply(T, matrix)

    def scaled(self, factor: float) -> RowFactor:
        """Rows times a number."""
        if self.transform is not None:
            return RowFactor(self.base, self.rows, self.quality, factor * self.transform)
        quality = np.full(self.n, factor) if self.quality is None else factor * self.quality
        return RowFactor(self.base, self.rows, quality, None)

    def gram(self) -> Array:
        """:math:`B^* B`, of shape (width, width); raises an error for entries that are not finite."""
        # Overflow is detected below, whatever NumPy's error state.
        with np.errstate(over="ignore", invalid="ignore"):
            C = self._base_gram()
        if not np.isfinite(C).all():
            self._refuse_nonfinite()
        T = self.transform
        if T is not None:
            C = T.conj()[:, None] * C * T if T.ndim == 1 else T.conj().T @ C @ T
        return np.asarray((C + C.conj().T) / 2.0)

    def _base_gram(self) -> Array:
        """Gram matrix of diag(q) F."""
        if is_sparse(self.base):
            rows = self.base if self.rows is None else self.base[self.rows]
            weights = np.ones(self.n) if self.quality is None else self.quality**2
            return np.asarray((rows.conj().T @ rows.multiply(weights[:, None])).todense())
        if self.rows is None and self.quality is None and self.base.dtype in (np.float64, np.complex128):
            base = np.asarray(self.base)
            if base.dtype == np.float64 and base.flags.c_contiguous:
                return gram(base)
            # NumPy sees a matrix times its own transpose and halves the work.
            return np.asarray(base.conj().T @ base)
        D = self.base.shape[1]
        C = np.zeros((D, D), dtype=np.complex128 if self.base.dtype.kind == "c" else np.float64)
        for _, block in self.blocks():
            C += block.conj().T @ block
        return C

    def _refuse_nonfinite(self) -> None:
        for part, block in self.blocks():
            bad = np.argwhere(~np.isfinite(block))
            if len(bad):
                i, j = (int(x) for x in bad[0])
                raise KernelError(f"features[{part.start + i}, {j}] is {block[i, j]}; every entry must be finite")
        raise KernelError(
            "products of the features overflow; divide the features (or the quality) by their largest entry"
        )

    @property
    def is_here(self) -> bool:
        """Whether all rows are in memory."""
        return isinstance(self.base, np.ndarray) or is_sparse(self.base)

    def vanishes_along(self, directions: Array, top: float) -> bool:
        r"""Whether the rows are orthogonal to `directions`, up to rounding in each row and in the directions.

        The directions come from the Gram matrix, so they err by up to :math:`10^7\epsilon`. A row counts as orthogonal
        up to 1e-8 of its norm, and the sum of squares up to 1e-23 of the largest eigenvalue `top`.
        """
        combined = self.combined(directions)
        T = self.transform
        stretch = 1.0 if T is None else float(np.abs(T).max()) if T.ndim == 1 else float(np.linalg.norm(T, 2))
        slack = (SLACK * self.rounding) ** 2
        total = weight = 0.0
        for _, block in self.blocks():
            left = row_norms_squared(block @ combined)
            norms = row_norms_squared(block) * stretch**2
            if (left > max(1e-16, 4.0 * slack) * norms).any():
                return False
            total += float(left.sum())
            weight += float(norms.sum())
        return bool(total <= max(1e-23 * self.base.shape[1] * top, slack * weight if self.rounding > EPS else 0.0))

    def norms_squared(self, matrix: Array | None = None, *, upper: bool = False) -> FloatArray:
        """Squared norms of the rows, times `matrix` if given; an `upper` triangular one takes half the work."""
        transform = self.transform if matrix is None else self.combined(matrix)
        norms = np.empty(self.n)
        # One buffer for all blocks: fresh memory would be paged in each time.
        work = np.empty((min(self.n, block_length(self.base.shape[1])), self.base.shape[1]))
        triangular = upper and self.transform is None and transform is not None and not np.iscomplexobj(transform)
        for part, block in self.blocks():
            if triangular and not np.iscomplexobj(block):
                from scipy.linalg import blas

                # BLAS sees transposes: M^T block^T, columns contiguous.
                copy = work[: len(block)]
                copy[:] = block
                product = blas.dtrmm(1.0, transform, copy.T, lower=0, trans_a=1, overwrite_b=1).T
            else:
                product = self._apply(block, transform)
            norms[part] = row_norms_squared(product)
        return norms

    def outer(self) -> Array:
        r""":math:`B B^*`, dense, of shape (n, n)."""
        with np.errstate(over="ignore", invalid="ignore"):
            if is_sparse(self.base) and self.transform is None:
                rows = self.base if self.rows is None else self.base[self.rows]
                rows = rows.astype(np.complex128 if rows.dtype.kind == "c" else np.float64)
                product = np.asarray((rows @ rows.conj().T).todense())
                if self.quality is not None:
                    product = product * self.quality[:, None] * self.quality
            else:
                B = self.take(np.arange(self.n))
                product = B @ B.conj().T
        if not np.isfinite(product).all():
            self._refuse_nonfinite()
        return np.asarray((product + product.conj().T) / 2.0)
