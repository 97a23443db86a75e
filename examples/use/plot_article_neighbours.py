"""
An article and its neighbours
=============================

Figure 27 of Kulesza and Taskar (2012): one node of a graph of news articles, with all the nodes that it has an edge
with. Threads are paths through such a graph; here one sees what a step of a path can choose from. The news are those
made up for this package; the same picture for Reuters newswire is on :doc:`/threads`.
"""

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.dates import ConciseDateFormatter, MonthLocator

import diverset as dv
from diverset.threads import example_news

# %%
# An edge leads from an article to a later one if the cosine of their words is at least 0.1. Articles weigh by LexRank,
# so that those like many others weigh most. The article shown is the part of a story that hangs together best with both
# the past and the future.

corpus, stories = example_news()
graph = dv.threads.document_graph(corpus, threshold=0.1).graph
edges = graph.edges.toarray()
ties = np.minimum(edges.sum(axis=0), edges.sum(axis=1))
article = int(np.where([story is not None for story in stories], ties, 0.0).argmax())
links = edges + edges.T
near = np.flatnonzero(links[article])
print(f"{len(near)} neighbours of: {corpus.titles[article]}")

# %%
# From left to right by date. Up and down is for reading only: what is near in time is high or low, so that lines fan
# out. Wide lines join articles that are much alike, large dots are articles that weigh much, and colours are the
# stories that the articles tell, grey if they tell none.

shades = {story: f"C{i}" for i, story in enumerate(sorted({story for story in stories if story}))}
days = corpus.times.astype("datetime64[D]")
figure, axis = plt.subplots(figsize=(12, 5.8), layout="constrained")
before, after = near[days[near] < days[article]], near[days[near] > days[article]]
for side, anchor, offset in ((before, "right", -9), (after, "left", 9)):
    heights = np.linspace(-1, 1, len(side))
    heights = heights[np.argsort(-np.abs(heights), kind="stable")]
    for y, i in zip(heights, side[np.argsort(np.abs(days[side] - days[article]))], strict=True):
        colour = shades.get(stories[i], "0.55")
        axis.plot(days[[article, i]], [0, y], color=colour, lw=12 * links[article, i] ** 1.5, alpha=0.4, zorder=1)
        axis.scatter(days[i], y, s=40 * graph.weights[i], color=colour, zorder=2)
        axis.annotate(
            corpus.titles[i], (days[i], y), (offset, 0), textcoords="offset points", ha=anchor, va="center", fontsize=8
        )
axis.scatter(days[article], 0, s=160, color="black", zorder=3)
margin = np.timedelta64(125, "D")
axis.set(xlim=(days[near].min() - margin, days[near].max() + margin), ylim=(-1.15, 1.15), yticks=[])
axis.set_title(f"“{corpus.titles[article]}” and the articles before and after it", fontsize=11)
locator = MonthLocator()
axis.xaxis.set_major_locator(locator)
axis.xaxis.set_major_formatter(ConciseDateFormatter(locator))
axis.spines[["left", "right", "top"]].set_visible(False)

# %%
# Most neighbours tell the same story. Where they do not, they share a word or two.

same = np.array([stories[i] == stories[article] for i in near])
alike = links[article, near]
print(f"{same.sum()} of {len(near)} tell the same story, with a mean cosine of {alike[same].mean():.2f};")
print(f"that of the others is {alike[~same].mean():.2f}.")
