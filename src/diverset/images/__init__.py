r"""Images: features to compare them by, experts to mix, and near-duplicates to leave out.

:func:`diverset.pick_images` does all of it in one call. Step by step, a folder becomes features, and features become a
kernel of distances:

.. code-block:: text

    found = dv.images.extract("holiday/")
    picks = dv.select(dv.images.combine(found), k=12, similarity="rbf")
    kernels = dv.images.expert_kernels(found, rho=0.1)  # for learning from comparisons

The features of :func:`combine` are centred, so that whole groups of images are each other's opposites. A determinant
has as little room for opposites as for equals under the cosine, which is hardly better than chance here; distances
(``similarity="rbf"``) have no such fault, and are what :func:`diverset.pick_images` uses.

==========================================  =================================================================
:func:`extract`                             ten features of all images of a folder, cached, on several threads
:func:`expert_kernels`                      55 kernels, for :class:`diverset.learn.KDPPMixtureLearner`
:func:`combine`                             several features in one matrix, for :func:`diverset.select`
:func:`near_duplicates`                     which images are copies of which
:func:`color_histogram`, :func:`gist`,      features of a single image, given as an array
:func:`sift_descriptors`
==========================================  =================================================================

Images need OpenCV, Pillow and scikit-learn: ``pip install "diverset[images]"``.
"""

from diverset.images.cache import FeatureCache
from diverset.images.colour import color_histogram
from diverset.images.duplicates import near_duplicates
from diverset.images.experts import combine, expert_kernels
from diverset.images.features import FEATURES, ImageFeatures, Skipped, extract
from diverset.images.gist import gist
from diverset.images.reading import center_crop, find_images, read_image
from diverset.images.sift import Vocabulary, learn_vocabulary, sift_descriptors

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
