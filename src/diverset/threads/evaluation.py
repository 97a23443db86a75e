r"""How good threads are: against timelines that people wrote, and by themselves.

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

from diverset._typing import FloatArray, IntArray, RNGLike
from diverset.errors import DiversetError, SizeError
from diverset.numerics.validation import as_finite, as_number, check_count, check_finite, check_rows
from diverset.text import STOP_WORDS, rouge_words

__all__ = [
    "Bootstrap",
    "Score",
    "StoryScore",
    "bootstrap_mean",
    "coherence",
    "date_score",
    "interlopers_found",
    "story_score",
    "text_cosine",
    "timeline_rouge",
]

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
        How days are compared; ``align-many`` also looks at what is said to find the best day.
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
    """What each reference says on a day; nothing where it leaves the day out."""
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
    """Costs of aligning days: far apart, and, if asked for, about other things."""
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


# by themselves --------------------------------------------------------------------------------------------


def text_cosine(vectors: Any, nodes: IntArray, target: Any) -> float:
    """Cosine between the summed vectors of some documents and a target vector: the text's metric, between 0 and 1."""
    ours = np.asarray(vectors[check_rows(nodes, vectors.shape[0], name="nodes")].sum(axis=0), dtype=np.float64).ravel()
    theirs = np.asarray(target.toarray() if hasattr(target, "toarray") else target, dtype=np.float64).ravel()
    for name, vector in (("vectors", ours), ("target", theirs)):
        as_finite(vector, name=name, shape=(vectors.shape[1],))
    lengths = float(np.linalg.norm(ours)) * float(np.linalg.norm(theirs))
    return float(ours @ theirs) / lengths if lengths > 0.0 else 0.0


def coherence(vectors: Any, threads: Iterable[IntArray]) -> float:
    """Mean cosine between neighbours along the threads."""
    found = []
    check_finite(vectors.data, name="vectors")
    for thread in threads:
        thread = check_rows(thread, vectors.shape[0], name="a thread")
        if len(thread) > 1:
            steps = vectors[thread[:-1]].multiply(vectors[thread[1:]]).sum(axis=1)
            found.append(float(np.mean(np.asarray(steps))))
    return float(np.mean(found)) if found else 0.0


def interlopers_found(
    vectors: Any, threads: Iterable[IntArray], *, n: int = 2, trials: int = 20, rng: RNGLike = None
) -> float:
    """How many of n strangers put into a thread a text model picks out, on average.

    The stand-in for the text's paid raters: the model points at the n documents that are least similar, by the mean
    cosine, to the others of the thread. Easily found strangers mean a coherent thread. Of documents that are equally
    dissimilar, as those that share no word with any other, it points at any.

    Parameters
    ----------
    vectors : csr_array of shape (n_documents, n_terms)
        Unit vectors.
    threads : iterable of ndarray
        The threads.
    n : int
        Strangers put into each.
    trials : int
        Random choices of strangers for each thread.
    rng : int, Generator or None
        Seed or generator.
    """
    generator = np.random.default_rng(rng)
    count, rounds = check_count(n, name="n"), check_count(trials, name="trials")
    found = []
    check_finite(vectors.data, name="vectors")
    for thread in threads:
        thread = check_rows(thread, vectors.shape[0], name="a thread")
        others = np.setdiff1d(np.arange(vectors.shape[0]), thread)
        if len(others) < count:
            raise SizeError(
                f"n is {count}, and {len(others)} documents are outside of a thread; put in fewer strangers"
            )
        for _ in range(rounds):
            strangers = generator.choice(others, size=count, replace=False)
            X = vectors[np.concatenate([thread, strangers])]
            S = np.asarray((X @ X.T).toarray())
            np.fill_diagonal(S, 0.0)
            likeness, stranger = S.mean(axis=1), np.arange(len(S)) >= len(thread)
            last = np.partition(likeness, count - 1)[count - 1]
            sure, tied = likeness < last, likeness == last
            found.append((sure & stranger).sum() + (count - sure.sum()) * stranger[tied].mean())
    return float(np.mean(found)) if found else 0.0


class StoryScore(NamedTuple):
    """How well threads follow known stories; see :func:`story_score`."""

    purity: float
    matched: float
    coverage: float


def story_score(threads: Iterable[IntArray], stories: Sequence[Any]) -> StoryScore:
    """Purity of threads, where the story of every document is known.

    Parameters
    ----------
    threads : iterable of ndarray
        The threads, as numbers of documents.
    stories : sequence
        The story of every document; None for documents that belong to none.

    Returns
    -------
    purity : float
        Share of the documents of a thread in its most frequent story, averaged over threads: the purity of
        clusterings. Threads that all tell one story can reach 1.
    matched : float
        The same, but each story counts for one thread only, in the best matching of threads and stories (Hungarian
        algorithm): what is asked of a set of threads.
    coverage : float
        Stories that make up more than half of some thread, as a share of those that the threads could tell.

    Examples
    --------
    >>> story_score([[0, 1], [2, 4], [3, 4]], ["a", "a", "b", "a", None])
    StoryScore(purity=0.6666666666666666, matched=0.5, coverage=0.5)
    """
    from scipy.optimize import linear_sum_assignment

    names = {story: j for j, story in enumerate(dict.fromkeys(story for story in stories if story is not None))}
    found = [np.asarray(thread, dtype=np.int64) for thread in threads]
    if not names or not found or min(map(len, found)) == 0:
        raise DiversetError("there is nothing to score; give threads that are not empty, and documents with stories")
    shares = np.zeros((len(found), len(names)))
    for t, thread in enumerate(found):
        for i in thread.tolist():
            if stories[i] is not None:
                shares[t, names[stories[i]]] += 1.0 / len(thread)
    rows, columns = linear_sum_assignment(shares, maximize=True)
    told = np.unique(shares.argmax(axis=1)[shares.max(axis=1) > 0.5])
    return StoryScore(
        float(shares.max(axis=1).mean()),
        float(shares[rows, columns].sum() / len(found)),
        len(told) / min(shares.shape),
    )


class Bootstrap(NamedTuple):
    """A mean with an interval, and the probability that it is above zero."""

    mean: float
    low: float
    high: float
    above_zero: float


def bootstrap_mean(values: Any, *, level: float = 0.95, draws: int = 10_000, rng: RNGLike = 0) -> Bootstrap:
    """Mean of values with a percentile interval; of differences between two systems, their significance."""
    x = np.asarray(values, dtype=np.float64)
    if x.ndim != 1 or len(x) == 0:
        raise DiversetError(f"values have shape {x.shape}; give at least one number")
    as_finite(x, name="values", shape=(None,))
    level = as_number(level, name="level")
    if not 0.0 < level < 1.0:
        raise DiversetError(f"level is {level}; it must lie between 0 and 1")
    generator = np.random.default_rng(rng)
    means = x[generator.integers(0, len(x), size=(check_count(draws, name="draws"), len(x)))].mean(axis=1)
    low, high = np.quantile(means, [(1.0 - level) / 2.0, (1.0 + level) / 2.0])
    return Bootstrap(float(x.mean()), float(low), float(high), float((means > 0.0).mean()))
