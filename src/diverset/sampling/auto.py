r"""Which sampler ``method="auto"`` takes: a cost model of set-up and draws.

With n items, D features (or n), m items in a draw and s draws asked for at once, in units of one fused
multiply-add at BLAS-3 speed:

=============  ================================  ======================================  ==================
method         set-up                            a draw                                  serves
=============  ================================  ======================================  ==================
sequential     :math:`n^3/6` (Cholesky of L+I)   :math:`n^2m/2` from L,                  DPP
                                                 :math:`n^3/3` from K,
                                                 :math:`6nD^2` from rows
rejection      eigenvectors, or :math:`2nD^2`;   :math:`m^3`, hardly depends on n        DPP, k-DPP
               tables of nD entries
spectral       eigenvectors, or :math:`D^3`      :math:`nDm + nm^2`                      DPP, k-DPP
=============  ================================  ======================================  ==================

The weights of the terms below are times measured on two cores. Draws after the first also pay for what a sampler does
outside compiled loops: the spectral one takes its items one by one, the rejection sampler draws all sets in one loop.
The choice depends on the model and on s alone, never on what was computed before, so that a seed gives the same draws
on every call. A loop that asks for one set at a time is served as such; ask for all at once, or name
``method="rejection"``, to pay for the set-up once.
"""

from __future__ import annotations

import numpy as np

from diverset.core.complement import Complement
from diverset.core.dense import DenseLikelihood, DenseMarginal
from diverset.core.factor import RowFactor
from diverset.core.representation import Representation

__all__ = ["choose", "costs"]

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
#: of the spectral sampler, and for each of its items; for every draw of the sequential one, and for each item there is.
_PREPARE = 3e-4
_SPECTRAL_DRAW, _SPECTRAL_ITEM = 6e-5, 3e-5
_SEQUENTIAL_DRAW, _SEQUENTIAL_ITEM = 1.2e-5, 4e-7


def choose(representation: Representation, k: int | None, size: int) -> str:
    """Name of the cheapest exact sampler for `size` draws of a DPP (k None) or k-DPP."""
    if isinstance(representation, Complement):
        return choose(representation.base, None if k is None else representation.n - k, size)
    table = costs(representation, k, size)
    return min(table, key=lambda name: table[name])


def costs(representation: Representation, k: int | None, size: int) -> dict[str, float]:
    """Estimated seconds of each sampler for `size` draws, set-up included."""
    n = float(representation.n)
    factor: RowFactor | None = getattr(representation, "factor", None)
    width = n if factor is None else float(factor.width)
    m = float(k) if k is not None else _size_bound(representation)
    m = min(m, width)
    eigen = _EIGH * width**3
    proposals = m * (1.0 + np.log1p(m))
    more = max(size - 1, 0)
    estimate = {
        "rejection": eigen
        + (0.0 if factor is None else 2.0 * _BLAS3 * n * width**2)
        + _TABLE * n * width
        + size * (_LOOP * (m**3 + width) + _PROPOSAL * proposals)
        + (_PREPARE if more else 0.0),
        "spectral": eigen
        + size * (_PASS * n * m**2 + _LOOP * width + (0.0 if factor is None else 2.0 * _BLAS3 * n * width * m))
        + more * (_SPECTRAL_DRAW + _SPECTRAL_ITEM * m),
    }
    if k is None:
        if isinstance(representation, DenseLikelihood):
            estimate["sequential"] = _BLAS3 * (n**3 / 6.0 + size * n**2 * (0.5 * m + 8.0))
        elif isinstance(representation, DenseMarginal):
            estimate["sequential"] = size * _BLAS3 * n**3 / 3.0
        else:
            estimate["sequential"] = size * n * (6.0 * _BLAS3 * width**2 + _ROW)
        estimate["sequential"] += more * (_SEQUENTIAL_DRAW + _SEQUENTIAL_ITEM * n)
    return estimate


def _size_bound(representation: Representation) -> float:
    r"""Upper bound on the expected size that needs no factorisation: :math:`K_{ii} \le L_{ii}/(1+L_{ii})`."""
    if isinstance(representation, DenseLikelihood):
        diagonal = representation.likelihood_diagonal()
        return float((diagonal / (1.0 + diagonal)).sum())
    if isinstance(representation, DenseMarginal):
        return float(representation.inclusion().sum())
    return representation.spectrum.mean_size
