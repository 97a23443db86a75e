"""The page of a selection: map, bars and list that follow a slider over settings of the dial.

Everything that came from the data is in one block of JSON, which the script of the page reads as text.
"""

import json
import math
from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any

import numpy as np

import diverset as dv
from diverset._typing import FloatArray, IntArray
from diverset.cli.candidates import Candidates
from diverset.cli.console import Step
from diverset.cli.request import Request
from diverset.inference.problem import read_problem
from diverset.pages.base import facts, placed, short, some_of, write_page

__all__ = ["turn_the_dial", "write_select_page"]

#: Settings of the dial on the page.
STOPS = 21
MOST_DOTS = 3000
#: Picks that are listed; more would not be read.
MOST_PICKS = 1000
#: Most bytes of text: of rows that some setting picks, and of the others.
_PICK_BYTES = 2_000_000
_DOT_BYTES = 1_000_000


def turn_the_dial(
    features: Any,
    k: int,
    selection: dv.Selection,
    arguments: Mapping[str, Any],
    *,
    window: int | None = None,
    step: Step = lambda text, done=0, total=None: None,
) -> list[dv.Selection]:
    """Picks at 21 settings of the dial, from plain top-k to diversity only, by greedy search.

    Parameters
    ----------
    features, k, arguments, window
        As for :func:`diverset.select`.
    selection : Selection
        The picks that were asked for. They take the place of the nearest setting, so that one stop is exactly theirs.
    step : Step
        Told what is being done.

    Returns
    -------
    list of Selection
        Only `selection` where nothing was picked, or where there is no quality: then the dial changes nothing.
    """
    if arguments.get("quality") is None or selection.diversity is None or len(selection) == 0:
        return [selection]
    problem = read_problem(features, k, **arguments)
    last = STOPS - 1
    own = selection.diversity
    place = int(own) * last if own in (0.0, 1.0) else min(max(round(own * last), 1), last - 1)
    settings = []
    for i in range(STOPS):
        step("Turning the dial", i, STOPS)
        dial = i / last
        if i == place:
            settings.append(selection)
        elif window is not None and dial > 0.0:
            settings.append(problem.selection(dial, problem.windowed(dial, window)))
        else:
            settings.append(problem.selection(dial, problem.greedy(dial, problem.k, problem.given, problem.limits)))
    return settings


def write_select_page(
    request: Request,
    candidates: Candidates,
    selection: dv.Selection,
    settings: Sequence[dv.Selection],
    *,
    given: IntArray,
    remarks: Sequence[str] = (),
    more: Mapping[str, str] | None = None,
) -> None:
    """Write the page of a selection.

    Parameters
    ----------
    request : Request
        What was asked for, and the file to write.
    candidates : Candidates
        All rows that could be picked.
    selection : Selection
        The picks, as positions among the candidates.
    settings : sequence of Selection
        The picks along the dial; `selection` is one of them.
    given : ndarray of int64
        Rows already shown, which the map rings.
    remarks : sequence of str
        What the reader should know.
    more : mapping of str to str
        Further facts to show.
    """
    assert request.output is not None
    n = len(candidates.rows)
    title = f"{len(selection)} of {candidates.n:,} rows of {Path(candidates.table.name).name}"
    picked = [each.indices[:MOST_PICKS] for each in settings]
    chosen = next(i for i, each in enumerate(settings) if each is selection)
    union = np.setdiff1d(np.concatenate(picked), given)
    dots = some_of(n, np.concatenate([union, given]), MOST_DOTS)
    shown = np.concatenate([given, union, dots])
    place, caption = placed(candidates, shown)
    texts = _texts(candidates, np.concatenate([given, union]), 8000, _PICK_BYTES)
    texts += _texts(candidates, dots, 240, _DOT_BYTES)
    ranks, heights = _standing(request, candidates)
    row_of = {int(i): row for row, i in enumerate(shown)}
    data = {
        "rows": [
            [short(candidates.label(i), 200), text, round(x, 2), round(y, 2), *_number(candidates, i, ranks, heights)]
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
                "picks": [row_of[int(i)] for i in picks],
                "gains": [round(float(gain), 4) if math.isfinite(gain) else 0.0 for gain in each.gains[:MOST_PICKS]],
                "kept": _rounded(each.kept),
                "redundancy": _rounded(each.redundancy),
                "command": _command(request, each, i == chosen),
            }
            for i, (each, picks) in enumerate(zip(settings, picked, strict=True))
        ],
    }
    listed = remarks if len(selection) <= MOST_PICKS else [*remarks, f"the page lists the first {MOST_PICKS:,} picks"]
    parts = [f"<h1>{escape(title)}</h1>", *facts({}, listed)[1:]]
    if len(settings) > 1:
        parts.append(_dial(settings, chosen))
        if request.method != "greedy":
            parts.append(
                f'<p class="caption">The chosen setting is by {request.method}, the others by greedy search.</p>'
            )
    parts += [
        '<h2>The same on the command line</h2><div class="command"><code id="command"></code>'
        '<button type="button" id="copy">Copy</button></div>',
        "<h2>Picked, and not picked</h2>",
        f'<svg class="map" role="group" aria-label="Map of {len(shown)} rows"></svg>',
        _legend(len(dots) + len(union), n - len(given), len(given), caption),
    ]
    if candidates.quality is not None:
        better = ", lower is better" if request.lower_is_better else ""
        parts += [
            f"<h2>{escape(candidates.quality_name or 'Quality')}, best to worst{better}</h2>",
            _curve(ranks, heights),
            '<p class="caption">Every row from the best to the worst, picks in colour: <span id="depth"></span>.</p>',
        ]
    parts += [
        '<h2>The picks, in order</h2><ol class="picks"></ol>',
        "<noscript><p>The picks are shown by a script of this page; please allow scripts.</p></noscript>",
        "<h2>What was asked</h2>",
        facts(_asked(request, candidates, selection) | dict(more or {}), ())[0],
        '<div id="tip" role="status" hidden></div>',
        f'<script type="application/json" id="data">{_as_json(data)}</script>',
    ]
    write_page(request.output, title, parts, script="select.js")


def _as_json(data: Any) -> str:
    """JSON that can stand in a script element: nothing in it can end the element or open a comment."""
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _texts(candidates: Candidates, rows: IntArray, length: int, most: int) -> list[str]:
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


def _standing(request: Request, candidates: Candidates) -> tuple[IntArray, FloatArray]:
    """Rank of every row by quality, from 1, and the height of its bar in percent."""
    quality = candidates.quality
    if quality is None:
        return np.zeros(0, dtype=np.int64), np.zeros(0)
    order = np.argsort(quality if request.lower_is_better else -quality, kind="stable")
    ranks = np.empty(len(quality), dtype=np.int64)
    ranks[order] = np.arange(1, len(quality) + 1)
    low, high = min(0.0, float(quality.min())), max(0.0, float(quality.max()))
    scale = max(abs(low), abs(high)) or 1.0  # so that no difference overflows
    width = (high / scale - low / scale) or 1.0
    return ranks, 100.0 * (quality / scale - low / scale) / width


def _number(candidates: Candidates, i: int, ranks: IntArray, heights: FloatArray) -> list[Any]:
    if candidates.quality is None:
        return [None, 0, 0]
    return [f"{candidates.quality[i]:.6g}", round(float(heights[i]), 1), int(ranks[i])]


def _rounded(value: float | None) -> float:
    return 0.0 if value is None else round(value, 4)


def _command(request: Request, selection: dv.Selection, chosen: bool) -> str:
    if chosen:
        return request.command()
    return request.command(diversity=selection.diversity, keep=None, method="greedy", seed=None)


def _dial(settings: Sequence[dv.Selection], chosen: int) -> str:
    """The slider, and above it what each setting keeps."""
    last = len(settings) - 1

    def path(values: Sequence[float | None]) -> str:
        places = [f"{100 * i / last:.2f} {100 - 100 * min(max(v or 0.0, 0.0), 1.0):.2f}" for i, v in enumerate(values)]
        return "M" + "L".join(places)

    own = settings[chosen]
    at = 100 * chosen / last
    says = f"Chosen: {own.diversity:.3g} keeps {own.kept or 0.0:.0%}"
    return (
        '<section class="dial" aria-label="The dial"><div class="top"><label for="knob">Diversity '
        '<output id="value" for="knob"></output></label>'
        f'<button type="button" id="back" disabled>{escape(says)}</button></div><p id="now" aria-live="polite"></p>'
        '<svg class="trade" viewBox="0 0 100 100" preserveAspectRatio="none" aria-hidden="true">'
        '<line x1="0" x2="100" y1="100" y2="100"/><line x1="0" x2="100" y1="0" y2="0"/>'
        f'<line class="chosen" x1="{at:.2f}" x2="{at:.2f}" y1="-4" y2="100"/>'
        f'<line class="now" x1="{at:.2f}" x2="{at:.2f}" y1="-4" y2="104"/>'
        f'<path class="redundancy" d="{path([each.redundancy for each in settings])}"/>'
        f'<path class="kept" d="{path([each.kept for each in settings])}"/></svg>'
        f'<input type="range" id="knob" min="0" max="{last}" step="1" value="{chosen}">'
        '<div class="ends"><span>top-k</span><span>diversity only</span></div>'
        '<p class="caption"><span class="line-key"></span>quality kept<span class="line-key dashed"></span>redundancy'
        '<span class="line-key upright"></span>chosen</p></section>'
    )


def _legend(dots: int, others: int, given: int, caption: str) -> str:
    grey = "not picked" if dots == others else f"not picked ({dots:,} of {others:,} rows drawn)"
    keys = [("pick", "picked, by rank"), ("dot", grey)] + ([("ring", "already shown")] if given else [])
    listed = "".join(f'<span class="key {name}-key"></span>{words}' for name, words in keys)
    hint = "Hover, tap, or move with Tab and the arrow keys to read a row; Enter goes to a pick in the list."
    return f'<p class="caption">{listed}</p><p class="caption">{escape(caption)} {hint}</p>'


def _curve(ranks: IntArray, heights: FloatArray) -> str:
    """Quality of all rows in order; the script adds the picks as bars."""
    n = len(ranks)
    order = np.argsort(ranks)
    steps = order[np.linspace(0, n - 1, min(n, 400)).round().astype(np.int64)]
    across = np.linspace(0.0, 100.0, len(steps) + 1)
    path = "".join(f"H{across[j]:.2f}V{100 - heights[i]:.2f}H{across[j + 1]:.2f}" for j, i in enumerate(steps))
    return (
        '<svg class="curve" role="img"><svg viewBox="0 0 100 100" preserveAspectRatio="none" width="100%" '
        f'height="100%"><path class="all" d="M0 100{path}V100Z"/></svg></svg>'
    )


def _asked(request: Request, candidates: Candidates, selection: dv.Selection) -> dict[str, str]:
    """What was asked, and what came of it, in words."""
    asked = {
        "File": f"{candidates.table.name}, {candidates.total or candidates.table.n:,} rows",
        "Compared by": f"{candidates.compared_by}, {candidates.similarity} similarity",
        "Quality": candidates.quality_name or "all rows equal",
        "Scale of the scores": {"rank": "by rank", "standard": "standardised"}.get(request.scale or "", "as they are"),
        "Diversity": f"{selection.diversity or 0.0:.3g} (0 is plain top-k, 1 diversity only)",
        "Method": request.method if request.seed is None else f"{request.method}, seed {request.seed}",
    }
    if candidates.quality is None:
        del asked["Scale of the scores"]
    if request.keep is not None:
        asked["Quality to keep"] = f"{request.keep:.0%}"
    if selection.kept is not None:
        asked["Quality kept"] = f"{selection.kept:.0%} of the way from the average row to the best {len(selection)}"
    if selection.redundancy is not None:
        asked["Redundancy"] = f"{selection.redundancy:.2f}: mean similarity of a pick to the pick most like it"
    if request.min_quality is not None:
        asked["Worst quality"] = f"{request.min_quality:g}"
    if request.group is not None:
        asked["Groups"] = f"at most {request.per_group} with the same {request.group}"
    if request.cost is not None:
        asked["Budget"] = f"{request.budget:g} in all, by {request.cost}"
    if request.window is not None:
        asked["Window"] = f"only the last {request.window} picks repel"
    for name, value in (("Already shown", request.given), ("Excluded", request.exclude)):
        if value is not None:
            asked[name] = value if len(value) <= 80 else f"{value[:77]}..."
    asked["Log-volume"] = f"{selection.log_det:.4g}" if math.isfinite(selection.log_det) else "none: dependent rows"
    return asked
