r"""What pages share: one HTML file that loads nothing, and a map of rows.

The map shows rows by their first two principal components: for centred features X = U \Sigma V^T, row i is at
:math:`(U_{i1} \sigma_1, U_{i2} \sigma_2)`, the plane that keeps most of the variation.
"""

import re
from collections.abc import Mapping, Sequence
from html import escape
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

import diverset as dv
from diverset._typing import FloatArray, IntArray
from diverset.io.files import atomic_write
from diverset.numerics.validation import is_sparse

if TYPE_CHECKING:
    from diverset.cli.candidates import Candidates

__all__ = ["circle", "facts", "placed", "principal_plane", "short", "some_of", "write_page"]

#: Beyond this many rows and features, the two components are found by iteration.
_DIRECT = 400
_ROUNDS = 6


def write_page(
    output: Path, title: str, parts: Sequence[str], template_name: str = "page.html", script: str | None = None
) -> None:
    """Put the parts of a page, already escaped, into a template; the file appears whole or not at all.

    `script` names a file of JavaScript beside the templates.
    """
    templates = files("diverset") / "pages" / "templates"
    template = (templates / template_name).read_text(encoding="utf-8")
    code = "" if script is None else f"<script>\n{(templates / script).read_text(encoding='utf-8')}</script>"
    values = {"title": escape(title), "body": "\n".join(parts), "version": escape(dv.__version__), "script": code}
    # In one pass, so that a marker in somebody's text stays text.
    page = re.sub(r"\{\{(\w+)\}\}", lambda found: values[found[1]], template)
    with atomic_write(output) as temporary:
        temporary.write_text(page, encoding="utf-8", errors="replace", newline="\n")


def facts(asked: Mapping[str, str], remarks: Sequence[str]) -> list[str]:
    """What was asked, in words, and what the reader should know."""
    listed = "".join(f"<div><dt>{escape(k)}</dt><dd>{escape(v)}</dd></div>" for k, v in asked.items())
    return [f"<dl>{listed}</dl>", *(f'<p class="remark">{escape(remark)}</p>' for remark in remarks)]


def short(text: str, length: int) -> str:
    """The beginning of a text, up to the end of a word."""
    if len(text) <= length:
        return text
    cut = text[:length].rsplit(" ", 1)[0]
    return f"{cut if len(cut) > length // 2 else text[:length]} …"


def circle(place: Sequence[float], radius: float, kind: str) -> str:
    """A mark on a map, at a place in percent."""
    return f'<circle class="{kind}" cx="{place[0]:.2f}%" cy="{place[1]:.2f}%" r="{radius:g}"/>'


def some_of(n: int, without: IntArray, most: int) -> IntArray:
    """Rows for the background of a map, evenly spread over the file if there are too many."""
    others = np.setdiff1d(np.arange(n), without)
    if len(others) <= most:
        return others
    return others[np.linspace(0, len(others) - 1, most).round().astype(np.int64)]


def placed(candidates: "Candidates", shown: IntArray) -> tuple[FloatArray, str]:
    """Places of rows on a map, in percent, and what the directions mean."""
    X = candidates.features[shown]
    if candidates.axes is not None:
        plane = np.asarray(X, dtype=np.float64)
        caption = f"Across: {candidates.axes[0]}; up: {candidates.axes[1]}."
    else:
        if candidates.similarity == "cosine":
            X = _unit_rows(X)
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


def _unit_rows(X: Any) -> Any:
    """Rows of length 1; rows of zeros stay."""
    if is_sparse(X):
        return dv.kernels.normalize_rows(X)  # words of a row that has some
    X = np.asarray(X, dtype=np.float64)
    some = np.any(X, axis=1)
    unit = np.zeros(X.shape)
    unit[some] = dv.kernels.normalize_rows(X[some])
    return unit


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
