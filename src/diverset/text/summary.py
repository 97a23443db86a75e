"""``diverset.summarize``: from documents to a summary, the reasons for its sentences, and their order."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from importlib import import_module
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from diverset._result import Result
from diverset._typing import BoolArray, FloatArray, IntArray, RNGLike
from diverset.errors import DiversetError
from diverset.numerics.validation import as_finite, check_count
from diverset.text.cluster import Budget, Cluster, as_cluster, read_budget
from diverset.text.decode import Draws, SummaryLaw, cosines, covering_summary, given_read, indicator, least_risk
from diverset.text.quality import default_weights
from diverset.text.tfidf import Terms
from diverset.text.words import opens_dependent, stands_alone

if TYPE_CHECKING:
    from diverset.text.summarizer import Summarizer

__all__ = ["METHODS", "Summary", "summarize"]

METHODS = ("coverage", "mbr", "sample", "greedy")
MOST_CANDIDATES = 1000  # in the law of summaries; of more sentences the best, by quality and by quality per length
_QUERY_WEIGHT = 4.0  # gain of 2 log q for the sentence most similar to the query
_LEAST_NEW = 0.3  # least share of a sentence that must be new, with ``update_since``
_GREEDY_SCALE = 8.0  # median of the diagonal of L for ``"greedy"``
_LOWER_CASE = 0.1  # if a larger share of sentences begins in lower case, the writers are taken to use no capitals
_SAME = 0.5  # two sentences with a cosine above this mention the same thing


@dataclass(frozen=True, eq=False)
class Summary(Result):
    """Chosen sentences in the order of events.

    Attributes
    ----------
    text : str
        The summary, within the budget.
    indices : ndarray of int64
        Positions in ``cluster.sentences``, in the order of the text.
    cluster, budget, method : Cluster, Budget, str
        The documents, the limit, and the decoder.
    quality : ndarray of shape (n_sentences,)
        Quality of every sentence by the model, up to a constant factor.
    candidates : ndarray of int64
        Sentences that could be chosen: those with content words that fit the budget; of more than 1,000 the best.
    law : SummaryLaw or None
        The distribution over summaries, over the candidates; None where no DPP was used.
    notes : tuple of str
        Remarks for the reader.
    """

    formats: ClassVar[tuple[str, ...]] = (".txt", *Result.formats)
    _page: ClassVar[str] = "summary"

    text: str
    indices: IntArray
    cluster: Cluster = field(repr=False)
    budget: Budget
    method: str
    quality: FloatArray = field(repr=False)
    candidates: IntArray = field(repr=False)
    law: SummaryLaw | None = field(repr=False, default=None)
    draws: Draws | None = field(repr=False, default=None)
    n_draws: int = 0
    notes: tuple[str, ...] = ()

    def __str__(self) -> str:
        return self.text

    @property
    def sentences(self) -> list[str]:
        """The chosen sentences."""
        return [self.cluster.sentences[i] for i in self.indices]

    def sample(self, size: int = 1, *, rng: RNGLike = None) -> list[IntArray]:
        """Draw `size` new summaries within the budget, each as ascending positions in ``cluster.sentences``."""
        if self.law is None:
            raise DiversetError(f"a summary by {self.method!r} has no distribution to draw from")
        found = self.law.draw(size, rng).sets
        if len(found) < size:
            raise DiversetError(f"only {len(found)} of {size} draws fit the limit; raise the limit")
        return [np.sort(self.candidates[items]) for items in found]

    @cached_property
    def _probability_draws(self) -> Draws:
        if self.draws is not None:
            return self.draws
        return Draws([], 0) if self.law is None else self.law.draw(self.n_draws, 0)

    @property
    def n_accepted(self) -> int:
        """Number of draws within the budget that the probabilities are estimated from."""
        return len(self._probability_draws.sets)

    @property
    def n_drawn(self) -> int:
        """Number of draws made for the probabilities, including those outside the budget."""
        return self._probability_draws.n_drawn

    @cached_property
    def inclusion(self) -> FloatArray:
        """Share of the draws within the budget that hold the sentence, for every sentence of the cluster."""
        share = np.zeros(len(self.cluster))
        if self.n_accepted:
            held = indicator(self._probability_draws.sets, len(self.candidates)).sum(axis=0)
            share[self.candidates] = np.asarray(held).ravel() / self.n_accepted
        return share

    @cached_property
    def novelty(self) -> FloatArray:
        r"""Share of each chosen sentence that is not in the others: :math:`\det S_Y / (s_{ii} \det S_{Y - i})`."""
        if self.law is None or not np.isin(self.indices, self.candidates).all():
            return np.ones(len(self.indices))
        places = np.searchsorted(self.candidates, self.indices)
        S = self.law.similarity[np.ix_(places, places)]
        inverse = np.linalg.pinv(S, hermitian=True)
        return np.asarray(np.clip(1.0 / (np.diagonal(inverse) * np.diagonal(S)), 0.0, 1.0))

    def explain(self) -> list[dict[str, Any]]:
        """Place, quality, novelty and probability of each chosen sentence.

        ``inclusion_probability`` is the share of :attr:`n_accepted` draws within the budget that hold the sentence;
        ``quality_rank`` is 1 for the best sentence of the cluster.
        """
        return [
            {
                "sentence": self.cluster.sentences[i],
                "document": self.cluster.names[self.cluster.document_of[i]],
                "position": int(self.cluster.position[i]) + 1,
                "quality": float(self.quality[i]),
                "quality_rank": int((self.quality > self.quality[i]).sum()) + 1,
                "novelty": float(self.novelty[place]),
                "inclusion_probability": float(self.inclusion[i]),
            }
            for place, i in enumerate(self.indices.tolist())
        ]

    def to_dict(self) -> dict[str, Any]:
        """The summary with its reasons, for JSON."""
        return {
            "summary": self.text,
            "limit": {self.budget.unit: self.budget.limit},
            "method": self.method,
            "documents": list(self.cluster.names),
            "n_sentences": len(self.cluster),
            "draws": {"made": self.n_drawn, "within_limit": self.n_accepted} if self.law is not None else None,
            "notes": list(self.notes),
            "sentences": self.explain(),
        }

    records = explain


def finish(
    cluster: Cluster, chosen: Iterable[int], budget: Budget, method: str, by_events: bool = False, **found: Any
) -> Summary:
    """Put chosen sentences in order, that of the documents or of events, and make a summary within the budget.

    If no sentence was chosen, the one of highest quality (without qualities, the first) is cut at a word.
    """
    indices = np.array(sorted(int(i) for i in chosen), dtype=np.int64)
    found.setdefault("quality", np.zeros(len(cluster)))
    found.setdefault("candidates", np.zeros(0, dtype=np.int64))
    notes = list(found.pop("notes", ()))
    if not len(indices) and len(cluster):
        indices = np.array([int(np.argmax(found["quality"]))])
        notes.append("no sentence fits the limit; one was cut")
    elif by_events:
        indices = reading_order(cluster, indices.tolist())
    text = budget.crop(" ".join(cluster.sentences[i] for i in indices))
    return Summary(text, indices, cluster, budget, method, notes=tuple(notes), **found)


def reading_order(cluster: Cluster, chosen: Sequence[int]) -> IntArray:
    """Chosen sentences, given in ascending order, in the order of events.

    They are ordered by the date of their document, if all documents have one, else by first mention: the place of the
    first sentence with a cosine above 0.5 to the chosen one. A sentence that needs the one before it follows it.
    """
    vectors = cluster.terms.vectors
    dates = cluster.dates if all(date is not None for date in cluster.dates) else ()

    def key(i: int) -> tuple[int, int, int]:
        if dates:
            return int(dates[cluster.document_of[i]].astype(np.int64)), i, i
        near = np.flatnonzero((vectors @ vectors[i].T).toarray().ravel() > _SAME)
        return 0, int(min(near.min(initial=i), i)), i

    taken = set(chosen)
    follows = {i for i in chosen if i - 1 in taken and cluster.position[i] > 0 and opens_dependent(cluster.words[i])}
    order: list[int] = []
    for i in sorted((i for i in chosen if i not in follows), key=key):
        order.append(i)
        while order[-1] + 1 in follows:
            order.append(order[-1] + 1)
    return np.array(order, dtype=np.int64)


def summarize(
    documents: Any,
    max_words: int | None = None,
    *,
    max_bytes: int | None = None,
    max_sentences: int | None = None,
    method: str = "coverage",
    query: str | None = None,
    update_since: Any = None,
    model: Summarizer | str | os.PathLike[str] | None = None,
    embeddings: ArrayLike | str | None = None,
    n_draws: int = 20_000,
    rng: RNGLike = None,
    text: str | None = None,
    label: str | None = None,
    encoding: str | None = None,
) -> Summary:
    """Summarise documents about one subject by some of their sentences.

    Parameters
    ----------
    documents : str, path, frame, Cluster, or iterable of str or of lists of sentences
        Documents to summarise. Texts are split into sentences. A path, or a string that names an existing file or
        folder, is read as the command ``diverset summarize`` reads it. A pandas or polars frame has a document in each
        row, in a column such as ``text`` or ``body``, with names and dates in columns such as ``title`` and ``date``.
    max_words, max_bytes, max_sentences : int, optional
        The limit, one of them; 100 words if none is given. It is never exceeded. A summary is shorter than the limit
        if the remaining sentences add little.
    method : {"coverage", "mbr", "sample", "greedy"}
        Decoder. ``"coverage"``: the sentences of the better half by quality, able to stand alone, whose words and word
        pairs are most expected by draws from the model. ``"mbr"``: the draw of highest mean ROUGE-1F against all draws.
        ``"sample"``: one draw. ``"greedy"``: Algorithm 6 of [KuleszaTaskar2012]_.
    query : str, optional
        Subject of the summary: sentences that share its words gain quality.
    update_since : as documents, optional
        Documents that the reader knows. The DPP is conditioned on their sentences, so the summary prefers what is new.
    model : Summarizer or path, optional
        A model of your own, or the file of one; the model that comes with the package by default.
    embeddings : array_like of shape (n_sentences, d) or str, optional
        Vectors whose cosines are the similarity of sentences, in the order of ``Cluster(documents).sentences``; or the
        name or folder of an installed sentence-transformers model (nothing is downloaded). Stems by default.
    n_draws : int
        Number of draws within the limit, for ``"coverage"`` and ``"mbr"`` and for the shown probabilities.
    rng : int, Generator or None
        Seed of the draws. None gives the same summary each time, except for ``"sample"``.
    text, label : str, optional
        Columns of texts and of names, if a table or frame is read; by default found by their names.
    encoding : str, optional
        Encoding of text files; by default UTF-8, and cp1252 with a note if a file is not UTF-8.

    Returns
    -------
    Summary
        ``text``, ``indices`` and reasons (``explain()``), with sentences in the order of events.

    Examples
    --------
    >>> reports = [
    ...     "The old bridge fell into the river on Tuesday. Nobody was hurt. Shops are open.",
    ...     "After days of rain the old bridge fell into the river. Nobody was hurt, said the mayor.",
    ... ]
    >>> print(summarize(reports, max_words=10))
    The old bridge fell into the river on Tuesday.
    """
    if method not in METHODS:
        raise DiversetError(f"method is {method!r}; choose one of {', '.join(METHODS)}")
    notes: list[str] = []
    read_as: dict[str, Any] = {"text": text, "label": label, "encoding": encoding, "notes": notes}
    cluster, budget = as_cluster(documents, **read_as), read_budget(max_bytes, max_words, max_sentences)
    n_draws = check_count(n_draws, name="n_draws")
    terms = cluster.terms
    if model is None:
        quality = default_weights().quality_of(cluster)
    else:
        from diverset.text.summarizer import Summarizer  # imported late, since it loads the learning modules

        quality = (model if isinstance(model, Summarizer) else Summarizer.load(model)).quality_of(cluster)
    if query is not None:
        quality = quality * _relevance(query, terms, notes)
    costs = budget.costs(cluster.sentences)
    fits = (np.diff(terms.vectors.indptr) > 0) & (costs <= budget.room)
    # Headings are taken only if nothing else fits.
    candidates = np.flatnonzero(fits & ~cluster.is_heading)
    candidates = candidates if len(candidates) else np.flatnonzero(fits)
    if len(candidates) > MOST_CANDIDATES:
        notes.append(f"of {len(candidates):,} sentences, the {MOST_CANDIDATES:,} of highest quality were compared")
        # Half of them by quality, the others by quality per cost: short ones that fill the limit.
        order = candidates[np.argsort(-quality[candidates], kind="stable")]
        good, rest = np.split(order, [MOST_CANDIDATES // 2])
        filling = np.argsort(-quality[rest] / costs[rest], kind="stable")[: MOST_CANDIDATES - len(good)]
        candidates = np.sort(np.concatenate([good, rest[filling]]))
    if not len(candidates):
        return finish(cluster, [], budget, method, quality=quality, notes=notes)
    allowed = np.ones(len(candidates), dtype=bool)
    known = () if update_since is None else as_cluster(update_since, **read_as).sentences
    vectors, read = _vectors(embeddings, cluster, known)
    rows = vectors[candidates]
    if update_since is None:
        S = cosines(rows, rows)
    else:
        S = given_read(rows, read)
        new = np.clip(np.diagonal(S), 1e-12, 1.0)
        S /= np.sqrt(new[:, None] * new)
        quality = quality.copy()
        quality[candidates] *= np.sqrt(new)
        allowed = new >= _LEAST_NEW
        if not allowed.any():
            notes.append("every sentence repeats what was read; the newest ones are given")
            allowed[:] = True
    law = SummaryLaw(quality[candidates], S, costs[candidates], budget.room)
    own = Terms([terms.stems[i] for i in candidates])
    draws = None
    if method != "greedy":
        seed = 0 if rng is None and method != "sample" else rng
        draws = law.draw(1 if method == "sample" else n_draws, seed)
        if not draws.sets:
            notes.append(f"no draw of {draws.n_drawn:,} fits the limit; the greedy summary is given instead")
    if draws is None or not draws.sets:
        chosen = _greedy(law)
    elif method == "sample":
        chosen = draws.sets[0]
    elif method == "mbr":
        chosen = draws.sets[least_risk(draws.sets, own.counts)]
    else:
        chosen = _covering(law, draws, own, cluster, candidates, allowed, float(np.median(quality)))
    draws = None if method == "sample" else draws  # one draw gives no probabilities
    found = {"quality": quality, "candidates": candidates, "law": law, "draws": draws, "n_draws": n_draws}
    return finish(cluster, candidates[chosen], budget, method, by_events=True, notes=notes, **found)


def _vectors(embeddings: Any, cluster: Cluster, known: Sequence[str]) -> tuple[Any, Any]:
    """Unit vectors of the sentences of the cluster, and of those that were read."""
    if embeddings is None:
        return cluster.terms.vectors, cluster.terms.vectors_of(known)
    if not isinstance(embeddings, str):
        if known:
            remedy = "pass embeddings as a model's name"
            raise DiversetError(f"update_since needs vectors of what was read as well: {remedy}")
        E = as_finite(embeddings, name="embeddings of the sentences", shape=(len(cluster), None))
        return _unit(E), None
    E = import_module("diverset.io.features").encode_installed([*cluster.sentences, *known], embeddings)
    return _unit(E[: len(cluster)]), _unit(E[len(cluster) :])


def _unit(E: FloatArray) -> FloatArray:
    norms = np.linalg.norm(E, axis=1, keepdims=True)
    return np.asarray(E / np.where(norms > 0.0, norms, 1.0))


def _relevance(query: str, terms: Terms, notes: list[str]) -> FloatArray:
    """Factor of the quality of each sentence, by its cosine to the query."""
    near = (terms.vectors @ terms.vectors_of([query]).T).toarray().ravel()
    top = near.max(initial=0.0)
    if top == 0.0:
        notes.append(f"no sentence holds a word of the query {query!r}; it was ignored")
        return np.ones(len(near))
    return np.asarray(np.exp(0.5 * _QUERY_WEIGHT * near / top))


def _greedy(law: SummaryLaw) -> IntArray:
    from diverset.core import DPP
    from diverset.inference.greedy import map_budgeted

    # If no sentence makes a set more probable, Algorithm 6 takes the longest one. Scaling L prevents this, and does not
    # change the order among sets of one size.
    L = _GREEDY_SCALE / np.median(np.diagonal(law.L)) * law.L
    return map_budgeted(DPP(L), law.costs, law.room, fill=True).indices


def _covering(
    law: SummaryLaw, draws: Draws, own: Terms, cluster: Cluster, candidates: IntArray, allowed: BoolArray, least: float
) -> IntArray:
    """Chosen positions among the candidates, by :func:`covering_summary` and the rules for readable summaries."""
    # Only the better half by quality, among all sentences and among those that fit.
    good = allowed & (law.quality >= max(least, np.median(law.quality)))
    depends = np.array([opens_dependent(cluster.words[i]) for i in candidates])
    # Each needs the sentence before it, if that is a candidate of the same document, else itself: never taken.
    before = np.searchsorted(candidates, candidates - 1)
    known = (candidates[before] == candidates - 1) & (cluster.position[candidates] > 0)
    needs = np.where(depends, np.where(known, before, np.arange(len(candidates))), -1)
    small = bool(np.mean([sentence[:1].islower() for sentence in cluster.sentences]) > _LOWER_CASE)
    alone = np.array([stands_alone(cluster.sentences[i], lower_case=small) for i in candidates])
    for mask, wait in ((good & alone, needs), (good, needs), (allowed, needs), (allowed, None)):
        chosen = covering_summary(draws, own, law.costs, law.room, allowed=mask, needs=wait, similarity=law.similarity)
        if len(chosen):
            return chosen
    return np.array([int(np.argmax(law.quality))])
