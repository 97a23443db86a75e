r"""Diverse n-best lists: several good labelings of a sequence that differ from each other.

The n best labelings of a scored chain tend to be one labeling with small changes. A structured DPP over labelings
trades score against overlap ([KuleszaTaskar2012]_, section 7.3, suggests this).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from diverset._typing import FloatArray, IntArray, RNGLike
from diverset.errors import DiversetError, KernelError
from diverset.numerics.validation import LARGEST, as_real, check_positive, check_size
from diverset.structured.best import best_set
from diverset.structured.graph import FactorGraph
from diverset.structured.sdpp import StructuredDPP

__all__ = ["Labelings", "chain_graph", "diverse_labelings"]


@dataclass(frozen=True, eq=False)
class Labelings:
    """Labelings of a sequence.

    Parameters
    ----------
    labels : ndarray of shape (k, n_positions)
        One labeling per row: in the order in which they were found, or ascending for draws.
    scores : ndarray of shape (k,)
        Total score of each.
    """

    labels: IntArray
    scores: FloatArray

    def __len__(self) -> int:
        return len(self.labels)


def chain_graph(unary: Any, pairwise: Any = None, *, temperature: float = 1.0, features: Any = None) -> FactorGraph:
    r"""Factor graph of a scored chain: :math:`q^2(y) = \exp(\text{score}(y) / T)`.

    Parameters
    ----------
    unary : array_like of shape (n_positions, n_labels)
        Score of each label at each position, such as log-probabilities; ``-inf`` forbids one.
    pairwise : array_like of shape (n_labels, n_labels) or (n_positions - 1, n_labels, n_labels), optional
        Score of each pair of consecutive labels, the same for all steps or one matrix for each.
    temperature : float
        T: small values favour high scores, large values favour diversity.
    features : array_like of shape (n_positions, n_labels, D), optional
        Features of a label at a position. By default each is a direction of its own, so that the similarity of two
        labelings is the number of positions where they agree.
    """
    scores = as_real(unary, name="unary", shape=(None, None))
    n, m = scores.shape
    half = 0.5 / check_positive(temperature, name="temperature")
    if half > LARGEST:
        raise DiversetError(f"temperature is {temperature:g}; it is too small for floating-point scores, raise it")
    if scores.size and np.abs(scores[np.isfinite(scores)]).max(initial=0.0) > LARGEST:
        raise KernelError(
            "scores in unary are too large to be multiplied; divide them and the temperature by the same number"
        )
    if features is None:
        phi = np.eye(n * m).reshape(n, m, n * m)
    else:
        phi = as_real(features, name="features", shape=(None, None, None))
        if phi.shape[:2] != (n, m):
            raise KernelError(f"features has shape {phi.shape}; expected ({n}, {m}, D), one vector per score")
    graph = FactorGraph([m] * n)
    for r in range(n):
        graph.add_factor([r], log_quality=half * scores[r], features=phi[r], name=f"position {r}")
    if pairwise is not None and n > 1:
        steps = as_real(pairwise, name="pairwise", shape=(None,) * (3 if np.ndim(pairwise) == 3 else 2))
        if steps.shape not in ((m, m), (n - 1, m, m)):
            raise KernelError(f"pairwise has shape {steps.shape}; expected ({m}, {m}) or ({n - 1}, {m}, {m})")
        for r in range(n - 1):
            step = steps if steps.ndim == 2 else steps[r]
            graph.add_factor([r, r + 1], log_quality=half * step, name=f"step {r}")
    return graph


def diverse_labelings(
    unary: Any,
    pairwise: Any = None,
    *,
    k: int,
    temperature: float = 1.0,
    features: Any = None,
    method: str = "best",
    rng: RNGLike = None,
) -> Labelings:
    r"""K good labelings of a scored chain that differ from each other.

    Parameters
    ----------
    unary, pairwise, temperature, features
        The chain; see :func:`chain_graph`.
    k : int
        Number of labelings.
    method : {"best", "sample"}
        Grow the set greedily towards the largest :math:`\sum_y \text{score}(y)/T + \log\det(\phi\phi^\top)`, or draw it
        from the k-DPP.
    rng : int, Generator or None
        Seed or generator.

    Examples
    --------
    Three words with two readings each. By score, the runner-up differs from the best in one word.

    >>> import numpy as np
    >>> unary = np.log([[0.6, 0.4], [0.55, 0.45], [0.52, 0.48]])
    >>> found = diverse_labelings(unary, k=2, temperature=5.0, rng=0)
    >>> found.labels.tolist()
    [[0, 0, 0], [1, 1, 1]]
    """
    graph = chain_graph(unary, pairwise, temperature=temperature, features=features)
    dpp = StructuredDPP(graph)
    size = check_size(k)
    if method == "best":
        labels = best_set(dpp, size, rng=rng).structures
    elif method == "sample":
        labels = dpp.of_size(size).sample(rng=rng)
    else:
        raise DiversetError(f"method is {method!r}; choose one of best, sample")
    return Labelings(labels, 2.0 * temperature * graph.log_quality(labels))
