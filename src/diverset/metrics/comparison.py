"""What a comparison of methods returns: settings with their numbers, and the one to use."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from diverset._result import Result
from diverset._typing import IntArray

__all__ = ["HEADINGS", "MEASURES", "Comparison", "Setting", "difference", "shown"]

#: Measures from judgements, and their headings.
MEASURES = {
    "alpha_ndcg": "alpha-nDCG",
    "ndcg": "nDCG",
    "subtopic_recall": "subtopic recall",
    "precision": "precision",
}
#: Measures of the picks alone, and their headings.
FACTS = {
    "kept": "quality kept",
    "redundancy": "redundancy",
    "log_volume": "log-volume",
    "vendi_score": "Vendi score",
    "overlap": "shared with top-k",
}
HEADINGS = MEASURES | FACTS


@dataclass(frozen=True, eq=False)
class Setting:
    """One way to pick: a method at one setting of its dial.

    Parameters
    ----------
    method : str
        Name of the method.
    dial : float or None
        Its diversity; None for a method without a dial.
    picks : tuple of ndarray of int64
        Positions among the candidates of each query, in pick order.
    numbers : dict of float
        Means over the queries, by the names in :data:`HEADINGS`; None where a number is not defined.
    gains : dict of (float, float, float)
        For each measure from judgements, the mean difference to top-k and its 95% interval (paired bootstrap over
        queries; the interval is NaN for a single query).
    """

    method: str
    dial: float | None
    picks: tuple[IntArray, ...]
    numbers: dict[str, float | None]
    gains: dict[str, tuple[float, float, float]]

    @property
    def name(self) -> str:
        """The method and its dial."""
        return self.method if self.dial is None else f"{self.method} at {self.dial:g}"


@dataclass(frozen=True, eq=False)
class Comparison(Result):
    """Methods at several settings of their dials, with what each one scores.

    Parameters
    ----------
    settings : tuple of Setting
        Everything that was tried, by method and dial.
    chosen : Setting or None
        The one to use: with judgements the one of the highest `measure`, or top-k where such a choice loses to it on
        other queries; without, the least redundant setting of the first method that keeps the share of quality asked
        for. None where there is nothing to go by.
    best : dict of Setting
        By the same rule, the best setting of every method.
    measure : str or None
        The measure that decides; None without judgements.
    queries : tuple
        Names of the queries; ``(None,)`` for a single one.
    notes : tuple of str
        What the caller should know, in plain sentences.
    """

    _page: ClassVar[str] = "compare"

    settings: tuple[Setting, ...]
    chosen: Setting | None
    best: dict[str, Setting]
    measure: str | None
    queries: tuple[Any, ...]
    notes: tuple[str, ...] = ()

    @property
    def columns(self) -> list[str]:
        """Names of the numbers that are defined for at least one setting."""
        return [name for name in HEADINGS if any(each.numbers.get(name) is not None for each in self.settings)]

    @property
    def headline(self) -> list[Setting]:
        """The settings that matter most: the whole dial of the first method, and the best setting of the others."""
        first = self.settings[0].method
        return [each for each in self.settings if each.method == first or each is self.best[each.method]]

    def records(self) -> list[dict[str, Any]]:
        """One dictionary for each setting, for a table."""
        rows = []
        for each in self.settings:
            row: dict[str, Any] = {"method": each.method, "diversity": each.dial, "chosen": each is self.chosen}
            for name in self.columns:
                row[name] = each.numbers[name]
                if name in each.gains:
                    row |= zip((f"{name}_gain", f"{name}_gain_low", f"{name}_gain_high"), each.gains[name], strict=True)
            rows.append(row)
        return rows

    @property
    def rows(self) -> list[dict[str, Any]]:
        """The same as :meth:`records`."""
        return self.records()

    def to_dict(self) -> dict[str, Any]:
        """All settings with their numbers and picks, in a form that JSON can hold."""
        rows = [
            row | {"picks": [picks.tolist() for picks in each.picks]}
            for row, each in zip(self.records(), self.settings, strict=True)
        ]
        chosen = None if self.chosen is None else self.chosen.name
        return {"chosen": chosen, "measure": self.measure, "settings": rows, "notes": list(self.notes)}

    def curve(self, method: str) -> list[Setting]:
        """The settings of one method, in the order of its dial."""
        return sorted((each for each in self.settings if each.method == method), key=lambda each: each.dial or 0.0)

    def __iter__(self) -> Iterator[Setting]:
        return iter(self.settings)

    def __len__(self) -> int:
        return len(self.settings)

    def __str__(self) -> str:
        columns = self.columns
        lines = [["", "method", *(HEADINGS[name] for name in columns)]]
        for each in self.headline:
            mark = "*" if each is self.chosen else ""
            lines.append([mark, each.name, *(shown(each.numbers[name]) for name in columns)])
        return "\n".join([*_aligned(lines), *self.notes])


def shown(value: float | None) -> str:
    """A number as it is printed."""
    if value is None:
        return "-"
    return f"{value:.3f}" if math.isfinite(value) else "none"


def difference(setting: Setting, measure: str) -> str:
    """The gain over top-k with its interval, as it is printed."""
    gain, low, high = setting.gains[measure]
    return f"{gain:+.3f}" if low != low else f"{gain:+.3f} [{low:+.3f}, {high:+.3f}]"


def _aligned(lines: Sequence[Sequence[str]]) -> list[str]:
    """Lines of cells as text: names to the left, numbers to the right."""
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    text = []
    for line in lines:
        cells = [
            cell.ljust(w) if j < 2 else cell.rjust(w + 1) for j, (cell, w) in enumerate(zip(line, widths, strict=True))
        ]
        text.append(" ".join(cells).rstrip())
    return text
