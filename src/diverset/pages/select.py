"""The page of a selection: map, bars and list that follow a slider, with all data in one block of JSON."""

import math
import warnings
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np

from diverset._typing import FloatArray, IntArray
from diverset.errors import DiversetWarning
from diverset.inference.problem import Problem
from diverset.inference.result import Selection
from diverset.pages.base import placed, short, some_of, web_link

__all__ = ["page"]

#: Settings of the dial on the page.
STOPS = 21
MOST_DOTS = 3000
#: Most picks that are listed in full; of the others only the labels are shown.
MOST_PICKS = 1000
#: Largest size of the texts: of rows that some setting picks, and of the others.
_PICK_BYTES = 2_000_000
_DOT_BYTES = 1_000_000
#: Names of columns of web addresses.
_LINKS = ("url", "link", "href", "uri", "web", "website")


def _problem(selection: Selection) -> Problem | None:
    """The problem that a selection solves, if the selection still has it."""
    facts = None if selection._facts is None else selection._facts()
    return facts if isinstance(facts, Problem) else None


def turn_the_dial(selection: Selection, window: int | None = None) -> list[Selection]:
    """Greedy picks at 21 settings of the dial; the selection itself replaces the nearest, or is the only one."""
    problem, own = _problem(selection), selection.diversity
    if problem is None or problem.quality is None or own is None or len(selection) == 0:
        return [selection]
    last = STOPS - 1
    place = int(own) * last if own in (0.0, 1.0) else min(max(round(own * last), 1), last - 1)
    settings = []
    # The page shows notes of the selection only.
    with warnings.catch_warnings(action="ignore", category=DiversetWarning):
        for dial in np.arange(STOPS) / last:
            settings.append(problem.selection(float(dial), problem.picks(dial, window)))
    settings[place] = selection
    return settings


def page(result: Any, output: Path) -> dict[str, Any]:
    """Values for the template; `result` is the ``_Rows`` of a command or a :class:`~diverset.Selection`."""
    picks = _of_arrays(result) if isinstance(result, Selection) else result
    candidates, selection, given = picks.candidates, picks.selection, picks.given
    settings = turn_the_dial(selection, picks.request.window) if picks.turn else [selection]
    n = len(candidates.rows)
    picked = [each.indices[:MOST_PICKS] for each in settings]
    chosen = next(i for i, each in enumerate(settings) if each is selection)
    union = np.setdiff1d(np.concatenate(picked), given)
    dots = some_of(n, np.concatenate([union, given]), MOST_DOTS)
    shown = np.concatenate([given, union, dots])
    place, caption = placed(candidates, shown)
    texts = _texts(candidates, np.concatenate([given, union]), 8000, _PICK_BYTES)
    texts += _texts(candidates, dots, 240, _DOT_BYTES)
    ranks, heights = _standing(candidates.quality, picks.request.lower_is_better)
    row_of = {int(i): row for row, i in enumerate(shown)}
    columns = candidates.table.columns if hasattr(candidates, "table") else {}
    links = next((columns[name] for name in columns if str(name).lower() in _LINKS), None)
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
        "method": picks.request.method,
        "command_heading": picks.command_heading,
        "drawn": len(shown) if caption else 0,
        "grey": "not picked" if drawn == others else f"not picked ({drawn:,} of {others:,} rows drawn)",
        "caption": caption,
        "curve": None if candidates.quality is None else _curve(ranks, heights),
        "lower_is_better": picks.request.lower_is_better,
        "cut": [short(candidates.label(i), 80) for i in selection.indices[MOST_PICKS:].tolist()],
        "asked": picks.asked(output),
        "data": data,
    }


def _of_arrays(selection: Selection) -> SimpleNamespace:
    """The selection of a Python call with the attributes of the result of a command."""
    problem = _problem(selection)
    n = int(selection.indices.max(initial=-1)) + 1 if problem is None else problem.n
    # Without vectors, items are described by the rows of the similarity matrix.
    kernel, labels = getattr(problem, "similarity", None), getattr(problem, "labels", None)
    candidates = SimpleNamespace(
        rows=np.arange(n),
        n=n,
        features=next((getattr(kernel, name) for name in ("X", "S") if hasattr(kernel, name)), None),
        quality=getattr(problem, "quality", None),
        quality_name="quality",
        similarity="dot",
        axes=None,
        label=lambda i: str(i if labels is None else labels[i]),
        text=lambda i: "",
    )

    def command(setting: Selection | None) -> str:
        dial = (setting or selection).diversity
        return f"diverset.select(X, {len(selection)}" + (")" if dial is None else f", diversity={dial:.6g})")

    return SimpleNamespace(
        candidates=candidates,
        selection=selection,
        given=np.zeros(0, dtype=np.int64) if problem is None else problem.given,
        notes=selection.notes,
        name="arrays",
        request=SimpleNamespace(method="greedy", window=None, lower_is_better=False),
        command_heading="The same in Python",
        command=command,
        asked=lambda output: asked_of(selection),
        turn=problem is not None,
    )


def asked_of(selection: Selection) -> dict[str, str]:
    """The numbers of a selection, in words."""
    found = {"Diversity": f"{selection.diversity or 0.0:.3g} (0 is plain top-k, 1 diversity only)"}
    if selection.kept is not None:
        found["Quality kept"] = f"{selection.kept:.0%} of the way from the average row to the best {len(selection)}"
    if selection.redundancy is not None:
        found["Redundancy"] = f"{selection.redundancy:.2f}: mean similarity of a pick to the pick most like it"
    found["Log-volume"] = f"{selection.log_det:.4g}" if math.isfinite(selection.log_det) else "none: dependent rows"
    return found


def _texts(candidates: Any, rows: IntArray, length: int, most: int) -> list[str]:
    """Texts of rows, cut to at most `length` characters each and about `most` bytes in all."""
    texts = [short(candidates.text(i), length) for i in rows.tolist()]
    sizes = np.array([len(text.encode("utf-8", "replace")) for text in texts], dtype=np.int64)
    if sizes.sum() <= most:
        return texts
    # Texts above a common size are cut to it; the size is such that the total is `most`.
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
    ranks = np.argsort(np.argsort(quality if lower_is_better else -quality, kind="stable")) + 1
    finite = quality[np.isfinite(quality)]
    low, high = float(finite.min(initial=0.0)), float(finite.max(initial=0.0))
    scale = max(abs(low), abs(high)) or 1.0  # against overflow of the difference
    width = (high / scale - low / scale) or 1.0
    return ranks, 100.0 * (np.clip(quality, low, high) / scale - low / scale) / width


def _number(candidates: Any, i: int, ranks: IntArray, heights: FloatArray) -> list[Any]:
    if candidates.quality is None:
        return [None, 0, 0]
    quality = float(candidates.quality[i])
    words = f"{quality:,.0f}" if quality.is_integer() and abs(quality) < 1e12 else f"{quality:.6g}"
    return [words, round(float(heights[i]), 1), int(ranks[i])]


def _dial(settings: Sequence[Selection], chosen: int) -> dict[str, Any]:
    """The slider, and the curves above it."""
    last, own = len(settings) - 1, settings[chosen]
    paths = {}
    for name in ("redundancy", "kept"):
        heights = [min(max(getattr(each, name) or 0.0, 0.0), 1.0) for each in settings]
        paths[name] = "M" + "L".join(f"{100 * i / last:.2f} {100 - 100 * v:.2f}" for i, v in enumerate(heights))
    words = f"Chosen: {own.diversity:.3g} keeps {own.kept or 0.0:.0%}"
    return paths | {"words": words, "at": f"{100 * chosen / last:.2f}", "last": last, "chosen": chosen}


def _curve(ranks: IntArray, heights: FloatArray) -> str:
    """Path of the sorted qualities of all rows; the script adds the picks as bars."""
    n = len(ranks)
    steps = np.argsort(ranks)[np.linspace(0, n - 1, min(n, 400)).round().astype(np.int64)]
    across = np.linspace(0.0, 100.0, len(steps) + 1)
    path = "".join(f"H{across[j]:.2f}V{100 - heights[i]:.2f}H{across[j + 1]:.2f}" for j, i in enumerate(steps))
    return f"M0 100{path}V100Z"
