r"""One input of a conditional DPP: its items, with quality features and a similarity.

A conditional DPP ([KuleszaTaskar2012]_, section 4.1) has a ground set for every input X (the sentences of a
document, the results of a query). Each item has quality features :math:`f_i(X)`, whose weights the model learns, and
fixed similarities to the other items.

With :math:`q_i = \exp(\tfrac12 \theta^T f_i)` and fixed similarities S, the probability of an observed set is

.. math::

    \log \Pr\nolimits_\theta(Y) = \theta^T \sum_{i \in Y} f_i + \log\det S_Y - \log Z(\theta),
    \qquad Z(\theta) = \det(L(\theta) + I) \ \text{ or }\ e_k(\lambda(\theta)),

where the second form is for sets of known size. This is an exponential family, so the derivatives of :math:`\log Z` are
the moments of :math:`\sum_{i \in Y} f_i` under the model:

.. math::

    \nabla = \sum_{i \in Y} f_i - \sum_i \Pr(i \in Y) f_i, \qquad
    -\nabla^2 = \sum_{ij} \mathrm{Cov}(i \in Y, j \in Y)\, f_i f_j^T,

with covariances :math:`\delta_{ij} K_{ii} - |K_{ij}|^2` for a DPP. The Hessian does not depend on Y: observed and
expected Fisher information are equal, and the log-likelihood is concave.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg import lapack

from diverset._typing import Array, FloatArray, IntArray
from diverset.core import DPP, KDPP
from diverset.core.eigenpairs import likelihood_of_matrix
from diverset.core.factor import RowFactor, as_feature_rows
from diverset.core.lowrank import LowRankLikelihood
from diverset.core.representation import Representation
from diverset.errors import DiversetError, KernelError, LabelError, UnboundedLikelihoodError
from diverset.kernels import add_constant, with_constant_feature
from diverset.numerics.linalg import (
    EPS,
    add_to_diagonal,
    cholesky_lower,
    gram,
    inverse_diagonal,
    log_det_from_cholesky,
    row_norms_squared,
    solve_lower,
    squared_modulus,
)
from diverset.numerics.validation import (
    LARGEST,
    as_finite,
    as_hermitian,
    check_nonnegative,
    check_positive_semidefinite,
    find_positions,
    is_sparse,
)

__all__ = [
    "Example",
    "Instance",
    "ReadInstance",
    "fisher_information",
    "log_likelihood_and_gradient",
    "read_examples",
    "read_instance",
]

#: Largest rounding error of L that is accepted in L + I.
_NOTICEABLE = 1e-10
#: Largest logarithm of a quality; beyond it, L would overflow.
_LARGEST = 340.0


@dataclass(frozen=True, eq=False)
class Instance:
    r"""Items of one input, with quality features and a similarity.

    Parameters
    ----------
    features : array_like of shape (n_items, n_features)
        Quality features :math:`f_i`; all instances have the same features.
    similarity : array_like of shape (n_items, n_items), or callable, optional
        The matrix S, positive semidefinite; or a kernel such as :func:`diverset.kernels.rbf`, called with
        `diversity`.
    diversity : array_like or scipy.sparse of shape (n_items, n_diversity_features), optional
        Diversity features :math:`\phi_i`. Without `similarity`, :math:`S = \Phi\Phi^T`, which is not formed if there
        are fewer columns than items.

    Notes
    -----
    Without `similarity` and `diversity`, S is the identity: items are independent, and learning is logistic regression.

    Examples
    --------
    >>> from diverset.learn import Instance
    >>> Instance([[1.0], [0.5]], similarity=[[1.0, 0.3], [0.3, 1.0]]).n_items
    2
    """

    features: Any
    similarity: Any | Callable[[Any], Any] | None = None
    diversity: Any = None

    @property
    def n_items(self) -> int:
        """Number of items."""
        return int(np.shape(self.features)[0])


class ReadInstance:
    """A checked instance: real features F, and the similarity as a matrix S of full rank or as rows.

    The inner products of the rows are S. The rows were given, or computed because S is rank-deficient.
    """

    def __init__(self, name: str, F: FloatArray, S: Array | None = None, rows: Any = None) -> None:
        self.name = name
        self.F = F
        self.S = S
        self.rows = rows

    @property
    def n(self) -> int:
        """Number of items."""
        return len(self.F)

    def representation(self, log_quality: FloatArray) -> Representation:
        """The L-ensemble with these qualities, in dual form if the rows have fewer columns than there are items."""
        quality = np.exp(log_quality)
        if self.rows is not None:
            return LowRankLikelihood.from_rows(RowFactor(self.rows, quality=quality))
        assert self.S is not None  # S or rows are always set
        L = quality[:, None] * self.S * quality
        return likelihood_of_matrix(L, EPS * np.diagonal(L).real)

    def log_normalizer_and_inclusion(self, log_quality: FloatArray) -> tuple[float, FloatArray]:
        r""":math:`\log\det(L + I)` and the diagonal of K, by one Cholesky factorisation.

        Kernels whose rounding error is too large for L + I, and complex or sparse kernels, use the general method.
        """
        quality = np.exp(log_quality)
        if self.rows is not None and isinstance(self.rows, np.ndarray) and self.rows.dtype == np.float64:
            B = quality[:, None] * self.rows
            lifted = gram(B)
            if EPS * np.trace(lifted) < _NOTICEABLE and (R := cholesky_lower(add_to_diagonal(lifted, 1.0))) is not None:
                return log_det_from_cholesky(R), row_norms_squared(solve_lower(R, B.T).T)
        elif self.S is not None and self.S.dtype == np.float64:
            lifted = quality[:, None] * self.S * quality
            if EPS * np.trace(lifted) < _NOTICEABLE and (R := cholesky_lower(add_to_diagonal(lifted, 1.0))) is not None:
                # Sums of features need only the absolute accuracy of the probabilities, which 1 - p has.
                return log_det_from_cholesky(R), 1.0 - inverse_diagonal(R)
        representation = self.representation(log_quality)
        return representation.log_normalizer, representation.inclusion()

    def dpp(self, log_quality: FloatArray) -> DPP:
        """The DPP with these qualities."""
        return DPP._wrap(self.representation(log_quality))

    def similarity_block(self, left: IntArray, right: IntArray) -> Array:
        """Entries of S."""
        if self.S is not None:
            return self.S[np.ix_(left, right)]
        factor = RowFactor(self.rows)
        block: Array = factor.take(left) @ factor.take(right).conj().T
        return block

    def similarity_diagonal(self) -> FloatArray:
        """Diagonal of S."""
        return np.diagonal(self.S).real if self.S is not None else RowFactor(self.rows).norms_squared()


@dataclass(frozen=True, eq=False)
class Example:
    """A checked instance with its observed set."""

    instance: ReadInstance
    observed: IntArray  # ascending positions
    log_volume: float  # log det S_Y

    @property
    def counts(self) -> FloatArray:
        """Sum of the features of the observed items."""
        total: FloatArray = self.instance.F[self.observed].sum(axis=0)
        return total


def read_instance(instance: Any, name: str, rho: float, n_features: int | None = None) -> ReadInstance:
    """Check an instance; `rho` is a constant diversity feature that makes all items more similar."""
    if not isinstance(instance, Instance):
        raise DiversetError(f"{name} is a {type(instance).__name__}; pass diverset.learn.Instance(features, ...)")
    features = instance.features.toarray() if is_sparse(instance.features) else instance.features
    F = np.array(as_finite(features, name=f"{name}: features", shape=(None, None)), order="C")
    if n_features is not None and F.shape[1] != n_features:
        raise KernelError(f"{name}: features have {F.shape[1]} columns where the others have {n_features}")
    rho = check_nonnegative(rho, name="rho", most=LARGEST)
    n = len(F)
    try:
        S, rows = _read_similarity(instance, n, rho)
    except KernelError as error:
        raise KernelError(f"{name}: {error}") from None
    return ReadInstance(name, F, S, rows)


def _read_similarity(instance: Instance, n: int, rho: float) -> tuple[Array | None, Any]:
    """S if it has full rank and is needed; otherwise rows whose inner products are S."""
    similarity, diversity = instance.similarity, instance.diversity
    if similarity is None and diversity is not None:
        rows = as_feature_rows(with_constant_feature(diversity, rho) if rho else diversity)
        _check_length(rows.shape[0], n, "diversity")
        if rows.shape[1] < n:
            return None, rows
        given: Any = RowFactor(rows).outer()
    elif similarity is None:
        given = np.eye(n)
    elif callable(similarity):
        if diversity is None:
            raise KernelError("similarity is a function, but there are no diversity features to call it with")
        given = similarity(diversity)
    else:
        given = similarity
    if rho and not (similarity is None and diversity is not None):
        given = add_constant(given, rho**2)
    S = as_hermitian(given, name="similarity")
    _check_length(len(S), n, "similarity")
    check_positive_semidefinite(
        S, name="similarity", given=given, remedy="a similarity must be positive semidefinite (kernels.nearest_psd)"
    )
    if np.iscomplexobj(S):
        return S, None
    # A rank-deficient S is stored as rows: large qualities would amplify rounding errors in its zero eigenvalues.
    factor, pivots, rank, _ = lapack.dpstrf(S, lower=1, tol=n * EPS * max(float(np.diagonal(S).max(initial=0.0)), EPS))
    if rank == n:
        return S, None
    rows = np.empty((n, rank))
    rows[pivots - 1] = np.tril(factor)[:, :rank]
    return None, rows


def _check_length(found: int, n: int, what: str) -> None:
    if found != n:
        raise KernelError(f"{what} is for {found} items and features for {n}; give one row per item")


def read_examples(instances: Sequence[Any], sets: Sequence[Iterable[int]] | None, rho: float) -> list[Example]:
    """Check instances and their observed sets."""
    if sets is None:
        raise DiversetError("the observed sets are missing; call fit(instances, sets)")
    instances, sets = list(instances), list(sets)
    if not instances:
        raise DiversetError("there are no instances; learning needs at least one, with its observed set")
    if len(instances) != len(sets):
        raise DiversetError(f"{len(instances)} instances but {len(sets)} observed sets; give one set each")
    examples = []
    width = None
    for t, (given, chosen) in enumerate(zip(instances, sets, strict=True)):
        instance = read_instance(given, f"instance {t}", rho, width)
        width = instance.F.shape[1]
        examples.append(_read_example(instance, chosen))
    return examples


def _read_example(instance: ReadInstance, chosen: Iterable[int]) -> Example:
    try:
        observed = find_positions(chosen, np.arange(instance.n), name="the observed set")
    except LabelError as error:
        raise LabelError(f"{instance.name}: {error}") from None
    plain = instance.representation(np.zeros(instance.n))
    log_volume = plain.log_prob(observed) + plain.log_normalizer
    if log_volume == -np.inf:
        raise UnboundedLikelihoodError(
            f"{instance.name}: the observed set has probability 0 whatever the weights, since its items "
            f"{_dependent_items(instance, observed)} are linearly dependent in the similarity; drop one of them, or "
            "make them less alike (a constant on the diagonal of the similarity)"
        )
    return Example(instance, observed, log_volume)


def _dependent_items(instance: ReadInstance, observed: IntArray) -> list[int]:
    """The first item of a set that depends on earlier items, and the items it depends on."""
    S = instance.similarity_block(observed, observed)
    for m in range(len(observed)):
        left, column = S[:m, :m], S[:m, m]
        weights = np.linalg.lstsq(left, column, rcond=1e-9)[0]
        residual = S[m, m] - (column.conj() @ weights).real
        if residual.real <= 1e-8 * max(S[m, m].real, EPS):
            needed = np.flatnonzero(np.abs(weights) > 1e-6)
            return [int(observed[i]) for i in [*needed, m]]
    return [int(i) for i in observed]


def log_likelihood_and_gradient(example: Example, theta: FloatArray, *, fixed_size: bool) -> tuple[float, FloatArray]:
    """Log-probability of an observed set, ``-inf`` if qualities overflow, and its gradient in theta (Algorithm 4).

    Only the diagonal of K is needed. It takes one Cholesky factorisation of L + I and the inverse of the factor,
    :math:`O(n^3)` with a small constant, or :math:`O(nD^2)` in dual form. A fixed size takes an eigendecomposition.
    """
    F, k = example.instance.F, len(example.observed)
    log_quality = 0.5 * (F @ theta)
    # For sets of fixed size, a common factor of the qualities is divided out, and its logarithm is added back.
    shift = float(log_quality.max(initial=-math.inf)) if fixed_size and len(F) else 0.0
    log_quality = log_quality - shift
    if len(F) and float(log_quality.max()) > _LARGEST:
        return -math.inf, np.zeros_like(theta)
    value = float(example.counts @ theta) + example.log_volume
    if fixed_size:
        kdpp = KDPP(example.instance.dpp(log_quality), k)
        log_normalizer, inclusion = kdpp.log_normalizer + 2.0 * k * shift, kdpp.inclusion_probabilities
    else:
        log_normalizer, inclusion = example.instance.log_normalizer_and_inclusion(log_quality)
    return value - log_normalizer, example.counts - inclusion @ F


def fisher_information(example: Example, theta: FloatArray, *, fixed_size: bool) -> FloatArray:
    r"""Covariance of :math:`\sum_{i \in Y} f_i` under the model: minus the Hessian of the log-likelihood.

    With rows G such that :math:`K = GG^*`, it is :math:`\sum_i K_{ii} f_i f_i^T` minus the inner products of the D x D
    matrices :math:`G^* \mathrm{diag}(f_{\cdot a}) G`. K is not formed: :math:`O(nD^2 m)` for m features. A dense kernel
    takes :math:`O(n^3)`; a fixed size takes the probabilities of all pairs.
    """
    F = example.instance.F
    log_quality = 0.5 * (F @ theta)
    if fixed_size:
        log_quality = log_quality - log_quality.max(initial=-math.inf)
        kdpp = KDPP(example.instance.dpp(log_quality), len(example.observed))
        p = kdpp.inclusion_probabilities
        centred = F - p @ F / max(len(example.observed), 1)
        # With a fixed size, a constant shift of a feature has no effect; centred features reduce cancellation.
        together = kdpp.pair_probabilities()
        moments: FloatArray = centred.T @ together @ centred
        mean = p @ centred
        return moments - np.outer(mean, mean)
    representation = example.instance.representation(log_quality)
    moments = (F * representation.inclusion()[:, None]).T @ F
    everything = np.arange(len(F))
    if isinstance(representation, LowRankLikelihood):
        G = representation.factor.take(everything) @ representation._marginal_map
        seen = np.stack([(G.conj().T @ (f[:, None] * G)).ravel() for f in F.T]) if F.shape[1] else np.zeros((0, 0))
        return np.asarray(moments - (seen @ seen.conj().T).real)
    K = representation.marginal_block(everything, everything)
    return np.asarray(moments - F.T @ squared_modulus(K) @ F)
