"""Texts as vectors: words weighted by how rare they are, or the embeddings of a model."""

import sys
from typing import Any

import numpy as np

from diverset._typing import Array, BoolArray
from diverset.errors import DiversetError, MissingExtraError
from diverset.io.tables import Table
from diverset.numerics.validation import is_sparse

__all__ = ["embed", "rows_that_speak", "tfidf"]


def tfidf(texts: list[str]) -> Any:
    """Words weighted by how rare they are, in a sparse matrix: one row per text, of length 1 or 0."""
    try:
        from sklearn.feature_extraction.text import TfidfVectorizer
    except ImportError as error:
        raise MissingExtraError('comparing texts needs scikit-learn: pip install "diverset[text]"') from error
    vectorizer = TfidfVectorizer(
        sublinear_tf=True, strip_accents="unicode", token_pattern=r"(?u)\b\w+\b", dtype=np.float32
    )
    try:
        return vectorizer.fit_transform(texts).tocsr()
    except ValueError:  # no words at all
        return np.zeros((len(texts), 1), dtype=np.float32)


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
