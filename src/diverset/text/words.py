"""Words of a text, in any script, and the English ones that say nothing."""

from __future__ import annotations

import re
from collections.abc import Callable

from diverset.text.porter import stem

__all__ = ["PRONOUNS", "STOP_WORDS", "content_words", "words"]

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
