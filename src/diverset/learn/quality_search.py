"""Choosing the prior variance and rho of a quality model by cross-validation."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from diverset._typing import FloatArray, RNGLike
from diverset.core import DPP
from diverset.errors import DiversetError
from diverset.learn._estimator import Estimator, check_fitted, progress
from diverset.learn.instances import Instance
from diverset.learn.quality import QualityModel
from diverset.numerics.validation import as_generator, check_count

__all__ = ["QualityModelCV"]


@dataclass(eq=False, repr=False, kw_only=True)
class QualityModelCV(Estimator):
    """A :class:`QualityModel` with its prior variance and rho chosen by cross-validated log-likelihood.

    Parameters
    ----------
    prior_variances : sequence of float
        Candidates. Within each fold and rho they are tried in order, and each fit starts from the previous one.
    rhos : sequence of float
        Candidates for the constant feature.
    cv : int
        Number of folds; the instances are shuffled first.
    fixed_size, max_iter, tol, n_jobs
        As in :class:`QualityModel`.
    rng : int, Generator or None
        Seed or generator for the folds.
    verbose : bool
        Show a progress bar.

    Attributes
    ----------
    prior_variance_, rho_ : float
        The best pair.
    scores_ : ndarray of shape (n_rhos, n_variances)
        Mean held-out log-likelihood per instance.
    model_ : QualityModel
        The model with the best pair, fitted to all instances.
    coef_ : ndarray of shape (n_features,)
        Weights of `model_`.

    Examples
    --------
    >>> import numpy as np
    >>> import diverset as dv
    >>> rng = np.random.default_rng(0)
    >>> instances = [dv.learn.Instance(rng.standard_normal((8, 2)), diversity=np.eye(8)) for _ in range(30)]
    >>> truth = dv.learn.QualityModel().set_coef([1.5, 0.0])
    >>> sets = [truth.dpp(x).sample(rng=rng) for x in instances]
    >>> model = dv.learn.QualityModelCV(prior_variances=[1e-3, 10.0], rhos=[0.0], rng=0).fit(instances, sets)
    >>> model.prior_variance_
    10.0
    """

    prior_variances: Sequence[float] = (0.01, 0.1, 1.0, 10.0, 100.0)
    rhos: Sequence[float] = (0.0, 0.35, 0.7, 1.4)
    cv: int = 5
    fixed_size: bool = False
    max_iter: int = 500
    tol: float = 1e-7
    n_jobs: int | None = None
    rng: RNGLike = None
    verbose: bool = False

    def _model(self, **params: Any) -> QualityModel:
        return QualityModel(
            fixed_size=self.fixed_size, max_iter=self.max_iter, tol=self.tol, n_jobs=self.n_jobs, **params
        )

    def fit(self, instances: Sequence[Instance], sets: Sequence[Iterable[int]]) -> QualityModelCV:
        """Choose both parameters and fit; arguments as in :meth:`QualityModel.fit`."""
        instances, sets = list(instances), list(sets)
        folds = check_count(self.cv, name="cv")
        if not 2 <= folds <= len(instances):
            raise DiversetError(f"cv is {folds} for {len(instances)} instances; it must be 2 to {len(instances)}")
        if len(instances) != len(sets):
            raise DiversetError(f"{len(instances)} instances but {len(sets)} observed sets; give one set each")
        variances, rhos = list(self.prior_variances), list(self.rhos)
        if not variances or not rhos:
            raise DiversetError("prior_variances and rhos must each name at least one candidate")
        part = as_generator(self.rng).permutation(np.arange(len(instances)) % folds)
        totals = np.zeros((len(rhos), len(variances)))
        with progress("folds", folds * len(rhos), self.verbose) as advance:
            for r, rho in enumerate(rhos):
                for fold in range(folds):
                    inside, outside = np.flatnonzero(part != fold), np.flatnonzero(part == fold)
                    model = self._model(rho=rho, warm_start=True)
                    for v, variance in enumerate(variances):
                        model.set_params(prior_variance=variance)
                        model.fit([instances[t] for t in inside], [sets[t] for t in inside])
                        held_out = model.log_prob([instances[t] for t in outside], [sets[t] for t in outside])
                        totals[r, v] += held_out.sum()
                    advance(float(totals[r].max()))
        self.scores_ = totals / len(instances)
        best = np.unravel_index(int(np.argmax(self.scores_)), self.scores_.shape)
        self.rho_, self.prior_variance_ = float(rhos[best[0]]), float(variances[best[1]])
        self.model_ = self._model(rho=self.rho_, prior_variance=self.prior_variance_).fit(instances, sets)
        return self

    @property
    def coef_(self) -> FloatArray:
        """Weights of the chosen model."""
        check_fitted(self, "model_")
        return self.model_.coef_

    def log_prob(self, instances: Sequence[Instance], sets: Sequence[Iterable[int]]) -> FloatArray:
        """Log-probability of the set of each instance, of shape (n_instances,)."""
        check_fitted(self, "model_")
        return self.model_.log_prob(instances, sets)

    def score(self, instances: Sequence[Instance], sets: Sequence[Iterable[int]]) -> float:
        """Mean log-likelihood per instance."""
        return float(self.log_prob(instances, sets).mean())

    def dpp(self, instance: Instance) -> DPP:
        """The DPP of an instance."""
        check_fitted(self, "model_")
        return self.model_.dpp(instance)
