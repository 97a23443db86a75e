"""Texts as vectors: embeddings of a model, and which rows of a table have words."""

import sys
from typing import Any

import numpy as np

from diverset._typing import Array, BoolArray
from diverset.errors import DiversetError, MissingExtraError
from diverset.io.tables import Table
from diverset.numerics.validation import is_sparse

__all__ = ["embed", "rows_that_speak"]


def embed(texts: list[str], model: str) -> Array:
    """Embeddings of texts by a sentence-transformers model."""
    try:
        from sentence_transformers import SentenceTransformer
    except ImportError as error:
        raise MissingExtraError("--model needs sentence-transformers: pip install sentence-transformers") from error
    try:
        encoder = SentenceTransformer(model)
    except (OSError, ValueError, RuntimeError) as error:
        reason = str(error).strip().split("\n")[0]
        raise DiversetError(f"cannot load the model {model}: {reason}") from error
    show = len(texts) > 200 and sys.stderr.isatty()
    return np.asarray(encoder.encode(texts, show_progress_bar=show, convert_to_numpy=True), dtype=np.float32)


def rows_that_speak(table: Table, name: str, texts: list[str], features: Any, notes: list[str]) -> BoolArray:
    """Rows with words in them; the others cannot be compared, and a remark says how many they are."""
    words = np.diff(features.indptr) > 0 if is_sparse(features) else np.any(features, axis=1)
    keep = np.array([bool(text) for text in texts]) & words
    silent = int((~keep).sum())
    if silent == table.n:
        raise DiversetError(f"{table.name}: column {name!r} has no words in any row")
    if silent:
        rows = "1 row" if silent == 1 else f"{silent} rows"
        first = table.where(int(np.argmin(keep)))
        notes.append(
            f"{rows} left out, for want of words in {name}: {first if silent == 1 else f'{first} is the first'}"
        )
    return np.asarray(keep, dtype=bool)
