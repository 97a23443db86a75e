r"""Markov random fields beside DPPs: what each can express ([KuleszaTaskar2012]_, section 3.2).

Both models give sets probabilities from one number per item and one per pair. A pairwise MRF may say anything about
every pair on its own, and so allows what no DPP does: two items that both avoid a third attract each other. A DPP's
similarities are transitive, and tied together by one determinant; in return everything about it can be computed, and
it can say things about sets as a whole, such as how many items there are at most.

==========================  ========================================================================
:class:`PairwiseMRF`        the binary pairwise model, by listing sets or by belief propagation
:func:`mrf_ternary`         table 1 of the monograph, for MRFs
:func:`dpp_ternary`         and for DPPs
:func:`mrf_slice`           surfaces of realisable factors of three items: figure 11
:func:`dpp_slice`           the same for DPPs
:func:`transitivity_gap`    how near similarities come to what no DPP has
==========================  ========================================================================
"""

from diverset.theory.mrf.model import PairwiseMRF
from diverset.theory.mrf.ternary import dpp_slice, dpp_ternary, mrf_slice, mrf_ternary, transitivity_gap

__all__ = ["PairwiseMRF", "dpp_slice", "dpp_ternary", "mrf_slice", "mrf_ternary", "transitivity_gap"]
