"""How many columns a low-rank kernel should have: the number that held-out baskets like best."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from diverset.learn.baskets import Baskets

__all__ = ["choose_rank"]

#: Part of the baskets that is held out, the first rank to try, and how much larger each rank is than the one before.
_HELD_OUT, _FIRST, _GROWTH = 0.2, 4, 1.5
#: Ranks in a row that may fail to improve before the search ends.
_PATIENCE = 2


def choose_rank(
    score: Callable[[int, Baskets, Baskets], float], baskets: Baskets, least: int, rng: np.random.Generator
) -> tuple[int, dict[int, float]]:
    """The rank with the largest mean log-likelihood of baskets that were not learned from.

    Parameters
    ----------
    score : callable
        From a rank, baskets to learn from and baskets held out, to the mean log-likelihood of the latter.
    baskets : Baskets
        All baskets; a fifth of them is held out.
    least : int
        The smallest rank at which every basket is possible.
    rng : Generator
        Chooses which are held out.

    Returns
    -------
    rank : int
        The best rank.
    scores : dict of int to float
        The likelihood of each rank tried: 4 (or `least`), then each half as large again, until two in a row bring
        nothing or the number of items is reached.
    """
    order = rng.permutation(len(baskets))
    cut = max(1, round(_HELD_OUT * len(baskets)))
    held, rest = baskets.take(np.sort(order[:cut])), baskets.take(np.sort(order[cut:]))
    rank, worse = min(max(_FIRST, least), baskets.n_items), 0
    scores: dict[int, float] = {}
    while True:
        scores[rank] = score(rank, rest, held)
        best = max(scores, key=lambda r: (scores[r], -r))
        worse = 0 if best == rank else worse + 1
        if worse >= _PATIENCE or rank >= baskets.n_items:
            return best, scores
        rank = min(max(rank + 1, round(_GROWTH * rank)), baskets.n_items)
