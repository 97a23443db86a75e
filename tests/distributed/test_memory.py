"""A file is gone through in less memory than it takes on disk.

The peak is read from /proc: the one of getrusage begins, in a child, with the peak of its parent.
"""

import os
import subprocess
import sys

import numpy as np
import pytest

pytest.importorskip("dask", reason="Dask is not installed")

SCRIPT = """
import sys
from pathlib import Path
import diverset as dv
features = dv.distributed.read(sys.argv[1])
dpp = dv.DPP.from_features(features)
total = float(dpp.inclusion_probabilities.sum().compute())
assert abs(total - dpp.expected_size) < 1e-6 * total
assert len(dpp.of_size(5).sample(rng=0)) == len(dv.select(features, 5, similarity="dot")) == 5
status = Path("/proc/self/status").read_text()
print(1024 * int(status.split("VmHWM:")[1].split()[0]))
"""


@pytest.mark.slow
@pytest.mark.skipif(not os.path.exists("/proc/self/status"), reason="peak memory is read from /proc")
def test_peak_memory_is_below_the_size_of_the_file(tmp_path):
    n = 4_000_000
    file = np.lib.format.open_memmap(tmp_path / "x.npy", mode="w+", dtype=np.float32, shape=(n, 64))
    rng = np.random.default_rng(0)
    for start in range(0, n, 250_000):
        file[start : start + 250_000] = rng.standard_normal((250_000, 64), dtype=np.float32)
    del file
    size = os.path.getsize(tmp_path / "x.npy")
    found = subprocess.run(
        [sys.executable, "-c", SCRIPT, str(tmp_path / "x.npy")], capture_output=True, text=True, check=True
    )
    (tmp_path / "x.npy").unlink()
    assert int(found.stdout) < 0.8 * size
