r"""Inducing points of a sparse Gaussian process, and weighted coresets.

With kernel matrix K of the n rows of X and m inducing points Z, a sparse Gaussian process replaces K by
:math:`Q = K_{XZ} K_{ZZ}^{-1} K_{ZX}`. What is lost is measured by the trace error

.. math::  t(Z) = \operatorname{tr}(K - Q) = \sum_i \operatorname{var}\big(f(x_i) \mid f(Z)\big) \ge 0,

which bounds the distance of the sparse posterior from the exact one: with noise variance :math:`\sigma^2` their
Kullback-Leibler divergence is at most :math:`\frac{t}{2\sigma^2}\big(1 + \lVert y \rVert^2/(\sigma^2 + t)\big)`
([BurtRasmussenVanDerWilk2020]_).
"""

from __future__ import annotations

from collections.abc import Callable
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

#: Rows that the trace is measured on while points are chosen: at least this many, and this many for each point.
_SAMPLE, _ROWS_PER_POINT = 2000, 10
#: Added to K_ZZ, relative to its largest entry; it makes the trace error larger, so a bound stays one.
_JITTER = 1e-10
#: Below this many rows a k-DPP is drawn from the matrix itself.
_DENSE = 2000
#: Rows that are shifted to test whether a kernel depends on differences alone, and relative differences allowed.
_SHIFTED, _SAME = 64, 1e-9
#: Rows of X whose variances are computed together.
_CHUNK = 4096

Kernel = Callable[[Any, Any], Any]


@dataclass(frozen=True, eq=False)
class InducingPoints:
    r"""Inducing points, and how much of the kernel they miss.

    Attributes
    ----------
    points : ndarray of shape (m, n_features)
        The points Z.
    indices : ndarray of int64 of shape (m,)
        The rows of X that they are, or that they started from if they were moved.
    moved : bool
        Whether the points were moved away from these rows.
    variances : ndarray of shape (n,)
        Conditional variance of every row of X given the points: how much is not explained there.
    trace_bound : float
        Upper bound on :math:`\operatorname{tr}(K - Q)`, tight up to rounding: the sum of `variances`.
    trace : float
        :math:`\operatorname{tr} K`, to compare with.
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
        r"""Bound on the Kullback-Leibler divergence of the best sparse posterior from the exact one.

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
        How many points. Fewer come back where they explain all there is, up to rounding.
    kernel : {"rbf"} or callable
        ``kernel(A, B)`` gives the matrix of covariances of the rows of A with the rows of B, as the kernels of
        scikit-learn do. ``"rbf"`` is :math:`\exp(-\lVert x - y\rVert^2/2\ell^2)`.
    length_scale : float, array_like of shape (n_features,) or "median"
        :math:`\ell` of ``"rbf"``: one length, one for each feature, or the median distance between rows.
    method : {"trace", "greedy", "kdpp", "mcmc"}
        ``"trace"`` takes the row that lowers the trace error most, again and again, and then moves the points.
        ``"greedy"`` takes the row with the largest conditional variance (pivoted Cholesky factorisation). ``"kdpp"``
        draws an exact k-DPP with kernel K, ``"mcmc"`` an approximate one, for kernels that are too rough for it.
    move : int, optional
        Steps of L-BFGS that move the points to lower the trace error; they leave the rows of X then. By default 30 for
        ``method="trace"`` with ``kernel="rbf"``, and 0 otherwise. A callable kernel has no gradient here, so its
        points stay.
    diagonal : float or callable, optional
        :math:`k(x, x)` of a callable kernel: a number, or a function of rows. By default the ``diag`` method of the
        kernel. Without one, more than 2,000 rows are tested for a kernel that depends on :math:`x - y` alone, which has
        one :math:`k(x, x)` for all rows; the test compares 64 rows with a shifted copy of them. For other kernels,
        blocks of the matrix are evaluated, in about the time of 150 kernel columns.
    rng : int, Generator or None
        For ``"kdpp"``, ``"mcmc"`` and the sample of rows that large data are represented by.

    Returns
    -------
    InducingPoints
        ``points`` to hand on, ``indices``, and the ``trace_bound``.

    Notes
    -----
    Cost, in evaluations of the kernel: ``"greedy"`` n m and about :math:`nm^2` operations, which take longer than the
    evaluations if these are as cheap as in two dimensions. ``"trace"`` works on a sample of 2,000 rows (10 m if that is
    more), in :math:`O(m s^2)` for s rows, and then needs n m for the bound. ``"kdpp"`` forms the matrix up to 2,000
    rows, and beyond uses :func:`diverset.sample_kernel`.

    Which one? For a small trace error ``"trace"``. Greedy conditional variance finds outliers first, so at small m
    it can be worse than rows chosen at random; it covers the data well and knows its order, so any first part of the
    points is an answer too. The expected trace error of a k-DPP is at most (m + 1) times that of the best rank-m
    approximation ([BelabbasWolfe2009]_).

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
    # With X in units of the length scale the Gaussian kernel has length one.
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
    """k(x, x) of a kernel that depends on differences of rows alone; None for other kernels and for few rows."""
    if len(rows) <= _DENSE:
        return None
    lengths = row_norms_squared(rows)
    spread = np.linspace(0, len(rows) - 1, _SHIFTED).astype(np.int64)
    sample = rows[np.append(spread, [lengths.argmin(), lengths.argmax()])]
    # A shift by a different amount in every feature, about as long as the rows.
    shift = np.sqrt(lengths.mean() + 1.0) * np.linspace(0.7, 1.3, rows.shape[1])
    try:
        S, shifted = np.asarray(kernel(sample, sample.copy())), np.asarray(kernel(sample + shift, sample + shift))
    except Exception:  # rows that the kernel is not made for
        return None
    size = float(np.abs(S).max())
    diagonal = np.diagonal(S)
    same = np.allclose(S, shifted, rtol=0.0, atol=_SAME * size) and float(np.ptp(diagonal)) <= _SAME * size
    return float(diagonal.max()) if same else None


def _sampled(n: int, m: int, rng: np.random.Generator) -> IntArray:
    size = max(_SAMPLE, _ROWS_PER_POINT * m)
    return np.arange(n) if n <= size else np.sort(rng.choice(n, size=size, replace=False))


def _trace_pivots(E: FloatArray, m: int) -> IntArray:
    r"""Rows that lower the trace most, one after the other; E, the kernel matrix, is used up.

    Row i explains :math:`\lVert E_{\cdot i} \rVert^2 / E_{ii}` of the trace of what is left, E.
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
    """Variance of each row of X given the points Z; never less than what exact arithmetic gives."""
    R = _factor_of(np.asarray(function(Z, Z), dtype=np.float64))
    variances = np.array(entries.diagonal(), dtype=np.float64)
    for start in range(0, len(X), _CHUNK):
        W = np.linalg.solve(R, np.asarray(function(Z, X[start : start + _CHUNK]), dtype=np.float64))
        variances[start : start + _CHUNK] -= np.einsum("ji,ji->i", W, W)
    return np.maximum(variances, 0.0)


@dataclass(frozen=True, eq=False)
class Coreset:
    r"""Rows that stand for all of them, each with a weight.

    Attributes
    ----------
    indices : ndarray of int64 of shape (m,)
        Rows, ascending.
    weights : ndarray of shape (m,)
        One over the probability of each row to be in the coreset: for any function f,
        :math:`\sum_{i \in C} w_i f(x_i)` is an unbiased estimate of :math:`\sum_i f(x_i)`.
    """

    indices: IntArray
    weights: FloatArray

    def __len__(self) -> int:
        return len(self.indices)


def coreset(X: Any, m: int, *, ridge: float | None = None, rng: RNGLike = None) -> Coreset:
    r"""Draw m rows with weights, by a k-DPP of the features, so that weighted sums over them are unbiased.

    Parameters
    ----------
    X : array_like of shape (n, n_features)
        Features. Functions that are nearly linear in them, or in products of them if these are added as columns,
        are estimated best.
    m : int
        Size of the coreset, at most n.
    ridge : float, optional
        As in :class:`diverset.integrations.torch.DiverseBatchSampler`: makes more rows than features possible, and
        bounds the weights. By default 0 where the rank of X is at least m, and 0.01 elsewhere.
    rng : int, Generator or None
        Seed or generator.

    Returns
    -------
    Coreset
        ``indices`` and ``weights``; most estimators of scikit-learn take the latter as ``sample_weight``.

    Notes
    -----
    An exact draw of the k-DPP with kernel :math:`XX^T + \rho I`, in :math:`O(nD^2)`, with exact inclusion
    probabilities. Coresets by DPPs: [TremblayBarthelmeAmblard2019]_.

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
