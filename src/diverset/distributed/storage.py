"""Features from files and from kernels, as dask arrays whose blocks are computed on the workers that need them.

Each block opens its file itself, since a memory map cannot be sent to another process. A pass over a file of any size
takes the memory of a few blocks.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Collection, Sequence
from functools import partial
from itertools import accumulate
from pathlib import Path
from typing import Any

import numpy as np

from diverset import kernels
from diverset._typing import Array, FloatArray, IntArray, RNGLike
from diverset.distributed.blocks import Blocks, Task, as_block, by_block, compute, lazy_array, same, task
from diverset.errors import DiversetError, KernelError, MissingExtraError
from diverset.inference.inputs import list_rows
from diverset.numerics.linalg import EPS
from diverset.numerics.validation import as_generator, as_real, check_count, check_positive, check_rows, is_sparse

__all__ = ["ParquetRows", "nystroem", "read", "rows_of"]

#: Default size of a block, in bytes.
BLOCK_BYTES = 1 << 26


def read(
    path: str | os.PathLike[str], columns: str | Sequence[str] | None = None, *, block_bytes: int = BLOCK_BYTES
) -> Any:
    """Features in a file or folder as a dask array of shape (n_items, n_features), which is read on use.

    Parameters
    ----------
    path : path-like
        ``.npy`` (rows in C order), a ``.zarr`` folder, or Parquet: a file, a folder of files, or an address that fsspec
        knows (``s3://...``), which all workers can reach.
    columns : str or sequence of str, optional
        For Parquet: columns of numbers, or one column of lists; by default, all columns of the file.
    block_bytes : int
        Approximate size of a block. For Zarr the chunks of the file are the blocks.

    Examples
    --------
    >>> import tempfile, numpy as np, diverset as dv
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     np.save(f"{folder}/x.npy", np.eye(6, 4, dtype=np.float32))
    ...     dv.select(dv.distributed.read(f"{folder}/x.npy", block_bytes=32), 2, similarity="dot").indices
    array([0, 1])
    """
    name = os.fspath(path)
    suffix = Path(name.rstrip("/")).suffix.lower()
    if suffix == ".npy":
        return _read_npy(name, block_bytes)
    if suffix == ".zarr":
        return _read_zarr(name)
    if suffix in (".parquet", ".pq") or Path(name).is_dir() or "://" in name:
        return ParquetRows(name, block_bytes=block_bytes).features(columns)
    raise DiversetError(f"{name} is no .npy, .zarr or .parquet; features are read in blocks from one of those")


def _read_npy(path: str, block_bytes: int) -> Any:
    try:
        whole = np.load(path, mmap_mode="r", allow_pickle=False)
    except FileNotFoundError:
        raise DiversetError(f"cannot read {path}: there is no such file") from None
    except Exception as error:  # NumPy parses the header of a damaged file with Python's own parser
        raise DiversetError(f"{path} is not an NPY file that can be mapped: {error}") from None
    if not isinstance(whole, np.ndarray):
        whole.close()
        raise DiversetError(f"{path} is an archive of arrays; save one array with numpy.save")
    if whole.dtype.kind not in "biufc":
        raise KernelError(f"{path} holds {whole.dtype} entries; they must be numbers")
    if whole.ndim != 2 or not whole.flags.c_contiguous:
        raise KernelError(f"{path} has shape {whole.shape}; expected (n_items, n_features) in C order")
    n, width = whole.shape
    assert isinstance(whole, np.memmap)
    row = width * whole.dtype.itemsize
    step = max(1, block_bytes // max(row, 1))
    lengths = [min(step, n - start) for start in range(0, max(n, 1), step)]
    first, full = int(whole.offset), os.path.abspath(path)
    parts = [task(_mapped, full, whole.dtype, first + i * step * row, (m, width)) for i, m in enumerate(lengths)]
    return lazy_array(parts, lengths, whole.dtype, width)


def _mapped(path: str, dtype: np.dtype[Any], offset: int, shape: tuple[int, int]) -> Array:
    """Memory map of some rows of a file: only the pages that are used are read."""
    if shape[0] == 0:
        return np.zeros(shape, dtype=dtype)
    if os.path.getsize(path) < offset + math.prod(shape) * dtype.itemsize:
        raise DiversetError(f"{path} was cut short while it was read")  # reading such a map would end the process
    return np.memmap(path, dtype=dtype, mode="r", offset=offset, shape=shape)


def _read_zarr(path: str) -> Any:
    try:
        import dask.array
        import zarr  # noqa: F401
    except ImportError as error:
        raise MissingExtraError('Zarr needs two packages more: pip install "diverset[dask]" zarr') from error
    from_zarr: Any = dask.array.from_zarr
    return from_zarr(path)


def rows_of(features: Any, rows: IntArray) -> Array:
    """Some rows of a dask array, in double precision; only these rows are transferred, in one round trip."""
    blocks = Blocks.of(features)
    return blocks.fetch(check_rows(rows, blocks.shape[0], name="rows"))


class ParquetRows:
    """Rows of Parquet files: columns as dask arrays, and some rows with all their columns.

    `path` is a file, a folder of ``.parquet`` files (in the order of their names), or an fsspec address of either. Row
    groups are joined to blocks of about `block_bytes`.
    """

    def __init__(self, path: str, *, block_bytes: int = BLOCK_BYTES) -> None:
        self.path = path
        parquet = _pyarrow()
        #: For each block, the file, the row groups, and the number of rows.
        self.blocks: list[tuple[str, tuple[int, ...], int]] = []
        for file in _files_of(path):
            with _opened(file) as handle:
                try:
                    found = parquet.ParquetFile(handle)
                except Exception as error:
                    raise DiversetError(f"{file} is not a Parquet file, or is damaged") from error
                self.schema, metadata = found.schema_arrow, found.metadata
                first = size = rows = 0
                for g in range(metadata.num_row_groups):
                    group = metadata.row_group(g)
                    size, rows = size + group.total_byte_size, rows + group.num_rows
                    if size >= block_bytes or g == metadata.num_row_groups - 1:
                        if rows:
                            self.blocks.append((file, tuple(range(first, g + 1)), rows))
                        first, size, rows = g + 1, 0, 0
        self.lengths = [rows for _, _, rows in self.blocks]
        self.n = sum(self.lengths)
        if not self.blocks:
            raise DiversetError(f"{path} has no rows")

    @property
    def names(self) -> list[str]:
        """Names of the columns."""
        return list(self.schema.names)

    def _tasks(self, function: Any, names: Sequence[str], *arguments: Any) -> list[Task]:
        """``function(file, groups, names, *arguments)`` for every block."""
        unknown = next((name for name in names if name not in self.names), None)
        if unknown is not None:
            raise DiversetError(f"{self.path} has no column {unknown!r}; its columns are {', '.join(self.names[:20])}")
        return [task(function, file, groups, list(names), *arguments) for file, groups, _ in self.blocks]

    def features(self, columns: str | Sequence[str] | None = None) -> Any:
        """Columns side by side, or one column of lists, as a dask array."""
        names = self.names if columns is None else [columns] if isinstance(columns, str) else list(columns)
        parts = self._tasks(_features_of, names)
        first = _features_of(self.blocks[0][0], self.blocks[0][1][:1], names)
        return lazy_array(parts, self.lengths, first.dtype, first.shape[1])

    def column(self, name: str) -> Any:
        """One column of single values as a dask array."""
        parts = self._tasks(_column_of, [name])
        return lazy_array(parts, self.lengths, self.schema.field(name).type.to_pandas_dtype())

    def find(self, name: str, values: Collection[str]) -> dict[str, list[int]]:
        """Rows whose entry in a column, stripped of spaces, is one of `values`; searched on the workers."""
        found = compute(self._tasks(_found_in, [name], task(same, frozenset(values))))
        rows: dict[str, list[int]] = {}
        for start, part in zip(accumulate(self.lengths, initial=0), found, strict=False):
            for value, place in part:
                rows.setdefault(value, []).append(start + place)
        return rows

    def take(self, rows: IntArray) -> dict[str, list[Any]]:
        """All columns over some rows, in their order; only the blocks that hold these rows are read."""
        starts = np.cumsum([0, *self.lengths])
        wanted = by_block(np.searchsorted(starts, rows, side="right") - 1)
        found = compute([task(_rows_of, *self.blocks[b][:2], rows[own] - starts[b]) for b, own in wanted])
        columns: dict[str, list[Any]] = {name: [None] * len(rows) for name in self.names}
        for (_, own), part in zip(wanted, found, strict=True):
            for name in self.names:
                for i, cell in zip(own, part[name], strict=True):
                    columns[name][i] = cell
        return columns


def _pyarrow() -> Any:
    try:
        import pyarrow.parquet
    except ImportError as error:
        raise MissingExtraError('Parquet files need pyarrow: pip install "diverset[tables]"') from error
    return pyarrow.parquet


def _located(path: str) -> tuple[Any, str]:
    """File system of a path or an address, and the path in it."""
    import fsspec

    return fsspec.core.url_to_fs(path) if "://" in path else (fsspec.filesystem("file"), os.path.abspath(path))


def _opened(file: str) -> Any:
    filesystem, root = _located(file)
    return filesystem.open(root, "rb")


def _files_of(path: str) -> list[str]:
    filesystem, root = _located(path)
    if not filesystem.exists(root):
        raise DiversetError(f"cannot read {path}: there is no such file")
    found = [root]
    if filesystem.isdir(root):
        found = sorted(file for file in filesystem.ls(root, detail=False) if file.endswith(".parquet"))
        if not found:
            raise DiversetError(f"{path} is a folder without .parquet files")
    return [filesystem.unstrip_protocol(file) for file in found] if "://" in path else found


def _table(file: str, groups: tuple[int, ...], names: list[str] | None) -> Any:
    with _opened(file) as handle:
        try:
            return _pyarrow().ParquetFile(handle).read_row_groups(list(groups), columns=names, use_threads=False)
        except Exception as error:  # the header is intact and the data are not
            raise DiversetError(f"{file} is damaged: {error}") from error


def _features_of(file: str, groups: tuple[int, ...], names: list[str]) -> Array:
    """Row groups as an array, from one column of lists or from columns of numbers."""
    table = _table(file, groups, names)
    if len(names) == 1 and hasattr(table.schema.field(names[0]).type, "value_type"):
        rows = list_rows(table.column(names[0]).combine_chunks(), f"column {names[0]!r} of {file}")
        if rows.dtype.kind not in "biuf":
            raise KernelError(f"column {names[0]!r} of {file} holds lists of {rows.dtype}; they must be numbers")
        return rows
    columns = [table.column(name).to_numpy() for name in names]
    for name, column in zip(names, columns, strict=True):
        if column.dtype.kind not in "biuf":
            kind = table.column(name).type
            raise KernelError(f"column {name!r} of {file} holds {kind}; leave it out, or turn it into numbers")
    result = np.empty((table.num_rows, len(names)), dtype=np.result_type(np.float32, *columns))
    return np.stack(columns, axis=1, out=result)


def _column_of(file: str, groups: tuple[int, ...], names: list[str]) -> Array:
    values: Array = _table(file, groups, names).column(0).to_numpy()
    return values


def _found_in(file: str, groups: tuple[int, ...], names: list[str], wanted: frozenset[str]) -> list[tuple[str, int]]:
    cells = _table(file, groups, names).column(0).to_pylist()
    return [(value, place) for place, value in enumerate(str(cell).strip() for cell in cells) if value in wanted]


def _rows_of(file: str, groups: tuple[int, ...], rows: IntArray) -> dict[str, list[Any]]:
    return dict(_table(file, groups, None).take(rows).to_pydict())


def nystroem(
    features: Any,
    landmarks: Any = 256,
    *,
    kernel: Callable[[Array, Array], Array] | None = None,
    length_scale: float | None = None,
    rng: RNGLike = None,
) -> Any:
    r"""Features :math:`\Phi = k(X, Z)\,U\Lambda^{-1/2}` with :math:`k(Z, Z) = U \Lambda U^\top`, Z a few landmarks.

    :math:`\Phi\Phi^\top` is the Nystroem approximation of the kernel matrix: never above it, exact between landmarks,
    and exact everywhere if the landmarks span it ([WilliamsSeeger2001]_).

    Parameters
    ----------
    features : dask array of shape (n_items, n_features)
        One row per item.
    landmarks : int or array_like of shape (m, n_features)
        The landmarks, or a number of items to draw uniformly as landmarks, with the seed or generator `rng`.
    kernel : callable, optional
        ``kernel(X, Z)`` gives the (len(X), len(Z)) similarities. By default :func:`diverset.kernels.rbf` with this
        `length_scale`, or with the median distance of the landmarks.

    Returns
    -------
    dask array of shape (n_items, m)
        Computed on use, in O(m(D + m)) per item, for :meth:`diverset.DPP.from_features` or
        ``select(..., similarity="dot")``. Linearly dependent landmarks give fewer columns.

    Examples
    --------
    >>> import numpy as np, dask.array as da, diverset as dv
    >>> X = np.random.default_rng(0).random((2000, 2))
    >>> phi = dv.distributed.nystroem(da.from_array(X, chunks=500), 60, length_scale=0.5, rng=0).compute()
    >>> bool(np.abs(phi @ phi.T - dv.kernels.rbf(X, length_scale=0.5)).max() < 1e-3)
    True
    """
    # Not joined: the result has the same blocks, and may be wider than the features.
    blocks = Blocks.of(features, join=False)
    n, width = blocks.shape
    if np.ndim(landmarks) == 0:
        m = min(check_count(landmarks, name="landmarks"), n)
        Z = np.asarray(blocks.fetch(np.sort(as_generator(rng).choice(n, size=m, replace=False))))
    else:
        Z = as_real(landmarks, name="landmarks", shape=(None, None))
    if Z.shape[1] != width:
        raise KernelError(f"landmarks have {Z.shape[1]} features and the items {width}; they must have as many")
    if len(Z) == 0:
        raise KernelError("there are no landmarks; give at least one, or features of at least one item")
    if kernel is None:
        known = None if length_scale is None else check_positive(length_scale, name="length_scale")
        kernel = partial(kernels.rbf, length_scale=kernels.median_heuristic(Z) if known is None else known)
    K = np.asarray(kernel(Z, Z), dtype=np.float64)
    if K.shape != (len(Z), len(Z)) or not np.isfinite(K).all():
        raise KernelError(f"kernel(Z, Z) has shape {K.shape} for {len(Z)} landmarks; it must be square and finite")
    lam, U = np.linalg.eigh((K + K.T) / 2.0)
    kept = lam > len(lam) * EPS * max(float(lam[-1]), 0.0)
    if not kept.any():
        raise KernelError("the kernel of the landmarks is zero; give other landmarks, or another kernel")
    half = U[:, kept] / np.sqrt(lam[kept])
    parts = [task(_kernel_features, part, kernel, Z, half) for part in blocks.parts]
    return lazy_array(parts, blocks.lengths, np.float64, half.shape[1])


def _kernel_features(block: Any, kernel: Callable[[Array, Array], Array], Z: FloatArray, half: FloatArray) -> Array:
    X = as_block(block)
    return np.asarray(kernel(X.toarray() if is_sparse(X) else np.asarray(X), Z) @ half)
