"""Comparison of methods: quality kept, redundancy of the picks, and scores from judgements."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from diverset import baselines
from diverset._typing import FloatArray, IntArray, RNGLike
from diverset.errors import DiversetError
from diverset.inference.problem import Problem, check_dial
from diverset.inference.similarity import SimilarityLike
from diverset.metrics.comparison import HEADINGS, MEASURES, Comparison, Setting
from diverset.metrics.intents import alpha_ndcg, ndcg, precision, subtopic_recall
from diverset.metrics.queries import Query, read_queries
from diverset.metrics.similarity import vendi_score
from diverset.numerics.validation import as_number

__all__ = ["DIALS", "METHODS", "Comparison", "compare"]

#: Methods that have a dial, and those that have none. "dpp" is :func:`diverset.select`.
_WITH_DIAL = ("dpp", "mmr", "max-sum", "max-min", "facility-location")
METHODS = (*_WITH_DIAL, "top-k", "random")
#: Settings of the dial that are tried.
DIALS = tuple(i / 10 for i in range(1, 11))
_SCORES = {"alpha_ndcg": alpha_ndcg, "ndcg": ndcg, "subtopic_recall": subtopic_recall, "precision": precision}
_RESAMPLES = 10_000
_HALVES = 100
#: With more candidates than this, methods that compare all pairs run only if they are named.
_MOST_FOR_PAIRS = 5000


def compare(
    features: Any,
    k: int | float = 10,
    *,
    quality: Any = None,
    judgements: Any = None,
    methods: Sequence[str] | None = None,
    dials: Iterable[float] = DIALS,
    measure: str | None = None,
    keep: float = 0.9,
    queries: Any = None,
    ids: Any = None,
    scale: str | None = "rank",
    similarity: SimilarityLike = "cosine",
    given: Any = None,
    exclude: Any = None,
    min_quality: float | None = None,
    lower_is_better: bool = False,
    rng: RNGLike = 0,
) -> Comparison:
    """Pick by several methods along their dials, and say which setting to use.

    With judgements, every setting is scored by alpha-nDCG, nDCG, subtopic recall and precision at k, with intervals of
    its difference to top-k. Without, the comparison shows the trade-off: how much quality each setting keeps, and how
    redundant its picks are.

    Parameters
    ----------
    features : array_like of shape (n_items, n_features), or list of tuples
        Candidates, as :func:`diverset.select` takes them. Several queries come as a list of
        ``(features, quality, judgements)``, or as one table with `queries`.
    k : int or float
        Number of picks for each query, or a share of its candidates.
    quality : array_like of shape (n_items,), optional
        Scores. Higher is better.
    judgements : mapping or array_like, optional
        Which items are relevant: one grade for each item (clicks, say), a matrix with one column for each subtopic, or
        a mapping from items to their subtopics as in :func:`diverset.metrics.alpha_ndcg`. With `queries`, a mapping
        from queries to such mappings, which is what :func:`diverset.metrics.read_qrels` returns.
    methods : sequence of str, optional
        Of "dpp" (:func:`diverset.select`), "mmr", "max-sum", "max-min", "facility-location", "top-k" and "random"
        (:mod:`diverset.baselines`). All by default, except facility location beyond 5,000 candidates, since it compares
        all pairs. Top-k is always tried.
    dials : iterable of float
        Values of ``diversity``. Without quality, 1 alone is tried: all others pick the same items.
    measure : {"alpha_ndcg", "ndcg", "subtopic_recall", "precision"}, optional
        The measure that decides, with judgements. By default alpha-nDCG if there are several subtopics, else nDCG.
    keep : float
        The share of quality to keep, which decides without judgements.
    queries : array_like of shape (n_items,), optional
        The query that each item is a candidate for.
    ids : sequence of length n_items, optional
        What items are called in a mapping of judgements. By default the index of a data frame, or positions.
    scale, similarity, given, exclude, min_quality, lower_is_better
        As for :func:`diverset.select`.
    rng : int, Generator or None
        For the random picks.

    Returns
    -------
    Comparison
        Prints as a table. ``chosen`` is the setting to use, ``rows`` and ``to_frame()`` hold everything.

    Notes
    -----
    Intervals come from resampling the queries 10,000 times, the same resamples for every setting. The setting with the
    highest mean was selected on the same queries, so its own interval is optimistic. The notes therefore give a second
    one: a setting is chosen on one half of the queries and scored on the other, over 100 random halves.

    Without judgements there is no neutral way to choose among methods: redundancy is what MMR makes small, and the
    log-volume what a DPP makes large. Only the dial of the first method is chosen then.

    Examples
    --------
    >>> import diverset as dv
    >>> X = [[1.0, 0.0], [1.0, 0.05], [0.0, 1.0], [0.5, 1.0]]
    >>> found = dv.compare(X, k=2, quality=[0.9, 0.8, 0.7, 0.1], methods=["dpp"], dials=[0.5, 1.0], keep=0.6)
    >>> print(found)
      method      quality kept  redundancy  log-volume  Vendi score  shared with top-k
    * dpp at 0.5         0.778       0.000       0.000        2.000              0.500
      dpp at 1           0.778       0.000       0.000        2.000              0.500
      top-k              1.000       0.999      -5.994        1.005              1.000
    of the settings of dpp that keep 60% of quality, 0.5 is the least redundant: it keeps 78%, with redundancy 0.00
    >>> found.chosen.picks[0]
    array([0, 2])
    """
    names = _check_methods(METHODS if methods is None else methods)
    share = as_number(keep, name="keep")
    if not 0.0 <= share <= 1.0:
        raise DiversetError(f"keep is {keep!r}; it is a share of quality, between 0 and 1")
    found = read_queries(
        features, k, quality, judgements, queries, ids, given, exclude,
        {"scale": scale, "similarity": similarity, "min_quality": min_quality, "lower_is_better": lower_is_better},
    )  # fmt: skip
    notes = []
    if methods is None and max(query.problem.n for query in found) > _MOST_FOR_PAIRS:
        names.remove("facility-location")
        notes.append(f"facility-location is left out beyond {_MOST_FOR_PAIRS:,} candidates; name it to try it")
    dials = [check_dial(dial) for dial in dials]
    if not dials:
        raise DiversetError("dials is empty; give settings of the dial between 0 and 1, such as [0.3, 0.5, 0.7]")
    tried = dials if found[0].problem.quality is not None else [1.0]
    judged = np.array([query.table is not None and bool((query.table > 0.0).any()) for query in found])
    decides = _check_measure(measure, found, judged)
    generator = np.random.default_rng(rng)
    pairs = [(name, dial) for name in names for dial in (tried if name in _WITH_DIAL else (None,))]
    picks = [tuple(_pick(query, name, dial, generator) for query in found) for name, dial in pairs]
    reference = pairs.index(("top-k", None))
    top = picks[reference]
    scores = np.array([[_scores(query, chosen) for query, chosen in zip(found, own, strict=True)] for own in picks])
    gains = [_gains(scores[s, judged] - scores[reference, judged]) if decides else {} for s in range(len(pairs))]
    settings = tuple(
        Setting(name, dial, own, _numbers(found, own, top, scores[s, judged]), gains[s])
        for s, ((name, dial), own) in enumerate(zip(pairs, picks, strict=True))
    )
    best = {name: _best([each for each in settings if each.method == name], decides, share) for name in names}
    notes += _sameness(settings, top)
    chosen: Setting | None = None
    if decides:
        missing = int((~judged).sum())
        if missing:
            notes.append(f"{missing} of {len(found)} queries have no relevant item, and are left out of the scores")
        own = scores[:, judged, list(MEASURES).index(decides)]
        chosen, more = _decide(_best(settings, decides, share), settings[reference], own, own[reference], decides)
        notes += more
    elif found[0].problem.quality is not None:
        chosen = _best([each for each in settings if each.method in (names[0], "top-k")], None, share)
        notes.append(_advice(chosen, names[0], share))
    return Comparison(settings, chosen, best, decides, tuple(query.name for query in found), tuple(notes))


def _check_methods(methods: Sequence[str]) -> list[str]:
    names = [methods] if isinstance(methods, str) else list(methods)
    names = [str(name).replace("_", "-") for name in names]
    for name in names:
        if name not in METHODS:
            raise DiversetError(f"there is no method {name!r}; choose from {', '.join(METHODS)}")
    if not names:
        raise DiversetError(f"no methods named; choose from {', '.join(METHODS)}")
    return list(dict.fromkeys([*names, "top-k"]))


def _check_measure(measure: str | None, found: Sequence[Query], judged: Any) -> str | None:
    """The measure that decides; None without judgements."""
    if all(query.table is None for query in found):
        if measure is not None:
            raise DiversetError(f"measure is {measure!r}, and there are no judgements; give them, or leave it out")
        return None
    if not judged.any():
        raise DiversetError("judgements name no relevant item, so there is nothing to score; check the names of items")
    if measure is None:
        several = any(((query.table > 0.0).any(axis=0)).sum() > 1 for query in found if query.table is not None)
        return "alpha_ndcg" if several else "ndcg"
    if measure not in MEASURES:
        raise DiversetError(f"measure is {measure!r}; choose from {', '.join(MEASURES)}")
    return measure


# picking and measuring ----------------------------------------------------------------------------------------------


def _pick(query: Query, method: str, dial: float | None, generator: np.random.Generator) -> IntArray:
    problem = query.problem
    if method == "top-k":
        return problem.best(problem.k)
    if method == "dpp":
        return problem.greedy(dial or 0.0, problem.k, problem.given, problem.limits).positions
    more: dict[str, Any] = {"rng": generator} if method == "random" else {"diversity": dial}
    # Their options are fewer, so what may be picked is passed as a list of the rest.
    found = getattr(baselines, method.replace("-", "_"))(
        query.features,
        problem.k,
        quality=problem.quality,
        scale=problem.scale,
        similarity=query.similarity,
        given=problem.given,
        exclude=~problem.limits.available,
        **more,
    )
    return np.asarray(found.indices, dtype=np.int64)


def _scores(query: Query, picks: IntArray) -> list[float]:
    """The measures from judgements; NaN without any."""
    if query.table is None or query.row_of is None:
        return [math.nan] * len(_SCORES)
    ranking = query.row_of[picks].tolist()
    return [score(ranking, query.table, query.problem.k) for score in _SCORES.values()]


def _numbers(
    found: Sequence[Query], picks: Sequence[IntArray], top: Sequence[IntArray], scores: FloatArray
) -> dict[str, float | None]:
    facts = [_facts(query.problem, own, best) for query, own, best in zip(found, picks, top, strict=True)]
    numbers: dict[str, float | None] = {name: None for name in HEADINGS}
    for name in facts[0]:
        values = [each[name] for each in facts if each[name] is not None]
        numbers[name] = float(np.mean(np.array(values, dtype=np.float64))) if values else None
    if len(scores):
        numbers |= dict(zip(MEASURES, scores.mean(axis=0).tolist(), strict=True))
    return numbers


def _facts(problem: Problem, picks: IntArray, top: IntArray) -> dict[str, float | None]:
    S = problem.similarity.among(picks)
    lengths = np.sqrt(np.maximum(np.diagonal(S), 0.0))
    vendi = None
    if len(picks) and lengths.min() > 0.0:
        unit = S / lengths[:, None] / lengths
        np.fill_diagonal(unit, 1.0)
        vendi = vendi_score((unit + unit.T) / 2.0, kernel="precomputed")
    return {
        "kept": problem.kept(picks),
        "redundancy": problem.redundancy(picks) if len(picks) > 1 else None,
        "log_volume": problem.similarity.log_det(picks),
        "vendi_score": vendi,
        "overlap": len(np.intersect1d(picks, top)) / len(picks) if len(picks) else None,
    }


# the recommendation --------------------------------------------------------------------------------------------------


def _best(settings: Sequence[Setting], measure: str | None, share: float) -> Setting:
    """The setting of the highest measure; without one, the least redundant that keeps the share of quality."""

    def worth(each: Setting) -> tuple[float, float]:
        kept, redundancy = each.numbers["kept"], -(each.numbers["redundancy"] or 0.0)
        if measure is not None:
            return each.numbers[measure] or 0.0, redundancy
        if kept is None or kept >= share - 1e-12:
            return 1.0, redundancy
        return kept - share, redundancy

    return max(settings, key=worth)


def _interval(differences: FloatArray) -> tuple[float, float, float]:
    """Mean over queries, and its 95% bootstrap interval (percentiles)."""
    mean = float(differences.mean())
    if len(differences) < 2:
        return mean, math.nan, math.nan
    low, high = np.quantile(_resamples(len(differences)) @ differences, [0.025, 0.975])
    return mean, float(low), float(high)


@lru_cache(maxsize=1)
def _resamples(n: int) -> FloatArray:
    """Weight of each of n queries in every resample; the same for all settings, so that differences are paired."""
    shares: FloatArray = np.random.default_rng(0).multinomial(n, np.full(n, 1.0 / n), size=_RESAMPLES) / n
    return shares


def _gains(differences: FloatArray) -> dict[str, tuple[float, float, float]]:
    return {name: _interval(differences[:, j]) for j, name in enumerate(MEASURES)}


def _sameness(settings: Sequence[Setting], top: Sequence[IntArray]) -> list[str]:
    """Says which methods never differ from top-k."""
    same: dict[str, bool] = {}
    for each in settings:
        if each.method in _WITH_DIAL:
            equal = all(set(a.tolist()) == set(b.tolist()) for a, b in zip(each.picks, top, strict=True))
            same[each.method] = same.get(each.method, True) and equal
    equals = [name for name, always in same.items() if always]
    if not equals:
        return []
    who = "every method picks" if len(equals) == len(same) else f"{' and '.join(equals)} pick{'s' * (len(equals) == 1)}"
    return [f"{who} the same items as top-k at every setting of the dial"]


def _decide(
    best: Setting, top: Setting, scores: FloatArray, reference: FloatArray, measure: str
) -> tuple[Setting, list[str]]:
    """The setting to use, and how sure that is.

    The best setting was chosen for its score on these queries. What such a choice is worth shows on queries that it was
    not made on. Where it loses to top-k there, top-k is the setting to use.
    """
    words, n = MEASURES[measure], len(reference)
    if n < 2:
        return best, [f"{best.name} has the highest {words}, on one query: judge more before you rely on it"]
    notes = [
        f"{best.name} has the highest {words}: {best.numbers[measure]:.3f}, {_span(best.gains[measure])} against top-k "
        f"over {n} queries"
    ]
    gain = _interval(_held_out(scores) - reference)
    verdict = "" if gain[1] > 0.0 else "; that may be chance" if gain[2] >= 0.0 else ", so use top-k"
    notes.append(f"chosen on one half of the queries, a setting gains {_span(gain)} on the other half{verdict}")
    return top if gain[2] < 0.0 else best, notes


def _span(gain: tuple[float, float, float]) -> str:
    return f"{gain[0]:+.3f} [{gain[1]:+.3f}, {gain[2]:+.3f}]"


def _held_out(scores: FloatArray) -> FloatArray:
    """Score of each query at the setting that is best on a half of the queries without it, a mean over many halves."""
    n = scores.shape[1]
    generator = np.random.default_rng(0)
    sums, counts = np.zeros(n), np.zeros(n)
    for _ in range(_HALVES):
        order = generator.permutation(n)
        for own, other in ((order[: n // 2], order[n // 2 :]), (order[n // 2 :], order[: n // 2])):
            sums[other] += scores[scores[:, own].mean(axis=1).argmax(), other]
            counts[other] += 1.0
    return sums / counts


def _advice(chosen: Setting, method: str, share: float) -> str:
    kept, redundancy = chosen.numbers["kept"], chosen.numbers["redundancy"]
    if kept is None:
        return "no item can be picked: the limits leave none"
    if chosen.dial is None:
        why = (
            f"no setting of {method} keeps {share:.0%} of quality" if method in _WITH_DIAL else f"{method} has no dial"
        )
        return f"{why}; {chosen.name} keeps {kept:.0%}"
    alike = "" if redundancy is None else f", with redundancy {redundancy:.2f}"
    return (
        f"of the settings of {method} that keep {share:.0%} of quality, {chosen.dial:g} is the least redundant: "
        f"it keeps {kept:.0%}{alike}"
    )
