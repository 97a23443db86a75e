"""
Threads along citations
=======================

Figure 26 of Kulesza and Taskar (2012): lines of research, as threads through the citations of a literature. The papers
here are made up: six fields with words of their own, and papers that cite earlier ones, mostly of their field. Threads
along real citations, of the ACL Anthology and of Cora, are on :doc:`/threads`.
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy.sparse import lil_array

import diverset as dv

# %%
# A literature
# ------------
#
# A paper is a title, some words of an abstract, and a year. It cites up to four earlier papers of its field and now
# and then one of another, and goes on with some words of the first that it cites.

fields = {
    "robots": "robot gripper grasp arm torque tactile motion joint obstacle contact walking leg balance pendulum",
    "databases": "query index transaction log cache replica join storage recovery lock schema table commit view",
    "speech": "speech phoneme vowel accent microphone pitch speaker syllable tone dialect formant lips voice pause",
    "proteins": "protein fold residue helix binding enzyme chain mutation receptor ligand membrane cell gene pocket",
    "networks": "packet router congestion wireless bandwidth latency multicast gateway buffer antenna link relay mesh",
    "markets": "auction bidder price market trader equilibrium mechanism broker revenue portfolio risk bond dealer bid",
}
anywhere = "model method data error bound search graph noise cost random optimal sparse local global stable".split()
shapes = ["{} and {} under {}", "From {} to {} by {}", "On {} with {} and {}", "{} beyond {}: the case of {}"]
rng = np.random.default_rng(4)
n = 300
years = np.sort(rng.integers(1990, 2011, size=n))
field_of = rng.choice(list(fields), size=n)
titles: list[str] = []
abstracts: list[list[str]] = []
cites = lil_array((n, n))
for paper in range(n):
    vocabulary = fields[field_of[paper]].split()
    earlier = np.flatnonzero(years < years[paper])
    near = earlier[field_of[earlier] == field_of[paper]][-20:]
    cited = rng.choice(near, size=min(4, len(near)), replace=False).tolist()
    if len(earlier) and rng.random() < 0.3:
        cited.append(int(rng.choice(earlier)))
    kept = [word for word in abstracts[cited[0]] if word in vocabulary][:3] if cited else []
    words = [*kept, *rng.permutation([word for word in vocabulary if word not in kept])]
    title = rng.choice(shapes).format(*words[2:5])
    titles.append(title[0].upper() + title[1:])
    others = rng.choice(" ".join(fields.values()).split(), size=4, replace=False)
    abstracts.append(rng.permutation([*words[:6], *others, *rng.choice(anywhere, size=3, replace=False)]).tolist())
    cites[paper, cited] = 1.0
print(f"{n} papers, {cites.nnz} citations; the last:", titles[-1])

# %%
# Four threads of five
# --------------------
#
# An edge leads from a paper to one that cites it, and weighs the similarity of the two titles. Four threads are drawn
# at once from a k-SDPP, so that they are about different things. Beside each thread are its salient words; papers lie
# in the plane of the threads' centroids.

texts = [f"{title} {' '.join(abstract)}" for title, abstract in zip(titles, abstracts, strict=True)]
times = [np.datetime64(f"{year}-01-01") for year in years]
papers = dv.threads.citation_graph(cites.tocsr(), texts, times=times, max_share=0.3)
model = dv.threads.ThreadModel(papers.graph, length=5, k=4, beta=(0.0, 1.0), rng=0)
threads = list(model.sample(rng=0))

vectors = papers.vectors.toarray()
centroids = np.array([vectors[thread].mean(axis=0) for thread in threads])
axes_of_plane = np.linalg.svd(centroids - centroids.mean(axis=0), full_matrices=False)[2][:2]
plane = (vectors - centroids.mean(axis=0)) @ axes_of_plane.T

figure, axis = plt.subplots(figsize=(8, 5.6), layout="constrained")
axis.plot(*plane.T, ".", color="0.78", ms=5, zorder=1)
for i, thread in enumerate(threads):
    axis.plot(*plane[thread].T, "o-", color=f"C{i}", ms=7, lw=1.4, zorder=3)
axis.set(xticks=[], yticks=[], title=f"{n} papers in the plane of four threads' centroids")
axis.margins(0.22, 0.12)
figure.canvas.draw()
notes: list[plt.Annotation] = []
for i, thread in enumerate(threads):
    middle = plane[thread].mean(axis=0)
    label = " ".join(papers.words(thread, 4))
    notes += dv.plots.place_labels(
        axis, [middle], [label], avoid=plane[np.concatenate(threads)], beside=notes, color=f"C{i}", fontsize=10,
        fontweight="bold", zorder=5,
    )  # fmt: skip

# %%
# Two of the threads, from the first paper to the last.

for thread in threads[:2]:
    print("Thread:", " ".join(papers.words(thread, 5)))
    for i in thread:
        print(f"  {years[i]}  {titles[i]}")

# %%
# Four threads can show four of the six fields. How many they do show, over fifty draws, and beside them threads of the
# same quality that are drawn one by one:


def fields_shown(threads):
    """Number of fields of the threads, each counted by the field of most of its papers."""
    return len({max(fields, key=list(field_of[thread]).count) for thread in threads})


together = [fields_shown(draw) for draw in model.sample(50, rng=0)]
one_by_one = [fields_shown(dv.threads.independent_threads(model, rng=seed)) for seed in range(50)]
print(f"k-SDPP {np.mean(together):.2f}, independent {np.mean(one_by_one):.2f}")
