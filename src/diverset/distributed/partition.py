"""Selection in two rounds, for any n and k: every block picks for itself, then one machine picks from these picks."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np

from diverset._typing import Array, FloatArray
from diverset.distributed.blocks import Blocks, as_block, compute, task
from diverset.errors import DiversetError
from diverset.inference.inputs import as_column
from diverset.inference.result import Selection
from diverset.inference.scores import calibrated, check_scale
from diverset.inference.select import select
from diverset.numerics.validation import check_size, is_blocked, is_sparse

__all__ = ["greedi"]


def greedi(
    features: Any,
    k: int = 10,
    *,
    quality: Any = None,
    diversity: float = 0.5,
    scale: str | None = "rank",
    similarity: str = "cosine",
    method: str = "greedy",
) -> Selection:
    r"""Pick k items in two rounds: k from every block where it is, then k from these, or those of the best block.

    Parameters
    ----------
    features : dask array of shape (n_items, n_features)
        Its blocks are the parts; many short ones are joined first.
    k, quality, diversity, scale, similarity
        As in :func:`diverset.select`; similarity is "cosine" or "dot". Scores are calibrated over all items.
    method : {"greedy", "local-search"}
        How parts pick, and the second round after them.

    Returns
    -------
    Selection
        Of the same objective as :func:`diverset.select`.

    Notes
    -----
    With m parts, OPT the best value of k items, and

    * any nonnegative, monotone, submodular objective, the value found is at least
      :math:`\frac{(1-1/e)^2}{\min(m, k)}\,\mathrm{OPT}` ([MirzasoleimanKarbasiSarkarKrause2013]_). The objective of
      :func:`diverset.select` is submodular; it is nonnegative and monotone where every item adds something,
      for instance with qualities that outweigh what is lost in volume;
    * the determinant of the kernel itself, :math:`L_{ij} = e^{wq_i/2}S_{ij}e^{wq_j/2}` with k at most the rank, the
      picks of the parts are a *composable core-set*: among them there are k items whose determinant is at least
      :math:`O(k)^{-3k}` times the largest for ``"greedy"`` ([GollapudiMahabadiSivashankar2023]_),
      :math:`O(k)^{-2k}` for ``"local-search"`` ([MahabadiIndykOveisGharanRezaei2019]_). Greedy then finds a set within
      :math:`(k!)^2` of the best of the union ([CivrilMagdonIsmail2009]_).

    In practice the value is nearly that of greedy over everything (:func:`diverset.select`, which takes more round
    trips). Two round trips; each part sends k rows.

    Examples
    --------
    >>> import numpy as np, dask.array as da, diverset as dv
    >>> X = np.random.default_rng(0).standard_normal((4000, 8))
    >>> found = dv.distributed.greedi(da.from_array(X, chunks=1000), 5, diversity=1.0)
    >>> len(found), bool(found.log_det > dv.select(X, 5, diversity=1.0).log_det - 0.1)
    (5, True)
    """
    if method not in ("greedy", "local-search"):
        raise DiversetError(f"method is {method!r}; choose one of greedy, local-search")
    if similarity not in ("cosine", "dot"):
        raise DiversetError(f"similarity is {similarity!r}; parts are compared by cosine or dot")
    wanted = check_size(k)
    blocks = Blocks.of(features)
    scores = None
    if quality is not None:
        quality = quality.compute() if is_blocked(quality) else quality
        raw = as_column(quality, blocks.shape[0], name="quality")
        scores = calibrated(raw, check_scale(scale))
    options: dict[str, Any] = {"diversity": diversity, "scale": None, "similarity": similarity, "method": method}
    found: list[tuple[Selection, Array]] = compute(
        [
            task(_picks_of, part, None if scores is None else scores[a:b], wanted, options)
            for part, (a, b) in zip(blocks.parts, pairwise(blocks.starts), strict=True)
        ]
    )
    parts = [replace(own, indices=start + own.indices) for start, (own, _) in zip(blocks.starts, found, strict=False)]
    items = np.concatenate([part.indices for part in parts])
    order = np.argsort(items)
    items, rows = items[order], np.concatenate([rows for _, rows in found])[order]
    second = select(rows, wanted, quality=None if scores is None else scores[items], **options)
    best = replace(second, indices=items[second.indices])
    # The guarantee is about the better of this set and the best part by itself.
    for part in parts:
        if len(part) == len(best) and part.objective > best.objective:
            best = part
    return replace(best, scale=None if scores is None else scale, upper_bound=None, notes=(), _facts=None)


def _picks_of(block: Any, scores: FloatArray | None, k: int, options: dict[str, Any]) -> tuple[Selection, Array]:
    """Picks of one block, on the worker that has it, and their rows."""
    X = as_block(block)
    # Facts about the selection refer to the block, and would keep it in memory.
    selection = replace(select(X, k, quality=scores, **options), _facts=None)
    rows = X[selection.indices]
    return selection, rows.toarray() if is_sparse(rows) else np.array(rows)
