r"""Learning the quality of items from observed sets ([KuleszaTaskar2012]_, section 4.2)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np

from diverset._typing import FloatArray
from diverset.core import DPP
from diverset.errors import DiversetError, KernelError, UnboundedLikelihoodError
from diverset.learn._estimator import Convergence, Estimator, check_fitted, progress
from diverset.learn.instances import (
    Example,
    Instance,
    fisher_information,
    log_likelihood_and_gradient,
    read_examples,
    read_instance,
)
from diverset.learn.separability import find_separation
from diverset.numerics.validation import LARGEST, as_finite, check_count, check_nonnegative, check_positive

__all__ = ["LogisticQuality", "QualityModel", "log_likelihoods"]

#: Maximum number of Newton steps after L-BFGS; each step about squares the error.
_NEWTON_STEPS = 30
#: Features are dependent if an eigenvalue of their Gram matrix is below this fraction of the largest.
_DEPENDENT = 1e-12


class Objective:
    """Log-posterior of many examples and its derivatives; `loss` takes theta for features of unit size."""

    def __init__(self, examples: list[Example], *, fixed_size: bool, prior_variance: float | None, n_jobs: int) -> None:
        self.examples = examples
        self.fixed_size = fixed_size
        self.precision = 0.0 if prior_variance is None else 1.0 / prior_variance
        self.n_jobs = n_jobs
        total = sum(example.instance.n for example in examples)
        squares = sum((example.instance.F**2).sum(axis=0) for example in examples)
        size = np.sqrt(np.asarray(squares) / max(total, 1))
        self.scale = np.where(size > 0.0, size, 1.0)

    def _each(self, function: Any, theta: FloatArray) -> list[Any]:
        def evaluate(example: Example) -> Any:
            return function(example, theta, fixed_size=self.fixed_size)

        if self.n_jobs == 1 or len(self.examples) == 1:
            return [evaluate(example) for example in self.examples]
        with ThreadPoolExecutor(min(self.n_jobs, len(self.examples))) as pool:
            return list(pool.map(evaluate, self.examples))

    def log_likelihoods(self, theta: FloatArray) -> FloatArray:
        """Log-likelihood of each example."""
        return np.array([value for value, _ in self._each(log_likelihood_and_gradient, theta)])

    def value_and_gradient(self, theta: FloatArray) -> tuple[float, FloatArray]:
        """Log-posterior, up to a constant, and its gradient."""
        parts = self._each(log_likelihood_and_gradient, theta)
        value = sum(part[0] for part in parts) - 0.5 * self.precision * float(theta @ theta)
        return value, np.sum([part[1] for part in parts], axis=0) - self.precision * theta

    def information(self, theta: FloatArray) -> FloatArray:
        """Minus the Hessian of the log-posterior."""
        total: FloatArray = np.sum(self._each(fisher_information, theta), axis=0)
        return total + self.precision * np.eye(len(theta))

    def loss(self, scaled: FloatArray) -> tuple[float, FloatArray]:
        """The loss that L-BFGS minimises: the negative log-posterior, for features of unit size."""
        value, gradient = self.value_and_gradient(scaled / self.scale)
        return -value, -gradient / self.scale


def log_likelihoods(examples: list[Example], theta: FloatArray, *, fixed_size: bool = False) -> FloatArray:
    """Log-likelihood of each example under given weights."""
    return Objective(examples, fixed_size=fixed_size, prior_variance=None, n_jobs=1).log_likelihoods(theta)


@dataclass(eq=False, repr=False, kw_only=True)
class QualityModel(Estimator):
    r"""Conditional DPP whose qualities are log-linear in features, learned from observed sets.

    .. math::

        L_{ij}(X; \theta) = q_i S_{ij}(X) q_j, \qquad q_i = \exp\left(\tfrac12 \theta^T f_i(X)\right).

    Similarities are given. The weights theta maximise the log-likelihood of the observed sets, minus
    :math:`\lVert\theta\rVert^2 / 2\sigma^2` for a Gaussian prior. The objective is concave
    ([KuleszaTaskar2012]_, Proposition 4.2).

    Parameters
    ----------
    prior_variance : float, optional
        Variance :math:`\sigma^2` of a zero-mean Gaussian prior on each weight. By default there is no prior, and data
        for which the likelihood has no maximum raise an error.
    rho : float
        A constant feature added to the diversity features (:math:`S + \rho^2`). A larger value makes all items more
        similar and the sets smaller.
    fixed_size : bool
        Whether the sizes of the sets are known. The models are then k-DPPs with the k of the observed sets. A feature
        that is constant within instances then has no effect, and raises an error if there is no prior.
    max_iter : int
        Maximum number of L-BFGS iterations.
    tol : float
        The fit has converged when no component of the gradient, per example and for features of unit size,
        exceeds this.
    n_jobs : int, optional
        Number of threads; one by default. Results do not depend on it.
    warm_start : bool
        Start from the weights of the previous fit.
    verbose : bool
        Show a progress bar.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,)
        The weights theta.
    covariance_ : ndarray of shape (n_features, n_features)
        Inverse Fisher information, with the prior's precision added if there is one.
    standard_errors_ : ndarray of shape (n_features,)
        Square roots of the diagonal of `covariance_`.
    log_likelihood_ : float
        Log-likelihood of all training sets together, without the prior.
    convergence_ : Convergence
        How the fit ended, and the log-posterior after every iteration.
    n_features_in_ : int
        Number of features.

    Notes
    -----
    The method is L-BFGS with exact gradients, then Newton steps with the Fisher information. A gradient takes one
    Cholesky factorisation and a triangular inverse per instance: :math:`O(n^3)`, or :math:`O(nD^2)` for D < n diversity
    features. Without a prior, a linear program first tests whether a maximum exists (``diverset.learn.separability``).

    Examples
    --------
    >>> import numpy as np
    >>> import diverset as dv
    >>> rng = np.random.default_rng(0)
    >>> def instance():
    ...     X = rng.standard_normal((12, 3))
    ...     return dv.learn.Instance(rng.standard_normal((12, 2)), similarity=dv.kernels.rbf, diversity=X)
    >>> instances = [instance() for _ in range(200)]
    >>> truth = dv.learn.QualityModel().set_coef([1.0, -0.5])
    >>> sets = [truth.dpp(x).sample(rng=rng) for x in instances]
    >>> model = dv.learn.QualityModel().fit(instances, sets)
    >>> (np.abs(model.coef_ - [1.0, -0.5]) < 3 * model.standard_errors_).all()
    np.True_
    """

    prior_variance: float | None = None
    rho: float = 0.0
    fixed_size: bool = False
    max_iter: int = 500
    tol: float = 1e-9
    n_jobs: int | None = None
    warm_start: bool = False
    verbose: bool = False

    def fit(self, instances: Sequence[Instance], sets: Sequence[Iterable[int]]) -> Self:
        """Learn the weights.

        Parameters
        ----------
        instances : sequence of Instance
            Instances of any sizes, with the same quality features.
        sets : sequence of iterables of int
            The observed set of each instance, from its items 0 to n - 1.

        Returns
        -------
        self
            The fitted model.
        """
        variance = None if self.prior_variance is None else check_positive(self.prior_variance, name="prior_variance")
        if variance is not None and variance < 1e-100:
            raise DiversetError(f"prior_variance is {variance:g}; so small, it leaves nothing to learn")
        max_iter, tol = check_count(self.max_iter, name="max_iter"), check_nonnegative(self.tol, name="tol")
        examples = read_examples(instances, sets, check_nonnegative(self.rho, name="rho", most=LARGEST))
        if variance is None:
            _check_maximum_exists(examples, self.fixed_size)
        objective = Objective(
            examples,
            fixed_size=self.fixed_size,
            prior_variance=variance,
            n_jobs=check_count(1 if self.n_jobs is None else self.n_jobs, name="n_jobs"),
        )
        n_features = examples[0].instance.F.shape[1]
        start = np.zeros(n_features)
        if self.warm_start and hasattr(self, "coef_") and len(self.coef_) == n_features:
            start = self.coef_
        theta, self.convergence_ = _maximize(objective, start, max_iter, tol, self.verbose)
        self._keep(theta, objective.information(theta))
        self.log_likelihood_ = float(objective.log_likelihoods(theta).sum())
        return self

    def _keep(self, theta: FloatArray, information: FloatArray) -> None:
        self.coef_ = theta
        self.n_features_in_ = len(theta)
        try:
            self.covariance_ = np.linalg.inv(information) if len(theta) else information
        except np.linalg.LinAlgError:  # the data do not determine the coefficients, and the prior hardly does
            self.covariance_ = np.full_like(information, np.inf)
        self.standard_errors_ = np.sqrt(np.maximum(np.diagonal(self.covariance_), 0.0))

    def set_coef(self, coef: Any) -> QualityModel:
        """Set the weights, of shape (n_features,), without learning, as for simulations; returns the model."""
        theta = self.coef_ = as_finite(coef, name="coef", shape=(None,)).copy()
        self.n_features_in_ = len(theta)
        return self

    def _examples(self, instances: Sequence[Instance], sets: Sequence[Iterable[int]]) -> list[Example]:
        check_fitted(self, "coef_")
        examples = read_examples(instances, sets, self.rho)
        found = examples[0].instance.F.shape[1]
        if found != self.n_features_in_:
            raise DiversetError(f"instance 0: features have {found} columns, but the model has {self.n_features_in_}")
        return examples

    def log_prob(self, instances: Sequence[Instance], sets: Sequence[Iterable[int]]) -> FloatArray:
        """Log-probability of the set of each instance, of shape (n_instances,)."""
        return log_likelihoods(self._examples(instances, sets), self.coef_, fixed_size=self.fixed_size)

    def score(self, instances: Sequence[Instance], sets: Sequence[Iterable[int]]) -> float:
        """Mean log-likelihood per instance."""
        return float(self.log_prob(instances, sets).mean())

    def gradient(self, instances: Sequence[Instance], sets: Sequence[Iterable[int]], coef: Any = None) -> FloatArray:
        """Gradient of the log-likelihood of all sets, without the prior, of shape (n_features,).

        It is evaluated at the weights `coef`, by default those of the model.
        """
        theta = self.coef_ if coef is None else as_finite(coef, name="coef", shape=(None,))
        examples = read_examples(instances, sets, self.rho)
        parts = [log_likelihood_and_gradient(example, theta, fixed_size=self.fixed_size)[1] for example in examples]
        total: FloatArray = np.sum(parts, axis=0)
        return total

    def quality(self, instance: Instance) -> FloatArray:
        """Qualities of the items of an instance, of shape (n_items,)."""
        check_fitted(self, "coef_")
        read = read_instance(instance, "the instance", self.rho, self.n_features_in_)
        log_quality = 0.5 * (read.F @ self.coef_)
        if len(log_quality) and log_quality.max() > 700.0:
            raise KernelError(f"a quality is exp({log_quality.max():.6g}), beyond floats; scale the features")
        return np.exp(log_quality)

    def dpp(self, instance: Instance) -> DPP:
        """The DPP of an instance, for sampling and inference; its method ``of_size(k)`` gives the k-DPP."""
        check_fitted(self, "coef_")
        read = read_instance(instance, "the instance", self.rho, self.n_features_in_)
        return read.dpp(0.5 * (read.F @ self.coef_))


@dataclass(eq=False, repr=False, kw_only=True)
class LogisticQuality(QualityModel):
    r"""Quality by logistic regression, which treats every item as chosen or not independently of the others.

    The weights maximise :math:`\sum_i \log\Pr(\text{item } i \text{ is chosen or not})` with odds
    :math:`\exp(\theta^T f_i)`, as if all items were independent. Similarities are used only afterwards, in :meth:`dpp`,
    :meth:`score` and :meth:`log_prob`. This is the LR baseline of [KuleszaTaskar2012]_, section 4.2. Its sets tend to
    have the wrong size, since training ignores repulsion.

    Parameters
    ----------
    prior_variance, rho, max_iter, tol, n_jobs, warm_start, verbose
        As in :class:`QualityModel`; `rho` affects :meth:`dpp`, :meth:`score` and :meth:`log_prob`, but not training.

    Attributes
    ----------
    coef_, covariance_, standard_errors_, log_likelihood_, convergence_, n_features_in_
        As in :class:`QualityModel`; the log-likelihood is that of the logistic regression.

    Examples
    --------
    >>> import diverset as dv
    >>> alike = [[1.0, 0.9, 0.0], [0.9, 1.0, 0.0], [0.0, 0.0, 1.0]]
    >>> instances = [dv.learn.Instance([[1.0], [1.0], [1.0]], similarity=alike)] * 4
    >>> sets = [[0, 2], [1, 2], [0], [2]]
    >>> logistic = dv.learn.LogisticQuality().fit(instances, sets)
    >>> model = dv.learn.QualityModel().fit(instances, sets)
    >>> round(logistic.dpp(instances[0]).expected_size, 2), round(model.dpp(instances[0]).expected_size, 2)
    (1.25, 1.5)
    """

    fixed_size: bool = field(default=False, init=False)

    def fit(self, instances: Sequence[Instance], sets: Sequence[Iterable[int]]) -> Self:
        """Learn the weights, item by item; the similarities of the instances are not used."""
        listed = list(instances)
        for t, instance in enumerate(listed):
            if not isinstance(instance, Instance):
                raise DiversetError(f"instance {t} is a {type(instance).__name__}; pass diverset.learn.Instance(...)")
        rho, self.rho = self.rho, 0.0
        try:
            super().fit([Instance(instance.features) for instance in listed], sets)
        finally:
            self.rho = rho
        return self


def _maximize(
    objective: Objective, start: FloatArray, max_iter: int, tol: float, verbose: bool
) -> tuple[FloatArray, Convergence]:
    """L-BFGS, then Newton steps; returns theta and the report."""
    from scipy.optimize import minimize

    # The gradient per example, for features of unit size, is the difference of observed and expected mean features.
    tolerance = tol * len(objective.examples)
    value = -objective.loss(start * objective.scale)[0]
    trace = [value]
    with progress("quality", max_iter, verbose) as advance:

        def after_iteration(intermediate_result: Any) -> None:
            trace.append(-float(intermediate_result.fun))
            advance(trace[-1])

        found = minimize(
            objective.loss,
            start * objective.scale,
            jac=True,
            method="L-BFGS-B",
            callback=after_iteration,
            # Close to the maximum, rounding slows the line search down, and Newton steps are cheaper.
            options={"maxiter": max_iter, "gtol": max(tolerance, 1e-5 * len(objective.examples)), "maxcor": 20},
        )
    theta = found.x / objective.scale
    n_lbfgs = len(trace) - 1
    for _ in range(_NEWTON_STEPS if n_lbfgs < max_iter else 0):
        value, gradient = objective.value_and_gradient(theta)
        if np.abs(gradient / objective.scale).max(initial=0.0) <= tolerance:
            break
        # Scale features to unit size: lstsq would treat features of small scale as dependent.
        information = objective.information(theta) / np.outer(objective.scale, objective.scale)
        step = np.linalg.lstsq(information, gradient / objective.scale, rcond=None)[0] / objective.scale
        # Halve the step until the objective does not fall by more than rounding error.
        rounding = 8.0 * float(np.finfo(np.float64).eps) * abs(value)
        candidates = (theta + step / 2.0**halvings for halvings in range(40))
        better = next((at for at in candidates if objective.value_and_gradient(at)[0] >= value - rounding), None)
        if better is None:
            break
        theta = better
        trace.append(objective.value_and_gradient(theta)[0])
    size = float(np.abs(objective.value_and_gradient(theta)[1] / objective.scale).max(initial=0.0))
    converged = size <= tolerance
    reason = f"largest gradient component {size / len(objective.examples):.3g} per example"
    return theta, Convergence(converged, reason, np.array(trace))


def _check_maximum_exists(examples: list[Example], fixed_size: bool) -> None:
    """Raise an error that states the cause if theta is not unique or not finite."""
    _check_features(examples, fixed_size)
    separation = find_separation(examples, fixed_size=fixed_size)
    if separation is None:
        return
    weights = ", ".join(f"{w:+.3g} f[{j}]" for j, w in enumerate(separation.direction) if abs(w) > 1e-6)
    named = ", ".join(separation.instances[:3]) + (", ..." if len(separation.instances) > 3 else "")
    raise UnboundedLikelihoodError(
        f"the likelihood has no maximum: along theta = t ({weights}) it rises without bound, because every observed "
        f"set is among the best by that score; seen in {named} (items {separation.items[:8]} of "
        f"{separation.instances[0]}). Set prior_variance, drop a feature, or add instances"
    )


def _check_features(examples: list[Example], fixed_size: bool) -> None:
    """Raise an error for features whose weights cannot be identified from any sets."""

    def seen(F: FloatArray) -> FloatArray:
        return F - F.mean(axis=0) if fixed_size and len(F) else F

    largest = np.max([np.abs(example.instance.F).max(axis=0, initial=0.0) for example in examples], axis=0)
    varying = np.max([np.abs(seen(example.instance.F)).max(axis=0, initial=0.0) for example in examples], axis=0)
    idle = np.flatnonzero(varying <= 1e-12 * largest)
    if len(idle):
        j = int(idle[0])
        what = "constant within every instance, without effect on sets of a known size" if fixed_size else "always 0"
        values = examples[0].instance.F[:, j]
        first = f"value {values[0]:g}" if len(values) else "no items"
        raise DiversetError(
            f"feature {j} is {what} (instance 0: {first}); its weight cannot be learned: drop the feature or set "
            "prior_variance"
        )
    scale = np.where(varying > 0.0, varying, 1.0)
    gram = np.sum([(seen(e.instance.F) / scale).T @ (seen(e.instance.F) / scale) for e in examples], axis=0)
    lam, V = np.linalg.eigh(gram) if len(gram) else (np.ones(1), np.ones((1, 1)))
    if lam[0] <= _DEPENDENT * lam[-1]:
        involved = np.flatnonzero(np.abs(V[:, 0]) > 1e-3 * np.abs(V[:, 0]).max()).tolist()
        raise DiversetError(
            f"features {involved} are linearly dependent over all instances, so their weights cannot be told apart; "
            "drop one of them or set prior_variance"
        )
