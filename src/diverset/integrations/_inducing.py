r"""Inducing points of a sparse Gaussian process, and weighted coresets.

With kernel matrix K of the n rows of X and m inducing points Z, a sparse Gaussian process replaces K by
:math:`Q = K_{XZ} K_{ZZ}^{-1} K_{ZX}`. The approximation error is measured by the trace error

.. math::  t(Z) = \operatorname{tr}(K - Q) = \sum_i \operatorname{var}\big(f(x_i) \mid f(Z)\big) \ge 0,

which bounds the distance of the sparse posterior from the exact posterior. With noise variance :math:`\sigma^2`, their
Kullback-Leibler divergence is at most :math:`\frac{t}{2\sigma^2}\big(1 + \lVert y \rVert^2/(\sigma^2 + t)\big)`
([BurtRasmussenVanDerWilk2020]_).
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

import numpy as np

from diverset._typing import FloatArray, IntArray, RNGLike
from diverset.core import KDPP
from diverset.errors import DiversetError, KernelError, SizeError
from diverset.inference.inputs import read_items
from diverset.integrations._pivots import greedy_pivots
from diverset.integrations.torch import RidgeKDPP
from diverset.kernels import median_heuristic, rbf
from diverset.numerics.linalg import add_to_diagonal, row_norms_squared
from diverset.numerics.validation import (
    as_finite,
    as_generator,
    check_count,
    check_finite,
    check_positive,
    check_size,
    is_sparse,
)
from diverset.sampling.intermediate import sample_kernel
from diverset.sampling.kernel_function import KernelFunction

__all__ = ["Coreset", "InducingPoints", "coreset", "inducing_points"]

#: Number of rows on which the trace is measured while points are chosen: the minimum, and the number per point.
_SAMPLE, _ROWS_PER_POINT = 2000, 10
#: Added to K_ZZ, relative to its largest entry. It increases the trace error, so the bound stays valid.
_JITTER = 1e-10
#: Up to this number of rows, a k-DPP is sampled from the full kernel matrix.
_DENSE = 2000
#: Number of rows in the test whether a kernel is stationary, and the relative difference that the test allows.
_SHIFTED, _SAME = 64, 1e-9
#: Number of rows of X whose variances are computed in one batch.
_CHUNK = 4096

Kernel = Callable[[Any, Any], Any]


@dataclass(frozen=True, eq=False)
class InducingPoints:
    r"""Inducing points and their approximation error.

    Attributes
    ----------
    points : ndarray of shape (m, n_features)
        The points Z.
    indices : ndarray of int64 of shape (m,)
        The rows of X that are the points, or the initial rows if the points were moved.
    moved : bool
        Whether the points were moved away from these rows.
    variances : ndarray of shape (n,)
        Conditional variance of every row of X given the points.
    trace_bound : float
        Upper bound on :math:`\operatorname{tr}(K - Q)`, tight up to rounding: the sum of `variances`.
    trace : float
        :math:`\operatorname{tr} K`, for comparison.
    """

    points: FloatArray
    indices: IntArray
    moved: bool
    variances: FloatArray
    trace_bound: float
    trace: float

    def __len__(self) -> int:
        return len(self.indices)

    def __repr__(self) -> str:
        return f"InducingPoints({len(self)} points, trace_bound={self.trace_bound:.6g} of {self.trace:.6g})"

    def kl_bound(self, y: Any, noise: float) -> float:
        r"""Bound on the Kullback-Leibler divergence of the best sparse posterior from the exact posterior.

        .. math::  \frac{t}{2\sigma^2} \Big(1 + \frac{\lVert y \rVert^2}{\sigma^2 + t}\Big),

        with t the `trace_bound`, targets y, centred if the process has mean zero, and `noise` the variance
        :math:`\sigma^2` of the noise ([BurtRasmussenVanDerWilk2020]_).
        """
        targets = as_finite(y, name="y", shape=(len(self.variances),))
        variance, t = check_positive(noise, name="noise"), self.trace_bound
        return float(t / (2.0 * variance) * (1.0 + targets @ targets / (variance + t)))


def inducing_points(
    X: Any,
    m: int,
    kernel: Literal["rbf"] | Kernel = "rbf",
    *,
    length_scale: Any = "median",
    method: Literal["trace", "greedy", "kdpp", "mcmc"] = "trace",
    move: int | None = None,
    diagonal: float | Callable[[Any], Any] | None = None,
    rng: RNGLike = 0,
) -> InducingPoints:
    r"""Choose m inducing points for a Gaussian process with a given kernel.

    Parameters
    ----------
    X : array_like of shape (n, n_features)
        Inputs.
    m : int
        Number of points. The result has fewer points if they explain all variance, up to rounding.
    kernel : {"rbf"} or callable
        ``kernel(A, B)`` gives the matrix of covariances of the rows of A with the rows of B, as the kernels of
        scikit-learn do. ``"rbf"`` is :math:`\exp(-\lVert x - y\rVert^2/2\ell^2)`.
    length_scale : float, array_like of shape (n_features,) or "median"
        :math:`\ell` of ``"rbf"``: one number, one number per feature, or the median distance between rows.
    method : {"trace", "greedy", "kdpp", "mcmc"}
        ``"trace"`` repeatedly adds the row that lowers the trace error most, and then moves the points. ``"greedy"``
        repeatedly adds the row with the largest conditional variance (pivoted Cholesky factorisation). ``"kdpp"`` draws
        an exact sample of the k-DPP with kernel K; ``"mcmc"`` draws an approximate sample, for rough kernels.
    move : int, optional
        Number of L-BFGS steps that move the points away from the rows of X to lower the trace error. By default 30 for
        ``method="trace"`` with ``kernel="rbf"``, and 0 otherwise. Points of a callable kernel are never moved, since
        its gradient is unknown.
    diagonal : float or callable, optional
        :math:`k(x, x)` of a callable kernel: a number, or a function of rows. By default the ``diag`` method of the
        kernel. Without that method, and with more than 2,000 rows, a test with 64 rows and a shifted copy decides
        whether the kernel depends only on :math:`x - y`, so that :math:`k(x, x)` is constant. For other kernels, blocks
        of the matrix are evaluated, in about the time of 150 kernel columns.
    rng : int, Generator or None
        Seed or generator for ``"kdpp"``, ``"mcmc"`` and the sample of rows of large data.

    Returns
    -------
    InducingPoints
        ``points``, ``indices``, and the ``trace_bound``.

    Notes
    -----
    ``"greedy"`` takes n m evaluations of the kernel and about :math:`nm^2` other operations, which dominate if the
    kernel is cheap. ``"trace"`` uses a sample of s = 2,000 rows (10 m if that is more) in :math:`O(m s^2)`, and n m
    evaluations for the bound. ``"kdpp"`` forms the kernel matrix for up to 2,000 rows, and uses
    :func:`diverset.sample_kernel` for more.

    Use ``"trace"`` for a small trace error. ``"greedy"`` picks outliers first, so for small m it can be worse than
    random rows. It covers the data well, and its first points are also the result for a smaller m. The expected trace
    error of a k-DPP is at most (m + 1) times that of the best rank-m approximation ([BelabbasWolfe2009]_).

    Examples
    --------
    >>> import numpy as np
    >>> x = np.linspace(0.0, 1.0, 200)[:, None]
    >>> found = inducing_points(x, 5, length_scale=0.3)
    >>> np.sort(found.points.ravel()).round(1), found.trace_bound < 0.2
    (array([0.1, 0.3, 0.5, 0.7, 0.9]), True)
    >>> inducing_points(x, 2, length_scale=0.3, method="greedy").indices
    array([  0, 199])
    """
    features = read_items(X, name="X").features
    rows = np.asarray(features.toarray() if is_sparse(features) else features, dtype=np.float64)
    check_finite(rows, name="X")
    n, d = rows.shape
    wanted = min(check_count(m, name="m"), n)
    if method not in ("trace", "greedy", "kdpp", "mcmc"):
        raise DiversetError(f"method is {method!r}; choose 'trace', 'greedy', 'kdpp' or 'mcmc'")
    gaussian = isinstance(kernel, str)
    if isinstance(kernel, str) and kernel != "rbf":
        raise KernelError(f"kernel is {kernel!r}; give 'rbf', or a function of two arrays of rows")
    steps = (30 if method == "trace" and gaussian else 0) if move is None else check_size(move, name="move")
    if steps and not gaussian:
        raise KernelError(f"move is {move}, but only points of kernel='rbf' can be moved; leave move out")
    scale = _length_scale(length_scale, rows) if gaussian else np.ones(d)
    # With X in units of the length scale, the Gaussian kernel has length scale one.
    units = rows / scale
    function: Kernel = partial(rbf, length_scale=1.0) if isinstance(kernel, str) else kernel
    if gaussian:
        if diagonal is not None:
            raise KernelError("diagonal is given, but that of kernel='rbf' is known; leave it out")
        diagonal = 1.0
    elif diagonal is None:
        diagonal = getattr(kernel, "diag", None) or _constant_diagonal(function, rows)
    entries = KernelFunction(units, function, diagonal=diagonal)
    generator = as_generator(rng)
    variances = None
    if method == "trace":
        sample = _sampled(n, wanted, generator)
        indices = sample[_trace_pivots(entries.block(sample, sample), wanted)]
    elif method == "greedy":
        with _checked_rows():
            indices, variances = greedy_pivots(entries, wanted)
    elif method == "mcmc" or n > _DENSE:
        way: Literal["intermediate", "mcmc"] = "mcmc" if method == "mcmc" else "intermediate"
        drawn = sample_kernel(units, function, k=wanted, rng=generator, method=way, diagonal=diagonal)
        indices = np.asarray(drawn, dtype=np.int64)
    else:
        indices = KDPP(entries.block(np.arange(n), np.arange(n)), wanted).sample(rng=generator)
    points = units[indices]
    K_ZZ = np.asarray(function(points, points.copy()), dtype=np.float64)
    wrong = np.flatnonzero(
        np.abs(np.diagonal(K_ZZ) - entries.diagonal()[indices]) > 1e-6 * np.abs(K_ZZ).max(initial=0.0)
    )
    if len(wrong):
        raise KernelError(
            f"k(x, x) is {K_ZZ[wrong[0], wrong[0]]:.6g} for row {indices[wrong[0]]} and was taken to be "
            f"{entries.diagonal()[indices[wrong[0]]]:.6g}; pass diagonal=, a function of rows"
        )
    if steps:
        points = _moved(points, units[_sampled(n, wanted, generator)], steps)
    if steps or variances is None:
        variances = _conditional_variances(entries, units, points, function)
    return InducingPoints(
        points=np.asarray(points * scale),
        indices=indices,
        moved=steps > 0,
        variances=variances,
        trace_bound=float(variances.sum()),
        trace=float(entries.diagonal().sum()),
    )


def _checked_rows() -> AbstractContextManager[None]:
    """Keep scikit-learn's kernels from checking their arguments in every call: the rows of X are checked already."""
    sklearn = sys.modules.get("sklearn")
    return (
        nullcontext() if sklearn is None else sklearn.config_context(assume_finite=True, skip_parameter_validation=True)
    )


def _length_scale(given: Any, rows: FloatArray) -> FloatArray:
    if isinstance(given, str):
        if given != "median":
            raise KernelError(f"length_scale is {given!r}; give a positive number, one per feature, or 'median'")
        return np.full(rows.shape[1], median_heuristic(rows))
    scale = as_finite(given, name="length_scale", shape=(None,) * np.ndim(given))
    if scale.shape not in ((), (rows.shape[1],)):
        raise KernelError(f"length_scale has shape {scale.shape}; give one number, or {rows.shape[1]}, one per feature")
    if not scale.min(initial=1.0) > 0.0:
        raise KernelError(f"length_scale is {given}; lengths must be positive")
    return np.broadcast_to(scale, (rows.shape[1],))


def _constant_diagonal(kernel: Kernel, rows: FloatArray) -> float | None:
    """The value k(x, x) of a stationary kernel; None for other kernels and for few rows."""
    if len(rows) <= _DENSE:
        return None
    lengths = row_norms_squared(rows)
    spread = np.linspace(0, len(rows) - 1, _SHIFTED).astype(np.int64)
    sample = rows[np.append(spread, [lengths.argmin(), lengths.argmax()])]
    # The shift differs between features and is about as long as the rows.
    shift = np.sqrt(lengths.mean() + 1.0) * np.linspace(0.7, 1.3, rows.shape[1])
    try:
        S, shifted = np.asarray(kernel(sample, sample.copy())), np.asarray(kernel(sample + shift, sample + shift))
    except Exception:  # the kernel does not accept the shifted rows
        return None
    size = float(np.abs(S).max())
    diagonal = np.diagonal(S)
    same = np.allclose(S, shifted, rtol=0.0, atol=_SAME * size) and float(np.ptp(diagonal)) <= _SAME * size
    return float(diagonal.max()) if same else None


def _sampled(n: int, m: int, rng: np.random.Generator) -> IntArray:
    size = max(_SAMPLE, _ROWS_PER_POINT * m)
    return np.arange(n) if n <= size else np.sort(rng.choice(n, size=size, replace=False))


def _trace_pivots(E: FloatArray, m: int) -> IntArray:
    r"""Greedy choice of the rows that lower the trace most; overwrites E, the kernel matrix.

    With E the residual kernel matrix, row i lowers the trace by :math:`\lVert E_{\cdot i} \rVert^2 / E_{ii}`.
    """
    least = 1e-12 * float(np.diagonal(E).max(initial=0.0))
    picked: list[int] = []
    for _ in range(m):
        variance = np.diagonal(E)
        explained = np.divide(
            np.einsum("ij,ij->j", E, E), variance, out=np.zeros(len(E)), where=variance > max(least, 0.0)
        )
        explained[picked] = 0.0
        i = int(explained.argmax())
        if not explained[i] > 0.0:
            break
        column = E[:, i] / np.sqrt(E[i, i])
        E -= np.multiply.outer(column, column)
        picked.append(i)
    return np.array(picked, dtype=np.int64)


def _factor_of(K: FloatArray) -> FloatArray:
    return np.linalg.cholesky(add_to_diagonal(np.array(K), _JITTER * float(np.diagonal(K).max(initial=0.0))))


def _moved(Z: FloatArray, X: FloatArray, steps: int) -> FloatArray:
    r"""Points after some steps of L-BFGS on the trace error over X, for the Gaussian kernel of length one.

    With :math:`M = K_{ZZ}^{-1} K_{ZX}`, the trace of Q changes by
    :math:`2 \operatorname{tr}(M^T dK_{ZX}) - \operatorname{tr}(M M^T dK_{ZZ})`, and a kernel value by
    :math:`k(x, z)(x - z)\,dz`.
    """
    from scipy.optimize import minimize

    def error(flat: FloatArray) -> tuple[float, FloatArray]:
        at = flat.reshape(Z.shape)
        K_ZX, K_ZZ = rbf(at, X, length_scale=1.0), rbf(at, length_scale=1.0)
        R = _factor_of(K_ZZ)
        M = np.linalg.solve(R.T, np.linalg.solve(R, K_ZX))
        A, B = M * K_ZX, (M @ M.T) * K_ZZ
        slope = A @ X - A.sum(axis=1)[:, None] * at - B @ at + B.sum(axis=1)[:, None] * at
        return 1.0 - float(A.sum()) / len(X), -2.0 * slope.ravel() / len(X)

    found = minimize(error, Z.ravel(), jac=True, method="L-BFGS-B", options={"maxiter": steps})
    return np.asarray(found.x).reshape(Z.shape)


def _conditional_variances(entries: KernelFunction, X: FloatArray, Z: FloatArray, function: Kernel) -> FloatArray:
    """Upper bound on the variance of each row of X given the points Z, tight up to rounding."""
    R = _factor_of(np.asarray(function(Z, Z), dtype=np.float64))
    variances = np.array(entries.diagonal(), dtype=np.float64)
    for start in range(0, len(X), _CHUNK):
        W = np.linalg.solve(R, np.asarray(function(Z, X[start : start + _CHUNK]), dtype=np.float64))
        variances[start : start + _CHUNK] -= np.einsum("ji,ji->i", W, W)
    return np.maximum(variances, 0.0)


@dataclass(frozen=True, eq=False)
class Coreset:
    r"""Weighted rows that represent all rows.

    Attributes
    ----------
    indices : ndarray of int64 of shape (m,)
        Rows, ascending.
    weights : ndarray of shape (m,)
        Inverse of the probability that the row is in the coreset. For any function f,
        :math:`\sum_{i \in C} w_i f(x_i)` is an unbiased estimate of :math:`\sum_i f(x_i)`.
    """

    indices: IntArray
    weights: FloatArray

    def __len__(self) -> int:
        return len(self.indices)


def coreset(X: Any, m: int, *, ridge: float | None = None, rng: RNGLike = None) -> Coreset:
    r"""Draw m weighted rows by a k-DPP of the features, so that weighted sums over the rows are unbiased.

    Parameters
    ----------
    X : array_like of shape (n, n_features)
        Features. Sums of functions that are nearly linear in the features have the smallest error. Products of
        features may be added as columns.
    m : int
        Size of the coreset, at most n.
    ridge : float, optional
        As in :class:`diverset.integrations.torch.DiverseBatchSampler`: it allows more rows than features, and bounds
        the weights. By default 0 if the rank of X is at least m, and 0.01 otherwise.
    rng : int, Generator or None
        Seed or generator.

    Returns
    -------
    Coreset
        ``indices`` and ``weights``; most estimators of scikit-learn accept the weights as ``sample_weight``.

    Notes
    -----
    The rows are an exact sample of the k-DPP with kernel :math:`XX^T + \rho I`, in :math:`O(nD^2)`, and the inclusion
    probabilities are exact. See [TremblayBarthelmeAmblard2019]_ on coresets from DPPs.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.random.default_rng(0).standard_normal((500, 5))
    >>> found = coreset(X, 40, rng=0)
    >>> len(found), bool(abs(found.weights.sum() - 500) < 100)
    (40, True)
    """
    features = read_items(X, name="X").features
    check_finite(features.data if is_sparse(features) else features, name="X")
    wanted = check_count(m, name="m")
    if wanted > features.shape[0]:
        raise SizeError(f"m is {wanted}, but X has only {features.shape[0]} rows; lower it")
    law = RidgeKDPP(features, wanted, ridge)
    indices = law.draw(as_generator(rng))
    return Coreset(indices, np.asarray(1.0 / law.inclusion_probabilities()[indices]))
