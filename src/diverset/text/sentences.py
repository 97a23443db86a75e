"""Cutting a text into sentences, and rules for sentences that can stand alone."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from diverset.errors import DiversetError, MissingExtraError
from diverset.text.words import STOP_WORDS

__all__ = ["ENDINGS", "opens_dependent", "split_sentences", "stands_alone"]

#: An empty line, or a break before a list item, ends whatever sentence there is.
_PARAGRAPH = re.compile(r"\n[ \t\r\f\v]*\n\s*|\n(?=[ \t]*(?:[-*\u2022] |\d{1,3}[.)] ))|\f|\u2029")
#: A line that ends without punctuation far before the margin of its paragraph is a headline or a byline.
_HEADLINE = 0.75
_OPEN_ENDING = re.compile(r"[^\s.!?:;,\u3002\uff01\uff1f\u0964\u2026\"'\u201d\u2019)\-\u2013\u2014]\s*$")
_BULLET = re.compile(r"\s*[-*\u2022]\s+(?=\S)")
#: Characters of a heading at most.
_LONGEST_HEADING = 100
#: The splitter takes quadratic time on texts with quotation marks, so it gets windows of this size.
_WINDOW = 20_000


def split_sentences(text: str, *, language: str = "en") -> list[str]:
    r"""Sentences of a text, in order, with white space made single.

    Parameters
    ----------
    text : str
        Plain text. Empty lines end sentences, so headlines stay apart; single line breaks inside a paragraph do not,
        except after a short first line without a full stop. Bullets of lists are taken off.
    language : str
        Language code whose abbreviations are known; other languages' full stops work as well.

    Returns
    -------
    list of str
        None of them empty.

    Notes
    -----
    The rules for abbreviations, initials, numbers and quotations are those of the sentencex package. Linear time.

    Examples
    --------
    >>> split_sentences("Rain at last\n\nDr. Ray left at 3 p.m. on Jan. 5. \"It rained,\" she said.")
    ['Rain at last', 'Dr. Ray left at 3 p.m. on Jan. 5.', '"It rained," she said.']
    """
    return [sentence for sentence, _ in sentences_and_headings(text, language=language)]


def sentences_and_headings(text: str, *, language: str = "en") -> list[tuple[str, bool]]:
    """Sentences of a text, each with True if it is a heading: a short separate line that ends without punctuation."""
    try:
        from sentencex import segment
    except ImportError as error:
        raise MissingExtraError('splitting sentences needs sentencex: pip install "diverset[text]"') from error
    if not language.isascii():
        raise DiversetError(f"language is {language!r}; give a code such as en")
    found: list[tuple[str, bool]] = []
    text = text.encode("utf-8", "replace").decode("utf-8")  # halves of surrogate pairs are no characters
    for paragraph in _PARAGRAPH.split(text):
        for part in _headline_apart(paragraph):
            plain = _BULLET.sub("", part, count=1) if _BULLET.match(part) else part
            pieces = _split_paragraph(" ".join(plain.split()), lambda piece: segment(language, piece))
            heading = plain is part and len(pieces) == 1 and _is_heading(pieces[0])
            found += [(piece, heading) for piece in pieces]
    return found


def _is_heading(line: str) -> bool:
    return len(line) <= _LONGEST_HEADING and _OPEN_ENDING.search(line) is not None


def _headline_apart(paragraph: str) -> list[str]:
    """The paragraph, or its first line and the rest where that line reads like a headline."""
    first, newline, rest = paragraph.strip().partition("\n")
    if newline and _OPEN_ENDING.search(first) and not rest.lstrip()[:1].islower():
        width = max(len(line) for line in rest.split("\n"))
        if len(first) < _HEADLINE * width:
            return [first, rest]
    return [paragraph]


def _split_paragraph(paragraph: str, segment: Callable[[str], list[str]]) -> list[str]:
    found: list[str] = []
    start = 0
    while start < len(paragraph):
        pieces = segment(paragraph[start : start + _WINDOW])
        if start + _WINDOW < len(paragraph) and len(pieces) > 1:
            pieces = pieces[:-1]  # cut by the window, so it is read again
        start += max(sum(len(piece) for piece in pieces), 1)
        found += [kept for piece in pieces if (kept := piece.strip())]
    return found


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


def opens_dependent(found_words: Sequence[str]) -> bool:
    """Whether a sentence begins with a pronoun that refers to the sentence before, as in "they say" or "this is".

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
