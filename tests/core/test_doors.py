"""What every public door takes and refuses: tensors, complex numbers, seeds, ragged lists, sparse formats."""

import warnings

import numpy as np
import pytest
import scipy.sparse

import diverset as dv
from diverset import kernels
from diverset.errors import DiversetError, KernelError
from diverset.numerics.projection import project, projection_matrix

L = np.array([[2.0, 0.5, 0.1], [0.5, 1.0, 0.2], [0.1, 0.2, 3.0]])
V = np.linalg.qr(L)[0]


class Tensor:
    """What a torch tensor can do, as far as the library looks; NumPy cannot read it by itself."""

    def __init__(self, values, device="cpu", layout="torch.strided"):
        self._values = np.asarray(values)
        self.dtype = f"torch.{self._values.dtype}"
        self.shape, self.layout = self._values.shape, layout
        self.device = type("device", (), {"type": device})()

    def __array__(self, dtype=None, copy=None):
        raise TypeError("can't convert a tensor that requires grad")

    def detach(self):
        return self

    def numpy(self):
        return self._values


def torch_tensor(values):
    return pytest.importorskip("torch").tensor(values, requires_grad=True)


@pytest.mark.parametrize("tensor", [Tensor, torch_tensor])
def test_tensors_are_read(tensor):
    expected = dv.DPP(L)
    assert dv.DPP(tensor(L)).K == pytest.approx(expected.K)
    assert dv.DPP.from_marginal(tensor(expected.K)).K == pytest.approx(expected.K)
    assert dv.KDPP(tensor(L), 2).log_prob([0, 2]) == pytest.approx(expected.of_size(2).log_prob([0, 2]))
    assert dv.DPP.from_features(tensor(L)).L == pytest.approx(L @ L.T)
    assert dv.DPP.from_quality_diversity(tensor(np.ones(3)), tensor(L)).L == pytest.approx(L)
    assert dv.DPP.from_spectrum(tensor(np.arange(1.0, 4.0)), tensor(V)).L == pytest.approx(V @ np.diag([1, 2, 3]) @ V.T)
    assert dv.NonsymmetricDPP(tensor(L)).K == pytest.approx(expected.K)
    assert kernels.dot(tensor(L)) == pytest.approx(L @ L.T)
    assert project(tensor(L), 2, rng=0) == pytest.approx(project(L, 2, rng=0))


def test_the_precision_of_a_tensor_is_kept():
    E = np.random.default_rng(0).standard_normal((40, 5)).astype(np.float32)
    assert dv.DPP(Tensor(E @ E.T)).rank == dv.DPP(E @ E.T).rank == 5


def test_tensors_elsewhere_are_refused():
    with pytest.raises(KernelError, match=r"L is a tensor on cuda; .*\.cpu\(\)"):
        dv.DPP(Tensor(L, device="cuda"))
    with pytest.raises(KernelError, match=r"features is a sparse tensor; .*to_dense"):
        dv.DPP.from_features(Tensor(L, layout="torch.sparse_coo"))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: dv.DPP.from_spectrum([1.0 + 2.0j, 1.0, 1.0], V), "eigenvalues is complex"),
        (lambda: dv.DPP(L).rescale(np.array(1.0 + 1.0j)), r"expected_size is .*j.*; it must be a number"),
        (lambda: dv.DPP(L).thin(np.complex128(0.5j)), r"rate is .*0.5j.*; it must be a number"),
        (lambda: dv.DPP.from_features(L, [1j, 1.0, 1.0]), "quality is complex"),
        (lambda: dv.SizedDPP(dv.DPP(L), [0.5j, 1.0]), "size_probabilities is complex"),
        (lambda: dv.NonsymmetricDPP(L * 1j), "complex"),
        (lambda: kernels.rbf(L, length_scale=np.array(1j)), "it must be a number"),
    ],
)
def test_no_imaginary_part_is_lost(make, message):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(DiversetError, match=message):
            make()


@pytest.mark.parametrize("rng", [-1, "seed", 1.5, np.array([-3])], ids=str)
def test_seeds_that_are_none_are_refused(rng):
    dpp = dv.DPP(L)
    for draw in (
        lambda: dpp.sample(rng=rng),
        lambda: list(dpp.stream(2, rng=rng)),
        lambda: project(L, 2, rng=rng),
        lambda: dv.DPP.from_features(L, projection=2, rng=rng),
    ):
        with pytest.raises(DiversetError, match=r"rng is .*; pass None, a whole number of at least 0"):
            draw()


def test_ragged_lists_are_refused():
    with pytest.raises(KernelError, match="L cannot be read as an array of numbers"):
        dv.DPP([[1.0, 2.0], [3.0]])
    with pytest.raises(KernelError, match="features cannot be read as an array of numbers"):
        dv.DPP.from_features([[1.0, 2.0], [3.0]])


@pytest.mark.parametrize("search", ["map_greedy", "map_exact", "map_local_search"])
def test_searches_say_what_to_do_with_a_k_dpp(search):
    dpp = dv.DPP(L)
    with pytest.raises(DiversetError, match=rf"{search} was given a KDPP; pass {search}\(model.dpp, 2\)"):
        getattr(dv, search)(dpp.of_size(2), 2)
    with pytest.raises(DiversetError, match=rf"{search} was given a ndarray; pass a DPP"):
        getattr(dv, search)(L, 2)


@pytest.mark.parametrize("method", ["gaussian", "sparse", "signs"])
@pytest.mark.parametrize("form", ["bsr", "coo", "csc", "csr", "dia", "dok", "lil"])
def test_every_sparse_format_is_projected(form, method):
    X = scipy.sparse.random_array((5, 8), density=0.4, rng=0)
    G = projection_matrix(8, 3, rng=1, method=method)
    assert project(X.asformat(form), 3, rng=1, method=method) == pytest.approx(X.toarray() @ G)
    X.data[0] = np.nan
    with pytest.raises(KernelError, match="nan"):
        project(X.asformat(form), 3, rng=1, method=method)


def test_signs_have_the_values_and_shares_that_are_documented():
    d = 4
    G = projection_matrix(50_000, d, rng=0, method="signs")
    assert set(np.unique(G).tolist()) == {-0.5, 0.5}
    assert abs((G > 0).mean() - 0.5) < 0.005
    S = projection_matrix(50_000, d, rng=0, method="sparse")
    assert np.unique(S) == pytest.approx([-np.sqrt(3 / d), 0.0, np.sqrt(3 / d)])
    assert [(S < 0).mean(), (S == 0).mean(), (S > 0).mean()] == pytest.approx([1 / 6, 2 / 3, 1 / 6], abs=0.005)
    # Columns do not depend on each other, nor rows.
    for M in (G, S):
        assert np.abs(np.corrcoef(M.T) - np.eye(d)).max() < 0.02
        assert abs(np.corrcoef(M[:-1].ravel(), M[1:].ravel())[0, 1]) < 0.02
