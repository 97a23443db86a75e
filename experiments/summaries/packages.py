"""LexRank by the packages that people install for it, on the same sentences.

``pip install lexrank sumy`` installs them; a package that is missing is named and left out. Both rank sentences. They
get our sentences, and sumy also our words, because its own splitters need a download.
"""

from __future__ import annotations

import abc
import contextlib
import io
from collections.abc import Callable, Iterable
from importlib import import_module
from typing import Any

import numpy as np

from diverset._typing import IntArray
from diverset.text import Cluster
from diverset.text.words import words

__all__ = ["LexrankPackage", "PackageRival", "SumyPackage", "package_rivals"]


class PackageRival(abc.ABC):
    """A package that ranks sentences, with a threshold below which two sentences count as unlike."""

    threshold: float | None = None

    @abc.abstractmethod
    def fit(self, clusters: Iterable[Cluster]) -> PackageRival:
        """Learn from documents."""

    @abc.abstractmethod
    def rank(self, cluster: Cluster) -> IntArray:
        """Sentences, the best first."""


class LexrankPackage(PackageRival):
    """The package ``lexrank``, with document frequencies of the documents that our model learns from."""

    threshold = 0.03

    def fit(self, clusters: Iterable[Cluster]) -> LexrankPackage:
        """Count words of the training documents."""
        package = import_module("lexrank")
        documents = [list(document) for cluster in clusters for document in cluster.documents]
        self.ranker_ = package.LexRank(documents, stopwords=package.STOPWORDS["en"])
        return self

    def rank(self, cluster: Cluster) -> IntArray:
        """By its scores."""
        # It prints warnings of its power method.
        with contextlib.redirect_stdout(io.StringIO()):
            scores = self.ranker_.rank_sentences(list(cluster.sentences), threshold=self.threshold)
        return np.argsort(-np.asarray(scores), kind="stable")


class _Words:
    """What sumy asks a tokenizer for."""

    def to_words(self, text: str) -> tuple[str, ...]:
        return tuple(words(text))


class SumyPackage(PackageRival):
    """``LexRankSummarizer`` of the package ``sumy``, with its stemmer and stop words for English."""

    threshold = 0.1

    def fit(self, clusters: Iterable[Cluster]) -> SumyPackage:
        """Nothing is learned: sumy counts the words of the cluster itself."""
        method = import_module("sumy.summarizers.lex_rank").LexRankSummarizer
        self.ranker_ = method(import_module("sumy.nlp.stemmers").Stemmer("english"))
        self.ranker_.stop_words = import_module("sumy.utils").get_stop_words("english")
        return self

    def rank(self, cluster: Cluster) -> IntArray:
        """By its ratings, which it hands to whoever counts the sentences to keep."""
        dom = import_module("sumy.models.dom")
        sentences = [dom.Sentence(sentence, _Words()) for sentence in cluster.sentences]
        document = dom.ObjectDocumentModel([dom.Paragraph(sentences)])
        order: list[int] = []

        def keep(infos: list[Any]) -> list[Any]:
            order.extend(info.order for info in infos)
            return []

        self.ranker_.threshold = self.threshold
        self.ranker_(document, keep)
        return np.array(order, dtype=np.int64)


def package_rivals(say: Callable[[str], None]) -> dict[str, PackageRival]:
    """Packages that are installed, by the name of their row."""
    found: dict[str, PackageRival] = {}
    kinds: tuple[tuple[str, type[PackageRival]], ...] = (("lexrank", LexrankPackage), ("sumy", SumyPackage))
    for package, kind in kinds:
        try:
            import_module(package)
        except ImportError as error:
            say(f"LexRank ({package}): skipped, it is not installed ({error}); pip install {package}")
            continue
        found[f"LexRank ({package})"] = kind()
    return found
