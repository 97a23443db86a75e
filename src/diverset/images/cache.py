"""Features kept on disk, so that a folder looked at before is quick to look at again.

An entry belongs to the content of a file and to how its features were computed, not to its name: a file that was moved
finds its features again, a changed one does not.
"""

from __future__ import annotations

import os

from diverset.io.cache import Cache

__all__ = ["FeatureCache"]

#: Changed whenever features are computed differently.
VERSION = "1"


class FeatureCache(Cache):
    """Features of images on disk.

    Parameters
    ----------
    folder : path-like, optional
        Where caches are kept; by default the user's folder for caches.

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     cache = FeatureCache(folder)
    ...     cache.store("ab12", {"color-8": np.ones(8)})
    ...     sorted(cache.load("ab12")), cache.load("ffff")
    (['color-8'], None)
    """

    def __init__(self, folder: str | os.PathLike[str] | None = None) -> None:
        super().__init__("images", VERSION, folder=folder)
