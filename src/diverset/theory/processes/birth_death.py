r"""Metropolis-Hastings walks over point patterns: births, deaths and moves.

One walk serves points in a box and items of a finite set. A *target* says where points may be born and how the weight
w of a pattern changes with them,

.. math::  \lambda(u; X) = \frac{w(X \cup \{u\})}{w(X)},

the Papangelou conditional intensity. Births are proposed uniformly over the free space, of measure V(X) (the volume of
the box; the number of items outside X), deaths uniformly over the points, each half of the time. Then a birth is
accepted with probability

.. math::  \min\left(1,\; \lambda(u; X)\, \frac{V(X)}{|X| + 1}\right),

and a death with the reciprocal for the pattern it leaves ([GeyerMoller1994]_). A move takes a point elsewhere, with
ratio :math:`\lambda(u; X \setminus x) / \lambda(x; X \setminus x)`.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from diverset._typing import Array, RNGLike
from diverset.errors import DiversetError, ImpossibleEventError
from diverset.numerics.validation import as_number, check_count, check_size
from diverset.sampling.batch import children
from diverset.sampling.chain import Chain, ChainState

__all__ = ["BirthDeathTarget", "BirthDeathWalk", "Move", "PatternChain", "birth_death_chain"]

#: Steps that one call of the compiled loop makes at most, so that an interrupt is heard.
_CALL_STEPS = 10_000


class BirthDeathTarget(Protocol):
    """An unnormalised law over patterns, which are arrays with one row (or number) per point."""

    def no_points(self) -> Array:
        """The empty pattern."""

    def as_pattern(self, points: Any) -> Array:
        """Points as given by a user, checked."""

    def free(self, points: Array) -> float:
        """Measure of the space where a point may be born."""

    def draw_place(self, points: Array, rng: np.random.Generator) -> Any:
        """A uniform place there."""

    def log_papangelou(self, place: Any, points: Array) -> float:
        """Logarithm of the conditional intensity at a place."""

    def compiled_form(self) -> Any:
        """The target as the compiled loop takes it; None if the loop does not know it."""


@dataclass(frozen=True)
class Move:
    """A change of a pattern: a birth has no slot, a death no place."""

    slot: int | None
    place: Any


@dataclass(frozen=True, eq=False)
class PatternChain(Chain):
    r"""What :func:`birth_death_chain` returns; ``sets`` holds patterns: items, or points of shape (n, dim).

    ``log_weights`` are log-weights relative to the start of each chain.
    """

    sets: list[Array]


class BirthDeathWalk:
    """State of the walk, and its steps.

    Parameters
    ----------
    target : BirthDeathTarget
        The law.
    start : ndarray
        Where to start; the order of the points means nothing.
    move : float
        Probability to propose a move; births and deaths share the rest.
    """

    def __init__(self, target: BirthDeathTarget, start: Array, *, move: float = 0.0) -> None:
        self.target = target
        self.move = move
        self.log_weight = 0.0
        self.accepted = 0
        self._compiled = target.compiled_form()
        self._count = len(start)
        self._store = np.concatenate([start, np.zeros((max(16, len(start)), *start.shape[1:]), dtype=start.dtype)])

    @property
    def points(self) -> Array:
        """The points now; a view that the next step may change."""
        return self._store[: self._count]

    def without(self, slot: int) -> Array:
        """All points but one."""
        return np.concatenate([self._store[:slot], self._store[slot + 1 : self._count]])

    def log_birth_ratio(self, log_papangelou: float, points: Array) -> float:
        """Log of the Metropolis-Hastings ratio for a birth in a pattern; a death is its negative."""
        return log_papangelou + math.log(self.target.free(points)) - math.log(len(points) + 1)

    def log_ratio(self, move: Move) -> tuple[float, float]:
        """Logs of the Metropolis-Hastings ratio of a move, and of the ratio of weights."""
        if move.slot is None:
            gain = self.target.log_papangelou(move.place, self.points)
            return self.log_birth_ratio(gain, self.points), gain
        rest = self.without(move.slot)
        loss = self.target.log_papangelou(self._store[move.slot], rest)
        if move.place is None:
            return -self.log_birth_ratio(loss, rest), -loss
        gain = self.target.log_papangelou(move.place, rest)
        return gain - loss, gain - loss

    def propose(self, rng: np.random.Generator) -> Move | None:
        """A random move; nothing where there is no point to take or no room for one."""
        u = rng.random()
        if u >= self.move and u < self.move + 0.5 * (1.0 - self.move):
            room = self.target.free(self.points) > 0.0
            return Move(None, self.target.draw_place(self.points, rng)) if room else None
        if self._count == 0:
            return None
        slot = int(rng.random() * self._count)
        if u >= self.move:
            return Move(slot, None)
        room = self.target.free(self.points) > 0.0
        return Move(slot, self.target.draw_place(self.points, rng)) if room else None

    def proposals(self, places: list[Any]) -> Iterator[tuple[float, Move]]:
        """All moves with their probabilities, for a finite space whose free places are given."""
        half = 0.5 * (1.0 - self.move)
        for place in places:
            yield half / len(places), Move(None, place)
        for slot in range(self._count):
            yield half / self._count, Move(slot, None)
            for place in places:
                yield self.move / self._count / len(places), Move(slot, place)

    def apply(self, move: Move) -> None:
        """Make a move."""
        if move.slot is None:
            if self._count == len(self._store):
                self._store = np.concatenate([self._store, np.zeros_like(self._store)])
            self._store[self._count] = move.place
            self._count += 1
        elif move.place is None:
            self._count -= 1
            self._store[move.slot] = self._store[self._count]
        else:
            self._store[move.slot] = move.place

    def step(self, rng: np.random.Generator) -> bool:
        """Propose a move and accept it or not."""
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
        """Make many steps, compiled where the target is known to the loop."""
        if self._compiled is None:
            for _ in range(steps):
                self.step(rng)
            return
        from diverset.theory.processes import _birth_death_loops as loops

        while steps > 0:
            if self._count == len(self._store):
                self._store = np.concatenate([self._store, np.zeros_like(self._store)])
            done, self._count, accepted, gained = loops.run(
                rng, self._store, self._count, min(steps, _CALL_STEPS), self.move, self._compiled
            )
            steps -= done
            self.accepted += accepted
            self.log_weight += gained


def birth_death_chain(
    target: BirthDeathTarget,
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

    Parameters
    ----------
    target : GibbsProcess or FiniteGibbs
        The law, known up to a constant.
    size : int
        Patterns to keep, for each chain.
    burn_in : int
        Steps before the first.
    thin : int
        Steps from one to the next.
    start : array_like, optional
        Where to start; at the empty pattern by default.
    move : float
        Probability to propose a move, in [0, 1); births and deaths share the rest.
    n_chains : int
        Independent chains; two or more give ``r_hat``.
    rng : int, Generator or None
        Seed or generator. The same seed gives the same chain.

    Returns
    -------
    PatternChain
        Patterns, log-weights, acceptance rate, effective sample size and ``r_hat``.

    Notes
    -----
    A step costs one or two evaluations of the conditional intensity, O(n) for pair interactions of n points. For the
    pair interactions of this package with a constant activity the steps are compiled; draws are those of the plain
    ones.
    """
    count, chains = check_count(size, name="size"), check_count(n_chains, name="n_chains")
    ahead, every = check_size(burn_in, name="burn_in"), check_count(thin, name="thin")
    share = as_number(move, name="move")
    if not 0.0 <= share < 1.0:
        raise DiversetError(
            f"move is {share}; it must be at least 0 and below 1, or the number of points stays the same"
        )
    origin = target.no_points() if start is None else target.as_pattern(start)
    for slot in range(len(origin)):
        if target.log_papangelou(origin[slot], np.delete(origin, slot, axis=0)) == -math.inf:
            raise ImpossibleEventError(
                f"start has weight 0: its point {slot} cannot stand with the others; leave it out"
            )
    generator = np.random.default_rng(rng)
    streams = children(generator, chains)
    patterns: list[Array] = []
    log_weights = np.zeros((chains, count))
    accepted, ends = 0, []
    for c, stream in enumerate(streams):
        walk = BirthDeathWalk(target, origin, move=share)
        walk.advance(ahead, stream)
        for t in range(count):
            walk.advance(every, stream)
            patterns.append(walk.points.copy())
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
