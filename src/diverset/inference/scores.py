r"""Calibration of scores, so that the meaning of the dial does not depend on the unit of the scores.

``"rank"``
    :math:`z_i = -\log_2 r_i` with r the rank, 1 for the best; equal scores share their mean rank. Only the order of the
    scores matters. Each doubling of the rank costs 1, so picks depend neither on the number of poor candidates nor on
    the gaps between scores. This is the default, chosen on data with relevance judgements (see the documentation).
``"standard"``
    :math:`z_i = (q_i - \bar q) / \mathrm{sd}(q)`. Neither the unit nor the origin of the scores matters; gaps between
    scores count.
``None``
    The scores as they are.
"""

from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np

from diverset._typing import FloatArray
from diverset.errors import DiversetError, DiversetWarning
from diverset.numerics import _loops

__all__ = ["calibrated", "check_scale", "warn_once"]

#: Topics about which this process has already issued a warning.
_given: set[str] = set()


def check_scale(scale: Any) -> str | None:
    """Check that the scale is one of the three."""
    if scale not in ("rank", "standard", None):
        raise DiversetError(f'scale is {scale!r}; choose "rank", "standard" or None (scores as they are)')
    return scale  # type: ignore[no-any-return]


def calibrated(scores: FloatArray, scale: str | None) -> FloatArray:
    """Scores on the given scale. A score of -inf stays -inf and is ignored in the mean and in the ranks."""
    if scale is None:
        return scores
    result = np.empty(len(scores))
    if scale == "standard":
        _loops.standardize(scores, result)
        return result
    order = scores.argsort()
    known = order
    if len(order) and scores[order[0]] == -math.inf:
        known = order[int((scores == -math.inf).sum()) :]
        result[order] = math.inf  # rank of the items of score -inf
    _loops.average_ranks(scores, known, result)
    return -np.log2(result)


def warn_once(topic: str, message: str) -> None:
    """Warn about a topic, once per process."""
    if topic not in _given:
        _given.add(topic)
        warnings.warn(f"{message} (later cases are only in the notes of the result)", DiversetWarning, stacklevel=5)
