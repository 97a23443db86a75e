"""The page of a selection: map, bars and list that follow a slider over settings of the dial.

Everything that came from the data is in one block of JSON, which the script of the page reads as text.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from diverset._typing import FloatArray, IntArray
from diverset.inference.problem import Problem
from diverset.inference.result import Selection
from diverset.pages.base import placed, short, some_of, web_link

__all__ = ["page", "turn_the_dial"]

#: Settings of the dial on the page.
STOPS = 21
MOST_DOTS = 3000
#: Picks that are listed one by one; of the others only the labels are given.
MOST_PICKS = 1000
#: Most bytes of text: of rows that some setting picks, and of the others.
_PICK_BYTES = 2_000_000
_DOT_BYTES = 1_000_000
#: Columns that hold the address of a row, if they hold addresses.
_LINKS = ("url", "link", "href", "uri", "web", "website")


def _problem(selection: Selection) -> Problem | None:
    """The candidates that a selection was made from, where it remembers them."""
    facts = None if selection._facts is None else selection._facts()
    return facts if isinstance(facts, Problem) else None


def turn_the_dial(selection: Selection, window: int | None = None) -> list[Selection]:
    """Picks at 21 settings of the dial, from plain top-k to diversity only, by greedy search.

    The selection takes the place of the nearest setting, so that one of the 21 is exactly the one asked for. The list
    holds it alone where the dial changes nothing: without quality, or without picks.
    """
    problem, own = _problem(selection), selection.diversity
    if problem is None or problem.quality is None or own is None or len(selection) == 0:
        return [selection]
    last = STOPS - 1
    place = int(own) * last if own in (0.0, 1.0) else min(max(round(own * last), 1), last - 1)
    settings = []
    for i in range(STOPS):
        dial = i / last
        if i == place:
            settings.append(selection)
        elif window is not None and dial > 0.0:
            settings.append(problem.selection(dial, problem.windowed(dial, window)))
        else:
            settings.append(problem.selection(dial, problem.greedy(dial, problem.k, problem.given, problem.limits)))
    return settings


def page(result: Any, output: Path) -> dict[str, Any]:
    """Values for the template.

    `result` is what the command has: a selection of rows of a table (``diverset.cli.select.Picks``), or the
    :class:`~diverset.Selection` of the Python call.
    """
    picks = _of_arrays(result) if isinstance(result, Selection) else result
    candidates, selection, given = picks.candidates, picks.selection, picks.given
    settings = turn_the_dial(selection, picks.window) if picks.turn else [selection]
    n = len(candidates.rows)
    picked = [each.indices[:MOST_PICKS] for each in settings]
    chosen = next(i for i, each in enumerate(settings) if each is selection)
    union = np.setdiff1d(np.concatenate(picked), given)
    dots = some_of(n, np.concatenate([union, given]), MOST_DOTS)
    shown = np.concatenate([given, union, dots])
    if candidates.features is None:
        place, caption = np.full((len(shown), 2), 50.0), ""
    else:
        place, caption = placed(candidates, shown)
    texts = _texts(candidates, np.concatenate([given, union]), 8000, _PICK_BYTES)
    texts += _texts(candidates, dots, 240, _DOT_BYTES)
    ranks, heights = _standing(candidates.quality, picks.lower_is_better)
    row_of = {int(i): row for row, i in enumerate(shown)}
    links = _links(candidates)
    data = {
        "rows": [
            [short(candidates.label(i), 200), text, round(x, 2), round(y, 2), *_number(candidates, i, ranks, heights)]
            + ([link] if links and (link := web_link(links[int(candidates.rows[i])])) else [])
            for i, text, (x, y) in zip(shown.tolist(), texts, place.tolist(), strict=True)
        ],
        "given": len(given),
        "n": n,
        "bar": round(max(100 / max(n, 1) - 0.15, 0.35), 3),
        "quality": candidates.quality_name,
        "chosen": chosen,
        "settings": [
            {
                "dial": "" if each.diversity is None else f"{each.diversity:.3g}",
                "picks": [row_of[int(i)] for i in items],
                "gains": [round(float(gain), 4) if math.isfinite(gain) else 0.0 for gain in each.gains[:MOST_PICKS]],
                "kept": round(each.kept or 0.0, 4),
                "redundancy": round(each.redundancy or 0.0, 4),
                "command": picks.command(None if i == chosen else each),
            }
            for i, (each, items) in enumerate(zip(settings, picked, strict=True))
        ],
    }
    drawn, others = len(dots) + len(union), n - len(given)
    return {
        "title": f"{len(selection)} of {candidates.n:,} rows of {picks.name}",
        "notes": picks.notes,
        "dial": _dial(settings, chosen) if len(settings) > 1 else None,
        "method": picks.method,
        "command_heading": picks.command_heading,
        "drawn": len(shown) if caption else 0,
        "grey": "not picked" if drawn == others else f"not picked ({drawn:,} of {others:,} rows drawn)",
        "caption": caption,
        "curve": None if candidates.quality is None else _curve(ranks, heights),
        "lower_is_better": picks.lower_is_better,
        "cut": [short(candidates.label(i), 80) for i in selection.indices[MOST_PICKS:].tolist()],
        "asked": picks.asked(output),
        "data": data,
    }


@dataclass(frozen=True, eq=False)
class _Rows:
    """The items of a Python call, in place of the rows of a table."""

    rows: IntArray
    features: Any
    quality: FloatArray | None
    labels: Any
    similarity: str = "dot"
    axes: tuple[str, str] | None = None
    quality_name: str = "quality"

    @property
    def n(self) -> int:
        return len(self.rows)

    def label(self, i: int) -> str:
        return str(i if self.labels is None else self.labels[i])

    def text(self, i: int) -> str:
        return ""


@dataclass(frozen=True, eq=False)
class _Arrays:
    """What the page shows of a Python call."""

    candidates: _Rows
    selection: Selection
    given: IntArray
    name: str = "arrays"
    method: str = "greedy"
    command_heading: str = "The same in Python"
    turn: bool = True
    window: int | None = None
    lower_is_better: bool = False

    @property
    def notes(self) -> tuple[str, ...]:
        return self.selection.notes

    def command(self, setting: Selection | None) -> str:
        dial = (setting or self.selection).diversity
        return f"diverset.select(X, {len(self.selection)}" + (")" if dial is None else f", diversity={dial:.6g})")

    def asked(self, output: Path) -> dict[str, str]:
        return asked_of(self.selection)


def _of_arrays(selection: Selection) -> _Arrays:
    problem = _problem(selection)
    if problem is None:
        n = int(selection.indices.max(initial=-1)) + 1
        return _Arrays(_Rows(np.arange(n), None, None, None), selection, np.zeros(0, dtype=np.int64), turn=False)
    # Without vectors, the rows of the similarity matrix say what an item is like.
    features = next(
        (getattr(problem.similarity, name, None) for name in ("X", "S") if hasattr(problem.similarity, name)), None
    )
    rows = _Rows(np.arange(problem.n), features, problem.quality, problem.labels)
    return _Arrays(rows, selection, problem.given)


def asked_of(selection: Selection) -> dict[str, str]:
    """What came of a selection, in words."""
    found = {"Diversity": f"{selection.diversity or 0.0:.3g} (0 is plain top-k, 1 diversity only)"}
    if selection.kept is not None:
        found["Quality kept"] = f"{selection.kept:.0%} of the way from the average row to the best {len(selection)}"
    if selection.redundancy is not None:
        found["Redundancy"] = f"{selection.redundancy:.2f}: mean similarity of a pick to the pick most like it"
    found["Log-volume"] = f"{selection.log_det:.4g}" if math.isfinite(selection.log_det) else "none: dependent rows"
    return found


def _links(candidates: Any) -> list[Any] | None:
    """The column of addresses, if the table has one."""
    columns = {} if getattr(candidates, "table", None) is None else candidates.table.columns
    return next((cells for name, cells in columns.items() if str(name).lower() in _LINKS), None)


def _texts(candidates: Any, rows: IntArray, length: int, most: int) -> list[str]:
    """Texts of rows, cut so that all together have no more bytes than `most`."""
    texts = [short(candidates.text(i), length) for i in rows.tolist()]
    sizes = np.array([len(text.encode("utf-8", "replace")) for text in texts], dtype=np.int64)
    if sizes.sum() <= most:
        return texts
    # The longest texts are cut to what is left once the shorter ones have all they need.
    allowed = float(most) / len(sizes)
    for _ in range(8):
        fits = sizes <= allowed
        allowed = (most - sizes[fits].sum()) / max(1, int((~fits).sum()))
    return [
        text if size <= allowed else short(text, max(20, int(len(text) * allowed / size)))
        for text, size in zip(texts, sizes.tolist(), strict=True)
    ]


def _standing(quality: FloatArray | None, lower_is_better: bool) -> tuple[IntArray, FloatArray]:
    """Rank of every row by quality, from 1, and the height of its bar in percent."""
    if quality is None:
        return np.zeros(0, dtype=np.int64), np.zeros(0)
    order = np.argsort(quality if lower_is_better else -quality, kind="stable")
    ranks = np.empty(len(quality), dtype=np.int64)
    ranks[order] = np.arange(1, len(quality) + 1)
    finite = quality[np.isfinite(quality)]
    low, high = min(0.0, float(finite.min(initial=0.0))), max(0.0, float(finite.max(initial=0.0)))
    scale = max(abs(low), abs(high)) or 1.0  # so that no difference overflows
    width = (high / scale - low / scale) or 1.0
    return ranks, 100.0 * (np.clip(quality, low, high) / scale - low / scale) / width


def _number(candidates: Any, i: int, ranks: IntArray, heights: FloatArray) -> list[Any]:
    if candidates.quality is None:
        return [None, 0, 0]
    return [f"{candidates.quality[i]:.6g}", round(float(heights[i]), 1), int(ranks[i])]


def _dial(settings: Sequence[Selection], chosen: int) -> dict[str, Any]:
    """The slider, and above it what each setting keeps."""
    last = len(settings) - 1

    def path(values: Sequence[float | None]) -> str:
        places = [f"{100 * i / last:.2f} {100 - 100 * min(max(v or 0.0, 0.0), 1.0):.2f}" for i, v in enumerate(values)]
        return "M" + "L".join(places)

    own = settings[chosen]
    return {
        "words": f"Chosen: {own.diversity:.3g} keeps {own.kept or 0.0:.0%}",
        "at": f"{100 * chosen / last:.2f}",
        "last": last,
        "chosen": chosen,
        "redundancy": path([each.redundancy for each in settings]),
        "kept": path([each.kept for each in settings]),
    }


def _curve(ranks: IntArray, heights: FloatArray) -> str:
    """Path of the quality of all rows in order; the script adds the picks as bars."""
    n = len(ranks)
    order = np.argsort(ranks)
    steps = order[np.linspace(0, n - 1, min(n, 400)).round().astype(np.int64)]
    across = np.linspace(0.0, 100.0, len(steps) + 1)
    path = "".join(f"H{across[j]:.2f}V{100 - heights[i]:.2f}H{across[j + 1]:.2f}" for j, i in enumerate(steps))
    return f"M0 100{path}V100Z"
