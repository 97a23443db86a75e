"""Features in a dask array, processed in blocks: out of core in this process, or on the workers of a cluster.

:meth:`diverset.DPP.from_features`, :meth:`diverset.KDPP.from_features`, :func:`diverset.select`,
:func:`diverset.map_greedy` and :func:`diverset.numerics.project` accept dask arrays and call this package. The
functions here read files in blocks, compute kernel features, and select in two rounds.

Blocks are recomputed whenever they are needed. If they fit into the memory of the workers, ``features.persist()``
keeps them there.
"""

from diverset.distributed.greedy import greedi
from diverset.distributed.model import likelihood_of
from diverset.distributed.storage import ParquetRows, nystroem, read, rows_of

__all__ = ["ParquetRows", "greedi", "likelihood_of", "nystroem", "read", "rows_of"]
