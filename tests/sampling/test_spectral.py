"""The spectral sampler: its exact law by following every branch, and draws against the law."""

from collections import Counter

import numpy as np
import pytest

import diverset as dv
import reference
from diverset.sampling import spectral
from kernels_for_tests import LIKELIHOOD_KERNELS, MARGINAL_KERNELS, orthonormal, wishart


def law_of_algorithm(state, prob=1.0, law=None):
    """Exact law of a sequential sampler: follow every branch and add up probabilities."""
    law = Counter() if law is None else law
    if state.done:
        law[frozenset(state.items)] += prob
    else:
        for y, p in enumerate(state.weights()):
            if p > 0.0:
                law_of_algorithm(state.pick(y), prob * p, law)
    return law


class NeverReorthogonalised(spectral.ElementarySampler):
    """The known fault: rows are projected off the picked row itself, not off what is new in it."""

    def pick(self, i):
        after = super().pick(i)
        inner = self.V @ self.V[i].conj()
        direction = inner / np.sqrt(inner[i].real)
        after.__class__ = NeverReorthogonalised
        after._residual = np.maximum(self._residual - np.abs(direction) ** 2, 0.0)
        after._residual[list(after.items)] = 0.0
        return after


@pytest.mark.parametrize(("n", "m"), [(4, 1), (5, 2), (6, 3), (7, 4), (4, 4), (3, 0)])
@pytest.mark.parametrize("complex_", [False, True])
def test_second_phase_has_the_exact_law(n, m, complex_):
    V = orthonormal(n, m, n + m, complex_=complex_)
    law = law_of_algorithm(spectral.ElementarySampler(V))
    for A, p in reference.law_from_K(V @ V.conj().T).items():
        assert law[A] == pytest.approx(p, abs=1e-12)


def test_the_branch_walk_sees_a_skipped_orthogonalisation():
    V = orthonormal(6, 3, 0)
    wrong = law_of_algorithm(NeverReorthogonalised(V))
    right = reference.law_from_K(V @ V.T)
    assert max(abs(wrong[A] - p) for A, p in right.items()) > 1e-3


CASES = {
    "L": (dv.DPP(LIKELIHOOD_KERNELS["random-5"]), reference.law_from_L(LIKELIHOOD_KERNELS["random-5"])),
    "duplicated": (dv.DPP(LIKELIHOOD_KERNELS["duplicated"]), reference.law_from_L(LIKELIHOOD_KERNELS["duplicated"])),
    "K": (
        dv.DPP.from_marginal(MARGINAL_KERNELS["one-and-less"]),
        reference.law_from_K(MARGINAL_KERNELS["one-and-less"]),
    ),
    "complex": (dv.DPP(LIKELIHOOD_KERNELS["complex"]), reference.law_from_L(LIKELIHOOD_KERNELS["complex"])),
}


@pytest.mark.parametrize("name", CASES)
def test_draws_follow_the_law(name):
    dpp, law = CASES[name]
    draws = dpp.sample(8_000, rng=1, method="spectral")
    assert reference.law_p_value(draws, law) > 1e-4
    kdpp_law = reference.of_size(law, 3)
    assert reference.law_p_value(dpp.of_size(3).sample(3_000, rng=3, method="spectral"), kdpp_law) > 1e-4
    # Another kernel is told apart by the same test.
    assert reference.law_p_value(draws, reference.law_from_L(np.eye(dpp.n_items) + 0.1)) < 1e-4


def test_size_models_and_mixtures_follow_their_law():
    dpp, law = CASES["L"]
    q = [0.5, 0.0, 0.2, 0.3]
    sized = dv.SizedDPP(dpp, q)
    assert reference.law_p_value(sized.sample(5_000, rng=0), reference.reweighted(law, q)) > 1e-4
    mixture = dv.KDPPMixture([dpp.of_size(1), dpp], [0.4, 0.6])
    expected = reference.mixed([reference.of_size(law, 1), law], [0.4, 0.6])
    assert reference.law_p_value(mixture.sample(5_000, rng=0), expected) > 1e-4


def test_draws_keep_labels_and_repeat_with_the_seed():
    given = dv.DPP(wishart(12, 15, 0)).condition(include=[0, 4], exclude=[7])
    draws = given.sample(50, rng=5)
    assert all(set(d.tolist()) <= set(given.items.tolist()) for d in draws)
    assert all((np.diff(d) > 0).all() and d.dtype == np.int64 for d in draws)
    assert all(np.array_equal(a, b) for a, b in zip(draws, given.sample(50, rng=5), strict=True))
    rng = np.random.default_rng(5)
    one_by_one = [given.sample(rng=rng, method="spectral") for _ in range(3)]
    rng = np.random.default_rng(5)
    assert all(np.array_equal(d, given.sample(rng=rng, method="spectral")) for d in one_by_one)


def test_eigenvectors_from_features_of_very_different_lengths_are_orthonormal():
    """Features from 1 to 1e-7: the Gram matrix would leave rounding along the large ones in single eigenvectors."""
    rng = np.random.default_rng(4)
    # Rotated, so that no column gives the small ones away.
    X = rng.standard_normal((40, 8)) * 10.0 ** -np.arange(8) @ orthonormal(8, 8, seed=1)
    representation = dv.DPP.from_features(X)._representation
    alone = representation.eigenvector_columns(np.arange(8))
    V = spectral.SpectralSampler(representation, 8).columns(np.arange(8))
    assert np.abs(V.T @ V - np.eye(8)).max() < 1e-12
    assert np.abs(alone.T @ alone - np.eye(8)).max() < 1e-12
    lam, W = np.linalg.eigh(X.T @ X)
    plain = X @ W / np.sqrt(np.abs(lam))
    assert np.abs(plain.T @ plain - np.eye(8)).max() > 1e-11
