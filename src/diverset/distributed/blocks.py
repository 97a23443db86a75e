"""Rows of features in blocks that stay where they are: on the workers of a cluster, or in a file.

Every algorithm of this package is a handful of functions of one block, sent to where the block is, and a small result
sent back. Blocks are Dask's *delayed* objects, so all of it runs on whatever Dask is set to use: threads of this
process (out of core), or the workers of a ``distributed.Client``. The functions are pure, so a block whose worker is
lost is computed again from where it came from, and with it whatever was kept beside it.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from itertools import pairwise
from typing import Any

import numpy as np

from diverset._typing import Array, FloatArray, IntArray
from diverset.core.factor import RowFactor
from diverset.errors import KernelError, MissingExtraError
from diverset.numerics.linalg import positions_outside
from diverset.numerics.validation import as_real_or_complex, is_blocked, is_sparse

__all__ = ["Blocks", "compute", "lazy_array", "local_factor", "persist", "task", "tree_sum"]

#: Results added up in one task of a tree reduction.
_BRANCHES = 8
#: Columns of numbers, one for each item, go to the workers with the graph once; Dask warns of that from 10 MB on.
_QUIET = {"distributed.admin.large-graph-warning-threshold": "100GB"}


def _dask() -> Any:
    try:
        import dask
        import dask.array  # the arrays are told by what they can do, their results are made here
    except ImportError as error:
        raise MissingExtraError('features in blocks need Dask: pip install "diverset[dask]"') from error
    return dask


def task(function: Callable[..., Any], *arguments: Any, n_out: int | None = None) -> Any:
    """A call put off until :func:`compute` or :func:`persist`."""
    # The result is named at random: naming it after its arguments would hash them.
    return _dask().delayed(function, pure=False, nout=n_out)(*arguments)


@contextmanager
def _quiet() -> Iterator[Any]:
    """Dask, without its warning of large graphs; the setting is there only once ``distributed`` was imported."""
    dask = _dask()
    with dask.config.set(_QUIET) if "distributed" in sys.modules else nullcontext():
        yield dask


def compute(tasks: Sequence[Any]) -> list[Any]:
    """Results of tasks, here: one round trip."""
    with _quiet() as dask:
        return list(dask.compute(*tasks))


def persist(tasks: Sequence[Any]) -> list[Any]:
    """Tasks whose results stay where they were computed."""
    with _quiet() as dask:
        return list(dask.persist(*tasks))


def tree_sum(parts: Sequence[Any]) -> Any:
    """Task that adds up the results of others, a few at a time, in an order that does not depend on who is first."""
    while len(parts) > 1:
        parts = [task(_added, list(parts[i : i + _BRANCHES])) for i in range(0, len(parts), _BRANCHES)]
    return parts[0]


def _added(terms: list[Any]) -> Any:
    total = np.array(terms[0])
    for term in terms[1:]:
        total += term
    return total


def lazy_array(parts: Sequence[Any], lengths: Iterable[int], dtype: Any = np.float64, width: int | None = None) -> Any:
    """Dask array whose consecutive blocks are the results of tasks."""
    da: Any = _dask().array
    tail = () if width is None else (width,)
    blocks = [da.from_delayed(p, (int(m), *tail), dtype=dtype) for p, m in zip(parts, lengths, strict=True)]
    return da.concatenate(blocks) if len(blocks) > 1 else blocks[0]


def as_block(block: Any) -> Any:
    """One block as a CSR matrix or an array of floats in C order; memory maps stay maps."""
    if is_sparse(block):
        block = block.tocsr()
    elif not isinstance(block, np.ndarray):
        block = np.asarray(block)
    if block.dtype.kind in "biu":
        block = block.astype(np.float64)
    if block.dtype.kind not in "fc":
        raise KernelError(f"features have dtype {block.dtype}; they must be real or complex numbers")
    if not is_sparse(block) and not block.flags.c_contiguous:
        block = np.ascontiguousarray(block)
    return block


def local_factor(block: Any, quality: FloatArray | None, dropped: IntArray) -> RowFactor:
    """Rows of one block, on the worker that has it; `dropped` are left out."""
    factor = RowFactor(as_block(block), quality=quality)
    return factor.subset(positions_outside(dropped, factor.n)) if len(dropped) else factor


def _rows_of(block: Any, quality: FloatArray | None, rows: IntArray) -> Array:
    return RowFactor(as_block(block), quality=quality).take(rows)


def _taken(column: FloatArray, rows: IntArray) -> FloatArray:
    return column[rows]


def _checked(part: Any, start: int, name: str, nonnegative: bool) -> FloatArray:
    """A block of a column, on the worker that has it; faults are named by their place among all."""
    column = np.array(part, dtype=np.float64)
    bad = ~np.isfinite(column)
    if bad.any():
        i = int(bad.argmax())
        raise KernelError(f"{name}[{start + i}] is {column[i]}; every entry must be finite")
    if nonnegative and len(column) and column.min() < 0.0:
        i = int(column.argmin())
        raise KernelError(f"{name}[{start + i}] is {column[i]:.6g}; {name} must be nonnegative")
    return column


class Blocks:
    """Features F, of shape (n, D), and qualities, in consecutive blocks of rows.

    Parameters
    ----------
    parts : list of delayed
        Each an array or sparse matrix of `width` columns.
    lengths : sequence of int
        Rows in each.
    width : int
        Number of features.
    dtype : dtype
        Of the entries.
    quality : list of delayed, optional
        One vector of nonnegative numbers for each block.
    """

    def __init__(
        self, parts: list[Any], lengths: Sequence[int], width: int, dtype: Any, quality: list[Any] | None = None
    ) -> None:
        self.parts = parts
        self.starts = np.concatenate([[0], np.cumsum(np.asarray(lengths, dtype=np.int64))]).astype(np.int64)
        self.shape = (int(self.starts[-1]), int(width))
        self.dtype = np.dtype(dtype)
        self.quality: list[Any] = [None] * len(parts) if quality is None else quality
        self.source: Any = None

    @classmethod
    def of(cls, features: Any, quality: Any = None) -> Blocks:
        """Blocks of a dask array or frame; `quality` is an array, or a dask array or column."""
        _dask()
        x = _as_dask_array(features, 2, "features")
        lengths = x.chunks[0]
        blocks = cls(_delayed_blocks(x), lengths, x.shape[1], x.dtype)
        # Blocks on workers stay there for as long as somebody holds them.
        blocks.source = x
        if quality is not None:
            blocks.quality = blocks.column(quality)
        return blocks

    @property
    def lengths(self) -> IntArray:
        """Rows in each block."""
        return np.diff(self.starts)

    def column(self, values: Any, *, name: str = "quality", nonnegative: bool = True) -> list[Any]:
        """A number for each item, cut as the blocks are; kept on the workers."""
        n, starts = self.shape[0], self.starts
        if is_blocked(values):
            values = _as_dask_array(values, 1, name)
        else:
            values = as_real_or_complex(values, name=name, ndim=1)
        if values.dtype.kind == "c":
            raise KernelError(f"{name} is complex; it must be one real number per item")
        if len(values) != n:
            raise KernelError(f"{name} has {len(values)} entries for {n} items; give one per item")
        if is_blocked(values):
            pieces = _delayed_blocks(values.rechunk((tuple(int(m) for m in self.lengths),)))
        else:
            pieces = [values[a:b] for a, b in pairwise(starts)]
        return persist(
            [task(_checked, piece, int(a), name, nonnegative) for piece, a in zip(pieces, starts[:-1], strict=True)]
        )

    def entries(self, column: list[Any], rows: IntArray) -> FloatArray:
        """Entries of a column at some rows."""
        block, place = self.locate(rows)
        wanted = np.unique(block)
        result = np.empty(len(rows))
        found = compute([task(_taken, column[b], place[block == b]) for b in wanted])
        for b, part in zip(wanted, found, strict=True):
            result[block == b] = part
        return result

    def locate(self, rows: IntArray) -> tuple[IntArray, IntArray]:
        """Block of each row, and its place there."""
        block = np.searchsorted(self.starts, rows, side="right") - 1
        return block, rows - self.starts[block]

    def split(self, rows: IntArray) -> dict[int, IntArray]:
        """Rows by block, as places there, ascending; blocks without any are left out."""
        block, place = self.locate(np.sort(rows))
        return {int(b): place[block == b] for b in np.unique(block)}

    def fetch(self, rows: IntArray) -> Array:
        """Some rows of diag(q) F, dense and in double precision: only these rows travel, in one round trip."""
        block, place = self.locate(rows)
        wanted = np.unique(block)
        found = compute([task(_rows_of, self.parts[b], self.quality[b], place[block == b]) for b in wanted])
        dtype = np.complex128 if self.dtype.kind == "c" else np.float64
        result = np.empty((len(rows), self.shape[1]), dtype=dtype)
        for b, part in zip(wanted, found, strict=True):
            result[block == b] = part
        return result


def _delayed_blocks(x: Any) -> list[Any]:
    """Blocks of rows as delayed objects, each with its own part of the graph: with all of it, graphs would be long."""
    from dask.delayed import Delayed
    from dask.highlevelgraph import HighLevelGraph
    from dask.optimization import cull

    delayed: Any = Delayed
    needed: Any = cull
    keys = list(_flat(x.__dask_keys__()))
    raw = x.__dask_graph__()
    graph = dict(x.__dask_optimize__(raw, keys))
    parts = []
    for key in keys:
        # Of a block that is on a worker already the optimised graph has nothing left.
        own = needed(graph, [key])[0] if key in graph else {key: raw[key]}
        layer = f"block-{'-'.join(str(part) for part in key)}"
        parts.append(delayed(key, HighLevelGraph.from_collections(layer, own, dependencies=()), layer=layer))
    return parts


def _flat(keys: Any) -> Iterator[Any]:
    """Keys of blocks in their order, however they are nested."""
    for key in keys:
        if isinstance(key, list):
            yield from _flat(key)
        else:
            yield key


def _as_dask_array(a: Any, ndim: int, name: str) -> Any:
    """Dask array with blocks of whole rows, all of known length."""
    if not hasattr(a, "chunks"):
        a = a.to_dask_array(lengths=True)
    if a.ndim != ndim:
        raise KernelError(f"{name} has shape {a.shape}; expected {ndim} dimension{'s' * (ndim > 1)}")
    if any(np.isnan(m) for m in a.chunks[0]):
        a = a.compute_chunk_sizes()
    if ndim == 2 and len(a.chunks[1]) > 1:
        a = a.rechunk({1: -1})
    return a
