"""Graphs of documents kept on disk: comparing all documents is the slow part, and does not depend on what is asked."""

import hashlib
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from diverset._files import atomic_write
from diverset.threads import Corpus, DocumentGraph, ThreadGraph

__all__ = ["cache_folder", "cache_key", "load_graph", "store_graph"]

#: Raised when what is stored changes.
_VERSION = 1


def cache_folder() -> Path:
    """Where graphs are kept: ``diverset`` in the user's cache."""
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "diverset"


def cache_key(corpus: Corpus, options: Mapping[str, Any]) -> str:
    """Fingerprint of the documents and of all that shapes their graph."""
    code = hashlib.blake2b(digest_size=16)
    code.update(repr((_VERSION, sorted(options.items()), len(corpus))).encode())
    for text, name in zip(corpus.texts, corpus.ids, strict=True):
        code.update(f"{len(text)} {name!r} ".encode())
        code.update(text.encode("utf-8", "surrogatepass"))
    code.update(np.ascontiguousarray(corpus.times).astype("datetime64[us]").astype(np.int64).tobytes())
    return code.hexdigest()


def store_graph(folder: Path, key: str, graph: DocumentGraph) -> None:
    """Keep a graph; a full or read-only disk is no reason to stop."""
    arrays: dict[str, Any] = {"weights": graph.graph.weights, "terms": np.array(graph.terms, dtype=np.str_)}
    for name, matrix in _matrices(graph).items():
        arrays |= {f"{name}_{part}": getattr(matrix, part) for part in ("data", "indices", "indptr")}
        arrays[f"{name}_shape"] = np.array(matrix.shape)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with atomic_write(folder / f"threads-{key}.npz") as temporary, temporary.open("wb") as file:
            np.savez(file, **arrays)
    except OSError:
        return


def load_graph(folder: Path, key: str, corpus: Corpus) -> DocumentGraph | None:
    """The graph kept under this key; None if there is none, or the file is damaged."""
    from scipy.sparse import csr_array

    try:
        # Opened here, since NumPy leaves a damaged file open.
        with (folder / f"threads-{key}.npz").open("rb") as file, np.load(file, allow_pickle=False) as held:
            matrices = {
                name: csr_array(
                    tuple(held[f"{name}_{part}"] for part in ("data", "indices", "indptr")),
                    shape=tuple(held[f"{name}_shape"]),
                )
                for name in ("edges", "features", "vectors")
            }
            weights, terms = held["weights"], held["terms"].tolist()
        graph = ThreadGraph(
            matrices["edges"], matrices["features"], weights=weights, labels=corpus.ids, times=corpus.times
        )
    except Exception:  # readers of archives raise what they like; whatever it was, the graph is made again
        return None
    return DocumentGraph(graph, matrices["vectors"], terms)


def _matrices(graph: DocumentGraph) -> dict[str, Any]:
    return {"edges": graph.graph.edges, "features": graph.graph.features, "vectors": graph.vectors}
