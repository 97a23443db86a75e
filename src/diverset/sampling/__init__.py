"""Exact samplers, by name.

``"spectral"`` is Algorithm 1 of [KuleszaTaskar2012]_ with the k-DPP's first phase by tilted rejection;
``"auto"`` chooses it.
"""

from __future__ import annotations

import numpy as np

from diverset._typing import IntArray, RNGLike
from diverset.core import DPP, KDPP, KDPPMixture, SetDistribution, SizedDPP
from diverset.core.complement import Complement
from diverset.core.representation import Representation
from diverset.errors import DiversetError
from diverset.numerics.linalg import positions_outside
from diverset.numerics.validation import check_size
from diverset.sampling import spectral

__all__ = ["METHODS", "sample"]

#: Names accepted by ``method``.
METHODS = ("auto", "spectral")


def sample(
    distribution: SetDistribution, size: int | None = None, *, rng: RNGLike = None, method: str = "auto"
) -> IntArray | list[IntArray]:
    """Draw one set, or a list of `size` sets; see :meth:`diverset.DPP.sample`."""
    if method not in METHODS:
        raise DiversetError(f"method is {method!r}; choose one of {', '.join(METHODS)}")
    generator = np.random.default_rng(rng)
    if size is None:
        return _draw(distribution, generator)
    return [_draw(distribution, generator) for _ in range(check_size(size, name="size"))]


def _draw(distribution: SetDistribution, rng: np.random.Generator) -> IntArray:
    if isinstance(distribution, KDPPMixture):
        chosen = int(rng.choice(len(distribution.weights), p=distribution.weights))
        return _draw(distribution.components[chosen], rng)
    if isinstance(distribution, SizedDPP):
        pmf = distribution.size_distribution
        return _draw_positions(distribution.dpp, int(rng.choice(len(pmf), p=pmf)), rng)
    if isinstance(distribution, KDPP):
        return _draw_positions(distribution.dpp, distribution.k, rng)
    if isinstance(distribution, DPP):
        return _draw_positions(distribution, None, rng)
    raise DiversetError(f"cannot sample from a {type(distribution).__name__}")


def _draw_positions(dpp: DPP, k: int | None, rng: np.random.Generator) -> IntArray:
    labels: IntArray = dpp.items[_positions(dpp._representation, k, rng)]
    return labels


def _positions(representation: Representation, k: int | None, rng: np.random.Generator) -> IntArray:
    if isinstance(representation, Complement):
        left_out = _positions(representation.base, None if k is None else representation.n - k, rng)
        return positions_outside(left_out, representation.n)
    return spectral.draw(representation, k, rng)
