"""A summary, the reasons for its sentences, and their order."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from diverset._result import Result
from diverset._typing import FloatArray, IntArray, RNGLike
from diverset.errors import DiversetError
from diverset.text.cluster import Budget, Cluster
from diverset.text.decode import Draws
from diverset.text.law import SummaryLaw
from diverset.text.sentences import opens_dependent

__all__ = ["Summary", "finish", "reading_order"]


@dataclass(frozen=True, eq=False)
class Summary(Result):
    """Chosen sentences in the order of events.

    Attributes
    ----------
    text : str
        The summary, within the budget.
    indices : ndarray of int64
        Positions in ``cluster.sentences``, in the order of the text.
    cluster : Cluster
        The documents.
    budget : Budget
        The limit.
    method : str
        The decoder.
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
        """Fresh draws from the distribution over summaries within the budget.

        Parameters
        ----------
        size : int
            How many.
        rng : int, Generator or None
            Random numbers.

        Returns
        -------
        list of ndarray of int64
            Ascending sentences of each drawn summary.
        """
        if self.law is None:
            raise DiversetError(f"a summary by {self.method!r} has no distribution to draw from")
        found = self.law.draw(size, rng).sets
        if len(found) < size:
            raise DiversetError(f"only {len(found)} of {size} draws fit the limit; raise the limit")
        return [np.sort(self.candidates[items]) for items in found]

    @cached_property
    def _probability_draws(self) -> Draws | None:
        if self.draws is not None or self.law is None:
            return self.draws
        return self.law.draw(self.n_draws, 0)

    @property
    def n_accepted(self) -> int:
        """Number of draws within the budget that the probabilities are estimated from."""
        return 0 if self._probability_draws is None else len(self._probability_draws.sets)

    @property
    def n_drawn(self) -> int:
        """Number of draws made for the probabilities, including those that did not fit."""
        return 0 if self._probability_draws is None else self._probability_draws.n_drawn

    @cached_property
    def inclusion(self) -> FloatArray:
        """Share of the draws within the budget that hold the sentence, for every sentence of the cluster."""
        share = np.zeros(len(self.cluster))
        if self.n_accepted and self._probability_draws is not None:
            held = self._probability_draws.indicator(len(self.candidates)).sum(axis=0)
            share[self.candidates] = np.asarray(held).ravel() / self.n_accepted
        return share

    @cached_property
    def novelty(self) -> FloatArray:
        r"""Share of each chosen sentence that is not in the others: :math:`\det S_Y / (s_{ii} \det S_{Y - i})`.

        1 for a sentence that shares no word with the others, 0 for a copy.
        """
        if self.law is None or not np.isin(self.indices, self.candidates).all():
            return np.ones(len(self.indices))
        places = np.searchsorted(self.candidates, self.indices)
        S = self.law.similarity[np.ix_(places, places)]
        inverse = np.linalg.pinv(S, hermitian=True)
        share: FloatArray = np.clip(1.0 / (np.diagonal(inverse) * np.diagonal(S)), 0.0, 1.0)
        return share

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
    """Put chosen sentences in order, within the budget to the byte.

    The order is that of the documents, or of events. Where not even one sentence fits, the best
    one (by quality, else the first) is cut at a word.
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
    text = budget.crop(" ".join(cluster.sentences[i] for i in indices)) if len(indices) else ""
    return Summary(text, indices, cluster, budget, method, notes=tuple(notes), **found)


#: Two sentences with a cosine above this mention the same thing.
_SAME = 0.5


def reading_order(cluster: Cluster, chosen: Sequence[int]) -> IntArray:
    """Chosen sentences in the order of events.

    Sentences are ordered by the date of their document, if all documents have one, and else by first mention: the
    place of the first sentence of the cluster with a cosine above one half to the chosen one. A sentence that needs
    the one before it follows that sentence.
    """
    chosen = sorted(int(i) for i in chosen)
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
