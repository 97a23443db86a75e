r"""Two open questions, studied by enumeration ([KuleszaTaskar2012]_, sections 7.1 and 7.2).

Is the entropy of a DPP concave in its marginal kernel K? Lyons conjectured that it is [Lyons2003]_, and no
counterexample is known: :func:`entropy_on_line` and :func:`search_concavity` search for one. Can
:math:`\sum_Y \det(L_Y)^p`, p > 1, be computed efficiently? No method is known: :func:`log_power_sum` lists all sets.
"""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from diverset._typing import FloatArray, RNGLike
from diverset.core import DPP, entropy, law
from diverset.errors import DiversetError
from diverset.numerics.validation import as_generator, check_count, check_positive

__all__ = ["ConcavitySearch", "entropy_on_line", "log_power_sum", "random_marginal_kernel", "search_concavity"]


def entropy_on_line(K0: ArrayLike, K1: ArrayLike, n_points: int = 21) -> tuple[FloatArray, FloatArray]:
    r"""Entropy :math:`H((1-t) K_0 + t K_1)` at evenly spaced t from 0 to 1.

    Parameters
    ----------
    K0, K1 : array_like of shape (n_items, n_items)
        Marginal kernels of at most 16 items.
    n_points : int
        Number of values of t, at least 3.

    Returns
    -------
    t, H : ndarray of shape (n_points,)
        The values of t, and the entropies in nats.

    Examples
    --------
    The entropy of one item is concave:

    >>> t, H = entropy_on_line([[0.0]], [[1.0]], n_points=3)
    >>> H.round(4)
    array([0.    , 0.6931, 0.    ])
    """
    first, last = DPP.from_marginal(K0), DPP.from_marginal(K1)
    if first.n_items != last.n_items:
        raise DiversetError(f"K0 is over {first.n_items} items and K1 over {last.n_items}; both need the same items")
    if first.n_items > 16:
        raise DiversetError(f"the kernels are over {first.n_items} items; entropies are exact for at most 16")
    if check_count(n_points, name="n_points") < 3:
        raise DiversetError(f"n_points is {n_points}; curvature needs at least 3")
    t = np.linspace(0.0, 1.0, n_points)
    start, end = first.K, last.K
    return t, np.array([entropy(DPP.from_marginal((1.0 - x) * start + x * end)).value for x in t])


def random_marginal_kernel(n_items: int, *, rng: RNGLike = None) -> FloatArray:
    """Random K with uniform eigenvectors; each eigenvalue is uniform in [0, 1], or 0 or 1 with probability 1/3."""
    n, generator = check_count(n_items, name="n_items"), as_generator(rng)
    Q, R = np.linalg.qr(generator.standard_normal((n, n)))
    Q = Q * np.sign(np.diagonal(R))
    kappa = generator.random(n)
    at_end = generator.random(n) < 1.0 / 3.0
    kappa = np.where(at_end, np.round(kappa), kappa)
    K = (Q * kappa) @ Q.T
    return np.asarray((K + K.T) / 2.0, dtype=np.float64)


@dataclass(frozen=True)
class ConcavitySearch:
    """Result of a search over random lines.

    Parameters
    ----------
    n_lines : int
        Number of lines.
    largest : float
        Largest second difference of the entropy over the squared step, which concavity makes nonpositive.
    rounding : float
        Bound of the effect of rounding on `largest`.
    curvatures : ndarray of shape (n_lines,)
        Largest value on each line.
    """

    n_lines: int
    largest: float
    rounding: float
    curvatures: FloatArray

    @property
    def counterexample(self) -> bool:
        """Whether some line is convex by more than rounding."""
        return self.largest > self.rounding


def search_concavity(n_items: int, n_lines: int = 100, *, n_points: int = 11, rng: RNGLike = None) -> ConcavitySearch:
    """Search for a line along which the entropy is not concave in K, in O(2^n) for every point of every line.

    Parameters
    ----------
    n_items : int
        Number of items, at most 16.
    n_lines : int
        Number of lines between two kernels from :func:`random_marginal_kernel`.
    n_points : int
        Number of points on each line.
    rng : int, Generator or None
        Seed or generator.

    Examples
    --------
    >>> found = search_concavity(4, 20, rng=0)
    >>> found.counterexample, found.largest < -0.1
    (False, True)
    """
    generator = as_generator(rng)
    count = check_count(n_lines, name="n_lines")
    curvatures = np.empty(count)
    for line in range(count):
        K0, K1 = (random_marginal_kernel(n_items, rng=generator) for _ in range(2))
        t, H = entropy_on_line(K0, K1, n_points)
        curvatures[line] = float((np.diff(H, 2) / (t[1] - t[0]) ** 2).max())
    step = 1.0 / (n_points - 1)
    # Entropies are at most n log 2, with proportional rounding errors, in four terms of each difference.
    rounding = 4.0 * n_items * 64.0 * float(np.finfo(float).eps) / step**2
    return ConcavitySearch(count, float(curvatures.max()), rounding, curvatures)


def log_power_sum(dpp: DPP, p: float) -> float:
    r"""Logarithm of :math:`\sum_{Y} \det(L_Y)^p`, by listing all sets of at most 20 items.

    For p = 1 it is :math:`\log\det(L + I)`. Other powers appear in the Hellinger distance and Rényi entropies.

    Parameters
    ----------
    dpp : DPP
        An L-ensemble.
    p : float
        Positive power.

    Examples
    --------
    For orthogonal items the sum is a product.

    >>> round(math.exp(log_power_sum(DPP([[2.0, 0.0], [0.0, 3.0]]), 2)), 6)  # (1 + 4)(1 + 9)
    50.0
    """
    power = check_positive(p, name="p")
    if not math.isfinite(dpp.log_normalizer):
        raise DiversetError("the DPP has no likelihood kernel L, so its determinants are not defined")
    weights = law(dpp)
    # det L_Y = det(L + I) Pr(Y). Relative to the largest probability, whose power cannot underflow.
    top = float(weights.max())
    return power * (dpp.log_normalizer + math.log(top)) + math.log(float(((weights / top) ** power).sum()))
