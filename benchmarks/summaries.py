"""Summaries: what a greedy and a minimum-Bayes-risk summary cost, beside LexRank on the same texts.

The cluster is made up: 10 documents of 25 sentences, about 22 words each, from a vocabulary with Zipf's law. Quality on
real texts is in ``docs/summaries.rst``.
"""

import contextlib
import io
import time
from collections.abc import Iterator

import numpy as np

from benchmarks.harness import Row, at_most, compare, peer, state
from diverset.text import (
    Budget,
    Cluster,
    LexRank,
    default_summarizer,
    mean_rouge,
    pairwise_rouge,
    word_counts,
)
from diverset.text.decode import draw_between

#: Seconds for one summary with 5,000 draws that section 4.2 of the seed reports, and the fraction that is asked for.
SEED_SECONDS, FRACTION = 196.86, 20.0


def made_up_documents(n_documents: int = 10, n_sentences: int = 25, seed: int = 0) -> list[list[str]]:
    rng = np.random.default_rng(seed)
    starts = "ba co di fu ge ha li mo nu pa re si to ve wi za".split()
    middles = "ran ten lor mis dun kel bar sop".split()
    endings = "ing ed s ment al er ly ion".split()
    vocabulary = np.array([a + b + c for a in starts for b in middles for c in endings])
    rng.shuffle(vocabulary)
    weights = 1.0 / np.arange(1, len(vocabulary) + 1)
    weights /= weights.sum()

    def sentence() -> str:
        n = int(rng.integers(12, 32))
        content = rng.choice(vocabulary, n, p=weights)
        function = rng.choice(np.array(["the", "of", "and", "to", "in", "a"]), n)
        return " ".join(np.where(rng.random(n) < 0.35, function, content)).capitalize() + "."

    return [[sentence() for _ in range(n_sentences)] for _ in range(n_documents)]


def greedy() -> Iterator[Row]:
    """From texts to a summary of 665 bytes, against the tf-idf vectors alone."""
    documents = made_up_documents()
    texts = [" ".join(document) for document in documents]
    sentences = [sentence for document in documents for sentence in document]
    model = default_summarizer()
    yield compare(
        "greedy summary of 250 sentences, from texts",
        lambda: model.summarize(texts),
        lambda: model.tfidf_.vectors(sentences),
        name="tf-idf vectors",
        bar=at_most(3),
    )


def risk() -> Iterator[Row]:
    """Minimum-Bayes-risk decoding, with set-up and draws."""
    documents = made_up_documents()
    model = default_summarizer()
    model.summarize(documents, method="mbr", n_samples=100, rng=0)
    for R in (100, 1000, 5000):
        started = time.perf_counter()
        summary = model.summarize(documents, method="mbr", n_samples=R, rng=0)
        seconds = time.perf_counter() - started
        bar = SEED_SECONDS / FRACTION if R == 5000 else None
        met = "" if bar is None else f"; asked for: at most {bar:.1f} s, {'met' if seconds <= bar else 'MISSED'}"
        yield state(
            f"MBR with R = {R:,}, 250 sentences",
            f"{seconds:.2f} s, {summary.n_drawn:,} draws",
            f"the seed: {({100: 1.30, 1000: 16.91, 5000: SEED_SECONDS})[R]} s{met}",
            seconds=seconds,
        )


def candidates() -> Iterator[Row]:
    """5,000 candidate summaries scored against each other."""
    documents = made_up_documents()
    summary = default_summarizer().summarize(documents, method="mbr", n_samples=100, rng=0)
    sentences = [summary.cluster.sentences[i] for i in summary.candidates]
    costs = Budget("bytes", 665).costs(sentences)
    draws = draw_between(summary.kernel.dpp(costs, 650.0), costs, 500, 666, 5000, rng=0)
    counts = word_counts(sentences)
    for name, function in (("means", mean_rouge), ("all pairs", pairwise_rouge)):
        yield compare(
            f"ROUGE-1F of 5,000 candidates against each other, {name}", lambda f=function: f(draws.sets, counts)
        )


def lexrank_peers() -> Iterator[Row]:
    """LexRank by other packages, where they are installed, on the same sentences."""
    documents = made_up_documents()
    cluster = Cluster(documents)
    model = default_summarizer()
    yield compare(
        "greedy summary, beside our LexRank",
        lambda: model.summarize(documents),
        lambda: LexRank().summarize(cluster),
        name="our LexRank",
    )
    if (package := peer("lexrank")) is not None:
        with contextlib.redirect_stdout(io.StringIO()):
            theirs = package.LexRank(documents, stopwords=package.STOPWORDS["en"])
        yield compare(
            "greedy summary, beside lexrank 0.1",
            lambda: model.summarize(documents),
            lambda: theirs.get_summary(list(cluster.sentences), summary_size=5, threshold=None),
            name="lexrank",
            is_peer=True,
        )


CASES = (greedy, risk, candidates, lexrank_peers)
