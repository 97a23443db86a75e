"""The cache of a model: factorisations, and the set-up of its samplers.

Every model (a distribution or a representation) owns one :class:`Cache`. Factorisations, of which a model has one of
each kind, stay as long as the model. Sampler set-ups, possibly one for every size k, are kept up to a limit in bytes;
the least recently used are dropped first, and the last one used always stays. Builders run under the lock of their
cache, so that threads which share a model build once. A forked process gets a new lock, since the thread that held the
old one does not exist there. A pickled model leaves its cache behind; an unpickled one starts with an empty cache and
read-only arrays.
"""

from __future__ import annotations

import os
import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from dataclasses import is_dataclass
from typing import Any, Generic, Protocol, Self, TypeVar, overload

import numpy as np

__all__ = ["LIMIT", "Cache", "Frozen", "Model", "cached_property"]

T = TypeVar("T")

#: Bytes of set-ups that a model keeps besides its factorisations: 64 MiB.
LIMIT = 1 << 26


#: How often this process was forked from another, and the lock under which a cache renews its own after that.
_forks = 0
_renewal = threading.Lock()


def _after_fork() -> None:
    global _forks, _renewal
    _forks += 1
    _renewal = threading.Lock()


if hasattr(os, "register_at_fork"):  # not on Windows
    os.register_at_fork(after_in_child=_after_fork)


class Sized(Protocol):
    """A set-up with the number of bytes it holds."""

    @property
    def nbytes(self) -> int: ...


S = TypeVar("S", bound=Sized)


class Cache:
    """Results of one model, each built once; `limit` is the number of bytes of set-ups (:meth:`recent`) to keep."""

    def __init__(self, limit: int = LIMIT) -> None:
        self.limit = limit
        self._held = threading.RLock()
        self._forks = _forks
        self._kept: dict[Hashable, Any] = {}
        self._recent: OrderedDict[Hashable, tuple[Any, int]] = OrderedDict()
        self._recent_bytes = 0

    @property
    def _lock(self) -> threading.RLock:
        """The lock of this cache in this process."""
        if self._forks != _forks:
            with _renewal:
                if self._forks != _forks:
                    # The fork may have come between two steps of another thread.
                    self._recent_bytes = sum(size for _, size in self._recent.values())
                    self._held, self._forks = threading.RLock(), _forks
        return self._held

    def __contains__(self, key: Hashable) -> bool:
        return key in self._kept

    def __len__(self) -> int:
        """Number of set-ups kept."""
        return len(self._recent)

    @property
    def nbytes(self) -> int:
        """Bytes of the set-ups kept; factorisations are not counted."""
        return self._recent_bytes

    def keep(self, key: Hashable, build: Callable[[], T]) -> T:
        """The cached result of ``build()``, which stays as long as the model."""
        if key not in self._kept:
            with self._lock:
                if key not in self._kept:
                    self._kept[key] = build()
        value: T = self._kept[key]
        return value

    def recall(self, key: Hashable) -> Any:
        """The set-up kept for this key, or None."""
        with self._lock:
            if key not in self._recent:
                return None
            self._recent.move_to_end(key)
            return self._recent[key][0]

    def recent(self, key: Hashable, build: Callable[[], S]) -> S:
        """The cached result of ``build()``; beyond the limit the least recently used are dropped."""
        with self._lock:
            value: S | None = self.recall(key)
            if value is not None:
                return value
            value = build()
            size = value.nbytes
            self._recent[key] = (value, size)
            self._recent_bytes += size
            while self._recent_bytes > self.limit and len(self._recent) > 1:
                self._recent_bytes -= self._recent.popitem(last=False)[1][1]
            return value


class cached_property(Generic[T]):
    """Property of a :class:`Model` that is computed once, under the model's lock, and kept in its cache."""

    def __init__(self, build: Callable[[Any], T]) -> None:
        self._build = build
        self._name = build.__name__
        self.__doc__ = build.__doc__

    @overload
    def __get__(self, model: None, owner: type | None = None) -> Self: ...
    @overload
    def __get__(self, model: Model, owner: type | None = None) -> T: ...
    def __get__(self, model: Model | None, owner: type | None = None) -> Self | T:
        if model is None:
            return self
        return model._cache.keep(self._name, lambda: self._build(model))


def _freeze(value: Any) -> None:
    if isinstance(value, np.ndarray):
        value.flags.writeable = False
    elif isinstance(value, (tuple, list)):
        for part in value:
            _freeze(part)
    elif is_dataclass(value) and not isinstance(value, type):
        _freeze(list(vars(value).values()))
    elif hasattr(value, "indptr"):  # a sparse matrix
        _freeze((value.data, value.indices, value.indptr))


class Frozen:
    """Base class of immutable objects: makes arrays read-only again after unpickling."""

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        _freeze(list(state.values()))


class Model(Frozen):
    """Base class of objects that own a cache and are pickled without it."""

    _cache: Cache

    def __new__(cls, *args: Any, **kwargs: Any) -> Self:
        """A model with an empty cache, whether or not its constructor runs."""
        model = super().__new__(cls)
        object.__setattr__(model, "_cache", Cache())
        return model

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "_cache"}
