"""A choice of items as numbers: qualities, similarities in one of three forms, and what can be asked of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from diverset._typing import Array, FloatArray, IntArray, RNGLike
from diverset.errors import DiversetError, KernelError
from diverset.inference.engine import Limits, Picks, greedy_dense
from diverset.inference.inputs import Items, as_column
from diverset.inference.result import Selection
from diverset.inference.rows import greedy_rows, squared_norms
from diverset.numerics._loops import all_finite
from diverset.numerics.linalg import EPS, log_det_gram, log_det_psd
from diverset.numerics.validation import (
    as_hermitian,
    check_fits_in_memory,
    check_positive_semidefinite,
    is_sparse,
)

if TYPE_CHECKING:
    from diverset.core import DPP

__all__ = ["Problem", "after_picks"]


class Problem:
    """Similarity and quality, read once; knows how to score and pick."""

    def __init__(self, items: Items, similarity: str | Callable[..., Any], quality: Any, dial: float) -> None:
        self.items = items
        self.n = items.n
        self.dial = dial
        self.plain = quality is None
        self.quality = (
            np.zeros(self.n) if quality is None else as_column(quality, self.n, name="quality", labels=items.labels)
        )
        self.rows: Array | None = None  # features of a linear kernel,
        self.sparse_rows: Any = None  # or a CSR matrix of them,
        self.kernel: Array | None = None  # or the kernel itself
        if similarity in ("cosine", "dot"):
            self._read_rows(similarity == "cosine")
        else:
            self._read_kernel(similarity)

    def _read_rows(self, cosine: bool) -> None:
        rows = self.items.features
        if is_sparse(rows):
            from diverset.kernels._arrays import as_features

            rows = as_features(rows, name="features", allow_sparse=True)
        elif not isinstance(rows, np.memmap) and not rows.flags.c_contiguous:
            rows = np.ascontiguousarray(rows)
        norms = _row_norms(rows)
        if cosine and not norms.all():
            i = int(norms.argmin())
            raise KernelError(
                f"features[{i}] is all zeros, and a zero vector has no direction; leave the item out, or use "
                'similarity="dot" or "rbf"'
            )
        if is_sparse(rows):
            self.sparse_rows = rows
        else:
            self.rows = rows
        self.factor = 1.0 / norms if cosine else np.ones(self.n)
        # Unit vectors have norm 1 exactly, so that equal items tie exactly.
        self.scale = np.ones(self.n) if cosine else norms

    def _read_kernel(self, similarity: str | Callable[..., Any]) -> None:
        X = self.items.features
        check_fits_in_memory(24 * self.n**2, what=f"the similarity of {self.n} items")
        if similarity == "precomputed":
            S = as_hermitian(X, name="features")
        elif callable(similarity):
            S = as_hermitian(similarity(X), name="similarity(features)")
        elif similarity == "rbf":
            from diverset.kernels import rbf

            S = rbf(X.toarray() if is_sparse(X) else X) if self.n > 1 else np.ones((self.n, self.n))
        else:
            raise DiversetError(
                f"similarity is {similarity!r}; choose cosine, rbf, dot, precomputed, or pass a function"
            )
        if len(S) != self.n:
            raise KernelError(f"similarity(features) has shape {S.shape} for {self.n} items; it must be square")
        if similarity == "precomputed" or callable(similarity):
            check_positive_semidefinite(
                S,
                name="similarity",
                given=X,
                remedy="a similarity must be positive semidefinite (diverset.kernels.nearest_psd repairs one)",
            )
        self.kernel = S

    @property
    def bonus(self) -> FloatArray:
        """What each item earns for itself."""
        return (1.0 - self.dial) * self.quality

    def greedy(self, k: int, shown: IntArray, limits: Limits) -> Picks:
        """One item after the other, each the best beside those before it; plain top-k where the dial is 0."""
        if self.dial == 0.0:
            return self._top(k, limits)
        bonus = self.bonus
        if len(limits.costs):
            bonus -= self.dial * np.log(limits.costs)
        if self.rows is not None:
            given = np.sqrt(self.factor[shown])[:, None] * self.rows[shown].astype(np.float64) if len(shown) else None
            picks = greedy_rows(
                self.rows,
                min(k, self.n),
                scale=self.scale,
                factor=self.factor,
                bonus=bonus,
                weight=self.dial,
                limits=limits,
                given=given,
            )
        elif self.sparse_rows is not None:
            from diverset.inference.sparse import greedy_sparse

            picks = greedy_sparse(
                self.sparse_rows,
                k,
                scale=self.scale,
                factor=self.factor,
                bonus=bonus,
                weight=self.dial,
                limits=limits,
                given=shown,
            )
        else:
            assert self.kernel is not None
            picks = self._greedy_kernel(min(k, self.n), shown, limits, bonus)
        if len(limits.costs):
            gains = picks.gains + self.dial * np.log(limits.costs[picks.positions])
            picks = replace(picks, gains=gains)
        return picks

    def _greedy_kernel(self, k: int, shown: IntArray, limits: Limits, bonus: FloatArray) -> Picks:
        assert self.kernel is not None
        picks = greedy_dense(self.kernel, k, bonus=bonus, weight=self.dial, limits=limits, given=shown)
        if len(picks.positions) == k or picks.rank_spent is None:
            return picks
        # Past the rank: eigenvectors give features of the kernel, and the row engine goes on from the picks so far.
        done = picks.positions
        lam, V = np.linalg.eigh(self.kernel)
        rows = np.ascontiguousarray((V * np.sqrt(np.maximum(lam, 0.0)))[:, lam > self.n * EPS * max(lam[-1], 0.0)])
        more = greedy_rows(
            rows,
            k - len(done),
            scale=np.einsum("ij,ij->i", rows, rows),
            factor=np.ones(self.n),
            bonus=bonus,
            weight=self.dial,
            limits=after_picks(limits, done),
            given=rows[np.concatenate([shown, done])],
        )
        # Nothing more: the caps or the budget were spent, and not the rank.
        spent = picks.rank_spent if len(more.positions) else None
        return Picks(np.concatenate([done, more.positions]), np.concatenate([picks.gains, more.gains]), spent)

    def _top(self, k: int, limits: Limits) -> Picks:
        order = np.argsort(-self.quality, kind="stable")
        chosen: list[int] = []
        caps, left = limits.caps.copy(), limits.budget
        for i in order:
            if len(chosen) == k:
                break
            if not limits.available[i]:
                continue
            if len(limits.costs) and limits.costs[i] > left:
                continue
            if len(caps):
                if caps[limits.groups[i]] == 0:
                    continue
                caps[limits.groups[i]] -= 1
            left -= limits.costs[i] if len(limits.costs) else 0.0
            chosen.append(int(i))
        positions = np.array(chosen, dtype=np.int64)
        return Picks(positions, self.quality[positions], None)

    def log_det(self, positions: IntArray) -> float:
        """Log-determinant of the similarity over the positions."""
        if self.kernel is None:
            if self.rows is not None:
                B = np.sqrt(self.factor[positions])[:, None] * self.rows[positions].astype(np.float64)
            else:
                from diverset.inference.sparse import dense_rows

                B = dense_rows(self.sparse_rows, self.factor, positions)
            return log_det_gram(B, EPS * np.sqrt(np.einsum("ij,ij->i", B, B)))
        S = self.kernel[np.ix_(positions, positions)]
        return log_det_psd(S, EPS * np.diagonal(S).real)

    def selection(
        self,
        positions: IntArray,
        gains: FloatArray,
        spent: int | None,
        *,
        log_det: float | None = None,
        upper_bound: float | None = None,
    ) -> Selection:
        """Picks with the numbers that speak for them."""
        log_det = self.log_det(positions) if log_det is None else log_det
        objective = (1.0 - self.dial) * float(self.quality[positions].sum())
        if self.dial > 0.0:
            objective += self.dial * log_det
        labels = None if self.items.labels is None else self.items.labels[positions]
        return Selection(
            indices=positions,
            gains=gains,
            log_det=log_det,
            objective=objective,
            rank_spent=spent,
            labels=labels,
            upper_bound=upper_bound,
        )

    def dpp(self, shown: IntArray, limits: Limits) -> DPP:
        """The DPP of the same objective, over what can be picked beside the items already shown."""
        from diverset.core import DPP

        w = (1.0 - self.dial) / self.dial
        # A common factor changes no k-DPP; without it the exponential could overflow.
        q = np.exp(0.5 * w * (self.quality - self.quality.max(initial=0.0)))
        if self.rows is not None:
            dpp = DPP.from_features(self.rows, quality=q * np.sqrt(self.factor))
        elif self.sparse_rows is not None:
            # These methods need the whole kernel anyway, and words of texts are more than the texts.
            from diverset.kernels import dot

            S = dot(self.sparse_rows.multiply(np.sqrt(self.factor)[:, None]).tocsr())
            np.fill_diagonal(S, self.scale)
            dpp = DPP.from_quality_diversity(q, S)
        else:
            assert self.kernel is not None
            dpp = DPP.from_quality_diversity(q, self.kernel)
        closed = np.flatnonzero(~limits.available & ~np.isin(np.arange(self.n), shown))
        return dpp.condition(include=shown, exclude=closed)

    def whole(self, method: str, k: int, shown: IntArray, limits: Limits, rng: RNGLike) -> Selection:
        """Methods that look at sets, through the DPP of the same objective."""
        dpp = self.dpp(shown, limits)
        size = min(k, dpp.rank)
        if method == "sample":
            found = Selection(dpp.of_size(size).sample(rng=rng), np.zeros(size), 0.0, 0.0)
        elif method == "exact":
            from diverset.inference.exact import map_exact

            found = map_exact(dpp, size)
        else:
            from diverset.inference.local_search import map_local_search

            found = map_local_search(dpp, size)
        positions = np.asarray(found.indices, dtype=np.int64)
        gains = self._gains_in_order(positions, shown)
        bound = None
        if found.upper_bound is not None:
            bound = self.dial * found.upper_bound + (1.0 - self.dial) * size * float(self.quality.max(initial=0.0))
        if len(positions) < min(k, int(limits.available.sum())):
            rest = limits.available.copy()
            rest[positions] = False
            more = self.greedy(k - len(positions), np.union1d(shown, positions), replace(limits, available=rest))
            spent = len(positions)
            positions = np.concatenate([positions, more.positions])
            return self.selection(positions, np.concatenate([gains, more.gains]), spent)
        return self.selection(positions, gains, None, upper_bound=bound)

    def _gains_in_order(self, positions: IntArray, shown: IntArray) -> FloatArray:
        """What each item adds to those before it."""
        before = self.log_det(shown) if len(shown) else 0.0
        gains = np.empty(len(positions))
        for t in range(len(positions)):
            after = self.log_det(np.concatenate([shown, positions[: t + 1]]))
            gains[t] = self.bonus[positions[t]] + self.dial * (after - before)
            before = after
        return gains


def after_picks(limits: Limits, picks: IntArray) -> Limits:
    """What the limits leave once these have been picked."""
    available = limits.available.copy()
    available[picks] = False
    caps, budget = limits.caps, limits.budget
    if len(caps):
        caps = caps - np.bincount(limits.groups[picks], minlength=len(caps))
        available &= caps[limits.groups] > 0
    if len(limits.costs):
        budget = budget - float(limits.costs[picks].sum())
    return replace(limits, available=available, caps=caps, budget=budget)


def _row_norms(rows: Any) -> FloatArray:
    """Squared norms in double precision; refuses what is not finite, naming it."""
    if is_sparse(rows):
        from diverset.inference.sparse import squared_norms_sparse

        with np.errstate(over="ignore", invalid="ignore"):
            norms = squared_norms_sparse(rows)
    else:
        norms = squared_norms(rows)
    if not all_finite(norms):
        i = int(np.flatnonzero(~np.isfinite(norms))[0])
        if not is_sparse(rows) and not np.isfinite(rows[i]).all():  # sparse entries were looked at when read
            j = int(np.flatnonzero(~np.isfinite(rows[i]))[0])
            raise KernelError(f"features[{i}, {j}] is {rows[i, j]}; every entry must be finite")
        raise KernelError(f"features[{i}] has a norm beyond the range of floats; divide the features by a constant")
    return norms
