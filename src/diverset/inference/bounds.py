r"""Upper bounds on :math:`\log\det C_S` over the sets S of s items.

Maximising it is the maximum-entropy sampling problem. :func:`size_bounds` are cheap: the s largest diagonal entries,
and the s largest eigenvalues ([KoLeeQueyranne1995]_). The linx bound ([Anstreicher2020]_) and the factorisation bound
([Nikolov2015]_) are concave programs. The latter is *linear*, :math:`\sum_{i \in S} g_i` plus a constant, with
:math:`g_i = f_i \Theta f_i^*` and :math:`C = \psi I + FF^*`. It is valid for every positive definite :math:`\Theta`, so
that the search for the best one may stop early. :func:`diverset.map_exact` uses it, over a polytope in which at most
one item may be chosen from each *block*, a clique of pairs that no better set contains. *Probing* bounds the sets with
and without each item, and finds such pairs. The page :doc:`/exact` derives the formulas.
"""

from __future__ import annotations

import math
import time
from typing import NamedTuple

import numpy as np

from diverset._typing import Array, BoolArray, FloatArray, IntArray
from diverset.core import DPP
from diverset.inference._exact_loops import Polytope
from diverset.inference.greedy import check_rank, whole_kernel
from diverset.numerics.linalg import EPS, squared_modulus
from diverset.numerics.validation import check_size

__all__ = ["LinearBound", "factorization", "linx_bound", "map_upper_bound", "probe", "size_bounds"]

#: Items of smaller weight are left out of the eigenvalue problem; the bound stays valid.
NO_WEIGHT = 1e-7
#: Fraction of the smallest eigenvalue that becomes psi; below 1, so that no vector f_i vanishes.
SPLIT = 0.999
#: Potentials stay within plus or minus `POTENTIAL_RANGE` and change by at most `LARGEST_STEP` per iteration.
POTENTIAL_RANGE = 25.0
LARGEST_STEP = 5.0


def size_bounds(C: Array) -> FloatArray:
    r"""Two bounds on :math:`\log\det C_S` for every size 0..n, of shape (2, n + 1).

    Hadamard: :math:`\det C_S` is at most the product of the largest diagonal entries. Cauchy interlacing: it is at most
    the product of the largest eigenvalues, each raised here by a bound on its rounding error.
    """
    lam = np.linalg.eigvalsh(C) if len(C) else np.zeros(1)
    lam = np.maximum(lam, 0.0) + len(C) * EPS * max(float(lam[-1]), 0.0)
    values = np.stack([np.diagonal(C).real, lam[: len(C)]])
    logs = np.log(np.maximum(np.sort(values)[:, ::-1], np.finfo(np.float64).tiny))
    return np.hstack([np.zeros((2, 1)), np.cumsum(logs, axis=1)])


class LinearBound(NamedTuple):
    r"""A bound :math:`\log\det C_S \le v - s + \sum_{i \in S} g_i`, and the matrix :math:`\Theta` it comes from.

    `value` is the bound over the polytope (at most one item from each block), found at the point `weights`;
    `constant` is v, which includes an allowance for rounding. The matrix is
    :math:`\Theta = \frac1d I + \sum_l (\frac1{\lambda_l} - \frac1d) u_l u_l^*`, with fewer than s eigenvalues
    :math:`\lambda_l > d` in `lam` and d in `rest`. It is stored by its products with the items: `g` holds
    :math:`f_i\Theta f_i^*` and `W` holds :math:`f_i u_l`. `step` is the last step size.
    """

    value: float
    weights: FloatArray
    g: FloatArray
    constant: float
    lam: FloatArray
    rest: float
    W: Array
    psi: float
    step: float


def _spread(
    C: Array, x: FloatArray, s: int, psi: float, no_weight: float
) -> tuple[float, float, FloatArray, FloatArray, float, Array]:
    r""":math:`\Gamma_s` at x, constant and coefficients of the bound, and :math:`\Theta`; C has psi subtracted."""
    support = np.flatnonzero(x > no_weight)
    q = np.sqrt(x[support])
    half = C[:, support] * q
    values, U = np.linalg.eigh(half[support] * q[:, None])
    top = np.zeros(s)
    count = min(s, len(support))
    top[:count] = np.maximum(values[::-1][:count], 0.0)
    diagonal = np.diagonal(C).real
    left = float(q**2 @ diagonal[support])
    # Entry j: the trace left after the j largest eigenvalues, divided by the s - j other places.
    mean = (left - np.concatenate([[0.0], np.cumsum(top[:-1])])) / np.arange(s, 0, -1)
    p = int(np.append(top[:-1] <= mean[:-1] * (1.0 + 1e-12), True).argmax())
    # Any positive d keeps the bound valid. The mean is 0 only if x has too few positive weights.
    d = max(float(mean[p]), EPS * left / s)
    lam = np.maximum(top[:p], d)
    W = half @ (U[:, ::-1][:, :p] / np.sqrt(lam))
    lam, d = lam + psi, d + psi
    g = diagonal / d + squared_modulus(W) @ (1.0 / lam - 1.0 / d)
    v = float(np.log(lam).sum()) + (s - p) * math.log(d)
    # The eigenvectors have rounding errors, and the coefficients are differences of numbers as large as C_ii / d.
    rounding = 4.0 * len(C) * EPS * float(diagonal.sum()) / d
    return v, v + psi * (float((1.0 / lam).sum()) + (s - p) / d) + rounding, g, lam, d, W


def factorization(
    C: Array,
    s: int,
    *,
    blocks: IntArray | None = None,
    potential: FloatArray | None = None,
    target: float = -math.inf,
    max_iter: int = 60,
    accuracy: float = 0.01,
    step: float = 2.0,
    no_weight: float = NO_WEIGHT,
    deadline: float = math.inf,
) -> LinearBound | None:
    r"""Factorisation bound on :math:`\log\det C_S` over sets of s items, at most one from each block.

    C is positive semidefinite with positive diagonal. The search starts from `potential` (items of larger potential
    have larger weight). It ends when the bound is at most `target`, when further iterations can close at most the
    fraction `accuracy` of the distance to `target`, or after `max_iter` eigendecompositions, O(m^3) each. Weights up to
    `no_weight` count as zero. The result is None if there are fewer than s blocks. The method is mirror ascent on
    :math:`\Gamma_s`: with block sums y, the entropy :math:`\sum_i x_i\log x_i + \sum_B (1-y_B)\log(1-y_B)` has the
    polytope as its domain and a closed-form step.
    """
    m = len(C)
    blocks = np.arange(m) if blocks is None else blocks
    if s < 1 or int(blocks.max(initial=-1)) + 1 < s:
        return None
    polytope = Polytope(blocks, s)
    values = np.linalg.eigvalsh(C)
    psi = SPLIT * max(0.0, float(values[0]) - m * EPS * float(values[-1]))  # rounding may raise values[0]
    C = C - psi * np.eye(m)
    a = np.zeros(m) if potential is None else potential.copy()
    best: LinearBound | None = None
    attained = reached = -math.inf
    kept_a, kept_g, threshold = a, a, 0.0
    for iteration in range(max_iter):
        x = np.empty(m)
        polytope.point(a, x)
        v, constant, g, lam, d, W = _spread(C, x, s, psi, no_weight)
        total, smallest = polytope.maximum(g)
        value = constant - s + total
        attained = max(attained, v)  # no bound of this kind is below it
        if best is None or value < best.value:
            best = LinearBound(value, x, g, constant, lam, d, W, psi, step)
        close = best.value - attained < accuracy * (attained - target)
        if best.value <= target or best.value - attained < 1e-7 or (iteration and close):
            break
        if time.monotonic() > deadline:
            break
        if v < reached:
            step *= 0.4
        else:
            step *= 1.4
            reached, kept_a, kept_g, threshold = v, a, g, smallest
        change = np.clip(step * (kept_g - threshold), -LARGEST_STEP, LARGEST_STEP)
        a = np.clip(kept_a + change, -POTENTIAL_RANGE, POTENTIAL_RANGE)
    assert best is not None  # one iteration always runs
    return best


def probe(
    A: Array, s: int, bound: LinearBound, blocks: IntArray, conflict: BoolArray, target: float
) -> tuple[FloatArray, FloatArray, int]:
    """Bounds with and without each item, and the number of conflicts found; see the module docstring."""
    d, lam, W, psi = bound.rest, bound.lam, bound.W, bound.psi
    A = A - psi * np.eye(len(A))
    c = np.diagonal(A).real
    G = A / d + (W * (1.0 / lam - 1.0 / d)) @ W.conj().T
    ratio = A / c
    g = bound.g[:, None] - 2.0 * (ratio.conj() * G).real + squared_modulus(ratio) * bound.g
    g = np.maximum(g, 0.0) + squared_modulus(ratio) * (psi / (psi + c) * c / d)
    h = d * c + squared_modulus(W) @ (lam - d)
    base = bound.constant - (s - 1) + np.log(c + psi) + np.log(c / h) - psi * bound.g / c
    polytope, with_item, without_item = Polytope(blocks, s), np.empty(len(A)), np.empty(len(A))
    found = polytope.inclusion_bounds(base, np.ascontiguousarray(g.T), conflict.view(np.uint8), target, with_item)
    polytope.exclusion_bounds(bound.g, bound.value, without_item)
    return with_item, without_item, found


def _linx_at(C: Array, x: FloatArray, log_scale: float, s: int) -> tuple[float, FloatArray, FloatArray, float]:
    """Value, gradient and Hessian in x, and derivative in the logarithm of the scale."""
    scale = math.exp(log_scale)
    M = scale * (C * x) @ C + np.diag(1.0 - x)
    R = np.linalg.inv(M)
    Q = C @ R
    P = Q @ C
    q2 = squared_modulus(Q)
    value = 0.5 * (float(np.linalg.slogdet(M)[1]) - s * log_scale)
    gradient = 0.5 * (scale * np.diagonal(P).real - np.diagonal(R).real)
    hessian = -0.5 * (scale**2 * squared_modulus(P) - scale * (q2 + q2.T) + squared_modulus(R))
    slope = 0.5 * (float((1.0 - (1.0 - x) * np.diagonal(R).real).sum()) - s)
    return value, gradient, hessian, slope


def linx_bound(C: Array, s: int, *, max_iter: int = 60, tolerance: float = 1e-4) -> float:
    r"""Linx bound of Anstreicher,

    .. math::

        \max_x \tfrac12\left(\log\det(\gamma\,C\,\mathrm{diag}(x)\,C + I - \mathrm{diag}(x)) - s\log\gamma\right),
        \qquad 0 \le x \le 1,\ \textstyle\sum_i x_i = s,

    where the scale :math:`\gamma` is optimised together with x. The bound is valid for every :math:`\gamma`: for the
    indicator of a set S the determinant is :math:`\gamma^s \det(C_S)^2`. The method is Newton's on a logarithmic
    barrier, O(m^3) for an iteration. The result includes the remaining duality gap, so it is valid even if the search
    stops early. It is strongest if s is near half the items; for small s the factorisation bound is stronger.
    """  # noqa: D400
    m = len(C)
    if s in (0, m):
        return float(np.linalg.slogdet(C)[1]) if s else 0.0
    values = np.linalg.eigvalsh(C)
    x = np.full(m, s / m)
    log_scale = -2.0 * math.log(max(float(values[m - s]), EPS * float(values[-1])))
    barrier, best = 0.1, math.inf
    for _ in range(max_iter):
        value, gradient, hessian, slope = _linx_at(C, x, log_scale, s)
        bound = value + float(np.sort(gradient)[m - s :].sum() - gradient @ x)
        best = min(best, bound)
        if best - value < tolerance and abs(slope) < tolerance:
            break
        gb = gradient + barrier * (1.0 / x - 1.0 / (1.0 - x))
        system = np.zeros((m + 1, m + 1))
        system[:m, :m] = hessian - np.diag(barrier * (1.0 / x**2 + 1.0 / (1.0 - x) ** 2))
        system[:m, m] = system[m, :m] = 1.0
        direction = np.linalg.solve(system, np.append(-gb, 0.0))[:m]
        room = np.where(direction < 0.0, x, 1.0 - x) / np.maximum(np.abs(direction), 1e-300)
        x = np.clip(x + min(1.0, 0.95 * float(room.min())) * direction, 1e-9, 1.0 - 1e-9)
        # The value is convex in log_scale, with curvature at most m/8: this step never overshoots.
        log_scale -= float(np.clip(8.0 * slope / m, -1.0, 1.0))
        if room.min() > 1.0:
            barrier *= 0.25
    return best


def map_upper_bound(dpp: DPP, k: int | None = None) -> float:
    r"""Upper bound on :math:`\log\det L_Y` over the sets of k items, or over all sets.

    The bound for one size is the smallest of the Hadamard, spectral, linx and factorisation bounds, each with a bound
    on its rounding error; without `k`, it is the largest over the sizes. Hundreds of items take seconds.

    Examples
    --------
    >>> import numpy as np, diverset as dv
    >>> round(map_upper_bound(dv.DPP(np.diag([4.0, 3.0, 0.5])), k=2), 6) == round(float(np.log(12.0)), 6)
    True
    """
    C = whole_kernel(dpp, "map_upper_bound")
    if k is not None:
        size = check_size(k)
        check_rank(size, dpp.rank)
        return _best_bound(C, size, dpp.rank)
    return max(_best_bound(C, size, dpp.rank, strong=False) for size in range(dpp.rank + 1))


def _best_bound(C: Array, s: int, rank: int, *, strong: bool = True) -> float:
    if s == 0:
        return 0.0
    usable = np.flatnonzero(np.diagonal(C).real > 0.0)
    scale = float(np.diagonal(C).real.max())
    A = C[np.ix_(usable, usable)] / scale
    linear = factorization(A, s)
    bounds = [*size_bounds(A)[:, s], math.inf if linear is None else linear.value]
    # Linx squares the condition number of the kernel, so it is used only for well-conditioned kernels.
    condition = float(np.linalg.cond(A)) if strong and rank == len(A) else math.inf
    if condition < 1e5:
        bounds.append(linx_bound(A, s) + len(A) * EPS * condition**2)
    return float(min(bounds)) + s * math.log(scale)
