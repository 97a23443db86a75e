"""Compiled loops are made and kept on first use, by several processes at once if it so happens."""

import os
import subprocess
import sys

import pytest

CODE = """
import numpy as np, diverset as dv
X = np.random.default_rng(0).standard_normal((40, 6))
print(dv.select(X, 5).indices.tolist(), [s.tolist() for s in dv.DPP.from_features(X).sample(3, rng=1)])
"""


def start(folder):
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(folder)}
    return subprocess.Popen(
        [sys.executable, "-c", CODE], env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def results(processes):
    found = []
    for process in processes:
        out, errors = process.communicate(timeout=300)
        assert process.returncode == 0, errors
        found.append(out)
    return found


@pytest.mark.slow
def test_processes_that_start_cold_together_do_not_break_each_other(tmp_path):
    found = results([start(tmp_path) for _ in range(4)])
    assert len(set(found)) == 1
    assert results([start(tmp_path)]) == found[:1]


@pytest.mark.slow
def test_a_damaged_cache_of_compiled_loops_is_made_again(tmp_path):
    found = results([start(tmp_path)])
    kept = sorted(tmp_path.rglob("*.nbi")) + sorted(tmp_path.rglob("*.nbc"))
    assert kept
    for file in kept:
        file.write_bytes(file.read_bytes()[: file.stat().st_size // 2])
    # Numba may refuse a damaged index; what it must not do is answer wrongly.
    process = start(tmp_path)
    out, _ = process.communicate(timeout=300)
    assert process.returncode != 0 or out == found[0]


@pytest.mark.slow
def test_a_cache_that_cannot_be_written_is_done_without(tmp_path):
    # Below a file there is no folder, not even for root.
    (tmp_path / "file").write_text("")
    assert results([start(tmp_path / "file" / "cache")]) == results([start(tmp_path / "cache")])
