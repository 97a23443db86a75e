"""Train the model that comes with the package: ``python -m experiments.summaries.train_default --data ../shared/data``.

It learns only from sets whose licences allow it. The file holds 24 weights and settings, no text.
"""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

from experiments.summaries.data import KINDS, LEARNED, Item, read_items
from experiments.summaries.study import learn

CARD = """\
Default model of diverset.summarize. Holds 23 weights of sentence features and no text. Learned by ridge regression
of each sentence's overlap with human summaries on two kinds of English text that weigh the same: {reviews} clusters
of 8 product and business reviews with 3 human summaries each, the public part of the gold summaries of Brazinskas
et al. 2020, "Few-shot learning for opinion summarization" (github.com/abrazinskas/FewSum, MIT licence), and
{opinions} topics of review sentences with 3 to 5 human summaries each, from Opinosis (Ganesan et al. 2010,
github.com/kavgan/opinosis-summarization, Apache License 2.0). News of Timeline17, whose terms allow research only,
was used to choose settings (the decoder, and how much late sentences of a document lose) and to test; no weight was
fitted to it. Learning by the likelihood of whole summaries, and by that likelihood given the limit, was tried on the
same data: the second was worse on development clusters by 0.7 ROUGE-1F, the first better by 0.7 with an interval from
-0.4 to 1.9 and worse on news, so neither is used. Meant for English articles, reviews or comments about one thing; on
other languages it works by the words that sentences share. It knows nothing of truth or tone: read the
sources it points to."""


def main(arguments: list[str] | None = None) -> int:
    """Fit and write."""
    parser = argparse.ArgumentParser(prog="python -m experiments.summaries.train_default", description=__doc__)
    data = os.environ.get("DIVERSET_DATA", "../shared/data")
    parser.add_argument("--data", type=Path, default=Path(data), help="folder of the public data (%(default)s)")
    parser.add_argument("--out", type=Path, default=Path("src/diverset/data/summarizer.json"))
    options = parser.parse_args(arguments)
    items = read_items(options.data, LEARNED)
    # A cluster of a kind that is not learned from has the model of all others.
    model = learn(items)(Item(next(iter(KINDS)), "", items[0].cluster, 0, False))
    sizes = [sum(item.kind == kind for item in items) for kind in LEARNED]
    model.save(options.out, card=" ".join(CARD.format(reviews=sizes[0], opinions=sizes[1]).split()))
    print(f"Written to {options.out}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
