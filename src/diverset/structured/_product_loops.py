# mypy: disable-error-code="untyped-decorator, no-untyped-call, no-any-return, call-arg"
"""Compiled product of a sparse matrix with a block of vectors; releases the interpreter's lock.

A row of the product is the sum of some rows of the block, each times an entry of the matrix. It is kept in registers,
52 numbers at a time, until all entries have been added: a plain loop, which the compiler turns into vectors as well,
reads and writes it in memory at every step, and leaves what does not fill four vectors to be done number by number.
"""

from __future__ import annotations

from typing import Any

import numba
import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.core.errors import TypingError
from numba.extending import intrinsic

from diverset._typing import Array, FloatArray
from diverset.numerics._vectors import CONTRACT, INT, VECTOR_BYTES, everywhere, load_vector, zeros

__all__ = ["multiply_rows"]

#: Numbers in a vector.
_WIDTH = VECTOR_BYTES // 8
#: Vectors of a row that are kept in registers: of sixteen, one holds the entry, and two are left to the compiler.
_REGISTERS = 13
_VECTOR = ir.VectorType(ir.DoubleType(), _WIDTH)


@intrinsic
def _product_row(
    typingctx: Any, indices: Any, data: Any, right: Any, first: Any, last: Any, X: Any, left: Any, Y: Any, row: Any
) -> Any:
    """Row `row` of Y: `left` times the sum of data[e] right[i] X[i], i = indices[e], for e from `first` up to `last`.

    All arrays are contiguous, and X has at least one vector of columns.
    """
    numbers = (data, right, X, Y)
    if any(array.dtype != types.float64 for array in numbers) or any(
        array.layout != "C" for array in (indices, *numbers)
    ):
        raise TypingError("products are of contiguous arrays of double precision")

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        arrays = [
            context.make_array(kind)(context, builder, args[at]) for at, kind in ((0, indices), (1, data), (2, right))
        ]
        x, y = (context.make_array(kind)(context, builder, args[at]) for at, kind in ((5, X), (7, Y)))
        width = builder.extract_value(x.shape, 1)
        sums = _RowSums(builder, *(array.data for array in arrays), x.data, width, args[3], args[4])
        out = builder.gep(y.data, [builder.mul(args[8], width)])
        scale = everywhere(builder, args[6], _WIDTH)
        with cgutils.for_range_slice(builder, INT(0), width, INT(_WIDTH * _REGISTERS)) as (column, _):
            needed = builder.sdiv(builder.add(builder.sub(width, column), INT(_WIDTH - 1)), INT(_WIDTH))
            after = builder.append_basic_block("after")
            cases = builder.switch(needed, after)
            # As many registers as are needed: code for each number; the last also for more than there are.
            for n in range(1, _REGISTERS + 1):
                block = builder.append_basic_block(f"registers{n}")
                cases.add_case(INT(n), block)
                builder.position_at_end(block)
                _store(builder, out, scale, *sums.of(column, n))
                builder.branch(after)
            cases.default = block
            builder.position_at_end(after)
        return context.get_dummy_value()

    number = types.float64
    return types.void(indices, data, right, types.int64, types.int64, X, number, Y, types.int64), codegen


class _RowSums:
    """Code for sums of scaled rows of X."""

    def __init__(
        self, builder: Any, indices: Any, data: Any, right: Any, X: Any, width: Any, first: Any, last: Any
    ) -> None:
        self.builder, self.indices, self.data, self.right, self.X, self.width = builder, indices, data, right, X, width
        self.first, self.last = first, last

    def of(self, column: Any, n: int) -> tuple[list[Any], list[Any]]:
        """Columns where n vectors from `column` on begin, and the sums there.

        The last vector begins earlier where it would reach beyond the end: some numbers are then computed twice.
        """
        builder = self.builder
        columns = [builder.add(column, INT(_WIDTH * v)) for v in range(n)]
        end = builder.sub(self.width, INT(_WIDTH))
        columns[-1] = builder.select(builder.icmp_signed(">", columns[-1], end), end, columns[-1])
        # Few registers wait for one another's sums; then every other entry has its own.
        n_parts = 2 if 2 * n < _REGISTERS else 1
        parts = [[cgutils.alloca_once(builder, _VECTOR) for _ in range(n)] for _ in range(n_parts)]
        for cell in (cell for part in parts for cell in part):
            builder.store(zeros(_VECTOR), cell)
        rounds = builder.sdiv(builder.sub(self.last, self.first), INT(n_parts))
        with cgutils.for_range(builder, rounds) as loop:
            for p, part in enumerate(parts):
                e = builder.add(self.first, builder.add(builder.mul(loop.index, INT(n_parts)), INT(p)))
                self._add(e, columns, part)
        left_over = builder.add(self.first, builder.mul(rounds, INT(n_parts)))
        with cgutils.for_range_slice(builder, left_over, self.last, INT(1)) as (e, _):
            self._add(e, columns, parts[0])
        sums = [builder.load(cell) for cell in parts[0]]
        if n_parts == 2:
            sums = [builder.fadd(total, builder.load(cell)) for total, cell in zip(sums, parts[1], strict=True)]
        return columns, sums

    def _add(self, e: Any, columns: list[Any], cells: list[Any]) -> None:
        """Add the row of entry e."""
        builder = self.builder
        i = builder.load(builder.gep(self.indices, [e]))
        if i.type != INT:
            i = builder.zext(i, INT)
        entry = builder.fmul(builder.load(builder.gep(self.data, [e])), builder.load(builder.gep(self.right, [i])))
        entries = everywhere(builder, entry, _WIDTH)
        row = builder.gep(self.X, [builder.mul(i, self.width)])
        for column, cell in zip(columns, cells, strict=True):
            x = load_vector(builder, builder.gep(row, [column]), _VECTOR, align=8)
            product = builder.fmul(entries, x, flags=CONTRACT)
            builder.store(builder.fadd(builder.load(cell), product, flags=CONTRACT), cell)


def _store(builder: Any, out: Any, scale: Any, columns: list[Any], sums: list[Any]) -> None:
    for column, total in zip(columns, sums, strict=True):
        pointer = builder.bitcast(builder.gep(out, [column]), _VECTOR.as_pointer())
        builder.store(builder.fmul(scale, total), pointer, align=8)


@numba.njit(nogil=True, cache=True)
def multiply_rows(
    indptr: Array,
    indices: Array,
    data: FloatArray,
    X: FloatArray,
    left: FloatArray,
    right: FloatArray,
    Y: FloatArray,
    start: int,
    stop: int,
) -> None:
    """Rows `start` to `stop` of Y = diag(left) A diag(right) X, for A in compressed sparse rows; all contiguous."""
    narrow = X.shape[1] < _WIDTH
    for row in range(start, stop):
        first, last = np.int64(indptr[row]), np.int64(indptr[row + 1])
        if narrow:
            Y[row] = 0.0
            for e in range(first, last):
                i = indices[e]
                for m in range(X.shape[1]):
                    Y[row, m] += left[row] * data[e] * right[i] * X[i, m]
        else:
            _product_row(indices, data, right, first, last, X, left[row], Y, row)


def _plain_row(
    indices: Array,
    data: FloatArray,
    right: FloatArray,
    first: int,
    last: int,
    X: FloatArray,
    left: float,
    Y: FloatArray,
    row: int,
) -> None:
    """What `_product_row` computes, without a compiler."""
    i = indices[first:last]
    Y[row] = left * ((data[first:last] * right[i]) @ X[i])


if numba.config.DISABLE_JIT:  # type: ignore[attr-defined]
    _product_row = _plain_row  # type: ignore[assignment]
