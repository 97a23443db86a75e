"""Errors and warnings of diverset: every message says what is wrong, the value, and the remedy.

All errors about input derive from :class:`ValueError`, so code that catches ``ValueError`` keeps
working; the subclasses are for callers who want to tell the cases apart.
"""

__all__ = [
    "DiversetError",
    "DiversetWarning",
    "EnvironmentFault",
    "ImpossibleEventError",
    "KernelError",
    "LabelError",
    "MissingExtraError",
    "NoLikelihoodKernelError",
    "SizeError",
    "TooLargeError",
    "UnboundedLikelihoodError",
]


class DiversetError(ValueError):
    """Base of every error diverset raises about its input."""


class DiversetWarning(UserWarning):
    """Base of every warning: the result is right, and something about it deserves attention."""


class KernelError(DiversetError):
    """A matrix, spectrum or feature array that defines no distribution."""


class LabelError(DiversetError):
    """An item that is not in the ground set, or is named twice."""


class SizeError(DiversetError):
    """A set size that the distribution cannot produce."""


class ImpossibleEventError(DiversetError):
    """Conditioning on an event of probability zero."""


class NoLikelihoodKernelError(DiversetError):
    """The DPP is not an L-ensemble: its marginal kernel has an eigenvalue equal to one."""


class TooLargeError(DiversetError, MemoryError):
    """An array that would not fit in memory; the message names the path that works."""


class UnboundedLikelihoodError(DiversetError):
    """Training data for which no finite parameters are best, or which no parameters make possible."""


class MissingExtraError(ImportError):
    """An optional dependency is absent; the message names the install command."""


class EnvironmentFault(OSError):
    """A fault of the machine and not of the input: a full disk, no home directory, a lost scheduler."""
