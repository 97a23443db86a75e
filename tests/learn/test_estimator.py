"""Learners without scikit-learn, and what fits report."""

import subprocess
import sys

import numpy as np
import pytest
from scipy import sparse

import diverset as dv
from diverset.errors import DiversetError
from diverset.learn import FullRankKernel, IndependentItems, Instance, LowRankKernel, PoissonItems, QualityModel
from diverset.learn._estimator import Convergence, check_fitted

WITHOUT = """
import sys
sys.modules["sklearn"] = None
import diverset as dv
model = dv.learn.LowRankKernel(rank=3, rng=0, n_epochs=2).set_params(rank=2)
assert model.get_params()["rank"] == 2, model.get_params()
model.fit([[0], [1], [0, 2]], n_items=3)
assert len(model.recommend([0], 1)) == 1
quality = dv.learn.QualityModel(prior_variance=1.0).fit([dv.learn.Instance([[1.0], [2.0]])], [[0]])
assert quality.coef_.shape == (1,)
assert "rank=2" in repr(model), repr(model)
try:
    model.set_params(ranks=3)
except dv.errors.DiversetError as error:
    print(error)
assert "torch" not in sys.modules
"""


def test_learners_work_without_scikit_learn():
    run = subprocess.run([sys.executable, "-c", WITHOUT], capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    assert "LowRankKernel has no parameter 'ranks'" in run.stdout


def test_learning_does_not_load_torch():
    code = "import sys, diverset as dv; dv.learn; print('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout.strip() == "False"


def test_convergence_reports_itself():
    report = Convergence(True, "a reason", np.array([-3.0, -2.0, -1.5]))
    assert report.n_iter == 2
    assert str(report) == "converged after 2 iterations (a reason): -3 -> -1.5"
    assert str(Convergence(False, "x", np.array([0.0]))).startswith("not converged")


def test_unfitted_learners_say_so():
    with pytest.raises(DiversetError, match=r"this FullRankKernel has not been fitted; call FullRankKernel\(\).fit"):
        check_fitted(dv.learn.FullRankKernel(), "form_")


@pytest.mark.parametrize("learner", [FullRankKernel(), LowRankKernel(), IndependentItems(), PoissonItems()])
@pytest.mark.parametrize(
    ("baskets", "more", "message"),
    [
        ([[]], {}, "no basket names an item.*give n_items"),
        ([[], []], {}, "no basket names an item"),
        ([[0, 1], [1]], {"n_items": 2**40}, "1099511627776 items needs .* GiB"),
        ([[0, 2**40]], {}, "1099511627777 items needs .* GiB"),
        (sparse.csr_array(np.array([[1j, 0.0]])), {}, "complex128 values"),
        (np.array([[1j, 0.0]]), {}, "flat sequence of whole numbers"),
    ],
)
def test_baskets_that_define_no_items(learner, baskets, more, message):
    with pytest.raises(DiversetError, match=message):
        learner.fit(baskets, **more)


def test_complex_numbers_are_refused():
    with pytest.raises(DiversetError, match="coef is complex"):
        QualityModel().set_coef([1j])
    with pytest.raises(DiversetError, match="features is complex"):
        QualityModel().fit([Instance(np.array([[1j], [1.0]]))], [[0]])
    with pytest.raises(DiversetError, match="coef is complex"):
        QualityModel().gradient([Instance([[1.0], [2.0]])], [[0]], [1j])
    with pytest.raises(DiversetError, match="complex128"):
        FullRankKernel(init=np.array([[2.0, 1j], [-1j, 2.0]])).fit([[0], [1]])
