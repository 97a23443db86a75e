r"""Learning a kernel of low rank from baskets, symmetric or not, by stochastic gradients.

The objective is the mean log-likelihood minus a penalty that decreases with the popularity of an item
([GartrellEtAl2017]_),

.. math::

    \frac1T \sum_t \log\det L_{Y_t} - \log\det(L + I) - \alpha \sum_i \frac{\lVert v_i \rVert^2}{\mu_i}
    + \frac{c}{T} \sum_i \log L_{ii},

with :math:`\mu_i` the number of baskets that contain item i. The penalty keeps the rows of rare items short. The last
term keeps them from vanishing: an item that never occurred has the probability of an item that occurred c times. With
:math:`L = VV^T` the gradient is :math:`2 L_Y^{-1} V_Y` in the rows of a basket, and :math:`2V(I + V^TV)^{-1}` for the
normaliser, in :math:`O(nD^2)`.

A nonsymmetric kernel :math:`L = VV^T + BCB^T`, :math:`C = D - D^T` ([GartrellEtAl2021]_), can also model
attraction. With :math:`A = L_Y` (or :math:`I + L`, for the normaliser),

.. math::

    \nabla_V \log\det A = (A^{-1} + A^{-T})V, \qquad
    \nabla_B = (A^{-1} - A^{-T})BC, \qquad
    \nabla_C = B^T A^{-T} B, \qquad \nabla_D = \nabla_C - \nabla_C^T.
"""

from __future__ import annotations

import abc
import math
from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np

from diverset._typing import Array, FloatArray, IntArray, RNGLike
from diverset.errors import DiversetError
from diverset.learn._estimator import Convergence, progress
from diverset.learn.basket_model import KernelModel
from diverset.learn.baskets import Baskets, check_sizes
from diverset.learn.kernel_forms import LowRank
from diverset.numerics.linalg import add_to_diagonal
from diverset.numerics.validation import as_generator, check_count, check_nonnegative, check_positive

__all__ = ["LowRankKernel", "NonsymmetricKernel", "choose_rank", "low_rank_objective", "nonsymmetric_objective"]

#: Added to the diagonal of every block during training, so that a basket of dependent items has a finite gradient.
_JITTER = 1e-10
#: Default minimum number of passes over the baskets, and of gradient steps.
_EPOCHS, _STEPS = 30, 1000
#: Parameters beta_1, beta_2 and epsilon of Adam.
_MOMENTUM, _SECOND, _FLOOR = 0.9, 0.999, 1e-8
#: Fraction of the baskets held out, the first rank tried, and the ratio of successive ranks.
_HELD_OUT, _FIRST, _GROWTH = 0.2, 4, 1.5
#: The search ends after this many successive ranks without an improvement.
_PATIENCE = 2
#: With fewer baskets than this, no basket is held out, and the rank is the number of items.
_FEW = 5

#: The parameters of a model, or their gradients, by name.
Arrays = dict[str, FloatArray]


def _popularity_rows(baskets: Baskets, width: int, rng: np.random.Generator) -> FloatArray:
    """Random directions; the squared length of row i is p / (1 - p) for an item of frequency p."""
    p = baskets.frequencies
    rows = rng.standard_normal((baskets.n_items, width))
    rows *= np.sqrt(p / (1.0 - p) / np.maximum((rows**2).sum(axis=1), 1e-300))[:, None]
    return rows


def _put_back(rows: IntArray, values: Array, n: int) -> FloatArray:
    """Add the values of each set to the rows of its items: (n, D) from (n_sets, m) items and (n_sets, m, D) values."""
    from scipy import sparse

    total = rows.size
    place = sparse.csr_array((np.ones(total), rows.ravel(), np.arange(total + 1)), shape=(total, n))
    return np.asarray(place.T @ values.reshape(total, -1), dtype=np.float64)


def _lifted(blocks: FloatArray) -> FloatArray:
    m = blocks.shape[-1]
    blocks[:, np.arange(m), np.arange(m)] += _JITTER
    return blocks


def _smoothing(V: FloatArray, strength: float) -> tuple[float, FloatArray]:
    """`strength` times the sum of log L_ii, and its gradient in V; a skew-symmetric part adds nothing to L_ii."""
    squares = (V**2).sum(axis=1) + _JITTER
    return strength * float(np.log(squares).sum()), 2.0 * strength * V / squares[:, None]


def low_rank_objective(
    parameters: Arrays, baskets: Baskets, chosen: IntArray | None, penalty: FloatArray, smoothing: float = 0.0
) -> tuple[float, Arrays]:
    r"""Objective for :math:`L = VV^T` on the `chosen` baskets (all by default), and its gradient in V.

    `penalty` is :math:`\alpha/\mu_i` for each item and `smoothing` is :math:`c/T`.
    """
    V = parameters["V"]
    number = len(baskets) if chosen is None else len(chosen)
    value = 0.0
    gradient = np.zeros_like(V)
    for _, rows in baskets.by_size(chosen):
        if rows.shape[1] == 0:
            continue
        X = V[rows]
        L = _lifted(X @ X.transpose(0, 2, 1))
        value += float(np.linalg.slogdet(L)[1].sum())
        gradient += _put_back(rows, np.linalg.solve(L, X), len(V))
    lifted = add_to_diagonal(V.T @ V, 1.0)
    R = np.linalg.cholesky(lifted)
    value = value / number - 2.0 * float(np.log(np.diagonal(R)).sum()) - float(penalty @ (V**2).sum(axis=1))
    gradient = 2.0 * (gradient / number - np.linalg.solve(lifted, V.T).T - penalty[:, None] * V)
    extra, slope = _smoothing(V, smoothing)
    return value + extra, {"V": gradient + slope}


def nonsymmetric_objective(
    parameters: Arrays,
    baskets: Baskets,
    chosen: IntArray | None,
    penalty: FloatArray,
    penalty_skew: FloatArray,
    smoothing: float = 0.0,
) -> tuple[float, Arrays]:
    """Objective for :math:`L = VV^T + B(D - D^T)B^T`, and its gradients in V, B and D."""
    V, B, D = parameters["V"], parameters["B"], parameters["D"]
    C = D - D.T
    form = LowRank(V, B, C)
    number = len(baskets) if chosen is None else len(chosen)
    value = 0.0
    in_V, in_B, in_C = np.zeros_like(V), np.zeros_like(B), np.zeros_like(C)
    for _, rows in baskets.by_size(chosen):
        if rows.shape[1] == 0:
            continue
        X, Y = V[rows], B[rows]
        A = _lifted(form.blocks(rows))
        value += float(np.linalg.slogdet(A)[1].sum())
        inverse = np.linalg.inv(A)
        transposed = inverse.transpose(0, 2, 1)
        in_V += _put_back(rows, (inverse + transposed) @ X, len(V))
        in_B += _put_back(rows, (inverse - transposed) @ (Y @ C), len(V))
        in_C += np.einsum("bir,bis->rs", Y, transposed @ Y, optimize=True)
    # The normaliser, with (I + L)^-1 = I - Z W Z^T.
    rank = V.shape[1]
    W, gram = form.W, form.gram
    even, odd = W + W.T, W - W.T
    normal_V = 2.0 * V - form.Z @ (even @ gram[:, :rank])
    normal_B = -(form.Z @ (odd @ (gram[:, rank:] @ C)))
    normal_C = gram[rank:, rank:] - gram[rank:] @ W.T @ gram[:, rank:]
    value = value / number - form.log_normalizer
    value -= float(penalty @ (V**2).sum(axis=1)) + float(penalty_skew @ (B**2).sum(axis=1))
    total_C = in_C / number - normal_C
    extra, slope = _smoothing(V, smoothing)
    return value + extra, {
        "V": in_V / number - normal_V - 2.0 * penalty[:, None] * V + slope,
        "B": in_B / number - normal_B - 2.0 * penalty_skew[:, None] * B,
        "D": total_C - total_C.T,
    }


def ascend(
    parameters: Arrays,
    objective: Callable[[Arrays, IntArray], tuple[float, Arrays]],
    n_baskets: int,
    *,
    n_epochs: int,
    batch_size: int,
    learning_rate: float,
    tol: float,
    rng: np.random.Generator,
    what: str,
    verbose: bool,
) -> Convergence:
    """Maximise a mean over baskets by Adam ([KingmaBa2015]_); changes `parameters` in place.

    The step size is relative to the initial root mean square of each array, and decays to zero along a half cosine.
    The ascent has converged if the last pass raised the objective by less than `tol`. The report contains the objective
    of the first step, then of every pass, averaged over its steps.
    """
    scale = {name: float(np.sqrt(np.mean(value**2))) for name, value in parameters.items()}
    first = {name: np.zeros_like(value) for name, value in parameters.items()}
    second = {name: np.zeros_like(value) for name, value in parameters.items()}
    batches = math.ceil(n_baskets / batch_size)
    total, step = n_epochs * batches, 0
    trace: list[float] = []
    with progress(what, n_epochs, verbose) as advance:
        for _ in range(n_epochs):
            order = rng.permutation(n_baskets)
            values = []
            for batch in range(batches):
                chosen = order[batch * batch_size : (batch + 1) * batch_size]
                with np.errstate(over="ignore", invalid="ignore"):  # checked below
                    value, gradients = objective(parameters, chosen)
                if not math.isfinite(value):
                    raise DiversetError(
                        f"the objective became {value} in step {step + 1}; lower learning_rate (now {learning_rate:g})"
                    )
                trace = trace or [value]
                values.append(value * len(chosen))
                step += 1
                rate = learning_rate * 0.5 * (1.0 + math.cos(math.pi * (step - 1) / total))
                for name, gradient in gradients.items():
                    if not np.abs(gradient).max(initial=0.0) < 1e150:
                        raise DiversetError(f"the gradient of {name} is beyond floats; lower the regularization")
                    m, v = first[name], second[name]
                    m += (1.0 - _MOMENTUM) * (gradient - m)
                    v += (1.0 - _SECOND) * (gradient**2 - v)
                    size = rate * scale[name] * math.sqrt(1.0 - _SECOND**step) / (1.0 - _MOMENTUM**step)
                    parameters[name] += size * m / (np.sqrt(v) + _FLOOR)
            trace.append(sum(values) / n_baskets)
            advance(trace[-1])
    gained = trace[-1] - trace[-2]
    return Convergence(gained < tol, f"last pass raised the objective by {gained:.3g}", np.array(trace))


def choose_rank(
    score: Callable[[int, Baskets, Baskets], float], baskets: Baskets, least: int, rng: np.random.Generator
) -> tuple[int, dict[int, float]]:
    """The rank with the largest mean log-likelihood of held-out baskets, and the scores of all ranks tried.

    `score` takes a rank, the training baskets and the held-out baskets, a fifth of all. The first rank is 4, or
    `least`, the smallest rank at which every basket is possible. Each further rank is 1.5 times larger. The search ends
    when two successive ranks bring no improvement, or at the number of items.
    """
    order = rng.permutation(len(baskets))
    cut = max(1, round(_HELD_OUT * len(baskets)))
    held, rest = baskets.take(np.sort(order[:cut])), baskets.take(np.sort(order[cut:]))
    rank, worse = min(max(_FIRST, least), baskets.n_items), 0
    scores: dict[int, float] = {}
    while True:
        scores[rank] = score(rank, rest, held)
        best = max(scores, key=lambda r: (scores[r], -r))
        worse = 0 if best == rank else worse + 1
        if worse >= _PATIENCE or rank >= baskets.n_items:
            return best, scores
        rank = min(max(rank + 1, round(_GROWTH * rank)), baskets.n_items)


@dataclass(eq=False, repr=False)
class _StochasticKernel(KernelModel):
    """Base class of the two low-rank learners: parameters, the choice of the rank, the ascent."""

    rank: int | None = None
    _: KW_ONLY
    regularization: float = 0.1
    pseudo_count: float = 0.5
    n_epochs: int | None = None
    batch_size: int = 200
    learning_rate: float = 0.1
    tol: float = 1e-3
    rng: RNGLike = None
    verbose: bool = False

    @staticmethod
    @abc.abstractmethod
    def _largest(rank: int) -> int:
        """Size of the largest set of positive probability at this rank."""

    def _choose_rank(self, read: Baskets, rng: np.random.Generator) -> int:
        self.rank_scores_: dict[int, float] = {}
        if self.rank is not None:
            self.rank_ = min(check_count(self.rank, name="rank"), read.n_items)
        elif len(read) < _FEW:
            self.rank_ = read.n_items
        else:
            needed = min(int(read.sizes.max()), self._largest(read.n_items))
            least = next(r for r in range(1, read.n_items + 1) if self._largest(r) >= needed)
            parameters = self.get_params(deep=False) | {"rng": int(rng.integers(2**31)), "verbose": False}

            def score(rank: int, rest: Baskets, held: Baskets) -> float:
                return float(type(self)(**(parameters | {"rank": rank})).fit(rest).score(held))

            self.rank_, self.rank_scores_ = choose_rank(score, read, least, rng)
        return self.rank_

    @property
    def _factors(self) -> LowRank:
        assert isinstance(self.form_, LowRank)
        return self.form_

    @property
    def V_(self) -> FloatArray:
        """The factor of the symmetric part."""
        return self._factors.V

    def _penalty(self, read: Baskets, strength: Any, name: str) -> FloatArray:
        return np.asarray(check_nonnegative(strength, name=name) / np.maximum(read.counts, 1.0), dtype=np.float64)

    def _smoothing(self, read: Baskets) -> float:
        return check_nonnegative(self.pseudo_count, name="pseudo_count") / len(read)

    def _ascend(self, parameters: Arrays, objective: Any, n_baskets: int, rng: np.random.Generator) -> Convergence:
        batch_size = check_count(self.batch_size, name="batch_size")
        enough = max(_EPOCHS, math.ceil(_STEPS / math.ceil(n_baskets / batch_size)))
        return ascend(
            parameters,
            objective,
            n_baskets,
            n_epochs=enough if self.n_epochs is None else check_count(self.n_epochs, name="n_epochs"),
            batch_size=batch_size,
            learning_rate=check_positive(self.learning_rate, name="learning_rate"),
            tol=check_nonnegative(self.tol, name="tol"),
            rng=rng,
            what=type(self).__name__,
            verbose=self.verbose,
        )


class LowRankKernel(_StochasticKernel):
    r"""DPP kernel :math:`L = VV^T` of low rank, learned from baskets by stochastic gradients.

    Parameters
    ----------
    rank : int, optional
        Number of columns of V. Larger sets have probability 0, so the rank must be at least the size of the largest
        basket. By default, the rank of largest likelihood on a held-out fifth of the baskets, with one fit per rank.
    regularization : float
        Strength :math:`\alpha` of the popularity penalty :math:`\alpha \sum_i \lVert v_i\rVert^2/\mu_i`
        ([GartrellEtAl2017]_).
    pseudo_count : float
        Strength c of the term :math:`\frac{c}{T} \sum_i \log L_{ii}`, which acts like c more occurrences of each item.
    n_epochs : int, optional
        Number of passes over the baskets; by default 30, or more if 30 passes have fewer than 1,000 steps.
    batch_size : int
        Number of baskets per gradient step.
    learning_rate : float
        Initial step size of Adam, relative to the size of the initial entries; it decays to zero.
    tol : float
        The fit counts as converged if the last pass raised the objective by less than this.
    rng : int, Generator or None
        Seed or generator for the initial values and the order of the baskets.
    verbose : bool
        Show a progress bar.

    Attributes
    ----------
    dpp_ : DPP
        The learned distribution, in dual form.
    V_ : ndarray of shape (n_items, rank)
        The factor.
    rank_ : int
        The rank used.
    rank_scores_ : dict of int to float
        Mean log-likelihood of the held-out baskets for every rank tried; empty if `rank` was given.
    n_items_ : int
        Size of the ground set.
    names_ : ndarray of shape (n_items,) or None
        Names of the items, if the baskets contain names.
    convergence_ : Convergence
        How the fit ended, and the objective of every pass.

    Notes
    -----
    A step takes :math:`O(nD^2)` for the normaliser and :math:`O(m^2 D)` for each basket of m items, batched by size.

    Under a symmetric kernel items only repel: :math:`\Pr(i \in Y \mid A \subseteq Y) \le \Pr(i \in Y)`. To recommend
    items that are bought together, use :class:`NonsymmetricKernel`.

    Examples
    --------
    >>> import diverset as dv
    >>> baskets = [[0, 2], [1, 2], [0], [1], [2], [0, 2], [1]] * 30
    >>> model = dv.learn.LowRankKernel(rank=2, rng=0).fit(baskets, n_items=3)
    >>> model.dpp_.rank, model.dpp_.marginal([0, 1]) < 0.02
    (2, True)
    """

    def _learn(self, read: Baskets) -> None:
        rng = as_generator(self.rng)
        rank = self._choose_rank(read, rng)
        check_sizes(read, rank, why=f"the rank is {rank}")
        penalty = self._penalty(read, self.regularization, "regularization")
        smoothing = self._smoothing(read)
        parameters = {"V": _popularity_rows(read, rank, rng)}
        self.convergence_ = self._ascend(
            parameters, lambda at, chosen: low_rank_objective(at, read, chosen, penalty, smoothing), len(read), rng
        )
        self._keep(LowRank(parameters["V"]))

    @staticmethod
    def _largest(rank: int) -> int:
        return rank


@dataclass(eq=False, repr=False, kw_only=True)
class NonsymmetricKernel(_StochasticKernel):
    r"""Kernel :math:`L = VV^T + B(D - D^T)B^T`, learned from baskets: items may attract as well as repel.

    Parameters
    ----------
    rank : int, optional
        Number of columns of V and of B. Sets may have up to about twice as many items. By default chosen as in
        :class:`LowRankKernel`.
    regularization, regularization_skew : float
        Strengths of the popularity penalties on the rows of V and of B.
    pseudo_count, n_epochs, batch_size, learning_rate, tol, rng, verbose
        As in :class:`LowRankKernel`.

    Attributes
    ----------
    dpp_ : NonsymmetricDPP
        The learned distribution, in low-rank form: no n x n matrix is formed.
    V_, B_ : ndarray of shape (n_items, rank)
        The factors.
    C_ : ndarray of shape (rank, rank)
        The skew-symmetric matrix between the rows of B.
    rank_, rank_scores_, n_items_, names_, convergence_
        As in :class:`LowRankKernel`.

    Notes
    -----
    The decomposition is that of [GartrellEtAl2021]_. The symmetric part is positive semidefinite, so no probability is
    negative. The cost is that of :class:`LowRankKernel` with twice the rank.

    Examples
    --------
    Items 0 and 1 occur only together, which no symmetric kernel can model:

    >>> import diverset as dv
    >>> baskets = [[0, 1], [], [0, 1, 2], [2]] * 50
    >>> model = dv.learn.NonsymmetricKernel(rank=2, rng=0).fit(baskets, n_items=3)
    >>> scores = model.next_item_scores([0])
    >>> bool(scores[1] > 0.9 > scores[2])
    True
    """

    regularization_skew: float = 0.1

    def _learn(self, read: Baskets) -> None:
        rng = as_generator(self.rng)
        rank = self._choose_rank(read, rng)
        largest = min(read.n_items, self._largest(rank))
        check_sizes(read, largest, why=f"a kernel with V and B of rank {rank} holds at most {largest}")
        penalty = self._penalty(read, self.regularization, "regularization")
        penalty_skew = self._penalty(read, self.regularization_skew, "regularization_skew")
        smoothing = self._smoothing(read)
        parameters = {
            "V": _popularity_rows(read, rank, rng),
            "B": _popularity_rows(read, rank, rng),
            "D": rng.standard_normal((rank, rank)),
        }
        self.convergence_ = self._ascend(
            parameters,
            lambda at, chosen: nonsymmetric_objective(at, read, chosen, penalty, penalty_skew, smoothing),
            len(read),
            rng,
        )
        self._keep(LowRank(parameters["V"], parameters["B"], parameters["D"] - parameters["D"].T))

    @staticmethod
    def _largest(rank: int) -> int:
        return rank + 2 * (rank // 2)

    @property
    def B_(self) -> FloatArray:
        """The factor of the skew-symmetric part."""
        return self._factors.B

    @property
    def C_(self) -> FloatArray:
        """The skew-symmetric matrix between the rows of B."""
        return self._factors.C
