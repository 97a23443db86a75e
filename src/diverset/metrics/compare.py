"""Comparison of methods: quality kept, redundancy of the picks, and scores from judgements."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from diverset import baselines
from diverset._result import Result
from diverset._typing import FloatArray, IntArray, RNGLike
from diverset.errors import DiversetError
from diverset.inference.problem import Problem, check_dial
from diverset.inference.similarity import SimilarityLike
from diverset.metrics.intents import Query, alpha_ndcg, ndcg, precision, read_queries, subtopic_recall
from diverset.metrics.similarity import vendi_score
from diverset.numerics.validation import as_generator, as_number

__all__ = ["DIALS", "HEADINGS", "MEASURES", "METHODS", "Comparison", "Setting", "compare", "difference", "shown"]

#: Methods that have a dial, and those that have none. "dpp" is :func:`diverset.select`.
_WITH_DIAL = ("dpp", "mmr", "max-sum", "max-min", "facility-location")
METHODS = (*_WITH_DIAL, "top-k", "random")
#: Settings of the dial that are tried.
DIALS = tuple(i / 10 for i in range(1, 11))
#: Measures from judgements, and their headings.
MEASURES = {"alpha_ndcg": "alpha-nDCG", "ndcg": "nDCG", "subtopic_recall": "subtopic recall", "precision": "precision"}
#: Those, and measures of the picks alone.
HEADINGS = MEASURES | {
    "kept": "quality kept",
    "redundancy": "redundancy",
    "log_volume": "log-volume",
    "vendi_score": "Vendi score",
    "overlap": "shared with top-k",
}
_SCORES = (alpha_ndcg, ndcg, subtopic_recall, precision)
_RESAMPLES = 10_000
_HALVES = 100
#: With more candidates than this, methods that compare all pairs run only if they are named.
_MOST_FOR_PAIRS = 5000


@dataclass(frozen=True, eq=False)
class Setting:
    """A method at one setting of its dial, which is None for a method without a dial.

    `picks` are positions among the candidates of each query, in pick order. `numbers` are means over the queries, by
    the names in :data:`HEADINGS`; None where a number is not defined. `gains` holds, for each measure from judgements,
    the mean difference to top-k and its 95% interval (paired bootstrap over queries; NaN for a single query).
    """

    method: str
    dial: float | None
    picks: tuple[IntArray, ...]
    numbers: dict[str, float | None]
    gains: dict[str, tuple[float, float, float]]

    @property
    def name(self) -> str:
        """The method and its dial."""
        return self.method if self.dial is None else f"{self.method} at {self.dial:g}"


@dataclass(frozen=True, eq=False)
class Comparison(Result):
    """Methods at several settings of their dials, and the scores of each setting.

    Parameters
    ----------
    settings : tuple of Setting
        Everything that was tried, by method and dial.
    chosen : Setting or None
        The setting to use. With judgements it has the highest `measure`; it is top-k if such a choice loses to top-k on
        other queries. Without judgements, it is the least redundant setting of the first method that keeps the
        requested share of quality. None without judgements and quality.
    best : dict of Setting
        By the same rule, the best setting of every method.
    measure : str or None
        The measure that decides; None without judgements.
    queries : tuple
        Names of the queries; ``(None,)`` for a single one.
    notes : tuple of str
        Remarks about the comparison.
    """

    _page: ClassVar[str] = "compare"

    settings: tuple[Setting, ...]
    chosen: Setting | None
    best: dict[str, Setting]
    measure: str | None
    queries: tuple[Any, ...]
    notes: tuple[str, ...] = ()

    @property
    def columns(self) -> list[str]:
        """Names of the numbers that are defined for at least one setting."""
        return [name for name in HEADINGS if any(each.numbers.get(name) is not None for each in self.settings)]

    @property
    def headline(self) -> list[Setting]:
        """The settings that matter most: the whole dial of the first method, and the best setting of the others."""
        first = self.settings[0].method
        return [each for each in self.settings if each.method == first or each is self.best[each.method]]

    def records(self) -> list[dict[str, Any]]:
        """One dictionary for each setting, for a table."""
        rows = []
        for each in self.settings:
            row: dict[str, Any] = {"method": each.method, "diversity": each.dial, "chosen": each is self.chosen}
            for name in self.columns:
                row[name] = each.numbers[name]
                if name in each.gains:
                    row |= zip((f"{name}_gain", f"{name}_gain_low", f"{name}_gain_high"), each.gains[name], strict=True)
            rows.append(row)
        return rows

    @property
    def rows(self) -> list[dict[str, Any]]:
        """The same as :meth:`records`."""
        return self.records()

    def to_dict(self) -> dict[str, Any]:
        """All settings with their numbers and picks, in a form that JSON can hold."""
        rows = [
            row | {"picks": [picks.tolist() for picks in each.picks]}
            for row, each in zip(self.records(), self.settings, strict=True)
        ]
        chosen = None if self.chosen is None else self.chosen.name
        return {"chosen": chosen, "measure": self.measure, "settings": rows, "notes": list(self.notes)}

    def curve(self, method: str) -> list[Setting]:
        """The settings of one method, in the order of its dial."""
        return sorted((each for each in self.settings if each.method == method), key=lambda each: each.dial or 0.0)

    def __iter__(self) -> Iterator[Setting]:
        return iter(self.settings)

    def __len__(self) -> int:
        return len(self.settings)

    def __str__(self) -> str:
        columns = self.columns
        lines = [["", "method", *(HEADINGS[name] for name in columns)]]
        for each in self.headline:
            lines.append(["*" * (each is self.chosen), each.name, *(shown(each.numbers[name]) for name in columns)])
        widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
        cell = "{:<{}} {:<{}}" + "  {:>{}}" * len(columns)
        table = [cell.format(*(x for pair in zip(line, widths, strict=True) for x in pair)).rstrip() for line in lines]
        return "\n".join([*table, *self.notes])


def shown(value: float | None) -> str:
    """A number in the form in which it is printed."""
    return "-" if value is None else f"{value:.3f}" if math.isfinite(value) else "none"


def difference(setting: Setting, measure: str) -> str:
    """The gain over top-k with its interval, in the form in which it is printed."""
    return _span(setting.gains[measure])


def _span(gain: Iterable[float]) -> str:
    mean, low, high = gain
    return f"{mean:+.3f}" if math.isnan(low) else f"{mean:+.3f} [{low:+.3f}, {high:+.3f}]"


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
    its difference to top-k. Without, the comparison shows how much quality each setting keeps, and how redundant its
    picks are.

    Parameters
    ----------
    features : array_like of shape (n_items, n_features), or list of tuples
        Candidates as in :func:`diverset.select`. For several queries, a list of ``(features, quality, judgements)``, or
        one table with `queries`.
    judgements : mapping or array_like, optional
        Which items are relevant: one grade for each item (clicks, say), a matrix with one column for each subtopic, or
        a mapping from items to their subtopics as in :func:`diverset.metrics.alpha_ndcg`. With `queries`, a mapping
        from queries to such mappings, which is what :func:`diverset.metrics.read_qrels` returns.
    methods : sequence of str, optional
        Of "dpp" (:func:`diverset.select`) and the names in :mod:`diverset.baselines`. All by default, except facility
        location beyond 5,000 candidates, since it compares all pairs. Top-k is always tried.
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
    k, quality, scale, similarity, given, exclude, min_quality, lower_is_better, rng
        As for :func:`diverset.select`; `rng` is for the random picks.

    Returns
    -------
    Comparison
        Prints as a table. ``chosen`` is the setting to use, ``rows`` and ``to_frame()`` hold all settings.

    Notes
    -----
    Intervals come from resampling the queries 10,000 times, the same resamples for every setting. The setting with the
    highest mean was selected on the same queries, so its own interval is optimistic. The notes therefore give a second
    one: a setting is chosen on one half of the queries and scored on the other, over 100 random halves.

    Without judgements there is no neutral way to choose among methods: MMR minimises redundancy, and a DPP maximises
    the log-volume. Only the dial of the first method is chosen then.

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
    has_quality = found[0].problem.quality is not None
    tried = dials if has_quality else [1.0]
    judged = [q for q, query in enumerate(found) if query.table is not None and (query.table > 0.0).any()]
    decides = _check_measure(measure, found, bool(judged))
    generator = as_generator(rng)
    pairs = [(name, dial) for name in names for dial in (tried if name in _WITH_DIAL else (None,))]
    picks = [tuple(_pick(query, name, dial, generator) for query in found) for name, dial in pairs]
    reference = pairs.index(("top-k", None))
    # By query, setting and measure.
    scores = np.array([[_scores(found[q], own[q]) for own in picks] for q in judged])
    gains = _interval(scores - scores[:, [reference]]) if decides else None
    settings = []
    for s, ((name, dial), own) in enumerate(zip(pairs, picks, strict=True)):
        numbers, gained = _facts(found, own, picks[reference]), {}
        if gains is not None:
            numbers |= zip(MEASURES, scores[:, s].mean(axis=0).tolist(), strict=True)
            gained = dict(zip(MEASURES, map(tuple, gains[:, s].T.tolist()), strict=True))
        settings.append(Setting(name, dial, own, numbers, gained))
    best = {name: _best([each for each in settings if each.method == name], decides, share) for name in names}
    notes += _sameness(settings, picks[reference])
    chosen: Setting | None = None
    if decides:
        if len(judged) < len(found):
            missing = len(found) - len(judged)
            notes.append(f"{missing} of {len(found)} queries have no relevant item, and are left out of the scores")
        own_scores = scores[:, :, list(MEASURES).index(decides)].T
        chosen, more = _decide(
            _best(settings, decides, share), settings[reference], own_scores, own_scores[reference], decides
        )
        notes += more
    elif has_quality:
        chosen = _best([each for each in settings if each.method in (names[0], "top-k")], None, share)
        notes.append(_advice(chosen, names[0], share))
    return Comparison(tuple(settings), chosen, best, decides, tuple(query.name for query in found), tuple(notes))


def _check_methods(methods: Sequence[str]) -> list[str]:
    names = [str(name).replace("_", "-") for name in ([methods] if isinstance(methods, str) else methods)]
    for name in names:
        if name not in METHODS:
            raise DiversetError(f"there is no method {name!r}; choose from {', '.join(METHODS)}")
    if not names:
        raise DiversetError(f"no methods named; choose from {', '.join(METHODS)}")
    return list(dict.fromkeys([*names, "top-k"]))


def _check_measure(measure: str | None, found: Sequence[Query], judged: bool) -> str | None:
    """The measure that decides; None without judgements."""
    tables = [query.table for query in found if query.table is not None]
    if not tables:
        if measure is not None:
            raise DiversetError(f"measure is {measure!r}, and there are no judgements; give them, or leave it out")
        return None
    if not judged:
        raise DiversetError("judgements name no relevant item, so there is nothing to score; check the names of items")
    if measure is None:
        return "alpha_ndcg" if any((table > 0.0).any(axis=0).sum() > 1 for table in tables) else "ndcg"
    if measure not in MEASURES:
        raise DiversetError(f"measure is {measure!r}; choose from {', '.join(MEASURES)}")
    return measure


def _pick(query: Query, method: str, dial: float | None, generator: np.random.Generator) -> IntArray:
    problem = query.problem
    if method == "top-k":
        return problem.best(problem.k)
    if method == "dpp":
        return problem.greedy(dial or 0.0, problem.k, problem.given, problem.limits).positions
    # Baselines have fewer options, so the limits are passed as a mask of the items that cannot be picked.
    options: dict[str, Any] = {"rng": generator} if method == "random" else {"diversity": dial}
    options |= {"quality": problem.quality, "scale": problem.scale, "similarity": query.similarity}
    options |= {"given": problem.given, "exclude": ~problem.limits.available}
    found = getattr(baselines, method.replace("-", "_"))(query.features, problem.k, **options)
    return np.asarray(found.indices, dtype=np.int64)


def _scores(query: Query, picks: IntArray) -> list[float]:
    """The measures from judgements."""
    assert query.table is not None
    assert query.row_of is not None
    ranking = query.row_of[picks].tolist()
    return [score(ranking, query.table, query.problem.k) for score in _SCORES]


def _facts(found: Sequence[Query], picks: Sequence[IntArray], top: Sequence[IntArray]) -> dict[str, float | None]:
    """Measures of the picks alone, means over the queries for which they are defined."""
    rows = [_facts_of(query.problem, own, best) for query, own, best in zip(found, picks, top, strict=True)]
    defined = {name: [x for row in rows if (x := row[name]) is not None] for name in rows[0]}
    return {name: float(np.mean(values)) if values else None for name, values in defined.items()}


def _facts_of(problem: Problem, picks: IntArray, top: IntArray) -> dict[str, float | None]:
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


def _interval(differences: FloatArray) -> FloatArray:
    """Mean over queries (first axis) and its 95% bootstrap interval, with the same resamples for all columns."""
    n, mean = len(differences), differences.mean(axis=0)
    if n < 2:
        return np.stack([mean, mean + math.nan, mean + math.nan])
    weights = np.random.default_rng(0).multinomial(n, np.full(n, 1.0 / n), size=_RESAMPLES) / n
    means = np.tensordot(weights, differences, axes=1)
    return np.stack([mean, *np.quantile(means, [0.025, 0.975], axis=0)])


def _sameness(settings: Sequence[Setting], top: Sequence[IntArray]) -> list[str]:
    """Says which methods never differ from top-k."""
    with_dial = [each for each in settings if each.method in _WITH_DIAL]
    differ = {
        each.method for each in with_dial if any(len(np.setxor1d(a, b)) for a, b in zip(each.picks, top, strict=True))
    }
    equals = list(dict.fromkeys(each.method for each in with_dial if each.method not in differ))
    if not equals:
        return []
    who = f"{' and '.join(equals)} pick{'s' * (len(equals) == 1)}" if differ else "every method picks"
    return [f"{who} the same items as top-k at every setting of the dial"]


def _decide(
    best: Setting, top: Setting, scores: FloatArray, reference: FloatArray, measure: str
) -> tuple[Setting, list[str]]:
    """The setting to use, and remarks: top-k, if a setting chosen on half of the queries loses to it on the others."""
    words, n = MEASURES[measure], len(reference)
    if n < 2:
        return best, [f"{best.name} has the highest {words}, on one query: judge more before you rely on it"]
    gain = _interval(_held_out(scores) - reference)
    verdict = "" if gain[1] > 0.0 else "; that may be chance" if gain[2] >= 0.0 else ", so use top-k"
    return top if gain[2] < 0.0 else best, [
        f"{best.name} has the highest {words}: {best.numbers[measure]:.3f}, {difference(best, measure)} against top-k "
        f"over {n} queries",
        f"chosen on one half of the queries, a setting gains {_span(gain)} on the other half{verdict}",
    ]


def _held_out(scores: FloatArray) -> FloatArray:
    """Score of each query at the setting that is best on a half of the queries without it, a mean over many halves."""
    n = scores.shape[1]
    generator = np.random.default_rng(0)
    sums, counts = np.zeros(n), np.zeros(n)
    for _ in range(_HALVES):
        order = generator.permutation(n)
        halves = order[: n // 2], order[n // 2 :]
        for own, other in (halves, halves[::-1]):
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
    best = f"of the settings of {method} that keep {share:.0%} of quality, {chosen.dial:g} is the least redundant"
    return f"{best}: it keeps {kept:.0%}" + ("" if redundancy is None else f", with redundancy {redundancy:.2f}")
