"""Pictures, drawn with Matplotlib; nothing else in the package needs it.

Every function takes ``ax=`` (``axes=`` where it fills several panels) and returns the artists it drew, which know their
``axes``. Matplotlib is an extra: without it these functions raise
:class:`~diverset.errors.MissingExtraError` with the command that installs it.
"""

from diverset.plots._clouds import plot_part_marginals
from diverset.plots._curves import plot_quality_diversity
from diverset.plots._factor_graph import plot_factor_graph
from diverset.plots._kernels import plot_kernel, plot_sizes, plot_spectrum
from diverset.plots._labels import place_labels
from diverset.plots._points import plot_points
from diverset.plots._poses import plot_clouds, plot_poses
from diverset.plots._selection import plot_selection
from diverset.plots._timelines import plot_timelines
from diverset.plots._trace import plot_trace_line, plot_trace_plane

__all__ = [
    "place_labels",
    "plot_clouds",
    "plot_factor_graph",
    "plot_kernel",
    "plot_part_marginals",
    "plot_points",
    "plot_poses",
    "plot_quality_diversity",
    "plot_selection",
    "plot_sizes",
    "plot_spectrum",
    "plot_timelines",
    "plot_trace_line",
    "plot_trace_plane",
]
