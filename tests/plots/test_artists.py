"""Pictures show the data they were given, read back from the artists."""

import datetime as dt

import matplotlib as mpl
import numpy as np
import pytest

mpl.use("agg")

from matplotlib import pyplot as plt

import diverset as dv
from diverset.errors import DiversetError
from diverset.plots import (
    plot_kernel,
    plot_part_marginals,
    plot_points,
    plot_quality_diversity,
    plot_sizes,
    plot_spectrum,
    plot_timelines,
)


@pytest.fixture
def ax():
    figure, axes = plt.subplots()
    yield axes
    figure.canvas.draw()  # raises if an artist cannot be drawn
    plt.close(figure)


DPP = dv.DPP([[2.0, 1.0], [1.0, 2.0]])


def test_points_are_where_they_were(ax):
    X = np.random.default_rng(0).random((7, 2))
    dots = plot_points(X, sides=(1.0, 2.0), radius=0.1, title="seven", ax=ax)
    assert dots.axes is ax
    assert np.array_equal(dots.get_offsets(), X)
    assert ax.get_ylim() == (0.0, 2.0)
    assert ax.get_title() == "seven"
    discs = [c for c in ax.collections if c is not dots]
    assert len(discs) == 1
    assert np.array_equal(discs[0].get_offsets(), X)


def test_an_empty_pattern_is_an_empty_window(ax):
    assert len(plot_points([], radius=0.1, ax=ax).get_offsets()) == 0


def test_kernel_is_the_image(ax):
    image = plot_kernel(DPP.K, labels=["a", "b"], ax=ax)
    assert np.array_equal(image.get_array(), DPP.K)
    low, high = image.get_clim()
    assert low == -high
    assert [t.get_text() for t in ax.get_xticklabels()] == ["a", "b"]


@pytest.mark.parametrize("log", [False, True])
def test_spectrum_falls(ax, log):
    line = plot_spectrum([0.0, 2.0, 5.0, 1.0], log=log, label="L", ax=ax)
    assert line.get_ydata().tolist() == ([5.0, 2.0, 1.0] if log else [5.0, 2.0, 1.0, 0.0])
    assert ax.get_yscale() == ("log" if log else "linear")


def test_sizes_of_law_and_draws(ax):
    bars = plot_sizes(DPP.size_distribution, draws=[[0], [0, 1], [1], []], ax=ax)
    assert [bar.get_height() for bar in bars] == pytest.approx(DPP.size_distribution)
    dots = ax.lines[0]
    assert dots.get_ydata().tolist() == [0.25, 0.5, 0.25]
    assert dots.get_label() == "4 draws"


def test_sizes_that_never_come_are_left_out(ax):
    bars = plot_sizes([0.0, 0.0, 0.5, 0.5, 1e-9], draws=[[0] * 6], ax=ax)
    assert [round(bar.get_x() + 0.45) for bar in bars] == [2, 3, 4, 5, 6]


def test_quality_against_diversity(ax):
    curves = {"DPP": [[0.1, 0.9], [0.5, 0.5]], "MMR": [[0.1, 0.8], [0.4, 0.5]]}
    lines = plot_quality_diversity(curves, dial=[0, 1], ax=ax)
    assert [line.get_label() for line in lines] == ["DPP", "MMR"]
    assert lines[1].get_xydata().tolist() == curves["MMR"]
    assert [t.get_text() for t in ax.texts] == ["0", "1"]
    assert ax.get_legend() is not None


def test_timelines_are_in_order(ax):
    day = dt.date(2020, 1, 1)
    later = dt.date(2020, 3, 1)
    lines = plot_timelines([[(later, "end"), (day, "start")], [(day, "")]], names=["war", "peace"], ax=ax)
    assert list(lines[0].get_xdata()) == [day, later]
    assert lines[1].get_ydata()[0] == -1
    assert [t.get_text() for t in ax.texts] == ["start", "end", ""]
    assert [t.get_text() for t in ax.get_yticklabels()] == ["war", "peace"]


def test_timelines_make_room():
    lines = plot_timelines([[(i, f"a label of item {i}") for i in range(8)]] * 3)
    figure = lines[0].figure
    figure.canvas.draw()
    boxes = [text.get_window_extent().extents for text in lines[0].axes.texts if text.get_text()]
    for a, (l1, b1, r1, t1) in enumerate(boxes):
        for l2, b2, r2, t2 in boxes[:a]:
            assert min(r1, r2) <= max(l1, l2) or min(t1, t2) <= max(b1, b2)
    plt.close(figure)


def test_clouds_are_as_opaque_as_probable(ax):
    places = [[0, 0], [1, 0], [2, 1]]
    dots = plot_part_marginals({"head": [0.1, 0.4, 0.0], "hand": [0.2, 0.2, 0.2]}, places, ax=ax)
    assert dots[0].get_facecolors()[:, 3].tolist() == [0.0, 0.25, 1.0]
    assert dots[0].get_offsets().tolist() == [[2, 1], [0, 0], [1, 0]]
    assert set(dots[1].get_facecolors()[:, 3].tolist()) == {1.0}
    assert [t.get_text() for t in ax.get_legend().get_texts()] == ["head", "hand"]


def test_clouds_over_an_image(ax):
    p = np.zeros((4, 5))
    p[1, 2] = 0.3
    images = plot_part_marginals([p], background=np.ones((4, 5)), ax=ax)
    assert images[0].get_array()[1, 2, 3] == 1.0
    assert images[0].get_array()[..., 3].sum() == 1.0
    assert len(ax.images) == 2


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda ax: plot_points(np.zeros((3, 3)), ax=ax), r"shape \(3, 3\)"),
        (lambda ax: plot_kernel([1.0, 2.0], ax=ax), r"shape \(2,\)"),
        (lambda ax: plot_sizes([], ax=ax), r"shape \(0,\)"),
        (lambda ax: plot_quality_diversity({"a": [1, 2]}, ax=ax), "'a' has shape"),
        (lambda ax: plot_quality_diversity({"a": [[1, 2]]}, dial=[0, 1], ax=ax), "1 points for 2 settings"),
        (lambda ax: plot_timelines([[(0, "a")]], names=["x", "y"], ax=ax), "2 names for 1 threads"),
        (lambda ax: plot_part_marginals([[0.1, 0.2]], ax=ax), "shape None"),
    ],
)
def test_bad_input(ax, call, message):
    with pytest.raises(DiversetError, match=message):
        call(ax)


@pytest.mark.parametrize(
    "call",
    [
        lambda: plot_points([[0.5, 0.5]]),
        lambda: plot_kernel(np.eye(2)),
        lambda: plot_spectrum([1.0]),
        lambda: plot_sizes([1.0])[0],
        lambda: plot_quality_diversity({"a": [[0, 1]]})[0],
        lambda: plot_part_marginals([[1.0]], [[0, 0]])[0],
    ],
)
def test_new_axes_by_default(call):
    artist = call()
    assert artist.axes.figure.number in plt.get_fignums()
    plt.close("all")
