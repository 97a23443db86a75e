"""Out of core and on clusters: features in a dask array, which stay where they are.

:meth:`diverset.DPP.from_features`, :meth:`diverset.KDPP.from_features`, :func:`diverset.select`,
:func:`diverset.map_greedy` and :func:`diverset.project` take dask arrays, and come here for it. They run on whatever
Dask is set to use: the threads of this process, or the workers of a ``distributed.Client``.
"""

from diverset.distributed.model import likelihood_of

__all__ = ["likelihood_of"]
