"""Images: seconds for the features of 1,000 images of 250 pixels, each feature alone and all ten together.

Images are drawn, with shapes and texture, and stored as JPEG files, so that reading counts. They have as many SIFT
points as photographs of that size or more. Single features are measured on 200 images and scaled up, all ten on 1,000.
"""

import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np

import diverset as dv
from benchmarks.harness import Row, at_most, state

NUMBER, PART = 1000, 200
#: Bar in seconds for all ten features of 1,000 images.
BAR = at_most(300)


def _draw(folder: Path, number: int) -> None:
    from PIL import Image

    y, x = np.mgrid[0:188, 0:250]
    for i in range(number):
        rng = np.random.default_rng(i)
        picture = 0.5 + 0.2 * np.sin(rng.uniform(0.01, 0.05) * x + rng.uniform(0.01, 0.05) * y)[..., None].repeat(3, 2)
        for _ in range(60):
            cy, cx, ry, rx = rng.uniform((0, 0, 3, 3), (188, 250, 25, 25))
            inside = ((y - cy) / ry) ** 2 + ((x - cx) / rx) ** 2 < 1.0
            picture[inside] = rng.uniform(size=3)
        picture += 0.03 * rng.standard_normal(picture.shape)
        Image.fromarray((picture.clip(0, 1) * 255).astype(np.uint8)).save(folder / f"{i:04}.jpg", quality=90)


def features() -> Iterator[Row]:
    """Every feature of images, alone and together."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        _draw(folder, NUMBER)
        files = dv.images.find_images(folder)
        dv.images.extract(files[:4])
        points = np.mean([len(dv.images.sift_descriptors(dv.images.read_image(path))) for path in files[:20]])
        for feature in dv.images.FEATURES:
            start = time.perf_counter()
            dv.images.extract(files[:PART], [feature])
            seconds = (time.perf_counter() - start) * NUMBER / PART
            yield state(f"{feature}, {NUMBER:,} images", f"{seconds:.1f} s", f"from {PART}", seconds=seconds)
        start = time.perf_counter()
        found = dv.images.extract(files, cache=folder / "cache")
        seconds = time.perf_counter() - start
        assert len(found.paths) == NUMBER
        yield Row(
            f"all ten features, {NUMBER:,} images of 250 px, {points:.0f} SIFT points each",
            f"{seconds:.1f} s",
            bar=f"{BAR} s",
            met=BAR.met(seconds),
            details={"seconds": seconds},
        )
        start = time.perf_counter()
        dv.images.extract(files, cache=folder / "cache")
        yield state("the same again, from the cache", f"{time.perf_counter() - start:.1f} s")
        start = time.perf_counter()
        kernels = dv.images.expert_kernels(found, rho=0.1)
        yield state(f"{len(kernels)} expert kernels of them", f"{time.perf_counter() - start:.1f} s")


CASES = (features,)
