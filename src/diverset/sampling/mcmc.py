r"""Markov chains over sets: add, delete and exchange, in :math:`O(k^2)` a step. Approximate.

The states of the chain are sets Y, with stationary law proportional to :math:`\det L_Y`. A step needs only the entries
of L among the items of Y and the proposed one, so L may be a function (:class:`KernelFunction`) and n in the millions.
With j uniform over all n items and i uniform over Y, a step proposes

========  ===========  ============================  ===========================================================
move      probability  to                            accepted with probability min(1, ...)
========  ===========  ============================  ===========================================================
exchange  1/2          :math:`Y - i + j`             :math:`\det L_{Y-i+j}/\det L_Y`
add       1/4          :math:`Y + j`                 :math:`\det L_{Y+j}/\det L_Y \cdot n/(|Y|+1)`
delete    1/4          :math:`Y - i`                 :math:`\det L_{Y-i}/\det L_Y \cdot |Y|/n`
========  ===========  ============================  ===========================================================

and keeps Y if j is in Y already, or if Y is empty and there is no i. The factors beside the ratios of
determinants are ratios of proposal probabilities (adding j from Y has probability 1/4n, deleting it again
:math:`1/4(|Y|+1)`); with them the chain is reversible. For a k-DPP every step is an exchange.

**Number of steps.** For k-DPPs the lazy exchange chain with uniform proposals is within :math:`\varepsilon` of its law
in total variation after at most :math:`O(kn \log(1/(\varepsilon \Pr(Y_0))))` steps ([AnariOveisGharanRezaei2016]_) for
every kernel, which is too many for large n. For the chain on sets of all sizes no such bound is claimed here. The
default, ``default_steps``, is far smaller: enough to propose every item several times and to exchange every slot many
times. It is a heuristic; check ``Chain.effective_sample_size`` and ``Chain.r_hat`` for a given kernel. Prefer exact
draws where their cost is acceptable.

**A step** updates the inverse of :math:`L_Y` by rank one; L is scaled to unit diagonal, so that qualities of different
orders of magnitude cause no rounding errors. Proposed items do not depend on the state, so those of a window of steps
are drawn in advance, the kernel is read once for the window, and compiled code takes the steps. The inverse is
recomputed at the start of every window, and within one as soon as its error is too large.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterable

import numpy as np

from diverset._typing import Array, FloatArray, IntArray, RNGLike
from diverset.core import DPP, KDPP
from diverset.core.representation import Representation
from diverset.errors import DiversetError, ImpossibleEventError, KernelError, SizeError
from diverset.numerics.linalg import EPS, cholesky_lower, hermitian_inverse, log_det_from_cholesky, squared_modulus
from diverset.numerics.validation import as_generator, check_count, check_positive, check_size, find_positions
from diverset.sampling.base import Sampler
from diverset.sampling.batch import children
from diverset.sampling.chain import Chain, ChainState
from diverset.sampling.kernel_function import KernelEntries, KernelFunction, read_entries

__all__ = ["MCMCSampler", "default_steps", "mcmc_chain", "warm_start"]

#: Probabilities of an exchange and of an addition for a DPP; the rest are deletions.
_EXCHANGE, _ADD = 0.5, 0.25
#: Smallest number of steps whose proposals are drawn together.
_WINDOW = 128
#: A pivot below this times the number of items, for a kernel of unit diagonal, counts as rounding.
_FLOOR = 16.0 * EPS
#: A warm start considers this many items, or 20 for each it picks.
_CANDIDATES = 2000


def default_steps(n: int, k: int) -> int:
    r"""Steps before a draw: :math:`(n + 50(k + 2))(1 + \log(1 + k))`, with k the size of the set at the start."""
    return math.ceil((n + 50 * (k + 2)) * (1.0 + math.log1p(k)))


def _unit_diagonal(L: Array) -> tuple[Array, FloatArray]:
    """L scaled to unit diagonal, and the logarithm of its diagonal; zero items stay zero."""
    diagonal = np.maximum(np.diagonal(L).real, 0.0)
    with np.errstate(divide="ignore"):
        g = np.log(diagonal)
    root = np.sqrt(np.where(diagonal > 0.0, diagonal, np.inf))
    return np.ascontiguousarray(L / root[:, None] / root), g


def _log_weight(L: Array) -> float:
    """Log-determinant of L; ``-inf`` if it is zero up to rounding."""
    S, g = _unit_diagonal(L)
    R = cholesky_lower(S) if np.isfinite(g).all() else None
    if R is None or not (np.diagonal(R).real ** 2 > _FLOOR * (len(S) + 1)).all():
        return -math.inf
    return log_det_from_cholesky(R) + float(g.sum())


class _Walker:
    """A chain that advances by windows of steps."""

    def __init__(self, entries: KernelEntries, items: IntArray, fixed_size: bool, rng: np.random.Generator) -> None:
        self.entries = entries
        self.items = np.array(items, dtype=np.int64)
        self.fixed_size = fixed_size
        self.rng = rng
        self.steps = self.accepted = 0

    def advance(self, steps: int, first: int = 1, every: int = 0) -> tuple[list[IntArray], FloatArray]:
        """Take steps; return states and log weights after step `first` and then every `every` steps (none if 0)."""
        from diverset.sampling._mcmc_loops import Record, State, run

        n, k = self.entries.n_items, len(self.items)
        self.steps += steps
        rows = 0 if every == 0 or steps < first else (steps - first) // every + 1
        # One row of uniforms a step, so that the chain does not depend on the windows.
        uniforms = self.rng.random((steps, 4))
        proposed = (uniforms[:, 0] * n).astype(np.int64)
        items, local = np.unique(np.concatenate([self.items, proposed]), return_inverse=True)
        S, g = _unit_diagonal(self.entries.block(items, items))
        capacity = k if self.fixed_size else k + steps
        slots = np.empty(capacity + 1, dtype=np.intp)
        slots[:k] = local[:k]
        inside = np.zeros(len(items), dtype=np.uint8)
        inside[local[:k]] = 1
        state = State(slots, k, inside)
        M = np.zeros((capacity + 1, capacity + 1), dtype=S.dtype)
        visited = np.zeros((rows, capacity + 1), dtype=np.intp)
        sizes, log_weights = np.zeros(rows, dtype=np.intp), np.zeros(rows)
        record = Record(visited, sizes, log_weights, first if rows else steps + 1, every)
        moves = (1.0, 1.0) if self.fixed_size else (_EXCHANGE, _EXCHANGE + _ADD)
        done = 0
        proposed = local[k:]
        while done < steps:
            M[:k, :k], log_det = _inverse(S[np.ix_(slots[:k], slots[:k])])
            log_weight = log_det + float(g[slots[:k]].sum())
            t, k, accepted = run(
                S, g, M, state, log_weight, proposed[done:], uniforms[done:], n, moves, _FLOOR * (k + 1), record
            )
            done += t
            self.accepted += accepted
        self.items = items[slots[:k]]
        return [np.sort(items[row[:size]]) for row, size in zip(visited, sizes, strict=True)], log_weights


def _inverse(S: Array) -> tuple[Array, float]:
    """Inverse and log-determinant of the kernel of the current set."""
    R = cholesky_lower(S)
    if R is None:
        # Singular up to rounding; accepted moves can reach such a set.
        R = cholesky_lower(S + 4.0 * len(S) * EPS * np.eye(len(S)))
        if R is None:
            raise KernelError("the kernel is not positive semidefinite: a set of the chain has a negative determinant")
    return hermitian_inverse(R), log_det_from_cholesky(R)


def warm_start(entries: KernelEntries, k: int | None, rng: np.random.Generator) -> IntArray:
    r"""A start set: items picked one at a time, each with probability proportional to its residual.

    A randomly pivoted Cholesky factorisation, on a random subset of the items if they are many. It picks k items, and
    raises `SizeError` if fewer are linearly independent. Without k it stops when the residuals sum to less than the
    number picked, since the two are equal on average:
    :math:`\sum_Y \sum_{j \notin Y} \det L_{Y+j} = \sum_Y |Y| \det L_Y`. Nothing underflows, since pivots are
    compared and not determinants.
    """
    n = entries.n_items
    wanted = n if k is None else k
    m = min(n, max(_CANDIDATES, 20 * (k or 0)))
    # A subset of the items may have too small a rank; then all items are tried.
    for candidates in (np.sort(rng.choice(n, m, replace=False)), np.arange(n)) if m < n else (np.arange(n),):
        found = _pick(entries, candidates, wanted, rng, adaptive=k is None)
        if k is None or len(found) == k:
            return found
    raise SizeError(f"k is {k}, but the kernel has rank {len(found)}: its sets have 0 to {len(found)} items")


def _pick(
    entries: KernelEntries, candidates: IntArray, wanted: int, rng: np.random.Generator, *, adaptive: bool
) -> IntArray:
    """Pick `wanted` candidates, each with probability proportional to its residual; fewer if residuals are small."""
    if len(candidates) == entries.n_items:
        residual = np.array(entries.diagonal())
    else:
        parts = np.array_split(candidates, max(1, len(candidates) // 128))
        residual = np.concatenate([np.diagonal(entries.block(part, part)).real for part in parts])
    floor = 64.0 * max(len(candidates), 8) * EPS * residual
    share = entries.n_items / max(len(candidates), 1)
    rows: list[Array] = []
    picked: list[int] = []
    while len(picked) < min(wanted, len(candidates)):
        open_ = np.where(residual > floor, residual, 0.0)
        cumulative = np.cumsum(open_)
        if cumulative[-1] <= 0.0 or (adaptive and share * cumulative[-1] <= len(picked)):
            break
        at = min(int(np.searchsorted(cumulative, rng.random() * cumulative[-1], side="right")), len(open_) - 1)
        column = entries.block(candidates, candidates[[at]])[:, 0]
        if rows:
            C = np.array(rows)
            column = column - C.T @ C[:, at].conj()
        column = column / math.sqrt(open_[at])
        rows.append(column)
        residual = residual - squared_modulus(column)
        residual[at] = 0.0
        picked.append(at)
    return candidates[picked] if picked else np.zeros(0, dtype=np.int64)


class MCMCSampler(Sampler):
    """Independent chains from independent warm starts; the last state of each is a draw. Approximate.

    A chain takes ``default_steps`` steps unless `steps` are given.
    """

    name = "mcmc"
    exact = False

    def __init__(self, source: Representation | KernelEntries, k: int | None = None, steps: int | None = None) -> None:
        self._entries = read_entries(source)
        self._k = None if k is None else check_size(k)
        self._steps = None if steps is None else check_count(steps, name="steps")

    @property
    def chunk(self) -> int:
        """One: a draw takes long."""
        return 1

    def draw(self, rng: np.random.Generator) -> IntArray:
        """One draw."""
        start = warm_start(self._entries, self._k, rng)
        walker = _Walker(self._entries, start, self._k is not None, rng)
        left = default_steps(self._entries.n_items, len(start)) if self._steps is None else self._steps
        while left and self._entries.n_items:
            window = min(left, max(_WINDOW, len(start)))
            walker.advance(window)
            left -= window
        return np.sort(walker.items)


def mcmc_chain(
    target: DPP | KDPP | KernelFunction,
    *,
    k: int | None = None,
    size: int,
    burn_in: int | None = None,
    thin: int | None = None,
    start: ChainState | Iterable[int] | None = None,
    n_chains: int = 1,
    max_seconds: float | None = None,
    rng: RNGLike = None,
) -> Chain:
    r"""Run Markov chains over sets and keep every `thin`-th state: approximate draws, with diagnostics.

    Parameters
    ----------
    target : DPP, KDPP or KernelFunction
        The law, proportional to :math:`\det L_Y`; a DPP whose K has an eigenvalue 1 has no L and raises an error.
    k : int, optional
        Size of the sets, for the k-DPP of a DPP or kernel function.
    size : int
        Number of states to keep for each chain.
    burn_in : int, optional
        Steps before the first kept state; by default ``default_steps``, and 0 if `start` is a state.
    thin : int, optional
        Steps between kept states; by default the number of items at the start, at least 1.
    start : ChainState or iterable of int, optional
        The ``state`` of an earlier chain, or a set; by default a random set (``warm_start``) for each chain.
    n_chains : int
        Number of independent chains; two or more give ``r_hat``.
    max_seconds : float, optional
        Stop after about this time and return the states so far, with ``complete`` False.
    rng : int, Generator or None
        Seed or generator. The same seed gives the same chain.

    Returns
    -------
    Chain
        Sets, log weights, acceptance rate, effective sample size, ``r_hat`` and the state to continue from.

    Examples
    --------
    >>> import numpy as np, diverset as dv
    >>> B = np.random.default_rng(0).standard_normal((200, 10))
    >>> chain = mcmc_chain(dv.DPP.from_features(B), k=5, size=500, n_chains=2, rng=0)
    >>> len(chain), {len(Y) for Y in chain.sets}, round(chain.r_hat, 1)
    (1000, {5}, 1.0)
    """
    entries, labels, k = _read_target(target, k)
    count, chains = check_count(size, name="size"), check_count(n_chains, name="n_chains")
    limit = math.inf if max_seconds is None else time.monotonic() + check_positive(max_seconds, name="max_seconds")
    generator = as_generator(rng)
    streams = children(generator, chains)
    starts = _starts(entries, labels, k, start, streams)
    walkers = [_Walker(entries, Y, k is not None, stream) for Y, stream in zip(starts, streams, strict=True)]
    longest = max(len(Y) for Y in starts)
    every = max(1, longest) if thin is None else check_count(thin, name="thin")
    if burn_in is None:
        ahead = 0 if isinstance(start, ChainState) else default_steps(entries.n_items, longest)
    else:
        ahead = check_size(burn_in, name="burn_in")
    total = ahead + count * every
    window = max(_WINDOW, longest)
    sets: list[list[IntArray]] = [[] for _ in walkers]
    log_weights: list[list[FloatArray]] = [[] for _ in walkers]
    done = 0
    while done < total and time.monotonic() < limit:
        steps = min(window, total - done)
        # States are kept after steps ahead + every, ahead + 2 every, ...
        next_kept = ahead + every * (1 + max(0, (done - ahead) // every)) - done
        for walker, kept, weights in zip(walkers, sets, log_weights, strict=True):
            states, values = walker.advance(steps, next_kept, every)
            kept.extend(labels[Y] for Y in states)
            weights.append(values)
        done += steps
    return Chain(
        sets=[Y for kept in sets for Y in kept],
        log_weights=np.array([np.concatenate([np.zeros(0), *weights]) for weights in log_weights]),
        acceptance_rate=sum(w.accepted for w in walkers) / max(sum(w.steps for w in walkers), 1),
        complete=done == total,
        state=ChainState(tuple(labels[w.items] for w in walkers)),
    )


def _read_target(target: DPP | KDPP | KernelFunction, k: int | None) -> tuple[KernelEntries, IntArray, int | None]:
    """The kernel, the labels of its items and the size, checked."""
    if isinstance(target, KDPP):
        if k is not None and k != target.k:
            raise SizeError(f"k is {k}, but the target is a k-DPP with k = {target.k}; leave k out")
        k, target = target.k, target.dpp
    if isinstance(target, DPP):
        entries, labels = read_entries(target._representation), target.items
    elif isinstance(target, KernelFunction):
        entries, labels = target, np.arange(target.n_items, dtype=np.int64)
    else:
        raise DiversetError(
            f"the target is a {type(target).__name__}; mcmc_chain takes a DPP, a KDPP or a KernelFunction"
        )
    if len(labels) == 0:
        raise DiversetError("the ground set is empty, so the only draw is the empty set and a chain has no moves")
    size = None if k is None else check_size(k)
    if size is not None and size > len(labels):
        raise SizeError(f"k is {size}, but there are {len(labels)} items")
    return entries, labels, size


def _starts(
    entries: KernelEntries,
    labels: IntArray,
    k: int | None,
    start: ChainState | Iterable[int] | None,
    streams: list[np.random.Generator],
) -> list[IntArray]:
    """Positions at which the chains start, in the order of their slots."""
    if start is None:
        return [warm_start(entries, k, stream) for stream in streams]
    if isinstance(start, ChainState):
        if len(start.items) != len(streams):
            raise DiversetError(f"start has the state of {len(start.items)} chains, but n_chains is {len(streams)}")
        given = [np.asarray(items) for items in start.items]
        for items in given:
            find_positions(items, labels, name="start")
        positions = [np.searchsorted(labels, items).astype(np.int64) for items in given]
    else:
        positions = [find_positions(start, labels, name="start")] * len(streams)
    for Y in positions:
        if k is not None and len(Y) != k:
            raise SizeError(f"start has {len(Y)} items, but k is {k}")
        if _log_weight(entries.block(Y, Y)) == -math.inf:
            raise ImpossibleEventError(f"start is {labels[Y].tolist()}, a set of probability 0; leave it out")
    return positions
