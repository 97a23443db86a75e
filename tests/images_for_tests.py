"""Pictures drawn from a seed: shapes of several colours on a shaded ground, with texture, as photographs have."""

import numpy as np
from PIL import Image


def scene(seed, height=160, width=200, colour=None):
    """A picture of uint8; `colour` (0 to 1 for each channel) tints it."""
    rng = np.random.default_rng(seed)
    y, x = np.mgrid[0:height, 0:width]
    slope = rng.normal(size=(2, 3)) * 0.4
    picture = 0.5 + (y[..., None] / height - 0.5) * slope[0] + (x[..., None] / width - 0.5) * slope[1]
    for _ in range(25):
        cy, cx = rng.uniform(0, height), rng.uniform(0, width)
        ry, rx = rng.uniform(0.03, 0.2, size=2) * min(height, width)
        inside = ((y - cy) / ry) ** 2 + ((x - cx) / rx) ** 2 < 1.0
        if rng.random() < 0.5:
            inside = (np.abs(y - cy) < ry) & (np.abs(x - cx) < rx)
        picture[inside] = rng.uniform(size=3) + 0.05 * np.sin(x + y)[inside][:, None]
    picture += 0.02 * rng.standard_normal(picture.shape)
    if colour is not None:
        picture = 0.5 * picture + 0.5 * np.asarray(colour)
    return (np.clip(picture, 0.0, 1.0) * 255).round().astype(np.uint8)


def save(path, picture, **options):
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(picture).save(path, **options)
    return path
