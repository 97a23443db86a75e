r"""Choice of rows for measurement, labelling, training or approximation.

===========================  ==========================================================================
you want                     use
===========================  ==========================================================================
experiments to run           :func:`d_optimal_design`: for a linear model
a training and a test part   :func:`diverse_split`: instead of ``train_test_split``
a sparse Gaussian process    :func:`inducing_points`: for scikit-learn, GPyTorch, GPflow
fewer rows, with weights     :func:`coreset`: weighted sums over the rows are unbiased
===========================  ==========================================================================

The functions take and return arrays, and do not need scikit-learn.

A linear model fitted to the rows Y of X has information matrix :math:`X_Y^T X_Y`. A D-optimal design of k rows
maximises its determinant, which minimises the volume of the confidence region of the coefficients::

    candidates = np.column_stack([np.ones(n), temperature, pressure, temperature * pressure])
    runs = d_optimal_design(candidates, k=12)
    candidates[runs]                       # the twelve experiments to run
    d_optimal_design(candidates, k=6, given=runs.indices)    # and six more, later
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

import numpy as np
import scipy.linalg

from diverset._typing import Array, BoolArray, FloatArray, IntArray, RNGLike
from diverset.errors import DiversetError, SizeError
from diverset.inference import select
from diverset.inference.inputs import as_column, read_items, take_rows
from diverset.inference.result import Selection
from diverset.integrations._inducing import Coreset, InducingPoints, coreset, inducing_points
from diverset.numerics.linalg import EPS
from diverset.numerics.validation import (
    as_generator,
    check_finite,
    check_fits_in_memory,
    check_nonnegative,
    check_size,
    find_positions,
    is_sparse,
)

__all__ = ["Coreset", "InducingPoints", "coreset", "d_optimal_design", "diverse_split", "inducing_points"]

#: An exchange must multiply the determinant by more than this, so that rounding errors cannot prolong the search.
_BETTER = 1.0 + 1e-9
#: Number of candidate rows processed in one batch.
_CHUNK = 4096


def d_optimal_design(
    X: Any, k: int, *, ridge: float = 0.0, given: Iterable[int] | None = None, improve: bool = True
) -> Selection:
    r"""Rows whose information matrix has the largest determinant that greedy picks and exchanges find.

    .. math::  \max_{|Y| = k} \det M_Y, \qquad M_Y = \rho I + \sum_{i \in G \cup Y} x_i x_i^T,

    with :math:`\rho` the `ridge` and G the `given` rows. If :math:`M_Y` is always singular, because there are fewer
    rows than columns or columns depend on each other, the determinant is replaced by the product of the nonzero
    eigenvalues. For k < D this is :math:`\det X_Y X_Y^T`, the squared volume that the rows span.

    Parameters
    ----------
    X : array_like of shape (n_rows, n_columns)
        Candidate rows of the model matrix; add a column of ones for an intercept.
    k : int
        Number of rows; each is picked at most once.
    ridge : float
        Prior precision of the coefficients (Bayesian D-optimality).
    given : iterable of int, optional
        Rows already in the design. They are part of the information matrix, and are not picked.
    improve : bool
        Whether to exchange rows after the greedy picks as long as that raises the determinant.

    Returns
    -------
    Selection
        ``log_det`` is :math:`\log\det M_Y`. The rows are in the order in which greedy search picks them from the final
        set, and ``gains`` are the increases of the log-determinant.

    Notes
    -----
    The first picks are those of :func:`diverset.select` with ``similarity="dot"``. Then the exchange algorithm of
    Fedorov (1972) repeatedly exchanges the row in the design and the row outside that raise the determinant most,

    .. math::  \frac{\det M_{Y - i + j}}{\det M_Y} = (1 - d_{ii})(1 + d_{jj}) + d_{ij}^2, \qquad
               d_{ij} = x_i^T M_Y^{-1} x_j,

    until no exchange raises it. So no single exchange improves the result, but a better set may exist. Each exchange
    takes O(n D (D + k)).

    Examples
    --------
    The best points for a straight line are its ends; for a parabola, the ends and the middle.

    >>> import numpy as np
    >>> t = np.linspace(-1.0, 1.0, 9)
    >>> sorted(d_optimal_design(np.column_stack([np.ones(9), t]), k=2))
    [0, 8]
    >>> sorted(d_optimal_design(np.column_stack([np.ones(9), t, t**2]), k=3))
    [0, 4, 8]
    """
    items = read_items(X, name="X")
    rows = _dense(items.features)
    n, D = rows.shape
    shown = find_positions(() if given is None else given, np.arange(n), name="given")
    wanted = min(check_size(k), n - len(shown))
    rho = check_nonnegative(ridge, name="ridge")
    if rho:
        # A ridge is equivalent to D rows that are already in the design.
        rows = np.vstack([rows, np.sqrt(rho) * np.eye(D)])
        shown = np.concatenate([shown, np.arange(n, n + D)])
    design = _Design(rows, shown)
    picks = design.greedy(wanted)
    best = design.log_det(picks.indices)
    if improve and 0 < wanted < len(rows) - len(shown):
        other = design.exchanged(picks.indices)
        value = design.log_det(other)
        if value > best:  # rounding could make it smaller
            picks, best = design.greedy(wanted, among=other), value
    labels = None if items.labels is None else items.labels[picks.indices]
    return replace(picks, log_det=best, objective=best, labels=labels)


def _dense(X: Any) -> FloatArray:
    n, D = X.shape
    # Memory for the rows in double precision, scaled and whitened copies, and the workspace of the decomposition.
    check_fits_in_memory(40 * n * D, what=f"the design of {n} rows and {D} columns")
    rows = np.array(X.toarray() if is_sparse(X) else X, dtype=np.float64)
    check_finite(rows, name="X")
    return rows


class _Design:
    """Candidate rows and the positions of the rows already in the design; sets are arrays of positions."""

    def __init__(self, rows: FloatArray, shown: IntArray) -> None:
        self.rows = rows
        self.shown = shown
        # Ranks and exchanges do not depend on the units of the columns, so each column is scaled to size one.
        units = np.abs(rows).max(axis=0, initial=0.0)
        scaled = rows / np.where(units > 0.0, units, 1.0)
        U, sigma, _ = np.linalg.svd(scaled, full_matrices=False)
        self.rank = _rank(sigma, scaled.shape)
        self.rank_shown = _rank(np.linalg.svd(scaled[shown], compute_uv=False), scaled[shown].shape)
        self.white = U[:, : self.rank]

    def greedy(self, k: int, among: IntArray | None = None) -> Selection:
        return _volume(self.rows, k, self.shown, among)

    def log_det(self, chosen: IntArray) -> float:
        """Log of the product of those eigenvalues of the information matrix that can be nonzero."""
        sigma = np.linalg.svd(self.rows[np.concatenate([self.shown, chosen])], compute_uv=False)
        size = min(self.rank, self.rank_shown + len(chosen))
        with np.errstate(divide="ignore"):
            return float(2.0 * np.log(sigma[:size]).sum())

    def exchanged(self, chosen: IntArray) -> IntArray:
        """The set after all exchanges that raise the determinant."""
        if self.rank == 0:
            return chosen
        if self.rank_shown + len(chosen) < self.rank:
            residual = _residuals(self.rows, self.rows[self.shown])
            return self._search(chosen, lambda Y: _volume_ratios(residual, Y))
        # Ratios of determinants are the same in every basis of the columns; an orthonormal basis is most accurate.
        W = self.white
        fixed = W[self.shown].T @ W[self.shown]
        lam = np.linalg.eigvalsh(fixed + W[chosen].T @ W[chosen])
        if not lam[0] > len(lam) * EPS * lam[-1]:  # numerically singular
            chosen = _volume(W, len(chosen), self.shown, None).indices
        return self._search(chosen, lambda Y: _information_ratios(W, fixed, Y))

    def _search(self, chosen: IntArray, ratios_of: Callable[[IntArray], Callable[[slice], FloatArray]]) -> IntArray:
        Y = chosen.copy()
        open_: BoolArray = np.ones(len(self.rows), dtype=bool)
        open_[self.shown] = False
        while True:
            open_[Y] = False
            try:
                ratios = ratios_of(Y)
            except np.linalg.LinAlgError:  # numerically singular: no ratios
                return Y
            best, out, into = _BETTER, -1, -1
            for start in range(0, len(open_), _CHUNK):
                part = slice(start, start + _CHUNK)
                values = np.where(open_[part], ratios(part), 0.0)
                i, j = divmod(int(values.argmax()), values.shape[1])
                if values[i, j] > best:
                    best, out, into = float(values[i, j]), i, start + j
            if out < 0:
                return Y
            open_[Y[out]] = True
            Y[out] = into


def _rank(sigma: Array, shape: tuple[int, ...]) -> int:
    return int((sigma > max(shape) * EPS * sigma.max(initial=0.0)).sum())


def _volume(rows: FloatArray, k: int, shown: IntArray, among: IntArray | None) -> Selection:
    closed = None if among is None else np.setdiff1d(np.arange(len(rows)), np.concatenate([among, shown]))
    return select(rows, k, diversity=1.0, similarity="dot", given=shown, exclude=closed)


def _residuals(rows: FloatArray, fixed: FloatArray) -> FloatArray:
    """Rows minus their projection onto the span of the fixed rows."""
    if len(fixed) == 0:
        return rows
    _, sigma, Vh = np.linalg.svd(fixed, full_matrices=False)
    basis = Vh[: _rank(sigma, fixed.shape)]
    return np.asarray(rows - (rows @ basis.T) @ basis)


def _information_ratios(W: FloatArray, fixed: FloatArray, Y: IntArray) -> Callable[[slice], FloatArray]:
    """Factors by which exchanging Y[i] for row j multiplies the determinant of the information matrix."""
    half = np.linalg.cholesky(fixed + W[Y].T @ W[Y])
    Z = scipy.linalg.solve_triangular(half, W.T, lower=True).T
    d = np.einsum("ij,ij->i", Z, Z)

    def ratios(part: slice) -> FloatArray:
        cross = Z[Y] @ Z[part].T
        result: FloatArray = (1.0 - d[Y])[:, None] * (1.0 + d[part]) + cross**2
        return result

    return ratios


def _volume_ratios(R: FloatArray, Y: IntArray) -> Callable[[slice], FloatArray]:
    r"""Factors by which exchanging Y[i] for row j multiplies :math:`\det R_Y R_Y^T`.

    With c the coefficients of row j in the rows Y and r its squared distance to their span, the factor is
    :math:`c_i^2 + r (R_Y R_Y^T)^{-1}_{ii}`.
    """
    B = R[Y]
    half = np.linalg.cholesky(B @ B.T)
    inverse = scipy.linalg.cho_solve((half, True), np.eye(len(Y)))
    inverse_diagonal = np.diagonal(inverse)

    def ratios(part: slice) -> FloatArray:
        products = B @ R[part].T
        C = inverse @ products
        distance = np.maximum(np.einsum("ij,ij->i", R[part], R[part]) - (products * C).sum(axis=0), 0.0)
        result: FloatArray = C**2 + inverse_diagonal[:, None] * distance
        return result

    return ratios


def count_rows(data: Any) -> int:
    """Number of rows of an array, sparse matrix, data frame, tensor or list."""
    shape = getattr(data, "shape", None)
    return int(shape[0]) if shape else len(data)


def class_sizes(counts: IntArray, wanted: int, *, leave: int) -> IntArray:
    """Proportional number of rows of each class, of sum `wanted`; at least 1, with `leave` rows of each left over."""
    upper = counts - leave
    if not len(counts) <= wanted <= upper.sum():
        rest = f" and leave {leave} of each" if leave else ""
        raise SizeError(
            f"{wanted} of {counts.sum()} rows cannot hold every one of {len(counts)} classes{rest}; "
            "change the size, or do not stratify"
        )
    quota = counts * (wanted / counts.sum())
    sizes: IntArray = np.clip(np.floor(quota).astype(np.int64), 1, upper)
    while sizes.sum() < wanted:
        sizes[np.where(sizes < upper, quota - sizes, -np.inf).argmax()] += 1
    while sizes.sum() > wanted:
        sizes[np.where(sizes > 1, quota - sizes, np.inf).argmin()] -= 1
    return sizes


def select_by_class(
    features: Any,
    wanted: int,
    labels: Any,
    *,
    leave: int,
    quality: Any,
    diversity: float,
    similarity: str | Callable[..., Any],
    method: str,
    rng: RNGLike,
) -> list[Selection]:
    """One selection, or one per class if labels are given; `indices` are rows of `features`."""
    generator = as_generator(rng)

    def run(X: Any, k: int, scores: Any) -> Selection:
        return select(X, k, quality=scores, diversity=diversity, similarity=similarity, method=method, rng=generator)

    if labels is None:
        return [run(features, wanted, quality)]
    names, codes, counts = np.unique(labels, return_inverse=True, return_counts=True)
    lonely = np.flatnonzero(counts <= leave)
    if len(lonely):
        i = lonely[0]
        raise SizeError(
            f"class {names[i]} has {counts[i]} row, and both parts need one; leave it out or do not stratify"
        )
    X = read_items(features).features
    scores = None if quality is None else as_column(quality, X.shape[0], name="quality")
    selections = []
    for code, size in enumerate(class_sizes(counts, wanted, leave=leave)):
        rows = np.flatnonzero(codes == code)
        part = X[rows][:, rows] if similarity == "precomputed" else X[rows]
        found = run(part, int(size), None if scores is None else scores[rows])
        selections.append(replace(found, indices=rows[found.indices], labels=None))
    return selections


def diverse_split(
    X: Any,
    *arrays: Any,
    train_size: float | int = 0.5,
    stratify: Any = None,
    quality: Any = None,
    diversity: float = 0.5,
    similarity: str | Callable[..., Any] = "cosine",
    method: str = "greedy",
    rng: RNGLike = None,
) -> list[Any]:
    """Split rows into a diverse training part and a test part with the other rows.

    Parameters
    ----------
    X : array_like of shape (n_rows, n_features)
        Features, of any type that :func:`diverset.select` accepts.
    *arrays : sequences of n_rows
        Further data to split in the same way: targets, weights, names, or ``numpy.arange(n_rows)`` for row numbers.
    train_size : float or int
        A fraction between 0 and 1 (rounded down, as scikit-learn does), or a number of rows.
    stratify : array_like of shape (n_rows,), optional
        Class of each row. Every class is then in both parts, in proportion. Each class has a selection of its own, so
        rows of different classes do not repel: similar rows of different classes show the decision boundary.
    quality, diversity, similarity, method, rng
        As in :func:`diverset.select`. Greedy splits are deterministic; ``method="sample"`` gives random splits. It
        suits ``similarity="rbf"``, under which sets of every size have a positive determinant.

    Returns
    -------
    list
        ``[X_train, X_test, a_train, a_test, ...]`` as from scikit-learn's ``train_test_split``. Each part has the type
        of its input, with the rows in their original order.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[1.0, 0.0], [1.0, 0.01], [0.0, 1.0], [0.01, 1.0], [1.0, 1.0], [1.0, 0.99]])
    >>> X_train, X_test, rows_train, rows_test = diverse_split(X, np.arange(6), train_size=2)
    >>> rows_train, rows_test
    (array([0, 2]), array([1, 3, 4, 5]))
    """
    n = count_rows(X)
    for name, data in {"stratify": stratify, **{f"array {i}": data for i, data in enumerate(arrays)}}.items():
        if data is not None and count_rows(data) != n:
            raise DiversetError(f"{name} has {count_rows(data)} rows for {n} rows of X; give one per row")
    wanted = _train_rows(train_size, n)
    selections = select_by_class(
        X,
        wanted,
        stratify,
        leave=1,
        quality=quality,
        diversity=diversity,
        similarity=similarity,
        method=method,
        rng=rng,
    )
    is_train = np.zeros(n, dtype=bool)
    is_train[np.concatenate([found.indices for found in selections])] = True
    train, test = np.flatnonzero(is_train), np.flatnonzero(~is_train)
    return [take_rows(data, rows) for data in (X, *arrays) for rows in (train, test)]


def _train_rows(train_size: Any, n: int) -> int:
    """Number of training rows, at least 1 and less than n."""
    if isinstance(train_size, float | np.floating):
        if not 0.0 < train_size < 1.0:
            raise SizeError(f"train_size is {train_size}; a fraction lies between 0 and 1, a number of rows is an int")
        wanted = int(np.floor(train_size * n))
    else:
        wanted = check_size(train_size, name="train_size")
    if not 0 < wanted < n:
        raise SizeError(f"train_size is {train_size}, {wanted} of {n} rows, which leaves one part empty")
    return wanted
