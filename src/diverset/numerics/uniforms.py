"""Uniform numbers for loops, from a NumPy generator.

Compiled loops use ``uniforms.pxd`` beside this file, which calls the bit generator without the interpreter. Both give
the numbers of ``rng.random()``.
"""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import Any

import numpy as np

__all__ = ["Bits", "lock_of", "open_generator", "uniform"]

#: Source of uniforms for loops: here the generator, in compiled code a pointer to its bit generator.
Bits = Any


def lock_of(rng: np.random.Generator) -> AbstractContextManager[Any]:
    """Lock for a whole loop: in compiled code that of the generator; here each draw takes it, so this one is empty."""
    return nullcontext()


def open_generator(rng: np.random.Generator) -> Any:
    """Source of uniforms for loops, used under the lock."""
    return rng


def uniform(bits: Any) -> float:
    """Next number, uniform on [0, 1)."""
    return float(bits.random())
