"""Summaries: time of the default on the first call, on later calls, and on thousands of sentences.

The cluster is made up: documents of 25 sentences, about 22 words each, from a vocabulary with Zipf's law. Quality on
real texts is in ``docs/summaries.rst``.
"""

import contextlib
import io
import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np

import diverset as dv
from benchmarks.harness import Row, compare, peer, state
from diverset.text import Cluster, LexRank, mean_rouge, pairwise_rouge, word_counts

#: Runs in a separate process: seconds of the first call with all imports, of the second, and peak memory in MB.
_FIRST = """
import json, resource, sys, time
documents = json.loads(open(sys.argv[1]).read())
started = time.perf_counter()
import diverset as dv
dv.summarize(documents).explain()
first = time.perf_counter() - started
started = time.perf_counter()
dv.summarize(documents).explain()
second = time.perf_counter() - started
try:  # a process inherits the ru_maxrss of the one that started it
    peak = next(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith("VmHWM"))
except OSError:
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
print(json.dumps([first, second, peak / 1024]))
"""


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


def default() -> Iterator[Row]:
    """From sentences to 100 words with probabilities, in a new process."""
    for n_documents, most_seconds, most_megabytes in ((10, 1.0, None), (200, 20.0, 1024.0)):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "documents.json"
            path.write_text(json.dumps(made_up_documents(n_documents)), encoding="utf-8")
            run = subprocess.run([sys.executable, "-c", _FIRST, str(path)], capture_output=True, text=True, check=True)
        first, second, megabytes = json.loads(run.stdout)
        met = first <= most_seconds and (most_megabytes is None or megabytes <= most_megabytes)
        yield state(
            f"dv.summarize of {25 * n_documents:,} sentences, first call with imports",
            f"{first:.2f} s, then {second:.2f} s, {megabytes:.0f} MB",
            f"target: at most {most_seconds:g} s, {'met' if met else 'MISSED'}",
            seconds=first,
        )


def candidates() -> Iterator[Row]:
    """5,000 candidate summaries scored against each other."""
    summary = dv.summarize(made_up_documents(), n_draws=5000)
    sets = [items.tolist() for items in summary.sample(5000, rng=0)]
    counts = word_counts(summary.cluster.sentences)
    for name, function in (("means", mean_rouge), ("all pairs", pairwise_rouge)):
        yield compare(f"ROUGE-1F of 5,000 candidates against each other, {name}", lambda f=function: f(sets, counts))


def lexrank_peers() -> Iterator[Row]:
    """LexRank by other packages, where they are installed, on the same sentences."""
    documents = made_up_documents()
    cluster = Cluster(documents)
    yield compare(
        "default summary, compared with our LexRank",
        lambda: dv.summarize(documents),
        lambda: LexRank().summarize(cluster),
        name="our LexRank",
    )
    if (package := peer("lexrank")) is not None:
        with contextlib.redirect_stdout(io.StringIO()):
            theirs = package.LexRank(documents, stopwords=package.STOPWORDS["en"])
        yield compare(
            "default summary, compared with lexrank 0.1",
            lambda: dv.summarize(documents),
            lambda: theirs.get_summary(list(cluster.sentences), summary_size=5, threshold=None),
            name="lexrank",
            is_peer=True,
        )


CASES = (default, candidates, lexrank_peers)
