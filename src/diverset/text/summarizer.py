"""The model behind summaries, learned from human summaries; ``docs/summaries.rst`` has the likelihoods."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import Bounds, minimize

from diverset._typing import FloatArray, IntArray
from diverset.errors import DiversetError
from diverset.learn._estimator import Estimator, check_fitted
from diverset.learn.instances import Instance
from diverset.learn.quality import LogisticQuality, QualityModel
from diverset.numerics.validation import as_generator, check_nonnegative, check_positive
from diverset.text.cluster import Budget, Cluster, read_budget
from diverset.text.decode import SummaryLaw, cosines, indicator
from diverset.text.quality import (
    DEFAULT_MODEL,
    FEATURE_GROUPS,
    QualityWeights,
    columns_of,
    feature_matrix,
    late_penalty,
    read_model,
    write_model,
)
from diverset.text.rouge import rouge_words
from diverset.text.summary import Summary, summarize
from diverset.text.tfidf import count_terms

__all__ = ["Summarizer", "default_summarizer", "oracle_summary"]

_RIDGE = 0.05  # of the regression, for features of variance 1
#: Rounds of draws, draws for each cluster in a round, and the largest change of a weight in a round.
_ROUNDS, _DRAWS, _STEP = 12, 400, 0.25


def oracle_summary(
    sentences: Sequence[str], references: Sequence[str], budget: Budget, *, scaling: float = 0.5
) -> IntArray:
    r"""Choose sentences that together cover the words of human summaries ([KuleszaTaskar2012]_, Algorithm 5).

    Repeatedly, the sentence of largest :math:`\mathrm{ROUGE\text{-}1F}(i, H) / \sqrt{\mathrm{length}(i)}` is taken
    among those that fit, and its words are removed from the references H. Oracle summaries are training data, since
    human summaries do not consist of sentences of the documents.

    Parameters
    ----------
    sentences, references : sequence of str
        Candidates, and human summaries.
    budget : Budget
        The limit.
    scaling : float
        Exponent of the length: 0.5 as printed; 0 prefers longer sentences.

    Returns
    -------
    ndarray of int64
        Positions in the order of picking. Sentences without any of the remaining words are not taken.

    Examples
    --------
    >>> sentences = ["It rained.", "Floods in town.", "Rain hit the town."]
    >>> oracle_summary(sentences, ["Rain in the town"], Budget("words", 7))
    array([2, 1])
    """
    if not references:
        raise DiversetError("there are no references; an oracle summary is made from human ones")
    words = [rouge_words(sentence) for sentence in sentences]
    humans, vocabulary = count_terms(map(rouge_words, references))
    wanted, counts = humans.toarray(), count_terms(words, vocabulary)[0].toarray()
    totals = np.array([len(found) for found in words], dtype=np.float64)
    exponent = check_nonnegative(scaling, name="scaling", most=50.0)
    weight = np.maximum(budget.lengths(sentences), 1).astype(np.float64) ** exponent

    def score(Y: list[int]) -> FloatArray:
        left = np.maximum(wanted - counts[Y].sum(axis=0), 0)
        hits = np.minimum(counts[:, None, :], left).sum(axis=(1, 2))
        rouge = 2.0 * hits / np.maximum(left.sum() + len(left) * totals, 1.0)
        return np.where(hits > 0, rouge / weight, -np.inf)

    return np.array(fill(budget, sentences, score), dtype=np.int64)


def fill(budget: Budget, sentences: Sequence[str], score: Callable[[list[int]], FloatArray]) -> list[int]:
    """Sentences of the highest score given those taken before, one at a time, until none fits or scores are -inf."""
    costs, room = budget.costs(sentences), budget.room
    free = costs <= room
    chosen: list[int] = []
    while free.any():
        scores = np.where(free, score(chosen), -np.inf)
        best = int(scores.argmax())
        if scores[best] == -np.inf:
            break
        chosen.append(best)
        room -= int(costs[best])
        free &= costs <= room
        free[best] = False
    return chosen


def sentence_scores(cluster: Cluster) -> FloatArray:
    r"""Overlap of each sentence with the human summaries: :math:`(h_1 + 2 h_2) / (\ell + 0.35\,\bar m)`.

    Here :math:`h_1` and :math:`h_2` are the hits of ROUGE-1 and ROUGE-2, averaged over the references, :math:`\ell` is
    the number of words of the sentence and :math:`\bar m` the mean length of a reference.
    """
    humans = [rouge_words(reference) for reference in cluster.references]
    mean_length = sum(map(len, humans)) / len(humans)
    singles = [Counter(human) for human in humans]
    doubles = [Counter(pairwise(human)) for human in humans]
    scores = np.zeros(len(cluster))
    for i, stems in enumerate(cluster.terms.stems):
        own, pairs = Counter(stems), Counter(pairwise(stems))
        hits = sum((own & human).total() for human in singles) + 2 * sum((pairs & human).total() for human in doubles)
        scores[i] = hits / len(humans) / max(len(stems) + 0.35 * mean_length, 1.0)
    return scores


class Example(NamedTuple):
    """Sentences of a cluster that fit the limit, and a summary made of them."""

    features: FloatArray
    offset: FloatArray  # subtracted from 2 log q
    similarity: FloatArray
    costs: IntArray
    room: int
    chosen: IntArray

    def law(self, theta: FloatArray) -> SummaryLaw:
        """Law of summaries for weights; its least cost is at most that of the summary."""
        score = np.clip(self.features @ theta - self.offset, -200.0, 200.0)
        law = SummaryLaw(np.exp(0.5 * score), self.similarity, self.costs, self.room)
        law.low = min(law.half, int(self.costs[self.chosen].sum()))
        return law


def accepted_sums(example: Example, theta: FloatArray, n_draws: int, rng: np.random.Generator) -> FloatArray:
    """Feature sums of draws that fit, of shape (n_accepted, n_features)."""
    sets = example.law(theta).draw(n_draws, rng).sets
    return np.asarray(indicator(sets, len(example.costs)).astype(np.float64) @ example.features)


def relative_likelihood(step: FloatArray, own: FloatArray, sums: FloatArray) -> tuple[float, FloatArray]:
    """Change of the log-likelihood after a `step` of the weights, and its gradient, by feature sums.

    `own` is that of the summary, and the rows of `sums` are those of accepted draws before the step.
    """
    exponents = sums @ step
    top = exponents.max()
    weights = np.exp(exponents - top)
    total = weights.sum()
    value = float(step @ own - top - np.log(total / len(sums)))
    return value, own - weights @ sums / total


def fit_given_budget(
    examples: Sequence[Example], shares: FloatArray, prior_variance: float, *, d: int, rng: int = 0
) -> FloatArray:
    """Weights of highest posterior density: the mean over the second half of the rounds."""
    generator = as_generator(rng)
    shares = shares * (len(shares) / shares.sum()) if len(shares) else shares
    own = [example.features[example.chosen].sum(axis=0) for example in examples]
    theta, kept = np.zeros(d), []
    for turn in range(_ROUNDS):
        sums = [accepted_sums(example, theta, _DRAWS, generator) for example in examples]
        parts = [(share, o, s) for share, o, s in zip(shares, own, sums, strict=True) if len(s)]

        def loss(new: Any, theta: FloatArray = theta, parts: list[Any] = parts) -> tuple[float, FloatArray]:
            value, gradient = 0.5 * float(new @ new) / prior_variance, new / prior_variance
            for share, o, s in parts:
                more, slope = relative_likelihood(new - theta, o, s)
                value, gradient = value - share * more, gradient - share * slope
            return value, gradient

        # The approximation by draws is accurate only near the weights they were made at, so steps get shorter.
        reach = _STEP / (1.0 + turn / 3.0)
        theta = minimize(loss, theta, jac=True, method="L-BFGS-B", bounds=Bounds(theta - reach, theta + reach)).x
        if turn >= _ROUNDS // 2:
            kept.append(theta)
    return np.asarray(np.mean(kept, axis=0))


@dataclass(kw_only=True, eq=False, repr=False)
class Summarizer(Estimator):
    r"""A DPP over the sentences of a cluster whose qualities are learned from human summaries.

    :math:`L_{ij} = q_i (\phi_i^T \phi_j) q_j`, where :math:`\phi_i` are unit vectors of weighted stems and the quality
    :math:`q_i` is log-linear in features of the sentence.

    Parameters
    ----------
    training : {"regression", "dpp", "logistic", "dpp-budget"}
        How the weights are learned. ``"regression"``: ridge regression of each sentence's own overlap with the human
        summaries. ``"dpp"``: maximum likelihood of oracle summaries (:func:`oracle_summary`), which learns in context
        ([KuleszaTaskar2012]_, section 4.2). ``"logistic"``: logistic regression of membership in oracle summaries.
        ``"dpp-budget"``: maximum likelihood of oracle summaries given that a summary fits the limit.
    groups : sequence of str
        Feature groups to use.
    late : float
        Penalty for sentences after the fifth of their document.
    prior_variance : float
        Variance of the Gaussian prior on the weights; not for ``"regression"``.
    max_bytes, max_words, max_sentences : int, optional
        Length of the oracle summaries; 100 words if none is given.
    oracle_scaling : float
        Exponent of the length in the oracle summaries (:func:`oracle_summary`).
    max_iter, tol, n_jobs, verbose
        As in :class:`diverset.learn.QualityModel`.

    Attributes
    ----------
    coef_ : ndarray of shape (1 + n_features,)
        Weights: of a constant, then of the features in use. The constant is 0 after ``"regression"``.
    oracles_ : list of ndarray
        The oracle summaries, after :meth:`fit` with a training other than ``"regression"``.
    card_ : str
        Where the model comes from.

    Examples
    --------
    >>> flood = Cluster(["Rain flooded the town. I like dogs.", "The town was flooded by rain."], "Rain in the town.")
    >>> model = Summarizer().fit([flood])
    >>> print(model.summarize(["The old mill burned. We had tea.", "Fire: the old mill burned down."], max_words=5))
    The old mill burned.
    """

    training: str = "regression"
    groups: Sequence[str] = FEATURE_GROUPS
    late: float = 1.0
    prior_variance: float = 1.0
    max_bytes: int | None = None
    max_words: int | None = None
    max_sentences: int | None = None
    oracle_scaling: float = 0.5
    max_iter: int = 200
    tol: float = 1e-6
    n_jobs: int | None = None
    verbose: bool = False

    @property
    def _training_budget(self) -> Budget:
        return read_budget(self.max_bytes, self.max_words, self.max_sentences)

    def fit(
        self,
        clusters: Iterable[Cluster],
        *,
        weights: Sequence[float] | None = None,
        limits: Sequence[int] | None = None,
    ) -> Summarizer:
        """Learn the weights, and return the model itself.

        Parameters
        ----------
        clusters : iterable of Cluster
            With references.
        weights : sequence of float, optional
            Weight of each cluster, for ``"regression"`` and ``"dpp-budget"``; equal by default.
        limits : sequence of int, optional
            Limit of the oracle summary of each cluster, in the unit of the model's limit; by default that limit.
        """
        listed = list(clusters)
        if not listed:
            raise DiversetError("there are no clusters; learning needs at least one, with references")
        for t, cluster in enumerate(listed):
            if not isinstance(cluster, Cluster):
                raise DiversetError(f"cluster {t} is a {type(cluster).__name__}; pass diverset.text.Cluster(documents)")
            if not cluster.references:
                raise DiversetError(f"cluster {t} has no references; learning needs human summaries")
        columns = columns_of(self.groups)
        QualityWeights(np.zeros(1 + columns.sum()), self.training, tuple(self.groups), self.late)  # checks all three
        given = [1.0] * len(listed) if weights is None else weights
        shares = np.array([check_positive(share, name="a weight") for share in given])
        if len(shares) != len(listed):
            raise DiversetError(f"{len(shares)} weights for {len(listed)} clusters; give one each")
        features = [feature_matrix(cluster)[:, columns] for cluster in listed]
        if self.training == "regression":
            self.coef_ = _regression(listed, features, shares)
        else:
            self.coef_ = self._likelihood(listed, features, shares, limits)
        self.card_ = f"trained on {len(listed)} clusters by {self.training}"
        return self

    def _likelihood(
        self, clusters: list[Cluster], features: list[FloatArray], shares: FloatArray, limits: Sequence[int] | None
    ) -> FloatArray:
        """Weights by the likelihood of oracle summaries."""
        budgets = [self._training_budget] * len(clusters)
        if limits is not None:
            if len(limits) != len(clusters):
                raise DiversetError(f"{len(limits)} limits for {len(clusters)} clusters; give one each")
            budgets = [Budget(budget.unit, limit) for budget, limit in zip(budgets, limits, strict=True)]
        self.oracles_: list[IntArray] = []
        examples, instances, sets = [], [], []
        for cluster, F, budget in zip(clusters, features, budgets, strict=True):
            vectors = cluster.terms.vectors
            costs = budget.costs(cluster.sentences)
            speaking = np.flatnonzero(np.diff(vectors.indptr))
            if self.training == "dpp-budget":
                speaking = speaking[costs[speaking] <= budget.room]
            rows = vectors[speaking]
            sentences = [cluster.sentences[i] for i in speaking]
            oracle = oracle_summary(sentences, cluster.references, budget, scaling=self.oracle_scaling)
            chosen = _independent(rows, oracle)
            self.oracles_.append(np.sort(speaking[chosen]))
            if self.training != "dpp-budget":
                instances.append(Instance(np.column_stack([np.ones(len(speaking)), F[speaking]]), diversity=rows))
            elif len(chosen):
                offset = late_penalty(cluster, self.late)[speaking]
                examples.append(Example(F[speaking], offset, cosines(rows, rows), costs[speaking], budget.room, chosen))
            sets.append(chosen)
        if self.training == "dpp-budget":
            used = shares[[len(chosen) > 0 for chosen in sets]]
            return np.append(0.0, fit_given_budget(examples, used, self.prior_variance, d=features[0].shape[1]))
        options = {name: getattr(self, name) for name in ("prior_variance", "max_iter", "tol", "n_jobs", "verbose")}
        model = (QualityModel if self.training == "dpp" else LogisticQuality)(**options)
        return np.asarray(model.fit(instances, sets).coef_)

    def quality_of(self, cluster: Cluster) -> FloatArray:
        """Quality of every sentence of a cluster."""
        check_fitted(self, "coef_")
        return QualityWeights(self.coef_, self.training, tuple(self.groups), self.late).quality_of(cluster)

    def summarize(self, documents: Any, max_words: int | None = None, **options: Any) -> Summary:
        """Summarise documents with this model: :func:`diverset.summarize` with ``model=self``."""
        return summarize(documents, max_words, model=self, **options)

    def save(self, path: str | os.PathLike[str], *, card: str | None = None) -> None:
        """Write the model to a JSON file, which holds weights, settings and a description, by default ``card_``."""
        check_fitted(self, "coef_")
        budget = self._training_budget
        entries = {
            "card": self.card_ if card is None else card,
            "training": self.training,
            "groups": list(self.groups),
            "late": float(self.late),
            "prior_variance": float(self.prior_variance),
            "oracle_scaling": float(self.oracle_scaling),
            f"max_{budget.unit}": budget.limit,
            "coef": self.coef_.tolist(),
        }
        write_model(path, entries)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Summarizer:
        """Read a model that :meth:`save` wrote. Files of other versions, and changed ones, raise an error."""
        stored = read_model(path)
        try:
            weights = QualityWeights.from_entries(stored)
            model = cls(
                training=weights.training,
                groups=weights.groups,
                late=weights.late,
                prior_variance=check_positive(stored["prior_variance"], name="prior_variance"),
                oracle_scaling=check_nonnegative(stored["oracle_scaling"], name="oracle_scaling"),
                **{key: stored[key] for key in ("max_bytes", "max_words", "max_sentences") if key in stored},
            )
            model.coef_ = weights.coef
            model.card_ = str(stored["card"])
            _ = model._training_budget
        except (ValueError, KeyError, TypeError, AttributeError, OverflowError) as error:
            raise DiversetError(f"{path} is damaged, or was not written by diverset: {error}") from None
        return model


def default_summarizer() -> Summarizer:
    """Load a new copy of the model that comes with the package; its ``card_`` says what it was trained on."""
    return Summarizer.load(DEFAULT_MODEL)


def _regression(clusters: list[Cluster], features: list[FloatArray], shares: FloatArray) -> FloatArray:
    """Ridge regression of standardised sentence scores, clusters weighted by their shares."""
    d = features[0].shape[1]
    gram, right = np.zeros((d, d)), np.zeros(d)
    for cluster, F, share in zip(clusters, features, shares / shares.sum(), strict=True):
        if len(F):
            y = sentence_scores(cluster)
            y = (y - y.mean()) / max(float(y.std()), 1e-9)
            gram += share / len(F) * (F.T @ F)
            right += share / len(F) * (F.T @ y)
    return np.concatenate([[0.0], np.linalg.solve(gram + _RIDGE * np.eye(d), right)])


def _independent(vectors: Any, chosen: IntArray) -> IntArray:
    """The chosen sentences without those whose vectors depend on earlier ones: a DPP gives such sets probability 0."""
    S = cosines(vectors[chosen], vectors[chosen])
    kept: list[int] = []
    for m in range(len(chosen)):
        both = [*kept, m]
        if np.linalg.eigvalsh(S[np.ix_(both, both)])[0] > 1e-8:
            kept = both
    return chosen[kept]
