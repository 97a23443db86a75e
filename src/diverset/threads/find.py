r"""``find_threads``: from a pile of dated documents to k threads, one event each.

1. Formulaic series are left out, and copies of one story are collapsed onto the earliest (``series``).
2. The rest is divided into events (``events``); their number is chosen by modularity. If there are more than k, or many
   routine reports among them, each event takes the size at which it weighs most.
3. In each event, threads are paths of related steps forward in time (``steps``); the weight of similarity is chosen by
   held-back words.
4. Sets of threads follow a structured DPP over the paths of all events (``paths``): the most probable set, or a draw.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from diverset._typing import BoolArray, FloatArray, IntArray, RNGLike
from diverset.errors import DiversetError, LabelError, SizeError
from diverset.numerics.validation import as_generator, as_number, check_count, check_nonnegative
from diverset.threads.corpus import Corpus, read_corpus
from diverset.threads.events import (
    PileVectors,
    Similar,
    cluster,
    name_share,
    pile_vectors,
    similar_documents,
    spectral_plane,
    unit,
)
from diverset.threads.found import FoundThreads
from diverset.threads.paths import EventModel, EventPaths
from diverset.threads.series import (
    COPY,
    COPY_DAYS,
    SAME_FORM,
    find_series,
    form_overlap,
    forms,
    is_series,
    name_series,
)
from diverset.threads.steps import LEAST_SHARE, StepRules, choose_beta, event_paths, usual_similarity

__all__ = ["find_threads"]

#: Numbers of events that are tried, as multiples of k, as long as an event has a thread's documents on average.
_MULTIPLES = (1, 2, 4, 8, 16)
#: The largest number is taken whose modularity is at least this share of the highest, and with which an event has the
#: documents of at least `_THREADS_EACH` threads on average.
_NEAR_BEST, _THREADS_EACH = 0.95, 4
#: An event of another division is added if at least this share of its documents is in no heavier event.
_FREE = 0.7
#: The odds of a routine report are even if the share `_PROSE` of the words are function words and the share `_NAMED` of
#: the similarity comes from names. Each `_LESS_PROSE` and each `_FEWER_NAMES` below multiplies them by e.
_PROSE, _LESS_PROSE, _NAMED, _FEWER_NAMES = 0.42, 0.01, 0.04, 0.07
#: A pile of English prose: a quarter of the documents has at least this share of function words.
_ENGLISH = 0.35
#: With a larger share of routine reports among the k events, the pile is a newswire with many more stories.
_FEW_ROUTINE = 1 / 3
#: Factor for an event whose best thread is a series.
_FORMULAIC = 0.01
#: With ``shared=True`` an event also takes documents with at least this share of their similarity to their own event.
_BETWEEN = 0.5

Progress = Callable[[str, int, int], None]


def find_threads(
    corpus: Any,
    k: int = 10,
    length: int = 8,
    *,
    min_length: int | None = None,
    events: int | None = None,
    beta: float | None = None,
    burst: float = 1.0,
    max_gap: float = 5.0,
    keep_series: bool = False,
    shared: bool = False,
    through: Any = None,
    sample: bool = False,
    rng: RNGLike = 0,
    min_documents: int = 2,
    max_share: float = 0.5,
    time: str | None = None,
    text: str | None = None,
    title: str | None = None,
    label: str | None = None,
    day_first: bool | None = None,
    date_format: str | None = None,
    encoding: str | None = None,
    progress: Progress | None = None,
) -> FoundThreads:
    r"""Find k threads in dated documents: each tells one event, step by step, and no document is in two.

    Parameters
    ----------
    corpus : Corpus, pandas or polars frame, or path
        The documents with their times. A path is a table (JSON lines, CSV, Parquet) or a folder of dated text files.
    k, length : int
        Number of threads, and of documents in each.
    min_length : int, optional
        An event with too few related documents gets a shorter thread, down to this length; half of `length` by
        default.
    events : int, optional
        Number of events to divide the pile into, at least k. By default the largest of k, 2k, 4k, 8k and 16k whose
        modularity is at least 0.95 of the highest; where that is more than k, or where many of the k are routine
        reports, events of finer divisions replace those that weigh less.
    beta : float, optional
        Weight of the similarity of neighbours; chosen from the pile by held-back words by default.
    burst : float
        Weight of the number of documents about the event around the time of a document.
    max_gap : float
        Longest step, in *beats*: the time in which nine tenths of an event's documents appeared, divided by the steps
        of a thread.
    keep_series : bool
        Keep formulaic series: earnings, weather, market tables. They are left out and counted by default.
    shared : bool
        Whether a document may be in two threads: that of its own event, and that of another event to which it is at
        least half as similar.
    through : optional
        Id of a document that one of the threads must pass through.
    sample : bool
        Draw the set at random, from its exact law, instead of taking the most probable one.
    rng : int, Generator or None
        Seed or generator of the words that are held back to choose `beta`, and of the draw.
    min_documents, max_share
        Words in fewer documents, or in a larger share of them, are ignored.
    time, text, title, label : str, optional
        Columns of a table; guessed from their names by default.
    day_first : bool, optional
        Whether 3/4/2020 is 3 April; by default ambiguous dates raise an error.
    date_format : str, optional
        Format of the dates, as for ``datetime.strptime``.
    encoding : str, optional
        Encoding of the files; UTF-8 is tried first by default.
    progress : callable, optional
        Called with the stage, the amount done and the total.

    Returns
    -------
    FoundThreads
        ``.threads`` are lists of positions: rows of the frame or table, or documents of the corpus.

    Notes
    -----
    The law of a set is stated in ``diverset.threads.paths``. Most of the time goes into comparing all pairs.

    Examples
    --------
    >>> import diverset as dv
    >>> from diverset.threads import example_news
    >>> corpus, stories = example_news()  # 230 invented items
    >>> found = dv.find_threads(corpus, k=6)
    >>> len(found.threads), [len(thread) for thread in found.threads]
    (6, [8, 8, 6, 8, 8, 8])
    >>> [(series.words, len(series)) for series in found.series]
    [(('barometer', 'high', 'knots'), 32)]
    """
    tell: Progress = (lambda *_: None) if progress is None else progress
    notes: list[str] = []
    if isinstance(corpus, Corpus):
        documents, rows = corpus, np.arange(len(corpus))
    else:
        columns = {"time": time, "text": text, "title": title, "label": label}
        reading = {"day_first": day_first, "date_format": date_format, "encoding": encoding}
        documents, rows, notes = read_corpus(corpus, **columns, **reading)
    k, length = check_count(k, name="k"), check_count(length, name="length")
    shortest = max(min(2, length), length // 2) if min_length is None else check_count(min_length, name="min_length")
    if shortest > length:
        raise SizeError(f"min_length is {shortest}, more than length, {length}")
    if documents.times is None:
        raise DiversetError("the corpus has no times; threads go forward in time")
    rules = StepRules(burst=check_nonnegative(burst, name="burst"), max_gap=check_nonnegative(max_gap, name="max_gap"))
    generator = as_generator(rng)
    days = documents.days

    tell("counting words", 0, len(documents))
    vectors = pile_vectors(documents.texts, min_documents=min_documents, max_share=max_share)
    similar = similar_documents(vectors.subjects, days, progress=partial(tell, "comparing documents"))
    tell("looking for series", 0, len(documents))
    F = forms(documents.texts)
    series = [] if keep_series else find_series(documents.texts, F, similar, days)
    kept = np.setdiff1d(np.arange(len(documents)), np.concatenate([[], *(each.documents for each in series)]))
    if len(kept) < shortest:
        raise SizeError(
            f"{len(kept)} of {len(documents)} documents are left without formulaic series, fewer than a thread of "
            f"{shortest}; keep the series (keep_series=True)"
        )
    vectors = vectors.take(kept)
    similar, F, t = similar.take(kept, len(documents)), F[kept], days[kept]
    wanted = None if through is None else _position(documents, through, kept)
    first = _first_copies(similar, t, wanted)
    alone = first == np.arange(len(first))
    tell("dividing into events", 0, 1)

    def members(labels: IntArray) -> list[IntArray]:
        """The documents of each event that has enough for a thread and is no series; of copies, the first."""
        groups = [np.flatnonzero((labels == e) & alone) for e in range(int(labels.max()) + 1)]
        large = [own for own in groups if len(own) >= shortest]
        return [own for own in large if keep_series or not is_series(F, similar, labels == labels[own[0]])]

    multiples = [m * k for m in _MULTIPLES if m == 1 or m * k * shortest <= len(t)]
    sizes = multiples if events is None else [check_count(events, name="events")]
    if max(sizes) < k:
        raise SizeError(f"events is {events}, fewer than the {k} threads")
    most = max(k, len(t) // (_THREADS_EACH * length))
    divisions, modularity, finer = _divide(similar, t, k, sizes, most, members)

    def threads_of(groups: list[IntArray], told: list[int], rules: StepRules) -> tuple[list[EventPaths], list[int]]:
        """The paths of the events that have a thread, and the labels of these events."""
        found = [event_paths(own, vectors.details, F, t, length, rules, min_length=shortest) for own in groups]
        some = [(each, e) for each, e in zip(found, told, strict=True) if each is not None]
        return [each for each, _ in some], [e for _, e in some]

    def weights_of(paths: list[EventPaths], labels: IntArray, told: list[int]) -> tuple[FloatArray, FloatArray]:
        """Weights of the events, and the factors against routine reports in them."""
        factors = np.ones(len(told)) if keep_series else _news_factors(paths, labels, told, F, vectors)
        return _importance(paths, labels, told, vectors.details, t) * factors, factors

    labels = divisions[0]
    if len(divisions) > 1:
        usual = usual_similarity(members(labels), vectors.details)
        trial = replace(rules, min_similarity=LEAST_SHARE * usual)

        def weighed(division: IntArray) -> tuple[list[int], FloatArray, FloatArray]:
            own = members(division)
            paths, told = threads_of(own, [int(division[each[0]]) for each in own], trial)
            return told, *weights_of(paths, division, told)

        told, weights, factors = weighed(labels)
        if finer or 1.0 - factors[np.argsort(-weights)[:k]].mean() > _FEW_ROUTINE:
            labels = _best_sizes(divisions, [(told, weights), *(weighed(each)[:2] for each in divisions[1:])])
    groups = members(labels)
    told = [int(labels[own[0]]) for own in groups]
    if not keep_series:
        rest = [labels == e for e in np.setdiff1d(labels, told)]
        large = [own for own in rest if own.sum() >= shortest]
        series += [name_series(documents.texts, kept[own]) for own in large if is_series(F, similar, own)]
        series.sort(key=lambda each: (-len(each), int(each.documents[0])))
    # Documents between two events count if they are half as similar to one of them as to the other.
    least = LEAST_SHARE * (_BETWEEN if shared else 1.0)
    rules = replace(rules, min_similarity=least * usual_similarity(groups, vectors.details) if groups else 0.0)
    if beta is None:
        beta, tried = choose_beta(groups, vectors.details, F, t, length, rules, generator)
    else:
        beta, tried = as_number(beta, name="beta"), {}
    rules = replace(rules, beta=beta)
    tell("choosing threads", 0, 1)
    if shared:
        between = _between(similar, labels, alone & (np.arange(len(first)) != wanted), told)
        groups = [np.union1d(own, more) for own, more in zip(groups, between, strict=True)]
    paths, told = threads_of(groups, told, rules)
    if len(paths) < k:
        raise SizeError(
            f"k is {k}, but only {len(paths)} events of {len(kept)} documents have a thread of {shortest} documents; "
            "ask for fewer threads (k) or shorter ones (length, min_length)"
        )
    weights, alike = weights_of(paths, labels, told)[0], _alike(vectors.subjects, labels, told)
    model = EventModel(paths, k=k, weights=weights, similarity=alike, shared=shared)
    forced = None if wanted is None else int(first[wanted])
    chosen = model.sample(rng=generator, through=forced) if sample else model.best(through=forced)
    chosen.sort(key=lambda thread: (t[thread[0]], thread[0]))
    copies = {int(kept[i]): kept[(first == i) & ~alone] for i in np.unique(first[~alone])}
    settings = {
        "k": k, "length": length, "events": int(labels.max()) + 1, "modularity": round(modularity, 3), "beta": beta,
        "beta_tried": tried, "min_similarity": round(rules.min_similarity, 3), "burst": rules.burst,
        "max_gap": rules.max_gap, "keep_series": keep_series, "shared": shared, "sample": sample, "through": through,
    }  # fmt: skip
    places, left_out, remarks = tuple(kept[thread] for thread in chosen), tuple(series), tuple(notes)
    return FoundThreads(documents, rows, places, left_out, copies, settings, remarks, vectors, kept, model)


def _position(documents: Corpus, label: Any, kept: IntArray) -> int:
    """Number of a document among those kept, by its id."""
    where = [i for i, name in enumerate(documents.ids) if name == label or str(name) == str(label)]
    if not where:
        raise LabelError(f"no document has the id {label!r}; ids are such as {documents.ids[0]!r}")
    at = np.flatnonzero(kept == where[0])
    if len(at) == 0:
        raise DiversetError(f"document {label!r} belongs to a formulaic series, which is left out; keep the series")
    return int(at[0])


def _first_copies(similar: Similar, t: FloatArray, wanted: int | None) -> IntArray:
    """For each document the earliest of its copies, or itself; `wanted` replaces the earliest of its own copies."""
    n = len(t)
    close = (similar.cosines >= COPY) & (np.abs(t[similar.rows] - t[similar.columns]) <= COPY_DAYS)
    links = csr_array((np.ones(int(close.sum())), (similar.rows[close], similar.columns[close])), shape=(n, n))
    count, group = connected_components(links, directed=False)
    earliest = np.full(count, -1, dtype=np.int64)
    order = np.argsort(t, kind="stable")[::-1]
    earliest[group[order]] = order  # the last one written is the earliest
    if wanted is not None:
        earliest[group[wanted]] = wanted
    return np.asarray(earliest[group])


def _divide(
    similar: Similar, t: FloatArray, k: int, sizes: list[int], most: int, members: Callable[..., Any]
) -> tuple[list[IntArray], float, bool]:
    """Divisions into events, as labels: the finest of up to `most` events that is nearly as good as the best, then all
    finer ones. Also returns the modularity of the first, and whether it was made for more than k events.
    """  # noqa: D205
    n = len(t)
    plane = spectral_plane(similar, t, min(max(sizes) + k, n))
    found: list[tuple[IntArray, float, int]] = []
    for size in sizes:
        # Events with too few documents are no use: a few more are tried until k others are left.
        for more in range(0, k + 1, max(1, k // 4)):
            count = min(size + more, n)
            labels = cluster(plane[:, :count])
            if len(members(labels)) >= k:
                break
        else:
            continue
        found.append((labels, _modularity(similar, labels), size))
    if not found:
        labels = cluster(plane[:, : min(k, n)])
        return [labels], _modularity(similar, labels), False
    least = _NEAR_BEST * max(value for _, value, _ in found)
    at = max((i for i, (_, value, size) in enumerate(found) if value >= least and size <= most), default=0)
    return [labels for labels, _, _ in found[at:]], found[at][1], at > 0


def _best_sizes(divisions: list[IntArray], weighed: Sequence[tuple[list[int], FloatArray]]) -> IntArray:
    """One division whose events have different sizes: the heaviest events of several divisions, as far as they do not
    overlap. Documents that are left keep the events of the first division.
    """  # noqa: D205
    events = [
        (weight, labels == e)
        for labels, (told, weights) in zip(divisions, weighed, strict=True)
        for e, weight in zip(told, weights.tolist(), strict=True)
    ]
    found = np.full(len(divisions[0]), -1)
    for _, own in sorted(events, key=lambda event: -event[0]):
        free = own & (found < 0)
        if free.sum() >= _FREE * own.sum():
            found[free] = found.max() + 1
    left = found < 0
    found[left] = found.max() + 1 + divisions[0][left]
    return np.unique(found, return_inverse=True)[1].astype(np.int64)


def _modularity(similar: Similar, labels: IntArray) -> float:
    """Share of the similarity inside events, less what a random graph with these degrees would have there."""
    one, other, total = labels[similar.rows], labels[similar.columns], float(similar.cosines.sum())
    if total == 0.0:
        return 0.0
    both = np.concatenate([one, other])
    share = np.bincount(both, np.tile(similar.cosines, 2)) / (2.0 * total)
    return float(similar.cosines[one == other].sum()) / total - float(share @ share)


def _between(similar: Similar, labels: IntArray, alone: BoolArray, told: Sequence[int]) -> list[IntArray]:
    """For each event, documents of other events that are at least half as similar to it as to their own."""
    total = np.zeros((len(labels), int(labels.max()) + 1))
    for a, b in ((similar.rows, similar.columns), (similar.columns, similar.rows)):
        np.add.at(total, (a, labels[b]), similar.cosines)
    near = (total > 0.0) & (total >= _BETWEEN * total[np.arange(len(labels)), labels][:, None]) & alone[:, None]
    return [np.flatnonzero(near[:, e]) for e in told]


def _importance(
    paths: Sequence[EventPaths], labels: IntArray, told: Sequence[int], details: Any, t: FloatArray
) -> FloatArray:
    r"""How much each event matters: the root of its burst, times the length of its best thread, times the square of
    its tightness, times its distinctness.

    The burst is :math:`n_e\,\mathrm{KL}(p_e \| p)`, where :math:`p_e` and p are the shares of the days in the
    documents of the event and of the pile. The tightness is the lowest mean cosine of an item of the thread with the
    others. The distinctness is the highest F-measure with which one word tells the event's documents from all others:
    near 1 if a name is in all of them and nowhere else.
    """  # noqa: D205
    width = 1.0 if np.ptp(t) >= 7.0 else max(float(np.ptp(t)) / 7.0, 1e-9)
    day = np.floor((t - t.min()) / width).astype(np.int64)
    usual = np.bincount(day) / len(day)
    holders = np.bincount(details.indices, minlength=details.shape[1])
    weights = []
    for event, e in zip(paths, told, strict=True):
        inside = np.bincount(details[labels == e].indices, minlength=len(holders))
        own = np.bincount(day[labels == e], minlength=len(usual))
        distinctness = float((2.0 * inside / (holders + own.sum())).max())
        some = own > 0
        excess = float((own[some] * np.log(own[some] / own.sum() / usual[some])).sum())
        # A random sample of the pile has an expected excess of about half the number of days.
        burst = max(excess - 0.5 * (np.count_nonzero(usual) - 1), 1.0)
        X = details[event.nodes[event.best()[0]]]
        S = (X @ X.T).toarray()
        np.fill_diagonal(S, 0.0)
        tightness = float(S.sum(axis=1).min()) / max(len(S) - 1, 1)
        weights.append(np.sqrt(burst) * len(S) * max(tightness, 1e-3) ** 2 * distinctness)
    return np.array(weights)


def _news_factors(
    paths: Sequence[EventPaths], labels: IntArray, told: Sequence[int], F: Any, vectors: PileVectors
) -> FloatArray:
    r"""Factors that keep routine reports from taking the place of stories.

    A story is told in prose, and names the same people and places again and again. A routine report has fewer function
    words, and shares common words with others like it. The factor is :math:`1 / (1 + o)`, where o are the odds of a
    routine report. They grow by e for every 1% of function words below 42% in the event, and for every 7% less of the
    similarity along its thread that comes from names. Function words are English. If three quarters of the documents
    have less than 35% of them, the pile is no English prose, and o is 0.

    A thread most of whose steps join documents of the same form is a series, and its event has 1% of the weight.
    """
    english = float(np.quantile(vectors.prose, 0.75)) >= _ENGLISH
    factors = []
    for event, e in zip(paths, told, strict=True):
        thread = event.nodes[event.best()[0]]
        repeats = form_overlap(F, thread[:-1], thread[1:]) > SAME_FORM
        formulaic = len(repeats) > 0 and float(repeats.mean()) > 0.5
        lack = _PROSE - float(vectors.prose[labels == e].mean())
        odds = np.exp(lack / _LESS_PROSE + (_NAMED - name_share(vectors, thread)) / _FEWER_NAMES) if english else 0.0
        factors.append((_FORMULAIC if formulaic else 1.0) / (1.0 + odds))
    return np.array(factors)


def _alike(vectors: Any, labels: IntArray, told: Sequence[int]) -> FloatArray:
    """Cosines between the events, shrunk a little, so that events with the same words still differ."""
    centres = unit(np.array([vectors[labels == e].sum(axis=0) for e in told], dtype=np.float64))
    return np.asarray(0.99 * centres @ centres.T + 0.01 * np.eye(len(told)))
