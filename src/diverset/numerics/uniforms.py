"""Uniform numbers for loops, from a NumPy generator.

Compiled loops use ``uniforms.pxd`` beside this file, which calls the bit generator without the interpreter. Both give
the numbers of ``rng.random()``.
"""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import Any

import numpy as np

__all__ = ["Bits", "lock_of", "open_generator", "uniform"]

#: What loops draw from: here the generator, in compiled code a pointer to its bit generator.
Bits = Any


def lock_of(rng: np.random.Generator) -> AbstractContextManager[Any]:
    """Lock for a whole loop. Compiled code takes the generator's; here each draw does, and it may not be re-entrant."""
    return nullcontext()


def open_generator(rng: np.random.Generator) -> Any:
    """What loops draw from, under the lock."""
    return rng


def uniform(bits: Any) -> float:
    """Next number, uniform on [0, 1)."""
    return float(bits.random())
