r"""Threads against timelines that people wrote.

A *timeline* is a mapping from days to texts. The date-aware variants of ROUGE are those of [MartschatMarkert2017]_:
days are compared with days, as a whole (``concat``), where both timelines have an entry (``agree``), or after days have
been aligned (``align`` one to one, ``align-many`` each day to its best), at a discount of :math:`1/(1 + |d - d'|)`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import date
from typing import Any, NamedTuple

import numpy as np

from diverset._typing import FloatArray, IntArray
from diverset.errors import DiversetError
from diverset.numerics.validation import check_count
from diverset.text import STOP_WORDS, rouge_words

__all__ = ["Score", "date_score", "text_cosine", "timeline_rouge"]

Timeline = Mapping[date, str | Sequence[str]]
MODES = ("concat", "agree", "align", "align-many")


class Score(NamedTuple):
    """Precision, recall, and their harmonic mean."""

    precision: float
    recall: float
    f: float


def _score(precision: float, recall: float) -> Score:
    both = precision + recall
    return Score(precision, recall, 2.0 * precision * recall / both if both > 0.0 else 0.0)


def date_score(predicted: Iterable[date], references: Iterable[date]) -> Score:
    """How many of the predicted days are in the references, and the reverse.

    Examples
    --------
    >>> date_score([date(2005, 2, 24), date(2005, 4, 2)], [date(2005, 4, 2)])
    Score(precision=0.5, recall=1.0, f=0.6666666666666666)
    """
    ours, theirs = set(predicted), set(references)
    both = len(ours & theirs)
    return _score(both / len(ours) if ours else 0.0, both / len(theirs) if theirs else 0.0)


# ROUGE over days ------------------------------------------------------------------------------------------


def _content(text: str) -> list[str]:
    """Stems of a text without stop words, as is usual for timelines."""
    return [word for word in rouge_words(text, stemming=True) if word not in STOP_WORDS]


def timeline_rouge(
    predicted: Timeline,
    references: Sequence[Timeline],
    *,
    mode: str = "concat",
    n: int = 1,
    analyzer: Callable[[str], list[str]] = _content,
) -> Score:
    """ROUGE-n of a timeline against one or more others.

    Parameters
    ----------
    predicted : mapping of date to str or sequence of str
        Texts of each day.
    references : sequence of such mappings
        What people wrote.
    mode : {"concat", "agree", "align", "align-many"}
        How days are compared; ``align-many`` also compares the texts to find the best day.
    n : int
        Length of the word sequences.
    analyzer : callable
        From a text to its words; stems without stop words by default.
    """
    if mode not in MODES:
        raise DiversetError(f"mode is {mode!r}; choose one of {', '.join(MODES)}")
    size = check_count(n, name="n")
    ours = {day: _words(text, analyzer) for day, text in predicted.items()}
    theirs = [{day: _words(text, analyzer) for day, text in timeline.items()} for timeline in references]
    if mode == "concat":
        hits, p, r = _overlap(_in_order(ours), [_in_order(timeline) for timeline in theirs], size)
        return _score(hits / p if p else 0.0, hits / r if r else 0.0)
    days, others = sorted(ours), sorted(set().union(*theirs))
    if mode == "agree":
        pairs = [(day, day, 1.0) for day in days if day in set(others)]
        return _aligned(ours, theirs, pairs, pairs, size)
    cost = _costs(ours, theirs, days, others, content=mode == "align-many")
    forward, back = (_one_to_one, _one_to_one) if mode == "align" else (_to_best, _to_best)
    by_precision = [(days[i], others[j], _near(days[i], others[j])) for i, j in forward(cost)]
    by_recall = [(days[j], others[i], _near(days[j], others[i])) for i, j in back(cost.T)]
    return _aligned(ours, theirs, by_precision, by_recall, size)


def _words(text: str | Sequence[str], analyzer: Callable[[str], list[str]]) -> list[str]:
    return [word for part in ([text] if isinstance(text, str) else text) for word in analyzer(part)]


def _in_order(days: Mapping[date, list[str]]) -> list[str]:
    return [word for day in sorted(days) for word in days[day]]


def _grams(words: list[str], n: int) -> Counter[Any]:
    return Counter(zip(*(words[i:] for i in range(n)), strict=False))


def _overlap(words: list[str], references: Sequence[list[str]], n: int) -> tuple[int, int, int]:
    """Sequences in common with all references, those of the words for each reference, and those of the references."""
    ours = _grams(words, n)
    theirs = [_grams(reference, n) for reference in references]
    hits = sum((ours & other).total() for other in theirs)
    return hits, len(theirs) * ours.total(), sum(other.total() for other in theirs)


def _near(a: date, b: date) -> float:
    return 1.0 / (abs(a.toordinal() - b.toordinal()) + 1.0)


def _of_day(theirs: Sequence[Mapping[date, list[str]]], day: date) -> list[list[str]]:
    """The text of each reference on a day; empty if it leaves the day out."""
    return [timeline.get(day, []) for timeline in theirs]


def _aligned(
    ours: Mapping[date, list[str]],
    theirs: Sequence[Mapping[date, list[str]]],
    by_precision: Sequence[tuple[date, date, float]],
    by_recall: Sequence[tuple[date, date, float]],
    n: int,
) -> Score:
    """Precision and recall over aligned days; days without a partner count in the denominators."""
    found = possible = 0.0
    partners = {day: (other, weight) for day, other, weight in by_precision}
    for day, words in ours.items():
        if day in partners:
            hits, total, _ = _overlap(words, _of_day(theirs, partners[day][0]), n)
            found += partners[day][1] * hits
        else:
            total = len(theirs) * _grams(words, n).total()
        possible += total
    precision = found / possible if possible else 0.0
    found = possible = 0.0
    partners = {other: (day, weight) for day, other, weight in by_recall}
    for other in set().union(*theirs):
        said = _of_day(theirs, other)
        total = sum(_grams(words, n).total() for words in said)
        if other in partners:
            found += partners[other][1] * _overlap(ours[partners[other][0]], said, n)[0]
        possible += total
    return _score(precision, found / possible if possible else 0.0)


def _costs(ours: Any, theirs: Any, days: list[date], others: list[date], *, content: bool) -> FloatArray:
    """Costs of aligning days: the distance in time and, on request, that of the texts."""
    cost = np.array([[1.0 - _near(a, b) for b in others] for a in days]).reshape(len(days), len(others))
    if content:
        for i, a in enumerate(days):
            for j, b in enumerate(others):
                hits, p, r = _overlap(ours[a], _of_day(theirs, b), 1)
                cost[i, j] *= 1.0 - _score(hits / p if p else 0.0, hits / r if r else 0.0).f
    return cost


def _one_to_one(cost: FloatArray) -> list[tuple[int, int]]:
    from scipy.optimize import linear_sum_assignment

    return list(zip(*(index.tolist() for index in linear_sum_assignment(cost)), strict=True))


def _to_best(cost: FloatArray) -> list[tuple[int, int]]:
    return [(i, int(j)) for i, j in enumerate(cost.argmin(axis=1))] if cost.size else []


def text_cosine(vectors: Any, nodes: IntArray, target: FloatArray) -> float:
    """Cosine between the summed vectors of some documents and a target vector: the monograph's measure."""
    ours = np.asarray(vectors[nodes].sum(axis=0), dtype=np.float64).ravel()
    lengths = float(np.linalg.norm(ours)) * float(np.linalg.norm(target))
    return float(ours @ target) / lengths if lengths > 0.0 else 0.0
