"""Pictures, drawn with Matplotlib; nothing else in the package needs it.

Every function takes ``ax=`` and returns the axes it drew on. Matplotlib is an extra: without it these
functions raise :class:`~diverset.errors.MissingExtraError` with the command that installs it.
"""

from diverset.plots._factor_graph import plot_factor_graph
from diverset.plots._labels import place_labels
from diverset.plots._poses import plot_clouds, plot_poses
from diverset.plots._selection import plot_selection
from diverset.plots._trace import plot_trace_line, plot_trace_plane

__all__ = [
    "place_labels",
    "plot_clouds",
    "plot_factor_graph",
    "plot_poses",
    "plot_selection",
    "plot_trace_line",
    "plot_trace_plane",
]
