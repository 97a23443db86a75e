"""Rows of features in blocks that stay where they are: on the workers of a cluster, or in a file.

Every algorithm of this package is a handful of functions of one block, sent to where the block is, and a small result
sent back. All of it runs on whatever Dask is set to use: threads of this process (out of core), or the workers of a
``distributed.Client``. The functions are pure, so a block whose worker is lost is computed again from where it came
from, and with it whatever was kept beside it.

A scheduler spends about as much on a task of a kilobyte as on one of a gigabyte. So tasks are few: a block is made
inside the task that needs it, short blocks that follow one another are joined, and the graph of a round trip is written
down as it is sent, without an object of Dask's for each of its tasks.
"""

from __future__ import annotations

import itertools
import math
import os
import sys
import uuid
from collections import Counter
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

__all__ = ["Blocks", "Task", "by_block", "compute", "lazy_array", "local_factor", "persist", "same", "task", "tree_sum"]

#: Results added up in one task of a tree reduction.
_BRANCHES = 16
#: Blocks are joined while there are more than `_FEW`, up to `_JOINED_BYTES` each.
_FEW, _JOINED_BYTES = 64, 1 << 25
#: Columns of numbers, one for each item, go to the workers with the graph once; Dask warns of that from 10 MB on.
_QUIET = {"distributed.admin.large-graph-warning-threshold": "100GB"}
#: Parts of task names: unique to the process, and a counter. Names derived from the content would need a hash of it.
_PROCESS, _COUNT = uuid.uuid4().hex[:12], itertools.count()


def _dask() -> Any:
    try:
        import dask
        import dask.array  # the arrays are told by what they can do, their results are made here
    except ImportError as error:
        raise MissingExtraError('features in blocks need Dask: pip install "diverset[dask]"') from error
    return dask


# tasks -------------------------------------------------------------------------------------------------------------


class Task:
    """A call that is evaluated later, by :func:`compute` or :func:`persist`.

    Parameters
    ----------
    key : hashable
        Its name among all tasks.
    call : tuple
        The function and its arguments, some of which may be tasks, or lists of them.
    graph : dict
        Instead of a call: a Dask graph with a task named `key`.
    inline : bool
        Whether to evaluate it inside the one task that needs it instead of as a task of its own.
    """

    __slots__ = ("call", "graph", "inline", "key")

    def __init__(
        self, key: Any, call: tuple[Any, ...] = (), graph: dict[Any, Any] | None = None, *, inline: bool = False
    ) -> None:
        self.key, self.call, self.graph, self.inline = key, call, graph, inline

    def needs(self) -> Iterator[Task]:
        """Tasks among the arguments."""
        for argument in self.call[1:]:
            if isinstance(argument, Task):
                yield argument
            elif isinstance(argument, list):
                yield from (a for a in argument if isinstance(a, Task))


def task(function: Callable[..., Any], *arguments: Any, inline: bool = False) -> Task:
    """A :class:`Task` for this call."""
    name = getattr(function, "__name__", "call").strip("_")
    return Task(f"{name}-{_PROCESS}-{os.getpid()}-{next(_COUNT)}", (function, *arguments), inline=inline)


def same(a: Any) -> Any:
    """Return the argument. A task of this function is sent once, however many other tasks need its result."""
    return a


def _written(tasks: Sequence[Task]) -> dict[Any, Any]:
    """Dask graph of these tasks and of all tasks that they depend on."""
    uses: Counter[int] = Counter()
    order: dict[int, Task] = {}
    waiting = list(tasks)
    for found in tasks:
        uses[id(found)] += 2  # an answer is a task by itself
    while waiting:
        found = waiting.pop()
        if id(found) in order:
            continue
        order[id(found)] = found
        for needed in found.needs():
            uses[id(needed)] += 1
            waiting.append(needed)

    def within(found: Task) -> bool:
        return found.inline and uses[id(found)] == 1 and (found.graph is None or len(found.graph) == 1)

    def word(argument: Any) -> Any:
        if isinstance(argument, list):
            return [word(a) for a in argument]
        if not isinstance(argument, Task):
            return argument
        if not within(argument):
            return argument.key
        return spelled(argument) if argument.graph is None else argument.graph[argument.key]

    def spelled(found: Task) -> tuple[Any, ...]:
        return (found.call[0], *map(word, found.call[1:]))

    graph: dict[Any, Any] = {}
    for found in order.values():
        if not within(found):
            graph.update({found.key: spelled(found)} if found.graph is None else found.graph)
    return graph


@contextmanager
def _quiet() -> Iterator[Any]:
    """Dask, without its warning of large graphs; the setting is there only once ``distributed`` was imported."""
    dask = _dask()
    with dask.config.set(_QUIET) if "distributed" in sys.modules else nullcontext():
        yield dask


def compute(tasks: Sequence[Task]) -> list[Any]:
    """Results of tasks, here: one round trip."""
    if not tasks:
        return []
    with _quiet() as dask:
        get = dask.base.get_scheduler(cls=dask.array.Array)
        return list(get(_written(tasks), [found.key for found in tasks]))


def persist(tasks: Sequence[Task]) -> list[Task]:
    """Tasks whose results stay where they were computed."""
    if not tasks:
        return []
    with _quiet() as dask:
        kept = dask.persist(_Batch(_written(tasks), [found.key for found in tasks]))[0].graph
    return [Task(found.key, graph={found.key: kept[found.key]}) for found in tasks]


class _Batch:
    """Many tasks as one collection of Dask's."""

    __dask_optimize__ = None

    def __init__(self, graph: dict[Any, Any], keys: list[Any]) -> None:
        self.graph, self.keys = graph, keys

    def __dask_graph__(self) -> dict[Any, Any]:
        return self.graph

    def __dask_keys__(self) -> list[Any]:
        return self.keys

    def __dask_postcompute__(self) -> tuple[Any, tuple[()]]:
        return list, ()

    def __dask_postpersist__(self) -> tuple[Any, tuple[Any]]:
        return _rebuilt, (self.keys,)

    @staticmethod
    def __dask_scheduler__(*arguments: Any, **options: Any) -> Any:
        return _dask().threaded.get(*arguments, **options)

    def __dask_tokenize__(self) -> Any:
        return self.keys


def _rebuilt(graph: dict[Any, Any], keys: list[Any], rename: Any = None) -> _Batch:
    return _Batch(graph, keys)


def tree_sum(parts: Sequence[Task]) -> Task:
    """Task that adds up the results of others, a few at a time, in an order that does not depend on who is first."""
    while len(parts) > 1:
        parts = [task(_added, list(parts[i : i + _BRANCHES])) for i in range(0, len(parts), _BRANCHES)]
    return parts[0]


def _added(terms: list[Any]) -> Any:
    total = np.array(terms[0])
    for term in terms[1:]:
        total += term
    return total


def lazy_array(parts: Sequence[Task], lengths: Iterable[int], dtype: Any = np.float64, width: int | None = None) -> Any:
    """Dask array whose consecutive blocks are the results of tasks."""
    dask = _dask()
    name = f"rows-{_PROCESS}-{os.getpid()}-{next(_COUNT)}"
    graph = _written(parts)
    tail = () if width is None else (0,)
    for i, part in enumerate(parts):
        graph[(name, i, *tail)] = graph.pop(part.key)
    chunks = (tuple(int(m) for m in lengths), *(() if width is None else ((int(width),),)))
    layers = dask.highlevelgraph.HighLevelGraph.from_collections(name, graph, dependencies=())
    return dask.array.Array(layers, name, chunks, dtype=np.dtype(dtype))


# blocks ------------------------------------------------------------------------------------------------------------


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
    parts : list of Task
        Each an array or sparse matrix of `width` columns.
    lengths : sequence of int
        Rows in each.
    width : int
        Number of features.
    dtype : dtype
        Of the entries.
    quality : list of Task, optional
        One vector of nonnegative numbers for each block.
    """

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
        """Blocks of a dask array or frame; `quality` is an array, or a dask array or column.

        With `join`, many short blocks are joined into at least 64 blocks of at most 32 MB.
        """
        _dask()
        x = _as_dask_array(features, 2, "features")
        parts, lengths = _tasks_of(x), x.chunks[0]
        if join:
            parts, lengths = _joined(parts, lengths, x.shape[1] * x.dtype.itemsize)
        blocks = cls(parts, lengths, x.shape[1], x.dtype)
        # A reference to the array keeps its blocks on the workers.
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
            pieces: list[Any] = _tasks_of(values.rechunk((tuple(int(m) for m in self.lengths),)))
        else:
            pieces = [values[a:b] for a, b in pairwise(starts)]
        return persist(
            [task(_checked, piece, int(a), name, nonnegative) for piece, a in zip(pieces, starts[:-1], strict=True)]
        )

    def entries(self, column: list[Any], rows: IntArray) -> FloatArray:
        """Entries of a column at some rows."""
        block, place = self.locate(rows)
        wanted = by_block(block)
        result = np.empty(len(rows))
        found = compute([task(_taken, column[b], place[own]) for b, own in wanted])
        for (_, own), part in zip(wanted, found, strict=True):
            result[own] = part
        return result

    def locate(self, rows: IntArray) -> tuple[IntArray, IntArray]:
        """Block of each row, and its place there."""
        block = np.searchsorted(self.starts, rows, side="right") - 1
        return block, rows - self.starts[block]

    def split(self, rows: IntArray) -> dict[int, IntArray]:
        """Rows by block, as places there, ascending; blocks without any are left out."""
        block, place = self.locate(np.sort(rows))
        return {b: place[own] for b, own in by_block(block)}

    def fetch(self, rows: IntArray) -> Array:
        """Some rows of diag(q) F, dense and in double precision: only these rows are transferred, in one round trip."""
        block, place = self.locate(rows)
        wanted = by_block(block)
        found = compute([task(_rows_of, self.parts[b], self.quality[b], place[own]) for b, own in wanted])
        dtype = np.complex128 if self.dtype.kind == "c" else np.float64
        result = np.empty((len(rows), self.shape[1]), dtype=dtype)
        for (_, own), part in zip(wanted, found, strict=True):
            result[own] = part
        return result


def by_block(block: IntArray) -> list[tuple[int, IntArray]]:
    """Numbers of blocks, ascending, each with the places where it is named."""
    order = np.argsort(block, kind="stable")
    named, starts = np.unique(block[order], return_index=True)
    return [(int(b), own) for b, own in zip(named, np.split(order, starts[1:]), strict=True)] if len(block) else []


def _joined(parts: list[Task], lengths: Sequence[int], row_bytes: int) -> tuple[list[Task], list[int]]:
    """Blocks that follow one another, joined where there are many and they are short."""
    goal = min(math.ceil(sum(lengths) / _FEW), _JOINED_BYTES // max(row_bytes, 1))
    groups: list[list[int]] = [[]]
    rows = 0
    for i, m in enumerate(lengths):
        if groups[-1] and rows + m > goal:
            groups.append([])
            rows = 0
        groups[-1].append(i)
        rows += m
    if len(parts) <= _FEW or len(groups) == len(parts):
        return parts, list(lengths)
    made = [parts[g[0]] if len(g) == 1 else task(_stacked, [parts[i] for i in g], inline=True) for g in groups]
    return made, [sum(int(lengths[i]) for i in g) for g in groups]


def _stacked(blocks: list[Any]) -> Any:
    """Blocks one below the other; sparse ones stay sparse."""
    if any(is_sparse(block) for block in blocks):
        from scipy.sparse import vstack

        return vstack(blocks, format="csr")
    return np.concatenate([np.asarray(block) for block in blocks])


def _tasks_of(x: Any) -> list[Task]:
    """Blocks of rows as tasks, each with its own part of the graph: with all of it, graphs would be long."""
    from dask.optimization import cull

    needed: Any = cull
    keys = list(_flat(x.__dask_keys__()))
    raw = x.__dask_graph__()
    graph = dict(x.__dask_optimize__(raw, keys))
    parts = []
    for key in keys:
        # Of a block that is on a worker already the optimised graph has nothing left.
        own = needed(graph, [key])[0] if key in graph else {key: raw[key]}
        parts.append(Task(key, graph=own, inline=not hasattr(own[key], "done")))
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
