"""Colour histograms against scikit-image, and what must leave them alone."""

import numpy as np
import pytest

from diverset.errors import DiversetError
from diverset.images import color_histogram
from diverset.images.descriptors import lab
from images_for_tests import scene

color = pytest.importorskip("skimage.color")


@pytest.mark.parametrize("bins", [8, 64, 27])
@pytest.mark.parametrize("seed", range(3))
def test_shares_are_those_of_scikit_image(bins, seed):
    picture = scene(seed) if seed else np.random.default_rng(5).integers(0, 256, size=(80, 90, 3), dtype=np.uint8)
    side = round(bins ** (1 / 3))
    edges = [np.linspace(0, 100, side + 1), np.linspace(-128, 127, side + 1), np.linspace(-128, 127, side + 1)]
    theirs = color.rgb2lab(picture).reshape(-1, 3)
    counts = np.histogramdd(theirs, bins=edges)[0].ravel()
    assert color_histogram(picture, bins) * len(theirs) == pytest.approx(counts, abs=1e-9)


def test_lab_is_that_of_scikit_image():
    every = np.stack(np.meshgrid(*[np.arange(0, 256, 15, dtype=np.uint8)] * 3, indexing="ij"), axis=-1).reshape(
        18, -1, 3
    )
    assert lab(every) == pytest.approx(color.rgb2lab(every), abs=2e-3)


def test_grey_is_in_the_neutral_bins_whatever_its_lightness():
    ramp = np.arange(256, dtype=np.uint8)[None, :].repeat(4, axis=0)
    assert color_histogram(ramp, 8).nonzero()[0].tolist() == [3, 7]
    lightness = color.rgb2lab(np.repeat(ramp[:1, :, None], 3, axis=2))[0, :, 0]
    assert color_histogram(ramp, 8)[7] == pytest.approx((lightness > 50).mean(), abs=1 / 256)


def test_where_pixels_are_does_not_matter():
    picture = scene(3)
    found = color_histogram(picture, 64)
    shuffled = np.random.default_rng(0).permutation(picture.reshape(-1, 3)).reshape(picture.shape)
    for same in (picture[::-1], picture[:, ::-1], np.rot90(picture), shuffled):
        assert (color_histogram(same, 64) == found).all()
    assert found.sum() == pytest.approx(1.0)
    assert np.abs(color_histogram(255 - picture, 64) - found).sum() > 0.2  # but colours do


def test_floats_from_0_to_1_are_bytes():
    picture = scene(4)
    assert (color_histogram(picture / 255.0, 8) == color_histogram(picture, 8)).all()
    assert (color_histogram(picture[:, :, :1], 8) == color_histogram(picture[:, :, 0], 8)).all()


@pytest.mark.parametrize(
    ("picture", "bins", "message"),
    [
        (np.zeros((4, 4, 3), dtype=np.uint8), 9, "bins is 9; it must be a cube"),
        (np.zeros((4, 4, 4), dtype=np.uint8), 8, r"shape \(4, 4, 4\)"),
        (np.zeros((0, 4, 3), dtype=np.uint8), 8, r"shape \(0, 4, 3\)"),
        (np.zeros(4, dtype=np.uint8), 8, r"shape \(4,\)"),
        (np.full((2, 2), 3.0), 8, "run from 3 to 3; floats must lie between 0 and 1"),
        (np.full((2, 2), np.nan), 8, "run from nan to nan"),
        (np.zeros((2, 2), dtype=np.int64), 8, "int64 values"),
    ],
)
def test_what_is_no_picture_is_refused(picture, bins, message):
    with pytest.raises(DiversetError, match=message):
        color_histogram(picture, bins)


def test_half_black_and_half_white():
    image = np.zeros((4, 4, 3), dtype=np.uint8)
    image[:, 2:] = 255
    assert color_histogram(image).tolist() == [0, 0, 0, 0.5, 0, 0, 0, 0.5]
