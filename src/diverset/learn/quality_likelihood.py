r"""Log-likelihood of log-linear quality, its gradient and its curvature ([KuleszaTaskar2012]_, section 4.2).

With :math:`q_i = \exp(\tfrac12 \theta^T f_i)` and fixed similarities S, the probability of an observed set is

.. math::

    \log \Pr\nolimits_\theta(Y) = \theta^T \sum_{i \in Y} f_i + \log\det S_Y - \log Z(\theta),
    \qquad Z(\theta) = \det(L(\theta) + I) \ \text{ or }\ e_k(\lambda(\theta)),

the second for sets of known size. It is an exponential family, so the derivatives of :math:`\log Z` are the moments
of :math:`\sum_{i \in Y} f_i` under the model:

.. math::

    \nabla = \sum_{i \in Y} f_i - \sum_i \Pr(i \in Y) f_i, \qquad
    -\nabla^2 = \sum_{ij} \mathrm{Cov}(i \in Y, j \in Y)\, f_i f_j^T,

with covariances :math:`\delta_{ij} K_{ii} - |K_{ij}|^2` for a DPP. The second does not depend on Y: observed and
expected Fisher information are the same, and the log-likelihood is concave.
"""

from __future__ import annotations

import math

import numpy as np

from diverset._typing import FloatArray
from diverset.core import KDPP
from diverset.core.lowrank import LowRankLikelihood
from diverset.learn.instances import Example
from diverset.numerics.linalg import squared_modulus

__all__ = ["fisher_information", "log_likelihood_and_gradient"]

#: Beyond this logarithm of a quality, L would overflow.
_LARGEST = 340.0


def log_likelihood_and_gradient(example: Example, theta: FloatArray, *, fixed_size: bool) -> tuple[float, FloatArray]:
    """Log-probability of an observed set, ``-inf`` where qualities overflow, and its gradient in theta (Algorithm 4).

    Only the diagonal of K is needed, so no eigenvectors are: one Cholesky factorisation of L + I and the inverse
    of the factor, :math:`O(n^3)` with a small constant, or :math:`O(nD^2)` through the dual. A fixed size takes the
    eigendecomposition.
    """
    F, k = example.instance.F, len(example.observed)
    log_quality = 0.5 * (F @ theta)
    # Sets of one size do not feel a common factor, which is taken out; it comes back as a constant.
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

    From rows G with :math:`K = GG^*` it is :math:`\sum_i K_{ii} f_i f_i^T` less the inner products of the D x D
    matrices :math:`G^* \mathrm{diag}(f_{\cdot a}) G`, so that K is not formed: :math:`O(nD^2 m)` for m features.
    A dense kernel takes :math:`O(n^3)`, and a fixed size the probabilities of all pairs.
    """
    F = example.instance.F
    log_quality = 0.5 * (F @ theta)
    if fixed_size:
        log_quality = log_quality - log_quality.max(initial=-math.inf)
        kdpp = KDPP(example.instance.dpp(log_quality), len(example.observed))
        p = kdpp.inclusion_probabilities
        centred = F - p @ F / max(len(example.observed), 1)
        # Features are free up to a constant here; centred ones leave less to cancel.
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
