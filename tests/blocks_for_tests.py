"""Features whose blocks are made on the workers, where a block can take its worker down with it."""

import os
import signal
from pathlib import Path

import numpy as np


def block(b, length, width):
    """Rows of block b, the same wherever and however often they are made."""
    rng = np.random.default_rng([7, b])
    return rng.standard_normal((length, width)) * (1.0 + rng.random((length, 1)))


def deadly_block(b, length, width, folder, fatal):
    """The same; the `fatal`-th time that block 2 is made, its worker is killed first. Never again after that."""
    if b == 2 and fatal:
        made = Path(folder) / "made"
        with made.open("a", encoding="ascii") as file:
            file.write("x")
        if len(made.read_text(encoding="ascii")) == fatal:
            os.kill(os.getpid(), signal.SIGKILL)
    return block(b, length, width)


def features(n_blocks=6, length=500, width=8, folder="", fatal=0):
    """Dask array of such blocks."""
    import dask.array as da
    from dask import delayed

    parts = [delayed(deadly_block, pure=False)(b, length, width, str(folder), fatal) for b in range(n_blocks)]
    return da.concatenate([da.from_delayed(part, (length, width), dtype=np.float64) for part in parts])


def whole(n_blocks=6, length=500, width=8):
    """The same as one array."""
    return np.concatenate([block(b, length, width) for b in range(n_blocks)])
