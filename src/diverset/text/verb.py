"""``diverset.summarize``: from documents to a summary, with all defaults."""

from __future__ import annotations

import os
from collections.abc import Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from diverset._typing import BoolArray, FloatArray, IntArray, RNGLike
from diverset.errors import DiversetError, MissingExtraError
from diverset.numerics.validation import as_finite, check_count
from diverset.text.cluster import Cluster, as_cluster, read_budget
from diverset.text.decode import covering_summary, least_risk
from diverset.text.law import Draws, SummaryLaw, cosines, given_read
from diverset.text.quality import QualityWeights, default_weights
from diverset.text.sentences import opens_dependent, stands_alone
from diverset.text.summary import Summary, finish
from diverset.text.terms import Terms

if TYPE_CHECKING:
    from diverset.text.summarizer import Summarizer

__all__ = ["METHODS", "summarize"]

METHODS = ("coverage", "mbr", "sample", "greedy")
#: Most sentences in the law of summaries; of more, the best by quality and by quality per length.
MOST_CANDIDATES = 1000
#: Log-quality that the sentence nearest to the query gains.
_QUERY_WEIGHT = 4.0
#: Least share of a sentence that must be new, with ``update_since``.
_LEAST_NEW = 0.3
#: Median of the diagonal of L for ``"greedy"``.
_GREEDY_SCALE = 8.0
#: If a larger share of sentences begins in lower case, the writers use no capitals.
_LOWER_CASE = 0.1


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
        The limit, one of them; 100 words if none is given. It is never exceeded. A summary ends before the limit where
        the sentences that are left add little.
    method : {"coverage", "mbr", "sample", "greedy"}
        Decoder: how the model gives a summary.

        ``"coverage"``: the set of sentences whose words and word pairs are most expected, by draws from the model
        (``diverset.text.decode``); only sentences of the better half by quality that can stand
        alone. ``"mbr"``: the draw of highest mean ROUGE-1F against all draws. ``"sample"``: one draw. ``"greedy"``:
        Algorithm 6 of [KuleszaTaskar2012]_.
    query : str, optional
        Subject of the summary: sentences that share its words gain quality.
    update_since : as documents, optional
        Documents that the reader knows. The DPP is conditioned on their sentences, so the summary holds news.
    model : Summarizer or path, optional
        A model of your own, or the file of one; the model that comes with the package by default.
    embeddings : array_like of shape (n_sentences, d) or str, optional
        Vectors whose cosines say how alike two sentences are, in the order of ``Cluster(documents).sentences``; or the
        name or folder of an installed sentence-transformers model that makes them. Stems by default. Nothing is
        downloaded.
    n_draws : int
        Number of draws within the limit, for ``"coverage"`` and ``"mbr"`` and for the shown probabilities.
    rng : int, Generator or None
        For draws. None gives the same summary each time, except for ``"sample"``, which draws anew.
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
    >>> import diverset as dv
    >>> reports = [
    ...     "The old bridge fell into the river on Tuesday. Nobody was hurt. Shops are open.",
    ...     "After days of rain the old bridge fell into the river. Nobody was hurt, said the mayor.",
    ... ]
    >>> print(dv.summarize(reports, max_words=10))
    The old bridge fell into the river on Tuesday.
    """
    if method not in METHODS:
        raise DiversetError(f"method is {method!r}; choose one of {', '.join(METHODS)}")
    notes: list[str] = []
    read_as: dict[str, Any] = {"text": text, "label": label, "encoding": encoding, "notes": notes}
    cluster, budget = as_cluster(documents, **read_as), read_budget(max_bytes, max_words, max_sentences)
    n_draws = check_count(n_draws, name="n_draws")
    terms = cluster.terms
    quality = _model(model).quality_of(cluster)
    if query is not None:
        quality = quality * _relevance(query, terms, notes)
    costs = budget.costs(cluster.sentences)
    fits = (np.diff(terms.vectors.indptr) > 0) & (costs <= budget.room)
    # A heading says what the text is about, but nothing about it: it is taken if nothing else fits.
    candidates = np.flatnonzero(fits & ~cluster.is_heading)
    candidates = candidates if len(candidates) else np.flatnonzero(fits)
    if len(candidates) > MOST_CANDIDATES:
        notes.append(f"of {len(candidates):,} sentences, the {MOST_CANDIDATES:,} of highest quality were compared")
        candidates = _best(candidates, quality, costs)
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
    draws = law.draw(1 if method == "sample" else n_draws, _seed(method, rng)) if method in METHODS[:3] else None
    chosen = _decode(method, law, draws, cluster, candidates, allowed, quality, notes)
    if method == "sample":
        draws = None  # one draw tells no probabilities
    return finish(
        cluster,
        candidates[chosen],
        budget,
        method,
        by_events=True,
        quality=quality,
        notes=notes,
        candidates=candidates,
        law=law,
        draws=draws,
        n_draws=n_draws,
    )


def _model(model: Summarizer | str | os.PathLike[str] | None) -> Summarizer | QualityWeights:
    if model is None:
        return default_weights()
    from diverset.text.summarizer import Summarizer  # loads what learning needs

    return model if isinstance(model, Summarizer) else Summarizer.load(model)


def _vectors(embeddings: Any, cluster: Cluster, known: Sequence[str]) -> tuple[Any, Any]:
    """Unit vectors of the sentences of the cluster, and of those that were read."""
    if embeddings is None:
        return cluster.terms.vectors, cluster.terms.vectors_of(known)
    if not isinstance(embeddings, str):
        if known:
            raise DiversetError(
                "update_since needs vectors of what was read as well: pass embeddings as a model's name"
            )
        E = as_finite(embeddings, name="embeddings of the sentences", shape=(len(cluster), None))
        return _unit(E), None
    try:
        package = import_module("sentence_transformers")
    except ImportError as error:
        raise MissingExtraError("embeddings by name need: pip install sentence-transformers") from error
    try:
        encode = package.SentenceTransformer(embeddings, local_files_only=True).encode
    except (OSError, ValueError) as error:
        raise DiversetError(f"there is no installed sentence-transformers model {embeddings!r}: {error}") from None
    E = np.asarray(encode([*cluster.sentences, *known]), dtype=np.float64)
    return _unit(E[: len(cluster)]), _unit(E[len(cluster) :])


def _unit(E: FloatArray) -> FloatArray:
    norms = np.linalg.norm(E, axis=1, keepdims=True)
    unit: FloatArray = E / np.where(norms > 0.0, norms, 1.0)
    return unit


def _seed(method: str, rng: RNGLike) -> RNGLike:
    return 0 if rng is None and method != "sample" else rng


def _relevance(query: str, terms: Terms, notes: list[str]) -> FloatArray:
    """Factors of quality by cosine to the query."""
    near = (terms.vectors @ terms.vectors_of([query]).T).toarray().ravel()
    top = near.max(initial=0.0)
    if top == 0.0:
        notes.append(f"no sentence holds a word of the query {query!r}; it was ignored")
        return np.ones(len(near))
    factor: FloatArray = np.exp(0.5 * _QUERY_WEIGHT * near / top)
    return factor


def _decode(
    method: str,
    law: SummaryLaw,
    draws: Draws | None,
    cluster: Cluster,
    candidates: IntArray,
    allowed: BoolArray,
    quality: FloatArray,
    notes: list[str],
) -> IntArray:
    """Chosen positions among the candidates."""
    if draws is not None and not draws.sets:
        notes.append(f"no draw of {draws.n_drawn:,} fits the limit; the greedy summary is given instead")
        draws = None
    if draws is None:
        from diverset.core import DPP
        from diverset.inference.budgeted import map_budgeted

        # Where no sentence makes a set more probable, Algorithm 6 takes the longest one. A factor changes that, and
        # does not change the order among sets of one size.
        L = _GREEDY_SCALE / np.median(np.diagonal(law.L)) * law.L
        return map_budgeted(DPP(L), law.costs, law.room, fill=True).indices
    if method == "sample":
        return draws.sets[0]
    own = Terms([cluster.terms.stems[i] for i in candidates])
    if method == "mbr":
        return draws.sets[least_risk(draws.sets, own.counts)]
    # Only the better half by quality, among all sentences and among those that fit.
    good = allowed & (quality[candidates] >= max(np.median(quality), np.median(law.quality)))
    depends = np.array([opens_dependent(cluster.words[i]) for i in candidates])
    # The sentence before it, if that is a candidate of the same document; else itself, so that it is never taken.
    before = np.searchsorted(candidates, candidates - 1)
    known = (candidates[before] == candidates - 1) & (cluster.position[candidates] > 0)
    needs = np.where(depends, np.where(known, before, np.arange(len(candidates))), -1)
    # Where many sentences begin in lower case, their writers use no capitals.
    small = bool(np.mean([sentence[:1].islower() for sentence in cluster.sentences]) > _LOWER_CASE)
    alone = np.array([stands_alone(cluster.sentences[i], lower_case=small) for i in candidates])
    for mask, wait in ((good & alone, needs), (good, needs), (allowed, needs), (allowed, None)):
        chosen = covering_summary(draws, own, law.costs, law.room, allowed=mask, needs=wait, similarity=law.similarity)
        if len(chosen):
            return chosen
    return np.array([int(np.argmax(law.quality))])


def _best(candidates: IntArray, quality: FloatArray, costs: IntArray) -> IntArray:
    """Half of the candidates by quality, the other half by quality per cost: short ones that fill the limit."""
    order = candidates[np.argsort(-quality[candidates], kind="stable")]
    good, rest = order[: MOST_CANDIDATES // 2], order[MOST_CANDIDATES // 2 :]
    filling = np.argsort(-quality[rest] / costs[rest], kind="stable")[: MOST_CANDIDATES - len(good)]
    return np.sort(np.concatenate([good, rest[filling]]))
