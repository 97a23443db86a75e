"""
Which articles do not belong?
=============================

Figure 30 of Kulesza and Taskar (2012) is the form that paid raters filled in: a timeline into which two articles had
been put that do not belong there, and the question which two to remove. The easier it is to tell, the more coherent the
timeline. Here a text model fills in the form (:func:`diverset.threads.interlopers_found`): it removes the two articles
that are least like the others. Raters might use more than words; they also cost money.
"""

import matplotlib.pyplot as plt
import numpy as np

import diverset as dv
from diverset.threads import example_news

# %%
# A form
# ------
#
# A thread from a k-SDPP through the news made up for this package, with two strangers, all in order of their dates. The
# bars are what the model goes by: the mean cosine of an article with the nine others.

corpus, stories = example_news()
documents = dv.threads.document_graph(corpus, threshold=0.15)
model = dv.threads.ThreadModel(documents.graph, length=8, k=7, beta=(0.2, 2.0), smoothing=2, balance=0.5, rng=0)
thread = model.sample(rng=0)[1]
rng = np.random.default_rng(5)
strangers = rng.choice(np.setdiff1d(np.arange(len(corpus)), thread), size=2, replace=False)
shown = np.concatenate([thread, strangers])
shown = shown[np.argsort(corpus.times[shown], kind="stable")]

X = documents.vectors[shown].toarray()
likeness = (X @ X.T - np.eye(len(X))).sum(axis=1) / (len(X) - 1)
removed = np.argsort(likeness, kind="stable")[:2]

figure, (form, bars) = plt.subplots(1, 2, figsize=(10, 4.6), width_ratios=(3, 1), sharey=True, layout="constrained")
rows = np.arange(len(shown))
for row, i in zip(rows, shown, strict=True):
    box = "☒" if row in removed else "☐"
    form.text(0.0, row, box, fontsize=15, va="center", fontfamily="DejaVu Sans")
    form.text(0.05, row, str(corpus.times[i])[:10], fontsize=9, va="center", color="0.4")
    form.text(0.19, row, corpus.titles[i], fontsize=10, va="center")
bars.barh(rows, likeness, height=0.6, color=["#c8102e" if i in strangers else "#9fb6d4" for i in shown])
form.set(xlim=(0, 1), ylim=(len(shown) - 0.4, -0.6), yticks=[])
form.set_title("Remove the two articles that do not belong to this timeline", loc="left", fontsize=11)
bars.set(xlabel="mean cosine with the others")
bars.set_title("strangers in red", loc="left", fontsize=11)
form.axis("off")
bars.spines[["left", "right", "top"]].set_visible(False)
bars.tick_params(left=False)

# %%
# How often the two are found
# ---------------------------
#
# Of two strangers, how many are found, for threads made in different ways (the right column of table 11). Twenty draws
# of strangers for each thread; chance would find 0.4.

ways = {
    "k-SDPP, drawn": [list(draw) for draw in model.sample(5, rng=1)],
    "k-SDPP, most probable": [list(model.best())],
    "independent": [list(dv.threads.independent_threads(model, rng=seed)) for seed in range(5)],
    "k-means": [
        dv.threads.kmeans_threads(documents.vectors, corpus.times, k=7, length=8, rng=seed) for seed in range(5)
    ],
    "articles at random": [[rng.choice(len(corpus), size=8, replace=False) for _ in range(7)] for _ in range(5)],
}
found = {
    way: np.array([dv.threads.interlopers_found(documents.vectors, threads, rng=0) for threads in sets])
    for way, sets in ways.items()
}
figure, axis = plt.subplots(figsize=(8.5, 3.4), layout="constrained")
for at, values in enumerate(found.values()):
    axis.barh(at, values.mean(), height=0.6, color="#9fb6d4")
    axis.plot(values, np.full(len(values), at), "|", color="#1f4e8c", ms=10)
    axis.text(2.04, at, f"{values.mean():.2f}", va="center", fontsize=9)
axis.axvline(0.4, color="0.5", lw=0.8, ls="--")
axis.set_yticks(range(len(found)), list(found))
axis.invert_yaxis()
axis.set(xlim=(0, 2), xlabel="strangers found, of 2 (dashed: chance)")
axis.set_title("Coherent threads give strangers away", loc="left", fontsize=11)
axis.spines[["right", "top"]].set_visible(False)
