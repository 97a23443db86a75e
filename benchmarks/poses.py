"""Poses: C, draws and memory for images with 20,000 and 75,000 values a part.

Four parts, 24 orientations, 32 features, as in section 6.4 of the monograph. Scores are simulated around
four people. A dense spring between two parts would take 3.2 GiB for 20,736 values, and 42 GiB for 75,264.
"""

import tracemalloc
from collections.abc import Callable, Iterator

import numpy as np

from benchmarks.harness import Row, at_most, compare, state
from diverset.poses import LimbDetector, PoseGrid, PoseModel, Skeleton, draw_pose, draw_scene, simulate_maps

BODY = Skeleton.upper_body(60.0)
GRIDS = {20_736: PoseGrid(24, 36, step=10.0), 75_264: PoseGrid(56, 56, step=7.0)}
N_PEOPLE, N_SETS = 4, 10


def model(grid: PoseGrid, log_scores: list[np.ndarray]) -> PoseModel:
    return PoseModel(log_scores, grid, BODY, beta=0.5, sigma=60.0)


def scores(grid: PoseGrid) -> list[np.ndarray]:
    rng = np.random.default_rng(0)
    places = np.stack([np.linspace(60, grid.x[-1] - 60, N_PEOPLE), np.full(N_PEOPLE, 80.0)], axis=1)
    poses = np.array([draw_pose(BODY, (float(x), float(y)), rng) for x, y in places])
    return simulate_maps(poses, grid, rng=rng)


def _peak(call: Callable[[], object]) -> float:
    """Peak memory that a call allocates, in bytes."""
    tracemalloc.start()
    try:
        call()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def whole_image() -> Iterator[Row]:
    """From score maps to C, and to ten sets of about four poses: time and memory."""
    for n_values, grid in GRIDS.items():
        maps = scores(grid)
        bars = {20_736: (at_most(5), at_most(5)), 75_264: (None, None)}[n_values]
        case = f"4 parts of {n_values:,} values"
        yield compare(f"C, {case}", lambda m=maps, g=grid: model(g, m).dpp.dual_kernel, bar=bars[0])
        ready = model(grid, maps).rescale(float(N_PEOPLE))
        seeds = iter(range(10**6))
        yield compare(f"{N_SETS} sets, {case}", lambda r=ready, s=seeds: r.sample(N_SETS, rng=next(s)), bar=bars[1])
        yield compare(f"part marginals, {case}", lambda r=ready: r.dpp.part_marginals())
        peak = _peak(lambda m=maps, g=grid: model(g, m).rescale(float(N_PEOPLE)).sample(N_SETS, rng=0))
        dense = 8.0 * n_values**2
        found = f"{peak / 2**20:.0f} MiB"
        yield state(
            f"memory of C and {N_SETS} sets, {case}", found, f"{dense / 2**30:.1f} GiB for one dense spring", peak=peak
        )


def baselines() -> Iterator[Row]:
    """Four poses from the quality model: independent, and with non-maximum suppression."""
    grid = GRIDS[20_736]
    ready = model(grid, scores(grid))
    seeds = iter(range(10**6))
    yield compare("4 independent poses", lambda: ready.sample_independent(N_PEOPLE, rng=next(seeds)))
    yield compare("4 poses with non-maximum suppression", lambda: ready.sample_suppressed(N_PEOPLE, rng=next(seeds)))


def detection() -> Iterator[Row]:
    """The detector on a scene of 270 x 360 pixels, 28,800 values a part."""
    scene = draw_scene(BODY, rng=0)
    grid = PoseGrid.over((0, 0), (359, 269), step=9.0)
    detector = LimbDetector(BODY)
    yield compare("responses of all parts to a scene", lambda: detector.responses(scene.image, grid))


CASES = [whole_image, baselines, detection]
