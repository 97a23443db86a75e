"""GIST against closed forms: gratings, mirrors and turns, of which the answer is known."""

import numpy as np
import pytest
from scipy import fft

from diverset.images import gist
from diverset.images.descriptors import (
    BORDER,
    FINEST,
    ORIENTATIONS,
    SIDE,
    SIGMA_ANGLE,
    SIGMA_FREQUENCY,
    STEP,
    energies,
)
from images_for_tests import scene


def transfer(frequency, angle, scale, orientation):
    """The formula of the module's docstring, at one point."""
    number = ORIENTATIONS[scale]
    difference = angle - np.pi * orientation / number
    return np.exp(
        -0.5 * ((frequency / (FINEST / STEP**scale) - 1.0) / SIGMA_FREQUENCY) ** 2
        - 0.5 * (difference / (SIGMA_ANGLE * np.pi / number)) ** 2
    )


FILTERS = [(scale, j) for scale, number in enumerate(ORIENTATIONS) for j in range(number)]


@pytest.mark.parametrize("cycles", [5, 10, 19])
@pytest.mark.parametrize("across", [True, False])
def test_a_grating_is_answered_by_the_transfer_function(cycles, across):
    # With cycles / 64 a pixel the wave goes on through the mirrored border, and around it.
    f = cycles / 64
    wave = np.cos(2 * np.pi * f * (np.arange(SIDE) + 0.5))
    grating = np.tile(wave, (SIDE, 1)) if across else np.tile(wave[:, None], (1, SIDE))
    found = energies(grating[None].astype(np.float32))[0]
    assert found == pytest.approx(found[:, :1, :1].repeat(4, 1).repeat(4, 2), abs=1e-5)  # the same in every cell
    for filter_, (scale, j) in enumerate(FILTERS):
        # Half of the wave runs each way; a filter sees the way whose angle is near its own.
        angle = 0.0 if across else np.pi / 2
        halves = [0.5 * transfer(f, angle + turn, scale, j) for turn in (-2 * np.pi, -np.pi, 0.0, np.pi)]
        if sorted(halves)[-2] < 1e-4:
            assert found[filter_, 0, 0] == pytest.approx(max(halves), abs=2e-4)
    best = [transfer(f, 0.0, scale, 0) for scale in range(3)]
    strongest = FILTERS[int(found[:, 0, 0].argmax())]
    assert strongest == (int(np.argmax(best)), 0 if across else ORIENTATIONS[int(np.argmax(best))] // 2)


def test_one_response_against_sums_in_space():
    """The mean size of a response near the middle, by the definition of a convolution."""
    rng = np.random.default_rng(0)
    channel = rng.standard_normal((SIDE, SIDE))
    padded = np.pad(channel, BORDER, mode="symmetric")
    n = len(padded)
    f = fft.fftfreq(n)
    fy, fx = np.meshgrid(f, f, indexing="ij")
    scale, j = 1, 3
    angle = np.arctan2(fy, fx)
    off = (angle - np.pi * j / 8 + np.pi) % (2 * np.pi) - np.pi
    G = transfer(np.hypot(fy, fx), off + np.pi * j / 8, scale, j)
    G[0, 0] = G[n // 2] = 0.0
    G[:, n // 2] = 0.0
    kernel = fft.ifft2(G)  # the filter in space
    total = 0.0
    cell = SIDE // 4
    for y in range(cell):
        for x in range(cell):
            # Sum over u of padded[u] kernel[p - u], p in the first cell.
            turned = np.roll(kernel[::-1, ::-1], (BORDER + y + 1, BORDER + x + 1), axis=(0, 1))
            total += abs((padded * turned).sum())
    found = energies(channel[None].astype(np.float32))[0, FILTERS.index((scale, j)), 0, 0]
    assert found == pytest.approx(total / cell**2, rel=1e-4)


def as_array(vector):
    return vector.reshape(3, 20, 4, 4)


def test_a_mirrored_image_has_mirrored_cells_and_angles():
    picture = scene(1, SIDE, SIDE)
    found, mirrored = as_array(gist(picture)), as_array(gist(picture[:, ::-1]))
    for filter_, (scale, j) in enumerate(FILTERS):
        number = ORIENTATIONS[scale]
        partner = FILTERS.index((scale, (number - j) % number))
        assert mirrored[:, partner, :, ::-1] == pytest.approx(found[:, filter_], rel=1e-3, abs=1e-5)


def test_a_turned_image_has_turned_cells_and_angles():
    picture = scene(2, SIDE, SIDE)
    found, turned = as_array(gist(picture)), as_array(gist(np.rot90(picture)))
    for filter_, (scale, j) in enumerate(FILTERS):
        number = ORIENTATIONS[scale]
        partner = FILTERS.index((scale, (j + number // 2) % number))
        assert turned[:, partner] == pytest.approx(np.rot90(found[:, filter_], axes=(1, 2)), rel=1e-3, abs=1e-5)


def cosine(a, b):
    return a @ b / np.linalg.norm(a) / np.linalg.norm(b)


def test_light_and_size_hardly_matter_and_content_does():
    picture = scene(3, 240, 240)
    found = gist(picture)
    assert cosine(gist((picture * 0.7).astype(np.uint8)), found) > 0.99
    assert cosine(gist(picture.repeat(2, axis=0).repeat(2, axis=1)), found) > 0.99
    others = [cosine(gist(scene(seed, 240, 240)), found) for seed in range(4, 10)]
    assert max(others) < 0.95


def test_shape_sign_and_nothing_to_see():
    found = gist(scene(4, 50, 300))
    assert found.shape == (960,)
    assert found.min() >= 0.0
    assert found.max() > 0.01
    assert np.abs(gist(np.full((30, 40, 3), 77, dtype=np.uint8))).max() < 1e-4
    assert gist(np.zeros((1, 1), dtype=np.uint8)).shape == (960,)
    assert (gist(scene(4)) == gist(scene(4))).all()


def test_colour_is_seen():
    grey = scene(5, SIDE, SIDE).mean(axis=2).astype(np.uint8)
    channels = as_array(gist(grey))
    assert channels[0] == pytest.approx(channels[1], abs=1e-6)
    coloured = as_array(gist(scene(5, SIDE, SIDE)))
    assert np.abs(coloured[0] - coloured[1]).max() > 0.01


def test_vertical_stripes_answer_in_the_first_orientation_of_the_coarsest_scale():
    stripes = np.tile(np.where(np.arange(128) // 8 % 2, 255, 0), (128, 1)).astype(np.uint8)
    assert gist(stripes).reshape(3, 20, 4, 4).mean(axis=(0, 2, 3)).argmax() == 16
