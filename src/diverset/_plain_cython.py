"""Stand-in for the ``cython`` module, so that loops run uncompiled where Cython is not installed.

Loop modules are written in Cython's pure Python mode. Uncompiled, its decorators do nothing, and its types only
annotate. This module has the names that our loops use, and no more.
"""

from contextlib import nullcontext
from typing import Any

compiled = False


class _Type:
    """A C type: annotates, may be subscripted as a memoryview or pointer type, and converts nothing."""

    def __getitem__(self, _shape: Any) -> "_Type":
        return self

    def __call__(self, value: Any) -> Any:
        return value


float = double = doublecomplex = int = longlong = ulonglong = char = uchar = _Type()
bint = void = Py_ssize_t = p_double = p_float = const = _Type()


class _NoLock(nullcontext[None]):
    """``with cython.nogil``, ``with cython.gil`` and ``@cython.nogil``."""

    def __call__(self, function: Any) -> Any:
        return function


nogil = gil = _NoLock()


def fused_type(*_types: Any) -> _Type:
    """A type that stands for several."""
    return _Type()


def declare(_type: Any, value: Any = None) -> Any:
    """The value as it is."""
    return value


def cast(_type: Any, value: Any) -> Any:
    """The value as it is."""
    return value


def _unchanged(function: Any) -> Any:
    return function


cfunc = ccall = cclass = inline = final = _unchanged


def exceptval(*_args: Any, **_options: Any) -> Any:
    """Decorator that does nothing."""
    return _unchanged
