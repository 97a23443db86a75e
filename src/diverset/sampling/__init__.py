"""Samplers by name, and the front that every distribution's ``sample`` goes through.

===============  =======================================================================  ===========
method           what it is                                                               law
===============  =======================================================================  ===========
``auto``         the cheapest exact one, by the cost model of ``diverset.sampling.auto``                exact
``sequential``   item by item, no eigendecomposition: for one draw                        exact
``rejection``    proposals from leverage scores: for many draws, at any n                 exact
``spectral``     Algorithm 1 of [KuleszaTaskar2012]_, Algorithm 8 for k-DPPs              exact
``dual``         Algorithm 3, for features; the plain twin                                exact
``complement``   what the complement's draw leaves out: for nearly all items              exact
``truncated``    top eigenvectors only, with a bound on the error                         approximate
``mcmc``         add, delete and exchange moves                                           approximate
===============  =======================================================================  ===========

Kernels given as a function, with n too large for any matrix, have :func:`diverset.sample_kernel`.
"""

from __future__ import annotations

import abc
from collections.abc import Iterator
from importlib import import_module

import numpy as np

from diverset._typing import IntArray, RNGLike
from diverset.core import DPP, KDPP, KDPPMixture, NonsymmetricDPP, SetDistribution, SizedDPP
from diverset.core.complement import Complement
from diverset.core.representation import Representation
from diverset.errors import DiversetError
from diverset.numerics.linalg import positions_outside
from diverset.numerics.validation import check_count, check_size
from diverset.sampling.auto import choose
from diverset.sampling.base import OwnSampler, Sampler, kept_with
from diverset.sampling.batch import draw_batch, stream_draws

__all__ = ["METHODS", "sample", "sampler_for", "stream"]

#: Names accepted by ``method``.
METHODS = ("auto", "sequential", "rejection", "spectral", "dual", "complement", "truncated", "mcmc")


def sample(
    distribution: SetDistribution,
    size: int | None = None,
    *,
    rng: RNGLike = None,
    method: str = "auto",
    n_jobs: int | None = None,
) -> IntArray | list[IntArray]:
    """Draw one set, or a list of `size` sets; see :meth:`diverset.DPP.sample`."""
    generator = np.random.default_rng(rng)
    if size is None:
        return _labelled(distribution, sampler_for(distribution, 1, method).draw(generator))
    count = check_size(size, name="size")
    sampler = sampler_for(distribution, count, method)
    jobs = 1 if n_jobs is None else check_count(n_jobs, name="n_jobs")
    return [_labelled(distribution, draw) for draw in draw_batch(sampler, count, generator, jobs)]


def stream(
    distribution: SetDistribution, size: int | None = None, *, rng: RNGLike = None, method: str = "auto"
) -> Iterator[IntArray]:
    """Draws one by one, never all held; see :meth:`diverset.DPP.stream`."""
    count = None if size is None else check_size(size, name="size")
    # A stream without an end is a stream of many draws.
    sampler = sampler_for(distribution, 10_000 if count is None else count, method)
    return (_labelled(distribution, draw) for draw in stream_draws(sampler, count, np.random.default_rng(rng)))


def _labelled(distribution: SetDistribution, positions: IntArray) -> IntArray:
    return distribution._labels(positions)


def sampler_for(distribution: SetDistribution, size: int, method: str = "auto") -> Sampler:
    """The sampler that `size` draws of this distribution will use, ready to draw positions."""
    if method not in METHODS:
        raise DiversetError(f"method is {method!r}; choose one of {', '.join(METHODS)}")
    if isinstance(distribution, KDPPMixture):
        return _MixtureSampler(distribution, size, method)
    if isinstance(distribution, SizedDPP):
        return _SizedSampler(distribution, size, method)
    if isinstance(distribution, KDPP):
        return _prepare(distribution.dpp._representation, distribution.k, size, method)
    if isinstance(distribution, DPP):
        return _prepare(distribution._representation, None, size, method)
    if isinstance(distribution, NonsymmetricDPP):
        return _prepare_nonsymmetric(distribution, method)
    raise DiversetError(f"cannot sample from a {type(distribution).__name__}")


def _prepare(representation: Representation, k: int | None, size: int, method: str) -> Sampler:
    if isinstance(representation, OwnSampler):
        own: Sampler = kept_with(representation, (method, k), lambda: representation.prepare_sampler(method, k))
        return own
    if method == "auto":
        method = choose(representation, k, size)
    if method == "complement":
        base = representation.complement()
        return _OutsideSampler(_prepare(base, None if k is None else representation.n - k, size, "auto"), base.n)
    if isinstance(representation, Complement):
        base = representation.base
        return _OutsideSampler(_prepare(base, None if k is None else representation.n - k, size, method), base.n)
    module = import_module(f"diverset.sampling.{method}")
    sampler: Sampler = kept_with(representation, (method, k), lambda: module.prepare(representation, k))
    return sampler


def _prepare_nonsymmetric(distribution: NonsymmetricDPP, method: str) -> Sampler:
    from diverset.sampling import nonsymmetric

    return nonsymmetric.prepare(distribution._form, method)


class _OutsideSampler(Sampler):
    """What the draws of another sampler leave out."""

    def __init__(self, base: Sampler, n: int) -> None:
        self._base, self._n = base, n

    def draw(self, rng: np.random.Generator) -> IntArray:
        return positions_outside(self._base.draw(rng), self._n)

    def draw_many(self, size: int, rng: np.random.Generator) -> list[IntArray]:
        return [positions_outside(draw, self._n) for draw in self._base.draw_many(size, rng)]

    @property
    def chunk(self) -> int:
        return self._base.chunk


class _GroupedSampler(Sampler):
    """First a label for each draw (a size, a component), then all draws of one label together."""

    _weights: np.ndarray

    @abc.abstractmethod
    def _sampler(self, label: int) -> Sampler:
        """Sampler for this label."""

    def draw(self, rng: np.random.Generator) -> IntArray:
        return self._sampler(int(rng.choice(len(self._weights), p=self._weights))).draw(rng)

    def draw_many(self, size: int, rng: np.random.Generator) -> list[IntArray]:
        labels = rng.choice(len(self._weights), size=size, p=self._weights)
        draws: list[IntArray] = [labels] * size
        for label in np.unique(labels):
            where = np.flatnonzero(labels == label)
            for i, draw in zip(where, self._sampler(int(label)).draw_many(len(where), rng), strict=True):
                draws[i] = draw
        return draws


class _SizedSampler(_GroupedSampler):
    """A size, then a k-DPP of that size."""

    def __init__(self, distribution: SizedDPP, size: int, method: str) -> None:
        self._weights = distribution.size_distribution
        self._how = (distribution.dpp._representation, size, method)

    def _sampler(self, label: int) -> Sampler:
        representation, size, method = self._how
        return _prepare(representation, label, size, method)


class _MixtureSampler(_GroupedSampler):
    """A component, then a draw of it."""

    def __init__(self, distribution: KDPPMixture, size: int, method: str) -> None:
        self._weights = distribution.weights
        self._samplers = [sampler_for(component, size, method) for component in distribution.components]

    def _sampler(self, label: int) -> Sampler:
        return self._samplers[label]
