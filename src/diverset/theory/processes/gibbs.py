r"""Gibbs point processes, in a box and on finite ground sets ([KuleszaTaskar2012]_, section 2.5.2).

The weight of a pattern is :math:`\exp(-U(X))`: an activity for each point times the effect of an interaction.
Normalisers are intractable, so draws come from a Markov chain of births and deaths, and fits from
:mod:`diverset.theory.processes.pseudolikelihood`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import astuple
from typing import Any, cast

import numpy as np
from numpy.typing import ArrayLike

from diverset._typing import Array, FloatArray, IntArray, RNGLike
from diverset.errors import DiversetError
from diverset.numerics.validation import (
    as_finite,
    as_quality,
    as_real,
    check_finite,
    check_nonnegative,
    check_size,
    find_positions,
)
from diverset.theory._projection import draw_one_or_list
from diverset.theory.processes.birth_death import BirthDeathTarget
from diverset.theory.processes.finite import TabulatedProcess, members
from diverset.theory.processes.interactions import (
    Interaction,
    LinearCore,
    PairInteraction,
    SoftCore,
    Strauss,
    VerySoftCore,
)
from diverset.theory.processes.window import Box

__all__ = ["FiniteGibbs", "GibbsProcess"]

#: Largest expected number of points for which the length of a walk has a default.
_MOST_POINTS = 10**6


class GibbsProcess(BirthDeathTarget):
    r"""Gibbs process in a box, with density :math:`\propto \prod_x \beta(x) \cdot \psi(X)` to the unit Poisson process.

    Parameters
    ----------
    box : Box
        Window of the points. There are no points outside.
    activity : float or callable
        :math:`\beta`, or a function from points (n, dim) to activities (n,). Without interaction it is the intensity.
    interaction : Interaction, optional
        :class:`Strauss`, :class:`VerySoftCore`, :class:`SoftCore`, :class:`LinearCore`, :class:`AreaInteraction`, or a
        subclass of :class:`Interaction`. None, the default, gives a Poisson process.

    Examples
    --------
    >>> from diverset.theory.processes import Strauss
    >>> model = GibbsProcess(Box.unit(2, torus=True), 200.0, Strauss(0.1, 0.05))
    >>> round(model.papangelou([0.5, 0.5], [[0.52, 0.5], [0.5, 0.47], [0.9, 0.9]]), 6)
    2.0
    >>> model.sample(rng=0).shape[1]
    2
    """

    def __init__(
        self, box: Box, activity: float | Callable[[FloatArray], FloatArray], interaction: Interaction | None = None
    ) -> None:
        self.box = box
        self.activity = activity if callable(activity) else check_nonnegative(activity, name="activity")
        self.interaction = interaction
        if interaction is not None:
            interaction.check_in(box)
            if not interaction.integrable:
                raise DiversetError(
                    f"{interaction} attracts without limit; use gamma <= 1, a hard core, or FiniteGibbs"
                )

    def __repr__(self) -> str:
        return f"GibbsProcess({self.box}, activity={self.activity}, interaction={self.interaction})"

    def papangelou(self, u: ArrayLike, points: ArrayLike) -> float:
        r"""Conditional intensity :math:`\lambda(u; X)` of a point at u, given the other points."""
        place = as_finite(np.atleast_1d(np.asarray(u)), name="u", shape=(self.box.dim,))
        log = self.log_papangelou(place, self.box.as_points(points))
        return math.exp(log) if log < 709.0 else math.inf

    def log_weight(self, points: ArrayLike) -> float:
        """Log-density of a pattern up to a constant; 0 for the empty pattern."""
        X = self.box.as_points(points)
        return sum(self.log_papangelou(X[i], X[:i]) for i in range(len(X)))

    def no_points(self) -> FloatArray:
        """The empty pattern."""
        return np.zeros((0, self.box.dim))

    def as_pattern(self, points: Any) -> FloatArray:
        """Points given by a user, checked."""
        return self.box.as_points(points, name="start")

    def free(self, points: Array) -> float:
        """Volume of the box."""
        return self.box.volume

    def draw_place(self, points: Array, rng: np.random.Generator) -> FloatArray:
        """A uniform place in the box."""
        return rng.random(self.box.dim) * self.box._sides

    def log_papangelou(self, place: FloatArray, points: FloatArray) -> float:
        """Logarithm of :meth:`papangelou`; the input is not checked."""
        beta = (
            float(as_real(self.activity(place[None]), name="activity")[0]) if callable(self.activity) else self.activity
        )
        log_beta = math.log(beta) if beta > 0.0 else -math.inf
        if self.interaction is None:
            return log_beta
        return log_beta + float(self.interaction.log_effect(place, points, self.box))

    def compiled_form(self) -> Any:
        """Target of the compiled loop, for a constant activity and a supported interaction; otherwise None."""
        from diverset.theory.processes import _birth_death_loops as loops

        if callable(self.activity) or self.activity == 0.0:
            return None
        kinds = {Strauss: loops.STRAUSS, VerySoftCore: loops.VERY_SOFT_CORE, SoftCore: loops.SOFT_CORE}
        kinds[LinearCore] = loops.LINEAR_CORE
        # No interaction is one that reaches nowhere; subclasses may have other potentials.
        interaction = Strauss(1.0, 1e-300) if self.interaction is None else self.interaction
        kind = kinds.get(type(interaction))
        if kind is None:
            return None
        parameters = list(astuple(cast(Any, interaction)))
        if kind == loops.STRAUSS:
            parameters[0] = math.log(parameters[0]) if parameters[0] > 0.0 else -math.inf
        return loops.Pairs(math.log(self.activity), self.box._sides, self.box.torus, kind, parameters)

    def _scale(self) -> int:
        if callable(self.activity):
            nodes, cell = self.box.grid(16)
            mean = float(as_real(self.activity(nodes), name="activity").sum()) * cell
        else:
            mean = self.activity * self.box.volume
        if mean > _MOST_POINTS:
            raise DiversetError(f"the activity alone gives {mean:.3g} points; lower it, or give burn_in and thin")
        return math.ceil(mean) + 1

    def sample(self, size: int | None = None, *, rng: RNGLike = None) -> FloatArray | list[FloatArray]:
        """Draw one pattern, or a list of `size`, each from its own chain. Approximate: see :meth:`chain`."""
        draws = draw_one_or_list(lambda generator: self.chain(1, thin=1, rng=generator).sets[0], size, rng)
        return cast("FloatArray | list[FloatArray]", draws)


class FiniteGibbs(BirthDeathTarget):
    r"""Gibbs process on the items 0..n-1, with :math:`\Pr(Y) \propto \exp(-U(Y))`.

    Parameters
    ----------
    n_items : int
        Size of the ground set.
    energy : callable
        U, from an ascending array of items to a number; ``inf`` for an impossible set. :meth:`pairwise` and
        :meth:`from_points` make the usual energies.

    Examples
    --------
    Three items in a row, without neighbours: the five possible sets have equal probability.

    >>> row = FiniteGibbs.pairwise([1.0, 1.0, 1.0], [[1, 0, 1], [0, 1, 0], [1, 0, 1]])
    >>> row.tabulate().law.round(3)
    array([0.2, 0.2, 0.2, 0. , 0.2, 0.2, 0. , 0. ])
    """

    def __init__(self, n_items: int, energy: Callable[[IntArray], float]) -> None:
        self.n_items = check_size(n_items, name="n_items")
        self._energy: Callable[[IntArray], float] = energy
        self._pairs: tuple[FloatArray, FloatArray] | None = None

    @classmethod
    def pairwise(cls, activity: ArrayLike, interaction: ArrayLike) -> FiniteGibbs:
        r"""Process with :math:`\Pr(Y) \propto \prod_{i \in Y} \psi_1(i) \prod_{\{i, j\} \subseteq Y} \psi_2(i, j)`.

        Parameters
        ----------
        activity : array_like of shape (n,)
            :math:`\psi_1`, not negative.
        interaction : array_like of shape (n, n)
            :math:`\psi_2`, symmetric and not negative; the diagonal is ignored.
        """
        psi2 = as_real(interaction, name="interaction", shape=(None, None))
        psi1 = as_quality(activity, len(psi2))
        check_finite(psi2, name="interaction")
        if psi2.shape != (len(psi1), len(psi1)) or not np.array_equal(psi2, psi2.T):
            raise DiversetError(f"interaction has shape {psi2.shape}; it must be symmetric, with a row per item")
        if psi2.size and psi2.min() < 0.0:
            raise DiversetError(f"interaction has an entry {psi2.min():.6g}; potentials must not be negative")
        with np.errstate(divide="ignore"):
            log1, log2 = np.log(psi1), np.log(psi2)
        np.fill_diagonal(log2, 0.0)
        log1.flags.writeable = log2.flags.writeable = False
        model = cls(len(log1), lambda Y: -float(log1[Y].sum() + log2[np.ix_(Y, Y)].sum() / 2.0))
        model._pairs = (log1, log2)
        return model

    @classmethod
    def from_points(
        cls, points: ArrayLike, activity: float | ArrayLike, interaction: Interaction, *, box: Box
    ) -> FiniteGibbs:
        """Process whose items are points, with an interaction of points.

        Parameters
        ----------
        points : array_like of shape (n, dim)
            Positions of the items.
        activity : float or array_like of shape (n,)
            Activity of each item.
        interaction : Interaction
            As in :class:`GibbsProcess`; here Strauss's may attract.
        box : Box
            Defines distances.
        """
        X = box.as_points(points)
        interaction.check_in(box)
        beta = as_quality(np.broadcast_to(as_real(activity, name="activity"), len(X)), len(X))
        if isinstance(interaction, PairInteraction):
            psi = np.exp([interaction.log_psi(box.distances(x, X)) for x in X])
            return cls.pairwise(beta, np.minimum(psi, psi.T))
        with np.errstate(divide="ignore"):
            log_beta = np.log(beta)

        def energy(Y: IntArray) -> float:
            effects = [interaction.log_effect(X[i], X[Y[:k]], box) for k, i in enumerate(Y)]
            return -float(log_beta[Y].sum() + math.fsum(effects))

        return cls(len(X), energy)

    def __repr__(self) -> str:
        return f"FiniteGibbs(n_items={self.n_items})"

    def log_weight(self, Y: Iterable[int]) -> float:
        """Minus the energy of a set."""
        return -self._energy(find_positions(Y, range(self.n_items)))

    def tabulate(self) -> TabulatedProcess:
        """The normalised law of at most 20 items, by listing all subsets."""
        return TabulatedProcess([-self._energy(np.flatnonzero(row)) for row in members(self.n_items)])

    def no_points(self) -> IntArray:
        """The empty set."""
        return np.zeros(0, dtype=np.int64)

    def as_pattern(self, points: Any) -> IntArray:
        """A set given by a user, checked."""
        return find_positions(points, range(self.n_items), name="start")

    def free(self, points: Array) -> float:
        """Number of items outside the set."""
        return float(self.n_items - len(points))

    def draw_place(self, points: Array, rng: np.random.Generator) -> int:
        """A uniform item outside the set."""
        outside = np.ones(self.n_items, dtype=bool)
        outside[points] = False
        return int(rng.choice(np.flatnonzero(outside)))

    def log_papangelou(self, place: int, points: Array) -> float:
        """Logarithm of the factor that item `place` adds to the weight of a set; ``-inf`` if it cannot be added."""
        if self._pairs is not None:
            log1, log2 = self._pairs
            return float(log1[place] + log2[place, points].sum())
        after = self._energy(np.sort(np.append(points, place)))
        return self._energy(np.sort(points)) - after if after < math.inf else -math.inf

    def _scale(self) -> int:
        return max(self.n_items, 1)
