r"""Removal of near-duplicates from large collections of embeddings: one row of each group is kept, with a report.

Rows are processed in order of preference. A row is dropped if its cosine to a row kept so far reaches the threshold,
and kept otherwise. So no two kept rows are near-duplicates, and every dropped row is a near-duplicate of the kept row
that represents it.

Small collections are compared exactly. In larger ones, a row is compared with the kept rows that share its bucket in
one of several hash tables. A digit of a bucket is the side of a random plane (Charikar 2002), or the closest of some
random directions and their opposites (Andoni et al. 2015), relative to a point near the mean of the data. A pair at the
threshold shares a bucket in at least one table with probability `recall`; for closer pairs the probability is higher.

Rows in a narrow cone share buckets with many others, which makes near-duplicates hard to separate. If the requested
recall would take too long, it is lowered to fit the time budget, with a warning.
"""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from diverset._typing import Array, BoolArray, FloatArray, IntArray, RNGLike
from diverset.errors import DiversetError, DiversetWarning
from diverset.inference.inputs import as_column, read_items
from diverset.numerics.validation import as_generator, as_number, check_finite, is_sparse

__all__ = ["NearDuplicates", "drop_near_duplicates"]

_BLOCK = 2048
#: Number of rows in the sample that determines the number of digits and tables.
_SAMPLE = 2000
_MOST_BITS, _MOST_TABLES, _MOST_BYTES = 24, 400, 4 << 30
#: Candidates for the number of directions per digit of a bucket.
_DIRECTIONS = (1, 8)
#: Costs in units of about 0.05 ns: looking a row up in one table, comparing it with a row elsewhere in memory, finding
#: the largest of some coordinates (per coordinate), and one multiplication in a matrix product.
_VISIT, _JUMP, _LOOK, _MULTIPLY = 3000.0, 3000.0, 50.0, 0.4
#: Largest cost per row of ``method="auto"``, about 0.1 ms.
_BUDGET = 2.5e6


@dataclass(frozen=True, eq=False)
class NearDuplicates:
    """Kept and dropped rows, and the reason for each; ``print`` shows a report.

    Parameters
    ----------
    kept : ndarray of int64
        Kept rows, ascending.
    groups : ndarray of int64 of shape (n,)
        For every row, the kept row that represents it; a kept row represents itself.
    similarity : ndarray of shape (n,)
        Cosine of every row to the row that represents it.
    threshold : float
        The threshold.
    method : str
        ``"exact"`` or ``"hash"``.
    recall : float
        Probability that a pair at the threshold was compared; 1 for ``"exact"``.
    """

    kept: IntArray
    groups: IntArray
    similarity: FloatArray
    threshold: float
    method: str
    recall: float

    @property
    def dropped(self) -> IntArray:
        """Dropped rows, ascending."""
        return np.flatnonzero(self.groups != np.arange(len(self.groups)))

    def members(self, row: int) -> IntArray:
        """The rows that a kept row represents, including itself."""
        return np.flatnonzero(self.groups == row)

    def __str__(self) -> str:
        n, dropped = len(self.groups), self.dropped
        lines = [f"{n:,} rows: {len(self.kept):,} kept, {len(dropped):,} dropped (cosine {self.threshold:g} or more)"]
        if len(dropped):
            sizes = np.bincount(self.groups, minlength=n)
            largest = np.argsort(-sizes, kind="stable")[:3]
            named = ", ".join(f"{sizes[i]:,} (row {i})" for i in largest if sizes[i] > 1)
            low, middle = np.quantile(self.similarity[dropped], [0.0, 0.5])
            lines.append(f"kept rows that stand for others: {int((sizes > 1).sum()):,}; largest groups: {named}")
            lines.append(f"similarity of dropped rows to the row kept: lowest {low:.3f}, median {middle:.3f}")
        if self.method == "hash":
            lines.append(f"found by hashing: a pair at the threshold is seen with probability {self.recall:.3f}")
        return "\n".join(lines)


def drop_near_duplicates(
    X: Any,
    threshold: float = 0.95,
    *,
    quality: Any = None,
    method: str = "auto",
    recall: float = 0.99,
    rng: RNGLike = 0,
) -> NearDuplicates:
    r"""Keep one row of each group of near-duplicates, by cosine.

    Parameters
    ----------
    X : array_like of shape (n, n_features)
        Embeddings: an array, memory map, frame or tensor. Rows of zeros are duplicates of each other.
    threshold : float
        Rows whose cosine is at least this are near-duplicates; above 0 and up to 1.
    quality : array_like of shape (n,), optional
        The row of highest quality in a group is kept. By default, the first row is kept.
    method : {"auto", "exact", "hash"}
        ``"exact"`` compares with all kept rows, ``"hash"`` with those that share a bucket. ``"auto"`` chooses the one
        that should be faster, and lowers the recall if both would take more than about 0.15 ms of processor time per
        row. Up to 2,048 rows are always compared exactly.
    recall : float
        With hashing, the probability that a pair at the threshold is compared. For every recall, a dropped row is a
        near-duplicate of a kept row.
    rng : int, Generator or None
        Seed or generator for the random directions; a fixed seed by default.

    Returns
    -------
    NearDuplicates
        ``kept`` rows, ``groups`` (the kept row that represents each row), and a report by ``print``.

    Notes
    -----
    ``"exact"`` takes O(n m D) for m kept rows, and O(n) memory in addition to X. ``"hash"`` takes O(n L b D) for L
    tables of b directions, and at most 4 GB. A million rows of 64 features take about 25 s of processor time; in a
    narrow cone (cosines of 0.8 on average) 150 seconds at a recall of 0.94, where ``"exact"`` would take 650.
    ``"auto"`` issues a :class:`~diverset.errors.DiversetWarning` if it lowers the recall.

    Examples
    --------
    >>> from diverset.integrations.curation import drop_near_duplicates
    >>> found = drop_near_duplicates([[1.0, 0.0], [0.0, 1.0], [1.0, 0.01], [0.0, 2.0]])
    >>> found.kept
    array([0, 1])
    >>> print(found)
    4 rows: 2 kept, 2 dropped (cosine 0.95 or more)
    kept rows that stand for others: 2; largest groups: 2 (row 0), 2 (row 1)
    similarity of dropped rows to the row kept: lowest 1.000, median 1.000
    """
    least = as_number(threshold, name="threshold")
    if not 0.0 < least <= 1.0:
        raise DiversetError(f"threshold is {threshold!r}; it is a cosine above 0 and up to 1")
    wanted = as_number(recall, name="recall")
    if not 0.0 < wanted < 1.0:
        raise DiversetError(f'recall is {recall!r}; it lies between 0 and 1 (method="exact" finds all)')
    if method not in ("auto", "exact", "hash"):
        raise DiversetError(f'method is {method!r}; choose "auto", "exact" or "hash"')
    items = read_items(X, name="X")
    features = items.features
    if is_sparse(features):
        raise DiversetError("X is sparse; near-duplicates are found among dense rows such as embeddings")
    n = items.n
    order = np.arange(n)
    if quality is not None:
        order = np.argsort(-as_column(quality, n, name="quality", labels=items.labels), kind="stable")
    # Allow for rounding, so that duplicates reach a threshold of 1.
    bound = least - (1e-6 if features.dtype == np.float32 else 1e-12)
    rows = _Rows(features)
    plan = None if method == "exact" or n <= _BLOCK else _planned(rows, order, least, wanted, rng, method)
    if plan is not None and method == "auto" and plan.recall < wanted:
        warnings.warn(
            f"the rows are so alike that a recall of {wanted:g} would take too long; it is {plan.recall:.2f} (for all "
            'pairs at any cost: method="exact")',
            DiversetWarning,
            stacklevel=2,
        )
    index: _Index = _Index(rows, bound) if plan is None else _Tables(rows, bound, plan, n)
    groups, similarity = order.copy(), np.ones(n)
    groups[order] = order
    for start in range(0, n, _BLOCK):
        block = order[start : start + _BLOCK]
        unit, empty = rows.unit(block)
        nearest, cosine = index.match(unit, empty)
        _among_themselves(unit, empty, block, nearest, cosine, bound)
        groups[block] = np.where(nearest < 0, block, nearest)
        similarity[block] = np.where(nearest < 0, 1.0, cosine)
        index.add(block, nearest < 0, empty)
    kept = np.flatnonzero(groups == np.arange(n))
    np.clip(similarity, -1.0, 1.0, out=similarity)
    if plan is None:
        return NearDuplicates(kept, groups, similarity, least, "exact", 1.0)
    return NearDuplicates(kept, groups, similarity, least, "hash", plan.recall)


class _Rows:
    """Rows normalised to length 1 on demand, and cosines to them."""

    def __init__(self, X: Array) -> None:
        self.X = X
        self.lengths: FloatArray = np.zeros(len(X))  # set for the rows used so far
        self.safe = True  # whether products with unscaled rows cannot overflow

    def unit(self, rows: IntArray) -> tuple[Array, BoolArray]:
        """Rows divided by their length, and which of them are all zeros."""
        part = np.array(self.X[rows])
        check_finite(part, name="X")
        # Divide by the largest entry first, so that no square overflows or underflows.
        largest = np.abs(part).max(axis=1, initial=0.0)
        empty: BoolArray = largest == 0.0
        part /= np.where(empty, 1.0, largest)[:, None]
        rest = np.where(empty, 1.0, np.sqrt(np.einsum("ij,ij->i", part, part)))
        part /= rest[:, None]
        self.lengths[rows] = largest.astype(np.float64) * rest
        self.safe &= bool((empty | (largest > 1e-15) & (largest < 1e15)).all())
        return part, empty

    def cosines(self, unit: Array, rows: IntArray) -> FloatArray:
        """Cosines of rows of length 1 to the same number of rows that were normalised before."""
        if not self.safe:
            others, lengths = self.unit(rows)[0], np.ones(len(rows))
        else:
            others, lengths = self.X[rows], self.lengths[rows]
        cosines: FloatArray = np.einsum("ij,ij->i", unit, others) / lengths
        return cosines


def _among_themselves(
    unit: Array, empty: BoolArray, block: IntArray, nearest: IntArray, cosine: FloatArray, bound: float
) -> None:
    """Match rows of a block that have no match in earlier blocks to earlier rows of the same block, in place."""
    left = np.flatnonzero(nearest < 0)
    S = unit[left] @ unit[left].T
    if empty.any():
        S[np.ix_(empty[left], empty[left])] = 1.0
    near = S >= bound
    open_ = np.ones(len(left), dtype=bool)
    for j in np.flatnonzero(np.count_nonzero(near, axis=1) > 1):  # rows with a near-duplicate
        before = np.where(near[j, :j] & open_[:j], S[j, :j], -math.inf)
        i = int(before.argmax()) if j else 0
        if j and before[i] > -math.inf:
            open_[j] = False
            nearest[left[j]], cosine[left[j]] = block[left[i]], S[j, i]


class _Index:
    """The kept rows; every row is compared with all of them."""

    def __init__(self, rows: _Rows, bound: float) -> None:
        self.rows, self.bound = rows, bound
        self.kept: IntArray = np.zeros(0, dtype=np.int64)
        self.empty = -1

    def add(self, block: IntArray, new: BoolArray, empty: BoolArray) -> None:
        """Add the new rows of the block that was matched last."""
        if (new & empty).any():
            self.empty = int(block[np.argmax(new & empty)])
        self.kept = np.concatenate([self.kept, block[new & ~empty]])

    def match(self, unit: Array, empty: BoolArray) -> tuple[IntArray, FloatArray]:
        """For each row, a kept row that is a near-duplicate, or -1, and the cosine of the two."""
        nearest = np.full(len(unit), -1, dtype=np.int64)
        cosine = np.full(len(unit), -math.inf)
        nearest[empty] = self.empty
        cosine[empty] = 1.0
        self._compare(unit, np.flatnonzero(~empty), nearest, cosine)
        return nearest, cosine

    def _compare(self, unit: Array, some: IntArray, nearest: IntArray, cosine: FloatArray) -> None:
        for start in range(0, len(self.kept), _BLOCK):
            part = self.kept[start : start + _BLOCK]
            S = unit[some] @ self.rows.unit(part)[0].T
            best = S.argmax(axis=1)
            value = S[np.arange(len(some)), best]
            better = (value >= self.bound) & (value > cosine[some])
            nearest[some[better]], cosine[some[better]] = part[best[better]], value[better]


@dataclass(frozen=True, eq=False)
class _Plan:
    """Parameters of the hash tables: digits, directions per digit, tables, offsets of directions, expected recall."""

    digits: int
    directions: int
    tables: int
    mean: FloatArray
    spread: float
    recall: float
    rng: np.random.Generator

    @property
    def buckets(self) -> int:
        return int((2 * self.directions) ** self.digits)

    def draw(self, digits: int) -> tuple[FloatArray, FloatArray]:
        """Random directions for some digits, and the offsets along them."""
        W = self.rng.normal(size=(len(self.mean), digits * self.directions))
        # Offsets differ from the mean: if most rows are duplicates, rounding must not decide their digits.
        return W, self.mean @ W + self.spread * self.rng.normal(size=W.shape[1])


def _digits(projected: Array, directions: int) -> IntArray:
    """The direction closest to each group of coordinates, of shape (n, groups)."""
    groups = projected.reshape(len(projected), -1, directions)
    if directions == 1:
        return np.asarray(groups[:, :, 0] > 0, dtype=np.int64)
    largest = np.abs(groups).argmax(axis=2)
    return np.asarray(2 * largest + (np.take_along_axis(groups, largest[:, :, None], axis=2)[:, :, 0] > 0))


def _planned(rows: _Rows, order: IntArray, least: float, recall: float, rng: RNGLike, method: str) -> _Plan | None:
    """The cheapest hash tables with this recall; None if comparing all pairs is cheaper.

    If both exceed the budget of ``method="auto"``, the tables within the budget that have the highest recall.
    """
    generator = as_generator(rng)
    n, D = len(order), rows.X.shape[1]
    sample = generator.choice(n, size=min(n, _SAMPLE), replace=False)
    unit, empty = rows.unit(np.sort(sample))
    unit = unit[~empty].astype(np.float64)
    if len(unit) < 2 or D < 2:
        return None
    mean = unit.mean(axis=0)
    spread = 0.25 * max(float(np.linalg.norm(unit - mean, axis=1).mean()), 0.01)
    # Pairs at the threshold: each row and a random row at this angle from it.
    step = generator.normal(size=unit.shape)
    step -= np.einsum("ij,ij->i", step, unit)[:, None] * unit
    other = least * unit + math.sqrt(1.0 - least**2) * step / np.linalg.norm(step, axis=1, keepdims=True)
    limit = math.inf if method == "hash" else _BUDGET * n
    all_pairs = 0.5 * _MULTIPLY * n * n * D
    best: tuple[tuple[float, float], _Plan] | None = None
    for directions in _DIRECTIONS:
        trial = _Plan(0, directions, 0, mean, spread, 0.0, generator)
        W, offset = trial.draw(256)
        seen = _digits(unit @ W - offset, directions)
        agree = (seen == _digits(other @ W - offset, directions)).mean(axis=1)
        digits = 1
        while (buckets := (2 * directions) ** digits) <= min(1 << _MOST_BITS, 4 * n):
            crowd = np.mean(
                [_meetings(seen[:, at : at + digits], 2 * directions) for at in range(0, 256 - digits, digits)]
            )
            work = digits * directions * (_MULTIPLY * D + _LOOK) + _VISIT + 0.5 * n * crowd * (2.0 * D + _JUMP)
            most = min(
                _MOST_TABLES,
                int(limit / (n * work)) if limit < math.inf else _MOST_TABLES,
                _MOST_BYTES // (4 * (n + buckets)),
            )
            if most > 0:
                tables, reached = _tables_for(agree**digits, recall, most)
                rank = (-min(reached, recall), n * tables * work)
                if best is None or rank < best[0]:
                    best = rank, replace(trial, digits=digits, tables=tables, recall=reached)
            digits += 1
    if best is None or (method == "auto" and all_pairs < (best[0][1] if best[1].recall >= recall else limit)):
        return None
    return best[1]


def _tables_for(shared: FloatArray, recall: float, most: int) -> tuple[int, float]:
    """The number of tables that gives this recall, at most `most`, and the recall reached.

    `shared` holds, for a sample of pairs, the probability that the pair shares a bucket.
    """
    tables = np.arange(1, most + 1)
    reached = 1.0 - np.exp(np.log1p(-np.minimum(shared, 1.0 - 1e-12))[:, None] * tables).mean(axis=0)
    at = min(int(np.searchsorted(reached, recall)), most - 1)
    return int(tables[at]), float(reached[at])


def _meetings(digits: IntArray, base: int) -> float:
    """Fraction of the pairs of rows that fall into the same bucket."""
    m = len(digits)
    counts = np.unique(digits @ base ** np.arange(digits.shape[1]), return_counts=True)[1]
    return float((counts * (counts - 1)).sum() / (m * (m - 1)))


class _Tables(_Index):
    """The kept rows in hash tables; a row is compared with the kept rows in its buckets.

    Each bucket is a linked list: ``head`` holds the last row added, ``before`` the row added before each row.
    """

    def __init__(self, rows: _Rows, bound: float, plan: _Plan, n: int) -> None:
        super().__init__(rows, bound)
        self.plan = plan
        W, offset = plan.draw(plan.tables * plan.digits)
        self.W, self.offset = W.astype(rows.X.dtype), offset.astype(rows.X.dtype)
        self.head = np.full((plan.tables, plan.buckets), -1, dtype=np.int32)
        self.before = np.empty((plan.tables, n), dtype=np.int32)

    def _codes(self, unit: Array) -> IntArray:
        """Bucket of each row in each table, of shape (tables, n)."""
        projected = unit @ self.W
        projected -= self.offset
        digits = _digits(projected, self.plan.directions).reshape(len(unit), self.plan.tables, self.plan.digits)
        # float32 products are fast, and exact for integers up to 2^24.
        base = (2 * self.plan.directions) ** np.arange(self.plan.digits)
        codes: IntArray = np.ascontiguousarray((digits.astype(np.float32) @ base.astype(np.float32)).T).astype(np.int64)
        return codes

    def _compare(self, unit: Array, some: IntArray, nearest: IntArray, cosine: FloatArray) -> None:
        self.codes = self._codes(unit)
        for head, before, code in zip(self.head, self.before, self.codes, strict=True):
            some = some[nearest[some] < 0]
            at = some
            place = head[code[at]]
            while True:
                at, place = at[place >= 0], place[place >= 0]
                if len(at) == 0:
                    break
                value = self.rows.cosines(unit[at], self.kept[place])
                hit = value >= self.bound
                nearest[at[hit]], cosine[at[hit]] = self.kept[place[hit]], value[hit]
                at, place = at[~hit], before[place[~hit]]

    def add(self, block: IntArray, new: BoolArray, empty: BoolArray) -> None:
        """Add rows at the front of the lists of their buckets."""
        first = len(self.kept)
        super().add(block, new, empty)
        codes = self.codes[:, new & ~empty]
        for head, before, code in zip(self.head, self.before, codes, strict=True):
            order = np.argsort(code, kind="stable")
            code, place = code[order], (order + first).astype(np.int32)
            starts = np.append(True, code[1:] != code[:-1])[: len(code)]
            before[place] = np.where(starts, head[code], np.roll(place, 1))
            ends = np.append(starts[1:], True)[: len(code)]
            head[code[ends]] = place[ends]
