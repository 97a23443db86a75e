"""Texts: sentences, words, weights, ROUGE."""

from diverset.text.lexrank import lexrank
from diverset.text.porter import stem
from diverset.text.rouge import Rouge, rouge, rouge_words
from diverset.text.sentences import split_sentences
from diverset.text.tfidf import TermVectors, Tfidf
from diverset.text.words import PRONOUNS, STOP_WORDS, content_words, words

__all__ = [
    "PRONOUNS",
    "STOP_WORDS",
    "Rouge",
    "TermVectors",
    "Tfidf",
    "content_words",
    "lexrank",
    "rouge",
    "rouge_words",
    "split_sentences",
    "stem",
    "words",
]
