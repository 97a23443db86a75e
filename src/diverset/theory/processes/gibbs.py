r"""Gibbs point processes, in a box and on finite ground sets ([KuleszaTaskar2012]_, section 2.5.2).

The weight of a pattern is :math:`\exp(-U(X))`: an activity :math:`\psi_1` for each point, times what an interaction
makes of them together. Normalisers are out of reach, so draws come from the birth and death walk, and fits from
:mod:`diverset.theory.processes.pseudolikelihood`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from diverset._typing import Array, FloatArray, IntArray, RNGLike
from diverset.errors import DiversetError
from diverset.numerics.validation import (
    as_finite,
    as_quality,
    as_real_or_complex,
    check_count,
    check_finite,
    check_nonnegative,
    check_size,
    find_positions,
)
from diverset.theory.processes.birth_death import PatternChain, birth_death_chain
from diverset.theory.processes.interactions import (
    Interaction,
    LinearCore,
    PairInteraction,
    SoftCore,
    Strauss,
    VerySoftCore,
)
from diverset.theory.processes.tabulated import TabulatedProcess, members
from diverset.theory.processes.window import Box

__all__ = ["FiniteGibbs", "GibbsProcess"]

#: Steps before the first draw, as a multiple of the points or items there can be.
_BURN_IN = 50
#: Points for which it is worked out how long a walk should be.
_MOST_POINTS = 10**6


class GibbsProcess:
    r"""Gibbs process in a box, with density :math:`\propto \prod_x \beta(x) \cdot \psi(X)` to the unit Poisson process.

    Parameters
    ----------
    box : Box
        Where. With edges, there is nothing outside.
    activity : float or callable
        :math:`\beta`, or a function from points (n, dim) to activities (n,). Without interaction it is the intensity.
    interaction : Interaction, optional
        :class:`Strauss`, :class:`VerySoftCore`, :class:`SoftCore`, :class:`LinearCore`, :class:`AreaInteraction`, or
        one of your own. None by default: a Poisson process.

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
        self,
        box: Box,
        activity: float | Callable[[FloatArray], FloatArray],
        interaction: Interaction | None = None,
    ) -> None:
        self.box = box
        self.activity = activity if callable(activity) else check_nonnegative(activity, name="activity")
        self.interaction = interaction
        if interaction is not None:
            interaction.check_in(box)
            if not interaction.integrable:
                raise DiversetError(
                    f"{interaction} attracts without limit, so no process in a box has it; use gamma <= 1, a hard "
                    "core, or a finite ground set (FiniteGibbs)"
                )

    def __repr__(self) -> str:
        return f"GibbsProcess({self.box}, activity={self.activity}, interaction={self.interaction})"

    def _activity_at(self, points: FloatArray) -> FloatArray:
        if callable(self.activity):
            return np.asarray(self.activity(points), dtype=np.float64)
        return np.full(len(points), self.activity)

    def papangelou(self, u: ArrayLike, points: ArrayLike) -> float:
        r"""Conditional intensity :math:`\lambda(u; X)` of a point at u, given all the others."""
        place = as_finite(np.atleast_1d(np.asarray(u, dtype=np.float64)), name="u", shape=(self.box.dim,))
        log = self.log_papangelou(place, self.box.as_points(points))
        return math.exp(log) if log < 709.0 else math.inf

    def log_weight(self, points: ArrayLike) -> float:
        """Log-density of a pattern up to a constant; 0 for the empty one."""
        X = self.box.as_points(points)
        return sum(self.log_papangelou(X[i], X[:i]) for i in range(len(X)))

    # what the walk asks ---------------------------------------------------------------------------------------------

    def no_points(self) -> FloatArray:
        """The empty pattern."""
        return np.zeros((0, self.box.dim))

    def as_pattern(self, points: Any) -> FloatArray:
        """Points as given by a user, checked."""
        return self.box.as_points(points, name="start")

    def free(self, points: Array) -> float:
        """Volume of the box."""
        return self.box.volume

    def draw_place(self, points: Array, rng: np.random.Generator) -> FloatArray:
        """A uniform place in the box."""
        return rng.random(self.box.dim) * self.box._sides

    def log_papangelou(self, place: FloatArray, points: FloatArray) -> float:
        """Logarithm of :meth:`papangelou`; trusts its input."""
        beta = self.activity if not callable(self.activity) else float(self._activity_at(place[np.newaxis])[0])
        log_beta = math.log(beta) if beta > 0.0 else -math.inf
        if self.interaction is None:
            return log_beta
        return log_beta + self.interaction.log_effect(place, points, self.box)

    def compiled_form(self) -> Any:
        """Target of the compiled loop, for a constant activity and an interaction that it knows; otherwise None."""
        from diverset.theory.processes._birth_death_loops import Pairs

        if callable(self.activity) or self.activity == 0.0:
            return None
        form = _compiled_interaction(self.interaction)
        return None if form is None else Pairs(math.log(self.activity), self.box._sides, self.box.torus, *form)

    # draws ----------------------------------------------------------------------------------------------------------

    def _scale(self) -> int:
        if callable(self.activity):
            nodes, cell = self.box.grid(16)
            return math.ceil(float(self._activity_at(nodes).sum()) * cell) + 1
        return math.ceil(self.activity * self.box.volume) + 1

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
        r"""Run the birth, death and move walk; see :func:`birth_death_chain`.

        By default the burn-in is 50 and the thinning 5 times the number of points that the activity alone would give.
        """
        scale = self._scale()
        if scale > _MOST_POINTS and (burn_in is None or thin is None):
            raise DiversetError(
                f"the activity alone would give {scale:.3g} points, and a walk takes many steps for each; lower the "
                "activity, or give burn_in and thin"
            )
        return birth_death_chain(
            self,
            size=size,
            burn_in=_BURN_IN * scale if burn_in is None else burn_in,
            thin=5 * scale if thin is None else thin,
            start=start,
            move=move,
            n_chains=n_chains,
            rng=rng,
        )

    def sample(self, size: int | None = None, *, rng: RNGLike = None) -> FloatArray | list[FloatArray]:
        """Draw one pattern, or a list of `size`, each from a chain of its own. Approximate: see :meth:`chain`."""
        generator = np.random.default_rng(rng)
        count = 1 if size is None else check_size(size, name="size")
        draws = [self.chain(1, thin=1, rng=generator).sets[0] for _ in range(count)]
        return draws[0] if size is None else draws


def _compiled_interaction(interaction: Interaction | None) -> tuple[int, FloatArray] | None:
    """Number and parameters of an interaction as the compiled loop has them."""
    from diverset.theory.processes import _birth_death_loops as loops

    kind = type(interaction)
    if interaction is None:
        return loops.STRAUSS, np.array([0.0, -1.0, 0.0])
    if kind is Strauss:
        assert isinstance(interaction, Strauss)
        log_gamma = math.log(interaction.gamma) if interaction.gamma > 0.0 else -math.inf
        return loops.STRAUSS, np.array([log_gamma, interaction.radius, interaction.hard_core])
    if kind is SoftCore:
        assert isinstance(interaction, SoftCore)
        return loops.SOFT_CORE, np.array([interaction.sigma, interaction.n])
    if isinstance(interaction, VerySoftCore | LinearCore) and kind in (VerySoftCore, LinearCore):
        return loops.VERY_SOFT_CORE if kind is VerySoftCore else loops.LINEAR_CORE, np.array([interaction.sigma])
    return None


class FiniteGibbs:
    r"""Gibbs process on the items 0..n-1, with :math:`\Pr(Y) \propto \exp(-U(Y))`.

    Parameters
    ----------
    n_items : int
        Size of the ground set.
    energy : callable
        U, from an ascending array of items to a number; ``inf`` for an impossible set. :meth:`pairwise` and
        :meth:`from_points` make the usual ones.

    Examples
    --------
    Three items in a row, neighbours never together: the five sets left are alike.

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
        psi2 = np.array(as_real_or_complex(interaction, name="interaction", ndim=2), dtype=np.float64)
        psi1 = as_quality(activity, len(psi2))
        check_finite(psi2, name="interaction")
        if psi2.shape != (len(psi1), len(psi1)) or not np.array_equal(psi2, psi2.T):
            raise DiversetError(
                f"interaction has shape {psi2.shape} and must be a symmetric matrix, a row for each item"
            )
        if psi2.size and psi2.min() < 0.0:
            raise DiversetError(f"interaction has an entry {psi2.min():.6g}; potentials must not be negative")
        with np.errstate(divide="ignore"):
            log1, log2 = np.log(psi1), np.log(psi2)
        np.fill_diagonal(log2, 0.0)
        log1.flags.writeable = log2.flags.writeable = False

        def energy(Y: IntArray) -> float:
            return -float(log1[Y].sum() + log2[np.ix_(Y, Y)].sum() / 2.0)

        model = cls(len(log1), energy)
        model._pairs = (log1, log2)
        return model

    @classmethod
    def from_points(
        cls, points: ArrayLike, activity: float | ArrayLike, interaction: Interaction, *, box: Box
    ) -> FiniteGibbs:
        """Process whose items are points: the interaction acts at their distances.

        Parameters
        ----------
        points : array_like of shape (n, dim)
            Where the items lie.
        activity : float or array_like of shape (n,)
            Of each.
        interaction : Interaction
            As in :class:`GibbsProcess`; here Strauss's may attract.
        box : Box
            Says how distances are measured.
        """
        X = box.as_points(points)
        interaction.check_in(box)
        beta = as_quality(np.broadcast_to(np.asarray(activity, dtype=np.float64), len(X)), len(X))
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
        return -self._energy(find_positions(Y, np.arange(self.n_items, dtype=np.int64)))

    def tabulate(self) -> TabulatedProcess:
        """The normalised law, by listing all subsets: for at most 20 items."""
        rows = members(self.n_items)
        return TabulatedProcess([-self._energy(np.flatnonzero(row)) for row in rows])

    # what the walk asks ---------------------------------------------------------------------------------------------

    def no_points(self) -> IntArray:
        """The empty set."""
        return np.zeros(0, dtype=np.int64)

    def as_pattern(self, points: Any) -> IntArray:
        """A set as given by a user, checked."""
        return find_positions(points, np.arange(self.n_items, dtype=np.int64), name="start")

    def free(self, points: Array) -> float:
        """Number of items outside."""
        return float(self.n_items - len(points))

    def draw_place(self, points: Array, rng: np.random.Generator) -> int:
        """A uniform item outside."""
        outside = np.ones(self.n_items, dtype=bool)
        outside[points] = False
        return int(rng.choice(np.flatnonzero(outside)))

    def compiled_form(self) -> None:
        """None: items are few, and energies anyone's."""

    def log_papangelou(self, place: int, points: Array) -> float:
        """Log of the factor that item `place` adds to the weight of a set without it; ``-inf`` if it cannot join."""
        if self._pairs is not None:
            log1, log2 = self._pairs
            return float(log1[place] + log2[place, points].sum())
        after = self._energy(np.sort(np.append(points, place)))
        return self._energy(np.sort(points)) - after if after < math.inf else -math.inf

    # draws ----------------------------------------------------------------------------------------------------------

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
        """Run the birth, death and exchange walk; see :func:`birth_death_chain`. Sets come in ascending order.

        By default the burn-in is 50 and the thinning 5 times the number of items.
        """
        chain = birth_death_chain(
            self,
            size=check_count(size, name="size"),
            burn_in=_BURN_IN * self.n_items if burn_in is None else burn_in,
            thin=5 * max(self.n_items, 1) if thin is None else thin,
            start=start,
            move=move,
            n_chains=n_chains,
            rng=rng,
        )
        return PatternChain(
            sets=[np.sort(Y) for Y in chain.sets],
            log_weights=chain.log_weights,
            acceptance_rate=chain.acceptance_rate,
            complete=chain.complete,
            state=chain.state,
        )
