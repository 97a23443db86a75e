"""Words of a text in any script, stems as ROUGE 1.5.5 has them, sentences, and rules for sentences that stand alone."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import cache, lru_cache
from importlib.resources import files

from diverset.errors import DiversetError, MissingExtraError

__all__ = ["PRONOUNS", "STOP_WORDS", "content_words", "split_sentences", "stem", "words"]


def _rules(text: str) -> list[tuple[str, str]]:
    """Suffixes with their replacements, the longest suffix first."""
    pairs = [(suffix, new) for suffix, _, new in (rule.partition(":") for rule in text.split())]
    return sorted(pairs, key=lambda pair: -len(pair[0]))


#: Steps 2 and 3: the longest suffix that matches is replaced if what precedes it has measure 1 or more.
_REPLACED = (
    _rules(
        """
        ational:ate tional:tion enci:ence anci:ance izer:ize bli:ble alli:al entli:ent eli:e ousli:ous ization:ize
        ation:ate ator:ate alism:al iveness:ive fulness:ful ousness:ous aliti:al iviti:ive biliti:ble logi:log
        """
    ),
    _rules("icate:ic ative: alize:al iciti:ic ical:ic ful: ness:"),
)
#: Step 4: the longest suffix that matches is dropped if what precedes it has measure 2 or more.
_DROPPED = _rules("al ance ence er ic able ible ant ement ou ism ate iti ous ive ize")


def _shape(word: str) -> str:
    """One letter for each letter: v for vowels, c for consonants; y is a vowel after a consonant."""
    shape = "v"  # so that a y at the start is a consonant
    for letter in word:
        shape += "v" if letter in "aeiou" or (letter == "y" and shape[-1] == "c") else "c"
    return shape[1:]


def _measure(word: str) -> int:
    return _shape(word).count("vc")


def _is_short(word: str) -> bool:
    """Whether the word is consonants, one vowel and one consonant other than w, x and y, as *hop* and *strap*."""
    return re.fullmatch("c+vc", _shape(word)) is not None and word[-1] not in "wxy"


def _matching(word: str, rules: list[tuple[str, str]]) -> tuple[str, str]:
    return next((rule for rule in rules if word.endswith(rule[0])), ("", ""))


@lru_cache(maxsize=1 << 16)
def stem(word: str) -> str:
    """Return the stem of a lower-case English word, by Porter's algorithm; stems are cached.

    >>> [stem(word) for word in ["relational", "hopping", "agreements", "sky", "technology"]]
    ['relat', 'hop', 'agreem', 'sky', 'technolog']
    """
    if len(word) < 3:
        return word
    if word.endswith(("sses", "ies")):
        word = word[:-2]
    elif word.endswith("s") and not word.endswith("ss"):
        word = word[:-1]
    rest = word.removesuffix("ed" if word[-1] == "d" else "ing")
    if word.endswith("eed"):
        word = word[:-1] if _measure(word[:-3]) > 0 else word
    elif rest != word and "v" in _shape(rest):
        word = rest  # a participle: its verb may lack an e, or have a doubled consonant
        if word.endswith(("at", "bl", "iz")) or _is_short(word):
            word += "e"
        elif word[-1:] == word[-2:-1] and word[-1] not in "aeiouylsz":
            word = word[:-1]
    if word.endswith("y") and "v" in _shape(word[:-1]):
        word = word[:-1] + "i"
    for rules in _REPLACED:
        suffix, new = _matching(word, rules)
        if _measure(rest := word.removesuffix(suffix)) > 0:
            word = rest + new
    for ending in (_matching(word, _DROPPED)[0], "ment"):
        if _measure(rest := word.removesuffix(ending)) > 1:
            word = rest
    if word.endswith(("ent", "sion", "tion")) and _measure(word[:-3]) > 1:
        word = word[:-3]
    if word.endswith("e"):
        measure = _measure(word[:-1])
        if measure > 1 or (measure == 1 and not _is_short(word[:-1])):
            word = word[:-1]
    return word[:-1] if word.endswith("ll") and _measure(word) > 1 else word


@cache
def _irregular() -> dict[str, str]:
    text = (files("diverset") / "data" / "wordnet_exceptions.txt").read_text(encoding="utf-8")
    return dict(line.split() for line in text.splitlines() if not line.startswith("#"))


def base_form(word: str) -> str:
    """The form under which ROUGE counts a lower-case word."""
    return word if len(word) <= 3 else _irregular().get(word) or stem(word)


# Vowel signs of Arabic and Indic scripts, which \w does not match: without them words would be split there.
_MARKS = "\u0300-\u036f\u0610-\u061a\u064b-\u065f\u0670\u0900-\u0963\u0966-\u0dff"
# Scripts that write no spaces: Thai to Burmese, Khmer, kana, Chinese characters.
_UNSPACED = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
_WORD = re.compile(rf"(?:[^\W_]|[{_MARKS}{_UNSPACED}])+")
_RUN = re.compile(rf"[{_UNSPACED}]+|[^{_UNSPACED}]+")
_SPECIAL = re.compile(f"[{_UNSPACED}]")
_PAIR = re.compile("(?=(..))")

#: Personal pronouns, reflexive and possessive forms included.
PRONOUNS = frozenset(
    """
    i me my mine myself we us our ours ourselves you your yours yourself yourselves he him his himself she her hers
    herself it its itself they them their theirs themselves
    """.split()
)
#: Function words of English, with the parts of contractions on both sides of the apostrophe.
STOP_WORDS = PRONOUNS | frozenset(
    """
    a about above across after afterwards again against ago all almost along already also although always am among an
    and another any anybody anyone anything anyway anywhere are aren around as at away back be became because become
    becomes been before behind being below beside besides between beyond both but by came can cannot could couldn d did
    didn do does doesn doing don done down during each either else elsewhere enough etc even ever every everybody
    everyone everything everywhere except few for former from further gave get gets getting give given gives go goes
    going gone got had hadn has hasn have haven having hence here how however if in indeed instead into is isn just keep
    kept last least less let like likely ll m made make makes making many may maybe meanwhile might more moreover most
    much must mustn near nearly need neither never nevertheless next no nobody none nor not nothing now nowhere o of off
    often oh on once one ones only onto or other others otherwise ought out over own per perhaps please put quite rather
    re really s said same say saying says seem seemed seems several shall shan should shouldn since so some somebody
    somehow someone something sometimes somewhere soon still such t take taken takes taking than that the then there
    therefore these thing things this those though through throughout thus to together too took toward towards under
    unless until up upon use used uses using usually ve very via was wasn way ways well went were weren what whatever
    when whenever where whereas wherever whether which while who whoever whole whom whose why will with within without
    won would wouldn yes yet
    """.split()
)


def words(text: str) -> list[str]:
    """Return the words of a text in order, in lower case: runs of letters and digits.

    Hyphens and apostrophes separate words, as in ROUGE. Scripts without spaces between words (Chinese, Japanese, Thai
    and others) give overlapping pairs of characters instead.

    >>> words("The ex-mayor's plan, 2nd try")
    ['the', 'ex', 'mayor', 's', 'plan', '2nd', 'try']
    >>> words("東京都は")
    ['東京', '京都', '都は']
    """
    found = _WORD.findall(text.lower())
    if text.isascii() or not _SPECIAL.search(text):
        return found
    runs = [run for word in found for run in _RUN.findall(word)]
    pairs = [_PAIR.findall(run) if len(run) > 2 and _SPECIAL.match(run) else [run] for run in runs]
    return [piece for pieces in pairs for piece in pieces]


def count_words(text: str) -> int:
    """Number of words between spaces; where a script has no spaces, the number that :func:`words` finds."""
    pieces = text.split()
    if text.isascii() or not _SPECIAL.search(text):
        return len(pieces)
    return sum(max(1, len(words(piece))) if _SPECIAL.search(piece) else 1 for piece in pieces)


def content_words(text: str, *, stemmer: Callable[[str], str] | None = stem) -> list[str]:
    """Return the stems of the words of a text that are not stop words, in order and with repetitions.

    `stemmer` is a function from a lower-case word to its stem, or None to leave words as they are.

    >>> content_words("The markets were falling, and he sold everything.")
    ['market', 'fall', 'sold']
    """
    kept = [word for word in words(text) if word not in STOP_WORDS]
    return kept if stemmer is None else [stemmer(word) for word in kept]


#: An empty line, or a line break before a list item, ends a paragraph.
_PARAGRAPH = re.compile(r"\n[ \t\r\f\v]*\n\s*|\n(?=[ \t]*(?:[-*\u2022] |\d{1,3}[.)] ))|\f|\u2029")
_HEADLINE = 0.75  # a first line below this share of the longest line, without punctuation at its end, is a headline
_OPEN_ENDING = re.compile(r"[^\s.!?:;,\u3002\uff01\uff1f\u0964\u2026\"'\u201d\u2019)\-\u2013\u2014]\s*$")
_BULLET = re.compile(r"\s*[-*\u2022]\s+(?=\S)")
_LONGEST_HEADING = 100
_WINDOW = 20_000  # characters for the splitter, which takes quadratic time on texts with quotation marks


def split_sentences(text: str, *, language: str = "en") -> list[str]:
    r"""Split a text into sentences, in order, with runs of white space replaced by one space.

    Parameters
    ----------
    text : str
        Plain text. Empty lines end sentences, so headlines are separate; single line breaks inside a paragraph do not,
        except after a short first line without a full stop. Bullets of lists are removed.
    language : str
        Language code of the rules for abbreviations, initials, numbers and quotations of the sentencex package.

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
    text = text.encode("utf-8", "replace").decode("utf-8")  # unpaired surrogates become question marks
    for paragraph in _PARAGRAPH.split(text):
        for part in _headline_apart(paragraph):
            plain = _BULLET.sub("", part, count=1) if _BULLET.match(part) else part
            pieces = _split_paragraph(" ".join(plain.split()), lambda piece: segment(language, piece))
            alone = plain is part and len(pieces) == 1 and len(pieces[0]) <= _LONGEST_HEADING
            heading = alone and _OPEN_ENDING.search(pieces[0]) is not None
            found += [(piece, heading) for piece in pieces]
    return found


def _headline_apart(paragraph: str) -> list[str]:
    """The paragraph, or its first line and the rest where that line reads like a headline."""
    first, _, rest = paragraph.strip().partition("\n")
    if rest and _OPEN_ENDING.search(first) and not rest.lstrip()[:1].islower():
        if len(first) < _HEADLINE * max(map(len, rest.split("\n"))):
            return [first, rest]
    return [paragraph]


def _split_paragraph(paragraph: str, segment: Callable[[str], list[str]]) -> list[str]:
    found, start = list[str](), 0
    while start < len(paragraph):
        pieces = segment(paragraph[start : start + _WINDOW])
        if start + _WINDOW < len(paragraph) and len(pieces) > 1:
            pieces = pieces[:-1]  # cut by the window, so it is read again
        start += max(sum(len(piece) for piece in pieces), 1)
        found += [kept for piece in pieces if (kept := piece.strip())]
    return found


#: How a complete sentence ends; closing quotation marks and brackets may follow the full stop.
ENDINGS = tuple(".!?\"'\u201d\u2019)\u3002\uff01\uff1f\u0964\u06d4\u2026")
#: A sentence that begins with one of these refers to another sentence.
_POINTS_BACK = frozenset("he she it they him her them his its their hers theirs".split())
#: These refer to another sentence unless a noun follows: "this is why", but not "this hotel is clean".
_DEMONSTRATIVES = frozenset("this that these those".split())
_START = re.compile(r"[\"'\u201c\u2018`(\[\u00bf\u00a1]*\s*[^\W_]")
_BYLINE = re.compile(r"^(?:by|photo|picture|image|video|source|editor|reporting by|read more|click)\b", re.IGNORECASE)
#: "JONES : Good morning", as in transcripts.
_SPEAKER = re.compile(r"^[A-Z][A-Z .'\u2019-]{2,40}(?:,[^:]{0,60})? ?:")


def opens_dependent(found_words: Sequence[str]) -> bool:
    """Whether a sentence begins with a pronoun that refers to the sentence before, as in "they say" or "this is"."""
    if not found_words:
        return False
    first, second = [*found_words[:2], "is"][:2]
    return first in _POINTS_BACK or (first in _DEMONSTRATIVES and second in STOP_WORDS)


def stands_alone(sentence: str, *, lower_case: bool = False) -> bool:
    r"""Whether a sentence looks complete: no fragment, question, byline or speaker's label, and quotes are closed.

    With `lower_case` sentences may begin in lower case, for texts whose writers use no capitals.
    """
    text = sentence.strip()
    if not text.endswith(ENDINGS) or text.endswith(("?", "\uff1f")) or not _START.match(text):
        return False
    is_short = text.isascii() and len(text.split()) < 3
    if (text[0].islower() and not lower_case) or is_short or _BYLINE.match(text) or _SPEAKER.match(text):
        return False
    closed = all(text.count(a) == text.count(b) for a, b in (("``", "''"), "\u201c\u201d", "()"))
    return closed and text.count('"') % 2 == 0
