"""
Threads of news
===============

Figures 1, 25, 26 and 28 of Kulesza and Taskar (2012) on news made up for this package: articles are nodes, an edge
leads from one to a later one that resembles it, and seven diverse threads are drawn through them.
"""

import matplotlib.pyplot as plt
import numpy as np

import diverset as dv
from diverset.threads import example_news

corpus, stories = example_news()
documents = dv.threads.document_graph(corpus, threshold=0.15)
model = dv.threads.ThreadModel(documents.graph, length=8, k=7, beta=(0.2, 2.0), smoothing=2, balance=0.5, rng=0)
threads = sorted(model.best(), key=lambda thread: thread[0])
names = [" ".join(documents.words(thread, 3)) for thread in threads]
colours = [f"C{i}" for i in range(len(threads))]

# %%
# The graph, articles from left to right by their date and up and down by which of the threads their words are most
# like, with the threads in colour.

words = documents.vectors.toarray()
near = (words @ np.array([words[thread].mean(axis=0) for thread in threads]).T) ** 2 + 1e-4
height = near @ np.arange(len(threads)) / near.sum(axis=1)
days = (corpus.times - corpus.times.min()).astype("timedelta64[D]").astype(float)
start, end = documents.graph.edges.nonzero()
figure, axis = plt.subplots(figsize=(9, 4.5), layout="constrained")
axis.plot(days[[start, end]], height[[start, end]], color="0.88", lw=0.5, zorder=1)
axis.plot(days, height, "o", color="0.7", ms=3, zorder=2)
for thread, name, colour in zip(threads, names, colours, strict=True):
    axis.plot(days[thread], height[thread], "o-", color=colour, ms=5, lw=1.8, zorder=3, label=name)
axis.set(xlabel="day", ylabel="nearest thread")
axis.set_title(f"{len(corpus)} articles, {documents.graph.n_edges:,} edges, {len(threads)} threads of eight")
axis.legend(fontsize=8, frameon=False, loc="upper left", bbox_to_anchor=(1.0, 1.0))

# %%
# The same threads on a time axis, with their salient words; six of them tell a story each, the
# seventh is the weather, which the paper prints week after week.

figure, axis = plt.subplots(figsize=(9, 4), layout="constrained")
times = [corpus.times[thread].astype("datetime64[D]") for thread in threads]
dv.plots.plot_timelines([[(t, "") for t in row] for row in times], names=names, ax=axis)
axis.set_title("Threads by date")
for thread in threads:
    assert len({stories[i] for i in thread}) == 1

# %%
# One of them, read from the first article to the last.

for i in threads[0]:
    print(str(corpus.times[i])[:10], corpus.titles[i])

# sphinx_gallery_thumbnail_number = 2
