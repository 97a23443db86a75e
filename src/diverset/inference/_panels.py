# mypy: disable-error-code="untyped-decorator, no-untyped-call, no-any-return"
r"""Products of one row with many directions, as vector instructions.

Greedy selection asks of a row x what it has in common with a few dozen directions z, at once. Directions are kept in
*panels*, as matrix products keep them: panel b holds directions bw, ..., bw + w - 1 (w of them fill a register), the
j-th entries of all side by side. Then x_j times the panel's j-th line adds to w products in one instruction, and no sum
over a register is ever taken; the plain loop over products spends half of its time on those.

The compiler does not find this form by itself (it would keep the sums in memory), so it is written here in its own
terms, with reading ahead, which no Numba function offers.

Numba is imported here; import this module from compiled loops only.
"""

import functools
import itertools
from typing import Any

import numba
import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from diverset._typing import Array, FloatArray
from diverset.numerics._vectors import CONTRACT, INT, VECTOR_BYTES, everywhere, load_vector, zeros

__all__ = ["PANELS", "as_panels", "panel_squares", "panel_width", "prefetch_row"]

#: Panels that are multiplied at a time.
PANELS = 3
#: Running sums that keep both multipliers of a core busy.
_SUMS = 6


@numba.njit(cache=True)
def panel_width(itemsize: int) -> int:
    """Directions in a panel, for numbers of so many bytes."""
    return VECTOR_BYTES // itemsize


def as_panels(Z: FloatArray, dtype: Any, *, room: int = 0) -> Array:
    """The rows of Z as panels of numbers of another type, with room for more directions, which are zero."""
    width = panel_width(np.dtype(dtype).itemsize)
    rows, D = Z.shape
    count = -(-(rows + room) // width)
    size = count * D * VECTOR_BYTES
    # A vector that lies across two lines of the cache takes twice as long to load.
    memory = np.zeros(size + VECTOR_BYTES, dtype=np.uint8)
    start = -memory.ctypes.data % VECTOR_BYTES
    panels = memory[start : start + size].view(dtype).reshape(count, D, width)
    for s in range(rows):
        panels[s // width, :, s % width] = Z[s]
    return panels


@intrinsic
def panel_squares(typingctx: Any, panels: Any, start: Any, end: Any, x: Any) -> Any:
    """Squared products of x with directions start..end-1, which lie in at most `PANELS` panels, added up.

    ``panels`` of shape (n_panels, D, w) is contiguous and of the type of x; directions from `end` on are zero in the
    last panel. Products have the precision of x; they are squared in double precision, where those of large float32
    rows do not overflow.
    """
    width = VECTOR_BYTES // (x.dtype.bitwidth // 8)

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        table = context.make_array(panels)(context, builder, args[0])
        row = context.make_array(x)(context, builder, args[3])
        shift = INT(width.bit_length() - 1)
        first = builder.lshr(args[1], shift)
        count = builder.sub(builder.lshr(builder.add(args[2], INT(width - 1)), shift), first)
        before = builder.and_(args[1], INT(width - 1))
        total = cgutils.alloca_once(builder, ir.DoubleType())
        builder.store(ir.Constant(ir.DoubleType(), 0.0), total)
        # Code for each number of panels: as many running sums as keep the multipliers of a core busy.
        for n_panels in range(1, PANELS + 1):
            with builder.if_then(builder.icmp_signed("==", count, INT(n_panels))):
                squares = _squares(builder, table.data, first, before, row, width, n_panels, _SUMS // n_panels)
                builder.store(squares, total)
        return builder.load(total)

    return types.float64(panels, types.int64, types.int64, x), codegen


def _squares(
    builder: Any, panels: Any, first: Any, before: Any, row: Any, width: int, n_panels: int, n_parts: int
) -> Any:
    """Squared products of a row with some panels, without the first few of the first, added up.

    Each sum of products is taken in parts, which do not wait for one another.
    """
    scalar = panels.type.pointee
    vector, wide = ir.VectorType(scalar, width), ir.VectorType(ir.DoubleType(), width)
    align = VECTOR_BYTES // width
    size = builder.extract_value(row.shape, 0)
    offsets = [builder.mul(builder.add(first, INT(p)), builder.mul(size, INT(width))) for p in range(n_panels)]
    bases = [builder.gep(panels, [offset]) for offset in offsets]
    sums = [[cgutils.alloca_once(builder, vector) for _ in range(n_parts)] for _ in range(n_panels)]
    for cell in itertools.chain.from_iterable(sums):
        builder.store(zeros(vector), cell)

    def add(j: Any, part: int) -> None:
        entry = everywhere(builder, builder.load(_entry(builder, row, j, scalar)), width)
        line = builder.mul(j, INT(width))
        for base, parts in zip(bases, sums, strict=True):
            product = builder.fmul(
                entry, load_vector(builder, builder.gep(base, [line]), vector, align), flags=CONTRACT
            )
            builder.store(builder.fadd(builder.load(parts[part]), product, flags=CONTRACT), parts[part])

    share = builder.udiv(size, INT(n_parts))
    with cgutils.for_range(builder, share) as loop:
        for part in range(n_parts):
            add(builder.add(loop.index, builder.mul(share, INT(part))), part)
    with cgutils.for_range_slice(builder, builder.mul(share, INT(n_parts)), size, INT(1)) as (j, _):
        add(j, 0)

    squares = zeros(wide)
    places = ir.Constant(ir.VectorType(INT, width), list(range(width)))
    for p, parts in enumerate(sums):
        products = functools.reduce(builder.fadd, [builder.load(cell) for cell in parts])
        if scalar != wide.element:
            products = builder.fpext(products, wide)
        square = builder.fmul(products, products)
        if p == 0:
            kept = builder.icmp_signed(">=", places, everywhere(builder, before, width))
            square = builder.select(kept, square, squares)
        squares = builder.fadd(squares, square)
    return functools.reduce(builder.fadd, [builder.extract_element(squares, INT(w)) for w in range(width)])


def _entry(builder: Any, array: Any, index: Any, scalar: Any) -> Any:
    """Pointer to an entry of a one-dimensional array, whatever its stride."""
    stride = builder.extract_value(array.strides, 0)
    data = builder.bitcast(array.data, ir.IntType(8).as_pointer())
    return builder.bitcast(builder.gep(data, [builder.mul(index, stride)]), scalar.as_pointer())


@intrinsic
def prefetch_row(typingctx: Any, X: Any, i: Any) -> Any:
    """Ask memory for row i of X, without waiting for it; nothing happens if rows are not contiguous."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        if X.layout == "C":
            array = context.make_array(X)(context, builder, args[0])
            pointer, number = ir.IntType(8).as_pointer(), ir.IntType(32)
            kind = ir.FunctionType(ir.VoidType(), [pointer, number, number, number])
            prefetch = builder.module.declare_intrinsic("llvm.prefetch", [pointer], kind)
            length = builder.extract_value(array.strides, 0)
            row = builder.gep(builder.bitcast(array.data, pointer), [builder.mul(args[1], length)])
            with cgutils.for_range_slice(builder, INT(0), length, INT(64)) as (j, _):
                # To be read (0), kept close (3), as data (1).
                builder.call(prefetch, [builder.gep(row, [j]), number(0), number(3), number(1)])
        return context.get_dummy_value()

    return types.void(X, i), codegen


def plain_squares(panels: Array, start: int, end: int, x: Array) -> float:
    """What :func:`panel_squares` computes, without a compiler."""
    width = panels.shape[2]
    s = np.arange(start, end)
    return float((np.float64(panels[s // width, :, s % width] @ x) ** 2).sum())


if numba.config.DISABLE_JIT:  # type: ignore[attr-defined]
    panel_squares = plain_squares  # type: ignore[assignment]
    prefetch_row = lambda X, i: None  # type: ignore[assignment]  # noqa: E731
