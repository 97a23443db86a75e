"""What changed arguments once broke: all of it is refused by name now, or answered."""

import numpy as np
import pytest

from trust.calls import CALLS
from trust.test_fuzz_functions import guarded, numbers_in

ODD = np.array([0.1, np.inf, 0.3])
HUGE = 1e160
CASES = [
    ("diverset.DPP.thin", {"rate": 1e-310}),
    ("diverset.FactorGraph", {"structures": [[0, 1], [2]]}),
    ("diverset.StructuredDPP", {"features": np.full((3, 2), HUGE)}),
    ("diverset.numerics.project", {"features": np.full((6, 3), np.nan)}),
    ("diverset.numerics.project in blocks", {"features": np.full((6, 3), np.nan)}),
    ("diverset.numerics.project in blocks", {"features": np.ones((2, 2, 3))}),
    ("diverset.numerics.projection_dim", {"eps": 1e-310}),
    ("diverset.sampling.KernelFunction", {"rows": [7, 2]}),
    ("diverset.sampling.KernelFunction", {"quality": np.full(6, 1e308)}),
    ("diverset.theory.exact_cover.exact_cover_dpp", {"triples": [[0, 1, float("nan")]]}),
    ("diverset.structured.chain_graph", {"temperature": 1e-310}),
    ("diverset.poses.PoseGrid", {"angles": []}),
    ("diverset.poses.PoseGrid", {"values": [-1]}),
    ("diverset.poses.reference_points", {"shape": ()}),
    ("diverset.poses.location_features", {"points": np.zeros((2, 0))}),
    ("diverset.poses.location_features", {"positions": np.array([[np.nan, 1.0]])}),
    ("diverset.poses.match_poses", {"parts": [7]}),
    ("diverset.poses.match_poses", {"predicted": np.full((1, 4, 2, 2), HUGE)}),
    ("diverset.poses.mean_interval", {"values": np.zeros((0, 2))}),
    ("diverset.poses.maps_on_grid", {"maps": np.zeros((0, 5, 4))}),
    ("diverset.poses.maps_on_grid", {"maps": np.full((4, 5, 4), -np.inf)}),
    ("diverset.poses.draw_pose", {"position": ()}),
    ("diverset.poses.draw_scene", {"size": (60,)}),
    ("diverset.poses.LimbDetector", {"image": np.zeros((0, 15))}),
    ("diverset.poses.simulate_maps", {"width": 0.0}),
    ("diverset.threads.ThreadModel", {"beta": -np.inf}),
    ("diverset.threads.Corpus", {"which": [3]}),
    ("diverset.threads.salient_terms", {"nodes": np.array([7])}),
    ("diverset.threads.salient_terms", {"terms": ["a"]}),
    ("diverset.threads.kmeans_threads", {"times": np.arange(4)}),
    ("diverset.threads.interlopers_found", {"n": 7}),
    ("diverset.threads.bootstrap_mean", {"level": 2.0}),
    ("diverset.threads.bootstrap_mean", {"values": ODD}),
    ("diverset.theory.classics.PoissonizedPlancherel", {"window": (-5, 5, 6)}),
    ("diverset.theory.classics.PoissonizedPlancherel", {"window": (-5, float("nan"))}),
    ("diverset.theory.classics.Ginibre", {"x": ODD}),
    ("diverset.theory.classics.GUE", {"x": ODD}),
    ("diverset.theory.classics.CUE", {"x": ODD}),
    ("diverset.theory.classics.one_dependent_kernel", {"runs": np.full((3, 3), HUGE)}),
    ("diverset.theory.mrf.mrf_ternary", {"w": [1e300, 0.0, 0.0]}),
    ("diverset.theory.mrf.mrf_slice", {"psi_12": np.zeros(2)}),
    ("diverset.theory.mrf.dpp_slice", {"psi_12": ODD}),
    ("diverset.learn.QualityModel", {"prior_variance": 1e-310}),
    ("diverset.learn.QualityModel", {"rho": 1e300}),
    ("diverset.learn.QualityModelCV", {"features": np.full((6, 2), HUGE)}),
    ("diverset.learn.LogisticQuality", {"rho": 1e300}),
    ("diverset.theory.processes.ContinuousDPP", {"eigenvalues": np.zeros(3)}),
    ("diverset.learn.LowRankKernel", {"regularization": 1e300}),
    ("diverset.learn.torch.DPPDistribution", {"L": -9.0 * np.eye(6)}),
    ("diverset.theory.processes.Box", {"sides": (1e-310, 2.0)}),
    ("diverset.theory.processes.ContinuousDPP", {"lower": ()}),
    ("diverset.theory.processes.ContinuousDPP", {"steps": np.full((2, 2), np.inf)}),
    ("diverset.theory.processes.ContinuousDPP.gaussian", {"scale": 1e-310}),
    ("diverset.theory.processes.poisson", {"intensity": 1e14}),
    ("diverset.theory.processes.poisson", {"intensity": 1e300}),
    ("diverset.theory.processes.adsorption", {"radius": 1e-310}),
    ("diverset.theory.processes.GibbsProcess", {"activity": 1e12}),
    ("diverset.theory.processes.GibbsProcess", {"u": np.array([np.inf, 0.0])}),
    ("diverset.theory.processes.LinearCore", {"r": -np.ones(2)}),
    ("diverset.theory.processes.permanent", {"A": np.full((4, 4), HUGE)}),
    ("diverset.theory.processes.immanant", {"A": np.full((3, 3), HUGE)}),
    ("diverset.theory.processes.alpha_determinant", {"alpha": 1e300}),
    ("diverset.theory.processes.hyperdeterminant", {"T": np.full((2, 2, 2, 2), 1e300)}),
    ("diverset.theory.processes.AlphaPermanental", {"alpha": 1e-12}),
    ("diverset.theory.processes.integration_errors", {"integral": 1e300}),
    ("diverset.theory.processes.matern_process", {"intensity": 1e300, "kind": 3}),
    ("diverset.theory.processes.matern_intensity", {"radius": 1e300}),
    ("diverset.theory.processes.matern_pair_correlation", {"radius": 1e-310}),
    ("diverset.theory.processes.fit_gibbs", {"radius": []}),
    ("diverset.theory.processes.hyperdeterminantal", {"T": np.zeros((2, 2, 2, 0))}),
    ("diverset.kernels.matern", {"nu": 1e-310}),
    ("diverset.kernels.nearest_psd", {"M": -HUGE * np.eye(6), "unit_diagonal": True}),
    ("diverset.text.word_counts", {"sets": [[0], [7]]}),  # this ended the process
    ("diverset.text.word_counts", {"sets": [[0], [-1]]}),
    ("diverset.theory.classics.PoissonizedPlancherel", {"theta": 1e14}),
    ("diverset.text.split_sentences", {"language": "\ud800"}),
    ("diverset.images.combine", {"names": ["x", ""]}),
    ("diverset.images.near_duplicates", {"features": {"gist": np.eye(6), "color-64": np.eye(3)}}),
    ("diverset.distributed.nystroem", {"features": np.zeros((0, 3))}),
    ("diverset.distributed.rows_of", {"rows": np.array([7, 4])}),
    ("diverset.theory.processes.AlphaPermanental", {"alpha": 1e-310}),
    ("diverset.text.Budget", {"limit": float("nan")}),
    ("diverset.text.Budget", {"unit": "nonsense"}),
    ("diverset.text.Summarizer", {"late": 1e300}),
    ("diverset.text.oracle_summary", {"scaling": 1e300}),
    ("diverset.text.Submodular", {"scaling": 1e300}),
]
ANSWERED = [
    ("diverset.numerics.projection_bound", {"eps": 1e12}),
    ("diverset.learn.QualityModelCV", {"features": np.zeros((6, 0))}),
    (
        "diverset.inference.map_double_greedy",
        {"L": 1e-300 * CALLS["diverset.inference.map_double_greedy"].arguments["L"]},
    ),
    ("diverset.map_local_search", {"L": 1e-300 * CALLS["diverset.map_local_search"].arguments["L"]}),
    ("diverset.structured.QualityModel", {"n": 0}),
    ("diverset.poses.Spring", {"offset": (1e300, 3.0)}),
    ("diverset.poses.location_features", {"sigma": 1e-310}),
    ("diverset.poses.mean_interval", {"values": np.ones((1, 2))}),
    ("diverset.threads.is_noise", {"texts": []}),
    ("diverset.threads.document_graph", {"threshold": 1e300}),
    (
        "diverset.threads.kmeans_threads",
        {"vectors": 0.0 * CALLS["diverset.threads.kmeans_threads"].arguments["vectors"]},
    ),
    ("diverset.theory.processes.VerySoftCore", {"r": np.array([0.1, 1e308])}),
    ("diverset.theory.processes.adsorption", {"radius": 1e300}),
]


def answer(name, changes):
    call = CALLS[name]
    return guarded(lambda: call.function(**{**call.arguments, **changes}, **call.kept))


@pytest.mark.parametrize(("name", "changes"), CASES, ids=lambda x: x if isinstance(x, str) else ",".join(x))
def test_refused(name, changes):
    assert answer(name, changes) is None


@pytest.mark.parametrize(("name", "changes"), ANSWERED, ids=lambda x: x if isinstance(x, str) else ",".join(x))
def test_answered(name, changes):
    found = answer(name, changes)
    assert found is not None
    assert not any(np.isnan(numbers).any() for numbers in numbers_in(found))
