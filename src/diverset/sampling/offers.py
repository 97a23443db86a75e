r"""Samplers that the representations of a DPP offer, with a cost model of set-up and draws.

With n items, D features (or n), m items in a draw and s draws in one call, in units of one fused multiply-add at BLAS-3
speed:

=============  ================================  ======================================  ==================
method         set-up                            a draw                                  for
=============  ================================  ======================================  ==================
sequential     :math:`n^3/6` (Cholesky of L+I)   :math:`n^2m/2` from L,                  DPP
                                                 :math:`n^3/3` from K,
                                                 :math:`6nD^2` from rows
rejection      eigenvectors, or :math:`2nD^2`;   :math:`m^3`, hardly depends on n        DPP, k-DPP
               tables of nD entries
spectral       eigenvectors, or :math:`D^3`      :math:`nDm + nm^2`                      DPP, k-DPP
complement     eigenvectors of all n items;      :math:`(n-m)^3`                         DPP, k-DPP
               tables of :math:`n^2` entries
=============  ================================  ======================================  ==================

The constants below are times measured on two cores. Draws after the first also cost time outside compiled loops: the
spectral sampler takes its items one by one, the rejection sampler draws all sets in one loop. The choice depends on the
model and on s alone, never on what was computed before, so that a seed gives the same draws on every call. For many
sets, draw all in one call, or name ``method="rejection"``, to pay for the set-up once.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING

from diverset.core.representation import Representation
from diverset.sampling.base import Offer, Sampler, outside, take
from diverset.sampling.dual import DualSampler
from diverset.sampling.mcmc import MCMCSampler
from diverset.sampling.rejection import prepare as prepare_rejection
from diverset.sampling.spectral import SpectralSampler
from diverset.sampling.truncated import TruncatedSampler

if TYPE_CHECKING:
    from diverset.core.complement import Complement
    from diverset.core.lowrank import LowRank

__all__ = ["of_complement", "of_likelihood_kernel", "of_marginal_kernel", "of_rows"]

#: Seconds per multiply-add at BLAS-3 speed, in the symmetric eigenproblem (all of it per n^3), and in plain loops.
_BLAS3 = 3e-11
_EIGH = 1.1e-10
_LOOP = 4e-10
#: Seconds per entry of the tables that the rejection sampler prepares, and per proposal it makes.
_TABLE = 4e-8
_PROPOSAL = 4e-7
#: Seconds per number that the spectral sampler updates, in passes over memory, and per row decided one block at a time.
_PASS = 1.8e-9
_ROW = 1.8e-5
#: Seconds outside compiled loops: to prepare the rejection sampler for a list of draws; for every draw after the first
#: of the spectral sampler and each item in it; for every draw of the sequential sampler and each item of the model.
_PREPARE = 3e-4
_SPECTRAL_DRAW, _SPECTRAL_ITEM = 6e-5, 3e-5
_SEQUENTIAL_DRAW, _SEQUENTIAL_ITEM = 1.2e-5, 4e-7


def of_likelihood_kernel(representation: Representation, k: int | None, size: int) -> list[Offer]:
    """Offers of a dense L."""
    n = float(representation.n)
    return _offers(representation, k, size, lambda m: _BLAS3 * (n**3 / 6.0 + size * n**2 * (0.5 * min(m, n) + 8.0)))


def of_marginal_kernel(representation: Representation, k: int | None, size: int) -> list[Offer]:
    """Offers of a dense K, and of any representation that can give its K."""
    return _offers(representation, k, size, lambda _: size * _BLAS3 * float(representation.n) ** 3 / 3.0)


def of_rows(representation: LowRank, k: int | None, size: int) -> list[Offer]:
    """Offers of item rows, the dual sampler included."""
    width = float(representation.eigen_width)
    seconds = size * representation.n * (6.0 * _BLAS3 * width**2 + _ROW)
    m = float(k) if k is not None else representation.size_bound
    passes = size * m * _PASS * representation.n * width * max(m, 1.0)
    return [
        *_offers(representation, k, size, lambda _: seconds),
        # Never the cheapest.
        Offer("dual", _EIGH * width**3 + 10.0 * passes + size * 1e-3, lambda: DualSampler(representation, k)),
    ]


def of_complement(complement: Complement, k: int | None, size: int) -> list[Offer]:
    """Offers of the base for the items left out, complemented."""
    base = complement.base
    left = None if k is None else complement.n - k

    def wrapped(name: str) -> Callable[[], Sampler]:
        return lambda: outside(base.sampler(left, size, name), complement.n, name)

    return [Offer(o.name, o.seconds, wrapped(o.name), o.exact) for o in base.samplers(left, size)]


def _offers(
    representation: Representation, k: int | None, size: int, sequential: Callable[[float], float]
) -> list[Offer]:
    """All offers but the dual sampler; `sequential` gives the seconds for draws of m items."""
    n, more = float(representation.n), max(size - 1, 0)
    m = float(k) if k is not None else representation.size_bound
    found = []
    if k is None:
        seconds = sequential(m) + more * (_SEQUENTIAL_DRAW + _SEQUENTIAL_ITEM * n)
        found.append(Offer("sequential", seconds, representation.sequential_sampler))
        if seconds > _rejection_seconds(representation, 0.0, 0):
            # Eigenvectors cost less than these draws and are likely to be needed; they give the expected size.
            m = representation.spectrum_with_vectors().mean_size
    found += [
        Offer("rejection", _rejection_seconds(representation, m, size), lambda: prepare_rejection(representation, k)),
        Offer("spectral", _spectral_seconds(representation, m, size), lambda: SpectralSampler(representation, k)),
        Offer("complement", _complement_seconds(n, m, size), lambda: _prepare_complement(representation, k, size)),
        Offer("truncated", math.inf, lambda: TruncatedSampler(representation, k), exact=False),
        Offer("mcmc", math.inf, lambda: MCMCSampler(representation, k), exact=False),
    ]
    return found


def _prepare_complement(representation: Representation, k: int | None, size: int) -> Sampler:
    """Draws of the items left out, by eigenvectors of their own."""
    left = representation.left_out()
    size_left = None if k is None else representation.n - k
    names = ("rejection", "spectral")
    offer = take([o for o in left.samplers(size_left, size) if o.name in names])
    return outside(left.sampler(size_left, size, offer.name), representation.n, "complement")


def _rejection_seconds(representation: Representation, m: float, size: int) -> float:
    n, width = float(representation.n), float(representation.eigen_width)
    rows = 2.0 * _BLAS3 * n * width**2 if width < n else 0.0
    return _EIGH * width**3 + rows + _draws_by_rejection(n, width, min(m, width), size)


def _draws_by_rejection(n: float, width: float, m: float, size: int) -> float:
    draw = _LOOP * (m**3 + width) + _PROPOSAL * m * (1.0 + math.log1p(m))
    return _TABLE * n * width + size * draw + (_PREPARE if size > 1 else 0.0)


def _spectral_seconds(representation: Representation, m: float, size: int) -> float:
    n, width = float(representation.n), float(representation.eigen_width)
    m = min(m, width)
    rows = 2.0 * _BLAS3 * n * width * m if width < n else 0.0
    draw = _PASS * n * m**2 + _LOOP * width + rows
    return _EIGH * width**3 + size * draw + max(size - 1, 0) * (_SPECTRAL_DRAW + _SPECTRAL_ITEM * m)


def _complement_seconds(n: float, m: float, size: int) -> float:
    """By rejection among the items left out."""
    left = max(n - m, 0.0)
    # One more pass over the items gives the complement of a draw.
    return _EIGH * n**3 + _draws_by_rejection(n, n, left, size) + size * _SEQUENTIAL_ITEM * n
