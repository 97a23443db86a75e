"""Train the model that comes with the package: ``python -m experiments.summaries.train_default --data ../shared/data``.

It learns from ``review_summaries`` alone, whose terms (MIT licence) allow it; what is written are weights, bins and
document frequencies of word stems in two or more reviews, no text.
"""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

from diverset.text import Summarizer
from experiments.summaries.data import read_task

CARD = """\
Default model of diverset.text. Learned by maximum likelihood of a conditional DPP from oracle summaries of {limit}
bytes (Algorithm 5 without length scaling) for {n} clusters of 8 English product and business reviews with 3 human
summaries each: the public part of the gold summaries of Brazinskas et al. 2020, "Few-shot learning for opinion
summarization" (github.com/abrazinskas/FewSum, MIT licence). Holds 40 weights, 12 bin edges, and document frequencies of
word stems that occur in two or more of {documents:,} reviews; no text of the data. rho, the prior's variance and the
greedy factor were chosen on a development part. It is meant for English articles or reviews about one thing; on other
languages it works by the words that sentences share. It knows nothing of truth, tone or quotation: read the sources it
points to."""


def main(arguments: list[str] | None = None) -> int:
    """Fit and write."""
    parser = argparse.ArgumentParser(prog="python -m experiments.summaries.train_default", description=__doc__)
    data = os.environ.get("DIVERSET_DATA", "../shared/data")
    parser.add_argument("--data", type=Path, default=Path(data), help="folder of the public data (%(default)s)")
    parser.add_argument("--out", type=Path, default=Path("src/diverset/data/summarizer.json"))
    options = parser.parse_args(arguments)
    task = read_task("review_summaries", options.data)
    model = Summarizer(rho=0.7, prior_variance=1.0, oracle_scaling=0.0, greedy_scale=8.0, max_bytes=task.max_bytes)
    model.fit(task.clusters)
    card = CARD.format(limit=task.max_bytes, n=len(task.clusters), documents=model.tfidf_.n_documents)
    model.save(options.out, card=" ".join(card.split()))
    print(f"Written to {options.out}: {model.quality_model_.convergence_}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
