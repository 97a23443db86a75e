"""Rules for summaries that read well: which sentences stand alone, and in which order they are put."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

from diverset._typing import IntArray
from diverset.text.cluster import Cluster
from diverset.text.terms import Terms
from diverset.text.words import STOP_WORDS

__all__ = ["ENDINGS", "opens_dependent", "reading_order", "stands_alone"]

#: How a whole sentence ends; closing quotation marks and brackets may follow the full stop.
ENDINGS = tuple(".!?\"'\u201d\u2019)\u3002\uff01\uff1f\u0964\u06d4\u2026")
#: Opening pronouns point back to another sentence.
_POINTS_BACK = frozenset("he she it they him her them his its their hers theirs".split())
#: These point back unless a noun follows: "this is why", but not "this hotel is clean".
_DEMONSTRATIVES = frozenset("this that these those".split())
_FEWEST_WORDS = 3
_START = re.compile(r"[\"'\u201c\u2018`(\[\u00bf\u00a1]*\s*[^\W_]")
_BYLINE = re.compile(r"^(?:by|photo|picture|image|video|source|editor|reporting by|read more|click)\b", re.IGNORECASE)
#: "JONES : Good morning", as in transcripts.
_SPEAKER = re.compile(r"^[A-Z][A-Z .'\u2019-]{2,40}(?:,[^:]{0,60})? ?:")
#: Two sentences with a cosine above this mention the same thing.
_SAME = 0.5


def opens_dependent(found_words: Sequence[str]) -> bool:
    """Whether the first words, such as "they say" or "this is", need the sentence before them.

    >>> opens_dependent(["they", "say"]), opens_dependent(["this", "is", "why"]), opens_dependent(["this", "hotel"])
    (True, True, False)
    """
    if not found_words:
        return False
    first, second = found_words[0], found_words[1] if len(found_words) > 1 else "is"
    return first in _POINTS_BACK or (first in _DEMONSTRATIVES and second in STOP_WORDS)


def stands_alone(sentence: str, *, lower_case: bool = False) -> bool:
    r"""Whether a sentence looks complete: no fragment, question, byline or speaker's label, and quotes are closed.

    `lower_case` says that sentences may begin in lower case, as in texts whose writers use no capitals.

    >>> stands_alone("The bridge fell on Monday."), stands_alone("\"We heard it."), stands_alone(", and is great.")
    (True, False, False)
    """
    text = sentence.strip()
    if not text.endswith(ENDINGS) or text.endswith(("?", "\uff1f")) or not _START.match(text):
        return False
    if text[0].islower() and not lower_case:
        return False
    if text.isascii() and len(text.split()) < _FEWEST_WORDS:
        return False
    if _BYLINE.match(text) or _SPEAKER.match(text):
        return False
    return _is_balanced(text)


def _is_balanced(text: str) -> bool:
    doubled = text.count("``") == text.count("''")
    curly = text.count("\u201c") == text.count("\u201d")
    return doubled and curly and text.count('"') % 2 == 0 and text.count("(") == text.count(")")


def reading_order(cluster: Cluster, chosen: Sequence[int], terms: Terms) -> IntArray:
    """Chosen sentences in the order of events.

    Parameters
    ----------
    cluster : Cluster
        The documents, with dates or without.
    chosen : sequence of int
        Sentences of the cluster.
    terms : Terms
        Words of its sentences.

    Returns
    -------
    ndarray of int64
        By the date of the document, where all documents have one, and then by first mention: the place of the first
        sentence of the cluster with a cosine above one half to the chosen one. A sentence that needs the one before
        it follows that sentence.
    """
    chosen = sorted(int(i) for i in chosen)
    vectors = terms.vectors
    dates = cluster.dates if all(date is not None for date in cluster.dates) else ()

    def key(i: int) -> tuple[int, int, int]:
        if dates:
            return int(dates[cluster.document_of[i]].astype(np.int64)), i, i
        near = np.flatnonzero((vectors @ vectors[i].T).toarray().ravel() > _SAME)
        return 0, int(min(near.min(initial=i), i)), i

    taken = set(chosen)
    follows = {i for i in chosen if i - 1 in taken and cluster.position[i] > 0 and opens_dependent(cluster.words[i])}
    order: list[int] = []
    for i in sorted((i for i in chosen if i not in follows), key=key):
        order.append(i)
        while order[-1] + 1 in follows:
            order.append(order[-1] + 1)
    return np.array(order, dtype=np.int64)
