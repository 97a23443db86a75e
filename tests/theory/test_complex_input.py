"""Complex numbers where real ones are meant raise an error and never lose their imaginary part."""

import numpy as np
import pytest

from diverset.errors import DiversetError
from diverset.theory import classics, mrf, processes

BOX = processes.Box.unit(2, torus=True)
POINTS = np.array([[0.2, 0.3], [0.6, 0.7], [0.4, 0.9]])


@pytest.mark.parametrize(
    "call",
    [
        lambda z: mrf.PairwiseMRF(np.array([z, 0.0]), {}),
        lambda z: mrf.PairwiseMRF([0.0, 0.0], np.array([[0.0, z], [z, 0.0]])),
        lambda z: mrf.mrf_slice(np.array([z]), 0.5, 0.01),
        lambda z: mrf.dpp_slice(0.5, np.array([z]), 0.01),
        lambda z: classics.one_dependent_kernel(np.array([[1.0, z], [0.0, 1.0]])),
        lambda z: classics.GUE(3).functions(np.array([z])),
        lambda z: classics.GUE(3).limit_density(np.array([z])),
        lambda z: classics.CUE(3).functions(np.array([z])),
        lambda z: classics.BetaHermite(1).log_density(np.array([z])),
        lambda z: classics.MultivariateJacobi(2, [[0.0, 0.0]]).functions(np.array([[z]])),
        lambda z: processes.Box(np.array([z, 1.0])),
        lambda z: BOX.as_points(np.array([[z, 0.1]])),
        lambda z: BOX.distances(np.array([z, 0.1]), POINTS),
        lambda z: processes.poisson(BOX, lambda x: np.full(len(x), z), bound=20.0, rng=0),
        lambda z: processes.matern_survivors(POINTS, 0.1, kind=2, box=BOX, times=np.array([z, 0.0, 1.0])),
        lambda z: processes.matern_pair_correlation(np.array([z]), 10.0, 0.1, kind=2),
        lambda z: processes.ripley_k(POINTS, BOX, np.array([z])),
        lambda z: processes.Strauss(0.5, 0.1).psi(np.array([z])),
        lambda z: processes.discrepancy(np.array([[z, 0.1]])),
        lambda z: processes.TabulatedProcess(np.array([0.0, z])),
        lambda z: processes.TabulatedProcess.from_weights(np.array([1.0, z])),
        lambda z: processes.hyperdeterminantal(np.array([[1.0, z], [z, 1.0]])),
        lambda z: processes.FiniteGibbs.pairwise([1.0, 1.0], np.array([[1.0, z], [z, 1.0]])),
        lambda z: processes.FiniteGibbs.from_points(POINTS, np.full(3, z), processes.Strauss(0.5, 0.1), box=BOX),
        lambda z: processes.GibbsProcess(BOX, 5.0).papangelou(np.array([z, 0.1]), POINTS),
        lambda z: processes.fit_finite_gibbs([[0], [1], []], np.array([[0.0, z], [z, 0.0]])),
        lambda z: processes.fit_finite_gibbs([[0], [1], []], np.ones((2, 2)), weights=np.array([z, 1.0, 1.0])),
        lambda z: processes.fit_gibbs(POINTS, BOX, processes.Strauss, grid=4, radius=np.array([z])),
        lambda z: processes.ContinuousDPP(BOX, [[0, 0]], np.array([z])),
        lambda z: processes.ContinuousDPP(BOX, [[0, 0]], [0.5]).kernel(np.array([[z, 0.1]]), POINTS),
    ],
)
def test_complex_numbers_are_refused(call):
    assert call(0.3) is not None
    with pytest.raises(DiversetError, match="complex"):
        call(0.3 + 0.2j)
