r"""Markov random fields and DPPs: what each can express ([KuleszaTaskar2012]_, section 3.2).

Both models define probabilities of sets by one number per item and one per pair. A pairwise MRF has independent
parameters for all pairs, so it allows what no DPP does: two items that both repel a third one attract each other. The
similarities of a DPP are transitive. In return, its quantities can be computed, and it can express properties of whole
sets, such as the largest number of items.

For three items both models are node potentials times one ternary factor: :math:`\psi(Y) = \det S_Y` for a DPP with
similarities S, and :math:`\psi(Y) = \exp \sum_{i<j \in Y} w_{ij}` for an MRF (section 3.2.2). The factor is 1 on sets
of fewer than two items. Its other four values (table 1) lie on a surface in three dimensions if
:math:`\psi(\{1, 2, 3\})` is fixed (figure 11).
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from diverset._typing import FloatArray, IntArray, RNGLike
from diverset.errors import DiversetError, KernelError, TooLargeError
from diverset.numerics.validation import (
    as_generator,
    as_hermitian,
    as_number,
    as_real,
    check_finite,
    check_size,
    find_positions,
)
from diverset.structured.graph import FactorGraph
from diverset.structured.quality_model import QualityModel
from diverset.theory.processes.finite import MAX_TABULATED, TabulatedProcess, members

__all__ = ["PairwiseMRF", "dpp_slice", "dpp_ternary", "mrf_slice", "mrf_ternary", "transitivity_gap"]

#: Up to this number of items, listing subsets is faster than messages.
_LISTED_BY_DEFAULT = 12
_METHODS = ("auto", "enumeration", "messages")
Set = tuple[int, ...]
_ROUNDING = 1e-12
_SETS: list[Set] = [Y for k in range(4) for Y in combinations((1, 2, 3), k)]


class PairwiseMRF:
    r"""Random set with log-linear weights of items and of pairs.

    .. math::  \Pr(Y) \propto \exp\Big( \sum_{i \in Y} w_i + \sum_{i<j \in Y} w_{ij} \Big)

    ([KuleszaTaskar2012]_, section 3.2.1). Pairs with negative :math:`w_{ij}` repel.

    Parameters
    ----------
    node_weights : array_like of shape (n_items,)
        :math:`w_i`, the log-odds of an item without edges.
    edge_weights : mapping from (i, j) to float, or array_like of shape (n_items, n_items)
        :math:`w_{ij}`; other pairs, and zeros of a symmetric matrix, are no edges.
    method : {"auto", "enumeration", "messages"}
        List all subsets (at most 20 items), or pass messages on a tree or junction tree: linear in the number of items
        on trees, exponential in the treewidth on other graphs. Both are exact; ``"auto"`` lists up to 12 items.

    Examples
    --------
    Items 1 and 2 both repel item 0 and have a positive covariance, which no DPP allows.

    >>> mrf = PairwiseMRF([0.0, 0.0, 0.0], {(0, 1): -2.0, (0, 2): -2.0})
    >>> round(mrf.covariance(1, 2), 4), round(mrf.covariance(0, 1), 4)
    (0.0267, -0.0702)
    >>> mrf.is_tree, mrf.is_associative
    (True, False)
    """

    def __init__(
        self,
        node_weights: ArrayLike,
        edge_weights: Mapping[tuple[int, int], float] | ArrayLike,
        *,
        method: str = "auto",
    ) -> None:
        self.node_weights: FloatArray = np.array(as_real(node_weights, name="node_weights", shape=(None,)))
        check_finite(self.node_weights, name="node_weights")
        self.node_weights.flags.writeable = False
        self.edges = _read_edges(edge_weights, self.n_items)
        if method not in _METHODS:
            raise DiversetError(f"method is {method!r}; choose one of {', '.join(_METHODS)}")
        self.method = method
        if method == "auto":
            self.method = "enumeration" if self.n_items <= _LISTED_BY_DEFAULT else "messages"
        self._by_messages = self.method == "messages" and self.n_items > 0

    def __repr__(self) -> str:
        return f"PairwiseMRF(n_items={self.n_items}, {len(self.edges)} edges, method={self.method!r})"

    @property
    def n_items(self) -> int:
        """Number of items."""
        return len(self.node_weights)

    @property
    def is_associative(self) -> bool:
        r"""Whether every :math:`w_{ij} \ge 0`: then nothing repels, and the mode is tractable on any graph."""
        return all(w >= 0.0 for w in self.edges.values())

    @cached_property
    def is_tree(self) -> bool:
        """Whether the edges have no cycle, so that belief propagation is linear in the number of items."""
        from scipy.sparse import coo_array
        from scipy.sparse.csgraph import connected_components

        pairs = np.array(list(self.edges), dtype=np.int64).reshape(-1, 2)
        graph = coo_array((np.ones(len(pairs)), (pairs[:, 0], pairs[:, 1])), shape=(self.n_items, self.n_items))
        # A graph with n nodes and c components has no cycle if it has n - c edges.
        n_components, _ = connected_components(graph, directed=False)
        return bool(len(pairs) == self.n_items - n_components)

    def log_weight(self, Y: Iterable[int]) -> float:
        """Unnormalised log-probability of a set."""
        chosen = set(self._positions(Y).tolist())
        nodes = float(self.node_weights[sorted(chosen)].sum())
        return nodes + sum(w for (i, j), w in self.edges.items() if i in chosen and j in chosen)

    def log_prob(self, Y: Iterable[int]) -> float:
        """Log-probability that the random set is exactly `Y`."""
        return self.log_weight(Y) - self.log_normalizer

    @cached_property
    def log_normalizer(self) -> float:
        """Logarithm of the sum of the weights of all sets."""
        return self._beliefs().log_normalizer if self._by_messages else self._table.log_normalizer

    def _positions(self, labels: Iterable[int], name: str = "the set") -> IntArray:
        return find_positions(labels, range(self.n_items), name=name)

    @cached_property
    def _table(self) -> TabulatedProcess:
        """The law as a table of all sets."""
        n = self.n_items
        if n > MAX_TABULATED:
            raise TooLargeError(
                f'{n} items have 2**{n} subsets, and at most {MAX_TABULATED} items can be listed; use method="messages"'
            )
        inside = members(n)
        logs: FloatArray = inside @ self.node_weights
        for (i, j), w in self.edges.items():
            logs += w * (inside[:, i] & inside[:, j])
        return TabulatedProcess(logs)

    def law(self) -> FloatArray:
        """Probability of every subset, of shape (2**n_items,), with the indices of :func:`diverset.law`."""
        return self._table.law

    def _beliefs(self, inside: Sequence[int] | IntArray = (), outside: Sequence[int] | IntArray = ()) -> QualityModel:
        """The field as a factor graph, with the states of some items fixed."""
        graph = FactorGraph([2] * self.n_items)
        states = np.stack([np.zeros(self.n_items), self.node_weights], axis=1)
        states[np.asarray(inside, dtype=np.int64), 0] = -np.inf
        states[np.asarray(outside, dtype=np.int64), 1] = -np.inf
        for i, state in enumerate(states):
            graph.add_factor([i], log_quality=state)
        for (i, j), w in self.edges.items():
            graph.add_factor([i, j], log_quality=[[0.0, 0.0], [0.0, w]])
        return QualityModel(graph)

    def probability(self, include: Iterable[int] = (), exclude: Iterable[int] = ()) -> float:
        """Probability that the set contains all of `include` and none of `exclude`."""
        inside, outside = self._positions(include, "include"), self._positions(exclude, "exclude")
        if len(np.intersect1d(inside, outside)):
            raise DiversetError(f"item {np.intersect1d(inside, outside)[0]} is in both include and exclude")
        if not self._by_messages:
            return self._table.probability(inside, outside)
        return math.exp(min(self._beliefs(inside, outside).log_normalizer - self.log_normalizer, 0.0))

    @cached_property
    def inclusion_probabilities(self) -> FloatArray:
        """Probability that each item is in the set, of shape (n_items,)."""
        if self._by_messages:
            return np.array([belief[1] for belief in self._beliefs().part_marginals()])
        return self._table.inclusion_probabilities

    def covariance(self, i: int, j: int) -> float:
        r"""Covariance :math:`\Pr(i, j \in Y) - \Pr(i \in Y)\Pr(j \in Y)` of the indicators of two items."""
        p = self.inclusion_probabilities
        first, second = (int(self._positions([x])[0]) for x in (i, j))
        if first == second:
            raise DiversetError(f"a pair is two items, and both are {first}")
        return self.probability(include=[first, second]) - float(p[first] * p[second])

    def sample(self, size: int, *, rng: RNGLike = None) -> list[IntArray]:
        """Draw `size` independent sets, exactly, with a seed or generator."""
        count, generator = check_size(size, name="size"), as_generator(rng)
        if self._by_messages:
            return [np.flatnonzero(states) for states in self._beliefs().sample(count, rng=generator)]
        p = self.law()
        masks = generator.choice(len(p), size=count, p=p / p.sum())
        return [np.flatnonzero((mask >> np.arange(self.n_items)) & 1) for mask in masks]


def _read_edges(edges: Any, n: int) -> dict[tuple[int, int], float]:
    """Edges (i, j), i < j, with their weights, from a mapping or a symmetric matrix."""
    if not isinstance(edges, Mapping):
        W = as_real(edges, name="edge_weights", shape=(None, None))
        if W.shape != (n, n):
            raise KernelError(f"edge_weights has shape {W.shape}; {n} items need ({n}, {n})")
        if not np.array_equal(W, W.T):
            raise KernelError("edge_weights is not symmetric; pass (W + W.T) / 2 if that is what you mean")
        edges = {(i, j): W[i, j] for i, j in combinations(range(n), 2) if W[i, j] != 0.0}
    found: dict[tuple[int, int], float] = {}
    for pair, w in edges.items():
        i, j = find_positions(pair, range(n), name=f"the edge {pair}").tolist()
        value = as_number(w, name=f"the weight of edge {pair}")
        if not math.isfinite(value):
            raise DiversetError(f"the weight of edge {pair} is {value}; it must be finite")
        if (i, j) in found:
            raise DiversetError(f"the edge {pair} is given twice, in both directions")
        found[i, j] = value
    return found


def _three(values: Sequence[float], name: str) -> tuple[float, float, float]:
    numbers = [as_number(v, name=name) for v in values]
    if len(numbers) != 3 or not np.isfinite(numbers).all():
        raise DiversetError(f"{name} is {list(values)}; give three finite numbers, for the pairs 12, 13 and 23")
    return numbers[0], numbers[1], numbers[2]


def mrf_ternary(w: Sequence[float]) -> dict[Set, float]:
    r"""Ternary factor of an MRF for every set, as in table 1.

    It is :math:`e^{w_{ij}}` for pairs, and :math:`e^{w_{12}+w_{13}+w_{23}}` for all three items.

    Parameters
    ----------
    w : sequence of 3 floats
        :math:`w_{12}, w_{13}, w_{23}`.

    Examples
    --------
    >>> psi = mrf_ternary([-1.0, -2.0, 0.0])
    >>> round(psi[1, 2], 4), round(psi[1, 2, 3], 4)
    (0.3679, 0.0498)
    """
    pairs = dict(zip(combinations((1, 2, 3), 2), _three(w, "w"), strict=True))
    logs = {Y: sum(pairs[p] for p in combinations(Y, 2)) for Y in _SETS}
    if max(logs.values()) > 700.0:
        raise DiversetError(f"w is {list(w)}; factors above exp(700) overflow")
    return {Y: float(np.exp(log)) for Y, log in logs.items()}


def dpp_ternary(S: Sequence[float]) -> dict[Set, float]:
    r"""Ternary factor of a DPP for every set, as in table 1.

    It is :math:`1 - S_{ij}^2` for pairs, and
    :math:`1 + 2 S_{12}S_{13}S_{23} - S_{12}^2 - S_{13}^2 - S_{23}^2` for all three items.

    Parameters
    ----------
    S : sequence of 3 floats
        Similarities :math:`S_{12}, S_{13}, S_{23}`, which must form a positive semidefinite matrix with unit diagonal.

    Examples
    --------
    >>> psi = dpp_ternary([0.5, 0.5, 0.5])
    >>> psi[1, 2], psi[1, 2, 3]
    (0.75, 0.5)
    """
    a, b, c = _three(S, "S")
    smallest = float(np.linalg.eigvalsh([[1.0, a, b], [a, 1.0, c], [b, c, 1.0]])[0])
    if smallest < -_ROUNDING:
        raise KernelError(f"S has smallest eigenvalue {smallest:.6g}; similarities must be positive semidefinite")
    values = [1.0, 1.0, 1.0, 1.0, 1 - a * a, 1 - b * b, 1 - c * c, 1 + 2 * a * b * c - a * a - b * b - c * c]
    return dict(zip(_SETS, values, strict=True))


def _factors(psi_12: ArrayLike, psi_13: ArrayLike, value: float) -> tuple[FloatArray, FloatArray, float]:
    """Factors of two pairs, broadcast, and of all three items; all between 0 and 1."""
    v = as_number(value, name="value")
    if not 0.0 <= v <= 1.0:
        raise DiversetError(f"value is {v}; the factor of three items that repel lies between 0 and 1")
    a, b = as_real(psi_12, name="psi_12"), as_real(psi_13, name="psi_13")
    try:
        a, b = np.broadcast_arrays(a, b)
    except ValueError as error:
        raise DiversetError(f"psi_12 and psi_13 cannot be broadcast: {error}") from None
    for name, psi in (("psi_12", a), ("psi_13", b)):
        if psi.size and not ((psi >= 0.0) & (psi <= 1.0)).all():
            raise DiversetError(f"{name} runs from {psi.min()} to {psi.max()}; factors must lie in [0, 1]")
    return a, b, v


def mrf_slice(psi_12: ArrayLike, psi_13: ArrayLike, value: float) -> FloatArray:
    r"""Factor of the third pair of an MRF, given those of two pairs and of all three items; NaN if there is none.

    .. math::  \psi_{23} = \frac{\psi_{123}}{\psi_{12}\psi_{13}} \le 1

    Parameters
    ----------
    psi_12, psi_13 : array_like
        Factors in (0, 1], broadcast.
    value : float
        :math:`\psi_{123}`, between 0 and 1.
    """
    a, b, v = _factors(psi_12, psi_13, value)
    product = a * b
    with np.errstate(divide="ignore", invalid="ignore"):
        third = v / product
        exists = (product > 0.0) & (third <= 1.0 + _ROUNDING)
        return np.asarray(np.where(exists, np.minimum(third, 1.0), np.nan), dtype=np.float64)


def dpp_slice(
    psi_12: ArrayLike, psi_13: ArrayLike, value: float, *, nonnegative: bool = False
) -> tuple[FloatArray, FloatArray]:
    r"""Factors of the third pair of a DPP, given those of two pairs and of all three items; NaN if there are none.

    Solving the last row of table 1 for :math:`S_{23}` gives two sheets,

    .. math::

        \psi_{23} = 1 - \left( \sqrt{(1-\psi_{12})(1-\psi_{13})} \pm \sqrt{\psi_{12}\psi_{13} - \psi_{123}} \right)^2 .

    Parameters
    ----------
    psi_12, psi_13, value
        As in :func:`mrf_slice`; factors may be 0.
    nonnegative : bool
        Keep only values for similarities :math:`S_{ij} \ge 0` (figure 11a). Negative similarities close the surface
        away from the origin (figure 11c).

    Returns
    -------
    lower, upper : ndarray
        The sheets with the plus and with the minus sign.
    """
    a, b, v = _factors(psi_12, psi_13, value)
    with np.errstate(invalid="ignore"):
        overlap = np.sqrt((1.0 - a) * (1.0 - b))
        # Both sheets meet at the rim, where rounding may make the difference negative.
        inside = a * b - v
        root = np.sqrt(np.where(inside > -_ROUNDING, np.maximum(inside, 0.0), np.nan))
        lower, upper = 1.0 - (overlap + root) ** 2, 1.0 - (overlap - root) ** 2
        if nonnegative:
            upper = np.where(overlap >= root - _ROUNDING, upper, np.nan)
    return np.asarray(lower, dtype=np.float64), np.asarray(upper, dtype=np.float64)


def transitivity_gap(S: ArrayLike) -> tuple[float, tuple[int, int, int]]:
    r"""Smallest slack of the transitivity of similarities, and its triple.

    .. math::  \min_{i,j,k} \sqrt{1-S_{ij}} + \sqrt{1-S_{jk}} - \sqrt{1-S_{ik}}

    is nonnegative for every DPP, by the triangle inequality of the diversity features ([KuleszaTaskar2012]_, section
    3.2.2): two items similar to a third are similar. This is necessary, but not sufficient, for S to be positive
    semidefinite. The cost is O(n^3).

    Parameters
    ----------
    S : array_like of shape (n, n)
        Symmetric with unit diagonal and entries in [-1, 1], n at least 3; it may be indefinite.

    Returns
    -------
    gap, triple : float, (int, int, int)
        The smallest slack, which is negative if some triple violates the inequality, and its i, j and k.

    Examples
    --------
    Item 1 is similar to two items that are not similar to each other: no DPP has such similarities.

    >>> gap, triple = transitivity_gap([[1.0, 0.9, 0.0], [0.9, 1.0, 0.9], [0.0, 0.9, 1.0]])
    >>> round(gap, 4), triple
    (-0.3675, (0, 1, 2))
    """
    matrix = as_hermitian(S, name="S")
    n = len(matrix)
    if n < 3:
        raise DiversetError(f"S is of {n} items; transitivity is about three")
    if np.iscomplexobj(matrix) or np.abs(np.diagonal(matrix) - 1.0).max() > 1e-9 or np.abs(matrix).max() > 1.0 + 1e-9:
        raise KernelError("S must be real with ones on the diagonal and entries between -1 and 1")
    distance = np.sqrt(np.maximum(1.0 - matrix, 0.0))
    best, at = np.inf, (0, 1, 2)
    for j in range(n):
        slack = distance[:, j][:, None] + distance[j] - distance
        slack[j] = slack[:, j] = np.inf
        np.fill_diagonal(slack, np.inf)
        i, k = np.unravel_index(int(slack.argmin()), slack.shape)
        if slack[i, k] < best:
            best, at = float(slack[i, k]), (int(i), j, int(k))
    return best, at
