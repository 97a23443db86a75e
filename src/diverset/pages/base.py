r"""What all pages share: the Jinja environment, files that appear whole, links, and a map of rows.

A page is one HTML file that loads nothing. Each module beside this one has a function ``page(result, output)``, which
returns the values for the template of the same name; everything in them is escaped by Jinja.

The map shows rows by their first two principal components: for centred features X = U \Sigma V^T, row i is at
:math:`(U_{i1} \sigma_1, U_{i2} \sigma_2)`, the plane that keeps most of the variation.
"""

import os
from collections.abc import Mapping
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

__all__ = [
    "as_fragment", "as_markdown", "file_link", "placed", "plain", "principal_plane", "render", "short", "some_of",
    "web_link", "write_page",
]  # fmt: skip

#: Beyond this many rows and features, the two components are found by iteration.
_DIRECT = 400
_ROUNDS = 6
#: Rows of a result that a notebook shows at once; the others are folded.
_FRAGMENT_ROWS = 20


@cache
def _environment() -> Any:
    import jinja2

    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("diverset.pages"), autoescape=True, undefined=jinja2.StrictUndefined
    )
    environment.policies["json.dumps_kwargs"] = {"ensure_ascii": False, "separators": (",", ":")}
    environment.filters["cell"] = _cell
    return environment


def render(template: str, **values: Any) -> str:
    """A template filled with values; text in them stays text."""
    return str(_environment().get_template(template).render(version=dv.__version__, **values))


def write_page(result: Result, output: Path) -> None:
    """Write the page of a result; the file appears whole or not at all."""
    values = import_module(f"diverset.pages.{result._page}").page(result, output)
    with atomic_write(output) as temporary:
        html = render(f"{result._page}.html", **values)
        temporary.write_text(html, encoding="utf-8", errors="replace", newline="\n")


def as_fragment(result: Result) -> str:
    """What a notebook shows: the text of the result, and its rows as a table."""
    rows = result.records()
    columns = list(dict.fromkeys(name for row in rows for name in row))
    filled: list[Mapping[str, Any]] = [{name: row.get(name) for name in columns} for row in rows]
    first, more = filled[:_FRAGMENT_ROWS], filled[_FRAGMENT_ROWS:]
    return render("fragment.html", heading=str(result), columns=columns, rows=first, more=more)


def as_markdown(result: Result) -> str:
    """The result as Markdown: what its page module makes of it, else a heading line and a table."""
    own = getattr(import_module(f"diverset.pages.{result._page}"), "markdown", None)
    if own is not None:
        return str(own(result))
    rows = result.records()
    columns = list(dict.fromkeys(name for row in rows for name in row))
    lines = [str(result).partition("\n")[0], ""]
    lines += [_line(columns), _line("---" for _ in columns), *(_line(row.get(c) for c in columns) for row in rows)]
    return "\n".join([*lines, ""])


def _line(cells: Any) -> str:
    return f"| {' | '.join(cell if cell == '---' else plain(_cell(cell)) for cell in cells)} |"


def _cell(value: Any) -> str:
    """A value of a table, as it is shown."""
    if isinstance(value, float):
        return f"{value:.4g}"
    return "" if value is None else short(str(value), 400)


def plain(text: str) -> str:
    """Text in which Markdown sees no markup."""
    return "".join("\\" + mark if mark in "\\`*_[]<>#|" else mark for mark in " ".join(text.split()))


def web_link(address: Any) -> str:
    """An address that a page may link to, or nothing: only http and https."""
    text = str(address or "").strip()
    return text if text.lower().startswith(("http://", "https://")) else ""


def file_link(path: str | os.PathLike[str], output: Path) -> str:
    """A link from a page to a file, relative to the page; nothing if there is no such file."""
    try:
        if not os.path.exists(path):
            return ""
        relative = os.path.relpath(os.path.abspath(path), os.path.abspath(output.parent))
    except (OSError, ValueError):  # another drive, or a name that no file system has
        return ""
    # The dot keeps a name such as "javascript:x" from being read as an address.
    return "./" + quote(relative.replace(os.sep, "/").encode("utf-8", "surrogateescape"))


def short(text: str, length: int) -> str:
    """The beginning of a text, up to the end of a word."""
    if len(text) <= length:
        return text
    cut = text[:length].rsplit(" ", 1)[0]
    return f"{cut if len(cut) > length // 2 else text[:length]} …"


def some_of(n: int, without: IntArray, most: int) -> IntArray:
    """Rows for the background of a map, evenly spread over the file if there are too many."""
    others = np.setdiff1d(np.arange(n), without)
    if len(others) <= most:
        return others
    return others[np.linspace(0, len(others) - 1, most).round().astype(np.int64)]


def placed(candidates: Any, shown: IntArray) -> tuple[FloatArray, str]:
    """Places of rows on a map, in percent, and what the directions mean.

    `candidates` has ``features``, ``similarity`` and ``axes``, as those of the command line do.
    """
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
