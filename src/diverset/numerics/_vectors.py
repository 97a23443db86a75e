# mypy: disable-error-code="no-untyped-call, no-any-return"
"""Vectors in the terms of the compiler, for compiled loops that it does not turn into vector instructions by itself.

Numba and LLVM are imported here; import this module from compiled loops only.
"""

from typing import Any

from llvmlite import ir

__all__ = ["CONTRACT", "INT", "VECTOR_BYTES", "everywhere", "load_vector", "zeros"]

#: Vectors of so many bytes become whatever the processor has.
VECTOR_BYTES = 32
INT = ir.IntType(64)
#: A product and the sum it goes into may be rounded once, together.
CONTRACT = ("contract",)


def everywhere(builder: Any, value: Any, width: int) -> Any:
    """A vector of one value."""
    undefined = ir.Constant(ir.VectorType(value.type, width), ir.Undefined)
    vector = builder.insert_element(undefined, value, INT(0))
    return builder.shuffle_vector(vector, undefined, ir.Constant(ir.VectorType(ir.IntType(32), width), [0] * width))


def zeros(vector: Any) -> Any:
    """A vector of zeros, of this type."""
    return ir.Constant(vector, [0.0] * vector.count)


def load_vector(builder: Any, pointer: Any, vector: Any, align: int) -> Any:
    """The entries from this pointer to a number on, as a vector of this type."""
    return builder.load(builder.bitcast(pointer, vector.as_pointer()), align=align)
