"""ROUGE: overlap of a summary with human summaries, in words and sequences of words ([Lin2004]_).

The scores are those of the Perl program ROUGE 1.5.5, including the peculiarities listed in ``docs/summaries.rst``.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import partial
from typing import Any, NamedTuple

from diverset.errors import DiversetError
from diverset.numerics.validation import check_count
from diverset.text.words import base_form

__all__ = ["Rouge", "rouge", "rouge_words"]

METRICS = ("rouge-1", "rouge-2", "rouge-l", "rouge-su4")
_ASCII_WORD = re.compile(rb"[a-z0-9]+")
_WHITE = re.compile(rb"[ \t\n\r\f\v]+")
_SKIP = 4  # largest number of words between the two of a skip-bigram
_REVERSED_BYTES = bytes(int(f"{byte:08b}"[::-1], 2) for byte in range(256))


class Rouge(NamedTuple):
    """Precision, recall and their harmonic mean."""

    precision: float
    recall: float
    f: float


class _Hits(NamedTuple):
    """Matching units, and the units of the summary and of the references."""

    hits: int
    summary: int
    reference: int

    def score(self) -> Rouge:
        precision = self.hits / self.summary if self.summary else 0.0
        recall = self.hits / self.reference if self.reference else 0.0
        total = precision + recall
        return Rouge(precision, recall, 2.0 * precision * recall / total if total else 0.0)


class _Text:
    """A text as ROUGE reads it: all its words, and those of each sentence, within the limit."""

    def __init__(self, text: str | Sequence[str], stemming: bool, max_words: int | None, max_bytes: int | None) -> None:
        parts = text.split("\n") if isinstance(text, str) else [part.replace("\n", " ") for part in text]
        whole = apart = [part.encode("utf-8", "replace") for part in parts if part]
        if max_words is not None:
            whole = apart = _first_words(whole, max_words)
        elif max_bytes is not None:
            whole, apart = _first_bytes(whole, max_bytes), _first_bytes(whole, max_bytes, each=True)
        self.words = _words_of(b" ".join(whole), stemming)
        self.sentences = [_words_of(sentence, stemming) for sentence in apart]


def rouge(
    summary: str | Sequence[str],
    references: str | Sequence[str | Sequence[str]],
    *,
    metrics: Iterable[str] = METRICS,
    stemming: bool = True,
    combine: str = "average",
    max_words: int | None = None,
    max_bytes: int | None = None,
) -> dict[str, Rouge]:
    """Score a summary against one or more references.

    Parameters
    ----------
    summary : str or sequence of str
        The text, one sentence per line, or a sequence of sentences; only ROUGE-L looks at sentences.
    references : str, or sequence of texts
        One reference as a string, or several, each a string or a sequence of sentences.
    metrics : iterable of {"rouge-1", "rouge-2", "rouge-l", "rouge-su4"}
        Scores to compute.
    stemming : bool
        Compare stems, as option ``-m``.
    combine : {"average", "best"}
        How several references count together: summed hits over summed counts, or the one of highest recall.
    max_words, max_bytes : int, optional
        Truncate summary and references to this many words (between white space) or bytes, as options ``-l`` and ``-b``.

    Returns
    -------
    dict of str to Rouge
        Precision, recall and F of each metric, equal to those of ROUGE 1.5.5 up to its rounding to five digits; 0 if a
        text is empty.

    Examples
    --------
    >>> scores = rouge("The cats sat.", ["A cat sat on the mat.", "The dog sat."], metrics=["rouge-1"])
    >>> [round(value, 4) for value in scores["rouge-1"]]
    [0.8333, 0.5556, 0.6667]
    """
    texts: Sequence[str | Sequence[str]] = [references] if isinstance(references, str) else list(references)
    if not texts:
        raise DiversetError("there are no references; ROUGE compares with at least one")
    if combine not in ("average", "best"):
        raise DiversetError(f"combine is {combine!r}; choose average or best")
    if max_words is not None and max_bytes is not None:
        raise DiversetError("give max_words or max_bytes, not both")
    limits = [None if limit is None else check_count(limit, name="the limit") for limit in (max_words, max_bytes)]
    ours = _Text(summary, stemming, *limits)
    theirs = [_Text(text, stemming, *limits) for text in texts]
    return {metric: _combined(_hits_of(metric, ours, theirs), combine).score() for metric in metrics}


def rouge_words(text: str, *, stemming: bool = True) -> list[str]:
    """Return the words of a text that ROUGE compares: their stems, unless `stemming` is False.

    >>> rouge_words("The children went to non-smoking hotels.")
    ['the', 'child', 'go', 'to', 'non', 'smoke', 'hotel']
    """
    return _words_of(text.encode("utf-8", "replace"), stemming)


def _words_of(text: bytes, stemming: bool) -> list[str]:
    found = [word.decode("ascii") for word in _ASCII_WORD.findall(text.lower())]
    return [base_form(word) for word in found] if stemming else found


def _first_words(sentences: list[bytes], limit: int) -> list[bytes]:
    kept, room = [], limit
    for sentence in sentences:
        # A blank at the start of a line makes an empty first word, which counts.
        pieces = _WHITE.split(sentence.rstrip(b" \t\n\r\f\v")) if sentence.strip() else []
        kept.append(b" ".join(pieces[:room]) if len(pieces) >= room else sentence)
        room -= len(pieces)
        if room <= 0:
            break
    return kept


def _first_bytes(sentences: list[bytes], limit: int, *, each: bool = False) -> list[bytes]:
    """The first bytes of all sentences together, or of `each` up to the first sentence over the limit."""
    kept, room = [], limit
    for sentence in sentences:
        kept.append(sentence[:room])
        if len(sentence) >= room:
            break
        room = limit if each else room - len(sentence)
    return kept


def _hits_of(metric: str, ours: _Text, theirs: list[_Text]) -> list[_Hits]:
    if metric == "rouge-l":
        return [_subsequence_hits(ours, text) for text in theirs]
    if metric not in METRICS:
        raise DiversetError(f"metric {metric!r} is not known; choose from {', '.join(METRICS)}")
    units = _skip_bigrams if metric == "rouge-su4" else partial(_n_grams, n=int(metric[-1]))
    mine, others = units(ours.words), [units(text.words) for text in theirs]
    return [_Hits((mine & other).total(), mine.total(), other.total()) for other in others]


def _combined(found: list[_Hits], combine: str) -> _Hits:
    if combine == "best":
        # Recall is rounded to five digits, as in the Perl program; the first of equal references is taken.
        return max(found, key=lambda hits: round(hits.score().recall, 5))
    return _Hits(*map(sum, zip(*found, strict=True)))


def _n_grams(words: list[str], n: int) -> Counter[Any]:
    return Counter(zip(*(words[i:] for i in range(n)), strict=False))


def _skip_bigrams(words: list[str]) -> Counter[Any]:
    counts: Counter[Any] = Counter(words[:-1])
    for gap in range(1, _SKIP + 2):
        counts.update(zip(words, words[gap:], strict=False))
    return counts


def _subsequence_hits(ours: _Text, theirs: _Text) -> _Hits:
    """ROUGE-L: words of the reference in a longest common subsequence with some sentence, each at most once."""
    found = Counter(_in_common_subsequences(theirs.sentences, ours.sentences))
    hits = (found & Counter(ours.words) & Counter(theirs.words)).total()
    return _Hits(hits, len(ours.words), sum(map(len, theirs.sentences)))


def _in_common_subsequences(references: list[list[str]], sentences: list[list[str]]) -> list[str]:
    r"""Words of the references, in order, that are in a longest common subsequence with one of the sentences.

    All references are compared with a sentence at once, with one bit of a long integer for each word of the
    references and a guard bit after each reference, where carries stop. With :math:`T_{ij}` the length for i words of
    the reference and j of the sentence, bits are :math:`T_{ij} - T_{i-1,j}`, found by an addition for each j (Hyyro
    2004). Of several longest subsequences the one is taken that is found from the end, stepping back in the reference
    where T stays the same; with the bits reversed, the next such step is the lowest bit. O(mn / 64) for m and n words.
    """
    order, guards, places = [""], 1, dict[str, int]()
    for reference in references:
        for word in reference:
            places[word] = places.get(word, 0) | 1 << len(order)
            order.append(word)
        guards |= 1 << len(order)
        order.append("")
    n_bytes = len(order) // 8 + 1

    def reverse(bits: int) -> int:
        return int.from_bytes(bits.to_bytes(n_bytes, "little").translate(_REVERSED_BYTES), "big")

    blocks = ((1 << len(order)) - 1) & ~guards
    starts = reverse(guards & ~1) << 1  # the lowest bit of each reversed reference
    ends = reverse(guards & ~(1 << (len(order) - 1)))  # the guard above it
    backwards = {word: reverse(bits) for word, bits in places.items()}
    matched = 0
    for sentence in set(map(tuple, sentences)):
        same, growth = blocks, []
        for word in sentence:
            common = same & places.get(word, 0)
            same = ((same + common) | (same & ~common)) & blocks
            growth.append(blocks & ~same)
        ahead = reverse(blocks)
        for word, grows in zip(reversed(sentence), reversed(growth), strict=True):
            here = backwards.get(word, 0)
            stops = (here | reverse(grows)) & ahead
            first = stops & ~((stops | ends) - starts)
            found = first & here
            matched |= found
            ahead = (ends - first) & ~ends & ~found
    bits = f"{matched:0{8 * n_bytes}b}"  # the leftmost one is that of order[0]
    return [word for word, bit in zip(order, bits, strict=False) if bit == "1"]
