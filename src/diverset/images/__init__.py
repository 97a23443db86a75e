r"""Images: features to compare them by, expert kernels, and near-duplicates.

:func:`diverset.pick_images` does everything in one call. Step by step, a folder becomes features, and features become a
kernel of distances:

.. code-block:: text

    found = dv.images.extract("holiday/")
    picks = dv.select(dv.images.combine(found), k=12, similarity="rbf")
    kernels = dv.images.expert_kernels(found, rho=0.1)  # for learning from comparisons

Images need OpenCV, Pillow and scikit-learn: ``pip install "diverset[images]"``.
"""

from diverset.images.descriptors import Vocabulary, color_histogram, gist, learn_vocabulary, sift_descriptors
from diverset.images.features import (
    FEATURES,
    FeatureCache,
    ImageFeatures,
    Skipped,
    combine,
    expert_kernels,
    extract,
    near_duplicates,
)
from diverset.images.reading import center_crop, find_images, read_image

__all__ = [
    "FEATURES",
    "FeatureCache",
    "ImageFeatures",
    "Skipped",
    "Vocabulary",
    "center_crop",
    "color_histogram",
    "combine",
    "expert_kernels",
    "extract",
    "find_images",
    "gist",
    "learn_vocabulary",
    "near_duplicates",
    "read_image",
    "sift_descriptors",
]
