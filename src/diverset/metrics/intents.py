"""How well a ranking serves people who mean different things: measures by subtopic, as at the TREC Web Track."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from diverset._typing import FloatArray
from diverset.errors import DiversetError
from diverset.metrics.judgements import Judged, read_judgements
from diverset.numerics.linalg import EPS
from diverset.numerics.validation import as_number, as_real

if TYPE_CHECKING:
    from diverset.kernels._arrays import Features

    Judgements: TypeAlias = Mapping[Any, Any] | Features

__all__ = ["alpha_ndcg", "err_ia", "ndcg", "precision", "precision_ia", "subtopic_recall"]


def subtopic_recall(ranking: Iterable[Any], judgements: Judgements, k: int | None = None) -> float:
    r"""Share of the subtopics that the first k items cover ([ZhaiCohenLafferty2003]_).

    .. math::  \frac{1}{|T|} \Bigl| \bigcup_{r \le k} T(d_r) \Bigr|,

    where T(d) are the subtopics item d is relevant to, and T those of all judged items.

    Parameters
    ----------
    ranking : iterable
        Items, best first: the keys of ``judgements``, or row numbers where it is a matrix. Items without a
        judgement are not relevant.
    judgements : mapping or array_like of shape (n_items, n_subtopics)
        For each item a set of subtopics, or a mapping from subtopics to grades; or a matrix of booleans or
        grades. A grade of 0 or below is not relevant. Subtopics without a relevant item are left out, since
        no ranking could serve them.
    k : int, optional
        Depth; the length of the ranking if left out. A shorter ranking is not made longer.

    Returns
    -------
    recall : float
        Between 0 and 1; 0 where nothing is relevant.

    Examples
    --------
    >>> judgements = {"a": {"jaguar, cat"}, "b": {"jaguar, cat"}, "c": {"jaguar, car"}}
    >>> subtopic_recall(["a", "b", "c"], judgements, k=2)
    0.5
    """
    judged = read_judgements(ranking, judgements, k)
    return float((judged.ranked > 0.0).any(axis=0).mean()) if judged.subtopics else 0.0


def alpha_ndcg(ranking: Iterable[Any], judgements: Judgements, k: int | None = None, alpha: float = 0.5) -> float:
    r"""Novelty-biased gain, discounted by rank and compared with that of an ideal ranking.

    .. math::  \mathrm{DCG} = \sum_{r=1}^{k} \frac{1}{\log_2(1 + r)} \sum_{t \in T(d_r)} (1 - \alpha)^{c_{t, r}},
               \qquad \alpha\text{-nDCG} = \mathrm{DCG} / \mathrm{DCG}_{\text{ideal}},

    where T(d) are the subtopics item d is relevant to, and :math:`c_{t, r}` counts the items relevant to t
    before rank r: another item about the same subtopic gains less.

    Parameters
    ----------
    ranking, judgements, k
        As in :func:`subtopic_recall`; grades only count as relevant or not.
    alpha : float
        From 0 (repetition costs nothing) to 1 (only the first item about a subtopic counts).

    Returns
    -------
    score : float
        At least 0, and 1 for the greedy ranking; 0 where nothing is relevant.

    Notes
    -----
    The ideal ranking is found greedily, the item of highest gain first, as in [ClarkeKolla2008]_ and the
    program ndeval of the TREC Web Track; the best one is NP-hard to find. Where an item can be relevant to
    several subtopics a score can therefore exceed 1, but never :math:`1 / (1 - 1/e) \approx 1.58`. Equal
    gains go to the greatest name, as in ndeval, if all names are text; else to the item that comes first in
    ``judgements``. O(k n_items n_subtopics) time.

    Examples
    --------
    >>> judgements = {"a": {1}, "b": {1}, "c": {2}}
    >>> alpha_ndcg(["a", "c", "b"], judgements)
    1.0
    >>> round(alpha_ndcg(["a", "b", "c"], judgements), 6)
    0.965195
    """
    alpha = as_number(alpha, name="alpha")
    if not 0.0 <= alpha <= 1.0:
        raise DiversetError(f"alpha is {alpha}; it must be between 0 and 1")
    judged = read_judgements(ranking, judgements, k)
    ideal = _alpha_dcg(_ideal_order(judged.grades > 0.0, judged.k, alpha), alpha)
    return _alpha_dcg(judged.ranked > 0.0, alpha) / ideal if ideal > 0.0 else 0.0


def err_ia(
    ranking: Iterable[Any],
    judgements: Judgements,
    k: int | None = None,
    *,
    weights: Mapping[Any, float] | ArrayLike | None = None,
    max_grade: float | None = None,
    normalized: bool = False,
) -> float:
    r"""Intent-aware expected reciprocal rank ([ChapelleJiLiao2011]_).

    .. math::  \sum_t w_t \sum_{r=1}^{k} \frac{1}{r} R_{tr} \prod_{s < r} (1 - R_{ts}), \qquad
               R_{tr} = \frac{2^{g_{tr}} - 1}{2^{g_{\max}}}:

    a reader who means subtopic t, with probability :math:`w_t`, goes down the ranking and is satisfied at
    rank r with probability :math:`R_{tr}`, by the grade :math:`g_{tr}` of the item there.

    Parameters
    ----------
    ranking, judgements, k
        As in :func:`subtopic_recall`. Membership in a set, or True, is grade 1.
    weights : mapping or array_like of shape (n_subtopics,), optional
        How probable each subtopic is, up to a factor: by subtopic where ``judgements`` is a mapping, else by
        column. Equal if left out. Those of subtopics without a relevant item are dropped.
    max_grade : float, optional
        The highest grade there is; the highest in ``judgements`` if left out. Give it to compare queries.
    normalized : bool
        Divide by the score of a ranking in which every item has the highest grade for every subtopic. With
        grades 0 and 1 and equal weights this is the ERR-IA of ndeval at its default alpha of 0.5, for k > 1.

    Returns
    -------
    score : float
        Between 0 and 1; 0 where nothing is relevant.

    Examples
    --------
    >>> err_ia(["a", "c"], {"a": {1}, "b": {1}, "c": {2}})
    0.375
    """
    judged = read_judgements(ranking, judgements, k)
    if not judged.subtopics:
        return 0.0
    highest = float(judged.grades.max())
    top = highest if max_grade is None else as_number(max_grade, name="max_grade")
    if not highest <= top < math.inf:
        raise DiversetError(f"max_grade is {top}; there is a grade of {highest:g}, and none may be higher")
    satisfied = np.where(judged.ranked > 0.0, np.exp2(judged.ranked - top) - np.exp2(-top), 0.0)
    score = float(_weights(weights, judged) @ _expected_reciprocal_rank(satisfied))
    if normalized and judged.k:
        best = np.full((judged.k, 1), 1.0 - 2.0**-top)
        score /= float(_expected_reciprocal_rank(best)[0])
    return score


def precision_ia(
    ranking: Iterable[Any],
    judgements: Judgements,
    k: int | None = None,
    *,
    weights: Mapping[Any, float] | ArrayLike | None = None,
) -> float:
    r"""Intent-aware precision: the share of relevant items, averaged over subtopics ([AgrawalGollapudi2009]_).

    .. math::  \sum_t w_t\, \frac{1}{k} \bigl| \{ r \le k : t \in T(d_r) \} \bigr|,

    where T(d) are the subtopics item d is relevant to.

    Parameters
    ----------
    ranking, judgements, k
        As in :func:`subtopic_recall`; grades only count as relevant or not. The ranks that a ranking shorter
        than k lacks are not relevant.
    weights : mapping or array_like of shape (n_subtopics,), optional
        As in :func:`err_ia`.

    Returns
    -------
    score : float
        Between 0 and 1; 0 where nothing is relevant.

    Examples
    --------
    >>> precision_ia(["a", "b"], {"a": {1}, "b": {1}, "c": {2}})
    0.5
    """
    judged = read_judgements(ranking, judgements, k)
    if not judged.subtopics or not judged.k:
        return 0.0
    return float(_weights(weights, judged) @ (judged.ranked > 0.0).sum(axis=0)) / judged.k


def ndcg(ranking: Iterable[Any], judgements: Judgements, k: int | None = None) -> float:
    r"""Gain discounted by rank, compared with that of the best ranking; repetition costs nothing.

    .. math::  \mathrm{DCG} = \sum_{r=1}^{k} \frac{g(d_r)}{\log_2(1 + r)}, \qquad
               \mathrm{nDCG} = \mathrm{DCG} / \mathrm{DCG}_{\text{ideal}},

    where g(d) is the highest grade that item d has for any subtopic, and 0 without a judgement. The gain is the grade
    itself, as in the program trec_eval ([JarvelinKekalainen2002]_).

    Parameters
    ----------
    ranking, judgements, k
        As in :func:`subtopic_recall`. Membership in a set, or True, is grade 1.

    Returns
    -------
    score : float
        Between 0 and 1; 0 where nothing is relevant.

    Examples
    --------
    >>> round(ndcg(["b", "a"], {"a": {"x": 2}, "b": {"x": 1}}), 6)
    0.859719
    """
    judged = read_judgements(ranking, judgements, k)
    if not judged.subtopics or not judged.k:
        return 0.0
    ideal = np.sort(judged.grades.max(axis=1))[::-1][: judged.k]
    return _dcg(judged.ranked.max(axis=1)) / _dcg(ideal)


def precision(ranking: Iterable[Any], judgements: Judgements, k: int | None = None) -> float:
    """Share of the first k items that are relevant to any subtopic.

    Parameters
    ----------
    ranking, judgements, k
        As in :func:`subtopic_recall`; the ranks that a ranking shorter than k lacks are not relevant.

    Returns
    -------
    score : float
        Between 0 and 1; 0 for an empty ranking.

    Examples
    --------
    >>> precision(["a", "x"], {"a": {1, 2}, "b": {1}})
    0.5
    """
    judged = read_judgements(ranking, judgements, k)
    return float((judged.ranked > 0.0).any(axis=1).sum()) / judged.k if judged.k else 0.0


def _dcg(gains: FloatArray) -> float:
    """Sum of gains, each divided by the logarithm of its rank."""
    return math.fsum(gains / np.log2(np.arange(2.0, len(gains) + 2.0)))


def _expected_reciprocal_rank(satisfied: FloatArray) -> FloatArray:
    """Of each column: probabilities of being satisfied at each rank, if that is reached."""
    going_on = np.ones_like(satisfied)
    np.cumprod(1.0 - satisfied[:-1], axis=0, out=going_on[1:])
    result: FloatArray = (satisfied * going_on / np.arange(1.0, len(satisfied) + 1.0)[:, None]).sum(axis=0)
    return result


def _alpha_dcg(relevant: Any, alpha: float) -> float:
    """Discounted novelty-biased gain of ranked rows of relevance."""
    seen = np.cumsum(relevant, axis=0) - relevant
    return _dcg(np.where(relevant, (1.0 - alpha) ** seen, 0.0).sum(axis=1))


def _ideal_order(relevant: Any, k: int, alpha: float) -> Any:
    """Rows of relevance in the order of highest gain first; of equals, the first."""
    worth = np.ones(relevant.shape[1])
    left = relevant.any(axis=1)
    order: list[int] = []
    for _ in range(min(k, int(left.sum()))):
        gain = np.where(left, relevant @ worth, -1.0)
        best = int(np.argmax(gain >= gain.max() * (1.0 - 64.0 * EPS)))
        order.append(best)
        left[best] = False
        worth[relevant[best]] *= 1.0 - alpha
    return relevant[order]


def _weights(weights: Any, judged: Judged) -> FloatArray:
    """Probability of each subtopic that has a relevant item."""
    subtopics = judged.subtopics
    if weights is None:
        return np.full(len(subtopics), 1.0 / len(subtopics))
    if judged.given_subtopics < 0:
        if not isinstance(weights, Mapping):
            raise DiversetError("weights must be a mapping from subtopics to numbers, as judgements is one from items")
        missing = [subtopic for subtopic in subtopics if subtopic not in weights]
        if missing:
            raise DiversetError(f"weights has no entry for subtopic {missing[0]!r}")
        w = np.array([as_number(weights[subtopic], name=f"weights[{subtopic!r}]") for subtopic in subtopics])
    else:
        w = as_real(weights, name="weights", shape=(None,))
        if len(w) != judged.given_subtopics:
            raise DiversetError(f"weights has {len(w)} entries for {judged.given_subtopics} subtopics")
        w = w[subtopics]
    bad = ~(np.isfinite(w) & (w >= 0.0))
    if bad.any():
        at = int(np.argmax(bad))
        raise DiversetError(f"the weight of subtopic {subtopics[at]!r} is {w[at]}; it must be 0 or more")
    total = float(w.sum())
    if total == 0.0:
        raise DiversetError("the weights of all subtopics with a relevant item are 0; give one a positive weight")
    return w / total
