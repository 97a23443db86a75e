r"""Which kernel for my data: similarities that fill a kernel matrix, and quality against diversity.

A *kernel* is a positive semidefinite matrix with one row and column per item; a *similarity* is the
function of two items that fills it. Items are rows: ``X`` has shape (n_items, n_features).

=====================  ============================================================================
the items are          start with
=====================  ============================================================================
embeddings, counts     :func:`cosine`: direction matters, length does not; rank at most n_features
points, measurements   :func:`rbf`: near means similar; full rank, so sets of any size are possible
rougher than that      :func:`matern`: tails heavier than the rbf kernel's, closeness counts for less
already meaningful     :func:`dot`: a long row is a good item, so length is quality
a few raw features     :func:`polynomial`: products of features, hence more rank than ``dot``
=====================  ============================================================================

A kernel for a determinantal point process then balances how good an item is against how much it
resembles the others, :math:`L = \mathrm{diag}(q)\, S\, \mathrm{diag}(q)` ([KuleszaTaskar2012]_, Sec. 3.1):
:func:`quality_diversity` builds it, :func:`split_quality_diversity` takes it apart. The constant
:math:`\rho` of Sec. 4.2 and 5.3, which makes all items more alike, is :func:`with_constant_feature` or
:func:`add_constant`. A matrix that is not positive semidefinite is never repaired unless asked for by
name, with :func:`nearest_psd`.

Every function leaves its input alone. Similarities are real and float64; functions of a matrix also take
a complex Hermitian one, and then return complex128.
"""

from diverset.kernels.products import cosine, dot, normalize_rows, polynomial
from diverset.kernels.quality import (
    add_constant,
    nearest_psd,
    quality_diversity,
    split_quality_diversity,
    with_constant_feature,
)
from diverset.kernels.stationary import matern, median_heuristic, rbf

__all__ = [
    "add_constant",
    "cosine",
    "dot",
    "matern",
    "median_heuristic",
    "nearest_psd",
    "normalize_rows",
    "polynomial",
    "quality_diversity",
    "rbf",
    "split_quality_diversity",
    "with_constant_feature",
]
