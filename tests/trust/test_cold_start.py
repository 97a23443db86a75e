"""First use in all circumstances: several processes at once, no compiled loops, nowhere to write."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import diverset

CODE = """
import numpy as np, diverset as dv
X = np.random.default_rng(0).standard_normal((40, 6))
print(dv.select(X, 5).indices.tolist(), [s.tolist() for s in dv.DPP.from_features(X).sample(3, rng=1)])
"""


def start(code=CODE, **environment):
    return subprocess.Popen(
        [sys.executable, "-c", code],
        env={**os.environ, **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def results(processes):
    found = []
    for process in processes:
        out, errors = process.communicate(timeout=300)
        assert process.returncode == 0, errors
        found.append((out, errors))
    return found


@pytest.fixture(scope="module")
def expected():
    (((out, _)),) = results([start()])
    return out


@pytest.fixture
def plain(tmp_path):
    """Folder with a copy of the package that has no compiled loops."""
    ignored = shutil.ignore_patterns("*.so", "*.pyd", "__pycache__")
    shutil.copytree(Path(diverset.__file__).parent, tmp_path / "diverset", ignore=ignored)
    return tmp_path


def test_processes_that_start_together_agree(expected):
    assert {out for out, _ in results([start() for _ in range(4)])} == {expected}


def test_uncompiled_loops_give_the_same_answers_and_one_warning(plain, expected):
    environment = {"PYTHONPATH": str(plain), "DIVERSET_UNCOMPILED": "0"}
    ((out, errors),) = results([start(**environment)])
    assert out == expected
    assert errors.count("DiversetWarning") == 1
    assert "not compiled" in errors
    assert "pip install" in errors


def test_the_environment_asks_for_uncompiled_loops_without_a_warning(expected):
    code = CODE + "\nfrom diverset.inference import _greedy_loops\nassert _greedy_loops.__file__.endswith('.py')"
    assert results([start(code, DIVERSET_UNCOMPILED="1")]) == [(expected, "")]


def test_the_version_says_which_loops_are_in_use(plain):
    command = [sys.executable, "-m", "diverset", "--version"]
    run = subprocess.run(
        command, capture_output=True, text=True, check=True, env={**os.environ, "PYTHONPATH": str(plain)}
    )
    assert "not compiled" in run.stdout
    assert not run.stderr


@pytest.mark.parametrize("chosen", ["baseline", "avx2", "avx512"])
def test_every_instruction_set_gives_the_same_answers(chosen, expected):
    assert results([start(DIVERSET_SIMD=chosen)]) == [(expected, "")]
