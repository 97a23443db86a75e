"""Model files: a readable header, then plain arrays. Loading a file executes no code.

A file begins with the line ``diverset model 1`` (the version of the format) and a JSON header that names the class, its
parameters, and the arrays with their shapes; an empty line ends the header. The arrays follow as little-endian float64
numbers, one after the other. ``head -c 2000 FILE`` shows the header.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Any

import numpy as np

from diverset._typing import FloatArray
from diverset.errors import DiversetError
from diverset.io.files import atomic_write, open_file
from diverset.learn.basket_baselines import IndependentItems, PoissonItems
from diverset.learn.comparisons import KDPPMixtureLearner, MMRMixtureLearner
from diverset.learn.full_rank import FullRankKernel
from diverset.learn.kernel_forms import Dense, LowRank
from diverset.learn.low_rank import LowRankKernel, NonsymmetricKernel
from diverset.learn.quality import LogisticQuality, QualityModel
from diverset.numerics.validation import as_hermitian, check_positive_semidefinite

__all__ = ["load_model", "save_model"]

VERSION = 1
_MAGIC = "diverset model"
_LONGEST_HEADER = 1 << 24  # names of a million items fit
Arrays = dict[str, FloatArray]


@dataclass(frozen=True)
class _Kind:
    """Storage format of a class.

    `shapes` has a letter for every dimension of an array; equal letters mean equal lengths, and "1" means length one.
    `optional` names the arrays that may be missing. `check` returns an error message for invalid values, or None.
    """

    cls: type[Any]
    fitted: str
    shapes: dict[str, str]
    restore: Callable[[Any, Arrays], None]
    check: Callable[[Arrays], str | None]
    optional: Collection[str] = ()

    def check_arrays(self, arrays: Arrays) -> None:
        """Raise an error if the arrays do not belong to a valid model."""
        if missing := [name for name in self.shapes if name not in arrays and name not in self.optional]:
            raise ValueError(f"array {missing[0]!r} is missing")
        if unknown := [name for name in arrays if name not in self.shapes]:
            raise ValueError(f"array {unknown[0]!r} is unknown")
        lengths = {"1": 1}
        for name, array in arrays.items():
            pairs = zip(self.shapes[name], array.shape, strict=False)
            if len(self.shapes[name]) != array.ndim or any(lengths.setdefault(x, size) != size for x, size in pairs):
                raise ValueError(f"array {name!r} has shape {array.shape}")
        if lengths.get("n") == 0:
            raise ValueError("it has no items")
        if wrong := self.check(arrays):
            raise ValueError(wrong)


def _within(name: str, least: float = -math.inf, most: float = math.inf) -> Callable[[Arrays], str | None]:
    """Check that the entries of an array lie within bounds."""

    def check(arrays: Arrays) -> str | None:
        low, high = arrays[name].min(initial=math.inf), arrays[name].max(initial=-math.inf)
        if low >= least and high <= most:
            return None
        return f"{name} goes from {low:g} to {high:g}; its entries lie between {least:g} and {most:g}"

    return check


def _check_kernel(arrays: Arrays) -> None:
    L = as_hermitian(arrays["L"], name="L")
    check_positive_semidefinite(L, name="L", given=L, remedy="the file was changed; fit the model again")


def _check_skew(arrays: Arrays) -> str | None:
    C = arrays["C"]
    gap = float(np.abs(C + C.T).max(initial=0.0))
    return f"C is not skew-symmetric: entries of C + C^T go up to {gap:g}" if gap > 1e-9 * np.abs(C).max() else None


def _check_covariance(arrays: Arrays) -> None:
    if "covariance" in arrays:
        as_hermitian(arrays["covariance"], name="covariance")


def _check_poisson(arrays: Arrays) -> str | None:
    return _within("weights", 0.0)(arrays) or _within("rate", 0.0)(arrays)


def _check_mixture(arrays: Arrays) -> str | None:
    total = float(arrays["weights"].sum())
    wrong = f"weights sum to {total:g}; those of a mixture sum to 1" if abs(total - 1.0) > 1e-6 else None
    return _within("weights", 0.0)(arrays) or _within("gamma", 0.0)(arrays) or wrong


def _restore_quality(model: Any, arrays: Arrays) -> None:
    model.set_coef(arrays["coef"])
    if "covariance" in arrays:
        model.covariance_ = arrays["covariance"]
        model.standard_errors_ = np.sqrt(np.maximum(np.diagonal(model.covariance_), 0.0))


def _restore_mixture(model: Any, arrays: Arrays) -> None:
    model.weights_ = arrays["weights"]
    model.gamma_ = float(arrays["gamma"][0])


def _kernel(form: Callable[..., Any]) -> Callable[[Any, Arrays], None]:
    return lambda model, arrays: model._keep(form(**arrays))


_KINDS: dict[str, _Kind] = {
    kind.cls.__name__: kind
    for kind in (
        *(
            _Kind(cls, "coef_", {"coef": "d", "covariance": "dd"}, _restore_quality, _check_covariance, {"covariance"})
            for cls in (QualityModel, LogisticQuality)
        ),
        *(
            _Kind(cls, "weights_", {"weights": "d", "gamma": "1"}, _restore_mixture, _check_mixture)
            for cls in (KDPPMixtureLearner, MMRMixtureLearner)
        ),
        _Kind(FullRankKernel, "form_", {"L": "nn"}, _kernel(Dense), _check_kernel),
        _Kind(LowRankKernel, "form_", {"V": "nr"}, _kernel(LowRank), lambda arrays: None),
        _Kind(NonsymmetricKernel, "form_", {"V": "nr", "B": "ns", "C": "ss"}, _kernel(LowRank), _check_skew),
        _Kind(IndependentItems, "p_", {"p": "n"}, lambda model, a: model._keep(a["p"]), _within("p", 0.0, 1.0)),
        _Kind(
            PoissonItems,
            "weights_",
            {"weights": "n", "rate": "1"},
            lambda model, a: model._keep(a["weights"], float(a["rate"][0])),
            _check_poisson,
        ),
    )
}


def save_model(model: Any, path: str | os.PathLike[str], *, note: str = "") -> None:
    """Write a fitted model to a file.

    Parameters
    ----------
    model : estimator
        A fitted learner of :mod:`diverset.learn`.
    path : path-like
        Path of the file. An existing file is replaced only after the new file is complete.
    note : str
        A text for the header, such as the source of the data.

    Notes
    -----
    Parameters other than numbers and strings, such as a generator or an initial matrix, are not saved. The loaded model
    has their defaults.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import diverset as dv
    >>> model = dv.learn.IndependentItems().fit([[0], [1], [0, 2]])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "items.dvm"
    ...     dv.learn.save_model(model, path)
    ...     dv.learn.load_model(path).score([[0, 2]]) == model.score([[0, 2]])
    True
    """
    name = type(model).__name__
    kind = _KINDS.get(name)
    if kind is None or type(model) is not kind.cls:
        raise DiversetError(f"a {name} cannot be saved; these can: {', '.join(_KINDS)}")
    if not hasattr(model, kind.fitted):
        raise DiversetError(f"this {name} has not been fitted, so there is nothing to save")
    held = {key: getattr(model, f"{key}_", None) for key in kind.shapes}
    arrays = {key: np.ascontiguousarray(np.atleast_1d(a), dtype="<f8") for key, a in held.items() if a is not None}
    payload = b"".join(array.tobytes() for array in arrays.values())
    header = {
        "class": name,
        "note": note,
        "parameters": {key: value for key, value in model.get_params(deep=False).items() if _is_plain(value)},
        "names": _plain_names(model),
        "arrays": {key: list(array.shape) for key, array in arrays.items()},
        "sha256": hashlib.sha256(payload).hexdigest(),
    }
    text = f"{_MAGIC} {VERSION}\n{json.dumps(header, indent=1, allow_nan=False)}\n\n"
    with atomic_write(path) as temporary:
        temporary.write_bytes(text.encode("utf-8") + payload)


def _plain_names(model: Any) -> list[str | int] | None:
    """Names of the items of a basket model, as types that JSON supports."""
    names = getattr(model, "names_", None)
    if names is None:
        return None
    wrong = next((name for name in names.tolist() if not isinstance(name, str | int)), None)
    if wrong is not None:
        raise DiversetError(
            f"the item {wrong!r} has a name that is no text or whole number; such a model cannot be saved"
        )
    return list(names.tolist())


def _is_plain(value: Any) -> bool:
    if isinstance(value, float):
        return math.isfinite(value)
    if isinstance(value, list | tuple):
        return all(_is_plain(entry) for entry in value)
    return value is None or isinstance(value, bool | int | str)


def load_model(path: str | os.PathLike[str]) -> Any:
    """Read a model from a file.

    Parameters
    ----------
    path : path-like
        A file written by :func:`save_model`. Files from untrusted sources are safe: they are read as text and numbers,
        checked, and never executed.

    Returns
    -------
    estimator
        The fitted model.

    Raises
    ------
    DiversetError
        If the file is not a model file, is damaged, or was written by a later version.
    """
    with open_file(path) as file:
        header = _read_header(file, path)
        name, shapes = header["class"], header["arrays"]
        wanted = 8 * sum(math.prod(shape) for shape in shapes.values())
        # Check the file size before allocating arrays of the sizes in the header.
        there = os.fstat(file.fileno()).st_size - file.tell()
        if there != wanted:
            raise DiversetError(f"{path} is damaged: its arrays take {wanted} bytes, and {there} are there")
        payload = file.read()
    if hashlib.sha256(payload).hexdigest() != header["sha256"]:
        raise DiversetError(f"{path} is damaged: the checksum of its arrays is not the one in its header")
    arrays, start = {}, 0
    for key, shape in shapes.items():
        size = math.prod(shape)
        flat = np.frombuffer(payload, dtype="<f8", count=size, offset=start)
        arrays[key] = flat.astype(np.float64).reshape(shape)
        start += 8 * size
        if not np.isfinite(arrays[key]).all():
            raise DiversetError(f"{path} is damaged: array {key!r} holds numbers that are not finite")
    try:
        kind = _KINDS[name]
        kind.check_arrays(arrays)
        model = kind.cls(**header["parameters"])
        kind.restore(model, arrays)
        if header.get("names") is not None:
            model.names_ = _names(header["names"], model.n_items_)
    except (TypeError, AttributeError, ValueError) as error:
        raise DiversetError(f"{path} does not hold what a {name} needs: {error}") from None
    return model


def _names(listed: Any, n_items: int) -> Any:
    fine = isinstance(listed, list) and all(isinstance(name, str | int) for name in listed)
    if not fine or len(set(listed)) != n_items or len(listed) != n_items:
        raise ValueError(f"its names are not those of {n_items} items")
    return np.array(listed, dtype=object)


def _read_header(file: Any, path: Any) -> dict[str, Any]:
    first = file.readline(100).decode("utf-8", errors="replace").strip()
    if not first.startswith(_MAGIC + " "):
        raise DiversetError(f"{path} is not a model file of diverset: it begins with {first[:40]!r}")
    version = first[len(_MAGIC) + 1 :]
    if version != str(VERSION):
        raise DiversetError(f"{path} has version {version} of the format; this diverset reads version {VERSION}")
    lines, size = [], 0
    while (line := file.readline(_LONGEST_HEADER)).strip():
        lines.append(line)
        size += len(line)
        if size > _LONGEST_HEADER:
            raise DiversetError(f"{path} is damaged: its header does not end")
    try:
        header = json.loads(b"".join(lines))
        fine = (
            header["class"] in _KINDS
            and isinstance(header["parameters"], dict)
            and all(_is_plain(value) for value in header["parameters"].values())
            and isinstance(header["sha256"], str)
            and all(
                isinstance(size, int) and not isinstance(size, bool) and 0 <= size < 2**40
                for shape in header["arrays"].values()
                for size in shape
            )
        )
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        fine = False
    if not fine:
        raise DiversetError(f"{path} is damaged: its header cannot be read")
    result: dict[str, Any] = header
    return result
