"""Learners without scikit-learn, and what fits report."""

import subprocess
import sys

import numpy as np
import pytest

import diverset as dv
from diverset.errors import DiversetError
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
