"""Rows of features in blocks: on the workers of a cluster, or in a file.

Every algorithm of this package consists of pure functions of one block, which run on the worker that has the block and
return a small result. They run on the scheduler that Dask is set to use: threads of this process (out of core), or the
workers of a ``distributed.Client``. If a worker is lost, its blocks and results are recomputed from their source.

The overhead of a task does not depend on its size. So there are few tasks: a block is computed inside the task that
needs it, consecutive short blocks are joined, and graphs are plain dictionaries, without a Dask object for each task.
"""

from __future__ import annotations

import itertools
import math
import os
import sys
import uuid
from collections.abc import Callable, Iterable, Sequence
from contextlib import nullcontext
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from diverset._typing import Array, FloatArray, IntArray
from diverset.core.factor import RowFactor
from diverset.errors import KernelError, MissingExtraError
from diverset.numerics.linalg import positions_outside
from diverset.numerics.validation import as_real, is_blocked, is_sparse

__all__ = ["Blocks", "Task", "by_block", "compute", "lazy_array", "on_rows", "persist", "same", "task", "tree_sum"]

#: Results added up in one task of a tree reduction.
_BRANCHES = 16
#: Blocks are joined while there are more than `_FEW`, up to `_JOINED_BYTES` each.
_FEW, _JOINED_BYTES = 64, 1 << 25
#: Parts of task names: unique to the process, and a counter. Names derived from the content would need a hash of it.
_PROCESS, _COUNT = uuid.uuid4().hex[:12], itertools.count()


def _dask() -> Any:
    try:
        import dask
        import dask.array
        import dask.optimization
    except ImportError as error:
        raise MissingExtraError('features in blocks need Dask: pip install "diverset[dask]"') from error
    return dask


class Task(NamedTuple):
    """A call for later: a Dask graph and its key. An `inline` call becomes part of the task that needs it."""

    key: Any
    graph: dict[Any, Any]
    inline: bool = False


def task(function: Callable[..., Any], *arguments: Any, inline: bool = False) -> Task:
    """A :class:`Task` for this call; some of the arguments may be tasks, or lists of them."""
    graph: dict[Any, Any] = {}

    def word(argument: Any) -> Any:
        if isinstance(argument, list):
            return [word(a) for a in argument]
        if not isinstance(argument, Task):
            return argument
        graph.update(argument.graph)
        return graph.pop(argument.key) if argument.inline else argument.key

    key = _unique(getattr(function, "__name__", "call").strip("_"))
    graph[key] = (function, *map(word, arguments))
    return Task(key, graph, inline)


def _unique(name: str) -> str:
    return f"{name}-{_PROCESS}-{os.getpid()}-{next(_COUNT)}"


def same(a: Any) -> Any:
    """Return the argument. A task of this function sends it once, for any number of tasks that need it."""
    return a


def _written(tasks: Sequence[Task]) -> dict[Any, Any]:
    """Dask graph of these tasks and of all tasks that they depend on."""
    return {key: call for each in tasks for key, call in each.graph.items()}


def _quiet() -> Any:
    """Turn off Dask's warning of graphs above 10 MB: columns of numbers go to the workers with the graph once."""
    if "distributed" not in sys.modules:  # which has the setting
        return nullcontext()
    return _dask().config.set({"distributed.admin.large-graph-warning-threshold": "100GB"})


def compute(tasks: Sequence[Task]) -> list[Any]:
    """Results of tasks, in this process: one round trip."""
    if not tasks:
        return []
    dask = _dask()
    with _quiet():
        get = dask.base.get_scheduler(cls=dask.array.Array)
        return list(get(_written(tasks), [each.key for each in tasks]))


def persist(tasks: Sequence[Task]) -> list[Task]:
    """Compute tasks; the results stay on the workers."""
    if not tasks:
        return []
    with _quiet():
        # Dask stores the results of collections, such as blocks of an array, and does not check that they are arrays.
        kept = lazy_array(tasks, [0] * len(tasks)).persist(optimize_graph=False)
    graph = kept.__dask_graph__()
    return [Task(key, {key: graph[key]}) for key in kept.__dask_keys__()]


def tree_sum(parts: Sequence[Task]) -> Task:
    """A task that adds up the results of others, a few at a time, in a fixed order."""
    while len(parts) > 1:
        parts = [task(sum, list(parts[i : i + _BRANCHES])) for i in range(0, len(parts), _BRANCHES)]
    return parts[0]


def lazy_array(parts: Sequence[Task], lengths: Iterable[int], dtype: Any = np.float64, width: int | None = None) -> Any:
    """Dask array whose consecutive blocks are the results of tasks."""
    dask = _dask()
    name = _unique("rows")
    graph = _written(parts)
    tail = () if width is None else (0,)
    for i, part in enumerate(parts):
        graph[(name, i, *tail)] = graph.pop(part.key)
    chunks = (tuple(int(m) for m in lengths), *(() if width is None else ((int(width),),)))
    layers = dask.highlevelgraph.HighLevelGraph.from_collections(name, graph, dependencies=())
    return dask.array.Array(layers, name, chunks, dtype=np.dtype(dtype))


def as_block(block: Any) -> Any:
    """One block as a CSR matrix or an array of floats in C order; memory maps stay maps."""
    block = block.tocsr() if is_sparse(block) else np.asanyarray(block)
    if block.dtype.kind in "biu":
        block = block.astype(np.float64)
    if block.dtype.kind not in "fc":
        raise KernelError(f"features have dtype {block.dtype}; they must be real or complex numbers")
    return block if is_sparse(block) or block.flags.c_contiguous else np.ascontiguousarray(block)


def on_rows(function: Any, block: Any, quality: FloatArray | None, dropped: IntArray, *arguments: Any) -> Any:
    """``function(rows, *arguments)`` for the rows of one block without those `dropped`."""
    rows = RowFactor(as_block(block), quality=quality)
    if len(dropped):
        rows = rows.subset(positions_outside(dropped, rows.n))
    with np.errstate(over="ignore", invalid="ignore"):  # found by the caller in the result, and named
        return function(rows, *arguments)


def _checked_quality(part: Any, start: int) -> FloatArray:
    """Qualities of a block, whose first item is `start`."""
    quality = np.array(part, dtype=np.float64)
    rules = {"every entry must be finite": np.isfinite(quality), "quality must be nonnegative": quality >= 0.0}
    for rule, good in rules.items():
        if not good.all():
            i = int(good.argmin())
            raise KernelError(f"quality[{start + i}] is {quality[i]:.6g}; {rule}")
    return quality


class Blocks:
    """Features F, of shape (n, D), and perhaps qualities, in consecutive blocks of rows: a task for each block."""

    def __init__(
        self, parts: list[Task], lengths: Sequence[int], width: int, dtype: Any, quality: list[Any] | None = None
    ) -> None:
        self.parts = parts
        self.starts = np.concatenate([[0], np.cumsum(np.asarray(lengths, dtype=np.int64))]).astype(np.int64)
        self.shape = (int(self.starts[-1]), int(width))
        self.dtype = np.dtype(dtype)
        self.quality: list[Any] = [None] * len(parts) if quality is None else quality
        self.source: Any = None

    @classmethod
    def of(cls, features: Any, quality: Any = None, *, join: bool = True) -> Blocks:
        """Blocks of a dask array or frame; with `join`, many short blocks become at least 64 of at most 32 MB."""
        _dask()
        x = _as_dask_array(features, 2, "features")
        parts, lengths = _tasks_of(x), x.chunks[0]
        if join:
            parts, lengths = _joined(parts, lengths, x.shape[1] * x.dtype.itemsize)
        blocks = cls(parts, lengths, x.shape[1], x.dtype)
        # A reference to the array keeps its blocks on the workers.
        blocks.source = x
        if quality is not None:
            blocks.quality = blocks._column(quality)
        return blocks

    @property
    def lengths(self) -> IntArray:
        """Rows in each block."""
        return np.diff(self.starts)

    def _column(self, quality: Any) -> list[Task]:
        """A quality for each item, cut as the blocks are; stored on the workers."""
        n, lazy = self.shape[0], is_blocked(quality)
        quality = _as_dask_array(quality, 1, "quality") if lazy else as_real(quality, name="quality", shape=(None,))
        if quality.dtype.kind == "c":
            raise KernelError("quality is complex; it must hold real numbers")
        if len(quality) != n:
            raise KernelError(f"quality has {len(quality)} entries for {n} items; give one per item")
        chunks = (tuple(self.lengths.tolist()),)
        pieces = _tasks_of(quality.rechunk(chunks)) if lazy else [quality[a:b] for a, b in pairwise(self.starts)]
        return persist([task(_checked_quality, piece, int(a)) for piece, a in zip(pieces, self.starts, strict=False)])

    def places(self, rows: IntArray) -> list[tuple[int, IntArray, IntArray]]:
        """Blocks that hold some of these rows, ascending: the number, which of `rows` they are, and where there."""
        block = np.searchsorted(self.starts, rows, side="right") - 1
        return [(b, own, rows[own] - self.starts[b]) for b, own in by_block(block)]

    def split(self, rows: IntArray) -> list[IntArray]:
        """For each block, the places of those of these rows that it holds, ascending."""
        found = {b: places for b, _, places in self.places(np.sort(rows))}
        return [found.get(b, np.zeros(0, dtype=np.int64)) for b in range(len(self.parts))]

    def fetch(self, rows: IntArray) -> Array:
        """Some rows of diag(q) F, dense and in double precision: only these rows are transferred, in one round trip."""
        take, wanted = RowFactor.take, self.places(rows)
        found = compute([task(on_rows, take, self.parts[b], self.quality[b], (), places) for b, _, places in wanted])
        result = np.empty((len(rows), self.shape[1]), dtype=np.complex128 if self.dtype.kind == "c" else np.float64)
        for (_, own, _), part in zip(wanted, found, strict=True):
            result[own] = part
        return result


def by_block(block: IntArray) -> list[tuple[int, IntArray]]:
    """Numbers of blocks, ascending, each with the places where it is named."""
    order = np.argsort(block, kind="stable")
    named, starts = np.unique(block[order], return_index=True)
    return [(int(b), own) for b, own in zip(named, np.split(order, starts[1:]), strict=True)] if len(block) else []


def _joined(parts: list[Task], lengths: Sequence[int], row_bytes: int) -> tuple[list[Task], list[int]]:
    """Consecutive blocks, joined where there are many and they are short."""
    goal = min(math.ceil(sum(lengths) / _FEW), _JOINED_BYTES // max(row_bytes, 1))
    groups: list[list[Task]] = []
    rows: list[int] = []
    for part, m in zip(parts, lengths, strict=True):
        if groups and len(parts) > _FEW and rows[-1] + m <= goal:
            groups[-1].append(part)
            rows[-1] += int(m)
        else:
            groups.append([part])
            rows.append(int(m))
    return [g[0] if len(g) == 1 else task(_stacked, g, inline=True) for g in groups], rows


def _stacked(blocks: list[Any]) -> Any:
    """Blocks one below the other; sparse ones stay sparse."""
    if any(is_sparse(block) for block in blocks):
        from scipy.sparse import vstack

        return vstack(blocks, format="csr")
    return np.concatenate([np.asarray(block) for block in blocks])


def _tasks_of(x: Any) -> list[Task]:
    """Blocks of rows as tasks, each with its own part of the graph: with all of it, graphs would be long."""
    dask = _dask()
    keys = list(dask.core.flatten(x.__dask_keys__()))
    raw = x.__dask_graph__()
    graph = dict(x.__dask_optimize__(raw, keys))
    parts = []
    for key in keys:
        # The optimised graph does not contain a block that is on a worker already.
        own = dask.optimization.cull(graph, [key])[0] if key in graph else {key: raw[key]}
        parts.append(Task(key, own, inline=len(own) == 1 and not hasattr(own[key], "done")))
    return parts


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
