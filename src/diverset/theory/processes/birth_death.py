r"""Markov chains over point patterns: a Metropolis-Hastings walk of births, deaths and moves ([GeyerMoller1994]_).

The walk uses the conditional intensity :math:`\lambda(u; X) = w(X \cup \{u\}) / w(X)` of the weights w. Births are
proposed uniformly over the free space, of measure V(X) (the volume of the box, or the number of items outside X), and
deaths uniformly over the points, each with probability one half. The Metropolis-Hastings ratio of a birth is
:math:`\lambda(u; X)\, V(X) / (|X| + 1)`, that of the reverse death its reciprocal, and that of a move from x to u
:math:`\lambda(u; X \setminus x) / \lambda(x; X \setminus x)`.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from diverset._typing import Array, RNGLike
from diverset.errors import DiversetError, ImpossibleEventError
from diverset.numerics.validation import as_generator, as_number, check_count, check_size
from diverset.sampling.batch import children
from diverset.sampling.chain import Chain, ChainState

__all__ = ["BirthDeathTarget", "BirthDeathWalk", "Move", "PatternChain", "birth_death_chain"]

#: Default burn-in and thinning, in steps per point or item.
_BURN_IN, _THIN = 50, 5
#: Largest number of steps in one call of the compiled loop, so that interrupts are handled.
_CALL_STEPS = 10_000


@dataclass(frozen=True, eq=False)
class PatternChain(Chain):
    r"""Result of :func:`birth_death_chain`; ``sets`` holds patterns: items, or points of shape (n, dim).

    ``log_weights`` are relative to the start of each chain.
    """

    sets: list[Array]


class BirthDeathTarget:
    """An unnormalised law over patterns, which are arrays with one row (or number) per point.

    Subclasses have ``no_points()``, the empty pattern; ``as_pattern(points)``, checked input; ``free(points)``, the
    measure of the space where a point can be born, and ``draw_place(points, rng)``, a uniform place in it;
    ``log_papangelou(place, points)``; and ``_scale()``, the unit of the default burn-in and thinning.
    """

    _scale: Callable[[], int]

    def compiled_form(self) -> Any:
        """The target for the compiled loop, or None if the loop does not support it."""

    def chain(
        self,
        size: int,
        *,
        burn_in: int | None = None,
        thin: int | None = None,
        start: Any = None,
        move: float = 0.25,
        n_chains: int = 1,
        rng: RNGLike = None,
    ) -> PatternChain:
        """Run the birth, death and move walk. The parameters are those of :func:`birth_death_chain`.

        By default the burn-in is 50 and the thinning 5 times the number of items, or of points without interaction.
        """
        return birth_death_chain(
            self,
            size=size,
            burn_in=_BURN_IN * self._scale() if burn_in is None else burn_in,
            thin=_THIN * self._scale() if thin is None else thin,
            start=start,
            move=move,
            n_chains=n_chains,
            rng=rng,
        )


class Move(NamedTuple):
    """A change of a pattern: a birth has no slot, a death no place."""

    slot: int | None
    place: Any


class BirthDeathWalk:
    """State of the walk from `start`; moves are proposed with probability `move`, births and deaths otherwise."""

    def __init__(self, target: Any, start: Array, *, move: float = 0.0) -> None:
        self.target = target
        self.move = move
        self.log_weight = 0.0
        self.accepted = 0
        self._compiled = target.compiled_form()
        self._count = len(start)
        self._store = np.concatenate([start, np.zeros((max(16, len(start)), *start.shape[1:]), dtype=start.dtype)])

    @property
    def points(self) -> Array:
        """The current points; a view that the next step may change."""
        return self._store[: self._count]

    def log_birth_ratio(self, log_papangelou: float, points: Array) -> float:
        """Logarithm of the Metropolis-Hastings ratio of a birth; that of the reverse death is its negative."""
        return log_papangelou + math.log(self.target.free(points)) - math.log(len(points) + 1)

    def log_ratio(self, move: Move) -> tuple[float, float]:
        """Logarithms of the Metropolis-Hastings ratio of a move and of the ratio of weights."""
        if move.slot is None:
            gain = self.target.log_papangelou(move.place, self.points)
            return self.log_birth_ratio(gain, self.points), gain
        rest = np.concatenate([self._store[: move.slot], self._store[move.slot + 1 : self._count]])
        loss = self.target.log_papangelou(self._store[move.slot], rest)
        if move.place is None:
            return -self.log_birth_ratio(loss, rest), -loss
        gain = self.target.log_papangelou(move.place, rest)
        return gain - loss, gain - loss

    def propose(self, rng: np.random.Generator) -> Move | None:
        """A random move; None if there is no point to remove or no free space."""
        u, slot = rng.random(), None
        if not self.move <= u < self.move + 0.5 * (1.0 - self.move):
            if self._count == 0:
                return None
            slot = int(rng.random() * self._count)
            if u >= self.move:
                return Move(slot, None)
        room = self.target.free(self.points) > 0.0
        return Move(slot, self.target.draw_place(self.points, rng)) if room else None

    def _grow(self) -> None:
        if self._count == len(self._store):
            self._store = np.concatenate([self._store, np.zeros_like(self._store)])

    def apply(self, move: Move) -> None:
        """Apply a move."""
        if move.slot is None:
            self._grow()
            self._store[self._count] = move.place
            self._count += 1
        elif move.place is None:
            self._count -= 1
            self._store[move.slot] = self._store[self._count]
        else:
            self._store[move.slot] = move.place

    def step(self, rng: np.random.Generator) -> bool:
        """Propose a move and accept or reject it."""
        move = self.propose(rng)
        if move is None:
            return False
        log_ratio, gain = self.log_ratio(move)
        if log_ratio < 0.0 and rng.random() >= math.exp(log_ratio):
            return False
        self.apply(move)
        self.log_weight += gain
        self.accepted += 1
        return True

    def advance(self, steps: int, rng: np.random.Generator) -> None:
        """Make many steps, in the compiled loop if it supports the target."""
        if self._compiled is None:
            for _ in range(steps):
                self.step(rng)
            return
        from diverset.theory.processes import _birth_death_loops as loops

        while steps > 0:
            self._grow()
            done, self._count, accepted, gained = loops.run(
                rng, self._store, self._count, min(steps, _CALL_STEPS), self.move, self._compiled
            )
            steps -= done
            self.accepted += accepted
            self.log_weight += gained


def birth_death_chain(
    target: Any,
    *,
    size: int,
    burn_in: int,
    thin: int = 1,
    start: Any = None,
    move: float = 0.25,
    n_chains: int = 1,
    rng: RNGLike = None,
) -> PatternChain:
    """Run birth, death and move walks and keep every `thin`-th state: approximate draws, with diagnostics.

    A step costs one or two evaluations of the conditional intensity, O(n) for pair interactions of n points. For the
    pair interactions of this package with a constant activity, a compiled loop makes the same draws as the plain one.

    Parameters
    ----------
    target : GibbsProcess or FiniteGibbs
        The law, known up to a constant.
    size : int
        Number of patterns kept from each chain.
    burn_in : int
        Steps before the first pattern.
    thin : int
        Steps between patterns.
    start : array_like, optional
        First state; the empty pattern by default.
    move : float
        Probability of proposing a move, in [0, 1); births and deaths share the rest.
    n_chains : int
        Number of independent chains; two or more give ``r_hat``.
    rng : int, Generator or None
        Seed or generator. The same seed gives the same chain.

    Returns
    -------
    PatternChain
        Patterns, log-weights, acceptance rate, effective sample size and ``r_hat``.
    """
    count, chains = check_count(size, name="size"), check_count(n_chains, name="n_chains")
    ahead, every = check_size(burn_in, name="burn_in"), check_count(thin, name="thin")
    share = as_number(move, name="move")
    if not 0.0 <= share < 1.0:
        raise DiversetError(f"move is {share}; it must be at least 0 and below 1")
    origin = target.no_points() if start is None else target.as_pattern(start)
    for slot in range(len(origin)):
        if target.log_papangelou(origin[slot], np.delete(origin, slot, axis=0)) == -math.inf:
            raise ImpossibleEventError(f"start has weight 0: its point {slot} is forbidden by the others; leave it out")
    patterns: list[Array] = []
    log_weights = np.zeros((chains, count))
    accepted, ends = 0, []
    for c, stream in enumerate(children(as_generator(rng), chains)):
        walk = BirthDeathWalk(target, origin, move=share)
        walk.advance(ahead, stream)
        for t in range(count):
            walk.advance(every, stream)
            patterns.append(np.sort(walk.points) if walk.points.ndim == 1 else walk.points.copy())
            log_weights[c, t] = walk.log_weight
        ends.append(walk.points.copy())
        accepted += walk.accepted
    return PatternChain(
        sets=patterns,
        log_weights=log_weights,
        acceptance_rate=accepted / (chains * (ahead + count * every)),
        complete=True,
        state=ChainState(tuple(ends)),
    )
