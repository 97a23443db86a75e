"""Sets of poses in one image, drawn from a structured DPP or by two baselines, and their scores."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from diverset._typing import BoolArray, FloatArray, IntArray, RNGLike
from diverset.errors import DiversetError, KernelError
from diverset.numerics.validation import (
    as_finite,
    as_generator,
    as_number,
    as_real,
    check_positive,
    check_size,
    find_positions,
)
from diverset.poses.grid import PoseGrid, location_features, reference_points
from diverset.poses.skeleton import Skeleton, ends_of, point_distances, segment_distances, spring_factor, wrapped
from diverset.structured import FactorGraph, QualityModel, StructuredDPP

__all__ = ["MatchScores", "PoseModel", "match_poses", "mean_interval"]


class PoseModel:
    r"""Poses of several people in an image: quality from part scores and springs, diversity from locations.

    .. math::

        q(y) = \gamma \Big( \prod_r q_r(y_r) \prod_{(r,s)} q_{rs}(y_r, y_s) \Big)^\beta, \qquad
        \phi(y) = \sum_r \phi_r(y_r)

    ([KuleszaTaskar2012]_, section 6.4.1).
    For M = HWT values of a part and D features, memory is :math:`O(MD)` per message and springs are stacks of small
    matrices. The dual kernel C takes :math:`O(M(H + W + T + D)D)` per part.

    Parameters
    ----------
    scores : sequence or dict of array_like of shape (rows, columns, orientations)
        Logarithms of :math:`q_r`, by name or in the order of the skeleton; ``-inf`` forbids a value.
    grid : PoseGrid
        Values of the parts.
    skeleton : Skeleton
        Parts and springs. The usual direction of a part multiplies its scores.
    beta : float
        Sharpness of the qualities.
    log_gamma : float
        Logarithm of :math:`\gamma`, which controls the number of poses drawn.
    sigma : float, optional
        Width of the diversity features in pixels; by default the distance between reference points.
    reference : tuple of int
        Rows and columns of the grid of reference points.
    reach : float
        As in :func:`spring_factor`.

    Examples
    --------
    A detector that sees two torsos and nothing else:

    >>> grid = PoseGrid(9, 16, step=20.0)
    >>> body = Skeleton.upper_body(60.0)
    >>> torso, rest = np.full(grid.shape, -6.0), np.zeros(grid.shape)
    >>> torso[3, 4, 6] = torso[3, 11, 6] = 0.0
    >>> model = PoseModel([torso, rest, rest, rest], grid, body, beta=2.0, sigma=30.0).rescale(2.0)
    >>> poses = model.sample(rng=0)
    >>> model.ends(poses)[:, 0, 0]
    array([[ 80.,  60.],
           [220.,  60.]])
    """

    def __init__(
        self,
        scores: Sequence[Any] | Mapping[str, Any],
        grid: PoseGrid,
        skeleton: Skeleton,
        *,
        beta: float = 1.0,
        log_gamma: float = 0.0,
        sigma: float | None = None,
        reference: tuple[int, int] = (4, 8),
        reach: float = 5.0,
    ) -> None:
        self.grid, self.skeleton = grid, skeleton
        self.beta = check_positive(beta, name="beta")
        self.log_gamma = as_number(log_gamma, name="log_gamma")
        points = reference_points(grid, reference)
        if sigma is None:
            left, right, top, bottom = grid.box
            sigma = max((right - left) / reference[1], (bottom - top) / reference[0])
        self.sigma = check_positive(sigma, name="sigma")
        cells = location_features(grid.positions(np.arange(grid.n_values)[:: grid.n_orientations]), points, self.sigma)
        self._features = np.repeat(cells, grid.n_orientations, axis=0)
        self._log_scores = self._read(scores)
        self._springs = [
            None if part.spring is None else spring_factor(part.spring, grid, beta=self.beta, reach=reach)
            for part in skeleton.parts
        ]

    def _read(self, scores: Sequence[Any] | Mapping[str, Any]) -> list[FloatArray]:
        names = self.skeleton.names
        if isinstance(scores, Mapping):
            missing = [name for name in names if name not in scores]
            if missing:
                raise KernelError(f"scores has no array for {', '.join(missing)}; the parts are {', '.join(names)}")
            scores = [scores[name] for name in names]
        if len(scores) != len(names):
            raise KernelError(f"scores has {len(scores)} arrays for {len(names)} parts")
        found = []
        for part, given in zip(self.skeleton.parts, scores, strict=True):
            array = as_real(given, name=f"scores of {part.name}")
            if array.shape != self.grid.shape:
                raise KernelError(f"the scores of {part.name} have shape {array.shape}; the grid has {self.grid.shape}")
            mean, spread = (0.0, np.inf) if part.direction is None else part.direction
            found.append((array - 0.5 * (wrapped(self.grid.orientations - mean) / spread) ** 2).reshape(-1))
        return found

    def __repr__(self) -> str:
        size = " x ".join(map(str, self.grid.shape))
        return f"PoseModel({len(self.skeleton)} parts of {size} values, beta={self.beta:g}, sigma={self.sigma:g})"

    def _graph(self, forbidden: Sequence[BoolArray] | None = None, *, features: bool = True) -> FactorGraph:
        """Factor graph of the poses, with some values of parts forbidden and with or without features."""
        graph = FactorGraph([self.grid.n_values] * len(self.skeleton), names=self.skeleton.names)
        for r, part in enumerate(self.skeleton.parts):
            log_q = self.beta * self._log_scores[r]
            if forbidden is not None:
                log_q = np.where(forbidden[r], -np.inf, log_q)
                if not np.isfinite(log_q).any():
                    raise DiversetError(f"no place is left for {part.name}")
            graph.add_factor([r], log_quality=log_q, name=f"scores of {part.name}")
            if features:
                graph.add_factor([r], features=self._features, name=f"location of {part.name}")
            if self._springs[r] is not None:
                graph.add_factor([self.skeleton.parents[r], r], quality=self._springs[r], name=f"spring of {part.name}")
        return graph

    @cached_property
    def graph(self) -> FactorGraph:
        """The factor graph: scores, locations and springs."""
        return self._graph()

    @cached_property
    def dpp(self) -> StructuredDPP:
        """The structured DPP over all poses."""
        return StructuredDPP(self.graph).scale_quality(self.log_gamma)

    @cached_property
    def quality_model(self) -> QualityModel:
        r"""Law of a single pose: :math:`\Pr(y) \propto q(y)`."""
        return QualityModel(self._graph(features=False))

    def scaled(self, log_gamma: float) -> PoseModel:
        r"""Return the model with another :math:`\gamma`; computed messages are shared."""
        new = copy.copy(self)
        new.log_gamma = as_number(log_gamma, name="log_gamma")
        if "dpp" in self.__dict__:
            new.__dict__["dpp"] = self.dpp.scale_quality(new.log_gamma - self.log_gamma)
        return new

    def rescale(self, expected_size: float) -> PoseModel:
        r"""Return the model with the :math:`\gamma` that gives this expected number of poses."""
        target = self.dpp.rescale(expected_size)
        return self.scaled(self.log_gamma + 0.5 * (target._log_factor - self.dpp._log_factor))

    def ends(self, poses: Any) -> FloatArray:
        """Both ends (x, y) of every part, of shape (k, n_parts, 2, 2); the reference point first."""
        y = self.graph.structures(poses)
        return ends_of(self.grid.positions(y), self.grid.angles(y), np.tile(self.skeleton.lengths, (len(y), 1)))

    def sample(self, size: int | None = None, *, rng: RNGLike = None) -> Any:
        """Draw sets of poses from the structured DPP: one of shape (k, n_parts), or a list of `size` sets."""
        return self.dpp.sample(size, rng=rng)

    def sample_independent(self, k: int, *, rng: RNGLike = None) -> IntArray:
        """Draw k independent poses from the quality model."""
        return self.quality_model.sample(check_size(k, name="k"), rng=rng)

    def sample_suppressed(self, k: int, *, rng: RNGLike = None) -> IntArray:
        """Draw poses from the quality model by non-maximum suppression: none overlaps an earlier one.

        There are k poses, or fewer if no place is left. Two poses overlap if any part of one, a segment with round
        ends, touches any part of the other. The rule is about single parts, so the conditional law is a quality model
        with forbidden values, which is sampled exactly by one pass of messages per pose.
        """
        generator = as_generator(rng)
        if check_size(k, name="k") == 0:
            return np.zeros((0, len(self.skeleton)), dtype=np.int64)
        chosen = [self.quality_model.sample(1, rng=generator)[0]]
        forbidden = [np.zeros(self.grid.n_values, dtype=bool) for _ in self.skeleton.parts]
        while len(chosen) < k:
            self._forbid_touching(chosen[-1], forbidden)
            try:
                model = QualityModel(self._graph(forbidden, features=False))
                chosen.append(model.sample(1, rng=generator)[0])
            except DiversetError:  # every pose is forbidden
                break
        return np.array(chosen)

    @cached_property
    def _limbs(self) -> list[FloatArray]:
        """For each part, both ends at each of its values, (n_values, 2, 2)."""
        values = np.arange(self.grid.n_values)
        positions, angles = self.grid.positions(values), self.grid.angles(values)
        return [ends_of(positions, angles, np.full(len(values), part.length)) for part in self.skeleton.parts]

    def _forbid_touching(self, pose: IntArray, forbidden: list[BoolArray]) -> None:
        """Mark the values of each part that overlap some part of a pose."""
        for part, own, blocked in zip(self.skeleton.parts, self._limbs, forbidden, strict=True):
            for limb, radius in zip(self.ends(pose)[0], self.skeleton.radii, strict=True):
                # A cheap bound first: only values that are not forbidden yet and within reach of the limb.
                near = ~blocked & (point_distances(own[:, 0], limb) < part.length + part.radius + radius)
                at = np.flatnonzero(near)
                blocked[at] = segment_distances(own[at], limb) < part.radius + radius

    def clouds(self, marginals: Sequence[FloatArray], *, along: float = 0.0) -> FloatArray:
        """Part marginals as pictures, summed over orientations: (n_parts, rows, columns).

        Parameters
        ----------
        marginals : sequence of ndarray of shape (n_values,)
            One per part, as returned by ``model.dpp.part_marginals()``.
        along : float
            Point of the limb that is shown, at the nearest position of the grid: 0 for the reference point, 0.5 for
            the middle, 1 for the other end. Points beyond the border are dropped.
        """
        from scipy.ndimage import shift

        found = np.zeros((len(self.skeleton), self.grid.rows, self.grid.columns))
        for cloud, part, mu in zip(found, self.skeleton.parts, marginals, strict=True):
            maps = as_real(mu, name="marginals", shape=(self.grid.n_values,)).reshape(self.grid.shape)
            for t, angle in enumerate(self.grid.orientations):
                step = along * part.length / self.grid.step
                cloud += shift(maps[:, :, t], np.rint([np.sin(angle) * step, np.cos(angle) * step]), order=0)
        return found


@dataclass(frozen=True, eq=False)
class MatchScores:
    """Scores of one predicted set at every radius, each of shape (n_radii,)."""

    precision: FloatArray
    recall: FloatArray

    @property
    def f1(self) -> FloatArray:
        """Harmonic mean of precision and recall; 0 where both are 0."""
        total = self.precision + self.recall
        return np.divide(2.0 * self.precision * self.recall, total, out=np.zeros_like(total), where=total > 0.0)


def match_poses(predicted: Any, truth: Any, radii: Any, *, parts: Sequence[int] | None = None) -> MatchScores:
    """Precision and recall of predicted parts by radius of acceptance ([KuleszaTaskar2012]_, section 6.4.3).

    Precision is the fraction of predicted parts with both ends within a radius of the ends of an annotated part of the
    same type. Recall is the fraction of annotated parts with such a prediction.
    As in the monograph, two predictions may match one annotation: copies of one good pose lower recall, not precision.
    Without predictions both scores are 0.

    Parameters
    ----------
    predicted : array_like of shape (k, n_parts, 2, 2)
        Both ends of each part.
    truth : array_like of shape (n, n_parts, 2, 2)
        Both ends for the annotated people; NaN for parts that are not annotated.
    radii : array_like of shape (n_radii,)
        Radii in pixels.
    parts : sequence of int, optional
        Parts that are scored; all by default.

    Examples
    --------
    >>> limb = np.array([[[[0.0, 0.0], [0.0, 5.0]]]])
    >>> scores = match_poses(limb + 3.0, np.concatenate([limb, limb + 50.0]), radii=[4.0, 5.0])
    >>> scores.precision, scores.recall, scores.f1
    (array([0., 1.]), array([0. , 0.5]), array([0.        , 0.66666667]))
    """
    found = as_finite(predicted, name="predicted", shape=("k", "n_parts", 2, 2))
    known = as_real(truth, name="truth", shape=("n", "n_parts", 2, 2))
    as_finite(np.where(np.isnan(known), 0.0, known), name="truth")
    if found.shape[1] != known.shape[1]:
        raise DiversetError(f"predicted has {found.shape[1]} parts, truth {known.shape[1]}")
    if parts is not None:
        own = find_positions(parts, range(found.shape[1]), name="parts")
        found, known = found[:, own], known[:, own]
    limits = as_finite(radii, name="radii", shape=(None,))
    # The larger of the distances between corresponding ends, of shape (k, n, n_parts).
    apart = np.linalg.norm(found[:, None] - known[None], axis=-1).max(axis=-1)
    annotated = ~np.isnan(known).any(axis=(2, 3))
    apart = np.where(annotated, apart, np.inf)
    if apart.size == 0:
        return MatchScores(np.zeros(len(limits)), np.zeros(len(limits)))
    hit = (apart.min(axis=1)[..., None] <= limits).mean(axis=(0, 1))
    recalled = (
        (apart.min(axis=0)[annotated][:, None] <= limits).mean(axis=0) if annotated.any() else np.zeros(len(limits))
    )
    return MatchScores(np.asarray(hit), np.asarray(recalled))


def mean_interval(values: Any) -> tuple[FloatArray, FloatArray]:
    """Mean over the first axis and the half width of its 95% interval, 1.96 standard errors."""
    x = as_finite(values, name="values")
    if x.ndim == 0 or len(x) == 0:
        raise DiversetError(f"values have shape {x.shape}; give at least one row")
    spread = x.std(axis=0, ddof=1) if len(x) > 1 else np.full(x.shape[1:], np.inf)
    return np.asarray(x.mean(axis=0)), np.asarray(1.96 * spread / np.sqrt(len(x)))
