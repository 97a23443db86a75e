"""The page of a comparison: a chart with the chosen setting, tables, and maps of the picks."""

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from diverset.metrics.compare import HEADINGS, Comparison, Setting, difference, shown
from diverset.pages.base import placed, short, some_of

__all__ = ["page"]

MOST_DOTS = 500
#: Colours of methods for light and dark pages, and dashes that differ without colours.
_COLOURS = ("#0b84d8", "#d9730d", "#2c9a4b", "#b04fc4", "#c0392b")
_DASHES = ("", "7 3", "2 3", "9 3 2 3", "4 4")
#: Columns whose lowest number is best, and columns without a best number; in all others the highest is best.
_LOWEST = {"redundancy"}
_NEITHER = {"overlap"}
# Size and margins of the chart in pixels.
_WIDTH, _HEIGHT, _LEFT, _BELOW, _ABOVE, _RIGHT = 640, 360, 56, 58, 34, 20


def page(result: Any, output: Path) -> dict[str, Any]:
    """Values for the template; `result` is a :class:`~diverset.metrics.compare.Comparison` or that of a command."""
    found: Comparison = getattr(result, "found", result)
    candidates = getattr(result, "candidates", None)
    single = found.queries == (None,)
    first = ["Method", *([f"{HEADINGS[found.measure]} against top-k"] if found.measure else [])]
    columns = {name: [each.numbers[name] for each in found] for name in found.columns}
    headline = {id(each) for each in found.headline}
    values: dict[str, Any] = {
        "title": getattr(result, "title", f"{len(found)} ways to pick"),
        "asked": {} if candidates is None else result.asked(output),
        "notes": list(dict.fromkeys([*result.notes, *found.notes])),
        "chosen": found.chosen,
        "chart": None if found.chosen is None else _chart(found),
        "command": None if candidates is None else result.command(),
        "maps": [],
        "columns": [*first, *(HEADINGS[name] for name in found.columns)],
        "rows": [
            {
                "setting": each,
                "headline": id(each) in headline,
                "difference": difference(each, found.measure) if found.measure else None,
                "cells": [_cell(name, each.numbers[name], columns[name]) for name in found.columns],
            }
            for each in found
        ],
    }
    return values | (_maps(candidates, found) if single else {})


def _chart(found: Comparison) -> dict[str, Any] | None:
    """A line for each method, and a mark at the chosen setting."""
    assert found.chosen is not None
    curves = {name: found.curve(name) for name in dict.fromkeys(each.method for each in found) if name != "random"}
    measure = found.measure

    def point(each: Setting) -> tuple[float, float] | None:
        x = (each.dial or 0.0) if measure is not None else each.numbers["redundancy"]
        y = each.numbers[measure or "kept"]
        return None if x is None or y is None else (x, y)

    top = curves.pop("top-k")[0]
    places = {name: [p for p in map(point, [top, *curve]) if p is not None] for name, curve in curves.items()}
    every = [p for line in places.values() for p in line] + [p for p in [point(top)] if p is not None]
    if not every:
        return None
    across, up = (_ticks([place[axis] for place in every]) for axis in (0, 1))

    def xy(place: tuple[float, float]) -> tuple[float, float]:
        x, y = ((value - ticks[0]) / (ticks[-1] - ticks[0]) for value, ticks in zip(place, (across, up), strict=True))
        at = _LEFT + x * (_WIDTH - _LEFT - _RIGHT), _HEIGHT - _BELOW - y * (_HEIGHT - _BELOW - _ABOVE)
        return round(at[0], 1), round(at[1], 1)

    chosen = ("chosen-point", f"chosen: {found.chosen.name}", -12, point(found.chosen))
    marks = [chosen] if found.chosen is top else [("top-point", "top-k", 26, point(top)), chosen]
    says = "Up is more quality kept, left is less redundancy: the upper left is best. Every line begins at top-k."
    if measure:
        start = f"{HEADINGS[measure]} {shown(top.numbers[measure])}"
        says = f"Diversity grows to the right; all methods begin at top-k, {start}."
    return {
        "heading": "Scores along the dial" if measure else "What diversity costs",
        **{"width": _WIDTH, "height": _HEIGHT, "left": _LEFT, "right": _WIDTH - _RIGHT, "bottom": _HEIGHT - _BELOW},
        "up": [(xy((across[0], value))[1], f"{value:.2g}") for value in up],
        "across": [(xy((value, up[0]))[0], f"{value:.2g}") for value in across],
        "below": "diversity" if measure else "redundancy",
        "above": HEADINGS[measure or "kept"],
        "lines": [
            {"name": name, "colour": _COLOURS[j % 5], "dashes": _DASHES[j % 5], "points": [xy(p) for p in line]}
            for j, (name, line) in enumerate(places.items())
        ],
        "marks": [(kind, words, down, *xy(place)) for kind, words, down, place in marks if place is not None],
        "says": says,
    }


def _ticks(values: Sequence[float]) -> list[float]:
    """Four to seven round numbers that span the values."""
    low, high = min(values), max(values)
    step = next((step for step in (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0) if high - low <= 5 * step), high - low)
    first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    return [i * step for i in range(first, max(last, first + 1) + 1)]


def _cell(name: str, value: float | None, column: Sequence[float | None]) -> dict[str, Any]:
    if value is None or not math.isfinite(value):
        return {"words": shown(value), "best": False, "share": None}
    finite = [other for other in column if other is not None and math.isfinite(other)]
    low, high = min(0.0, *finite), max(0.0, *finite)
    best = min(finite) if name in _LOWEST else max(finite)
    return {
        "words": shown(value),
        "best": shown(value) == shown(best) and name not in _NEITHER,
        "share": (value - low) / (high - low) if high > low else 0.0,
    }


def _maps(candidates: Any, found: Comparison) -> dict[str, Any]:
    """A small map and a list for the best setting of each method; without candidates, lists of positions."""
    best = list(found.best.values())
    everyone = np.unique(np.concatenate([each.picks[0] for each in best]))
    at: dict[int, list[float]] = {}
    caption = ""
    if candidates is not None:
        shown = np.concatenate([some_of(len(candidates.rows), everyone, MOST_DOTS), everyone])
        place, caption = placed(candidates, shown)
        at = dict(zip(shown.tolist(), place.round(2).tolist(), strict=True))
    sets = [set(each.picks[0].tolist()) for each in best if each.method != "random"]
    shared = set.intersection(*sets) if len(sets) > 1 else set()
    maps = [
        {
            "name": each.name,
            "picks": [
                {"at": at.get(i), "shared": i in shared, "words": _entry(candidates, i)} for i in each.picks[0].tolist()
            ],
        }
        for each in best
    ]
    return {"maps": maps, "cloud": list(at.values()), "caption": caption, "any_shared": bool(shared)}


def _entry(candidates: Any, i: int) -> str:
    if candidates is None:
        return str(i)
    label, text = candidates.label(i), short(candidates.text(i), 120)
    return f"{label}: {text}" if text and text != label else label
