"""Samplers written as plain steps, so that tests can follow every branch and compare draws from the same uniforms.

Sequential samplers: a state has ``weights()``, the probabilities that the next item is left out and kept, and ``pick``,
the state after leaving it out (0) or keeping it (1), until it is ``done``.
"""

import math
from dataclasses import dataclass

import numpy as np

from diverset.numerics.linalg import row_norms_squared
from diverset.sampling import rejection
from diverset.sampling.mcmc import _ADD, _EXCHANGE, _log_weight
from diverset.sampling.nonsymmetric import FactorSampler
from diverset.sampling.sequential import _ZERO, CholeskySampler, RowSampler


def draw_plain(state, uniforms):
    """Positions of one draw, ascending, by the plain steps."""
    for u in uniforms:
        state = state.pick(int(u < state.weights()[1]))
    return np.sort(np.array(state.items, dtype=np.int64))


class MarginalSteps:
    """From a marginal kernel, Hermitian or not: what is left of it after the items decided so far."""

    def __init__(self, K, items=(), decided=0):
        self.K = K
        self.items = items
        self.decided = decided

    @property
    def done(self):
        """Whether nothing is left of the kernel."""
        return len(self.K) == 0

    def weights(self):
        """The pivot is the probability to be kept."""
        p = min(max(float(self.K[0, 0].real), 0.0), 1.0)
        return (1.0 - p, p) if p >= _ZERO else (1.0, 0.0)

    def pivot(self, inside):
        """What elimination divides by: one less for an item left out."""
        p = self.weights()[1]
        return p if inside else p - 1.0

    def pick(self, inside):
        """One step of elimination."""
        rest = self.K[1:, 1:] - np.outer(self.K[1:, 0] / self.pivot(inside), self.K[0, 1:])
        items = (*self.items, self.decided) if inside else self.items
        return type(self)(rest, items, self.decided + 1)


class CholeskySteps:
    r"""From the factor of :math:`L + I = RR^*`, last item first; `excess` is the square of its diagonal, less 1."""

    def __init__(self, R, excess, G=None, items=()):
        self.R = R
        self.excess = excess
        self.G = np.zeros((0, len(R)), dtype=R.dtype) if G is None else G
        self.items = items

    @property
    def done(self):
        """Whether G has no column left."""
        return int(self.G.shape[1]) == 0

    def _gap(self):
        """The squared norm s of the last column, and p r^2."""
        s = float(row_norms_squared(self.G[:, -1:].T)[0])
        return s, max(float(self.excess[self.G.shape[1] - 1]) - s, 0.0)

    def weights(self):
        """(1+s)/r^2, and what is missing from it to one."""
        s, gap = self._gap()
        square = 1.0 + float(self.excess[self.G.shape[1] - 1])
        return min((1.0 + s) / square, 1.0), gap / square

    def pick(self, inside):
        """Shrink the other columns along the last, and add a row for an item kept."""
        j = self.G.shape[1] - 1
        s, gap = self._gap()
        g, G = self.G[:, j], self.G[:, :j]
        t = g.conj() @ G
        root = np.sqrt(1.0 + s)
        # (I + gg*)^-1/2 = I - beta gg*, with beta = (1 - 1/root)/s written without cancellation.
        G = G - np.outer(g, t) / (root * (1.0 + root))
        if not inside:
            return CholeskySteps(self.R, self.excess, G, self.items)
        row = (self.R[j, :j] - self.R[j, j].real / (1.0 + s) * t) / np.sqrt(gap / (1.0 + s))
        return CholeskySteps(self.R, self.excess, np.concatenate([G, row[None]]), (*self.items, j))


class RowSteps:
    """From rows G with K = GG*: the matrix M of the conditional kernel GMG*."""

    def __init__(self, G, M=None, items=(), decided=0):
        self.G = G
        self.M = np.eye(G.shape[1], dtype=G.dtype) if M is None else M
        self.items = items
        self.decided = decided

    @property
    def done(self):
        """Whether every row has been read."""
        return self.decided == len(self.G)

    def weights(self):
        """The squared length of the next row, in the metric M, is the probability to be kept."""
        g = self.G[self.decided]
        p = min(max(float((g @ self.M @ g.conj()).real), 0.0), 1.0)
        return (1.0 - p, p) if p >= _ZERO else (1.0, 0.0)

    def pick(self, inside):
        """A rank-one update of M."""
        p = self.weights()[1]
        v = self.M @ self.G[self.decided].conj()
        M = self.M - np.outer(v, v.conj()) / (p if inside else p - 1.0)
        items = (*self.items, self.decided) if inside else self.items
        return RowSteps(self.G, M, items, self.decided + 1)


class FactorSteps:
    r"""Rows F and the matrix :math:`\Omega` of the conditional kernel :math:`F \Omega F^T`."""

    def __init__(self, F, core, items=(), decided=0):
        self.F, self.core, self.items, self.decided = F, core, items, decided

    @property
    def done(self):
        """Whether every row has been read."""
        return self.decided == len(self.F)

    def weights(self):
        """The next diagonal entry is the probability to be kept."""
        f = self.F[self.decided]
        p = min(max(float(f @ self.core @ f), 0.0), 1.0)
        return (1.0 - p, p) if p >= _ZERO else (1.0, 0.0)

    def pick(self, inside):
        """A rank-one update of the core."""
        p, f = self.weights()[1], self.F[self.decided]
        core = self.core - np.outer(self.core @ f, f @ self.core) / (p if inside else p - 1.0)
        items = (*self.items, self.decided) if inside else self.items
        return FactorSteps(self.F, core, items, self.decided + 1)


def steps_of(sampler):
    """The steps of a sequential sampler, before its first decision."""
    if isinstance(sampler, FactorSampler):
        return FactorSteps(sampler.F, sampler.core)
    if isinstance(sampler, CholeskySampler):
        return CholeskySteps(sampler.R, sampler.excess)
    if isinstance(sampler, RowSampler):
        return RowSteps(np.concatenate([np.zeros((0, sampler._width)), *sampler._blocks()]))
    return MarginalSteps(sampler.K)


@dataclass(frozen=True)
class Move:
    """A proposal: the slot of the item that leaves and the item that enters, either possibly None."""

    slot: int | None
    item: int | None


class Walk:
    """State of the chain on a small dense kernel, written so that every proposal can be listed."""

    def __init__(self, L, items, *, fixed_size):
        self.L = L
        self.items = [int(i) for i in items]
        self.fixed_size = fixed_size

    def _probabilities(self):
        return (1.0, 1.0) if self.fixed_size else (_EXCHANGE, _EXCHANGE + _ADD)

    def propose(self, uniforms):
        """The move that the first three uniforms name; None to stay."""
        exchange, add = self._probabilities()
        item = int(uniforms[0] * len(self.L))
        slot = int(uniforms[2] * len(self.items)) if self.items else None
        if uniforms[1] < exchange:
            return None if slot is None or item in self.items else Move(slot, item)
        if uniforms[1] < add:
            return None if item in self.items else Move(None, item)
        return None if slot is None else Move(slot, None)

    def proposals(self):
        """Every move with its probability; what is missing from 1 stays."""
        exchange, add = self._probabilities()
        n, k = len(self.L), len(self.items)
        for j in set(range(n)) - set(self.items):
            for slot in range(k):
                yield exchange / (n * k), Move(slot, j)
            if add > exchange:
                yield (add - exchange) / n, Move(None, j)
        if add < 1.0:
            for slot in range(k):
                yield (1.0 - add) / k, Move(slot, None)

    def log_correction(self, move):
        """Log of the ratio of proposal probabilities, back over forth."""
        n, k = len(self.L), len(self.items)
        if move.slot is None:
            return math.log(n / (k + 1))
        return math.log(k / n) if move.item is None else 0.0

    def log_acceptance(self, move):
        """Log of the acceptance probability before it is capped at 1; ``-inf`` for a set of probability zero."""
        after = self.log_weight(self.after(move))
        return after - self.log_weight(self.items) + self.log_correction(move) if after > -math.inf else after

    def log_weight(self, items):
        """Log-determinant of L at `items`."""
        return _log_weight(self.L[np.ix_(items, items)])

    def after(self, move):
        """The slots after a move that is accepted."""
        items = list(self.items)
        if move.slot is None:
            assert move.item is not None
            return [*items, move.item]
        if move.item is not None:
            items[move.slot] = move.item
            return items
        items[move.slot] = items[-1]
        return items[:-1]

    def step(self, uniforms):
        """One step from four uniforms; whether a move was accepted."""
        move = self.propose(uniforms)
        if move is None or not math.log1p(-uniforms[3]) < self.log_acceptance(move):
            return False
        self.items = self.after(move)
        return True


class ElementaryRejection:
    r"""State of phase two: the items drawn so far, and a basis of the directions left.

    Written as steps, so that a test can follow every branch: an item is proposed by ``proposal()`` and accepted by
    ``acceptance()``, so that ``weights()`` is the law of the next item, and ``pick(i)`` the state after it.
    """

    def __init__(self, V):
        self.V = V
        self.items = ()
        # Rows are conjugate basis vectors, so that W v holds the coordinates of what is new in v.
        self.W = np.eye(V.shape[1], dtype=V.dtype)

    @property
    def done(self):
        """Whether all items have been drawn."""
        return len(self.W) == 0

    def proposal(self):
        """Probability of each item to be proposed: its leverage over m."""
        return np.asarray(row_norms_squared(self.V) / self.V.shape[1])

    def acceptance(self, items=slice(None)):
        """Probability of each item to be accepted if proposed: residual over squared norm."""
        rows = self.V[items]
        norms = row_norms_squared(rows)
        taken = np.isin(np.arange(len(self.V))[items], self.items)
        possible = (norms > 0.0) & ~taken
        residual = row_norms_squared(rows @ self.W.T)
        return np.asarray(np.divide(residual, norms, out=np.zeros(len(rows)), where=possible))

    def weights(self):
        """Probability of each item to be drawn next."""
        residual = self.proposal() * self.acceptance()
        return np.asarray(residual / residual.sum())

    def pick(self, i):
        """State after drawing item i: reflect its coordinates onto the last basis vector, and drop that."""
        h = self.W @ self.V[i]
        length, last = float(np.linalg.norm(h)), abs(h[-1])
        h[-1] += h[-1] * (length / last) if last > 0.0 else length
        after = object.__new__(ElementaryRejection)
        after.V = self.V
        after.items = (*self.items, int(i))
        after.W = (self.W - np.outer(h, h.conj() @ self.W) / (length * (length + last)))[:-1]
        return after


def draw_by_rejection(sampler, rng):
    """The draw of a RejectionSampler from the same uniforms, one proposal after the other."""
    p = sampler.proposals
    J = sampler.law.draw(rng)
    n, m = len(p.V), len(J)
    block = rejection._SHORT_BLOCK if m < rejection._MANY else rejection._LONG_BLOCK
    state = ElementaryRejection(p.V[:, J])
    failures = 0
    while not state.done:
        if failures * len(state.W) > sampler.patience * m:
            cumulative = np.cumsum(state.weights())
            state = state.pick(int(np.searchsorted(cumulative, rng.random() * cumulative[-1], side="right")))
            failures = 0
            continue
        for which, where, coin, level in rng.random((block, 4)):
            j, i = J[int(which * m)], int(where * n)
            item = i if coin < p.threshold[j, i] else int(p.alias[j, i])
            failures += 1
            if level < state.acceptance(np.array([item]))[0]:
                state = state.pick(item)
                failures = 0
                if state.done:
                    break
    return np.sort(np.array(state.items, dtype=np.int64))
