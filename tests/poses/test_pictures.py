"""Pictures of poses and clouds: what is drawn where, and bad input."""

import numpy as np
import pytest

from diverset.errors import DiversetError

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("agg")
plt = pytest.importorskip("matplotlib.pyplot")

from diverset.plots import plot_clouds, plot_poses  # noqa: E402


@pytest.fixture(autouse=True)
def close():
    yield
    plt.close("all")


def test_every_limb_is_drawn_in_the_colour_of_its_pose():
    poses = np.random.default_rng(0).uniform(0, 50, (2, 3, 2, 2))
    artists = plot_poses(poses, colours=["red", "blue"])
    for pose, colour in zip(poses, ("red", "blue"), strict=True):
        drawn = [line.get_xydata() for line in artists if line.get_color() == colour]
        for limb in pose:
            assert any(line.shape == limb.shape and (line == limb).all() for line in drawn)
        assert any(line.shape == (3, 2) and (line == pose[:, 0]).all() for line in drawn)
    assert artists[0].axes.yaxis_inverted()


def test_clouds_add_up_as_light():
    clouds = np.zeros((2, 3, 4))
    clouds[0, 0, 0] = clouds[1, 2, 3] = 1.0
    clouds[0, 1, 1] = 0.25
    (drawn,) = plot_clouds(clouds, (0.0, 40.0, 5.0, 35.0), colours=["#ff0000", "#0000ff"])
    image = drawn.get_array()
    assert image[0, 0].tolist() == [1.0, 0.0, 0.0]
    assert image[2, 3].tolist() == [0.0, 0.0, 1.0]
    assert image[1, 1].tolist() == [0.5, 0.0, 0.0]  # the root of a quarter
    assert drawn.get_extent() == [0.0, 40.0, 35.0, 5.0]
    dim = plot_clouds(clouds, (0, 1, 0, 1), top=4.0, ax=plt.figure().add_subplot())[0].get_array()
    assert dim[0, 0, 0] == pytest.approx(np.sqrt(1 / 4) * 0xE4 / 0xFF)  # the first of the usual colours, half as bright


def test_bad_shapes_are_named():
    with pytest.raises(DiversetError, match="poses have shape"):
        plot_poses(np.zeros((2, 3, 2)))
    with pytest.raises(DiversetError, match="clouds have shape"):
        plot_clouds(np.zeros((9, 2, 2)), (0, 1, 0, 1))
