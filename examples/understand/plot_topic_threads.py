"""
Topics through time, in place of threads
========================================

Figure 29 of Kulesza and Taskar (2012): what a dynamic topic model makes of the news. It finds topics whose words may
change from one slice of time to the next, and a thread is made of the document that a topic explains best in each. The
news are those made up for this package; beside them are the threads of a k-SDPP, as in
:ref:`figure 28 <sphx_glr_auto_examples_use_plot_threads.py>`.
"""

import matplotlib.pyplot as plt
import numpy as np

import diverset as dv
from diverset.threads import example_news
from diverset.threads.corpus import content_terms

corpus, stories = example_news()
documents = dv.threads.document_graph(corpus, threshold=0.15)

# %%
# Both ways to the same number of threads
# ---------------------------------------
#
# Seven topics, for six stories and the weather, and eight slices of equally many articles. The topic model is gensim's,
# which is slow, so it is given the hundred words that are in most articles.

shares = np.asarray((documents.vectors > 0).sum(axis=0)).ravel()
frequent = {documents.terms[j] for j in np.argsort(-shares, kind="stable")[:100]}
words = [[word for word in content_terms(text) if word in frequent] for text in corpus.texts]
by_topic = dv.threads.dtm_threads(words, corpus.times, k=7, length=8, iterations=4, rng=0)

model = dv.threads.ThreadModel(documents.graph, length=8, k=7, beta=(0.2, 2.0), smoothing=2, balance=0.5, rng=0)
by_graph = list(model.sample(rng=0))

# %%
# On a time axis
# --------------
#
# A topic has an article in every slice, whether or not something happened. A thread goes where the edges lead.

figure, axes = plt.subplots(2, 1, figsize=(9, 6.4), sharex=True, layout="constrained")
for axis, threads, title in (
    (axes[0], by_topic, "a dynamic topic model"),
    (axes[1], by_graph, "threads drawn from a k-SDPP"),
):
    threads.sort(key=lambda thread: documents.words(thread, 1)[0])
    rows = [[(day, "") for day in corpus.times[thread].astype("datetime64[D]")] for thread in threads]
    dv.plots.plot_timelines(rows, names=[" ".join(documents.words(thread, 3)) for thread in threads], ax=axis)
    axis.set_title(title, loc="left", fontsize=11)

# %%
# How they read
# -------------
#
# One thread of each, the first by its words:

for name, threads in (("topic", by_topic), ("thread", by_graph)):
    print(f"{name}: {' '.join(documents.words(threads[0], 5))}")
    for i in threads[0]:
        print(f"  {str(corpus.times[i])[:10]}  {corpus.titles[i]}")

# %%
# A topic's articles are about related things, a thread's tell one story: here it is known which story an article is
# part of. Similarity along a thread says the same where that is not known.

for name, threads in (("topics", by_topic), ("k-SDPP", by_graph)):
    score = dv.threads.story_score(threads, stories)
    cosine = dv.threads.coherence(documents.vectors, threads)
    print(f"{name}: {score.coverage:.0%} of the stories told; {score.purity:.0%} of a thread is one story;", end=" ")
    print(f"cosine of neighbours {cosine:.2f}")
