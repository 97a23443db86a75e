"""Words of a text in any script, English stop words, and Porter's stemmer as ROUGE 1.5.5 has it."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache

__all__ = ["PRONOUNS", "STOP_WORDS", "content_words", "count_words", "stem", "words"]


def _rules(text: str) -> list[tuple[str, str]]:
    """Suffixes with their replacements."""
    return [(suffix, new) for suffix, _, new in (rule.partition(":") for rule in text.split())]


_VOWELS = frozenset("aeiou")
#: Steps 2 and 3: suffix and replacement, tried in this order, where something of measure 1 or more stays.
_STEP_2 = _rules(
    """
    ational:ate tional:tion enci:ence anci:ance izer:ize bli:ble alli:al entli:ent eli:e ousli:ous ization:ize ation:ate
    ator:ate alism:al iveness:ive fulness:ful ousness:ous aliti:al iviti:ive biliti:ble logi:log
    """
)
_STEP_3 = _rules("icate:ic ative: alize:al iciti:ic ical:ic ful: ness:")
#: Step 4: suffixes that go where measure 2 or more stays.
_STEP_4 = tuple("al ance ence er ic able ible ant ement ou ism ate iti ous ive ize".split())


def _shape(word: str) -> str:
    """One letter for each letter: v for vowels, c for consonants; y is a vowel after a consonant."""
    shape = []
    last = "v"  # so that a y at the start is a consonant
    for letter in word:
        vowel = letter in _VOWELS or (letter == "y" and last == "c")
        last = "v" if vowel else "c"
        shape.append(last)
    return "".join(shape)


def _measure(word: str) -> int:
    return _shape(word).count("vc")


def _is_short(word: str) -> bool:
    """Whether the word is consonants, one vowel and one consonant other than w, x and y, as *hop* and *strap*."""
    shape = _shape(word)
    return shape.startswith("c") and shape.lstrip("c") == "vc" and word[-1] not in "wxy"


@lru_cache(maxsize=1 << 16)
def stem(word: str) -> str:
    """The stem of a lower-case English word.

    Parameters
    ----------
    word : str
        Lower-case letters or digits; words of fewer than three are not changed.

    Returns
    -------
    str
        Its stem, not always a word.

    Notes
    -----
    O(length). Results are cached.

    Examples
    --------
    >>> [stem(word) for word in ["relational", "hopping", "agreements", "sky", "technology"]]
    ['relat', 'hop', 'agreem', 'sky', 'technolog']
    """
    if len(word) < 3:
        return word
    word = _plurals(word)
    word = _participles(word)
    if word.endswith("y") and "v" in _shape(word[:-1]):
        word = word[:-1] + "i"
    for rules in (_STEP_2, _STEP_3):
        word = _replace(word, rules)
    return _final_e(_long_suffixes(word))


def _plurals(word: str) -> str:
    if word.endswith(("sses", "ies")):
        return word[:-2]
    if word.endswith("s") and not word.endswith("ss"):
        return word[:-1]
    return word


def _participles(word: str) -> str:
    if word.endswith("eed"):
        return word[:-1] if _measure(word[:-3]) > 0 else word
    for suffix in ("ed", "ing"):
        if word.endswith(suffix):
            rest = word[: -len(suffix)]
            return _mended(rest) if "v" in _shape(rest) else word
    return word


def _mended(rest: str) -> str:
    """The verb of a participle: restore an *e*, or undouble a consonant."""
    if rest.endswith(("at", "bl", "iz")):
        return rest + "e"
    if len(rest) > 1 and rest[-1] == rest[-2] and rest[-1] not in "aeiouylsz":
        return rest[:-1]
    return rest + "e" if _is_short(rest) else rest


def _replace(word: str, rules: list[tuple[str, str]]) -> str:
    # The longest suffix of those listed is the one that counts, as the first match from the left would be.
    found = max((rule for rule in rules if word.endswith(rule[0])), key=lambda rule: len(rule[0]), default=None)
    if found is not None:
        rest = word[: -len(found[0])]
        if _measure(rest) > 0:
            return rest + found[1]
    return word


def _long_suffixes(word: str) -> str:
    suffix = max((suffix for suffix in _STEP_4 if word.endswith(suffix)), key=len, default=None)
    for ending in (suffix, "ment"):
        if ending is not None and word.endswith(ending) and _measure(word[: -len(ending)]) > 1:
            word = word[: -len(ending)]
    if word.endswith("ent"):
        return word[:-3] if _measure(word[:-3]) > 1 else word
    if word.endswith(("sion", "tion")) and _measure(word[:-3]) > 1:
        return word[:-3]
    return word


def _final_e(word: str) -> str:
    if word.endswith("e"):
        rest = word[:-1]
        measure = _measure(rest)
        if measure > 1 or (measure == 1 and not _is_short(rest)):
            word = rest
    if word.endswith("ll") and _measure(word) > 1:
        word = word[:-1]
    return word


# Vowel signs of Arabic and Indic scripts are marks, which \w leaves out, and words would fall apart at them.
_MARKS = "\u0300-\u036f\u0610-\u061a\u064b-\u065f\u0670\u0900-\u0963\u0966-\u0dff"
# Scripts that write no spaces: Thai to Burmese, Khmer, kana, Chinese characters.
_UNSPACED = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
_WORD = re.compile(rf"(?:[^\W_]|[{_MARKS}{_UNSPACED}])+")
_RUN = re.compile(rf"[{_UNSPACED}]+|[^{_UNSPACED}]+")
_SPECIAL = re.compile(f"[{_UNSPACED}]")

#: Personal pronouns, reflexive and possessive forms included.
PRONOUNS = frozenset(
    """
    i me my mine myself we us our ours ourselves you your yours yourself yourselves he him his himself she her hers
    herself it its itself they them their theirs themselves
    """.split()
)
#: Function words of English, with the pieces that apostrophes leave of contractions.
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
    """Words of a text in order, in lower case: runs of letters and digits.

    Parameters
    ----------
    text : str
        Any text. Scripts without spaces between words (Chinese, Japanese, Thai and others) give overlapping pairs of
        characters instead; on English text the words are those of ROUGE.

    Returns
    -------
    list of str
        Hyphens and apostrophes separate.

    Examples
    --------
    >>> words("The ex-mayor's plan, 2nd try")
    ['the', 'ex', 'mayor', 's', 'plan', '2nd', 'try']
    >>> words("東京都は")
    ['東京', '京都', '都は']
    """
    found = _WORD.findall(text.lower())
    if text.isascii() or not _SPECIAL.search(text):
        return found
    return [piece for word in found for run in _RUN.findall(word) for piece in _pieces(run)]


def _pieces(run: str) -> list[str]:
    if not _SPECIAL.match(run) or len(run) < 3:
        return [run]
    return [run[i : i + 2] for i in range(len(run) - 1)]


def count_words(text: str) -> int:
    """Words between spaces; where a script has no spaces, as many as :func:`words` finds.

    >>> count_words("The ex-mayor's plan"), count_words("東京都は 雨")
    (3, 4)
    """
    pieces = text.split()
    if text.isascii() or not _SPECIAL.search(text):
        return len(pieces)
    return sum(max(1, len(words(piece))) if _SPECIAL.search(piece) else 1 for piece in pieces)


def content_words(text: str, *, stemmer: Callable[[str], str] | None = stem) -> list[str]:
    """Stems of the words of a text that are not stop words.

    Parameters
    ----------
    text : str
        Any text.
    stemmer : callable, optional
        From a lower-case word to its stem; Porter's by default, none if it is None.

    Returns
    -------
    list of str
        In order, with repetitions.

    Examples
    --------
    >>> content_words("The markets were falling, and he sold everything.")
    ['market', 'fall', 'sold']
    """
    kept = [word for word in words(text) if word not in STOP_WORDS]
    return kept if stemmer is None else [stemmer(word) for word in kept]
