"""The result of a selection: the items, in order, and numbers about them."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from diverset._result import Result
from diverset._typing import FloatArray, IntArray
from diverset.inference.inputs import warn_once

if TYPE_CHECKING:
    from diverset.inference.problem import Problem

__all__ = ["Selection", "describe_places"]


@dataclass(frozen=True, eq=False)
class Selection(Result):
    """A chosen set, usable as an index: ``x[selection]`` picks its rows, in pick order.

    Parameters
    ----------
    indices : ndarray of int64
        Items, in the order in which they were picked (ascending if the method has no order).
    gains : ndarray of shape (len(indices),)
        Gain in the objective from each pick.
    log_det : float
        Log-determinant of the kernel (or similarity) over the set; ``-inf`` if the set exceeds the rank.
    objective : float
        The value maximised, the sum of the gains: the log-determinant, or the trade-off of ``select``.
    log_prob : float or None
        Log-probability under the DPP or k-DPP, if there is one.
    upper_bound : float or None
        Upper bound on the objective of every set, if one is known.
    rank_spent : int or None
        Number of picks after which every remaining item depended linearly on the picks; None if that did not happen.
    labels : sequence or None
        Labels of the items, if the input had an index (a data frame).
    diversity : float or None
        The dial used; with ``keep``, the dial found.
    scale : str or None
        Calibration of the scores.
    notes : tuple of str
        Remarks about this result, such as a warning or the reason why a request was not met.
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
    _facts: Callable[[], Problem] | None = field(default=None, repr=False)

    @classmethod
    def of(cls, **values: Any) -> Selection:
        """A selection with these fields, in a third of the constructor's time, for calls that create thousands."""
        self = cls.__new__(cls)
        self.__dict__.update(values)
        return self

    @property
    def gap(self) -> float:
        """Largest possible distance of the objective from the optimum: 0 if proven optimal, ``inf`` if unknown."""
        return math.inf if self.upper_bound is None else self.upper_bound - self.objective

    @cached_property
    def kept(self) -> float | None:
        """Share of quality kept: 0 is the mean of all candidates, 1 the mean of the best k; None without scores."""
        return None if self._facts is None else self._facts().kept(self.indices)

    @cached_property
    def redundancy(self) -> float | None:
        """Mean similarity of a pick to its nearest other pick: 1 for duplicates, 0 for unrelated picks."""
        return None if self._facts is None else self._facts().redundancy(self.indices)

    @cached_property
    def redundancy_before(self) -> float | None:
        """Redundancy of the set of the same size that is best by quality alone."""
        return None if self._facts is None else (facts := self._facts()).redundancy(facts.best(len(self)))

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
        """One row per pick: rank, index, gain, and the label if items have labels."""
        labels = [{}] * len(self) if self.labels is None else [{"label": label} for label in self.labels]
        rows = zip(range(1, len(self) + 1), self.indices.tolist(), self.gains.tolist(), labels, strict=True)
        return [{"rank": rank, "index": i, "gain": gain} | label for rank, i, gain, label in rows]

    def to_dict(self) -> dict[str, Any]:
        """The picks and the numbers about them, as a dictionary that can be written as JSON."""
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
        # `_facts` refers to all candidates, so the pickle holds the computed numbers instead.
        answers = {name: getattr(self, name) for name in ("kept", "redundancy", "redundancy_before")}
        return {**self.__dict__, **answers, "_facts": None}


def describe_places(n_picks: int, n: int, better: int, above_all: int, dial: float) -> tuple[str, ...]:
    """Remarks about picks from n items; `better` unpicked items exceed some pick, and `above_all` exceed every pick."""
    if 0 < n_picks < n and better == 0:
        topic, note = "top-k", f"the picks are the best {n_picks} by quality alone, although diversity is {dial:g}"
    elif 2 * above_all >= n > 1:
        topic, note = "worse half", f"no pick is among the better half by quality; diversity is {dial:g}"
    else:
        return ()
    warn_once(topic, note)
    return (note,)
