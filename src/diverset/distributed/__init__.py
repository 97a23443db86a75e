"""Out of core and on clusters: features in a dask array, which stay where they are.

:meth:`diverset.DPP.from_features`, :meth:`diverset.KDPP.from_features`, :func:`diverset.select`,
:func:`diverset.map_greedy` and :func:`diverset.numerics.project` take dask arrays and use this package for them. They
run on the scheduler that Dask is set to use: the threads of this process, or the workers of a ``distributed.Client``.
The other functions read files in blocks, make features of kernels, and pick in two rounds.

Blocks are computed again whenever they are needed. Where they fit into the memory of the workers,
``features.persist()`` keeps them there, and every further pass is as fast as memory.
"""

from diverset.distributed.model import likelihood_of
from diverset.distributed.select import greedi
from diverset.distributed.storage import ParquetRows, nystroem, read, rows_of

__all__ = ["ParquetRows", "greedi", "likelihood_of", "nystroem", "read", "rows_of"]
