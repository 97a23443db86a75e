r"""Summaries of several documents by a conditional DPP over their sentences ([KuleszaTaskar2012]_, section 4.2)."""

from __future__ import annotations

import copy
import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from importlib.resources import files
from typing import Any

import numpy as np

from diverset._typing import FloatArray, IntArray, RNGLike
from diverset.core import DPP
from diverset.errors import DiversetError
from diverset.learn._estimator import Estimator, check_fitted
from diverset.learn.instances import Instance
from diverset.learn.quality import QualityModel
from diverset.learn.quality_baselines import LogisticQuality
from diverset.numerics.validation import check_count, check_nonnegative
from diverset.text.budget import Budget, read_budget
from diverset.text.cluster import Cluster, as_cluster
from diverset.text.decode import draw_between, greedy_summary, improve_summary, least_risk
from diverset.text.features import FEATURE_GROUPS, QualityFeatures, columns_of, measure
from diverset.text.model_file import parse_model, read_model, write_model
from diverset.text.oracle import oracle_summary
from diverset.text.overlap import word_counts
from diverset.text.summary import Summary
from diverset.text.tfidf import Tfidf

__all__ = ["SentenceKernel", "Summarizer", "default_summarizer", "finish"]

METHODS = ("greedy", "mbr", "sample", "map-local")
TRAININGS = ("dpp", "logistic")
#: Sentences that are looked at in detail; of more, the best by quality and by quality for their length.
MOST_CANDIDATES = 2000
MOST_TO_DRAW_FROM = 1000
#: Draws are kept if they use at least this share of the budget.
_FULL = 0.95


@dataclass(frozen=True, eq=False)
class SentenceKernel:
    r"""The model's kernel over the candidates of a cluster: :math:`L_{ij} = q_i (\phi_i^T \phi_j + \rho^2) q_j`."""

    quality: FloatArray
    vectors: Any  # CSR, one row per candidate
    rho: float

    def similarity(self, chosen: IntArray | None = None) -> FloatArray:
        """Similarities of all candidates, or of some."""
        rows = self.vectors if chosen is None else self.vectors[chosen]
        S: FloatArray = (rows @ rows.T).toarray() + self.rho**2
        return S

    @cached_property
    def L(self) -> FloatArray:
        """Likelihood kernel."""
        return self.quality[:, None] * self.similarity() * self.quality

    def dpp(self, costs: IntArray, target: float | None) -> DPP:
        r"""The DPP; with a target, L is multiplied by the number that makes its draws cost so much on average.

        The expected cost :math:`\sum_n w_n \frac{a \lambda_n}{1 + a \lambda_n}` grows with a, where
        :math:`w_n = \sum_i c_i v_{ni}^2`.
        """
        if target is None:
            return DPP(self.L)
        values, vectors = np.linalg.eigh(self.L)
        values = np.maximum(values, 0.0)
        weights = costs @ vectors**2
        # Beyond what all sentences of the rank cost there is nothing to reach.
        wanted = min(target, 0.95 * float(weights[values > 1e-12 * values.max(initial=0.0)].sum()))
        low, high = -60.0, 60.0
        for _ in range(80):
            middle = 0.5 * (low + high)
            scaled = np.exp(middle) * values
            if weights @ (scaled / (1.0 + scaled)) < wanted:
                low = middle
            else:
                high = middle
        return DPP(np.exp(0.5 * (low + high)) * self.L)


class Summarizer(Estimator):
    r"""Learns from human summaries which sentences to take, and takes those that are good and different.

    A DPP over the sentences of a cluster, with quality :math:`q_i = \exp(\frac12\theta^T f_i)` of 40 features
    (``diverset.text.features``) and cosines of tf-idf vectors as similarity. The weights are learned by maximum
    likelihood from oracle summaries (:func:`oracle_summary`).

    Parameters
    ----------
    rho : float
        Constant feature that makes all sentences more alike, and sets smaller.
    prior_variance : float
        Of the Gaussian prior on the weights.
    training : {"dpp", "logistic"}
        Learn in context, or sentence by sentence without a look at diversity (the baseline LR+DPP).
    groups : sequence of str
        Feature groups to use.
    max_bytes, max_words, max_sentences : int, optional
        Length of the oracle summaries; 665 bytes if none is given.
    oracle_scaling : float
        Exponent of the length in the oracle summaries (:func:`oracle_summary`).
    greedy_scale : float
        Number by which L is multiplied for ``"greedy"`` and ``"map-local"``. With 1 that is Algorithm 6 as
        printed; but where no sentence makes a set more probable, which is the rule once qualities are below 1, what is
        lost per character is least for the longest sentence. Sets of one size have the same order for any factor.
    max_iter, tol, n_jobs, verbose
        As in :class:`diverset.learn.QualityModel`.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,)
        Weights of the features in use.
    tfidf_ : Tfidf
        Document frequencies of the training documents.
    features_ : QualityFeatures
        The features with their bins.
    quality_model_ : QualityModel
        The fitted model, with standard errors after :meth:`fit`.
    oracles_ : list of ndarray
        The training summaries, after :meth:`fit`.
    card_ : str
        Where the model comes from.

    Examples
    --------
    The model that comes with the package needs no training:

    >>> import diverset as dv
    >>> documents = [
    ...     "Heavy rain flooded the old town on Monday. The mayor asked for help. Schools stayed closed.",
    ...     "After a night of rain, parts of the old town are under water. Schools are closed. Trains still run.",
    ... ]
    >>> summary = dv.text.default_summarizer().summarize(documents, max_words=20)
    >>> len(summary.text.split()) <= 20
    True
    """

    def __init__(
        self,
        *,
        rho: float = 0.7,
        prior_variance: float = 1.0,
        training: str = "dpp",
        groups: Sequence[str] = FEATURE_GROUPS,
        max_bytes: int | None = None,
        max_words: int | None = None,
        max_sentences: int | None = None,
        oracle_scaling: float = 0.5,
        greedy_scale: float = 1.0,
        max_iter: int = 200,
        tol: float = 1e-6,
        n_jobs: int | None = None,
        verbose: bool = False,
    ) -> None:
        self.rho = rho
        self.prior_variance = prior_variance
        self.training = training
        self.groups = groups
        self.max_bytes = max_bytes
        self.max_words = max_words
        self.max_sentences = max_sentences
        self.oracle_scaling = oracle_scaling
        self.greedy_scale = greedy_scale
        self.max_iter = max_iter
        self.tol = tol
        self.n_jobs = n_jobs
        self.verbose = verbose

    @property
    def _training_budget(self) -> Budget:
        return read_budget(self.max_bytes, self.max_words, self.max_sentences)

    def fit(self, clusters: Iterable[Cluster], oracles: Sequence[Iterable[int]] | None = None) -> Summarizer:
        """Learn weights, bins and document frequencies.

        Parameters
        ----------
        clusters : iterable of Cluster
            With references.
        oracles : sequence of iterables of int, optional
            Sets of sentences to learn from; made from the references by default.

        Returns
        -------
        self : Summarizer
            The fitted model.
        """
        listed = list(clusters)
        if not listed:
            raise DiversetError("there are no clusters; learning needs at least one, with references")
        for t, cluster in enumerate(listed):
            if not isinstance(cluster, Cluster):
                raise DiversetError(f"cluster {t} is a {type(cluster).__name__}; pass diverset.text.Cluster(documents)")
        # Its square is added to every similarity.
        check_nonnegative(self.rho, name="rho", most=1e6)
        if self.training not in TRAININGS:
            raise DiversetError(f"training is {self.training!r}; choose dpp or logistic")
        budget = self._training_budget
        self.tfidf_ = Tfidf.from_documents(document for cluster in listed for document in cluster.documents)
        vectors = [self._vectors(cluster) for cluster in listed]
        measured = [measure(cluster, rows) for cluster, rows in zip(listed, vectors, strict=True)]
        self.features_ = QualityFeatures.from_measurements(measured)
        columns = columns_of(self.groups)
        instances, sets = [], []
        self.oracles_: list[IntArray] = []
        for t, cluster in enumerate(listed):
            speaking = np.flatnonzero(np.diff(vectors[t].indptr))
            rows = vectors[t][speaking]
            if oracles is None:
                sentences = [cluster.sentences[i] for i in speaking]
                chosen = oracle_summary(sentences, cluster.references, budget, scaling=self.oracle_scaling)
            else:
                chosen = np.searchsorted(speaking, np.fromiter(oracles[t], dtype=np.int64))
            chosen = _independent(rows, chosen, self.rho)
            self.oracles_.append(np.sort(speaking[chosen]))
            instances.append(Instance(self.features_.matrix(measured[t])[speaking][:, columns], diversity=rows))
            sets.append(chosen)
        model = (QualityModel if self.training == "dpp" else LogisticQuality)(
            prior_variance=self.prior_variance,
            rho=self.rho,
            max_iter=self.max_iter,
            tol=self.tol,
            n_jobs=self.n_jobs,
            verbose=self.verbose,
        )
        self.quality_model_ = model.fit(instances, sets)
        self.coef_ = self.quality_model_.coef_
        self.card_ = f"trained on {len(listed)} clusters, oracle summaries of {budget.limit} {budget.unit}"
        return self

    def _vectors(self, cluster: Cluster) -> Any:
        return self.tfidf_.vectors(cluster.sentences, found_words=cluster.words).matrix

    def quality_of(self, cluster: Cluster, vectors: Any = None) -> FloatArray:
        """Quality of every sentence of a cluster; its logarithm is half the weighted features."""
        check_fitted(self, "coef_")
        rows = self._vectors(cluster) if vectors is None else vectors
        F = self.features_.matrix(measure(cluster, rows))[:, columns_of(self.groups)]
        return np.exp(0.5 * (F @ self.coef_))

    def summarize(
        self,
        documents: Cluster | Iterable[str | Sequence[str]],
        *,
        max_bytes: int | None = None,
        max_words: int | None = None,
        max_sentences: int | None = None,
        method: str = "greedy",
        n_samples: int = 1000,
        window: tuple[int, int] | None = None,
        rng: RNGLike = None,
    ) -> Summary:
        """Summarise documents about one thing.

        Parameters
        ----------
        documents : Cluster, or iterable of str or of lists of sentences
            What to summarise. Headings of texts are left out of summaries, but for want of anything else that fits.
        max_bytes, max_words, max_sentences : int, optional
            The limit, one of them; 665 bytes if none is given. It is never exceeded.
        method : {"greedy", "mbr", "sample", "map-local"}
            Algorithm 6; the draw of highest mean ROUGE-1F against all draws; one draw; the greedy set improved by
            single steps.
        n_samples : int
            Draws for ``"mbr"``.
        window : (int, int), optional
            Lengths of draws that are kept, in the unit of the limit; from 95% of it to all of it by default. If draws
            may be longer than the limit, as in the experiments of [KuleszaTaskar2012]_, the summary is cut at it.
        rng : int, Generator or None
            For methods that draw.

        Returns
        -------
        Summary
            Sentences in the order of the documents, and why they were chosen.
        """
        check_fitted(self, "coef_")
        if method not in METHODS:
            raise DiversetError(f"method is {method!r}; choose one of {', '.join(METHODS)}")
        cluster, budget = as_cluster(documents), read_budget(max_bytes, max_words, max_sentences)
        low, high = _read_window(window, budget)
        draws = method in ("mbr", "sample")
        vectors = self._vectors(cluster)
        costs = budget.costs(cluster.sentences)
        quality = self.quality_of(cluster, vectors)
        room = max(budget.limit, high) + budget.separator
        fits = (np.diff(vectors.indptr) > 0) & (costs <= room)
        # A heading says what the text is about, but nothing about it: it is taken if nothing else fits.
        candidates = np.flatnonzero(fits & ~cluster.is_heading)
        candidates = candidates if len(candidates) else np.flatnonzero(fits)
        notes: list[str] = []
        most = MOST_TO_DRAW_FROM if draws else MOST_CANDIDATES
        if len(candidates) > most:
            notes.append(f"of {len(candidates):,} sentences, the {most:,} of highest quality were compared")
            candidates = _best(candidates, quality, costs, most)
        if not len(candidates):
            return finish(cluster, [], budget, method, quality=quality, notes=notes)
        kernel = SentenceKernel(quality[candidates], vectors[candidates], float(self.rho))
        price = costs[candidates]
        n_drawn = n_accepted = 0
        if not draws:
            L = self.greedy_scale * kernel.L
            chosen = greedy_summary(L, price, budget.room)
            if method == "map-local":
                chosen = improve_summary(L, price, budget.room, chosen)
        else:
            wanted = check_count(n_samples, name="n_samples") if method == "mbr" else 1
            # A model knows the length it was trained for; for another, its draws are made as long as wanted.
            target = None if self._training_budget == budget else 0.5 * (low + high)
            found = draw_between(
                kernel.dpp(price, target),
                price,
                low + budget.separator,
                high + budget.separator,
                wanted,
                rng=rng,
            )
            n_drawn, n_accepted = found.n_drawn, len(found.sets)
            if found.low < low + budget.separator:
                notes.append(f"few draws of {low} to {high} {budget.unit}: shorter ones were kept as well")
            if not found.sets:
                notes.append(f"no draw of {n_drawn:,} was short enough; the greedy summary is given instead")
                chosen = greedy_summary(self.greedy_scale * kernel.L, price, budget.room)
            elif method == "mbr":
                counts = word_counts([cluster.sentences[i] for i in candidates])
                chosen = found.sets[least_risk(found.sets, counts)[0]]
            else:
                chosen = found.sets[0]
        return finish(
            cluster,
            candidates[chosen],
            budget,
            method,
            quality=quality,
            candidates=candidates,
            kernel=kernel,
            n_drawn=n_drawn,
            n_accepted=n_accepted,
            notes=notes,
        )

    def save(self, path: str | os.PathLike[str], *, card: str | None = None) -> None:
        """Write the model to a file of JSON, which holds numbers and document frequencies only.

        Parameters
        ----------
        path : path-like
            Where to.
        card : str, optional
            What to know about the model; kept as ``card_``.
        """
        check_fitted(self, "coef_")
        budget = self._training_budget
        entries = {
            "card": self.card_ if card is None else card,
            "rho": float(self.rho),
            "prior_variance": float(self.prior_variance),
            "training": self.training,
            "oracle_scaling": float(self.oracle_scaling),
            "greedy_scale": float(self.greedy_scale),
            "groups": list(self.groups),
            f"max_{budget.unit}": budget.limit,
            "coef": self.coef_.tolist(),
            "length_edges": self.features_.length_edges.tolist(),
            "similarity_edges": self.features_.similarity_edges.tolist(),
            "lexrank_edges": self.features_.lexrank_edges.tolist(),
            "n_documents": self.tfidf_.n_documents,
            # Words of one document count as words of none do.
            "document_counts": {w: c for w, c in sorted(self.tfidf_.document_counts.items()) if c > 1},
        }
        write_model(path, entries)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Summarizer:
        """Read a model that :meth:`save` wrote; nothing in the file is executed.

        Raises
        ------
        DiversetError
            If the file is no model, comes from another version, or is not as it was written.
        """
        return cls._from_entries(read_model(path), str(path))

    @classmethod
    def _from_entries(cls, stored: dict[str, Any], name: str) -> Summarizer:
        try:
            limits = {key: stored[key] for key in ("max_bytes", "max_words", "max_sentences") if key in stored}
            model = cls(
                rho=float(stored["rho"]),
                prior_variance=float(stored["prior_variance"]),
                training=str(stored["training"]),
                oracle_scaling=float(stored["oracle_scaling"]),
                greedy_scale=float(stored["greedy_scale"]),
                groups=tuple(stored["groups"]),
                **limits,
            )
            names = ("length_edges", "similarity_edges", "lexrank_edges")
            edges = [np.array(stored[key], dtype=np.float64) for key in names]
            counts = {str(word): int(count) for word, count in stored["document_counts"].items()}
            model.tfidf_ = Tfidf(counts, int(stored["n_documents"]))
            model.features_ = QualityFeatures(*edges)
            model.quality_model_ = QualityModel(rho=model.rho, prior_variance=model.prior_variance)
            model.coef_ = model.quality_model_.set_coef(stored["coef"]).coef_
            model.card_ = str(stored["card"])
            _check_entries(model, edges)
        except (ValueError, KeyError, TypeError, AttributeError, OverflowError) as error:
            raise DiversetError(f"{name} is damaged, or was not written by diverset: {error}") from None
        return model


def _check_entries(model: Summarizer, edges: Sequence[FloatArray]) -> None:
    """Refuse entries that no fit gives; a file may say anything, and still have the checksum of what it says."""
    wanted = int(columns_of(model.groups).sum())
    if len(model.coef_) != wanted:
        raise DiversetError(f"{len(model.coef_)} weights for {wanted} features")
    for edge in edges:
        if edge.shape != (4,) or not np.isfinite(edge).all() or (np.diff(edge) < 0.0).any():
            raise DiversetError(f"the bins {edge.tolist()} are not four ascending numbers")
    if model.training not in TRAININGS:
        raise DiversetError(f"training is {model.training!r}")
    for name in ("rho", "prior_variance", "oracle_scaling", "greedy_scale"):
        check_nonnegative(getattr(model, name), name=name)
    check_count(model.tfidf_.n_documents, name="n_documents")
    for word, count in model.tfidf_.document_counts.items():
        if not 0 < count <= model.tfidf_.n_documents:
            raise DiversetError(f"{word!r} is in {count} of {model.tfidf_.n_documents} documents")
    _ = model._training_budget


def default_summarizer() -> Summarizer:
    """The model that comes with the package; ``default_summarizer().card_`` says what it was trained on.

    Every call gives another object: fitting one anew leaves the others as they are.
    """
    return copy.copy(_read_default())


@cache
def _read_default() -> Summarizer:
    resource = files("diverset") / "data" / "summarizer.json"
    name = "the default model"
    return Summarizer._from_entries(parse_model(resource.read_bytes(), name), name)


def finish(
    cluster: Cluster, chosen: Any, budget: Budget, method: str, *, quality: FloatArray | None = None, **found: Any
) -> Summary:
    """Put chosen sentences in the order of the documents, within the budget to the byte.

    Where not even one sentence fits, the best one (by quality, else the first) is cut at a word.
    """
    indices = np.sort(np.asarray(chosen, dtype=np.int64))
    notes = list(found.pop("notes", ()))
    if not len(indices) and len(cluster):
        indices = np.array([0 if quality is None else int(np.argmax(quality))])
        notes.append("no sentence fits the limit; one was cut")
    text = budget.crop(" ".join(cluster.sentences[i] for i in indices)) if len(indices) else ""
    found.setdefault("candidates", np.zeros(0, dtype=np.int64))
    return Summary(text, indices, cluster, budget, method, notes=tuple(notes), **found)


def _best(candidates: IntArray, quality: FloatArray, costs: IntArray, most: int) -> IntArray:
    """The best by quality, and as many of the others by quality for their cost: short ones, that fill what is left."""
    order = candidates[np.argsort(-quality[candidates], kind="stable")]
    good, rest = order[: most // 2], order[most // 2 :]
    filling = np.argsort(-quality[rest] / costs[rest], kind="stable")[: most - len(good)]
    return np.sort(np.concatenate([good, rest[filling]]))


def _read_window(window: tuple[int, int] | None, budget: Budget) -> tuple[int, int]:
    if window is None:
        return int(np.ceil(_FULL * budget.limit)), budget.limit
    low, high = (check_count(bound, name="window") for bound in window)
    if low > min(high, budget.limit):
        raise DiversetError(f"window is {window} for a limit of {budget.limit}; its lower end must be within the limit")
    return low, high


def _independent(vectors: Any, chosen: IntArray, rho: float) -> IntArray:
    """The chosen sentences without those that, but for stop words, repeat others: no DPP gives them both."""
    rows = vectors[chosen]
    S = (rows @ rows.T).toarray() + rho**2
    kept: list[int] = []
    for m in range(len(chosen)):
        block = S[np.ix_([*kept, m], [*kept, m])]
        if np.linalg.eigvalsh(block)[0] > 1e-8:
            kept.append(m)
    return chosen[kept]
