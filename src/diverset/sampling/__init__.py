"""Samplers by name, and the functions behind the ``sample`` and ``stream`` methods of all distributions.

===============  =======================================================================  ===========
method           what it is                                                               law
===============  =======================================================================  ===========
``auto``         the cheapest exact method that the model offers                          exact
``sequential``   item by item, no eigendecomposition: for one draw                        exact
``rejection``    proposals from leverage scores: for many draws, at any n                 exact
``spectral``     Algorithm 1 of [KuleszaTaskar2012]_, Algorithm 8 for k-DPPs              exact
``dual``         Algorithm 3, for features, as printed                                    exact
``complement``   items left out by a draw of the complement: for draws of most items      exact
``enumeration``  all subsets listed: for models of few items without a sampler            exact
``truncated``    top eigenvectors only, with a bound on the error                         approximate
``mcmc``         add, delete and exchange moves                                           approximate
===============  =======================================================================  ===========

Each model lists the methods it offers with their costs (``diverset.sampling.offers``).
``distribution.sampler(size, method=...)`` returns the sampler that ``sample`` would use, with its ``name`` and whether
it is ``exact``. For kernels given as a function, with n too large for any matrix, use :func:`diverset.sample_kernel`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from diverset._on_use import names_on_use
from diverset._typing import BoolArray, IntArray, RNGLike
from diverset.core.distribution import SetDistribution
from diverset.errors import DiversetError
from diverset.numerics.validation import as_generator, check_count, check_fits_in_memory, check_size
from diverset.sampling.base import METHODS
from diverset.sampling.batch import draw_batch, stream_draws

__all__ = [
    "METHODS",
    "IntermediateSampler",
    "KernelFunction",
    "mcmc_chain",
    "sample",
    "sampling_trace",
    "stream",
]

if TYPE_CHECKING:
    from diverset.sampling.intermediate import IntermediateSampler
    from diverset.sampling.kernel_function import KernelFunction
    from diverset.sampling.mcmc import mcmc_chain
    from diverset.sampling.trace import sampling_trace
else:
    __getattr__, __dir__ = names_on_use(
        __name__,
        {
            "intermediate": ["IntermediateSampler"],
            "kernel_function": ["KernelFunction"],
            "mcmc": ["mcmc_chain"],
            "trace": ["sampling_trace"],
        },
    )


def sample(
    distribution: SetDistribution,
    size: int | None = None,
    *,
    rng: RNGLike = None,
    method: str = "auto",
    n_jobs: int | None = None,
    output: str = "sets",
) -> IntArray | BoolArray | list[IntArray]:
    """Draw one set, or a list of `size` sets; see :meth:`diverset.DPP.sample`."""
    if output not in ("sets", "indicator"):
        raise DiversetError(f"output is {output!r}; choose 'sets' or 'indicator'")
    count = 1 if size is None else check_size(size, name="size")
    jobs = 1 if n_jobs is None else check_count(n_jobs, name="n_jobs")
    if output == "indicator":
        what = f"the indicators of {count} sets of {distribution.n_items} items"
        check_fits_in_memory(count * distribution.n_items, what=what, remedy="ask for output='sets', or stream")
    draws = draw_batch(distribution.sampler(count, method=method), count, as_generator(rng), jobs)
    if output == "indicator":
        table = _indicators(draws, distribution.n_items)
        return table[0] if size is None else table
    sets = [distribution._labels(draw) for draw in draws]
    return sets[0] if size is None else sets


def _indicators(draws: list[IntArray], n: int) -> BoolArray:
    """Row i is True at the positions of draw i."""
    table = np.zeros((len(draws), n), dtype=np.bool_)
    if draws:
        table[np.repeat(np.arange(len(draws)), [len(draw) for draw in draws]), np.concatenate(draws)] = True
    return table


def stream(
    distribution: SetDistribution, size: int | None = None, *, rng: RNGLike = None, method: str = "auto"
) -> Iterator[IntArray]:
    """Draws one by one, without a list of all; see :meth:`diverset.DPP.stream`."""
    count = None if size is None else check_size(size, name="size")
    # An endless stream counts as many draws.
    sampler = distribution.sampler(10_000 if count is None else count, method=method)
    return (distribution._labels(draw) for draw in stream_draws(sampler, count, as_generator(rng)))
