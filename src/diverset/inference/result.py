"""What selecting returns: the items, in order, and numbers about them."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field, fields
from typing import Any, ClassVar, Protocol

import numpy as np

from diverset._result import Result
from diverset._typing import FloatArray, IntArray

__all__ = ["Facts", "Selection"]


class Facts(Protocol):
    """Where a selection came from, and what can be asked about it afterwards."""

    def kept(self, positions: IntArray) -> float | None:
        """Share of quality that the positions keep; None without scores."""

    def redundancy(self, positions: IntArray) -> float:
        """Mean similarity of an item to the item most like it."""

    def best(self, k: int) -> IntArray:
        """The k best items by quality alone."""


@dataclass(frozen=True, eq=False)
class Selection(Result):
    """A chosen set, usable as an index: ``x[selection]`` picks its rows, in pick order.

    Parameters
    ----------
    indices : ndarray of int64
        Items, in the order they were picked (ascending where a method has no order).
    gains : ndarray of shape (len(indices),)
        What each pick added to the objective.
    log_det : float
        Log-determinant of the kernel (or similarity) over the set; ``-inf`` past the rank.
    objective : float
        What was maximised: the log-determinant itself, or the quality-diversity trade-off of ``select``. It is the sum
        of the gains.
    log_prob : float or None
        Log-probability under the DPP or k-DPP, where there is one.
    upper_bound : float or None
        No set has a larger objective, where that is known.
    rank_spent : int or None
        Number of picks after which no item was linearly independent of the picks; None if that did not happen.
    labels : sequence or None
        Labels of the items, where the input had an index of its own (a data frame).
    diversity : float or None
        The dial that was used; with ``keep``, the one that was found.
    scale : str or None
        How the scores were calibrated.
    notes : tuple of str
        What the caller should know about this result, in plain sentences.
    """

    _page: ClassVar[str] = "select"

    indices: IntArray
    gains: FloatArray
    log_det: float
    objective: float
    log_prob: float | None = None
    upper_bound: float | None = None
    rank_spent: int | None = None
    labels: Any = None
    diversity: float | None = None
    scale: str | None = None
    notes: tuple[str, ...] = ()
    _facts: Facts | None = field(default=None, repr=False)

    @property
    def gap(self) -> float:
        """How far the objective can be from the best: 0 is proven optimal, ``inf`` is not known."""
        return math.inf if self.upper_bound is None else self.upper_bound - self.objective

    @property
    def kept(self) -> float | None:
        """Share of quality kept: 0 is the mean of all candidates, 1 the mean of the best k; None without scores."""
        return None if self._facts is None else self._facts.kept(self.indices)

    @property
    def redundancy(self) -> float | None:
        """Mean similarity of a pick to the pick most like it: 1 for copies, 0 for picks with nothing in common."""
        return None if self._facts is None else self._facts.redundancy(self.indices)

    @property
    def redundancy_before(self) -> float | None:
        """The same for as many of the best items by quality alone."""
        return None if self._facts is None else self._facts.redundancy(self._facts.best(len(self)))

    def take(self, data: Any) -> Any:
        """The chosen rows of an array, sparse matrix, tensor, frame, column or list, in pick order.

        Examples
        --------
        >>> import diverset as dv
        >>> dv.select([[1.0, 0.0], [1.0, 0.1], [0.0, 1.0]], k=2).take(["a", "b", "c"])
        ['a', 'c']
        """
        from diverset.inference.inputs import take_rows

        return take_rows(data, self.indices)

    def records(self) -> list[dict[str, Any]]:
        """One row per pick: rank, index, gain, and the label where items have one."""
        rows = [
            {"rank": rank, "index": int(i), "gain": float(gain)}
            for rank, (i, gain) in enumerate(zip(self.indices, self.gains, strict=True), start=1)
        ]
        if self.labels is None:
            return rows
        return [row | {"label": label} for row, label in zip(rows, self.labels, strict=True)]

    def to_dict(self) -> dict[str, Any]:
        """The picks and the numbers about them, in a form that JSON can hold."""
        names = ("log_det", "objective", "log_prob", "upper_bound", "diversity", "scale", "kept", "redundancy")
        numbers = {name: getattr(self, name) for name in names}
        finite = {name: None if value in (math.inf, -math.inf) else value for name, value in numbers.items()}
        return {"picks": self.records(), **finite, "notes": list(self.notes)}

    def __len__(self) -> int:
        return len(self.indices)

    def __iter__(self) -> Iterator[int]:
        return iter(self.indices.tolist())

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> IntArray:
        result: IntArray = np.array(self.indices, dtype=dtype)
        return result

    def __str__(self) -> str:
        lines = [f"{len(self)} picks: {', '.join(map(str, self.indices[:20].tolist()))}" + ", ..." * (len(self) > 20)]
        if self.kept is not None and self.redundancy is not None and self.redundancy_before is not None:
            lines.append(
                f"kept {self.kept:.0%} of quality; redundancy {self.redundancy:.2f}, {self.redundancy_before:.2f} by "
                "quality alone"
            )
        return "\n".join([*lines, *self.notes])

    def __getstate__(self) -> dict[str, Any]:
        state = {each.name: getattr(self, each.name) for each in fields(self)}
        # The facts refer to all candidates: a pickle holds the answers instead.
        if self._facts is not None:
            state["_facts"] = _Answers(self.kept, self.redundancy, self.redundancy_before)
        return state


@dataclass(frozen=True)
class _Answers:
    """Facts about one selection, without the candidates they were computed from."""

    kept_: float | None
    redundancy_: float | None
    before: float | None

    def kept(self, positions: IntArray | None) -> float | None:
        return self.kept_

    def redundancy(self, positions: IntArray | None) -> Any:
        return self.before if positions is None else self.redundancy_

    def best(self, k: int) -> Any:
        return None
