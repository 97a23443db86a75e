"""Model files: a readable header, then plain arrays. Nothing in them is ever executed.

A file begins with the line ``diverset model 1`` (the version of the format) and a JSON header that names the class, its
parameters, and the arrays with their shapes; an empty line ends it. The arrays follow as little-endian float64 numbers,
one after the other. ``head -c 2000 FILE`` shows what a file holds.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
from collections.abc import Callable
from typing import Any

import numpy as np

import diverset.learn.basket_baselines as basket_baselines
import diverset.learn.comparisons as comparisons
import diverset.learn.full_rank as full_rank
import diverset.learn.low_rank as low_rank
import diverset.learn.quality as quality
import diverset.learn.quality_baselines as quality_baselines
from diverset._typing import FloatArray
from diverset.errors import DiversetError
from diverset.io.files import atomic_write, open_file
from diverset.learn.kernel_forms import Dense, Factor, Skew

__all__ = ["load_model", "save_model"]

VERSION = 1
_MAGIC = "diverset model"
_LONGEST_HEADER = 1 << 24  # names of a million items fit
Arrays = dict[str, FloatArray]


def _restore_quality(model: Any, arrays: Arrays) -> None:
    model.set_coef(arrays["coef"])
    if "covariance" in arrays:
        model.covariance_ = arrays["covariance"]
        model.standard_errors_ = np.sqrt(np.maximum(np.diagonal(model.covariance_), 0.0))


def _quality_arrays(model: Any) -> Arrays:
    kept = {"coef": model.coef_}
    return kept | ({"covariance": model.covariance_} if hasattr(model, "covariance_") else {})


def _restore_mixture(model: Any, arrays: Arrays) -> None:
    model.weights_ = arrays["weights"]
    model.gamma_ = float(arrays["gamma"][0])


def _mixture_arrays(model: Any) -> Arrays:
    return {"weights": model.weights_, "gamma": np.array([model.gamma_])}


#: For every class: the attribute that shows a fit, the arrays of a model, and how it takes them back.
_KINDS: dict[str, tuple[type[Any], str, Callable[[Any], Arrays], Callable[[Any, Arrays], None]]] = {
    "QualityModel": (quality.QualityModel, "coef_", _quality_arrays, _restore_quality),
    "LogisticQuality": (quality_baselines.LogisticQuality, "coef_", _quality_arrays, _restore_quality),
    "FullRankKernel": (
        full_rank.FullRankKernel,
        "form_",
        lambda model: {"L": model.L_},
        lambda model, arrays: model._keep(Dense(arrays["L"])),
    ),
    "LowRankKernel": (
        low_rank.LowRankKernel,
        "form_",
        lambda model: {"V": model.V_},
        lambda model, arrays: model._keep(Factor(arrays["V"])),
    ),
    "NonsymmetricKernel": (
        low_rank.NonsymmetricKernel,
        "form_",
        lambda model: {"V": model.V_, "B": model.B_, "C": model.C_},
        lambda model, arrays: model._keep(Skew(arrays["V"], arrays["B"], arrays["C"])),
    ),
    "IndependentItems": (
        basket_baselines.IndependentItems,
        "p_",
        lambda model: {"p": model.p_},
        lambda model, arrays: model._keep(arrays["p"]),
    ),
    "PoissonItems": (
        basket_baselines.PoissonItems,
        "weights_",
        lambda model: {"weights": model.weights_, "rate": np.array([model.rate_])},
        lambda model, arrays: model._keep(arrays["weights"], float(arrays["rate"][0])),
    ),
    "KDPPMixtureLearner": (comparisons.KDPPMixtureLearner, "weights_", _mixture_arrays, _restore_mixture),
    "MMRMixtureLearner": (comparisons.MMRMixtureLearner, "weights_", _mixture_arrays, _restore_mixture),
}


def save_model(model: Any, path: str | os.PathLike[str], *, note: str = "") -> None:
    """Write a fitted model to a file.

    Parameters
    ----------
    model : estimator
        A fitted learner of :mod:`diverset.learn`.
    path : path-like
        Where to; an existing file is replaced only once the new one is complete.
    note : str
        Anything worth reading in the header, such as where the data came from.

    Notes
    -----
    Parameters that are no plain numbers or texts, such as a generator or a starting matrix, are left out, and are at
    their defaults in the model that is loaded.

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
    if name not in _KINDS or type(model) is not _KINDS[name][0]:
        raise DiversetError(f"a {name} cannot be saved; these can: {', '.join(_KINDS)}")
    _, fitted, arrays_of, _ = _KINDS[name]
    if not hasattr(model, fitted):
        raise DiversetError(f"this {name} has not been fitted, so there is nothing to save")
    arrays = {key: np.ascontiguousarray(array, dtype="<f8") for key, array in arrays_of(model).items()}
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
    """Names of the items of a basket model, as JSON has them."""
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
    """Read a model back from a file.

    Parameters
    ----------
    path : path-like
        A file written by :func:`save_model`. It may come from anywhere: it is read as text and numbers, checked, and
        never executed.

    Returns
    -------
    estimator
        The fitted model.

    Raises
    ------
    DiversetError
        If the file is no model file, is damaged, or comes from a later version.
    """
    with open_file(path) as file:
        header = _read_header(file, path)
        name, shapes = header["class"], header["arrays"]
        kind, _, _, restore = _KINDS[name]
        wanted = 8 * sum(math.prod(shape) for shape in shapes.values())
        # Before anything of the size that the header claims is made.
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
        model = kind(**header["parameters"])
        restore(model, arrays)
        if header.get("names") is not None:
            model.names_ = _names(header["names"], model.n_items_)
    except (TypeError, KeyError, IndexError, ValueError) as error:
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
            and isinstance(header["sha256"], str)
            and all(
                isinstance(size, int) and not isinstance(size, bool) and 0 <= size < 2**40
                for shape in header["arrays"].values()
                for size in shape
            )
        )
    except (ValueError, KeyError, TypeError, AttributeError):
        fine = False
    if not fine:
        raise DiversetError(f"{path} is damaged: its header cannot be read")
    result: dict[str, Any] = header
    return result
