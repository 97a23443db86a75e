"""A trace of one draw: the law of the next item before every pick ([KuleszaTaskar2012]_, figure 8)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from diverset._typing import FloatArray, IntArray, RNGLike
from diverset.core import DPP, KDPP
from diverset.errors import DiversetError
from diverset.numerics.validation import as_generator
from diverset.sampling.eigenvector_law import EigenvectorLaw
from diverset.sampling.spectral import ElementarySampler, draw_next

__all__ = ["SamplingTrace", "sampling_trace"]


@dataclass(frozen=True, eq=False)
class SamplingTrace:
    """One draw, step by step.

    Parameters
    ----------
    items : ndarray of shape (n_items,)
        Labels of the ground set.
    picks : ndarray of shape (m,)
        Labels in the order they were drawn.
    probabilities : ndarray of shape (m, n_items)
        Row t is the law of pick t given the picks before it.
    eigenvectors : ndarray of shape (m,)
        Positions of the chosen eigenvectors in the support of the spectrum.
    """

    items: IntArray
    picks: IntArray
    probabilities: FloatArray
    eigenvectors: IntArray

    def __len__(self) -> int:
        return len(self.picks)


def sampling_trace(distribution: DPP | KDPP, rng: RNGLike = None) -> SamplingTrace:
    r"""Draw one set by Algorithm 1 and keep the conditional law before every pick.

    Parameters
    ----------
    distribution : DPP or KDPP
        The distribution to draw from.
    rng : int, Generator or None
        Seed or generator.

    Returns
    -------
    SamplingTrace
        Picks in order, and the law each was drawn from.

    Notes
    -----
    :math:`O(nm^2)` for a draw of m items after the eigendecomposition; n x m numbers are kept.

    Examples
    --------
    Of two equal items, one is drawn; the other then has no chance.

    >>> import diverset as dv
    >>> trace = dv.sampling.sampling_trace(dv.KDPP([[1.0, 1.0, 0.0], [1.0, 1.0, 0.0], [0.0, 0.0, 1.0]], 2), rng=0)
    >>> trace.picks, trace.probabilities.round(6)
    (array([0, 2]), array([[0.25, 0.25, 0.5 ],
           [0.  , 0.  , 1.  ]]))
    """
    if not isinstance(distribution, (DPP, KDPP)):
        raise DiversetError(f"distribution is a {type(distribution).__name__}; a trace needs a DPP or a KDPP")
    generator = as_generator(rng)
    dpp = distribution if isinstance(distribution, DPP) else distribution.dpp
    representation = dpp._representation
    k = distribution.k if isinstance(distribution, KDPP) else None
    J = EigenvectorLaw.of(representation.spectrum.support, k).draw(generator)
    state = ElementarySampler(representation.eigenvector_columns(J))
    laws = []
    while not state.done:
        laws.append(state.weights())
        state = state.pick(draw_next(state, generator))
    return SamplingTrace(
        items=dpp.items,
        picks=dpp.items[np.array(state.items, dtype=np.int64)],
        probabilities=np.array(laws).reshape(len(laws), dpp.n_items),
        eigenvectors=J,
    )
