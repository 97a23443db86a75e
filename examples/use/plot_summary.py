"""
A summary, and what it was chosen from
======================================

Figure 12 of Kulesza and Taskar (2012) shows summaries of news clusters. Here five short reports, made up for this
package, are summarised in fifty words by the model that comes along: quality says how much a sentence is worth by
itself, the determinant that no two say the same, and the probability of a sentence weighs both.
"""

import json
from importlib.resources import files
from textwrap import fill, shorten

import matplotlib.pyplot as plt
import numpy as np

import diverset as dv

lines = (files("diverset") / "data" / "summary_demo.jsonl").read_text(encoding="utf-8").splitlines()
reports = [json.loads(line) for line in lines]
cluster = dv.text.Cluster([report["text"] for report in reports], names=[report["title"] for report in reports])
summary = dv.summarize(cluster, max_words=50)
print(fill(summary.text, 80))

# %%
# Every sentence by its probability; the chosen ones are dark.

probability = np.asarray(summary.inclusion)
order = np.argsort(probability)[-14:]
chosen = {sentence for sentence in summary.sentences}
texts = [shorten(cluster.sentences[i], 60, placeholder=" ...") for i in order]
shades = ["#1f4e8c" if cluster.sentences[i] in chosen else "#b9c7dc" for i in order]
figure, axis = plt.subplots(figsize=(9, 5), layout="constrained")
axis.barh(texts, probability[order], color=shades)
axis.set(
    xlabel="share of drawn summaries that hold the sentence",
    title="The likeliest sentences; chosen ones dark",
)
axis.tick_params(axis="y", labelsize=8)

# %%
# Two of the likeliest sentences may say the same, and then only one is taken. The similarity of all pairs, by document:

figure, axis = plt.subplots(figsize=(5.6, 4.8), layout="constrained")
law = summary.law
assert law is not None
image = axis.imshow(law.similarity, cmap="Blues", vmin=0, vmax=0.6)
edges = np.flatnonzero(np.diff(cluster.document_of[summary.candidates])) + 0.5
for edge in edges:
    axis.axhline(edge, color="0.6", lw=0.6)
    axis.axvline(edge, color="0.6", lw=0.6)
axis.set(xlabel="sentence", ylabel="sentence", title="Cosine similarity, five documents")
figure.colorbar(image, ax=axis, shrink=0.8)
