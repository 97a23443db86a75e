r"""Porter's stemmer, with the choices of ROUGE 1.5.5.

A word is a sequence [C](VC)^m[V] of runs of consonants C and vowels V ([Porter1980]_); rules cut or replace suffixes
where the measure m of what stays is large enough. ROUGE's copy of the algorithm (*-bli*, *-logi*, and the suffixes
*-ment* and *-ent* tried one after the other once another suffix is gone) differs from every packaged one in about 4
of 1,000 English words, enough to move scores in the third digit; this one is ROUGE's.
"""

from __future__ import annotations

from functools import lru_cache

__all__ = ["stem"]

_VOWELS = frozenset("aeiou")
#: Steps 2 and 3: suffix and replacement, tried in this order, where something of measure 1 or more stays.
_STEP_2 = (
    ("ational", "ate"),
    ("tional", "tion"),
    ("enci", "ence"),
    ("anci", "ance"),
    ("izer", "ize"),
    ("bli", "ble"),
    ("alli", "al"),
    ("entli", "ent"),
    ("eli", "e"),
    ("ousli", "ous"),
    ("ization", "ize"),
    ("ation", "ate"),
    ("ator", "ate"),
    ("alism", "al"),
    ("iveness", "ive"),
    ("fulness", "ful"),
    ("ousness", "ous"),
    ("aliti", "al"),
    ("iviti", "ive"),
    ("biliti", "ble"),
    ("logi", "log"),
)
_STEP_3 = (
    ("icate", "ic"),
    ("ative", ""),
    ("alize", "al"),
    ("iciti", "ic"),
    ("ical", "ic"),
    ("ful", ""),
    ("ness", ""),
)
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
        Lower-case letters or digits; of fewer than three it is returned as it is.

    Returns
    -------
    str
        Its stem, not always a word.

    Notes
    -----
    O(length). Results are remembered, so a text costs its vocabulary.

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
    """What a participle was made from: an *e* back, or a doubled consonant halved."""
    if rest.endswith(("at", "bl", "iz")):
        return rest + "e"
    if len(rest) > 1 and rest[-1] == rest[-2] and rest[-1] not in "aeiouylsz":
        return rest[:-1]
    return rest + "e" if _is_short(rest) else rest


def _replace(word: str, rules: tuple[tuple[str, str], ...]) -> str:
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
