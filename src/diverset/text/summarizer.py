r"""The model behind summaries: what makes a sentence good, learned from human summaries."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from diverset._typing import FloatArray, IntArray
from diverset.errors import DiversetError
from diverset.learn._estimator import Estimator, check_fitted
from diverset.learn.instances import Instance
from diverset.learn.quality import LogisticQuality, QualityModel
from diverset.numerics.validation import check_nonnegative, check_positive
from diverset.text.cluster import Budget, Cluster, read_budget
from diverset.text.law import cosines
from diverset.text.learning import Example, fit_given_budget, oracle_summary, sentence_scores
from diverset.text.quality import (
    FEATURE_GROUPS,
    TRAININGS,
    QualityWeights,
    columns_of,
    default_entries,
    feature_matrix,
    late_penalty,
    read_model,
    write_model,
)
from diverset.text.summary import Summary
from diverset.text.verb import summarize

__all__ = ["Summarizer", "default_summarizer"]

#: Ridge of the regression, for features of variance 1.
_RIDGE = 0.05


class Summarizer(Estimator):
    r"""A DPP over the sentences of a cluster whose qualities are learned from human summaries.

    :math:`L_{ij} = q_i (\phi_i^T \phi_j) q_j`, where :math:`\phi_i` are unit vectors of weighted stems and the quality
    :math:`q_i` is log-linear in features of the sentence (``diverset.text.quality.QualityWeights``).

    Parameters
    ----------
    training : {"regression", "dpp", "logistic", "dpp-budget"}
        How the weights are learned. ``"regression"``: ridge regression of each sentence's own overlap with the human
        summaries (``diverset.text.learning.sentence_scores``). ``"dpp"``: maximum likelihood of oracle summaries
        (:func:`oracle_summary`), which learns in context ([KuleszaTaskar2012]_, section 4.2). ``"logistic"``: logistic
        regression of membership in oracle summaries. ``"dpp-budget"``: maximum likelihood of oracle summaries given
        that a summary fits the limit, under the law of the draws (``diverset.text.learning``).
    groups : sequence of str
        Feature groups to use.
    late : float
        How much sentences after the fifth of their document lose.
    prior_variance : float
        Of the Gaussian prior on the weights, for ``"dpp"`` and ``"logistic"``.
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
        The training summaries, after :meth:`fit` with ``"dpp"`` or ``"logistic"``.
    card_ : str
        Where the model comes from.

    Examples
    --------
    >>> import diverset as dv
    >>> flood = ["Rain flooded the town. I like dogs.", "The town was flooded by rain. So it goes."]
    >>> vote = ["The vote was close. My car is red.", "A close vote decided it. Tea is good."]
    >>> clusters = [dv.text.Cluster(flood, "Rain flooded the town."), dv.text.Cluster(vote, "A close vote.")]
    >>> model = dv.text.Summarizer().fit(clusters)
    >>> print(model.summarize(["The old mill burned. We had tea.", "Fire: the old mill burned down."], max_words=5))
    The old mill burned.
    """

    def __init__(
        self,
        *,
        training: str = "regression",
        groups: Sequence[str] = FEATURE_GROUPS,
        late: float = 1.0,
        prior_variance: float = 1.0,
        max_bytes: int | None = None,
        max_words: int | None = None,
        max_sentences: int | None = None,
        oracle_scaling: float = 0.5,
        max_iter: int = 200,
        tol: float = 1e-6,
        n_jobs: int | None = None,
        verbose: bool = False,
    ) -> None:
        self.training = training
        self.groups = groups
        self.late = late
        self.prior_variance = prior_variance
        self.max_bytes = max_bytes
        self.max_words = max_words
        self.max_sentences = max_sentences
        self.oracle_scaling = oracle_scaling
        self.max_iter = max_iter
        self.tol = tol
        self.n_jobs = n_jobs
        self.verbose = verbose

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
        """Learn the weights.

        Parameters
        ----------
        clusters : iterable of Cluster
            With references.
        weights : sequence of float, optional
            Weight of each cluster, for ``"regression"`` and ``"dpp-budget"``; equal by default.
        limits : sequence of int, optional
            Limit of the oracle summary of each cluster, in the unit of the model's limit; by default that limit.

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
            if not cluster.references:
                raise DiversetError(f"cluster {t} has no references; learning needs human summaries")
        if self.training not in TRAININGS:
            raise DiversetError(f"training is {self.training!r}; choose one of {', '.join(TRAININGS)}")
        check_nonnegative(self.late, name="late", most=1e6)
        shares = (
            [1.0] * len(listed) if weights is None else [check_positive(share, name="a weight") for share in weights]
        )
        if len(shares) != len(listed):
            raise DiversetError(f"{len(shares)} weights for {len(listed)} clusters; give one each")
        columns = columns_of(self.groups)
        features = [feature_matrix(cluster)[:, columns] for cluster in listed]
        if self.training == "regression":
            self.coef_ = _regression(listed, features, np.array(shares))
        else:
            self.coef_ = self._likelihood(listed, features, np.array(shares), limits)
        self.card_ = f"trained on {len(listed)} clusters by {self.training}"
        return self

    def _likelihood(
        self,
        clusters: list[Cluster],
        features: list[FloatArray],
        shares: FloatArray,
        limits: Sequence[int] | None,
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
        model = (QualityModel if self.training == "dpp" else LogisticQuality)(
            prior_variance=self.prior_variance,
            max_iter=self.max_iter,
            tol=self.tol,
            n_jobs=self.n_jobs,
            verbose=self.verbose,
        )
        coef: FloatArray = model.fit(instances, sets).coef_
        return coef

    def quality_of(self, cluster: Cluster) -> FloatArray:
        """Quality of every sentence of a cluster."""
        check_fitted(self, "coef_")
        return QualityWeights(self.coef_, self.training, tuple(self.groups), self.late).quality_of(cluster)

    def summarize(self, documents: Any, max_words: int | None = None, **options: Any) -> Summary:
        """Summarise documents with this model: :func:`diverset.summarize` with ``model=self``."""
        return summarize(documents, max_words, model=self, **options)

    def save(self, path: str | os.PathLike[str], *, card: str | None = None) -> None:
        """Write the model to a file of JSON, which holds weights and settings only.

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
            raise DiversetError(f"{name} is damaged, or was not written by diverset: {error}") from None
        return model


def default_summarizer() -> Summarizer:
    """The model that comes with the package; ``default_summarizer().card_`` says what it was trained on.

    Every call gives another object: fitting one anew leaves the others as they are.
    """
    return Summarizer._from_entries(default_entries(), "the default model")


def _regression(clusters: list[Cluster], features: list[FloatArray], shares: FloatArray) -> FloatArray:
    """Ridge regression of standardised sentence scores, each cluster with its share."""
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
    """The chosen sentences without those that, but for stop words, repeat others: no DPP gives them both."""
    rows = vectors[chosen]
    S = (rows @ rows.T).toarray()
    kept: list[int] = []
    for m in range(len(chosen)):
        block = S[np.ix_([*kept, m], [*kept, m])]
        if np.linalg.eigvalsh(block)[0] > 1e-8:
            kept.append(m)
    return chosen[kept]
