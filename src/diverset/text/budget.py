"""How long a summary may be: bytes, words or sentences."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from diverset._typing import IntArray
from diverset.errors import DiversetError
from diverset.numerics.validation import check_count, check_size
from diverset.text.words import count_words

__all__ = ["Budget", "read_budget"]

UNITS = ("bytes", "words", "sentences")


@dataclass(frozen=True)
class Budget:
    """A limit in one of the units; sentences are joined by a space, and in bytes the spaces count.

    Parameters
    ----------
    unit : {"bytes", "words", "sentences"}
        What is counted; bytes of UTF-8.
    limit : int
        How many there may be.
    """

    unit: str
    limit: int

    def __post_init__(self) -> None:
        if self.unit not in ("bytes", "words", "sentences"):
            raise DiversetError(f"unit is {self.unit!r}; choose bytes, words or sentences")
        check_size(self.limit, name="limit")

    def lengths(self, sentences: Sequence[str]) -> IntArray:
        """Length of each sentence by itself."""
        if self.unit == "bytes":
            sizes: Iterable[int] = (len(sentence.encode("utf-8", "replace")) for sentence in sentences)
        elif self.unit == "words":
            sizes = (count_words(sentence) for sentence in sentences)
        else:
            sizes = (1 for _ in sentences)
        return np.fromiter(sizes, dtype=np.int64, count=len(sentences))

    @property
    def separator(self) -> int:
        """Length of what stands between two sentences."""
        return 1 if self.unit == "bytes" else 0

    def costs(self, sentences: Sequence[str]) -> IntArray:
        """Length of each sentence with the space after it; they may add up to :attr:`room`."""
        return self.lengths(sentences) + self.separator

    @property
    def room(self) -> int:
        """The limit with a space at the end, to match :meth:`costs`."""
        return self.limit + self.separator

    def allows(self, text: str | Sequence[str]) -> bool:
        """Whether a text, or sentences to be joined, are within the limit."""
        parts = [text] if isinstance(text, str) else text
        return not parts or int(self.costs(parts).sum()) <= self.room

    def crop(self, text: str) -> str:
        """The longest beginning of a text that is within the limit and does not cut a word, if one word fits."""
        if self.allows(text):
            return text
        if self.unit == "words":
            end = bisect_right(range(len(text)), self.limit, key=lambda end: count_words(text[:end])) - 1
            return text[:end].rstrip()
        cut = text.encode("utf-8", "replace")[: self.limit].decode("utf-8", "ignore")
        whole = cut if text[len(cut)].isspace() else cut.rpartition(" ")[0]
        return (whole or cut).rstrip()


def read_budget(max_bytes: Any = None, max_words: Any = None, max_sentences: Any = None) -> Budget:
    """The one limit that is given; 100 words if none is."""
    given = {unit: value for unit, value in zip(UNITS, (max_bytes, max_words, max_sentences), strict=True)}
    named = {unit: value for unit, value in given.items() if value is not None}
    if len(named) > 1:
        raise DiversetError(f"give one limit, not {' and '.join(f'max_{unit}' for unit in named)}")
    unit, value = next(iter(named.items()), ("words", 100))
    return Budget(unit, check_count(value, name=f"max_{unit}"))
