"""Code shared by all pages: the Jinja environment, links, texts, and a map of rows.

Each other module has a function ``page(result, output)``, which returns the values for the template of the same name.
"""

import os
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any
from urllib.parse import quote

import numpy as np

import diverset as dv
from diverset._result import Result
from diverset._typing import FloatArray, IntArray
from diverset.io.files import atomic_write
from diverset.numerics.validation import is_sparse

__all__ = ["as_fragment", "as_markdown", "file_link", "placed", "plain", "render", "short", "web_link", "write_page"]

#: With more rows and features than this, the two components are found by this number of iterations.
_DIRECT, _ROUNDS = 400, 6
#: Rows of a result that a notebook shows unfolded.
_FRAGMENT_ROWS = 20


@cache
def _environment() -> Any:
    import jinja2

    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("diverset.pages"), autoescape=True, undefined=jinja2.StrictUndefined
    )
    environment.policies["json.dumps_kwargs"] = {"ensure_ascii": False, "separators": (",", ":")}
    return environment


def render(template: str, **values: Any) -> str:
    """A template filled with values, which are escaped."""
    return str(_environment().get_template(template).render(version=dv.__version__, **values))


def write_page(result: Result, output: Path) -> None:
    """Write the page of a result, atomically."""
    values = import_module(f"diverset.pages.{result._page}").page(result, output)
    with atomic_write(output) as temporary:
        html = render(f"{result._page}.html", **values)
        temporary.write_text(html, encoding="utf-8", errors="replace", newline="\n")


def _cells(result: Result) -> tuple[list[str], list[list[str]]]:
    """Names of the columns of a result, and its cells row by row."""
    rows = result.records()
    columns = list(dict.fromkeys(name for row in rows for name in row))
    return columns, [[_cell(row.get(name)) for name in columns] for row in rows]


def as_fragment(result: Result) -> str:
    """HTML for a notebook: the text of the result, and its rows as a table."""
    columns, rows = _cells(result)
    blocks = [rows[:_FRAGMENT_ROWS], rows[_FRAGMENT_ROWS:]]
    return render("fragment.html", heading=str(result), columns=columns, blocks=blocks)


def as_markdown(result: Result) -> str:
    """The result as Markdown, by the function ``markdown`` of its page module; by default a line and a table."""
    own = getattr(import_module(f"diverset.pages.{result._page}"), "markdown", None)
    if own is not None:
        return str(own(result))
    columns, rows = _cells(result)
    lines = [map(plain, columns), ["---"] * len(columns), *(map(plain, row) for row in rows)]
    return "\n".join([str(result).partition("\n")[0], "", *(f"| {' | '.join(cells)} |" for cells in lines), ""])


def _cell(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else "" if value is None else short(str(value), 400)


def plain(text: str) -> str:
    """Text with all Markdown markup escaped."""
    return "".join("\\" + mark if mark in "\\`*_[]<>#|" else mark for mark in " ".join(text.split()))


def web_link(address: Any) -> str:
    """An http or https address, or an empty string for anything else."""
    text = str(address or "").strip()
    return text if text.lower().startswith(("http://", "https://")) else ""


def file_link(path: str | os.PathLike[str], output: Path) -> str:
    """A relative link from a page to a file; empty if there is no such file."""
    try:
        if not os.path.exists(path):
            return ""
        relative = os.path.relpath(os.path.abspath(path), os.path.abspath(output.parent))
    except (OSError, ValueError):  # another drive, or an impossible name
        return ""
    # Because of the dot, a name such as "javascript:x" is no address.
    return "./" + quote(relative.replace(os.sep, "/").encode("utf-8", "surrogateescape"))


def short(text: str, length: int) -> str:
    """The beginning of a text, up to the end of a word."""
    if len(text) <= length:
        return text
    cut = text[:length].rsplit(" ", 1)[0]
    return f"{cut if len(cut) > length // 2 else text[:length]} …"


def some_of(n: int, without: IntArray, most: int) -> IntArray:
    """Rows other than `without`, at most `most` of them, evenly spaced."""
    others = np.setdiff1d(np.arange(n), without)
    return others[np.linspace(0, len(others) - 1, min(len(others), most)).round().astype(np.int64)]


def placed(candidates: Any, shown: IntArray) -> tuple[FloatArray, str]:
    """Places of rows of ``Candidates`` on a map, in percent, and a caption; without features, one place for all."""
    if candidates.features is None:
        return np.full((len(shown), 2), 50.0), ""
    X = candidates.features[shown]
    if candidates.axes is not None:
        plane = np.asarray(X, dtype=np.float64)
        caption = f"Across: {candidates.axes[0]}; up: {candidates.axes[1]}."
    else:
        if candidates.similarity == "cosine" and is_sparse(X):
            X = dv.kernels.normalize_rows(X)
        elif candidates.similarity == "cosine":
            X = np.array(X, dtype=np.float64)
            some = np.any(X, axis=1)  # rows of zeros stay
            X[some] = dv.kernels.normalize_rows(X[some])
        plane, share = principal_plane(X)
        caption = f"Close rows are similar; the two principal components keep {share:.0%} of the variation."
    return in_percent(plane, plane), caption


def in_percent(plane: FloatArray, shown: FloatArray) -> FloatArray:
    """Places on a map: 5 to 95 percent of its width and height for the points `shown`; larger values are higher up."""
    low, high = shown.min(axis=0), shown.max(axis=0)
    unit = np.where(high > low, (plane - low) / np.where(high > low, high - low, 1.0), 0.5)
    unit[:, 1] = 1.0 - unit[:, 1]
    return 5.0 + 90.0 * unit


def positive(Vt: FloatArray) -> FloatArray:
    """The signs that make the largest loading of each component positive."""
    return np.where(Vt[np.arange(len(Vt)), np.abs(Vt).argmax(axis=1)] < 0.0, -1.0, 1.0)


def principal_plane(X: Any) -> tuple[FloatArray, float]:
    """Rows of a dense or sparse (n, d) matrix on two principal components, and the share of variation that they keep.

    Missing directions are zero. The share is 1 if all rows are equal.

    >>> plane, share = principal_plane(np.array([[0.0, 0.0, 1.0], [3.0, 0.0, 1.0], [6.0, 0.0, 1.0]]))
    >>> plane[:, 0].round(6).tolist(), round(share, 6)
    ([-3.0, 0.0, 3.0], 1.0)
    """
    A: Any = X.astype(np.float64) if is_sparse(X) else np.asarray(X, dtype=np.float64)
    largest = np.abs(A.data if is_sparse(A) else A).max(initial=0.0)
    A = A / (largest or 1.0)  # against overflow of squares
    mean = np.asarray(A.mean(axis=0)).ravel()
    if is_sparse(A) or min(A.shape) > _DIRECT:
        # Subspace iteration. The mean is subtracted from the products, since centred words would not be sparse.
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
    plane[:, :m] = U[:, :m] * sigma[:m] * (largest or 1.0) * positive(Vt[:m])
    return plane, min(1.0, float((sigma[:m] ** 2).sum()) / total) if total > 0.0 else 1.0
