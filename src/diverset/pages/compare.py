"""The page of a comparison: the trade-off or the scores along the dial, with the chosen point, and the numbers."""

import math
from collections.abc import Callable, Sequence
from html import escape
from pathlib import Path

import numpy as np

from diverset.cli.candidates import Candidates
from diverset.cli.request import Request
from diverset.cli.run_compare import difference
from diverset.metrics.comparison import HEADINGS, Comparison, Setting, shown
from diverset.pages.base import circle, facts, placed, short, some_of, write_page

__all__ = ["write_compare_page"]

MOST_DOTS = 500
#: Colours of methods that can be told apart in light and dark, and dashes for those who see no colours.
_COLOURS = ("#0b84d8", "#d9730d", "#2c9a4b", "#b04fc4", "#c0392b")
_DASHES = ("", "7 3", "2 3", "9 3 2 3", "4 4")
#: The best of a column is its highest number, except in these; sharing picks with top-k is neither good nor bad.
_LOWEST = {"redundancy"}
_NEITHER = {"overlap"}
# The picture, in pixels: room at the left and below for the numbers of the axes.
_WIDTH, _HEIGHT, _LEFT, _BELOW, _ABOVE, _RIGHT = 640.0, 360.0, 56.0, 58.0, 34.0, 20.0


def write_compare_page(
    request: Request, candidates: Candidates, found: Comparison, k: float, *, remarks: Sequence[str]
) -> None:
    """Write the page of a comparison.

    Parameters
    ----------
    request : Request
        What was asked for, and the file to write.
    candidates : Candidates
        All rows that could be picked.
    found : Comparison
        Settings with their picks and numbers.
    k : int or float
        Number of picks, or the share of the rows.
    remarks : sequence of str
        What the reader should know.
    """
    assert request.output is not None
    n, queries = len(candidates.rows), len(found.queries)
    rows = f"{k:g} of {n:,} rows in" if found.queries == (None,) else f"{k:g} rows for each of {queries:,} queries in"
    title = f"{len(found)} ways to pick {rows} {Path(candidates.table.name).name}"
    asked = {
        "File": f"{candidates.table.name}, {candidates.table.n:,} rows",
        "Compared by": f"{candidates.compared_by}, {candidates.similarity} similarity",
        "Quality": candidates.quality_name or "all rows equal",
        "Random picks": f"seed {request.seed}",
    }
    parts = [f"<h1>{escape(title)}</h1>", *facts(asked, remarks)]
    if found.chosen is not None:
        parts += _chart(found)
        if found.chosen.method == "dpp" and found.chosen.dial is not None:
            command = escape(request.command(diversity=found.chosen.dial, keep=None, seed=None))
            parts.append(f'<p class="caption">On the command line:</p><p class="command"><code>{command}</code></p>')
    parts += [
        "<h2>By the numbers</h2>",
        _numbers(found),
        '<p class="caption">Bold is the best in its column. Quality kept: 0 is the average row, 1 the best rows. '
        "Redundancy: mean similarity of a pick to the pick most like it. Vendi score: the effective number of "
        "different rows.</p>",
    ]
    if found.queries == (None,):
        parts += _maps(candidates, found)
    write_page(request.output, title, parts)


def _chart(found: Comparison) -> list[str]:
    """A line for every method, and a mark at the chosen setting."""
    assert found.chosen is not None
    curves = {name: found.curve(name) for name in dict.fromkeys(each.method for each in found) if name != "random"}
    measure = found.measure

    def point(each: Setting) -> tuple[float, float] | None:
        x = (each.dial or 0.0) if measure is not None else each.numbers["redundancy"]
        y = each.numbers[measure or "kept"]
        return None if x is None or y is None else (x, y)

    top = curves.pop("top-k")[0]
    places = {
        name: [place for place in map(point, [top, *curve]) if place is not None] for name, curve in curves.items()
    }
    every = [place for line in places.values() for place in line] + [p for p in [point(top)] if p is not None]
    if not every:
        return []
    across, up = (_ticks([place[axis] for place in every]) for axis in (0, 1))

    def xy(place: tuple[float, float]) -> tuple[float, float]:
        x, y = ((value - ticks[0]) / (ticks[-1] - ticks[0]) for value, ticks in zip(place, (across, up), strict=True))
        return _LEFT + x * (_WIDTH - _LEFT - _RIGHT), _HEIGHT - _BELOW - y * (_HEIGHT - _BELOW - _ABOVE)

    marks = [_axes(across, up, xy, "diversity" if measure else "redundancy", HEADINGS[measure or "kept"])]
    keys = []
    for j, (name, line) in enumerate(places.items()):
        style = f'stroke="{_COLOURS[j % 5]}" stroke-dasharray="{_DASHES[j % 5]}"'
        path = "M" + "L".join("{:.1f} {:.1f}".format(*xy(place)) for place in line)
        marks.append(f'<path fill="none" stroke-width="2" {style} d="{path}"/>')
        marks += ['<circle r="3" fill="{}" cx="{:.1f}" cy="{:.1f}"/>'.format(_COLOURS[j % 5], *xy(p)) for p in line[1:]]
        keys.append(
            f'<span class="legend"><svg width="28" height="10" aria-hidden="true"><path d="M0 5H28" stroke-width="2.5" '
            f"{style}/></svg> {escape(name)}</span>"
        )
    for each, words in ((top, "top-k"), (found.chosen, f"chosen: {found.chosen.name}")):
        place = point(each)
        if place is None or (each is top and found.chosen is top):
            continue
        x, y = xy(place)
        anchor, dx = ("end", -12) if x > _WIDTH / 2 else ("start", 12)
        ring = "chosen-point" if each is found.chosen else "top-point"
        marks.append(
            f'<circle class="{ring}" cx="{x:.1f}" cy="{y:.1f}" r="8"/><text class="{ring}" x="{x + dx:.1f}" '
            f'y="{y + (26 if each is top else -12):.1f}" text-anchor="{anchor}">{escape(words)}</text>'
        )
    heading = "Scores along the dial" if measure else "What diversity costs"
    says = (
        f"The further right, the more diversity counts; all methods begin at top-k, {HEADINGS[measure]} "
        f"{shown(top.numbers[measure])}."
        if measure
        else "Up is more quality kept, left is less redundancy: the upper left is best. Every line begins at top-k."
    )
    return [
        f"<h2>{heading}</h2>",
        f'<svg class="chart" viewBox="0 0 {_WIDTH:g} {_HEIGHT:g}" role="img" aria-label="{escape(heading)}; '
        f'chosen: {escape(found.chosen.name)}">{"".join(marks)}</svg>',
        f'<p class="caption">{" ".join(keys)}</p><p class="caption">{says}</p>',
    ]


def _ticks(values: Sequence[float]) -> list[float]:
    """Round numbers from below the least value to above the largest, four to seven of them."""
    low, high = min(values), max(values)
    step = next(step for step in (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, math.inf) if high - low <= 5 * step)
    step = step if step < math.inf else high - low
    first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    return [i * step for i in range(first, max(last, first + 1) + 1)]


def _axes(across: list[float], up: list[float], xy: Callable[..., tuple[float, float]], below: str, above: str) -> str:
    parts = []
    for value in up:
        y = xy((across[0], value))[1]
        parts.append(
            f'<line class="grid-line" x1="{_LEFT:g}" x2="{_WIDTH - _RIGHT:g}" y1="{y:.1f}" y2="{y:.1f}"/>'
            f'<text x="{_LEFT - 8:g}" y="{y + 4:.1f}" text-anchor="end">{value:.2g}</text>'
        )
    for value in across:
        x = xy((value, up[0]))[0]
        parts.append(f'<text x="{x:.1f}" y="{_HEIGHT - _BELOW + 24:g}" text-anchor="middle">{value:.2g}</text>')
    parts.append(f'<text x="{_WIDTH - _RIGHT:g}" y="{_HEIGHT - 6:g}" text-anchor="end">{escape(below)}</text>')
    parts.append(f'<text x="0" y="{_ABOVE - 16:g}">{escape(above)}</text>')
    return "".join(parts)


def _numbers(found: Comparison) -> str:
    names = found.columns
    columns = {name: [each.numbers[name] for each in found] for name in names}
    first = ["Method", *([f"{HEADINGS[found.measure]} against top-k"] if found.measure else [])]
    heads = [*first, *(HEADINGS[name] for name in names)]
    head = "".join(f'<th scope="col">{escape(words)}</th>' for words in heads)
    lines = []
    for each in found:
        cells = "".join(_cell(name, each.numbers[name], columns[name]) for name in names)
        if found.measure:
            cells = f"<td>{escape(difference(each, found.measure))}</td>{cells}"
        mark = ' class="chosen-row"' if each is found.chosen else ""
        lines.append(f'<tr{mark}><th scope="row">{escape(each.name)}</th>{cells}</tr>')
    return f'<div class="wide"><table><thead><tr>{head}</tr></thead><tbody>{"".join(lines)}</tbody></table></div>'


def _cell(name: str, value: float | None, column: Sequence[float | None]) -> str:
    if value is None or not math.isfinite(value):
        return f"<td>{shown(value)}</td>"
    finite = [other for other in column if other is not None and math.isfinite(other)]
    low, high = min(0.0, *finite), max(0.0, *finite)
    share = (value - low) / (high - low) if high > low else 0.0
    best = min(finite) if name in _LOWEST else max(finite)
    bold = ' class="best"' if shown(value) == shown(best) and name not in _NEITHER else ""
    bar = f'<span class="bar" aria-hidden="true"><span style="width: {100 * share:.0f}%"></span></span>'
    return f"<td{bold}>{shown(value)}{bar}</td>"


def _maps(candidates: Candidates, found: Comparison) -> list[str]:
    """A small map and a list for the best setting of every method."""
    best = list(found.best.values())
    everyone = np.unique(np.concatenate([each.picks[0] for each in best]))
    dots = some_of(len(candidates.rows), everyone, MOST_DOTS)
    place, caption = placed(candidates, np.concatenate([dots, everyone]))
    at = dict(zip([*dots.tolist(), *everyone.tolist()], place.tolist(), strict=True))
    cloud = "".join(circle(here, 2.0, "dot") for here in place.tolist())
    parts = [
        "<h2>Where the picks are</h2>",
        f'<svg class="hidden" aria-hidden="true"><defs><g id="cloud">{cloud}</g></defs></svg><div class="grid">',
    ]
    for each in best:
        picks = each.picks[0].tolist()
        circles = "".join(circle(at[i], 5.0, "pick") for i in picks)
        entries = "".join(f"<li>{escape(_entry(candidates, i))}</li>" for i in picks)
        parts.append(
            f'<section><h3>{escape(each.name)}</h3><svg class="mini" role="img" aria-label="Map of the picks of '
            f'{escape(each.name)}"><use href="#cloud"/>{circles}</svg><details><summary>The {len(picks)} '
            f"picks</summary><ol>{entries}</ol></details></section>"
        )
    return [*parts, f'</div><p class="caption">{escape(caption)} Each method at its best setting.</p>']


def _entry(candidates: Candidates, i: int) -> str:
    label, text = candidates.label(i), short(candidates.text(i), 120)
    return f"{label}: {text}" if text and text != label else label
