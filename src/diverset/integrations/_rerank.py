"""Common code of all rerankers: checked settings, and the steps from retrieved documents to picks.

The class of a framework converts documents to :class:`Candidate` objects. A :class:`Reranking` lists the texts without
a vector, the class embeds them in one call, and the `Reranking` returns the picks of :func:`diverset.select`.
"""

from __future__ import annotations

import difflib
import threading
from collections import OrderedDict
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any

import numpy as np

from diverset._typing import FloatArray
from diverset.errors import DiversetError
from diverset.inference import Selection, select
from diverset.numerics.validation import check_count

__all__ = ["GAIN", "KEPT", "Candidate", "Choice", "Reranking", "VectorCache", "check_fetch", "name_error", "read_score"]

#: Names of the metadata entries added to the picks: the gain of each pick in the objective, and the share of quality
#: kept by all picks.
GAIN, KEPT = "diverset_gain", "diverset_kept"
#: Metadata entries that are searched for a relevance, in this order, unless the user names another entry.
SCORE_KEYS = ("relevance_score", "score")
#: Names for the number of results in various frameworks, and dials with the opposite direction.
_SIZES = ("k", "top_k", "top_n", "similarity_top_k", "n", "limit")
_TURNED = ("lambda_mult", "lambda_param", "mmr_threshold", "mmr_lambda")
_DIAL = 0.5


def name_error(owner: str, name: str, known: Collection[str]) -> str:
    """Error message for an unknown setting, with the name that the class uses instead."""
    if name in _SIZES:
        return f"{owner} takes {next(size for size in known if size in _SIZES)}, not {name}"
    if name in _TURNED:
        return f"{owner} takes diversity, which is 1 - {name}, not {name}"
    close = difflib.get_close_matches(name, known, n=1)
    rest = f"did you mean {close[0]}?" if close else f"it has {', '.join(sorted(known))}"
    return f"{owner} has no setting {name}; {rest}"


def check_fetch(size_name: str, size: int | None, fetch_k: Any) -> None:
    """Raise an error if fewer documents are fetched than returned."""
    check_count(fetch_k, name="fetch_k")
    if size is not None and size > fetch_k:
        raise DiversetError(f"{size_name} is {size} and fetch_k is {fetch_k}; raise fetch_k to at least {size}")


@dataclass(frozen=True)
class Choice:
    """Settings of a selection among documents, with the meaning they have in :func:`diverset.select`.

    If k is None, all documents are returned, in the new order. `given` contains documents, ids of candidates, or their
    positions. `groups` is a metadata entry or one value per candidate. `size_name` is the framework's name for `k`.
    """

    k: int | None = 10
    diversity: float = _DIAL
    keep: float | None = None
    scale: str | None = "rank"
    given: Any = ()
    groups: Any = None
    per_group: int | None = None
    min_quality: float | None = None
    lower_is_better: bool = False
    size_name: str = "k"

    def __post_init__(self) -> None:
        if self.k is not None:
            check_count(self.k, name=self.size_name)
        if self.keep is not None and self.diversity != _DIAL:
            raise DiversetError(f"diversity is {self.diversity!r} and keep is {self.keep!r}; give one of the two")
        if not isinstance(self.lower_is_better, bool):
            raise DiversetError(f"lower_is_better is {self.lower_is_better!r}; give True or False")
        if isinstance(self.given, str) or not isinstance(self.given, Collection):
            raise DiversetError(f"given is {self.given!r}; give a list of documents, ids or positions")
        if self.groups is not None and not isinstance(self.groups, Collection):
            raise DiversetError(f"groups is {self.groups!r}; name a metadata entry, or give one value per document")
        # A selection from one item checks the other settings, with the same error messages as `select`.
        settings = self._settings()
        if self.groups is not None:
            settings["groups"] = [0]
        select(np.ones((1, 1)), 1, quality=[0.0], **settings)

    @classmethod
    def of(cls, settings: Mapping[str, Any], size_name: str) -> Choice:
        """Create from settings with the framework's names; other entries are ignored."""
        names = {each.name for each in fields(cls)} - {"k", "size_name"}
        chosen = {name: value for name, value in settings.items() if name in names}
        if chosen.get("given") is None:
            chosen.pop("given", None)
        if size_name in settings:
            chosen["k"] = settings[size_name]
        return cls(**chosen, size_name=size_name)

    def but(self, owner: str, /, *also: str, **changes: Any) -> Choice:
        """A copy with changes for one call; the error for an unknown name may suggest names in `also`."""
        known = {each.name for each in fields(self)} - {"k", "size_name", "lower_is_better"} | {self.size_name, *also}
        for name in changes:
            if name not in known:
                raise TypeError(name_error(owner, name, known))
        if self.size_name in changes:
            changes["k"] = changes.pop(self.size_name)
        if changes.get("given", ()) is None:
            changes["given"] = ()
        # `diversity` and `keep` exclude each other, so an argument of the call replaces both.
        if "diversity" in changes:
            changes.setdefault("keep", None)
        elif "keep" in changes:
            changes["diversity"] = _DIAL
        return replace(self, **changes) if changes else self

    def _settings(self) -> dict[str, Any]:
        """Arguments of ``select`` that do not depend on the candidates."""
        names = ("diversity", "keep", "scale", "per_group", "min_quality", "lower_is_better")
        return {name: getattr(self, name) for name in names}

    def select(self, features: FloatArray, candidates: Sequence[Candidate], given: list[int], **more: Any) -> Selection:
        """Picks among candidates with these features."""
        groups = self.groups
        if isinstance(groups, str):
            for i, candidate in enumerate(candidates):
                if groups not in candidate.metadata:
                    raise DiversetError(
                        f"groups is {groups!r}, and document {i} has no such entry in its metadata; it has "
                        f"{', '.join(map(repr, candidate.metadata)) or 'none'}"
                    )
            groups = [candidate.metadata[groups] for candidate in candidates]
        k = len(candidates) if self.k is None else self.k
        return select(features, k, groups=groups, given=given or None, **self._settings(), **more)


@dataclass(frozen=True, eq=False)
class Candidate:
    """A retrieved document: the framework's object, and the values used in the selection."""

    item: Any
    id: Any
    text: str
    vector: Any = None
    score: float | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict)


def read_score(metadata: Mapping[str, Any], key: str | None) -> Any:
    """Relevance in the metadata: the entry named by the user, or the first one present of `SCORE_KEYS`."""
    return next((metadata[name] for name in ((key,) if key else SCORE_KEYS) if metadata.get(name) is not None), None)


class VectorCache:
    """Cache of the vectors of the `size` most recently embedded texts; copies and pickles start empty."""

    def __init__(self, size: int) -> None:
        self.size = size
        self._vectors: OrderedDict[str, Any] = OrderedDict()
        self._lock = threading.Lock()

    def __reduce__(self) -> tuple[type[VectorCache], tuple[int]]:
        return VectorCache, (self.size,)

    def find(self, texts: Collection[str]) -> dict[str, Any]:
        """The cached vectors of these texts."""
        with self._lock:
            found = {text: self._vectors[text] for text in texts if text in self._vectors}
            for text in found:
                self._vectors.move_to_end(text)
        return found

    def keep(self, vectors: Mapping[str, Any]) -> None:
        """Store vectors, and drop the oldest beyond `size`."""
        with self._lock:
            self._vectors.update(vectors)
            while len(self._vectors) > self.size:
                self._vectors.popitem(last=False)


class Reranking:
    """One selection: first the texts that must be embedded, then the picks.

    Candidates are ordered best first; `read` converts a document in ``choice.given`` to a candidate. `texts` are the
    distinct texts without a vector. `needs_query` is true if no candidate has a score, so that the similarity to the
    query is used.
    """

    def __init__(
        self,
        choice: Choice,
        candidates: Sequence[Candidate],
        read: Callable[[Any], Candidate],
        cache: VectorCache | None = None,
    ) -> None:
        self._choice, self._candidates, self._cache = choice, list(candidates), cache
        self._given, self._elsewhere = _shown(choice.given, self._candidates, read)
        wanted = [c.text for c in (*self._candidates, *self._elsewhere) if c.vector is None] if candidates else []
        self._known = cache.find(set(wanted)) if cache is not None else {}
        self.texts = [text for text in dict.fromkeys(wanted) if text not in self._known]
        self.needs_query = bool(candidates) and all(c.score is None for c in self._candidates)

    def finish(self, vectors: Sequence[Any], query: Any, remedy: str) -> list[tuple[Any, dict[str, Any]]]:
        """The picked documents in order, each with the entries to add to its metadata.

        `vectors` are those of :attr:`texts`, or empty if there is no embedding model. `remedy` completes the error
        message for a document without a vector.
        """
        if not self._candidates:
            return []
        if len(vectors) not in (0, len(self.texts)):
            raise DiversetError(f"the embedding model gave {len(vectors)} vectors for {len(self.texts)} texts")
        computed = dict(zip(self.texts, map(np.asarray, vectors), strict=bool(len(vectors))))
        if self._cache is not None:
            self._cache.keep(computed)
        known = {**self._known, **computed}
        X = _stacked(self._candidates, known, "document", remedy)
        more: dict[str, Any] = {}
        if self._elsewhere:
            more["given_features"] = _stacked(self._elsewhere, known, "given document", remedy)
        scores = [candidate.score for candidate in self._candidates]
        choice = self._choice
        if not self.needs_query:
            more["quality"] = _filled(scores, choice)
        else:
            choice = replace(choice, lower_is_better=False)
            if query is None:
                if choice.min_quality is not None:
                    raise DiversetError("min_quality is given, and no document has a score; give scores or embeddings")
                more["quality"] = np.arange(len(X), 0.0, -1.0)
            else:
                more["query"] = query
        picks = choice.select(X, self._candidates, self._given, **more)
        kept = picks.kept
        return [
            (self._candidates[i].item, {GAIN: float(gain), KEPT: kept})
            for i, gain in zip(picks, picks.gains, strict=True)
        ]


def _shown(
    given: Collection[Any], candidates: Sequence[Candidate], read: Callable[[Any], Candidate]
) -> tuple[list[int], list[Candidate]]:
    """Positions of the candidates that were shown before, and the shown documents that are not among the candidates."""
    positions = {candidate.id: i for i, candidate in enumerate(candidates)}
    found: set[int] = set()
    elsewhere: list[Candidate] = []
    for entry in given:
        if isinstance(entry, (int, np.integer)) and not isinstance(entry, bool):
            if not 0 <= entry < len(candidates):
                raise DiversetError(f"given holds position {entry}, and there are {len(candidates)} documents")
            found.add(int(entry))
        elif isinstance(entry, str):
            if entry not in positions:
                raise DiversetError(
                    f"given holds the id {entry!r}, which none of the {len(candidates)} documents has; give the "
                    "document itself, so that its text or vector is known"
                )
            found.add(positions[entry])
        else:
            shown = read(entry)
            if shown.id in positions:
                found.add(positions[shown.id])
            else:
                elsewhere.append(shown)
    return sorted(found), elsewhere


def _filled(scores: Sequence[float | None], choice: Choice) -> list[float]:
    """Scores, where documents without a score get the worst one; with `min_quality`, they are not picked."""
    present = [score for score in scores if score is not None]
    worst = max(present) if choice.lower_is_better else min(present)
    if choice.min_quality is not None and len(present) < len(scores):
        bound = choice.min_quality
        worst = np.nextafter(max(worst, bound), np.inf) if choice.lower_is_better else -np.inf
    return [worst if score is None else score for score in scores]


def _stacked(candidates: Sequence[Candidate], known: Mapping[str, Any], name: str, remedy: str) -> FloatArray:
    """One row per candidate."""
    rows = []
    for i, candidate in enumerate(candidates):
        vector = known.get(candidate.text) if candidate.vector is None else candidate.vector
        if vector is None:
            raise DiversetError(f"{name} {i} of {len(candidates)} has no embedding; {remedy}")
        rows.append(np.asarray(vector))
        if rows[i].shape != rows[0].shape:
            raise DiversetError(
                f"the embedding of {name} {i} has shape {rows[i].shape}, that of {name} 0 {rows[0].shape}; "
                "use the same model for all"
            )
    return np.stack(rows)
