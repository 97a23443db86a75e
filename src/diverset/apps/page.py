r"""Pages to look at: one HTML file that loads nothing, in which whatever came from the data is escaped.

The map shows rows by their first two principal components: for centred features X = U \Sigma V^T, row i is at
:math:`(U_{i1} \sigma_1, U_{i2} \sigma_2)`, the plane that keeps most of the variation.
"""

import math
import re
from collections.abc import Callable, Mapping, Sequence
from html import escape
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

import diverset as dv
from diverset._files import atomic_write
from diverset._typing import FloatArray, IntArray
from diverset.numerics.validation import is_sparse

if TYPE_CHECKING:
    from diverset.apps.candidates import Candidates
    from diverset.apps.compare import Row

__all__ = ["principal_plane", "write_compare_page", "write_page", "write_select_page"]

MOST_DOTS = 3000
MOST_SMALL_DOTS = 500
TIP_LENGTH = 240
TEXT_LENGTH = 320
#: Beyond this many rows and features, the two components are found by iteration.
_DIRECT = 400
_ROUNDS = 6
#: Which number of a column is the best; sharing picks with another method is neither good nor bad.
_BEST: dict[str, Callable[[Sequence[float]], float] | None] = {
    "sum_quality": max,
    "mean_similarity": min,
    "log_volume": max,
    "vendi_score": max,
    "overlap": None,
}


def write_select_page(
    output: Path,
    candidates: "Candidates",
    selection: dv.Selection,
    *,
    given: IntArray,
    asked: Mapping[str, str],
    remarks: Sequence[str] = (),
) -> None:
    """Write the page of a selection: what was asked, the map, quality, and the list of picks.

    Parameters
    ----------
    output : Path
        The file; it appears whole or not at all.
    candidates : Candidates
        All rows that could be picked.
    selection : Selection
        The picks, as positions among the candidates.
    given : ndarray of int64
        Rows already shown, which the map rings.
    asked : mapping of str to str
        What was asked, in words.
    remarks : sequence of str
        What the reader should know.
    """
    picks = selection.indices
    n = len(candidates.rows)
    title = f"{len(picks)} of {n:,} rows of {Path(candidates.table.name).name}"
    dots = _dots(n, np.concatenate([picks, given]), MOST_DOTS)
    shown = np.concatenate([dots, given, picks])
    place, caption = _placed(candidates, shown)
    at = dict(zip(shown.tolist(), place.tolist(), strict=True))
    marks = [_mark(candidates, i, at[i], "dot") for i in dots.tolist()]
    marks += [_mark(candidates, i, at[i], "shown") for i in given.tolist()]
    marks += [_pick(candidates, i, at[i], rank) for rank, i in enumerate(picks.tolist(), start=1)]
    parts = [
        f"<h1>{escape(title)}</h1>",
        "<dl>" + "".join(f"<div><dt>{escape(k)}</dt><dd>{escape(v)}</dd></div>" for k, v in asked.items()) + "</dl>",
        *(f'<p class="remark">{escape(remark)}</p>' for remark in remarks),
        "<h2>Picked, and not picked</h2>",
        f'<svg class="map" role="group" aria-label="Map of {len(shown)} rows">{"".join(marks)}</svg>',
        _legend(len(dots), n - len(picks) - len(given), len(given), caption),
    ]
    if candidates.quality is not None:
        parts += [f"<h2>{escape(candidates.quality_name or 'Quality')}, best to worst</h2>", _curve(candidates, picks)]
    parts += ["<h2>The picks, in order</h2>", _list(candidates, selection)]
    write_page(output, title, parts)


def write_compare_page(
    output: Path,
    candidates: "Candidates",
    rows: Sequence["Row"],
    *,
    headings: Mapping[str, str],
    asked: Mapping[str, str],
    remarks: Sequence[str] = (),
) -> None:
    """Write the page of a comparison: the numbers, and a small map and a list for every method.

    Parameters
    ----------
    output : Path
        The file; it appears whole or not at all.
    candidates : Candidates
        All rows that could be picked.
    rows : sequence of Row
        Methods with their picks and numbers.
    headings : mapping of str to str
        Numbers to show: name in ``Row.numbers``, and heading.
    asked : mapping of str to str
        What was asked, in words.
    remarks : sequence of str
        What the reader should know.
    """
    n = len(candidates.rows)
    title = f"{len(rows)} ways to pick {len(rows[0].picks)} of {n:,} rows of {Path(candidates.table.name).name}"
    everyone = np.unique(np.concatenate([row.picks for row in rows]))
    dots = _dots(n, everyone, MOST_SMALL_DOTS)
    shown = np.concatenate([dots, everyone])
    place, caption = _placed(candidates, shown)
    at = dict(zip(shown.tolist(), place.tolist(), strict=True))
    cloud = "".join(_circle(at[i], 2.0, 'class="dot"') for i in shown.tolist())
    parts = [
        f"<h1>{escape(title)}</h1>",
        "<dl>" + "".join(f"<div><dt>{escape(k)}</dt><dd>{escape(v)}</dd></div>" for k, v in asked.items()) + "</dl>",
        *(f'<p class="remark">{escape(remark)}</p>' for remark in remarks),
        "<h2>By the numbers</h2>",
        _numbers_table(rows, headings),
        '<p class="caption">Bold is the best in its column: the least similarity, the most of the others.</p>',
        "<h2>Where the picks are</h2>",
        f'<svg class="hidden" aria-hidden="true"><defs><g id="cloud">{cloud}</g></defs></svg>',
        '<div class="grid">',
    ]
    for row in rows:
        circles = "".join(_circle(at[i], 5.0, 'class="pick"') for i in row.picks.tolist())
        entries = "".join(f"<li>{escape(_entry(candidates, i))}</li>" for i in row.picks.tolist())
        parts.append(
            f'<section><h3>{escape(row.method)}</h3><svg class="mini" role="img" '
            f'aria-label="Map of the picks of {escape(row.method)}"><use href="#cloud"/>{circles}</svg>'
            f"<details><summary>The {len(row.picks)} picks</summary><ol>{entries}</ol></details></section>"
        )
    parts += ["</div>", f'<p class="caption">{escape(caption)}</p>']
    write_page(output, title, parts)


def principal_plane(X: Any) -> tuple[FloatArray, float]:
    """Rows in the plane of the two largest principal components, and the share of variation it keeps.

    Parameters
    ----------
    X : ndarray or sparse matrix of shape (n, d)
        Features.

    Returns
    -------
    plane : ndarray of shape (n, 2)
        Coordinates; zero where there are fewer than two directions.
    share : float
        Between 0 and 1; 1 if all rows are equal.

    Examples
    --------
    >>> plane, share = principal_plane(np.array([[0.0, 0.0, 1.0], [3.0, 0.0, 1.0], [6.0, 0.0, 1.0]]))
    >>> plane[:, 0].round(6).tolist(), round(share, 6)
    ([-3.0, 0.0, 3.0], 1.0)
    """
    A: Any = X.astype(np.float64) if is_sparse(X) else np.asarray(X, dtype=np.float64)
    largest = np.abs(A.data if is_sparse(A) else A).max(initial=0.0)
    A = A / (largest or 1.0)  # so that no square overflows
    mean = np.asarray(A.mean(axis=0)).ravel()
    if is_sparse(A) or min(A.shape) > _DIRECT:
        # Subspace iteration: rows times a few directions, several times over, span the leading components. The mean is
        # taken out of the products, since centred words would no longer be sparse.
        total = float((A.multiply(A) if is_sparse(A) else A**2).sum()) - A.shape[0] * float(mean @ mean)
        Q = np.random.default_rng(0).standard_normal((A.shape[1], min(10, A.shape[1])))
        for _ in range(_ROUNDS):
            Y = A @ Q - mean @ Q
            Q = np.linalg.qr(A.T @ Y - np.outer(mean, Y.sum(axis=0)))[0]
        A = A @ Q - mean @ Q
    else:
        A = A - mean
        total = float((A**2).sum())
    U, sigma, Vt = np.linalg.svd(A, full_matrices=False)
    plane = np.zeros((len(A), 2))
    m = min(2, len(sigma))
    plane[:, :m] = U[:, :m] * sigma[:m] * (largest or 1.0)
    # A component has no sign of its own: the largest loading is taken as positive.
    for j in range(m):
        if len(Vt[j]) and Vt[j][np.argmax(np.abs(Vt[j]))] < 0:
            plane[:, j] *= -1.0
    return plane, min(1.0, float((sigma[:m] ** 2).sum()) / total) if total > 0.0 else 1.0


def _dots(n: int, without: IntArray, most: int) -> IntArray:
    """Rows for the background, evenly spread over the file if there are too many."""
    others = np.setdiff1d(np.arange(n), without)
    if len(others) <= most:
        return others
    return others[np.linspace(0, len(others) - 1, most).round().astype(np.int64)]


def _placed(candidates: "Candidates", shown: IntArray) -> tuple[FloatArray, str]:
    """Places on the map, in percent, and what the directions mean."""
    X = candidates.features[shown]
    if candidates.axes is not None:
        plane = np.asarray(X, dtype=np.float64)
        caption = f"Across: {candidates.axes[0]}; up: {candidates.axes[1]}."
    else:
        if candidates.similarity == "cosine":
            X = dv.kernels.normalize_rows(X)
        plane, share = principal_plane(X)
        caption = (
            f"Close rows are alike, as far as two directions can tell: they keep {share:.0%} of the variation "
            "(principal components)."
        )
    low, high = plane.min(axis=0), plane.max(axis=0)
    width = np.where(high > low, high - low, 1.0)
    unit = np.where(high > low, (plane - low) / width, 0.5)
    unit[:, 1] = 1.0 - unit[:, 1]  # up is more
    return 5.0 + 90.0 * unit, caption


def _circle(place: Sequence[float], radius: float, more: str) -> str:
    return f'<circle {more} cx="{place[0]:.2f}%" cy="{place[1]:.2f}%" r="{radius:g}"/>'


def _described(candidates: "Candidates", i: int) -> str:
    """Attributes that the page's script shows on hover and focus."""
    label = candidates.label(i)
    if candidates.quality is not None:
        label = f"{label} ({candidates.quality_name} {candidates.quality[i]:.6g})"
    text = _short(candidates.text(i), TIP_LENGTH)
    return f'data-label="{escape(label)}" data-text="{escape(text)}"'


def _mark(candidates: "Candidates", i: int, place: Sequence[float], kind: str) -> str:
    radius = 4.0 if kind == "dot" else 7.0
    return _circle(place, radius, f'class="{kind}" tabindex="-1" {_described(candidates, i)}')


def _pick(candidates: "Candidates", i: int, place: Sequence[float], rank: int) -> str:
    x, y = f"{place[0]:.2f}%", f"{place[1]:.2f}%"
    name = escape(f"Pick {rank}: {_entry(candidates, i)}")
    return (
        f'<g class="pick" tabindex="0" role="button" aria-label="{name}" data-rank="{rank}" '
        f'{_described(candidates, i)}><circle cx="{x}" cy="{y}" r="11"/>'
        f'<text x="{x}" y="{y}" dy=".35em">{rank}</text></g>'
    )


def _entry(candidates: "Candidates", i: int) -> str:
    label, text = candidates.label(i), _short(candidates.text(i), 120)
    return f"{label}: {text}" if text and text != label else label


def _legend(dots: int, others: int, given: int, caption: str) -> str:
    grey = "not picked" if dots == others else f"not picked ({dots:,} of {others:,} drawn)"
    keys = [("pick", "picked, by rank"), ("dot", grey)] + ([("ring", "already shown")] if given else [])
    listed = "".join(f'<span class="key {name}-key"></span>{words}' for name, words in keys)
    hint = "Hover, tap, or move with Tab and the arrow keys to read a row; Enter goes to a pick in the list."
    return f'<p class="caption">{listed}</p><p class="caption">{escape(caption)} {hint}</p>'


def _curve(candidates: "Candidates", picks: IntArray) -> str:
    """Quality of all rows in descending order, the picks as bars in it."""
    assert candidates.quality is not None
    quality = candidates.quality
    n = len(quality)
    order = np.argsort(-quality, kind="stable")
    low, high = min(0.0, float(quality.min())), max(0.0, float(quality.max()))
    height = np.asarray((quality - low) / ((high - low) or 1.0) * 100.0)
    steps = order[np.linspace(0, n - 1, min(n, 400)).round().astype(np.int64)]
    across = np.linspace(0.0, 100.0, len(steps) + 1)
    path = "".join(f"H{across[j]:.2f}V{100 - height[i]:.2f}H{across[j + 1]:.2f}" for j, i in enumerate(steps))
    rank = np.empty(n, dtype=np.int64)
    rank[order] = np.arange(n)
    bars = "".join(
        f'<rect x="{100 * rank[i] / n:.3f}%" y="{100 - height[i]:.2f}%" height="{height[i]:.2f}%" '
        f'width="{max(100 / n - 0.15, 0.35):.3f}%"/>'
        for i in picks.tolist()
    )
    best = int(np.isin(picks, order[: len(picks)]).sum())
    deepest = int(rank[picks].max(initial=0)) + 1
    words = f"{best} of the {len(picks)} picks are among the {len(picks)} best; the deepest is number {deepest:,}"
    return (
        f'<svg class="curve" role="img" aria-label="{escape(words)}"><svg viewBox="0 0 100 100" '
        f'preserveAspectRatio="none" width="100%" height="100%"><path class="all" d="M0 100{path}V100Z"/></svg>'
        f"{bars}</svg>"
        f'<p class="caption">Every row from the best to the worst, picks in colour: {escape(words)} of {n:,}. '
        f"The scale runs from {low:.4g} to {high:.4g}.</p>"
    )


def _list(candidates: "Candidates", selection: dv.Selection) -> str:
    quality = candidates.quality
    entries = []
    for rank, (i, gain) in enumerate(zip(selection.indices.tolist(), selection.gains.tolist(), strict=True), start=1):
        numbers = f"gain {gain:.3f}"
        bar = ""
        if quality is not None:
            low, high = min(0.0, float(quality.min())), max(0.0, float(quality.max()))
            share = (quality[i] - low) / ((high - low) or 1.0)
            bar = f'<span class="bar" aria-hidden="true"><span style="width: {100 * share:.1f}%"></span></span>'
            numbers = f"{candidates.quality_name} {quality[i]:.6g}, {numbers}"
        entries.append(
            f'<li id="pick-{rank}" tabindex="-1"><span class="rank">{rank}</span><div class="head">'
            f'<b>{escape(candidates.label(i))}</b>{bar}<span class="numbers">{escape(numbers)}</span></div>'
            f'<div class="body">{_text(candidates.text(i))}</div></li>'
        )
    return f'<ol class="picks">{"".join(entries)}</ol>'


def _text(text: str) -> str:
    if len(text) <= TEXT_LENGTH + 40:
        return escape(text)
    return f"{escape(_short(text, TEXT_LENGTH))}<details><summary>All of it</summary>{escape(text)}</details>"


def _numbers_table(rows: Sequence["Row"], headings: Mapping[str, str]) -> str:
    columns = {name: [row.numbers[name] for row in rows] for name in headings}
    head = "".join(f'<th scope="col">{escape(words)}</th>' for words in headings.values())
    lines = []
    for row in rows:
        cells = "".join(
            _number_cell(row.numbers[name], row.shown(name), columns[name], best=_BEST[name]) for name in headings
        )
        lines.append(f'<tr><th scope="row">{escape(row.method)}</th>{cells}</tr>')
    return (
        f'<div class="wide"><table><thead><tr><th scope="col">Method</th>{head}</tr></thead>'
        f"<tbody>{''.join(lines)}</tbody></table></div>"
    )


def _number_cell(
    value: float | None, shown: str, column: Sequence[float | None], *, best: Callable[[Sequence[float]], float] | None
) -> str:
    if value is None or not math.isfinite(value):
        return f"<td>{shown}</td>"
    finite = [other for other in column if other is not None and math.isfinite(other)]
    low, high = min(0.0, *finite), max(0.0, *finite)
    share = (value - low) / (high - low) if high > low else 0.0
    bold = ' class="best"' if best is not None and value == best(finite) else ""
    return (
        f'<td{bold}>{shown}<span class="bar" aria-hidden="true"><span style="width: {100 * share:.0f}%">'
        "</span></span></td>"
    )


def _short(text: str, length: int) -> str:
    if len(text) <= length:
        return text
    cut = text[:length].rsplit(" ", 1)[0]
    return f"{cut if len(cut) > length // 2 else text[:length]} …"


def write_page(output: Path, title: str, parts: Sequence[str], template_name: str = "page.html") -> None:
    """Put the parts of a page, already escaped, into a template; the file appears whole or not at all."""
    template = (files("diverset") / "apps" / "templates" / template_name).read_text(encoding="utf-8")
    values = {"title": escape(title), "body": "\n".join(parts), "version": escape(dv.__version__)}
    # In one pass, so that a marker in somebody's text stays text.
    page = re.sub(r"\{\{(\w+)\}\}", lambda found: values[found[1]], template)
    with atomic_write(output) as temporary:
        temporary.write_text(page, encoding="utf-8", errors="replace", newline="\n")
