"""The PyTorch module: log-likelihoods and gradients against ours, entropy bounds against enumeration."""

import importlib.util
import sys
from pathlib import Path

import numpy as np
import pytest

import diverset as dv
import diverset.learn
from diverset.errors import DiversetError, MissingExtraError
from diverset.learn.baskets import read_baskets
from diverset.learn.low_rank import low_rank_objective
from kernels_for_tests import wishart
from reference import law_from_L

SETS = [[0, 2], [1], [], [1, 3, 4]]


def masks(sets, n):
    torch = pytest.importorskip("torch")
    return torch.tensor([[i in Y for i in range(n)] for Y in sets])


@pytest.fixture
def module():
    pytest.importorskip("torch")
    from diverset.learn import torch as ours

    return ours


def test_log_prob_is_ours(module):
    import torch

    L, V = wishart(5, 7, 1), np.random.default_rng(2).standard_normal((5, 3))
    dense, dual = dv.DPP(L), dv.DPP.from_features(V)
    mask = masks(SETS, 5)
    found = module.DPPDistribution(torch.tensor(L)).log_prob(mask)
    np.testing.assert_allclose(found, [dense.log_prob(Y) for Y in SETS], atol=1e-12)
    found = module.DPPDistribution(features=torch.tensor(V)).log_prob(mask)
    np.testing.assert_allclose(found, [dual.log_prob(Y) for Y in SETS], atol=1e-12)
    for k in range(4):
        kdpp = dual.of_size(k)
        found = module.KDPPDistribution(k=k, features=torch.tensor(V)).log_prob(mask)
        np.testing.assert_allclose(found, [kdpp.log_prob(Y) for Y in SETS], atol=1e-10)


def test_batches_of_kernels(module):
    import torch

    kernels = np.stack([wishart(5, 7, seed) for seed in range(3)])
    batch = module.DPPDistribution(torch.tensor(kernels))
    assert batch.batch_shape == (3,)
    assert batch.event_shape == (5,)
    found = batch.log_prob(masks(SETS, 5).unsqueeze(1))
    expected = [[dv.DPP(L).log_prob(Y) for L in kernels] for Y in SETS]
    np.testing.assert_allclose(found, expected, atol=1e-12)
    found = batch.of_size(2).log_prob(masks([[0, 2]], 5))
    np.testing.assert_allclose(found, [dv.KDPP(L, 2).log_prob([0, 2]) for L in kernels], atol=1e-10)
    np.testing.assert_allclose(batch.mean, [dv.DPP(L).inclusion_probabilities for L in kernels], atol=1e-12)


def test_gradients_are_ours(module):
    """Of the low-rank objective, whose gradient the learners have in closed form."""
    import torch

    V = np.random.default_rng(3).standard_normal((5, 3))
    read = read_baskets(SETS, 5)
    expected = low_rank_objective({"V": V}, read, None, np.zeros(5))[1]["V"]
    B = torch.tensor(V, requires_grad=True)
    module.DPPDistribution(features=B).log_prob(masks(SETS, 5)).mean().backward()
    np.testing.assert_allclose(B.grad.numpy(), expected, atol=1e-7)


def test_quality_gradient_is_ours(module):
    import torch

    rng = np.random.default_rng(4)
    F, S, Y = rng.standard_normal((5, 2)), wishart(5, 7, 5), [0, 3]
    instance, theta = dv.learn.Instance(F, similarity=S), np.array([0.5, -0.3])
    for fixed_size in (False, True):
        expected = dv.learn.QualityModel(fixed_size=fixed_size).gradient([instance], [Y], theta)
        t = torch.tensor(theta, requires_grad=True)
        q = torch.exp(0.5 * torch.tensor(F) @ t)
        L = q[:, None] * torch.tensor(S) * q
        law = module.KDPPDistribution(L, 2) if fixed_size else module.DPPDistribution(L)
        law.log_prob(masks([Y], 5)).sum().backward()
        np.testing.assert_allclose(t.grad.numpy(), expected, atol=1e-9)


def test_equal_eigenvalues_have_a_gradient(module):
    import torch

    L = torch.eye(4, dtype=torch.float64, requires_grad=True)
    module.KDPPDistribution(L, 2).log_prob(masks([[0, 1]], 4)).sum().backward()
    assert torch.isfinite(L.grad).all()
    # By symmetry: 1 - 1/2 for the items in the set, -1/2 for the others.
    np.testing.assert_allclose(np.diag(L.grad.numpy()), [0.5, 0.5, -0.5, -0.5], atol=1e-9)


@pytest.mark.parametrize("seed", range(8))
def test_entropy_is_between_its_bounds(module, seed):
    import torch

    L = wishart(5, 6, seed) * 10.0 ** (seed - 4)
    exact = -sum(p * np.log(p) for p in law_from_L(L).values() if p > 0)
    law = module.DPPDistribution(torch.tensor(L))
    low, high = (float(x) for x in law.entropy_bounds())
    assert low <= exact + 1e-12
    assert exact <= high + 1e-12
    assert float(law.entropy()) == low
    diagonal = module.DPPDistribution(torch.tensor(np.diag(np.diag(L))))
    assert float(diagonal.entropy_bounds()[0]) == pytest.approx(float(diagonal.entropy_bounds()[1]), abs=1e-9)


def test_impossible_sets_and_bad_input(module):
    import torch

    features = torch.tensor([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]], dtype=torch.float64)
    law = module.DPPDistribution(features=features)
    assert law.log_prob(masks([[0, 1]], 3))[0] == -torch.inf
    with pytest.raises(DiversetError, match="give either L or features"):
        module.DPPDistribution()
    with pytest.raises(DiversetError, match="a kernel is square"):
        module.DPPDistribution(features)
    with pytest.raises(DiversetError, match="boolean tensor whose last dimension is the 3 items"):
        law.log_prob(torch.tensor([0, 1]))
    with pytest.raises(DiversetError, match="k is 3, but sets of these kernels have 0 to 2 items"):
        law.of_size(3)
    with pytest.raises(DiversetError, match="has no marginal kernel"):
        _ = law.of_size(2).mean


@pytest.mark.parametrize(
    "wrong", [[True, False, True], [1.0, 0.0, 1.0], [[True, False]], [[True, False, True, True]]], ids=str
)
def test_masks_are_boolean_tensors_with_an_entry_per_item(module, wrong):
    import torch

    law = module.DPPDistribution(torch.eye(3, dtype=torch.float64))
    value = wrong if wrong == [True, False, True] else torch.tensor(wrong)
    with pytest.raises(DiversetError, match="boolean tensor whose last dimension is the 3 items"):
        law.log_prob(value)
    with pytest.raises(DiversetError, match="boolean tensor whose last dimension is the 3 items"):
        law.of_size(2).log_prob(value)


def test_kernels_are_floating_point_tensors(module):
    import torch

    eye = torch.eye(3, dtype=torch.float64)
    for wrong in ([[1.0]], np.eye(3), torch.ones(3), torch.eye(3, dtype=torch.int64)):
        for given in ({"L": wrong}, {"features": wrong}):
            with pytest.raises(DiversetError, match="floating-point tensors of at least two dimensions"):
                module.DPPDistribution(**given)
    with pytest.raises(DiversetError, match="give either L or features"):
        module.DPPDistribution(eye, features=eye)
    for k in (-1, 4):
        with pytest.raises(DiversetError, match=f"k is {k}, but sets of these kernels have 0 to 3 items"):
            module.KDPPDistribution(eye, k)
    assert module.KDPPDistribution(eye).k == 1


@pytest.mark.parametrize(("n", "width"), [(3, 5), (4, 4), (5, 2), (1, 1)])
def test_sizes_entropies_and_marginals_of_features_of_any_width(module, n, width):
    """Of the kernel or of its dual, whichever is smaller."""
    import torch

    V = np.random.default_rng(n).standard_normal((n, width))
    plain = dv.DPP(V @ V.T)
    law = module.DPPDistribution(features=torch.tensor(V))
    assert float(law.log_normalizer) == pytest.approx(plain.log_normalizer, rel=1e-12)
    np.testing.assert_allclose(law.marginal_kernel, plain.K, atol=1e-10)
    lam = np.linalg.eigvalsh(V @ V.T)[-min(n, width) :]
    kappa, p = lam / (1 + lam), np.diag(plain.K)
    for found, x in zip(law.entropy_bounds(), (kappa, p), strict=True):
        assert float(found) == pytest.approx(-(x * np.log(x) + (1 - x) * np.log(1 - x)).sum(), rel=1e-9)
    for k in range(min(n, width) + 1):
        e = np.poly(-lam)[k]
        assert float(law.of_size(k).log_normalizer) == pytest.approx(np.log(e), abs=1e-10)


def test_batches_of_features_have_the_rank_of_each(module):
    import torch

    V = np.random.default_rng(0).standard_normal((2, 5, 4))
    law = module.KDPPDistribution(k=3, features=torch.tensor(V))
    expected = [dv.KDPP(B @ B.T, 3).log_prob([0, 2, 4]) for B in V]
    np.testing.assert_allclose(law.log_prob(masks([[0, 2, 4]], 5)), expected, atol=1e-10)


def test_certain_items_have_no_entropy_and_a_gradient(module):
    import torch

    L = torch.tensor(np.diag([1e20, 1.0]), requires_grad=True)
    for bound in module.DPPDistribution(L).entropy_bounds():
        assert float(bound.detach()) == pytest.approx(np.log(2.0), abs=1e-12)
        assert torch.isfinite(torch.autograd.grad(bound, L, retain_graph=True)[0]).all()


def test_without_torch_the_install_command_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    path = Path(diverset.learn.__file__).parent / "torch.py"
    spec = importlib.util.spec_from_file_location("learn_without_torch", path)
    absent = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(absent)
    with pytest.raises(MissingExtraError, match=r'DPPDistribution needs PyTorch: pip install "diverset\[torch\]"'):
        absent.DPPDistribution()
    with pytest.raises(MissingExtraError, match="KDPPDistribution needs PyTorch"):
        absent.KDPPDistribution(k=2)
