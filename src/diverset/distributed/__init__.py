"""Out of core and on clusters: features in a dask array, which stay where they are.

:meth:`diverset.DPP.from_features`, :meth:`diverset.KDPP.from_features`, :func:`diverset.select`,
:func:`diverset.map_greedy` and :func:`diverset.project` take dask arrays, and come here for it. They run on whatever
Dask is set to use: the threads of this process, or the workers of a ``distributed.Client``. What is here besides reads
files in blocks, makes features of kernels, and picks in two rounds.

Blocks are computed again whenever they are needed. Where they fit into the memory of the workers,
``features.persist()`` keeps them there, and every further pass is as fast as memory.
"""

from diverset.distributed.model import likelihood_of
from diverset.distributed.nystroem import nystroem
from diverset.distributed.partition import greedi
from diverset.distributed.storage import ParquetRows, read, rows_of

__all__ = ["ParquetRows", "greedi", "likelihood_of", "nystroem", "read", "rows_of"]
