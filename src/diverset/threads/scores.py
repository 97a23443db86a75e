r"""Scores of threads: purity by event, coherence, redundancy, and coverage of the days of human timelines.

Coherence is measured with words that the threads were *not* chosen by: :func:`hold_back` removes half of all words from
the documents; threads of the remaining text are scored with the removed words.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import date
from typing import Any, NamedTuple

import numpy as np

from diverset._typing import IntArray, RNGLike
from diverset.errors import DiversetError, SizeError
from diverset.numerics.validation import as_finite, as_generator, as_number, check_count, check_rows
from diverset.text import stem, words
from diverset.threads.corpus import Corpus, content_terms
from diverset.threads.documents import term_vectors

__all__ = [
    "Bootstrap",
    "StoryScore",
    "ThreadScores",
    "bootstrap_mean",
    "coherence",
    "compare",
    "evaluate",
    "hold_back",
    "interlopers_found",
    "story_score",
]

#: Length of the phrases, in words, that count as repeats.
_PHRASE = 4


@dataclass(frozen=True)
class ThreadScores:
    """Result of :func:`evaluate`; a measure is None if the labels that it needs were not given.

    Parameters
    ----------
    purity : float or None
        Share of a thread in its most frequent event, averaged over threads.
    one_to_one : float or None
        The same where every event counts for one thread only (Hungarian matching).
    told : int or None
        Events that make up more than half of some thread.
    coherence : float
        Mean cosine between neighbours of a thread, by the held-back words where these are given.
    recurrence : float
        Share of the (held-back) words of an item that appeared in an earlier item of its thread, each weighted by its
        rarity, averaged over all items but the first.
    strangers : float
        How many of two random documents added to a thread a text model finds; see :func:`interlopers_found`.
    redundancy : float
        Share of the four-word phrases of an item that are in an earlier item of any thread.
    repeats : int
        Number of items beyond the first occurrence of their document.
    days : float or None
        Of the days named by human timelines on which the corpus has an article of the event, the share on which some
        thread has one.
    chronology : float
        Share of the steps that go forward in time.
    """

    purity: float | None
    one_to_one: float | None
    told: int | None
    coherence: float
    recurrence: float
    strangers: float
    redundancy: float
    repeats: int
    days: float | None
    chronology: float

    def to_dict(self) -> dict[str, Any]:
        """The measures by name."""
        return asdict(self)


def evaluate(
    threads: Iterable[Sequence[int] | IntArray],
    corpus: Corpus,
    *,
    events: Sequence[Any] | None = None,
    days: Mapping[Any, Collection[date]] | None = None,
    judge: Any = None,
    rng: RNGLike = 0,
) -> ThreadScores:
    """Score threads by every measure that the given labels allow.

    Parameters
    ----------
    threads : iterable of sequences of int
        Positions of documents of the corpus.
    corpus : Corpus
        The documents, with times.
    events : sequence, optional
        The event of each document; None for a document of no event.
    days : mapping of event to days, optional
        The days that human timelines name.
    judge : csr_array of shape (n, n_terms), optional
        Vectors of held-back words, from :func:`hold_back`; all words by default.
    rng : int, Generator or None
        Seed or generator of the strangers.

    Returns
    -------
    ThreadScores

    Examples
    --------
    >>> from datetime import date
    >>> from diverset.threads import Corpus, evaluate
    >>> texts = ["flood in town", "flood water in town", "comet seen", "comet probe seen"]
    >>> corpus = Corpus(texts, [date(2020, 1, day) for day in (1, 2, 3, 4)])
    >>> found = evaluate([[0, 1], [2, 3]], corpus, events=["flood", "flood", "comet", "comet"])
    >>> found.one_to_one, found.told, found.chronology
    (1.0, 2, 1.0)
    """
    found = [check_rows(thread, len(corpus), name="a thread") for thread in threads]
    if not found or min(map(len, found)) == 0:
        raise DiversetError("there is nothing to score; give at least one thread, and no empty ones")
    if judge is not None:
        as_finite(judge.data, name="judge", shape=(None,))
    if corpus.times is None:
        raise DiversetError("the corpus has no times; threads are scored by them")
    vectors = term_vectors(corpus.texts, min_documents=1, max_share=1.0)[0] if judge is None else judge
    purity = one_to_one = told = None
    if events is not None:
        score = story_score(found, events)
        purity, one_to_one = score.purity, score.matched
        told = round(score.coverage * min(len(found), len({event for event in events if event is not None})))
    forward = np.concatenate([corpus.times[thread[:-1]] < corpus.times[thread[1:]] for thread in found])
    places = np.concatenate(found)
    outside = len(corpus) - max(map(len, found)) >= 2
    return ThreadScores(
        purity=purity,
        one_to_one=one_to_one,
        told=told,
        coherence=coherence(vectors, found),
        recurrence=_recurrence(vectors, found),
        strangers=interlopers_found(vectors, found, trials=5, rng=rng) if outside else 0.0,
        redundancy=_redundancy(corpus, found),
        repeats=len(places) - len(np.unique(places)),
        days=None if events is None or days is None else _days_reached(corpus, found, events, days),
        chronology=float(forward.mean()) if len(forward) else 1.0,
    )


def _recurrence(vectors: Any, threads: Sequence[IntArray]) -> float:
    """Share of the words of an item that an earlier item of its thread has, weighted by the log of their rarity."""
    rarity = np.log(vectors.shape[0] / np.maximum(np.bincount(vectors.indices, minlength=vectors.shape[1]), 1))
    found = []
    for thread in threads:
        for r in range(1, len(thread)):
            own, known = vectors[thread[r : r + 1]].indices, vectors[thread[:r]].indices
            if (total := rarity[own].sum()) > 0.0:
                found.append(rarity[np.intersect1d(own, known)].sum() / total)
    return float(np.mean(found)) if found else 0.0


def _redundancy(corpus: Corpus, threads: Sequence[IntArray]) -> float:
    seen: set[tuple[str, ...]] = set()
    shares = []
    for i in np.concatenate(threads).tolist():
        text = words(corpus.texts[i])
        phrases = set(zip(*(text[j:] for j in range(_PHRASE)), strict=False))
        if seen and phrases:
            shares.append(len(phrases & seen) / len(phrases))
        seen |= phrases
    return float(np.mean(shares)) if shares else 0.0


def _days_reached(
    corpus: Corpus, threads: Sequence[IntArray], events: Sequence[Any], days: Mapping[Any, Collection[date]]
) -> float | None:
    when = np.asarray(corpus.times).astype("datetime64[D]").tolist()
    written = {(events[i], when[i]) for i in range(len(corpus)) if when[i] in days.get(events[i], ())}
    told = {(events[i], when[i]) for i in np.concatenate(threads).tolist()}
    return len(written & told) / len(written) if written else None


def hold_back(corpus: Corpus, *, share: float = 0.5, rng: RNGLike = 0) -> tuple[Corpus, Any]:
    """Remove a share of all words from the documents, to score threads of the rest with them.

    Parameters
    ----------
    corpus : Corpus
        The documents.
    share : float
        Probability that a word is removed, together with all words of the same stem.
    rng : int, Generator or None
        Seed or generator.

    Returns
    -------
    rest : Corpus
        The documents without those words. A document that would be empty is a full stop.
    judge : csr_array of shape (n, n_terms)
        Tf-idf vectors of the removed words, of unit length.
    """
    part = as_number(share, name="share")
    if not 0.0 < part < 1.0:
        raise DiversetError(f"share is {part:g}; give a number between 0 and 1")
    stems = {word: stem(word) for word in sorted({word for text in corpus.texts for word in content_terms(text)})}
    names = sorted(set(stems.values()))
    gone = set(itertools.compress(names, as_generator(rng).random(len(names)) < part))
    held = {word for word, name in stems.items() if name in gone}

    def removed(text: str) -> list[str]:
        return [stems[word] for word in content_terms(text) if word in held]

    def kept(text: str) -> str:
        return re.sub(r"[^\W_]+", lambda word: "" if word[0].lower() in held else word[0], text)

    texts = [rest if (rest := kept(text)).strip() else "." for text in corpus.texts]
    judge = term_vectors(corpus.texts, max_share=1.0, analyzer=removed)[0]
    return Corpus(texts, corpus.times, corpus.ids, [kept(title) for title in corpus.titles]), judge


def compare(ours: Sequence[ThreadScores], theirs: Sequence[ThreadScores]) -> dict[str, Bootstrap]:
    """Mean difference of every measure over the same piles, with its 95% bootstrap interval.

    Piles on which a measure is None are left out of its mean.
    """
    if len(ours) != len(theirs):
        raise DiversetError(f"there are {len(ours)} and {len(theirs)} scores; give both for the same piles")
    found = {}
    for name in ThreadScores.__dataclass_fields__:
        pairs = [(getattr(a, name), getattr(b, name)) for a, b in zip(ours, theirs, strict=True)]
        gaps = [a - b for a, b in pairs if a is not None and b is not None]
        if gaps:
            found[name] = bootstrap_mean(gaps)
    return found


def coherence(vectors: Any, threads: Iterable[IntArray]) -> float:
    """Mean cosine between neighbours along the threads."""
    as_finite(vectors.data, name="vectors", shape=(None,))
    every = [check_rows(thread, vectors.shape[0], name="a thread") for thread in threads]
    found = [vectors[y[:-1]].multiply(vectors[y[1:]]).sum(axis=1).mean() for y in every if len(y) > 1]
    return float(np.mean(found)) if found else 0.0


def interlopers_found(
    vectors: Any, threads: Iterable[IntArray], *, n: int = 2, trials: int = 20, rng: RNGLike = None
) -> float:
    """How many of n random documents added to a thread a text model finds, on average.

    It replaces the monograph's paid raters: the model names the n documents with the lowest mean cosine to the others,
    with ties broken at random. Documents that are easily found mean a coherent thread.

    Parameters
    ----------
    vectors : csr_array of shape (n_documents, n_terms)
        Unit vectors.
    threads : iterable of ndarray
        The threads.
    n : int
        Documents added to each.
    trials : int
        Random choices of documents for each thread.
    rng : int, Generator or None
        Seed or generator.
    """
    generator = as_generator(rng)
    count, rounds = check_count(n, name="n"), check_count(trials, name="trials")
    found = []
    as_finite(vectors.data, name="vectors", shape=(None,))
    for thread in threads:
        thread = check_rows(thread, vectors.shape[0], name="a thread")
        others = np.setdiff1d(np.arange(vectors.shape[0]), thread)
        if len(others) < count:
            raise SizeError(f"n is {count}, but only {len(others)} documents are outside of a thread; add fewer")
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
    """Purity of threads, where the stories of the documents are known.

    Parameters
    ----------
    threads : iterable of ndarray
        The threads, as numbers of documents.
    stories : sequence
        The story of every document; None if it has none, and a list if it may have several. A document counts for each
        of its stories.

    Returns
    -------
    purity : float
        Share of the documents of a thread in its most frequent story, averaged over threads. Threads that all tell one
        story can reach 1.
    matched : float
        The same, but each story counts for one thread only, in the best matching (Hungarian algorithm).
    coverage : float
        Number of stories that make up more than half of some thread, as a share of the largest possible number.

    Examples
    --------
    >>> story_score([[0, 1], [2, 4], [3, 4]], ["a", "a", "b", "a", None])
    StoryScore(purity=0.6666666666666666, matched=0.5, coverage=0.5)
    """
    from scipy.optimize import linear_sum_assignment

    each = [story if isinstance(story, list) else [] if story is None else [story] for story in stories]
    names = {story: j for j, story in enumerate(dict.fromkeys(itertools.chain.from_iterable(each)))}
    found = [check_rows(thread, len(each), name="a thread") for thread in threads]
    if not names or not found or min(map(len, found)) == 0:
        raise DiversetError("there is nothing to score; give threads that are not empty, and documents with stories")
    shares = np.zeros((len(found), len(names)))
    for t, thread in enumerate(found):
        for story in itertools.chain.from_iterable(each[i] for i in thread.tolist()):
            shares[t, names[story]] += 1.0 / len(thread)
    rows, columns = linear_sum_assignment(shares, maximize=True)
    told = np.unique(shares.argmax(axis=1)[shares.max(axis=1) > 0.5])
    matched = float(shares[rows, columns].sum() / len(found))
    return StoryScore(float(shares.max(axis=1).mean()), matched, len(told) / min(shares.shape))


class Bootstrap(NamedTuple):
    """A mean with an interval, and the probability that it is above zero."""

    mean: float
    low: float
    high: float
    above_zero: float


def bootstrap_mean(values: Any, *, level: float = 0.95, draws: int = 10_000, rng: RNGLike = 0) -> Bootstrap:
    """Mean of values with a percentile interval, and the share of bootstrap means above zero."""
    from scipy.stats import bootstrap

    x = as_finite(values, name="values", shape=(None,))
    if len(x) == 0:
        raise DiversetError("values are empty; give at least one number")
    level = as_number(level, name="level")
    if not 0.0 < level < 1.0:
        raise DiversetError(f"level is {level}; it must lie between 0 and 1")
    if len(x) == 1:
        return Bootstrap(x.item(), x.item(), x.item(), float(x.item() > 0.0))
    found = bootstrap(
        (x,), np.mean, n_resamples=check_count(draws, name="draws"), confidence_level=level, method="percentile",
        rng=as_generator(rng),
    )  # fmt: skip
    low, high = map(float, found.confidence_interval)
    return Bootstrap(float(x.mean()), low, high, float((found.bootstrap_distribution > 0.0).mean()))
