r"""
Leaving out each eigenvalue in turn
===================================

The probability of an item under a k-DPP needs :math:`e_{k-1}` of the spectrum without each eigenvalue in turn. A binary
tree over the eigenvalues shares the work (figure 13 of Kulesza and Taskar 2012): removing the path from a leaf to the
root leaves :math:`\log N` subtrees, whose polynomials are multiplied.
"""

import matplotlib.pyplot as plt
import numpy as np

import diverset as dv
from diverset.numerics.eigenvector_probabilities import selection_probabilities
from diverset.numerics.symmetric import elementary_symmetric_tree, log_elementary_symmetric

# %%
# The tree of eight eigenvalues. For leaf 3 the path is grey, and what is combined has thick frames.

leaf = 3
figure, axis = plt.subplots(figsize=(10, 4.2), layout="constrained")
places = {}
for level, width in enumerate((8, 4, 2, 1)):
    for first in range(1, 9, width):
        places[first, width] = (first + (width - 1) / 2, -level)
for (first, width), (x, y) in places.items():
    if width > 1:
        for child in ((first, width // 2), (first + width // 2, width // 2)):
            on_path = child[0] <= leaf < child[0] + child[1]
            colour, width_of_line = ("0.6", 7) if on_path else ("0.3", 1)
            axis.plot(*zip((x, y), places[child], strict=True), zorder=1, color=colour, lw=width_of_line)
for (first, width), (x, y) in places.items():
    on_path = first <= leaf < first + width
    parent_on_path = ((first - 1) // (2 * width)) == ((leaf - 1) // (2 * width))
    combined = not on_path and parent_on_path and width < 8
    name = "".join(str(i) for i in range(first, first + width))
    frame = {"ec": "#c8102e", "lw": 2.5} if combined else {"ec": "black", "lw": 1.0}
    box = {"boxstyle": "square,pad=0.45", "fc": "0.85" if on_path else "white", **frame}
    axis.text(x, y, name, ha="center", va="center", fontsize=12, zorder=2, bbox=box)
axis.set(xlim=(0.3, 8.7), ylim=(-3.4, 0.4), title="Without eigenvalue 3: combine 4, 12 and 5678")
axis.axis("off")

# %%
# The same numbers, by the tree and one by one. diverset itself uses prefix and suffix tables, O(Nk) without
# cancellation; the tree stays as the plain twin.

rng = np.random.default_rng(0)
lam, k = rng.gamma(1.0, size=8), 4
tree = elementary_symmetric_tree(lam, k)
plain = [np.exp(log_elementary_symmetric(np.log(np.delete(lam, n)), k - 1)) for n in range(8)]
assert np.allclose(tree, plain)

# %%
# Times an eigenvalue and divided by :math:`e_k`, they are the probabilities that each eigenvector is chosen for a draw
# of k items.

share = lam * tree / np.exp(log_elementary_symmetric(np.log(lam), k))
assert np.allclose(share, selection_probabilities(np.log(lam), k))
assert np.isclose(share.sum(), k)
figure, axis = plt.subplots(figsize=(7, 3.4), layout="constrained")
axis.bar(np.arange(1, 9) - 0.2, share, 0.4, color="#1f4e8c", label="k-DPP, k = 4")
dpp = dv.DPP(np.diag(lam)).rescale(4.0)
axis.bar(np.arange(1, 9) + 0.2, dpp.inclusion_probabilities, 0.4, color="#9ecae1", label="DPP of expected size 4")
axis.set(
    xlabel="eigenvalue", ylabel="probability of its eigenvector", title="Which eigenvectors take part", ylim=(0, 1.05)
)
axis.legend(frameon=False, ncols=2, loc="upper center")

# sphinx_gallery_thumbnail_number = 1
