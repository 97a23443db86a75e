"""Plain versions of structured algorithms: other semirings, the dual kernel with D x D messages, a walk in steps."""

import math
from dataclasses import dataclass, field

import numpy as np

from diverset.structured.messages import check_possible, pass_up
from diverset.structured.semirings import Semiring, reduce_groups
from diverset.structured.walk import WalkPlan, _at_parent, _times, factor_candidates, root_candidates, weights_of


class LogSum(Semiring):
    """Sums and products of numbers given by their logarithms; ``-inf`` is zero."""

    def lift(self, weights, features):
        """Logarithms of the weights."""
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(weights)[:, None])

    def times(self, x, y):
        """Sum of logarithms."""
        return x + y

    def zero(self, n):
        """Minus infinity."""
        return np.full((n, 1), -np.inf)

    def total(self, x):
        """Logarithm of the sum."""
        return np.asarray(np.logaddexp.reduce(x, axis=0, keepdims=True))

    def grouped(self, x, offsets):
        """Logarithms of the sums of groups."""
        return reduce_groups(np.logaddexp, x, offsets, -np.inf)

    def through(self, W, x, *, up: bool):
        """The product with W of numbers scaled to at most 1."""
        top = float(x.max())
        if top == -np.inf:
            return self.zero(W.shape[0] if up else W.shape[1])
        y = super().through(W, np.exp(x - top), up=up)
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(y) + top)

    def rescale(self, x):
        """Shift to a largest entry of 0, in place."""
        top = float(x.max(initial=-np.inf))
        if top == -np.inf:
            return 0.0
        x -= top
        return top


class SecondOrder(Semiring):
    r"""Four numbers :math:`(p, pa, pb, pab)`, for two additive functions a and b: features of width 2.

    .. math::  (p, \phi, \psi, c) \otimes (p', \phi', \psi', c')
               = (pp',\ p\phi' + p'\phi,\ p\psi' + p'\psi,\ pc' + p'c + \phi\psi' + \phi'\psi)

    ([LiEisner2009]_; [KuleszaTaskar2012]_, section 6.2.4).
    """

    width = 4

    def lift(self, weights, features):
        """The element of p, a and b."""
        x = np.zeros((len(weights), 4))
        x[:, 0] = weights
        if features is not None:
            x[:, 1:3] = weights[:, None] * features
            x[:, 3] = weights * features[:, 0] * features[:, 1]
        return x

    def times(self, x, y):
        """As above."""
        p, a, b, c = x.T
        q, d, e, f = y.T
        return np.stack([p * q, p * d + q * a, p * e + q * b, p * f + q * c + a * e + d * b], axis=1)


class VectorSecondOrder(Semiring):
    r"""All pairs of features at once: :math:`(p, p\phi, p\phi\phi^\top)`, rows of :math:`1 + D + D^2` numbers.

    The plain way to the dual kernel, :math:`O(D^2)` per allowed joint value of every factor ([KuleszaTaskar2012]_,
    section 6.3.1).
    """

    def __init__(self, n_features):
        self.n_features = n_features
        self.width = 1 + n_features + n_features**2

    def _split(self, x):
        D = self.n_features
        return x[:, :1], x[:, 1 : 1 + D], x[:, 1 + D :].reshape(len(x), D, D)

    def _join(self, p, phi, C):
        return np.concatenate([p, phi, C.reshape(len(p), -1)], axis=1)

    def lift(self, weights, features):
        """The element of p and the features."""
        p = weights[:, None]
        phi = np.zeros((len(p), self.n_features)) if features is None else features
        return self._join(p, p * phi, p[:, :, None] * phi[:, :, None] * phi[:, None, :])

    def times(self, x, y):
        """The product of :class:`SecondOrder` for every pair of features."""
        p, phi, C = self._split(x)
        q, psi, E = self._split(y)
        outer = phi[:, :, None] * psi[:, None, :]
        second = p[:, :, None] * E + q[:, :, None] * C + outer + outer.transpose(0, 2, 1)
        return self._join(p * q, p * psi + q * phi, second)

    def matrix(self, x):
        """The last component of a single element, (D, D)."""
        return np.asarray(self._split(x)[2][0])


def dual_kernel_plain(tree):
    """C/Z and log Z by one pass in the vectorised second-order semiring."""
    semiring = VectorSecondOrder(tree.n_features)
    up = pass_up(tree, semiring)
    check_possible(up)
    Z = float(up.total[0, 0])
    return semiring.matrix(up.total) / Z, up.log_scale + math.log(Z)


@dataclass(frozen=True, eq=False)
class StructureWalk:
    """State of one walk: which parts are fixed, and the factors that wait.

    Written as steps, so that a test can follow every branch: ``weights()`` is the law of the next joint value,
    ``pick(j)`` the state after candidate j, until ``done``. Structures are ``values``, hub and all.
    """

    plan: WalkPlan
    n: int
    fixed: dict[int, int] = field(default_factory=dict)
    A: float = 0.0
    #: Factors that wait, each with the element (A, S) of those below it on the stack.
    stack: tuple[tuple[int, float, float], ...] = ()
    started: bool = False

    @property
    def done(self):
        """Whether all parts are fixed."""
        return self.started and not self.stack

    def candidates(self):
        """Joint values the next parts can take."""
        if not self.started:
            return root_candidates(self.plan, self.n)
        i = self.stack[-1][0]
        at = np.array([self.fixed[self.plan.tree.nodes[i].parent]])
        return factor_candidates(self.plan, i, at, np.array([self.n]))

    def weights(self):
        """Probabilities of the candidates."""
        A, S = (0.0, 0.0) if not self.started else self.stack[-1][1:]
        # The outside: what is fixed times what waits.
        outside = _times((np.array([self.A]), np.array([self.A**2])), (np.array([A]), np.array([S])))
        mass = weights_of(self.candidates(), *outside)
        return np.asarray(mass / mass.sum())

    def pick(self, j):
        """State after candidate j."""
        chosen = self.candidates()
        fixed = dict(self.fixed) | {r: int(v[j]) for r, v in zip(chosen.parts, chosen.values, strict=True)}
        waiting, base = self.stack[:-1], self.stack[-1][1:] if self.stack else (0.0, 0.0)
        stack, last = list(waiting), None
        element = (np.array([base[0]]), np.array([base[1]]))
        for r in chosen.parts:
            for i in self.plan.tree.below[r]:
                if last is not None:
                    at = np.array([fixed[self.plan.tree.nodes[last].parent]])
                    element = _times(element, _at_parent(self.plan, last, at, np.array([self.n])))
                stack.append((i, float(element[0][0]), float(element[1][0])))
                last = i
        A = self.A + float(chosen.own[j])
        return StructureWalk(self.plan, self.n, fixed, A, tuple(stack), True)
